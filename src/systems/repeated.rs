//! What is given again and again since ever, as the inputs of one trajectory say it: the same for simulations and for fits.

use super::system::Doses;

/// A sudden change of an input at the time of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rise {
    pub time: f64,
    /// Index of the input.
    pub input: usize,
    /// How much it rises by.
    pub by: f64,
}

/// An infusion at the begin of each interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Infused {
    /// Index of the input.
    pub input: usize,
    /// How much that rises by.
    pub rate: f64,
    /// No longer than the interval.
    pub duration: f64,
}

/// What begins with an interval, and is repeated every so long.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Begun {
    /// Index of the way, and amount.
    pub doses: Vec<(usize, f64)>,
    pub infusions: Vec<Infused>,
    pub interval: f64,
}

impl Doses {
    /// Whether amounts, infusions or resets are read off an input, which must be held and change at once.
    pub(crate) fn reads(&self, input: usize) -> bool {
        self.reset == Some(input)
            || self.ways.iter().any(|way| way.input == input)
            || self.infusions.iter().any(|it| it.input == input)
            || self.intervals().any(|interval| interval.0 == input)
    }

    /// What begins with the rise of an interval, one of all `rises` of a trajectory.
    ///
    /// # Errors
    /// Why that has no steady state, in words.
    pub(crate) fn begun(&self, rises: &[Rise], interval: &Rise) -> Result<Begun, String> {
        let (time, every) = (interval.time, interval.by);
        let of_time = |dose: &&Rise| dose.time == time;
        let doses = rises.iter().filter(of_time).flat_map(|dose| {
            let is_meant = move |way: &usize| {
                let way = &self.ways[*way];
                way.input == dose.input && [way.interval, way.superposed].contains(&Some(interval.input))
            };
            (0..self.ways.len()).filter(is_meant).map(|way| (way, dose.by))
        });
        let is_infusion = |input: usize| {
            let mut of_input = self.infusions.iter().filter(|it| it.input == input);
            of_input.any(|it| [it.interval, it.superposed].contains(&Some(interval.input)))
        };
        let begun = rises.iter().filter(of_time).filter(|it| it.by > 0.0 && is_infusion(it.input));
        let infusions = begun.map(|it| infused(rises, it, every)).collect::<Result<Vec<Infused>, String>>()?;
        let begun = Begun { doses: doses.collect(), infusions, interval: every };
        if begun.doses.is_empty() && begun.infusions.is_empty() {
            return Err(format!(
                "the interval of a steady state at t = {time}, and no dose or infusion at that time: give both the same time"
            ));
        }
        Ok(begun)
    }
}

/// The infusion that begins with a rise, and must end within the interval.
fn infused(rises: &[Rise], begun: &Rise, every: f64) -> Result<Infused, String> {
    let (time, rate) = (begun.time, begun.by);
    match rises.iter().find(|it| it.input == begun.input && it.time > time) {
        Some(end) if (end.by + rate).abs() <= 1e-9 * rate && end.time - time <= every => {
            Ok(Infused { input: begun.input, rate, duration: end.time - time })
        }
        Some(end) if (end.by + rate).abs() <= 1e-9 * rate => Err(format!(
            "an infusion in its steady state every {every} from t = {time} to {}: an infusion must not be longer than the interval; correct its \
             duration or the interval",
            end.time
        )),
        Some(other) => Err(format!(
            "an infusion in its steady state from t = {time} on, and another change of its rate, by {}, at t = {} before it ends; give them \
             inputs of their own",
            other.by, other.time
        )),
        None => Err(format!(
            "an infusion in its steady state from t = {time} on that does not end: its rate must fall by {rate} at some sample"
        )),
    }
}

/// Why bioavailabilities and lags `[W, 2]` are none, in words.
pub(crate) fn wrong_way(of_ways: &[f64]) -> Option<String> {
    if let Some(wrong) = of_ways.iter().find(|value| !value.is_finite()) {
        return Some(format!(
            "the bioavailability or lag of a dose is {wrong}; correct its expression, or bounds of parameters"
        ));
    }
    let lag = of_ways.iter().skip(1).step_by(2).find(|lag| **lag < 0.0)?;
    Some(format!("the lag of a dose is {lag}, below 0: raise the lower bounds of its parameters"))
}

/// Why doses with these lags have no steady state every `interval`, in words.
pub(crate) fn longer_lag(mut lags: impl Iterator<Item = f64>, interval: f64) -> Option<String> {
    let lag = lags.find(|lag| *lag >= interval)?;
    Some(format!(
        "a lag of {lag} of doses in their steady state every {interval}: a lag must be shorter than the interval; lower the upper bounds of its \
         parameters"
    ))
}
