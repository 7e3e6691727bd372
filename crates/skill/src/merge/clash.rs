//! [`Conflict`]: one place where two sides disagree, told to a person.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::SkillPath;

/// Bytes of an excerpt in a [`Conflict`]; a longer text is cut there and ends in an ellipsis.
const EXCERPT_BYTES: usize = 4096;

/// One place where the two sides disagree. As text it is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The file.
    #[serde(serialize_with = "as_text")]
    pub path: SkillPath,
    /// In what the sides disagree.
    #[serde(flatten)]
    pub kind: ConflictKind,
    /// First and last line of the place in ours, from 1; where ours has no line there, the last is one
    /// less than the first. `None` when it is about the file as a whole.
    pub lines: Option<(usize, usize)>,
    /// The text of the place in the common ancestor; `None` when it had none or it is no text.
    pub base: Option<String>,
    /// The same in ours.
    pub ours: Option<String>,
    /// The same in theirs.
    pub theirs: Option<String>,
}

/// In what two sides disagree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ConflictKind {
    /// Both changed the same lines, or lines so near that the order is not certain.
    Text,
    /// Both changed one key of the frontmatter.
    Key {
        /// The key.
        key: String,
    },
    /// Both changed the frontmatter and the result could not be read.
    Frontmatter,
    /// Ours has not the file any more, theirs changed it.
    RemovedInOurs,
    /// Theirs has not the file any more, ours changed it.
    RemovedInTheirs,
    /// Both added the file, with different contents.
    AddedByBoth,
    /// Both changed a file that is not text.
    Binary,
    /// Both moved the file, each to another place; it stands in both.
    MovedByBoth {
        /// Where it was.
        #[serde(serialize_with = "as_text")]
        from: SkillPath,
        /// Where theirs has it.
        #[serde(serialize_with = "as_text")]
        theirs: SkillPath,
    },
    /// Both added the file, one as executable.
    Executable,
    /// The path of theirs and one of ours would be the same file or folder on some systems.
    Collision {
        /// The path of ours.
        #[serde(serialize_with = "as_text")]
        with: SkillPath,
    },
}

impl Conflict {
    /// A conflict about a file as a whole.
    pub(super) fn of_file(path: &SkillPath, kind: ConflictKind) -> Self {
        Self { path: path.clone(), kind, lines: None, base: None, ours: None, theirs: None }
    }

    /// This conflict with what the three have at the place.
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
                    write!(f, "both sides changed lines {first} to {last} of {path}, each differently")
                }
                Some((first, last)) if first == last => {
                    write!(f, "both sides changed line {first} of {path}, each differently")
                }
                Some((first, _)) => write!(f, "both sides changed {path} just before line {first}, each differently"),
                None => write!(f, "both sides changed {path}, each differently"),
            },
            ConflictKind::Key { key } => {
                write!(f, "both sides changed `{key}` in the frontmatter of {path}, each differently")
            }
            ConflictKind::Frontmatter => {
                write!(f, "both sides changed the frontmatter of {path}, and together it could not be read")
            }
            ConflictKind::RemovedInOurs => write!(f, "{path} was changed, but is removed in the current state"),
            ConflictKind::RemovedInTheirs => write!(f, "{path} was to be removed, but has changed in the meantime"),
            ConflictKind::AddedByBoth => write!(f, "both sides added {path}, with different contents"),
            ConflictKind::Binary => write!(f, "both sides changed {path}, which is not text"),
            ConflictKind::MovedByBoth { from, theirs } => {
                write!(f, "both sides moved {from}, one to {path} and the other to {theirs}")
            }
            ConflictKind::Executable => write!(f, "both sides added {path}, only one of them as executable"),
            ConflictKind::Collision { with } => {
                write!(f, "{path} was added, but would be the same file or folder as {with} on some systems")
            }
        }
    }
}
