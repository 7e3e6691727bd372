//! Checks of the journal, and of the association between a library and its history.

use std::path::Path;

use library::{JournalRepair, JournalState, Library, LibraryNote, LostPart, Recovery};

use super::{Findings, relocate::command};
use skill::counted;

use crate::{context::Context, exit::CliError};

/// Checks that the data kept in the home for this library belongs to it.
pub fn check_note(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    let path = library.own_path().join("library.toml");
    match library.note()? {
        LibraryNote::Absent => findings.ok("library", &path, "no data is stored for this library yet"),
        LibraryNote::Ours => findings.ok("library", &path, "the stored data belongs to this library"),
        LibraryNote::Other(other) => findings.cannot(
            "library",
            "other_library",
            path.display(),
            format!(
                "the stored data belongs to {other:?}; if that folder was moved here: `{}`; if not, correct the path \
                 in this file",
                command(Path::new(&other), library.path())
            ),
        ),
        LibraryNote::Damaged(why) => {
            let message = format!("does not name its library: {why}");
            findings.mendable("library", "library_note_damaged", path.display(), message, || {
                let kept = library.repair_library_toml(context.now).map_err(|error| error.to_string())?;
                Ok(kept.map_or_else(|| "rewritten".to_owned(), |kept| format!("rewritten; the old file is {kept}")))
            });
        }
    }
    Ok(())
}

/// Reports a library that seems to have been moved without its history. A fresh clone looks the same, so this is a note
/// and not a fault.
pub fn check_moved(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    for old in library.moved_from(&context.home)? {
        let message = format!(
            "has no history, but {} has one with skills of the same names; if the folder was moved, move the history \
             too: {}",
            old.display(),
            command(&old, library.path())
        );
        findings.note("library", "library_moved", library.path().display(), message);
    }
    Ok(())
}

/// Checks the journal. Returns whether all its records are applied.
pub fn check(context: &Context, library: &mut Library, findings: &mut Findings) -> Result<bool, CliError> {
    let path = library.own_path().join("journal");
    let place = path.display().to_string();
    let state = match library.journal_state() {
        Err(error @ library::LibraryError::Io { .. }) => {
            findings.cannot("journal", "journal_unreadable", place, error);
            return Ok(false);
        }
        state => state?,
    };
    let (code, message) = match state {
        JournalState::Sound => {
            findings.ok("journal", &path, "all records are intact and applied");
            return Ok(true);
        }
        JournalState::Restarted => {
            // As every other command does: what was written without a sync may be lost.
            library.settle()?;
            findings.ok(
                "journal",
                &path,
                "all records are intact, and applied again since the machine was started anew",
            );
            return Ok(true);
        }
        JournalState::Pending(bytes) => (
            "pending_operations",
            format!("{} of operations are not applied yet; the next command applies them", counted(bytes, "byte")),
        ),
        JournalState::Cut(bytes) => (
            "journal_cut",
            format!(
                "ends with {} of an operation that was interrupted before it was reported as done",
                counted(bytes, "byte")
            ),
        ),
        JournalState::Damaged(at) => {
            ("journal_damaged", format!("is damaged at byte {at}; all commands refuse to run until it is repaired"))
        }
    };
    if !findings.fix {
        findings.mendable("journal", code, place, message, || Ok(String::new()));
        return Ok(false);
    }
    let is_damaged = matches!(state, JournalState::Damaged(_));
    let done = match is_damaged {
        true => library.repair_journal(context.now).map(|mend| tell(findings, &place, mend)),
        false => library.settle(),
    };
    let recovery = match done {
        Ok(recovery) => recovery,
        Err(error) => {
            findings.cannot("journal", code, place, format!("{message}; not repaired: {error}"));
            return Ok(false);
        }
    };
    let kept = recovery.kept_as.as_ref().map(|kept| format!("; the old journal is {kept}")).unwrap_or_default();
    let done = format!("applied {}{kept}", counted(recovery.operations, "operation"));
    findings.mendable("journal", code, &place, message, || Ok(done));
    Ok(tell_pending(findings, recovery))
}

/// Reports each item that a damaged journal lost, so that no loss is silent.
fn tell(findings: &mut Findings, place: &str, mend: JournalRepair) -> Recovery {
    let aside = &mend.kept_as;
    for lost in &mend.lost {
        match lost {
            LostPart::Bytes(bytes) => {
                let (from, to) = (bytes.start, bytes.end);
                let message = format!("bytes {from} to {to} could not be read; the old journal is {aside}");
                findings.mendable("journal", "journal_bytes_lost", place, message, || Ok(String::new()));
            }
            LostPart::Known { skill, revision } => {
                let message = format!("its revision {} was in the damaged part and is intact", revision.short());
                findings.mendable("journal", "journal_revision_whole", skill, message, || Ok(String::new()));
            }
            LostPart::Operation { skill, revision, base, what } => {
                let base = base.as_ref().map_or("nothing", |base| base.short());
                let message = format!(
                    "revision {} ({what}) could not be applied, because its base {base} is lost; its content is only \
                     in {aside}",
                    revision.short()
                );
                findings.cannot("journal", "revision_lost", skill, message);
            }
        }
    }
    mend.recovery
}

fn tell_pending(findings: &mut Findings, recovery: Recovery) -> bool {
    let is_settled = recovery.is_settled();
    let skills = recovery.pending.into_iter().map(|name| (name.to_string(), "its folder cannot be replaced"));
    let folders = recovery.folders.into_iter().map(|name| (name, "it cannot be read, and may contain a hand edit"));
    for (subject, why) in skills.chain(folders) {
        let message = format!("{why}; an operation waits for this, and each command retries it");
        findings.cannot("journal", "pending_operations", subject, message);
    }
    is_settled
}
