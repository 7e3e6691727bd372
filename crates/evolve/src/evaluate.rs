//! [`evaluate`]: the gate's view of a skill, its decision, and the execution of it.
//!
//! The gate does not run in the background. It is called whenever an outcome is recorded or the status is requested. A
//! decision is recorded in the event log with its numbers and all inputs except the outcomes, so that [`replay`] can
//! reproduce it.

mod guard;
mod line;
mod replay;

use jiff::{SignedDuration, Timestamp};
use library::{
    Action, Event, EventStatus, Library, Outcomes, Revision, RevisionId, Stamp, StoredSetBack, StoredTrial, TrialEnd,
    TrialTerms,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::SkillName;
use skill_manage::{Context, ManageError, Notes, Rollback, gate_actor, roll_back};

use crate::{
    gate::{Case, Decision, GateState, Line, Verdict, decide},
    gate_config::OnDecline,
};

pub use replay::{Replayed, replay};

/// Revisions to search for others with the same files.
const REVISIONS: usize = 1000;

/// Newest revisions of a rolled back line whose files are blocked.
const REFUSED: usize = 20;

/// The gate's view of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Name of the skill.
    pub skill: SkillName,
    /// Trial, if one is running or has just ended.
    pub trial: Option<StoredTrial>,
    /// Line that is judged. `None` if it is a single revision.
    pub line: Option<Line>,
    /// Revision that is judged, or the newest one of the line.
    pub revision: Revision,
    /// Decision on the revision.
    pub decision: Decision,
    /// True if the decision has just been executed.
    pub acted: bool,
    /// Number of the revision whose files were restored, if the decision was a rollback of the head or a line.
    pub restored: Option<u64>,
}

/// Decision in the event log, with its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    /// Decision that was made.
    pub decision: Decision,
    /// Trial. `None` if the head or a line was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<StoredTrial>,
    /// Line of revisions. `None` if a single revision was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// Terms of the decision.
    pub terms: TrialTerms,
    /// State of the history.
    pub standing: GateState,
    /// Number of outcomes known at the time.
    pub outcomes: usize,
    /// Time of the decision.
    pub now: String,
    /// Person who forced the decision, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_by: Option<String>,
}

impl Noted {
    fn case(&self) -> Case<'_> {
        case(self.trial.as_ref(), self.line.as_ref(), &self.terms)
    }
}

fn case<'a>(trial: Option<&'a StoredTrial>, line: Option<&'a Line>, terms: &'a TrialTerms) -> Case<'a> {
    match (trial, line) {
        (Some(trial), _) => Case::Trial(trial),
        (None, Some(line)) => Case::Line(line),
        (None, None) => Case::Head(terms),
    }
}

/// Evaluates a skill and executes the decisions: first on the trial or the head, then on the line of revisions since
/// the review checkpoint, unless the first one says something already. Returns those for which there is something to
/// judge.
///
/// # Errors
/// The library cannot be read or written.
pub fn evaluate(
    library: &mut Library,
    skill: &SkillName,
    terms: &TrialTerms,
    on_decline: OnDecline,
    context: &Context<'_>,
) -> Result<Vec<Evaluation>, ManageError> {
    let log = library.outcomes(skill)?;
    let judged = look_at_revision(library, skill, terms, &log, context.time)?;
    let of_revision = execute(library, judged, context)?;
    if of_revision.as_ref().is_some_and(says_something) {
        return Ok(of_revision.into_iter().collect());
    }
    let judged = look_at_line(library, skill, terms, on_decline, &log, context.time)?;
    let of_line = execute(library, judged, context)?;
    Ok(of_revision.into_iter().chain(of_line).collect())
}

fn says_something(found: &Evaluation) -> bool {
    found.decision.verdict != Verdict::Wait
}

fn execute(
    library: &mut Library,
    judged: Option<(Evaluation, Noted)>,
    context: &Context<'_>,
) -> Result<Option<Evaluation>, ManageError> {
    let Some((mut found, noted)) = judged else { return Ok(None) };
    found.acted = carry_out(library, &mut found, &noted, context)?;
    Ok(Some(found))
}

/// Evaluates a skill like [`evaluate`], without executing the decisions.
///
/// # Errors
/// The library cannot be read.
pub fn look(
    library: &Library,
    skill: &SkillName,
    terms: &TrialTerms,
    on_decline: OnDecline,
    now: Timestamp,
) -> Result<Vec<Evaluation>, ManageError> {
    let log = library.outcomes(skill)?;
    let of_revision = look_at_revision(library, skill, terms, &log, now)?.map(|(found, _)| found);
    if of_revision.as_ref().is_some_and(says_something) {
        return Ok(of_revision.into_iter().collect());
    }
    let of_line = look_at_line(library, skill, terms, on_decline, &log, now)?.map(|(found, _)| found);
    Ok(of_revision.into_iter().chain(of_line).collect())
}

/// Judges the trial, or else the head.
fn look_at_revision(
    library: &Library,
    skill: &SkillName,
    terms: &TrialTerms,
    log: &Outcomes,
    now: Timestamp,
) -> Result<Option<(Evaluation, Noted)>, ManageError> {
    let Some(head) = library.head(skill)?.filter(|head| !head.tombstone) else { return Ok(None) };
    let trial = library.state()?.of(skill).trial;
    let Some((standing, revision)) = standing(library, skill, &head, trial.as_ref())? else { return Ok(None) };
    let terms = trial.as_ref().map_or(terms, |trial| &trial.terms).clone();
    let subject = Subject { revision, trial, line: None, terms, standing };
    judge(library, skill, &head, subject, log, now).map(Some)
}

/// Judges the revisions since the review checkpoint together. During a trial, the gate does not roll them back.
fn look_at_line(
    library: &Library,
    skill: &SkillName,
    terms: &TrialTerms,
    on_decline: OnDecline,
    log: &Outcomes,
    now: Timestamp,
) -> Result<Option<(Evaluation, Noted)>, ManageError> {
    let head = library.head(skill)?.filter(|head| !head.tombstone && on_decline != OnDecline::Off);
    let Some(head) = head else { return Ok(None) };
    let Some((mut line, standing)) = line::line_of(library, skill, on_decline, &log.outcomes, now)? else {
        return Ok(None);
    };
    line.rolls_back &= library.state()?.of(skill).trial.is_none();
    let subject = Subject { revision: head.clone(), trial: None, line: Some(line), terms: terms.clone(), standing };
    judge(library, skill, &head, subject, log, now).map(Some)
}

/// Revision or line to be judged, with the inputs of the decision.
struct Subject {
    revision: Revision,
    trial: Option<StoredTrial>,
    line: Option<Line>,
    terms: TrialTerms,
    standing: GateState,
}

/// Decides about a revision or a line.
fn judge(
    library: &Library,
    skill: &SkillName,
    head: &Revision,
    subject: Subject,
    log: &Outcomes,
    now: Timestamp,
) -> Result<(Evaluation, Noted), ManageError> {
    let Subject { revision, trial, line, terms, mut standing } = subject;
    standing.unreadable = log.unreadable;
    let case = case(trial.as_ref(), line.as_ref(), &terms);
    let mut decision = decide(case, &log.outcomes, &standing, now);
    if decision.verdict == Verdict::RollBack {
        standing.guarded = guard::guard(library, skill, &revision, &standing, trial.as_ref())?;
        decision = decide(case, &log.outcomes, &standing, now);
    }
    if decision.verdict != Verdict::Wait && is_edited(library, skill, head)? {
        let why = format!("its folder has unrecorded edits; {}", decision.why);
        decision = Decision { verdict: Verdict::Wait, why, ..decision };
    }
    let (outcomes, now, forced_by) = (log.outcomes.len(), now.to_string(), None);
    let noted = Noted {
        decision: decision.clone(),
        trial: trial.clone(),
        line: line.clone(),
        terms,
        standing,
        outcomes,
        now,
        forced_by,
    };
    Ok((Evaluation { skill: skill.clone(), trial, line, revision, decision, acted: false, restored: None }, noted))
}

/// Returns whether runs may have had other files than those of the head.
fn is_edited(library: &Library, skill: &SkillName, head: &Revision) -> Result<bool, ManageError> {
    Ok(library.revision_in_folder(skill)?.is_none_or(|shown| shown.digest != head.digest))
}

/// Determines the revisions to compare: those of the trial, or else the head and the last revision with other files. A
/// head that restores earlier files is not judged unless it was promoted.
fn standing(
    library: &Library,
    skill: &SkillName,
    head: &Revision,
    trial: Option<&StoredTrial>,
) -> Result<Option<(GateState, Revision)>, ManageError> {
    let revisions = library.revisions(skill, REVISIONS)?;
    let with = |digest: &str| -> Vec<RevisionId> {
        let same = revisions.iter().filter(|revision| revision.digest.to_string() == digest);
        same.map(|revision| revision.id.clone()).collect()
    };
    let standing = |base: &str, candidate: &str| GateState {
        head: head.digest.to_string(),
        base: with(base),
        candidate: with(candidate),
        guarded: None,
        unreadable: 0,
        authors: authors(&revisions, candidate),
    };
    if let Some(trial) = trial {
        let revision = library.revision(&trial.candidate)?;
        return Ok(Some((standing(&trial.base_digest, &trial.candidate_digest), revision)));
    }
    let before = library.previous_content(skill, head)?;
    let is_return = library.returned_to(skill, head)?.is_some();
    let is_new = !is_return && (head.action != Action::Rollback || was_promoted(library, skill, head)?);
    Ok(match before {
        Some(before) if is_new && !before.tombstone => {
            Some((standing(&before.digest.to_string(), &head.digest.to_string()), head.clone()))
        }
        _ => None,
    })
}

/// Returns the runs and conversations that created revisions with these files.
fn authors(revisions: &[Revision], digest: &str) -> Vec<String> {
    let made = revisions.iter().filter(|revision| revision.digest.to_string() == digest);
    made.flat_map(|revision| [revision.stamp.run.clone(), revision.stamp.thread.clone()]).flatten().collect()
}

/// Returns whether the head restores the files of a revision because its trial succeeded. Such files are new and remain
/// monitored.
fn was_promoted(library: &Library, skill: &SkillName, head: &Revision) -> Result<bool, ManageError> {
    let second = |time: &str| time.parse().map(Timestamp::as_second).ok();
    let at = Some(head.stamp.time.as_second());
    let (events, _) = library.events()?;
    let mut of_head = events.iter().filter(|event| {
        event.skill == skill.as_str() && event.status == EventStatus::Promoted && second(&event.time) == at
    });
    let digest = |id: &RevisionId| library.revision(id).ok().map(|revision| revision.digest);
    Ok(of_head.any(|event| event.revision.as_ref().and_then(digest) == Some(head.digest)))
}

/// Executes a decision, which becomes an alarm if the change is refused. Returns whether it had an effect.
fn carry_out(
    library: &mut Library,
    found: &mut Evaluation,
    noted: &Noted,
    context: &Context<'_>,
) -> Result<bool, ManageError> {
    let stamp = Stamp { reason: Some(noted.decision.why.clone()), ..Stamp::new(gate_actor(), context.time) };
    match noted.decision.verdict {
        Verdict::Wait => Ok(false),
        Verdict::Alarm => alarm(library, found, noted, &stamp),
        Verdict::Inconclusive => end(library, found, noted, &stamp, EventStatus::Inconclusive),
        Verdict::Promote => match roll_back_to(library, found, &found.revision.id, context) {
            Ok(()) => end(library, found, noted, &stamp, EventStatus::Promoted),
            Err(error) => refused(library, found, noted, &error, &stamp),
        },
        Verdict::RollBack if found.trial.is_some() => end(library, found, noted, &stamp, EventStatus::RolledBack),
        Verdict::RollBack => {
            let Some(base) = noted.standing.base.first() else { return Ok(false) };
            match roll_back_to(library, found, base, context) {
                Ok(()) => {
                    found.restored = Some(library.revision(base)?.number);
                    set_back(library, found, noted, &stamp)
                }
                Err(error) => refused(library, found, noted, &error, &stamp),
            }
        }
    }
}

/// Converts a decision that was refused into an alarm, and records it.
fn refused(
    library: &Library,
    found: &mut Evaluation,
    noted: &Noted,
    error: &ManageError,
    stamp: &Stamp,
) -> Result<bool, ManageError> {
    let why = format!("{}; but the change was refused: {error}", noted.decision.why);
    found.decision = Decision { verdict: Verdict::Alarm, why, ..noted.decision.clone() };
    let noted = Noted { decision: found.decision.clone(), ..noted.clone() };
    alarm(library, found, &noted, stamp)
}

/// Restores the files of a revision as the head, through the regular rollback.
fn roll_back_to(
    library: &mut Library,
    found: &Evaluation,
    to: &RevisionId,
    context: &Context<'_>,
) -> Result<(), ManageError> {
    let head = library.head(&found.skill)?.map(|head| head.id.to_string());
    let rollback = Rollback {
        skill: found.skill.clone(),
        to: Some(to.to_string()),
        expected_revision: head,
        notes: Notes { reason: Some(found.decision.why.clone()), ..Notes::default() },
        dry_run: false,
    };
    let gate = Context { actor: gate_actor(), policy: context.policy.for_gate(), ..context.clone() };
    roll_back(library, &rollback, &gate).map(drop)
}

/// Ends the trial. Returns whether it was still running.
fn end(
    library: &Library,
    found: &Evaluation,
    noted: &Noted,
    stamp: &Stamp,
    status: EventStatus,
) -> Result<bool, ManageError> {
    let Some(trial) = &found.trial else { return Ok(false) };
    let set_back = (status == EventStatus::RolledBack).then(|| block(&trial.candidate_digest, noted, stamp.time));
    let decision = serde_json::to_value(noted).unwrap_or_default();
    Ok(library.end_trial(&found.skill, &trial.id, stamp, TrialEnd { status, decision, set_back })?)
}

/// Records that the head was rolled back, and blocks its files for the cooldown. Those of a line are blocked too, so
/// that an agent cannot restore the revision before the newest.
fn set_back(library: &Library, found: &Evaluation, noted: &Noted, stamp: &Stamp) -> Result<bool, ManageError> {
    let mut digests = vec![found.revision.digest.to_string()];
    for id in noted.standing.candidate.iter().take(REFUSED).filter(|_| noted.line.is_some()) {
        let digest = library.revision(id)?.digest.to_string();
        if !digests.contains(&digest) {
            digests.push(digest);
        }
    }
    let blocks: Vec<_> = digests.iter().map(|digest| block(digest, noted, stamp.time)).collect();
    library.set_state(&found.skill, stamp, "trial", |state| state.set_back.extend(blocks))?;
    note(library, found, noted, stamp, EventStatus::RolledBack)?;
    Ok(true)
}

fn block(digest: &str, noted: &Noted, now: Timestamp) -> StoredSetBack {
    let until = now.checked_add(SignedDuration::from_hours(24 * i64::from(noted.terms.cooldown_days)));
    StoredSetBack {
        digest: digest.to_owned(),
        until: until.unwrap_or(Timestamp::MAX).to_string(),
        why: noted.decision.why.clone(),
    }
}

/// Records an alarm, once per revision or review checkpoint.
fn alarm(library: &Library, found: &Evaluation, noted: &Noted, stamp: &Stamp) -> Result<bool, ManageError> {
    let is_same = |event: &Event| {
        let line = event.decision.as_ref().and_then(|decision| decision.get("line"));
        match &noted.line {
            None => line.is_none() && event.revision.as_ref() == Some(&found.revision.id),
            Some(judged) => line.is_some_and(|line| {
                line.get("kept_id").and_then(Value::as_str) == judged.kept_id.as_ref().map(RevisionId::as_str)
            }),
        }
    };
    let is_known =
        |event: &Event| event.status == EventStatus::Alarmed && event.skill == found.skill.as_str() && is_same(event);
    if library.events()?.0.iter().any(is_known) {
        return Ok(false);
    }
    note(library, found, noted, stamp, EventStatus::Alarmed)?;
    Ok(true)
}

fn note(
    library: &Library,
    found: &Evaluation,
    noted: &Noted,
    stamp: &Stamp,
    status: EventStatus,
) -> Result<(), ManageError> {
    let decision = serde_json::to_value(noted).unwrap_or_default();
    let mut event = Event::decided(stamp, found.skill.as_str(), status, &found.revision.id, decision);
    event.message = Some(format!("{}: {}", found.skill, noted.decision.why));
    Ok(library.record(&event)?)
}

/// Executes a verdict requested by a person, regardless of the evidence, and records the request.
///
/// # Errors
/// There is neither a trial nor a judged head, or the change was refused.
pub fn force(
    library: &mut Library,
    skill: &SkillName,
    verdict: Verdict,
    reviewer: &skill_manage::Reviewer,
    terms: &TrialTerms,
    context: &Context<'_>,
) -> Result<Option<Evaluation>, ManageError> {
    let log = library.outcomes(skill)?;
    let judged = look_at_revision(library, skill, terms, &log, context.time)?;
    let Some((mut found, mut noted)) = judged else { return Ok(None) };
    if found.trial.is_none() && verdict != Verdict::RollBack {
        return Ok(None);
    }
    let by = reviewer.actor();
    noted.forced_by = Some(by.to_string());
    let target = match (&found.trial, verdict) {
        (Some(_), Verdict::Promote) => Some(found.revision.id.clone()),
        (None, _) => noted.standing.base.first().cloned(),
        _ => None,
    };
    found.decision.verdict = verdict;
    found.decision.why = format!("requested by {by}; {}", found.decision.why);
    if let Some(target) = target {
        found.restored = found.trial.is_none().then(|| library.revision(&target).map(|to| to.number)).transpose()?;
        roll_back_to(library, &found, &target, &Context { actor: by.clone(), ..context.clone() })?;
    }
    let stamp = Stamp { reason: Some(found.decision.why.clone()), ..Stamp::new(by.clone(), context.time) };
    found.acted = match (&found.trial, verdict) {
        (Some(_), Verdict::Promote) => end(library, &found, &noted, &stamp, EventStatus::Promoted)?,
        (Some(_), _) => end(library, &found, &noted, &stamp, EventStatus::RolledBack)?,
        (None, _) => set_back(library, &found, &noted, &stamp)?,
    };
    Ok(Some(found))
}
