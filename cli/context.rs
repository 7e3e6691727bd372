//! [`Context`]: a [`Workspace`] as the flags and the environment say, and how answers are printed.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, IsTerminal},
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use agent::{Catalogue, SkillLocations};
use client::{GIT_CA_FILE, Transport};
use compose::{ServerSettings, ToolHost};
use library::{Library, Scope, System};
use mcp::{Remote, STARTED_FOR_TOOLS};
use ops::{Refusal, Setup, Workspace};
use skill::{SkillName, counted, failure::FailureKind};
use skill_manage::{ManageError, Report};

use crate::{
    exit::{CliError, Exit},
    global::Global,
    print::Output,
};

/// Variables that name certificates to trust, as OpenSSL reads them: a file, and a folder.
const CA_FILE: &str = "SSL_CERT_FILE";
const CA_DIR: &str = "SSL_CERT_DIR";

/// Workspace, caller and output of a command.
pub struct Context {
    /// How answers are printed.
    pub out: Output,
    /// Workspace and caller.
    pub place: Workspace,
}

impl Deref for Context {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.place
    }
}

impl Context {
    /// Resolves flags and environment.
    ///
    /// # Errors
    /// Flags that do not fit, a home that cannot be used, a damaged configuration.
    pub fn new(global: &Global) -> Result<Self, CliError> {
        Self::of(global, Workspace::open)
    }

    /// As [`Context::new`] for a command that only names places: a home that cannot be trusted is noted.
    ///
    /// # Errors
    /// Flags that do not fit, a damaged configuration.
    pub fn to_locate(global: &Global) -> Result<Self, CliError> {
        Self::of(global, Workspace::to_locate)
    }

    /// As [`Context::new`] for a command that looks for damage: a damaged configuration, or a home that cannot be
    /// trusted, is noted and lets no change through.
    ///
    /// # Errors
    /// Flags that do not fit.
    pub fn to_inspect(global: &Global) -> Result<Self, CliError> {
        Self::of(global, Workspace::to_inspect)
    }

    fn of(global: &Global, open: fn(Setup) -> Result<Workspace, Refusal>) -> Result<Self, CliError> {
        Ok(Self { out: Output::new(global), place: open(setup(global)?)? })
    }

    /// Returns which hosts do not list all descriptions, after a command that changed or looked over the skills. What it
    /// reads of them is cached. A list that cannot be computed is left out, because other commands report that.
    pub fn listing_warnings_after(&self) -> Vec<String> {
        let read = |places: &SkillLocations| Catalogue::collect(places, Vec::new());
        self.listing_warnings(read).unwrap_or_default().into_iter().map(|(_, warning)| warning).collect()
    }

    /// Prints warnings, except where the JSON document has them.
    pub fn note_warnings(&self, warnings: &[String]) {
        let notes = warnings.iter().filter(|_| !self.out.json);
        notes.for_each(|warning| self.out.note(&format!("note: {warning}")));
    }

    /// Makes a change, and notes if the lock file could not be updated.
    pub fn change(
        &self,
        library: &mut Library,
        run: impl FnOnce(&mut Library, &skill_manage::Context<'_>) -> Result<Report, ManageError>,
    ) -> Result<Report, Refusal> {
        let (report, warning) = self.place.change(library, run)?;
        warning.iter().for_each(|warning| self.note(warning));
        Ok(report)
    }

    /// Notes that a change was made in the user's library, from a project that does not have the skill.
    pub fn note_behind(&self, library: &Library) {
        if self.is_behind(library) && !self.out.json {
            self.out.note(&format!("note: this skill is in the user's library, {}", self.shown(library.path())));
        }
    }

    /// Returns the user's library and its groups, in a project that has a library of its own. Returns nothing if the
    /// user's library cannot be opened, which other commands report.
    pub fn libraries_behind(&self) -> Vec<Library> {
        let mut libraries = self.visible_with_groups().unwrap_or_default();
        libraries.retain(|library| self.is_behind(library));
        libraries
    }

    /// Notes that the user's library has more of what was listed for a project, with the command that lists it.
    pub fn note_more_behind(&self, count: usize, what: &str, command: &str) {
        if count > 0 && !self.out.json {
            let more = counted(count, what);
            self.out.note(&format!("note: this is the project's library; the user's has {more}: {command} --global"));
        }
    }

    /// Replaces the hint of an error about a skill that is not in the selected library, but installed in the other one.
    pub fn hint_elsewhere(&self, error: CliError, command: &str, skill: &SkillName) -> CliError {
        if error.exit != Exit::NotFound {
            return error;
        }
        match self.installed_elsewhere(skill) {
            Some(Scope::User) => {
                error.hint(format!("it is installed for you, not in this project: {command} {skill} --global"))
            }
            Some(_) => error.hint(format!("it is installed in this project, not for you: {command} {skill} --project")),
            None => error,
        }
    }

    /// A path as people read it: from the project's root, or with `~` for the home.
    pub fn shown(&self, path: &Path) -> String {
        let real = |path: &Path| library::real_path(path).unwrap_or_else(|_| path.to_owned());
        let root = self.project().map(real);
        if let Some(below) = root.as_ref().and_then(|root| path.strip_prefix(root).ok()) {
            return self.short(below);
        }
        match path.strip_prefix(real(&self.user_home)) {
            Ok(below) => self.short(&self.user_home.join(below)),
            Err(_) => self.short(path),
        }
    }
}

/// Reads flags and environment.
///
/// # Errors
/// The user has no home folder, the current folder does not exist, or the value of `--registry` is empty.
pub fn setup(global: &Global) -> Result<Setup, Refusal> {
    let user_home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
        Refusal::usage("this user has no home folder")
            .hint(format!("set {} to an absolute path", System::this().home_variable()))
    })?;
    // An empty variable is like none.
    let variable_is_empty = std::env::var_os("SKILLHUB_REGISTRY").is_some_and(|value| value.is_empty());
    if global.registry.as_deref() == Some("") && !variable_is_empty {
        return Err(Refusal::usage("the value of --registry is empty").hint("name a registry, or leave --registry out"));
    }
    let cwd = std::env::current_dir()
        .map_err(|error| Refusal::new(FailureKind::Failed, "io", format!("cannot use the current folder: {error}")))?;
    let scope = match (global.project, global.global) {
        (true, _) => Some(Scope::Project),
        (false, true) => Some(Scope::User),
        (false, false) => None,
    };
    let library = || variable("SKILLHUB_LIBRARY").filter(|_| scope.is_none()).map(PathBuf::from);
    let out = Output::new(global);
    Ok(Setup {
        home: home_below(&user_home, &cwd),
        user_home,
        cwd,
        library: global.library.clone().or_else(library),
        scope,
        registry: global.registry.clone(),
        accepts_rewrite: global.accept_rewrite,
        actor: global.actor.clone(),
        user: user(),
        is_at_terminal: io::stdin().is_terminal() && io::stdout().is_terminal(),
        program: program(),
        variables: variable,
        note: Arc::new(move |message| out.note(message)),
        servers,
    })
}

/// A variable of the environment that is set to something.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The tools of servers. One that was itself started for its tools starts no others.
fn servers(settings: BTreeMap<String, ServerSettings>) -> Arc<dyn ToolHost> {
    let is_started_for_tools = std::env::var_os(STARTED_FOR_TOOLS).is_some();
    Arc::new(Remote::new(if is_started_for_tools { BTreeMap::new() } else { settings }))
}

/// skillhub's own folder, from the environment; `None` without a user's home.
pub fn skillhub_home() -> Option<PathBuf> {
    let user_home = std::env::home_dir().filter(|home| home.is_absolute())?;
    Some(home_below(&user_home, &std::env::current_dir().ok()?))
}

fn home_below(user_home: &Path, cwd: &Path) -> PathBuf {
    match variable("SKILLHUB_HOME") {
        Some(path) => cwd.join(path),
        None => user_home.join(".skillhub"),
    }
}

/// What tells this build of the program from others: the size and time of its file.
pub fn program() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let made = file.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), made.as_nanos()))
}

/// The name of the user for the history.
pub fn user() -> String {
    let name = |name| variable(name).and_then(|name| name.into_string().ok());
    ["USER", "LOGNAME"].into_iter().find_map(name).unwrap_or_default()
}

/// The certificates and tokens that flags and environment name; a flag goes before variables.
pub fn transport(global: &Global) -> Transport {
    let path = |name: &str| variable(name).and_then(|path| std::path::absolute(path).ok());
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let insecure = global.insecure;
    match global.ca_file.as_ref().map(absolute) {
        Some(file) => Transport { git_ca_file: Some(file.clone()), ca_file: Some(file), ca_dir: None, insecure },
        None => {
            let (ca_file, ca_dir) = (path(CA_FILE), path(CA_DIR));
            let git_ca_file = ca_file.clone().filter(|_| variable(GIT_CA_FILE).is_none());
            Transport { ca_file, ca_dir, git_ca_file, insecure }
        }
    }
}
