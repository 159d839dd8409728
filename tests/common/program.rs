//! Runs the program.
#![allow(dead_code, reason = "each test crate uses a part")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_paramill");

/// A directory with `pairs.toml`.
pub fn house(pipeline: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("pairs.toml"), pipeline).unwrap();
    root
}

/// The program with `arguments` in the directory `root`, without input.
pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.current_dir(root).args(arguments).stdin(Stdio::null());
    command
}

pub fn paramill(root: &Path, arguments: &[&str]) -> Output {
    command(root, arguments).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
