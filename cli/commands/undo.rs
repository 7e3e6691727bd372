//! `skillhub undo`: the last operation taken back.

use std::io;

use clap::Args;
use client::{UndoStatus, Undone, UndoneSkill};
use serde_json::{Value, json};

use crate::{
    args::Global,
    commands::setup,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, GOOD, Page, STRONG, WARN, coloured_diff, stored_time, visible},
    sight::FolderSight,
};

/// Flags of `undo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub undo                                  the last install, update, uninstall, adopt, edit, rollback
                                                 or disable; files, links and lock file
  skillhub undo --dry-run                        what that would change
  skillhub undo                                  once more takes the undo back

Nothing goes out of the history: `skillhub history NAME` shows both.")]
pub struct UndoArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Takes it back.
pub fn run(context: &Context, global: &Global, args: &UndoArgs) -> Result<Exit, CliError> {
    if !args.dry_run && setup::is_last_operation(context)? {
        return setup::run_undo(context, global);
    }
    let sight = FolderSight::new(context)?;
    let mut library = context.library()?;
    let lock_path = context.lock_path(&library);
    let by = (&context.stamp(), &context.permit()? as &library::Permit<'_>);
    let undone = client::undo(&mut library, &lock_path, by, args.dry_run).map_err(failed)?;
    if !args.dry_run {
        let state = library.state()?;
        for skill in &undone.skills {
            sight.apply(&library, &skill.name, &state.of(&skill.name));
        }
    }
    let document = json!({
        "ok": true,
        "status": if args.dry_run { "dry_run" } else { "undone" },
        "undone": {"action": undone.action, "time": stored_time(&undone.time), "actor": undone.actor},
        "skills": undone.skills.iter().map(document).collect::<Vec<_>>(),
    });
    context.out.answer(&document, |out| text(&undone, args.dry_run, out))?;
    Ok(Exit::Done)
}

fn document(skill: &UndoneSkill) -> Value {
    json!({
        "name": skill.name.as_str(), "status": skill.status.as_str(), "revision": skill.revision,
        "previous": skill.previous, "files": skill.change.files, "diff": skill.change.text, "links": skill.placed,
        "removed": skill.removed, "restored": skill.restored, "warnings": skill.warnings,
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
    })
}

fn text(undone: &Undone, dry_run: bool, out: &mut Page) -> io::Result<()> {
    let word = if dry_run { "Would take back" } else { "Took back" };
    let (time, actor) = (stored_time(&undone.time), visible(&undone.actor));
    writeln!(out, "{GOOD}{word}{GOOD:#} the {STRONG}{}{STRONG:#} of {time} {FAINT}by {actor}{FAINT:#}", undone.action)?;
    for skill in &undone.skills {
        let became = match skill.status {
            UndoStatus::Restored => "is as it was before",
            UndoStatus::Removed => "was new, and is gone again",
            UndoStatus::Enabled => "is shown to agents again",
            UndoStatus::Disabled => "is hidden from agents again",
        };
        writeln!(out, "  {STRONG}{}{STRONG:#} {became}", skill.name)?;
        if dry_run {
            write!(out, "{}", coloured_diff(&skill.change.text))?;
        }
        for path in &skill.placed {
            writeln!(out, "  {} {FAINT}(for its agent){FAINT:#}", path.display())?;
        }
        for path in &skill.removed {
            writeln!(out, "  removed {}", path.display())?;
        }
        for path in &skill.restored {
            writeln!(out, "  brought back {}", path.display())?;
        }
        for warning in skill.warnings.iter().chain(&skill.checkout_pending) {
            out.message(format_args!("  {WARN}note{WARN:#}: {}", visible(warning)))?;
        }
    }
    if dry_run { Ok(()) } else { out.message(format_args!("Once more takes this back: skillhub undo")) }
}
