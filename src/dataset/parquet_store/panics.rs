//! Catches panics of the Parquet library on damaged files.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static CATCHES: Cell<bool> = const { Cell::new(false) };
}

/// The result of `read`, or the message of its panic, which is not printed. Values that a panicking `read` has changed must not be used again.
pub(crate) fn catch_panic<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |panic| {
            if !CATCHES.get() {
                hook(panic);
            }
        }));
    });
    let before = CATCHES.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CATCHES.set(before);
    result.map_err(|panic| message(panic.as_ref()))
}

/// The items of `items`; a panic becomes an error as the last item.
pub(crate) fn catch_panics<T, E>(
    items: impl Iterator<Item = Result<T, E>>,
    error: impl Fn(String) -> E,
) -> impl Iterator<Item = Result<T, E>> {
    let mut items = Some(items);
    std::iter::from_fn(move || {
        let next = catch_panic(|| items.as_mut()?.next());
        next.unwrap_or_else(|panic| {
            items = None;
            Some(Err(error(panic)))
        })
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("damaged").to_owned()
}
