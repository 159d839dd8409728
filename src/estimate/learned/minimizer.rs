//! Damped Gauss-Newton iterations of one environment.

use nalgebra::{DMatrix, DVector};

use crate::estimate::settings::{InitialState, Settings};
use crate::estimate::table::row::Status;
use crate::least_squares::damping::Damping;

/// The unknowns at one iteration, and the squared error there with its derivatives.
#[derive(Clone)]
pub(crate) struct Iterate {
    /// The context, followed by the initial states where they are estimated.
    pub unknowns: DVector<f64>,
    /// `|r|^2`.
    pub squares: f64,
    /// `J'r/n`.
    pub gradient: DVector<f64>,
    /// `J'J/n`.
    pub normal: DMatrix<f64>,
}

/// Gaussian prior of an initial value that was not observed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    /// Index among the initial values.
    pub place: usize,
    pub mean: f64,
    pub std_dev: f64,
}

/// Minimises the mean squared error of one environment plus `sum_k w_k (u_k - c_k)^2` over its unknowns `u`.
pub(crate) struct Minimizer {
    d: usize,
    /// `n`.
    points: usize,
    priors: Vec<Prior>,
    /// `w`: the context penalty; `s^2 / (n std_dev^2)` for values with a prior, where `s` is the noise at the best
    /// iterate; else zero.
    weights: DVector<f64>,
    /// `c`.
    centres: DVector<f64>,
    pub best: Iterate,
    /// `lambda`, relative to the diagonal.
    damping: Damping,
    iterations: usize,
    /// Length of the last step, if it was accepted.
    length: Option<f64>,
    pub end: Option<(Status, String)>,
}

/// The result of a minimisation.
pub(crate) struct Found {
    /// The context, followed by estimated initial states; NaN where the fit failed.
    pub unknowns: Vec<f64>,
    /// Covariance of the context `[d, d]`.
    pub covariance: DMatrix<f64>,
    pub degrees: f64,
    pub status: Status,
    pub reason: String,
    pub iterations: usize,
}

impl Minimizer {
    pub(crate) fn begin(start: Iterate, d: usize, points: usize, priors: Vec<Prior>, settings: &Settings) -> Self {
        let mut weights = DVector::zeros(start.unknowns.len());
        weights.rows_mut(0, d).fill(settings.context_penalty);
        let mut centres = DVector::zeros(start.unknowns.len());
        priors.iter().for_each(|prior| centres[d + prior.place] = prior.mean);
        let mut minimizer = Minimizer {
            d,
            points,
            priors,
            weights,
            centres,
            best: start,
            damping: Damping::default(),
            iterations: 0,
            length: None,
            end: None,
        };
        minimizer.weigh_priors();
        minimizer.end = if points == 0 {
            let reason = match settings.initial_state() {
                InitialState::Observed => {
                    "no observed value follows a complete sample, which a rollout starts from; estimate.initial_state = \"estimated\" needs none, \
                     but of fields"
                }
                InitialState::Estimated => "no value was observed after a first sample",
            };
            Some((Status::NoData, reason.to_owned()))
        } else if points < d {
            let reason = format!("{points} observed values for {d} context dimensions");
            Some((Status::TooFewPoints, reason))
        } else if minimizer.cost(&minimizer.best).is_infinite() {
            Some((Status::Diverged, "the rollout with the context that the fit starts from is not finite".to_owned()))
        } else {
            None
        };
        minimizer
    }

    /// Degrees of freedom. An observed initial value adds one observation and one unknown, so neither is counted.
    fn degrees(&self) -> f64 {
        self.points as f64 - (self.d + self.priors.len()) as f64
    }

    /// `s^2`.
    fn noise(&self) -> f64 {
        self.best.squares / f64::max(self.degrees(), 1.0)
    }

    fn weigh_priors(&mut self) {
        let noise = self.noise();
        for prior in &self.priors {
            self.weights[self.d + prior.place] = noise / (self.points as f64 * prior.std_dev * prior.std_dev);
        }
    }

    /// `f(u)`; infinite where the rollout is not finite.
    pub(crate) fn cost(&self, iterate: &Iterate) -> f64 {
        let pulls = iterate.unknowns.iter().zip(&self.centres).zip(&self.weights);
        let held: f64 = pulls.map(|((u, c), w)| w * (u - c) * (u - c)).sum();
        let cost = iterate.squares / f64::max(self.points as f64, 1.0) + held;
        let finite =
            cost.is_finite() && iterate.gradient.iter().chain(iterate.normal.iter()).all(|value| value.is_finite());
        if finite { cost } else { f64::INFINITY }
    }

    /// Half the gradient of `f` at the best iterate.
    fn gradient(&self) -> DVector<f64> {
        &self.best.gradient + self.weights.component_mul(&(&self.best.unknowns - &self.centres))
    }

    /// The damped step; `None` where the equations are singular in spite of the damping.
    pub(crate) fn step(&self) -> Option<DVector<f64>> {
        let mut matrix = self.best.normal.clone();
        let floor = matrix.diagonal().max() * 1e-12 + f64::MIN_POSITIVE;
        for k in 0..matrix.nrows() {
            let diagonal = matrix[(k, k)] + self.weights[k];
            matrix[(k, k)] = diagonal + self.damping.value * diagonal.max(floor);
        }
        Some(-matrix.cholesky()?.solve(&self.gradient())).filter(|step| step.iter().all(|s| s.is_finite()))
    }

    /// Decrease of the cost by the quadratic model: `-(2 g's + s'H s)`.
    pub(crate) fn predicted_reduction(&self, step: &DVector<f64>) -> f64 {
        let curvature = (&self.best.normal * step + self.weights.component_mul(step)).dot(step);
        -(2.0 * self.gradient().dot(step) + curvature)
    }

    /// Whether the step is within the tolerance, or the next one would be if it shrank by the same factor as this one.
    pub(crate) fn is_last(&self, step: &DVector<f64>, settings: &Settings) -> bool {
        let short = settings.tolerance * ((&self.best.unknowns + step).norm() + settings.tolerance);
        let length = step.norm();
        let next = self.length.map_or(length, |before| length * (length / before).min(1.0));
        length <= short || next <= short
    }

    /// The unknowns after a step of gradient descent; where they are if the fit has ended.
    pub(crate) fn descended(&self, rate: f64) -> DVector<f64> {
        match self.end {
            None => &self.best.unknowns - self.gradient() * (2.0 * rate),
            Some(_) => self.best.unknowns.clone(),
        }
    }

    /// Goes to the next iterate of gradient descent, whether it is better or not.
    pub(crate) fn descend_to(&mut self, next: Iterate) {
        if self.end.is_some() {
            return;
        }
        self.iterations += 1;
        self.best = next;
        self.weigh_priors();
        if self.cost(&self.best).is_infinite() {
            self.end = Some((Status::Diverged, format!("step {} of the descent is not finite", self.iterations)));
        }
    }

    /// Ends at `last`, or at the best iterate, because no further step is worth a rollout.
    pub(crate) fn finish_with(&mut self, last: Option<Iterate>) {
        self.iterations += 1;
        if let Some(last) = last {
            self.best = last;
        }
        self.end = Some((Status::Ok, String::new()));
    }

    /// Accepts or rejects the candidate, and decides whether the iteration ends. True if the candidate was accepted.
    pub(crate) fn advance(&mut self, step: Option<DVector<f64>>, candidate: Iterate, settings: &Settings) -> bool {
        self.iterations += 1;
        let Some(step) = step else {
            self.end = Some((Status::Unidentifiable, "the trajectories do not determine the context".to_owned()));
            return false;
        };
        let predicted = self.predicted_reduction(&step);
        let decrease = self.cost(&self.best) - self.cost(&candidate);
        let taken = decrease >= 0.0;
        self.length = taken.then(|| step.norm());
        if taken {
            self.damping.accept(decrease, predicted);
            self.best = candidate;
            self.weigh_priors();
        } else {
            self.damping.reject();
        }
        if self.damping.is_exhausted() {
            self.end = Some((Status::NotConverged, "no step decreases the error any more".to_owned()));
        } else if self.iterations >= settings.iterations {
            let reason = format!("stopped at the limit of {} iterations", settings.iterations);
            self.end = Some((Status::NotConverged, reason));
        }
        taken
    }

    pub(crate) fn finish(mut self) -> Found {
        self.weigh_priors();
        let (d, degrees, points) = (self.d, self.degrees(), self.points as f64);
        let (status, reason) = self.end.unwrap_or((Status::Ok, String::new()));
        let usable = matches!(status, Status::Ok | Status::NotConverged);
        let mut information = self.best.normal * points;
        for prior in &self.priors {
            let k = d + prior.place;
            information[(k, k)] += self.weights[k] * points;
        }
        let covariance = information.cholesky().filter(|_| usable && degrees > 0.0);
        let covariance = covariance.map_or(DMatrix::from_element(d, d, f64::NAN), |factor| {
            factor.inverse().view((0, 0), (d, d)) * (self.best.squares / degrees)
        });
        let unknowns = self.best.unknowns.as_slice();
        Found {
            unknowns: if usable { unknowns.to_vec() } else { vec![f64::NAN; unknowns.len()] },
            covariance,
            degrees,
            status,
            reason,
            iterations: self.iterations,
        }
    }
}
