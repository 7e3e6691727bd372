//! Location of the library that a command works on, from flags, environment and current folder.

use std::path::{Path, PathBuf};

use library::{EntryChange, FindError, Library, Origin, ProposalId, Revision, Scope};
use skill::{SkillName, failure::FailureKind};
use skill_manage::{ManageError, ShadowedSkill, Surroundings, review::ReviewError};

use super::Workspace;
use crate::{refusal::Refusal, setup::Setup};

/// Folder of skills, relative to a project's root or the user's home.
pub const SKILLS_FOLDER: &str = ".agents/skills";

/// Location of the library that a command works on.
#[derive(Debug, Clone)]
pub struct LibraryLocation {
    /// Folder of the library, with links not yet resolved.
    pub path: PathBuf,
    /// Scope of its skills.
    pub scope: Scope,
    /// Root of the project, if it is a project's library.
    pub project: Option<PathBuf>,
    /// True if the folder was set explicitly, by flags, environment or configuration.
    pub named: bool,
    /// True if flags selected the project or the user, or the folder was set explicitly.
    pub chosen: bool,
    /// True if the configuration names the folder.
    pub is_configured: bool,
}

impl LibraryLocation {
    /// Resolves the location from the setup, then from the configuration.
    pub fn resolve(setup: &Setup, configured: Option<PathBuf>) -> Result<Self, Refusal> {
        let user = setup.user_home.join(SKILLS_FOLDER);
        let by_flag = setup.scope.is_some();
        if let Some(path) = &setup.library {
            let path = setup.cwd.join(path);
            let scope = if path == user { Scope::User } else { Scope::Project };
            return Ok(Self { path, scope, project: None, named: true, chosen: true, is_configured: false });
        }
        if let Some(path) = configured.filter(|_| !by_flag) {
            return Ok(Self {
                path,
                scope: Scope::User,
                project: None,
                named: true,
                chosen: true,
                is_configured: true,
            });
        }
        let (scope, is_configured) = (Scope::User, false);
        let of_user = Self { path: user, scope, project: None, named: false, chosen: by_flag, is_configured };
        match repository_root(&setup.cwd).filter(|root| *root != setup.user_home) {
            _ if setup.scope == Some(Scope::User) => Ok(of_user),
            Some(root) => {
                let path = root.join(SKILLS_FOLDER);
                let (scope, project) = (Scope::Project, Some(root));
                Ok(Self { path, scope, project, named: false, chosen: by_flag, is_configured })
            }
            None if by_flag => Err(Refusal::usage("no project found: neither this folder nor one above it has a .git")
                .hint("run `git init`, or name a folder with --library DIR")),
            None => Ok(of_user),
        }
    }

    /// Refuses a project's library outside of the project. The link may have come with a clone, and operations on a
    /// project must not change the user's skills.
    pub fn check_inside(&self, resolved: &Path) -> Result<(), Refusal> {
        let Some(root) = self.project.as_ref().and_then(|root| library::resolve(root).ok()) else { return Ok(()) };
        if resolved.starts_with(root) {
            return Ok(());
        }
        let message =
            format!("{} is a link that leads out of the project, to {}", self.path.display(), resolved.display());
        Err(Refusal::new(FailureKind::Refused, "policy_denied", message)
            .hint(format!("remove the link, or use the folder it leads to: --library {}", resolved.display())))
    }
}

/// Paths of a library and its files, determined without opening any of them.
#[derive(Debug)]
pub struct LibraryPaths {
    /// Folder of the library, with links resolved.
    pub library: PathBuf,
    /// Scope of its skills.
    pub scope: Scope,
    /// Git repository of its history, in the home.
    pub history: PathBuf,
    /// Path of its lock file.
    pub lock: PathBuf,
}

impl Workspace {
    /// Opens the library in which a skill is changed: the selected one, or the group folder below it that contains the
    /// skill.
    ///
    /// # Errors
    /// The same as [`Workspace::library`].
    pub fn library_of(&self, skill: &SkillName) -> Result<Library, Refusal> {
        self.within(self.library()?, skill)
    }

    /// Returns the library of a skill at or below `library`: the library itself, or the group folder that contains the
    /// skill or contained it before its deletion.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn within(&self, library: Library, skill: &SkillName) -> Result<Library, Refusal> {
        if library.head(skill)?.is_some() || library.folders()?.iter().any(|name| name == skill.as_str()) {
            return Ok(library);
        }
        if let Some(group) = agent::group_of(library.path(), skill) {
            return self.open_group(&library, &group);
        }
        for group in library.groups_with_history(&self.home)? {
            let group = self.open_group(&library, &group)?;
            if group.head(skill)?.is_some() {
                return Ok(group);
            }
        }
        Ok(library)
    }

    fn open_group(&self, library: &Library, group: &Path) -> Result<Library, Refusal> {
        self.open_library(group, library.scope())
    }

    /// Opens the selected library, and the group folders below it that have a history.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn libraries(&self) -> Result<Vec<Library>, Refusal> {
        self.with_groups(self.library()?)
    }

    /// Opens the visible libraries, and the group folders below them that have a history.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn visible_with_groups(&self) -> Result<Vec<Library>, Refusal> {
        let libraries = self.visible().map(|library| self.with_groups(library?)).collect::<Result<Vec<_>, _>>()?;
        Ok(libraries.into_iter().flatten().collect())
    }

    fn with_groups(&self, library: Library) -> Result<Vec<Library>, Refusal> {
        let groups = library.groups_with_history(&self.home)?;
        let mut groups = groups.iter().map(|group| self.open_group(&library, group)).collect::<Result<Vec<_>, _>>()?;
        groups.insert(0, library);
        Ok(groups)
    }

    /// Opens the first of the visible libraries and their groups that has a proposal.
    ///
    /// # Errors
    /// No library has the proposal, or one cannot be read.
    pub fn library_with_proposal(&self, id: &ProposalId) -> Result<Library, Refusal> {
        self.first_with_proposal(self.visible(), id)
    }

    /// Opens the selected library, or the group below it, that has a proposal.
    ///
    /// # Errors
    /// Neither has the proposal, or one cannot be read.
    pub fn own_library_with_proposal(&self, id: &ProposalId) -> Result<Library, Refusal> {
        self.first_with_proposal([self.library()], id)
    }

    fn first_with_proposal(
        &self,
        libraries: impl IntoIterator<Item = Result<Library, Refusal>>,
        id: &ProposalId,
    ) -> Result<Library, Refusal> {
        for library in libraries {
            for library in self.with_groups(library?)? {
                if library.proposal(id)?.is_some() {
                    return Ok(library);
                }
            }
        }
        Err(ManageError::from(ReviewError::NotFound(id.clone())).into())
    }

    /// Opens the first of the visible libraries and their groups that has a skill, in its history or as a folder.
    ///
    /// # Errors
    /// No library has the skill, or one cannot be read.
    pub fn library_with(&self, skill: &SkillName) -> Result<Library, Refusal> {
        self.first_with(skill, |head| !head.tombstone)?.ok_or_else(|| FindError::NoSkill(skill.clone()).into())
    }

    /// Opens the library in which an existing skill is changed or compared with its folder: the first of the visible
    /// libraries and their groups that has the skill, else the selected one. Flags that select a library select the only
    /// one.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn library_for(&self, skill: &SkillName) -> Result<Library, Refusal> {
        self.first_or_selected(skill, |head| !head.tombstone)
    }

    /// Opens the library with the past of a skill, like [`Workspace::library_for`]. A library that had the skill before
    /// its deletion counts, so that a rollback restores the skill there.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn library_with_past(&self, skill: &SkillName) -> Result<Library, Refusal> {
        self.first_or_selected(skill, |_| true)
    }

    fn first_or_selected(&self, skill: &SkillName, has: impl Fn(&Revision) -> bool) -> Result<Library, Refusal> {
        let found = if self.place.chosen { None } else { self.first_with(skill, has)? };
        found.map_or_else(|| self.library_of(skill), Ok)
    }

    /// Opens the first of the visible libraries and their groups that has a folder of the skill, or a head that `has`
    /// accepts. The user's library stays closed if the project's has the skill.
    pub(crate) fn first_with(
        &self,
        skill: &SkillName,
        has: impl Fn(&Revision) -> bool,
    ) -> Result<Option<Library>, Refusal> {
        for library in self.visible() {
            let library = self.within(library?, skill)?;
            let is_here = library.head(skill)?.is_some_and(|head| has(&head))
                || library.folders()?.iter().any(|folder| folder == skill.as_str());
            if is_here {
                return Ok(Some(library));
            }
        }
        Ok(None)
    }

    /// Returns whether a library is the user's, behind the selected one of a project.
    pub fn is_behind(&self, library: &Library) -> bool {
        library.scope() != self.place.scope
    }

    /// Returns the scope in which a skill is installed if it is not the selected one: the user's, or that of the
    /// project around the current folder. An explicitly set folder is the only one.
    pub fn installed_elsewhere(&self, skill: &SkillName) -> Option<Scope> {
        let other = match self.place.scope {
            _ if self.place.named => return None,
            Scope::Project => self.user_library(),
            _ => self.open_library(&self.project_root()?.join(SKILLS_FOLDER), Scope::Project),
        };
        let library = self.within(other.ok()?, skill).ok()?;
        let head = library.head(skill).ok()??;
        (!head.tombstone && head.origin.is_some()).then(|| library.scope())
    }

    /// Returns the paths of the selected library.
    ///
    /// # Errors
    /// The folder's path cannot be resolved.
    pub fn library_paths(&self) -> Result<LibraryPaths, Refusal> {
        let library = library::resolve(&self.place.path).map_err(Refusal::io_at(&self.place.path))?;
        let own = self.home.library(&library);
        let lock = self.place.project.as_ref().unwrap_or(&own).join(client::LOCK_FILE);
        Ok(LibraryPaths { library, scope: self.place.scope, history: own.join("history.git"), lock })
    }
}

/// Returns the nearest folder, from `from` upwards, that contains a `.git`.
#[expect(clippy::disallowed_methods, reason = "a project begins where git says; nothing is read or written")]
pub(super) fn repository_root(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

impl Surroundings for Workspace {
    /// If the user's library is damaged, the names of its folders are used.
    fn shadowed_skills(&self) -> Vec<ShadowedSkill> {
        let mut skills = Vec::new();
        let heads = self.library_behind().and_then(|behind| match behind {
            Some(library) => Ok(library.heads()?.into_iter().map(|(name, _)| name).collect()),
            None => Ok(Vec::new()),
        });
        let names = heads.unwrap_or_else(|error| {
            self.note(&format!("cannot read the history of the user's library: {}", error.message));
            self.folders_of_user_library()
        });
        let place = format!("in {}", self.user_home.join(SKILLS_FOLDER).display());
        skills.extend(names.into_iter().map(|name| ShadowedSkill { name, scope: Scope::User, place: place.clone() }));
        let place = "built into skillhub".to_owned();
        let builtin = registry_index::builtin_names();
        skills.extend(builtin.map(|name| ShadowedSkill { name, scope: Scope::Builtin, place: place.clone() }));
        skills
    }

    fn deleted_entry(&self, library: &Library, skill: &SkillName, origin: &Origin) -> Option<EntryChange> {
        client::deleted_entry(&self.lock_path(library), library, skill, origin)
    }

    fn returned_entry(&self, library: &Library, skill: &SkillName, origin: &Origin) -> Option<EntryChange> {
        client::returned_entry(&self.lock_path(library), library, skill, origin)
    }
}

impl Workspace {
    /// Lists the folder names in the user's library.
    #[expect(clippy::disallowed_methods, reason = "the library itself does not open; names alone are read")]
    fn folders_of_user_library(&self) -> Vec<SkillName> {
        let entries = std::fs::read_dir(self.user_home.join(SKILLS_FOLDER)).into_iter().flatten();
        entries.filter_map(|entry| SkillName::parse(entry.ok()?.file_name().to_str()?).ok()).collect()
    }
}
