//! [`LockFile::refresh`]: updates entries to the heads of the library.

use std::{collections::BTreeMap, path::Path};

use library::{Library, LibraryError};
use skill::SkillName;

use super::{
    LastRead, LockFile, LockFileError, LockedWaiver, capabilities,
    drift::{Drift, behind_releases, repair_drifts},
};

impl LockFile {
    /// Updates the content digest and waivers of a skill's entry from the library. Returns whether the lock file has
    /// the skill.
    ///
    /// # Errors
    /// [`LockFileError`]
    pub fn refresh(path: &Path, library: &Library, name: &SkillName) -> Result<bool, LockFileError> {
        Self::refresh_all(path, library, [name]).map(|refreshed| refreshed > 0)
    }

    /// Updates several entries like [`LockFile::refresh`], with a single write. Returns how many of the skills the lock
    /// file has.
    ///
    /// # Errors
    /// [`LockFileError`]
    pub fn refresh_all<'s>(
        path: &Path,
        library: &Library,
        names: impl IntoIterator<Item = &'s SkillName>,
    ) -> Result<usize, LockFileError> {
        let file = LastRead::not_yet(path);
        let (refreshed, behind) = file.update_under(&library.lock()?, |file| file.follow_heads(library, names))?;
        if !behind.is_empty() {
            repair_drifts(path, library, &behind, &[])?;
        }
        Ok(refreshed)
    }

    /// Updates entries to the heads of the library. Returns their number, and those that name other releases than the
    /// heads come from.
    fn follow_heads<'s>(
        &mut self,
        library: &Library,
        names: impl IntoIterator<Item = &'s SkillName>,
    ) -> Result<(usize, Vec<Drift>), LockFileError> {
        let entries = self.by_bare_name();
        let mut heads = Vec::new();
        for name in names.into_iter().filter(|name| entries.contains_key(name.as_str())) {
            let head = library.head(name).map_err(LibraryError::from)?;
            heads.extend(head.filter(|head| !head.tombstone).map(|head| (name, head)));
        }
        let mut contents = BTreeMap::new();
        for (name, head) in &heads {
            let content = Some(head.digest);
            let is_changed = entries.get(name.as_str()).is_some_and(|entry| entry.content != content);
            let capabilities = is_changed.then(|| capabilities::of_head(library, head)).transpose()?;
            contents.insert(name.as_str(), (content, capabilities, LockedWaiver::of(library, name)?));
        }
        for skill in self.skills.values_mut() {
            if let Some((content, capabilities, waivers)) = contents.remove(skill.bare_name().as_str()) {
                (skill.content, skill.waivers) = (content, waivers);
                skill.capabilities = capabilities.unwrap_or_else(|| std::mem::take(&mut skill.capabilities));
            }
        }
        let behind = behind_releases(library, self, &heads).map_err(LibraryError::from)?;
        Ok((heads.len(), behind))
    }
}
