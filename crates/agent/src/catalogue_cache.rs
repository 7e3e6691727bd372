//! [`CatalogueCache`]: a cached catalogue that follows changes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    builtin::Builtin,
    catalogue::Catalogue,
    error::AgentError,
    prompt::{ListOptions, prompt},
    settings::Settings,
    skill_locations::SkillLocations,
};

/// Number of cached prompts, one per agent and form.
const PROMPTS: usize = 16;

/// Milliseconds after which a request sees a change of a skill's files by another program. Changes by any skillhub
/// process are visible to the next request.
pub const RECHECK_MILLIS: u64 = 2000;

/// Cached catalogue for a server that answers many requests.
///
/// It is reused while it is recent and the files written by every commit and setting of skillhub are unchanged, which
/// costs a few `stat` calls. Calling [`CatalogueCache::refresh`] at shorter intervals keeps requests from reading the disk.
pub struct CatalogueCache {
    places: SkillLocations,
    builtin: Mutex<Vec<Builtin>>,
    kept: Mutex<State>,
    prompts: Mutex<VecDeque<(Signature, Arc<str>)>>,
}

/// All inputs that determine the text of a prompt.
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
    kept: Option<CachedCatalogue>,
    /// Time at which the cache was cleared. Reads that began earlier are discarded.
    forgotten: Option<Instant>,
    /// Fingerprint at the last notification of changes.
    told: Option<u64>,
}

struct CachedCatalogue {
    catalogue: Catalogue,
    looked: Instant,
    fingerprint: u64,
}

impl CatalogueCache {
    /// Creates an empty cache for the given locations. Nothing is read yet.
    pub fn new(places: SkillLocations, builtin: Vec<Builtin>) -> Self {
        Self { places, builtin: Mutex::new(builtin), kept: Mutex::default(), prompts: Mutex::default() }
    }

    /// Returns the locations that it reads.
    pub fn places(&self) -> &SkillLocations {
        &self.places
    }

    /// Answers from the current catalogue.
    ///
    /// # Errors
    /// A library cannot be read, in which case the cache is cleared.
    pub fn with<T>(&self, answer: impl FnOnce(&Catalogue) -> T) -> Result<T, AgentError> {
        self.with_kept(|kept| answer(&kept.catalogue))
    }

    /// Returns the list of the skills that an agent sees. It is rebuilt only if a skill or a setting has changed.
    ///
    /// # Errors
    /// As for [`CatalogueCache::with`].
    pub fn prompt(&self, settings: &Settings, agent: &str, look: ListOptions<'_>) -> Result<Arc<str>, AgentError> {
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

    fn with_kept<T>(&self, answer: impl FnOnce(&CachedCatalogue) -> T) -> Result<T, AgentError> {
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

    /// Reads everything while requests are answered from the cache. Returns whether the visible skills have changed
    /// since the previous call, or else since the first answer.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn refresh(&self) -> Result<bool, AgentError> {
        let kept = self.look()?;
        let fingerprint = kept.fingerprint;
        let mut state = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = state.told.replace(fingerprint).is_some_and(|told| told != fingerprint);
        // A request may have read a newer state in the meantime.
        let is_late = state.forgotten.is_some_and(|forgotten| kept.looked < forgotten);
        if !is_late && state.kept.as_ref().is_none_or(|known| known.looked <= kept.looked) {
            state.kept = Some(kept);
        }
        Ok(changed)
    }

    fn look(&self) -> Result<CachedCatalogue, AgentError> {
        let looked = Instant::now();
        let builtin = self.builtin.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let catalogue = Catalogue::collect(&self.places, builtin)?;
        let fingerprint = catalogue.fingerprint();
        Ok(CachedCatalogue { catalogue, looked, fingerprint })
    }

    /// Returns the interval between two calls of [`CatalogueCache::refresh`], short enough that requests find a recent catalogue.
    /// With many skills it grows with the duration of a read, which limits the load to a twentieth of one core.
    pub fn pause_after(look: Duration) -> Duration {
        Duration::from_millis(RECHECK_MILLIS / 2).max(look * 20)
    }

    /// Replaces the read-only skills and clears the cache.
    pub fn reload_with(&self, builtin: Vec<Builtin>) {
        *self.builtin.lock().unwrap_or_else(PoisonError::into_inner) = builtin;
        self.reload();
    }

    /// Clears the cache, so that the next answer reads everything.
    pub fn reload(&self) {
        let mut state = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (state.kept, state.forgotten) = (None, Some(Instant::now()));
    }
}
