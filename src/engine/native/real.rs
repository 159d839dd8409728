//! Single and double precision in SIMD lanes.
//!
//! Swish `s(a) = a sigma(a)` and its slope `s'(a) = sigma + a sigma (1 - sigma)`, `sigma = 1 / (1 + e^-a)`.
//!
//! In single precision `e^x = 2^n e^r`, `n = round(x / ln 2)`, `|r| <= ln(2)/2`, with `e^r` by its Taylor polynomial of
//! degree seven (relative error below 1e-8, under the rounding of the format). Double precision takes the library's `exp`.

use bytemuck::Pod;
use pulp::Simd;

/// A floating-point type that kernels compute in.
pub trait Real: Pod + Send + Sync + PartialOrd + std::fmt::Debug {
    /// As many values as a register holds.
    type Lanes<S: Simd>: Pod;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Lanes<S>;
    fn add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    fn multiply<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// `a b + c`.
    fn multiply_add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>, c: Self::Lanes<S>) -> Self::Lanes<S>;
    fn sum<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self;
    /// Swish and its slope.
    fn swish<S: Simd>(simd: S, a: Self::Lanes<S>) -> (Self::Lanes<S>, Self::Lanes<S>);
}

/// The registers of a slice whose length is a multiple of the lanes.
#[inline(always)]
pub(super) fn lanes<T: Real, S: Simd>(slice: &[T]) -> &[T::Lanes<S>] {
    bytemuck::cast_slice(slice)
}

/// The registers of a slice whose length is a multiple of the lanes.
#[inline(always)]
pub(super) fn lanes_mut<T: Real, S: Simd>(slice: &mut [T]) -> &mut [T::Lanes<S>] {
    bytemuck::cast_slice_mut(slice)
}

impl Real for f32 {
    type Lanes<S: Simd> = S::f32s;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::f32s {
        simd.splat_f32s(value)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }

    #[inline(always)]
    fn multiply<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.mul_f32s(a, b)
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        simd.mul_add_e_f32s(a, b, c)
    }

    #[inline(always)]
    fn sum<S: Simd>(simd: S, a: S::f32s) -> Self {
        simd.reduce_sum_f32s(a)
    }

    #[inline(always)]
    fn swish<S: Simd>(simd: S, a: S::f32s) -> (S::f32s, S::f32s) {
        /// `1.5 * 2^23`: adding it leaves the rounded number in the low bits.
        const ROUNDER: f32 = 12_582_912.0;
        /// `ln 2` in two parts, the first with trailing zeros, so that `n * LN_2_HIGH` is exact.
        const LN_2_HIGH: f32 = 0.693_359_4;
        const LN_2_LOW: f32 = -2.121_944_4e-4;
        let constant = |value: f32| simd.splat_f32s(value);
        let one = constant(1.0);
        // x = -a, kept where e^x is a normal number.
        let x = simd.max_f32s(simd.min_f32s(simd.mul_f32s(a, constant(-1.0)), constant(87.0)), constant(-87.0));
        let shifted = simd.mul_add_e_f32s(x, constant(std::f32::consts::LOG2_E), constant(ROUNDER));
        let n = simd.sub_f32s(shifted, constant(ROUNDER));
        let r = simd.mul_add_e_f32s(n, constant(-LN_2_HIGH), x);
        let r = simd.mul_add_e_f32s(n, constant(-LN_2_LOW), r);
        let mut power = constant(1.0 / 5040.0);
        for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            power = simd.mul_add_e_f32s(power, r, constant(coefficient));
        }
        let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
        let exponential = simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(power), exponent));
        let sigma = simd.div_f32s(one, simd.add_f32s(one, exponential));
        let value = simd.mul_f32s(a, sigma);
        let slope = simd.mul_add_e_f32s(value, simd.sub_f32s(one, sigma), sigma);
        (value, slope)
    }
}

impl Real for f64 {
    type Lanes<S: Simd> = S::f64s;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::f64s {
        simd.splat_f64s(value)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.add_f64s(a, b)
    }

    #[inline(always)]
    fn multiply<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.mul_f64s(a, b)
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, a: S::f64s, b: S::f64s, c: S::f64s) -> S::f64s {
        simd.mul_add_e_f64s(a, b, c)
    }

    #[inline(always)]
    fn sum<S: Simd>(simd: S, a: S::f64s) -> Self {
        simd.reduce_sum_f64s(a)
    }

    #[inline(always)]
    fn swish<S: Simd>(_: S, a: S::f64s) -> (S::f64s, S::f64s) {
        let (mut value, mut slope) = (a, a);
        let values: &mut [f64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut value));
        let slopes: &mut [f64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut slope));
        for (value, slope) in values.iter_mut().zip(slopes) {
            let a = *value;
            let sigma = 1.0 / (1.0 + (-a).exp());
            *value = a * sigma;
            *slope = sigma + *value * (1.0 - sigma);
        }
        (value, slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Swish<'a>(&'a mut [f32], &'a mut [f32]);

    impl pulp::WithSimd for Swish<'_> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            for (a, slope) in lanes_mut::<f32, S>(self.0).iter_mut().zip(lanes_mut::<f32, S>(self.1)) {
                (*a, *slope) = f32::swish(simd, *a);
            }
        }
    }

    #[test]
    fn the_single_precision_swish_is_accurate_to_rounding() {
        let inputs: Vec<f32> = (0..16_000).map(|i| (i as f32 - 8000.0) * 0.0125).collect();
        let (mut values, mut slopes) = (inputs.clone(), vec![0.0; inputs.len()]);
        pulp::Arch::new().dispatch(Swish(&mut values, &mut slopes));
        for ((a, value), slope) in inputs.iter().zip(values).zip(slopes) {
            let a = f64::from(*a);
            let sigma = 1.0 / (1.0 + (-a).exp());
            let (exact_value, exact_slope) = (a * sigma, sigma + a * sigma * (1.0 - sigma));
            assert!((f64::from(value) - exact_value).abs() <= 4e-7 * exact_value.abs() + 1e-35, "swish({a}) = {value}");
            // 1 - sigma is off by a rounding of sigma, and a multiplies it.
            let bound = (2.0 + a.abs()) * f64::from(f32::EPSILON);
            assert!((f64::from(slope) - exact_slope).abs() <= bound, "slope at {a} is {slope}, not {exact_slope}");
        }
    }
}
