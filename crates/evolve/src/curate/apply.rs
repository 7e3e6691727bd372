//! [`apply`], [`archived`], [`restore`]: removal of skills from the catalogue and their return, with all data kept.

use std::collections::BTreeMap;

use jiff::Timestamp;
use library::{ActorKind, Event, EventStatus, Library, LibraryError, Stamp};
use serde::Serialize;
use skill::{
    Digest, SkillName,
    failure::{Fails, Failure, FailureKind},
};
use skill_manage::{Policy, Preset};
use thiserror::Error;

use super::{Facts, Judgement, KeepReason, Plan, Step, judge};

/// Event action for an archived skill.
const ARCHIVE: &str = "archive";
/// Event action for a restored skill.
const RESTORE: &str = "restore";

/// Reason why a plan is not applied or a skill is not restored.
#[derive(Debug, Error)]
pub enum CurateError {
    /// The library has no such plan.
    #[error("this library has no plan {0}")]
    NoPlan(String),
    /// No plan has been made for the library.
    #[error("this library has no plan yet")]
    NoPlans,
    /// The policy does not allow agents to archive skills.
    #[error("the policy {0} does not allow agents to archive skills")]
    Denied(&'static str),
    /// No archived skill has that name or id.
    #[error("{0:?} does not match an archived skill")]
    NotArchived(String),
    /// The library cannot be read or written.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl Fails for CurateError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoPlan(_) | Self::NoPlans => {
                Failure::new(FailureKind::NotFound, "not_found").hint("make a plan and review it: skillhub curate plan")
            }
            Self::Denied(_) => Failure::new(FailureKind::Refused, "policy_denied")
                .hint("ask a person to apply it at a terminal: skillhub curate apply"),
            Self::NotArchived(_) => Failure::new(FailureKind::NotFound, "not_found")
                .hint("list archived skills and their ids with `skillhub curate list`"),
            Self::Library(error) => error.failure(),
        }
    }
}

/// Result of one step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppliedSkill {
    /// Name of the skill.
    pub skill: String,
    /// One of `archived`, `refused`, or `dry_run` if it would be archived.
    pub status: &'static str,
    /// Reason for archiving or refusing.
    pub why: String,
}

/// Result of applying a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Id of the plan.
    pub plan: String,
    /// Results of its steps, in order.
    pub skills: Vec<AppliedSkill>,
}

/// Applies a plan step by step. A step is executed only if the current `facts` lead to the same decision.
///
/// # Errors
/// [`CurateError::Denied`] for agents if the policy holds all their changes. Also if the library cannot be written.
pub fn apply(
    library: &Library,
    plan: &Plan,
    facts: &Facts,
    policy: &Policy,
    stamp: &Stamp,
    dry_run: bool,
) -> Result<Applied, CurateError> {
    let is_strict = policy.layers().iter().any(|layer| layer.preset == Some(Preset::Strict));
    if stamp.actor.kind != ActorKind::Person && is_strict {
        let error = CurateError::Denied("strict");
        for step in &plan.archive {
            note_refused(library, step, stamp, "policy_denied", &error.to_string())?;
        }
        return Err(error);
    }
    let mut skills = Vec::new();
    for step in &plan.archive {
        skills.push(archive(library, step, plan, facts, stamp, dry_run)?);
    }
    Ok(Applied { plan: plan.id.clone(), skills })
}

fn archive(
    library: &Library,
    step: &Step,
    plan: &Plan,
    facts: &Facts,
    stamp: &Stamp,
    dry_run: bool,
) -> Result<AppliedSkill, LibraryError> {
    let of = |status, why: String| AppliedSkill { skill: step.skill.clone(), status, why };
    let name = match still_stale(step, plan, facts, stamp.time) {
        Ok(name) => name,
        Err(why) => {
            if !dry_run {
                note_refused(library, step, stamp, "stale_plan", &why)?;
            }
            return Ok(of("refused", why));
        }
    };
    if dry_run {
        return Ok(of("dry_run", step.reason.clone()));
    }
    let stamp = Stamp { reason: Some(format!("{} (plan {})", step.reason, plan.id)), ..stamp.clone() };
    let mut is_done = false;
    library.set_state(&name, &stamp, ARCHIVE, |state| {
        // A pin or a disabling since then takes precedence.
        is_done = !state.pinned && state.enabled;
        if is_done {
            state.set_enabled(false, &stamp.actor);
        }
    })?;
    match is_done {
        true => Ok(of("archived", step.reason.clone())),
        false => {
            let why = "it was pinned or disabled in the meantime".to_owned();
            note_refused(library, step, &stamp, "stale_plan", &why)?;
            Ok(of("refused", why))
        }
    }
}

/// Returns the skill of a step if the current decision would be the same. Otherwise returns the change as an error.
fn still_stale(step: &Step, plan: &Plan, facts: &Facts, now: Timestamp) -> Result<SkillName, String> {
    let skill = facts.skills.iter().find(|skill| skill.name.as_str() == step.skill);
    let skill = skill.ok_or_else(|| "the skill no longer exists".to_owned())?;
    if skill.revision != step.revision {
        return Err(format!("it was changed since the plan was made, to revision {}", skill.number));
    }
    match judge(skill, &facts.record, plan.terms, now) {
        Judgement::Stale(again) if again.last_used == step.last_used => Ok(skill.name.clone()),
        Judgement::Stale(_) | Judgement::Kept(KeepReason::InUse) => {
            Err("it was used since the plan was made".to_owned())
        }
        Judgement::Kept(KeepReason::OutOfSight) => Err("agents no longer see it".to_owned()),
        Judgement::Kept(KeepReason::Silence) => Err("too few uses are recorded now".to_owned()),
        Judgement::Kept(KeepReason::Exempt(why)) => Err(format!("{why} now")),
    }
}

fn note_refused(library: &Library, step: &Step, stamp: &Stamp, code: &str, why: &str) -> Result<(), LibraryError> {
    library.record(&Event::refused(stamp, &step.skill, ARCHIVE, code, why))
}

/// Skill that the curator removed from the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// Id that `restore` accepts in place of the name.
    pub id: String,
    /// Name of the skill.
    pub name: String,
    /// Time of archiving, RFC 3339 in UTC.
    pub time: String,
    /// Actor that archived it.
    pub actor: String,
    /// Reason for archiving it, if recorded.
    pub reason: Option<String>,
}

/// Returns the archived skills, newest first.
///
/// # Errors
/// The library cannot be read.
pub fn archived(library: &Library) -> Result<Vec<Archived>, LibraryError> {
    let state = library.state()?;
    let (events, _) = library.events()?;
    let mut last: BTreeMap<&str, &Event> = BTreeMap::new();
    let hides =
        |event: &&Event| event.status == EventStatus::Set && [ARCHIVE, "disable"].contains(&event.action.as_str());
    for event in events.iter().filter(hides) {
        last.insert(&event.skill, event);
    }
    let is_archived = |event: &&Event| {
        let name = SkillName::parse(&event.skill).ok();
        event.action == ARCHIVE && name.is_some_and(|name| !state.of(&name).enabled)
    };
    let mut found: Vec<Archived> = last
        .into_values()
        .filter(is_archived)
        .map(|event| Archived {
            id: id(event),
            name: event.skill.clone(),
            time: event.time.clone(),
            actor: event.actor.clone(),
            reason: event.reason.clone(),
        })
        .collect();
    found.sort_by(|a, b| (&b.time, &a.name).cmp(&(&a.time, &b.name)));
    Ok(found)
}

fn id(event: &Event) -> String {
    let text = format!("{} {}", event.operation, event.skill);
    Digest::of_bytes(text.as_bytes()).hex().get(..8).unwrap_or_default().to_owned()
}

/// Restores archived skills by name or id. If one of them is not archived, none is restored.
///
/// # Errors
/// [`CurateError::NotArchived`], or the library cannot be written.
pub fn restore(library: &Library, which: &[String], stamp: &Stamp) -> Result<Vec<SkillName>, CurateError> {
    let known = archived(library)?;
    let find = |text: &String| {
        let found = known.iter().find(|one| one.name == *text || one.id == *text);
        found.and_then(|one| SkillName::parse(&one.name).ok()).ok_or_else(|| CurateError::NotArchived(text.clone()))
    };
    let mut names = which.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    names.sort();
    names.dedup();
    library.set_states(names.iter(), stamp, RESTORE, |_, state| state.set_enabled(true, &stamp.actor))?;
    Ok(names)
}
