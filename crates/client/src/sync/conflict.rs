//! [`hold`]: a conflict between two machines waits as a proposal until a person decides.
//!
//! The proposal has the other machine's version wherever both changed the same lines. Accepted, it becomes a revision;
//! rejected, the library's version stays. In both cases the next sync joins the two lines, and the other machines
//! receive the result.

use library::{
    Action, Content, HeldChange, Library, Proposal, ProposalChange, ProposalEntry, ProposalId, ProposalState,
    RevisionId, Snapshot, Stamp,
};
use skill::{Bundle, SkillName};

use super::SyncError;

/// Start of the run of such a proposal; the other machine's revision follows.
const RUN: &str = "sync-";

/// A conflict that a person decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolution {
    /// Newest revision of the other machine.
    pub theirs: RevisionId,
    /// True if the skill has the proposed files.
    pub is_accepted: bool,
}

/// Returns the revision of another machine with which a proposal's skill is in conflict.
pub(super) fn conflicting(proposal: &Proposal) -> Option<RevisionId> {
    let id = proposal.run.as_deref()?.strip_prefix(RUN)?;
    (id.len() == 40).then(|| RevisionId::new(id.to_owned()))
}

/// Returns the decided conflicts of a skill.
pub(super) fn decided(library: &Library, skill: &SkillName) -> Result<Vec<Resolution>, SyncError> {
    let proposals = library.proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    let of_skill = proposals.filter(|proposal| proposal.skill == *skill);
    let resolved = of_skill.filter_map(|proposal| {
        let is_accepted = match proposal.state {
            ProposalState::Accepted => true,
            // The skill had the proposed files already.
            ProposalState::Superseded if proposal.superseded_by.is_none() => true,
            ProposalState::Rejected => false,
            _ => return None,
        };
        Some(Resolution { theirs: conflicting(&proposal)?, is_accepted })
    });
    Ok(resolved.collect())
}

/// Makes a proposal of another machine's files, in place of an older one. Returns its id.
pub(super) fn hold(
    library: &mut Library,
    skill: &SkillName,
    ours: &Snapshot,
    theirs: &RevisionId,
    content: &Content,
    why: &str,
    stamp: &Stamp,
) -> Result<ProposalId, SyncError> {
    let open = library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    let open: Vec<Proposal> =
        open.filter(|one| one.skill == *skill && conflicting(one).is_some() && !one.is_expired(stamp.time)).collect();
    if let Some(same) = open.iter().find(|one| conflicting(one).as_ref() == Some(theirs)) {
        return Ok(same.id.clone());
    }
    let (bundle, scan) = match content {
        Content::Cleared(cleared) => (cleared.bundle().clone(), cleared.report().clone()),
        Content::Captured(_) | Content::Tombstone => (Bundle::default(), library.scanner().scan(&Bundle::default())),
    };
    let action = match (ours.exists(), bundle.is_empty()) {
        (_, true) => Action::Delete,
        (false, false) => Action::Create,
        (true, false) => Action::Edit,
    };
    let base = ours.base.as_ref().map(|base| base.id.clone());
    let why = format!("another machine changed the same part: {why}");
    let change = HeldChange { skill, action, base, before: &ours.bundle, candidate: &bundle, why, scan };
    let reason = Some("changes of another machine".to_owned());
    let stamp = Stamp { reason, run: Some(format!("{RUN}{theirs}")), ..stamp.clone() };
    let new = Proposal::new(change, &stamp, library.proposal_expiry(stamp.time));
    let id = new.id.clone();
    let replaced = |old: Proposal| old.superseded(&id, "the other machine changed the skill again", &stamp);
    let mut changes: Vec<_> = open.into_iter().map(|old| ProposalChange::noted(replaced(old), &stamp)).collect();
    changes.push(ProposalChange::noted(new, &stamp));
    library.commit(changes)?;
    Ok(id)
}
