//! Where the weights of an environment find their values, for rules under which each is a sum of them.
//!
//! ```text
//! theta_p = z[c_p] + sum_k xi_k z[a_kp] + s_p + xi[o_p]
//! ```
//!
//! with the shared values `z [S]` and the context `xi [d]` of the environment; each term may be absent. These are plain indices, so that a
//! device can decode by itself, and pull gradients back.

/// The locality penalty `Omega` on the columns `A [P, d]` of values that a context multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    /// None.
    None,
    /// The sum of the norms of its rows.
    RowNorms,
    /// Its squared norm.
    Squares,
}

/// The places of all weights; a list is empty where no weight has such a term.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// `c [P]`.
    pub constants: Vec<Option<usize>>,
    /// `a [d, P]`.
    pub columns: Vec<Option<usize>>,
    /// `o [P]`.
    pub owned: Vec<Option<usize>>,
    /// `s [P]`.
    pub starts: Vec<f64>,
    /// The penalty on the values of the columns.
    pub locality: Locality,
}
