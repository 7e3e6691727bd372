//! The spine that every change goes through.

use jiff::Timestamp;
use library::{
    Action, Actor, Checkout, Commit, CommitError, Committed, Content, Event, Library, NewRevision, Origin,
    RevisionSpec, Scope, Snapshot, SnapshotError, Stamp, TakeOver,
};
use scan::{Cleared, Verdict};
use skill::{Bundle, Edit, Problem, SkillName, Strictness, diff, edit, edit::EditError, validate::validate_bundle};

use crate::{
    error::ManageError,
    policy::{Decision, Policy, Proposed},
    report::{Report, ReportedProblem, Status, VerdictReport},
    request::{Notes, Request},
};

/// How often a request is made again on a head that moved meanwhile.
const ATTEMPTS: usize = 8;

/// A skill that the library's readers see although it is not in the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its name.
    pub name: SkillName,
    /// In which scope it is.
    pub scope: Scope,
    /// Where, for a message: `in the user's library`.
    pub place: String,
}

/// What a request is judged by, besides the library.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Who acts.
    pub actor: Actor,
    /// When.
    pub time: Timestamp,
    /// How much agents may change.
    pub policy: Policy,
    /// Skills of other scopes.
    pub elsewhere: &'a [Elsewhere],
}

impl Context<'_> {
    pub(crate) fn stamp(&self, notes: &Notes) -> Stamp {
        Stamp {
            actor: self.actor.clone(),
            time: self.time,
            reason: notes.reason.clone(),
            run: notes.run.clone(),
            thread: notes.thread.clone(),
        }
    }
}

/// Changes a skill as asked, or says why not. A refusal is noted in the event log, that of a dry run
/// excepted.
///
/// # Errors
/// [`ManageError`]; nothing has changed then.
pub fn manage(library: &mut Library, request: &Request, context: &Context<'_>) -> Result<Report, ManageError> {
    let stamp = context.stamp(&request.notes);
    let attempt = |library: &mut Library| attempt(library, request, context, &stamp);
    let result = retry(library, request.expected_revision.is_none(), attempt);
    if let (Err(error), false) = (&result, request.dry_run) {
        note_refusal(library, &request.skill, request.action, &stamp, error);
    }
    result
}

/// Repeats an attempt whose base moved, when the caller did not insist on that base.
pub(crate) fn retry(
    library: &mut Library,
    may_move: bool,
    attempt: impl Fn(&mut Library) -> Result<Report, ManageError>,
) -> Result<Report, ManageError> {
    let mut tries = 1;
    loop {
        match attempt(library) {
            Err(error) if may_move && tries < ATTEMPTS && is_stale(&error) => tries += 1,
            result => return result,
        }
    }
}

fn is_stale(error: &ManageError) -> bool {
    match error {
        ManageError::Commit(error) => matches!(error, CommitError::Stale { .. }),
        ManageError::Snapshot(SnapshotError::Commit(error)) => matches!(**error, CommitError::Stale { .. }),
        _ => false,
    }
}

pub(crate) fn note_refusal(library: &Library, skill: &SkillName, action: Action, stamp: &Stamp, error: &ManageError) {
    let event = Event::refused(stamp, skill.as_str(), action.as_str(), error.code(), &error.to_string());
    // The refusal itself is the answer; a log that cannot be written must not hide it.
    let _unlogged = library.record(&event);
}

fn attempt(
    library: &mut Library,
    request: &Request,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    check_elsewhere(library, request, context)?;
    let take_over = if request.dry_run { TakeOver::Pretend } else { TakeOver::Commit };
    let snapshot = library.snapshot(&request.skill, stamp, take_over)?;
    check_expected(&request.skill, request.expected_revision.as_deref(), &snapshot)?;
    let (candidate, notes) = apply_all(request, &snapshot.bundle, library)?;
    let origin = snapshot.base.as_ref().and_then(|base| base.origin.clone()).filter(|_| snapshot.exists());
    let change = Change {
        skill: &request.skill,
        action: request.action,
        snapshot,
        candidate,
        origin,
        absorbed_into: request.absorbed_into.clone(),
        before: None,
        messages: [request.remarks.clone(), notes].concat(),
        dry_run: request.dry_run,
        by_policy: true,
    };
    conclude(library, change, context, stamp)
}

/// What a name of another scope means for a request: `create` finds it taken, a change of a built-in
/// skill is refused, any other scope is simply not this library.
fn check_elsewhere(library: &Library, request: &Request, context: &Context<'_>) -> Result<(), ManageError> {
    let Some(other) = context.elsewhere.iter().find(|other| other.name == request.skill) else { return Ok(()) };
    let own = library.head(&request.skill)?.is_some_and(|head| !head.tombstone)
        || library.folders()?.iter().any(|folder| folder == request.skill.as_str());
    match request.edits.first() {
        _ if own => Ok(()),
        Some(Edit::Create { .. }) => {
            Err(ManageError::ExistsElsewhere { name: other.name.clone(), place: other.place.clone() })
        }
        _ if other.scope == Scope::Builtin => Err(builtin_refusal(&other.name)),
        _ => Ok(()),
    }
}

pub(crate) fn builtin_refusal(name: &SkillName) -> ManageError {
    ManageError::PolicyDenied {
        message: format!("{name} is built in and cannot be changed"),
        hint: format!("`skillhub install skillhub/{name}` puts a copy that can be changed into your library"),
    }
}

pub(crate) fn check_expected(name: &SkillName, expected: Option<&str>, snapshot: &Snapshot) -> Result<(), ManageError> {
    let Some(expected) = expected else { return Ok(()) };
    let head = snapshot.base.as_ref();
    let fits = match (expected.parse(), head) {
        (Ok(RevisionSpec::Head(0)), Some(_)) => true,
        (Ok(RevisionSpec::Number(number)), Some(head)) => head.number == number,
        (Ok(RevisionSpec::Prefix(prefix)), Some(head)) => head.id.as_str().starts_with(&prefix),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let head = head.map(|head| head.id.to_string());
    Err(ManageError::StaleRevision { name: name.clone(), expected: expected.to_owned(), head })
}

fn apply_all(request: &Request, bundle: &Bundle, library: &Library) -> Result<(Bundle, Vec<String>), ManageError> {
    let mut candidate = bundle.clone();
    let mut notes = Vec::new();
    for edit in &request.edits {
        let in_edit = |fault: EditError| ManageError::Edit { name: request.skill.clone(), fault };
        let applied = edit::apply(edit, &candidate, library.limits()).map_err(in_edit)?;
        candidate = applied.bundle;
        notes.extend(applied.notes);
    }
    Ok((candidate, notes))
}

/// A change that was worked out and is to be judged and committed.
pub(crate) struct Change<'a> {
    pub skill: &'a SkillName,
    pub action: Action,
    pub snapshot: Snapshot,
    pub candidate: Bundle,
    pub origin: Option<Origin>,
    pub absorbed_into: Option<String>,
    /// A hand edit that is kept as a revision of its own before this one.
    pub before: Option<NewRevision>,
    pub messages: Vec<String>,
    pub dry_run: bool,
    /// Whether the policy is asked; a rollback applies once cleared.
    pub by_policy: bool,
}

/// Steps 4 to 9: the standard, the scanner, the policy, the commit and the report.
pub(crate) fn conclude(
    library: &mut Library,
    change: Change<'_>,
    context: &Context<'_>,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    check_pinned(library, change.skill, context)?;
    let problems = check_standard(library, &change)?;
    let cleared = clear(&change)?;
    let difference = diff::diff(&change.snapshot.bundle, &change.candidate);
    let new_verdict = cleared.as_ref().map_or(Verdict::Allow, |cleared| cleared.report().new_verdict());
    if change.by_policy {
        let proposed = Proposed {
            before: &change.snapshot,
            after: &change.candidate,
            files: &difference.files,
            verdict: new_verdict,
        };
        check_policy(change.skill, context, &proposed)?;
    }
    let mut report = Report {
        ok: true,
        status: Status::DryRun,
        action: change.action,
        name: change.skill.to_string(),
        revision: None,
        number: None,
        previous_revision: change.snapshot.base.as_ref().map(|base| base.id.clone()),
        files: difference.files,
        diff: difference.text,
        verdict: verdict_of(cleared.as_ref()),
        problems,
        proposal: None,
        checkout: Checkout::Done,
        message: change.messages.join("; "),
    };
    if report.files.is_empty() && change.before.is_none() {
        return Ok(unchanged(report, &change.snapshot));
    }
    if !change.dry_run {
        let committed = commit(library, change, cleared, stamp)?;
        applied(&mut report, committed);
    }
    Ok(report)
}

fn check_pinned(library: &Library, skill: &SkillName, context: &Context<'_>) -> Result<(), ManageError> {
    let person = context.actor.kind == library::ActorKind::Person;
    if person || !library.state()?.of(skill).pinned {
        return Ok(());
    }
    Err(ManageError::PolicyDenied {
        message: format!("{skill} is pinned: agents may not change it"),
        hint: format!("a person can `skillhub unpin {skill}` at a terminal"),
    })
}

fn check_standard(library: &Library, change: &Change<'_>) -> Result<Vec<ReportedProblem>, ManageError> {
    if change.candidate.is_empty() {
        return Ok(Vec::new());
    }
    let check =
        |bundle: &Bundle| validate_bundle(bundle, Some(change.skill.as_str()), Strictness::Standard, library.limits());
    let known = if change.snapshot.exists() { check(&change.snapshot.bundle) } else { Vec::new() };
    let problems = check(&change.candidate);
    let errors: Vec<Problem> = problems.iter().filter(|p| p.is_error() && !p.is_among(&known)).cloned().collect();
    if !errors.is_empty() {
        return Err(ManageError::InvalidSkill { name: change.skill.clone(), problems: errors });
    }
    Ok(ReportedProblem::list(problems, &known))
}

/// The candidate as a value that may be committed; `None` for a deletion.
fn clear(change: &Change<'_>) -> Result<Option<Cleared>, ManageError> {
    if change.candidate.is_empty() {
        return Ok(None);
    }
    match scan::clear(change.candidate.clone(), change.snapshot.baseline()) {
        Ok(cleared) => Ok(Some(cleared)),
        Err(blocked) => {
            Err(ManageError::ScanBlocked { message: blocked.to_string(), findings: blocked.report.findings.clone() })
        }
    }
}

fn check_policy(skill: &SkillName, context: &Context<'_>, proposed: &Proposed<'_>) -> Result<(), ManageError> {
    match context.policy.decide(context.actor.kind, proposed) {
        Decision::Apply => Ok(()),
        Decision::Hold(why) => Err(ManageError::PolicyDenied {
            message: format!("a person must decide about this change of {skill}: {why}"),
            hint: "ask a person to make the change at a terminal, or change what the findings name".to_owned(),
        }),
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

fn unchanged(mut report: Report, snapshot: &Snapshot) -> Report {
    report.status = Status::Unchanged;
    report.revision = snapshot.base.as_ref().map(|base| base.id.clone());
    report.number = snapshot.base.as_ref().map(|base| base.number);
    if report.message.is_empty() {
        "the skill is like that already".clone_into(&mut report.message);
    }
    report
}

fn commit(
    library: &mut Library,
    change: Change<'_>,
    cleared: Option<Cleared>,
    stamp: &Stamp,
) -> Result<Option<Committed>, ManageError> {
    let content = cleared.map_or(Content::Tombstone, Content::Cleared);
    let revision = NewRevision {
        content,
        action: change.action,
        stamp: stamp.clone(),
        origin: change.origin,
        absorbed_into: change.absorbed_into,
    };
    let commit = Commit {
        skill: change.skill.clone(),
        base: change.snapshot.base.map(|base| base.id),
        revisions: change.before.into_iter().chain([revision]).collect(),
    };
    Ok(library.commit(vec![commit])?.into_iter().next())
}

fn applied(report: &mut Report, committed: Option<Committed>) {
    let Some(committed) = committed else { return };
    report.status = Status::Applied;
    report.number = Some(committed.revision.number);
    report.revision = Some(committed.revision.id);
    let remark = match &committed.checkout {
        Checkout::Done => None,
        Checkout::HandEditKept(id) => {
            Some(format!("the folder was edited by hand meanwhile; that edit is kept as revision {}", id.short()))
        }
        Checkout::Pending(why) => Some(format!("the folder does not show the revision yet: {why}")),
    };
    if let Some(remark) = remark {
        report.message =
            [report.message.as_str(), &remark].iter().filter(|s| !s.is_empty()).copied().collect::<Vec<_>>().join("; ");
    }
    report.checkout = committed.checkout;
}
