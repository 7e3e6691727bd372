//! `skillhub undo` reverses the last operation, or all operations after a given one.

use std::io;

use agent::{AgentError, Visibility};
use clap::Args;
use client::{Operation, UndoStatus, Undone, UndoneSkill};
use library::Library;
use ops::FolderVisibility;
use serde_json::{Value, json};
use skill::counted;

use crate::{
    commands::setup,
    context::Context,
    exit::{CliError, Exit, failed},
    global::Global,
    print::{FAINT, GOOD, Page, STRONG, Table, WARN, coloured_diff, stored_past_time, stored_time, visible},
};

/// Widths, in columns, of the skills and the actor in the list of operations.
const SKILLS_COLUMNS: usize = 20;
const ACTOR_COLUMNS: usize = 14;

/// Flags of `undo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub undo                                  undo the last operation: files, links, lock file
  skillhub undo --dry-run                        show what that would change
  skillhub undo --list                           list what can be undone, with ids
  skillhub undo --to 3fa9c1d2                    undo everything after this operation
  skillhub undo --to start                       undo everything

Operations are installs, updates, imports, adoptions, edits, rollbacks, uninstalls, and enabling or disabling
a skill. An undo is an operation too: run `skillhub undo` again to redo. The history keeps both: see
`skillhub history NAME`.")]
pub struct UndoArgs {
    /// Show what would be undone, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// List the operations that can be undone, newest first
    #[arg(long, conflicts_with_all = ["dry_run", "to"])]
    list: bool,
    /// Undo everything after this operation, by its id in the list; `start` undoes all operations
    #[arg(long, value_name = "ID")]
    to: Option<String>,
}

/// Reverses the operations and prints the changes.
pub fn run(context: &Context, global: &Global, args: &UndoArgs) -> Result<Exit, CliError> {
    if args.list {
        return list(context);
    }
    if args.to.is_none() && !args.dry_run && setup::is_last_operation(context)? {
        return setup::run_undo(context, global);
    }
    let sight = FolderVisibility::new(context)?;
    let mut library = context.library()?;
    check(context, &library, args.to.as_deref())?;
    let lock_path = context.lock_path(&library);
    let (stamp, permit) = (context.stamp(), context.permit()?);
    let undone = match &args.to {
        None => Some(client::undo(&mut library, &lock_path, &stamp, &permit, args.dry_run).map_err(failed)?),
        Some(id) => client::undo_to(&mut library, id, &lock_path, &stamp, &permit, args.dry_run).map_err(failed)?,
    };
    let Some(undone) = undone else { return unchanged(context) };
    if !args.dry_run {
        let state = library.state()?;
        for skill in &undone.skills {
            sight.apply(&library, &skill.name, &state.of(&skill.name));
        }
    }
    let mut document = json!({
        "ok": true,
        "status": if args.dry_run { "dry_run" } else { "undone" },
        "undone": {"action": undone.action, "time": stored_time(&undone.time), "actor": undone.actor},
        "skills": undone.skills.iter().map(document).collect::<Vec<_>>(),
    });
    if args.to.is_some() {
        document["operations"] = undone.operations.iter().map(operation_document).collect();
    }
    context.out.answer(&document, |out| text(context, &undone, args.dry_run, out))
}

/// Refuses to reverse operations on skills that are hidden from the actor, or that require confirmation.
fn check(context: &Context, library: &Library, to: Option<&str>) -> Result<(), CliError> {
    let (sight, operations) = (context.visibility_check()?, client::operations(library).map_err(failed)?);
    let count = to.map_or(1, |id| operations.iter().position(|one| one.id == id).unwrap_or(operations.len()));
    for skill in operations.iter().take(count).flat_map(|operation| &operation.skills) {
        match sight(skill) {
            Visibility::Denied | Visibility::NotOnList => {
                let message = "the operation changed a skill that the configuration denies to this agent";
                return Err(CliError::new("policy_denied", Exit::Refused, message).hint("ask a person to undo it"));
            }
            Visibility::Asked => return Err(failed(AgentError::Asked(skill.clone()))),
            Visibility::Seen | Visibility::Disabled | Visibility::Unusable(_) => {}
        }
    }
    Ok(())
}

/// Reports that no operation follows the given one.
fn unchanged(context: &Context) -> Result<Exit, CliError> {
    let document = json!({"ok": true, "status": "unchanged", "undone": null, "skills": [], "operations": []});
    context.out.answer(&document, |out| writeln!(out, "No operations after that one"))
}

/// Lists the operations that can be undone.
fn list(context: &Context) -> Result<Exit, CliError> {
    let is_seen = context.seen()?;
    let mut operations = client::operations(&context.library()?).map_err(failed)?;
    operations.iter_mut().for_each(|operation| operation.skills.retain(|skill| is_seen(skill.as_str())));
    operations.retain(|operation| !operation.skills.is_empty());
    let document = json!({"ok": true, "operations": operations.iter().map(operation_document).collect::<Vec<_>>()});
    context.out.answer(&document, |out| {
        let Some(newest) = operations.first() else { return writeln!(out, "No operations to undo") };
        let mut table = Table::new(&["id", "time", "action", "actor", "skills"]);
        for operation in &operations {
            table.row(&[
                operation.id.clone(),
                stored_past_time(&operation.time),
                visible(&operation.action),
                Table::cut(&visible(&operation.actor), ACTOR_COLUMNS),
                Table::cut(&skills_of(operation), SKILLS_COLUMNS),
            ]);
        }
        table.write(out)?;
        out.message(format_args!("Undo everything after one of them: skillhub undo --to {}", newest.id))
    })
}

/// Summarises the skills, such as `alpha and 3 more`.
fn skills_of(operation: &Operation) -> String {
    match operation.skills.as_slice() {
        [] => String::new(),
        [one] => one.to_string(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    }
}

fn operation_document(operation: &Operation) -> Value {
    json!({
        "id": operation.id, "time": stored_time(&operation.time), "actor": operation.actor,
        "action": operation.action, "reason": operation.reason,
        "skills": operation.skills.iter().map(skill::SkillName::as_str).collect::<Vec<_>>(),
    })
}

fn document(skill: &UndoneSkill) -> Value {
    json!({
        "name": skill.name.as_str(), "status": skill.status, "revision": skill.revision,
        "previous": skill.previous, "files": skill.change.files, "diff": skill.change.text, "links": skill.placed,
        "removed": skill.removed, "restored": skill.restored, "warnings": skill.warnings,
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
    })
}

fn text(context: &Context, undone: &Undone, dry_run: bool, out: &mut Page) -> io::Result<()> {
    let word = if dry_run { "Would undo" } else { "Undid" };
    let (time, actor) = (stored_past_time(&undone.time), visible(&undone.actor));
    match undone.operations.len() {
        0 => writeln!(
            out,
            "{GOOD}{word}{GOOD:#} the {STRONG}{}{STRONG:#} of {time} {FAINT}by {actor}{FAINT:#}",
            undone.action
        )?,
        count => writeln!(out, "{GOOD}{word}{GOOD:#} {}", counted(count, "operation"))?,
    }
    for skill in &undone.skills {
        let became = match skill.status {
            UndoStatus::Restored => "restored",
            UndoStatus::Removed => "removed",
            UndoStatus::Enabled => "visible to agents again",
            UndoStatus::Disabled => "hidden from agents again",
        };
        writeln!(out, "  {STRONG}{}{STRONG:#}: {became}", skill.name)?;
        if dry_run {
            write!(out, "{}", coloured_diff(&skill.change.text))?;
        }
        for path in &skill.placed {
            writeln!(out, "  linked {}", context.short(path))?;
        }
        for path in &skill.removed {
            writeln!(out, "  removed {}", context.short(path))?;
        }
        for path in &skill.restored {
            writeln!(out, "  restored {}", context.short(path))?;
        }
        for warning in skill.warnings.iter().chain(&skill.checkout_pending) {
            out.message(format_args!("  {WARN}note{WARN:#}: {}", visible(warning)))?;
        }
    }
    if dry_run { Ok(()) } else { out.message(format_args!("Run `skillhub undo` again to redo")) }
}
