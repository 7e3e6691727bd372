//! [`line_of`]: the revisions since the review checkpoint, as the gate judges them together.

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use library::{Action, ActorKind, Library, LibraryError, Outcome, Revision, RevisionId, Unreviewed};
use skill::SkillName;
use skill_manage::ManageError;

use crate::{
    decline::REFERENCE_RUNS,
    gate::{Count, GateState, Line},
    gate_config::OnDecline,
    runs::{Result as RunResult, runs},
};

/// Largest number of revisions in a line. The oldest ones after the checkpoint are left out.
const REVISIONS: usize = 1000;

/// Largest number of ancestors whose runs are added to those of the checkpoint.
const ANCESTORS: usize = 100;

/// Finds the line of a skill and the state of its history. `None` if a person kept the head, or without outcomes.
///
/// # Errors
/// The history cannot be read.
pub(super) fn line_of(
    library: &Library,
    skill: &SkillName,
    on_decline: OnDecline,
    outcomes: &[Outcome],
    now: Timestamp,
) -> Result<Option<(Line, GateState)>, ManageError> {
    if outcomes.is_empty() {
        return Ok(None);
    }
    let found = library.unreviewed(skill)?;
    let Some(head) = found.revisions.first() else { return Ok(None) };
    let mut live = live(&found.revisions);
    live.truncate(REVISIONS);
    let (base, with_ancestors) = reference(library, skill, &found, outcomes, now)?;
    let line = Line {
        kept: found.checkpoint.as_ref().map(|kept| kept.number),
        kept_id: found.checkpoint.as_ref().map(|kept| kept.id.clone()),
        with_ancestors,
        rolls_back: on_decline == OnDecline::RollBack,
        is_restored: found.checkpoint.as_ref().is_some_and(Revision::is_by_gate),
    };
    let state = GateState {
        head: head.digest.to_string(),
        base,
        candidate: live.iter().map(|revision| revision.id.clone()).collect(),
        guarded: None,
        unreadable: 0,
        authors: authors(&live),
    };
    Ok(Some((line, state)))
}

/// Returns the revisions whose runs are the reference of a line, and whether they include ancestors of the checkpoint.
fn reference(
    library: &Library,
    skill: &SkillName,
    found: &Unreviewed,
    outcomes: &[Outcome],
    now: Timestamp,
) -> Result<(Vec<RevisionId>, bool), LibraryError> {
    let Some(kept) = &found.checkpoint else { return Ok((Vec::new(), false)) };
    let revisions = library.revisions(skill, found.revisions.len() + super::REVISIONS)?;
    let (mut base, others) = before(&revisions, kept);
    let with_ancestors = known_runs(outcomes, &base, now) < REFERENCE_RUNS as usize;
    base.extend(others.into_iter().take(if with_ancestors { ANCESTORS } else { 0 }));
    Ok((base, with_ancestors))
}

impl Count {
    /// Counts a skill's runs since its review checkpoint, which `found` has, and those of the gate's reference. Runs of
    /// revisions that the gate or a person has undone are in neither, unless a small reference needs them.
    ///
    /// # Errors
    /// The outcomes or the history cannot be read.
    pub fn around_checkpoint(
        library: &Library,
        skill: &SkillName,
        found: &Unreviewed,
        now: Timestamp,
    ) -> Result<(Self, Self), LibraryError> {
        let (mut since, mut before) = (Self::default(), Self::default());
        let log = library.outcomes(skill)?;
        if log.outcomes.is_empty() {
            return Ok((since, before));
        }
        let live: HashSet<&RevisionId> = live(&found.revisions).into_iter().map(|revision| &revision.id).collect();
        let (base, _) = reference(library, skill, found, &log.outcomes, now)?;
        for run in runs(&log.outcomes, now) {
            if live.contains(run.revision) {
                since.add(run.result);
            } else if base.contains(run.revision) {
                before.add(run.result);
            }
        }
        Ok((since, before))
    }
}

/// Returns the revisions, newest first, without those that the gate or a person has undone since. Their runs were
/// judged already.
fn live(newest_first: &[Revision]) -> Vec<&Revision> {
    let mut live: Vec<&Revision> = Vec::new();
    for revision in newest_first.iter().rev().filter(|revision| revision.was_cleared() && !revision.tombstone) {
        let earlier = live.iter().rposition(|earlier| earlier.digest == revision.digest);
        if let Some(place) = earlier.filter(|_| may_undo(revision)) {
            live.truncate(place + 1);
        }
        live.push(revision);
    }
    live.reverse();
    live
}

/// Returns whether a return to earlier files by this actor undoes the revisions between. An agent that returns to them
/// does not remove the runs between from the line.
fn may_undo(revision: &Revision) -> bool {
    let actor = &revision.stamp.actor;
    match actor.kind {
        ActorKind::Person => true,
        ActorKind::External => revision.action == Action::External,
        ActorKind::Optimizer => revision.is_by_gate(),
        ActorKind::Agent => false,
    }
}

/// Returns the revisions with the checkpoint's files, and the other ones before it, both newest first.
fn before(revisions: &[Revision], kept: &Revision) -> (Vec<RevisionId>, Vec<RevisionId>) {
    let until = revisions.iter().filter(|revision| revision.number <= kept.number);
    let (same, others): (Vec<&Revision>, Vec<&Revision>) = until.partition(|revision| revision.digest == kept.digest);
    let ids = |revisions: Vec<&Revision>| revisions.into_iter().map(|revision| revision.id.clone()).collect();
    (ids(same), ids(others))
}

/// Counts the runs of these revisions with a known result.
fn known_runs(outcomes: &[Outcome], of: &[RevisionId], now: Timestamp) -> usize {
    let is_known = |result| matches!(result, RunResult::Success | RunResult::Failure);
    runs(outcomes, now).iter().filter(|run| is_known(run.result) && of.contains(run.revision)).count()
}

/// Returns the runs and conversations that made the revisions.
fn authors(revisions: &[&Revision]) -> Vec<String> {
    let ids = revisions.iter().flat_map(|revision| [&revision.stamp.run, &revision.stamp.thread]);
    ids.flatten().cloned().collect::<BTreeSet<String>>().into_iter().collect()
}
