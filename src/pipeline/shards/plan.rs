//! The file that says how a stage is divided.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::atomic;
use crate::blocks::{Rows, Store};
use crate::dataset::{Dataset, IndexEntry};
use crate::digest::sha256;
use crate::engine::Compute;
use crate::estimate;
use crate::generate;
use crate::pipeline::decide::ingredients;
use crate::pipeline::error::{Error, as_ranges};
use crate::pipeline::fingerprint::Ingredients;
use crate::pipeline::finished;
use crate::pipeline::plan::{Locations, Plan, Source};
use crate::pipeline::stage::Stage;
use crate::pipeline::stages::{Built, computed_by, engine_of_estimates, model_of_estimates, section};
use crate::problems::many;
use crate::regular;
use crate::schema::{Split, TOOL};

/// The name of the kind of file.
const KIND: &str = "shards";
/// What was expected where there is none.
const EXPECTED: &str = "a plan that `paramill shard plan` of this version wrote; write it anew";
/// Environments of a shard where nobody says how many.
pub(crate) const ENVIRONMENTS: usize = 1000;

/// How a stage is divided into shards. Paths are as they were given: relative ones begin in the directory where the commands run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShardPlan {
    /// Always `shards`.
    pub kind: String,
    /// `paramill` and its version, which must be that of every shard.
    pub tool: String,
    /// The pipeline file.
    pub pipeline: PathBuf,
    /// Its `--set` arguments.
    pub set: Vec<String>,
    /// The workspace, if it is not the usual one.
    pub workspace: Option<PathBuf>,
    /// The stage: `generate` or `estimate`.
    pub stage: Stage,
    /// What its product is made from.
    pub ingredients: Ingredients,
    /// The device that was asked for: `auto`, `cpu`, `cuda`.
    pub device: String,
    /// The engine that was asked for.
    pub engine: String,
    /// Engine and kind of device that compute, which must be those of every shard.
    pub computed_by: String,
    /// The trajectories of each shard: those of whole environments.
    pub shards: Vec<Vec<Rows>>,
    /// SHA-256 over all of this, hex.
    pub digest: String,
}

/// Into how many shards a stage is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Into this many; some are empty where there are fewer environments.
    Shards(usize),
    /// Into shards of so many environments.
    Environments(usize),
}

impl Default for Division {
    fn default() -> Self {
        Division::Environments(ENVIRONMENTS)
    }
}

impl Division {
    /// Number of shards of so many environments.
    pub fn count(self, environments: usize) -> usize {
        match self {
            Division::Shards(count) => count.max(1),
            Division::Environments(each) => environments.div_ceil(each.max(1)).max(1),
        }
    }
}

/// What is divided: the environments of a split, by the first trajectory of each, and the end of the last.
struct Divided {
    split: Split,
    firsts: Vec<usize>,
    end: usize,
}

/// The plan of `stage` of the pipeline in `file`.
///
/// # Errors
/// If the stage cannot be divided, or an input is missing.
pub fn plan_shards(
    file: &Path,
    set: &[String],
    workspace: Option<&PathBuf>,
    stage: Stage,
    compute: Compute,
    division: Division,
) -> Result<ShardPlan, Error> {
    let plan = load(file, set, workspace)?;
    let ingredients = ingredients(&plan, stage, &Built, &[])?;
    let (divided, computed_by) = match (stage, &plan.source) {
        (Stage::Generate, Source::Generate(settings)) => (of_simulation(settings, plan.seed)?, String::new()),
        (Stage::Estimate, _) => {
            let settings = section(stage, plan.estimate.as_ref())?;
            let made_by = engine_of_estimates(model_of_estimates(&plan)?.as_ref(), compute)?;
            (of_dataset(settings, &Dataset::open(&plan.dataset_directory)?)?, computed_by(&made_by))
        }
        (Stage::Generate, _) => return Err(Error::NoSuchStage { stage, has: plan.stages() }),
        _ => {
            let found = format!("the stage `{stage}`");
            return Err(Error::Usage(format!("{found}; expected `generate` or `estimate`, which can be divided")));
        }
    };
    let count = division.count(divided.iter().map(|it| it.firsts.len()).sum());
    let mut shard_plan = ShardPlan {
        kind: KIND.to_owned(),
        tool: TOOL.to_owned(),
        pipeline: file.to_owned(),
        set: set.to_vec(),
        workspace: workspace.cloned(),
        stage,
        ingredients,
        device: compute.device.to_string(),
        engine: compute.engine.to_string(),
        computed_by,
        shards: shards(&divided, count),
        digest: String::new(),
    };
    shard_plan.digest = shard_plan.own_digest();
    Ok(shard_plan)
}

impl ShardPlan {
    /// Where the plan of `stage` stands if nobody says otherwise.
    pub fn usual_path(plan: &Plan, stage: Stage) -> PathBuf {
        plan.workspace.join("shards").join(format!("{stage}.json"))
    }

    /// Writes the plan, atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string(self).map_err(std::io::Error::from).map_err(Error::io(path))?;
        atomic::write_file(path, format!("{text}\n").as_bytes()).map_err(Error::io(path))
    }

    /// Whether the file at `path` is a plan, of this version or another, which may be replaced.
    pub fn is_one(path: &Path) -> bool {
        let text = regular::read(path).ok().and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
        text.is_some_and(|plan| {
            plan.get("shards").is_some_and(serde_json::Value::is_array) && plan.get("digest").is_some()
        })
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// If it cannot be read, is none, or is of another version of this program.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let refused =
            |found: String| Error::Unrecognised { path: path.to_owned(), found, expected: EXPECTED.to_owned() };
        let damaged = |found: String| Error::Damaged { path: path.to_owned(), found, expected: EXPECTED.to_owned() };
        let bytes = match regular::read(path) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::InvalidData) =>
            {
                return Err(refused(error.to_string()));
            }
            read => read.map_err(Error::io(path))?,
        };
        let plan: ShardPlan = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if plan.kind != KIND || plan.tool != TOOL {
            return Err(refused(format!("a plan of {}", plan.tool)));
        }
        if plan.digest != plan.own_digest() {
            return Err(damaged("a plan that was changed since".to_owned()));
        }
        Ok(plan)
    }

    /// Checks that there are shards of these numbers.
    ///
    /// # Errors
    /// If some are not there; the message names them.
    pub fn require(&self, indices: &[usize]) -> Result<(), Error> {
        let beyond: Vec<usize> = indices.iter().copied().filter(|&index| index >= self.shards.len()).collect();
        if beyond.is_empty() {
            return Ok(());
        }
        let last = self.shards.len().saturating_sub(1);
        Err(Error::Usage(format!(
            "shard {} asked for; expected numbers from 0 to {last}; the plan has {}",
            as_ranges(&beyond),
            many(self.shards.len() as u64, "shard")
        )))
    }

    fn own_digest(&self) -> String {
        let unsigned = ShardPlan { digest: String::new(), ..self.clone() };
        sha256(json!(unsigned).to_string().as_bytes())
    }

    /// What computes, as it was asked for.
    ///
    /// # Errors
    /// If the plan names what this version does not know.
    pub fn compute(&self) -> Result<Compute, Error> {
        let unknown = |found: String| Error::Usage(format!("{found}; write the plan anew"));
        let device = self.device.parse().map_err(unknown)?;
        Ok(Compute { device, engine: self.engine.parse().map_err(unknown)? })
    }

    /// The pipeline as it is now.
    ///
    /// # Errors
    /// Every problem of its file.
    pub fn load(&self) -> Result<Plan, Error> {
        load(&self.pipeline, &self.set, self.workspace.as_ref())
    }

    /// Where the finished blocks of the shards are.
    pub fn store(&self, plan: &Plan) -> Store {
        finished::store(plan, self.stage, &finished::key(&self.ingredients.fingerprint(), &self.computed_by))
    }

    /// Whether the product would still be made from what it was to be made from.
    ///
    /// # Errors
    /// If it would not, or an input is missing.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Error> {
        let now = ingredients(plan, self.stage, &Built, &[])?;
        let changes = now.changes_since(&self.ingredients);
        if changes.is_empty() { Ok(()) } else { Err(Error::StalePlan { stage: self.stage, changes }) }
    }
}

fn load(file: &Path, set: &[String], workspace: Option<&PathBuf>) -> Result<Plan, Error> {
    let locations = Locations { workspace: workspace.cloned(), ..Locations::default() };
    Plan::load(file, set, &locations).map_err(Error::Problems)
}

fn of_simulation(settings: &generate::Settings, seed: u64) -> Result<Vec<Divided>, Error> {
    let of_split = |(split, environments, each): (Split, usize, usize)| Divided {
        split,
        firsts: (0..environments).map(|environment| environment * each).collect(),
        end: environments * each,
    };
    Ok(generate::environments(settings, seed)?.into_iter().map(of_split).collect())
}

fn of_dataset(settings: &estimate::Settings, dataset: &Dataset) -> Result<Vec<Divided>, Error> {
    let splits = estimate::splits_of(settings, dataset)?;
    let of_split = |split: Split| {
        let index = dataset.index(split)?;
        let of_other = |row: &usize, entry: &IndexEntry| *row == 0 || index[row - 1].environment != entry.environment;
        let firsts = index.iter().enumerate().filter(|(row, entry)| of_other(row, entry)).map(|(row, _)| row);
        Ok(Divided { split, firsts: firsts.collect(), end: index.len() })
    };
    splits.into_iter().map(of_split).collect()
}

/// Shard `i` of `n` gets the environments from `i E / n` to `(i + 1) E / n` of all `E`, in the order of the splits.
fn shards(divided: &[Divided], count: usize) -> Vec<Vec<Rows>> {
    let all: usize = divided.iter().map(|it| it.firsts.len()).sum();
    let border = |shard: usize| (shard as u128 * all as u128 / count as u128) as usize;
    let of_shard = |shard: usize| {
        let mut before = 0;
        let of_split = |Divided { split, firsts, end }: &Divided| {
            let inside = |environment: usize| environment.clamp(before, before + firsts.len()) - before;
            let (from, to) = (inside(border(shard)), inside(border(shard + 1)));
            before += firsts.len();
            let row = |environment: usize| firsts.get(environment).copied().unwrap_or(*end);
            (from < to).then(|| Rows::new(*split, row(from)..row(to)))
        };
        divided.iter().filter_map(of_split).collect()
    };
    (0..count).map(of_shard).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_hold_whole_environments_once_each_however_many_there_are() {
        // Environments of 1, 3 and 2 trajectories, then two of 2.
        let divided = [
            Divided { split: Split::Adapt, firsts: vec![0, 1, 4], end: 6 },
            Divided { split: Split::Grid, firsts: vec![0, 2], end: 4 },
        ];
        for count in 1..9 {
            let all: Vec<Rows> = shards(&divided, count).concat();
            for (split, end, borders) in [(Split::Adapt, 6, vec![0, 1, 4, 6]), (Split::Grid, 4, vec![0, 2, 4])] {
                let mut at = 0;
                for rows in all.iter().filter(|rows| rows.split == split) {
                    assert_eq!(rows.first, at, "{count}");
                    at = rows.range().end;
                    assert!(borders.contains(&at), "{count}: {rows:?}");
                }
                assert_eq!(at, end, "{count}");
            }
            assert_eq!(shards(&divided, count).len(), count);
        }
        let two =
            [vec![Rows::new(Split::Adapt, 0..4)], vec![Rows::new(Split::Adapt, 4..6), Rows::new(Split::Grid, 0..4)]];
        assert_eq!(shards(&divided, 2), two);
        assert_eq!(
            [Division::Environments(2), Division::Shards(7), Division::Shards(0)].map(|it| it.count(5)),
            [3, 7, 1]
        );
    }
}
