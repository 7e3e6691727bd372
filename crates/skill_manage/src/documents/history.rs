//! [`History`]: the revisions of a skill, newest first.

use library::{Actor, FindError, Library, Origin, Revision, RevisionId};
use scan::Verdict;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use skill::SkillName;

use super::time;
use crate::error::ManageError;

/// Revisions of a skill.
#[derive(Debug, Serialize)]
pub struct History {
    ok: bool,
    name: String,
    /// Revisions, newest first.
    pub revisions: Vec<PastRevision>,
}

/// A revision in a history. It is converted when it is serialised, since there can be very many.
#[derive(Debug)]
pub struct PastRevision {
    /// The revision itself.
    pub revision: Revision,
    /// Origin of the fork that it merged in.
    pub merged_from: Option<Origin>,
}

impl Serialize for PastRevision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Row::of(&self.revision, self.merged_from.as_ref()).serialize(serializer)
    }
}

/// Returns the newest `limit` revisions of a skill.
///
/// # Errors
/// The library has never had the skill, or cannot be read.
pub fn history(library: &Library, name: SkillName, limit: usize) -> Result<History, ManageError> {
    let revisions = library.revisions(&name, limit)?;
    if revisions.is_empty() {
        return Err(FindError::NoSkill(name).into());
    }
    let past = |revision: Revision| PastRevision { merged_from: library.merged_fork(&revision), revision };
    Ok(History { ok: true, name: name.to_string(), revisions: revisions.into_iter().map(past).collect() })
}

/// Borrowed form of a revision for JSON.
#[derive(Serialize)]
struct Row<'a> {
    number: u64,
    revision: &'a RevisionId,
    parent: Option<&'a RevisionId>,
    time: String,
    action: &'static str,
    actor: &'a Actor,
    reason: Option<&'a str>,
    run: Option<&'a str>,
    thread: Option<&'a str>,
    origin: Option<&'a Origin>,
    merged_from: Option<&'a Origin>,
    verdict: Verdict,
    ruleset: &'a str,
    digest: String,
    files: usize,
    deleted: bool,
    absorbed_into: Option<&'a str>,
    proposal: Option<&'a str>,
    reviewer: Option<String>,
    edited_by: Option<String>,
}

impl<'a> Row<'a> {
    fn of(revision: &'a Revision, merged_from: Option<&'a Origin>) -> Self {
        let stamp = &revision.stamp;
        Self {
            number: revision.number,
            revision: &revision.id,
            parent: revision.parent.as_ref(),
            time: time(stamp.time),
            action: revision.action.as_str(),
            actor: &stamp.actor,
            reason: stamp.reason.as_deref(),
            run: stamp.run.as_deref(),
            thread: stamp.thread.as_deref(),
            origin: revision.origin.as_ref(),
            merged_from,
            verdict: revision.verdict,
            ruleset: &revision.ruleset,
            digest: revision.digest.to_string(),
            files: revision.files_changed,
            deleted: revision.tombstone,
            absorbed_into: revision.absorbed_into.as_deref(),
            proposal: revision.acceptance.as_ref().map(|acceptance| acceptance.proposal.as_str()),
            reviewer: revision.acceptance.as_ref().map(|acceptance| acceptance.reviewer.to_string()),
            edited_by: edited_by(revision).map(ToString::to_string),
        }
    }
}

/// Converts a revision to a JSON document, without the fork that it merged in.
pub(super) fn row(revision: &Revision) -> Value {
    json!(Row::of(revision, None))
}

fn edited_by(revision: &Revision) -> Option<&Actor> {
    revision.acceptance.as_ref()?.edited_by.as_ref()
}
