//! [`Conflict`]: one disagreement of two sides, with a description for a person.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::SkillPath;

/// Largest excerpt in a [`Conflict`], in bytes. A longer text is cut and ends in an ellipsis.
const EXCERPT_BYTES: usize = 4096;

/// One disagreement of the two sides. Its `Display` form is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// File in which the sides disagree.
    #[serde(serialize_with = "as_text")]
    pub path: SkillPath,
    /// Kind of disagreement, with its details.
    #[serde(flatten)]
    pub kind: ConflictKind,
    /// First and last line of the conflict in ours, from 1. The last is one less than the first if ours has no line
    /// there. `None` if the conflict is about the whole file.
    pub lines: Option<(usize, usize)>,
    /// Text in the common ancestor. `None` if it is absent or not text.
    pub base: Option<String>,
    /// Text in ours. `None` if it is absent or not text.
    pub ours: Option<String>,
    /// Text in theirs. `None` if it is absent or not text.
    pub theirs: Option<String>,
}

/// Kind of disagreement between two sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ConflictKind {
    /// Both changed the same lines, or lines so close that the order is uncertain.
    Text,
    /// Both changed one key of the frontmatter.
    Key {
        /// Key as written in the file.
        key: String,
    },
    /// Both changed the frontmatter, and the merged block is not valid.
    Frontmatter,
    /// Ours removed the file, theirs changed it.
    RemovedInOurs,
    /// Theirs removed the file, ours changed it.
    RemovedInTheirs,
    /// Both added the file, with different contents.
    AddedByBoth,
    /// Both changed a file that is not text.
    Binary,
    /// Both moved the file, to different paths. The result contains both.
    MovedByBoth {
        /// Path in the common ancestor.
        #[serde(serialize_with = "as_text")]
        from: SkillPath,
        /// Path in theirs. The conflict's own path is that of ours.
        #[serde(serialize_with = "as_text")]
        theirs: SkillPath,
    },
    /// Both added the file, one of them as executable.
    Executable,
    /// A path of theirs collides with a path of ours on some systems.
    Collision {
        /// Colliding path of ours.
        #[serde(serialize_with = "as_text")]
        with: SkillPath,
    },
}

impl Conflict {
    /// Returns a conflict about a whole file.
    pub(super) fn of_file(path: &SkillPath, kind: ConflictKind) -> Self {
        Self { path: path.clone(), kind, lines: None, base: None, ours: None, theirs: None }
    }

    /// Returns this conflict with the excerpts of all three versions.
    #[must_use]
    pub(super) fn with_texts(self, base: Option<&str>, ours: Option<&str>, theirs: Option<&str>) -> Self {
        let [base, ours, theirs] = [base, ours, theirs].map(|text| text.map(excerpt));
        Self { base, ours, theirs, ..self }
    }
}

fn excerpt(text: &str) -> String {
    if text.len() <= EXCERPT_BYTES {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(EXCERPT_BYTES)])
}

fn as_text<S: Serializer>(path: &SkillPath, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(path)
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.kind {
            ConflictKind::Text => match self.lines {
                Some((first, last)) if first < last => {
                    write!(f, "both sides changed lines {first} to {last} of {path} differently")
                }
                Some((first, last)) if first == last => {
                    write!(f, "both sides changed line {first} of {path} differently")
                }
                Some((first, _)) => write!(f, "both sides changed {path} differently just before line {first}"),
                None => write!(f, "both sides changed {path} differently"),
            },
            ConflictKind::Key { key } => {
                write!(f, "both sides changed `{key}` in the frontmatter of {path} differently")
            }
            ConflictKind::Frontmatter => {
                write!(f, "both sides changed the frontmatter of {path}, and the merged one would be invalid")
            }
            ConflictKind::RemovedInOurs => {
                write!(f, "{path} was changed on one side and is removed in the current skill")
            }
            ConflictKind::RemovedInTheirs => {
                write!(f, "{path} was removed on one side and has changed in the current skill")
            }
            ConflictKind::AddedByBoth => write!(f, "both sides added {path} with different content"),
            ConflictKind::Binary => write!(f, "both sides changed {path}, which is not text"),
            ConflictKind::MovedByBoth { from, theirs } => {
                write!(f, "both sides moved {from}: one to {path}, the other to {theirs}")
            }
            ConflictKind::Executable => write!(f, "both sides added {path}, but only one made it executable"),
            ConflictKind::Collision { with } => {
                write!(f, "{path} was added, but would be the same file or folder as {with} on some systems")
            }
        }
    }
}
