//! `skillhub source` adds, lists and removes the sources that a search covers.

use std::path::Path;

use clap::{Args, Subcommand};
use client::{DetectedSource, ListedSource, PUBLIC_SOURCES, SourceConfig, SourceKind};
use serde_json::{Value, json};
use skill::counted;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG, Table, visible},
};

/// Longest name that is derived from a location.
const LONGEST_NAME: usize = 40;

/// The sources of skills.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub source add github:acme/skills          a git repository, or a marketplace of plugins
  skillhub source add https://docs.example.org    a site with a well-known index, or a registry
  skillhub source add \"node_modules/*/skills\"     folders of the packages of each project
  skillhub source add clawhub                     ClawHub
  skillhub source list
  skillhub source remove docs-example-org

`skillhub search` covers all sources and prints how to install each result. Sources are stored in config.toml.")]
pub enum SourceCommand {
    /// Read a source once, and add it to the configuration
    Add(AddArgs),
    /// List the sources
    List(ListArgs),
    /// Remove a source or registry from the configuration; installed skills stay
    Remove(RemoveArgs),
}

/// A source to add.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub source add github:acme/skills
  skillhub source add https://docs.example.org --name docs
  skillhub source add https://skills.example.org --kind clawhub
  skillhub source add ~/skills")]
pub struct AddArgs {
    /// Folder, pattern of folders, git address, site, registry, or clawhub
    location: String,
    /// Name of the source [default: from its location]
    #[arg(long)]
    name: Option<String>,
    /// Kind of the source: registry, git, marketplace, well-known, clawhub or folder [default: detected]
    #[arg(long)]
    kind: Option<SourceKind>,
}

/// Lists the sources.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub source list
  skillhub source list --json")]
pub struct ListArgs {}

/// A source to remove.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub source remove docs")]
pub struct RemoveArgs {
    /// Name of the source, as `source list` shows it
    name: String,
}

/// Adds, lists or removes sources.
pub fn run(context: &Context, command: &SourceCommand) -> Result<Exit, CliError> {
    match command {
        SourceCommand::Add(args) => add(context, args),
        SourceCommand::List(_) => list(context),
        SourceCommand::Remove(args) => remove(context, args),
    }
}

fn add(context: &Context, args: &AddArgs) -> Result<Exit, CliError> {
    let registries = context.registries();
    let sources = context.sources(&registries);
    let listed = sources.list();
    let name = args.name.clone().unwrap_or_else(|| {
        let path = context.absolute(Path::new(&args.location));
        let is_other = |source: &ListedSource| context.absolute(Path::new(&source.location)) != path;
        let is_free = |name: &String| !listed.iter().any(|source| source.name == *name && is_other(source));
        folder_name(&path).filter(is_free).unwrap_or_else(|| name_of(&args.location))
    });
    check_name(&name, &listed)?;
    let found = {
        let _working = context.out.working("reading");
        sources.detect(&args.location, args.kind).map_err(failed)?
    };
    let DetectedSource { kind, location, skills, warnings } = found;
    let source = SourceConfig { kind, location: location.clone(), owners: Vec::new(), require_signatures: false };
    client::add_source(&context.home, &name, &source).map_err(failed)?;
    let document = json!({
        "ok": true, "name": name, "kind": kind.as_str(), "location": location, "skills": skills, "warnings": warnings,
    });
    warnings.iter().for_each(|warning| context.out.note(warning));
    context.out.answer(&document, |out| {
        let skills = skills.map(|number| format!(" with {}", counted(number, "skill"))).unwrap_or_default();
        writeln!(out, "Added {STRONG}{name}{STRONG:#}: {kind} {}{skills}", visible(&location))?;
        writeln!(out, "  {}", context.short(&context.home.config()))
    })
}

fn list(context: &Context) -> Result<Exit, CliError> {
    let registries = context.registries();
    let listed = context.sources(&registries).list();
    let public = context.config.search.public;
    let all: Vec<Value> = listed
        .iter()
        .map(|ListedSource { name, kind, location }| json!({"name": name, "kind": kind.as_str(), "location": location}))
        .collect();
    context.out.answer(&json!({"ok": true, "sources": all, "public": public}), |out| {
        if listed.is_empty() {
            writeln!(out, "No sources; add one: skillhub source add clawhub")?;
        } else {
            let mut table = Table::new(&["name", "kind", "location"]);
            for ListedSource { name, kind, location } in &listed {
                table.row(&[visible(name).to_string(), kind.to_string(), visible(location).to_string()]);
            }
            table.write(out)?;
        }
        let names = PUBLIC_SOURCES.map(|source| source.location).join(", ");
        let state = match public {
            Some(true) => "searched",
            Some(false) => "not searched",
            None => "not searched before a person agrees in a terminal",
        };
        writeln!(out, "{FAINT}Public sources are {state}: {names}{FAINT:#}")
    })
}

fn remove(context: &Context, args: &RemoveArgs) -> Result<Exit, CliError> {
    if !client::remove_source(&context.home, &args.name).map_err(failed)? {
        let message = format!("no source is named {:?}", args.name);
        return Err(CliError::new("not_found", Exit::NotFound, message).hint("see the names: skillhub source list"));
    }
    let name = &args.name;
    context.out.answer(&json!({"ok": true, "name": name}), |out| {
        writeln!(out, "Removed {STRONG}{}{STRONG:#}; installed skills stay", visible(name))
    })
}

fn check_name(name: &str, listed: &[ListedSource]) -> Result<(), CliError> {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_valid) || name == client::EMBEDDED {
        let message = format!("{name:?} cannot be the name of a source");
        return Err(CliError::usage(message).hint("use lower-case letters, digits and hyphens, as in --name docs"));
    }
    match listed.iter().find(|source| source.name == name) {
        None => Ok(()),
        Some(ListedSource { location, .. }) => {
            let message = format!("the source {name} already exists, at {location}");
            let hint = format!("choose another name with --name, or first run: skillhub source remove {name}");
            Err(CliError::new("exists", Exit::Conflict, message).hint(hint))
        }
    }
}

/// Derives a name from the last part of a folder's path. `None` if the folder is missing or that part is no valid name.
fn folder_name(path: &Path) -> Option<String> {
    let name = path.file_name().filter(|_| path.is_dir()).map(|last| name_of(&last.to_string_lossy()))?;
    (!name.is_empty() && name != client::EMBEDDED).then_some(name)
}

/// Derives a name from a location: its words without the scheme, joined by hyphens.
fn name_of(location: &str) -> String {
    let text = location.split_once("://").map_or(location, |(_, rest)| rest);
    let text =
        ["github:", "gitlab:", "~/", "./"].iter().fold(text, |text, start| text.strip_prefix(start).unwrap_or(text));
    let text = text.split("/.well-known").next().unwrap_or(text).trim_end_matches(".git").to_ascii_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words {
        if !name.is_empty() && name.len() + word.len() > LONGEST_NAME {
            break;
        }
        name.push_str(if name.is_empty() { "" } else { "-" });
        name.push_str(word);
    }
    name.chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_locations() {
        for (location, name) in [
            ("github:Acme/skills", "acme-skills"),
            ("https://docs.example.org/.well-known/skills/index.json", "docs-example-org"),
            ("git@host:team/skills.git", "git-host-team-skills"),
            ("node_modules/*/skills", "node-modules-skills"),
            ("clawhub:", "clawhub"),
            ("~/skills", "skills"),
            ("技能", ""),
        ] {
            assert_eq!(name_of(location), name, "{location}");
        }
    }
}
