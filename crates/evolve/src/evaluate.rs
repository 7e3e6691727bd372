//! [`evaluate`]: what the gate knows of a skill, what it decides by that, and doing it.
//!
//! Nothing runs by itself: whoever records an outcome or asks how things stand has the gate look. A decision
//! is noted in the event log with its numbers and with all that it was made by besides the outcomes, so that
//! [`replay`] comes to it again.

use jiff::{SignedDuration, Timestamp};
use library::{
    Action, ActorKind, Ended, Event, EventStatus, Library, Outcome, Revision, RevisionId, Stamp, StoredSetBack,
    StoredTrial, TrialTerms,
};
use scan::{Scanner, Severity};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::{Bundle, SkillName};
use skill_manage::{Context, ManageError, Notes, Rollback, gate_actor, roll_back};

use crate::gate::{Case, Decision, RULES, Standing, Verdict, decide};

/// Revisions that are looked at for the files of one that is judged.
const REVISIONS: usize = 1000;

/// What the gate thinks of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The skill.
    pub skill: SkillName,
    /// The trial, where one is on or was ended just now.
    pub trial: Option<StoredTrial>,
    /// The revision that is judged.
    pub revision: Revision,
    /// What was decided.
    pub decision: Decision,
    /// Whether it was carried out just now.
    pub acted: bool,
}

/// A decision as the event log has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    /// What was decided.
    pub decision: Decision,
    /// The trial; none where the head was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<StoredTrial>,
    /// By which terms.
    pub terms: TrialTerms,
    /// How the history stood.
    pub standing: Standing,
    /// How many of the outcomes were known.
    pub outcomes: usize,
    /// When.
    pub now: String,
    /// Who forced it, where a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_by: Option<String>,
}

/// Looks at a skill and does what follows; `None` where nothing is to be judged.
///
/// # Errors
/// The library cannot be read or written.
pub fn evaluate(
    library: &mut Library,
    skill: &SkillName,
    terms: &TrialTerms,
    context: &Context<'_>,
) -> Result<Option<Evaluation>, ManageError> {
    let Some((mut found, noted)) = look(library, skill, terms, context.time)? else { return Ok(None) };
    found.acted = match noted.decision.verdict {
        Verdict::Wait => false,
        _ => carry_out(library, &found, &noted, context)?,
    };
    Ok(Some(found))
}

/// Looks at a skill, and does nothing.
///
/// # Errors
/// The library cannot be read.
pub fn look(
    library: &Library,
    skill: &SkillName,
    terms: &TrialTerms,
    now: Timestamp,
) -> Result<Option<(Evaluation, Noted)>, ManageError> {
    let Some(head) = library.head(skill)?.filter(|head| !head.tombstone) else { return Ok(None) };
    let trial = library.state()?.of(skill).trial;
    let Some((mut standing, revision)) = standing(library, skill, &head, trial.as_ref())? else { return Ok(None) };
    let log = library.outcomes(skill)?;
    standing.unreadable = log.unreadable;
    let case = trial.as_ref().map_or(Case::Head(terms), Case::Trial);
    let mut decision = decide(case, &log.outcomes, &standing, now);
    if decision.verdict == Verdict::RollBack {
        standing.guarded = guard(library, skill, &revision, &standing, trial.as_ref())?;
        decision = decide(case, &log.outcomes, &standing, now);
    }
    if decision.verdict != Verdict::Wait && is_edited(library, skill, &head)? {
        let why = format!(
            "its folder holds other files than its newest revision, which wait to be recorded; {}",
            decision.why
        );
        decision = Decision { verdict: Verdict::Wait, why, ..decision };
    }
    let noted = Noted {
        decision: decision.clone(),
        terms: trial.as_ref().map_or(terms, |trial| &trial.terms).clone(),
        trial: trial.clone(),
        standing,
        outcomes: log.outcomes.len(),
        now: now.to_string(),
        forced_by: None,
    };
    Ok(Some((Evaluation { skill: skill.clone(), trial, revision, decision, acted: false }, noted)))
}

/// Whether runs may have had other files than the head's.
fn is_edited(library: &Library, skill: &SkillName, head: &Revision) -> Result<bool, ManageError> {
    Ok(library.revision_in_folder(skill)?.is_none_or(|shown| shown.digest != head.digest))
}

/// Which revisions are compared: those of the trial, else the head with the last one that had other files. A
/// head that brings earlier files back is judged by nothing, unless it was promoted.
fn standing(
    library: &Library,
    skill: &SkillName,
    head: &Revision,
    trial: Option<&StoredTrial>,
) -> Result<Option<(Standing, Revision)>, ManageError> {
    let revisions = library.revisions(skill, REVISIONS)?;
    let with = |digest: &str| -> Vec<RevisionId> {
        let same = revisions.iter().filter(|revision| revision.digest.to_string() == digest);
        same.map(|revision| revision.id.clone()).collect()
    };
    let standing = |base: &str, candidate: &str| Standing {
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

/// The runs and conversations in which revisions with these files were made.
fn authors(revisions: &[Revision], digest: &str) -> Vec<String> {
    let made = revisions.iter().filter(|revision| revision.digest.to_string() == digest);
    made.flat_map(|revision| [revision.stamp.run.clone(), revision.stamp.thread.clone()]).flatten().collect()
}

/// Whether the head brings back the files of a revision since its trial went well: those are new, and watched on.
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

/// Why going back from a revision is for people: it would cross what a person, a release or a repair of
/// something dangerous brought.
fn guard(
    library: &Library,
    skill: &SkillName,
    judged: &Revision,
    standing: &Standing,
    trial: Option<&StoredTrial>,
) -> Result<Option<String>, ManageError> {
    let Some(base) = standing.base.first() else { return Ok(Some("there is nothing to go back to".to_owned())) };
    if let Some(finding) = brought_back(library.scanner(), &library.bundle(base)?, &library.bundle(&judged.id)?) {
        return Ok(Some(format!("going back would bring back what it repairs: {finding}")));
    }
    if trial.is_some() {
        return Ok(None);
    }
    for revision in library.walk(skill) {
        let revision = revision?;
        if standing.base.contains(&revision.id) {
            break;
        }
        let is_release = matches!(revision.action, Action::Install | Action::Update | Action::Adopt);
        if is_release || revision.upstream.is_some() {
            return Ok(Some(format!("revision {} brings a release, which may repair something", revision.number)));
        }
        if revision.acceptance.as_ref().is_some_and(|accepted| accepted.reviewer.kind == ActorKind::Person) {
            return Ok(Some(format!("revision {} was accepted by a person", revision.number)));
        }
        let is_return = library.returned_to(skill, &revision)?.is_some();
        if !is_return && matches!(revision.stamp.actor.kind, ActorKind::Person | ActorKind::External) {
            return Ok(Some(format!("revision {} was made by a person", revision.number)));
        }
    }
    Ok(None)
}

/// A finding from medium on that an earlier state has and a later one does not.
fn brought_back(scanner: Scanner, before: &Bundle, after: &Bundle) -> Option<String> {
    let (before, after) = (scanner.scan(before).findings, scanner.scan(after).findings);
    let is_known = |rule: &str, path: &str| after.iter().any(|found| found.rule == rule && found.path == path);
    let mut gone = before.iter().filter(|found| found.severity >= Severity::Medium);
    gone.find(|found| !is_known(&found.rule, &found.path)).map(|found| format!("{} in {}", found.rule, found.path))
}

/// Does what was decided; whether anything came of it that was not there before.
fn carry_out(
    library: &mut Library,
    found: &Evaluation,
    noted: &Noted,
    context: &Context<'_>,
) -> Result<bool, ManageError> {
    let stamp = Stamp { reason: Some(noted.decision.why.clone()), ..Stamp::new(gate_actor(), context.time) };
    match noted.decision.verdict {
        Verdict::Wait => Ok(false),
        Verdict::Alarm => alarm(library, found, noted, &stamp),
        Verdict::Inconclusive => end(library, found, noted, &stamp, EventStatus::Inconclusive),
        Verdict::Promote => match bring(library, found, &found.revision.id, context) {
            Ok(()) => end(library, found, noted, &stamp, EventStatus::Promoted),
            Err(error) => alarm(library, found, &refused(noted, &error), &stamp),
        },
        Verdict::RollBack if found.trial.is_some() => end(library, found, noted, &stamp, EventStatus::RolledBack),
        Verdict::RollBack => {
            let Some(base) = noted.standing.base.first() else { return Ok(false) };
            match bring(library, found, base, context) {
                Ok(()) => set_back(library, found, noted, &stamp),
                Err(error) => alarm(library, found, &refused(noted, &error), &stamp),
            }
        }
    }
}

/// What the gate wanted and was not let.
fn refused(noted: &Noted, error: &ManageError) -> Noted {
    let why = format!("{}; but that was refused: {error}", noted.decision.why);
    let decision = Decision { verdict: Verdict::Alarm, why, ..noted.decision.clone() };
    Noted { decision, ..noted.clone() }
}

/// Makes the files of a revision those of the head, by the way of every change.
fn bring(library: &mut Library, found: &Evaluation, to: &RevisionId, context: &Context<'_>) -> Result<(), ManageError> {
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

/// Ends the trial; whether it was still on.
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
    Ok(library.end_trial(&found.skill, &trial.id, stamp, Ended { status, decision, set_back })?)
}

/// Notes that the head was rolled back, and that its files are not taken again at once.
fn set_back(library: &Library, found: &Evaluation, noted: &Noted, stamp: &Stamp) -> Result<bool, ManageError> {
    let digest = found.revision.digest.to_string();
    let block = block(&digest, noted, stamp.time);
    library.set_state(&found.skill, stamp, "trial", |state| state.set_back.push(block))?;
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

/// Notes an alarm, once for a revision and reason.
fn alarm(library: &Library, found: &Evaluation, noted: &Noted, stamp: &Stamp) -> Result<bool, ManageError> {
    let is_known = |event: &Event| {
        event.status == EventStatus::Alarmed
            && event.skill == found.skill.as_str()
            && event.revision.as_ref() == Some(&found.revision.id)
    };
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
    let event = Event::decided(stamp, found.skill.as_str(), status, &found.revision.id, decision);
    Ok(library.record(&event)?)
}

/// Does what a person wants, whatever the evidence says, and notes that it was wanted.
///
/// # Errors
/// Nothing is on trial and the head is judged by nothing, or the change was refused.
pub fn force(
    library: &mut Library,
    skill: &SkillName,
    verdict: Verdict,
    reviewer: &skill_manage::Reviewer,
    terms: &TrialTerms,
    context: &Context<'_>,
) -> Result<Option<Evaluation>, ManageError> {
    let Some((mut found, mut noted)) = look(library, skill, terms, context.time)? else { return Ok(None) };
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
    found.decision.why = format!("{by} wanted it; {}", found.decision.why);
    if let Some(target) = target {
        bring(library, &found, &target, &Context { actor: by.clone(), ..context.clone() })?;
    }
    let stamp = Stamp { reason: Some(found.decision.why.clone()), ..Stamp::new(by.clone(), context.time) };
    found.acted = match (&found.trial, verdict) {
        (Some(_), Verdict::Promote) => end(library, &found, &noted, &stamp, EventStatus::Promoted)?,
        (Some(_), _) => end(library, &found, &noted, &stamp, EventStatus::RolledBack)?,
        (None, _) => set_back(library, &found, &noted, &stamp)?,
    };
    Ok(Some(found))
}

/// One decision of the log, made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// When it was made.
    pub time: String,
    /// What the log says.
    pub noted: Noted,
    /// What the rules of today say by the same outcomes; `None` where they are others.
    pub again: Option<Decision>,
}

impl Replayed {
    /// Whether the log's decision is what its outcomes lead to.
    #[must_use]
    pub fn holds(&self) -> bool {
        match &self.again {
            Some(again) => same(again, &self.noted.decision),
            None => self.noted.decision.rules != RULES,
        }
    }
}

/// What was refused when it was carried out differs in that alone.
fn same(again: &Decision, noted: &Decision) -> bool {
    let is_refusal = noted.verdict == Verdict::Alarm && noted.why.starts_with(&again.why);
    let alike = Decision { verdict: noted.verdict, why: noted.why.clone(), ..again.clone() };
    alike == *noted && (again.verdict == noted.verdict && again.why == noted.why || is_refusal)
}

/// Makes every decision of a skill's log again, from the outcomes that were known then. What cannot be read
/// as a decision is an error of the log, and counted.
#[must_use]
pub fn replay(events: &[Event], outcomes: &[Outcome], skill: &SkillName) -> (Vec<Replayed>, usize) {
    let mut unreadable = 0;
    let of_skill = events.iter().filter(|event| event.skill == skill.as_str());
    let mut replayed = Vec::new();
    for (time, decision) in of_skill.filter_map(|event| Some((&event.time, event.decision.as_ref()?))) {
        match again(decision, outcomes) {
            Some((noted, again)) => replayed.push(Replayed { time: time.clone(), noted, again }),
            None => unreadable += 1,
        }
    }
    (replayed, unreadable)
}

fn again(decision: &Value, outcomes: &[Outcome]) -> Option<(Noted, Option<Decision>)> {
    let noted: Noted = serde_json::from_value(decision.clone()).ok()?;
    if noted.decision.rules != RULES {
        return Some((noted, None));
    }
    let known = outcomes.get(..noted.outcomes)?;
    let case = noted.trial.as_ref().map_or(Case::Head(&noted.terms), Case::Trial);
    let again = decide(case, known, &noted.standing, noted.now.parse().ok()?);
    Some((noted.clone(), Some(again)))
}
