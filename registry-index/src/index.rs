//! [`Index`]: making, opening and reading an index.

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
    folder::{self, Contents},
    lines::Lines,
    newest, shard,
    store::{Snapshot, Store},
};

/// How often, and after which pause, a folder that another process may be filling is looked at.
const SETTLE_TRIES: u32 = 10;
const SETTLE_PAUSE: Duration = Duration::from_millis(20);

/// An index in a folder of this machine.
///
/// One value serves one thread at a time (it is `Send`, not `Sync`); any number of values, in any number
/// of processes, may be open on one folder. Every call sees the newest commit, unless one was pinned
/// ([`Index::open_at`]).
pub struct Index {
    pub(crate) store: Store,
    pub(crate) config: Config,
}

/// What of an index can be read.
#[derive(Debug, Default)]
pub struct Readable {
    /// The newest release of every skill whose lines are all sound, sorted by owner and name.
    pub entries: Vec<Entry>,
    /// Why the others were left out.
    pub damaged: Vec<ReadError>,
}

/// One file of the tree, as the sparse index serves it over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    /// The content.
    pub bytes: Vec<u8>,
    /// The hexadecimal id of git's blob: changes with the content, and fits an ETag.
    pub id: String,
}

/// Why a folder did not become an index.
#[derive(Debug, Error)]
pub enum InitError {
    /// The folder has something in it, and it is no index.
    #[error("{} is not empty and is no index", .0.display())]
    NotEmpty(PathBuf),
    /// The folder cannot be made or listed.
    #[error("{} cannot be used: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// git failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index was made and cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Why a folder cannot be opened as an index.
#[derive(Debug, Error)]
pub enum OpenError {
    /// No folder, no git repository, or one without a `config.json` that this version reads.
    #[error("{} is not a registry: {reason}", path.display())]
    NotARegistry {
        /// The folder as given.
        path: PathBuf,
        /// What is missing or wrong, as a lower-case fragment.
        reason: String,
    },
}

/// Why an index cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// git failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A line is damaged; [`Index::verify`] names them all.
    #[error("line {line} of {path} in the index is damaged: {source}")]
    Line {
        /// The file in the tree.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: LineError,
    },
}

impl InitError {
    /// Whether another process that makes the same index at this moment would explain the error.
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
    /// Makes a new, empty index in a folder that is empty or does not exist; opens the one that is there.
    ///
    /// # Errors
    /// [`InitError`] when the folder holds anything else, or cannot be written.
    pub fn init(dir: &Path, stamp: &Stamp) -> Result<Self, InitError> {
        for _ in 1..SETTLE_TRIES {
            match Self::try_init(dir, stamp) {
                Err(error) if error.is_of_the_moment() => std::thread::sleep(SETTLE_PAUSE),
                done => return done,
            }
        }
        Self::try_init(dir, stamp)
    }

    /// Opens an index: the bare repository itself, or a plain clone of one, which can only be read.
    ///
    /// # Errors
    /// [`OpenError::NotARegistry`] with the reason.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let not = |reason: String| OpenError::NotARegistry { path: dir.to_owned(), reason };
        match folder::contents(dir) {
            Ok(Contents::Absent) => return Err(not("there is no such folder".to_owned())),
            Ok(_) => {}
            Err(error) => return Err(not(format!("it cannot be listed ({error})"))),
        }
        let store = Store::open(dir).map_err(|error| not(why_not_git(&error)))?;
        if folder::borrows_objects(store.repo().path()) {
            return Err(
                not("its git repository takes objects from other folders (objects/info/alternates)".to_owned()),
            );
        }
        let config = read_config(&store).map_err(not)?;
        Ok(Self { store, config })
    }

    /// Opens an index as it was at a commit, whatever its branch does meanwhile: a mirror of one that is
    /// elsewhere, of which the objects that will be asked for must be here. What is appended, or flagged, becomes a
    /// commit on that one which no branch has; [`Index::take_draft`] names it.
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

    /// The commit that the last change of an index opened at a commit has made; `None` when nothing had to
    /// change, or it was taken. It counts once the branch of the index that was mirrored stands at it.
    #[must_use]
    pub fn take_draft(&self) -> Option<String> {
        self.store.take_draft().map(|commit| commit.to_string())
    }

    /// The folder that was opened.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.store.dir()
    }

    /// What `config.json` said when the index was opened.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether releases can be appended here: `false` for a clone with a working copy.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.store.is_writable()
    }

    /// The newest commit, as 40 hexadecimal digits: changes with every release and every flag.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
    pub fn revision(&self) -> Result<String, ReadError> {
        Ok(self.store.snapshot()?.commit.id().to_string())
    }

    /// Whether the index, as it is now, has grown from a commit seen before (or is still there). An index
    /// that has not was rewritten, and with it yanks may have been taken back.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails. An unknown or malformed commit is no error, but `false`.
    pub fn has_grown_from(&self, revision: &str) -> Result<bool, ReadError> {
        let repo = self.store.repo();
        let Ok(old) = Oid::from_str(revision) else { return Ok(false) };
        let now = self.store.snapshot()?.commit.id();
        if now == old || repo.find_commit(old).is_err() {
            return Ok(now == old);
        }
        Ok(repo.graph_descendant_of(now, old)?)
    }

    /// All releases of a skill in order of publishing, yanked and withdrawn ones included; none when the
    /// index does not know the skill. Lines of later formats are skipped.
    ///
    /// # Errors
    /// [`ReadError`] when git fails or a line is damaged.
    pub fn releases(&self, name: &QualifiedName) -> Result<Vec<Entry>, ReadError> {
        let Some(path) = shard::skill_file(name) else { return Ok(Vec::new()) };
        Ok(read_lines(&self.store.snapshot()?, &path)?.into_entries())
    }

    /// The owners who have published a skill of this name, sorted.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
    pub fn owners_of(&self, name: &SkillName) -> Result<Vec<Owner>, ReadError> {
        let Some(folder) = shard::name_folder(name) else { return Ok(Vec::new()) };
        let names = self.store.snapshot()?.names_in(&folder)?;
        Ok(names.iter().filter_map(|owner| Owner::parse(owner).ok()).collect())
    }

    /// Every skill of the index, sorted by owner and name.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
    pub fn names(&self) -> Result<Vec<QualifiedName>, ReadError> {
        let files = self.store.snapshot()?.files(shard::is_shard)?;
        let mut names: Vec<_> = files.iter().filter_map(|(path, _)| shard::skill_at(path)).collect();
        names.sort();
        Ok(names)
    }

    /// The skills whose files changed since a commit, sorted; `None` when the commit is not known here.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
    pub fn changed_since(&self, revision: &str) -> Result<Option<Vec<QualifiedName>>, ReadError> {
        let repo = self.store.repo();
        let Some(old) = Oid::from_str(revision).ok().and_then(|old| repo.find_commit(old).ok()) else {
            return Ok(None);
        };
        let now = self.store.snapshot()?;
        let diff = repo.diff_tree_to_tree(Some(&old.tree()?), Some(now.tree()), None)?;
        let paths = diff.deltas().filter_map(|delta| delta.new_file().path().or(delta.old_file().path())?.to_str());
        Ok(Some(paths.filter_map(shard::skill_at).collect::<BTreeSet<_>>().into_iter().collect()))
    }

    /// The skills whose names begin as this one does, in no order: those in its folder's parent.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
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

    /// The names in the folder of this one's that `is_near` takes, without the name itself.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
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

    /// The newest release of every skill, sorted by owner and name; a skill with nothing but yanked or
    /// withdrawn releases is left out.
    ///
    /// # Errors
    /// [`ReadError`] when git fails or a line is damaged.
    pub fn all(&self) -> Result<Vec<Entry>, ReadError> {
        let Readable { entries, damaged } = self.readable()?;
        match damaged.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(entries),
        }
    }

    /// As [`Index::all`], without the skills of which a line is damaged: these are told beside. A skill is
    /// left out whole, since what its damaged line says, such as a yank, is not known.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails on the index as a whole.
    pub fn readable(&self) -> Result<Readable, ReadError> {
        let mut entries = Vec::new();
        let damaged = self.visit_skills(|releases| entries.extend(newest(&releases, false).cloned()))?;
        entries.sort_by(|a: &Entry, b: &Entry| a.name.cmp(&b.name));
        Ok(Readable { entries, damaged })
    }

    /// Visits all releases of each skill, one skill after the other in no order, as of one commit. Skills of which a line
    /// is damaged are left out and returned.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails on the index as a whole.
    pub fn visit_skills(&self, mut visit: impl FnMut(Vec<Entry>)) -> Result<Vec<ReadError>, ReadError> {
        let snapshot = self.store.snapshot()?;
        let mut damaged = Vec::new();
        for (path, id) in snapshot.files(shard::is_shard)? {
            if shard::skill_at(&path).is_none() {
                continue;
            }
            let read = snapshot.read_blob(id).map_err(ReadError::from).and_then(|bytes| parse_lines(&path, &bytes));
            match read {
                Ok(lines) => visit(lines.into_entries()),
                Err(error) => damaged.push(error),
            }
        }
        Ok(damaged)
    }

    /// One file of the index by its path in the tree, `pd/f-/pdf-forms/acme`; `None` when there is none.
    /// Any text is a safe path, since only the tree of the newest commit is asked.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
    pub fn file(&self, path: &str) -> Result<Option<IndexFile>, ReadError> {
        let snapshot = self.store.snapshot()?;
        let Some(id) = snapshot.blob_id(path)? else { return Ok(None) };
        Ok(Some(IndexFile { bytes: snapshot.read_blob(id)?, id: id.to_string() }))
    }

    /// The paths of all files of the newest commit, sorted: what [`Index::file`] can be asked for.
    ///
    /// # Errors
    /// [`ReadError::Store`] when git fails.
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

/// The lines of one skill's file; none when there is no such file.
pub(crate) fn read_lines(snapshot: &Snapshot<'_>, path: &str) -> Result<Lines, ReadError> {
    match snapshot.read(path)? {
        Some(bytes) => parse_lines(path, &bytes),
        None => Ok(Lines::default()),
    }
}

/// Reads a skill's file; a line of another skill than the path's is damage like any other.
pub(crate) fn parse_lines(path: &str, bytes: &[u8]) -> Result<Lines, ReadError> {
    let bad = |line, source| ReadError::Line { path: path.to_owned(), line, source };
    let lines = Lines::parse(bytes).map_err(|found| bad(found.number, found.error))?;
    let name = shard::skill_at(path);
    let stray = lines.numbered_entries().find(|(_, entry)| name.as_ref() != Some(&entry.name));
    if let Some((line, entry)) = stray {
        return Err(bad(line, LineError::OtherSkill(entry.name.clone())));
    }
    Ok(lines)
}

fn read_config(store: &Store) -> Result<Config, String> {
    let snapshot = store.snapshot().map_err(|error| format!("its branch cannot be read ({})", error.message()))?;
    let bytes = snapshot.read(shard::CONFIG).map_err(|error| format!("git failed: {}", error.message()))?;
    let bytes = bytes.ok_or("the git repository has no config.json")?;
    Config::parse(&bytes).map_err(|error| error.to_string())
}

fn why_not_git(error: &git2::Error) -> String {
    match error.code() {
        ErrorCode::NotFound => "the folder is no git repository".to_owned(),
        _ => format!("git cannot open it: {}", error.message()),
    }
}
