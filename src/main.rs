//! The `paramill` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    paramill::cli::main()
}
