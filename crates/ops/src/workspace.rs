//! The environment of one command or request, and the operations that all hosts share.

mod acting;
mod edit_rules;
mod hosts;
mod linking;
mod place;
mod registries;
mod scanning;
#[cfg(test)]
mod tests;
mod uses;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use agent::{Settings, SkillLocations, Tables};
use jiff::Timestamp;
use library::{Actor, ActorKind, Home, Library, Scope, Watcher};
use skill::SkillName;

pub(crate) use self::acting::{POLICY_VARIABLE, SYSTEM_POLICY};
pub use self::{acting::TOKEN_VARIABLE, place::SKILLS_FOLDER, registries::SERVER_TOKEN_VARIABLE, uses::Used};
use self::{
    acting::actor,
    place::{LibraryLocation, repository_root},
};
use crate::{refusal::Refusal, setup::Setup};

/// The working folder and the actor, at the time of one command or request. Settings and policy are read anew for each,
/// so that a person's changes take effect immediately.
pub struct Workspace {
    /// Folder of skillhub's own files.
    pub home: Home,
    /// Home folder of the user.
    pub user_home: PathBuf,
    /// Current folder.
    pub cwd: PathBuf,
    /// Registry named on the command line.
    pub registry: Option<String>,
    /// True to accept registries whose history was replaced, or that are older than before.
    pub accepts_rewrite: bool,
    /// User configuration.
    pub config: client::Config,
    /// Error in the configuration, for commands that report it themselves. [`Self::config`] has the defaults then.
    pub config_fault: Option<Refusal>,
    /// Reason not to trust the home: other users own it or can write to it. [`Self::config`] has the defaults then.
    pub home_fault: Option<Refusal>,
    /// The acting person, agent or program.
    pub actor: Actor,
    /// Time of the operation.
    pub now: Timestamp,
    /// Conversation id, if a client of the gateway provides it.
    pub thread: OnceLock<String>,
    /// Agent whose permissions apply, if it is not the actor.
    pub agent_in_charge: Option<String>,
    /// True if the client asks its user before operations on skills that require confirmation.
    pub asks_people: bool,
    /// True if the flags name an actor that is not a person.
    names_no_person: bool,
    place: LibraryLocation,
    /// Observer of proposals in the libraries that are opened here.
    watcher: Option<Watcher>,
    setup: Setup,
}

/// Opens the workplace for one request of an actor.
pub type OpenWorkspace = dyn Fn(Actor) -> Result<Workspace, Refusal> + Send + Sync;

impl Workspace {
    /// Opens the workplace and reads its configuration.
    ///
    /// # Errors
    /// The setup is inconsistent, the home cannot be used, or the configuration is damaged.
    pub fn open(setup: Setup) -> Result<Self, Refusal> {
        let mut place = Self::to_inspect(setup)?;
        place.home_fault.take().or_else(|| place.config_fault.take()).map_or(Ok(place), Err)
    }

    /// Opens the workplace for commands that only print paths. An untrusted home is recorded in [`Self::home_fault`]
    /// instead of being an error.
    ///
    /// # Errors
    /// The setup is inconsistent, or the configuration is damaged.
    pub fn to_locate(setup: Setup) -> Result<Self, Refusal> {
        let mut place = Self::to_inspect(setup)?;
        place.config_fault.take().map_or(Ok(place), Err)
    }

    /// Opens the workplace for commands that look for damage. A damaged configuration and an untrusted home are
    /// recorded instead of being errors, and prevent all changes.
    ///
    /// # Errors
    /// The setup is inconsistent.
    pub fn to_inspect(setup: Setup) -> Result<Self, Refusal> {
        let (home, home_fault) = match Home::at(&setup.home) {
            Ok(home) => (home, None),
            Err(error) => (Home::unchecked(setup.home.clone()), Some(error.into())),
        };
        // Anyone who can write to a home could have written its configuration.
        let read = || client::Config::read(&home);
        let (config, config_fault) = match home_fault.is_none().then(read) {
            None => (client::Config::default(), None),
            Some(Ok(config)) => (config, None),
            Some(Err(error)) => (client::Config::default(), Some(error.into())),
        };
        let now = Timestamp::now();
        let (home, config_fault) = scanning::with_scanner(home, config_fault, &config, &setup, now);
        let home = home.clone().with_edit_policy(edit_rules::edit_policy(home, &setup));
        let place = LibraryLocation::resolve(&setup, config.skills.library(&setup.user_home))?;
        let home = home.linked_by(linking::linker(&place, &setup, &config));
        let actor = actor(&setup, &home, now)?;
        Ok(Self {
            home,
            user_home: setup.user_home.clone(),
            cwd: setup.cwd.clone(),
            registry: setup.registry.clone().filter(|registry| !registry.is_empty()),
            accepts_rewrite: setup.accepts_rewrite,
            config_fault,
            home_fault,
            names_no_person: setup.actor.is_some() && actor.kind != ActorKind::Person,
            actor,
            now,
            thread: OnceLock::new(),
            agent_in_charge: None,
            asks_people: false,
            place,
            watcher: crate::notify::watcher(&config.notify, &setup),
            config,
            setup,
        })
    }

    /// Sends a note to the user, apart from the result.
    pub fn note(&self, message: &str) {
        (self.setup.note)(message);
    }

    /// Returns the setup that the host provided.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Opens the library.
    ///
    /// # Errors
    /// The library cannot be read, another user owns it, or a link leads out of the project.
    pub fn library(&self) -> Result<Library, Refusal> {
        let library = self.open_library(&self.place.path, self.place.scope)?;
        self.place.check_inside(library.path())?;
        if let Err(error) = client::write_pending_lines(&library) {
            self.note(&format!("cannot update the lock file for the last operation: {error}"));
        }
        Ok(library)
    }

    /// Opens the user's library, independent of the flags.
    ///
    /// # Errors
    /// The library cannot be read, or another user owns it.
    pub fn user_library(&self) -> Result<Library, Refusal> {
        self.open_library(&self.user_home.join(SKILLS_FOLDER), Scope::User)
    }

    fn open_library(&self, path: &Path, scope: Scope) -> Result<Library, Refusal> {
        let library = Library::open(path, scope, &self.home, &self.config.library.storage)?;
        Ok(library.watched_by(self.watcher.clone()))
    }

    /// Opens the library read-only. Pending journal records are not applied, and a damaged library opens as well.
    ///
    /// # Errors
    /// Another user owns the library, or a link leads out of the project.
    pub fn library_to_inspect(&self) -> Result<Library, Refusal> {
        let storage = &self.config.library.storage;
        let library = Library::inspect(&self.place.path, self.place.scope, &self.home, storage)?;
        let library = library.watched_by(self.watcher.clone());
        self.place.check_inside(library.path())?;
        Ok(library)
    }

    /// Opens the libraries whose skills an agent sees here, by precedence: the selected one, and the user's behind a
    /// project's. An explicitly set folder is the only one.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn visible_libraries(&self) -> Result<Vec<Library>, Refusal> {
        self.visible().collect()
    }

    /// Opens the libraries of [`Self::visible_libraries`], each when it is reached.
    pub(crate) fn visible(&self) -> impl Iterator<Item = Result<Library, Refusal>> {
        let selected = std::iter::once_with(|| self.library().map(Some));
        selected.chain(std::iter::once_with(|| self.library_behind())).filter_map(Result::transpose)
    }

    /// Opens the user's library if its skills are visible in addition to those of the selected one.
    fn library_behind(&self) -> Result<Option<Library>, Refusal> {
        if self.place.named || self.place.scope != Scope::Project { Ok(None) } else { self.user_library().map(Some) }
    }

    /// Returns the locations in which agents find skills: the visible libraries and, `with_folders`, the agents'
    /// folders in the project and in the user's home. If the library's folder was set explicitly, its library is the
    /// only one and the agents' folders are left out.
    pub fn places(&self, with_folders: bool) -> SkillLocations {
        let mut libraries = vec![(self.place.path.clone(), self.place.scope)];
        if !self.place.named && self.place.scope == Scope::Project {
            libraries.push((self.user_home.join(SKILLS_FOLDER), Scope::User));
        }
        let public = self.config.skills.public_folder(&self.user_home).filter(|_| self.place.is_configured);
        let folders = if with_folders { self.folders_of("") } else { Vec::new() };
        let folders = folders.into_iter().chain(public.map(|folder| (folder, Scope::Builtin))).collect();
        let (home, storage) = (self.home.clone(), self.config.library.storage.clone());
        let (project, inner) = (self.place.project.clone(), self.config.skills.inner);
        SkillLocations { home, storage, libraries, folders, project, inner }
    }

    /// Returns the settings for the visibility of skills to agents.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    pub fn settings(&self) -> Result<Settings, Refusal> {
        let config = &self.config;
        let (agent, skill_evolution) = (config.agent.clone(), config.skill_evolution.clone());
        let (agents, permissions) = (config.agents.tables.clone(), config.permissions.clone());
        let mut settings = Settings::of(&Tables { agent, skill_evolution, agents, permissions })?;
        settings.container_path = settings.container_path.or_else(|| config.skills.container_path.clone());
        Ok(settings)
    }

    /// Returns the id of the named agent, else of the one in charge, else of the actor if it is an agent, else an empty
    /// string.
    pub fn agent(&self, named: Option<&str>) -> String {
        let of_actor = || (self.actor.kind == ActorKind::Agent).then(|| self.actor.id.clone());
        named.map(str::to_owned).or_else(|| self.agent_in_charge.clone()).or_else(of_actor).unwrap_or_default()
    }

    /// Returns whether a person acts.
    pub fn is_person(&self) -> bool {
        self.actor.kind == ActorKind::Person
    }

    /// Returns the library's folder, which may not exist.
    pub fn library_path(&self) -> &Path {
        &self.place.path
    }

    /// Returns the root of the library's project, `None` for the user's library and for an explicitly set folder.
    pub fn project(&self) -> Option<&Path> {
        self.place.project.as_deref()
    }

    /// Returns whether the library's folder was set explicitly, by flags, environment or configuration.
    pub fn library_is_named(&self) -> bool {
        self.place.named
    }

    /// Returns the path of the library's lock file: in the project's root, else beside the library's history.
    pub fn lock_path(&self, library: &Library) -> PathBuf {
        match &self.place.project {
            Some(root) if !self.is_behind(library) => root.join(client::LOCK_FILE),
            _ => library.own_path().join(client::LOCK_FILE),
        }
    }

    /// Returns whether the lock file has a skill. An unreadable lock file has none.
    pub fn is_locked(&self, library: &Library, skill: &SkillName) -> bool {
        client::LockFile::read(&self.lock_path(library)).is_ok_and(|lock| lock.find(skill).is_some())
    }

    /// Returns the skills in the lock file, which defines the skills of the current git branch. An unreadable lock file
    /// counts as empty. Returns `None` for a library outside of any git work tree.
    pub fn skills_of_branch(&self, library: &Library) -> Option<BTreeSet<SkillName>> {
        repository_root(library.path())?;
        let lock = client::LockFile::read(&self.lock_path(library)).unwrap_or_default();
        Some(lock.skills().map(|entry| entry.bare_name().clone()).collect())
    }

    /// Returns the agents' folders, of the project or of the user. If the library's folder was set explicitly, agents
    /// are not detected and must be named.
    pub fn agent_folders(&self) -> client::AgentFolders {
        let folders = match &self.place.project {
            Some(root) => client::AgentFolders::of_project(root).with_in_use(&self.config.agents.in_use),
            None => self.user_agent_folders(),
        };
        if self.place.named { folders.without_detection() } else { folders }
    }

    /// Returns the agents' folders for a library, of the project or of the user.
    pub fn agent_folders_of(&self, library: &Library) -> client::AgentFolders {
        let is_users = library::resolve(&self.user_home.join(SKILLS_FOLDER)).is_ok_and(|user| user == library.path());
        if is_users { self.user_agent_folders() } else { self.agent_folders() }
    }

    /// Returns whether a path is in the user's library or in a folder of the user's agents, and the flags select no
    /// other library.
    pub fn belongs_to_user(&self, path: &Path) -> bool {
        if self.place.named || self.place.chosen || self.place.scope == Scope::User {
            return self.place.scope == Scope::User && !self.place.named;
        }
        let real = library::resolve(path.parent().unwrap_or(path)).unwrap_or_else(|_| path.to_owned());
        let user = self.user_agent_folders();
        let is_in = |folder: &Path| real.starts_with(folder) || library::resolve(path).is_ok_and(|path| path == folder);
        user.all().iter().any(|folder| is_in(&folder.path)) || is_in(&self.user_home.join(SKILLS_FOLDER))
    }

    /// Returns whether input and output are a terminal, so that a person can be asked.
    pub fn is_at_terminal(&self) -> bool {
        self.setup.is_at_terminal
    }

    /// Returns the folders of the user's agents.
    pub fn user_agent_folders(&self) -> client::AgentFolders {
        linking::user_folders(&self.setup).with_in_use(&self.config.agents.in_use)
    }

    /// Returns the user's agents in use that have a skills folder of their own.
    pub(crate) fn agents_on_machine(&self) -> Vec<&'static str> {
        let folders = self.user_agent_folders();
        let own = folders.all().iter().filter(|folder| folder.in_use && !folder.path.ends_with(SKILLS_FOLDER));
        own.flat_map(|folder| folder.ids.iter().copied()).collect()
    }

    /// Returns the locations of other tools' lock files, for the project or the user.
    pub fn foreign_locks(&self) -> Vec<PathBuf> {
        let state_home = (self.setup.variables)("XDG_STATE_HOME").map(PathBuf::from);
        match &self.place.project {
            Some(root) => client::ForeignLock::places_of_project(root),
            None => client::ForeignLock::places_of_user(&self.user_home, state_home.as_deref()),
        }
    }

    /// Writes the lock file's lines of the last commit, and updates the skill's entry to its current head. A failure is
    /// noted and does not affect the change.
    pub fn refresh_lock(&self, library: &Library, skill: &SkillName) {
        if let Some(warning) = self.lock_warning(library, skill) {
            self.note(&warning);
        }
    }

    /// Updates the lock file like [`Self::refresh_lock`], and returns the warning if that fails.
    pub(crate) fn lock_warning(&self, library: &Library, skill: &SkillName) -> Option<String> {
        let written = client::write_pending_lines(library);
        let refreshed = written.and_then(|()| client::LockFile::refresh(&self.lock_path(library), library, skill));
        let error = refreshed.err()?;
        Some(format!("the change was made, but the lock file could not be updated: {error}"))
    }

    /// Returns the root of the project around the current folder, regardless of the selected library.
    pub fn project_root(&self) -> Option<PathBuf> {
        repository_root(&self.cwd).filter(|root| *root != self.user_home)
    }

    /// Formats a path for display, with `~` for the user's home and the separator of the system throughout.
    pub fn short(&self, path: &Path) -> String {
        let path: PathBuf = match path.strip_prefix(&self.user_home) {
            Ok(below_home) => Path::new("~").join(below_home).components().collect(),
            Err(_) => path.components().collect(),
        };
        path.display().to_string()
    }

    /// Makes a path of the command line absolute.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(below_home) => self.user_home.join(below_home),
            Err(_) => std::path::absolute(path).unwrap_or_else(|_| self.cwd.join(path)),
        }
    }
}
