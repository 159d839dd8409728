//! Parameters in the coordinates that the fit moves.
//!
//! ```text
//! p = exp(theta) where the lower bound is positive, else p = (upper - lower) theta
//! ```
//!
//! `p` a parameter in its unit. Steps in `theta` are relative ones, or shares of the range; bounds become bounds of `theta`.

/// Part of a bound down to which parameters near zero are looked for.
const SMALLEST: f64 = 1e-4;

/// One estimated parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coordinate {
    /// Its bounds in its own unit.
    pub lower: f64,
    pub upper: f64,
}

impl Coordinate {
    fn is_logarithmic(&self) -> bool {
        self.lower > 0.0
    }

    /// `theta` of a value.
    pub fn of(&self, value: f64) -> f64 {
        if self.is_logarithmic() { value.ln() } else { value / (self.upper - self.lower) }
    }

    /// The value at `theta`, and `dp/dtheta` there. At a bound it is the bound itself.
    pub fn value(&self, theta: f64) -> (f64, f64) {
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

    /// `theta` at both bounds.
    pub fn ends(&self) -> (f64, f64) {
        (self.of(self.lower), self.of(self.upper))
    }

    /// The value at a share of the way from the lower bound to the upper one, in logarithms; on both sides of zero these end at a
    /// [`SMALLEST`] part of the bound.
    pub fn spread(&self, share: f64) -> f64 {
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

/// The element `index` of van der Corput's sequence in `base`: shares of `[0, 1)` that fill it evenly.
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
        for coordinate in [Coordinate { lower: 1e-3, upper: 10.0 }, Coordinate { lower: -2.0, upper: 3.0 }] {
            let (low, high) = coordinate.ends();
            assert_eq!((coordinate.value(low).0, coordinate.value(high).0), (coordinate.lower, coordinate.upper));
            for value in [0.01, 0.7, 2.5] {
                let theta = coordinate.of(value);
                let (back, slope) = coordinate.value(theta);
                assert!((back - value).abs() < 1e-15 * 10.0);
                let difference = (coordinate.value(theta + 1e-6).0 - coordinate.value(theta - 1e-6).0) / 2e-6;
                assert!((slope - difference).abs() < 1e-8 * slope, "{slope} {difference}");
            }
        }
        assert!((Coordinate { lower: 1e-3, upper: 10.0 }.spread(0.5) - 0.1).abs() < 1e-12);
        assert!((Coordinate { lower: -4.0, upper: -2.0 }.spread(0.5) + 3.0).abs() < 1e-12);
        let both = Coordinate { lower: -2.0, upper: 6.0 };
        let spread = [0.0, 0.125, 0.25, 0.625, 1.0].map(|share| both.spread(share));
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
