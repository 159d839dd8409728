//! The context that parameters have by the map, where each context has its own parameters and each parameters their context.
//!
//! `q = c_0 + C z`, `z = (xi - centre) / scale`, gives `xi = centre + scale C^-1 (q - c_0)`, affine in `q`.

use nalgebra::{DMatrix, DVector};

use super::map::{MapKind, ParameterMap};

/// Least singular value of `C`, its rows of norm one, beside the greatest.
const SINGULAR: f64 = 1e-8;

/// `xi = offset + slopes v`.
pub(super) struct Affine {
    /// `[d]`.
    pub offset: Vec<f64>,
    /// `[d][n]`.
    pub slopes: Vec<Vec<f64>>,
}

impl Affine {
    /// `xi = v`.
    pub(super) fn identity(d: usize) -> Self {
        let row = |k: usize| (0..d).map(|j| f64::from(u8::from(j == k))).collect();
        Affine { offset: vec![0.0; d], slopes: (0..d).map(row).collect() }
    }
}

impl ParameterMap {
    /// The context as a function of the `q [d_p]` of parameters, in which it is affine.
    ///
    /// # Errors
    /// Why there is no such function, in words.
    pub(super) fn inverse(&self) -> Result<Affine, String> {
        let (d, count) = (self.centre.len(), self.coefficients.len());
        if self.kind == MapKind::Quadratic {
            return Err("the map from contexts is quadratic".to_owned());
        }
        if count != d {
            return Err(format!("the map from contexts of {d} to parameters, {count} of them, has no inverse"));
        }
        let matrix = DMatrix::from_fn(d, d, |j, k| self.coefficients[j][k + 1]);
        let norms: Vec<f64> = matrix.row_iter().map(|row| row.norm()).collect();
        let unit = DMatrix::from_fn(d, d, |j, k| matrix[(j, k)] / norms[j]);
        let values = unit.iter().all(|value| value.is_finite()).then(|| unit.singular_values());
        let is_regular = values.is_some_and(|values| values.min() > SINGULAR * values.max());
        let Some(inverse) = matrix.try_inverse().filter(|_| is_regular) else {
            return Err("the map from contexts has no inverse".to_owned());
        };
        let at_zero = &inverse * DVector::from_iterator(d, self.coefficients.iter().map(|row| row[0]));
        let offset = (0..d).map(|k| self.centre[k] - self.scale[k] * at_zero[k]);
        let slopes = (0..d).map(|k| inverse.row(k).iter().map(|slope| self.scale[k] * slope).collect());
        Ok(Affine { offset: offset.collect(), slopes: slopes.collect() })
    }
}
