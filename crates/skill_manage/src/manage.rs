//! [`manage`]: the application of a request to the current skill, up to the judgement by `conclude`.

use library::{Action, CommitError, Event, HandEditMode, Library, RevisionSpec, Scope, Snapshot, SnapshotError, Stamp};
use skill::{
    Bundle, Edit, SkillName, edit,
    edit::EditError,
    failure::{Hint, NextStep},
};

use crate::{
    change::Change,
    context::{Context, ShadowedSkill},
    error::ManageError,
    report::Report,
    request::ChangeRequest,
    review,
    skill_history::SkillHistory,
};

/// Maximum length, in characters, of a logged message that may quote the request.
pub const NOTED_CHARS: usize = 500;

/// Largest number of replacements by all patches of a request, equal to the size of the largest text in bytes.
const PLACES: usize = 1 << 20;

/// Number of attempts at a request whose head moved in the meantime.
const ATTEMPTS: usize = 32;

/// Changes a skill as requested. Refusals are recorded in the event log, except those of dry runs.
///
/// # Errors
/// [`ManageError`], in which case nothing has changed, except that an acceptable hand edit may have been recorded as a
/// separate revision.
pub fn manage(library: &mut Library, request: &ChangeRequest, context: &Context<'_>) -> Result<Report, ManageError> {
    let stamp = context.stamp(&request.notes);
    let attempt = |library: &mut Library| attempt(library, request, context, &stamp);
    let result = retry(library, request.expected_revision.is_none(), attempt);
    if let (Err(error), false) = (&result, request.dry_run) {
        note_refusal(library, &request.skill, request.action, &stamp, error);
    }
    result
}

/// Retries an attempt that lost a race with another process.
pub(crate) fn retry_stale<T>(
    library: &mut Library,
    mut attempt: impl FnMut(&mut Library) -> Result<T, ManageError>,
) -> Result<T, ManageError> {
    let mut turn = library.queue_behind_retries();
    for _ in 1..ATTEMPTS {
        match attempt(library) {
            // Without the retry lock, the attempt is made anyway.
            Err(error) if is_stale(&error) => turn = turn.or_else(|| library.retry_lock().ok()),
            result => return result,
        }
    }
    attempt(library)
}

/// Retries an attempt whose base moved, unless the caller required that base.
pub(crate) fn retry(
    library: &mut Library,
    may_move: bool,
    attempt: impl Fn(&mut Library) -> Result<Report, ManageError>,
) -> Result<Report, ManageError> {
    match may_move {
        true => retry_stale(library, attempt),
        false => attempt(library),
    }
}

fn is_stale(error: &ManageError) -> bool {
    match error {
        ManageError::Commit(error) => {
            matches!(error, CommitError::Stale { .. } | CommitError::ProposalMoved { .. })
        }
        ManageError::Snapshot(SnapshotError::Commit(error)) => matches!(**error, CommitError::Stale { .. }),
        _ => false,
    }
}

/// Records an unreadable request in the event log, unless the library has no data yet.
pub fn note_unreadable(library: &Library, stamp: &Stamp, error: &ManageError) {
    if matches!(library::open_dir(library.own_path()), Ok(Some(_))) {
        // As with every refusal, the caller gets the error itself.
        let message: String = error.to_string().chars().take(NOTED_CHARS).collect();
        let _unlogged = library.record(&Event::refused(stamp, "", "manage", error.code(), &message));
    }
}

pub(crate) fn note_refusal(library: &Library, skill: &SkillName, action: Action, stamp: &Stamp, error: &ManageError) {
    let event = Event::refused(stamp, skill.as_str(), action.as_str(), error.code(), &error.to_string());
    // The caller gets the refusal itself. A failure to write the log must not hide it.
    let _unlogged = library.record(&event);
}

fn attempt(
    library: &mut Library,
    request: &ChangeRequest,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    library.check_pinned(&request.skill, &context.actor)?;
    let take_over = if request.dry_run { HandEditMode::DryRun } else { HandEditMode::Commit };
    let snapshot = library.snapshot(&request.skill, stamp, take_over)?;
    check_elsewhere(&snapshot, request, context)?;
    let mut messages = request.remarks.clone();
    let hand_edit = request.dry_run && is_unrecorded(library, &snapshot)?;
    if hand_edit {
        messages.push("the folder was changed by hand; that edit would be recorded first".to_owned());
    }
    check_expected(&request.skill, request.expected_revision.as_deref(), &snapshot, hand_edit)?;
    let (candidate, notes, on_proposal) = work_out(library, request, &snapshot, stamp)?;
    messages.extend(notes);
    let mut change = Change::new(&request.skill, request.action, snapshot, candidate);
    (change.edits, change.messages, change.on_proposal) = (&request.edits, messages, on_proposal);
    change.absorbed_into.clone_from(&request.absorbed_into);
    change.evidence.clone_from(&request.notes.evidence);
    change.dry_run = request.dry_run;
    review::commit_or_hold(library, change, context, stamp)
}

/// Checks a request against skills of the same name in other scopes. `create` is refused if a library of another scope
/// has the name, and a change of a built-in skill is refused. Other scopes do not affect the request.
fn check_elsewhere(snapshot: &Snapshot, request: &ChangeRequest, context: &Context<'_>) -> Result<(), ManageError> {
    if request.creates() {
        return check_free(&request.skill, snapshot, context);
    }
    if snapshot.exists() {
        return Ok(());
    }
    match context.surroundings.shadowed_skills().into_iter().find(|other| other.name == request.skill) {
        Some(ShadowedSkill { name, scope: Scope::Builtin, .. }) => Err(builtin_refusal(&name)),
        _ => Ok(()),
    }
}

/// Refuses to create a skill under a name that a library of another scope has. A skill with the name of a built-in one
/// is allowed, since this is how built-in skills are customised.
pub(crate) fn check_free(skill: &SkillName, snapshot: &Snapshot, context: &Context<'_>) -> Result<(), ManageError> {
    if snapshot.exists() {
        return Ok(());
    }
    let is_taken = |other: &ShadowedSkill| other.name == *skill && other.scope != Scope::Builtin;
    match context.surroundings.shadowed_skills().into_iter().find(is_taken) {
        Some(ShadowedSkill { name, place, .. }) => Err(ManageError::ExistsElsewhere { name, place }),
        None => Ok(()),
    }
}

/// Returns whether the snapshot contains a hand edit that no revision has, as in a dry run.
pub(crate) fn is_unrecorded(library: &Library, snapshot: &Snapshot) -> Result<bool, ManageError> {
    let recorded = match &snapshot.base {
        Some(base) => library.bundle(&base.id)?,
        None => Bundle::default(),
    };
    Ok(!snapshot.bundle.same_but_line_ends(&recorded))
}

pub(crate) fn builtin_refusal(name: &SkillName) -> ManageError {
    ManageError::PolicyDenied {
        message: format!("{name} is built in and cannot be changed"),
        hint: Hint::from("create a custom skill of the same name, which takes precedence; ")
            .step(NextStep::Install(format!("skillhub/{name}")))
            .text(" starts with a copy"),
    }
}

/// Checks that the head is the one that the caller expects. A hand edit that would be recorded first moves the head.
pub(crate) fn check_expected(
    name: &SkillName,
    expected: Option<&str>,
    snapshot: &Snapshot,
    hand_edit: bool,
) -> Result<(), ManageError> {
    let Some(expected) = expected else { return Ok(()) };
    let head = snapshot.base.as_ref();
    let fits = match (expected.parse(), head) {
        (Ok(RevisionSpec::Head(0)), Some(_)) => true,
        (Ok(RevisionSpec::Number(number)), Some(head)) => head.number == number,
        (Ok(RevisionSpec::Prefix(prefix)), Some(head)) => head.id.as_str().starts_with(&prefix),
        _ => false,
    };
    let head = match (fits, hand_edit) {
        (true, false) => return Ok(()),
        (_, true) => Some("a hand edit that is not a revision yet".to_owned()),
        (false, false) => head.map(|head| head.id.to_string()),
    };
    Err(ManageError::StaleRevision { name: name.clone(), expected: expected.to_owned(), head })
}

/// Applies the edits of a request to the skill. If they do not apply, it tries the pending proposal of the same actor.
/// The flag is true in the latter case.
fn work_out(
    library: &Library,
    request: &ChangeRequest,
    snapshot: &Snapshot,
    stamp: &Stamp,
) -> Result<(Bundle, Vec<String>, bool), ManageError> {
    let fault = match apply_all(request, snapshot, library) {
        Ok((candidate, notes)) => return Ok((candidate, notes, false)),
        Err(fault @ ManageError::Edit { .. }) => fault,
        Err(error) => return Err(error),
    };
    match review::apply_on_own(library, &request.skill, &request.edits, snapshot, stamp)? {
        Some(candidate) => Ok((candidate, Vec::new(), true)),
        None => Err(fault),
    }
}

fn apply_all(
    request: &ChangeRequest,
    snapshot: &Snapshot,
    library: &Library,
) -> Result<(Bundle, Vec<String>), ManageError> {
    let past = SkillHistory { library, snapshot };
    let patched_before = past.patched_before(&request.edits)?;
    let mut candidate = snapshot.bundle.clone();
    let (mut notes, mut places) = (Vec::new(), 0);
    for edit in &request.edits {
        if let Edit::Patch(patch) = edit
            && (patched_before.contains(&patch.path) || past.shows(patch, &candidate)?)
        {
            notes.push(format!("already applied: the history of {} has this change; nothing was changed", patch.path));
            continue;
        }
        let in_edit = |fault: EditError| ManageError::Edit { name: request.skill.clone(), fault };
        let applied = edit::apply(edit, &candidate, library.limits()).map_err(in_edit)?;
        places += applied.places;
        if places > PLACES {
            return Err(ManageError::TooLarge(format!("the patches change more than {PLACES} places in all")));
        }
        candidate = applied.bundle;
        notes.extend(applied.notes);
    }
    Ok((candidate, notes))
}
