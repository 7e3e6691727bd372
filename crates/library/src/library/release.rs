//! [`Library::release`]: the release that a skill was installed from, as the history has it.

use skill::{Bundle, Digest, SkillName};

use super::Library;
use crate::{origin::Origin, revision::Revision, storage::StorageError};

impl Library {
    /// Finds a release that a skill was installed from or merged, by its digest: a revision with the release's files,
    /// or an upstream revision beside the history. Newer revisions are searched first. `None` if the history does not
    /// have it.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn release(&self, skill: &SkillName, digest: &Digest) -> Result<Option<(Revision, Bundle)>, StorageError> {
        let Some(storage) = self.storage()? else { return Ok(None) };
        let is_it = |revision: &Revision| revision.digest == *digest && revision.was_cleared() && !revision.tombstone;
        for revision in self.walk(skill) {
            let revision = revision?;
            let upstream = revision.upstream.as_ref().map(|id| storage.revision(id)).transpose()?;
            if let Some(found) = [Some(revision), upstream].into_iter().flatten().find(is_it) {
                let files = storage.bundle(&found.id)?;
                return Ok(Some((found, files)));
            }
        }
        Ok(None)
    }

    /// Finds the release like [`Library::release`], with the name of the skill's folder if the skill was installed under
    /// another name than the release's. `None` also if the digest of the release is unknown.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn release_here(&self, skill: &SkillName, origin: &Origin) -> Result<Option<(Revision, Bundle)>, StorageError> {
        let Some(digest) = origin.digest().known() else { return Ok(None) };
        let named = |files: Bundle| match skill == origin.bare_name() {
            true => files,
            false => files.renamed(skill, self.limits()).unwrap_or(files),
        };
        Ok(self.release(skill, &digest)?.map(|(revision, files)| (revision, named(files))))
    }
}
