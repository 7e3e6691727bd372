//! [`fitted`]: the help of every command in lines that fit the terminal.
//!
//! In the source, examples stand in two columns and sentences are wrapped for whoever reads the source. A terminal may be
//! narrower, so that both are laid out again here, once.

use clap::{Command, CommandFactory};

use crate::{
    args::Cli,
    print::{terminal_columns, wrapped},
};

/// Columns where no terminal shows how wide it is, and at most.
const WIDEST: usize = 100;

/// Columns in front of a remark that does not fit beside its example.
const REMARK: &str = "      ";

/// The command line, with what stands below each help laid out for the terminal.
pub fn fitted() -> Command {
    fit(Cli::command(), terminal_columns().unwrap_or(WIDEST).min(WIDEST))
}

fn fit(command: Command, width: usize) -> Command {
    let after = command.get_after_help().map(|text| laid_out(&text.to_string(), width));
    let command = match after {
        Some(text) => command.after_help(text),
        None => command,
    };
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |below| fit(below, width)))
}

/// One line of the source's text, with what was wrapped there joined.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Sentences(String),
    Example(String, String),
}

fn laid_out(text: &str, width: usize) -> String {
    let lines = joined(text).into_iter().flat_map(|line| match line {
        Line::Sentences(text) => wrapped(&text, width),
        Line::Example(command, remark) => example(&command, &remark, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn joined(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for line in text.lines() {
        let is_remark = line.starts_with("          ");
        match lines.last_mut() {
            Some(Line::Example(_, remark)) if is_remark => {
                remark.push(' ');
                remark.push_str(line.trim());
            }
            Some(Line::Sentences(before)) if goes_on(before, line) => {
                before.push(' ');
                before.push_str(line);
            }
            _ if line.starts_with("  ") => lines.push(in_columns(line)),
            _ => lines.push(Line::Sentences(line.to_owned())),
        }
    }
    lines
}

fn goes_on(before: &str, line: &str) -> bool {
    !before.is_empty() && !before.ends_with(':') && !line.is_empty() && !line.starts_with(' ')
}

/// An example and its remark, which two spaces or more divide.
fn in_columns(line: &str) -> Line {
    let (command, remark) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
    Line::Example(command.to_owned(), remark.trim().to_owned())
}

/// The column in which remarks stand.
const COLUMN: usize = 47;

fn example(command: &str, remark: &str, width: usize) -> Vec<String> {
    let beside = format!("  {command:<COLUMN$}{}{remark}", if command.len() >= COLUMN { "  " } else { "" });
    if remark.is_empty() || beside.chars().count() <= width {
        return vec![beside.trim_end().to_owned()];
    }
    let below = wrapped(remark, width.saturating_sub(REMARK.len()));
    let below = below.into_iter().map(|line| format!("{REMARK}{line}"));
    std::iter::once(format!("  {command}")).chain(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Examples:
  skillhub list                                  the project's skills and the user's,
                                                 in two lines
  skillhub where

What is told twice
counts once.";

    #[test]
    fn wide_terminals_keep_two_columns() {
        let expected = "Examples:
  skillhub list                                  the project's skills and the user's, in two lines
  skillhub where

What is told twice counts once.";
        assert_eq!(laid_out(TEXT, 100), expected);
    }

    #[test]
    fn narrow_terminals_have_remarks_below() {
        let expected = "Examples:
  skillhub list
      the project's skills and the user's, in
      two lines
  skillhub where

What is told twice counts once.";
        assert_eq!(laid_out(TEXT, 47), expected);
    }

    #[test]
    fn every_help_fits_at_all_widths() {
        for width in [60, 80, 100] {
            let mut commands = vec![fit(Cli::command(), width)];
            while let Some(command) = commands.pop() {
                let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                let long = |line: &&str| line.chars().count() > width && line.trim().contains("  ");
                assert_eq!(text.lines().find(long), None, "{} at {width}", command.get_name());
                commands.extend(command.get_subcommands().cloned());
            }
        }
    }
}
