//! The library of products on tensors.

use tch::{Kind, Tensor};

use super::constants::constant;
use super::model::{Field, TangentField, TensorModel};
use crate::models::library::Library;
use crate::models::model::Model;
use crate::models::operator::{self, Operator};
use crate::schema::Boundary;

/// Weights of some sets, `[.., C, M]`, `[.., C, M]` and `[.., C, 1]`.
struct Parts {
    theta: Tensor,
    saturating: Option<(Tensor, Tensor)>,
}

/// `|x|^S [.., C, N]`, its slopes, and `1 / D [.., 1, N]`.
struct Saturation {
    powers: Tensor,
    slopes: Tensor,
    inverse: Tensor,
}

/// The first axis of space in a field `[B, C, n_1, .., n_k]`.
const SPACE: i64 = 2;

/// A direction along an axis.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Library {
    /// The neighbours on one side of all points of `fields [B, C, n_1, .., n_k]` along the axis of that index.
    fn neighbours(&self, fields: &Tensor, axis: usize, side: Side) -> Tensor {
        let (along, count) = (SPACE + axis as i64, self.space[axis] as i64);
        let ghost = |end: i64| match self.boundaries[axis] {
            Boundary::Zero => fields.narrow(along, end, 1).zeros_like(),
            _ => fields.narrow(along, end, 1),
        };
        match (self.boundaries[axis], side) {
            (Boundary::Periodic, Side::Before) => fields.roll([1i64], [along]),
            (Boundary::Periodic, Side::After) => fields.roll([-1i64], [along]),
            (_, Side::Before) => Tensor::cat(&[ghost(0), fields.narrow(along, 0, count - 1)], along),
            (_, Side::After) => Tensor::cat(&[fields.narrow(along, 1, count - 1), ghost(count - 1)], along),
        }
    }

    /// As in [`operator`](crate::models::Operator).
    fn laplacian(&self, state: &Tensor) -> Tensor {
        let sides = |a: &Tensor, axis| self.neighbours(a, axis, Side::Before) + self.neighbours(a, axis, Side::After);
        if self.space.len() == 2 {
            let sum = |a: &Tensor, axis| {
                self.neighbours(a, axis, Side::Before) + a * 2.0 + self.neighbours(a, axis, Side::After)
            };
            return sum(&sum(state, 0), 1) * 0.25 - state * 4.0;
        }
        (0..self.space.len()).fold(state * (-2.0 * self.space.len() as f64), |sum, axis| sum + sides(state, axis))
    }

    /// Features `[.., F, N]` of states and inputs `[.., C N + U]`; of their tangents those that depend on the state, the others being zero.
    fn of_tensor(&self, x: &Tensor, is_tangent: bool) -> Tensor {
        let (c, u, points) = (self.channels as i64, self.inputs as i64, self.points() as i64);
        let space: Vec<i64> = self.space.iter().map(|&count| count as i64).collect();
        let fields = |of_each: [i64; 2]| [&of_each[..], &space[..]].concat();
        let state = x.narrow(-1, 0, c * points).reshape(fields([-1, c]));
        let spectrum = self.operators.iter().any(|operator| operator.is_spectral());
        let spectrum = spectrum.then(|| state.fft_fft2(None::<&[i64]>, [-2i64, -1], "backward"));
        let mut parts = vec![state.shallow_clone()];
        for operator in &self.operators {
            match operator {
                Operator::Laplacian => parts.push(self.laplacian(&state)),
                Operator::Gradient => parts.extend((0..space.len()).map(|axis| {
                    let side = |side| self.neighbours(&state, axis, side);
                    (side(Side::After) - side(Side::Before)) * 0.5
                })),
                Operator::Waves => {}
                Operator::SpectralLaplacian | Operator::SpectralGradient | Operator::Velocity => {
                    let multipliers = || operator.multipliers(self.space[0]).concat().as_flattened().to_vec();
                    let multipliers = constant(operator.name(), self.space[0], x, multipliers);
                    let multipliers = multipliers.view([-1, space[0], space[1], 2]).view_as_complex();
                    for field in 0..multipliers.size()[0] {
                        let spectrum =
                            spectrum.as_ref().expect("one of a spectral operator") * multipliers.select(0, field);
                        parts.push(spectrum.fft_ifft2(None::<&[i64]>, [-2i64, -1], "backward").real());
                    }
                }
            }
        }
        let states = state.size()[0];
        if u > 0 {
            let mut single = fields([-1, u]);
            single[2..].fill(1);
            parts.push(x.narrow(-1, c * points, u).reshape(single).expand(fields([-1, u]), false));
        }
        if self.operators.contains(&Operator::Waves) {
            let waves = constant("waves", self.space[0], x, || operator::waves(self.space[0]));
            let waves = waves.view(fields([1, 4]).as_slice()).expand(fields([states, 4]), false);
            parts.push(if is_tangent { waves.zeros_like() } else { waves });
        }
        let mut shape = x.size();
        shape.pop();
        shape.extend([self.features() as i64, points]);
        Tensor::cat(&parts, 1).reshape(&shape)
    }

    /// Rates `[.., C, N]` without the Fourier coefficients that are not kept, flat.
    fn kept(&self, rates: Tensor) -> Tensor {
        if !self.operators.iter().any(|operator| operator.is_spectral()) {
            return rates.flatten(-2, -1);
        }
        let [n, m] = [self.space[0], self.space[1]].map(|count| count as i64);
        let kept = constant("kept", self.space[0], &rates, || operator::kept(self.space[0]));
        let size = rates.size();
        let field = rates.reshape([-1, self.channels as i64, n, m]);
        let spectrum = field.fft_fft2(None::<&[i64]>, [-2i64, -1], "backward") * kept.view([n, m]);
        spectrum.fft_ifft2(None::<&[i64]>, [-2i64, -1], "backward").real().reshape(&size).flatten(-2, -1)
    }

    /// The parts of weights `[.., P]`.
    fn parts(&self, weights: &Tensor) -> Parts {
        let block = |at: usize, shape: [usize; 2]| {
            let block = &self.layout().blocks[at];
            let mut size = weights.size();
            size.pop();
            size.extend(shape.map(|n| n as i64));
            weights.narrow(-1, block.offset as i64, block.size() as i64).reshape(size)
        };
        let matrix = [self.channels, self.count()];
        let saturating = (self.saturation > 0).then(|| (block(1, matrix), block(2, [self.channels, 1])));
        Parts { theta: block(0, matrix), saturating }
    }

    /// Powers `[.., C, N]` of the channels among features, their slopes, and one over the denominator.
    fn saturation(&self, f: &Tensor, delta: &Tensor) -> Saturation {
        let x = f.narrow(-2, 0, self.channels as i64);
        let power = self.saturation as i64;
        let powers = x.abs().pow_tensor_scalar(power);
        let slopes = x.abs().pow_tensor_scalar(power - 1) * x.sign() * power;
        let sum = (delta * delta.abs() * &powers).sum_dim_intlist([-2i64].as_slice(), true, None::<Kind>);
        Saturation { powers, slopes, inverse: (sum + 1.0).reciprocal() }
    }
}

impl TensorModel for Library {
    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a> {
        let Parts { theta, saturating } = self.parts(&weights.unsqueeze(1));
        Box::new(move |x| {
            let f = self.of_tensor(x, false);
            let mut phi = vec![f.select(-2, 0).ones_like()];
            for &(parent, feature) in &self.products {
                phi.push(&phi[parent] * f.select(-2, feature as i64));
            }
            let phi = Tensor::stack(&phi, -2);
            let rates = theta.matmul(&phi);
            self.kept(match &saturating {
                Some((rho, delta)) => rates + rho.matmul(&phi) * self.saturation(&f, delta).inverse,
                None => rates,
            })
        })
    }

    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a> {
        let d = contexts.size()[1];
        let shared = basis.narrow(0, 1, d);
        let own = self.parts(&(basis.narrow(0, 0, 1) + contexts.matmul(&shared)));
        let shared = self.parts(&shared.unsqueeze(1));
        Box::new(move |x, dx| {
            let (f, df) = (self.of_tensor(x, false), self.of_tensor(dx, true));
            let mut phi = vec![f.select(-2, 0).ones_like()];
            let mut dphi = vec![df.select(-2, 0).zeros_like()];
            for &(parent, feature) in &self.products {
                let (value, moved) = (f.select(-2, feature as i64), df.select(-2, feature as i64));
                dphi.push(&dphi[parent] * &value + &phi[parent] * moved);
                phi.push(&phi[parent] * value);
            }
            let (phi, dphi) = (Tensor::stack(&phi, -2), Tensor::stack(&dphi, -2));
            let along =
                |own: &Tensor, shared: &Tensor| own.unsqueeze(0).matmul(&dphi) + shared.matmul(&phi.unsqueeze(0));
            let (mut rates, mut moved) = (own.theta.matmul(&phi), along(&own.theta, &shared.theta));
            if let (Some((rho, delta)), Some((d_rho, d_delta))) = (&own.saturating, &shared.saturating) {
                let Saturation { powers, slopes, inverse } = self.saturation(&f, delta);
                let numerators = rho.matmul(&phi);
                let dx = df.narrow(-2, 0, self.channels as i64);
                let of_state = (delta * delta.abs()).unsqueeze(0) * slopes.unsqueeze(0) * dx;
                let of_weights = delta.abs().unsqueeze(0) * d_delta * 2.0 * powers.unsqueeze(0);
                let d_denominator = (of_state + of_weights).sum_dim_intlist([-2i64].as_slice(), true, None::<Kind>);
                let of_quotient = along(rho, d_rho) - numerators.unsqueeze(0) * d_denominator * inverse.unsqueeze(0);
                moved += of_quotient * inverse.unsqueeze(0);
                rates += numerators * inverse;
            }
            (self.kept(rates), self.kept(moved))
        })
    }
}
