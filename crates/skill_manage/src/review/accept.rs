//! [`accept`]: a proposal becomes a revision, on the current head and under the current rules.

use library::{
    Action, Event, HandEditMode, Library, Origin, Proposal, ProposalChange, ProposalEntry, ProposalId, ProposalState,
    Snapshot, Stamp, TrialTerms,
};
use skill::failure::{Hint, NextStep};
use skill::{SkillName, diff};

use super::{
    ProposalRef, ReviewError, ReviewedHead,
    decide::find_open,
    hold::commit_or_hold,
    rebase::{self, Rebased, rebase},
    release,
};
use crate::{
    change::{Accepted, Change},
    context::Context,
    error::ManageError,
    manage::{check_free, retry_stale},
    report::{Report, Status, VerdictReport},
    request::note,
    reviewer::Reviewer,
};

/// Request to [`accept`] a proposal.
#[derive(Debug, Clone)]
pub struct Accept {
    /// Proposal and the revision that was reviewed. The revision is required if the proposal was amended.
    pub target: ProposalRef,
    /// Reason for the decision.
    pub reason: Option<String>,
    /// Terms of a trial. If set, only a share of the runs gets the change until the outcomes show if it is worse.
    pub trial: Option<TrialTerms>,
}

/// Makes a proposal the newest revision of the skill, with the proposer as its author. The head may have moved if both
/// changes merge cleanly.
///
/// # Errors
/// [`ManageError`], in which case the skill is unchanged. A proposal that no longer applies is recorded as stale, and
/// one that the scanner blocks as quarantined.
pub fn accept(
    library: &mut Library,
    accept: &Accept,
    reviewer: &Reviewer,
    context: &Context<'_>,
) -> Result<Report, ManageError> {
    let reason = note("reason", accept.reason.clone(), library.limits())?;
    let stamp = Stamp { reason, ..Stamp::new(reviewer.actor().clone(), context.time) };
    let result = accept_named(library, accept, context, &stamp);
    match &result {
        Err(error) => note_refused(library, &accept.target.id, &stamp, error.code(), &error.to_string()),
        Ok(report) if report.status == Status::Applied => {
            // Proposals that remain open can be decided as before.
            let _unclosed = close_contained(library, &accept.target.id, report, &stamp);
        }
        Ok(_) => {}
    }
    result
}

/// Closes other proposals for the skill whose content it fully contains since this acceptance.
fn close_contained(
    library: &mut Library,
    accepted: &ProposalId,
    report: &Report,
    stamp: &Stamp,
) -> Result<(), ManageError> {
    let open = library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    let others = open.filter(|one| one.skill.as_str() == report.name && one.release.is_none() && one.id != *accepted);
    let others: Vec<Proposal> = others.filter(|one| !one.is_expired(stamp.time)).collect();
    let Some(first) = others.first() else { return Ok(()) };
    let Some(head) = library.head(&first.skill)? else { return Ok(()) };
    let now = Snapshot { bundle: library.bundle(&head.id)?, base: Some(head) };
    let mut changes = Vec::new();
    for other in others {
        if matches!(rebase(library, &other, &now), Ok(Rebased::Clean(bundle)) if bundle == now.bundle) {
            let note = format!("the skill has all of it since {accepted} was accepted");
            let closed = other.superseded(accepted, &note, stamp);
            changes.push(ProposalChange::noted(closed, stamp));
        }
    }
    if !changes.is_empty() {
        library.commit(changes)?;
    }
    Ok(())
}

/// Records a refused acceptance in the event log, with the actor and the reason.
pub fn note_refused(library: &Library, id: &ProposalId, stamp: &Stamp, code: &str, message: &str) {
    let Ok(Some(entry)) = library.proposal(id) else { return };
    let skill = match &entry {
        ProposalEntry::Whole(proposal) => Some(&proposal.skill),
        ProposalEntry::Damaged(damaged) => damaged.skill.as_ref(),
    };
    let event = Event::refused(stamp, skill.map_or("", SkillName::as_str), "accept", code, message);
    // The caller gets the refusal itself. A failure to write the log must not hide it.
    let _unlogged = library.record(&Event { proposal: Some(id.to_string()), ..event });
}

fn accept_named(
    library: &mut Library,
    accept: &Accept,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let mut target = accept.target.clone();
    let seen = find_open(library, &target, stamp)?;
    if target.revision.is_none() && seen.revision > 1 {
        return Err(ReviewError::Unnamed { id: seen.id, is: seen.revision }.into());
    }
    target.revision = Some(seen.revision);
    retry_stale(library, |library| attempt(library, &target, accept.trial.as_ref(), context, stamp))
}

fn attempt(
    library: &mut Library,
    target: &ProposalRef,
    trial: Option<&TrialTerms>,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let proposal = find_open(library, target, stamp)?;
    release::check_resolved(&proposal)?;
    library.check_pinned(&proposal.skill, &proposal.actor)?;
    let snapshot = library.snapshot(&proposal.skill, stamp, HandEditMode::Commit)?;
    let rebased = rebase(library, &proposal, &snapshot)?;
    check_head(target, &proposal, &snapshot, &rebased)?;
    if matches!(&rebased, Rebased::Clean(candidate) if !candidate.is_empty()) {
        check_free(&proposal.skill, &snapshot, context)?;
    }
    match rebased {
        Rebased::Stale(why, conflicts) => {
            let id = proposal.id.to_string();
            let hint = Hint::from("compare both sides with ")
                .step(NextStep::DiffProposalOntoHead(id.clone()))
                .text(format!(", then resolve the conflicts in a terminal with `skillhub review edit {id}`, or run "))
                .step(NextStep::RejectProposal(id));
            put_aside(library, proposal, ProposalState::Stale, &why, stamp)?;
            Err(ManageError::MergeConflict { message: why, hint, conflicts })
        }
        Rebased::Clean(candidate) if candidate == snapshot.bundle && proposal.release.is_none() => {
            superseded(library, proposal, &snapshot, stamp)
        }
        Rebased::Clean(candidate) => {
            let upstream = release::upstream(library, &proposal, &rebase::contents(library, &proposal)?.0, &snapshot);
            let upstream = match upstream {
                Err(ManageError::ScanBlocked { message, findings, hint }) => {
                    put_aside(library, proposal, ProposalState::Quarantined, &message, stamp)?;
                    return Err(ManageError::ScanBlocked { message, findings, hint });
                }
                other => other?,
            };
            let of_head = snapshot.base.as_ref().and_then(|base| base.origin.clone()).filter(|_| snapshot.exists());
            let origin = match &upstream {
                Some(upstream) => Some(upstream.origin.clone()),
                None if proposal.action == Action::Rollback => origin_of(library, &proposal)?,
                None => of_head,
            };
            let accepted = Accepted { proposal: proposal.clone().closed(ProposalState::Accepted, stamp), stamp, trial };
            let change = Change::accepting(&proposal.skill, snapshot, candidate, origin, upstream, accepted);
            let original = original_stamp(&proposal, stamp);
            let mut result = commit_or_hold(library, change, context, &original);
            if let Err(ManageError::ScanBlocked { message, hint, .. }) = &mut result {
                *hint = way_past_the_scan(&proposal).into();
                put_aside(library, proposal, ProposalState::Quarantined, message, stamp)?;
            }
            result
        }
    }
}

/// Checks that the head is the one that was reviewed, which defaults to the base of the proposal. Content that the
/// skill already has, and a proposal that no longer applies, are reported as such by the caller.
fn check_head(target: &ProposalRef, proposal: &Proposal, now: &Snapshot, rebased: &Rebased) -> Result<(), ReviewError> {
    let head = now.base.as_ref().map(|base| &base.id);
    let expected = target.head.clone().unwrap_or_else(|| ReviewedHead::of(proposal.base.as_ref()));
    let Rebased::Clean(candidate) = rebased else { return Ok(()) };
    if expected.is(head) || *candidate == now.bundle {
        return Ok(());
    }
    Err(ReviewError::HeadMoved {
        skill: proposal.skill.clone(),
        head: head.map_or_else(|| "none".to_owned(), ToString::to_string),
        now: Box::new(ProposalRef::reviewed(proposal, head)),
        diff: diff::diff(&now.bundle, candidate).text,
    })
}

/// Returns the origin of content that a proposal restores, since a proposal does not store it.
fn origin_of(library: &Library, proposal: &Proposal) -> Result<Option<Origin>, ManageError> {
    let mut revisions = library.revisions(&proposal.skill, usize::MAX)?.into_iter();
    let restored = revisions.find(|revision| !revision.tombstone && revision.digest == proposal.digest);
    Ok(restored.and_then(|revision| revision.origin))
}

fn way_past_the_scan(proposal: &Proposal) -> String {
    let Proposal { id, skill, .. } = proposal;
    format!(
        "change the lines named in the findings with `skillhub review edit {id}`; or save the file with `skillhub \
         review show {id} P`, accept the finding with `skillhub waive {skill} RULE --path P --content FILE --reason \
         WHY`, and accept the proposal again"
    )
}

/// Returns the proposer and reason, at the time of the acceptance.
fn original_stamp(proposal: &Proposal, stamp: &Stamp) -> Stamp {
    Stamp {
        actor: proposal.actor.clone(),
        time: stamp.time,
        reason: proposal.reason.clone(),
        run: proposal.run.clone(),
        thread: proposal.thread.clone(),
    }
}

/// Records the reason why a proposal cannot become a revision now. It stays pending.
fn put_aside(
    library: &mut Library,
    proposal: Proposal,
    state: ProposalState,
    why: &str,
    stamp: &Stamp,
) -> Result<(), ManageError> {
    if proposal.state == state && proposal.note.as_deref() == Some(why) {
        return Ok(());
    }
    let aside = Proposal { state, note: Some(why.to_owned()), ..proposal };
    library.commit(ProposalChange::noted(aside, stamp))?;
    Ok(())
}

/// Closes a proposal whose content the skill already has.
fn superseded(
    library: &mut Library,
    proposal: Proposal,
    snapshot: &Snapshot,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let note = "the skill already had this content".to_owned();
    let proposal = Proposal { note: Some(note.clone()), ..proposal.closed(ProposalState::Superseded, stamp) };
    library.commit(ProposalChange::noted(proposal.clone(), stamp))?;
    let base = snapshot.base.as_ref();
    Ok(Report {
        ok: true,
        status: Status::Unchanged,
        action: proposal.action,
        name: proposal.skill.to_string(),
        revision: base.map(|base| base.id.clone()),
        number: base.map(|base| base.number),
        previous_revision: base.map(|base| base.id.clone()),
        files: Vec::new(),
        diff: String::new(),
        delta: None,
        verdict: VerdictReport {
            level: proposal.scan.verdict(),
            ruleset: proposal.scan.ruleset.clone(),
            findings: proposal.scan.findings.clone(),
        },
        problems: Vec::new(),
        proposal: Some(proposal.id.to_string()),
        proposal_revision: Some(proposal.revision),
        decision: None,
        checkout: library::Checkout::Done,
        message: format!("{note}; the proposal is closed as superseded"),
    })
}
