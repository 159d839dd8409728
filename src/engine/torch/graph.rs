//! CUDA graphs: many operations of libtorch, sent to the device at once.
//!
//! They are recorded by a few lines of C++ (`graph.cpp`), which the build makes a library of, and which is opened at run time from memory,
//! after libtorch's CUDA part: one binary serves machines with and without CUDA.

use std::ffi::{CStr, c_char, c_int, c_ulonglong, c_void};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock};

use libloading::os::unix::Library;
use tch::Tensor;

use super::cuda::with_causes;

/// The library, if it is part of this build.
#[cfg(feature = "cuda-graphs")]
const LIBRARY: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/cuda_graph.so")));
#[cfg(not(feature = "cuda-graphs"))]
const LIBRARY: Option<&[u8]> = None;

/// Runs of the operations before they are recorded, in which libraries choose their algorithms.
const WARM_UP: usize = 3;

/// What the library has.
struct Functions {
    problem: extern "C" fn() -> *const c_char,
    enter: extern "C" fn(c_int) -> *mut c_void,
    begin: extern "C" fn(*mut c_void) -> c_int,
    leave: extern "C" fn(*mut c_void) -> c_int,
    replay: extern "C" fn(*mut c_void) -> c_int,
    free: extern "C" fn(*mut c_void),
    memory: extern "C" fn(c_int) -> c_ulonglong,
}

impl Functions {
    /// What went wrong last on this thread.
    fn said(&self) -> String {
        // SAFETY: a string of the library's, which lives until its next failure on this thread.
        unsafe { CStr::from_ptr((self.problem)()) }.to_string_lossy().into_owned()
    }

    /// That a call which gives 0 where it fails did not.
    fn check(&self, done: c_int) -> Result<(), String> {
        if done == 0 { Err(self.said()) } else { Ok(()) }
    }
}

/// The library, opened on first use.
fn functions() -> Result<&'static Functions, String> {
    static OPENED: OnceLock<Result<Functions, String>> = OnceLock::new();
    OPENED.get_or_init(open).as_ref().map_err(String::clone)
}

fn open() -> Result<Functions, String> {
    let bytes = LIBRARY.ok_or("this paramill was built without the feature `cuda-graphs`")?;
    let said =
        |error: &dyn std::error::Error| format!("the library that records them does not open ({})", with_causes(error));
    let file = rustix::fs::memfd_create("paramill-cuda-graph", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(file.map_err(|error| said(&error))?);
    file.write_all(bytes).map_err(|error| said(&error))?;
    // SAFETY: our own library, which does nothing when it is loaded; its functions have the types below, and it is never unloaded.
    unsafe {
        let library = Library::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|error| said(&error))?;
        let functions = (|| {
            Ok::<_, libloading::Error>(Functions {
                problem: *library.get(b"paramill_graph_problem")?,
                enter: *library.get(b"paramill_graph_enter")?,
                begin: *library.get(b"paramill_graph_begin")?,
                leave: *library.get(b"paramill_graph_leave")?,
                replay: *library.get(b"paramill_graph_replay")?,
                free: *library.get(b"paramill_graph_free")?,
                memory: *library.get(b"paramill_graph_memory")?,
            })
        })();
        std::mem::forget(library);
        functions.map_err(|error| said(&error))
    }
}

/// Keeps other threads from the CUDA devices: nothing else may be sent while a graph is recorded. Nothing where `device` is not one.
pub(super) fn turn(device: tch::Device) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    // A panic in another call leaves nothing behind that this one would meet.
    device.is_cuda().then(|| TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Bytes of memory of a CUDA device, where they are known.
pub(super) fn memory(device: usize) -> Option<u64> {
    let bytes = (functions().ok()?.memory)(c_int::try_from(device).ok()?);
    (bytes > 0).then_some(bytes)
}

/// Whether what a recording computed is what the operations themselves did, but for rounding.
pub(super) fn agree(found: &[Tensor], expected: &[Tensor]) -> bool {
    let close = |(found, expected): (&Tensor, &Tensor)| {
        let largest = expected.abs().max().double_value(&[]);
        found.allclose(expected, 1e-3, 1e-4 * largest, true)
    };
    found.len() == expected.len() && found.iter().zip(expected).all(close)
}

/// Operations that were recorded.
pub(super) struct Graph {
    functions: &'static Functions,
    recording: *mut c_void,
}

// SAFETY: the library has no state of a thread between `enter` and `leave`, which are in one call of `record`.
unsafe impl Send for Graph {}

impl Graph {
    /// Records `operations`, which work on tensors of the device that stay in place, and take nothing from the host. They are run a few times
    /// first. It is this thread's [`turn`].
    ///
    /// # Errors
    /// Why they cannot be recorded.
    pub(super) fn record(device: usize, operations: &dyn Fn()) -> Result<Self, String> {
        let functions = functions()?;
        let recording = (functions.enter)(c_int::try_from(device).map_err(|error| error.to_string())?);
        if recording.is_null() {
            return Err(functions.said());
        }
        let graph = Graph { functions, recording };
        let run = || catch_unwind(AssertUnwindSafe(operations)).map_err(|panic| words(panic.as_ref()));
        let recorded = (0..WARM_UP)
            .try_for_each(|_| run())
            .and_then(|()| functions.check((functions.begin)(recording)))
            .and_then(|()| run());
        let left = functions.check((functions.leave)(recording));
        recorded.and(left).map(|()| graph)
    }

    /// Sends the operations to the device, without waiting for it.
    ///
    /// # Panics
    /// If CUDA fails.
    pub(super) fn replay(&self) {
        let sent = self.functions.check((self.functions.replay)(self.recording));
        sent.unwrap_or_else(|problem| panic!("CUDA: {problem}"));
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        (self.functions.free)(self.recording);
    }
}

/// What a panic says, on one line.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine without CUDA the library finds no names of libtorch's.
    #[test]
    fn what_records_graphs_is_there_or_says_why_not() {
        assert_eq!(LIBRARY.is_some(), cfg!(feature = "cuda-graphs"));
        if let Some(bytes) = LIBRARY {
            assert!(bytes.starts_with(b"\x7fELF"));
        }
        let expected = if LIBRARY.is_some() { "undefined symbol" } else { "the feature `cuda-graphs`" };
        match functions() {
            Ok(_) => assert!(LIBRARY.is_some() && std::path::Path::new("/dev/nvidiactl").exists()),
            Err(problem) => assert!(problem.contains(expected), "{problem}"),
        }
    }
}
