//! The tools of all libraries of a home in one file, `state/composed_tools.json` ([`write`]).
//!
//! It is derived from the files of the libraries, for other programs. skillhub itself does not read it.

use std::path::Path;

use library::{Durability, LibraryError, ensure_dir, open_dir, read_bounded, write_atomically};
use serde_json::{Value, json};
use toml::Table;

use super::{Document, FILE, FILE_BYTES, FORMAT, ToolEntry};

/// Name of its folder in the home.
const FOLDER: &str = "state";
/// Size limit of `library.toml`, in bytes.
const NOTE_BYTES: u64 = 64 << 10;
/// Maximum number of repetitions because another library changed in the meantime.
const ROUNDS: usize = 8;

/// Rewrites the view of a home. It repeats until nothing has changed, so that of two concurrent processes the later
/// one includes the change of the other.
///
/// # Errors
/// The home cannot be read or written.
pub(crate) fn write(home: &Path) -> Result<(), LibraryError> {
    let dir = ensure_dir(&home.join(FOLDER))?;
    let mut view = collect(home)?;
    for _ in 0..ROUNDS {
        let document = json!({"format": FORMAT, "tools": view});
        let text = format!("{document:#}\n");
        write_atomically(&dir, FILE, text.as_bytes(), Durability::Whole)
            .map_err(|source| LibraryError::Io { path: FILE.into(), source })?;
        let now = collect(home)?;
        if now == view {
            break;
        }
        view = now;
    }
    Ok(())
}

/// Returns the tools of all libraries, in a stable order.
fn collect(home: &Path) -> Result<Vec<Value>, LibraryError> {
    let libraries = home.join("libraries");
    let Some(dir) = open_dir(&libraries)? else { return Ok(Vec::new()) };
    let entries = dir.entries().into_iter().flatten().flatten();
    let mut all: Vec<_> = entries.map(|entry| libraries.join(entry.file_name())).collect();
    all.sort();
    Ok(all.iter().filter_map(|own| tools_of(own)).flatten().collect())
}

/// Returns the tools of one library. `None` if it has none or its files cannot be read, which its own commands
/// report.
fn tools_of(own: &Path) -> Option<Vec<Value>> {
    let dir = open_dir(own).ok()??;
    let stored: Document = serde_json::from_slice(&read_bounded(&dir, FILE, FILE_BYTES).ok()??).ok()?;
    let note = String::from_utf8(read_bounded(&dir, "library.toml", NOTE_BYTES).ok()??).ok()?;
    let note: Table = note.parse().ok()?;
    let library = note.get("path")?.as_str()?;
    let tools = stored.skills.values().filter_map(ToolEntry::tool).map(|tool| {
        let mut document = tool.document();
        document["library"] = Value::from(library);
        document
    });
    Some(tools.collect())
}
