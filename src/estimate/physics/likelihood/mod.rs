//! The likelihood of the observed values under kinds of noise.
//!
//! ```text
//! -2 log L = sum_i -2 log p(y_i | z_i, phi)  +  sum_k (g_k - m_k)^2 / s_k^2
//! ```
//!
//! `y` observed and `z` predicted values, `phi` logarithms of the parameters of the noise that are estimated; where a parameter has a prior,
//! `g` is it or its logarithm, with mean `m` and standard deviation `s`. A value at or below its limit of quantification counts by the
//! probability of being there.

pub(crate) mod density;
pub(crate) mod gaussian;
pub(crate) mod student;
pub(crate) mod law;
pub(crate) mod measured;
pub(crate) mod cell;
pub(crate) mod objective;
pub(crate) mod settling;
pub(crate) mod criteria;
