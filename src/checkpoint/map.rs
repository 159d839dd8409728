//! The context-to-parameter map: `q_j = sum_m c_jm phi_m(z)`, `z = (xi - centre) / scale` by component.
//!
//! `phi = (1, z_1, .., z_d)` for the affine map, and also all products `z_a z_b`, `a <= b`, for the quadratic one; both have `q = p`.
//! The power map has the terms of the affine one and `q_j = p_j^s_j`, `ln p_j` for `s_j = 0`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model_error::ModelError;
use super::power::Power;

/// Degree of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MapKind {
    /// `phi = (1, z_1, .., z_d)`.
    Affine,
    /// Also all products `z_a z_b`, `a <= b`.
    Quadratic,
    /// The terms of the affine map, for a power of each parameter.
    Power,
}

impl MapKind {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            MapKind::Affine => "affine",
            MapKind::Quadratic => "quadratic",
            MapKind::Power => "power",
        }
    }

    /// Number of terms for `d` context dimensions.
    pub fn terms(self, d: usize) -> usize {
        match self {
            MapKind::Affine | MapKind::Power => 1 + d,
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
    /// Powers `s` of the parameters `[d_p]` that the power map has; absent, they are all 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub powers: Vec<Power>,
    /// Residual variance `v_j` of each `q_j` `[d_p]`: the sum of squared residuals over the number of
    /// environments minus that of terms; zero where there are no more environments than terms.
    pub residual_variance: Vec<f64>,
    /// `(Phi' Phi)^-1` over the environments `[terms][terms]`.
    pub inverse_gram: Vec<Vec<f64>>,
    /// Root mean square of the leave-one-out errors, each divided by the standard deviation of its parameter over the
    /// training environments. Absent for a map that has no more environments than terms.
    pub leave_one_out: LeaveOneOut,
    /// Residuals of the map on the environments it was fitted on.
    pub environments: Vec<MapResidual>,
    /// The model's own error, where it was learned; that of the map is part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_error: Option<ModelError>,
}

/// Leave-one-out errors of the maps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaveOneOut {
    /// Of the affine map; absent where it has no more environments than terms, or is not finite.
    pub affine: Option<f64>,
    /// Of the quadratic map; absent where it has no more environments than terms, or is not finite.
    pub quadratic: Option<f64>,
    /// Of the power map, in the parameters themselves; absent also in a model that knew none.
    #[serde(default)]
    pub power: Option<f64>,
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

    /// The powers `s` of the parameters `[d_p]`.
    pub fn powers(&self) -> impl Iterator<Item = Power> {
        self.powers.iter().copied().chain(std::iter::repeat(Power::ONE)).take(self.coefficients.len())
    }

    /// Its kind and, for a power map, what it is affine in: `power (ln beta, delta^-2)`.
    pub fn description(&self) -> String {
        match self.kind {
            MapKind::Affine | MapKind::Quadratic => self.kind.name().to_owned(),
            MapKind::Power => {
                let formulas = self.powers().zip(&self.parameters).map(|(power, name)| power.formula(name));
                format!("{} ({})", self.kind.name(), formulas.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The parameters `[d_p]` of a context `[d]`; NaN where a power has no parameter.
    pub fn apply(&self, context: &[f64]) -> Vec<f64> {
        self.powers().zip(self.terms_sum(context)).map(|(power, q)| power.invert(q)).collect()
    }

    /// `q [d_p]` of parameters `[d_p]`; NaN where a parameter has no power.
    pub fn raise(&self, parameters: &[f64]) -> Vec<f64> {
        self.powers().zip(parameters).map(|(power, p)| power.raise(*p)).collect()
    }

    /// `q [d_p]` of a context `[d]`.
    pub fn terms_sum(&self, context: &[f64]) -> Vec<f64> {
        let phi = self.kind.features(&self.standardise(context));
        self.coefficients.iter().map(|row| row.iter().zip(&phi).map(|(c, f)| c * f).sum()).collect()
    }

    /// Variance that the map itself adds to each parameter `[d_p]`: that of `q`, times `(dp/dq)^2`.
    pub fn variance(&self, context: &[f64]) -> Vec<f64> {
        let variances = self.terms_variance(context);
        self.slopes(context).zip(variances).map(|(slope, variance)| slope * slope * variance).collect()
    }

    /// Variance that the map itself adds to each `q` `[d_p]`: `v_j (1 + phi' (Phi' Phi)^-1 phi)`, from the scatter
    /// about the map and the uncertainty of its coefficients.
    pub fn terms_variance(&self, context: &[f64]) -> Vec<f64> {
        let phi = self.kind.features(&self.standardise(context));
        let row = |row: &[f64]| row.iter().zip(&phi).map(|(g, f)| g * f).sum::<f64>();
        let leverage: f64 = self.inverse_gram.iter().zip(&phi).map(|(g, f)| f * row(g)).sum();
        self.residual_variance.iter().map(|variance| variance * (1.0 + leverage)).collect()
    }

    /// `d p_j / d xi_k` at a context, `[d_p][d]`.
    pub fn jacobian(&self, context: &[f64]) -> Vec<Vec<f64>> {
        let rows = self.terms_jacobian(context);
        self.slopes(context).zip(rows).map(|(slope, row)| row.iter().map(|it| slope * it).collect()).collect()
    }

    /// `dp_j / dq_j [d_p]` at a context.
    fn slopes(&self, context: &[f64]) -> impl Iterator<Item = f64> {
        self.powers().zip(self.terms_sum(context)).map(|(power, q)| power.slope(q))
    }

    /// `d q_j / d xi_k` at a context, `[d_p][d]`.
    pub fn terms_jacobian(&self, context: &[f64]) -> Vec<Vec<f64>> {
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

    fn map(kind: MapKind, powers: &str) -> ParameterMap {
        let coefficients = vec![vec![1.0, 2.0, -1.0, 0.3, 0.7, -0.2], vec![3.0, -1.0, 0.5, 0.1, -0.4, 0.9]];
        let terms = kind.terms(2);
        ParameterMap {
            kind,
            parameters: vec!["p".into(), "q".into()],
            centre: vec![0.1, -0.2],
            scale: vec![0.5, 2.0],
            coefficients: coefficients.into_iter().map(|row| row[..terms].to_vec()).collect(),
            powers: serde_json::from_str(powers).unwrap(),
            residual_variance: vec![0.2, 0.3],
            inverse_gram: (0..terms).map(|m| (0..terms).map(|n| f64::from(u8::from(m == n))).collect()).collect(),
            leave_one_out: LeaveOneOut { affine: None, quadratic: None, power: None },
            environments: vec![],
            model_error: None,
        }
    }

    #[test]
    fn the_jacobian_agrees_with_finite_differences() {
        for map in [map(MapKind::Quadratic, "[]"), map(MapKind::Power, "[0.0, -2.0]"), map(MapKind::Power, "[1, 0.5]")]
        {
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

    /// To first order: the spread of the parameter where `q` spreads a little.
    #[test]
    fn the_variance_of_a_power_is_carried_to_the_parameter() {
        let mut map = map(MapKind::Power, "[0.0, -2.0]");
        map.residual_variance = vec![1e-12; 2];
        let xi = [0.4, 0.9];
        let deviations = map.terms_variance(&xi).into_iter().map(f64::sqrt);
        for (j, deviation) in deviations.enumerate() {
            let mut moved = map.clone();
            moved.coefficients[j][0] += deviation;
            let spread = moved.apply(&xi)[j] - map.apply(&xi)[j];
            approx::assert_relative_eq!(spread.abs(), map.variance(&xi)[j].sqrt(), max_relative = 1e-4);
        }
    }

    #[test]
    fn a_map_written_before_there_were_powers_is_read() {
        let new = map(MapKind::Affine, "[]");
        let mut value = serde_json::to_value(&new).unwrap();
        assert!(value.get("powers").is_none());
        value["leave_one_out"].as_object_mut().unwrap().remove("power").unwrap();
        let old: ParameterMap = serde_json::from_value(value).unwrap();
        assert_eq!(old, new);
        assert!(old.powers().eq([Power::ONE; 2]));
        assert_eq!(map(MapKind::Power, "[0.0, -2.0]").description(), "power (ln p, q^-2)");
    }
}
