//! Reads the values of a variable for a block of trajectories (rows) and samples.

use std::ops::Range;

use arrow_array::builder::StringViewBuilder;
use arrow_buffer::Buffer;
use hdf5_metno::datatype::Datatype;
use hdf5_metno::sync::sync;
use hdf5_metno::types::{CompoundField, CompoundType, FixedAscii, FixedUnicode, TypeDescriptor};
use hdf5_metno::{Dataset, Dataspace, H5Type, Hyperslab, SliceOrIndex};
use hdf5_metno_sys::h5d::H5Dread;
use hdf5_metno_sys::h5p::H5P_DEFAULT;
use ndarray::IxDyn;

use super::attributes::{Coding, LONGEST_TEXT};
use crate::dataset::Texts;
use crate::import::tables::batch::{Column, EXACT, Failure};

/// What an axis of a variable runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Trajectories.
    Rows,
    Samples,
    /// Something else: only this position is read.
    At(usize),
}

/// The source of a column's values.
pub(crate) enum Values {
    Numbers(Dataset, Vec<Axis>, Coding),
    /// Integers of 64 bits, signed or not.
    Integers(Dataset, Vec<Axis>, Coding, bool),
    /// Texts of fixed length, Unicode or not.
    FixedTexts(Dataset, Vec<Axis>, bool),
    Texts(Texts, Vec<Axis>),
    /// A member of compound values.
    Member(Dataset, Vec<Axis>, Member),
    /// The index of the trajectory.
    Index,
    /// A constant.
    Same(String),
}

/// A member of the compound values of a variable.
pub(crate) struct Member {
    pub name: String,
    /// Numbers, texts of fixed length, or an array of them.
    pub kind: TypeDescriptor,
    /// Index in the array.
    pub at: usize,
}

impl Values {
    /// Whether there is one value per trajectory.
    pub(super) fn is_of_rows(&self) -> bool {
        match self {
            Values::Numbers(_, axes, _)
            | Values::Integers(_, axes, ..)
            | Values::FixedTexts(_, axes, _)
            | Values::Texts(_, axes)
            | Values::Member(_, axes, _) => axes.contains(&Axis::Rows) && !axes.contains(&Axis::Samples),
            Values::Index | Values::Same(_) => false,
        }
    }

    /// The values of a block, row after row.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub(super) fn read(&mut self, rows: &Range<usize>, samples: &Range<usize>) -> Result<Column, Failure> {
        let all = rows.len() * samples.len();
        Ok(match self {
            Values::Index => {
                Column::Numbers(rows.clone().flat_map(|row| samples.clone().map(move |_| row as f64)).collect())
            }
            Values::Same(text) => Column::Texts(std::iter::repeat_n(Some(&text), all).collect()),
            Values::Numbers(variable, axes, coding) => coding.column(read(variable, axes, rows, samples)?)?,
            Values::Integers(variable, axes, coding, _) if !coding.is_identity() => {
                coding.column(read(variable, axes, rows, samples)?)?
            }
            Values::Integers(variable, axes, coding, true) => {
                let values = read::<i64>(variable, axes, rows, samples)?;
                let values = values.iter().map(|&value| Some(value).filter(|&value| !coding.is_missing(value as f64)));
                Column::integers(values, |value| value.unsigned_abs() <= EXACT, |value| value as f64)
            }
            Values::Integers(variable, axes, coding, false) => {
                let values = read::<u64>(variable, axes, rows, samples)?;
                let values = values.iter().map(|&value| Some(value).filter(|&value| !coding.is_missing(value as f64)));
                Column::integers(values, |value| value <= EXACT, |value| value as f64)
            }
            Values::FixedTexts(variable, axes, false) => {
                let texts = read::<FixedAscii<LONGEST_TEXT>>(variable, axes, rows, samples)?;
                fixed_texts(texts.iter().map(FixedAscii::as_bytes))?
            }
            Values::FixedTexts(variable, axes, true) => {
                let texts = read::<FixedUnicode<LONGEST_TEXT>>(variable, axes, rows, samples)?;
                fixed_texts(texts.iter().map(FixedUnicode::as_bytes))?
            }
            Values::Texts(texts, axes) => {
                let range = axes.first().map_or(0..1, |axis| axis.range(rows, samples));
                let read = texts.read(range)?;
                let mut column = StringViewBuilder::new();
                let texts = read.texts.iter().map(|text| {
                    let length = u32::try_from(text.len()).map_err(|error| error.to_string())?;
                    Ok((column.append_block(Buffer::from(text.as_bytes())), length))
                });
                let texts = texts.collect::<Result<Vec<_>, Failure>>()?;
                for place in spread(read.places, axes, rows.len(), samples.len()) {
                    match place.map(|place| texts[place]) {
                        Some((block, length)) => column.try_append_view(block, 0, length).map_err(|e| e.to_string())?,
                        None => column.append_null(),
                    }
                }
                Column::Texts(column.finish())
            }
            Values::Member(variable, axes, member) => member.read(variable, axes, rows, samples)?,
        })
    }
}

impl Axis {
    fn range(self, rows: &Range<usize>, samples: &Range<usize>) -> Range<usize> {
        match self {
            Axis::Rows => rows.clone(),
            Axis::Samples => samples.clone(),
            Axis::At(at) => at..at + 1,
        }
    }
}

impl Member {
    fn read(
        &self,
        variable: &Dataset,
        axes: &[Axis],
        rows: &Range<usize>,
        samples: &Range<usize>,
    ) -> Result<Column, Failure> {
        let (kind, length) = match &self.kind {
            TypeDescriptor::FixedArray(kind, count) => (kind.as_ref(), *count),
            kind => (kind, 1),
        };
        let bytes = self.bytes(variable, axes, rows, samples).map_err(|error| error.to_string())?;
        let parts = bytes.chunks_exact(kind.size().max(1)).skip(self.at).step_by(length.max(1));
        let words = parts.clone().map(|part| part.first_chunk().copied().unwrap_or_default());
        Ok(match kind {
            TypeDescriptor::Integer(_) => {
                let values = words.map(|word| Some(i64::from_ne_bytes(word)));
                Column::integers(values, |value| value.unsigned_abs() <= EXACT, |value| value as f64)
            }
            TypeDescriptor::Unsigned(_) => {
                let values = words.map(|word| Some(u64::from_ne_bytes(word)));
                Column::integers(values, |value| value <= EXACT, |value| value as f64)
            }
            TypeDescriptor::Float(_) => Column::Numbers(words.map(f64::from_ne_bytes).collect()),
            _ => fixed_texts(parts.map(|part| part.split(|&byte| byte == 0).next().unwrap_or_default()))?,
        })
    }

    /// The bytes of the member, value after value.
    fn bytes(
        &self,
        variable: &Dataset,
        axes: &[Axis],
        rows: &Range<usize>,
        samples: &Range<usize>,
    ) -> hdf5_metno::Result<Vec<u8>> {
        let field = CompoundField::new(&self.name, self.kind.clone(), 0, 0);
        let size = self.kind.size();
        let kind = Datatype::from_descriptor(&TypeDescriptor::Compound(CompoundType { fields: vec![field], size }))?;
        let selected = variable.space()?.select(Hyperslab::from(slices(axes, rows, samples)))?;
        let count = selected.selection_size();
        let memory = Dataspace::try_new([count])?;
        let mut bytes = vec![0; count * kind.size().max(size)];
        // SAFETY: the variable, type and dataspaces are open and outlive the call, and the buffer holds as many values of the type as are
        // selected. The type has numbers and texts of fixed length only, so libhdf5 allocates nothing.
        let status = sync(|| unsafe {
            let (of_memory, of_file) = (memory.id(), selected.id());
            H5Dread(variable.id(), kind.id(), of_memory, of_file, H5P_DEFAULT, bytes.as_mut_ptr().cast())
        });
        if status < 0 { Err("values that cannot be read".into()) } else { Ok(bytes) }
    }
}

/// The values of a block, row after row.
fn read<T: H5Type + Clone>(
    variable: &Dataset,
    axes: &[Axis],
    rows: &Range<usize>,
    samples: &Range<usize>,
) -> Result<Vec<T>, Failure> {
    let values = match axes {
        [] => variable.read_dyn::<T>(),
        axes => variable.read_slice::<T, _, IxDyn>(Hyperslab::from(slices(axes, rows, samples))),
    };
    let values = values.map_err(|error| error.to_string())?.into_raw_vec_and_offset().0;
    Ok(spread(values, axes, rows.len(), samples.len()))
}

/// The selection of a block in a variable.
fn slices(axes: &[Axis], rows: &Range<usize>, samples: &Range<usize>) -> Vec<SliceOrIndex> {
    axes.iter().map(|axis| SliceOrIndex::from(axis.range(rows, samples))).collect()
}

fn fixed_texts<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Result<Column, Failure> {
    let text =
        |bytes| std::str::from_utf8(bytes).map(Some).map_err(|error| format!("a text that is not UTF-8: {error}"));
    Ok(Column::Texts(texts.map(text).collect::<Result<_, _>>()?))
}

/// Broadcasts values along `axes` to every row and sample.
fn spread<T: Clone>(values: Vec<T>, axes: &[Axis], rows: usize, samples: usize) -> Vec<T> {
    let all = rows * samples;
    match (axes.contains(&Axis::Rows), axes.contains(&Axis::Samples)) {
        // Stored row after row, or sample after sample.
        (true, true) if axes.first() != Some(&Axis::Samples) => values,
        (true, true) => (0..rows).flat_map(|row| values.iter().skip(row).step_by(rows).cloned()).collect(),
        (false, true) => values.iter().cycle().take(all.min(rows * values.len())).cloned().collect(),
        (true, false) => values.into_iter().flat_map(|value| std::iter::repeat_n(value, samples)).collect(),
        (false, false) => values.into_iter().take(1).flat_map(|value| std::iter::repeat_n(value, all)).collect(),
    }
}
