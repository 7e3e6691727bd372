//! Bringing back an earlier revision: the spine of `manage` with an old content in place of an edit.

use library::{
    Action, Content, FindError, FolderState, HandEditFault, Library, NewRevision, Revision, RevisionSpec, Snapshot,
    SnapshotError, Stamp, TakeOver,
};
use skill::SkillName;

use crate::{
    error::ManageError,
    manage::{Change, Context, builtin_refusal, check_expected, conclude, note_refusal, retry},
    report::Report,
    request::{Notes, RequestError},
};

/// What is asked of [`roll_back`].
#[derive(Debug, Clone)]
pub struct Rollback {
    /// The skill.
    pub skill: SkillName,
    /// The revision to bring back; `None` for the one before the head.
    pub to: Option<String>,
    /// The head that the caller saw; another one refuses the request.
    pub expected_revision: Option<String>,
    /// Why, in which run and conversation.
    pub notes: Notes,
    /// Whether everything is done but the commit.
    pub dry_run: bool,
}

/// Brings a whole skill back to an earlier revision, files and modes alike, as a new revision. The
/// old content is scanned again. Asked for the head, it puts aside whatever was done to the folder
/// by hand, keeping it as a revision.
///
/// # Errors
/// [`ManageError`]; nothing has changed then.
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
    let spec = parse_target(rollback)?;
    if library.head(skill)?.is_none()
        && context.elsewhere.iter().any(|o| o.name == *skill && o.scope == library::Scope::Builtin)
    {
        return Err(builtin_refusal(skill));
    }
    if let Some(head) = library.head(skill)?
        && is_head(library, skill, &spec, rollback, &head)?
    {
        return restore_head(library, rollback, head, context, stamp);
    }
    let take_over = if rollback.dry_run { TakeOver::Pretend } else { TakeOver::Commit };
    let snapshot = library.snapshot(skill, stamp, take_over)?;
    check_expected(skill, rollback.expected_revision.as_deref(), &snapshot)?;
    let target = library.find(skill, &spec, rollback.to.as_deref().unwrap_or("head~1"))?;
    let candidate = content_of(library, skill, &target)?;
    let change = Change {
        skill,
        action: Action::Rollback,
        snapshot,
        candidate,
        origin: target.origin.clone(),
        absorbed_into: None,
        before: None,
        messages: vec![format!("back to revision {} ({})", target.number, target.id.short())],
        dry_run: rollback.dry_run,
        by_policy: false,
    };
    conclude(library, change, context, stamp)
}

fn parse_target(rollback: &Rollback) -> Result<RevisionSpec, ManageError> {
    match &rollback.to {
        None => Ok(RevisionSpec::Head(1)),
        Some(text) => text.parse().map_err(|error: library::RevisionSpecError| {
            ManageError::Request(RequestError::Malformed(error.to_string()))
        }),
    }
}

/// Whether the head itself is asked for, however it is named.
fn is_head(
    library: &Library,
    skill: &SkillName,
    spec: &RevisionSpec,
    rollback: &Rollback,
    head: &Revision,
) -> Result<bool, ManageError> {
    match spec {
        RevisionSpec::Head(steps) => Ok(*steps == 0),
        _ => match library.find(skill, spec, rollback.to.as_deref().unwrap_or_default()) {
            Ok(found) => Ok(found.id == head.id),
            Err(FindError::Storage(error)) => Err(error.into()),
            Err(_) => Ok(false),
        },
    }
}

/// The files of a revision that may be restored.
fn content_of(library: &Library, skill: &SkillName, target: &Revision) -> Result<skill::Bundle, ManageError> {
    if target.tombstone {
        let message = format!(
            "revision {} of {skill} is its deletion; `skillhub manage delete {skill}` deletes it",
            target.number
        );
        return Err(RequestError::Malformed(message).into());
    }
    let bundle = library.bundle(&target.id)?;
    if !target.was_cleared() {
        let findings = scan::scan(&bundle).findings;
        let message = format!(
            "revision {} of {skill} is a hand edit that was kept although it was blocked; it is never restored",
            target.number
        );
        return Err(ManageError::ScanBlocked { message, findings });
    }
    Ok(bundle)
}

/// Restores the folder to the head, and keeps what stood there as a revision before it.
fn restore_head(
    library: &mut Library,
    rollback: &Rollback,
    head: Revision,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let skill = &rollback.skill;
    let external = stamp.external("changed by hand");
    let kept =
        |content| Some(NewRevision::new(content, Action::External, external.clone()).with_origin(head.origin.clone()));
    let before = match library.folder_state(skill)? {
        FolderState::Absent | FolderState::Clean => None,
        FolderState::Missing => kept(Content::Tombstone),
        FolderState::Modified(cleared) => kept(Content::Cleared(*cleared)),
        FolderState::Blocked(HandEditFault::Unreadable(fault)) => {
            return Err(SnapshotError::ExternalBlocked { skill: skill.clone(), fault: fault.into() }.into());
        }
        FolderState::Blocked(fault) => {
            kept(Content::Captured(scan::capture(fault.bundle().cloned().unwrap_or_default())))
        }
    };
    let candidate = library.bundle(&head.id)?;
    let kept_something = before.is_some();
    let origin = head.origin.clone();
    let snapshot = Snapshot { base: Some(head), bundle: candidate.clone() };
    check_expected(skill, rollback.expected_revision.as_deref(), &snapshot)?;
    let message = if kept_something {
        "the hand edit is kept as the revision before this one"
    } else {
        "the folder is at its head"
    };
    let change = Change {
        skill,
        action: Action::Rollback,
        snapshot,
        candidate,
        origin,
        absorbed_into: None,
        before,
        messages: vec![message.to_owned()],
        dry_run: rollback.dry_run,
        by_policy: false,
    };
    conclude(library, change, context, stamp)
}
