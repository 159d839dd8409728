//! The functions that expressions may call, with their first and second derivatives.

use std::f64::consts::LOG10_E;

/// A function of one argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unary {
    pub value: fn(f64) -> f64,
    /// Its derivative; at a kink, a one-sided one.
    pub slope: fn(f64) -> f64,
    /// Its second derivative, likewise.
    pub bend: fn(f64) -> f64,
}

impl Unary {
    /// Its derivative, of which no second one is known.
    pub(crate) fn derivative(self) -> Self {
        Unary { value: self.slope, slope: self.bend, bend: |_| f64::NAN }
    }
}

/// A function of two arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binary {
    pub value: fn(f64, f64) -> f64,
    /// Its derivatives by both arguments; at a kink, one-sided ones.
    pub slopes: fn(f64, f64) -> [f64; 2],
    /// Its second derivatives: by the first argument twice, by both, and by the second twice.
    pub bends: fn(f64, f64) -> [f64; 3],
}

const fn unary(value: fn(f64) -> f64, slope: fn(f64) -> f64, bend: fn(f64) -> f64) -> Unary {
    Unary { value, slope, bend }
}

const fn binary(
    value: fn(f64, f64) -> f64,
    slopes: fn(f64, f64) -> [f64; 2],
    bends: fn(f64, f64) -> [f64; 3],
) -> Binary {
    Binary { value, slopes, bends }
}

/// The functions of one argument, by name.
pub(crate) const UNARY: [(&str, Unary); 15] = [
    ("abs", unary(f64::abs, f64::signum, |_| 0.0)),
    ("acos", unary(f64::acos, |x| -1.0 / (1.0 - x * x).sqrt(), |x| -x / (1.0 - x * x).powf(1.5))),
    ("asin", unary(f64::asin, |x| 1.0 / (1.0 - x * x).sqrt(), |x| x / (1.0 - x * x).powf(1.5))),
    ("atan", unary(f64::atan, |x| 1.0 / (1.0 + x * x), |x| -2.0 * x / (1.0 + x * x).powi(2))),
    ("cos", unary(f64::cos, |x| -x.sin(), |x| -x.cos())),
    ("cosh", unary(f64::cosh, f64::sinh, f64::cosh)),
    ("exp", unary(f64::exp, f64::exp, f64::exp)),
    ("ln", unary(f64::ln, f64::recip, |x| -1.0 / (x * x))),
    ("log10", unary(f64::log10, |x| LOG10_E / x, |x| -LOG10_E / (x * x))),
    ("sign", unary(f64::signum, |_| 0.0, |_| 0.0)),
    ("sin", unary(f64::sin, f64::cos, |x| -x.sin())),
    ("sinh", unary(f64::sinh, f64::cosh, f64::sinh)),
    ("sqrt", unary(f64::sqrt, |x| 0.5 / x.sqrt(), |x| -0.25 / (x * x.sqrt()))),
    ("tan", unary(f64::tan, |x| 1.0 + x.tan().powi(2), |x| 2.0 * x.tan() * (1.0 + x.tan().powi(2)))),
    ("tanh", unary(f64::tanh, |x| 1.0 - x.tanh().powi(2), |x| -2.0 * x.tanh() * (1.0 - x.tanh().powi(2)))),
];

/// The functions of two arguments, by name.
pub(crate) const BINARY: [(&str, Binary); 3] = [
    (
        "atan2",
        binary(
            f64::atan2,
            |y, x| {
                let square = y * y + x * x;
                [x / square, -y / square]
            },
            |y, x| {
                let fourth = (y * y + x * x).powi(2);
                [-2.0 * x * y / fourth, (y * y - x * x) / fourth, 2.0 * x * y / fourth]
            },
        ),
    ),
    ("max", binary(f64::max, |a, b| if a >= b { [1.0, 0.0] } else { [0.0, 1.0] }, |_, _| [0.0; 3])),
    ("min", binary(f64::min, |a, b| if a <= b { [1.0, 0.0] } else { [0.0, 1.0] }, |_, _| [0.0; 3])),
];

/// The names of all functions.
pub(crate) fn names() -> Vec<&'static str> {
    UNARY.iter().map(|it| it.0).chain(BINARY.iter().map(|it| it.0)).collect()
}
