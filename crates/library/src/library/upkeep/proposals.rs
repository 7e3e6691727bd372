//! Checks of the files of proposals, and their repair ([`ProposalFault`]).

use cap_std::fs::Dir;
use jiff::Timestamp;
use skill::Bundle;

use super::{
    super::{Library, LibraryError},
    aside_name,
};
use crate::{
    disk::{open_dir, sync_folder},
    lock::LibraryLock,
    proposal_id::ProposalId,
    proposals::{
        Proposal, ProposalEntry,
        store::{self, ProposalFolder},
    },
    revision::RevisionId,
};

/// A fault of a proposal's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalFault {
    /// Id of the proposal.
    pub id: ProposalId,
    /// Kind of fault, with its details.
    pub kind: ProposalFaultKind,
}

/// Kind of fault of a proposal's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalFaultKind {
    /// The file cannot be parsed, for this reason.
    Damaged(String),
    /// It is decided, and there is also a file among the open proposals.
    Twice,
    /// It is decided but its file is among the open proposals, or the other way round.
    Misplaced,
    /// It is open, and a file among the decided proposals has no decision. Whether it was decided is unknown.
    InDoubt,
    /// It is open, and its base no longer leads to what was proposed, for this reason.
    Unfounded(String),
    /// It was accepted, and the resulting revision cannot be read.
    NoRevision(RevisionId),
}

impl Library {
    /// Counts the proposals and returns their faults.
    ///
    /// # Errors
    /// The folders or files cannot be read.
    pub fn check_proposals(&self) -> Result<(usize, Vec<ProposalFault>), LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok((0, Vec::new())) };
        let read = |which| store::read(&own, which).map_err(self.own_io());
        let (open, decided) = (read(ProposalFolder::Open)?, read(ProposalFolder::Decided)?);
        let waiting = store::ids(&own, ProposalFolder::Open).map_err(self.own_io())?;
        let count = open.len() + decided.len();
        let (twins, decided): (Vec<_>, Vec<_>) =
            decided.into_iter().partition(|entry| entry.is_open() && waiting.contains(entry.id()));
        let twice = waiting.into_iter().filter(|id| decided.iter().any(|entry| entry.id() == id));
        let mut faults: Vec<_> = twice.map(|id| ProposalFault { id, kind: ProposalFaultKind::Twice }).collect();
        let in_doubt = twins.iter().map(|entry| entry.id().clone());
        faults.extend(in_doubt.map(|id| ProposalFault { id, kind: ProposalFaultKind::InDoubt }));
        for (entries, place) in [(&open, ProposalFolder::Open), (&decided, ProposalFolder::Decided)] {
            let kinds = entries.iter().filter_map(|entry| Some((entry.id().clone(), self.fault_of(entry, place)?)));
            faults.extend(kinds.map(|(id, kind)| ProposalFault { id, kind }));
        }
        Ok((count, faults))
    }

    fn fault_of(&self, entry: &ProposalEntry, place: ProposalFolder) -> Option<ProposalFaultKind> {
        let proposal = match entry {
            ProposalEntry::Whole(proposal) => proposal,
            ProposalEntry::Damaged(damaged) if damaged.decided.is_some() && place == ProposalFolder::Decided => {
                return None;
            }
            ProposalEntry::Damaged(damaged) => return Some(ProposalFaultKind::Damaged(damaged.why.clone())),
        };
        if entry.is_open() != (place == ProposalFolder::Open) {
            return Some(ProposalFaultKind::Misplaced);
        }
        if entry.is_open() {
            return self.candidate_again(proposal).err().map(ProposalFaultKind::Unfounded);
        }
        let revision = proposal.decided.as_ref().and_then(|decided| decided.revision.clone())?;
        self.bundle(&revision).is_err().then_some(ProposalFaultKind::NoRevision(revision))
    }

    fn candidate_again(&self, proposal: &Proposal) -> Result<Bundle, String> {
        let base = match &proposal.base {
            Some(base) => {
                self.bundle(base).map_err(|error| format!("its base {} is missing: {error}", base.short()))?
            }
            None => Bundle::default(),
        };
        proposal.candidate(&base, self.limits())
    }

    /// Moves the file of a proposal that is [`ProposalFaultKind::Twice`] or [`ProposalFaultKind::Misplaced`]. In the
    /// first case the file among the open proposals is renamed and kept. Returns the new location; `None` for any
    /// other fault.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn repair_proposal(&self, fault: &ProposalFault, time: Timestamp) -> Result<Option<String>, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(None) };
        let _lock: LibraryLock = self.lock()?;
        let file = format!("{}.json", fault.id);
        let folder = |which| store::folder(&own, which).map_err(self.own_io());
        let (waiting, decided) = (folder(ProposalFolder::Open)?, folder(ProposalFolder::Decided)?);
        let moved = match fault.kind {
            ProposalFaultKind::Twice => {
                let aside = aside_name(&waiting, &file, time);
                waiting.rename(&file, &waiting, &aside).map(|()| aside)
            }
            ProposalFaultKind::Misplaced => move_over(&file, &waiting, &decided),
            _ => return Ok(None),
        };
        let synced = moved.and_then(|place| {
            sync_folder(&waiting)?;
            sync_folder(&decided)?;
            Ok(place)
        });
        synced.map(Some).map_err(self.own_io())
    }
}

/// Moves a file from the folder that has it to the other one, and returns a description of the latter.
fn move_over(file: &str, waiting: &Dir, decided: &Dir) -> std::io::Result<String> {
    let (from, to, place) = match waiting.exists(file) {
        true => (waiting, decided, "among the decided proposals"),
        false => (decided, waiting, "among the open proposals"),
    };
    if to.exists(file) {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    from.rename(file, to, file).map(|()| place.to_owned())
}
