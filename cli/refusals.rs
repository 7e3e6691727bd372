//! [`note`]: what was asked for and refused, in the event log, also where it never came to the library.
//!
//! The tool notes what it refuses itself. A request that cannot be read, a person whom nothing proves, a decision
//! that is not for agents: these end before, and are noted here.

use library::{Event, Library, LibraryError};
use skill::SkillName;

use crate::{
    args::{Command, Global},
    commands::{curate::CurateCommand, review::ReviewCommand, reviewer::ReviewerCommand},
    context::Context,
    exit::{CliError, Exit},
};

/// Events at the end of the log that are looked at for those of this command.
const LAST: usize = 64;

/// Characters that are noted of a message: it may quote what was asked for.
const NOTED_CHARS: usize = 500;

/// Notes that a command was refused, unless that was noted already.
pub fn note(context: &Context, command: &Command, error: &CliError) {
    let is_request = matches!(command, Command::Manage(args) if args.is_request());
    if let Some(asked) = asked(command).filter(|_| !is_request) {
        record(context, asked, error);
    }
}

fn record(context: &Context, (action, skill): (&str, &str), error: &CliError) {
    let is_refusal = !matches!(error.exit, Exit::Done | Exit::Failed | Exit::Unreachable);
    let Ok(library) = context.library() else { return };
    if !is_refusal || !library.own_path().exists() || is_noted(&library).unwrap_or(true) {
        return;
    }
    let skill = SkillName::parse(skill).map(|name| name.to_string()).unwrap_or_default();
    let message: String = error.message.chars().take(NOTED_CHARS).collect();
    let event = Event::refused(&context.stamp(), &skill, action, error.code, &message);
    // The refusal itself is the answer; a log that cannot be written must not hide it.
    let _unlogged = library.record(&event);
}

/// Notes that somebody said to be a person and could not show it.
pub fn note_unproven(global: &Global, command: &Command, error: &CliError) {
    let as_nobody = Global { actor: None, ..global.clone() };
    let claims = global.actor.as_deref().unwrap_or_default();
    if error.exit != Exit::Refused || claims.is_empty() {
        return;
    }
    let Some(asked) = asked(command).or_else(|| of_whole_skills(command)) else { return };
    if let Ok(context) = Context::new(&as_nobody) {
        let message = format!("{} ({claims:?} was claimed)", error.message);
        record(&context, asked, &CliError::new(error.code, error.exit, message));
    }
}

/// Whether the log has an event of this process.
fn is_noted(library: &Library) -> Result<bool, LibraryError> {
    let ours = format!("{:x}", std::process::id());
    let (events, _) = library.events()?;
    Ok(events.iter().rev().take(LAST).any(|event| event.operation.split('-').nth(1) == Some(ours.as_str())))
}

/// What a command that changes something would do, and to which skill.
fn asked(command: &Command) -> Option<(&'static str, &str)> {
    Some(match command {
        Command::Manage(args) => ("manage", args.asked()?),
        Command::Commit(args) => ("external", args.asked()?),
        Command::Rollback(args) => ("rollback", args.asked()?),
        Command::Unpin(args) => ("unpin", args.name()),
        Command::Waive(_) => ("waive", ""),
        Command::Reviewer(ReviewerCommand::List) => return None,
        Command::Reviewer(_) => ("reviewer", ""),
        Command::Review(ReviewCommand::Accept(_)) => ("accept", ""),
        Command::Review(ReviewCommand::Reject(_)) => ("reject", ""),
        Command::Review(ReviewCommand::Edit(_)) => ("edit_proposal", ""),
        Command::Curate(CurateCommand::Apply(_)) => ("archive", ""),
        Command::Curate(CurateCommand::Restore(_)) => ("restore", ""),
        _ => return None,
    })
}

/// The same of those that note what they refuse themselves, once they know who acts.
fn of_whole_skills(command: &Command) -> Option<(&'static str, &'static str)> {
    match command {
        Command::Install(_) => Some(("install", "")),
        Command::Adopt(_) => Some(("adopt", "")),
        Command::Uninstall(_) => Some(("uninstall", "")),
        Command::Undo(_) => Some(("undo", "")),
        _ => None,
    }
}
