//! The page of the commands, from what clap knows of them.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::markdown::{WRITTEN_BY, block, code, table};
use crate::cli::arguments::Arguments;

pub(crate) fn page() -> String {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let mut text = format!("{WRITTEN_BY}# Command line\n\n");
    command(&program, &mut text);
    format!("{}\n", text.trim_end())
}

/// A command, and those below it.
fn command(it: &Command, text: &mut String) {
    let name = it.get_bin_name().unwrap_or_else(|| it.get_name());
    let is_program = name == it.get_name();
    if !is_program {
        text.push_str(&format!("## {name}\n\n"));
    }
    if let Some(about) = it.get_about() {
        text.push_str(&format!("{}.\n\n", about.to_string().trim_end_matches('.')));
    }
    let usage = it.clone().render_usage().to_string();
    text.push_str(&block("text", usage.trim_start_matches("Usage: ")));
    let said_of_all = |arg: &&Arg| arg.is_global_set() && !is_program;
    let shown = it.get_arguments().filter(|arg| !arg.is_hide_set() && !said_of_all(arg) && !is_help(arg));
    text.push_str(&table(&["argument", "meaning"], &shown.map(argument).collect::<Vec<_>>()));
    if let Some(after) = it.get_after_help() {
        after.to_string().split("\n\n").for_each(|paragraph| text.push_str(&prose(paragraph)));
    }
    it.get_subcommands().for_each(|below| command(below, text));
}

fn is_help(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version)
}

fn argument(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().map_or_else(String::new, |short| format!("`-{short}`, "));
    let mut meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if arg.get_action().takes_values() {
        let names: Vec<String> = arg
            .get_possible_values()
            .iter()
            .map(|value| match value.get_help() {
                Some(help) => format!("`{}` ({help})", value.get_name()),
                None => code(value.get_name()),
            })
            .collect();
        if !names.is_empty() {
            meaning.push_str(&format!(": {}", names.join(", ")));
        }
        let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() {
            meaning.push_str(&format!(" [default: {}]", defaults.join(", ")));
        }
        if matches!(arg.get_action(), ArgAction::Append) && !arg.is_positional() {
            meaning.push_str("; may be repeated");
        }
    }
    vec![format!("{short}`{arg}`"), meaning]
}

/// A paragraph of help: examples become a block of shell, columns stay columns.
fn prose(paragraph: &str) -> String {
    let is_aligned = |text: &str| text.lines().any(|line| line.trim().contains("  "));
    match paragraph.split_once('\n') {
        Some((title, rest)) if title.ends_with(':') && rest.starts_with("  ") => {
            let lines: Vec<_> = rest.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
            let language = if is_aligned(rest) { "text" } else { "sh" };
            format!("{title}\n\n{}", block(language, &lines.join("\n")))
        }
        _ if is_aligned(paragraph) => block("text", paragraph),
        _ => format!("{}\n\n", paragraph.replace('*', "\\*")),
    }
}
