//! Held changes, stored until somebody decides about them ([`Proposal`]).
//!
//! Open proposals are in `proposals/<id>.json` in the library's folder of the home, decided ones in
//! `proposals/decided/<id>.json`. Like events and heads, both are written from the journal: a proposal is valid once
//! its record is synced, and its acceptance is one record together with the resulting revision. Content of a proposal
//! is never checked out without being cleared.

mod change;
pub(crate) mod document;
mod evidence;
pub(crate) mod store;

use std::sync::Arc;

use jiff::Timestamp;
use scan::Report;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, File, Limits, SkillName, SkillPath, diff::Change, merge};

pub use change::ProposalChange;
pub use evidence::{Evidence, EvidenceError, EvidenceKind};

use crate::{
    events::operation_id,
    origin::Origin,
    proposal_id::ProposalId,
    revision::{Action, Actor, RevisionId, Stamp},
};

/// State of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    /// Waits for a decision.
    Pending,
    /// No longer applies to the skill. Waits to be edited or rejected.
    Stale,
    /// Blocked by the current rules of the scanner. Waits for a waiver, an edit or its rejection.
    Quarantined,
    /// Was accepted and became a revision.
    Accepted,
    /// Was turned down or withdrawn.
    Rejected,
    /// Was not decided in time.
    Expired,
    /// Was replaced by another proposal, or the skill got the same content in another way.
    Superseded,
}

impl ProposalState {
    /// Returns the word used in JSON and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Stale => "stale",
            Self::Quarantined => "quarantined",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
        }
    }

    /// Returns whether it still waits for a decision or an edit.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Stale | Self::Quarantined)
    }

    /// Returns whether a proposal of this state may get the other one. An open proposal can be amended, put aside or
    /// closed. A closed one stays as it is, but an expired one can still be rejected.
    pub fn may_become(self, next: Self) -> bool {
        self.is_open() || (self == Self::Expired && next == Self::Rejected)
    }
}

/// One file that a proposal would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFile {
    /// Path inside the skill.
    pub path: SkillPath,
    /// Kind of change: added, modified or removed.
    pub change: Change,
    /// Content after the change; `None` for a file to be removed.
    pub file: Option<File>,
}

/// A newer release of the skill that a proposal merges in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedRelease {
    /// Source of the release.
    pub origin: Origin,
    /// Files of the unchanged release, as a difference from the proposal's base.
    pub files: Vec<ProposedFile>,
    /// Digest over all files of the release.
    pub digest: Digest,
    /// Files with conflicts that a person has to resolve, sorted.
    pub unresolved: Vec<SkillPath>,
}

impl ProposedRelease {
    /// Label of the skill's own side in conflict markers.
    pub const OURS: &'static str = "yours";

    /// Returns the number, from 1, of the first line in a text that is a conflict marker of this merge.
    pub fn marker_line(&self, text: &str) -> Option<usize> {
        merge::marker_line(text, Self::OURS, &self.origin.release())
    }

    /// Returns the release's files.
    ///
    /// # Errors
    /// Returns a message if base and difference do not result in the release.
    pub fn bundle(&self, base: &Bundle, limits: &Limits) -> Result<Bundle, String> {
        with_files(base, &self.files, &self.digest, limits)
            .map_err(|why| why.unwrap_or_else(|| "the files of the release have changed".to_owned()))
    }
}

/// Decision about a proposal, or another end of its waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalDecision {
    /// Actor who accepted, rejected or otherwise closed it.
    pub by: Actor,
    /// Time of the decision.
    pub time: Timestamp,
    /// Reason in the actor's words.
    pub reason: Option<String>,
    /// Resulting revision, filled in by the commit.
    pub revision: Option<RevisionId>,
}

impl ProposalDecision {
    /// Creates a decision of the stamp's actor without a revision.
    pub fn by(stamp: &Stamp) -> Self {
        Self { by: stamp.actor.clone(), time: stamp.time, reason: stamp.reason.clone(), revision: None }
    }
}

/// A candidate that waits for a decision, or was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Id, unique in the library.
    pub id: ProposalId,
    /// Skill that it would change.
    pub skill: SkillName,
    /// Current state; open or decided.
    pub state: ProposalState,
    /// Version of the proposal, from 1. Each amendment increments it.
    pub revision: u64,
    /// Action that the proposal requests.
    pub action: Action,
    /// Head on which the candidate is based. `None` for a new skill.
    pub base: Option<RevisionId>,
    /// The candidate, as a difference from the base.
    pub files: Vec<ProposedFile>,
    /// Digest over all files of the candidate.
    pub digest: Digest,
    /// Actor who proposed it.
    pub actor: Actor,
    /// Reason in the actor's words.
    pub reason: Option<String>,
    /// Run in which it was proposed.
    pub run: Option<String>,
    /// Conversation in which it was proposed.
    pub thread: Option<String>,
    /// Skill that absorbs this one's content, for a proposed deletion.
    pub absorbed_into: Option<String>,
    /// Evidence given by its author, not verified.
    pub evidence: Vec<Evidence>,
    /// Reason of the policy for holding it.
    pub why: String,
    /// Release that it merges in, if any.
    pub release: Option<ProposedRelease>,
    /// Scan report of the candidate when it was proposed.
    pub scan: Report,
    /// Time at which it was proposed.
    pub created: Timestamp,
    /// Time of the last amendment.
    pub updated: Timestamp,
    /// Time from which it can no longer be accepted.
    pub expires: Timestamp,
    /// Person who last edited the candidate.
    pub edited_by: Option<Actor>,
    /// Reason why it is stale, quarantined or superseded.
    pub note: Option<String>,
    /// Proposal that replaced it.
    pub superseded_by: Option<ProposalId>,
    /// Decision, once it is not open any more.
    pub decided: Option<ProposalDecision>,
    /// Content of its file when it was read.
    pub kept: StoredProposal,
}

/// Content of a proposal's file when it was read, and the state in it. It preserves fields unknown to this version, and
/// a commit compares it with the current file to detect concurrent changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredProposal {
    file: Option<Arc<[u8]>>,
    pub(crate) state: Option<ProposalState>,
}

/// A proposal's file that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedProposal {
    /// Id from the file's name.
    pub id: ProposalId,
    /// Skill named in the file, if that can be read.
    pub skill: Option<SkillName>,
    /// Description of the damage.
    pub why: String,
    /// Rejection, if any. The damaged bytes are kept with it.
    pub decided: Option<ProposalDecision>,
    /// Bytes of the file, if it could be read.
    file: Option<Vec<u8>>,
}

/// Content of a proposal's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalEntry {
    /// A proposal that could be parsed.
    Whole(Box<Proposal>),
    /// A file that cannot be parsed.
    Damaged(Box<DamagedProposal>),
}

impl ProposalEntry {
    /// Returns the id from the file's name.
    pub fn id(&self) -> &ProposalId {
        match self {
            Self::Whole(proposal) => &proposal.id,
            Self::Damaged(damaged) => &damaged.id,
        }
    }

    /// Returns the skill, which may be unknown for a damaged file.
    pub fn skill(&self) -> Option<&SkillName> {
        match self {
            Self::Whole(proposal) => Some(&proposal.skill),
            Self::Damaged(damaged) => damaged.skill.as_ref(),
        }
    }

    /// Returns whether it still needs a decision.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Whole(proposal) => proposal.state.is_open(),
            Self::Damaged(damaged) => damaged.decided.is_none(),
        }
    }

    /// Returns the proposal, unless it is damaged.
    pub fn into_whole(self) -> Option<Proposal> {
        match self {
            Self::Whole(proposal) => Some(*proposal),
            Self::Damaged(_) => None,
        }
    }

    /// Returns the decision, if there is one.
    pub(crate) fn decided(&self) -> Option<&ProposalDecision> {
        match self {
            Self::Whole(proposal) => proposal.decided.as_ref(),
            Self::Damaged(damaged) => damaged.decided.as_ref(),
        }
    }

    /// Returns the bytes of its file when it was read.
    pub fn file(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(proposal) => proposal.kept.file.as_deref(),
            Self::Damaged(damaged) => damaged.file.as_deref(),
        }
    }
}

/// A change of a skill that the policy holds.
#[derive(Debug)]
pub struct HeldChange<'a> {
    /// Skill that would change.
    pub skill: &'a SkillName,
    /// Action that was requested.
    pub action: Action,
    /// Head on which the candidate is based. `None` for a new skill.
    pub base: Option<RevisionId>,
    /// Files of that head.
    pub before: &'a Bundle,
    /// Proposed files.
    pub candidate: &'a Bundle,
    /// Reason why a person has to decide.
    pub why: String,
    /// Scan report of the candidate.
    pub scan: Report,
}

impl Proposal {
    /// Creates a pending proposal of the stamp's actor. It can be accepted until `expires`.
    pub fn new(change: HeldChange<'_>, stamp: &Stamp, expires: Timestamp) -> Self {
        Self {
            id: ProposalId::of_operation(&operation_id(stamp)),
            skill: change.skill.clone(),
            state: ProposalState::Pending,
            revision: 1,
            action: change.action,
            base: change.base,
            files: changed_files(change.before, change.candidate),
            digest: change.candidate.digest(),
            actor: stamp.actor.clone(),
            reason: stamp.reason.clone(),
            run: stamp.run.clone(),
            thread: stamp.thread.clone(),
            absorbed_into: None,
            evidence: Vec::new(),
            why: change.why,
            release: None,
            scan: change.scan,
            created: stamp.time,
            updated: stamp.time,
            expires,
            edited_by: None,
            note: None,
            superseded_by: None,
            decided: None,
            kept: StoredProposal::default(),
        }
    }

    /// Closes the proposal with the stamp's actor and reason.
    #[must_use]
    pub fn closed(self, state: ProposalState, stamp: &Stamp) -> Self {
        Self { state, decided: Some(ProposalDecision::by(stamp)), ..self }
    }

    /// Closes the proposal as replaced by another one; `note` gives the reason.
    #[must_use]
    pub fn superseded(self, by: &ProposalId, note: &str, stamp: &Stamp) -> Self {
        let stamp = Stamp { reason: None, ..stamp.clone() };
        let closed = self.closed(ProposalState::Superseded, &stamp);
        Self { note: Some(note.to_owned()), superseded_by: Some(by.clone()), ..closed }
    }

    /// Parses the file of a proposal of another library. Returns `None` if it is damaged.
    pub fn received(id: &ProposalId, bytes: Vec<u8>) -> Option<Self> {
        let proposal = document::parse(id.clone(), bytes).into_whole()?;
        Some(Self { kept: StoredProposal::default(), ..proposal })
    }

    /// Returns whether it is open and its time limit has passed.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.state.is_open() && self.expires <= now
    }

    /// Returns the candidate: the files of the base with the proposed changes.
    ///
    /// # Errors
    /// Returns a message if base and difference do not result in what was proposed.
    pub fn candidate(&self, base: &Bundle, limits: &Limits) -> Result<Bundle, String> {
        with_files(base, &self.files, &self.digest, limits)
            .map_err(|why| why.unwrap_or_else(|| "its files do not match the proposed ones".to_owned()))
    }

    /// Replaces the candidate by `candidate`, based on `base` with the files `before`.
    pub fn set_candidate(&mut self, base: Option<RevisionId>, before: &Bundle, candidate: &Bundle) {
        self.base = base;
        self.files = changed_files(before, candidate);
        self.digest = candidate.digest();
    }
}

/// Applies changed files to a base and checks the digest of the result. The error is a message, or `None` if only the
/// digest differs.
fn with_files(
    base: &Bundle,
    files: &[ProposedFile],
    digest: &Digest,
    limits: &Limits,
) -> Result<Bundle, Option<String>> {
    let changed = |path: &SkillPath| files.iter().any(|file| file.path == *path);
    let kept = base.files().filter(|(path, _)| !changed(path)).map(|(path, file)| (path.clone(), file.clone()));
    let proposed = files.iter().filter_map(|file| Some((file.path.clone(), file.file.clone()?)));
    let bundle = Bundle::from_files(kept.chain(proposed), limits).map_err(|error| Some(error.to_string()))?;
    if bundle.digest() == *digest { Ok(bundle) } else { Err(None) }
}

/// Returns the difference between two states of a skill, with the content of the second.
pub fn changed_files(before: &Bundle, after: &Bundle) -> Vec<ProposedFile> {
    let written = after.files().filter(|(path, file)| before.get(path) != Some(file)).map(|(path, file)| {
        let change = if before.get(path).is_some() { Change::Modified } else { Change::Added };
        ProposedFile { path: path.clone(), change, file: Some(file.clone()) }
    });
    let removed = before.paths().filter(|path| after.get(path).is_none());
    let removed = removed.map(|path| ProposedFile { path: path.clone(), change: Change::Removed, file: None });
    written.chain(removed).collect()
}
