//! [`ProposalChange`]: what a commit does to the queue of proposals, and reading the queue.

use cap_std::fs::Dir;
use jiff::Timestamp;

use super::{
    Proposal, ProposalEntry, ProposalId, ProposalState, document,
    store::{self, ProposalFile, Which},
};
use crate::{
    events::Event,
    home::open_dir,
    library::{CommitError, Library, LibraryError},
    revision::Revision,
};

/// A proposal as a commit leaves it, and what the event log says of that.
#[derive(Debug)]
pub struct ProposalChange {
    /// The proposal, changed from what was read; a commit that finds another one in its place changes
    /// nothing.
    pub entry: ProposalEntry,
    /// The event.
    pub event: Event,
}

impl Library {
    /// The proposals that somebody has still to decide about, damaged ones included, sorted by id.
    ///
    /// # Errors
    /// The system refused.
    pub fn open_proposals(&self) -> Result<Vec<ProposalEntry>, LibraryError> {
        Ok(self.read_proposals(Which::Open)?.into_iter().filter(ProposalEntry::is_open).collect())
    }

    /// All proposals, sorted by id.
    ///
    /// # Errors
    /// The system refused.
    pub fn proposals(&self) -> Result<Vec<ProposalEntry>, LibraryError> {
        let mut open = self.read_proposals(Which::Open)?;
        let decided = self.read_proposals(Which::Decided)?;
        open.retain(|entry| decided.iter().all(|decided| decided.id() != entry.id()));
        open.extend(decided);
        open.sort_by(|a, b| a.id().cmp(b.id()));
        Ok(open)
    }

    /// The proposal of an id.
    ///
    /// # Errors
    /// The system refused.
    pub fn proposal(&self, id: &ProposalId) -> Result<Option<ProposalEntry>, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(None) };
        let bytes = store::bytes(&own, id).map_err(self.own_io())?;
        Ok(bytes.map(|bytes| document::parse(id.clone(), bytes)))
    }

    fn read_proposals(&self, which: Which) -> Result<Vec<ProposalEntry>, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => store::read(&own, which).map_err(self.own_io()),
            None => Ok(Vec::new()),
        }
    }

    /// The files and events of a record's proposals; the caller holds the lock. An accepted one learns
    /// which of `revisions` it became.
    pub(crate) fn prepare_proposals(
        &self,
        own: &Dir,
        changes: Vec<ProposalChange>,
        operation: &str,
        revisions: &[(&str, &Revision)],
    ) -> Result<(Vec<ProposalFile>, Vec<Event>), CommitError> {
        let closed: Vec<ProposalId> = changes.iter().map(|change| change.entry.id().clone()).collect();
        let (mut files, mut events, mut grows) = (Vec::new(), Vec::new(), false);
        for ProposalChange { mut entry, mut event } in changes {
            let found = store::bytes(own, entry.id()).map_err(self.own_io())?;
            if found.as_deref() != entry.file() {
                return Err(CommitError::ProposalMoved { id: entry.id().clone() });
            }
            match &mut entry {
                ProposalEntry::Whole(proposal) if found.is_none() => self.admit(own, proposal, &closed)?,
                ProposalEntry::Whole(proposal) => name_revision(proposal, &mut event, revisions),
                ProposalEntry::Damaged(_) => {}
            }
            if !operation.is_empty() {
                operation.clone_into(&mut event.operation);
            }
            let bytes = document::write(&entry).map_err(|error| self.own_io()(error.into()))?;
            grows |= is_fuller(&entry, &bytes, found.as_deref());
            files.push(ProposalFile { id: entry.id().to_string(), is_open: entry.is_open(), bytes });
            events.push(event);
        }
        if grows {
            self.check_bytes(own, &files)?;
        }
        Ok((files, events))
    }

    /// Refuses what would leave more waiting than may be read whenever a change is held.
    fn check_bytes(&self, own: &Dir, files: &[ProposalFile]) -> Result<(), CommitError> {
        let limit = self.limits().open_proposals_bytes;
        let new = files.iter().filter(|file| file.is_open).map(|file| file.bytes.len() as u64).sum::<u64>();
        let bytes = new + store::open_bytes(own, files).map_err(self.own_io())?;
        match bytes > limit {
            true => Err(CommitError::QueueTooLarge { bytes, limit }),
            false => Ok(()),
        }
    }

    /// Drops the proposals that were decided longest ago, when there are more than may be kept, and what
    /// waits beside its own decision. The caller holds the lock and has emptied the journal.
    pub(crate) fn drop_decided(&self, own: &Dir) -> std::io::Result<Vec<ProposalId>> {
        store::drop_doubles(own)?;
        let mut decided: Vec<(Timestamp, ProposalId, u64)> = Vec::new();
        store::each(own, Which::Decided, |entry| {
            let bytes = entry.file().map_or(0, |file| file.len() as u64);
            decided.extend(entry.decided().map(|end| (end.time, entry.id().clone(), bytes)));
        })?;
        decided.sort();
        let (mut count, mut total) = (0, 0);
        let limits = self.limits();
        let is_kept = |(_, _, bytes): &&(Timestamp, ProposalId, u64)| {
            (count, total) = (count + 1, total + bytes);
            count <= limits.decided_proposals && total <= limits.decided_proposals_bytes
        };
        let kept = decided.iter().rev().take_while(is_kept).count();
        decided.truncate(decided.len() - kept);
        let dropped: Vec<ProposalId> = decided.into_iter().map(|(_, id, _)| id).collect();
        store::remove_decided(own, &dropped)?;
        Ok(dropped)
    }

    /// Refuses a new proposal when its actor has one open for the skill that still fits, which is to be
    /// amended, or when the queue is full. `closed` end with the same record, and expired ones are not counted.
    fn admit(&self, own: &Dir, new: &Proposal, closed: &[ProposalId]) -> Result<(), CommitError> {
        let queue = store::read(own, Which::Open).map_err(self.own_io())?;
        let waiting: Vec<&ProposalEntry> =
            queue.iter().filter(|entry| entry.is_open() && !closed.contains(entry.id())).collect();
        let waits = |entry: &&ProposalEntry| !is_expired(entry, new.created);
        let of_skill = waiting.iter().filter_map(|entry| match entry {
            ProposalEntry::Whole(proposal) => Some(proposal.as_ref()).filter(|open| open.skill == new.skill),
            ProposalEntry::Damaged(_) => None,
        });
        let of_skill: Vec<_> = of_skill.filter(|open| !open.is_expired(new.created)).collect();
        let is_own = |open: &&&Proposal| open.actor == new.actor && open.state != ProposalState::Stale;
        if let Some(own) = of_skill.iter().find(is_own) {
            return Err(CommitError::ProposalMoved { id: own.id.clone() });
        }
        let (open, limits) = (waiting.iter().copied().filter(|entry| waits(entry)).count(), self.limits());
        match (open >= limits.open_proposals, of_skill.len() >= limits.open_proposals_per_skill) {
            (true, _) => Err(CommitError::QueueFull { skill: None, open, limit: limits.open_proposals }),
            (false, true) => Err(CommitError::QueueFull {
                skill: Some(new.skill.clone()),
                open: of_skill.len(),
                limit: limits.open_proposals_per_skill,
            }),
            (false, false) => Ok(()),
        }
    }
}

/// Whether more waits for a person than did before. What is noted about a proposal is not held to that.
fn is_fuller(entry: &ProposalEntry, now: &[u8], before: Option<&[u8]>) -> bool {
    let is_pending = matches!(entry, ProposalEntry::Whole(proposal) if proposal.state == ProposalState::Pending);
    is_pending && now.len() > before.map_or(0, <[u8]>::len)
}

fn is_expired(entry: &ProposalEntry, now: Timestamp) -> bool {
    matches!(entry, ProposalEntry::Whole(proposal) if proposal.is_expired(now))
}

fn name_revision(proposal: &mut Proposal, event: &mut Event, revisions: &[(&str, &Revision)]) {
    let of_skill = revisions.iter().find(|(skill, _)| *skill == proposal.skill.as_str());
    if let (ProposalState::Accepted, Some(decided), Some((_, revision))) =
        (proposal.state, &mut proposal.decided, of_skill)
    {
        decided.revision = Some(revision.id.clone());
        event.revision = Some(revision.id.clone());
        event.previous = revision.parent.clone();
    }
}
