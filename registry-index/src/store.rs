//! [`Store`]: the git repository of an index, read and changed without a working copy.
//!
//! The repository is opened by its exact folder: without searching parent folders, environment variables or hooks. All
//! reads use the tree of one commit ([`Snapshot`]), so that a reader never sees a partial change.
//!
//! The objects of a change are written as one pack. It is synced before the branch moves to the new commit, so that no crash
//! leaves a commit without its objects. A pack without an index, or an index without a pack, does not count.

use std::{
    cell::{Cell, RefCell},
    hash::{BuildHasher, Hasher, RandomState},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use git2::{
    Commit, Config, ConfigLevel, ErrorCode, FileMode, ObjectType, Oid, Repository, RepositoryInitOptions, Signature,
    Time, Tree, TreeWalkMode, TreeWalkResult, build::TreeUpdateBuilder,
};
use thiserror::Error;

use crate::{Stamp, owner_files::OwnerFiles, shard};

const BRANCH: &str = "main";
pub(crate) const REFERENCE: &str = "refs/heads/main";
/// Priority of the objects in memory: libgit2 asks them before the files, and writes to them.
const BEFORE_FILES: i32 = 1000;
/// Maximum number of attempts of a writer; with the delays about five seconds.
const ATTEMPTS: u32 = 200;
const LONGEST_PAUSE_MS: u64 = 40;
/// Maximum size in bytes of a file that is read into memory. It is far above the limit for archives and the size of a
/// file with ten thousand lines, but prevents a small packed object from expanding without bound.
const MOST_BYTES: u64 = 64 << 20;
/// Name of the file with settings that libgit2 reads and git does not.
const FOR_LIBGIT2: &str = "libgit2.config";
/// Name of the committer. The author is the account that requested the change.
const COMMITTER: &str = "skillhub";
/// Email address in commits, because git requires one. RFC 2606 reserves `.invalid`.
const NO_EMAIL: &str = "noreply@skillhub.invalid";

/// Reasons why the git repository of an index cannot be read or changed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// libgit2 failed: a missing or damaged object, a full disk, or missing permissions.
    #[error("cannot use the git repository of the index: {0}")]
    Git(#[from] git2::Error),
    /// Files of the repository cannot be packed or removed.
    #[error("cannot change the files of the index: {0}")]
    Io(#[from] io::Error),
    /// The folder is a clone with a working copy; only the bare repository takes changes.
    #[error("cannot publish to {}: it is a clone of an index, which is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// Other writers moved the branch or held its lock at every attempt.
    #[error(
        "the index was busy at each of {attempts} attempts; remove {lock} in its folder if no other skillhub or git \
         is running"
    )]
    Busy {
        /// Number of attempts made.
        attempts: u32,
        /// Path of the branch's lock file, relative to the repository.
        lock: &'static str,
    },
}

/// An open repository, writable if it is bare.
pub(crate) struct Store {
    repo: Repository,
    dir: PathBuf,
    writable: bool,
    pinned: Option<Pinned>,
    owner_files: RefCell<OwnerFiles>,
}

/// A commit that is read independent of the branch, and on which changes are drafted.
struct Pinned {
    commit: Oid,
    draft: Cell<Option<Oid>>,
}

/// The tree of one commit.
pub(crate) struct Snapshot<'a> {
    repo: &'a Repository,
    pub commit: Commit<'a>,
    tree: Tree<'a>,
    owner_files: Option<&'a RefCell<OwnerFiles>>,
}

/// A change of one path.
pub(crate) enum TreeEdit {
    /// Adds or replaces a file.
    Put(String, Vec<u8>),
    /// Removes a file.
    Remove(String),
}

/// Content of a new commit.
pub(crate) struct Change {
    pub edits: Vec<TreeEdit>,
    pub message: String,
    pub stamp: Stamp,
}

/// Decision of a plan for one snapshot.
pub(crate) enum PlanOutcome<T> {
    /// No commit is needed.
    Done(T),
    /// The change must be committed. The value is returned after that.
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
        Ok(Self { repo, dir: dir.to_owned(), writable, pinned: None, owner_files: RefCell::default() })
    }

    /// Opens a bare repository at a commit. A change becomes a commit that no branch has.
    pub fn open_at(dir: &Path, commit: Oid) -> Result<Self, git2::Error> {
        let pinned = Some(Pinned { commit, draft: Cell::new(None) });
        Ok(Self {
            repo: Repository::open_bare(dir)?,
            dir: dir.to_owned(),
            writable: false,
            pinned,
            owner_files: RefCell::default(),
        })
    }

    /// Takes the commit that a change of a pinned repository made.
    pub fn take_draft(&self) -> Option<Oid> {
        self.pinned.as_ref()?.draft.take()
    }

    /// Creates a bare repository without commits.
    pub fn create(dir: &Path) -> Result<Self, git2::Error> {
        let mut options = RepositoryInitOptions::new();
        options.bare(true).mkpath(true).external_template(false).initial_head(BRANCH);
        let repo = Repository::init_opts(dir, &options)?;
        drop(repo);
        Self::open(dir)
    }

    /// Writes the settings for pushes, partial fetches and syncing. git renamed the setting for syncing in 2.36 and
    /// warns about the old name, which is the only one that libgit2 knows. The old name is therefore written to a
    /// separate file.
    pub fn configure(&self) -> Result<(), git2::Error> {
        let mut config = self.repo.config()?.open_level(ConfigLevel::Local)?;
        for key in ["receive.denyNonFastForwards", "receive.denyDeletes", "uploadpack.allowFilter"] {
            config.set_bool(key, true)?;
        }
        config.set_str("core.fsync", "objects,reference")?;
        Config::open(&self.repo.path().join(FOR_LIBGIT2))?.set_bool("core.fsyncObjectFiles", true)?;
        add_settings(&self.repo)
    }

    /// Makes the first commit, unless another process already has. From here on, objects and references are synced to
    /// disk.
    pub fn commit_first(&self, path: &str, bytes: &[u8], stamp: &Stamp) -> Result<(), StoreError> {
        self.configure()?;
        let mut builder = self.repo.treebuilder(None)?;
        builder.insert(path, self.repo.blob(bytes)?, FileMode::Blob.into())?;
        let tree = self.repo.find_tree(builder.write()?)?;
        let commit = write_commit(&self.repo, &tree, &[], "create the index", stamp)?;
        match self.repo.reference(REFERENCE, commit, false, "create the index") {
            Err(error) if error.code() != ErrorCode::Exists => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns whether the repository does not have any references, so that it does not contain anybody's work.
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

    /// Returns the pinned commit, otherwise the newest one: that of `main` in a bare repository, of `HEAD` in a clone.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, git2::Error> {
        let commit = match &self.pinned {
            Some(pinned) => self.repo.find_commit(pinned.commit)?,
            None if self.writable => self.repo.find_reference(REFERENCE)?.peel_to_commit()?,
            None => self.repo.head()?.peel_to_commit()?,
        };
        let tree = commit.tree()?;
        Ok(Snapshot { repo: &self.repo, commit, tree, owner_files: Some(&self.owner_files) })
    }

    /// Runs `plan` on the newest snapshot and commits the result by compare-and-swap. If the branch has moved, plans
    /// again.
    pub fn update<T, E: From<StoreError>>(
        &self,
        mut plan: impl FnMut(&Snapshot<'_>) -> Result<PlanOutcome<T>, E>,
    ) -> Result<T, E> {
        self.check_writable()?;
        for attempt in 0..ATTEMPTS {
            pause(attempt);
            let base = self.snapshot().map_err(StoreError::from)?;
            match plan(&base)? {
                PlanOutcome::Done(value) => return Ok(value),
                PlanOutcome::Commit(change, value) if self.try_commit(&base, &change)? => return Ok(value),
                PlanOutcome::Commit(..) => {}
            }
        }
        Err(StoreError::Busy { attempts: ATTEMPTS, lock: "refs/heads/main.lock" }.into())
    }

    pub fn check_writable(&self) -> Result<(), StoreError> {
        if self.writable || self.pinned.is_some() { Ok(()) } else { Err(StoreError::ReadOnly(self.dir.clone())) }
    }

    /// Returns `false` if the branch has moved or is locked.
    fn try_commit(&self, base: &Snapshot<'_>, change: &Change) -> Result<bool, StoreError> {
        if let Some(pinned) = &self.pinned {
            pinned.draft.set(Some(change.write(&self.repo, Some(base.commit.id()))?.id()));
            return Ok(true);
        }
        let repo = in_memory(self.repo.path())?;
        let commit = change.write(&repo, Some(base.commit.id()))?;
        if self.snapshot()?.commit.id() != base.commit.id() {
            return Ok(false);
        }
        write_pack(&repo, [(commit.id(), change.paths())])?;
        let commit = commit.id();
        match self.repo.reference_matching(REFERENCE, commit, true, base.commit.id(), "append") {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Locked) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Change {
    /// Returns the changed paths.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.edits.iter().map(|(TreeEdit::Put(path, _) | TreeEdit::Remove(path))| path.as_str())
    }

    /// Writes the objects of the change, and returns its commit; without a parent, the first one.
    pub fn write<'repo>(&self, repo: &'repo Repository, parent: Option<Oid>) -> Result<Commit<'repo>, git2::Error> {
        let mut builder = TreeUpdateBuilder::new();
        for edit in &self.edits {
            match edit {
                TreeEdit::Put(path, bytes) => builder.upsert(path.as_str(), repo.blob(bytes)?, FileMode::Blob),
                TreeEdit::Remove(path) => builder.remove(path.as_str()),
            };
        }
        let parent = parent.map(|parent| repo.find_commit(parent)).transpose()?;
        let base = match &parent {
            Some(parent) => parent.tree()?,
            None => repo.find_tree(repo.treebuilder(None)?.write()?)?,
        };
        let tree = repo.find_tree(builder.create_updated(repo, &base)?)?;
        let parents: Vec<_> = parent.iter().collect();
        repo.find_commit(write_commit(repo, &tree, &parents, &self.message, &self.stamp)?)
    }
}

/// Opens a repository so that whatever is written stays in memory until it is packed.
pub(crate) fn in_memory(git_dir: &Path) -> Result<Repository, git2::Error> {
    let repo = Repository::open_bare(git_dir)?;
    add_settings(&repo)?;
    repo.odb()?.add_new_mempack_backend(BEFORE_FILES)?;
    Ok(repo)
}

/// Writes commits with the folders and files that each changed to the disk, as one pack. Folders that a path shares with
/// the path before it are not read again.
pub(crate) fn write_pack<'a, Paths: IntoIterator<Item = &'a str>>(
    repo: &Repository,
    commits: impl IntoIterator<Item = (Oid, Paths)>,
) -> Result<(), git2::Error> {
    let mut pack = repo.packbuilder()?;
    for (commit, paths) in commits {
        let commit = repo.find_commit(commit)?;
        pack.insert_object(commit.id(), None)?;
        pack.insert_object(commit.tree_id(), None)?;
        let (root, mut above) = (commit.tree()?, Vec::<(&str, Tree<'_>)>::new());
        for path in paths {
            let shared = above.iter().zip(path.split('/')).take_while(|((name, _), part)| name == part).count();
            above.truncate(shared);
            for part in path.split('/').skip(shared) {
                let folder = above.last().map_or(&root, |(_, folder)| folder);
                let Some(entry) = folder.get_name(part).map(|entry| (entry.id(), entry.kind())) else { break };
                pack.insert_object(entry.0, None)?;
                if entry.1 == Some(ObjectType::Tree) {
                    above.push((part, repo.find_tree(entry.0)?));
                }
            }
        }
    }
    pack.write(&repo.path().join("objects/pack"), 0o444)
}

impl<'a> Snapshot<'a> {
    /// Returns the tree of another commit in the same repository.
    pub fn of(repo: &'a Repository, commit: Commit<'a>) -> Result<Self, git2::Error> {
        let tree = commit.tree()?;
        Ok(Self { repo, commit, tree, owner_files: None })
    }

    pub fn tree(&self) -> &Tree<'a> {
        &self.tree
    }

    /// Returns the blob at a path; `None` if the path is a folder or does not exist.
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
            return Err(git2::Error::from_str(&format!(
                "the file {id} has {size} bytes, but the limit is {MOST_BYTES}"
            )));
        }
        Ok(self.repo.find_blob(id)?.content().to_vec())
    }

    /// Returns the size of a blob in bytes, without reading the whole blob.
    pub fn blob_size(&self, id: Oid) -> Result<u64, git2::Error> {
        Ok(self.repo.odb()?.read_header(id)?.0 as u64)
    }

    /// Lists the names in a folder, sorted by bytes; empty if the folder does not exist.
    pub fn names_in(&self, folder: &str) -> Result<Vec<String>, git2::Error> {
        match self.find(folder)? {
            Some((id, Some(ObjectType::Tree))) => {
                let tree = self.repo.find_tree(id)?;
                Ok(tree.iter().filter_map(|entry| entry.name().ok().map(str::to_owned)).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The folders at the top.
    pub fn folders(&self) -> Result<Vec<String>, git2::Error> {
        let folders = self.tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree));
        Ok(folders.filter_map(|entry| entry.name().ok().map(str::to_owned)).collect())
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

    /// Every file below a folder.
    pub fn files_in(&self, folder: &str) -> Result<Vec<(String, Oid)>, git2::Error> {
        let Some((id, Some(ObjectType::Tree))) = self.find(folder)? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        self.repo.find_tree(id)?.walk(TreeWalkMode::PreOrder, |inner, entry| {
            if let Some(name) = entry.name().ok().filter(|_| entry.kind() != Some(ObjectType::Tree)) {
                files.push((format!("{folder}/{inner}{name}"), entry.id()));
            }
            TreeWalkResult::Ok
        })?;
        Ok(files)
    }

    fn find(&self, path: &str) -> Result<Option<(Oid, Option<ObjectType>)>, git2::Error> {
        if path.is_empty() || path.contains('\0') || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Ok(None);
        }
        if let Some((files, (shard::OWNERS, name))) = self.owner_files.zip(path.split_once('/'))
            && !name.contains('/')
        {
            let folder = self.tree.get_name(shard::OWNERS).filter(|entry| entry.kind() == Some(ObjectType::Tree));
            let found = folder.map(|folder| files.borrow_mut().find(self.repo, folder.id(), name)).transpose()?;
            return Ok(found.flatten().map(|(id, kind)| (id, Some(kind))));
        }
        match self.tree.get_path(Path::new(path)) {
            Ok(entry) => Ok(Some((entry.id(), entry.kind()))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn write_commit(
    repo: &Repository,
    tree: &Tree<'_>,
    parents: &[&Commit<'_>],
    text: &str,
    stamp: &Stamp,
) -> Result<Oid, git2::Error> {
    let (author, committer) = (signature(&stamp.by, stamp)?, signature(COMMITTER, stamp)?);
    repo.commit(None, &author, &committer, &printable(text), tree, parents)
}

/// Adds the settings file of libgit2, which must happen before libgit2's first read or write.
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

/// Removes control characters from a commit message, because people read it in a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Sleeps before a retry. The delay grows with the attempts and is random, so that processes do not collide again.
fn pause(attempt: u32) {
    let longest = u64::from(attempt).saturating_mul(2).min(LONGEST_PAUSE_MS);
    if longest > 0 {
        let random = RandomState::new().build_hasher().finish();
        std::thread::sleep(Duration::from_millis(1 + random % longest));
    }
}
