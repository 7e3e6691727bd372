//! [`Workplace`]: where and as whom one works, and what is done there alike for every host.

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

use agent::{Places, Settings, Tables};
use jiff::Timestamp;
use library::{Actor, ActorKind, Home, Library, Scope};
use skill::SkillName;

pub use self::{acting::TOKEN_VARIABLE, place::SKILLS_FOLDER, registries::SERVER_TOKEN_VARIABLE, uses::Used};
use self::{
    acting::actor,
    place::{LibraryPlace, repository_root},
};
use crate::{refusal::Refusal, setup::Setup};

/// The place to work in and who acts there, at the moment of one command or of one request to a server. Settings and policy
/// are read anew for each, so that what a person changes holds at once.
pub struct Workplace {
    /// skillhub's own folder.
    pub home: Home,
    /// The user's home.
    pub user_home: PathBuf,
    /// The folder in which one works.
    pub cwd: PathBuf,
    /// The registry asked for.
    pub registry: Option<String>,
    /// Set where a registry may hold something else than was seen of it.
    pub accepts_rewrite: bool,
    /// The settings of the user.
    pub config: client::Config,
    /// Why those could not be read, where it is the command's work to tell that; they are the defaults then.
    pub config_fault: Option<Refusal>,
    /// The reason not to trust the home: others own it or can write to it. Its settings are the defaults then.
    pub home_fault: Option<Refusal>,
    /// Who acts.
    pub actor: Actor,
    /// When.
    pub now: Timestamp,
    /// The conversation in which it happens, where a client of the gateway names it.
    pub thread: OnceLock<String>,
    /// Set where the client asks its person before an operation on a skill that wants that.
    pub asks_people: bool,
    /// Set where the flags say that somebody else than a person acts.
    names_no_person: bool,
    place: LibraryPlace,
    setup: Setup,
}

/// Opens the workplace for one request of somebody.
pub type Open = dyn Fn(Actor) -> Result<Workplace, Refusal> + Send + Sync;

impl Workplace {
    /// Reads what there is.
    ///
    /// # Errors
    /// A setup that does not fit, a home that cannot be used, a damaged configuration.
    pub fn open(setup: Setup) -> Result<Self, Refusal> {
        let mut place = Self::to_inspect(setup)?;
        place.home_fault.take().or_else(|| place.config_fault.take()).map_or(Ok(place), Err)
    }

    /// As [`Workplace::open`] for who only names places: a home that cannot be trusted is noted.
    ///
    /// # Errors
    /// A setup that does not fit, a damaged configuration.
    pub fn to_locate(setup: Setup) -> Result<Self, Refusal> {
        let mut place = Self::to_inspect(setup)?;
        place.config_fault.take().map_or(Ok(place), Err)
    }

    /// As [`Workplace::open`] for who looks for damage: a damaged configuration, or a home that cannot be trusted, is noted
    /// and lets no change through.
    ///
    /// # Errors
    /// A setup that does not fit.
    pub fn to_inspect(setup: Setup) -> Result<Self, Refusal> {
        let (home, home_fault) = match Home::at(&setup.home) {
            Ok(home) => (home, None),
            Err(error) => (Home::unchecked(setup.home.clone()), Some(error.into())),
        };
        // Whoever can write to a home could have written its configuration.
        let read = || client::Config::read(&home);
        let (config, config_fault) = match home_fault.is_none().then(read) {
            None => (client::Config::default(), None),
            Some(Ok(config)) => (config, None),
            Some(Err(error)) => (client::Config::default(), Some(error.into())),
        };
        let now = Timestamp::now();
        let (home, config_fault) = scanning::with_scanner(home, config_fault, &config, (&setup, now));
        let home = match crate::notify::watcher(&config.notify, &setup) {
            Some(watcher) => home.watched_by(watcher),
            None => home,
        };
        let home = home.clone().with_edit_policy(edit_rules::edit_policy(home, &setup));
        let place = LibraryPlace::resolve(&setup, config.skills.library(&setup.user_home))?;
        let home = home.linked_by(linking::linker(&place, &setup, &config));
        let actor = actor(&setup, &home, now)?;
        Ok(Self {
            home,
            user_home: setup.user_home.clone(),
            cwd: setup.cwd.clone(),
            registry: setup.registry.clone().filter(|registry| !registry.is_empty()),
            accepts_rewrite: setup.accepts_rewrite,
            config,
            config_fault,
            home_fault,
            names_no_person: setup.actor.is_some() && actor.kind != ActorKind::Person,
            actor,
            now,
            thread: OnceLock::new(),
            asks_people: false,
            place,
            setup,
        })
    }

    /// Tells people something beside the answer.
    pub fn note(&self, message: &str) {
        (self.setup.note)(message);
    }

    /// The host's word on it.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Opens the library.
    ///
    /// # Errors
    /// It cannot be read, another user owns it, or a link leads it out of the project.
    pub fn library(&self) -> Result<Library, Refusal> {
        let library = Library::open(&self.place.path, self.place.scope, &self.home, &self.config.library.storage)?;
        self.place.check_inside(library.path())?;
        if let Err(error) = client::write_pending_lines(&library) {
            self.note(&format!("the lock file does not show the last operation yet: {error}"));
        }
        Ok(library)
    }

    /// The user's library, whichever the flags choose.
    ///
    /// # Errors
    /// It cannot be read, or another user owns it.
    pub fn user_library(&self) -> Result<Library, Refusal> {
        let user = self.user_home.join(SKILLS_FOLDER);
        Ok(Library::open(&user, Scope::User, &self.home, &self.config.library.storage)?)
    }

    /// The library to be looked at: nothing is applied, and a damaged one opens as well.
    ///
    /// # Errors
    /// Another user owns it, or a link leads it out of the project.
    pub fn library_to_inspect(&self) -> Result<Library, Refusal> {
        let library = Library::inspect(&self.place.path, self.place.scope, &self.home, &self.config.library.storage)?;
        self.place.check_inside(library.path())?;
        Ok(library)
    }

    /// The libraries whose skills an agent sees here, the first going before the others: the chosen
    /// one, and the user's where no folder was named.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn visible_libraries(&self) -> Result<Vec<Library>, Refusal> {
        Ok([Some(self.library()?), self.library_behind()?].into_iter().flatten().collect())
    }

    /// The user's library, where its skills are seen behind those of the chosen one.
    fn library_behind(&self) -> Result<Option<Library>, Refusal> {
        if self.place.named || self.place.scope != Scope::Project {
            return Ok(None);
        }
        self.user_library().map(Some)
    }

    /// Where agents find skills here: the visible libraries and, `with_folders`, the folders of agents in the
    /// project and of the user, unless a folder was named.
    pub fn places(&self, with_folders: bool) -> Places {
        let mut libraries = vec![(self.place.path.clone(), self.place.scope)];
        if !self.place.named && self.place.scope == Scope::Project {
            libraries.push((self.user_home.join(SKILLS_FOLDER), Scope::User));
        }
        let public = self.config.skills.public_folder(&self.user_home).filter(|_| self.place.is_configured);
        let folders = if with_folders { self.folders_of("") } else { Vec::new() };
        let folders = folders.into_iter().chain(public.map(|folder| (folder, Scope::Builtin))).collect();
        let (home, storage) = (self.home.clone(), self.config.library.storage.clone());
        let (project, inner) = (self.place.project.clone(), self.config.skills.inner);
        Places { home, storage, libraries, folders, project, inner }
    }

    /// What the configuration says of what agents see.
    ///
    /// # Errors
    /// A part of it cannot be used.
    pub fn settings(&self) -> Result<Settings, Refusal> {
        let config = &self.config;
        let (agent, skill_evolution) = (config.agent.clone(), config.skill_evolution.clone());
        let (agents, permissions) = (config.agents.tables.clone(), config.permissions.clone());
        let mut settings = Settings::of(&Tables { agent, skill_evolution, agents, permissions })?;
        settings.container_path = settings.container_path.or_else(|| config.skills.container_path.clone());
        Ok(settings)
    }

    /// The agent that acts: the one that is named, else the actor where that is an agent.
    pub fn agent(&self, named: Option<&str>) -> String {
        let of_actor = || (self.actor.kind == ActorKind::Agent).then(|| self.actor.id.clone());
        named.map(str::to_owned).or_else(of_actor).unwrap_or_default()
    }

    /// Whether a person acts.
    pub fn is_person(&self) -> bool {
        self.actor.kind == ActorKind::Person
    }

    /// The library's folder, whether or not it is there.
    pub fn library_path(&self) -> &Path {
        &self.place.path
    }

    /// The root of the project whose library it is; `None` for the user's library and a folder that is named.
    pub fn project(&self) -> Option<&Path> {
        self.place.project.as_deref()
    }

    /// Whether the flags named the library's folder.
    pub fn library_is_named(&self) -> bool {
        self.place.named
    }

    /// Where the library's lock file is: at the project's root, else with its history.
    pub fn lock_path(&self, library: &Library) -> PathBuf {
        match &self.place.project {
            Some(root) => root.join(client::LOCK_FILE),
            None => library.own_path().join(client::LOCK_FILE),
        }
    }

    /// The skills that the lock file names, which decides what a git branch has; `None` for a library that lies in no git
    /// work tree. A lock file that cannot be read names none.
    pub fn skills_of_branch(&self, library: &Library) -> Option<BTreeSet<SkillName>> {
        repository_root(library.path())?;
        let lock = client::LockFile::read(&self.lock_path(library)).unwrap_or_default();
        Some(lock.skills().filter_map(|entry| SkillName::parse(entry.bare_name()).ok()).collect())
    }

    /// Where agents look for skills: those of the project, or those of the user. Where the flags
    /// named the library's folder, only agents that are named get anything.
    pub fn agent_folders(&self) -> client::AgentFolders {
        let folders = match &self.place.project {
            Some(root) => client::AgentFolders::of_project(root).with_in_use(&self.config.agents.in_use),
            None => self.user_agent_folders(),
        };
        if self.place.named { folders.without_detection() } else { folders }
    }

    /// Where agents look for the skills of a library: of the project, or of the user.
    pub fn agent_folders_of(&self, library: &Library) -> client::AgentFolders {
        let is_users = library::resolve(&self.user_home.join(SKILLS_FOLDER)).is_ok_and(|user| user == library.path());
        if is_users { self.user_agent_folders() } else { self.agent_folders() }
    }

    /// Whether a path lies in a skills folder of the user's agents or the user's library, and the flags choose no
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

    /// Whether a person can be asked: input and output are a terminal.
    pub fn is_at_terminal(&self) -> bool {
        self.setup.is_at_terminal
    }

    /// Where the user's agents look for skills.
    pub fn user_agent_folders(&self) -> client::AgentFolders {
        linking::user_folders(&self.setup).with_in_use(&self.config.agents.in_use)
    }

    /// Where other tools keep their lock files for the library: of the project, or of the user.
    pub fn foreign_locks(&self) -> Vec<PathBuf> {
        let state_home = (self.setup.variables)("XDG_STATE_HOME").map(PathBuf::from);
        match &self.place.project {
            Some(root) => client::ForeignLock::places_of_project(root),
            None => client::ForeignLock::places_of_user(&self.user_home, state_home.as_deref()),
        }
    }

    /// Notes in the lock file what a skill's head holds now, if the file has the skill. A change that
    /// stands is not called a failure because of it; what went wrong is told.
    pub fn refresh_lock(&self, library: &Library, skill: &SkillName) {
        if let Some(warning) = self.lock_warning(library, skill) {
            self.note(&warning);
        }
    }

    /// Does the same, and gives what is to be told.
    pub fn lock_warning(&self, library: &Library, skill: &SkillName) -> Option<String> {
        let error = client::LockFile::refresh(&self.lock_path(library), library, skill).err()?;
        Some(format!("the change stands, but the lock file does not show it: {error}"))
    }

    /// The root of the project in which the command was given, whichever library it works on.
    pub fn project_root(&self) -> Option<PathBuf> {
        repository_root(&self.cwd).filter(|root| *root != self.user_home)
    }

    /// A path for people: `~` stands for the user's home.
    pub fn short(&self, path: &Path) -> String {
        match path.strip_prefix(&self.user_home) {
            Ok(below_home) => format!("~/{}", below_home.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// A path of the command line as an absolute one.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(below_home) => self.user_home.join(below_home),
            Err(_) => std::path::absolute(path).unwrap_or_else(|_| self.cwd.join(path)),
        }
    }
}
