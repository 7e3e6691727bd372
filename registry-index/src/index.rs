//! [`Index`]: creating, opening and reading an index.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use git2::{ErrorCode, Oid};
use skill::{Owner, QualifiedName, SkillName};
use thiserror::Error;

use crate::{
    Config, Entry, LineError, Stamp, StoreError,
    changes::changed_files,
    folder::{self, Contents},
    lines::Lines,
    newest, shard,
    store::{Snapshot, Store},
};

/// Number of attempts, and delay between them, for a folder that another process may be initializing.
const SETTLE_TRIES: u32 = 10;
const SETTLE_PAUSE: Duration = Duration::from_millis(20);
/// Skills that are read before the repository is opened anew.
const SKILLS_AT_A_TIME: usize = 4000;

/// An index in a folder on this machine.
///
/// A value can be used by one thread at a time (it is `Send`, not `Sync`). Any number of values, in any number of
/// processes, may be open on the same folder. Every call reads the newest commit, unless a commit was pinned
/// ([`Index::open_at`]).
pub struct Index {
    pub(crate) store: Store,
    pub(crate) config: Config,
}

/// The readable entries of an index, and errors for the others.
#[derive(Debug, Default)]
pub struct Readable {
    /// Newest release of every skill without damaged entries, sorted by owner and name.
    pub entries: Vec<Entry>,
    /// Errors of the skills that were left out.
    pub damaged: Vec<ReadError>,
}

/// A file of the tree, as the sparse index serves it over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Hexadecimal id of the git blob. It changes with the content and can serve as an ETag.
    pub id: String,
}

/// Reasons why an index was not created.
#[derive(Debug, Error)]
pub enum InitError {
    /// The folder is not empty, and is not an index.
    #[error("{} is not empty and not an index", .0.display())]
    NotEmpty(PathBuf),
    /// The folder cannot be created or listed.
    #[error("cannot use {}: {source}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A git operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index was created but cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Reasons why a folder cannot be opened as an index.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The folder does not exist, is not a git repository, or does not have a `config.json` that this version reads.
    #[error("{} is not a registry: {reason}", path.display())]
    NotARegistry {
        /// Path as given by the caller.
        path: PathBuf,
        /// Missing or invalid part, as a lower-case fragment.
        reason: String,
    },
}

/// Reasons why an index cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// A git operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An entry is damaged. [`Index::verify`] reports all of them.
    #[error("line {line} of {path} in the index is damaged: {source}")]
    Line {
        /// Path of the file in the tree.
        path: String,
        /// Number of the line, from 1.
        line: usize,
        /// Problem with the line.
        source: LineError,
    },
}

impl InitError {
    /// Returns whether the error may be caused by another process that is creating the same index.
    fn is_of_the_moment(&self) -> bool {
        match self {
            Self::NotEmpty(_) => true,
            Self::Store(StoreError::Git(error)) => matches!(error.code(), ErrorCode::Locked | ErrorCode::Exists),
            _ => false,
        }
    }
}

impl From<git2::Error> for ReadError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Index {
    /// Creates an empty index in a folder that is empty or does not exist. Opens an existing index.
    ///
    /// # Errors
    /// [`InitError`] if the folder contains anything else, or cannot be written.
    pub fn init(dir: &Path, stamp: &Stamp) -> Result<Self, InitError> {
        for _ in 1..SETTLE_TRIES {
            match Self::try_init(dir, stamp) {
                Err(error) if error.is_of_the_moment() => std::thread::sleep(SETTLE_PAUSE),
                done => return done,
            }
        }
        Self::try_init(dir, stamp)
    }

    /// Opens an index: the bare repository, or a plain clone of it, which is read-only.
    ///
    /// # Errors
    /// [`OpenError::NotARegistry`] with the reason.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let not = |reason: String| OpenError::NotARegistry { path: dir.to_owned(), reason };
        match folder::contents(dir) {
            Ok(Contents::Absent) => return Err(not("the folder does not exist".to_owned())),
            Ok(_) => {}
            Err(error) => return Err(not(format!("it cannot be listed ({error})"))),
        }
        let store = Store::open(dir).map_err(|error| not(why_not_git(&error)))?;
        if folder::borrows_objects(store.repo().path()) {
            return Err(not("its git repository uses objects of other folders (objects/info/alternates)".to_owned()));
        }
        let config = read_config(&store).map_err(not)?;
        Ok(Self { store, config })
    }

    /// Opens a mirror of a remote index at a commit, independent of its branch. All objects that will be read must be
    /// available locally. A change becomes a draft: a commit on top of the pinned one that no branch has.
    /// [`Index::take_draft`] returns its id.
    ///
    /// # Errors
    /// [`OpenError::NotARegistry`] with the reason.
    pub fn open_at(dir: &Path, commit: &str) -> Result<Self, OpenError> {
        let not = |reason: String| OpenError::NotARegistry { path: dir.to_owned(), reason };
        let commit = Oid::from_str(commit).map_err(|error| not(why_not_git(&error)))?;
        let store = Store::open_at(dir, commit).map_err(|error| not(why_not_git(&error)))?;
        let config = read_config(&store).map_err(not)?;
        Ok(Self { store, config })
    }

    /// Takes the id of the draft commit that the last change of a pinned index made; `None` if nothing changed or it
    /// was already taken. The change takes effect when the branch of the remote index is at this commit.
    pub fn take_draft(&self) -> Option<String> {
        self.store.take_draft().map(|commit| commit.to_string())
    }

    /// Returns the folder that was opened.
    pub fn dir(&self) -> &Path {
        self.store.dir()
    }

    /// Returns the configuration in `config.json` at the time of opening.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns whether releases can be appended: `false` for a clone with a working copy.
    pub fn is_writable(&self) -> bool {
        self.store.is_writable()
    }

    /// Returns the newest commit as 40 hexadecimal digits. It changes with every release and every flag.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn revision(&self) -> Result<String, ReadError> {
        Ok(self.store.snapshot()?.commit.id().to_string())
    }

    /// Returns whether the current commit equals or descends from a commit seen before. Otherwise the history was
    /// rewritten, and yanks may have been undone.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails. An unknown or malformed commit is not an error; the result is `false`.
    pub fn has_grown_from(&self, revision: &str) -> Result<bool, ReadError> {
        let repo = self.store.repo();
        let Ok(old) = Oid::from_str(revision) else { return Ok(false) };
        let now = self.store.snapshot()?.commit.id();
        if now == old || repo.find_commit(old).is_err() {
            return Ok(now == old);
        }
        Ok(repo.graph_descendant_of(now, old)?)
    }

    /// Returns all releases of a skill in order of publishing, including yanked and withdrawn ones. The result is empty
    /// for an unknown skill. Entries of later formats are skipped.
    ///
    /// # Errors
    /// [`ReadError`] if git fails or an entry is damaged.
    pub fn releases(&self, name: &QualifiedName) -> Result<Vec<Entry>, ReadError> {
        let Some(path) = shard::skill_file(name) else { return Ok(Vec::new()) };
        Ok(read_lines(&self.store.snapshot()?, &path)?.into_entries())
    }

    /// Returns the owners who have published a skill of this name, sorted.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn owners_of(&self, name: &SkillName) -> Result<Vec<Owner>, ReadError> {
        let Some(folder) = shard::name_folder(name) else { return Ok(Vec::new()) };
        let names = self.store.snapshot()?.names_in(&folder)?;
        Ok(names.iter().filter_map(|owner| Owner::parse(owner).ok()).collect())
    }

    /// Returns the names of all skills, sorted by owner and name.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn names(&self) -> Result<Vec<QualifiedName>, ReadError> {
        let files = self.store.snapshot()?.files(shard::is_shard)?;
        let mut names: Vec<_> = files.iter().filter_map(|(path, _)| shard::skill_at(path)).collect();
        names.sort();
        Ok(names)
    }

    /// The paths of the files that differ between two commits; `None` when one of them is not known here.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
    pub fn changed_paths(&self, old: &str, new: &str) -> Result<Option<Vec<String>>, ReadError> {
        let repo = self.store.repo();
        let commit = |id: &str| Oid::from_str(id).ok().and_then(|id| repo.find_commit(id).ok());
        let (Some(old), Some(new)) = (commit(old), commit(new)) else { return Ok(None) };
        let mut paths = Vec::new();
        changed_files(repo, Some(old.tree_id()), Some(new.tree_id()), "", &mut paths)?;
        Ok(Some(paths))
    }

    /// Returns the skills whose names have the same beginning, unordered: those that share its parent folder.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn names_beside(&self, name: &SkillName) -> Result<Vec<QualifiedName>, ReadError> {
        let folder = shard::name_folder(name);
        let Some((parent, _)) = folder.as_deref().and_then(|folder| folder.rsplit_once('/')) else {
            return Ok(Vec::new());
        };
        let snapshot = self.store.snapshot()?;
        let mut names = Vec::new();
        for other in snapshot.names_in(parent)? {
            for owner in snapshot.names_in(&format!("{parent}/{other}"))? {
                names.extend(shard::skill_at(&format!("{parent}/{other}/{owner}")));
            }
        }
        Ok(names)
    }

    /// Returns the names in the same parent folder for which `is_near` is true, except the name itself.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn names_near(
        &self,
        name: &SkillName,
        is_near: impl Fn(&str) -> bool,
    ) -> Result<BTreeSet<SkillName>, ReadError> {
        let folder = shard::name_folder(name);
        let Some((parent, _)) = folder.as_deref().and_then(|folder| folder.rsplit_once('/')) else {
            return Ok(BTreeSet::new());
        };
        let names = self.store.snapshot()?.names_in(parent)?;
        let near = names.iter().filter(|other| *other != name.as_str() && is_near(other));
        Ok(near.filter_map(|other| SkillName::parse_standard(other).ok()).collect())
    }

    /// Returns the newest release of every skill, sorted by owner and name. A skill whose releases are all yanked,
    /// withdrawn, under quarantine or on hold is left out.
    ///
    /// # Errors
    /// [`ReadError`] if git fails or an entry is damaged.
    pub fn all(&self) -> Result<Vec<Entry>, ReadError> {
        let Readable { entries, damaged } = self.readable()?;
        match damaged.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(entries),
        }
    }

    /// Like [`Index::all`], but reports skills with damaged entries separately. Such a skill is left out completely,
    /// because the content of its damaged entry, such as a yank, is unknown.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails for the index as a whole.
    pub fn readable(&self) -> Result<Readable, ReadError> {
        let mut entries = Vec::new();
        let commit = self.revision()?;
        let damaged = Self::visit_skills(self.store.repo().path(), &commit, |releases| {
            entries.extend(newest(&releases, false).cloned());
            Ok::<_, ReadError>(())
        })?;
        entries.sort_by(|a: &Entry, b: &Entry| a.name.cmp(&b.name));
        Ok(Readable { entries, damaged })
    }

    /// Visits all releases of each skill as of a commit of a bare repository, one skill after the other in no order. Skills
    /// of which a line is damaged are left out and returned. A part of the index is open at a time: what libgit2 keeps
    /// in memory goes with the part, so that memory does not grow with the index.
    ///
    /// # Errors
    /// The error of the visit, or [`ReadError::Store`] when git fails on the index as a whole.
    pub fn visit_skills<E: From<ReadError>>(
        git_dir: &Path,
        commit: &str,
        mut visit: impl FnMut(Vec<Entry>) -> Result<(), E>,
    ) -> Result<Vec<ReadError>, E> {
        let open = || Oid::from_str(commit).and_then(|commit| Store::open_at(git_dir, commit)).map_err(ReadError::from);
        let (mut store, mut visited, mut damaged) = (open()?, 0, Vec::new());
        let folders = store.snapshot().and_then(|snapshot| snapshot.folders()).map_err(ReadError::from)?;
        for shard in folders.iter().filter(|folder| shard::is_shard(folder)) {
            if visited >= SKILLS_AT_A_TIME {
                (store, visited) = (open()?, 0);
            }
            let snapshot = store.snapshot().map_err(ReadError::from)?;
            let files = snapshot.files_in(shard).map_err(ReadError::from)?;
            visited += files.len();
            for (path, id) in files.into_iter().filter(|(path, _)| shard::skill_at(path).is_some()) {
                match snapshot.read_blob(id).map_err(ReadError::from).and_then(|bytes| parse_lines(&path, &bytes)) {
                    Ok(lines) => visit(lines.into_entries())?,
                    Err(error) => damaged.push(error),
                }
            }
        }
        Ok(damaged)
    }

    /// Reads a file by its path in the tree, such as `pd/f-/pdf-forms/acme`; `None` if it does not exist. Any text is
    /// safe as a path, because only the tree of the newest commit is searched.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn file(&self, path: &str) -> Result<Option<IndexFile>, ReadError> {
        let snapshot = self.store.snapshot()?;
        let Some(id) = snapshot.blob_id(path)? else { return Ok(None) };
        Ok(Some(IndexFile { bytes: snapshot.read_blob(id)?, id: id.to_string() }))
    }

    /// Returns paths and ids of the files below those folders at the top that `wanted` accepts. One pass over the tree is
    /// much cheaper than [`Index::file`] for each of many files, which reads the folders above it again.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn files(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, Oid)>, ReadError> {
        Ok(self.store.snapshot()?.files(wanted)?)
    }

    /// Reads a file by its id, which [`Index::files`] returns.
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn content(&self, id: Oid) -> Result<Vec<u8>, ReadError> {
        Ok(self.store.snapshot()?.read_blob(id)?)
    }

    /// Returns the releases of a skill like [`Index::releases`], by path and id of its file.
    ///
    /// # Errors
    /// As [`Index::releases`].
    pub fn releases_at(&self, path: &str, id: Oid) -> Result<Vec<Entry>, ReadError> {
        Ok(parse_lines(path, &self.content(id)?)?.into_entries())
    }

    /// Returns the paths of all files in the newest commit, sorted. These are the valid arguments of [`Index::file`].
    ///
    /// # Errors
    /// [`ReadError::Store`] if git fails.
    pub fn paths(&self) -> Result<Vec<String>, ReadError> {
        let mut paths: Vec<String> =
            self.store.snapshot()?.files(|_| true)?.into_iter().map(|(path, _)| path).collect();
        paths.sort();
        Ok(paths)
    }

    fn try_init(dir: &Path, stamp: &Stamp) -> Result<Self, InitError> {
        if let Ok(store) = Store::open(dir) {
            if store.is_writable() && store.is_empty() {
                return Self::finish_init(store, stamp);
            }
            return Self::open(dir).map_err(|_| InitError::NotEmpty(dir.to_owned()));
        }
        let contents = folder::contents(dir).map_err(|source| InitError::Folder { path: dir.to_owned(), source })?;
        if contents == Contents::Something {
            return Err(InitError::NotEmpty(dir.to_owned()));
        }
        Self::finish_init(Store::create(dir).map_err(StoreError::from)?, stamp)
    }

    fn finish_init(store: Store, stamp: &Stamp) -> Result<Self, InitError> {
        store.commit_first(shard::CONFIG, Config::fresh().as_bytes(), stamp)?;
        Ok(Self::open(store.dir())?)
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("dir", &self.dir()).field("writable", &self.is_writable()).finish_non_exhaustive()
    }
}

/// Reads the entries of one skill's file; empty if the file does not exist.
pub(crate) fn read_lines(snapshot: &Snapshot<'_>, path: &str) -> Result<Lines, ReadError> {
    match snapshot.read(path)? {
        Some(bytes) => parse_lines(path, &bytes),
        None => Ok(Lines::default()),
    }
}

/// Parses a skill's file. An entry of another skill is an error, like other damage.
pub(crate) fn parse_lines(path: &str, bytes: &[u8]) -> Result<Lines, ReadError> {
    let bad = |line, source| ReadError::Line { path: path.to_owned(), line, source };
    let lines = Lines::parse(bytes).map_err(|found| bad(found.number, found.error))?;
    let name = shard::skill_at(path);
    let stray = lines.numbered_entries().find(|(_, entry)| name.as_ref() != Some(&entry.name));
    if let Some((line, entry)) = stray { Err(bad(line, LineError::OtherSkill(entry.name.clone()))) } else { Ok(lines) }
}

fn read_config(store: &Store) -> Result<Config, String> {
    let snapshot = store.snapshot().map_err(|error| format!("cannot read its branch ({})", error.message()))?;
    let bytes = snapshot.read(shard::CONFIG).map_err(|error| format!("git failed: {}", error.message()))?;
    let bytes = bytes.ok_or("the git repository has no config.json")?;
    Config::parse(&bytes).map_err(|error| error.to_string())
}

fn why_not_git(error: &git2::Error) -> String {
    match error.code() {
        ErrorCode::NotFound => "the folder is not a git repository".to_owned(),
        _ => format!("git cannot open it: {}", error.message()),
    }
}
