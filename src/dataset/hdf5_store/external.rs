//! Finds links, storage and filters by which an HDF5 file would need more than itself and libhdf5 to read.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::ptr::null_mut;

use hdf5_metno::dataset::Layout;
use hdf5_metno::sync::sync;
use hdf5_metno::{Dataset, File, Group, IndexType, IterationOrder, LinkType, LocationType, Result};
use hdf5_metno_sys::h5p::{H5Pget_external_count, H5Pget_filter2, H5Pget_nfilters};
use hdf5_metno_sys::h5z::{
    H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32, H5Z_FILTER_RESERVED, H5Z_FILTER_SHUFFLE, H5Z_filter_t,
};

use crate::dataset::error::Error;

/// Bytes of the checksum after a chunk.
const CHECKSUM: u64 = 4;

/// The external links, external storage and plug-in filters of a file, a sentence each. Must be checked before anything is opened
/// through a link and before any value is read.
pub(crate) fn external_problems(path: &Path, file: &File) -> std::result::Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    // A group may contain itself. Object tokens can be compared but neither ordered nor hashed, so their text is used.
    let mut met = BTreeSet::new();
    let mut groups: Vec<Group> = vec![file.as_group().map_err(Error::hdf5(path))?];
    while let Some(group) = groups.pop() {
        for (name, link) in group.links(IndexType::Name, IterationOrder::Increasing).map_err(Error::hdf5(path))? {
            let place = format!("{}/{name}", group.name().trim_end_matches('/')).trim_start_matches('/').to_owned();
            if link.link_type != LinkType::Hard {
                problems.push(format!("`{place}` is a link of type {:?}; expected only hard links", link.link_type));
                continue;
            }
            let object = group.loc_info_by_name(&name).map_err(Error::hdf5(path))?;
            if !met.insert(format!("{:?}", object.token)) {
                continue;
            }
            match object.loc_type {
                LocationType::Group => groups.push(group.group(&name).map_err(Error::hdf5(path))?),
                LocationType::Dataset => {
                    let variable = group.dataset(&name).map_err(Error::hdf5(path))?;
                    let found = storage_problems(path, &variable).map_err(Error::hdf5(path))?;
                    problems.extend(found.into_iter().map(|problem| format!("variable `{place}` {problem}")));
                }
                _ => {}
            }
        }
    }
    Ok(problems)
}

fn storage_problems(path: &Path, variable: &Dataset) -> Result<Vec<String>> {
    let properties = variable.dcpl()?;
    if properties.get_layout()? == Layout::Virtual {
        return Ok(vec!["is virtual; expected its values in this file".to_owned()]);
    }
    // SAFETY: the property list is open and outlives the call.
    let external = sync(|| unsafe { H5Pget_external_count(properties.id()) });
    if external != 0 {
        return Ok(vec!["has external storage; expected its values in this file".to_owned()]);
    }
    let filters = filters(variable)?;
    let problems: Vec<String> = filters.iter().copied().filter_map(filter_problem).collect();
    if !problems.is_empty() || !filters.contains(&H5Z_FILTER_FLETCHER32) {
        return Ok(problems);
    }
    checksum_problem(path, variable, &filters).map(|problem| problem.into_iter().collect())
}

/// libhdf5 reads beyond the end of data shorter than the checksum: a chunk, or what it inflates to if deflate comes first.
fn checksum_problem(path: &Path, variable: &Dataset, filters: &[H5Z_filter_t]) -> Result<Option<String>> {
    let position = filters.iter().position(|&filter| filter == H5Z_FILTER_FLETCHER32).unwrap_or(0);
    let is_once = |filter| filters.iter().filter(|&&other| other == filter).count() < 2;
    if !is_once(H5Z_FILTER_FLETCHER32) || !is_once(H5Z_FILTER_DEFLATE) {
        return Ok(Some("has a filter twice; expected each once: repack the file with `h5repack -f NONE`".to_owned()));
    }
    let mut chunks = Vec::new();
    variable.chunks_visit(|chunk| {
        chunks.push((chunk.addr, chunk.size, chunk.filter_mask));
        0
    })?;
    let deflate = filters.iter().position(|&filter| filter == H5Z_FILTER_DEFLATE).filter(|&deflate| deflate > position);
    if deflate.is_some() && variable.file()?.fcpl()?.userblock() != 0 {
        let found =
            "has its checksum below deflate in a file with a user block: repack the file with `h5repack -f NONE`";
        return Ok(Some(found.to_owned()));
    }
    let lengths = chunks.into_iter().map(|(address, size, skipped)| match deflate {
        Some(deflate) if skipped >> deflate & 1 == 0 => inflated(path, address, size).unwrap_or(0),
        _ => size,
    });
    let shortest = lengths.min().filter(|&shortest| shortest < CHECKSUM);
    let problem = |shortest| {
        format!(
            "has a chunk of {shortest} bytes; expected a checksum of {CHECKSUM} bytes at least: make the file again"
        )
    };
    Ok(shortest.map(problem))
}

/// Inflated size of the chunk at `address`, counted up to the size of a checksum.
fn inflated(path: &Path, address: u64, size: u64) -> io::Result<u64> {
    let mut file = fs::File::open(path)?;
    file.seek(SeekFrom::Start(address))?;
    let mut bytes = Vec::new();
    flate2::read::ZlibDecoder::new(file.take(size)).take(CHECKSUM).read_to_end(&mut bytes)?;
    Ok(bytes.len() as u64)
}

/// The filters of a variable in the order of writing.
pub(crate) fn filters(variable: &Dataset) -> Result<Vec<H5Z_filter_t>> {
    let properties = variable.dcpl()?;
    // The safe wrappers read names and parameters of any length into fixed buffers, so only numbers are requested.
    // SAFETY: the property list is open and outlives the calls; libhdf5 writes nothing through null pointers.
    Ok(sync(|| unsafe {
        let list = properties.id();
        let filter =
            |position| H5Pget_filter2(list, position, null_mut(), null_mut(), null_mut(), 0, null_mut(), null_mut());
        (0..H5Pget_nfilters(list).max(0)).map(|i| filter(i as u32)).collect()
    }))
}

fn filter_problem(filter: H5Z_filter_t) -> Option<String> {
    let kind = match filter {
        H5Z_FILTER_DEFLATE | H5Z_FILTER_SHUFFLE | H5Z_FILTER_FLETCHER32 => return None,
        plug_in if plug_in >= H5Z_FILTER_RESERVED => "plug-in filter",
        _ => "filter",
    };
    Some(format!("has the {kind} {filter}; expected none but shuffle, deflate and fletcher32"))
}
