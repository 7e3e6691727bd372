//! [`CommandLine`]: an unfinished command line, and the argument at its end.

use clap::{Arg, Command};

/// A command line up to the cursor.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Names of the command and its subcommands, separated by spaces.
    pub command: String,
    /// Positional arguments before the last word.
    pub given: Vec<String>,
    /// Options before the last word, by the id of the argument, with their values. Empty for a flag.
    pub options: Vec<(String, String)>,
    /// Id of the argument that the last word gives. `None` for an option's name, a subcommand and an unknown argument.
    pub argument: Option<String>,
    /// Start of the argument's value, which is the last word or a part of it.
    pub start: String,
}

impl CommandLine {
    /// Reads the words after the program's name. The last word may be empty. bash splits `--name=value` and `name@value`
    /// into three words; other shells do not.
    pub fn read(mut root: Command, words: &[String]) -> Self {
        root.build();
        let words = joined_at(words);
        let (mut at, mut open, mut line) = (&root, None::<&Arg>, Self::default());
        let Some((last, before)) = words.split_last() else { return line };
        for word in before.iter().filter(|word| *word != "=") {
            match (open, option(at, word), at.find_subcommand(word)) {
                (Some(arg), None, _) => {
                    line.options.push((arg.get_id().to_string(), word.clone()));
                    open = open.filter(|arg| takes_many(arg));
                }
                (_, Some((arg, value)), _) => {
                    open = arg.filter(|arg| value.is_none() && arg.get_action().takes_values());
                    let closed = arg.filter(|_| open.is_none());
                    line.options.extend(closed.map(|arg| (arg.get_id().to_string(), value.unwrap_or_default())));
                }
                (None, None, Some(below)) if line.given.is_empty() => {
                    at = below;
                    line.command = format!("{} {}", line.command, at.get_name()).trim_start().to_owned();
                }
                (None, None, _) => line.given.push(word.clone()),
            }
        }
        let last = if last == "=" { "" } else { last.as_str() };
        let (arg, start) = match option(at, last) {
            Some((arg, value)) => (arg.filter(|_| value.is_some()), value.unwrap_or_default()),
            None => (open.or_else(|| positional(at, line.given.len())), last.to_owned()),
        };
        Self { argument: arg.map(|arg| arg.get_id().to_string()), start, ..line }
    }
}

/// Joins the words around a single `@`.
fn joined_at(words: &[String]) -> Vec<String> {
    let (mut joined, mut is_open): (Vec<String>, bool) = (Vec::new(), false);
    for word in words {
        match joined.last_mut() {
            Some(last) if is_open || word == "@" => last.push_str(word),
            _ => joined.push(word.clone()),
        }
        is_open = word == "@";
    }
    joined
}

/// Parses a word that begins with a hyphen: the option, `None` if it is unknown, and the value after `=`.
fn option<'a>(command: &'a Command, word: &str) -> Option<(Option<&'a Arg>, Option<String>)> {
    let name = word.strip_prefix('-').filter(|name| !name.is_empty())?;
    let Some(long) = name.strip_prefix('-') else {
        let short = name.chars().next_back();
        return Some((command.get_arguments().find(|arg| arg.get_short() == short), None));
    };
    let (long, value) = long.split_once('=').map_or((long, None), |(long, value)| (long, Some(value.to_owned())));
    Some((command.get_arguments().find(|arg| arg.get_long() == Some(long)), value))
}

/// Returns the positional argument after so many others.
fn positional(command: &Command, before: usize) -> Option<&Arg> {
    let all: Vec<&Arg> = command.get_positionals().filter(|arg| !arg.is_last_set()).collect();
    all.get(before).or_else(|| all.last().filter(|arg| takes_many(arg))).copied()
}

fn takes_many(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.max_values() > 1)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn read(line: &str) -> CommandLine {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        CommandLine::read(Cli::command(), &words)
    }

    #[test]
    fn argument_at_the_cursor_is_found() {
        for (line, command, argument, start) in [
            ("info pd", "info", Some("spec"), "pd"),
            ("-C dir rollback pdf ", "rollback", Some("revision"), ""),
            ("diff pdf 1 2", "diff", Some("to"), "2"),
            ("rm pdf other", "uninstall", Some("name"), "other"),
            ("review accept abc de", "review accept", Some("ids"), "de"),
            ("enable pdf --agent cl", "enable", Some("agent"), "cl"),
            ("enable pdf --agent=cl", "enable", Some("agent"), "cl"),
            ("enable pdf --agent = cl", "enable", Some("agent"), "cl"),
            ("enable pdf --agent =", "enable", Some("agent"), ""),
            ("install x --agent codex cl", "install", Some("agent"), "cl"),
            ("info --js", "info", None, ""),
            ("inf", "", None, "inf"),
            ("show pdf@3", "show", Some("spec"), "pdf@3"),
            ("show pdf @", "show", Some("spec"), "pdf@"),
            ("review keep pdf @ 3 docx @ 1", "review keep", Some("skills"), "docx@1"),
            ("no-such-command pdf ", "", None, ""),
            ("info pdf more ", "info", None, ""),
        ] {
            let read = read(line);
            let found = (read.command.as_str(), read.argument.as_deref(), read.start.as_str());
            assert_eq!(found, (command, argument, start), "{line}");
        }
        let line = read("--library dir -g rollback --json pdf ");
        assert_eq!(line.given, ["pdf"]);
        let options: Vec<_> = line.options.iter().map(|(id, value)| (id.as_str(), value.as_str())).collect();
        assert_eq!(options, [("library", "dir"), ("global", ""), ("json", "")]);
    }
}
