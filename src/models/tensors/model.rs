//! The vector field of a model on tensors of libtorch.

use tch::Tensor;

use crate::models::model::Model;

/// The vector field of a batch, ready to be evaluated many times with the same weights.
pub type Field<'a> = Box<dyn Fn(&Tensor) -> Tensor + 'a>;

/// The vector field of a batch with its tangents: `(x, dx) -> (g, dg)`. Inputs follow the values of a state.
pub type TangentField<'a> = Box<dyn Fn(&Tensor, &Tensor) -> (Tensor, Tensor) + 'a>;

/// A model whose vector field is computed on tensors.
pub trait TensorModel: Model {
    /// `g` with one set of weights per environment: `weights [E, P]`, states and inputs `[E, B, C + U]` to rates `[E,
    /// B, C]`.
    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a>;

    /// `g` and its tangents with respect to contexts, with `theta_r = basis_0 + sum_k xi_rk basis_k`,
    /// states and inputs `x [R, C + U]` and tangents `dx [d, R, C + U]` (`dx_k = d x / d xi_k`) give `g [R, C]` and `dg [d, R, C]`.
    ///
    /// `basis` is `[1 + d, P]`, `contexts` `[R, d]`.
    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a>;
}
