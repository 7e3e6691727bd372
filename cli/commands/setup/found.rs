//! Libraries, and the skills around them that `setup` can manage.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use client::{AdoptStatus, Adopted, LockFile};
use library::Library;
use ops::MissingLink;
use skill::SkillName;

use crate::{
    catalogue::next_of_clone,
    commands::adopt,
    context::Context,
    exit::{CliError, io_at},
    global::Global,
};

/// A library with the skills that belong to it.
pub struct FoundLibrary {
    /// Context in which commands on this library run.
    pub context: Context,
    /// Unmanaged skills in agents' folders and in the library, with the results that adopting them would have.
    pub skills: Vec<Adopted>,
    /// Links to skills elsewhere that are not followed. Links in a project may have come with its clone.
    pub passed_over: Vec<PathBuf>,
    /// Folders and links with the files of a managed skill, under another name than the skill's.
    pub duplicates: Vec<Adopted>,
    /// Number of skills that the library manages.
    pub managed: usize,
    /// Links to managed skills that agents lack.
    pub missing: Vec<MissingLink>,
    /// Next step for skills of the lock file that are not installed. Setup leaves them to an install.
    pub next: Option<String>,
    /// Path of the library, with links resolved.
    path: PathBuf,
}

impl FoundLibrary {
    /// Returns the paths of the skills.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.skills.iter().map(|skill| skill.source.clone()).collect()
    }

    /// Searches the agents' folders and the library.
    fn look(context: Context, follows_links: bool) -> Result<Self, CliError> {
        let library = context.library_to_inspect()?;
        let managed = library.heads()?.len();
        let paths = unmanaged_paths(&context, &library)?;
        let is_outside = |path: &PathBuf| !follows_links && path.is_symlink();
        let (passed_over, paths): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_outside);
        let skills = if paths.is_empty() { Vec::new() } else { adopt::preview(&context, &paths)? };
        let (duplicates, skills): (Vec<_>, Vec<_>) = skills.into_iter().partition(is_duplicate);
        let path = library.path().to_owned();
        let next = next_of_clone(&context, &library);
        let mut found = Self { context, skills, passed_over, duplicates, managed, missing: Vec::new(), next, path };
        found.missing = found.missing_links()?;
        Ok(found)
    }

    /// Searches for links to managed skills that agents lack.
    ///
    /// # Errors
    /// The library or the configuration cannot be read.
    pub fn missing_links(&self) -> Result<Vec<MissingLink>, CliError> {
        let missing = self.context.missing_links()?.into_iter();
        Ok(missing.filter(|link| link.library == self.path).collect())
    }

    /// Returns whether a setup changes the library or the links to its skills.
    pub fn is_changed(&self) -> bool {
        !self.skills.is_empty() || !self.missing.is_empty()
    }
}

/// Returns whether a folder has the files of a managed skill of another name. A link cannot take its place.
fn is_duplicate(skill: &Adopted) -> bool {
    let name = skill.name.as_ref().map(|name| OsStr::new(name.as_str()));
    skill.status == AdoptStatus::Unchanged && skill.source.file_name() != name
}

/// Returns the project's library, if there is a project, and the user's. Links in the user's folders are always
/// followed, those in the project's only with `follows_links`.
///
/// # Errors
/// A library cannot be read.
pub fn places(context: &Context, global: &Global, follows_links: bool) -> Result<Vec<FoundLibrary>, CliError> {
    let has_project = context.project_root().is_some() && !global.global;
    let scopes = [(true, has_project), (false, !global.project)];
    let wanted = scopes.into_iter().filter(|(_, is_wanted)| *is_wanted);
    wanted
        .map(|(project, _)| FoundLibrary::look(context_of(context, global, project)?, follows_links || !project))
        .collect()
}

/// Returns the context of one of the two libraries, with the same timestamp.
pub fn context_of(context: &Context, global: &Global, project: bool) -> Result<Context, CliError> {
    let flags = Global { project, global: !project, library: None, ..global.clone() };
    let mut of_library = Context::new(&flags)?;
    of_library.place.now = context.now;
    Ok(of_library)
}

/// Finds skills in the library without a history, and skills in agents' folders that skillhub did not place.
/// Folders in the library that the lock file names are left out.
fn unmanaged_paths(context: &Context, library: &Library) -> Result<Vec<PathBuf>, CliError> {
    let state = library.state()?;
    let lock = LockFile::read(&context.lock_path(library)).unwrap_or_default();
    let is_ours = |path: &Path| {
        let name = path.file_name().and_then(|name| SkillName::parse(&name.to_string_lossy()).ok());
        let is_placed = name.is_some_and(|name| state.of(&name).placed.iter().any(|placed| placed == path));
        is_placed || library::real_path(path).is_ok_and(|real| real.starts_with(library.path()))
    };
    let heads = library.heads()?;
    let mut paths = Vec::new();
    for name in library.folders()? {
        let is_known = |name: &SkillName| heads.iter().any(|(known, _)| known == name) || lock.find(name).is_some();
        let is_left = SkillName::parse(&name).is_ok_and(|name| is_known(&name));
        paths.extend(Some(library.path().join(name)).filter(|path| !is_left && is_skill(path)));
    }
    for folder in context.agent_folders().all_read().iter().filter(|folder| folder.path != library.path()) {
        if is_agents_own(context, &folder.path) {
            paths.extend(children(&folder.path)?.into_iter().filter(|path| is_skill(path) && !is_ours(path)));
        }
    }
    Ok(paths)
}

/// Returns whether a folder exists only for agents. `.claude/skills` does, a project's `skills` does not.
fn is_agents_own(context: &Context, folder: &Path) -> bool {
    let root = context.project_root().filter(|root| folder.starts_with(root));
    let below = folder.strip_prefix(root.as_ref().unwrap_or(&context.user_home)).unwrap_or(folder);
    below.is_absolute()
        || below.components().next().is_some_and(|first| first.as_os_str().as_encoded_bytes().starts_with(b"."))
}

fn is_skill(path: &Path) -> bool {
    path.join("SKILL.md").is_file()
}

/// Returns the entries of a folder, sorted, without hidden ones. A missing folder has none.
fn children(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io_at(folder))?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
