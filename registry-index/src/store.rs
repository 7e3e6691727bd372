//! [`Store`]: the git repository below an index, read and changed without a working copy.
//!
//! The repository is opened by its own folder and nothing else: no search in parent folders, no
//! environment variables, no hooks. Everything that is read is one commit's tree ([`Snapshot`]), so that a
//! reader never sees half a change.

use std::{
    cell::Cell,
    hash::{BuildHasher, Hasher, RandomState},
    path::{Path, PathBuf},
    time::Duration,
};

use git2::{
    Commit, Config, ConfigLevel, ErrorCode, FileMode, ObjectType, Oid, Repository, RepositoryInitOptions, Signature,
    Time, Tree, TreeWalkMode, TreeWalkResult, build::TreeUpdateBuilder,
};
use thiserror::Error;

use crate::Stamp;

const BRANCH: &str = "main";
const REFERENCE: &str = "refs/heads/main";
/// Tries before a writer gives up; with the pauses below about five seconds.
const ATTEMPTS: u32 = 200;
const LONGEST_PAUSE_MS: u64 = 40;
/// Bytes of one file of the tree that are read into memory: far above an archive's limit and a file of
/// ten thousand lines, far below what a few packed bytes can stand for.
const MOST_BYTES: u64 = 64 << 20;
/// The settings of an index that libgit2 reads and git does not.
const FOR_LIBGIT2: &str = "libgit2.config";
/// Who commits; the author is whoever asked for the change.
const COMMITTER: &str = "skillhub";
/// git wants an address; a registry has none to give. `.invalid` is reserved by RFC 2606.
const NO_EMAIL: &str = "noreply@skillhub.invalid";

/// Why the git repository of an index cannot be read or changed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// libgit2 failed: a missing or damaged object, a full disk, no permission.
    #[error("the index's git repository failed: {0}")]
    Git(#[from] git2::Error),
    /// The folder is a clone with a working copy; only the bare repository takes changes.
    #[error("{} is a clone of an index, which can be read but not published to", .0.display())]
    ReadOnly(PathBuf),
    /// Others moved the branch, or held its lock, at every try.
    #[error(
        "the index was busy at {attempts} tries; remove {lock} in its folder if no other skillhub or git is running"
    )]
    Busy {
        /// Tries made.
        attempts: u32,
        /// The lock file of the branch, relative to the repository.
        lock: &'static str,
    },
}

/// An open repository.
pub(crate) struct Store {
    repo: Repository,
    dir: PathBuf,
    writable: bool,
    pinned: Option<Pinned>,
}

/// One commit that is read whatever the branch does, and on which changes are drafted.
struct Pinned {
    commit: Oid,
    draft: Cell<Option<Oid>>,
}

/// The tree of one commit.
pub(crate) struct Snapshot<'a> {
    repo: &'a Repository,
    pub commit: Commit<'a>,
    tree: Tree<'a>,
}

/// One change of one path.
pub(crate) enum TreeEdit {
    /// A file added or replaced.
    Put(String, Oid),
    /// A file removed.
    Remove(String),
}

/// A commit to be made.
pub(crate) struct Change {
    pub edits: Vec<TreeEdit>,
    pub message: String,
    pub stamp: Stamp,
}

/// What a plan decided on one snapshot.
pub(crate) enum Step<T> {
    /// Nothing needs to change.
    Done(T),
    /// This must be committed; the value is returned once it is.
    Commit(Change, T),
}

impl Store {
    /// Opens a bare repository, or the one in the `.git` folder of a clone.
    pub fn open(dir: &Path) -> Result<Self, git2::Error> {
        let (repo, direct) = match Repository::open_bare(dir) {
            Ok(repo) => (repo, true),
            Err(error) if error.code() == ErrorCode::NotFound => (Repository::open_bare(dir.join(".git"))?, false),
            Err(error) => return Err(error),
        };
        let writable = direct && is_configured_bare(&repo);
        if writable {
            add_settings(&repo)?;
        }
        Ok(Self { repo, dir: dir.to_owned(), writable, pinned: None })
    }

    /// Opens a bare repository as it was at a commit. A change becomes a commit that no branch has.
    pub fn open_at(dir: &Path, commit: Oid) -> Result<Self, git2::Error> {
        let pinned = Some(Pinned { commit, draft: Cell::new(None) });
        Ok(Self { repo: Repository::open_bare(dir)?, dir: dir.to_owned(), writable: false, pinned })
    }

    /// The commit that a change of a pinned repository made, once.
    pub fn take_draft(&self) -> Option<Oid> {
        self.pinned.as_ref()?.draft.take()
    }

    /// Makes a bare repository without commits.
    pub fn create(dir: &Path) -> Result<Self, git2::Error> {
        let mut options = RepositoryInitOptions::new();
        options.bare(true).mkpath(true).external_template(false).initial_head(BRANCH);
        let repo = Repository::init_opts(dir, &options)?;
        drop(repo);
        Self::open(dir)
    }

    /// Settings that the system's git honours when somebody pushes or fetches a part, and the one by which libgit2
    /// syncs. git has another name for that since 2.36 and complains of the old one, which libgit2 alone knows; so
    /// each gets a file of its own.
    fn configure(&self) -> Result<(), git2::Error> {
        let mut config = self.repo.config()?.open_level(ConfigLevel::Local)?;
        for key in ["receive.denyNonFastForwards", "receive.denyDeletes", "uploadpack.allowFilter"] {
            config.set_bool(key, true)?;
        }
        config.set_str("core.fsync", "objects,reference")?;
        Config::open(&self.repo.path().join(FOR_LIBGIT2))?.set_bool("core.fsyncObjectFiles", true)?;
        add_settings(&self.repo)
    }

    /// Makes the first commit, unless another process has made it, in a repository whose objects and references
    /// are synced to the disk from here on.
    pub fn commit_first(&self, path: &str, bytes: &[u8], stamp: &Stamp) -> Result<(), StoreError> {
        self.configure()?;
        let mut builder = self.repo.treebuilder(None)?;
        builder.insert(path, self.repo.blob(bytes)?, FileMode::Blob.into())?;
        let tree = self.repo.find_tree(builder.write()?)?;
        let commit = self.write_commit(&tree, &[], "create the index", stamp)?;
        match self.repo.reference(REFERENCE, commit, false, "create the index") {
            Err(error) if error.code() != ErrorCode::Exists => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Whether the repository has no reference at all, so that it holds nobody's work.
    pub fn is_empty(&self) -> bool {
        self.repo.references().is_ok_and(|mut references| references.next().is_none())
    }

    pub fn repo(&self) -> &Repository {
        &self.repo
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The commit that is pinned, else the newest: of `main` in a bare repository, of `HEAD` in a clone.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, git2::Error> {
        let commit = match &self.pinned {
            Some(pinned) => self.repo.find_commit(pinned.commit)?,
            None if self.writable => self.repo.find_reference(REFERENCE)?.peel_to_commit()?,
            None => self.repo.head()?.peel_to_commit()?,
        };
        let tree = commit.tree()?;
        Ok(Snapshot { repo: &self.repo, commit, tree })
    }

    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid, StoreError> {
        self.check_writable()?;
        Ok(self.repo.blob(bytes)?)
    }

    /// Plans on the newest snapshot and commits the plan if the branch still stands there; else again.
    pub fn update<T, E: From<StoreError>>(
        &self,
        mut plan: impl FnMut(&Snapshot<'_>) -> Result<Step<T>, E>,
    ) -> Result<T, E> {
        self.check_writable()?;
        for attempt in 0..ATTEMPTS {
            pause(attempt);
            let base = self.snapshot().map_err(StoreError::from)?;
            match plan(&base)? {
                Step::Done(value) => return Ok(value),
                Step::Commit(change, value) if self.try_commit(&base, &change)? => return Ok(value),
                Step::Commit(..) => {}
            }
        }
        Err(StoreError::Busy { attempts: ATTEMPTS, lock: "refs/heads/main.lock" }.into())
    }

    pub fn check_writable(&self) -> Result<(), StoreError> {
        if self.writable || self.pinned.is_some() { Ok(()) } else { Err(StoreError::ReadOnly(self.dir.clone())) }
    }

    /// `false` when the branch has moved or is locked.
    fn try_commit(&self, base: &Snapshot<'_>, change: &Change) -> Result<bool, StoreError> {
        let tree = self.repo.find_tree(base.edited(&change.edits)?)?;
        let commit = self.write_commit(&tree, &[&base.commit], &change.message, &change.stamp)?;
        if let Some(pinned) = &self.pinned {
            pinned.draft.set(Some(commit));
            return Ok(true);
        }
        match self.repo.reference_matching(REFERENCE, commit, true, base.commit.id(), "append") {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Locked) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn write_commit(&self, tree: &Tree, parents: &[&Commit], text: &str, stamp: &Stamp) -> Result<Oid, git2::Error> {
        let author = signature(&stamp.by, stamp)?;
        let committer = signature(COMMITTER, stamp)?;
        self.repo.commit(None, &author, &committer, &printable(text), tree, parents)
    }
}

impl<'a> Snapshot<'a> {
    /// The tree of another commit of the same repository.
    pub fn of(repo: &'a Repository, commit: Commit<'a>) -> Result<Self, git2::Error> {
        let tree = commit.tree()?;
        Ok(Self { repo, commit, tree })
    }

    pub fn tree(&self) -> &Tree<'a> {
        &self.tree
    }

    /// The blob at a path; `None` when there is nothing, or a folder.
    pub fn blob_id(&self, path: &str) -> Result<Option<Oid>, git2::Error> {
        let found = self.find(path)?;
        Ok(found.filter(|(_, kind)| *kind == Some(ObjectType::Blob)).map(|(id, _)| id))
    }

    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>, git2::Error> {
        self.blob_id(path)?.map(|id| self.read_blob(id)).transpose()
    }

    pub fn read_blob(&self, id: Oid) -> Result<Vec<u8>, git2::Error> {
        let size = self.blob_size(id)?;
        if size > MOST_BYTES {
            return Err(git2::Error::from_str(&format!("the file {id} has {size} bytes, the limit is {MOST_BYTES}")));
        }
        Ok(self.repo.find_blob(id)?.content().to_vec())
    }

    /// Bytes of a blob, without reading all of it.
    pub fn blob_size(&self, id: Oid) -> Result<u64, git2::Error> {
        Ok(self.repo.odb()?.read_header(id)?.0 as u64)
    }

    /// The names in a folder, sorted by their bytes; none when there is no such folder.
    pub fn names_in(&self, folder: &str) -> Result<Vec<String>, git2::Error> {
        match self.find(folder)? {
            Some((id, Some(ObjectType::Tree))) => {
                let tree = self.repo.find_tree(id)?;
                Ok(tree.iter().filter_map(|entry| entry.name().ok().map(str::to_owned)).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Every file below the folders at the top that `wanted` takes, and at the top itself when it takes `""`.
    pub fn files(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, Oid)>, git2::Error> {
        let mut files = Vec::new();
        self.tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
            let Ok(name) = entry.name() else { return TreeWalkResult::Ok };
            let path = format!("{folder}{name}");
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            if folder.is_empty() && !wanted(if is_tree { name } else { "" }) {
                return TreeWalkResult::Skip;
            }
            if !is_tree {
                files.push((path, entry.id()));
            }
            TreeWalkResult::Ok
        })?;
        Ok(files)
    }

    fn find(&self, path: &str) -> Result<Option<(Oid, Option<ObjectType>)>, git2::Error> {
        if path.is_empty() || path.contains('\0') || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Ok(None);
        }
        match self.tree.get_path(Path::new(path)) {
            Ok(entry) => Ok(Some((entry.id(), entry.kind()))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn edited(&self, edits: &[TreeEdit]) -> Result<Oid, git2::Error> {
        let mut builder = TreeUpdateBuilder::new();
        for edit in edits {
            match edit {
                TreeEdit::Put(path, id) => builder.upsert(path.as_str(), *id, FileMode::Blob),
                TreeEdit::Remove(path) => builder.remove(path.as_str()),
            };
        }
        builder.create_updated(self.repo, &self.tree)
    }
}

/// Gives libgit2 the settings that are its own. It looks at them when it first reads or writes.
fn add_settings(repo: &Repository) -> Result<(), git2::Error> {
    repo.config()?.add_file(&repo.path().join(FOR_LIBGIT2), ConfigLevel::App, true)
}

fn is_configured_bare(repo: &Repository) -> bool {
    let local = repo.config().and_then(|config| config.open_level(ConfigLevel::Local));
    local.and_then(|config| config.get_bool("core.bare")).unwrap_or(false)
}

fn signature(name: &str, stamp: &Stamp) -> Result<Signature<'static>, git2::Error> {
    let name: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let name = name.trim_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
    let name = if name.is_empty() { "unknown" } else { name };
    Signature::new(name, NO_EMAIL, &Time::new(stamp.at.as_second(), 0))
}

/// A commit message without control characters, since people read it in a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// A pause that grows with the tries and differs between processes.
fn pause(attempt: u32) {
    let longest = u64::from(attempt).saturating_mul(2).min(LONGEST_PAUSE_MS);
    if longest > 0 {
        let random = RandomState::new().build_hasher().finish();
        std::thread::sleep(Duration::from_millis(1 + random % longest));
    }
}
