//! [`Live`]: a catalogue that stays in memory and follows what is changed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    builtin::Builtin,
    catalogue::Catalogue,
    error::AgentError,
    places::Places,
    prompt::{Look, prompt},
    settings::Settings,
};

/// Prompts that are kept, one for each agent and form.
const PROMPTS: usize = 16;

/// Milliseconds after which a change that another program made to a skill's files is seen by the next
/// request. What skillhub changes, in whichever process, is seen by the next request at once.
pub const RECHECK_MILLIS: u64 = 2000;

/// A catalogue for a server that answers many requests. As long as the files that every commit and setting
/// of skillhub writes to are as they were, and it was looked at a moment ago, it is given as it is, for the
/// price of a few `stat`s. Who calls [`Live::refresh`] more often than that keeps requests from looking.
pub struct Live {
    places: Places,
    builtin: Mutex<Vec<Builtin>>,
    kept: Mutex<State>,
    prompts: Mutex<VecDeque<(Signature, Arc<str>)>>,
}

/// Everything that decides about the text of a prompt.
#[derive(PartialEq)]
struct Signature {
    skills: u64,
    agent: String,
    form: &'static str,
    container_path: Option<String>,
    evolution: bool,
    settings: Settings,
}

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    /// When what was kept was forgotten: looks that began before do not count.
    forgotten: Option<Instant>,
    /// The fingerprint of what was there when somebody was last told of changes.
    told: Option<u64>,
}

struct Kept {
    catalogue: Catalogue,
    looked: Instant,
    fingerprint: u64,
}

impl Live {
    /// One of these places. Nothing is looked at yet.
    #[must_use]
    pub fn new(places: Places, builtin: Vec<Builtin>) -> Self {
        Self { places, builtin: Mutex::new(builtin), kept: Mutex::default(), prompts: Mutex::default() }
    }

    /// Where it looks.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Answers from the catalogue as it is now.
    ///
    /// # Errors
    /// A library cannot be read; what was kept is forgotten then.
    pub fn with<T>(&self, answer: impl FnOnce(&Catalogue) -> T) -> Result<T, AgentError> {
        self.with_kept(|kept| answer(&kept.catalogue))
    }

    /// The list of the skills that an agent sees, which is written again when one of them or a setting is another.
    ///
    /// # Errors
    /// As [`Live::with`].
    pub fn prompt(&self, settings: &Settings, agent: &str, look: Look<'_>) -> Result<Arc<str>, AgentError> {
        let signature = |skills| Signature {
            skills,
            agent: agent.to_owned(),
            form: look.form.name,
            container_path: look.container_path.map(str::to_owned),
            evolution: look.evolution,
            settings: settings.clone(),
        };
        self.with_kept(|kept| {
            let wanted = signature(kept.fingerprint);
            let mut prompts = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, text)) = prompts.iter().find(|(known, _)| *known == wanted) {
                return Arc::clone(text);
            }
            let text: Arc<str> = prompt(&kept.catalogue.seen(settings, agent), &[], look).into();
            prompts.truncate(PROMPTS - 1);
            prompts.push_front((wanted, Arc::clone(&text)));
            text
        })
    }

    fn with_kept<T>(&self, answer: impl FnOnce(&Kept) -> T) -> Result<T, AgentError> {
        let mut state = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = state.kept.as_ref().is_some_and(|kept| {
            kept.looked.elapsed() < Duration::from_millis(RECHECK_MILLIS) && kept.catalogue.is_as_marked()
        });
        if is_fresh && let Some(kept) = &state.kept {
            return Ok(answer(kept));
        }
        state.kept = None;
        let kept = self.look()?;
        if state.told.is_none() {
            state.told = Some(kept.fingerprint);
        }
        Ok(answer(state.kept.insert(kept)))
    }

    /// Looks at everything, while requests are answered from what is kept, and says whether anything that is
    /// told of skills is another than when this was asked before, or than in the first answer.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn refresh(&self) -> Result<bool, AgentError> {
        let kept = self.look()?;
        let fingerprint = kept.fingerprint;
        let mut state = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = state.told.replace(fingerprint).is_some_and(|told| told != fingerprint);
        // A request may have looked meanwhile, and later.
        let is_late = state.forgotten.is_some_and(|forgotten| kept.looked < forgotten);
        if !is_late && state.kept.as_ref().is_none_or(|known| known.looked <= kept.looked) {
            state.kept = Some(kept);
        }
        Ok(changed)
    }

    fn look(&self) -> Result<Kept, AgentError> {
        let looked = Instant::now();
        let builtin = self.builtin.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let catalogue = Catalogue::collect(&self.places, builtin)?;
        let fingerprint = catalogue.fingerprint();
        Ok(Kept { catalogue, looked, fingerprint })
    }

    /// The time from one [`Live::refresh`] to the next, so that requests find what they need in memory: for many skills
    /// in times of how long a look took, so that no more than a twentieth of one core is used.
    #[must_use]
    pub fn pause_after(look: Duration) -> Duration {
        Duration::from_millis(RECHECK_MILLIS / 2).max(look * 20)
    }

    /// Takes these for the skills that are read only, and forgets what is kept.
    pub fn reload_with(&self, builtin: Vec<Builtin>) {
        *self.builtin.lock().unwrap_or_else(PoisonError::into_inner) = builtin;
        self.reload();
    }

    /// Forgets what is kept: the next answer looks at everything.
    pub fn reload(&self) {
        let mut state = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (state.kept, state.forgotten) = (None, Some(Instant::now()));
    }
}
