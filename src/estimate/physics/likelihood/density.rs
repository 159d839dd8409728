//! What one observed value says of the predicted one and of the noise.

/// The predicted value, and the two parameters that a kind of noise has at most.
pub(crate) const ARGUMENTS: usize = 3;

/// An observed value with its limit of quantification.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub value: f64,
    /// A value at or below it says no more than that; minus infinity where there is none.
    pub limit: f64,
}

impl Observed {
    /// Whether only that is known of it.
    pub(crate) fn is_below(self) -> bool {
        self.value <= self.limit
    }
}

/// How the information of a value is reckoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Information {
    /// For the outcome that was observed: that of a number, or that of being below the limit. It suits steps far from the maximum.
    OfOutcome,
    /// Expected over all outcomes at the prediction, which standard errors are by.
    Expected,
}

/// The likelihood of one value; its arguments are the predicted value `z`, and the logarithms of the parameters of the noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Density {
    /// `-2 log` of the density of the value, or of the probability that it lies below its limit.
    pub value: f64,
    /// Derivatives of half of that.
    pub gradient: [f64; ARGUMENTS],
    /// The information about the arguments.
    pub information: [[f64; ARGUMENTS]; ARGUMENTS],
}

impl Density {
    /// Of a prediction under which nothing can be observed.
    pub(crate) const IMPOSSIBLE: Density =
        Density { value: f64::INFINITY, gradient: [0.0; ARGUMENTS], information: [[0.0; ARGUMENTS]; ARGUMENTS] };

    /// How much less likely it is than `exact`, what is predicted; it says nothing of the noise then.
    pub(crate) fn beyond(self, exact: Density) -> Density {
        let mut information = [[0.0; ARGUMENTS]; ARGUMENTS];
        information[0][0] = self.information[0][0];
        let gradient = std::array::from_fn(|k| self.gradient[k] - exact.gradient[k]);
        Density { value: self.value - exact.value, gradient, information }
    }

    /// Columns `c_k` with `sum_k c_k c_k'` the information, which is not negative; zero where its rank is smaller.
    pub(crate) fn factors(&self) -> [[f64; ARGUMENTS]; ARGUMENTS] {
        let mut left = self.information;
        let mut factors = [[0.0; ARGUMENTS]; ARGUMENTS];
        for k in 0..ARGUMENTS {
            let pivot = left[k][k];
            // What is left of a diagonal after the others is rounding below this.
            if pivot <= 1e-14 * self.information[k][k] {
                continue;
            }
            let root = pivot.sqrt();
            for i in k..ARGUMENTS {
                factors[k][i] = left[i][k] / root;
            }
            for i in k..ARGUMENTS {
                for j in k..ARGUMENTS {
                    left[i][j] -= factors[k][i] * factors[k][j];
                }
            }
        }
        factors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_give_the_information_back() {
        for information in
            [[[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 0.7]], [[0.0, 0.0, 0.0], [0.0, 4.0, 2.0], [0.0, 2.0, 1.0]]]
        {
            let factors = Density { information, ..Density::IMPOSSIBLE }.factors();
            for i in 0..ARGUMENTS {
                for j in 0..ARGUMENTS {
                    let sum: f64 = factors.iter().map(|column| column[i] * column[j]).sum();
                    assert!((sum - information[i][j]).abs() < 1e-14, "{i} {j}: {sum}");
                }
            }
        }
    }
}
