//! What the environments of a batch share: places among their unknowns, and values.

use std::sync::Arc;

use crate::estimate::measurement::Prior;
use crate::estimate::physics::coordinates::Coordinate;
use crate::estimate::physics::equations::Equations;
use crate::estimate::physics::likelihood::measured::Measured;
use crate::estimate::physics::likelihood::objective::degrees_of_freedom_of;
use crate::estimate::physics::model::Model;
use crate::estimate::table::row::Row;

/// What all share: `z [s]`, coordinates of parameters, followed by logarithms of parameters of the noise.
pub(crate) struct Batch {
    /// Places of the shared parameters among those estimated `[d]`.
    pub places: Vec<usize>,
    /// Places of the others.
    pub own: Vec<usize>,
    pub coordinates: Vec<Coordinate>,
    /// Names of the shared parameters.
    pub names: Vec<String>,
    pub priors: Vec<Option<Prior>>,
    /// The measurement without the priors of shared parameters, which count once.
    pub measured: Option<Arc<Measured>>,
    /// Number of parameters of the noise that are shared, and the bounds of their logarithms.
    pub noise: usize,
    pub noise_bounds: Vec<(f64, f64)>,
}

impl Batch {
    /// None where nothing is shared.
    pub(crate) fn new(equations: &Equations) -> Option<Self> {
        let places = equations.shared.clone();
        let noise = equations.measured.as_ref().map_or(0, |measured| measured.shared_terms().len());
        if places.is_empty() && noise == 0 {
            return None;
        }
        let d = equations.names.len();
        let prior = |&place: &usize| equations.measured.as_ref().and_then(|measured| measured.priors[place]);
        let priors = places.iter().map(prior).collect();
        let measured = equations.measured.clone().map(|mut measured| {
            places.iter().for_each(|&place| measured.priors[place] = None);
            Arc::new(measured)
        });
        Some(Batch {
            own: (0..d).filter(|place| !places.contains(place)).collect(),
            coordinates: places.iter().map(|&place| equations.model.coordinates[place]).collect(),
            names: places.iter().map(|&place| equations.names[place].clone()).collect(),
            priors,
            noise_bounds: measured.iter().flat_map(|it| it.shared_terms()).map(|term| term.bounds).collect(),
            measured,
            noise,
            places,
        })
    }

    /// `z` as the `row` of an environment has it; not finite where it has none.
    pub(crate) fn of_row(&self, row: &Row) -> Vec<f64> {
        let parameters = self.places.iter().zip(&self.coordinates);
        let parameters = parameters.map(|(&place, coordinate)| coordinate.theta(row.parameters[place].value));
        let of_noise = self.measured.iter().flat_map(|measured| {
            let terms = |channel: usize| measured.channels[channel].noise.terms().len();
            let before = move |channel: usize| (0..channel).map(terms).sum::<usize>();
            let shared = measured.shared_terms().into_iter();
            shared.map(move |it| row.noise_terms.get(before(it.channel) + it.term).map_or(f64::NAN, |value| value.ln()))
        });
        parameters.chain(of_noise).collect()
    }

    /// Leaves Student's noise that all share no fewer degrees of freedom than with which its likelihood
    /// [has a maximum](degrees_of_freedom_of), by the numbers of unknowns and values of each environment.
    pub(crate) fn bound_tails(&mut self, of_each: impl Iterator<Item = (f64, f64)>) {
        let (unknowns, points) = of_each.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let terms = self.measured.iter().flat_map(|measured| measured.shared_terms());
        for (term, bounds) in terms.zip(&mut self.noise_bounds) {
            if term.is_tail {
                let (least, greatest) = degrees_of_freedom_of(unknowns, points);
                *bounds = (least.ln(), greatest.ln());
            }
        }
    }

    /// Length of `z`.
    pub(crate) fn size(&self) -> usize {
        self.places.len() + self.noise
    }

    /// The shared parameters at `z`, with their derivatives by it.
    pub(crate) fn values(&self, z: &[f64]) -> Vec<(f64, f64)> {
        self.coordinates.iter().zip(z).map(|(coordinate, theta)| coordinate.value(*theta)).collect()
    }

    /// The equations with the shared parameters held at `z`.
    pub(crate) fn held(&self, model: &Model, z: &[f64]) -> Model {
        let mut held = model.clone();
        for (&place, (value, _)) in self.places.iter().zip(self.values(z)) {
            held.parameters[model.estimated[place]] = value;
        }
        held.estimated = self.own.iter().map(|&place| model.estimated[place]).collect();
        held.coordinates = self.own.iter().map(|&place| model.coordinates[place]).collect();
        held
    }

    /// The measurement with the shared parameters of the noise known, for equations whose shared parameters are held.
    pub(crate) fn measured_at(&self, z: &[f64]) -> Option<Measured> {
        let noise: Vec<f64> = z[self.places.len()..].iter().map(|log| log.exp()).collect();
        self.measured.as_ref().map(|measured| {
            let priors = self.own.iter().map(|&place| measured.priors[place]).collect();
            Measured { priors, ..measured.with_known(&noise) }
        })
    }

    /// What all share, in words.
    pub(crate) fn in_words(&self) -> String {
        let of_noise = self.measured.iter().flat_map(|measured| measured.shared_terms().into_iter().map(|it| it.name));
        self.names.iter().cloned().chain(of_noise).collect::<Vec<_>>().join(", ")
    }
}
