//! [`conclude`]: the last steps of a [`Change`], which judge and commit it.

use std::cell::OnceCell;

use library::{
    Action, ActorKind, Checkout, Commit, CommitBatch, Committed, Content, EntryChange, FolderState, Library,
    NewRevision, Plans, ProposalChange, Snapshot, Stamp,
};
use scan::{Baseline, CapabilityDelta, Cleared, Verdict};
use skill::failure::{Hint, NextStep};
use skill::{Bundle, Problem, SkillName, Strictness, diff, validate::validate_bundle};

use crate::{
    change::{Accepted, Change},
    context::Context,
    error::ManageError,
    policy::{Decision, Proposed, Ruling},
    report::{Report, ReportedProblem, Status, VerdictReport},
    request::action_of,
    trial,
};

/// Change that passed the standard and the scanner.
pub(crate) struct CheckedChange {
    pub report: Report,
    cleared: Option<Cleared>,
}

impl CheckedChange {
    /// Returns the scan report of the candidate.
    pub fn scan(&self) -> scan::Report {
        let VerdictReport { ruleset, findings, .. } = self.report.verdict.clone();
        scan::Report { ruleset, findings }
    }

    /// Returns the verdict on findings that are new in this change.
    pub fn new_verdict(&self) -> Verdict {
        self.cleared.as_ref().map_or(Verdict::Allow, |cleared| cleared.report().new_verdict())
    }

    /// Returns the policy's decision to apply or hold the change, with the reason. A refusal is an error.
    pub fn decide(&self, change: &Change<'_>, context: &Context<'_>) -> Result<Permitted, ManageError> {
        check_policy(change, context, &self.report, self.cleared.as_ref())
    }
}

/// Decision about a change that the policy does not refuse, with the reason.
pub(crate) enum Permitted {
    Apply(String),
    Hold(String),
}

/// Conclusion about a change.
pub(crate) enum Conclusion<'a> {
    /// It was committed, would be, or changes nothing.
    Done(Report),
    /// A person has to decide about it.
    Held(Held<'a>),
    /// It reverts all that the proposal of its actor changes.
    Reverted(Change<'a>, Report),
}

/// Change that a person has to decide about, with the reason.
pub(crate) struct Held<'a> {
    pub change: Change<'a>,
    pub judged: CheckedChange,
    pub why: String,
}

/// Runs the last steps: the standard, the scanner, the policy, the commit and the report.
pub(crate) fn conclude<'a>(
    library: &mut Library,
    change: Change<'a>,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Conclusion<'a>, ManageError> {
    trial::check_set_back(library, &change, stamp)?;
    let mut judged = judge(library, &change)?;
    if judged.report.files.is_empty() && change.on_proposal {
        return Ok(Conclusion::Reverted(change, judged.report));
    }
    if judged.report.files.is_empty() && !change.checks_out_again {
        return unchanged(library, judged.report, &change).map(Conclusion::Done);
    }
    let why = match judged.decide(&change, context)? {
        Permitted::Hold(why) => {
            check_may_wait(library, &change, &why, stamp)?;
            judged.report.decision = Some(Ruling::Hold);
            return Ok(Conclusion::Held(Held { change, judged, why }));
        }
        Permitted::Apply(why) => why,
    };
    let CheckedChange { mut report, cleared } = judged;
    report.decision = Some(Ruling::Apply);
    if change.dry_run {
        library.check_taken_back(change.skill, &change.candidate, &stamp.actor)?;
        report.add(&format!("it would be applied: {why}"));
    } else {
        let entry = entry_change(library, &change, context);
        if let Some(by) = entry.as_ref().map(|entry| entry.required_by.join(", ")).filter(|by| !by.is_empty()) {
            report.add(&format!("it is still required by {by}"));
        }
        match trial::PlannedTrial::of(library, &change, cleared.as_ref())? {
            Some(planned) => {
                let committed = commit(library, change, cleared, entry, stamp, Some(planned.restoring(stamp)))?;
                planned.begin(library, &mut report, committed);
            }
            None => report.applied(commit(library, change, cleared, entry, stamp, None)?),
        }
    }
    Ok(Conclusion::Done(report))
}

/// Refuses to hold changes that no person should have to decide: content that a person already took back, and a
/// rollback that sets aside an edit of the folder, since a proposal could not store that edit.
fn check_may_wait(library: &Library, change: &Change<'_>, why: &str, stamp: &Stamp) -> Result<(), ManageError> {
    library.check_taken_back(change.skill, &change.candidate, &stamp.actor)?;
    match &change.hand_edit {
        None => Ok(()),
        Some(_) => Err(ManageError::PolicyDenied {
            message: format!("only a person can revert this edit of the folder of {}: {why}", change.skill),
            hint: format!("a person can revert it in a terminal: skillhub rollback {} head", change.skill).into(),
        }),
    }
}

/// Checks a change against the standard and the scanner.
pub(crate) fn judge(library: &Library, change: &Change<'_>) -> Result<CheckedChange, ManageError> {
    let problems = check_standard(library, change)?;
    let cleared = clear(library, change)?;
    Ok(CheckedChange { report: describe(change, cleared.as_ref(), problems), cleared })
}

/// Describes a change with unresolved merge conflicts. The standard and the scanner run only after a person has
/// resolved them.
pub(crate) fn unscanned(change: &Change<'_>) -> CheckedChange {
    let mut report = describe(change, None, Vec::new());
    report.add("not scanned yet: it has unresolved merge conflicts");
    CheckedChange { report, cleared: None }
}

/// Refuses an edit that introduces an error. Existing problems are reported and do not block.
fn check_standard(library: &Library, change: &Change<'_>) -> Result<Vec<ReportedProblem>, ManageError> {
    if change.candidate.is_empty() {
        return Ok(Vec::new());
    }
    let check =
        |bundle: &Bundle| validate_bundle(bundle, Some(change.skill.as_str()), Strictness::Standard, library.limits());
    let known = if change.snapshot.exists() { check(&change.snapshot.bundle) } else { Vec::new() };
    let problems = check(&change.candidate);
    let new: Vec<Problem> = problems.iter().filter(|problem| !problem.is_among(&known)).cloned().collect();
    if change.must_conform() && new.iter().any(Problem::is_error) {
        return Err(ManageError::InvalidSkill { name: change.skill.clone(), problems: new });
    }
    Ok(ReportedProblem::list(problems, &known))
}

/// Returns the hint for a revision that cannot be restored.
pub(crate) fn another_revision(skill: &SkillName) -> Hint {
    Hint::from("choose another revision; ")
        .step(NextStep::ShowHistory(skill.to_string()))
        .text(" lists them with their verdicts")
}

/// Scans the candidate and returns it as a committable value, or `None` for a deletion.
fn clear(library: &Library, change: &Change<'_>) -> Result<Option<Cleared>, ManageError> {
    if change.candidate.is_empty() {
        return Ok(None);
    }
    match library.clear(change.skill, change.candidate.clone(), baseline(&change.snapshot))? {
        Ok(cleared) => Ok(Some(cleared)),
        Err(blocked) => {
            let message = blocked.to_string();
            let findings = blocked.into_report().findings;
            let hint = match (change.action, findings.first()) {
                (Action::Rollback, _) | (_, None) => another_revision(change.skill),
                (_, Some(first)) => {
                    let rule = &first.rule;
                    let lines = Hint::from("change the lines named in the findings; ");
                    lines.step(NextStep::ExplainRule(rule.to_string())).text(" describes the rule")
                }
            };
            Err(ManageError::ScanBlocked { message, findings, hint })
        }
    }
}

/// Returns the baseline of the scan. If a skill exists without a recorded revision, the snapshot is the hand edit seen
/// by a dry run, and it was cleared when the snapshot was taken.
fn baseline(snapshot: &Snapshot) -> Baseline<'_> {
    let recorded = snapshot.base.as_ref().is_some_and(|base| !base.tombstone);
    if recorded || !snapshot.exists() { snapshot.baseline() } else { Baseline::Cleared(&snapshot.bundle) }
}

/// Builds the report of a change as a dry run. Files and diff are relative to the previous revision, which is the
/// recorded hand edit if there is one. The text of a blocked hand edit is not shown.
fn describe(change: &Change<'_>, cleared: Option<&Cleared>, problems: Vec<ReportedProblem>) -> Report {
    let hand_edit = change.hand_edit.as_ref().map(|revision| &revision.content);
    let kept = hand_edit.map(Content::bundle);
    let before = kept.as_ref().unwrap_or(&change.snapshot.bundle);
    let difference = diff::diff(before, &change.candidate);
    let is_shown = !matches!(hand_edit, Some(Content::Captured(_)));
    Report {
        ok: true,
        status: Status::DryRun,
        action: change.action,
        name: change.skill.to_string(),
        revision: None,
        number: None,
        previous_revision: change.snapshot.base.as_ref().map(|base| base.id.clone()),
        files: difference.files,
        diff: if is_shown { difference.text } else { String::new() },
        delta: CapabilityDelta::between(before, &change.candidate).filter(|_| is_shown),
        verdict: verdict_of(cleared),
        problems,
        proposal: change.accepted.as_ref().map(|accepted| accepted.proposal.id.to_string()),
        proposal_revision: change.accepted.as_ref().map(|accepted| accepted.proposal.revision),
        decision: None,
        checkout: Checkout::Done,
        message: change.messages.join("; "),
    }
}

fn verdict_of(cleared: Option<&Cleared>) -> VerdictReport {
    match cleared.map(Cleared::report) {
        Some(report) => VerdictReport {
            level: report.verdict(),
            ruleset: report.ruleset.to_string(),
            findings: report.findings.clone(),
        },
        None => VerdictReport { level: Verdict::Allow, ruleset: scan::ruleset().to_owned(), findings: Vec::new() },
    }
}

/// Completes the report of a request that changes nothing. It creates no revision and writes no folder.
fn unchanged(library: &Library, mut report: Report, change: &Change<'_>) -> Result<Report, ManageError> {
    let base = change.snapshot.base.as_ref();
    report.status = Status::Unchanged;
    report.revision = base.map(|base| base.id.clone());
    report.number = base.map(|base| base.number);
    if report.message.is_empty() {
        "the skill already has this content".clone_into(&mut report.message);
    }
    if matches!(library.folder_state(change.skill)?, FolderState::Missing) {
        let why = format!("the folder is missing; `skillhub rollback {} head` restores it", change.skill);
        report.add(&why);
        report.checkout = Checkout::Pending(why);
    }
    Ok(report)
}

/// Returns the actions for the policy: the requested action, or that of each edit. A change that extends a proposal may
/// consist of any edits, so all of them are checked.
fn actions_of(change: &Change<'_>) -> Vec<Action> {
    match change.edits {
        _ if change.on_proposal => {
            vec![Action::Create, Action::Edit, Action::Patch, Action::WriteFile, Action::RemoveFile]
        }
        [] => vec![change.action],
        edits => edits.iter().map(action_of).collect(),
    }
}

/// Returns the policy's decision to apply or hold a change, with the reason. A refusal is an error.
fn check_policy(
    change: &Change<'_>,
    context: &Context<'_>,
    report: &Report,
    cleared: Option<&Cleared>,
) -> Result<Permitted, ManageError> {
    if change.accepted.is_some() {
        return Ok(Permitted::Apply("a person accepted it".to_owned()));
    }
    let verdict = cleared.map_or(Verdict::Allow, |cleared| cleared.report().new_verdict());
    let actions = actions_of(change);
    let proposed = Proposed {
        skill: change.skill.as_str(),
        actions: &actions,
        origin: change.origin.as_ref(),
        before: &change.snapshot.bundle,
        after: &change.candidate,
        files: &report.files,
        verdict,
        privilege: OnceCell::new(),
    };
    let Decision { ruling, why } = context.policy.decide(&context.actor, &proposed);
    match ruling {
        Ruling::Deny => Err(ManageError::PolicyDenied {
            message: format!("the policy does not allow this change of {}: {why}", change.skill),
            hint: Hint::from("change only what the policy allows, or ask a person to do it; ")
                .step(NextStep::ShowPolicy)
                .text(" shows the rules"),
        }),
        Ruling::Apply if context.actor.kind != ActorKind::Person => {
            // The skill itself is restored, whatever its files are.
            let removed = Library::removed_by_person(change.skill, change.snapshot.base.as_ref());
            Ok(removed.map_or(Permitted::Apply(why), |removed| Permitted::Hold(removed.to_string())))
        }
        Ruling::Apply => Ok(Permitted::Apply(why)),
        Ruling::Hold => Ok(Permitted::Hold(why)),
    }
}

/// Plans the change of the lock file with the deletion of an installed skill, or with a rollback that brings it back.
fn entry_change(library: &Library, change: &Change<'_>, context: &Context<'_>) -> Option<EntryChange> {
    let origin = change.origin.as_ref()?;
    let is_deleted = change.snapshot.base.as_ref().is_some_and(|base| base.tombstone);
    match change.candidate.is_empty() {
        true => context.surroundings.deleted_entry(library, change.skill, origin),
        false if is_deleted && change.action == Action::Rollback => {
            context.surroundings.returned_entry(library, change.skill, origin)
        }
        false => None,
    }
}

fn commit(
    library: &mut Library,
    change: Change<'_>,
    cleared: Option<Cleared>,
    entry: Option<EntryChange>,
    stamp: &Stamp,
    behind: Option<NewRevision>,
) -> Result<Option<Committed>, ManageError> {
    let (lock_lines, before) = entry.map(|entry| (entry.lines, entry.before)).unzip();
    let content = cleared.map_or(Content::Tombstone, Content::Cleared);
    let revision = NewRevision {
        before,
        origin: change.origin,
        absorbed_into: change.absorbed_into,
        acceptance: change.accepted.as_ref().map(Accepted::acceptance),
        upstream: change.upstream,
        ..NewRevision::new(content, change.action, stamp.clone())
    };
    let accepted = change.accepted.map(|Accepted { proposal, stamp, .. }| ProposalChange::noted(proposal, stamp));
    let commits = vec![Commit {
        skill: change.skill.clone(),
        base: change.snapshot.base.map(|base| base.id),
        revisions: change.hand_edit.into_iter().chain([revision]).chain(behind).collect(),
    }];
    let proposals = accepted.into_iter().collect();
    let plans = Plans { lock_lines, ..Plans::default() };
    Ok(library.commit(CommitBatch { commits, proposals, plans })?.into_iter().next())
}
