//! Fits by equations beside all their trajectories, for the report.

use rayon::prelude::*;

use super::error::Error;
use crate::dataset::Dataset;
use crate::estimate::physics::{Drawings, Drawn, DrawnTrajectory, Draws, Fine, Systems};
use crate::estimate::{self, Row, Settings};
use crate::progress::Run;
use crate::report::{Event, Fit, FittedEnvironment, Portrait};
use crate::schema::{Split, Trajectory};

/// Environments that are drawn at a time,
const CHUNK: usize = 32;
/// until they have so many samples.
const MOST_SAMPLES: usize = 1_000_000;
/// Environments that are named where none can be drawn.
const NAMED: usize = 4;

/// Fits that were drawn.
#[derive(Default)]
pub(crate) struct Fits {
    /// Of each the place among the rows.
    pub drawn: Vec<(usize, Drawn)>,
}

impl Fits {
    /// The fits of at most `most` of the `rows`, at equal distances, those that failed without one, with replicates by `seed`. Adds why others have none to
    /// `undrawn`.
    ///
    /// # Errors
    /// At a request to stop.
    pub(crate) fn new(
        settings: &Settings,
        dataset: &Dataset,
        (rows, most): (&[(Split, Row)], usize),
        seed: u64,
        run: &Run,
        undrawn: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let stride = rows.len().div_ceil(most.max(1)).max(1);
        let chosen: Vec<usize> = (0..rows.len()).step_by(stride).take(most).collect();
        if chosen.is_empty() {
            return Ok(Fits::default());
        }
        let mut splits: Vec<Split> = chosen.iter().map(|&place| rows[place].0).collect();
        splits.sort_unstable();
        splits.dedup();
        let systems = Systems::new(settings);
        let drawings = systems
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|systems| Drawings::new(systems, dataset, &splits, run).map_err(|error| error.to_string()));
        let drawings = match drawings {
            Ok(drawings) => drawings,
            Err(error) => {
                let names: Vec<&str> = chosen.iter().map(|&place| rows[place].1.environment.as_str()).collect();
                let more = if names.len() > NAMED { " and others" } else { "" };
                let names = names[..names.len().min(NAMED)].join(", ");
                undrawn.push(format!("the trajectories of {names}{more} ({error})"));
                return Ok(Fits::default());
            }
        };
        let of = |place: usize| {
            let draws = Draws { seed, indices: &[place as u64] };
            (place, drawings.with_replicates(rows[place].0, &rows[place].1, Some(draws)))
        };
        let (mut drawn, mut samples) = (Vec::new(), 0);
        for chunk in chosen.chunks(CHUNK) {
            let all: Vec<(usize, Result<Drawn, estimate::Error>)> = chunk.par_iter().map(|&place| of(place)).collect();
            for (place, result) in all {
                match result {
                    Ok(it) => {
                        samples += it.trajectories.iter().map(|it| it.trajectory.len()).sum::<usize>();
                        drawn.push((place, it));
                    }
                    Err(error @ estimate::Error::Interrupted { .. }) => return Err(error.into()),
                    Err(error) => undrawn.push(format!("the trajectories of {} ({error})", rows[place].1.environment)),
                }
            }
            if samples > MOST_SAMPLES {
                break;
            }
        }
        Ok(Fits { drawn })
    }

    /// The environments for the report.
    pub(crate) fn environments(&self, rows: &[(Split, Row)]) -> Vec<FittedEnvironment> {
        let environment = |(place, drawn): &(usize, Drawn)| {
            let (_, row) = &rows[*place];
            let reason = if row.reason.is_empty() { String::new() } else { format!(": {}", row.reason) };
            let visible = drawn.trajectories.iter().filter(|it| it.is_visible());
            FittedEnvironment {
                environment: row.environment.clone(),
                status: format!("{}{reason}", row.status.name()),
                trajectories: visible.map(|it| portrait(it, &it.trajectory.trajectory)).collect(),
            }
        };
        self.drawn.iter().map(environment).collect()
    }

    /// The first visible trajectory of the row at a place, where it was drawn.
    pub(crate) fn first(&self, place: usize) -> Option<&DrawnTrajectory> {
        let found = self.drawn.binary_search_by_key(&place, |it| it.0).ok()?;
        self.drawn[found].1.trajectories.iter().find(|it| it.is_visible())
    }
}

/// A trajectory for the report.
pub(crate) fn portrait(drawn: &DrawnTrajectory, title: &str) -> Portrait {
    let Trajectory { times, states, inputs, .. } = &drawn.trajectory;
    let fit = |Fine { times, values, half_widths, unknown }: &Fine| Fit {
        times: times.clone(),
        values: values.clone(),
        half_widths: half_widths.clone(),
        unknown: unknown.clone(),
    };
    let has_below = drawn.below.contains(&true);
    Portrait {
        title: title.to_owned(),
        times: times.clone(),
        truth: states.clone(),
        prediction: drawn.states.clone(),
        inputs: inputs.clone(),
        fit: drawn.fine.as_ref().map(fit),
        residuals: drawn.residuals.clone(),
        below: if has_below { drawn.below.clone() } else { Vec::new() },
        letter: None,
        events: drawn.events.iter().map(|&(time, input, amount)| Event { time, input, amount }).collect(),
    }
}
