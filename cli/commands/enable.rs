//! `skillhub enable` and `skillhub disable` show skills to agents or hide them.

use agent::ListedSkill;
use clap::Args;
use client::{AgentFolder, VisibilityOutcome};
use library::{Library, LinkChanges, Stamp};
use serde_json::json;
use skill::SkillName;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{STRONG, WARN, shell_word},
};

/// Flags of `enable` and `disable`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub disable my-skill                      hide it from `prompt`, `read` and searches
  skillhub enable my-skill
  skillhub disable my-skill --agent claude-code  remove the link for this agent only
  skillhub enable my-skill --agent claude-code   link it for this agent")]
pub struct EnableArgs {
    /// Skill
    name: String,
    /// Link or hide it for these agents only, by id [default: all]
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    agent: Vec<String>,
    /// Also replace a folder of this name that git tracks with a link
    #[arg(long)]
    link: bool,
}

fn link_line(context: &Context, outcome: &VisibilityOutcome) -> String {
    match outcome {
        VisibilityOutcome::Hidden(path) => format!("removed the link {}", context.short(path)),
        VisibilityOutcome::Shown(path) => format!("linked {}", context.short(path)),
        VisibilityOutcome::Left(path, why) => {
            format!("{} remains, and agents still see it: {why}", context.short(path))
        }
    }
}

/// Enables or disables the skill, for all agents or for the named ones.
pub fn run(context: &Context, args: &EnableArgs, enabled: bool) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    if !args.agent.is_empty() {
        return run_for_agents(context, args, &name, enabled);
    }
    let (document, links) = context.set_enabled(&name, enabled)?;
    context.out.answer(&document, |out| {
        if enabled {
            writeln!(out, "{STRONG}{name}{STRONG:#} is visible to agents again")?;
        } else {
            writeln!(out, "{STRONG}{name}{STRONG:#} is hidden from agents; its folder stays")?;
        }
        links.iter().try_for_each(|link| writeln!(out, "  {}", link_line(context, link)))
    })
}

/// Links the skill for the named agents, or hides it from them.
fn run_for_agents(context: &Context, args: &EnableArgs, name: &SkillName, enabled: bool) -> Result<Exit, CliError> {
    let catalogue = context.catalogue(&context.places(true), Vec::new(), None)?;
    let listed = catalogue.find(name).map_err(failed)?;
    let library = catalogue.library_of(listed).filter(|_| listed.head.is_some()).ok_or_else(|| unmanaged(listed))?;
    let folders = context.agent_folders_of(library).chosen(&args.agent, library.path()).map_err(failed)?;
    if folders.is_empty() && !enabled {
        return Err(reads_itself(args, name, library));
    }
    let replaces_tracked = args.link || context.is_at_terminal();
    let changes = change_links(library, name, &folders, replaces_tracked, enabled, &context.stamp())?;
    let mut document = json!({
        "ok": changes.warnings.is_empty(), "name": name.as_str(), "agents": args.agent, "enabled": enabled,
        "library": library.path(), "links": changes.placed, "removed": changes.removed,
        "originals": changes.originals, "kept": changes.kept, "warnings": changes.warnings,
    });
    if let Some(first) = changes.warnings.first() {
        let hint = "remove the cause, then run the command again";
        document["error"] = json!({"code": "links_incomplete", "message": first, "hint": hint, "details": {}});
    }
    context.out.answer(&document, |out| {
        for path in &changes.placed {
            writeln!(out, "{STRONG}{name}{STRONG:#} is linked at {}", context.short(path))?;
        }
        for path in &changes.removed {
            writeln!(out, "removed the link {}", context.short(path))?;
        }
        for path in &changes.kept {
            writeln!(out, "{WARN}kept{WARN:#} {}, which skillhub did not create", context.short(path))?;
        }
        if changes.placed.is_empty() && changes.removed.is_empty() && changes.kept.is_empty() {
            writeln!(out, "{STRONG}{name}{STRONG:#} is unchanged for {}", args.agent.join(", "))?;
        }
        changes.warnings.iter().try_for_each(|warning| writeln!(out, "  {WARN}note{WARN:#}: {warning}"))
    })?;
    Ok(if changes.warnings.is_empty() { Exit::Done } else { Exit::Conflict })
}

fn change_links(
    library: &Library,
    name: &SkillName,
    folders: &[AgentFolder],
    replaces_tracked: bool,
    enabled: bool,
    stamp: &Stamp,
) -> Result<LinkChanges, CliError> {
    let changes = match enabled {
        true => client::show_in(library, name, folders, replaces_tracked, stamp),
        false => client::hide_from(library, name, folders, stamp),
    };
    Ok(changes?)
}

fn unmanaged(listed: &ListedSkill) -> CliError {
    let error =
        CliError::new("not_found", Exit::NotFound, format!("{} is not managed, so it has no links", listed.name));
    match &listed.path {
        Some(path) => {
            error.hint(format!("manage it first: skillhub adopt {}", shell_word(&path.display().to_string())))
        }
        None => error.hint(format!("hide it from all agents: skillhub disable {}", listed.name)),
    }
}

fn reads_itself(args: &EnableArgs, name: &SkillName, library: &Library) -> CliError {
    let (agents, path) = (args.agent.join(", "), library.path().display());
    let message = format!("{agents} reads {path} directly, so {name} cannot be hidden from it alone");
    CliError::new("policy_denied", Exit::Refused, message)
        .hint(format!("hide it from all agents: skillhub disable {name}"))
}
