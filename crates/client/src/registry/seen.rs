//! [`Seen`]: a registry that was seen before must have grown from what it was.
//!
//! An index only grows. One that has gone back, or was written anew, may have taken a yank back or put other
//! content under a version, and nobody could tell from its newest state alone. So the home remembers the
//! last commit seen of each registry but the embedded one, which is its own.

use std::collections::BTreeMap;

use library::{Durability, Home, open_dir, read_bounded, write_atomically};
use serde::{Deserialize, Serialize};
use skill::Limits;

use super::RegistryError;

const FILE: &str = "registries.toml";
const FORMAT: u32 = 1;

/// The file of the home.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    format: u32,
    /// The last commit seen, by the registry's place.
    #[serde(default)]
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
        let path = home.path().join(FILE);
        let io = |source| RegistryError::Io { path: path.clone(), source };
        let damaged = |message: String| io(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
        let bytes = match open_dir(home.path())? {
            Some(dir) => read_bounded(&dir, FILE, Limits::default().state_bytes).map_err(io)?,
            None => None,
        };
        let Some(bytes) = bytes else { return Ok(Self { format: FORMAT, seen: BTreeMap::new() }) };
        let text = String::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
        let file: Self = toml::from_str(&text).map_err(|error| damaged(error.message().to_owned()))?;
        match file.format {
            FORMAT => Ok(file),
            other => Err(damaged(format!("it has format {other}, this version reads {FORMAT}"))),
        }
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
        let _next_time = self.write(home);
        Ok(())
    }

    fn write(&self, home: &Home) -> Result<(), Box<dyn std::error::Error>> {
        let dir = home.ensure()?;
        Ok(write_atomically(&dir, FILE, toml::to_string(self)?.as_bytes(), Durability::Whole)?)
    }
}
