//! Runs the program.
#![allow(dead_code, reason = "each test crate uses a part")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program with `arguments` in the directory `root`, without input.
pub fn paramill(root: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
    command.current_dir(root).args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
