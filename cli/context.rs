//! [`Context`]: what the flags and the environment say about where and as whom a command works.

mod acting;
mod edit_rules;
mod hosts;
mod linking;
mod place;
mod registries;
mod scanning;

use std::{
    collections::{BTreeSet, HashMap},
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use agent::{Catalogue, Places, Settings, Tables};
use jiff::Timestamp;
use library::{Actor, ActorKind, Basis, Head, Home, Library, OutcomeKind, Scope, Use, UseKind, UseState};
use skill::{QualifiedName, SkillName};

use self::{
    acting::actor,
    place::{LibraryPlace, repository_root},
};
pub use self::{
    acting::{TOKEN_VARIABLE, user},
    place::SKILLS_FOLDER,
    registries::{SERVER_TOKEN_VARIABLE, transport},
};
use crate::{
    args::Global,
    exit::{CliError, Exit, failed},
    print::Output,
};

/// Where and as whom a command works.
pub struct Context {
    /// How answers are printed.
    pub out: Output,
    /// skillhub's own folder.
    pub home: Home,
    /// The user's home.
    pub user_home: PathBuf,
    /// The folder in which the command was given.
    pub cwd: PathBuf,
    /// The registry asked for.
    pub registry: Option<String>,
    /// Whether a registry may hold something else than was seen of it.
    pub accepts_rewrite: bool,
    /// The settings of the user.
    pub config: client::Config,
    /// Why those could not be read, where it is the command's work to tell that; they are the defaults then.
    pub config_fault: Option<CliError>,
    /// The reason not to trust the home: others own it or can write to it. Its settings are the defaults then.
    pub home_fault: Option<CliError>,
    /// Who acts.
    pub actor: Actor,
    /// When.
    pub now: Timestamp,
    /// The conversation in which it happens, where a client of the gateway names it.
    pub thread: OnceLock<String>,
    /// Set where the client asks its person before an operation on a skill that wants that.
    pub asks_people: bool,
    /// Whether the flags say that somebody else than a person acts.
    names_no_person: bool,
    place: LibraryPlace,
}

impl Context {
    /// Resolves flags and environment.
    ///
    /// # Errors
    /// Flags that do not fit, a home that cannot be used, a damaged configuration.
    pub fn new(global: &Global) -> Result<Self, CliError> {
        let mut context = Self::to_inspect(global)?;
        context.home_fault.take().or_else(|| context.config_fault.take()).map_or(Ok(context), Err)
    }

    /// As [`Context::new`] for a command that only names places: a home that cannot be trusted is noted.
    ///
    /// # Errors
    /// Flags that do not fit, a damaged configuration.
    pub fn to_locate(global: &Global) -> Result<Self, CliError> {
        let mut context = Self::to_inspect(global)?;
        context.config_fault.take().map_or(Ok(context), Err)
    }

    /// As [`Context::new`] for a command that looks for damage: a damaged configuration, or a home that cannot be
    /// trusted, is noted and lets no change through.
    ///
    /// # Errors
    /// Flags that do not fit.
    pub fn to_inspect(global: &Global) -> Result<Self, CliError> {
        let out = Output { json: global.json, quiet: global.quiet, color: global.color };
        let user_home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
            CliError::usage("there is no home folder for this user").hint("set HOME to an absolute path")
        })?;
        let cwd = std::env::current_dir()
            .map_err(|error| CliError::new("io", Exit::Failed, format!("cannot use the current folder: {error}")))?;
        let path = home_below(&user_home, &cwd);
        let (home, home_fault) = match Home::at(&path) {
            Ok(home) => (home, None),
            Err(error) => (Home::unchecked(path), Some(failed(error))),
        };
        // Whoever can write to a home could have written its configuration.
        let read = || client::Config::read(&home);
        let (config, config_fault) = match home_fault.is_none().then(read) {
            None => (client::Config::default(), None),
            Some(Ok(config)) => (config, None),
            Some(Err(error)) => (client::Config::default(), Some(failed(error))),
        };
        let now = Timestamp::now();
        let (home, config_fault) = scanning::with_scanner(home, config_fault, &config, (&user_home, now, out));
        let home = match crate::notify::watcher(&config.notify, out) {
            Some(watcher) => home.watched_by(watcher),
            None => home,
        };
        let home = home.clone().with_edit_policy(edit_rules::edit_policy(home, cwd.clone()));
        let configured = config.skills.library(&user_home);
        let place = LibraryPlace::resolve(global, &cwd, &user_home, configured)?;
        let home = home.linked_by(linking::linker(&place, &user_home, &config));
        let actor = actor(global.actor.as_deref(), &home, now)?;
        let names_no_person = global.actor.is_some() && actor.kind != ActorKind::Person;
        let registry = global.registry.clone().filter(|registry| !registry.is_empty());
        Ok(Self {
            out,
            home,
            user_home,
            cwd,
            registry,
            accepts_rewrite: global.accept_rewrite,
            config,
            config_fault,
            home_fault,
            actor,
            now,
            thread: OnceLock::new(),
            asks_people: false,
            names_no_person,
            place,
        })
    }

    /// Opens the library.
    ///
    /// # Errors
    /// It cannot be read, another user owns it, or a link leads it out of the project.
    pub fn library(&self) -> Result<Library, CliError> {
        let library = Library::open(&self.place.path, self.place.scope, &self.home, &self.config.library.storage)?;
        self.place.check_inside(library.path())?;
        if let Err(error) = client::write_pending_lines(&library) {
            self.out.note(&format!("the lock file does not show the last operation yet: {error}"));
        }
        Ok(library)
    }

    /// The user's library, whichever the flags choose.
    ///
    /// # Errors
    /// It cannot be read, or another user owns it.
    pub fn user_library(&self) -> Result<Library, CliError> {
        let user = self.user_home.join(SKILLS_FOLDER);
        Ok(Library::open(&user, Scope::User, &self.home, &self.config.library.storage)?)
    }

    /// The library to be looked at: nothing is applied, and a damaged one opens as well.
    ///
    /// # Errors
    /// Another user owns it, or a link leads it out of the project.
    pub fn library_to_inspect(&self) -> Result<Library, CliError> {
        let library = Library::inspect(&self.place.path, self.place.scope, &self.home, &self.config.library.storage)?;
        self.place.check_inside(library.path())?;
        Ok(library)
    }

    /// The libraries whose skills an agent sees here, the first going before the others: the chosen
    /// one, and the user's where no folder was named.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn visible_libraries(&self) -> Result<Vec<Library>, CliError> {
        Ok([Some(self.library()?), self.library_behind()?].into_iter().flatten().collect())
    }

    /// The user's library, where its skills are seen behind those of the chosen one.
    fn library_behind(&self) -> Result<Option<Library>, CliError> {
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
    pub fn settings(&self) -> Result<Settings, CliError> {
        let config = &self.config;
        let (agent, skill_evolution) = (config.agent.clone(), config.skill_evolution.clone());
        let (agents, permissions) = (config.agents.tables.clone(), config.permissions.clone());
        let mut settings = Settings::of(&Tables { agent, skill_evolution, agents, permissions }).map_err(failed)?;
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

    /// How often skills were read lately, where that decides what is listed.
    ///
    /// # Errors
    /// A log cannot be read.
    pub fn uses(&self, catalogue: &Catalogue, budget: Option<usize>) -> Result<HashMap<String, u64>, CliError> {
        let mut uses = HashMap::new();
        for library in catalogue.libraries().iter().filter(|_| budget.is_some()) {
            for (name, count) in library.reads()? {
                *uses.entry(name).or_default() += count;
            }
        }
        Ok(uses)
    }

    /// Keeps that a skill was used, unless that is switched off. That it cannot be kept is no failure of
    /// what was asked for, but it is told.
    pub fn note_use(
        &self,
        catalogue: &Catalogue,
        settings: &Settings,
        name: Option<&SkillName>,
        kind: UseKind,
        state: UseState,
        agent: &str,
    ) {
        let listed = name.filter(|_| settings.use_log).and_then(|name| catalogue.find(name).ok());
        let Some(listed) = listed else { return };
        let Some(library) = catalogue.state_library(listed) else { return };
        let used = Use {
            v: 1,
            time: self.now.to_string(),
            skill: listed.name.to_string(),
            revision: listed.head.as_ref().map(|head| head.id.clone()),
            kind,
            state,
            agent: agent.to_owned(),
            run: None,
        };
        if let Err(error) = library.note_uses(&[used]) {
            self.out.note(&format!("the log of uses does not have this one: {error}"));
        }
    }

    /// Keeps that a run read a skill, as [`Context::note_use`] does.
    pub fn note_activation(
        &self,
        library: Option<&Library>,
        settings: &Settings,
        read: (&SkillName, &Head),
        run: &str,
    ) {
        let Some(library) = library.filter(|_| settings.use_log) else { return };
        let (skill, head) = read;
        let request = evolve::Request {
            skill: skill.to_string(),
            revision: Some(head.id.to_string()),
            event: OutcomeKind::Activated.as_str().to_owned(),
            run: Some(run.to_owned()),
            basis: Basis::Read,
            ..evolve::Request::default()
        };
        let actor = self.actor.to_string();
        let defaults = evolve::Defaults { actor: &actor, run, now: self.now };
        if let Err(error) = evolve::record(library, vec![request], defaults) {
            self.out.note(&format!("the outcomes of {skill} do not have this run: {error}"));
        }
    }

    /// The library's folder, whether or not it is there.
    pub fn library_path(&self) -> &Path {
        &self.place.path
    }

    /// The root of the project whose library it is; `None` for the user's library and a folder that the flags name.
    pub fn library_project(&self) -> Option<&Path> {
        self.place.project.as_deref()
    }

    /// A path as people read it: from the project's root, or with `~` for the home.
    pub fn shown(&self, path: &Path) -> String {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = self.place.project.as_deref().map(real);
        if let Some(below) = root.as_ref().and_then(|root| path.strip_prefix(root).ok()) {
            return below.display().to_string();
        }
        match path.strip_prefix(&self.user_home).or_else(|_| path.strip_prefix(real(&self.user_home))) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
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

    /// The same for the skills of a library, which remember the registries that they came from.
    ///
    /// # Errors
    /// The library's history cannot be read.
    pub fn registries_of(&self, library: &Library) -> Result<client::Registries, CliError> {
        Ok(self.registries().for_library(client::installed_sources(library)?))
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
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
    }

    /// Where the user's agents look for skills.
    pub fn user_agent_folders(&self) -> client::AgentFolders {
        linking::user_folders(&self.user_home).with_in_use(&self.config.agents.in_use)
    }

    /// Where other tools keep their lock files for the library: of the project, or of the user.
    pub fn foreign_locks(&self) -> Vec<PathBuf> {
        let state_home = std::env::var_os("XDG_STATE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
        match &self.place.project {
            Some(root) => client::ForeignLock::places_of_project(root),
            None => client::ForeignLock::places_of_user(&self.user_home, state_home.as_deref()),
        }
    }

    /// Notes in the lock file what a skill's head holds now, if the file has the skill. A change that
    /// stands is not called a failure because of it; what went wrong is told.
    pub fn refresh_lock(&self, library: &Library, skill: &SkillName) {
        if let Some(warning) = self.lock_warning(library, skill) {
            self.out.note(&warning);
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

    /// The root of the project whose library the command works on.
    pub fn project(&self) -> Option<&Path> {
        self.place.project.as_deref()
    }

    /// A path of the command line as an absolute one.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(below_home) => self.user_home.join(below_home),
            Err(_) => std::path::absolute(path).unwrap_or_else(|_| self.cwd.join(path)),
        }
    }
}

/// skillhub's own folder, from the environment; `None` without a user's home.
pub fn skillhub_home() -> Option<PathBuf> {
    let user_home = std::env::home_dir().filter(|home| home.is_absolute())?;
    Some(home_below(&user_home, &std::env::current_dir().ok()?))
}

fn home_below(user_home: &Path, cwd: &Path) -> PathBuf {
    match std::env::var_os("SKILLHUB_HOME").filter(|path| !path.is_empty()) {
        Some(path) => cwd.join(path),
        None => user_home.join(".skillhub"),
    }
}

/// A skill's name from the command line, bare or after its owner's.
///
/// # Errors
/// It is none.
pub fn skill_name(text: &str) -> Result<SkillName, CliError> {
    if let Ok(qualified) = text.parse::<QualifiedName>() {
        return Ok(qualified.name);
    }
    SkillName::parse(text).map_err(|fault| {
        CliError::new("invalid_skill", Exit::Invalid, format!("{text:?} is no name of a skill: {fault}"))
            .hint("`skillhub list` shows the names of the skills")
    })
}

/// What tells this build of the program from others: the size and time of its file.
pub fn program() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let made = file.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), made.as_nanos()))
}
