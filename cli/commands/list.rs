//! `skillhub list` lists the skills of the library, and those that could be adopted.

mod cyclonedx;
mod document;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::Path,
};

use agent::{Catalogue, ListedSkill};
use clap::{Args, ValueEnum};
use client::{InstalledRelease, LockedWaiver, ReleaseState, Requirers, Unmanaged};
use library::Scope;
use ops::{AgentViews, Difference, MissingSkills};
use serde_json::{Value, json};
use skill::{SkillName, counted};

use document::{ListDocument, ListedDocument, UnmanagedDocument};

use crate::{
    catalogue::{exit_with, next_of_clone, problems},
    commands::review::inbox,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, Output, STRONG, Table, shell_word, visible},
    views::write_picture,
};

/// Maximum number of unmanaged skills that are listed. The remainder is counted.
const SHOWN: usize = 20;

/// Flags of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub list                                  skills of this project and of the user
  skillhub list --global --json
  skillhub list --builtin                        include the skills built into skillhub
  skillhub list --format cyclonedx > skills.cdx.json
                                                 a bill of materials, for audits
  skillhub list --agents                         agents that skills can be linked for")]
pub struct ListArgs {
    /// Include the skills built into skillhub
    #[arg(long)]
    builtin: bool,
    /// List the agents that skills can be linked for, with their ids for `install --agent`
    #[arg(long, conflicts_with = "builtin")]
    agents: bool,
    /// Format: text, json (as --json), or cyclonedx, a bill of materials in JSON
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "agents")]
    format: Option<Format>,
}

/// Formats of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// As with `--json`.
    Json,
    /// CycloneDX 1.6.
    Cyclonedx,
}

/// Lists the skills or, with `--agents`, the agents.
pub fn run(context: &Context, args: &ListArgs) -> Result<Exit, CliError> {
    if args.agents {
        return list_agents(context);
    }
    let builtin = if args.builtin { context.public_skills()? } else { Vec::new() };
    let catalogue = context.catalogue(&context.places(false), builtin, None)?;
    let out = Output {
        json: context.out.json || matches!(args.format, Some(Format::Json | Format::Cyclonedx)),
        ..context.out
    };
    let problems = problems(&catalogue, out);
    if args.format == Some(Format::Cyclonedx) {
        out.answer(&cyclonedx::document(context, &catalogue)?, |_| Ok(()))?;
    } else {
        list_skills(context, &catalogue, &problems, out)?;
    }
    Ok(exit_with(&problems))
}

/// Prints the skills, as text or JSON.
fn list_skills(context: &Context, catalogue: &Catalogue, problems: &[Value], out: Output) -> Result<Exit, CliError> {
    let agents = AgentViews::of(context, catalogue, None)?;
    let unmanaged = unmanaged(context, catalogue)?;
    let library = context.library()?;
    let requirers = client::requirers(&context.lock_path(&library)).map_err(failed)?;
    let states = release_states(context, catalogue);
    let accepted = accepted(catalogue)?;
    let of = |listed: &ListedSkill| {
        let is_here = listed.path.as_ref().is_some_and(|path| path.starts_with(library.path()));
        Known {
            accepted: accepted.get(&listed.name).map(Vec::as_slice).unwrap_or_default(),
            requirers: requirers.get(listed.name.as_str()).filter(|_| is_here),
            release: release_of(listed).and_then(|release| states.get(&release)),
        }
    };
    let of_branch = context.skills_of_branch(&library);
    let is_absent = |listed: &ListedSkill| {
        let elsewhere = of_branch.as_ref().is_some_and(|skills| !skills.contains(&listed.name));
        elsewhere && listed.missing && listed.path.as_ref().is_some_and(|path| path.starts_with(library.path()))
    };
    let (changed, news) = inbox::news(context, catalogue)?;
    let skills = || catalogue.skills.iter().zip(&agents.readers);
    let document = ListDocument {
        ok: problems.is_empty(),
        skills: skills()
            .map(|(listed, readers)| {
                let state = if is_absent(listed) { Some("absent") } else { listed.missing.then_some("missing") };
                ListedDocument::of(listed, readers, of(listed), state)
            })
            .collect(),
        unmanaged: unmanaged.iter().map(UnmanagedDocument::of).collect(),
        differences: agents.differences.iter().map(Difference::document).collect(),
        lacking: agents.lacking.iter().map(MissingSkills::document).collect(),
        changed_since_review: &changed,
        notes: &catalogue.notes,
        problems,
    };
    out.answer(&document, |out| {
        if catalogue.skills.is_empty() {
            writeln!(out, "No skills in {}", context.short(context.library_path()))?;
        } else {
            let mut table = Table::new(&["skill", "version", "scope", "agents", "state", "description"]);
            for (listed, readers) in skills() {
                let mut row = row(listed, readers, of(listed));
                if is_absent(listed) {
                    "absent".clone_into(&mut row[4]);
                }
                table.row(&row);
            }
            table.write(out)?;
        }
        write_notes(catalogue, &accepted, out)?;
        news.iter().try_for_each(|line| out.message(format_args!("{line}")))?;
        write_picture(&agents, out)?;
        match next_of_clone(context, &library).filter(|_| catalogue.skills.is_empty()) {
            _ if !unmanaged.is_empty() => write_unmanaged(context, &unmanaged, out),
            Some(next) => out.message(format_args!("Next: {next}")),
            None if catalogue.skills.is_empty() => {
                out.message(format_args!("Next: `skillhub search WORD` finds skills, `skillhub new NAME` starts one"))
            }
            None => Ok(()),
        }
    })
}

/// Returns the source of a skill's release, and the release.
fn release_of(listed: &ListedSkill) -> Option<InstalledRelease> {
    let origin = listed.head.as_ref()?.origin.as_ref()?;
    Some((origin.location().to_owned(), origin.release()))
}

/// Writes the accepted findings of the skills, and notes about skills that were left out.
fn write_notes(
    catalogue: &Catalogue,
    accepted: &BTreeMap<SkillName, Vec<LockedWaiver>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (name, waiver) in accepted.iter().flat_map(|(name, waivers)| waivers.iter().map(move |waiver| (name, waiver))) {
        writeln!(out, "{FAINT}{name}: {}{FAINT:#}", visible(&waiver.to_string()))?;
    }
    for note in catalogue.notes.iter().cloned().chain(catalogue.warnings()).chain(undecided(catalogue)) {
        writeln!(out, "{FAINT}{note}{FAINT:#}")?;
    }
    Ok(())
}

/// Returns the findings that people accepted in the current content of the skills.
fn accepted(catalogue: &Catalogue) -> Result<BTreeMap<SkillName, Vec<LockedWaiver>>, CliError> {
    let mut accepted = BTreeMap::new();
    for listed in catalogue.skills.iter().filter(|listed| listed.head.is_some()) {
        if let Some(library) = catalogue.library_of(listed) {
            let waivers = LockedWaiver::of(library, &listed.name)?;
            accepted.extend((!waivers.is_empty()).then(|| (listed.name.clone(), waivers)));
        }
    }
    Ok(accepted)
}

/// Returns sentences about skills with new findings under the current rules that no person has decided on.
fn undecided(catalogue: &Catalogue) -> impl Iterator<Item = String> {
    let line = |listed: &ListedSkill| {
        let name = &listed.name;
        format!("{name}: new findings under the current rules; a person decides: `skillhub status {name}`")
    };
    catalogue.skills.iter().filter(|listed| listed.undecided > 0).map(line)
}

/// Lists the first of the unmanaged skills, and the commands that adopt all.
fn write_unmanaged(context: &Context, unmanaged: &[Found], out: &mut dyn Write) -> io::Result<()> {
    let verb = if unmanaged.len() == 1 { "is" } else { "are" };
    writeln!(out, "\n{} in agents' folders {verb} not managed yet:", counted(unmanaged.len(), "skill"))?;
    for found in unmanaged.iter().take(SHOWN) {
        let fault = found.skill.fault.as_ref().map(|fault| format!(": {fault}")).unwrap_or_default();
        writeln!(out, "  {STRONG}{}{STRONG:#}  {}{fault}", found.skill.name, context.short(&found.skill.path))?;
    }
    if unmanaged.len() > SHOWN {
        writeln!(out, "  and {} more", unmanaged.len() - SHOWN)?;
    }
    let commands = adoptions(context, unmanaged);
    if !commands.is_empty() {
        writeln!(out, "Manage them:")?;
    }
    commands.iter().try_for_each(|command| writeln!(out, "  {command}"))
}

/// Returns the commands that adopt all unmanaged skills without a fault. The user's skills go into the user's library.
fn adoptions(context: &Context, unmanaged: &[Found]) -> Vec<String> {
    let has_faults = unmanaged.iter().any(|found| found.skill.fault.is_some());
    let paths = |of_user: bool| {
        let of = |found: &&Found| (found.scope == Scope::User) == of_user && found.skill.fault.is_none();
        let skills: Vec<&Path> = unmanaged.iter().filter(of).map(|found| found.skill.path.as_path()).collect();
        let mut paths: Vec<&Path> = match skills.as_slice() {
            some if has_faults || some.len() == 1 => some.to_vec(),
            many => many.iter().filter_map(|path| path.parent()).collect(),
        };
        paths.dedup();
        paths.iter().map(|path| shell_word(&path.display().to_string())).collect::<Vec<_>>().join(" ")
    };
    let global = if context.project().is_some() { " --global" } else { "" };
    let commands = [(paths(false), ""), (paths(true), global)];
    let given = commands.into_iter().filter(|(paths, _)| !paths.is_empty());
    given.map(|(paths, global)| format!("skillhub adopt {paths}{global}")).collect()
}

/// Lists every agent with its folder, those in use first.
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
    })
}

/// A skill in an agent's folder, and the scope of that folder.
struct Found {
    skill: Unmanaged,
    scope: Scope,
}

/// Finds skills in agents' folders that are not listed by name already. The result is empty if the library's folder was
/// set explicitly, because that is unrelated to agents' folders.
fn unmanaged(context: &Context, catalogue: &Catalogue) -> Result<Vec<Found>, CliError> {
    if context.library_is_named() {
        return Ok(Vec::new());
    }
    let library = context.library()?;
    let mut found: Vec<Found> = Vec::new();
    let of_project = if context.project().is_some() { Scope::Project } else { Scope::User };
    for (folders, scope) in [(context.agent_folders(), of_project), (context.user_agent_folders(), Scope::User)] {
        for skill in client::unmanaged(&library, &folders).map_err(failed)? {
            if !catalogue.has(&skill.name) && !found.iter().any(|known| known.skill.path == skill.path) {
                found.push(Found { skill, scope });
            }
        }
    }
    Ok(found)
}

/// Facts about a skill from outside its library.
#[derive(Clone, Copy)]
struct Known<'a> {
    accepted: &'a [LockedWaiver],
    requirers: Option<&'a Requirers>,
    release: Option<&'a ReleaseState>,
}

/// Returns the warnings of registries about installed releases, from locally available data.
fn release_states(context: &Context, catalogue: &Catalogue) -> BTreeMap<InstalledRelease, ReleaseState> {
    let origins = || catalogue.skills.iter().filter_map(|listed| listed.head.as_ref()?.origin.as_ref());
    let sources = origins().map(|origin| origin.location().to_owned()).collect();
    client::known_states(&context.registries().for_library(sources), origins())
}

fn row(listed: &ListedSkill, readers: &[&str], Known { requirers, release, .. }: Known<'_>) -> [String; 6] {
    let required = requirers.filter(|requirers| requirers.is_dependency && !requirers.by.is_empty());
    let required = required.map(|requirers| format!("for {}", requirers.by.join(", "))).unwrap_or_default();
    let state = match (listed.enabled, &listed.fault, listed.modified, &listed.head) {
        _ if listed.missing => "folder missing",
        _ if listed.damaged => "damaged",
        _ if release.is_some() => release.map_or("", ReleaseState::as_str),
        (_, Some(_), _, _) => "blocked",
        (false, None, _, _) => "disabled",
        _ if listed.held().is_some() => "edit held",
        _ if listed.undecided > 0 => "new findings",
        _ if listed.is_edited() => "edited",
        (true, None, true, _) => "changed",
        (true, None, false, None) if listed.path.is_some() => "no history yet",
        (true, None, false, _) => required.as_str(),
    };
    let states = [state, if listed.pinned { "pinned" } else { "" }];
    let state = states.into_iter().filter(|state| !state.is_empty()).collect::<Vec<_>>().join(", ");
    let title = listed.title.as_ref().map(|title| format!("{title} · ")).unwrap_or_default();
    let line = title.split_whitespace().chain(listed.description.split_whitespace()).collect::<Vec<_>>().join(" ");
    let version = listed.version.clone().unwrap_or_default();
    let agents = match readers {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first, others @ ..] => format!("{first} +{}", others.len()),
    };
    let (name, scope) = (listed.name.to_string(), listed.scope.as_str().to_owned());
    [name, visible(&version), scope, agents, state, visible(&line)]
}
