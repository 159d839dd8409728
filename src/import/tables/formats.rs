//! The formats of columnar files, told apart by their first bytes. What is none of them is text.

use super::format::Format;
use super::{hdf5, parquet};

/// Every format.
pub(crate) const ALL: [Format; 2] = [parquet::FORMAT, hdf5::FORMAT];

/// Endings of the names of text files, and of compressed ones.
const TEXT: [&str; 7] = ["gz", "zst", "csv", "tsv", "txt", "tab", "dat"];

/// Whether a file whose name has this ending may be a table.
pub(crate) fn is_ending(ending: &str) -> bool {
    TEXT.contains(&ending) || ALL.iter().any(|format| format.endings.contains(&ending))
}

/// What a table may be, in words.
pub(crate) fn in_words() -> String {
    let names: Vec<&str> = ["CSV text"].into_iter().chain(ALL.iter().map(|format| format.name)).collect();
    let (last, others) = names.split_last().expect("text at least");
    format!("{} or {last}", others.join(", "))
}

/// The format of a file that begins with `head`; none for text.
pub(crate) fn of_file(head: &[u8]) -> Option<Format> {
    ALL.into_iter().find(|format| (format.is_of)(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_told_by_its_beginning_and_refuses_a_damaged_file() {
        let place = tempfile::tempdir().unwrap();
        for format in ALL {
            let told = ALL.iter().filter(|other| (other.is_of)(format.signature)).count();
            assert_eq!(told, 1, "{:?}", format.signature);
            assert!(of_file(format.signature).is_some_and(|it| it.signature == format.signature));
            let path = place.path().join("damaged");
            std::fs::write(&path, [format.signature, &[7; 100]].concat()).unwrap();
            let (found, remedy) = (format.open)(&path).err().expect("a damaged file is refused");
            assert!(!found.is_empty() && !remedy.is_empty());
        }
        assert!(["csv", "parquet", "mat"].into_iter().all(is_ending) && !is_ending("pdf"));
        assert_eq!(in_words(), "CSV text, Parquet or HDF5");
        assert!(of_file(b"id,time,level\n").is_none() && of_file(b"").is_none());
    }
}
