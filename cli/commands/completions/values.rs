//! [`lines`]: the values that a shell offers for an argument.

use std::{collections::BTreeSet, path::Path};

use agent::decisions::{Channel, Operation};
use clap::Command;
use client::{LockFile, Spec};
use library::Library;
use skill::SkillName;

use super::command_line::CommandLine;
use crate::{
    context::Context,
    exit::{CliError, failed},
    global::Global,
};

/// Maximum number of values that are printed.
const VALUES: usize = 500;

/// Maximum length of a value in bytes.
const VALUE_BYTES: usize = 256;

/// Number of newest revisions that are offered.
const REVISIONS: usize = 30;

/// Kind of values that an argument takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Names of installed skills.
    Skills,
    /// Numbers of the newest revisions of the skill that is named before.
    Revisions,
    /// Names of installed skills; after `NAME@`, also the numbers of the newest revisions.
    SkillsAtRevisions,
    /// Ids of waiting proposals.
    Proposals,
    /// Ids of agents.
    Agents,
    /// Ids of agents whose configuration can name MCP servers.
    McpHosts,
    /// Names of configured sources.
    Sources,
    /// Names of configured registries.
    Registries,
    /// Full names of the forks of the skill that is named before, in the registries on this machine.
    Forks,
}

/// Kinds of arguments, by command and id. Other names of skills and proposals are in the table of operations.
const ARGUMENTS: [(&str, &str, Option<Kind>); 17] = [
    // They begin with a source, such as a registry's owner or a folder.
    ("install", "spec", None),
    ("info", "spec", Some(Kind::Skills)),
    ("prompt", "host", Some(Kind::Agents)),
    ("mcp install", "agent", Some(Kind::McpHosts)),
    ("mcp uninstall", "agent", Some(Kind::McpHosts)),
    ("source remove", "name", Some(Kind::Sources)),
    ("update", "from", Some(Kind::Forks)),
    ("rollback", "revision", Some(Kind::Revisions)),
    ("diff", "from", Some(Kind::Revisions)),
    ("diff", "to", Some(Kind::Revisions)),
    ("record", "revision", Some(Kind::Revisions)),
    ("evolve try", "revision", Some(Kind::Revisions)),
    ("eval compare", "base", Some(Kind::Revisions)),
    ("show", "spec", Some(Kind::SkillsAtRevisions)),
    ("blame", "spec", Some(Kind::SkillsAtRevisions)),
    ("eval run", "skill", Some(Kind::SkillsAtRevisions)),
    ("review keep", "skills", Some(Kind::SkillsAtRevisions)),
];

/// Returns the completions of the last word, one per line; an empty text if there are none, or after an error. `root`
/// is the whole command line. Nothing is written or fetched.
pub fn lines(global: &Global, words: &[String], root: Command) -> String {
    let line = CommandLine::read(root, words);
    let kind = line.argument.as_deref().and_then(|argument| kind_of(&line.command, argument));
    let found = kind.and_then(|kind| values(&context(global, &line)?, kind, &line).ok()).unwrap_or_default();
    let offered = found.iter().filter(|value| is_plain(value) && value.starts_with(&line.start));
    offered.take(VALUES).map(|value| format!("{value}\n")).collect()
}

fn kind_of(command: &str, argument: &str) -> Option<Kind> {
    if let Some((.., kind)) = ARGUMENTS.iter().find(|(of, id, _)| (*of, *id) == (command, argument)) {
        return *kind;
    }
    if argument == "registry" {
        return Some(Kind::Registries);
    }
    let operation = Operation::find(Channel::Cli, command)?;
    match argument {
        "agent" => Some(Kind::Agents),
        _ if operation.skills.contains(&argument) => Some(Kind::Skills),
        _ if operation.proposals.contains(&argument) => Some(Kind::Proposals),
        _ => None,
    }
}

/// Returns whether every shell takes a value as one word of plain text, whatever surrounds it.
fn is_plain(value: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "-_.@/".contains(c);
    value.len() <= VALUE_BYTES && value.starts_with(char::is_alphanumeric) && value.chars().all(is_part)
}

/// Opens the workspace that the options on the line select. Completion only reads, so it accepts no rewritten history.
fn context(global: &Global, line: &CommandLine) -> Option<Context> {
    let given = |id: &str| line.options.iter().rev().find(|(known, _)| known == id).map(|(_, value)| value);
    if let Some(directory) = given("directory") {
        std::env::set_current_dir(directory).ok()?;
    }
    let global = Global {
        library: given("library").map(Into::into),
        project: given("project").is_some(),
        global: given("global").is_some(),
        quiet: true,
        accept_rewrite: false,
        ..global.clone()
    };
    Context::new(&global).ok()
}

fn values(context: &Context, kind: Kind, line: &CommandLine) -> Result<Vec<String>, CliError> {
    Ok(match kind {
        Kind::Agents => library::agents().iter().map(|agent| agent.id.to_owned()).collect(),
        Kind::McpHosts => mcp::hosts::Host::all().iter().map(|host| host.id.to_owned()).collect(),
        Kind::Sources => context.config.sources.keys().cloned().collect(),
        Kind::Registries => context.config.registries.keys().cloned().chain([client::EMBEDDED.to_owned()]).collect(),
        Kind::Forks => forks(context, line.given.first().map_or("", String::as_str))?,
        Kind::Skills => skills(context)?,
        Kind::Proposals => {
            let is_seen = context.seen()?;
            let waiting = skill_manage::review::list(&libraries(context)?, false, None).map_err(failed)?;
            let waiting = waiting.iter().filter(|entry| entry.skill().is_some_and(|skill| is_seen(skill.as_str())));
            waiting.map(|entry| entry.id().to_string()).collect()
        }
        Kind::Revisions => revisions(context, line.given.first().map_or("", String::as_str))?,
        Kind::SkillsAtRevisions => match line.start.split_once('@') {
            Some((name, _)) => revisions(context, name)?.into_iter().map(|number| format!("{name}@{number}")).collect(),
            None => skills(context)?,
        },
    })
}

/// Returns the names of the folders that can be skills, except for group folders.
fn skills(context: &Context) -> Result<Vec<String>, CliError> {
    let is_seen = context.seen()?;
    let libraries = libraries(context)?;
    let groups: BTreeSet<&Path> = libraries.iter().flat_map(|library| library.path().ancestors()).collect();
    let mut names = BTreeSet::new();
    for library in &libraries {
        let mut folders = library.folders().map_err(failed)?;
        folders.retain(|name| SkillName::parse(name).is_ok() && is_seen(name));
        names.extend(folders.into_iter().filter(|name| !groups.contains(library.path().join(name).as_path())));
    }
    Ok(names.into_iter().collect())
}

/// Returns the full names of the forks of an installed skill. Empty for a skill that is unknown or hidden.
fn forks(context: &Context, skill: &str) -> Result<Vec<String>, CliError> {
    let is_seen = context.seen()?;
    let bare = skill.rsplit('/').next().unwrap_or(skill);
    let Some(spec) = skill.parse::<Spec>().ok().filter(|_| is_seen(bare)) else { return Ok(Vec::new()) };
    let lock = LockFile::read(&context.lock_path(&context.library_to_inspect()?)).unwrap_or_default();
    let info = client::info(&context.registries().offline(), &spec, &lock).map_err(failed)?;
    let mut names: Vec<String> = info.forks.iter().map(|fork| fork.name.to_string()).collect();
    names.dedup();
    Ok(names)
}

/// Returns the numbers of the newest revisions of a skill. Empty for a skill that is unknown or hidden.
fn revisions(context: &Context, skill: &str) -> Result<Vec<String>, CliError> {
    let is_seen = context.seen()?;
    let Some(name) = SkillName::parse(skill).ok().filter(|name| is_seen(name.as_str())) else { return Ok(Vec::new()) };
    let libraries = libraries(context)?;
    let known = libraries.iter().find(|library| library.head(&name).is_ok_and(|head| head.is_some()));
    let newest = known.into_iter().flat_map(|library| library.walk(&name).take(REVISIONS));
    Ok(newest.map_while(Result::ok).map(|revision| revision.number.to_string()).collect())
}

/// Opens the selected library, the user's behind a project's, and their groups, without changing anything.
fn libraries(context: &Context) -> Result<Vec<Library>, CliError> {
    let places = context.places(false);
    let open = |path: &Path, scope| Library::inspect(path, scope, &places.home, &places.storage).map_err(failed);
    let mut libraries = vec![context.library_to_inspect()?];
    for (path, scope) in places.libraries.iter().skip(1) {
        libraries.push(open(path, *scope)?);
    }
    let groups = libraries
        .iter()
        .flat_map(|library| agent::groups_in(library.path()).into_iter().map(|it| (it, library.scope())));
    let groups = groups.map(|(group, scope)| open(&group, scope)).collect::<Result<Vec<_>, _>>()?;
    libraries.extend(groups);
    Ok(libraries)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    /// Every row names an argument that exists, so that a renamed field does not lose its values.
    #[test]
    fn rows_name_existing_arguments() {
        let root = Cli::command();
        for (path, id, _) in ARGUMENTS {
            let command = path.split(' ').try_fold(&root, |at, word| at.find_subcommand(word)).unwrap();
            assert!(command.get_arguments().any(|arg| arg.get_id() == id), "{path} has no argument {id}");
        }
        assert_eq!(kind_of("uninstall", "name"), Some(Kind::Skills));
        assert_eq!(kind_of("show", "spec"), Some(Kind::SkillsAtRevisions));
        assert_eq!(kind_of("review show", "id"), Some(Kind::Proposals));
        assert_eq!(kind_of("read", "agent"), Some(Kind::Agents));
        assert_eq!((kind_of("install", "spec"), kind_of("info", "json"), kind_of("none", "agent")), (None, None, None));
    }

    #[test]
    fn special_characters_are_not_plain() {
        for value in ["pdf-forms", "a_b.c", "数据", "3", "pdf@3"] {
            assert!(is_plain(value), "{value}");
        }
        for value in
            ["", "-rf", "a b", "$(id)", "`id`", "a;b", "a\nb", "a'b", "a\"b", "a\\b", "~a", "*", "a\u{202e}b", "!1"]
        {
            assert!(!is_plain(value), "{value:?}");
        }
        assert!(!is_plain(&"a".repeat(VALUE_BYTES + 1)));
    }
}
