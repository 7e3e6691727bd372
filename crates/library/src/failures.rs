//! Class, code and hint of each error of this crate ([`Fails`]).

use std::io::{Error, ErrorKind};

use serde_json::{Value, json};
use skill::{
    SkillName,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
    shell_word,
};

use crate::{
    CommitError, Denied, FindError, HandEditFault, LibraryError, LockError, PathAccessError, SnapshotError, StateError,
    StorageError, folder::FolderError,
};

/// Failure for an I/O error on a file of skillhub.
fn refused() -> Failure {
    Failure::io().hint(
        "make sure that the disk has free space and is writable (`skillhub where` lists the folders), then run the \
         same command again; nothing was lost",
    )
}

impl Fails for PathAccessError {
    fn failure(&self) -> Failure {
        match self {
            Self::Foreign { .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint("use folders that you own: --library DIR for the skills, SKILLHUB_HOME for the history"),
            Self::Shared { path, .. } => Failure::new(FailureKind::Refused, "policy_denied").hint(format!(
                "remove write access for others: chmod go-w {}",
                shell_word(&path.display().to_string())
            )),
            Self::Io { .. } => refused(),
        }
    }
}

impl Fails for LockError {
    fn failure(&self) -> Failure {
        match self {
            Self::Locked { .. } => {
                Failure::new(FailureKind::Conflict, "locked").hint("try again when that process has ended")
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
                "run `skillhub doctor` to list the damage, then `skillhub doctor --fix` to repair it; skill folders \
                 are not changed",
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
                "restore state.toml in the skillhub home from a backup (`skillhub where` lists the folders), or run \
                 `skillhub doctor --fix`, which recovers what it can and blocks the rest",
            ),
            Self::Format(_) => Failure::new(FailureKind::Integrity, "damaged_state").hint(
                "update skillhub, or restore state.toml in the skillhub home; `skillhub where` lists the folders",
            ),
            Self::TooLarge(_) => Failure::new(FailureKind::Invalid, "too_large")
                .hint("uninstall skills that you do not use; their settings are removed with them"),
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
            Self::Pinned(skill) => Failure::new(FailureKind::Refused, "policy_denied").hint(format!(
                "only a person can change it: make the change in a terminal, or run `skillhub unpin {skill}` there"
            )),
            Self::DisabledByPerson(skill) => Failure::new(FailureKind::Refused, "policy_denied")
                .hint(format!("only a person can enable it: run `skillhub enable {skill}` in a terminal")),
            Self::TakenBack(taken_back) => Failure::new(FailureKind::Refused, "policy_denied").hint(taken_back.hint()),
            Self::Io { source, .. } if is_damage(source) => Failure::new(FailureKind::Integrity, "damaged_history")
                .hint(
                    "run `skillhub doctor` to list the damage; with --fix it recovers what it can and keeps the \
                     damaged file",
                ),
            Self::Io { .. } => refused(),
        }
    }
}

impl Fails for FindError {
    fn failure(&self) -> Failure {
        let revisions =
            |skill: &SkillName| Hint::from("list its revisions: ").step(NextStep::ShowHistory(skill.to_string()));
        match self {
            Self::NoSkill(_) => Failure::new(FailureKind::NotFound, "not_found")
                .hint(Hint::from("list the skills in this library: ").step(NextStep::ListSkills)),
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
            Self::Stale { skill, .. } => Failure::new(FailureKind::Conflict, "stale_revision").hint(
                Hint::from("review the change with ")
                    .step(NextStep::ShowDiff(skill.to_string()))
                    .text(", then send the request again for the newest revision"),
            ),
            Self::ProposalMoved { id } => Failure::new(FailureKind::Conflict, "stale_revision")
                .hint(Hint::from("review its current state: ").step(NextStep::ShowProposal(id.to_string()))),
            Self::TooLarge(_) => Failure::new(FailureKind::Invalid, "too_large")
                .hint("split the change into several steps with fewer skills or proposals each"),
            Self::QueueFull { .. } | Self::QueueTooLarge { .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint(
                    Hint::from("ask a person to decide on the open proposals in ")
                        .step(NextStep::ListProposals)
                        .text(", or withdraw your own with ")
                        .step(NextStep::Withdraw { id: "ID".to_owned(), skill: "NAME".to_owned(), is_new: false }),
                ),
            Self::NotWritable { .. } => Failure::io().hint(
                "check the free disk space and the owner and mode of the folder, or choose another folder with \
                 --library",
            ),
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
            Self::EditHeld { skill, .. } => Failure::new(FailureKind::Refused, "policy_denied").hint(
                Hint::from(format!(
                    "only a person can record it, in a terminal: `skillhub commit {skill} --reason WHY`; to revert \
                     it, run "
                ))
                .step(NextStep::Restore(skill.to_string(), "head".to_owned())),
            ),
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
                let findings = &blocked.report().findings;
                json!({"findings": findings, "causes": scan::causes(findings)})
            }
            _ => json!({}),
        }
    }
}

fn hand_edit_hint(skill: &SkillName, fault: &HandEditFault) -> Hint {
    let mend = Hint::from("fix the folder by hand, or move it elsewhere; if the skill has a history, ")
        .step(NextStep::Restore(skill.to_string(), "head".to_owned()))
        .text(" restores the skill and keeps the edit in the history");
    match fault {
        HandEditFault::Unreadable(_) => "remove or rename the file or folder that the error names".into(),
        HandEditFault::Hostile(blocked) => match blocked.report().blocking().next() {
            Some(first) => mend.text(format!(
                "; a person can accept the finding with `skillhub waive {skill} {} --path {} --reason WHY`",
                first.rule,
                shell_word(&first.path)
            )),
            None => mend,
        },
        HandEditFault::Invalid { .. } => mend,
    }
}

impl Fails for Denied {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Refused, "policy_denied").hint(
            Hint::from(
                "only a person can do this, in a terminal or with `--actor person` and a token in \
                 SKILLHUB_REVIEWER_TOKEN; ",
            )
            .step(NextStep::ShowPolicy)
            .text(" shows the rules"),
        )
    }
}

impl Fails for FolderError {
    fn failure(&self) -> Failure {
        let bad_path = || Failure::new(FailureKind::Invalid, "invalid_path");
        match self {
            Self::Missing(_) => Failure::new(FailureKind::NotFound, "not_found"),
            Self::Link(_) => bad_path().hint("replace the link with the file itself: links are never followed"),
            Self::Special(_) | Self::Path(_) | Self::NameEncoding(_) => bad_path().hint("rename or remove that file"),
            Self::Bundle(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}
