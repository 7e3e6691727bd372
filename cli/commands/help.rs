//! Help: the first screen by groups of commands, and the page of each command in lines that fit the terminal.
//!
//! In the source, examples have two columns and sentences are wrapped at the width of the source. A terminal may be
//! narrower, so both are laid out again here.

mod groups;
#[cfg(test)]
mod man_pages;

use clap::{Arg, ArgAction, Args, Command};

pub use self::groups::command_for;
use self::groups::{GROUPS, Group};
use crate::{
    exit::{CliError, Exit},
    print::{STRONG, terminal_columns, wrapped},
};

/// Columns of a page that is not printed to a terminal, and the most for one that is.
const WIDEST: usize = 100;

/// Indentation of a remark that does not fit beside its example.
const REMARK: &str = "      ";

/// Columns of a command's name in a list of commands.
const NAME: usize = 12;

/// Order of the parts of a command's page: examples come before options.
const TEMPLATE: &str = "{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}";

/// Arguments of `help`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub help install                          examples and options of a command
  skillhub help --all                            all commands
  skillhub help options                          options that all commands take")]
pub struct HelpArgs {
    /// Command (with its subcommand, if any), or `options`
    #[arg(value_name = "COMMAND", conflicts_with = "all")]
    topic: Vec<String>,
    /// List all commands
    #[arg(long)]
    all: bool,
}

/// Prints the first screen, the list of all commands, the options of all commands, or the page of one command. `root` is
/// the whole command line.
///
/// # Errors
/// The command does not exist.
pub fn run(args: &HelpArgs, root: Command) -> Result<Exit, CliError> {
    let text = match args.topic.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] if args.all => all_commands(&fitted(root), width()),
        [] => first_screen(&fitted(root), width()),
        ["options"] => options(root),
        topic => page(fitted(root), topic)?,
    };
    anstream::print!("{}\n", text.trim_end());
    Ok(Exit::Done)
}

fn page(root: Command, topic: &[&str]) -> Result<String, CliError> {
    let mut command = root;
    command.build();
    for (at, name) in topic.iter().enumerate() {
        let missing = || unknown(&topic.get(..=at).unwrap_or(topic).join(" "), command_for(name).filter(|_| at == 0));
        command = command.find_subcommand(name).cloned().ok_or_else(missing)?;
    }
    Ok(command.render_help().ansi().to_string())
}

/// The error for a command that does not exist; `meant` is the one that does what its name means.
pub fn unknown(name: &str, meant: Option<&str>) -> CliError {
    let hint = meant.map_or_else(|| "skillhub help --all".to_owned(), |meant| format!("skillhub help {meant}"));
    CliError::usage(format!("there is no command `{name}`")).hint(hint)
}

/// The command line with every page laid out for the terminal.
pub fn fitted(root: Command) -> Command {
    let first = first_screen(&root, width());
    let subcommands: Vec<String> = root.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let root = subcommands.iter().fold(root, |root, name| root.mut_subcommand(name, |command| fit(command, width())));
    without_global_options(root).override_help(first)
}

fn width() -> usize {
    terminal_columns().unwrap_or(WIDEST).min(WIDEST)
}

/// The page of a command and those of its subcommands: examples first, one line an option.
fn fit(command: Command, width: usize) -> Command {
    let aliases: Vec<String> = command.get_all_aliases().map(|alias| format!("`{alias}`")).collect();
    let aliases = if aliases.is_empty() { String::new() } else { format!("\n\nAlso called {}.", aliases.join(", ")) };
    let examples = command.get_after_help().map(|text| laid_out(&(text.to_string() + &aliases), width));
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help("Show this page");
    let command = command.help_template(TEMPLATE).disable_help_flag(true).arg(help);
    let command = match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    };
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |below| fit(below, width)))
}

/// The options of all commands have a page of their own.
fn without_global_options(root: Command) -> Command {
    let global = |arg: &&Arg| arg.is_global_set();
    let ids: Vec<_> = root.get_arguments().filter(global).map(|arg| arg.get_id().clone()).collect();
    ids.into_iter().fold(root, |root, id| root.mut_arg(id, |arg| arg.hide(true)))
}

fn first_screen(root: &Command, width: usize) -> String {
    let title = "skillhub: publish, find, install and safely evolve Agent Skills";
    let usage = format!("{} skillhub [OPTIONS] <COMMAND>", strong("Usage:"));
    let groups = GROUPS.iter().map(|group| listed(root, group, group.first, width)).collect::<Vec<_>>().join("\n");
    let more = [
        ("skillhub help install", "examples and options of a command"),
        ("skillhub help --all", "all commands"),
        ("skillhub help options", "options that all commands take"),
    ];
    let more: String = more.iter().map(|(command, purpose)| format!("{command:<24}{purpose}\n")).collect();
    format!("{title}\n\n{usage}\n\n{groups}\n{more}")
}

fn all_commands(root: &Command, width: usize) -> String {
    let group = |group: &Group| listed(root, group, &[group.first, group.more].concat(), width);
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

/// A heading and the commands below it, each with its purpose.
fn listed(root: &Command, group: &Group, names: &[&str], width: usize) -> String {
    let about = |name: &str| {
        let about = root.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let rows = names.iter().flat_map(|name| {
        let purpose = wrapped(&about(name), width.saturating_sub(NAME + 3)).into_iter();
        let first = std::iter::once(*name).chain(std::iter::repeat(""));
        first
            .zip(purpose)
            .map(|(name, line)| format!("  {} {line}\n", strong(&format!("{name:<NAME$}"))))
            .collect::<Vec<_>>()
    });
    format!("{}\n{}", strong(&format!("{}:", group.title)), rows.collect::<String>())
}

fn strong(text: &str) -> String {
    format!("{STRONG}{text}{STRONG:#}")
}

/// The page of the options that every command takes.
fn options(root: Command) -> String {
    let root = root.disable_help_flag(true).disable_version_flag(true).help_template("{options}");
    format!("Options of all commands:\n{}", root.next_line_help(false).render_help().ansi())
}

/// A paragraph or example of the source text, with wrapped lines joined.
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

/// Splits an example from its remark at two or more spaces.
fn in_columns(line: &str) -> Line {
    let (command, remark) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
    Line::Example(command.to_owned(), remark.trim().to_owned())
}

/// Column at which remarks begin.
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
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

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

    #[test]
    fn groups_hold_each_command_once() {
        let root = Cli::command();
        let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
        let mut visible: Vec<&str> = visible.map(Command::get_name).collect();
        let mut grouped = GROUPS.iter().flat_map(|group| [group.first, group.more].concat()).collect::<Vec<_>>();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
        assert_eq!(GROUPS.iter().map(|group| group.first.len()).sum::<usize>(), 28);
    }

    #[test]
    fn first_screen_fits_a_small_terminal() {
        let text = anstream::adapter::strip_str(&first_screen(&Cli::command(), 80)).to_string();
        assert!(text.lines().count() <= 48, "{} lines", text.lines().count());
        assert_eq!(text.lines().find(|line| line.chars().count() > 80), None);
    }

    #[test]
    fn pages_have_at_most_sixty_lines() {
        let mut commands = vec![fitted(Cli::command())];
        while let Some(mut command) = commands.pop() {
            let lines = command.render_help().to_string().lines().count();
            assert!(lines <= 60, "{}: {lines} lines", command.get_name());
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
