//! `skillhub list`: the skills of the library, and what could be taken over.

use std::collections::BTreeMap;

use agent::{Catalogue, Listed};
use clap::Args;
use client::{InstalledRelease, ReleaseState, Requirers, Unmanaged};
use serde_json::{Value, json};

use crate::{
    catalogue::{builtin, exit_with, problems},
    context::Context,
    exit::{CliError, Exit, failed},
    hints,
    print::{FAINT, STRONG, Table, shell_word, visible},
};

/// Flags of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub list                                  the project's skills and the user's
  skillhub list --global --json
  skillhub list --builtin                        those inside skillhub as well
  skillhub list --agents                         the agents that skills can be placed for")]
pub struct ListArgs {
    /// List the built-in skills as well
    #[arg(long)]
    builtin: bool,
    /// List the agents that skills can be placed for, by the ids that `install --agent` takes
    #[arg(long, conflicts_with = "builtin")]
    agents: bool,
}

/// Lists them.
pub fn run(context: &Context, args: &ListArgs) -> Result<Exit, CliError> {
    if args.agents {
        return list_agents(context);
    }
    let builtin = if args.builtin { builtin()? } else { Vec::new() };
    let catalogue = Catalogue::collect(&context.places(false), builtin).map_err(failed)?;
    let unmanaged = unmanaged(context, &catalogue)?;
    let library = context.library()?;
    let requirers = client::requirers(&context.lock_path(&library)).map_err(failed)?;
    let states = release_states(context, &catalogue);
    let release_of = |listed: &Listed| {
        let origin = listed.head.as_ref()?.origin.as_ref()?;
        Some((origin.source.clone(), origin.release()))
    };
    let of = |listed: &Listed| {
        let is_here = listed.path.as_ref().is_some_and(|path| path.starts_with(library.path()));
        Known {
            requirers: requirers.get(listed.name.as_str()).filter(|_| is_here),
            release: release_of(listed).and_then(|release| states.get(&release)),
        }
    };
    let problems = problems(&catalogue, context.out);
    let document = json!({
        "ok": problems.is_empty(),
        "skills": catalogue.skills.iter().map(|listed| document(listed, of(listed))).collect::<Vec<_>>(),
        "unmanaged": unmanaged.iter().map(unmanaged_document).collect::<Vec<_>>(),
        "notes": catalogue.notes,
        "problems": problems,
    });
    context.out.answer(&document, |out| {
        if catalogue.skills.is_empty() {
            writeln!(out, "There are no skills in {}", context.library_path().display())?;
        } else {
            let mut table = Table::new(&["skill", "version", "scope", "state", "description"]);
            catalogue.skills.iter().for_each(|listed| table.row(&row(listed, of(listed))));
            table.write(out)?;
        }
        for note in &catalogue.notes {
            writeln!(out, "{FAINT}{note}{FAINT:#}")?;
        }
        if let Some(first) = unmanaged.first() {
            let count = match unmanaged.len() {
                1 => "1 skill in agents' folders has".to_owned(),
                count => format!("{count} skills in agents' folders have"),
            };
            writeln!(out, "\n{count} no history here yet:")?;
            for skill in unmanaged.iter().take(20) {
                writeln!(out, "  {STRONG}{}{STRONG:#}  {}", skill.name, skill.path.display())?;
            }
            let path = shell_word(&first.path.display().to_string());
            writeln!(out, "Take them over with: {}", hints::for_user(&format!("skillhub adopt {path}")))?;
        } else if catalogue.skills.is_empty() {
            writeln!(out, "Find some: skillhub search WORD; start one: skillhub new NAME")?;
        }
        Ok(())
    })?;
    Ok(exit_with(&problems))
}

/// Every agent with its folder here, those in use first.
fn list_agents(context: &Context) -> Result<Exit, CliError> {
    let folders = context.agent_folders();
    let mut agents: Vec<(bool, &str, String)> = folders
        .all()
        .iter()
        .flat_map(|folder| folder.ids.iter().map(|id| (!folder.in_use, *id, folder.path.display().to_string())))
        .collect();
    agents.sort();
    let list: Vec<Value> =
        agents.iter().map(|(idle, id, path)| json!({"id": id, "path": path, "in_use": !idle})).collect();
    context.out.answer(&json!({"ok": true, "agents": list}), |out| {
        let mut table = Table::new(&["agent", "in use", "folder"]);
        for (idle, id, path) in &agents {
            table.row(&[(*id).to_owned(), if *idle { "" } else { "yes" }.to_owned(), path.clone()]);
        }
        table.write(out)
    })?;
    Ok(Exit::Done)
}

/// Skills in the folders of agents that are not listed by name already; none where a folder was named,
/// which has nothing to do with them.
fn unmanaged(context: &Context, catalogue: &Catalogue) -> Result<Vec<Unmanaged>, CliError> {
    if context.library_is_named() {
        return Ok(Vec::new());
    }
    let library = context.library()?;
    let mut found = Vec::new();
    for folders in [context.agent_folders(), context.user_agent_folders()] {
        for skill in client::unmanaged(&library, &folders).map_err(failed)? {
            if !catalogue.has(&skill.name) && !found.iter().any(|known: &Unmanaged| known.path == skill.path) {
                found.push(skill);
            }
        }
    }
    Ok(found)
}

/// What is known of a skill beside its library.
#[derive(Clone, Copy)]
struct Known<'a> {
    requirers: Option<&'a Requirers>,
    release: Option<&'a ReleaseState>,
}

/// What registries say against the releases that skills were installed from, as this machine last saw it.
fn release_states(context: &Context, catalogue: &Catalogue) -> BTreeMap<InstalledRelease, ReleaseState> {
    let origins = || catalogue.skills.iter().filter_map(|listed| listed.head.as_ref()?.origin.as_ref());
    let sources = origins().map(|origin| origin.source.clone()).collect();
    client::known_states(&context.registries().for_library(sources), origins())
}

fn document(listed: &Listed, Known { requirers, release }: Known<'_>) -> Value {
    json!({
        "name": listed.name.as_str(),
        "path": listed.path,
        "scope": listed.scope,
        "origin": listed.head.as_ref().and_then(|head| head.origin.as_ref()),
        "version": listed.version,
        "revision": listed.head.as_ref().map(|head| &head.id),
        "number": listed.head.as_ref().map(|head| head.number),
        "enabled": listed.enabled,
        "modified": listed.modified,
        "managed": listed.head.is_some() || listed.damaged,
        "description": listed.description,
        "fault": listed.fault,
        "release_state": release.map(ReleaseState::as_str),
        "release_reason": release.map(ReleaseState::reason),
        "dependency": requirers.is_some_and(|requirers| requirers.is_dependency),
        "required_by": requirers.map(|requirers| requirers.by.clone()).unwrap_or_default(),
    })
}

fn unmanaged_document(skill: &Unmanaged) -> Value {
    json!({"name": skill.name, "path": skill.path, "agents": skill.agents, "description": skill.description})
}

fn row(listed: &Listed, Known { requirers, release }: Known<'_>) -> [String; 5] {
    let required = requirers.filter(|requirers| requirers.is_dependency && !requirers.by.is_empty());
    let required = required.map(|requirers| format!("for {}", requirers.by.join(", "))).unwrap_or_default();
    let state = match (listed.enabled, &listed.fault, listed.modified, &listed.head) {
        _ if listed.missing => "folder missing",
        _ if listed.damaged => "damaged",
        _ if release.is_some() => release.map_or("", ReleaseState::as_str),
        (_, Some(_), _, _) => "blocked",
        (false, None, _, _) => "disabled",
        (true, None, true, _) => "changed here",
        (true, None, false, None) if listed.path.is_some() => "no history yet",
        (true, None, false, _) => required.as_str(),
    };
    let line = listed.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let version = listed.version.clone().unwrap_or_default();
    [listed.name.to_string(), visible(&version), listed.scope.as_str().to_owned(), state.to_owned(), visible(&line)]
}
