//! Reading the proposal queue, and preparing its changes for a record of the journal.

use cap_std::fs::Dir;
use jiff::{SignedDuration, Timestamp};

use super::{CommitError, Library, LibraryError};
use crate::{
    disk::open_dir,
    events::Event,
    lock::LockedDir,
    proposal_id::ProposalId,
    proposals::{
        Proposal, ProposalChange, ProposalEntry, ProposalState, document,
        store::{self, ProposalFile, ProposalFolder},
    },
    revision::Revision,
};

impl Library {
    /// Returns the proposals that still need a decision, including damaged ones, sorted by id.
    ///
    /// # Errors
    /// The files cannot be listed or read.
    pub fn open_proposals(&self) -> Result<Vec<ProposalEntry>, LibraryError> {
        Ok(self.read_proposals(ProposalFolder::Open)?.into_iter().filter(ProposalEntry::is_open).collect())
    }

    /// Returns all proposals, sorted by id.
    ///
    /// # Errors
    /// The files cannot be listed or read.
    pub fn proposals(&self) -> Result<Vec<ProposalEntry>, LibraryError> {
        let open = self.read_proposals(ProposalFolder::Open)?;
        let mut all = self.read_proposals(ProposalFolder::Decided)?;
        all.retain(|entry| !entry.is_open() || open.iter().all(|open| open.id() != entry.id()));
        let waiting = open.into_iter().filter(|open| all.iter().all(|entry| entry.id() != open.id()));
        let waiting: Vec<_> = waiting.collect();
        all.extend(waiting);
        all.sort_by(|a, b| a.id().cmp(b.id()));
        Ok(all)
    }

    /// Returns the proposal with this id.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn proposal(&self, id: &ProposalId) -> Result<Option<ProposalEntry>, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(None) };
        let bytes = store::bytes(&own, id).map_err(self.own_io())?;
        Ok(bytes.map(|bytes| document::parse(id.clone(), bytes)))
    }

    fn read_proposals(&self, which: ProposalFolder) -> Result<Vec<ProposalEntry>, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => store::read(&own, which).map_err(self.own_io()),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the expiry of a proposal that was made or amended at `time`.
    pub fn proposal_expiry(&self, time: Timestamp) -> Timestamp {
        let waits = SignedDuration::from_hours(24 * i64::from(self.limits().proposal_days));
        time.checked_add(waits).unwrap_or(Timestamp::MAX)
    }

    /// Prepares the files and events of a record's proposals. An accepted proposal gets the id of its revision from
    /// `revisions`.
    pub(crate) fn prepare_proposals(
        &self,
        own: &LockedDir,
        changes: Vec<ProposalChange>,
        operation: &str,
        revisions: &[(&str, &Revision)],
    ) -> Result<(Vec<ProposalFile>, Vec<Event>), CommitError> {
        let closed: Vec<ProposalId> = changes.iter().map(|change| change.entry.id().clone()).collect();
        let (mut files, mut events, mut new, mut fuller) = (Vec::new(), Vec::new(), Vec::new(), None);
        for ProposalChange { mut entry, mut event } in changes {
            let found = store::bytes(own, entry.id()).map_err(self.own_io())?;
            if found.as_deref() != entry.file() {
                return Err(CommitError::ProposalMoved { id: entry.id().clone() });
            }
            if let (ProposalEntry::Whole(proposal), Some(_)) = (&mut entry, &found) {
                if proposal.kept.state.is_some_and(|before| !before.may_become(proposal.state)) {
                    return Err(CommitError::ProposalMoved { id: proposal.id.clone() });
                }
                name_revision(proposal, &mut event, revisions);
            }
            if !operation.is_empty() {
                operation.clone_into(&mut event.operation);
            }
            let bytes = document::write(&entry).map_err(|error| self.own_io()(error.into()))?;
            fuller = fuller.max(filled_at(&entry, &bytes, found.as_deref()));
            files.push(ProposalFile { id: entry.id().to_string(), is_open: entry.is_open(), bytes });
            events.push(event);
            new.extend(entry.into_whole().filter(|_| found.is_none()));
        }
        if let Some(now) = new.iter().map(|proposal| proposal.created).chain(fuller).max() {
            let waiting = self.waiting(own, &closed, now)?;
            new.iter().try_for_each(|new| self.admit(&waiting, new))?;
            if fuller.is_some() {
                self.check_bytes(&waiting, &files)?;
            }
        }
        Ok((files, events))
    }

    /// Returns the open proposals that count towards the limits: without `closed`, which are changed by the same
    /// record, and without expired ones, which cannot be accepted.
    fn waiting(&self, own: &Dir, closed: &[ProposalId], now: Timestamp) -> Result<Vec<ProposalEntry>, CommitError> {
        let mut waiting = store::read(own, ProposalFolder::Open).map_err(self.own_io())?;
        waiting.retain(|entry| entry.is_open() && !closed.contains(entry.id()) && !is_expired(entry, now));
        Ok(waiting)
    }

    /// Enforces the size limit of the queue, because all open proposals are read whenever a change is held.
    fn check_bytes(&self, waiting: &[ProposalEntry], files: &[ProposalFile]) -> Result<(), CommitError> {
        let limit = self.limits().open_proposals_bytes;
        let new = files.iter().filter(|file| file.is_open).map(|file| file.bytes.len() as u64);
        let old = waiting.iter().filter_map(ProposalEntry::file).map(|file| file.len() as u64);
        let bytes = new.chain(old).sum();
        if bytes > limit { Err(CommitError::QueueTooLarge { bytes, limit }) } else { Ok(()) }
    }

    /// Drops the oldest decided proposals beyond the limits, and open files of decided proposals. The caller has emptied
    /// the journal.
    pub(crate) fn drop_decided(&self, own: &LockedDir) -> std::io::Result<Vec<ProposalId>> {
        store::drop_doubles(own)?;
        let mut decided: Vec<(Timestamp, ProposalId, u64)> = Vec::new();
        store::each(own, ProposalFolder::Decided, |entry| {
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

    /// Refuses a new proposal in three cases: its actor has an open one for the skill that still applies and should
    /// be amended; both it and an open one merge a release; or the queue is full.
    fn admit(&self, waiting: &[ProposalEntry], new: &Proposal) -> Result<(), CommitError> {
        let of_skill = waiting.iter().filter_map(|entry| match entry {
            ProposalEntry::Whole(proposal) => Some(proposal.as_ref()).filter(|open| open.skill == new.skill),
            ProposalEntry::Damaged(_) => None,
        });
        let of_skill: Vec<_> = of_skill.collect();
        let is_own = |open: &&&Proposal| match (&open.release, &new.release) {
            (None, None) => open.actor == new.actor && open.state != ProposalState::Stale,
            (open, new) => open.is_some() && new.is_some(),
        };
        if let Some(own) = of_skill.iter().find(is_own) {
            return Err(CommitError::ProposalMoved { id: own.id.clone() });
        }
        let (open, limits) = (waiting.len(), self.limits());
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

/// Returns the time of the change if it adds a pending proposal or makes one larger. Other changes are exempt from
/// the size limit.
fn filled_at(entry: &ProposalEntry, now: &[u8], before: Option<&[u8]>) -> Option<Timestamp> {
    let ProposalEntry::Whole(proposal) = entry else { return None };
    let is_fuller = proposal.state == ProposalState::Pending && now.len() > before.map_or(0, <[u8]>::len);
    is_fuller.then(|| proposal.created.max(proposal.updated))
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
