//! `skillhub commit` records hand edits as revisions.

use clap::Args;
use library::{ChangeDetection, FolderStatus, Library};
use serde_json::json;
use skill::SkillName;
use skill_manage::{CommitEdit, Notes, Report, Status};

use crate::{
    commands::manage::print,
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, GOOD, STRONG, WARN, visible},
};

/// Flags of `commit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub commit my-skill --reason \"shorter steps\"
  skillhub commit --reason \"after the review\"    all edited skills
  skillhub commit my-skill --reason x --dry-run  show what would be recorded

Agents see a hand edit at once, and the next change of the skill records it too. The policy applies to an
agent's commit: it may become a proposal.")]
pub struct CommitArgs {
    /// Skill [default: all edited skills]
    name: Option<String>,
    /// Reason, for the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Show what would be recorded, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Records the edits of the named skill or of all skills.
pub fn run(context: &Context, args: &CommitArgs) -> Result<Exit, CliError> {
    match &args.name {
        Some(name) => {
            let skill = context.skill_called(name)?;
            let mut library = context.library_with(&skill)?;
            print(context.out, &record(context, &mut library, skill, args)?)
        }
        None => all(context, args),
    }
}

fn record(context: &Context, library: &mut Library, skill: SkillName, args: &CommitArgs) -> Result<Report, CliError> {
    let limits = library.limits().clone();
    let notes = Notes { reason: Some(args.reason.clone()), ..Notes::default() }.checked(&limits);
    let notes = notes.map_err(skill_manage::ManageError::from)?;
    let edit = CommitEdit { skill, notes, dry_run: args.dry_run };
    Ok(context.change(library, |library, acting| skill_manage::commit(library, &edit, acting))?)
}

/// Records every edit of the library. A refused edit does not stop the others. The exit code is that of the first
/// refusal.
fn all(context: &Context, args: &CommitArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let glances = library.summaries(ChangeDetection::Contents)?;
    let is_edited = |standing: &FolderStatus| {
        matches!(standing, FolderStatus::Modified | FolderStatus::Earlier | FolderStatus::Blocked(_))
    };
    let edited = glances.into_iter().filter(|glance| glance.head.is_some() && is_edited(&glance.standing));
    let (mut reports, mut refused) = (Vec::new(), Vec::new());
    for glance in edited {
        match record(context, &mut library, glance.name.clone(), args) {
            Ok(report) => reports.push(report),
            Err(error) => refused.push((glance.name, error)),
        }
    }
    let errors: Vec<_> = refused
        .iter()
        .map(|(name, error)| json!({"name": name.as_str(), "code": error.code, "message": error.message, "hint": error.hint}))
        .collect();
    let document = json!({"ok": refused.is_empty(), "skills": reports, "refused": errors});
    context.out.answer(&document, |out| {
        if reports.is_empty() && refused.is_empty() {
            writeln!(out, "No skill has a hand edit")?;
        }
        for report in &reports {
            let number = report.number.map(|number| format!(" revision {number}")).unwrap_or_default();
            let status = match report.status {
                Status::Applied => "recorded",
                Status::Proposed => "proposed, for a person to decide",
                Status::Unchanged => "unchanged",
                Status::DryRun => "would be recorded",
            };
            writeln!(
                out,
                "{GOOD}{status}{GOOD:#} {STRONG}{}{STRONG:#}{FAINT}{number}{FAINT:#}",
                visible(&report.name)
            )?;
        }
        for (name, error) in &refused {
            writeln!(out, "{WARN}refused{WARN:#} {STRONG}{name}{STRONG:#}: {}", visible(&error.message))?;
        }
        Ok(())
    })?;
    Ok(refused.into_iter().next().map_or(Exit::Done, |(_, error)| error.exit))
}
