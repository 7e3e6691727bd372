//! [`ProposalFault`]: what is wrong with the files of proposals, and putting them where they belong.

use cap_std::fs::Dir;
use jiff::Timestamp;
use skill::Bundle;

use super::{
    Proposal, ProposalEntry, ProposalId,
    store::{self, Which},
};
use crate::{
    disk::{open_dir, sync_folder},
    library::{Library, LibraryError, aside_name},
    lock::LibraryLock,
    revision::RevisionId,
};

/// One thing that is wrong with a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalFault {
    /// The proposal.
    pub id: ProposalId,
    /// What it is.
    pub kind: ProposalFaultKind,
}

/// What is wrong with a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalFaultKind {
    /// Its file cannot be understood: why.
    Damaged(String),
    /// It is decided, and its file stands among those that wait as well.
    Twice,
    /// Its file stands among those that wait though it is decided, or the other way round.
    Misplaced,
    /// It waits, and its file among the decided ones holds no decision: nobody knows whether there was one.
    InDoubt,
    /// It waits, and what it was made on does not lead to what was proposed any more: why.
    Unfounded(String),
    /// It was accepted, and the revision that it became cannot be read.
    NoRevision(RevisionId),
}

impl Library {
    /// How many proposals there are, and what is wrong with them.
    ///
    /// # Errors
    /// The system refused.
    pub fn check_proposals(&self) -> Result<(usize, Vec<ProposalFault>), LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok((0, Vec::new())) };
        let read = |which| store::read(&own, which).map_err(self.own_io());
        let (open, decided) = (read(Which::Open)?, read(Which::Decided)?);
        let waiting = store::ids(&own, Which::Open).map_err(self.own_io())?;
        let count = open.len() + decided.len();
        let (twins, decided): (Vec<_>, Vec<_>) =
            decided.into_iter().partition(|entry| entry.is_open() && waiting.contains(entry.id()));
        let twice = waiting.into_iter().filter(|id| decided.iter().any(|entry| entry.id() == id));
        let mut faults: Vec<_> = twice.map(|id| ProposalFault { id, kind: ProposalFaultKind::Twice }).collect();
        let in_doubt = twins.iter().map(|entry| entry.id().clone());
        faults.extend(in_doubt.map(|id| ProposalFault { id, kind: ProposalFaultKind::InDoubt }));
        for (entries, place) in [(&open, Which::Open), (&decided, Which::Decided)] {
            let kinds = entries.iter().filter_map(|entry| Some((entry.id().clone(), self.fault_of(entry, place)?)));
            faults.extend(kinds.map(|(id, kind)| ProposalFault { id, kind }));
        }
        Ok((count, faults))
    }

    fn fault_of(&self, entry: &ProposalEntry, place: Which) -> Option<ProposalFaultKind> {
        let proposal = match entry {
            ProposalEntry::Whole(proposal) => proposal,
            ProposalEntry::Damaged(damaged) if damaged.decided.is_some() && place == Which::Decided => return None,
            ProposalEntry::Damaged(damaged) => return Some(ProposalFaultKind::Damaged(damaged.why.clone())),
        };
        if entry.is_open() != (place == Which::Open) {
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
            Some(base) => self.bundle(base).map_err(|error| format!("its base {} is lost: {error}", base.short()))?,
            None => Bundle::default(),
        };
        proposal.candidate(&base, self.limits())
    }

    /// Moves the file of a proposal that is [`ProposalFaultKind::Twice`] or
    /// [`ProposalFaultKind::Misplaced`]: that of a decided one which still waits is kept under another
    /// name. Says where it is now; `None` where nothing can be done.
    ///
    /// # Errors
    /// The lock was not to be had, or the system refused.
    pub fn mend_proposal(&self, fault: &ProposalFault, time: Timestamp) -> Result<Option<String>, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(None) };
        let _lock: LibraryLock = self.lock()?;
        let file = format!("{}.json", fault.id);
        let folder = |which| store::folder(&own, which).map_err(self.own_io());
        let (waiting, decided) = (folder(Which::Open)?, folder(Which::Decided)?);
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

/// Moves a file to the other of two folders, of which one has it.
fn move_over(file: &str, waiting: &Dir, decided: &Dir) -> std::io::Result<String> {
    let (from, to, place) = match waiting.exists(file) {
        true => (waiting, decided, "among the decided ones"),
        false => (decided, waiting, "among those that wait"),
    };
    if to.exists(file) {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    from.rename(file, to, file).map(|()| place.to_owned())
}
