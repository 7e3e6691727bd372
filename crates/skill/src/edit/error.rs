//! [`EditError`]: why an edit was not made, and where its text almost stands.

use std::fmt::Write as _;

use serde::Serialize;
use thiserror::Error;

use crate::{BundleError, SkillPath};

/// A place in a file where the text of a patch stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The line in which it starts, from 1.
    pub line: usize,
    /// That line, cut to [`Match::MAX_CHARS`] characters.
    pub text: String,
}

impl Match {
    /// How many places an error lists; it tells the full number beside them.
    pub const MAX_LISTED: usize = 20;
    /// How many characters of a line are shown.
    pub const MAX_CHARS: usize = 200;
}

/// A place in a file that resembles the text of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nearest {
    /// The first of its lines, from 1.
    pub line: usize,
    /// As many lines as the patch looks for, as they stand in the file; long ones are cut.
    pub text: String,
    /// How much of the wanted text is found there, in percent.
    pub similarity: u8,
}

/// Why an [`Edit`](super::Edit) was not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The skill to create is there.
    #[error("the skill exists already; use edit or patch to change it")]
    Exists,
    /// The skill to change is not there.
    #[error("there is no such skill; use create to make it")]
    NotFound,
    /// The file to patch or remove is not there.
    #[error("the skill has no file {path}{}", list_paths(nearest))]
    FileNotFound {
        /// The file asked for.
        path: SkillPath,
        /// Files with a similar name, best first.
        nearest: Vec<SkillPath>,
    },
    /// The file to patch is no UTF-8 text.
    #[error("{path} is not text and cannot be patched; use write_file to replace it")]
    NotText {
        /// The file.
        path: SkillPath,
    },
    /// The patch looks for nothing.
    #[error("find is empty; give the text to replace, or use edit or write_file for the whole file")]
    EmptyFind,
    /// The patch wants no match.
    #[error("expected_count is 0; leave it out or give the number of matches to replace")]
    ZeroCount,
    /// The text stands in several places.
    #[error(
        "the text stands in {found} places in {path} ({}); add surrounding lines to find, or give expected_count or replace_all",
        list_lines(matches, *found)
    )]
    AmbiguousMatch {
        /// The file.
        path: SkillPath,
        /// How many places there are.
        found: usize,
        /// The first of them.
        matches: Vec<Match>,
    },
    /// The text stands in more or fewer places than the patch says.
    #[error(
        "the text was found in {} in {path} ({}), not {expected}; correct expected_count or find",
        crate::counted(*found, "place"),
        list_lines(matches, *found)
    )]
    CountMismatch {
        /// The file.
        path: SkillPath,
        /// How many places the patch expects.
        expected: usize,
        /// How many there are.
        found: usize,
        /// The first of them.
        matches: Vec<Match>,
    },
    /// The text stands nowhere.
    #[error("the text is not in {path}; {}", list_nearest(nearest))]
    NoMatch {
        /// The file.
        path: SkillPath,
        /// At most three places that resemble it, best first.
        nearest: Vec<Nearest>,
    },
    /// A new file outside the folders for support files.
    #[error("{path} is no place for a new file; put it under one of: {}", allowed.join(", "))]
    FolderNotAllowed {
        /// The file asked for.
        path: SkillPath,
        /// Folders that may be used.
        allowed: &'static [&'static str],
    },
    /// `SKILL.md` cannot be removed alone.
    #[error("a skill cannot be without SKILL.md; use delete to remove the whole skill")]
    RemovesSkillMd,
    /// `SKILL.md` would pass its limit.
    #[error("SKILL.md would have {chars} characters, the limit is {limit}; move parts to files under references/")]
    TooLarge {
        /// Characters of the result.
        chars: usize,
        /// Characters allowed.
        limit: usize,
    },
    /// The result is no bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

fn list_lines(matches: &[Match], found: usize) -> String {
    let lines: Vec<String> = matches.iter().map(|m| m.line.to_string()).collect();
    let more = if found > matches.len() { ", …" } else { "" };
    format!("lines {}{more}", lines.join(", "))
}

fn list_paths(paths: &[SkillPath]) -> String {
    if paths.is_empty() {
        return "; list its files to see what it has".to_owned();
    }
    let names: Vec<&str> = paths.iter().map(SkillPath::as_str).collect();
    format!("; did you mean {}?", names.join(" or "))
}

fn list_nearest(nearest: &[Nearest]) -> String {
    if nearest.is_empty() {
        return "read the file and copy the text to replace from it".to_owned();
    }
    let mut text = "copy the text from the nearest place:".to_owned();
    for place in nearest {
        let first = place.text.lines().next().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = write!(text, " line {} ({} % alike) {first:?}", place.line, place.similarity);
    }
    text
}
