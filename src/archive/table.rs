//! Puts new rows into a table of estimates, in place of older ones of the same environments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::interleave::interleave_record_batch;

use super::origin::{COLUMNS, Origin};
use super::sources::{SOURCES, Sources};
use crate::atomic::Directory;
use crate::dataset::FileEntry;
use crate::estimate::Error;
use crate::estimate::table::evaluation::{Evaluation, Tally};
use crate::estimate::table::output::{Manifest, Outcome, listed, publish};
use crate::estimate::table::parquet::{batches, create, io_error, unwritten};
use crate::estimate::table::reading::{check_digest, rows};
use crate::schema::Split;

/// Rows that are written together.
const TOGETHER: usize = 8192;

/// Publishes at `target` the table that is there with the rows of `new`, whose origins are `origins` by environment, in place of its own of
/// the same environments; and `sources`. Of rows that stay, `moved` has the `data_files` by environment where they are others now.
///
/// # Errors
/// If the two tables have other columns, one cannot be read, or the result cannot be written; the table is then as it was.
pub(crate) fn merge(
    target: &Path,
    new: Option<&Path>,
    origins: &BTreeMap<String, Origin>,
    moved: &BTreeMap<String, Vec<String>>,
    sources: &Sources,
) -> Result<Outcome, Error> {
    let read = |directory: &Path| Manifest::read(directory).map(|(manifest, _)| manifest);
    let old = if target.symlink_metadata().is_ok() { Some(read(target)?) } else { None };
    let of_new = new.map(read).transpose()?;
    let Some(mut manifest) = of_new.clone().or_else(|| old.clone()) else {
        return Err(Error::Io { path: target.to_owned(), source: std::io::ErrorKind::NotFound.into() });
    };
    let place = Directory::create(target).map_err(|source| io_error(target, source))?;
    let listed_in = |manifest: &Option<Manifest>, name: &str| {
        manifest.as_ref().is_some_and(|it| it.files.iter().any(|file| file.path == name))
    };
    let all = old.iter().chain(&of_new).flat_map(|it| &it.files).map(|file| file.path.clone());
    let names: BTreeSet<String> = all.filter(|name| name.ends_with(".parquet")).collect();
    let table = format!("{}.parquet", Split::Adapt);
    let mut files: Vec<FileEntry> = Vec::new();
    for name in names {
        let mut parts = Vec::new();
        if let Some(manifest) = old.as_ref().filter(|_| listed_in(&old, &name)) {
            let path = check_digest(target, manifest, &name)?;
            let kept = |batch: &RecordBatch, i: usize| !origins.contains_key(environment(batch, i));
            for batch in batches(&path)? {
                let batch = if name == table { with_moved(batch, moved)? } else { batch };
                parts.push((chosen(&batch, kept), batch));
            }
        }
        if let Some(new) = new.filter(|_| listed_in(&of_new, &name)) {
            for batch in batches(&new.join(&name))? {
                let batch = if name == table { with_origins(&batch, origins)? } else { batch };
                parts.push((chosen(&batch, |_, _| true), batch));
            }
        }
        let path = place.path().join(&name);
        write(&path, target, &parts)?;
        files.push(listed(place.path(), &name)?);
    }
    let path = place.path().join(SOURCES);
    let mut text = serde_json::to_vec_pretty(sources).expect("plain data always serialise");
    text.push(b'\n');
    crate::disk::write(&path, text).map_err(|source| io_error(&path, source))?;
    files.push(listed(place.path(), SOURCES)?);
    manifest.files = files;
    manifest.splits = vec![Split::Adapt];
    let mut tally = Tally::default();
    for row in rows(place.path(), &manifest, Split::Adapt)? {
        tally.add(&row?);
    }
    manifest.evaluation = Evaluation::default();
    manifest.evaluation.add(Split::Adapt, &tally);
    publish(place, target, manifest)
}

fn environment(batch: &RecordBatch, i: usize) -> &str {
    batch.column_by_name("environment").and_then(|column| column.as_string_opt::<i32>()).map_or("", |ids| ids.value(i))
}

fn chosen(batch: &RecordBatch, is_chosen: impl Fn(&RecordBatch, usize) -> bool) -> Vec<usize> {
    (0..batch.num_rows()).filter(|&i| is_chosen(batch, i)).collect()
}

/// The rows with the columns of their origins.
fn with_origins(batch: &RecordBatch, origins: &BTreeMap<String, Origin>) -> Result<RecordBatch, Error> {
    let of_rows: Vec<&Origin> = (0..batch.num_rows()).filter_map(|i| origins.get(environment(batch, i))).collect();
    let text = |value: fn(&Origin) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(of_rows.iter().map(|&origin| value(origin))))
    };
    let mut files = ListBuilder::new(StringBuilder::new());
    for origin in &of_rows {
        origin.files.iter().for_each(|file| files.values().append_value(file));
        files.append(true);
    }
    let columns: [ArrayRef; COLUMNS.len()] = [
        Arc::new(files.finish()),
        text(|it| &it.data),
        text(|it| &it.model),
        text(|it| &it.model_sha256),
        text(|it| &it.settings),
        text(|it| &it.estimated_at),
    ];
    let schema = batch.schema();
    if let Some(column) = COLUMNS.into_iter().find(|name| schema.field_with_name(name).is_ok()) {
        let [first, second] = ["a parameter or channel", "the origin of a row"].map(str::to_owned);
        return Err(Error::RepeatedColumn { column: column.to_owned(), first, second });
    }
    let kind = |column: &ArrayRef| match column.data_type() {
        DataType::List(item) => DataType::List(item.clone()),
        other => other.clone(),
    };
    let added = COLUMNS.iter().zip(&columns).map(|(name, column)| Arc::new(Field::new(*name, kind(column), false)));
    let fields: Vec<_> = schema.fields().iter().cloned().chain(added).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let all = batch.columns().iter().cloned().chain(columns).collect();
    RecordBatch::try_new(schema, all).map_err(|error| unwritten(Path::new(SOURCES))(error.into()))
}

/// The rows with other `data_files` where these are `moved`.
fn with_moved(batch: RecordBatch, moved: &BTreeMap<String, Vec<String>>) -> Result<RecordBatch, Error> {
    let Ok(index) = batch.schema().index_of(COLUMNS[0]) else { return Ok(batch) };
    let Some(before) = batch.column(index).as_list_opt::<i32>() else { return Ok(batch) };
    let mut files = ListBuilder::new(StringBuilder::new());
    for i in 0..batch.num_rows() {
        match moved.get(environment(&batch, i)) {
            Some(places) => places.iter().for_each(|place| files.values().append_value(place)),
            None => {
                let places = before.value(i);
                let places = places.as_string_opt::<i32>();
                places.iter().for_each(|it| it.iter().flatten().for_each(|place| files.values().append_value(place)));
            }
        }
        files.append(true);
    }
    let mut columns = batch.columns().to_vec();
    columns[index] = Arc::new(files.finish());
    RecordBatch::try_new(batch.schema(), columns).map_err(|error| unwritten(Path::new(SOURCES))(error.into()))
}

/// Writes the chosen rows of all batches in the order of their environments; rows of one environment stay in theirs.
fn write(path: &Path, target: &Path, parts: &[(Vec<usize>, RecordBatch)]) -> Result<(), Error> {
    let Some((_, last)) = parts.last() else { return Ok(()) };
    let schema = last.schema();
    if let Some((_, other)) = parts.iter().find(|(_, batch)| batch.schema().fields() != schema.fields()) {
        return Err(other_columns(target, &other.schema(), &schema));
    }
    let mut order: Vec<(usize, usize)> =
        parts.iter().enumerate().flat_map(|(part, (rows, _))| rows.iter().map(move |&row| (part, row))).collect();
    order.sort_by(|a, b| environment(&parts[a.0].1, a.1).cmp(environment(&parts[b.0].1, b.1)));
    let all: Vec<&RecordBatch> = parts.iter().map(|(_, batch)| batch).collect();
    let mut writer = create(path, schema)?;
    for rows in order.chunks(TOGETHER) {
        let batch = interleave_record_batch(&all, rows).map_err(|error| unwritten(path)(error.into()))?;
        writer.write(&batch).map_err(unwritten(path))?;
    }
    writer.close().map(|_| ()).map_err(unwritten(path))
}

fn other_columns(target: &Path, old: &Schema, new: &Schema) -> Error {
    let differ = |a: &Schema, b: &Schema| -> Vec<String> {
        let lacks = |field: &&Arc<Field>| b.field_with_name(field.name()).ok() != Some(field.as_ref());
        a.fields().iter().filter(lacks).map(|field| field.name().clone()).collect()
    };
    Error::Invalid {
        path: target.to_owned(),
        found: format!("a table with other columns or units ({})", differ(old, new).join(", ")),
        expected: format!(
            "those of the model at hand ({}); choose another directory for it",
            differ(new, old).join(", ")
        ),
    }
}
