//! A log file that begins anew at a size, and keeps a number of older ones: `FILE`, then `FILE.1` and so on, the oldest last.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A log file.
pub(crate) struct Rotation {
    path: PathBuf,
    file: File,
    /// Bytes at which another one begins.
    most: u64,
    /// Files that are kept, this one with them.
    count: u32,
}

impl Rotation {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened for writing, or its folder cannot be made.
    pub(crate) fn open(path: &Path, most: u64, count: u32) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(Rotation { path: path.to_owned(), file: append(path)?, most, count })
    }

    /// Writes a line and its end in one call, so that lines of two processes do not mix.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        // Another process may have begun a new file, or an administrator moved this one away.
        let place = |it: &fs::Metadata| (it.dev(), it.ino());
        let mut opened = self.file.metadata()?;
        if fs::metadata(&self.path).ok().map(|it| place(&it)) != Some(place(&opened)) {
            self.file = append(&self.path)?;
            opened = self.file.metadata()?;
        }
        if opened.len() > 0 && opened.len() + line.len() as u64 > self.most {
            self.begin_anew()?;
        }
        self.file.write_all(line.as_bytes())
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        let older = |age: u32| match age {
            0 => self.path.clone(),
            age => {
                let mut name = self.path.clone().into_os_string();
                name.push(format!(".{age}"));
                PathBuf::from(name)
            }
        };
        for age in (0..self.count.saturating_sub(1)).rev() {
            match fs::rename(older(age), older(age + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.count == 1 {
            fs::remove_file(&self.path)?;
        }
        self.file = append(&self.path)?;
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn files_are_of_a_size_and_so_many_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("logs/night.log");
        let mut log = Rotation::open(&path, 8, 3).unwrap();
        for line in ["one", "two", "three", "four", "a line that is longer than a file", "six", "7"] {
            log.write(line).unwrap();
        }
        let older = |age: u32| read(&path.with_file_name(format!("night.log.{age}")));
        assert_eq!((read(&path).as_str(), older(1).as_str()), ("six\n7\n", "a line that is longer than a file\n"));
        assert_eq!((older(2).as_str(), older(3).as_str()), ("four\n", ""));
        // A later run goes on behind it.
        Rotation::open(&path, 8, 3).unwrap().write("8").unwrap();
        assert_eq!(read(&path), "six\n7\n8\n");
    }

    #[test]
    fn a_single_file_begins_anew_and_one_that_was_moved_away_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("night.log");
        let mut log = Rotation::open(&path, 6, 1).unwrap();
        log.write("one").unwrap();
        log.write("two").unwrap();
        assert_eq!(read(&path), "two\n");
        fs::rename(&path, root.path().join("away")).unwrap();
        log.write("new").unwrap();
        assert_eq!((read(&path).as_str(), read(&root.path().join("away")).as_str()), ("new\n", "two\n"));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }
}
