//! The usage log of skills that agents read, found and changed ([`Use`]).
//!
//! The log is `uses.jsonl` in the library's folder of the home, and its older part `uses.1.jsonl`. When the first
//! reaches [`FILE_BYTES`], it replaces the second. It never leaves the machine. Nothing is synced, since no decision
//! depends on the entries that a power loss may lose.

use std::io::{self, Write};

use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};

use crate::{disk::read_bounded, revision::RevisionId};

const FILE: &str = "uses.jsonl";
const BEFORE: &str = "uses.1.jsonl";
const LOCK: &str = "uses.lock";

/// Size limit of the active log, in bytes. Up to twice as much is kept.
pub const FILE_BYTES: u64 = 1 << 20;

/// Kind of use of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseKind {
    /// Its instructions were read.
    Read,
    /// One of its other files was read.
    ReadFile,
    /// A search found it.
    Found,
    /// It was changed, or a change was requested.
    Changed,
}

/// Result of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseState {
    /// The request succeeded.
    Done,
    /// The policy or scanner refused it.
    Refused,
    /// It failed with an error.
    Failed,
}

/// One use of a skill by an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// Version of the format, currently 1.
    pub v: u32,
    /// Time in RFC 3339, UTC.
    pub time: String,
    /// Name of the skill.
    pub skill: String,
    /// Its revision at that time, if it has a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// Kind of use, such as a read.
    pub kind: UseKind,
    /// Result of the use.
    pub state: UseState,
    /// Name of the agent; empty if unknown.
    pub agent: String,
    /// Run in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

pub(crate) fn append(dir: &Dir, uses: &[Use]) -> io::Result<()> {
    let mut lines = Vec::new();
    for line in uses {
        serde_json::to_writer(&mut lines, line)?;
        lines.push(b'\n');
    }
    let lock = dir.open_with(LOCK, OpenOptions::new().read(true).write(true).create(true))?.into_std();
    lock.lock()?;
    let mut file = dir.open_with(FILE, OpenOptions::new().append(true).create(true))?;
    if file.metadata()?.len() + lines.len() as u64 > FILE_BYTES {
        dir.rename(FILE, dir, BEFORE)?;
        file = dir.open_with(FILE, OpenOptions::new().append(true).create(true))?;
    }
    file.write_all(&lines)
}

pub(crate) fn read(dir: &Dir) -> io::Result<Vec<Use>> {
    let mut uses = Vec::new();
    for name in [BEFORE, FILE] {
        let bytes = read_bounded(dir, name, 2 * FILE_BYTES)?.unwrap_or_default();
        uses.extend(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()));
    }
    Ok(uses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_log_size_is_bounded() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        let of = |count: u64| Use {
            v: 1,
            time: "2026-01-01T00:00:00Z".to_owned(),
            skill: format!("s-{count}"),
            revision: None,
            kind: UseKind::Read,
            state: UseState::Done,
            agent: "a".repeat(200),
            run: None,
        };
        append(&dir, &[of(0)]).unwrap();
        let mut file = dir.open_with(FILE, OpenOptions::new().append(true)).unwrap();
        file.write_all(b"{\"v\":1,\"ti\n").unwrap();
        append(&dir, &[of(1), of(2)]).unwrap();
        assert_eq!(read(&dir).unwrap(), [of(0), of(1), of(2)]);
        for count in 0..90 {
            append(&dir, &vec![of(count); 100]).unwrap();
        }
        let bytes = |name| dir.metadata(name).unwrap().len();
        assert!(bytes(FILE) <= FILE_BYTES && bytes(BEFORE) <= FILE_BYTES);
        let kept = read(&dir).unwrap();
        assert_eq!(kept.last().unwrap(), &of(89));
        assert!(kept.len() > 3000, "{}", kept.len());
    }
}
