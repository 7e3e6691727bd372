//! [`EditError`]: the reasons why an edit is refused, with the nearest matches of its text.

use std::fmt::Write as _;

use serde::Serialize;
use thiserror::Error;

use crate::{BundleError, SkillPath};

/// Position in a file that matches the text of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Line on which the match starts, counted from 1.
    pub line: usize,
    /// Content of that line, cut to [`Match::MAX_CHARS`] characters.
    pub text: String,
}

impl Match {
    /// Largest number of matches listed in an error. The full count is given separately.
    pub const MAX_LISTED: usize = 20;
    /// Largest number of characters shown of a line.
    pub const MAX_CHARS: usize = 200;
}

/// Position in a file that resembles the text of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nearest {
    /// First line of the position, counted from 1.
    pub line: usize,
    /// Excerpt of the file with as many lines as the searched text. Long lines are cut.
    pub text: String,
    /// Share of the searched text that was found here, in percent.
    pub similarity: u8,
}

/// Reason why an [`Edit`](super::Edit) was not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The skill to create already exists.
    #[error("the skill already exists; use edit or patch to change it")]
    Exists,
    /// The skill to change does not exist.
    #[error("the skill does not exist")]
    NotFound,
    /// The file to patch or remove does not exist.
    #[error("the skill does not have the file {path}{}", list_paths(nearest))]
    FileNotFound {
        /// Path that was requested.
        path: SkillPath,
        /// Existing files with a similar path, best match first.
        nearest: Vec<SkillPath>,
    },
    /// The file to patch is not UTF-8 text.
    #[error("{path} is not text and cannot be patched; use write_file to replace it")]
    NotText {
        /// Path of the file in the skill.
        path: SkillPath,
    },
    /// The searched text of the patch is empty.
    #[error("find is empty; give the text to replace, or replace the whole file with edit or write_file")]
    EmptyFind,
    /// The patch expects zero matches, so it would change nothing.
    #[error("the expected number of matches is 0; omit it, or give the number to replace")]
    ZeroCount,
    /// The text occurs several times, and the patch allows one match.
    #[error("the text occurs {found} times in {path} ({})", list_lines(matches, *found))]
    AmbiguousMatch {
        /// Path of the file in the skill.
        path: SkillPath,
        /// Total number of matches.
        found: usize,
        /// First matches, at most [`Match::MAX_LISTED`].
        matches: Vec<Match>,
    },
    /// The number of matches differs from the number that the patch expects.
    #[error(
        "the text was found in {} in {path} ({}), not {expected}",
        crate::counted(*found, "place"),
        list_lines(matches, *found)
    )]
    CountMismatch {
        /// Path of the file in the skill.
        path: SkillPath,
        /// Number of matches that the patch expects.
        expected: usize,
        /// Total number of matches found.
        found: usize,
        /// First matches, at most [`Match::MAX_LISTED`].
        matches: Vec<Match>,
    },
    /// The text does not occur in the file.
    #[error("the text was not found in {path}; {}", list_nearest(nearest))]
    NoMatch {
        /// Path of the file in the skill.
        path: SkillPath,
        /// Up to three similar excerpts, best match first.
        nearest: Vec<Nearest>,
    },
    /// The new file is outside the folders for support files.
    #[error("a new file is not allowed at {path}; put it under one of: {}", allowed.join(", "))]
    FolderNotAllowed {
        /// Path that was requested.
        path: SkillPath,
        /// Folders in which new files are allowed.
        allowed: &'static [&'static str],
    },
    /// `SKILL.md` cannot be removed on its own.
    #[error("SKILL.md cannot be removed; use delete to remove the whole skill")]
    RemovesSkillMd,
    /// `SKILL.md` would exceed its size limit.
    #[error("SKILL.md would have {chars} characters, but the limit is {limit}; move parts to files under references/")]
    TooLarge {
        /// Length of the result in characters.
        chars: usize,
        /// Largest length allowed, in characters.
        limit: usize,
    },
    /// The result exceeds a limit of bundles or has colliding paths.
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
        return "; list its files first".to_owned();
    }
    let names: Vec<&str> = paths.iter().map(SkillPath::as_str).collect();
    format!("; did you mean {}?", names.join(" or "))
}

fn list_nearest(nearest: &[Nearest]) -> String {
    if nearest.is_empty() {
        return "read the file and copy the text to replace from it".to_owned();
    }
    let mut text = "copy the text from the closest match:".to_owned();
    for place in nearest {
        let first = place.text.lines().next().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = write!(text, " line {} ({} % similar) {first:?}", place.line, place.similarity);
    }
    text
}
