//! [`Change`]: the body of a row in `events`, the log of all changes of the index.
//!
//! A publish, a flag, a hold or a key change writes one row in its own transaction. The leader numbers the rows and
//! makes one git commit of each. A commit is a function of its parent and the row alone, so every leader makes the same
//! commits. Bodies hold lines, never whole files of skills, so that the log grows with the releases.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

/// A change of some files of the index, with the message of its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Message of the commit, as FORMAT.md prescribes it, with a line feed at the end.
    pub message: String,
    /// Changes of files, at most one for each line of a file.
    pub edits: Vec<Edit>,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edit {
    /// Adds a line at the end of a skill's file, which is created if it does not exist.
    Append {
        /// Path of the file in the index.
        path: String,
        /// The line, without a line feed.
        line: String,
    },
    /// Replaces a line of a skill's file.
    Replace {
        /// Path of the file in the index.
        path: String,
        /// Number of the line, from 1.
        at: usize,
        /// The new line, without a line feed.
        line: String,
    },
    /// Writes a whole file: that of an owner, or `config.json`.
    Write {
        /// Path of the file in the index.
        path: String,
        /// The whole text of the file.
        text: String,
    },
    /// Removes a file, if it exists: the archive of a withdrawn release, in an index that once held its archives itself.
    Remove {
        /// Path of the file in the index.
        path: String,
    },
}

/// A file does not have the line that an event changes: the event is of another history.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path} has no line {at} to replace")]
pub struct NoSuchLine {
    /// Path of the file in the index.
    pub path: String,
    /// Number of the line, from 1.
    pub at: usize,
}

impl Change {
    /// Returns the body of the row.
    pub fn body(&self) -> Value {
        json!({ "message": self.message, "edits": self.edits })
    }
}

impl Edit {
    /// Returns the path of the changed file.
    pub fn path(&self) -> &str {
        match self {
            Self::Append { path, .. }
            | Self::Replace { path, .. }
            | Self::Write { path, .. }
            | Self::Remove { path } => path,
        }
    }

    /// Returns the file after the change; `None`, as for `old`, if it does not exist.
    ///
    /// # Errors
    /// [`NoSuchLine`]
    pub fn apply(&self, old: Option<&[u8]>) -> Result<Option<Vec<u8>>, NoSuchLine> {
        let old = old.unwrap_or_default();
        match self {
            Self::Append { line, .. } => Ok(Some([old, line.as_bytes(), b"\n"].concat())),
            Self::Write { text, .. } => Ok(Some(text.clone().into_bytes())),
            Self::Remove { .. } => Ok(None),
            Self::Replace { path, at, line } => {
                let missing = || NoSuchLine { path: path.clone(), at: *at };
                let mut lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
                let new = [line.as_bytes(), b"\n"].concat();
                let place = at.checked_sub(1).and_then(|at| lines.get_mut(at)).ok_or_else(missing)?;
                *place = &new;
                Ok(Some(lines.concat()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_change_one_line_of_a_file() {
        let path = || "no/te/notes/ann".to_owned();
        let append = |line: &str| Edit::Append { path: path(), line: line.to_owned() };
        let replace = |at, line: &str| Edit::Replace { path: path(), at, line: line.to_owned() };
        let one = append("{\"a\":1}").apply(None).unwrap().unwrap();
        let two = append("{\"b\":2}").apply(Some(&one)).unwrap().unwrap();
        assert_eq!(two, b"{\"a\":1}\n{\"b\":2}\n");
        assert_eq!(replace(2, "x").apply(Some(&two)).unwrap().unwrap(), b"{\"a\":1}\nx\n");
        assert_eq!(Edit::Remove { path: path() }.apply(Some(&two)), Ok(None));
        for at in [0, 3] {
            assert_eq!(replace(at, "x").apply(Some(&two)), Err(NoSuchLine { path: path(), at }));
        }
    }

    #[test]
    fn body_is_read_as_it_was_written() {
        let edits = vec![
            Edit::Append { path: "1/a/ann".to_owned(), line: "{}".to_owned() },
            Edit::Write { path: "owners/ann.json".to_owned(), text: "{}\n".to_owned() },
        ];
        let change = Change { message: "ann/a 1.0.0\n".to_owned(), edits };
        let body = change.body();
        assert_eq!(body["edits"][0]["append"]["line"], "{}");
        assert_eq!(serde_json::from_value::<Change>(body).unwrap(), change);
    }
}
