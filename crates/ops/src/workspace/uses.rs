//! Log of skill uses.

use std::collections::HashMap;

use agent::{Catalogue, Instructions, Settings, SkillSelector};
use library::{Head, OutcomeKind, OutcomeSource, Use, UseKind, UseState};
use skill::SkillName;

use super::Workspace;
use crate::refusal::Refusal;

/// One use of a skill, to be logged.
#[derive(Debug, Clone, Copy)]
pub struct Used<'a> {
    /// Name of the skill.
    pub name: &'a SkillName,
    /// Kind of use.
    pub kind: UseKind,
    /// Outcome: done or refused.
    pub state: UseState,
    /// Id of the agent.
    pub agent: &'a str,
}

impl Workspace {
    /// Returns how often each skill was read recently. The map is empty without a `budget`, which is the only reason to
    /// rank skills by use.
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

    /// Records that a skill was used, unless the usage log is disabled. A failure to write it is a note, not an error.
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
            self.note(&format!("cannot record this use: {error}"));
        }
    }

    /// Opens a skill for an agent and records the use. `ask` is called if a person has to approve it.
    ///
    /// # Errors
    /// The agent may not read the skill, the skill cannot be read, or `ask` refuses.
    pub fn open_skill(
        &self,
        catalogue: &Catalogue,
        which: &SkillSelector,
        agent: &str,
        run: Option<&str>,
        kind: UseKind,
        ask: impl FnOnce(&Instructions) -> Result<(), Refusal>,
    ) -> Result<Instructions, Refusal> {
        let settings = self.settings()?;
        let opened = agent::open_in_run(catalogue, &settings, agent, which, run).map_err(Refusal::from);
        let opened = opened.and_then(|opened| if opened.asked { ask(&opened).map(|()| opened) } else { Ok(opened) });
        let state = if opened.is_ok() { UseState::Done } else { UseState::Refused };
        if let Some(name) = opened.as_ref().ok().map(|opened| &opened.name).or(which.name.as_ref()) {
            self.note_use(catalogue, &settings, Used { name, kind, state, agent });
        }
        if let (Ok(Instructions { name, head: Some(head), .. }), Some(run)) = (&opened, run) {
            self.note_activation(catalogue, &settings, name, head, run);
        }
        opened
    }

    /// Records that a run read a skill, under the same rules as [`Workspace::note_use`].
    fn note_activation(&self, catalogue: &Catalogue, settings: &Settings, skill: &SkillName, head: &Head, run: &str) {
        let library = catalogue.find(skill).ok().and_then(|listed| catalogue.library_of(listed));
        let Some(library) = library.filter(|_| settings.use_log) else { return };
        let request = evolve::OutcomeRecord {
            skill: skill.to_string(),
            revision: Some(head.id.to_string()),
            event: OutcomeKind::Activated.as_str().to_owned(),
            run: Some(run.to_owned()),
            basis: OutcomeSource::Read,
            ..evolve::OutcomeRecord::default()
        };
        let actor = self.actor.to_string();
        let defaults = evolve::Defaults { actor: &actor, run, now: self.now };
        if let Err(error) = evolve::record(library, vec![request], defaults) {
            self.note(&format!("cannot record this run of {skill}: {error}"));
        }
    }
}
