//! [`read`] and [`write()`]: files of the home with one record for each registry, by its location.

use std::collections::BTreeMap;

use library::{Durability, Home, from_toml, open_dir, read_bounded, write_atomically};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use skill::Limits;

use super::RegistryError;

const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Noted<T> {
    format: u32,
    #[serde(default = "BTreeMap::new")]
    seen: BTreeMap<String, T>,
}

/// Reads the records of a file. A missing file has none.
pub(super) fn read<T: DeserializeOwned>(home: &Home, file: &str) -> Result<BTreeMap<String, T>, RegistryError> {
    let path = home.path().join(file);
    let io = |source| RegistryError::Io { path: path.clone(), source };
    let damaged = |message: String| io(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
    let bytes = match open_dir(home.path())? {
        Some(dir) => read_bounded(&dir, file, Limits::default().state_bytes).map_err(io)?,
        None => None,
    };
    let Some(bytes) = bytes else { return Ok(BTreeMap::new()) };
    let text = String::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
    let noted: Noted<T> = from_toml(&text).map_err(damaged)?;
    match noted.format {
        FORMAT => Ok(noted.seen),
        other => Err(damaged(format!("it has format {other}, but this version of skillhub reads only {FORMAT}"))),
    }
}

/// Replaces the file atomically.
pub(super) fn write<T: Clone + Serialize>(
    home: &Home,
    file: &str,
    seen: &BTreeMap<String, T>,
) -> Result<(), Box<dyn std::error::Error>> {
    let noted = Noted { format: FORMAT, seen: seen.clone() };
    let dir = home.ensure()?;
    Ok(write_atomically(&dir, file, toml::to_string(&noted)?.as_bytes(), Durability::Whole)?)
}
