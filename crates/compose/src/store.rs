//! Composed tools and traces of a library, in its folder of the home ([`Store`]).
//!
//! `composed_tools.json` is `{"format":1,"skills":{NAME: entry}}` with an entry for each skill that was ever
//! compiled, whatever its current state. It is replaced as a whole, then [`view`] is updated. `traces/` has the
//! newest runs, one file each.

mod view;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    time::UNIX_EPOCH,
};

use library::{Durability, Library, LibraryError, ensure_dir, open_dir, read_bounded, write_atomically};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{problem::Problem, tool::ComposedTool, trace::Trace};

const FILE: &str = "composed_tools.json";
const FORMAT: u32 = 1;
const FILE_BYTES: u64 = 64 << 20;
const TRACES: &str = "traces";
const TRACE_BYTES: u64 = 64 << 20;
/// Size limit of a trace that is stored completely, in bytes.
const TRACE_KEPT: usize = 4 << 20;
/// Reason for an absent tool whose skill no longer exists.
pub(crate) const GONE: &str = "the skill is gone";
/// Number of traces that are kept.
pub const TRACES_KEPT: usize = 200;

/// Current state of a skill that was compiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", try_from = "StoredEntry")]
pub enum ToolEntry {
    /// The skill is a tool.
    Compiled {
        /// Its compiled form.
        tool: Box<ComposedTool>,
    },
    /// The current declaration does not compile. The tool is not offered.
    Broken {
        /// Digest of the skill that was compiled.
        digest: String,
        /// Problems of the declaration.
        problems: Vec<Problem>,
    },
    /// The skill is gone, disabled, or no longer declares a tool. The tool is not offered.
    Absent {
        /// Reason in words.
        why: String,
    },
}

/// An entry as deserialised. Serde would read a tagged enum twice; this reads it once.
#[derive(Deserialize)]
struct StoredEntry {
    state: State,
    tool: Option<Box<ComposedTool>>,
    digest: Option<String>,
    problems: Option<Vec<Problem>>,
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Compiled,
    Broken,
    Absent,
}

impl TryFrom<StoredEntry> for ToolEntry {
    type Error = &'static str;

    fn try_from(stored: StoredEntry) -> Result<Self, Self::Error> {
        let StoredEntry { state, tool, digest, problems, why } = stored;
        match (state, tool, digest, problems, why) {
            (State::Compiled, Some(tool), ..) => Ok(Self::Compiled { tool }),
            (State::Broken, _, Some(digest), Some(problems), _) => Ok(Self::Broken { digest, problems }),
            (State::Absent, .., Some(why)) => Ok(Self::Absent { why }),
            _ => Err("an entry lacks fields that its state requires"),
        }
    }
}

impl ToolEntry {
    /// Returns the tool, if the skill is one.
    pub fn tool(&self) -> Option<&ComposedTool> {
        match self {
            Self::Compiled { tool } => Some(tool),
            Self::Broken { .. } | Self::Absent { .. } => None,
        }
    }

    /// Returns whether its skill no longer exists. The entry is kept in case it comes back.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Absent { why } if why == GONE)
    }

    /// Returns the reason why the tool is not offered; empty if it is.
    pub fn why(&self) -> String {
        match self {
            Self::Compiled { .. } => String::new(),
            Self::Broken { problems, .. } => problems.first().map(ToString::to_string).unwrap_or_default(),
            Self::Absent { why } => why.clone(),
        }
    }

    /// Returns the entry as JSON: that of the tool, and `{"skill","state","problems","why"}`.
    pub fn document(&self, skill: &str) -> Value {
        let mut document = self.tool().map_or_else(|| json!({}), ComposedTool::document);
        document["skill"] = Value::from(skill);
        document["state"] = Value::from(self.state());
        match self {
            Self::Broken { problems, .. } => document["problems"] = json!(problems),
            Self::Absent { why } => document["why"] = Value::from(why.clone()),
            Self::Compiled { .. } => {}
        }
        document
    }

    /// Returns the word used in JSON.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Compiled { .. } => "compiled",
            Self::Broken { .. } => "broken",
            Self::Absent { .. } => "absent",
        }
    }
}

/// Reason why stored tools or traces cannot be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file is damaged, or a later version wrote it.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// Path of the file.
        path: String,
        /// Description of the damage.
        why: String,
    },
    /// A trace cannot be parsed.
    #[error("the trace {path} is damaged: {why}")]
    DamagedTrace {
        /// Path of the file.
        path: String,
        /// Description of the damage.
        why: String,
    },
    /// The trace does not exist.
    #[error("no trace has the id {0:?}")]
    NoTrace(String),
    /// Any other I/O error.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// Error of the system call.
        source: io::Error,
    },
    /// The library cannot be used.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl Fails for StoreError {
    fn failure(&self) -> Failure {
        match self {
            Self::Damaged { path, .. } => Failure::new(FailureKind::Integrity, "damaged")
                .hint(format!("remove {path} and compile the skills again")),
            Self::DamagedTrace { path, .. } => Failure::new(FailureKind::Integrity, "damaged")
                .hint(format!("remove {path}; the traces of other runs are not affected")),
            Self::NoTrace(_) => Failure::new(FailureKind::NotFound, "not_found")
                .hint("list the recorded runs with `skillhub tools trace`"),
            Self::Io { .. } => Failure::io(),
            Self::Library(error) => error.failure(),
        }
    }
}

/// Content of a library's `composed_tools.json`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Document {
    pub format: u32,
    pub skills: BTreeMap<String, ToolEntry>,
}

/// Composed tools and traces of one library.
pub struct Store<'a> {
    library: &'a Library,
}

impl<'a> Store<'a> {
    /// Uses the store of a library.
    pub fn of(library: &'a Library) -> Self {
        Self { library }
    }

    /// Reads the entries of all skills that were ever compiled.
    ///
    /// # Errors
    /// The file is damaged or cannot be read.
    pub fn read(&self) -> Result<BTreeMap<String, ToolEntry>, StoreError> {
        let Some(own) = open_dir(self.library.own_path()).map_err(LibraryError::from)? else {
            return Ok(BTreeMap::new());
        };
        let Some(bytes) = read_bounded(&own, FILE, FILE_BYTES).map_err(self.io(FILE))? else {
            return Ok(BTreeMap::new());
        };
        let read: Document = serde_json::from_slice(&bytes).map_err(|error| self.damaged(FILE, error.to_string()))?;
        match read.format {
            FORMAT => Ok(read.skills),
            other => Err(self.damaged(
                FILE,
                format!(
                    "it has format {other}, but this version of skillhub reads only \
                                                     format {FORMAT}"
                ),
            )),
        }
    }

    /// Returns a fingerprint of the file for detecting changes; `None` if the file does not exist.
    pub fn mark(&self) -> Option<u64> {
        let own = open_dir(self.library.own_path()).ok()??;
        let about = own.symlink_metadata(FILE).ok()?;
        let mut hasher = DefaultHasher::new();
        let modified = about.modified().ok().and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
        (about.len(), modified).hash(&mut hasher);
        Some(hasher.finish())
    }

    /// Changes the entries under the library's lock, and returns them.
    ///
    /// # Errors
    /// Fails like [`Store::read`], or the file cannot be written.
    pub fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, ToolEntry>),
    ) -> Result<BTreeMap<String, ToolEntry>, StoreError> {
        let _lock = self.library.lock()?;
        let mut skills = self.read()?;
        let before = skills.clone();
        change(&mut skills);
        if skills == before {
            return Ok(skills);
        }
        let document = Document { format: FORMAT, skills };
        let text = serde_json::to_vec_pretty(&document).map_err(|error| self.damaged(FILE, error.to_string()))?;
        let own = ensure_dir(self.library.own_path()).map_err(LibraryError::from)?;
        write_atomically(&own, FILE, &text, Durability::Whole).map_err(self.io(FILE))?;
        if let Some(home) = self.library.own_path().ancestors().nth(2) {
            // The next change writes it again.
            let _best_effort = view::write(home);
        }
        Ok(document.skills)
    }

    /// Stores a trace under an id and drops the oldest traces. Ids sort by time.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub fn keep(&self, id: &str, trace: &Trace) -> Result<(), StoreError> {
        let _lock = self.library.lock()?;
        let own = ensure_dir(&self.library.own_path().join(TRACES)).map_err(LibraryError::from)?;
        let written =
            |trace: &Trace| serde_json::to_vec(trace).map_err(|error| self.damaged(TRACES, error.to_string()));
        let mut text = written(trace)?;
        if text.len() > TRACE_KEPT {
            text = written(&trace.clone().without_calls())?;
        }
        write_atomically(&own, &format!("{id}.json"), &text, Durability::Unsynced).map_err(self.io(TRACES))?;
        let kept = self.ids()?;
        for old in kept.iter().skip(TRACES_KEPT) {
            own.remove_file(format!("{old}.json")).map_err(self.io(TRACES))?;
        }
        Ok(())
    }

    /// Returns the ids of the stored traces, newest first.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        let Some(own) = open_dir(&self.library.own_path().join(TRACES)).map_err(LibraryError::from)? else {
            return Ok(Vec::new());
        };
        let mut ids = Vec::new();
        for entry in own.entries().map_err(self.io(TRACES))? {
            let name = entry.map_err(self.io(TRACES))?.file_name();
            ids.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned));
        }
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// Reads the trace with this id.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    pub fn trace(&self, id: &str) -> Result<Trace, StoreError> {
        let missing = || StoreError::NoTrace(id.to_owned());
        if !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(missing());
        }
        let own = open_dir(&self.library.own_path().join(TRACES)).map_err(LibraryError::from)?.ok_or_else(missing)?;
        let (name, path) = (format!("{id}.json"), format!("{TRACES}/{id}.json"));
        let bytes = read_bounded(&own, &name, TRACE_BYTES).map_err(self.io(&path))?.ok_or_else(missing)?;
        let read = serde_json::from_slice(&bytes);
        read.map_err(|error| StoreError::DamagedTrace { path: self.path(&path), why: error.to_string() })
    }

    fn path(&self, name: &str) -> String {
        self.library.own_path().join(name).display().to_string()
    }

    fn io(&self, name: &str) -> impl Fn(io::Error) -> StoreError + use<> {
        let path = self.path(name);
        move |source| StoreError::Io { path: path.clone(), source }
    }

    fn damaged(&self, name: &str, why: String) -> StoreError {
        StoreError::Damaged { path: self.path(name), why }
    }
}

/// Returns the list entry of a trace: `{"id","tool","skill","status","took_micros","error"}`.
pub fn summary(id: &str, trace: &Trace) -> Value {
    json!({
        "id": id, "tool": trace.tool, "skill": trace.skill, "status": trace.status, "took_micros": trace.took_micros,
        "error": trace.error,
    })
}
