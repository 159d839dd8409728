//! Parameters that all environments share, fitted together with what each has of its own.
//!
//! ```text
//! minimise  sum_e f_e(z, u_e)  over z [s] and all u_e:     F(z) = sum_e min_u f_e(z, u)
//!
//! | S   E_1 .. E_n | | dz  |       | g   |       S_e the block of environment e for z,  O_e that of its own unknowns
//! | E_1' O_1       | | du_1|  =  - | h_1 |
//! | ..       ..    | | ..  |       | ..  |       (sum_e S_e - E_e O_e^-1 E_e') dz = -sum_e (g_e - E_e O_e^-1 h_e)
//! ```
//!
//! `f_e` is the squared weighted error of an environment, or its `-2 log L`. Each step moves `z` by the arrow's Schur complement and every `u_e`
//! along with it, then lets each environment descend on its own with `z` held. Environments are independent of each other but for sums of
//! `[s, s]`, which are taken in their order whatever the number of threads: cost and memory are linear in their number. The covariance of all is
//! the inverse of the arrow,
//!
//! ```text
//! C_z = (sum_e S_e - E_e O_e^-1 E_e')^-1,     C_e = O_e^-1 + G_e C_z G_e',     C_ez = G_e C_z,     G_e = -O_e^-1 E_e'
//! ```
//!
//! Source: A. Bjorck, Numerical Methods for Least Squares Problems (1996), section 6.3; G. Golub, V. Pereyra, Separable nonlinear least squares,
//! Inverse Problems 19 (2003) R1-R26.

pub(crate) mod arrow;
pub(crate) mod batch;
pub(crate) mod member;
pub(crate) mod descent;
pub(crate) mod beginning;
pub(crate) mod errors;
pub(crate) mod bounds;
pub(crate) mod profile;
pub(crate) mod together;
pub(crate) mod row;
