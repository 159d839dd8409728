//! Estimation where the equations are known: nonlinear least squares on them, one environment at a time.
//!
//! It writes the same table as the learned model, so that both can be compared with each other and with the Cramér-Rao bound. There is
//! neither training nor a context.

pub(crate) mod agreement;
pub(crate) mod coordinates;
pub(crate) mod differences;
pub(crate) mod normal;
pub(crate) mod uncertainty;
pub(crate) mod budget;
pub(crate) mod function;
pub(crate) mod observables;
pub(crate) mod everything;
pub(crate) mod rest;
pub(crate) mod model;
pub(crate) mod series;
pub(crate) mod course;
pub(crate) mod steady;
pub(crate) mod dosing;
pub(crate) mod spread;
pub(crate) mod experiment;
pub(crate) mod unknowns;
pub(crate) mod likelihood;
pub(crate) mod scatter;
pub(crate) mod cramer_rao;
pub(crate) mod estimated;
pub(crate) mod candidates;
pub(crate) mod equations;
pub(crate) mod cramer_rao_of_model;
pub(crate) mod fitted_noise;
pub(crate) mod pass;
pub(crate) mod fitter;
pub(crate) mod correlated;
pub(crate) mod freedom;
pub(crate) mod known_noise;
pub(crate) mod descent;
pub(crate) mod starts;
pub(crate) mod search;
pub(crate) mod scoring;
pub(crate) mod result;
pub(crate) mod edge;
pub(crate) mod cramer_rao_of_fit;
pub(crate) mod profile;
pub(crate) mod fit;
pub(crate) mod fitting;
pub(crate) mod shared;
pub(crate) mod estimator;
pub(crate) mod resumed;
pub(crate) mod replicates;
pub(crate) mod curve;
pub(crate) mod drawn;
pub(crate) mod models;
pub(crate) mod continued;
pub(crate) mod surroundings;

pub use candidates::Systems;
pub use continued::{Forecaster, From, Predicted, Prediction, Wanted};
pub(crate) use cramer_rao_of_model::{LearnedFit, ModelBounds};
pub use drawn::{Drawn, DrawnTrajectory, Fine};
pub use estimator::{fit, fit_with};
pub use everything::Kind;
pub(crate) use likelihood::measured::{Known, problems as problems_of_measurement};
pub(crate) use models::of_row;
pub use models::{Drawings, portrait, resume, run, run_rows};
pub use replicates::Draws;
pub use result::Profile;
pub use surroundings::{SharedProfiles, Surroundings, surroundings};
