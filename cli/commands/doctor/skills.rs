//! Checks of the library's files outside of the history, and of the skills' folders.

use library::{Checkout, FolderState, HandEditFault, Library, LibraryError, StateError, StateRepair, TemporaryKind};

use super::Findings;
use ops::move_aside;
use skill::counted;

use crate::{context::Context, exit::CliError};

/// Checks that every line of the event log is readable.
pub fn check_events(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    let path = library.own_path().join("events.jsonl");
    let (events, unreadable) = match library.events() {
        Err(error @ LibraryError::Io { .. }) => {
            findings.cannot("events", "events_unreadable", path.display(), error);
            return Ok(());
        }
        events => events?,
    };
    if unreadable > 0 {
        let lines = counted(unreadable, "line");
        findings.mendable("events", "events_unreadable", path.display(), format!("{lines} cannot be read"), || {
            let mend = library.repair_events(context.now).map_err(|error| error.to_string())?;
            Ok(format!("removed; the old log is {}", mend.kept_as))
        });
    }
    findings.close("events", &path, format!("{} readable", counted(events.len(), "entry")));
    Ok(())
}

/// Checks the state file. Returns whether it is readable.
pub fn check_state(context: &Context, library: &Library, findings: &mut Findings) -> Result<bool, CliError> {
    let path = library.own_path().join("state.toml");
    if findings.fix {
        library.note_state()?;
    }
    let mut mend = |code: &'static str, what: String| {
        findings.mendable("state", code, path.display(), what, || {
            library.repair_state(context.now).map(|mend| describe_repair(&mend)).map_err(|error| error.to_string())
        });
    };
    match library.state() {
        Ok(_) if is_lost(library) => {
            let what = "is missing, so the settings that the log records have no effect";
            mend("state_gone", what.to_owned());
        }
        Ok(_) => findings.ok("state", &path, "readable"),
        Err(LibraryError::State(StateError::Gone)) => {
            let what = "is missing; commands that need a skill's settings refuse to run";
            mend("state_gone", what.to_owned());
        }
        Err(LibraryError::State(error @ StateError::Damaged(_))) => mend("state_damaged", error.to_string()),
        Err(LibraryError::State(error)) => findings.cannot("state", "state_damaged", path.display(), error),
        Err(error) => return Err(error.into()),
    }
    Ok(library.state().is_ok())
}

/// Describes a repair of the state, with the remaining steps for the user.
fn describe_repair(mend: &StateRepair) -> String {
    let mut told = match &mend.kept_as {
        Some(kept) => format!("rewritten; the old file is {kept}"),
        None => "rebuilt from the event log".to_owned(),
    };
    if !mend.dropped.is_empty() {
        told += &format!(", without {} that could not be read", counted(mend.dropped.len(), "line"));
    }
    if !mend.closed.is_empty() {
        let (names, first) = (mend.closed.join(", "), mend.closed.first().map_or("", String::as_str));
        told += &format!(
            "; the settings of {names} are unknown, so these are now disabled and pinned: a person can show one to \
             agents again with `skillhub enable {first}`, and let them change it with `skillhub unpin {first}`"
        );
    }
    if !mend.unknown.is_empty() {
        let names = mend.unknown.join(", ");
        told += &format!(
            "; the waivers and links of {names} are unknown: waive findings again where needed, and record the links \
             with `skillhub install`"
        );
    }
    told
}

/// Returns whether the state file is missing although the event log records settings.
fn is_lost(library: &Library) -> bool {
    let is_set = |event: &library::Event| event.status == library::EventStatus::Set;
    !library.own_path().join("state.toml").exists()
        && library.events().is_ok_and(|(events, _)| events.iter().any(is_set))
}

/// Checks for leftovers in the library.
pub fn check_temporary(library: &mut Library, findings: &mut Findings) -> Result<(), CliError> {
    for name in library.temporary_names()? {
        let Some(kind) = library.temporary_kind(&name)?.filter(|kind| *kind != TemporaryKind::InUse) else { continue };
        if kind != TemporaryKind::Leftover {
            findings.cannot("temporary", "temporary_folder", &name, describe(kind));
            continue;
        }
        findings.mendable("temporary", "temporary_folder", &name, describe(kind), || {
            match library.remove_leftover(&name) {
                Ok(true) => Ok(String::new()),
                Ok(false) => Err("a stopped operation still needs it".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        });
    }
    let path = library.path().to_owned();
    findings.close("temporary", &path, "no temporary folders are left");
    Ok(())
}

fn describe(kind: TemporaryKind) -> &'static str {
    match kind {
        TemporaryKind::InUse => "a temporary folder of a running process",
        TemporaryKind::Leftover => "a temporary folder of a stopped process",
        TemporaryKind::Kept => "contains files that are in no revision; check it, and remove it by hand",
        TemporaryKind::Foreign => {
            "is named like a temporary folder of skillhub, but is not one; check it, and remove it by hand"
        }
    }
}

/// Compares every skill's folder with its head.
pub fn check_folders(context: &Context, library: &mut Library, findings: &mut Findings) -> Result<(), CliError> {
    let skills = library.skills()?;
    let of_branch = context.skills_of_branch(library);
    let lock = client::LockFile::read(&context.lock_path(library)).unwrap_or_default();
    let is_elsewhere = |name: &skill::SkillName| of_branch.as_ref().is_some_and(|skills| !skills.contains(name));
    for (name, _) in &skills {
        let state = match library.folder_state(name) {
            Ok(state) => state,
            Err(error) => {
                findings.cannot(
                    "folders",
                    "not_looked_at",
                    name,
                    format!("cannot be compared with its newest revision: {error}"),
                );
                continue;
            }
        };
        match state {
            FolderState::Clean => note_undecided(library, name, findings)?,
            FolderState::Absent | FolderState::Earlier { .. } => {}
            // The skill belongs to another git branch.
            FolderState::Missing if is_elsewhere(name) => {}
            FolderState::Missing => {
                findings.mendable("folders", "folder_missing", name, "its folder is missing", || {
                    restore(context, library, name).map(|()| "restored from the history".to_owned())
                });
            }
            FolderState::Modified(cleared) if lock.lists(name, cleared.digest()) => {
                let message = "has the content of the lock file, as after `git pull`; `skillhub install` records it";
                findings.cannot("folders", "not_recorded", name, message);
            }
            FolderState::Modified(_) => {
                findings.cannot(
                    "folders",
                    "hand_edit",
                    name,
                    format!("edited by hand; `skillhub commit {name} --reason TEXT` or the next change records it"),
                );
            }
            FolderState::Blocked(fault @ HandEditFault::Unreadable(_)) => {
                let message = format!("the hand edit is not used: {fault}; remove or rename the named file");
                findings.cannot("folders", "hand_edit_blocked", name, message);
            }
            FolderState::Blocked(fault) => {
                let message = format!(
                    "the hand edit is not used: {fault}; correct the folder, or restore the newest revision, which \
                     keeps the edit in the history: `skillhub rollback {name} head`"
                );
                findings.cannot("folders", "hand_edit_blocked", name, message);
            }
        }
    }
    check_deleted(library, findings)?;
    let path = library.path().to_owned();
    findings.close("folders", &path, format!("{} compared with the history", counted(skills.len(), "skill folder")));
    Ok(())
}

/// Reports new findings of the current rules in a skill that passed under earlier ones.
fn note_undecided(library: &Library, name: &skill::SkillName, findings: &mut Findings) -> Result<(), CliError> {
    let head = library.head(name)?.map(|head| library.bundle(&head.id)).transpose()?.unwrap_or_default();
    let Some(report) = library.rescan(name, &head)?.filter(|report| report.undecided().next().is_some()) else {
        return Ok(());
    };
    let count = counted(report.undecided().count(), "new finding");
    let told = format!("{count} under the current rules; a person decides: `skillhub status {name}`");
    match report.undecided().any(scan::Finding::is_hard) {
        true => findings.cannot("rules", "hidden_by_rules", name, format!("hidden from agents: {told}")),
        false => findings.note("rules", "new_findings", name, told),
    }
    Ok(())
}

/// Reports folders of deleted skills that exist again and that no command manages.
fn check_deleted(library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    for name in library.folders()?.iter().filter_map(|name| skill::SkillName::parse(name).ok()) {
        if !library.head(&name)?.is_some_and(|head| head.tombstone) {
            continue;
        }
        if let FolderState::Blocked(fault) = library.folder_state(&name)? {
            let away = move_aside(&library.path().join(name.as_str()), &name);
            let message =
                format!("was deleted, but has a folder again that is not managed: {fault}; move it away: `{away}`");
            findings.cannot("folders", "folder_blocked", &name, message);
        }
    }
    Ok(())
}

/// Returns the revision that the lock file names, if the history has it, else the head. On a git branch it may be an
/// earlier revision.
fn wanted(context: &Context, library: &Library, name: &skill::SkillName) -> String {
    let lock = client::LockFile::read(&context.lock_path(library)).ok();
    let content = lock.and_then(|lock| lock.find(name)?.content);
    let is_it = |revision: &library::Revision| content == Some(revision.digest) && revision.was_cleared();
    let found = library.revisions(name, usize::MAX).ok().and_then(|all| all.into_iter().find(is_it));
    found.map_or_else(|| "head".to_owned(), |revision| revision.id.to_string())
}

fn restore(context: &Context, library: &mut Library, name: &skill::SkillName) -> Result<(), String> {
    let rollback = skill_manage::Rollback {
        skill: name.clone(),
        to: Some(wanted(context, library, name)),
        expected_revision: None,
        notes: skill_manage::Notes { reason: Some("doctor: its folder was gone".to_owned()), ..Default::default() },
        dry_run: false,
    };
    let actor = context.manage().map_err(|error| error.message)?;
    let report = skill_manage::roll_back(library, &rollback, &actor).map_err(|error| error.to_string())?;
    match report.checkout {
        Checkout::Pending(why) => Err(why),
        Checkout::Done | Checkout::HandEditKept(_) => Ok(()),
    }
}
