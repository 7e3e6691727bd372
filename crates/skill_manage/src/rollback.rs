//! [`roll_back`]: the restoration of an earlier revision, through the pipeline of `manage` with an old content in place
//! of an edit.

use library::{
    Action, ActorKind, Content, FindError, FolderState, HandEdit, HandEditMode, Library, NewRevision, Revision,
    RevisionSpec, Scope, Snapshot, SnapshotError, Stamp, return_reason,
};
use skill::{Bundle, SkillName};

use crate::{
    change::Change,
    conclude::another_revision,
    context::Context,
    error::ManageError,
    manage::{builtin_refusal, check_expected, is_unrecorded, note_refusal, retry},
    report::Report,
    request::{Notes, RequestError},
    review,
};

/// Word for the newest revision.
const HEAD: &str = "head";

/// Request to [`roll_back`] a skill.
#[derive(Debug, Clone)]
pub struct Rollback {
    /// Name of the skill.
    pub skill: SkillName,
    /// Revision to restore. `None` for the previous content: the head if the folder has a hand edit, or else the newest
    /// revision with different files.
    pub to: Option<String>,
    /// Head that the caller saw. The request is refused at any other head.
    pub expected_revision: Option<String>,
    /// Reason, run and conversation.
    pub notes: Notes,
    /// True to stop before the commit.
    pub dry_run: bool,
}

/// Restores a whole skill to an earlier revision, with files and modes, as a new revision. The old content is scanned
/// again. A rollback to the head sets aside any hand edit of the folder and keeps it as a revision; without one, and
/// asked for as `head`, it withdraws the actor's pending proposal for the skill.
///
/// # Errors
/// [`ManageError`], in which case nothing has changed, except that an acceptable hand edit may have been recorded as a
/// separate revision.
pub fn roll_back(library: &mut Library, rollback: &Rollback, context: &Context<'_>) -> Result<Report, ManageError> {
    let stamp = context.stamp(&rollback.notes);
    let attempt = |library: &mut Library| attempt(library, rollback, context, &stamp);
    let result = retry(library, rollback.expected_revision.is_none(), attempt);
    if let (Err(error), false) = (&result, rollback.dry_run) {
        note_refusal(library, &rollback.skill, Action::Rollback, &stamp, error);
    }
    result
}

fn attempt(
    library: &mut Library,
    rollback: &Rollback,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let skill = &rollback.skill;
    let Some(head) = library.head(skill)? else { return Err(unknown(skill, context)) };
    library.check_pinned(skill, &context.actor)?;
    let target = find_target(library, rollback, &head)?;
    if target.id == head.id {
        return restore_head(library, rollback, head, context, stamp);
    }
    let mode = if rollback.dry_run { HandEditMode::DryRun } else { HandEditMode::Commit };
    let snapshot = library.snapshot(skill, stamp, mode)?;
    let hand_edit = rollback.dry_run && is_unrecorded(library, &snapshot)?;
    check_expected(skill, rollback.expected_revision.as_deref(), &snapshot, hand_edit)?;
    let candidate = content_of(library, skill, &target)?;
    check_kept_edit(library, skill, &target, &candidate, &snapshot, context)?;
    let mut change = Change::back_to(skill, snapshot, candidate, target.origin.clone());
    change.messages = vec![format!("restored the files of revision {} ({})", target.number, target.id.short())];
    change.dry_run = rollback.dry_run;
    review::commit_or_hold(library, change, context, stamp)
}

/// Judges a recorded hand edit like a new one when an agent restores it, since it may have been set aside without
/// anyone accepting it.
fn check_kept_edit(
    library: &Library,
    skill: &SkillName,
    target: &Revision,
    candidate: &Bundle,
    snapshot: &Snapshot,
    context: &Context<'_>,
) -> Result<(), ManageError> {
    let is_person = context.actor.kind == ActorKind::Person;
    if is_person || target.action != Action::External || !snapshot.exists() || *candidate == snapshot.bundle {
        return Ok(());
    }
    // Content that the scanner blocks is refused later.
    let Ok(cleared) = library.clear(skill, candidate.clone(), snapshot.baseline())? else { return Ok(()) };
    let edit = HandEdit {
        skill,
        origin: snapshot.base.as_ref().and_then(|base| base.origin.as_ref()),
        before: &snapshot.bundle,
        after: candidate,
        verdict: cleared.report().new_verdict(),
        is_return: false,
    };
    match context.policy.judge_edit(&context.actor, &edit).objection() {
        None => Ok(()),
        Some(why) => Err(ManageError::PolicyDenied {
            message: format!("revision {} of {skill} is an edit that only a person can restore: {why}", target.number),
            hint: format!("a person can restore it in a terminal: skillhub rollback {skill} {}", target.number).into(),
        }),
    }
}

/// Returns the error for a skill without history.
fn unknown(skill: &SkillName, context: &Context<'_>) -> ManageError {
    if context.surroundings.shadowed_skills().iter().any(|other| other.name == *skill && other.scope == Scope::Builtin)
    {
        return builtin_refusal(skill);
    }
    FindError::NoSkill(skill.clone()).into()
}

/// Returns the revision to restore. A named revision is looked up in the recorded history, regardless of hand edits to
/// the folder.
fn find_target(library: &Library, rollback: &Rollback, head: &Revision) -> Result<Revision, ManageError> {
    let Some(text) = &rollback.to else { return find_previous(library, &rollback.skill, head) };
    let malformed = |error| RequestError::Revision { skill: rollback.skill.clone(), error };
    let spec: RevisionSpec = text.parse().map_err(malformed)?;
    Ok(library.find(&rollback.skill, &spec, text)?)
}

/// Returns the revision with the previous content. This is the head if the folder has an acceptable hand edit, or else
/// the newest revision with different files, skipping returns to earlier revisions. A blocked edit is set aside only if
/// the head is named.
fn find_previous(library: &Library, skill: &SkillName, head: &Revision) -> Result<Revision, ManageError> {
    match library.folder_state(skill)? {
        FolderState::Modified(_) => return Ok(head.clone()),
        FolderState::Blocked(fault) => {
            return Err(SnapshotError::ExternalBlocked { skill: skill.clone(), fault }.into());
        }
        FolderState::Earlier { revision, .. } => {
            let spec = format!("before revision {}", revision.number);
            let none = || FindError::NoRevision { skill: skill.clone(), spec };
            return Ok(library.previous_content(skill, &revision)?.ok_or_else(none)?);
        }
        FolderState::Absent | FolderState::Clean | FolderState::Missing => {}
    }
    let none = || FindError::NoRevision { skill: skill.clone(), spec: "before its head".to_owned() };
    Ok(library.previous_content(skill, head)?.ok_or_else(none)?)
}

/// Returns the files of a revision that may be restored.
fn content_of(library: &Library, skill: &SkillName, target: &Revision) -> Result<Bundle, ManageError> {
    if target.tombstone {
        return Err(is_deletion(skill, target));
    }
    let bundle = library.bundle(&target.id)?;
    if !target.was_cleared() {
        let findings = library.scanner().scan(&bundle).findings;
        let message = format!("revision {} of {skill} is a blocked hand edit and is never restored", target.number);
        return Err(ManageError::ScanBlocked { message, findings, hint: another_revision(skill) });
    }
    Ok(bundle)
}

fn is_deletion(skill: &SkillName, target: &Revision) -> ManageError {
    RequestError::Deletion { skill: skill.clone(), number: target.number }.into()
}

/// Restores the folder to the head, and keeps its content as a revision before it. A missing folder is written again.
fn restore_head(
    library: &mut Library,
    rollback: &Rollback,
    head: Revision,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let skill = &rollback.skill;
    let state = library.folder_state_to_write(skill)?;
    let checks_out_again = matches!(state, FolderState::Missing);
    let mut reason = "changed by hand".to_owned();
    let (hand_edit, message) = match state {
        FolderState::Absent => return Err(is_deletion(skill, &head)),
        FolderState::Clean => (None, "the folder already has the newest revision"),
        FolderState::Missing => (None, "the folder was missing and was restored"),
        FolderState::Modified(cleared) => {
            (Some(Content::Cleared(*cleared)), "the hand edit was kept as the previous revision")
        }
        FolderState::Earlier { revision, cleared, .. } => {
            reason = return_reason(revision.number, None);
            (Some(Content::Cleared(*cleared)), "the folder was at an earlier revision")
        }
        FolderState::Blocked(fault) => match fault.bundle() {
            Some(bundle) => (
                Some(Content::Captured(scan::capture(bundle.clone(), &library.scanner()))),
                "the hand edit was kept as the previous revision, which is never restored",
            ),
            None => return Err(SnapshotError::ExternalBlocked { skill: skill.clone(), fault }.into()),
        },
    };
    let external = |content| {
        let stamp = stamp.external(&reason);
        NewRevision::new(content, Action::External, stamp).with_origin(head.origin.clone())
    };
    let hand_edit = hand_edit.map(external);
    let candidate = library.bundle(&head.id)?;
    let origin = head.origin.clone();
    let snapshot = Snapshot { base: Some(head), bundle: candidate.clone() };
    check_expected(skill, rollback.expected_revision.as_deref(), &snapshot, false)?;
    let mut change = Change::back_to(skill, snapshot, candidate, origin);
    // An actor withdraws its proposal by a return to `head`, where the folder already has it.
    let may_withdraw = rollback.to.as_deref() == Some(HEAD) && hand_edit.is_none() && !checks_out_again;
    change.on_proposal = may_withdraw && review::has_own(library, skill, stamp)?;
    (change.hand_edit, change.checks_out_again) = (hand_edit, checks_out_again);
    (change.messages, change.dry_run) = (vec![message.to_owned()], rollback.dry_run);
    review::commit_or_hold(library, change, context, stamp)
}
