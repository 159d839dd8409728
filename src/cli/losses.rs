//! The losses of a training as they come, in words and drawn.

use super::sparkline::sparkline;
use crate::progress::Look;

/// Most columns of the drawn curve: all has room in a terminal of 80.
const WIDTH: usize = 18;

/// What was seen at each look at the validation split, the last one last.
#[derive(Default)]
pub(crate) struct Losses {
    looks: Vec<Look>,
}

impl Losses {
    pub(crate) fn add(&mut self, look: Look) {
        self.looks.push(look);
    }

    /// The last of them; empty before there is one.
    pub(crate) fn words(&self) -> String {
        let Some(Look { train, validation, best, .. }) = self.looks.last() else { return String::new() };
        let or_not = |value: Option<f64>| value.map_or("not finite".to_owned(), |it| format!("{it:.2e}"));
        let best = best.map_or(String::new(), |best| format!(", best {best:.2e}"));
        format!("train {train:.2e}, validation {}{best}", or_not(*validation))
    }

    /// The curve on the validation split, in a field of fixed width.
    pub(crate) fn curve(&self) -> String {
        let values: Vec<f64> = self.looks.iter().map(|look| look.validation.unwrap_or(f64::NAN)).collect();
        format!("{:<WIDTH$}", sparkline(&values, WIDTH))
    }
}
