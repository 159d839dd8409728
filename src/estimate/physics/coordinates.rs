//! The coordinates in which parameters are fitted.
//!
//! ```text
//! p = exp(theta) where the lower bound is positive, or else, and on request, p = (upper - lower) theta
//! ```
//!
//! `p` a parameter in its unit. A step in `theta` is a relative one, or a share of the range.

/// Starts near zero go down to this part of the bound.
const SMALLEST: f64 = 1e-4;

/// The coordinate of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coordinate {
    /// Bounds, in the unit of the parameter.
    pub lower: f64,
    pub upper: f64,
    /// Whether it is no logarithm though the lower bound is positive.
    is_linear: bool,
}

impl Coordinate {
    /// Between these bounds: logarithmic where the lower one is positive.
    pub(crate) fn new(lower: f64, upper: f64) -> Self {
        Coordinate { lower, upper, is_linear: false }
    }

    /// The same as a share of the range.
    pub(crate) fn linear(self) -> Self {
        Coordinate { is_linear: true, ..self }
    }

    fn is_logarithmic(&self) -> bool {
        self.lower > 0.0 && !self.is_linear
    }

    /// The coordinate of a value.
    pub(crate) fn theta(&self, value: f64) -> f64 {
        if self.is_logarithmic() { value.ln() } else { value / (self.upper - self.lower) }
    }

    /// The value at `theta`, and `dp/dtheta` there; at a bound the value is exactly the bound.
    pub(crate) fn value(&self, theta: f64) -> (f64, f64) {
        let (low, high) = self.ends();
        let (value, slope) = if self.is_logarithmic() {
            (theta.exp(), theta.exp())
        } else {
            let range = self.upper - self.lower;
            (range * theta, range)
        };
        match theta {
            _ if theta <= low => (self.lower, slope),
            _ if theta >= high => (self.upper, slope),
            _ => (value, slope),
        }
    }

    /// The coordinates of both bounds.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.theta(self.lower), self.theta(self.upper))
    }

    /// The value in the middle of its coordinate.
    pub(crate) fn middle(&self) -> f64 {
        let (low, high) = self.ends();
        self.value(0.5 * (low + high)).0
    }

    /// The value at a share of the way from the lower to the upper bound, even in logarithms. A range around zero is covered on either side
    /// down to the part [`SMALLEST`] of the bound.
    pub(crate) fn at_share(&self, share: f64) -> f64 {
        let (lower, upper) = (self.lower, self.upper);
        if lower > 0.0 || upper <= 0.0 {
            let (low, high) = self.ends();
            return self.value(low + share * (high - low)).0;
        }
        let below = -lower / (upper - lower);
        match share < below {
            true => lower * SMALLEST.powf(share / below),
            false => upper * SMALLEST.powf((1.0 - share) / (1.0 - below)),
        }
    }
}

/// The element `index` of van der Corput's sequence in `base`: numbers that fill `[0, 1)` evenly.
/// Source: J. H. Halton, On the efficiency of certain quasi-random sequences of points, Numerische Mathematik 2 (1960) 84-90.
pub(crate) fn halton(mut index: usize, base: usize) -> f64 {
    let (mut share, mut digit) = (0.0, 1.0);
    while index > 0 {
        digit /= base as f64;
        share += digit * (index % base) as f64;
        index /= base;
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_bounds_are_met_exactly() {
        for coordinate in
            [Coordinate::new(1e-3, 10.0), Coordinate::new(-2.0, 3.0), Coordinate::new(1e-3, 10.0).linear()]
        {
            let (low, high) = coordinate.ends();
            assert_eq!((coordinate.value(low).0, coordinate.value(high).0), (coordinate.lower, coordinate.upper));
            for value in [0.01, 0.7, 2.5] {
                let theta = coordinate.theta(value);
                let (back, slope) = coordinate.value(theta);
                assert!((back - value).abs() < 1e-15 * 10.0);
                let difference = (coordinate.value(theta + 1e-6).0 - coordinate.value(theta - 1e-6).0) / 2e-6;
                assert!((slope - difference).abs() < 1e-8 * slope, "{slope} {difference}");
            }
        }
        assert!((Coordinate::new(1e-3, 10.0).at_share(0.5) - 0.1).abs() < 1e-12);
        assert!((Coordinate::new(1e-3, 10.0).middle() - 0.1).abs() < 1e-12);
        assert!((Coordinate::new(-2.0, 6.0).middle() - 2.0).abs() < 1e-12);
        assert!((Coordinate::new(-4.0, -2.0).at_share(0.5) + 3.0).abs() < 1e-12);
        let both = Coordinate::new(-2.0, 6.0);
        let spread = [0.0, 0.125, 0.25, 0.625, 1.0].map(|share| both.at_share(share));
        for (value, expected) in spread.iter().zip([-2.0, -0.02, 6e-4, 0.06, 6.0]) {
            assert!((value - expected).abs() < 1e-12, "{spread:?}");
        }
    }

    #[test]
    fn the_sequence_is_halton_s() {
        assert_eq!([1, 2, 3, 4].map(|index| halton(index, 2)), [0.5, 0.25, 0.75, 0.125]);
        assert!((halton(5, 3) - (2.0 / 3.0 + 1.0 / 9.0)).abs() < 1e-15);
    }
}
