//! The `paramill` command.

fn main() {}
