//! Checking a whole index: [`Index::verify`] and what it finds, [`Fault`].

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use git2::Oid;
use skill::{Bundle, Digest, Limits, Owner, QualifiedName};

use crate::{
    BundlePlace, Entry, FetchError, Index, OwnerFile, OwnerFileError, ReadError,
    history::check_history,
    lines::{Line, Lines},
    owner, shard,
    store::Snapshot,
};

/// One thing that is wrong with an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file in the tree.
    pub path: String,
    /// The line in that file, from 1, where one can be named.
    pub line: Option<usize>,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong at a [`Fault`]'s place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The line does not parse.
    #[error("the line is damaged: {0}")]
    Line(String),
    /// A file among the skills that belongs to no skill.
    #[error("no skill has its lines here")]
    StrayFile,
    /// The line is of another skill than the path.
    #[error("the line is of {0}")]
    WrongName(String),
    /// A version has two lines.
    #[error("the version {0} has more than one line")]
    DoubledVersion(String),
    /// The owner has no file in `owners/`.
    #[error("the owner {0} has no file in owners/")]
    NoOwner(String),
    /// The archive that a line names is not there, or cannot be read.
    #[error("the archive of {0} is missing or unreadable")]
    NoBundle(String),
    /// The archive has another size, hash, or content than the line says.
    #[error("the archive of {release} is another: {detail}")]
    WrongBundle {
        /// `name version`.
        release: String,
        /// What differs.
        detail: String,
    },
    /// An archive that no line names.
    #[error("no release has this archive")]
    StrayBundle,
    /// An owner's file that cannot be used.
    #[error("{0}")]
    OwnerFile(OwnerFileError),
    /// A release has a signature that is not its owner's.
    #[error("{0}")]
    Signature(String),
    /// A commit took something back that only grows.
    #[error("the commit {commit} {what}")]
    Rewritten {
        /// The commit's id.
        commit: String,
        /// What it did, as a verb phrase.
        what: &'static str,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.kind),
            None => write!(f, "{}: {}", self.path, self.kind),
        }
    }
}

impl Fault {
    pub(crate) fn new(path: &str, line: Option<usize>, kind: FaultKind) -> Self {
        Self { path: path.to_owned(), line, kind }
    }
}

impl Index {
    /// Checks everything: each line, each archive down to the files in it, and along the history that lines
    /// and archives were only added. Empty when all is well. Reads every archive, so it takes time on a large index.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails on something that has no place in a [`Fault`].
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

/// The work of one [`Index::verify`].
struct Check<'a> {
    index: &'a Index,
    snapshot: &'a Snapshot<'a>,
    faults: Vec<Fault>,
    /// The archives seen so far, by path: shared ones are unpacked once.
    bundles: BTreeMap<String, Result<Found, String>>,
    /// The owners' files that were read, by owner; `None` for one that cannot be used.
    owners: BTreeMap<Owner, Option<OwnerFile>>,
}

/// An archive of the tree, unpacked.
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
        let BundlePlace::Tree(place) = self.index.config().place_of(&entry.digest) else { return };
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

    /// An owner's file; what is wrong with it is told once.
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

    /// The archive at a path; `None` when it is missing or unreadable.
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
