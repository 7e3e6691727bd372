//! Description of the working environment, provided by the host.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use compose::{ServerSettings, ToolHost};
use library::Scope;

/// Reads an environment variable. An empty variable counts as unset.
pub type Variables = fn(&str) -> Option<OsString>;

/// Receives notes for the user, apart from the result.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// The working folder and the actor, from flags and environment.
#[derive(Clone)]
pub struct Setup {
    /// Home folder of the user.
    pub user_home: PathBuf,
    /// Current folder.
    pub cwd: PathBuf,
    /// Folder of skillhub's own files.
    pub home: PathBuf,
    /// Folder of the library, if one is named.
    pub library: Option<PathBuf>,
    /// Explicit choice of the project's or the user's library.
    pub scope: Option<Scope>,
    /// Registry named on the command line.
    pub registry: Option<String>,
    /// True to accept registries whose history was replaced, or that are older than before.
    pub accepts_rewrite: bool,
    /// Actor as `KIND:ID`, which gives no rights.
    pub actor: Option<String>,
    /// Name of the user, for the history.
    pub user: String,
    /// True if input and output are a terminal, so that a person can be asked.
    pub is_at_terminal: bool,
    /// Identity of this build of the program, to invalidate caches.
    pub program: Option<String>,
    /// Access to environment variables.
    pub variables: Variables,
    /// Sink for notes to the user.
    pub note: Note,
    /// Creates the tool host for the configured MCP servers, by name.
    pub servers: fn(BTreeMap<String, ServerSettings>) -> Arc<dyn ToolHost>,
}
