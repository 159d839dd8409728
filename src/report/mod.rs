//! Draws results: a page with tables and figures.
//!
//! ```text
//! report/
//!   index.html       one page with everything, light and dark, for screen and paper
//!   summary.json     the headline figures
//!   comparison.csv   our figures beside published ones
//!   equations.csv    the terms of a library of products
//!   system.toml      its equations as a system file
//!   fits.html, ..    all trajectories beside their fits by equations, with links from each to each
//!   NAME.svg, .png   the figures of the page
//! ```

pub(crate) mod number;
pub(crate) mod axis;
pub(crate) mod canvas;
pub(crate) mod colour;
pub(crate) mod error;
pub(crate) mod input;
pub(crate) mod comparison;
pub(crate) mod errors;
pub(crate) mod plot;
pub(crate) mod simplified;
pub(crate) mod figures;
pub(crate) mod tables;
pub(crate) mod overview;
pub(crate) mod equations;
pub(crate) mod inferred;
pub(crate) mod gallery;
pub(crate) mod page;
pub(crate) mod side_by_side;
pub(crate) mod png;
pub(crate) mod write;
pub(crate) mod samples;
pub(crate) mod drift;
pub(crate) mod sweep;

pub use drift::{Drift, DriftRun, Place, draw_drift};
pub use error::Error;
pub use figures::figure::Figure;
pub use figures::{ALL as FIGURES, Draw};
pub(crate) use input::figures_of;
pub use input::{
    CheckBin, ErrorsOverTime, Event, Fit, FittedEnvironment, Input, Learned, LossPoint, OwnEstimate, Portrait,
    PredictiveCheck, Published, Summary, Surroundings, Term, TrainingEnvironment,
};
pub(crate) use number::{name as name_of, significant, unit as unit_of};
pub use samples::{MOST_TRAJECTORIES, draw_trajectories};
pub use side_by_side::page::write_side_by_side;
pub use side_by_side::{ComparedRun, DataOfRun, Group, SideBySide, Spread};
pub use sweep::{CellResults, CellState, SweepResults, results_page};
pub use write::write;
