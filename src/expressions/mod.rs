//! Arithmetic expressions of users: text to code for a stack machine, with derivatives by dual numbers.

pub(crate) mod functions;
pub(crate) mod dual;
pub(crate) mod nested;
pub(crate) mod program;
pub(crate) mod grammar;
pub(crate) mod compile;
pub(crate) mod formula;
pub(crate) mod jacobian;

pub(crate) use dual::Scalar;
pub use dual::{Dual, LANES};
pub(crate) use formula::Formula;
pub(crate) use jacobian::Jacobian;
pub use nested::Nested;
