//! [`hold`]: a change that needs a person's decision becomes a proposal, or amends one.
//!
//! An actor has at most one pending, applicable proposal per skill, and its further changes join that one. The actor
//! sees the live skill, not its candidate, so an edit is applied to the live skill, and both changes are merged. If
//! they conflict, the edit is applied to the candidate instead: there a patch finds its text or fails, and a file
//! written in full replaces the actor's earlier version. An edit that only makes sense on the candidate, such as a
//! patch of a skill that is itself only proposed, is applied there as well.

use library::{
    Action, Evidence, HeldChange, Library, Proposal, ProposalChange, ProposalEntry, ProposalState, Snapshot, Stamp,
};
use skill::failure::{Hint, NextStep};
use skill::{Bundle, Edit, SkillName, edit};

use super::{
    ProposalRef,
    rebase::{self, Rebased, rebase},
};
use crate::{
    change::Change,
    conclude::{CheckedChange, Conclusion, Held, Permitted, conclude, judge},
    context::Context,
    error::ManageError,
    policy::Ruling,
    report::{Report, Status},
};

/// Judges and commits a change. What a person has to decide becomes a proposal.
pub(crate) fn commit_or_hold(
    library: &mut Library,
    change: Change<'_>,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    match conclude(library, change, context, stamp)? {
        Conclusion::Done(report) => Ok(report),
        Conclusion::Held(held) => hold(library, held, context, stamp),
        Conclusion::Reverted(change, report) => close_reverted(library, &change, report, stamp),
    }
}

/// Makes a proposal of a judged change, or amends the pending proposal of its actor.
pub(crate) fn hold(
    library: &mut Library,
    Held { change, judged, why }: Held<'_>,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let Some(own) = own_proposal(library, change.skill, stamp)? else {
        return propose(library, &change, judged, &why, stamp, None);
    };
    let on_head = match rebase(library, &own, &change.snapshot)? {
        Rebased::Clean(bundle) => bundle,
        Rebased::Stale(reason, _) => {
            let stale = StaleProposal { proposal: own, why: reason };
            return propose(library, &change, judged, &why, stamp, Some(stale));
        }
    };
    let joined = join(library, &change, &own, &on_head)?;
    if joined == change.snapshot.bundle {
        return close_reverted(library, &change, judged.report, stamp);
    }
    let is_new = joined != on_head;
    let change = change.with_candidate(joined);
    let mut judged = judge(library, &change)?;
    let why = match judged.decide(&change, context)? {
        Permitted::Hold(why) => why,
        Permitted::Apply(_) => why,
    };
    judged.report.decision = Some(Ruling::Hold);
    match is_new {
        _ if change.dry_run => Ok(would_be_held(judged.report, &why, Some(&own), is_new)),
        true => amend(library, own, &change, judged, &why, stamp),
        false => Ok(held(judged.report, &own, "an open proposal already has the same change")),
    }
}

/// Pending proposal that is found to be stale.
struct StaleProposal {
    proposal: Proposal,
    why: String,
}

/// Returns whether the actor has a pending proposal for the skill that its further changes join.
pub(crate) fn has_own(library: &Library, skill: &SkillName, stamp: &Stamp) -> Result<bool, ManageError> {
    Ok(own_proposal(library, skill, stamp)?.is_some())
}

/// Returns the pending proposal of this actor for this skill, unless it is stale or merges a release.
fn own_proposal(library: &Library, skill: &SkillName, stamp: &Stamp) -> Result<Option<Proposal>, ManageError> {
    let is_own = |proposal: &Proposal| {
        proposal.skill == *skill
            && proposal.actor == stamp.actor
            && proposal.release.is_none()
            && proposal.state != ProposalState::Stale
            && !proposal.is_expired(stamp.time)
    };
    Ok(library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole).find(is_own))
}

/// Applies a request's edits to the pending proposal of its actor. Returns `None` if there is no such proposal or the
/// edits do not apply to it either.
pub(crate) fn apply_on_own(
    library: &Library,
    skill: &SkillName,
    edits: &[Edit],
    snapshot: &Snapshot,
    stamp: &Stamp,
) -> Result<Option<Bundle>, ManageError> {
    let Some(own) = own_proposal(library, skill, stamp)? else { return Ok(None) };
    let Rebased::Clean(on_head) = rebase(library, &own, snapshot)? else { return Ok(None) };
    Ok(apply(library, edits, &on_head).ok())
}

fn apply(library: &Library, edits: &[Edit], bundle: &Bundle) -> Result<Bundle, edit::EditError> {
    edits.iter().try_fold(bundle.clone(), |bundle, edit| Ok(edit::apply(edit, &bundle, library.limits())?.bundle))
}

/// Combines the pending proposal with the new edit. A deletion also removes proposed content, and an edit of a skill
/// always conflicts with its deletion, regardless of the files.
fn join(library: &Library, change: &Change<'_>, own: &Proposal, on_head: &Bundle) -> Result<Bundle, ManageError> {
    if change.candidate.is_empty() {
        return Ok(Bundle::default());
    }
    let merged = rebase::merge(library, &change.snapshot.bundle, on_head, &change.candidate)?;
    let deletes = on_head.is_empty() && change.snapshot.exists();
    if merged.is_clean() && !deletes {
        return Ok(merged.bundle);
    }
    // A rollback or a hand edit has no edits to repeat on the proposal.
    let joined = if change.edits.is_empty() { None } else { apply(library, change.edits, on_head).ok() };
    joined.ok_or_else(|| ManageError::MergeConflict {
        message: format!("the edit of {} conflicts with your open proposal {}", change.skill, own.id),
        hint: Hint::from("review the proposal with ")
            .step(NextStep::DiffProposal(own.id.to_string()))
            .text(", or withdraw it with ")
            .step(NextStep::Withdraw {
                id: own.id.to_string(),
                skill: own.skill.to_string(),
                is_new: !change.snapshot.exists(),
            }),
        conflicts: merged.conflicts,
    })
}

fn would_be_held(mut report: Report, why: &str, own: Option<&Proposal>, is_new: bool) -> Report {
    report.add(&format!("it would be held for review by a person: {why}"));
    match own {
        Some(own) if is_new => report.add(&format!("it would be added to the open proposal {}", own.id)),
        Some(own) => report.add(&format!("the open proposal {} already has the same change", own.id)),
        None => {}
    }
    report
}

fn propose(
    library: &mut Library,
    change: &Change<'_>,
    judged: CheckedChange,
    why: &str,
    stamp: &Stamp,
    stale: Option<StaleProposal>,
) -> Result<Report, ManageError> {
    if change.dry_run {
        return Ok(would_be_held(judged.report, why, None, true));
    }
    let held_change = HeldChange {
        skill: change.skill,
        action: change.action,
        base: change.snapshot.base.as_ref().map(|base| base.id.clone()),
        before: &change.snapshot.bundle,
        candidate: &change.candidate,
        why: why.to_owned(),
        scan: judged.scan(),
    };
    let waits = Proposal::new(held_change, stamp, library.proposal_expiry(stamp.time));
    let (absorbed_into, evidence) = (change.absorbed_into.clone(), change.evidence.clone());
    let proposal = Proposal { absorbed_into, evidence, ..waits };
    let mut changes = set_aside(library, &proposal, stale, stamp)?;
    changes.extend(expired(library, stamp)?);
    changes.push(ProposalChange::noted(proposal.clone(), stamp));
    library.commit(changes)?;
    Ok(held(judged.report, &proposal, &format!("held for review by a person: {why}")))
}

fn amend(
    library: &mut Library,
    own: Proposal,
    change: &Change<'_>,
    judged: CheckedChange,
    why: &str,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let mut amended = Proposal {
        state: ProposalState::Pending,
        revision: own.revision + 1,
        action: action_of(change, own.action),
        reason: both_reasons(own.reason.as_deref(), stamp.reason.as_deref(), library.limits().note_chars),
        run: stamp.run.clone().or(own.run),
        thread: stamp.thread.clone().or(own.thread),
        absorbed_into: change.absorbed_into.clone().or(own.absorbed_into),
        evidence: Evidence::joined(&own.evidence, &change.evidence),
        why: why.to_owned(),
        scan: judged.scan(),
        updated: stamp.time,
        expires: library.proposal_expiry(stamp.time),
        edited_by: None,
        note: None,
        ..own
    };
    let base = change.snapshot.base.as_ref().map(|base| base.id.clone());
    amended.set_candidate(base, &change.snapshot.bundle, &change.candidate);
    library.commit(ProposalChange::noted(amended.clone(), stamp))?;
    let message = format!("added to your open proposal and held for review by a person: {why}");
    Ok(held(judged.report, &amended, &message))
}

/// Closes the proposal of an actor whose latest edit reverts all of it.
fn close_reverted(
    library: &mut Library,
    change: &Change<'_>,
    report: Report,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let base = change.snapshot.base.as_ref();
    let (revision, number) = (base.map(|base| base.id.clone()), base.map(|base| base.number));
    let nothing = Report { files: Vec::new(), diff: String::new(), delta: None, decision: None, ..report };
    let mut report = Report { status: Status::Unchanged, revision, number, ..nothing };
    let Some(own) = own_proposal(library, change.skill, stamp)? else { return Ok(report) };
    let id = own.id.clone();
    if change.dry_run {
        report.status = Status::DryRun;
        report.add(&format!("the edit would revert all of the proposal {id} and withdraw it"));
        return Ok(report);
    }
    let withdrawn = own.closed(ProposalState::Rejected, stamp);
    library.commit(ProposalChange::noted(withdrawn, stamp))?;
    report.add(&format!("the edit reverts all of the proposal {id}, which was withdrawn"));
    Ok(report)
}

/// Closes or marks the stale proposals of the same actor for the same skill: those known to be stale, and the one just
/// found to be. A proposal is superseded if the new one changes all of its files. Any other stays open, since its
/// content exists nowhere else.
fn set_aside(
    library: &Library,
    new: &Proposal,
    found: Option<StaleProposal>,
    stamp: &Stamp,
) -> Result<Vec<ProposalChange>, ManageError> {
    let is_stale = |proposal: &Proposal| {
        proposal.skill == new.skill
            && proposal.actor == new.actor
            && proposal.release.is_none()
            && proposal.state == ProposalState::Stale
            && !proposal.is_expired(stamp.time)
    };
    let is_replaced =
        |proposal: &Proposal| proposal.files.iter().all(|file| new.files.iter().any(|newer| newer.path == file.path));
    let superseded = |proposal: Proposal, why: &str| {
        let note = format!("replaced by {} from the same actor: {why}", new.id);
        ProposalChange::noted(proposal.superseded(&new.id, &note, stamp), stamp)
    };
    let open = library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    let known = open.filter(|proposal| is_stale(proposal) && is_replaced(proposal));
    let mut changes: Vec<ProposalChange> = known
        .map(|proposal| {
            let why = proposal.note.clone().unwrap_or_default();
            superseded(proposal, &why)
        })
        .collect();
    changes.extend(found.map(|StaleProposal { proposal, why }| match is_replaced(&proposal) {
        true => superseded(proposal, &why),
        false => {
            let stale = Proposal { state: ProposalState::Stale, note: Some(why), ..proposal };
            ProposalChange::noted(stale, stamp)
        }
    }));
    Ok(changes)
}

/// Closes a proposal whose time has run out.
pub(super) fn expire(proposal: Proposal, stamp: &Stamp) -> ProposalChange {
    let stamp = Stamp { reason: None, ..stamp.clone() };
    ProposalChange::noted(proposal.closed(ProposalState::Expired, &stamp), &stamp)
}

/// Returns the changes that close the overdue proposals of the library.
fn expired(library: &Library, stamp: &Stamp) -> Result<Vec<ProposalChange>, ManageError> {
    let open = library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    Ok(open.filter(|proposal| proposal.is_expired(stamp.time)).map(|proposal| expire(proposal, stamp)).collect())
}

fn held(mut report: Report, proposal: &Proposal, message: &str) -> Report {
    report.status = Status::Proposed;
    report.proposal = Some(proposal.id.to_string());
    report.proposal_revision = Some(proposal.revision);
    report.action = proposal.action;
    report.add(message);
    let reviewed = ProposalRef::reviewed(proposal, proposal.base.as_ref());
    report.add(&format!(
        "a person can review it with `skillhub review diff {}` and decide with `skillhub review accept {reviewed}` or \
         `reject`",
        proposal.id
    ));
    report
}

/// Returns the action of an amended proposal as a whole.
fn action_of(change: &Change<'_>, before: Action) -> Action {
    match (change.candidate.is_empty(), change.snapshot.exists()) {
        (true, _) => Action::Delete,
        (false, false) => Action::Create,
        (false, true) if before == change.action => before,
        (false, true) => Action::Operations,
    }
}

/// Joins the reasons of both edits if they fit the limit.
fn both_reasons(before: Option<&str>, now: Option<&str>, limit_chars: usize) -> Option<String> {
    match (before, now) {
        (Some(before), Some(now)) if before != now => {
            let both = format!("{before}; {now}");
            Some(if both.chars().count() <= limit_chars { both } else { now.to_owned() })
        }
        (before, now) => now.or(before).map(str::to_owned),
    }
}
