//! `skillhub adopt`: take over skill folders as they are.

use std::path::PathBuf;

use clap::Args;
use client::{AdoptStatus, Adopted};
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

Folders elsewhere are copied into the library and stay as they are.")]
pub struct AdoptArgs {
    /// Skill folders, or folders of skills
    #[arg(required = true)]
    path: Vec<PathBuf>,
    /// Do everything but take over
    #[arg(long)]
    dry_run: bool,
}

/// Adopts; the exit code is the gravest of all.
pub fn run(context: &Context, args: &AdoptArgs) -> Result<Exit, CliError> {
    let paths: Vec<PathBuf> = args.path.iter().map(|path| context.absolute(path)).collect();
    let mut library = context.library()?;
    let folders = context.user_agent_folders();
    let (stamp, permit) = (context.stamp(), context.permit()?);
    let mut adopted = client::adopt(&mut library, &paths, &folders, args.dry_run, (&stamp, &permit)).map_err(failed)?;
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
            for line in skill.report.iter().flat_map(|report| &report.findings).flat_map(finding_lines) {
                writeln!(out, "  {line}")?;
            }
            for problem in &skill.problems {
                writeln!(out, "  {}", problem_line(problem))?;
            }
            if let Some(pending) = &skill.checkout_pending {
                out.message(format_args!("  {WARN}note{WARN:#}: the folder does not show it yet: {pending}"))?;
            }
            if let Some(error) = &skill.error {
                writeln!(out, "  {error}")?;
            }
        }
        Ok(())
    })?;
    Ok(exit)
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
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
        "findings": skill.report.as_ref().map(|report| &report.findings),
        "problems": skill.problems,
        "error": skill.error.as_ref().map(error_of_one),
    })
}

/// How `setup` adopts.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether folders that git tracks are replaced with links.
    pub replaces_tracked: bool,
    /// Whether a person accepts what blocks the skills.
    pub accepts_all: bool,
}

/// What adopting these folders would do.
///
/// # Errors
/// The library cannot be read.
pub fn foresee(context: &Context, paths: &[PathBuf]) -> Result<Vec<Adopted>, CliError> {
    let mut library = context.library_to_inspect()?;
    let by = (&context.stamp(), &context.permit()? as &library::Permit<'_>);
    client::adopt(&mut library, paths, &context.agent_folders(), true, by).map_err(failed)
}

/// Adopts folders for `setup`.
///
/// # Errors
/// The commit failed; nothing was adopted.
pub fn carry_out(context: &Context, paths: &[PathBuf], _options: Options) -> Result<Vec<Adopted>, CliError> {
    let mut library = context.library()?;
    let by = (&context.stamp(), &context.permit()? as &library::Permit<'_>);
    client::adopt(&mut library, paths, &context.agent_folders(), false, by).map_err(failed)
}

/// Whether the scanner blocks a skill by findings that a person may accept.
pub fn can_be_accepted(_skill: &Adopted) -> bool {
    false
}

/// Notes about a skill, one sentence each.
pub fn warnings(skill: &Adopted) -> Vec<String> {
    let pending = skill.checkout_pending.iter();
    pending.map(|why| format!("the folder of {} does not show it yet: {why}", skill.source.display())).collect()
}
