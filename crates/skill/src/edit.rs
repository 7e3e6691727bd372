//! [`Edit`]: one change to a skill, and [`apply`], which makes it without touching a disk.
//!
//! A patch is the delicate one: see [`Patch`] for what counts as a match. Each rule exists because a
//! model that meets a dead end overwrites the whole file instead, and one that is answered "done" when
//! the wrong place was changed never finds out.

mod already;
mod error;
mod indent;
mod nearest;
mod normal;
mod patch;
#[cfg(test)]
mod tests;

use std::fmt;

pub use already::{Step, lead_to, looks_applied, shows_applied};
pub use error::{EditError, Match, Nearest};

use crate::{Bundle, File, Limits, SkillPath};

/// Folders in which [`Edit::WriteFile`] may make new files; those of the Agent Skills standard and
/// `evals`.
pub const FOLDERS_FOR_NEW_FILES: &[&str] = &["scripts", "references", "templates", "assets", "evals"];

/// One change to a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Makes a new skill.
    Create {
        /// The whole `SKILL.md`.
        content: String,
    },
    /// Replaces the whole `SKILL.md`.
    Edit {
        /// The whole new `SKILL.md`.
        content: String,
    },
    /// Replaces some text of one file.
    Patch(Patch),
    /// Makes or replaces a file: a new one only in [`FOLDERS_FOR_NEW_FILES`], an old one anywhere.
    WriteFile {
        /// Where.
        path: SkillPath,
        /// The whole new content.
        bytes: Vec<u8>,
        /// The executable bit; `None` keeps the old one, and means no for a new file.
        executable: Option<bool>,
    },
    /// Removes a file other than `SKILL.md`.
    RemoveFile {
        /// Where.
        path: SkillPath,
    },
    /// Removes every file: the skill is gone.
    Delete,
}

/// A replacement of text in one file.
///
/// Without `expected_count` and `replace_all` the text must stand in the file exactly once. When it
/// does not stand there as given, each [`Relaxation`] is tried in turn and held to the same count.
/// It is taken literally: that it was applied before, only the skill's history can say
/// ([`looks_applied`], [`shows_applied`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The file, which must be text.
    pub path: SkillPath,
    /// The text to look for; not empty.
    pub find: String,
    /// What to put in its place.
    pub replace: String,
    /// How often `find` must stand in the file; all of these places are changed.
    pub expected_count: Option<usize>,
    /// Whether every match is changed, however many there are.
    pub replace_all: bool,
}

/// What a match may overlook, from the strictest on; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relaxation {
    /// CRLF against LF; the replacement takes the line ends of the place.
    LineEnds,
    /// Blanks at the end of lines.
    TrailingSpace,
    /// Unicode quotes, dashes, spaces and ellipses against their ASCII forms.
    Typography,
    /// Whole lines indented by the same amount more or less, or with tabs against spaces; the
    /// replacement is shifted alike.
    Indentation,
}

impl Relaxation {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::LineEnds, Self::TrailingSpace, Self::Typography, Self::Indentation];
}

impl fmt::Display for Relaxation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LineEnds => "line ends",
            Self::TrailingSpace => "trailing space",
            Self::Typography => "typography",
            Self::Indentation => "indentation",
        })
    }
}

/// What an [`Edit`] made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The skill after the edit; empty after [`Edit::Delete`].
    pub bundle: Bundle,
    /// What the caller should tell, one sentence each: a relaxation that was used, a content that was
    /// there already.
    pub notes: Vec<String>,
    /// The loosest reading that a patch needed.
    pub relaxation: Option<Relaxation>,
    /// Places in which a patch replaced its text.
    pub places: usize,
    /// Whether the skill differs from what it was.
    pub changed: bool,
}

/// Makes one edit to a skill; an empty bundle is a skill that does not exist.
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

/// This bundle with one file's content replaced.
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
