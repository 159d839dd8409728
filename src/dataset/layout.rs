//! Names of a dataset's files, and reserved names inside them.

use super::store::Store;
use crate::schema::Split;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const CARD: &str = "README.md";
pub(crate) const CROISSANT: &str = "croissant.json";

/// Names of variables and columns besides the quantities.
pub(crate) const ENVIRONMENT: &str = "environment";
pub(crate) const TRAJECTORY: &str = "trajectory";
pub(crate) const TIME: &str = "time";
pub(crate) const SAMPLE: &str = "sample";
pub(crate) const SAMPLE_COUNT: &str = "sample_count";
pub(crate) const ENVIRONMENT_ID: &str = "environment_id";
pub(crate) const TRAJECTORY_ID: &str = "trajectory_id";
/// The one-point axis of a state without space, where a layout requires an axis.
pub(crate) const POINT: &str = "point";
/// Names that no quantity may have: those above, and the groups of The Well's layout in HDF5 files.
pub(crate) const RESERVED: [&str; 14] = [
    ENVIRONMENT,
    TRAJECTORY,
    TIME,
    SAMPLE,
    SAMPLE_COUNT,
    ENVIRONMENT_ID,
    TRAJECTORY_ID,
    POINT,
    "dimensions",
    "t0_fields",
    "t1_fields",
    "t2_fields",
    "scalars",
    "boundary_conditions",
];

/// Relative path of one shard of a split's copy in `store`.
pub(crate) fn data_file(split: Split, store: Store, shard: usize, shards: usize) -> String {
    match store {
        Store::Hdf5 if shards == 1 => format!("hdf5/{split}.h5"),
        Store::Hdf5 => format!("hdf5/{split}-{shard:05}-of-{shards:05}.h5"),
        Store::Parquet => format!("data/{split}-{shard:05}-of-{shards:05}.parquet"),
    }
}

/// The number of shards of a split that has the Parquet file `path`, if that is the first of them.
pub(crate) fn shards_of_first(split: Split, path: &str) -> Option<usize> {
    let rest = path.strip_prefix("data/")?.strip_prefix(split.name())?.strip_prefix("-00000-of-")?;
    rest.strip_suffix(".parquet")?.parse().ok().filter(|&shards| shards > 0)
}
