//! The environments of a split: their numbers, ids and parameters.

use std::collections::BTreeMap;

use super::settings::{Environments, Settings, SplitSettings};
use crate::schema::{Quantity, Split};
use crate::systems::{Channel, EnvironmentSet, Parameter, Preset, Range, System};

/// One environment to simulate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Environment {
    /// Its number in the whole set or list, before the limit: random draws are keyed by it.
    pub index: usize,
    pub id: String,
    /// `[d_p]`, then covariates.
    pub parameters: Vec<f64>,
}

impl Settings {
    /// Number of environments of `split`; `None` if it is absent or invalid.
    pub fn environments(&self, split: Split) -> Option<usize> {
        let system = self.find_system().ok()?;
        select(&system, self.find_preset(&system)?, split, self.splits.get(&split)?)
            .map(|environments| environments.len())
    }
}

/// The environments of `split` in ascending order; `None` for an unknown set or incomplete parameters, which validation reports.
pub(crate) fn select(
    system: &System,
    preset: &Preset,
    split: Split,
    settings: &SplitSettings,
) -> Option<Vec<Environment>> {
    let environment = |index: usize, parameters: Vec<f64>| Environment {
        index,
        id: format!("{}-{index:05}", group(split)),
        parameters,
    };
    match &settings.environments {
        Environments::Named(name) => {
            let set = preset.environment_set(name)?;
            Some(
                indices(set, settings.limit)
                    .into_iter()
                    .map(|index| environment(index, set.parameters(index)))
                    .collect(),
            )
        }
        Environments::Explicit(list) => thin(&[list.len()], settings.limit)
            .into_iter()
            .map(|index| Some(environment(index, in_order(&list[index], &known(system))?)))
            .collect(),
        Environments::Grid(ranges) => {
            let ranges = in_order(ranges, &known(system))?;
            let shape: Vec<usize> = ranges.iter().map(|range| range.count).collect();
            let numbers = thin(&shape, settings.limit);
            Some(numbers.into_iter().map(|index| environment(index, point(&ranges, index))).collect())
        }
    }
}

/// What an environment is known by: the parameters, then the covariates, which have no bounds.
pub(crate) fn known(system: &System) -> Vec<Parameter> {
    let covariate = |it: &Channel| {
        let bounds = [f64::NEG_INFINITY, f64::INFINITY];
        Parameter::new(it.name.as_str(), it.unit.as_str(), it.description.as_str(), bounds)
    };
    system.parameters.iter().cloned().chain(system.covariates.iter().map(covariate)).collect()
}

/// The same as a manifest states them.
pub(crate) fn known_quantities(system: &System) -> Vec<Quantity> {
    known(system).iter().map(|it| Quantity::new(&it.name, &it.unit, &it.description)).collect()
}

/// The prefix of environment ids: splits of the same environments share it.
fn group(split: Split) -> &'static str {
    match split {
        Split::Train | Split::Validation | Split::Test => "train",
        Split::Adapt | Split::AdaptTest => "adapt",
        Split::Grid => "grid",
        Split::Calibrate => "calibrate",
    }
}

/// The split that must have all environments of `split`, if any.
pub(crate) fn partner(split: Split) -> Option<Split> {
    match split {
        Split::Validation | Split::Test => Some(Split::Train),
        Split::AdaptTest => Some(Split::Adapt),
        Split::Train | Split::Adapt | Split::Grid | Split::Calibrate => None,
    }
}

/// The numbers of the environments of a named set that a limit keeps, ascending.
pub(crate) fn indices(set: &EnvironmentSet, limit: Option<usize>) -> Vec<usize> {
    thin(&set.shape(), limit)
}

fn in_order<T: Copy>(values: &BTreeMap<String, T>, parameters: &[Parameter]) -> Option<Vec<T>> {
    parameters.iter().map(|parameter| values.get(&parameter.name).copied()).collect()
}

/// The parameters `[d_p]` at the point of a grid with this number.
fn point(ranges: &[Range], number: usize) -> Vec<f64> {
    let mut rest = number;
    let mut parameters = vec![0.0; ranges.len()];
    for (parameter, range) in parameters.iter_mut().zip(ranges).rev() {
        *parameter = range.value(rest % range.count);
        rest /= range.count;
    }
    parameters
}

/// Thins a grid of this shape to at most `limit` points and returns their numbers (last axis fastest). Starting from one point each, axes
/// grow in turn as long as the product stays within the limit.
fn thin(shape: &[usize], limit: Option<usize>) -> Vec<usize> {
    let total: usize = shape.iter().product();
    let limit = limit.unwrap_or(total).min(total);
    if limit == 0 {
        return Vec::new();
    }
    let mut kept = vec![1; shape.len()];
    loop {
        let product: usize = kept.iter().product();
        let longer = (0..shape.len())
            .filter(|&axis| kept[axis] < shape[axis] && product / kept[axis] * (kept[axis] + 1) <= limit)
            .min_by_key(|&axis| kept[axis]);
        match longer {
            Some(axis) => kept[axis] += 1,
            None => break,
        }
    }
    shape.iter().zip(&kept).fold(vec![0], |numbers, (&length, &count)| {
        let positions = (0..count).map(|k| match count {
            1 => (length - 1) / 2,
            _ => (k * (length - 1) + (count - 1) / 2) / (count - 1),
        });
        let positions: Vec<usize> = positions.collect();
        numbers.iter().flat_map(|number| positions.iter().map(move |position| number * length + position)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_every_combination_the_last_parameter_fastest() {
        let ranges = [Range { from: 0.0, to: 1.0, count: 2 }, Range { from: 5.0, to: 6.0, count: 3 }];
        let points: Vec<Vec<f64>> = (0..6).map(|number| point(&ranges, number)).collect();
        assert_eq!(points, [[0.0, 5.0], [0.0, 5.5], [0.0, 6.0], [1.0, 5.0], [1.0, 5.5], [1.0, 6.0]]);
        assert_eq!(point(&[Range { from: 3.0, to: 3.0, count: 1 }], 0), [3.0]);
    }

    #[test]
    fn no_limit_keeps_everything() {
        assert_eq!(thin(&[2, 3], None), [0, 1, 2, 3, 4, 5]);
        assert_eq!(thin(&[2, 3], Some(100)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(thin(&[0], Some(4)), [0; 0]);
    }

    #[test]
    fn a_limit_thins_every_axis_and_keeps_its_ends() {
        assert_eq!(thin(&[3, 3], Some(4)), [0, 2, 6, 8]);
        assert_eq!(thin(&[51, 51], Some(9)), [0, 25, 50, 1275, 1300, 1325, 2550, 2575, 2600]);
        assert_eq!(thin(&[5], Some(2)), [0, 4]);
        assert_eq!(thin(&[51, 51], Some(1)), [25 * 51 + 25]);
    }

    proptest::proptest! {
        #[test]
        fn thinned_numbers_ascend_within_the_limit(a in 1usize..40, b in 1usize..40, limit in 1usize..2000) {
            let kept = thin(&[a, b], Some(limit));
            proptest::prop_assert!(!kept.is_empty() && kept.len() <= limit.min(a * b));
            proptest::prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            proptest::prop_assert!(kept.iter().all(|&number| number < a * b));
        }
    }
}
