//! Class, code and hint of each error of this crate ([`Fails`]).

use std::io::{Error, ErrorKind};

use serde_json::{Value, json};
use skill::{
    SkillName,
    failure::{Fails, Failure, FailureKind},
    shell_word,
};

use crate::{
    CommitError, Denied, FindError, HandEditFault, LibraryError, LockError, PlaceError, SnapshotError, StateError,
    StorageError, folder::FolderError,
};

/// Failure for an I/O error on a file of skillhub.
fn refused() -> Failure {
    Failure::io().hint(
        "see that the disk has room and may be written (`skillhub where` names the places); nothing was lost, and the \
         same command goes on from here",
    )
}

impl Fails for PlaceError {
    fn failure(&self) -> Failure {
        match self {
            Self::Foreign { .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint("use folders of your own: --library DIR for the skills, SKILLHUB_HOME for the history"),
            Self::Shared { path, .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint(format!("close it for others: chmod go-w {}", shell_word(&path.display().to_string()))),
            Self::Io { .. } => refused(),
        }
    }
}

impl Fails for LockError {
    fn failure(&self) -> Failure {
        match self {
            Self::Locked { .. } => {
                Failure::new(FailureKind::Conflict, "locked").hint("try again when that process is done")
            }
            Self::Io(_) => refused(),
        }
    }
}

impl Fails for StorageError {
    fn failure(&self) -> Failure {
        match self {
            Self::UnknownKind(_) => Failure::new(FailureKind::Usage, "unknown_storage")
                .hint("set `storage = \"git\"` under [library] in config.toml"),
            Self::UnknownRevision(_) => Failure::new(FailureKind::NotFound, "not_found"),
            Self::Damaged(_) => Failure::new(FailureKind::Integrity, "damaged_history").hint(
                "`skillhub doctor` names what is damaged, `skillhub doctor --fix` mends what can be; the folders are \
                 not touched",
            ),
            Self::Uncleared(_) | Self::Unjudged(_) => Failure::new(FailureKind::Blocked, "scan_blocked"),
            Self::Git(_) | Self::Io(_) => refused(),
        }
    }
}

impl Fails for StateError {
    fn failure(&self) -> Failure {
        match self {
            Self::Gone | Self::Damaged(_) => Failure::new(FailureKind::Integrity, "damaged_state").hint(
                "restore state.toml in the home from a backup (`skillhub where` names the place), or run \
                 `skillhub doctor --fix`, which makes of it what is known and keeps the rest closed",
            ),
            Self::Format(_) => Failure::new(FailureKind::Integrity, "damaged_state")
                .hint("`skillhub where` says where the home is; see to state.toml there"),
            Self::TooLarge(_) => Failure::new(FailureKind::Invalid, "too_large")
                .hint("uninstall skills that are not used; what is set for them goes with them"),
            Self::Io(_) => refused(),
        }
    }
}

/// Returns whether the error means a readable file with invalid content.
fn is_damage(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidData
}

impl Fails for LibraryError {
    fn failure(&self) -> Failure {
        match self {
            Self::Place(error) => error.failure(),
            Self::Storage(error) => error.failure(),
            Self::State(error) => error.failure(),
            Self::Lock(error) => error.failure(),
            Self::Pinned(skill) => Failure::new(FailureKind::Refused, "policy_denied")
                .hint(format!("a person can make the change, or run `skillhub unpin {skill}`, at a terminal")),
            Self::DisabledByPerson(skill) => Failure::new(FailureKind::Refused, "policy_denied")
                .hint(format!("a person can run `skillhub enable {skill}` at a terminal")),
            Self::TakenBack(taken_back) => Failure::new(FailureKind::Refused, "policy_denied").hint(taken_back.hint()),
            Self::Io { source, .. } if is_damage(source) => Failure::new(FailureKind::Integrity, "damaged_history")
                .hint("`skillhub doctor` says what is damaged; with --fix it is kept aside and what can be saved is"),
            Self::Io { .. } => refused(),
        }
    }
}

impl Fails for FindError {
    fn failure(&self) -> Failure {
        let revisions = |skill: &SkillName| format!("`skillhub history {skill}` lists its revisions");
        match self {
            Self::NoSkill(_) => Failure::new(FailureKind::NotFound, "not_found")
                .hint("`skillhub list` shows the skills of this library"),
            Self::NoRevision { skill, .. } | Self::NoRelease(skill) => {
                Failure::new(FailureKind::NotFound, "not_found").hint(revisions(skill))
            }
            Self::Ambiguous { skill, .. } => {
                Failure::new(FailureKind::Conflict, "ambiguous_name").hint(revisions(skill))
            }
            Self::Storage(error) => error.failure(),
        }
    }
}

impl Fails for CommitError {
    fn failure(&self) -> Failure {
        match self {
            Self::Stale { skill, .. } => Failure::new(FailureKind::Conflict, "stale_revision").hint(format!(
                "look at what changed, `skillhub diff {skill}`, and send the request again on the newest revision"
            )),
            Self::ProposalMoved { id } => Failure::new(FailureKind::Conflict, "stale_revision")
                .hint(format!("look at it as it is now: `skillhub review show {id}`")),
            Self::TooLarge(_) => Failure::new(FailureKind::Invalid, "too_large")
                .hint("make the change in several steps: fewer skills, or fewer proposals, at a time"),
            Self::QueueFull { .. } | Self::QueueTooLarge { .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint(
                    "ask a person to decide, `skillhub review list` shows what waits; what an actor proposed it may \
                     withdraw with `skillhub review reject ID`",
                ),
            Self::NotWritable { .. } => Failure::io()
                .hint("see that its disk has room, who owns the folder and its mode, or name another with --library"),
            Self::Lock(error) => error.failure(),
            Self::Interrupted(error) => error.failure(),
            Self::Library(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Stale { head, .. } => json!({"head": head}),
            _ => json!({}),
        }
    }
}

impl Fails for SnapshotError {
    fn failure(&self) -> Failure {
        match self {
            Self::ExternalBlocked { skill, fault } => {
                Failure::new(FailureKind::Blocked, "external_blocked").hint(hand_edit_hint(skill, fault))
            }
            Self::EditHeld { skill, .. } => Failure::new(FailureKind::Refused, "policy_denied").hint(format!(
                "a person can record it, `skillhub commit {skill} --reason WHY` at a terminal; `skillhub rollback \
                     {skill} head` puts it aside"
            )),
            Self::Library(error) => error.failure(),
            Self::Storage(error) => error.failure(),
            Self::Commit(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::ExternalBlocked { fault: HandEditFault::Invalid { problems, .. }, .. } => {
                json!({"problems": problems})
            }
            Self::ExternalBlocked { fault: HandEditFault::Hostile(blocked), .. } => {
                json!({"findings": blocked.report().findings})
            }
            _ => json!({}),
        }
    }
}

fn hand_edit_hint(skill: &SkillName, fault: &HandEditFault) -> String {
    let mend = format!(
        "mend the folder by hand or move it away; where the skill has a history, `skillhub rollback {skill} head` \
         keeps that edit in it and restores the skill"
    );
    match fault {
        HandEditFault::Unreadable(_) => {
            "remove or rename what is named there; nothing else in the folder is touched".to_owned()
        }
        HandEditFault::Hostile(blocked) => match blocked.report().blocking().next() {
            Some(first) => format!(
                "{mend}; a person can accept a finding: `skillhub waive {skill} {} --path {} --reason WHY`",
                first.rule,
                shell_word(&first.path)
            ),
            None => mend,
        },
        HandEditFault::Invalid { .. } => mend,
    }
}

impl Fails for Denied {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Refused, "policy_denied").hint(
            "a person does it, at a terminal or with `--actor person` and a token in SKILLHUB_REVIEWER_TOKEN; \
             `skillhub policy` shows the rules",
        )
    }
}

impl Fails for FolderError {
    fn failure(&self) -> Failure {
        let bad_path = || Failure::new(FailureKind::Invalid, "invalid_path");
        match self {
            Self::Missing(_) => Failure::new(FailureKind::NotFound, "not_found"),
            Self::Link(_) => bad_path().hint("put the file itself in place of the link; links are never followed"),
            Self::Special(_) | Self::Path(_) | Self::NameEncoding(_) => bad_path().hint("rename or remove that file"),
            Self::Bundle(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}
