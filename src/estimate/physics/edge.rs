//! The end of one side of a profile: where a parameter has moved so far that the likelihood has fallen by a limit.
//!
//! The square root of the increase of `-2 log L` is nearly linear in the parameter, so that a few fits with the parameter held, each from the one
//! before, find the end.

use super::coordinates::Coordinate;

/// Points of one side at most.
const POINTS: usize = 24;
/// Relative error of the half width of an interval.
const CLOSE: f64 = 5e-3;
/// Growth of a step while the end is beyond it.
const GROWTH: (f64, f64) = (1.2, 4.0);
/// How much better a fit with a parameter held may be before the best one was none: errors of integration, and the last step that it spared.
const BETTER: f64 = 0.1;

/// Where one side of a profile ends.
pub(crate) enum Edge<T> {
    /// In the coordinate of the parameter.
    At(f64),
    Open,
    Unknown(String),
    /// The estimate was not the minimum: better by this, at such a fit.
    Better(f64, T),
}

/// Why there is no fit with the parameter held.
pub(crate) enum NoFit {
    /// There is none here.
    Here(String),
    /// There will be none elsewhere either.
    Anywhere(String),
}

/// One side of the profile of a parameter.
pub(crate) struct Side {
    pub coordinate: Coordinate,
    /// The coordinate of the estimate.
    pub first: f64,
    /// About as far as the end, in the unit of the parameter.
    pub step: f64,
    /// The increase at the end.
    pub limit: f64,
}

impl Side {
    /// Looks for the end from the fit `best`, by fits with the parameter held at a coordinate, from another fit; each comes with its increase of `-2 log L`.
    /// Adds values of the parameter, and the increase there, to `points`.
    pub(crate) fn edge<T>(
        &self,
        best: T,
        points: &mut Vec<(f64, f64)>,
        mut held: impl FnMut(&T, f64) -> Result<(f64, T), NoFit>,
    ) -> Edge<T> {
        let Side { coordinate, first, step, limit } = *self;
        let (low, high) = coordinate.ends();
        let bound = if step < 0.0 { low } else { high };
        if (bound - first) * step <= 0.0 {
            return Edge::Open;
        }
        let wanted = limit.sqrt();
        let (mut inner, mut outer): ((f64, f64, T), Option<(f64, f64)>) = ((first, 0.0, best), None);
        // The first step is half as far: its fit starts nearer, and the profile has a point between.
        let mut at = first + 0.5 * step / coordinate.value(first).1;
        let mut why = "as many fits as are tried did not reach it".to_owned();
        for _ in 0..POINTS {
            at = at.clamp(low, high);
            let root = match held(&inner.2, at) {
                Ok((increase, fit)) if increase < -BETTER => return Edge::Better(-increase, fit),
                Ok((increase, fit)) => {
                    let root = increase.max(0.0).sqrt();
                    points.push((coordinate.value(at).0, root * root));
                    if root < wanted {
                        inner = (at, root, fit);
                    }
                    root
                }
                Err(NoFit::Anywhere(reason)) => return Edge::Unknown(reason),
                Err(NoFit::Here(reason)) => {
                    why = reason;
                    f64::INFINITY
                }
            };
            if (root / wanted - 1.0).abs() < CLOSE {
                return Edge::At(at);
            }
            if root < wanted && at == bound {
                return Edge::Open;
            }
            if root >= wanted {
                outer = Some((at, root));
            }
            at = match outer {
                Some((outer, beyond)) => {
                    let share = if beyond.is_finite() { (wanted - inner.1) / (beyond - inner.1) } else { 0.5 };
                    inner.0 + share.clamp(0.05, 0.95) * (outer - inner.0)
                }
                None => first + (at - first) * (1.02 * wanted / root.max(f64::MIN_POSITIVE)).clamp(GROWTH.0, GROWTH.1),
            };
        }
        match outer {
            Some((_, beyond)) if beyond.is_finite() => Edge::At(at),
            _ => Edge::Unknown(why),
        }
    }
}

/// Why an interval has no end, in words; `side` is `below` or `above`.
pub(crate) fn open(name: &str, side: &str, bound: f64) -> String {
    format!("the interval of {name} is open {side}: its bound {bound} explains the data too")
}

/// Why an end was not found, in words.
pub(crate) fn unknown(name: &str, side: &str, why: &str) -> String {
    format!("the interval of {name} has no end {side} that was found ({why})")
}
