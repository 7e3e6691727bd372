//! [`Index::verify`]: checks a whole index and reports each [`Fault`].

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use skill::{Bundle, Digest, Limits, Owner, QualifiedName};

use crate::{
    ArchiveLocation, Entry, Fault, FaultKind, FetchError, Index, OwnerFile, ReadError,
    history::check_history,
    lines::{Line, Lines},
    owner, shard,
    store::Snapshot,
};

impl Index {
    /// Checks each entry, each archive including its files, and the history for entries and archives that were changed
    /// or removed. The result is empty for a sound index. Reads every archive, which is slow for a large index.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails in a way that cannot be reported as a [`Fault`].
    pub fn verify(&self) -> Result<Vec<Fault>, ReadError> {
        let snapshot = self.store.snapshot()?;
        let (faults, bundles, owners) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let mut check = Check { index: self, snapshot: &snapshot, faults, bundles, owners };
        check.skills()?;
        check.stray_bundles()?;
        let mut faults = check.faults;
        faults.extend(check_history(self.store.repo(), snapshot.commit.id(), &self.config)?);
        Ok(faults)
    }
}

/// State of one run of [`Index::verify`].
struct Check<'a> {
    index: &'a Index,
    snapshot: &'a Snapshot<'a>,
    faults: Vec<Fault>,
    /// Archives by path. Shared archives are unpacked only once.
    bundles: BTreeMap<String, Result<Found, String>>,
    /// Owners' files by owner; `None` for an unusable file.
    owners: BTreeMap<Owner, Option<OwnerFile>>,
}

/// An unpacked archive.
#[derive(Clone)]
struct Found {
    archive: Digest,
    size: u64,
    files: Bundle,
}

impl Check<'_> {
    fn skills(&mut self) -> Result<(), ReadError> {
        for (path, id) in self.snapshot.files(shard::is_shard)? {
            match shard::skill_at(&path) {
                Some(name) => self.skill(&path, &name, id)?,
                None => self.fault(&path, None, FaultKind::StrayFile),
            }
        }
        Ok(())
    }

    fn skill(&mut self, path: &str, name: &QualifiedName, id: Oid) -> Result<(), ReadError> {
        if self.snapshot.blob_id(&shard::owner_file(&name.owner))?.is_none() {
            self.fault(path, None, FaultKind::NoOwner(name.owner.to_string()));
        }
        let bytes = match self.snapshot.read_blob(id) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.fault(path, None, FaultKind::Line(error.message().to_owned()));
                return Ok(());
            }
        };
        let mut versions = BTreeSet::new();
        for (number, line) in Lines::parse_each(&bytes) {
            match line {
                Ok(Line::Known(entry)) => {
                    self.version(path, number, &entry, &mut versions);
                    self.entry(path, number, name, &entry);
                }
                Ok(Line::Later(_)) => {}
                Err(bad) => self.fault(path, Some(number), FaultKind::Line(bad.error.to_string())),
            }
        }
        Ok(())
    }

    fn version(&mut self, path: &str, number: usize, entry: &Entry, seen: &mut BTreeSet<String>) {
        let mut version = entry.version.clone();
        version.build = semver::BuildMetadata::EMPTY;
        if !seen.insert(version.to_string()) {
            self.fault(path, Some(number), FaultKind::DoubledVersion(version.to_string()));
        }
    }

    fn entry(&mut self, path: &str, number: usize, name: &QualifiedName, entry: &Entry) {
        if entry.name != *name {
            self.fault(path, Some(number), FaultKind::WrongName(entry.name.to_string()));
        }
        if let Some(Err(error)) = self.owner(&name.owner).map(|file| file.signer(entry)) {
            self.fault(path, Some(number), FaultKind::Signature(error.to_string()));
        }
        if entry.withdrawn.is_some() {
            return;
        }
        let ArchiveLocation::Tree(place) = self.index.config().archive_location(&entry.digest) else { return };
        let release = format!("{} {}", entry.name, entry.version);
        match self.bundle(&place) {
            None => self.fault(path, Some(number), FaultKind::NoBundle(release)),
            Some(Err(detail)) => self.fault(path, Some(number), FaultKind::WrongBundle { release, detail }),
            Some(Ok(found)) => {
                if let Some(detail) = found.difference_from(entry) {
                    self.fault(path, Some(number), FaultKind::WrongBundle { release, detail });
                }
            }
        }
    }

    /// Returns an owner's file. A problem with it is reported only once.
    fn owner(&mut self, owner: &Owner) -> Option<&OwnerFile> {
        if !self.owners.contains_key(owner) {
            let file = match owner::read(self.snapshot, owner) {
                Ok(Ok(file)) => Some(file),
                Ok(Err(error)) => {
                    self.fault(&shard::owner_file(owner), None, FaultKind::OwnerFile(error));
                    None
                }
                Err(_) => None,
            };
            self.owners.insert(owner.clone(), file);
        }
        self.owners.get(owner).and_then(Option::as_ref)
    }

    /// Returns the archive at a path; `None` if it is missing or unreadable.
    fn bundle(&mut self, place: &str) -> Option<Result<Found, String>> {
        if let Some(found) = self.bundles.get(place) {
            return Some(found.clone());
        }
        let bytes = self.snapshot.read(place).ok().flatten()?;
        let found = Found::read(&bytes);
        self.bundles.insert(place.to_owned(), found.clone());
        Some(found)
    }

    fn stray_bundles(&mut self) -> Result<(), ReadError> {
        // An index whose archives have moved keeps those of before in its tree, because they are part of its history.
        if let ArchiveLocation::Url(_) = self.index.config().archive_location(&Digest::of_bytes(b"")) {
            return Ok(());
        }
        for (path, _) in self.snapshot.files(|folder| folder == shard::BUNDLES)? {
            if !self.bundles.contains_key(&path) {
                self.fault(&path, None, FaultKind::StrayBundle);
            }
        }
        Ok(())
    }

    fn fault(&mut self, path: &str, line: Option<usize>, kind: FaultKind) {
        self.faults.push(Fault::new(path, line, kind));
    }
}

impl Found {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let files = skill::archive::unpack(bytes, &Limits::default()).map_err(|error| error.to_string())?;
        Ok(Self { archive: Digest::of_bytes(bytes), size: bytes.len() as u64, files })
    }

    fn difference_from(&self, entry: &Entry) -> Option<String> {
        if self.size != entry.size {
            return Some(format!("{} bytes instead of {}", self.size, entry.size));
        }
        if self.archive != entry.archive {
            return Some(format!("hash {} instead of {}", self.archive, entry.archive));
        }
        match entry.check_files(&self.files) {
            Err(FetchError::Differs(differs)) => {
                Some(format!("{} {} instead of {}", differs.field, differs.found, differs.line))
            }
            _ => None,
        }
    }
}
