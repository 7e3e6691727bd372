//! [`compare`]: the difference between two revisions, or between a revision and the folder.

use library::{FindError, FolderState, Library, Revision, RevisionId, RevisionSpec};
use serde_json::{Value, json};
use skill::{
    Bundle, Digest, SkillName,
    diff::{self, BundleDiff},
};

use crate::{error::ManageError, request::RequestError};

/// Earlier side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffBase<'a> {
    /// Parent of the later revision.
    Parent,
    /// Revision given by a specification, such as `head~1` or an id.
    Revision(&'a str),
    /// Release that the later revision derives from, as published.
    Release,
}

/// Two states of a skill and their difference.
#[derive(Debug)]
pub struct Comparison {
    /// Earlier revision. `None` if the later one is the first.
    pub from: Option<Revision>,
    /// Later revision. `None` for an unrecorded edit of the folder.
    pub to: Option<Revision>,
    /// Digest of the later files.
    pub digest: Digest,
    /// Reason why an edit of the folder is held for a person. Readers get the head until then.
    pub held: Option<String>,
    /// Difference from the earlier to the later files.
    pub difference: BundleDiff,
}

impl Comparison {
    /// Returns the comparison as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        let id = |revision: &Option<Revision>| revision.as_ref().map(|revision| revision.id.clone());
        json!({
            "ok": true, "from": id(&self.from), "to": id(&self.to), "edited": self.to.is_none(),
            "digest": self.digest.to_string(), "held": self.held,
            "files": self.difference.files, "diff": self.difference.text,
        })
    }
}

/// Later side of a comparison.
struct DiffTarget {
    revision: Option<Revision>,
    /// Revision itself, or the head that a folder edit is based on.
    base: Revision,
    files: Bundle,
    held: Option<String>,
}

impl DiffTarget {
    fn at(library: &Library, name: &SkillName, spec: &str) -> Result<Self, ManageError> {
        let (revision, files) = at(library, name, spec)?;
        Ok(Self { revision: Some(revision.clone()), base: revision, files, held: None })
    }

    /// Returns the content of the folder if readers may see it, or else of the head.
    fn newest(library: &Library, name: &SkillName) -> Result<Self, ManageError> {
        let head = Self::at(library, name, "head")?;
        if head.base.tombstone {
            return Ok(head);
        }
        let (state, held) = library.folder_state_held(name)?;
        Ok(match state {
            FolderState::Modified(cleared) => {
                Self { revision: None, files: cleared.bundle().clone(), held, base: head.base }
            }
            FolderState::Earlier { revision, cleared, .. } => {
                let revision = *revision;
                Self { revision: Some(revision.clone()), base: revision, files: cleared.bundle().clone(), held }
            }
            _ => head,
        })
    }

    /// Returns the preceding revision. For a folder edit, this is the head.
    fn parent(&self) -> Option<&RevisionId> {
        match &self.revision {
            Some(revision) => revision.parent.as_ref(),
            None => Some(&self.base.id),
        }
    }
}

/// Finds a revision of a skill and reads its files.
///
/// # Errors
/// The specification is invalid or matches no revision, or the library cannot be read.
pub fn at(library: &Library, name: &SkillName, spec: &str) -> Result<(Revision, Bundle), ManageError> {
    let parsed = spec.parse::<RevisionSpec>().map_err(|error| RequestError::Revision { skill: name.clone(), error })?;
    let revision = library.find(name, &parsed, spec)?;
    let bundle = library.bundle(&revision.id)?;
    Ok((revision, bundle))
}

/// Returns the release that a revision derives from.
fn release(library: &Library, name: &SkillName, of: &Revision) -> Result<(Revision, Bundle), ManageError> {
    let none = || FindError::NoRelease(name.clone());
    let origin = of.origin.as_ref().ok_or_else(none)?;
    Ok(library.release_here(name, origin)?.ok_or_else(none)?)
}

/// Compares the revision `to` with an earlier one. Without `to`, the later side is the visible content of the folder.
///
/// # Errors
/// As for [`at`].
pub fn compare(
    library: &Library,
    name: &SkillName,
    since: DiffBase<'_>,
    to: Option<&str>,
) -> Result<Comparison, ManageError> {
    let later = match to {
        Some(to) => DiffTarget::at(library, name, to)?,
        None => DiffTarget::newest(library, name)?,
    };
    let from = match (since, later.parent()) {
        (DiffBase::Release, _) => Some(release(library, name, &later.base)?),
        (DiffBase::Revision(from), _) => Some(at(library, name, from)?),
        (DiffBase::Parent, Some(parent)) => Some(at(library, name, parent.as_str())?),
        (DiffBase::Parent, None) => None,
    };
    let (from, before) = from.map_or_else(|| (None, Bundle::default()), |(from, before)| (Some(from), before));
    let DiffTarget { revision: to, files, held, .. } = later;
    Ok(Comparison { difference: diff::diff(&before, &files), digest: files.digest(), from, to, held })
}
