//! A trained model in the hands of another program: estimates and forecasts of what it has in memory.

use std::path::Path;

use crate::checkpoint::{self, Opened, StoredModel};
use crate::dataset::Manifest;
use crate::engine::{Compute, DeviceChoice, EngineChoice};
use crate::estimate::driver::{check_bounds, check_learned};
use crate::estimate::in_memory::by_environment;
use crate::estimate::learned::estimator::Estimator;
use crate::estimate::{Error, Row, Settings};
use crate::forecast::{Forecast, context_of_parameters, forecast};
use crate::progress::Run;
use crate::schema::{Input, Quantity, Split, Trajectory};

/// Where an estimate is computed: on the CPU, by the fastest engine there is.
const COMPUTE: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Auto };

/// A trained model with its map from contexts to parameters.
pub struct Model {
    stored: StoredModel,
}

impl Model {
    /// Reads the model at `path`, a directory such as `runs/NAME/models/NAME` or a bundle of it, and checks it against its digests.
    ///
    /// # Errors
    /// If it is missing or is not as it was written.
    pub fn open(path: &Path) -> Result<Self, checkpoint::Error> {
        Ok(Model { stored: StoredModel::read(Opened::new(path)?.directory())? })
    }

    /// What trajectories hold, in order `[C]`, with units.
    pub fn channels(&self) -> &[Quantity] {
        &self.stored.manifest.channels
    }

    /// Known signals that act on the system, in order `[U]`, with units.
    pub fn inputs(&self) -> &[Input] {
        &self.stored.manifest.inputs
    }

    /// What is estimated, in order `[d_p]`, with units.
    pub fn parameters(&self) -> &[Quantity] {
        &self.stored.manifest.parameters
    }

    /// Estimates the parameters of environments with default settings: one row an environment, in the order in which they first occur. Their
    /// contexts are fitted to their trajectories, and mapped to parameters.
    ///
    /// States `[T, C]` are in the order and units of [`Model::channels`], NaN where nothing was observed. Known parameters (`[d_p]`, or none
    /// at all) are not used, but stand in the rows as the truth.
    ///
    /// # Errors
    /// [`Error::Trajectories`] with every trajectory that does not fit the model. An environment that cannot be fitted is no error: its row has
    /// a status.
    ///
    /// ```no_run
    /// use std::path::Path;
    ///
    /// use paramill::Model;
    /// use paramill::schema::Trajectory;
    ///
    /// let model = Model::open(Path::new("runs/lv-demo/models/lv-demo"))?;
    /// let culture = Trajectory {
    ///     environment: "pond".to_owned(),
    ///     trajectory: "summer".to_owned(),
    ///     parameters: Vec::new(),
    ///     times: vec![0.0, 0.5, 1.0, 1.5],
    ///     states: vec![1.4, 2.2, 1.2, 1.9, 1.1, 1.5, 1.1, 1.3],
    ///     inputs: Vec::new(),
    /// };
    /// let rows = model.estimate(&[culture])?;
    /// for (quantity, estimate) in model.parameters().iter().zip(&rows[0].parameters) {
    ///     println!("{} = {} +- {} {}", quantity.name, estimate.value, estimate.standard_error, quantity.unit);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimate(&self, trajectories: &[Trajectory]) -> Result<Vec<Row>, Error> {
        self.estimate_with(&Settings::default(), trajectories)
    }

    /// As [`Model::estimate`], with settings.
    ///
    /// # Errors
    /// As [`Model::estimate`], and for bounds whose ends are reversed, or what only known equations can be told of noise.
    pub fn estimate_with(&self, settings: &Settings, trajectories: &[Trajectory]) -> Result<Vec<Row>, Error> {
        check_bounds(settings)?;
        check_learned(settings)?;
        let of_model = &self.stored.manifest;
        let (channels, parameters) = (of_model.channels.clone(), of_model.parameters.clone());
        let manifest = Manifest {
            grid: of_model.grid.clone(),
            inputs: of_model.inputs.clone(),
            ..Manifest::in_memory(&of_model.time_unit, channels, parameters)
        };
        let environments = by_environment(trajectories, &manifest)?;
        let run = Run::silent();
        let estimator = Estimator::new(settings, COMPUTE, None, &self.stored, &run)?;
        Ok(estimator.block(Split::Adapt, environments)?.into_iter().map(|it| it.row).collect())
    }

    /// The trajectory of an environment with these `parameters [d_p]` from the state `initial [C]` at `times[0]`, and the band in which it
    /// lies with 95 %, at `times [T]`, with `inputs [T, U]`.
    ///
    /// # Errors
    /// [`Error::Unpredictable`] where lengths do not agree, times do not increase, or the map does not reach the parameters; if the
    /// trajectory diverges.
    ///
    /// ```no_run
    /// use std::path::Path;
    ///
    /// use paramill::Model;
    ///
    /// let model = Model::open(Path::new("runs/lv-demo/models/lv-demo"))?;
    /// let times: Vec<f64> = (0..20).map(|t| 0.5 * f64::from(t)).collect();
    /// let forecast = model.forecast(&[0.6, 0.8], &[1.5, 1.0], &times, &[])?;
    /// println!("at {}: {:?}", times[19], &forecast.states[2 * 19..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forecast(
        &self,
        parameters: &[f64],
        initial: &[f64],
        times: &[f64],
        inputs: &[f64],
    ) -> Result<Forecast, Error> {
        let state = self.stored.manifest.units().state.len();
        let counts = [
            ("parameters", parameters.len(), self.parameters().len()),
            ("values of the initial state", initial.len(), state),
            ("values of inputs", inputs.len(), times.len() * self.inputs().len()),
        ];
        if let Some((what, found, expected)) = counts.into_iter().find(|(_, found, expected)| found != expected) {
            return Err(Error::Unpredictable { found: format!("{found} {what}"), expected: expected.to_string() });
        }
        if times.is_empty()
            || times.windows(2).any(|pair| pair[0].partial_cmp(&pair[1]) != Some(std::cmp::Ordering::Less))
        {
            let expected = "at least one time, and times that increase".to_owned();
            return Err(Error::Unpredictable { found: format!("times {times:?}"), expected });
        }
        let known = context_of_parameters(&self.stored, parameters)?;
        forecast(COMPUTE, &self.stored, &known, initial, times, inputs)
    }
}
