//! [`compare`]: what changed between two revisions.

use library::{FindError, Library, Revision, RevisionSpecError};
use serde_json::{Value, json};
use skill::{
    Bundle, SkillName,
    diff::{self, BundleDiff},
};

use crate::{error::ManageError, request::RequestError};

/// The earlier revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since<'a> {
    /// The one before the later.
    Parent,
    /// This one.
    Revision(&'a str),
    /// The release that the later one derives from, as its publisher made it.
    Release,
}

/// Two revisions and their difference.
#[derive(Debug)]
pub struct Comparison {
    /// The earlier one; `None` where nothing was before.
    pub from: Option<Revision>,
    /// The later one.
    pub to: Revision,
    /// What changed.
    pub difference: BundleDiff,
}

impl Comparison {
    /// As JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({
            "ok": true, "from": self.from.as_ref().map(|revision| &revision.id), "to": self.to.id,
            "files": self.difference.files, "diff": self.difference.text,
        })
    }
}

/// A revision of a skill, and its files.
///
/// # Errors
/// There is none such, or the library cannot be read.
pub fn at(library: &Library, name: &SkillName, spec: &str) -> Result<(Revision, Bundle), ManageError> {
    let parsed = spec.parse().map_err(|error: RevisionSpecError| RequestError::Malformed(error.to_string()))?;
    let revision = library.find(name, &parsed, spec)?;
    let bundle = library.bundle(&revision.id)?;
    Ok((revision, bundle))
}

/// The release that a revision derives from.
fn release(library: &Library, name: &SkillName, of: &Revision) -> Result<(Revision, Bundle), ManageError> {
    let none = || FindError::NoRelease(name.clone());
    let origin = of.origin.as_ref().ok_or_else(none)?;
    Ok(library.release(name, &origin.digest)?.ok_or_else(none)?)
}

/// Compares the revision `to` with an earlier one.
///
/// # Errors
/// As [`at`].
pub fn compare(library: &Library, name: &SkillName, since: Since<'_>, to: &str) -> Result<Comparison, ManageError> {
    let (to, after) = at(library, name, to)?;
    let from = match (since, &to.parent) {
        (Since::Release, _) => Some(release(library, name, &to)?),
        (Since::Revision(from), _) => Some(at(library, name, from)?),
        (Since::Parent, Some(parent)) => Some(at(library, name, parent.as_str())?),
        (Since::Parent, None) => None,
    };
    let (from, before) = from.map_or_else(|| (None, Bundle::default()), |(from, before)| (Some(from), before));
    Ok(Comparison { difference: diff::diff(&before, &after), from, to })
}
