//! `skillhub adopt`: manage skill folders as they are.

use std::path::PathBuf;

use clap::Args;
use client::{AdoptRequest, AdoptStatus, Adopted};
use library::Library;
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::{CliError, Exit, error_of_one, exit_of_one, failed},
    print::{BAD, FAINT, GOOD, STRONG, WARN, finding_lines, problem_line},
};

/// Flags of `adopt`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub adopt ~/.claude/skills                every skill in a folder
  skillhub adopt ~/.claude/skills/my-skill --global
  skillhub adopt .agents/skills/my-skill         give a folder of the library a history

A folder elsewhere is copied into the library. Agents in use get links, also in place of the original in an
agent's folder: that is moved aside and kept for 90 days; `skillhub undo` brings it back. Skills of your own
agents' folders go to your library, others to the project's.")]
pub struct AdoptArgs {
    /// Skill folders, or folders of skills
    #[arg(required = true)]
    path: Vec<PathBuf>,
    /// Replace originals that git tracks with links
    #[arg(long)]
    link: bool,
    /// Show what would be adopted and linked
    #[arg(long)]
    dry_run: bool,
}

/// Adopts; the exit code is the gravest of all.
pub fn run(context: &Context, args: &AdoptArgs) -> Result<Exit, CliError> {
    let paths: Vec<PathBuf> = args.path.iter().map(|path| context.absolute(path)).collect();
    let (of_user, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| context.belongs_to_user(path));
    let mut adopted = Vec::new();
    for (is_users, paths) in [(false, others), (true, of_user)] {
        if !paths.is_empty() {
            let mut library = if is_users { context.user_library()? } else { context.library()? };
            adopted.extend(adopt(context, &mut library, &paths, args)?);
        }
    }
    if let [Adopted { error: Some(_), .. }] = adopted.as_slice()
        && let Some(error) = adopted.pop().and_then(|only| only.error)
    {
        return Err(failed(error));
    }
    let exit = adopted.iter().map(|skill| exit_of_one(skill.error.as_ref())).max().unwrap_or(Exit::Done);
    let document = json!({"ok": exit == Exit::Done, "skills": adopted.iter().map(document).collect::<Vec<_>>()});
    context.out.answer(&document, |out| {
        for skill in &adopted {
            let (style, word) = match skill.status {
                AdoptStatus::Adopted => (GOOD, "Adopted"),
                AdoptStatus::Unchanged => (GOOD, "Unchanged"),
                AdoptStatus::DryRun => (WARN, "Would adopt"),
                AdoptStatus::Failed => (BAD, "Not adopted"),
            };
            writeln!(out, "{style}{word}{style:#} {STRONG}{}{STRONG:#}", skill.source.display())?;
            if let Some(path) = &skill.path {
                let copied = if skill.copied { " (a copy; the original stays)" } else { "" };
                writeln!(out, "  {}{FAINT}{copied}{FAINT:#}", path.display())?;
            }
            for link in &skill.links {
                let replaced = if skill.originals.contains(link) { ", in place of the original" } else { "" };
                writeln!(out, "  linked {}{FAINT}{replaced}{FAINT:#}", link.display())?;
            }
            for warning in &skill.warnings {
                writeln!(out, "  {WARN}note{WARN:#}: {warning}")?;
            }
            for line in skill.report.iter().flat_map(|report| &report.findings).flat_map(finding_lines) {
                writeln!(out, "  {line}")?;
            }
            for problem in &skill.problems {
                writeln!(out, "  {}", problem_line(problem))?;
            }
            if let Some(pending) = &skill.checkout_pending {
                writeln!(out, "  {WARN}note{WARN:#}: the folder does not show it yet: {pending}")?;
            }
            if let Some(error) = &skill.error {
                writeln!(out, "  {error}")?;
            }
        }
        Ok(())
    })?;
    Ok(exit)
}

/// Adopts folders into one library.
fn adopt(
    context: &Context,
    library: &mut Library,
    paths: &[PathBuf],
    args: &AdoptArgs,
) -> Result<Vec<Adopted>, CliError> {
    let folders = context.agent_folders_of(library);
    let in_use = folders.chosen(&[], library.path()).map_err(failed)?;
    let known = [folders, context.user_agent_folders()];
    let request = AdoptRequest {
        paths,
        in_use: &in_use,
        known: &known,
        replaces_tracked: args.link || context.is_at_terminal(),
        dry_run: args.dry_run,
    };
    let (stamp, permit) = (context.stamp(), context.permit()?);
    client::adopt(library, &request, (&stamp, &permit)).map_err(failed)
}

fn document(skill: &Adopted) -> Value {
    json!({
        "source": skill.source,
        "name": skill.name.as_ref().map(ToString::to_string),
        "path": skill.path,
        "status": skill.status.as_str(),
        "revision": skill.revision,
        "digest": skill.digest.map(|digest| digest.to_string()),
        "agents": skill.agents,
        "copied": skill.copied,
        "links": skill.links,
        "originals": skill.originals,
        "warnings": skill.warnings,
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
        "findings": skill.report.as_ref().map(|report| &report.findings),
        "problems": skill.problems,
        "error": skill.error.as_ref().map(error_of_one),
    })
}
