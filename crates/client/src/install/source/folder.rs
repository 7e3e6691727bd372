//! Skills in folders.

use std::path::{Component, Path, PathBuf, is_separator};

use cap_std::{ambient_authority, fs::Dir};
use library::{
    Origin,
    folder::{self, FolderError, ToolFiles},
};
use skill::{Limits, SkillPath};

use super::{Candidate, InstallError, Local, Source};
use crate::discovery::{self, DiscoveredSkill, Pick, SourceContents};

/// An open folder with its resolved path.
pub(super) struct OpenFolder {
    /// Path as the user wrote it.
    pub written: String,
    path: PathBuf,
    dir: Dir,
}

impl OpenFolder {
    fn open(written: &str, path: &Path) -> Result<Self, InstallError> {
        let open = |source| InstallError::Open { path: path.to_owned(), source };
        let path = library::resolve(path).map_err(open)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(open)?;
        Ok(Self { written: written.to_owned(), path, dir })
    }

    fn origin(&self) -> String {
        self.path.display().to_string()
    }

    fn unreadable(&self, source: FolderError) -> InstallError {
        InstallError::Folder { origin: self.origin(), source }
    }

    /// Finds the skills in the folder and its manifest.
    pub(super) fn contents(&self) -> Result<SourceContents, InstallError> {
        let found = discovery::in_folder(&self.dir).map_err(|error| self.unreadable(error))?;
        let manifest = discovery::manifest_in(&self.dir);
        Ok(SourceContents::new(found, "", &self.origin()).with_manifest(manifest.as_deref(), None))
    }
}

impl Source<'_> {
    /// Returns the folder that a spec names, and the selection in it. If the spec as a whole is not a folder, it may be
    /// the path of a `SKILL.md`, or the part after the last `#` is the name or the path of a skill.
    pub(super) fn open_spec(&self, text: &str) -> Result<(OpenFolder, Pick), InstallError> {
        let whole = self.path(text);
        if let (false, Some(written)) = (is_folder(&whole), folder_of_skill_md(text)) {
            return Ok((OpenFolder::open(written, &self.path(written))?, self.request.pick.clone()));
        }
        if let (false, Some((written, skill))) = (is_folder(&whole), text.rsplit_once('#')) {
            let folder = self.path(written);
            let below = folder.join(skill);
            let is_below = Path::new(skill).components().all(|part| matches!(part, Component::Normal(_)));
            if is_below && is_folder(&below) {
                return Ok((OpenFolder::open(&format!("{written}/{skill}"), &below)?, self.request.pick.clone()));
            }
            return Ok((OpenFolder::open(written, &folder)?, Pick { skills: vec![skill.to_owned()], all: false }));
        }
        Ok((OpenFolder::open(text, &whole)?, self.request.pick.clone()))
    }

    pub(super) fn of_folder_spec(&self, text: &str) -> Result<Vec<Candidate>, InstallError> {
        let (folder, pick) = self.open_spec(text)?;
        self.of_open_folder(&folder, &pick)
    }

    pub(super) fn of_folder(&self, path: &Path, pick: &Pick) -> Result<Vec<Candidate>, InstallError> {
        self.of_open_folder(&OpenFolder::open(&path.display().to_string(), path)?, pick)
    }

    fn of_open_folder(&self, top: &OpenFolder, pick: &Pick) -> Result<Vec<Candidate>, InstallError> {
        let contents = top.contents()?;
        let chosen = contents.choose(pick)?;
        let left_out = chosen.warnings();
        let mut candidates = Vec::new();
        for skill in chosen.skills {
            self.add(&mut candidates, &skill, self.candidate_of_folder(top, &skill))?;
        }
        candidates.extend(self.of_foreign(&chosen.foreign)?);
        Ok(with_warnings(candidates, contents.warnings.into_iter().chain(left_out)))
    }

    fn candidate_of_folder(&self, top: &OpenFolder, skill: &DiscoveredSkill) -> Result<Candidate, InstallError> {
        let place = if skill.folder.is_empty() { top.path.clone() } else { top.path.join(&skill.folder) };
        let dir = if skill.folder.is_empty() { top.dir.try_clone() } else { top.dir.open_dir(&skill.folder) };
        let dir = dir.map_err(|source| InstallError::Open { path: place.clone(), source })?;
        let bundle = folder::read_dir(dir, ToolFiles::Skip, &Limits::default());
        let bundle = bundle.map_err(|source| InstallError::Folder { origin: place.display().to_string(), source })?;
        let fallback = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = place.display().to_string();
        let (requested, of) = (path.clone(), |skill| Origin::Folder { path, skill });
        self.candidate(skill, &fallback, bundle, Local { requested, local: true }, of)
    }
}

/// Returns the folder of the path of a `SKILL.md`; `None` for another path.
fn folder_of_skill_md(text: &str) -> Option<&str> {
    match text.strip_suffix(SkillPath::SKILL_MD)? {
        "" => Some("."),
        folder => folder.ends_with(is_separator).then_some(folder),
    }
}

/// Returns whether a path is that of a folder. Links are followed.
pub(crate) fn is_folder(path: &Path) -> bool {
    Dir::open_ambient_dir(path, ambient_authority()).is_ok()
}

/// Adds the warnings about a source to its first skill.
pub(super) fn with_warnings(
    mut candidates: Vec<Candidate>,
    warnings: impl IntoIterator<Item = String>,
) -> Vec<Candidate> {
    if let Some(first) = candidates.first_mut() {
        first.warnings.extend(warnings);
    }
    candidates
}
