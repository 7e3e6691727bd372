//! [`Used`]: one use of a skill, and how it is kept.

use std::collections::HashMap;

use agent::{Catalogue, Settings};
use library::{Basis, Head, OutcomeKind, Use, UseKind, UseState};
use skill::SkillName;

use super::Workplace;
use crate::refusal::Refusal;

/// One use of a skill.
#[derive(Debug, Clone, Copy)]
pub struct Used<'a> {
    /// The skill.
    pub name: &'a SkillName,
    /// What was done.
    pub kind: UseKind,
    /// How it ended.
    pub state: UseState,
    /// The agent.
    pub agent: &'a str,
}

impl Workplace {
    /// How often skills were read lately, where that decides what is listed.
    ///
    /// # Errors
    /// A log cannot be read.
    pub fn uses(&self, catalogue: &Catalogue, budget: Option<usize>) -> Result<HashMap<String, u64>, Refusal> {
        let mut uses = HashMap::new();
        for library in catalogue.libraries().iter().filter(|_| budget.is_some()) {
            for (name, count) in library.reads()? {
                *uses.entry(name).or_default() += count;
            }
        }
        Ok(uses)
    }

    /// Keeps that a skill was used, unless that is switched off. That it cannot be kept is no failure of
    /// what was asked for, but it is told.
    pub fn note_use(&self, catalogue: &Catalogue, settings: &Settings, Used { name, kind, state, agent }: Used<'_>) {
        let listed = settings.use_log.then(|| catalogue.find(name).ok()).flatten();
        let Some(listed) = listed else { return };
        let Some(library) = catalogue.state_library(listed) else { return };
        let used = Use {
            v: 1,
            time: self.now.to_string(),
            skill: listed.name.to_string(),
            revision: listed.head.as_ref().map(|head| head.id.clone()),
            kind,
            state,
            agent: agent.to_owned(),
            run: None,
        };
        if let Err(error) = library.note_uses(&[used]) {
            self.note(&format!("the log of uses does not have this one: {error}"));
        }
    }

    /// Keeps that a run read a skill, as [`Workplace::note_use`] does.
    pub fn note_activation(&self, catalogue: &Catalogue, settings: &Settings, read: (&SkillName, &Head), run: &str) {
        let (skill, head) = read;
        let library = catalogue.find(skill).ok().and_then(|listed| catalogue.library_of(listed));
        let Some(library) = library.filter(|_| settings.use_log) else { return };
        let request = evolve::Request {
            skill: skill.to_string(),
            revision: Some(head.id.to_string()),
            event: OutcomeKind::Activated.as_str().to_owned(),
            run: Some(run.to_owned()),
            basis: Basis::Read,
            ..evolve::Request::default()
        };
        let actor = self.actor.to_string();
        let defaults = evolve::Defaults { actor: &actor, run, now: self.now };
        if let Err(error) = evolve::record(library, vec![request], defaults) {
            self.note(&format!("the outcomes of {skill} do not have this run: {error}"));
        }
    }
}
