//! [`check_grown`]: a registry that was seen before must have grown from what it was.
//!
//! An index only grows. One that has gone back, or was written anew, may have taken a yank back or put other
//! content under a version, and nobody could tell from its newest state alone. So the home remembers the
//! last commit seen of each registry but the embedded one, which is its own.

use std::{collections::BTreeMap, path::Path};

use library::{Durability, Home, open_dir, read_bounded, write_atomically};
use registry_index::Index;
use serde::{Deserialize, Serialize};
use skill::Limits;

use super::RegistryError;

const FILE: &str = "registries.toml";
const FORMAT: u32 = 1;

/// The file of the home.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    format: u32,
    /// The last commit seen, by the registry's place.
    #[serde(default)]
    seen: BTreeMap<String, String>,
}

/// Refuses a registry that does not hold the commit that was seen last, and remembers the newest one. That
/// it cannot be remembered, as in a home that cannot be written, refuses nothing.
pub(super) fn check_grown(home: &Home, location: &Path, index: &Index) -> Result<(), RegistryError> {
    let mut file = read(home)?;
    let place = location.display().to_string();
    let now = index.revision()?;
    match file.seen.get(&place) {
        Some(seen) if *seen == now => return Ok(()),
        Some(seen) if !index.has_grown_from(seen)? => {
            let (location, seen, note) = (location.to_owned(), seen.clone(), home.path().join(FILE));
            return Err(RegistryError::WentBack { location, seen, note });
        }
        _ => {}
    }
    file.seen.insert(place, now);
    let _next_time = remember(home, &file);
    Ok(())
}

fn read(home: &Home) -> Result<Seen, RegistryError> {
    let path = home.path().join(FILE);
    let io = |source| RegistryError::Io { path: path.clone(), source };
    let damaged = |message: String| io(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
    let bytes = match open_dir(home.path())? {
        Some(dir) => read_bounded(&dir, FILE, Limits::default().state_bytes).map_err(io)?,
        None => None,
    };
    let Some(bytes) = bytes else { return Ok(Seen { format: FORMAT, seen: BTreeMap::new() }) };
    let text = String::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
    let file: Seen = toml::from_str(&text).map_err(|error| damaged(error.message().to_owned()))?;
    match file.format {
        FORMAT => Ok(file),
        other => Err(damaged(format!("it has format {other}, this version reads {FORMAT}"))),
    }
}

fn remember(home: &Home, file: &Seen) -> Result<(), Box<dyn std::error::Error>> {
    let dir = home.ensure()?;
    Ok(write_atomically(&dir, FILE, toml::to_string(file)?.as_bytes(), Durability::Whole)?)
}
