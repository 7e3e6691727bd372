//! [`Places`]: where an agent's skills are looked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use library::{Closeness, Glance, Home, Library, LibraryError, Scope, find_agent, folder, resolve};
use skill::SkillName;

use crate::host::{Host, Surroundings};

/// How deep below one of the folders a skill may stand.
pub const DEPTH: usize = 6;

/// Folders below one folder of skills that may hold skills as well; more are told of and left out.
pub const GROUPS: usize = 1000;

/// Below a folder between the current one and the repository's root, where agents that are in use in many projects
/// look for skills: for a reader that is not one agent of the table.
const PROJECT_FOLDERS: [&str; 4] = [".agents/skills", ".opencode/skill", ".opencode/skills", ".claude/skills"];

/// The same below the user's home.
const USER_FOLDERS: [&str; 6] = [
    ".agents/skills",
    ".config/opencode/skill",
    ".config/opencode/skills",
    ".opencode/skill",
    ".opencode/skills",
    ".claude/skills",
];

/// How libraries are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Operations that a killed process left are applied, and findings are remembered.
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

    /// The skills of a library, by the signatures of their folders.
    pub fn glances(self, library: &Library) -> Result<Vec<Glance>, LibraryError> {
        match self {
            Self::Open => library.glances(Closeness::Signatures),
            Self::Inspect => library.glances_unremembered(Closeness::Signatures),
        }
    }
}

/// Where an agent's skills are looked for, by precedence.
#[derive(Debug, Clone)]
pub struct Places {
    /// skillhub's own folder.
    pub home: Home,
    /// How libraries keep their history.
    pub storage: String,
    /// The libraries. The first is the one that is written to, and it is searched before `folders`; the
    /// others are searched after those of a project.
    pub libraries: Vec<(PathBuf, Scope)>,
    /// Other folders of skills, such as those of agents.
    pub folders: Vec<(PathBuf, Scope)>,
    /// The project's root. What a link in the project leads out of it is passed over.
    pub project: Option<PathBuf>,
    /// Lists a `SKILL.md` inside a skill as a skill of its own, which cannot be changed there.
    pub inner: bool,
}

/// A folder of skills that was opened.
pub(crate) struct Root {
    pub library: Library,
    /// It is one of the libraries rather than a folder of agents.
    pub is_own: bool,
}

/// What stands below a folder of skills that holds skills as well.
#[derive(Default)]
pub(crate) struct Nested {
    /// Folders of groups; those inside of skills with the folders in them that are skills of their own.
    pub libraries: Vec<(Library, Option<BTreeSet<PathBuf>>)>,
    pub groups: BTreeSet<String>,
}

impl Places {
    /// The folders that an agent's host reads, by its precedence. For an id that the agents' table does not have
    /// they are those of agents that are in use in many projects: in the project, the nearest first, and of the user.
    #[must_use]
    pub fn folders_of(agent: &str, around: &Surroundings<'_>) -> Vec<(PathBuf, Scope)> {
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

    /// Opens them by precedence: the first library, the others and the folders of the project, those of the
    /// user. Of a library that cannot be opened the reason is an error, of any other folder it is a note.
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
                Err(error) => notes.push(format!("{} is left out: {error}", path.display())),
            }
        }
        Ok(roots)
    }

    /// The folder with links resolved, unless a link in the project leads it out of that.
    fn inside(&self, path: &Path, notes: &mut Vec<String>) -> Option<PathBuf> {
        let real = resolve(path).ok()?;
        let project = self.project.as_ref().filter(|project| path.starts_with(project));
        match project.map(|project| resolve(project).unwrap_or_else(|_| project.clone())) {
            Some(project) if !real.starts_with(&project) => {
                let (path, real) = (path.display(), real.display());
                notes.push(format!("{path} is left out: it leads out of the project, to {real}"));
                None
            }
            _ => Some(real),
        }
    }

    /// The folders below one of skills whose children are skills too, as in `skills/group/name`, and the
    /// names of those right below it that lead there. Which names are skills themselves is known.
    pub(crate) fn nested(
        &self,
        (root, access): (&Library, Access),
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
            notes.push(format!("{path} holds skills in more than {GROUPS} folders; the others are left out"));
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

/// The folders inside a skill that have a `SKILL.md`, but for those of its evals.
fn inside(skill: &Path) -> Vec<PathBuf> {
    let entries = folder::open_at(skill).ok().and_then(|dir| dir.entries().ok()).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let is_wanted = |name: &String| name != "evals" && !folder::SKIPPED.contains(&name.as_str());
    let find = |name: String| folder::find_skills(&skill.join(name), DEPTH - 2, &folder::SKIPPED).unwrap_or_default();
    names.filter(is_wanted).flat_map(find).filter(|found| is_shown(skill, found)).collect()
}

/// The folder of a group below a library in which a skill stands.
#[must_use]
pub fn group_of(library: &Path, skill: &SkillName) -> Option<PathBuf> {
    let found = folder::find_skills(library, DEPTH, &folder::SKIPPED).unwrap_or_default();
    let is_meant = |path: &&PathBuf| path.file_name().is_some_and(|name| name == skill.as_str());
    let group = found.iter().filter(is_meant).find(|path| is_shown(library, path))?.parent()?;
    (group != library).then(|| group.to_owned())
}

/// Whether nothing on the way from `root` to a folder below it is hidden.
fn is_shown(root: &Path, folder: &Path) -> bool {
    let below = folder.strip_prefix(root).unwrap_or(Path::new(""));
    below.components().all(|part| !part.as_os_str().to_string_lossy().starts_with('.'))
}
