//! Canonical paths that identify libraries ([`resolve`]), and the level to which a library belongs ([`Scope`]).

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use serde::Serialize;

use crate::system::System;

/// Level to which a library's skills belong. Project takes precedence over user, user over built-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Skills of one project.
    Project,
    /// Skills of one user.
    User,
    /// Skills inside the program, which cannot be changed.
    Builtin,
}

impl Scope {
    /// Returns the name used in output and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Builtin => "builtin",
        }
    }
}

/// Resolves the path of something that exists to an absolute one without links, in the form that people and other
/// programs take ([`System::plain_path`]).
///
/// # Errors
/// Returns the I/O error.
#[expect(clippy::disallowed_methods, reason = "the path is compared or printed; nothing is read or written")]
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map(plain)
}

/// Resolves a path to an absolute one without links, even if its end does not exist yet. This path identifies a
/// library, and paths given by users are compared in this form.
///
/// # Errors
/// Returns the I/O error for the part that exists.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    for ancestor in path.ancestors() {
        match real_path(ancestor) {
            Ok(real) => return Ok(below(real, path.strip_prefix(ancestor).unwrap_or(Path::new("")))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path)
}

fn plain(real: PathBuf) -> PathBuf {
    match real.to_str().map(|text| System::this().plain_path(text)) {
        Some(plain) if plain.len() < real.as_os_str().len() => PathBuf::from(plain),
        _ => real,
    }
}

/// Appends missing components to a real path. `..` removes a component, as it will once they exist.
fn below(mut real: PathBuf, rest: &Path) -> PathBuf {
    for component in rest.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            other => real.push(other),
        }
    }
    real
}
