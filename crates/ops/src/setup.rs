//! [`Setup`]: what a host says of where and as whom one works.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use compose::{ServerSettings, ToolHost};
use library::Scope;

/// Reads a variable of the environment; an empty one is none.
pub type Variables = fn(&str) -> Option<OsString>;

/// Takes what people are told beside the answer.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// The place to work in and who acts there, as flags and the environment say.
#[derive(Clone)]
pub struct Setup {
    /// The user's home.
    pub user_home: PathBuf,
    /// The folder in which one works.
    pub cwd: PathBuf,
    /// skillhub's own folder.
    pub home: PathBuf,
    /// The library's folder, where one is named.
    pub library: Option<PathBuf>,
    /// The library of the project or the user, where it is chosen.
    pub scope: Option<Scope>,
    /// The registry asked for.
    pub registry: Option<String>,
    /// Set where a registry may hold something else than was seen of it.
    pub accepts_rewrite: bool,
    /// Who acts, as kind and id. It gives no rights.
    pub actor: Option<String>,
    /// The name of the user, for the history.
    pub user: String,
    /// Set where a person can be asked: input and output are a terminal.
    pub is_at_terminal: bool,
    /// What tells this build of the program from others.
    pub program: Option<String>,
    /// The environment.
    pub variables: Variables,
    /// The way to people.
    pub note: Note,
    /// The tools of servers, by the servers' names.
    pub servers: fn(BTreeMap<String, ServerSettings>) -> Arc<dyn ToolHost>,
}
