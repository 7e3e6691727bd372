//! [`SyncSettings`]: the remote of a library and the name of this machine, in `sync.json` in the library's home.

use std::hash::{BuildHasher, RandomState};

use library::{Durability, Library, ensure_dir, open_dir, read_bounded, write_atomically};
use serde::{Deserialize, Serialize};

use super::SyncError;

const FILE: &str = "sync.json";
const FORMAT: u32 = 1;
const FILE_BYTES: u64 = 64 << 10;

/// Content of `sync.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SyncSettings {
    format: u32,
    /// Location of the remote, as a URL or an absolute path.
    pub remote: Option<String>,
    /// Random name of this machine: 16 hexadecimal digits. The only branch of state that it writes.
    pub machine: String,
}

impl SyncSettings {
    /// Reads the settings of a library, or creates a name for this machine.
    pub fn read(library: &Library) -> Result<Self, SyncError> {
        let path = library.own_path().join(FILE);
        let fault = |why: String| SyncError::Settings { path: path.clone(), why };
        let own = open_dir(library.own_path()).map_err(library::LibraryError::from)?;
        let bytes = own.map(|own| read_bounded(&own, FILE, FILE_BYTES)).transpose();
        let Some(bytes) = bytes.map_err(|error| fault(error.to_string()))?.flatten() else {
            let machine = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
            return Ok(Self { format: FORMAT, remote: None, machine });
        };
        let found: Self = serde_json::from_slice(&bytes).map_err(|error| fault(error.to_string()))?;
        match (found.format, is_machine(&found.machine)) {
            (FORMAT, true) => Ok(found),
            (FORMAT, false) => Err(fault("it has no valid name of the machine".to_owned())),
            (other, _) => {
                Err(fault(format!("it has format {other}, but this version of skillhub reads only {FORMAT}")))
            }
        }
    }

    /// Writes the settings durably.
    pub fn write(&self, library: &Library) -> Result<(), SyncError> {
        let path = library.own_path().join(FILE);
        let io = |source| SyncError::Io { path: path.clone(), source };
        let own = ensure_dir(library.own_path()).map_err(library::LibraryError::from)?;
        let text = serde_json::to_vec(self).map_err(|error| io(error.into()))?;
        write_atomically(&own, FILE, &text, Durability::Durable).map_err(io)
    }
}

/// Returns whether a text is the name of a machine.
pub(super) fn is_machine(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
