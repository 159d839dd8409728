//! Checks the value counts in page headers before decoding: a few bytes can claim billions of values.

use std::fs::File;
use std::sync::Arc;

use parquet::column::page::PageReader;
use parquet::errors::Result;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::pages::{GREATEST_COMPRESSION, Pages};
use crate::dataset::layout::TIME;
use crate::dataset::manifest::Manifest;
use crate::schema::Split;

/// The columns whose pages claim more values than the manifest states or than the file can hold, a sentence each. Only page headers
/// are read.
pub(crate) fn claim_problems(
    file: &File,
    metadata: &ParquetMetaData,
    manifest: &Manifest,
    split: Split,
) -> Result<Vec<String>> {
    let pages_of = Arc::new(Pages::new(Arc::new(file.try_clone()?))?);
    // Channels are stored without a dictionary, and no other column has more values than a channel.
    let most_bytes = file.metadata()?.len().saturating_mul(GREATEST_COMPRESSION);
    let summary = manifest.splits.get(&split).cloned().unwrap_or_default();
    // An empty list counts as a value.
    let empty = if summary.shortest == 0 { summary.trajectories } else { 0 };
    let most_values = |name: &str| match name {
        TIME => summary.samples.saturating_add(empty),
        _ if manifest.inputs.iter().any(|input| input.quantity.name == name) => summary.samples.saturating_add(empty),
        _ if manifest.channels.iter().any(|channel| channel.name == name) => {
            summary.samples.saturating_mul(manifest.state_shape().points()).saturating_add(empty)
        }
        _ => summary.trajectories,
    } as u64;
    let mut problems = Vec::new();
    for (i, column) in metadata.file_metadata().schema_descr().columns().iter().enumerate() {
        let name = column.path().parts().first().map_or("", String::as_str);
        let mut claimed = 0_u64;
        for group in metadata.row_groups() {
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let mut pages = SerializedPageReader::new(pages_of.clone(), group.column(i), rows, None)?;
            while let Some(page) = pages.peek_next_page()? {
                claimed = claimed.saturating_add(page.num_levels.or(page.num_rows).unwrap_or(0) as u64);
                pages.skip_next_page()?;
            }
        }
        let most = most_values(name);
        if claimed > most {
            problems.push(format!(
                "column `{name}` claims {claimed} values; expected {most} at most, as the manifest states"
            ));
        }
        let bytes = claimed.saturating_mul(size_of::<f64>() as u64);
        if bytes > most_bytes {
            problems.push(format!(
                "column `{name}` claims {bytes} bytes; expected no more than the file can hold ({most_bytes})"
            ));
        }
    }
    Ok(problems)
}
