//! Environments that training inferred, beside the labels that the dataset has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which environment each training trajectory was found to belong to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inferred {
    /// The training trajectories.
    pub trajectories: Vec<Assigned>,
    /// Adjusted Rand index of the assignment and the labels: 1 where both part the trajectories alike, about 0 where they have nothing in
    /// common. Absent where all labels are equal, or each its own. Training does not see it.
    pub adjusted_rand_index: Option<f64>,
}

/// One training trajectory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assigned {
    /// Its environment in the dataset, of which training did not know.
    pub label: String,
    /// Its id.
    pub trajectory: String,
    /// Index of the environment of the model that it was assigned to.
    pub environment: usize,
}

impl Inferred {
    /// Compares the assignment with the labels.
    pub fn new(trajectories: Vec<Assigned>) -> Self {
        let pairs: Vec<(&str, usize)> = trajectories.iter().map(|it| (it.label.as_str(), it.environment)).collect();
        let adjusted_rand_index = adjusted_rand_index(&pairs);
        Inferred { trajectories, adjusted_rand_index }
    }

    /// How many trajectories of each label the environment of this index has.
    pub fn labels_of(&self, environment: usize) -> BTreeMap<&str, usize> {
        let mut labels = BTreeMap::new();
        for it in self.trajectories.iter().filter(|it| it.environment == environment) {
            *labels.entry(it.label.as_str()).or_insert(0) += 1;
        }
        labels
    }
}

/// ```text
/// (sum_ij C(n_ij, 2) - e) / ((sum_i C(a_i, 2) + sum_j C(b_j, 2)) / 2 - e),     e = sum_i C(a_i, 2) sum_j C(b_j, 2) / C(n, 2)
/// ```
///
/// for `n_ij` of `n` things in class `i` of one partition and `j` of the other, `a` and `b` its sums; `None` where it is 0/0, or the
/// labels part nothing. Source: L. Hubert, P. Arabie, Comparing partitions, Journal of Classification 2, 1985, equation 5.
fn adjusted_rand_index(pairs: &[(&str, usize)]) -> Option<f64> {
    let (mut both, mut first, mut second) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for &(label, environment) in pairs {
        *both.entry((label, environment)).or_insert(0) += 1;
        *first.entry(label).or_insert(0) += 1;
        *second.entry(environment).or_insert(0) += 1;
    }
    if first.len() < 2 || first.len() == pairs.len() {
        return None;
    }
    let two = |count: usize| count as f64 * (count as f64 - 1.0) / 2.0;
    let together: f64 = both.into_values().map(two).sum();
    let (first, second): (f64, f64) = (first.into_values().map(two).sum(), second.into_values().map(two).sum());
    let expected = first * second / two(pairs.len());
    let index = (together - expected) / ((first + second) / 2.0 - expected);
    Some(index).filter(|index| index.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the tables of two classes and two or three.
    #[test]
    fn the_index_is_one_of_equal_partitions_and_below_zero_of_crossed_ones() {
        let index = |labels: [&'static str; 4], found: [usize; 4]| {
            adjusted_rand_index(&labels.into_iter().zip(found).collect::<Vec<_>>())
        };
        assert_eq!(index(["a", "a", "b", "b"], [1, 1, 0, 0]), Some(1.0));
        approx::assert_relative_eq!(
            index(["a", "a", "b", "b"], [0, 0, 1, 2]).unwrap(),
            4.0 / 7.0,
            max_relative = 1e-12
        );
        approx::assert_relative_eq!(index(["a", "a", "b", "b"], [0, 1, 0, 1]).unwrap(), -0.5, max_relative = 1e-12);
        assert_eq!(index(["a"; 4], [0, 1, 0, 1]), None);
        assert_eq!(index(["a", "b", "c", "d"], [0, 1, 0, 1]), None);
    }
}
