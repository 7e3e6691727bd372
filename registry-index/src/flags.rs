//! The flags of a line: [`Index::set_yanked`], [`Index::set_quarantined`] and [`Index::withdraw`].

use semver::Version;
use skill::{Digest, QualifiedName};
use thiserror::Error;

use crate::{
    BundlePlace, Entry, Index, LineError, Quarantine, ReadError, Stamp, StoreError, Withdrawal,
    index::{parse_lines, read_lines},
    lines::Lines,
    shard,
    store::{Change, Snapshot, Step, TreeEdit},
};

/// Why a flag was not set.
#[derive(Debug, Error)]
pub enum FlagError {
    /// The index has no such release.
    #[error("the registry has no {name} {version}")]
    NotFound {
        /// The skill.
        name: QualifiedName,
        /// The release.
        version: Version,
    },
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The index cannot be changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The reason cannot be written.
    #[error(transparent)]
    Line(#[from] LineError),
}

impl From<git2::Error> for FlagError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Index {
    /// Keeps a release out of new installs, or lets it back in. Its archive stays, and its exact version can
    /// still be installed. Returns the line as it is now; setting what is set already changes nothing.
    ///
    /// # Errors
    /// [`FlagError`] when there is no such release, or the index cannot be read or changed.
    pub fn set_yanked(
        &self,
        name: &QualifiedName,
        version: &Version,
        yanked: bool,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        let word = if yanked { "yank" } else { "unyank" };
        self.set_flag(name, version, word, stamp, |_, entry| {
            let changed = (entry.yanked != yanked).then(|| entry.clone().with_yanked(yanked));
            Ok((changed, None))
        })
    }

    /// Holds a release back for a reason, or lets it go with `None`. Readers that do not know quarantine go by `yanked`.
    /// Returns the line as it is now; a release that is held back keeps its first reason.
    ///
    /// # Errors
    /// [`FlagError`] when there is no such release, or the index cannot be read or changed.
    pub fn set_quarantined(
        &self,
        name: &QualifiedName,
        version: &Version,
        reason: Option<&str>,
        yanked: bool,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        let word = if reason.is_some() { "quarantine" } else { "restore" };
        self.set_flag(name, version, word, stamp, |_, entry| {
            let at = stamp.to_the_second().at;
            let held = reason.map(|reason| Quarantine { reason: reason.to_owned(), at });
            let held = if held.is_some() { entry.quarantined().or(held) } else { None };
            let changed = entry.clone().with_quarantined(held.as_ref())?.with_yanked(yanked);
            Ok(((changed != *entry).then_some(changed), None))
        })
    }

    /// Takes the archive of a release out of the index, for good; the line stays and says why. An archive
    /// that another release shares stays for that one. Returns the line as it is now; a release that is withdrawn
    /// keeps its first reason.
    ///
    /// The bytes are gone from the tree, so that no reader gets them; git's history still has them until the
    /// operator rewrites it.
    ///
    /// # Errors
    /// [`FlagError`] when there is no such release, or the index cannot be read or changed.
    pub fn withdraw(
        &self,
        name: &QualifiedName,
        version: &Version,
        reason: &str,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        self.set_flag(name, version, "withdraw", stamp, |base, entry| {
            if entry.withdrawn.is_some() {
                return Ok((None, None));
            }
            let at = stamp.to_the_second().at;
            let changed = entry.clone().with_withdrawn(Withdrawal { reason: reason.to_owned(), at })?;
            Ok((Some(changed), self.orphaned_bundle(base, entry)?))
        })
    }

    /// Changes one line, and removes a bundle with it, in one commit.
    fn set_flag(
        &self,
        name: &QualifiedName,
        version: &Version,
        word: &str,
        stamp: &Stamp,
        change: impl Fn(&Snapshot<'_>, &Entry) -> Result<(Option<Entry>, Option<TreeEdit>), FlagError>,
    ) -> Result<Entry, FlagError> {
        let missing = || FlagError::NotFound { name: name.clone(), version: version.clone() };
        let path = shard::skill_file(name).ok_or_else(missing)?;
        self.store.update(|base| {
            let lines = read_lines(base, &path)?;
            let entry = lines.find(version).ok_or_else(missing)?;
            let (Some(changed), removal) = change(base, entry)? else { return Ok(Step::Done(entry.clone())) };
            let mut edits = vec![self.rewritten(&path, lines, &changed)?];
            edits.extend(removal);
            let message = format!("{word} {name} {version}\n");
            Ok(Step::Commit(Change { edits, message, stamp: stamp.clone() }, changed))
        })
    }

    fn rewritten(&self, path: &str, mut lines: Lines, changed: &Entry) -> Result<TreeEdit, FlagError> {
        lines.replace(changed.clone());
        Ok(TreeEdit::Put(path.to_owned(), self.store.write_blob(&lines.to_bytes())?))
    }

    /// The removal of a release's archive, unless it is not there or another release needs it.
    fn orphaned_bundle(&self, base: &Snapshot<'_>, entry: &Entry) -> Result<Option<TreeEdit>, FlagError> {
        let BundlePlace::Tree(path) = self.config.place_of(&entry.digest) else { return Ok(None) };
        if base.blob_id(&path)?.is_none() || is_shared(base, entry, &entry.digest)? {
            return Ok(None);
        }
        Ok(Some(TreeEdit::Remove(path)))
    }
}

/// Whether a release besides `entry` that is not withdrawn has the same content. Reads the whole index.
fn is_shared(base: &Snapshot<'_>, entry: &Entry, digest: &Digest) -> Result<bool, FlagError> {
    for (path, id) in base.files(shard::is_shard)? {
        let lines = parse_lines(&path, &base.read_blob(id)?)?;
        let other = |other: &&Entry| (&other.name, &other.version) != (&entry.name, &entry.version);
        if lines.entries().filter(other).any(|other| other.withdrawn.is_none() && other.digest == *digest) {
            return Ok(true);
        }
    }
    Ok(false)
}
