//! [`resolve`]: the identity of a library's folder; and [`Scope`], whose skills it holds.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use serde::Serialize;

/// Whose skills a library holds; project goes before user, built-in comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Those of one project.
    Project,
    /// Those of one user.
    User,
    /// Those inside the program; they cannot be changed.
    Builtin,
}

impl Scope {
    /// The scope's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Builtin => "builtin",
        }
    }
}

/// An absolute path with links resolved, also when its end does not exist yet: what a library is known
/// by, and how paths that a user names are compared.
///
/// # Errors
/// What the system said of the part that exists.
#[expect(clippy::disallowed_methods, reason = "a library's identity is its resolved path; nothing is read or written")]
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    for ancestor in path.ancestors() {
        match ancestor.canonicalize() {
            Ok(real) => return Ok(below(real, path.strip_prefix(ancestor).unwrap_or(Path::new("")))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path)
}

/// A real path with the names of what does not exist yet added; `..` takes one away, as it will when
/// they exist.
fn below(mut real: PathBuf, rest: &Path) -> PathBuf {
    for component in rest.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            other => real.push(other),
        }
    }
    real
}
