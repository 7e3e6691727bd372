//! [`History`]: the revisions of a skill, newest first.

use library::{Actor, FindError, Library, Origin, Revision, RevisionId};
use scan::Verdict;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use skill::SkillName;

use super::time;
use crate::error::ManageError;

/// Revisions of a skill. They are serialised one by one, since there can be very many.
#[derive(Debug, Serialize)]
pub struct History {
    ok: bool,
    name: String,
    /// Revisions, newest first.
    #[serde(serialize_with = "one_by_one")]
    pub revisions: Vec<Revision>,
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
    Ok(History { ok: true, name: name.to_string(), revisions })
}

fn one_by_one<S: Serializer>(revisions: &[Revision], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(revisions.iter().map(Row::from))
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

impl<'a> From<&'a Revision> for Row<'a> {
    fn from(revision: &'a Revision) -> Self {
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

/// Converts a revision to a JSON document.
pub(super) fn row(revision: &Revision) -> Value {
    json!(Row::from(revision))
}

fn edited_by(revision: &Revision) -> Option<&Actor> {
    revision.acceptance.as_ref()?.edited_by.as_ref()
}
