//! [`Edit`]: one change to a skill. [`apply`] makes it in memory.
//!
//! Patches have the most delicate rules: see [`Patch`] for the definition of a match. A model that cannot apply a patch
//! tends to overwrite the whole file, and a model that gets "done" for a change in the wrong location never notices.
//! Each rule prevents one of these.

mod applied_before;
mod error;
mod indent;
mod nearest;
mod normal;
mod patch;
#[cfg(test)]
mod tests;

use std::fmt;

pub use applied_before::{Step, lead_to, looks_applied, shows_applied};
pub use error::{EditError, Match, Nearest};

use crate::{Bundle, File, Limits, SkillPath};

/// Folders in which [`Edit::WriteFile`] may create files: those of the Agent Skills standard and `evals`.
pub const FOLDERS_FOR_NEW_FILES: &[&str] = &["scripts", "references", "templates", "assets", "evals"];

/// One change to a skill, by a person or an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Creates a skill that does not exist yet.
    Create {
        /// Full text of the `SKILL.md`.
        content: String,
    },
    /// Replaces the whole `SKILL.md`.
    Edit {
        /// Full text of the new `SKILL.md`.
        content: String,
    },
    /// Replaces text within one file.
    Patch(Patch),
    /// Creates or replaces a file. New files are limited to [`FOLDERS_FOR_NEW_FILES`], existing ones may be anywhere.
    WriteFile {
        /// Path of the file in the skill.
        path: SkillPath,
        /// Full new content of the file.
        bytes: Vec<u8>,
        /// Executable bit. `None` keeps the current one, or means not executable for a new file.
        executable: Option<bool>,
    },
    /// Removes a file other than `SKILL.md`.
    RemoveFile {
        /// Path of the file in the skill.
        path: SkillPath,
    },
    /// Removes every file, which deletes the skill.
    Delete,
}

/// Replacement of text in one file.
///
/// Without `expected_count` and `replace_all`, the text must occur in the file exactly once. If it does not occur
/// verbatim, each [`Relaxation`] is tried in order, with the same rule on counts. A patch is always applied literally:
/// only the skill's history can show that it was applied before ([`looks_applied`], [`shows_applied`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// File to change, which must be text.
    pub path: SkillPath,
    /// Text to search for, not empty.
    pub find: String,
    /// Text to insert in place of each match.
    pub replace: String,
    /// Required number of matches of `find`. All of them are replaced.
    pub expected_count: Option<usize>,
    /// True to replace every match, regardless of their number.
    pub replace_all: bool,
}

/// Differences that a match may ignore, strictest first. Each level includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relaxation {
    /// CRLF against LF. The replacement takes the line endings of the matched text.
    LineEnds,
    /// Blanks at the end of lines.
    TrailingSpace,
    /// Unicode quotes, dashes, spaces and ellipses against their ASCII forms.
    Typography,
    /// Indentation of whole lines by a constant amount, or tabs against spaces. The replacement is shifted accordingly.
    Indentation,
}

impl Relaxation {
    /// All levels, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::LineEnds, Self::TrailingSpace, Self::Typography, Self::Indentation];
}

impl fmt::Display for Relaxation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LineEnds => "line endings",
            Self::TrailingSpace => "trailing spaces",
            Self::Typography => "typography",
            Self::Indentation => "indentation",
        })
    }
}

/// Result of applying an [`Edit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Skill after the edit. Empty after [`Edit::Delete`].
    pub bundle: Bundle,
    /// Notes for the user, one sentence each, such as a relaxation that was needed or content that was already present.
    pub notes: Vec<String>,
    /// Loosest level that a patch needed.
    pub relaxation: Option<Relaxation>,
    /// Number of replacements made by a patch.
    pub places: usize,
    /// True if the skill differs from its previous state.
    pub changed: bool,
}

/// Applies one edit to a skill. An empty bundle represents a skill that does not exist.
///
/// # Errors
/// [`EditError`], in which case nothing was changed.
pub fn apply(edit: &Edit, bundle: &Bundle, limits: &Limits) -> Result<Applied, EditError> {
    match (edit, bundle.is_empty()) {
        (Edit::Create { .. }, false) => return Err(EditError::Exists),
        (Edit::Create { .. }, true) | (_, false) => {}
        (_, true) => return Err(EditError::NotFound),
    }
    match edit {
        Edit::Create { content } | Edit::Edit { content } => {
            write(bundle, SkillPath::skill_md(), content.as_bytes(), None, limits)
        }
        Edit::Patch(patch) => apply_patch(patch, bundle, limits),
        Edit::WriteFile { path, bytes, executable } => {
            check_folder(path, bundle)?;
            write(bundle, path.clone(), bytes, *executable, limits)
        }
        Edit::RemoveFile { path } => remove(bundle, path),
        Edit::Delete => {
            Ok(Applied { bundle: Bundle::default(), notes: vec![], relaxation: None, places: 0, changed: true })
        }
    }
}

/// Returns this bundle with the content of one file replaced.
fn write(
    bundle: &Bundle,
    path: SkillPath,
    bytes: &[u8],
    executable: Option<bool>,
    limits: &Limits,
) -> Result<Applied, EditError> {
    let old = bundle.get(&path);
    let executable = executable.unwrap_or_else(|| old.is_some_and(|file| file.executable));
    let file = File { bytes: bytes.into(), executable };
    if old == Some(&file) {
        let notes = vec![format!("{path} already has this content; nothing was changed")];
        return Ok(Applied { bundle: bundle.clone(), notes, relaxation: None, places: 0, changed: false });
    }
    if path.is_skill_md() {
        check_skill_md_chars(&file, limits)?;
    }
    let bundle = bundle.clone().with_file(path, file, limits)?;
    Ok(Applied { bundle, notes: vec![], relaxation: None, places: 0, changed: true })
}

fn check_skill_md_chars(file: &File, limits: &Limits) -> Result<(), EditError> {
    let chars = file.text().map_or(0, |text| text.chars().count());
    if chars > limits.skill_md_chars {
        return Err(EditError::TooLarge { chars, limit: limits.skill_md_chars });
    }
    Ok(())
}

fn check_folder(path: &SkillPath, bundle: &Bundle) -> Result<(), EditError> {
    let allowed = path.top_folder().is_some_and(|folder| FOLDERS_FOR_NEW_FILES.contains(&folder));
    if allowed || bundle.get(path).is_some() {
        return Ok(());
    }
    Err(EditError::FolderNotAllowed { path: path.clone(), allowed: FOLDERS_FOR_NEW_FILES })
}

fn remove(bundle: &Bundle, path: &SkillPath) -> Result<Applied, EditError> {
    if bundle.get(path).is_none() {
        return Err(EditError::FileNotFound { path: path.clone(), nearest: nearest::paths(path, bundle) });
    }
    if path.is_skill_md() {
        return Err(EditError::RemovesSkillMd);
    }
    let bundle = bundle.clone().without_file(path);
    Ok(Applied { bundle, notes: vec![], relaxation: None, places: 0, changed: true })
}

fn apply_patch(patch: &Patch, bundle: &Bundle, limits: &Limits) -> Result<Applied, EditError> {
    let path = &patch.path;
    let file = bundle
        .get(path)
        .ok_or_else(|| EditError::FileNotFound { path: path.clone(), nearest: nearest::paths(path, bundle) })?;
    let text = file.text().ok_or_else(|| EditError::NotText { path: path.clone() })?;
    let plan = patch::plan(patch, text, limits)?;
    let mut applied = write(bundle, path.clone(), plan.text.as_bytes(), None, limits)?;
    applied.notes.extend(plan.note);
    Ok(Applied { relaxation: plan.relaxation, places: plan.places, ..applied })
}
