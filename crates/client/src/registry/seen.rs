//! [`Seen`]: a registry that was seen before must have grown from what it was.
//!
//! An index only grows. One that has gone back, or was written anew, may have taken a yank back or put other
//! content under a version, and nobody could tell from its newest state alone. So the home remembers the
//! last commit seen of each registry but the embedded one, which is its own.

use std::collections::BTreeMap;

use library::Home;

use super::{RegistryError, noted};

const FILE: &str = "registries.toml";

/// The file of the home.
#[derive(Debug)]
pub(super) struct Seen {
    /// The last commit seen, by the registry's place.
    seen: BTreeMap<String, String>,
}

/// How what a registry holds now stands to what was seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// It is the same, or more.
    Grown,
    /// It is what it was at some time before.
    Older,
    /// It is something else.
    Other,
}

impl Seen {
    /// Reads the file; nothing was seen when there is none.
    pub fn read(home: &Home) -> Result<Self, RegistryError> {
        Ok(Self { seen: noted::read(home, FILE)? })
    }

    /// The commit of a registry that was seen last.
    pub fn of(&self, location: &str) -> Option<&str> {
        self.seen.get(location).map(String::as_str)
    }

    /// Refuses a registry that does not hold the commit that was seen last, unless that is `accepted`, and remembers
    /// the newest one. That it cannot be remembered, as in a home that cannot be written, refuses nothing.
    pub fn check(
        mut self,
        home: &Home,
        location: &str,
        now: &str,
        accepted: bool,
        growth: impl FnOnce(&str) -> Result<Growth, RegistryError>,
    ) -> Result<(), RegistryError> {
        if let Some(seen) = self.seen.get(location) {
            if seen == now {
                return Ok(());
            }
            let growth = growth(seen)?;
            if growth != Growth::Grown && !accepted {
                let (location, seen, is_older) = (location.to_owned(), seen.clone(), growth == Growth::Older);
                return Err(RegistryError::WentBack { location, seen, is_older });
            }
        }
        self.seen.insert(location.to_owned(), now.to_owned());
        let _next_time = noted::write(home, FILE, &self.seen);
        Ok(())
    }
}
