//! The context-to-parameter map: `p_j = sum_m c_jm phi_m(z)`, `z = (xi - centre) / scale` by component.
//!
//! `phi = (1, z_1, .., z_d)` for the affine map, and also all products `z_a z_b`, `a <= b`, for the quadratic one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Degree of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MapKind {
    /// `phi = (1, z_1, .., z_d)`.
    Affine,
    /// Also all products `z_a z_b`, `a <= b`.
    Quadratic,
}

impl MapKind {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            MapKind::Affine => "affine",
            MapKind::Quadratic => "quadratic",
        }
    }

    /// Number of terms for `d` context dimensions.
    pub fn terms(self, d: usize) -> usize {
        match self {
            MapKind::Affine => 1 + d,
            MapKind::Quadratic => 1 + d + d * (d + 1) / 2,
        }
    }

    /// The terms `phi(z)`.
    pub fn features(self, z: &[f64]) -> Vec<f64> {
        let mut phi = vec![1.0];
        phi.extend(z);
        if self == MapKind::Quadratic {
            for a in 0..z.len() {
                phi.extend(z[a..].iter().map(|b| z[a] * b));
            }
        }
        phi
    }

    /// `d phi_m / d z_k` as `[terms][d]`.
    fn feature_gradients(self, z: &[f64]) -> Vec<Vec<f64>> {
        let d = z.len();
        let unit = |k: usize| (0..d).map(|i| f64::from(u8::from(i == k))).collect::<Vec<_>>();
        let mut gradients = vec![vec![0.0; d]];
        gradients.extend((0..d).map(unit));
        if self == MapKind::Quadratic {
            for a in 0..d {
                for b in a..d {
                    let mut gradient = vec![0.0; d];
                    gradient[a] += z[b];
                    gradient[b] += z[a];
                    gradients.push(gradient);
                }
            }
        }
        gradients
    }
}

/// `map.json` of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterMap {
    /// Degree of the map.
    pub kind: MapKind,
    /// Names of the parameters, in the order of the rows of `coefficients`.
    pub parameters: Vec<String>,
    /// Centre of the contexts `[d]`: their mean over the fitted environments.
    pub centre: Vec<f64>,
    /// Scale of the contexts `[d]`: their standard deviation over the fitted environments, one where that is zero.
    pub scale: Vec<f64>,
    /// `c`, `[d_p][terms]`.
    pub coefficients: Vec<Vec<f64>>,
    /// Residual variance `s_j^2` of each parameter `[d_p]`: the sum of squared residuals over the number of
    /// environments minus that of terms; zero where there are no more environments than terms.
    pub residual_variance: Vec<f64>,
    /// `(Phi' Phi)^-1` over the environments `[terms][terms]`.
    pub inverse_gram: Vec<Vec<f64>>,
    /// Root mean square of the leave-one-out errors, each divided by the standard deviation of its parameter over the
    /// training environments. Absent for a map that has no more environments than terms.
    pub leave_one_out: LeaveOneOut,
    /// Residuals of the map on the environments it was fitted on.
    pub environments: Vec<MapResidual>,
}

/// Leave-one-out errors of both maps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaveOneOut {
    /// Of the affine map; absent where it has no more environments than terms, or is not finite.
    pub affine: Option<f64>,
    /// Of the quadratic map; absent where it has no more environments than terms, or is not finite.
    pub quadratic: Option<f64>,
}

/// One environment that the map was fitted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapResidual {
    /// Its id in the dataset.
    pub environment: String,
    /// Its context, fitted as a new environment's would be, `[d]`.
    pub context: Vec<f64>,
    /// Its known parameters `[d_p]`.
    pub parameters: Vec<f64>,
    /// Mapped minus known `[d_p]`.
    pub residuals: Vec<f64>,
}

impl ParameterMap {
    fn standardise(&self, context: &[f64]) -> Vec<f64> {
        context.iter().zip(&self.centre).zip(&self.scale).map(|((xi, centre), scale)| (xi - centre) / scale).collect()
    }

    /// The parameters `[d_p]` of a context `[d]`.
    pub fn apply(&self, context: &[f64]) -> Vec<f64> {
        let phi = self.kind.features(&self.standardise(context));
        self.coefficients.iter().map(|row| row.iter().zip(&phi).map(|(c, f)| c * f).sum()).collect()
    }

    /// Variance that the map itself adds to each parameter `[d_p]`: `s_j^2 (1 + phi' (Phi' Phi)^-1 phi)`, from the
    /// scatter about the map and the uncertainty of its coefficients.
    pub fn variance(&self, context: &[f64]) -> Vec<f64> {
        let phi = self.kind.features(&self.standardise(context));
        let row = |row: &[f64]| row.iter().zip(&phi).map(|(g, f)| g * f).sum::<f64>();
        let leverage: f64 = self.inverse_gram.iter().zip(&phi).map(|(g, f)| f * row(g)).sum();
        self.residual_variance.iter().map(|variance| variance * (1.0 + leverage)).collect()
    }

    /// `d p_j / d xi_k` at a context, `[d_p][d]`.
    pub fn jacobian(&self, context: &[f64]) -> Vec<Vec<f64>> {
        let gradients = self.kind.feature_gradients(&self.standardise(context));
        let derivative = |row: &[f64], k: usize| {
            row.iter().zip(&gradients).map(|(c, gradient)| c * gradient[k]).sum::<f64>() / self.scale[k]
        };
        self.coefficients.iter().map(|row| (0..context.len()).map(|k| derivative(row, k)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jacobian_agrees_with_finite_differences() {
        let map = ParameterMap {
            kind: MapKind::Quadratic,
            parameters: vec!["p".into(), "q".into()],
            centre: vec![0.1, -0.2],
            scale: vec![0.5, 2.0],
            coefficients: vec![vec![1.0, 2.0, -1.0, 0.3, 0.7, -0.2], vec![0.0, -1.0, 0.5, 0.1, -0.4, 0.9]],
            residual_variance: vec![0.0; 2],
            inverse_gram: vec![vec![0.0; 6]; 6],
            leave_one_out: LeaveOneOut { affine: None, quadratic: None },
            environments: vec![],
        };
        let (xi, h) = ([0.4, 0.9], 1e-6);
        let jacobian = map.jacobian(&xi);
        for k in 0..2 {
            let (mut up, mut down) = (xi, xi);
            up[k] += h;
            down[k] -= h;
            for ((up, down), row) in map.apply(&up).iter().zip(map.apply(&down)).zip(&jacobian) {
                let difference = (up - down) / (2.0 * h);
                approx::assert_relative_eq!(difference, row[k], epsilon = 1e-8, max_relative = 1e-7);
            }
        }
    }
}
