//! [`commit`]: the recording of a hand edit as a revision, with a reason.

use library::{
    Action, FindError, FolderState, HandEdit, HandEditMode, Library, Revision, Snapshot, SnapshotError, Stamp,
};
use scan::Cleared;
use skill::SkillName;
use skill::failure::{Hint, NextStep};

use crate::{
    change::Change,
    conclude::{CheckedChange, Held, judge},
    context::Context,
    error::ManageError,
    manage::{note_refusal, retry},
    policy::{Decision, Ruling},
    report::{Report, Status},
    request::Notes,
    review,
};

/// Request to record the edit of a folder.
#[derive(Debug, Clone)]
pub struct CommitEdit {
    /// Name of the skill whose folder was edited.
    pub skill: SkillName,
    /// Reason for the history. The run and the thread of a hand edit are unknown and are not recorded.
    pub notes: Notes,
    /// True to stop before the commit.
    pub dry_run: bool,
}

/// Records the content of a skill's folder as an external revision. The folder is not modified.
///
/// An edit by an agent is judged like a change through `skill_manage`: the policy may hold it as a proposal or refuse
/// it.
///
/// # Errors
/// [`ManageError`], in which case nothing has changed.
pub fn commit(library: &mut Library, edit: &CommitEdit, context: &Context<'_>) -> Result<Report, ManageError> {
    let stamp = Stamp { run: None, thread: None, ..context.stamp(&edit.notes) };
    let result = retry(library, true, |library| attempt(library, edit, context, &stamp));
    if let (Err(error), false) = (&result, edit.dry_run) {
        note_refusal(library, &edit.skill, Action::External, &stamp, error);
    }
    result
}

fn attempt(
    library: &mut Library,
    edit: &CommitEdit,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let skill = &edit.skill;
    let base = library.head(skill)?;
    let (cleared, returned) = match library.folder_state(skill)? {
        FolderState::Absent => return Err(FindError::NoSkill(skill.clone()).into()),
        FolderState::Blocked(fault) => {
            return Err(SnapshotError::ExternalBlocked { skill: skill.clone(), fault }.into());
        }
        FolderState::Clean | FolderState::Missing => {
            let change = change_of(library, edit, base, None)?;
            return review::commit_or_hold(library, change, context, stamp);
        }
        FolderState::Modified(cleared) => (cleared, None),
        FolderState::Earlier { revision, cleared, .. } => (cleared, Some(revision)),
    };
    library.check_pinned(skill, &context.actor)?;
    let change = change_of(library, edit, base, Some(&cleared))?;
    let mut judged = judge(library, &change)?;
    let is_return = returned.as_ref().is_some_and(|revision| revision.action != Action::External);
    if let Some(revision) = &returned {
        judged.report.add(&format!("the folder is at revision {}", revision.number));
    }
    let Decision { ruling, why } = decide(&change, &judged, is_return, context);
    match ruling {
        Ruling::Hold => {
            judged.report.decision = Some(Ruling::Hold);
            review::hold(library, Held { change, judged, why }, context, stamp)
        }
        Ruling::Deny => Err(ManageError::PolicyDenied {
            message: format!("the policy does not allow this edit of {skill}: {why}"),
            hint: Hint::from("only a person can record it, in a terminal; revert it with ")
                .step(NextStep::Restore(skill.to_string(), "head".to_owned()))
                .text("; ")
                .step(NextStep::ShowPolicy)
                .text(" shows the rules"),
        }),
        Ruling::Apply => record(library, edit, judged.report, &why, stamp),
    }
}

/// Decides about a hand edit. A folder without history is adopted, since presets and rules apply only to edits of a
/// skill.
fn decide(change: &Change<'_>, judged: &CheckedChange, is_return: bool, context: &Context<'_>) -> Decision {
    if !change.snapshot.exists() {
        return Decision { ruling: Ruling::Apply, why: "the folder had no history".to_owned() };
    }
    let edit = HandEdit {
        skill: change.skill,
        origin: change.origin.as_ref(),
        before: &change.snapshot.bundle,
        after: &change.candidate,
        verdict: judged.new_verdict(),
        is_return,
    };
    context.policy.judge_edit(&context.actor, &edit)
}

/// Represents the edit as a change of the head. Without an edit, the candidate is the head itself.
fn change_of<'a>(
    library: &Library,
    edit: &'a CommitEdit,
    base: Option<Revision>,
    cleared: Option<&Cleared>,
) -> Result<Change<'a>, ManageError> {
    let head = base.as_ref().filter(|base| !base.tombstone);
    let bundle = head.map(|head| library.bundle(&head.id)).transpose()?.unwrap_or_default();
    let found = cleared.map_or_else(|| bundle.clone(), |cleared| cleared.bundle().clone());
    let mut change = Change::of_hand_edit(&edit.skill, Snapshot { base, bundle }, found);
    change.dry_run = edit.dry_run;
    Ok(change)
}

fn record(
    library: &mut Library,
    edit: &CommitEdit,
    mut report: Report,
    why: &str,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    report.decision = Some(Ruling::Apply);
    if edit.dry_run {
        report.add(&format!("it would be recorded: {why}"));
        return Ok(report);
    }
    let recorded = library.snapshot(&edit.skill, stamp, HandEditMode::Record)?;
    if let Some(revision) = recorded.base {
        report.status = Status::Applied;
        report.number = Some(revision.number);
        report.previous_revision = revision.parent;
        report.revision = Some(revision.id);
    }
    Ok(report)
}
