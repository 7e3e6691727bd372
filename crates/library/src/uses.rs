//! [`Use`]: one line of the log of what agents read, looked for and changed.
//!
//! `uses.jsonl` in the library's folder of the home, and `uses.1.jsonl`, the part before it: when the
//! first has grown to [`FILE_BYTES`] it takes the place of the second. It never leaves the machine, and
//! losing its end to a power loss loses no decision, so nothing is synced.

use std::io::{self, Write};

use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};

use crate::{disk::read_bounded, revision::RevisionId};

const FILE: &str = "uses.jsonl";
const BEFORE: &str = "uses.1.jsonl";
const LOCK: &str = "uses.lock";

/// Bytes of the log in use; twice as many are kept.
pub const FILE_BYTES: u64 = 1 << 20;

/// What was done with a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseKind {
    /// Its instructions were read.
    Read,
    /// One of its other files was read.
    ReadFile,
    /// A search found it.
    Found,
    /// It was changed, or a change was asked for.
    Changed,
}

/// How that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseState {
    /// It was done.
    Done,
    /// It was refused.
    Refused,
    /// It failed.
    Failed,
}

/// One use of a skill by an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The format's version.
    pub v: u32,
    /// When, RFC 3339 in UTC.
    pub time: String,
    /// The skill.
    pub skill: String,
    /// Its revision then, where it has a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// What was done.
    pub kind: UseKind,
    /// How it ended.
    pub state: UseState,
    /// The agent; empty where nobody said.
    pub agent: String,
    /// The run in which it happened.
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
    fn uses_are_kept_up_to_a_bound_and_a_cut_line_harms_no_other() {
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
