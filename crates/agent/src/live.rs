//! [`Live`]: a catalogue that stays in memory and follows what is changed.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{builtin::Builtin, catalogue::Catalogue, error::AgentError, places::Places};

/// Milliseconds after which a change that another program made to a skill's files is seen by the next
/// request. What skillhub changes, in whichever process, is seen by the next request at once.
pub const RECHECK_MILLIS: u64 = 1000;

/// A catalogue for a server that answers many requests. As long as the files that every commit and setting
/// of skillhub writes to are as they were, and it was looked at a moment ago, it is given as it is, for the
/// price of a few `stat`s.
pub struct Live {
    places: Places,
    builtin: Vec<Builtin>,
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    catalogue: Catalogue,
    looked: Instant,
}

impl Live {
    /// One of these places. Nothing is looked at yet.
    #[must_use]
    pub fn new(places: Places, builtin: Vec<Builtin>) -> Self {
        Self { places, builtin, kept: Mutex::new(None) }
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
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = kept.as_ref().is_some_and(|kept| {
            kept.looked.elapsed() < Duration::from_millis(RECHECK_MILLIS) && kept.catalogue.is_as_marked()
        });
        if is_fresh && let Some(kept) = kept.as_ref() {
            return Ok(answer(&kept.catalogue));
        }
        *kept = None;
        let looked = Instant::now();
        let catalogue = Catalogue::collect(&self.places, self.builtin.clone())?;
        Ok(answer(&kept.insert(Kept { catalogue, looked }).catalogue))
    }

    /// Forgets what is kept: the next answer looks at everything.
    pub fn reload(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
