//! What happens to the states of simulated trajectories where inputs change.
//!
//! ```text
//! y+ = y- + F a e_i        at the time t + l
//! ```
//!
//! `a` amount given at `t`, `F` its bioavailability, `l` its lag, `e_i` the unit vector of its state. A reset puts states to their starts, and drops what
//! was given before and has not acted yet; so does a steady state, which puts them to what the same doses and infusions lead to that are given every
//! interval since ever. At one time resets come first, then steady states, then amounts.

use super::dosing::Dosing;
use crate::expressions::Dual;
use crate::systems::{Doses, Infused, InitialValue, Rise, System, longer_lag, wrong_way};

/// What happens at a time.
pub(crate) struct Happening {
    pub time: f64,
    /// When it was ordered: earlier by the lag.
    ordered: f64,
    pub what: What,
}

/// A change of the state, or of the inputs alone.
pub(crate) enum What {
    Reset,
    /// What is repeated, and whether its steady state is added to the state.
    Steady(Repeated, bool),
    /// The index of the state, and by how much it jumps.
    Give(usize, f64),
    /// Of the inputs.
    Change,
}

impl What {
    /// What comes first at one time.
    fn rank(&self) -> u8 {
        match self {
            What::Reset => 0,
            What::Steady(..) => 1,
            What::Give(..) | What::Change => 2,
        }
    }
}

/// What is given every interval since ever.
pub(crate) struct Repeated {
    /// Lag, index of the state, and by how much it jumps.
    pub doses: Vec<(f64, usize, f64)>,
    pub infusions: Vec<Infused>,
    pub interval: f64,
}

/// All that happens, in order, with these `parameters` of the environment.
///
/// # Errors
/// Why something cannot be given so, in words.
pub(crate) fn happenings(dosing: &Dosing, system: &System, parameters: &[f64]) -> Result<Vec<Happening>, String> {
    let change = |time: f64| Happening { time, ordered: time, what: What::Change };
    let mut all: Vec<Happening> = dosing.bends().map(|it| change(it.0)).collect();
    if let Some(doses) = &system.doses {
        let of_ways = of_ways(doses, &dosing.with_inputs(parameters, 0.0));
        if let Some(wrong) = wrong_way(of_ways.as_flattened()) {
            return Err(wrong);
        }
        let rises = dosing.rises();
        for &(time, input, amount) in &dosing.given {
            all.push(change(time));
            if doses.reset == Some(input) {
                all.push(Happening { time, ordered: time, what: What::Reset });
            }
            if let Some((_, is_added)) = doses.intervals().find(|interval| interval.0 == input) {
                let begun = doses.begun(&rises, &Rise { time, input, by: amount })?;
                if let Some(wrong) = longer_lag(begun.doses.iter().map(|it| of_ways[it.0][1]), begun.interval) {
                    return Err(wrong);
                }
                let given = |(way, amount): (usize, f64)| {
                    let [factor, lag] = of_ways[way];
                    (lag, doses.ways[way].state, amount * factor)
                };
                let repeated = Repeated {
                    doses: begun.doses.into_iter().map(given).collect(),
                    infusions: begun.infusions,
                    interval: begun.interval,
                };
                all.push(Happening { time, ordered: time, what: What::Steady(repeated, is_added) });
            }
            for (way, [factor, lag]) in doses.ways.iter().zip(&of_ways).filter(|(way, _)| way.input == input) {
                all.push(Happening { time: time + lag, ordered: time, what: What::Give(way.state, amount * factor) });
            }
        }
    }
    let cuts: Vec<f64> =
        all.iter().filter(|it| matches!(it.what, What::Reset | What::Steady(..))).map(|it| it.time).collect();
    all.retain(|it| !cuts.iter().any(|cut| it.ordered < *cut && it.time >= *cut));
    all.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.what.rank().cmp(&b.what.rank())));
    Ok(all)
}

/// Bioavailability and lag of each way of giving doses.
fn of_ways(doses: &Doses, parameters: &[f64]) -> Vec<[f64; 2]> {
    let parameters: Vec<Dual> = parameters.iter().map(|&value| Dual::from(value)).collect();
    let mut of_ways = vec![Dual::default(); 2 * doses.ways.len()];
    doses.field.first(&parameters, Dual::from(0.0), &[], &mut of_ways);
    of_ways.chunks_exact(2).map(|of| [of[0].value, of[1].value]).collect()
}

/// The starts of the states at a time of a reset, where inputs stand behind the `parameters`.
pub(crate) fn starts(doses: &Doses, parameters: &[f64], time: f64) -> Vec<f64> {
    let mut values = vec![Dual::default(); doses.initial.len()];
    if let Some(field) = &doses.starts {
        let parameters: Vec<Dual> = parameters.iter().map(|&value| Dual::from(value)).collect();
        field.first(&parameters, Dual::from(time), &[], &mut values);
    }
    let value = |(initial, value): (&InitialValue, Dual)| match initial {
        InitialValue::Number(number) => *number,
        // Equations with a reset have no other starts.
        _ => value.value,
    };
    doses.initial.iter().zip(values).map(value).collect()
}
