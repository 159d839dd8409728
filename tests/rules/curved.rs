//! A rule that is not affine in the context, and takes nothing but what every rule must give.

use paramill::models::Layout;
use paramill::rules::{Rule, SharedTensor};

/// `theta_e = theta + sum_k sin(xi_k) V_k`, all shared: `[theta, V_1, .., V_d]`. With `d = 0`, one network for all environments.
pub struct Curved {
    pub weights: usize,
    pub d: usize,
}

impl Rule for Curved {
    fn shared_size(&self) -> usize {
        (1 + self.d) * self.weights
    }

    fn context_size(&self) -> usize {
        self.d
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        for (p, weight) in weights.iter_mut().enumerate() {
            let of_context = context.iter().enumerate().map(|(k, xi)| xi.sin() * shared[(1 + k) * self.weights + p]);
            *weight = shared[p] + of_context.sum::<f64>();
        }
    }

    fn push_forward(
        &self,
        shared: &[f64],
        context: &[f64],
        d_shared: &[f64],
        d_context: &[f64],
        d_weights: &mut [f64],
    ) {
        for (p, d) in d_weights.iter_mut().enumerate() {
            *d += d_shared[p];
            for (k, (xi, d_xi)) in context.iter().zip(d_context).enumerate() {
                let place = (1 + k) * self.weights + p;
                *d += xi.sin() * d_shared[place] + xi.cos() * d_xi * shared[place];
            }
        }
    }

    fn pull_back(
        &self,
        shared: &[f64],
        context: &[f64],
        d_weights: &[f64],
        d_shared: &mut [f64],
        d_context: &mut [f64],
    ) {
        for (p, g) in d_weights.iter().enumerate() {
            d_shared[p] += g;
            for (k, (xi, d_xi)) in context.iter().zip(d_context.iter_mut()).enumerate() {
                let place = (1 + k) * self.weights + p;
                d_shared[place] += xi.sin() * g;
                *d_xi += xi.cos() * shared[place] * g;
            }
        }
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let of_network = |k: usize| {
            let tensors = SharedTensor::of_network(&k.to_string(), layout).into_iter();
            tensors.map(move |tensor| SharedTensor {
                indices: tensor.indices.iter().map(|i| k * self.weights + i).collect(),
                ..tensor
            })
        };
        (0..=self.d).flat_map(of_network).collect()
    }
}
