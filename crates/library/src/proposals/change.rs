//! Changes of the proposal queue by a commit ([`ProposalChange`]).

use super::{Proposal, ProposalEntry, ProposalState};
use crate::{
    events::{Event, EventStatus},
    revision::Stamp,
};

/// A changed proposal and the event that records the change.
#[derive(Debug)]
pub struct ProposalChange {
    /// The new state, derived from what was read. The commit fails if the file was changed since (compare-and-swap).
    pub entry: ProposalEntry,
    /// Event for the log.
    pub event: Event,
}

impl ProposalChange {
    /// Creates the change of a proposal, with the event that its new state stands for.
    pub fn noted(proposal: Proposal, stamp: &Stamp) -> Self {
        let status = match proposal.state {
            ProposalState::Pending if proposal.revision == 1 => EventStatus::Proposed,
            ProposalState::Pending => EventStatus::Amended,
            ProposalState::Stale => EventStatus::Stale,
            ProposalState::Quarantined => EventStatus::Quarantined,
            ProposalState::Accepted => EventStatus::Accepted,
            ProposalState::Rejected => EventStatus::Rejected,
            ProposalState::Expired => EventStatus::Expired,
            ProposalState::Superseded => EventStatus::Superseded,
        };
        let event = Event::proposal(stamp, proposal.skill.as_str(), proposal.action.as_str(), status, &proposal.id);
        let event = Event { message: proposal.note.clone(), ..event };
        Self { entry: ProposalEntry::Whole(Box::new(proposal)), event }
    }
}
