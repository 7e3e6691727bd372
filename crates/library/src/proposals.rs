//! [`Proposal`]: a held change, kept aside until somebody decides about it.
//!
//! Open ones are `proposals/<id>.json` in the library's folder of the home, those that were decided
//! `proposals/decided/<id>.json`. Both are projections of the journal, as events and heads are: a
//! proposal is true once its record is synced, and its acceptance is one record with the revision
//! that it becomes. Nothing in them is ever checked out without being cleared.

mod check;
mod document;
mod evidence;
mod queue;
pub(crate) mod store;

use std::sync::Arc;

use jiff::Timestamp;
use scan::Report;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, File, Limits, SkillName, SkillPath, diff::Change, merge};

pub use check::{ProposalFault, ProposalFaultKind};
pub use evidence::{Evidence, EvidenceError, EvidenceKind};
pub use queue::ProposalChange;

use crate::{
    events::operation_id,
    proposal_id::ProposalId,
    revision::{Action, Actor, Origin, RevisionId, Stamp},
};

/// Where a proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    /// It waits for a decision.
    Pending,
    /// It does not fit the skill as it is now; it waits to be edited or rejected.
    Stale,
    /// The scanner of today blocks it; it waits for a waiver, an edit or its rejection.
    Quarantined,
    /// It became a revision.
    Accepted,
    /// It was turned down or withdrawn.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// Another one took its place, or the skill came to hold all of it in another way.
    Superseded,
}

impl ProposalState {
    /// The state's word.
    #[must_use]
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

    /// Whether it still waits for somebody.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Stale | Self::Quarantined)
    }
}

/// One file that a proposal would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFile {
    /// Its path inside the skill.
    pub path: SkillPath,
    /// What would become of it.
    pub change: Change,
    /// What it would be; `None` for one that would be removed.
    pub file: Option<File>,
}

/// A newer release of the skill that a proposal merges in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedRelease {
    /// Where it comes from.
    pub origin: Origin,
    /// Its files as its publisher made them, as what differs from the proposal's base.
    pub files: Vec<ProposedFile>,
    /// Their digest.
    pub digest: Digest,
    /// The files in which both sides stand and a person has to choose, sorted.
    pub unresolved: Vec<SkillPath>,
}

impl ProposedRelease {
    /// What the skill's own side is called in markers.
    pub const OURS: &'static str = "yours";

    /// The first line of a text, from 1, that is a marker of this merge.
    #[must_use]
    pub fn marker_line(&self, text: &str) -> Option<usize> {
        merge::marker_line(text, Self::OURS, &self.origin.release())
    }

    /// The release's files.
    ///
    /// # Errors
    /// What is wrong when base and files do not make the release.
    pub fn bundle(&self, base: &Bundle, limits: &Limits) -> Result<Bundle, String> {
        with_files(base, &self.files, &self.digest, limits)
            .map_err(|why| why.unwrap_or_else(|| "the release's files are not those that it had".to_owned()))
    }
}

/// Who ended the waiting of a proposal, when, why and with what result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Who.
    pub by: Actor,
    /// When.
    pub time: Timestamp,
    /// Why, in their words.
    pub reason: Option<String>,
    /// The revision that it became; filled in by the commit.
    pub revision: Option<RevisionId>,
}

impl Decided {
    /// A decision of the stamp's actor, of which no revision came.
    #[must_use]
    pub fn by(stamp: &Stamp) -> Self {
        Self { by: stamp.actor.clone(), time: stamp.time, reason: stamp.reason.clone(), revision: None }
    }
}

/// A candidate that waits for a decision, or waited for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// The skill that it would change.
    pub skill: SkillName,
    /// Where it stands.
    pub state: ProposalState,
    /// Its own number, from 1; each amendment counts one on.
    pub revision: u64,
    /// What was asked for.
    pub action: Action,
    /// The head that the candidate was made on.
    pub base: Option<RevisionId>,
    /// The candidate, as what differs from the base.
    pub files: Vec<ProposedFile>,
    /// The candidate's digest.
    pub digest: Digest,
    /// Who proposed it.
    pub actor: Actor,
    /// Why, in their words.
    pub reason: Option<String>,
    /// The run in which it was proposed.
    pub run: Option<String>,
    /// The conversation in which it was proposed.
    pub thread: Option<String>,
    /// The skill that takes this one's content in, when it would be deleted for that.
    pub absorbed_into: Option<String>,
    /// What its author says speaks for it.
    pub evidence: Vec<Evidence>,
    /// Why the policy holds it.
    pub why: String,
    /// The release that it merges in, if it does.
    pub release: Option<ProposedRelease>,
    /// What the scanner said of the candidate when it was proposed.
    pub scan: Report,
    /// When it was proposed.
    pub created: Timestamp,
    /// When it was last amended.
    pub updated: Timestamp,
    /// When nobody can accept it any more.
    pub expires: Timestamp,
    /// The person who edited the candidate last.
    pub edited_by: Option<Actor>,
    /// Why it is stale, quarantined or superseded.
    pub note: Option<String>,
    /// The proposal that took its place.
    pub superseded_by: Option<ProposalId>,
    /// The end of its waiting.
    pub decided: Option<Decided>,
    /// What its file held when it was read.
    pub kept: Kept,
}

/// A proposal's file as it was read: it has the fields that this version does not know, and by it a
/// commit sees whether somebody else wrote it since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    file: Option<Arc<[u8]>>,
}

/// A file in a proposal's place that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedProposal {
    /// The id in the file's name.
    pub id: ProposalId,
    /// The skill that it names, where that can be read.
    pub skill: Option<SkillName>,
    /// What is wrong.
    pub why: String,
    /// Who rejected it; its bytes are kept all the same.
    pub decided: Option<Decided>,
    /// What was found, where it could be read at all.
    file: Option<Vec<u8>>,
}

/// What stands in a proposal's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalEntry {
    /// A proposal.
    Whole(Box<Proposal>),
    /// A file that is none.
    Damaged(Box<DamagedProposal>),
}

impl ProposalEntry {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &ProposalId {
        match self {
            Self::Whole(proposal) => &proposal.id,
            Self::Damaged(damaged) => &damaged.id,
        }
    }

    /// The skill; a damaged one may not name it.
    #[must_use]
    pub fn skill(&self) -> Option<&SkillName> {
        match self {
            Self::Whole(proposal) => Some(&proposal.skill),
            Self::Damaged(damaged) => damaged.skill.as_ref(),
        }
    }

    /// Whether somebody has still to decide.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self {
            Self::Whole(proposal) => proposal.state.is_open(),
            Self::Damaged(damaged) => damaged.decided.is_none(),
        }
    }

    /// The proposal, if it is whole.
    #[must_use]
    pub fn into_whole(self) -> Option<Proposal> {
        match self {
            Self::Whole(proposal) => Some(*proposal),
            Self::Damaged(_) => None,
        }
    }

    /// The end of its waiting.
    fn decided(&self) -> Option<&Decided> {
        match self {
            Self::Whole(proposal) => proposal.decided.as_ref(),
            Self::Damaged(damaged) => damaged.decided.as_ref(),
        }
    }

    /// Its file as it was read.
    fn file(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(proposal) => proposal.kept.file.as_deref(),
            Self::Damaged(damaged) => damaged.file.as_deref(),
        }
    }
}

/// A change of a skill as it is to be held.
#[derive(Debug)]
pub struct HeldChange<'a> {
    /// The skill.
    pub skill: &'a SkillName,
    /// What was asked for.
    pub action: Action,
    /// The head that the candidate was made on.
    pub base: Option<RevisionId>,
    /// The files of that head.
    pub before: &'a Bundle,
    /// The files that are proposed.
    pub candidate: &'a Bundle,
    /// Why a person has to decide.
    pub why: String,
    /// What the scanner says of it.
    pub scan: Report,
}

impl Proposal {
    /// A change that waits from now on, for the stamp's actor and until `expires`.
    #[must_use]
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
            kept: Kept::default(),
        }
    }

    /// The same at the end of its waiting, by the stamp's actor and for the stamp's reason.
    #[must_use]
    pub fn closed(self, state: ProposalState, stamp: &Stamp) -> Self {
        Self { state, decided: Some(Decided::by(stamp)), ..self }
    }

    /// The same after another one took its place, with why.
    #[must_use]
    pub fn superseded(self, by: &ProposalId, note: &str, stamp: &Stamp) -> Self {
        let stamp = Stamp { reason: None, ..stamp.clone() };
        let closed = self.closed(ProposalState::Superseded, &stamp);
        Self { note: Some(note.to_owned()), superseded_by: Some(by.clone()), ..closed }
    }

    /// Whether nobody decided until `now`.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.state.is_open() && self.expires <= now
    }

    /// The candidate: the files of the base with the proposed ones.
    ///
    /// # Errors
    /// What is wrong when base and files do not make what was proposed.
    pub fn candidate(&self, base: &Bundle, limits: &Limits) -> Result<Bundle, String> {
        with_files(base, &self.files, &self.digest, limits)
            .map_err(|why| why.unwrap_or_else(|| "its files are not those that were proposed".to_owned()))
    }

    /// Makes `candidate` on `base` what is proposed.
    pub fn set_candidate(&mut self, base: Option<RevisionId>, before: &Bundle, candidate: &Bundle) {
        self.base = base;
        self.files = changed_files(before, candidate);
        self.digest = candidate.digest();
    }
}

/// The files of a base with those that differ, which must have a digest together; else what is wrong, where
/// it is not only the digest.
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

/// What differs between two states of a skill, with the content of the second.
#[must_use]
pub fn changed_files(before: &Bundle, after: &Bundle) -> Vec<ProposedFile> {
    let written = after.files().filter(|(path, file)| before.get(path) != Some(file)).map(|(path, file)| {
        let change = if before.get(path).is_some() { Change::Modified } else { Change::Added };
        ProposedFile { path: path.clone(), change, file: Some(file.clone()) }
    });
    let removed = before.paths().filter(|path| after.get(path).is_none());
    let removed = removed.map(|path| ProposedFile { path: path.clone(), change: Change::Removed, file: None });
    written.chain(removed).collect()
}
