//! Source files of an archive as they are, beside what they were when they were read last.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::import::Settings;
use crate::import::load::{ArchiveFile, archive_files, passed_over};
use crate::import::tables::source::dangling_link;
use crate::pipeline::Error;
use crate::problems::Problem;
use crate::schema::FormatVersion;

/// Name of the record in a table of estimates.
pub(crate) const SOURCES: &str = "sources.json";

/// `sources.json`: the files that a table of estimates was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// Version of the format of the table.
    pub format: FormatVersion,
    /// SHA-256 of `[import]`: by another one all files are read again.
    pub import_sha256: String,
    /// In the order of their names.
    pub files: Vec<SourceRecord>,
}

/// A source file when it was read last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceRecord {
    /// Path inside the directory of the archive, with `/`.
    pub file: String,
    /// Size.
    pub bytes: u64,
    /// When it was changed last: nanoseconds since 1970, as the file system says.
    pub modified: u64,
    /// SHA-256 of its bytes, lower-case hex.
    pub sha256: String,
}

/// Size and time of change of a file, by which a change is noticed without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub bytes: u64,
    pub modified: u64,
}

impl Stamp {
    /// That of the file at `path`; none if there is no such file.
    fn of(path: &Path) -> Option<Stamp> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(Stamp { bytes: metadata.len(), modified: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX) })
    }

    /// Whether the file was changed within `settle` before `now`.
    fn is_moving(self, now: SystemTime, settle: Duration) -> bool {
        let changed = UNIX_EPOCH + Duration::from_nanos(self.modified);
        // A time in the future is that of another clock.
        now.duration_since(changed).is_ok_and(|age| age < settle)
    }
}

/// A file of the archive.
struct Found {
    path: PathBuf,
    stamp: Stamp,
    /// Whether it has samples; else it is a side table or a table of events, on which every environment may depend.
    has_samples: bool,
}

/// The files of an archive now.
pub(crate) struct Archive {
    files: BTreeMap<String, Found>,
    /// Tables of samples that are links to nothing, and what that means.
    dangling: BTreeMap<String, String>,
    /// What of it the settings do not reach, and should.
    pub warnings: Vec<Problem>,
}

/// How the files of an archive stand beside what was read before, each by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub new: BTreeSet<String>,
    /// Of another size or time; the bytes may be the same.
    pub touched: BTreeSet<String>,
    pub vanished: BTreeSet<String>,
    /// Still being written.
    pub moving: BTreeSet<String>,
    /// Those that cannot be read, and why.
    pub unreadable: BTreeMap<String, String>,
}

impl Standing {
    /// Whether a file is left for the next time, and with it the environments that have samples in it.
    pub(crate) fn waits(&self, name: &str) -> bool {
        self.moving.contains(name) || self.unreadable.contains_key(name)
    }

    /// Leaves a file that was new or touched for the next time: it changes while it is read.
    pub(crate) fn leave_moving(&mut self, name: String) {
        self.forget(&name);
        self.moving.insert(name);
    }

    /// Leaves a file for the next time that cannot be read.
    pub(crate) fn leave_unreadable(&mut self, name: String, why: String) {
        self.forget(&name);
        self.unreadable.insert(name, why);
    }

    fn forget(&mut self, name: &str) {
        self.new.remove(name);
        self.touched.remove(name);
    }
}

impl Archive {
    /// The files that the settings name.
    ///
    /// # Errors
    /// For each name or pattern without a file.
    pub(crate) fn find(settings: &Settings, base: &Path) -> Result<Self, Error> {
        let all = archive_files(settings, base).map_err(Error::Problems)?;
        let (mut files, mut dangling) = (BTreeMap::new(), BTreeMap::new());
        for ArchiveFile { name, path, has_samples } in all {
            if let Some(stamp) = Stamp::of(&path) {
                files.insert(name, Found { path, stamp, has_samples });
            } else if has_samples && path.is_symlink() {
                dangling.insert(name, dangling_link(&path).to_string());
            }
        }
        Ok(Archive { files, dangling, warnings: passed_over(settings, base) })
    }

    /// How they stand beside `known`, at the time `now`. Where `all_anew`, files that are as they were count as touched.
    pub(crate) fn standing(
        &self,
        known: &[SourceRecord],
        all_anew: bool,
        now: SystemTime,
        settle: Duration,
    ) -> Standing {
        let before: BTreeMap<&str, &SourceRecord> = known.iter().map(|it| (it.file.as_str(), it)).collect();
        let mut standing = Standing::default();
        for (name, found) in &self.files {
            let Stamp { bytes, modified } = found.stamp;
            let set = match before.get(name.as_str()) {
                Some(before) if !all_anew && (before.bytes, before.modified) == (bytes, modified) => continue,
                _ if found.stamp.is_moving(now, settle) => &mut standing.moving,
                Some(_) => &mut standing.touched,
                None => &mut standing.new,
            };
            set.insert(name.clone());
        }
        standing.unreadable.clone_from(&self.dangling);
        let gone = before.keys().filter(|&&name| !self.files.contains_key(name) && !self.dangling.contains_key(name));
        standing.vanished = gone.map(|&name| name.to_owned()).collect();
        standing
    }

    /// Whether a file has samples; false of one that is not there.
    pub(crate) fn has_samples(&self, name: &str) -> bool {
        self.files.get(name).is_some_and(|found| found.has_samples)
    }

    /// The names of all files with samples.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter(|(_, found)| found.has_samples).map(|(name, _)| name.as_str())
    }

    /// The name of the file with samples at `path`; none if there is no such file.
    pub(crate) fn table_at(&self, path: &Path) -> Option<&str> {
        let found = self.files.iter().find(|(_, found)| found.has_samples && found.path == path);
        found.map(|(name, _)| name.as_str())
    }

    /// Those of `names` whose size or time is another than it was when the archive was looked through.
    pub(crate) fn moved<'n>(&self, names: impl Iterator<Item = &'n String>) -> BTreeSet<String> {
        let is_moved =
            |name: &&String| self.files.get(*name).is_some_and(|found| Stamp::of(&found.path) != Some(found.stamp));
        names.filter(is_moved).cloned().collect()
    }

    /// The records of the files: those that were read, with these digests, and of others that are still there what `known` has of them. One that is
    /// `unreadable` has none, so that it is read the next time however it then stands.
    pub(crate) fn records(
        &self,
        read: &BTreeMap<&str, &str>,
        known: &[SourceRecord],
        unreadable: &BTreeMap<String, String>,
    ) -> Vec<SourceRecord> {
        let of_read = read.iter().filter_map(|(&name, &sha256)| {
            let Stamp { bytes, modified } = self.files.get(name)?.stamp;
            Some(SourceRecord { file: name.to_owned(), bytes, modified, sha256: sha256.to_owned() })
        });
        let is_other = |it: &&SourceRecord| {
            let name = it.file.as_str();
            !read.contains_key(name) && self.files.contains_key(name) && !unreadable.contains_key(name)
        };
        let others = known.iter().filter(is_other).cloned();
        let mut records: Vec<SourceRecord> = of_read.chain(others).collect();
        records.sort_by(|a, b| a.file.cmp(&b.file));
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, u64, u64)]) -> Archive {
        let found = |&(name, bytes, seconds): &(&str, u64, u64)| {
            let stamp = Stamp { bytes, modified: seconds * 1_000_000_000 };
            (name.to_owned(), Found { path: PathBuf::from(name), stamp, has_samples: true })
        };
        Archive { files: files.iter().map(found).collect(), dangling: BTreeMap::new(), warnings: Vec::new() }
    }

    #[test]
    fn files_are_new_touched_vanished_or_still_moving() {
        let before = archive(&[("a", 10, 100), ("b", 10, 100), ("c", 10, 100), ("d", 10, 100)]);
        let digests = BTreeMap::from([("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]);
        let known = before.records(&digests, &[], &BTreeMap::new());
        let now =
            archive(&[("a", 10, 100), ("b", 12, 150), ("c", 10, 199), ("e", 1, 150), ("f", 1, 198), ("g", 1, 900)]);
        let standing = now.standing(&known, false, UNIX_EPOCH + Duration::from_secs(200), Duration::from_secs(5));
        let set = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(standing.new, set(&["e", "g"]));
        assert_eq!(standing.touched, set(&["b"]));
        assert_eq!(standing.vanished, set(&["d"]));
        assert_eq!(standing.moving, set(&["c", "f"]));
        let records = now.records(&BTreeMap::from([("b", "5"), ("e", "6")]), &known, &BTreeMap::new());
        let names: Vec<(&str, &str)> = records.iter().map(|it| (it.file.as_str(), it.sha256.as_str())).collect();
        assert_eq!(names, [("a", "1"), ("b", "5"), ("c", "3"), ("e", "6")]);
    }
}
