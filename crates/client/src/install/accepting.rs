//! Acceptance by a person of skills that the scan blocks, during an install or update.

use std::collections::BTreeMap;

use super::{Batch, Candidate, InstallError, InstallRequest, Installed, Installer, PlanInputs, PlannedSkill, plan};
use crate::{
    accept::{self, BlockedSkill},
    lock_file::{LockFile, LockedWaiver},
};

impl Batch {
    /// Returns the skills that a person can be asked about, with their sequence numbers.
    fn as_blocked<'b>(&'b self, lock: &'b LockFile) -> Vec<(usize, BlockedSkill<'b>)> {
        let of_turn = |turn: usize| self.settled.iter().find(|(other, _)| *other == turn).map(|(_, result)| result);
        let asked = self.blocked.iter().filter_map(|(turn, candidate)| match of_turn(*turn)?.error.as_ref()? {
            InstallError::Blocked(blocked) => {
                Some((*turn, BlockedSkill { name: &candidate.name, blocked, told: listed_waivers(lock, candidate) }))
            }
            _ => None,
        });
        asked.collect()
    }

    /// Adds a warning for each waiver in the lock file that somebody else accepted.
    fn tell(&mut self, lock: &LockFile) {
        for (turn, candidate) in &self.blocked {
            let of_turn = self.settled.iter_mut().filter(|(other, _)| other == turn);
            of_turn.for_each(|(_, result)| {
                result.warnings.extend(listed_waivers(lock, candidate).iter().map(LockedWaiver::not_ours))
            });
        }
    }

    /// Replaces the settled result of a sequence number with a new plan or error.
    fn settle_again(&mut self, turn: usize, planned: Result<PlannedSkill, InstallError>) {
        let Some(at) = self.settled.iter().position(|(other, _)| *other == turn) else { return };
        let (_, before) = self.settled.swap_remove(at);
        match planned {
            Ok(planned) => {
                self.turns.push(turn);
                self.planned.push(planned);
            }
            Err(error) => self.settled.push((turn, Installed::failed(before.name, before.version, error))),
        }
    }
}

impl Installer<'_> {
    /// Asks a person about all blocked skills at once, and plans the accepted ones again.
    pub(crate) fn accept_blocked(
        &mut self,
        request: &InstallRequest,
        lock: &LockFile,
        batch: &mut Batch,
    ) -> Result<(), InstallError> {
        batch.tell(lock);
        let (turns, asked): (Vec<usize>, Vec<BlockedSkill<'_>>) = batch.as_blocked(lock).into_iter().unzip();
        if asked.is_empty() || request.dry_run {
            return Ok(());
        }
        let mut waivers: BTreeMap<_, _> = turns.into_iter().zip((self.accept)(&asked)).collect();
        for (turn, candidate) in std::mem::take(&mut batch.blocked) {
            let Some(waivers) = waivers.remove(&turn).filter(|waivers| !waivers.is_empty()) else { continue };
            if batch.planned.iter().any(|other| is_same(&other.candidate, &candidate)) {
                batch.settled.retain(|(other, _)| *other != turn);
                continue;
            }
            accept::store_waivers(self.library, &candidate.name, &waivers, self.stamp)?;
            let Self { stamp, permit, outcomes, .. } = *self;
            let (reports, git_paths) = (&batch.reports, &batch.git_paths);
            let inputs = PlanInputs { reports, request, stamp, permit, outcomes, git_paths };
            let planned = plan(self.library, candidate, inputs);
            batch.settle_again(turn, planned);
        }
        Ok(())
    }
}

/// Returns the waivers that the lock file lists for a skill.
fn listed_waivers<'l>(lock: &'l LockFile, candidate: &Candidate) -> &'l [LockedWaiver] {
    lock.get(&candidate.full_name()).map(|locked| locked.waivers.as_slice()).unwrap_or_default()
}

/// Returns whether both are the same skill, requested twice.
fn is_same(one: &Candidate, other: &Candidate) -> bool {
    one.name == other.name && one.origin == other.origin
}
