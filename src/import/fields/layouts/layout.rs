//! What a layout of files is.

use crate::import::fields::array_file::ArrayFile;
use crate::schema::Boundary;

/// The path of the array with the coordinates of an axis in space, and what lies beyond its ends, as far as a file says them.
pub(crate) type OfAxis = (Option<String>, Option<Boundary>);

/// A layout of files of arrays, which says what the settings need not.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// What messages call it.
    pub name: &'static str,
    /// Whether a file is laid out so.
    pub is_of: fn(&mut dyn ArrayFile) -> bool,
    /// The axes of an array, as `import.fields.axes` names them; `None` for an array that is no field.
    pub axes: fn(&mut dyn ArrayFile, usize) -> Option<Vec<String>>,
    /// The path of the array of times.
    pub time: fn(&mut dyn ArrayFile) -> Option<String>,
    /// What the file says of the axis in space of that name.
    pub axis: fn(&mut dyn ArrayFile, &str) -> OfAxis,
    /// Whether there is one time more than samples, at the end of the last.
    pub has_a_last_time: bool,
    /// What it has no place for, in words.
    pub lacks: &'static str,
}

/// The names of several things as texts.
pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// What the attribute `boundary` of coordinates in a file of ours says.
pub(crate) fn own_boundary(file: &dyn ArrayFile, coordinates: &str) -> Option<Boundary> {
    let said = file.attribute(coordinates, "boundary")?.first()?.text();
    let all = [Boundary::Periodic, Boundary::Zero, Boundary::Replicate];
    all.into_iter().find(|boundary| boundary.name() == said)
}
