//! What has to be read of an archive to bring a table up to date, and what is due by it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use super::known::{Known, KnownRow};
use super::origin::{Origin, data_digest};
use super::request::{Request, Update};
use super::sources::{Archive, SourceRecord, Standing};
use crate::import;
use crate::import::load::{Loaded, load_some};
use crate::import::rows::store::unusable_temporary_file;
use crate::import::run::settled;
use crate::import::{ROWS_IN_MEMORY, Settings};
use crate::pipeline::{Error, now};
use crate::problems::{Kind, Problems, many};
use crate::progress::{Event, Run};
use crate::systems::SystemSettings;

/// What there was to read of an archive.
pub(crate) enum Read {
    Nothing(Standing),
    Some(Box<Reading>),
}

/// What was read of an archive.
pub(crate) struct Reading {
    pub loaded: Loaded,
    pub standing: Standing,
    pub records: Vec<SourceRecord>,
    /// The trajectories of each environment that was read whole.
    environments: BTreeMap<String, Vec<usize>>,
}

/// Reads the files that are new or touched, those of environments to estimate again, of environments that have lost a file, and all others with samples of the same environments;
/// if there are any. A file that cannot be read is left for the next time, unless no other one is there.
///
/// # Errors
/// Every problem of the settings, of side tables, or of all files; a request to stop.
pub(crate) fn read(
    settings: &Settings,
    archive: &Archive,
    known: &Known,
    is_again: &dyn Fn(&KnownRow) -> bool,
    mut standing: Standing,
    run: &Run,
) -> Result<Read, Error> {
    loop {
        let due = standing.new.iter().chain(&standing.touched);
        // A side table or a table of events has a word in every environment.
        let bears_on_all = |name: &String| !archive.has_samples(name);
        if standing.moving.iter().any(bears_on_all) {
            return Ok(Read::Nothing(standing));
        }
        // Rows may be gone from a touched file, and files as a whole: what is left of their environments is in others.
        let has_lost =
            |row: &KnownRow| row.files.iter().any(|it| standing.touched.contains(it) || standing.vanished.contains(it));
        let again = known.rows.iter().filter(|(_, row)| is_again(row) || has_lost(row)).map(|(id, _)| id.as_str());
        let mut wanted: BTreeSet<String> = match due.clone().any(bears_on_all) {
            true => archive.tables().map(str::to_owned).collect(),
            false => due.filter(|name| archive.has_samples(name)).cloned().chain(known.files_of(again)).collect(),
        };
        wanted.retain(|name| archive.has_samples(name) && !standing.waits(name));
        if wanted.is_empty() {
            return Ok(Read::Nothing(standing));
        }
        let loaded = read_whole(settings, archive, known, &standing, &mut wanted, run);
        let moved = archive.moved(wanted.iter());
        if !moved.is_empty() {
            moved.into_iter().for_each(|name| standing.leave_moving(name));
            continue;
        }
        if let Err(problems) = &loaded
            && run.interrupt.requested().is_none()
        {
            let unreadable = unreadable(problems, archive);
            let all = archive.tables().filter(|name| !standing.unreadable.contains_key(*name)).count();
            if !unreadable.is_empty() && unreadable.len() < all {
                unreadable.into_iter().for_each(|(name, why)| standing.leave_unreadable(name, why));
                continue;
            }
        }
        let loaded = settled(loaded.map_err(Problems::into_vec), run)?;
        return Ok(Read::Some(Box::new(Reading::new(loaded, standing, archive, known)?)));
    }
}

/// The tables of samples that these problems are of, each with its first one. What is wrong with a trajectory counts only where nothing is wrong with a
/// file, for the rows that it misses may be in that one.
fn unreadable(problems: &Problems, archive: &Archive) -> BTreeMap<String, String> {
    let of = |is_of_it: fn(Kind) -> bool| -> BTreeMap<String, String> {
        let firsts = problems.firsts().filter(|(_, first)| is_of_it(first.kind));
        firsts.filter_map(|(path, first)| Some((archive.table_at(path)?.to_owned(), first.to_string()))).collect()
    };
    let of_files = of(Kind::is_of_a_file);
    if of_files.is_empty() { of(Kind::is_of_a_trajectory) } else { of_files }
}

/// Reads the wanted files, and more until those environments are whole.
fn read_whole(
    settings: &Settings,
    archive: &Archive,
    known: &Known,
    standing: &Standing,
    wanted: &mut BTreeSet<String>,
    run: &Run,
) -> Result<Loaded, Problems> {
    loop {
        run.emit(Event::Note(format!("reading {}", many(wanted.len() as u64, "file"))));
        let loaded = load_some(settings, Path::new(""), (&|name| wanted.contains(name), ROWS_IN_MEMORY), run.interrupt);
        let all: BTreeSet<String> = archive.tables().filter(|&name| !standing.waits(name)).map(str::to_owned).collect();
        let loaded = match loaded {
            // What some files lack for themselves, such as the rows of a channel, others may have.
            Err(problems)
                if run.interrupt.requested().is_none()
                    && *wanted != all
                    && !problems.firsts().any(|(_, first)| first.kind.is_of_a_file()) =>
            {
                *wanted = all;
                continue;
            }
            loaded => loaded?,
        };
        let ids = loaded.trajectories.environments();
        let ids: BTreeSet<&str> = ids.iter().map(|of_one| loaded.trajectories.environment(of_one.start)).collect();
        let mut more = known.files_of(ids.into_iter());
        more.retain(|name| all.contains(name) && !wanted.contains(name));
        if more.is_empty() {
            return Ok(loaded);
        }
        wanted.extend(more);
    }
}

impl Reading {
    fn new(loaded: Loaded, standing: Standing, archive: &Archive, known: &Known) -> Result<Self, Error> {
        let mut environments: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut waiting: Vec<usize> = Vec::new();
        for &segment in loaded.assignment.values().flatten() {
            let id = loaded.trajectories.environment(segment);
            // Samples of it are in a file that waits: so does it.
            match known.rows.get(id).is_some_and(|row| row.files.iter().any(|it| standing.waits(it))) {
                true => waiting.push(segment),
                false => environments.entry(id.to_owned()).or_default().push(segment),
            }
        }
        // What an environment that waits has in other files is not done with: they are read again when it no longer waits.
        let held: BTreeSet<String> = places(&loaded, &waiting)?.into_keys().collect();
        let parents = loaded.parents.iter().filter(|parent| !held.contains(&parent.name));
        let digests = parents.map(|parent| (parent.name.as_str(), parent.sha256.as_str())).collect();
        let records = archive.records(&digests, &known.sources, &standing.unreadable);
        Ok(Reading { loaded, standing, records, environments })
    }

    /// What is due, and how the files stand.
    pub(crate) fn update(&self, known: &Known, is_again: &dyn Fn(&KnownRow) -> bool, made_by: &[String; 2]) -> Update {
        let before: BTreeMap<&str, &str> =
            known.sources.iter().map(|it| (it.file.as_str(), it.sha256.as_str())).collect();
        let has_other_bytes = |it: &&SourceRecord| before.get(it.file.as_str()).is_some_and(|old| *old != it.sha256);
        let mut update = Update {
            new_files: self.standing.new.clone(),
            changed_files: self.records.iter().filter(has_other_bytes).map(|it| it.file.clone()).collect(),
            vanished_files: self.standing.vanished.clone(),
            waiting_files: self.standing.moving.clone(),
            unreadable_files: self.standing.unreadable.clone(),
            ..Update::default()
        };
        for (id, segments) in &self.environments {
            match known.rows.get(id) {
                None => update.new.push(id.clone()),
                Some(row) if row.data != data_digest(&self.loaded, segments) => update.changed.push(id.clone()),
                Some(row) if is_again(row) => update.again.push(id.clone()),
                Some(_) => {}
            }
        }
        let made_anew: BTreeSet<&String> = update.changed.iter().chain(&update.again).collect();
        let stay = known.rows.iter().filter(|(id, _)| !made_anew.contains(id));
        update.by_others = stay.clone().filter(|(_, row)| row.made_by != *made_by).count();
        update.kept = stay.count();
        update.rows = known.rows.len() + update.new.len();
        update
    }

    /// What the rows of due environments are made from.
    pub(crate) fn origins(
        &self,
        due: &BTreeSet<String>,
        request: &Request,
        [model_sha256, settings]: &[String; 2],
    ) -> Result<BTreeMap<String, Origin>, Error> {
        let model = match (request.model, &request.estimate.physics) {
            (Some(model), _) => model.manifest.name.clone(),
            (None, Some(physics)) => {
                let systems = physics.system.iter().chain(&physics.systems);
                systems.map(SystemSettings::name).collect::<Vec<_>>().join(", ")
            }
            (None, None) => String::new(),
        };
        let estimated_at = now();
        let origin = |id: &String| {
            let segments = &self.environments[id];
            let origin = Origin {
                files: in_words(&places(&self.loaded, segments)?),
                data: data_digest(&self.loaded, segments),
                model: model.clone(),
                model_sha256: model_sha256.clone(),
                settings: settings.clone(),
                estimated_at: estimated_at.clone(),
            };
            Ok((id.clone(), origin))
        };
        due.iter().map(origin).collect()
    }

    /// The `data_files` of rows that stay, where they are others than before: files were renamed, or lines moved.
    pub(crate) fn moved(&self, due: &BTreeSet<String>, known: &Known) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let mut moved = BTreeMap::new();
        for (id, segments) in self.environments.iter().filter(|(id, _)| !due.contains(*id)) {
            let now = in_words(&places(&self.loaded, segments)?);
            if known.rows.get(id).is_some_and(|row| row.places != now) {
                moved.insert(id.clone(), now);
            }
        }
        Ok(moved)
    }
}

/// The first and the last line of `segments` in each file.
fn places(loaded: &Loaded, segments: &[usize]) -> Result<BTreeMap<String, RangeInclusive<u64>>, Error> {
    let mut files: BTreeMap<String, RangeInclusive<u64>> = BTreeMap::new();
    for &segment in segments {
        let lines = loaded.trajectories.lines(segment);
        let lines = lines.map_err(|error| import::Error::Data(vec![unusable_temporary_file(&error)]))?;
        for (file, lines) in lines {
            let all = files.entry(file.name.clone()).or_insert_with(|| lines.clone());
            *all = *lines.start().min(all.start())..=*lines.end().max(all.end());
        }
    }
    Ok(files)
}

fn in_words(places: &BTreeMap<String, RangeInclusive<u64>>) -> Vec<String> {
    places.iter().map(|(file, lines)| format!("{file}:{}-{}", lines.start(), lines.end())).collect()
}
