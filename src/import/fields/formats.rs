//! The formats of files of arrays, told apart by their first bytes.

use std::io::Read;
use std::path::Path;

use super::array_file::ArrayFile;
use super::format::ArrayFormat;
use super::{hdf5, npy, npz};
use crate::problems::{Kind, Problem};
use crate::regular;

/// Every format.
pub(crate) const ALL: [ArrayFormat; 3] = [hdf5::FORMAT, npy::FORMAT, npz::FORMAT];

/// Bytes from which a format is told: a user block may precede an HDF5 file.
const HEAD: u64 = 4096;

/// The format of a file, by its first bytes; `None` if it is of none, or cannot be read.
pub(crate) fn of_file(path: &Path) -> Option<ArrayFormat> {
    let mut head = Vec::new();
    regular::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    ALL.into_iter().find(|format| (format.is_of)(&head))
}

/// Whether a file whose name has this ending may hold arrays.
pub(crate) fn is_ending(ending: &str) -> bool {
    ALL.iter().any(|format| format.endings.contains(&ending))
}

/// Opens a file of any format.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn open(path: &Path) -> Result<Box<dyn ArrayFile>, Problem> {
    let remedy = "check that it is the right file, and that it was copied whole";
    let expected = "an HDF5, netCDF-4, .npy or .npz file";
    if !path.exists() {
        return Err(Problem::new(Kind::MissingFile, "no such file", expected, "correct the name").file(path));
    }
    if let Some(special) = regular::special(path) {
        return Err(Problem::new(Kind::UnreadableFile, special, expected, "name a regular file").file(path));
    }
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
        return Err(Problem::new(Kind::EmptyFile, "an empty file", expected, remedy).file(path));
    }
    let Some(format) = of_file(path) else {
        let found = "a file that begins as no file of arrays does";
        return Err(Problem::new(Kind::UnsupportedFile, found, expected, remedy).file(path));
    };
    (format.open)(path)
        .map_err(|(found, remedy)| Problem::new(Kind::UnreadableFile, found, "a whole file", remedy).file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_told_by_its_beginning_and_refuses_a_damaged_file() {
        let place = tempfile::tempdir().unwrap();
        for format in ALL {
            assert_eq!(ALL.iter().filter(|other| (other.is_of)(format.signature)).count(), 1, "{:?}", format.endings);
            let path = place.path().join("damaged");
            std::fs::write(&path, [format.signature, &[7; 100]].concat()).unwrap();
            let problem = open(&path).err().expect("a damaged file is refused");
            assert_eq!((problem.kind, problem.expected.as_str()), (Kind::UnreadableFile, "a whole file"));
        }
        assert!(["h5", "npy", "npz"].into_iter().all(is_ending) && !is_ending("csv"));
    }
}
