//! Vector fields that are a chain of layers, each linear in its weights and in its input, with swish activations
//! between them.
//!
//! With `y = L(theta, h)` bilinear except for its bias, the tangents at `theta = basis_0 + sum_k xi_k basis_k` are
//! `dy_k = L(theta, dh_k) + L(basis_k, h)`, the first without bias: one product of the row's own weights with the
//! primal and its tangents together, one of the shared basis with all rows.

use tch::Tensor;

use super::model::{Field, TangentField};

/// A chain of layers on fields `h [N, B, C, n_1, .., n_k]`: `N` sets of weights, `B` states for each.
pub(super) trait Layered: Send + Sync {
    /// The weights of one layer, laid out for [`Layered::apply`].
    type Layer;

    /// Channels of a state.
    fn channels(&self) -> usize;

    /// Points of a state along each axis.
    fn space(&self) -> &[usize];

    /// The shape `[.., n_1, .., n_k]` of fields.
    fn fields(&self, of_each: &[i64]) -> Vec<i64> {
        of_each.iter().copied().chain(self.space().iter().map(|&count| count as i64)).collect()
    }

    /// The layers under `weights [N, P]`.
    fn layers(&self, weights: &Tensor) -> Vec<Self::Layer>;

    /// `L(theta, h)`; without its bias if `bias` is false.
    fn apply(&self, layer: &Self::Layer, h: &Tensor, bias: bool) -> Tensor;

    /// Whether the swish follows the layer at `index` of `count`.
    fn is_activated(&self, index: usize, count: usize) -> bool {
        index + 1 < count
    }

    /// Input of the first layer: the state, and features that depend only on the position.
    fn lift(&self, x: Tensor) -> Tensor {
        x
    }

    /// The same for tangents of the state; features of the position have none.
    fn lift_tangent(&self, dx: Tensor) -> Tensor {
        dx
    }
}

/// As [`super::TensorModel::field`].
pub(super) fn field<'a, M: Layered>(model: &'a M, weights: &Tensor) -> Field<'a>
where
    M::Layer: 'a,
{
    let layers = model.layers(weights);
    Box::new(move |x| {
        let shape = x.size();
        let mut h = model.lift(x.view(model.fields(&[shape[0], shape[1], model.channels() as i64]).as_slice()));
        for (index, layer) in layers.iter().enumerate() {
            h = model.apply(layer, &h, true);
            if model.is_activated(index, layers.len()) {
                h = h.silu();
            }
        }
        h.reshape(&shape)
    })
}

/// As [`super::TensorModel::tangent_field`].
pub(super) fn tangent_field<'a, M: Layered>(model: &'a M, basis: &Tensor, contexts: &Tensor) -> TangentField<'a>
where
    M::Layer: 'a,
{
    let (rows, d) = contexts.size2().expect("contexts are a matrix");
    let own = model.layers(&(basis.narrow(0, 0, 1) + contexts.matmul(&basis.narrow(0, 1, d))));
    let shared = model.layers(&basis.narrow(0, 1, d));
    let (count, c) = (own.len(), model.channels() as i64);
    Box::new(move |x, dx| {
        let mut h = model.lift(x.view(model.fields(&[rows, 1, c]).as_slice()));
        let dx = dx.view(model.fields(&[d, rows, c]).as_slice());
        let mut dh = model.lift_tangent(dx.transpose(0, 1)); // [R, d, C, n_1, .., n_k]
        for (index, (own, shared)) in own.iter().zip(&shared).enumerate() {
            // [R, 1, ..] to [d, R, ..]: every row under every basis vector.
            let mut of_basis = vec![-1; h.dim()];
            of_basis[0] = d;
            let of_basis = h.transpose(0, 1).expand(of_basis, false);
            let moved = model.apply(own, &dh, false) + model.apply(shared, &of_basis, true).transpose(0, 1);
            let value = model.apply(own, &h, true);
            (h, dh) = if model.is_activated(index, count) {
                let sigma = value.sigmoid();
                let activation = &value * &sigma;
                let slope = &sigma + &activation - &activation * &sigma; // s'(a) = sigma + a sigma (1 - sigma)
                (activation, moved * slope)
            } else {
                (value, moved)
            };
        }
        (h.reshape([rows, -1]), dh.transpose(0, 1).reshape([d, rows, -1]))
    })
}
