//! [`SkillFolder`]: the files of a skill to publish, and [`skill_folders`], which finds skills below a folder.

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::folder::{self, ToolFiles};
use skill::{
    Bundle, Limits, Problem, SkillName, Strictness, archive,
    validate::{TEMPLATE_LINE, validate_bundle},
};

use super::PublishError;
use crate::discovery::{self, Pick, SourceContents};

/// A valid skill, with its folder.
pub(super) struct SkillFolder {
    pub bundle: Bundle,
    /// Name of the skill, which is that of the folder.
    pub name: SkillName,
    /// Advice from the validation; it has no errors.
    pub problems: Vec<Problem>,
}

impl SkillFolder {
    /// Reads and validates the skill in a folder.
    pub fn read(folder: &Path) -> Result<Self, PublishError> {
        let (path, dir) = open(folder)?;
        match folder::read_dir(dir, ToolFiles::Skip, &Limits::default()) {
            Ok(bundle) => Self::of(&path, bundle),
            Err(source) => Err(PublishError::Folder { path, source }),
        }
    }

    /// Validates the files of a folder. If any problem is an error, all problems are returned as an error.
    pub fn of(path: &Path, bundle: Bundle) -> Result<Self, PublishError> {
        let limits = Limits::default();
        let folder = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let problems = validate_bundle(&bundle, Some(&folder), Strictness::Standard, &limits);
        if problems.iter().any(Problem::is_error) {
            return Err(PublishError::Invalid { path: path.to_owned(), problems });
        }
        let lines: Vec<usize> = problems.iter().filter(|p| p.code == TEMPLATE_LINE).filter_map(|p| p.line).collect();
        if !lines.is_empty() {
            return Err(PublishError::Template { path: path.to_owned(), lines });
        }
        let name = SkillName::parse_standard(&folder)?;
        if !name.is_publishable() {
            return Err(PublishError::Name(name));
        }
        archive::check_content(&bundle)?;
        Ok(Self { bundle, name, problems })
    }
}

/// Returns the folder itself if it is a skill, otherwise the skills below it, as `install --all` chooses them: those in
/// `skills/` and similar folders, or else all that are not inside another skill. A folder without any skill is returned
/// as well, so that publishing it names what is missing.
///
/// # Errors
/// [`PublishError`] if a folder cannot be read.
pub fn skill_folders(folder: &Path) -> Result<Vec<PathBuf>, PublishError> {
    let (path, dir) = open(folder)?;
    let found = discovery::in_folder(&dir).map_err(|source| PublishError::Folder { path: path.clone(), source })?;
    let contents = SourceContents::new(found, "", "").with_manifest(discovery::manifest_in(&dir).as_deref(), None);
    let chosen = contents.choose(&Pick { skills: Vec::new(), all: true }).unwrap_or_default();
    let mut folders: Vec<PathBuf> = chosen.skills.iter().map(|skill| path.join(&skill.folder)).collect();
    folders.sort();
    match folders.is_empty() || chosen.skills.iter().any(|skill| skill.folder.is_empty()) {
        true => Ok(vec![path]),
        false => Ok(folders),
    }
}

/// Opens a folder, and returns its resolved path.
fn open(folder: &Path) -> Result<(PathBuf, Dir), PublishError> {
    let open = |source| PublishError::Open { path: folder.to_owned(), source };
    let path = library::resolve(folder).map_err(open)?;
    let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(open)?;
    Ok((path, dir))
}
