//! [`SkillLocations`]: the locations in which an agent's skills are looked up.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use library::{ChangeDetection, Home, Library, LibraryError, Scope, SkillSummary, find_agent, folder, resolve};
use skill::SkillName;

use crate::host::{Host, HostEnvironment};

/// Largest depth of a skill below one of the folders.
pub const DEPTH: usize = 6;

/// Largest number of group folders below one folder of skills. The rest is skipped with a note.
pub const GROUPS: usize = 1000;

/// Skills folders of widely used agents, searched from the current folder up to the repository's root. They apply to a
/// reader that is not in the agents' table.
const PROJECT_FOLDERS: [&str; 4] = [".agents/skills", ".opencode/skill", ".opencode/skills", ".claude/skills"];

/// Skills folders of widely used agents in the user's home.
const USER_FOLDERS: [&str; 6] = [
    ".agents/skills", ".config/opencode/skill", ".config/opencode/skills", ".opencode/skill", ".opencode/skills",
    ".claude/skills",
];

/// Mode of access to libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Operations left behind by a killed process are applied, and findings are cached.
    Open,
    /// Nothing is written.
    Inspect,
}

impl Access {
    fn open(self, path: &Path, scope: Scope, home: &Home, storage: &str) -> Result<Library, LibraryError> {
        match self {
            Self::Open => Library::open(path, scope, home, storage),
            Self::Inspect => Library::inspect(path, scope, home, storage),
        }
    }

    /// Returns the summaries of a library's skills, validated by the signatures of their folders.
    pub fn summaries(self, library: &Library) -> Result<Vec<SkillSummary>, LibraryError> {
        match self {
            Self::Open => library.summaries(ChangeDetection::Signatures),
            Self::Inspect => library.summaries_uncached(ChangeDetection::Signatures),
        }
    }
}

/// Locations in which an agent's skills are looked up, by precedence.
#[derive(Debug, Clone)]
pub struct SkillLocations {
    /// Home of skillhub's own files.
    pub home: Home,
    /// Kind of history storage of the libraries.
    pub storage: String,
    /// Libraries. The first is the writable one, and it is searched before `folders`. The others are searched after
    /// those of a project.
    pub libraries: Vec<(PathBuf, Scope)>,
    /// Further folders of skills, such as those of agents.
    pub folders: Vec<(PathBuf, Scope)>,
    /// Root of the project. Links in the project that lead out of it are skipped.
    pub project: Option<PathBuf>,
    /// True to list a `SKILL.md` inside a skill as a separate, read-only skill.
    pub inner: bool,
}

/// Opened folder of skills.
pub(crate) struct Root {
    pub library: Library,
    /// True for a library, false for a folder of agents.
    pub is_own: bool,
}

/// Subfolders of a folder of skills that contain skills as well.
#[derive(Default)]
pub(crate) struct Nested {
    /// Group folders. For a group inside a skill, with the folders in it that are separate skills.
    pub libraries: Vec<(Library, Option<BTreeSet<PathBuf>>)>,
    pub groups: BTreeSet<String>,
}

impl SkillLocations {
    /// Returns the folders that an agent's host reads, by its precedence. An id outside the agents' table gets the
    /// folders of widely used agents: in the project, the nearest first, and those of the user.
    pub fn folders_of(agent: &str, around: &HostEnvironment<'_>) -> Vec<(PathBuf, Scope)> {
        if let Some(agent) = find_agent(agent) {
            return Host::of(agent, around).folders().map(|(folder, scope)| (folder.to_owned(), scope)).collect();
        }
        let levels = around
            .project
            .into_iter()
            .flat_map(|root| around.cwd.ancestors().take_while(move |level| level.starts_with(root)));
        let in_project = levels.flat_map(|level| PROJECT_FOLDERS.map(|folder| (level.join(folder), Scope::Project)));
        in_project.chain(USER_FOLDERS.map(|folder| (around.user_home.join(folder), Scope::User))).collect()
    }

    /// Opens the locations by precedence: the first library, the other libraries and folders of the project, and those
    /// of the user. A library that cannot be opened is an error, any other folder only a note.
    pub(crate) fn open(&self, access: Access, notes: &mut Vec<String>) -> Result<Vec<Root>, LibraryError> {
        let mut wanted: Vec<(&PathBuf, Scope, bool)> =
            self.libraries.iter().map(|(path, scope)| (path, *scope, true)).collect();
        wanted.extend(self.folders.iter().map(|(path, scope)| (path, *scope, false)));
        if let Some(rest) = wanted.get_mut(1..) {
            rest.sort_by_key(|(_, scope, _)| *scope != Scope::Project);
        }
        let mut roots: Vec<Root> = Vec::new();
        for (path, scope, is_own) in wanted {
            let Some(real) = self.inside(path, notes) else { continue };
            if roots.iter().any(|root| root.library.path() == real) {
                continue;
            }
            match access.open(&real, scope, &self.home, &self.storage) {
                Ok(library) => roots.push(Root { library, is_own }),
                Err(error) if is_own => return Err(error),
                Err(error) => notes.push(format!("{} was skipped: {error}", path.display())),
            }
        }
        Ok(roots)
    }

    /// Returns the folder with links resolved, unless a link in the project leads out of it.
    fn inside(&self, path: &Path, notes: &mut Vec<String>) -> Option<PathBuf> {
        let real = resolve(path).ok()?;
        let project = self.project.as_ref().filter(|project| path.starts_with(project));
        match project.map(|project| resolve(project).unwrap_or_else(|_| project.clone())) {
            Some(project) if !real.starts_with(&project) => {
                let (path, real) = (path.display(), real.display());
                notes.push(format!("{path} was skipped: it is a link out of the project, to {real}"));
                None
            }
            _ => Some(real),
        }
    }

    /// Finds the subfolders whose children are skills, as in `skills/group/name`, and the names of the direct
    /// subfolders that lead there. `is_skill` identifies direct subfolders that are skills themselves.
    pub(crate) fn nested(
        &self,
        root: &Library,
        access: Access,
        is_skill: impl Fn(&str) -> bool,
        notes: &mut Vec<String>,
    ) -> Result<Nested, LibraryError> {
        let mut nested = Nested::default();
        let mut parents = BTreeSet::new();
        for name in root.folders()?.into_iter().filter(|name| !is_skill(name)) {
            if folder::SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let top = root.path().join(&name);
            let mut found = folder::find_skills(&top, DEPTH - 1, &folder::SKIPPED).unwrap_or_default();
            found.retain(|skill| *skill != top && is_shown(root.path(), skill));
            if !found.is_empty() {
                nested.groups.insert(name);
            }
            parents.extend(found.iter().filter_map(|skill| skill.parent()).map(Path::to_owned));
        }
        if parents.len() > GROUPS {
            let path = root.path().display();
            notes.push(format!("{path} has skills in more than {GROUPS} folders; the rest were skipped"));
        }
        for path in parents.into_iter().take(GROUPS) {
            nested.libraries.push((access.open(&path, root.scope(), &self.home, &self.storage)?, None));
        }
        if self.inner {
            let skills = root.folders()?.into_iter().filter(|name| is_skill(name)).map(|name| root.path().join(name));
            let mut inner: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
            for skill in skills.flat_map(|skill| inside(&skill)) {
                inner.entry(skill.parent().unwrap_or(root.path()).to_owned()).or_default().insert(skill);
            }
            for (path, skills) in inner.into_iter().take(GROUPS) {
                nested.libraries.push((access.open(&path, root.scope(), &self.home, &self.storage)?, Some(skills)));
            }
        }
        Ok(nested)
    }
}

/// Returns the folders inside a skill that have a `SKILL.md`, except in its evals.
fn inside(skill: &Path) -> Vec<PathBuf> {
    let entries = folder::open_at(skill).ok().and_then(|dir| dir.entries().ok()).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let is_wanted = |name: &String| name != "evals" && !folder::SKIPPED.contains(&name.as_str());
    let find = |name: String| folder::find_skills(&skill.join(name), DEPTH - 2, &folder::SKIPPED).unwrap_or_default();
    names.filter(is_wanted).flat_map(find).filter(|found| is_shown(skill, found)).collect()
}

/// Returns the group folders below a library that contain skills, sorted, at most 1000.
pub fn groups_in(library: &Path) -> Vec<PathBuf> {
    let found = folder::find_skills(library, DEPTH, &folder::SKIPPED).unwrap_or_default();
    let parents = found.iter().filter(|skill| is_shown(library, skill)).filter_map(|skill| skill.parent());
    let groups: BTreeSet<&Path> = parents.filter(|it| it.starts_with(library) && *it != library).collect();
    groups.into_iter().take(GROUPS).map(Path::to_owned).collect()
}

/// Returns the group folder below a library that contains a skill.
pub fn group_of(library: &Path, skill: &SkillName) -> Option<PathBuf> {
    let found = folder::find_skills(library, DEPTH, &folder::SKIPPED).unwrap_or_default();
    let is_meant = |path: &&PathBuf| path.file_name().is_some_and(|name| name == skill.as_str());
    let group = found.iter().filter(is_meant).find(|path| is_shown(library, path))?.parent()?;
    (group != library).then(|| group.to_owned())
}

/// Returns whether no part of the path from `root` to a folder is hidden.
fn is_shown(root: &Path, folder: &Path) -> bool {
    let below = folder.strip_prefix(root).unwrap_or(Path::new(""));
    below.components().all(|part| !part.as_os_str().to_string_lossy().starts_with('.'))
}
