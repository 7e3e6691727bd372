//! [`LastSeen`]: detects registries whose history was rewritten or rolled back.
//!
//! An index is append-only. In a registry that was rolled back or rewritten, a yank may have been undone, or a version
//! may have other content. The newest state alone does not show this. The home therefore records the last commit seen
//! of each registry, except the embedded one.

use std::collections::BTreeMap;

use library::Home;

use super::{RegistryError, records};

const FILE: &str = "registries.toml";

/// Content of the file in the home.
#[derive(Debug)]
pub(super) struct LastSeen {
    /// Last commit seen, by the registry's location.
    seen: BTreeMap<String, String>,
}

/// Relation of a registry's current state to the state seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The current state is the same or a descendant.
    Grown,
    /// The current state is an ancestor.
    Older,
    /// The current state is not known to be related to the state seen last.
    Other,
}

impl LastSeen {
    /// Reads the file. A missing file has no records.
    pub fn read(home: &Home) -> Result<Self, RegistryError> {
        Ok(Self { seen: records::read(home, FILE)? })
    }

    /// Returns the commit of a registry that was seen last.
    pub fn of(&self, location: &str) -> Option<&str> {
        self.seen.get(location).map(String::as_str)
    }

    /// Rejects a registry that does not contain the commit seen last, unless `accepted` is set, and records the current
    /// one. A failure to record it, as in a read-only home, is ignored.
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
        let _next_time = records::write(home, FILE, &self.seen);
        Ok(())
    }
}
