//! [`Mirror`]: the local partial clone of a git registry.
//!
//! A mirror is a bare repository below the home. It has the newest commit and the commits since the registry was first
//! seen. Of their trees, it has only the parts that were requested: the folders on the way to a skill, its entries, its
//! archives. The cost of a command therefore does not grow with the registry. A server that does not support partial
//! clones sends everything once, which also works. A mirror can be deleted at any time: the commit seen last is
//! recorded separately ([`super::seen`]).

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use git2::{ObjectType, Oid, Repository, RepositoryInitOptions};
use library::{Home, ensure_dir};
use registry_index::remove_dead_locks;
use skill::{Digest, Limits};

use super::RegistryError;
use crate::{
    git::{self, ProgramError},
    spec::GitSpec,
};

/// Branch of every registry.
pub(super) const BRANCH: &str = "refs/heads/main";
/// Reference for a fetched branch until it is known to have grown.
const INCOMING: &str = "refs/incoming/main";
/// Reference to the newest commit of which all entries were fetched.
const WHOLE: &str = "refs/whole/lines";
/// Name of the git remote for the registry.
const REMOTE: &str = "registry";
/// Maximum number of packs. Every fetch adds one, and beyond this number they are repacked.
const MOST_PACKS: usize = 150;
/// Negotiation algorithm for fetching objects by id: none, because these objects are missing locally.
const NAMED: &str = "noop";
/// Depth from which subfolders are fetched recursively, because they are few.
const DEEP: usize = 1;
/// Number of new folders from which everything in them is fetched at once.
const MANY: usize = 40;

/// An entry of a tree that differs from an older tree of the same folder.
struct Changed {
    name: String,
    new: Oid,
    /// Object with the same name in the older tree.
    old: Option<Oid>,
    is_tree: bool,
}

/// The mirror of one registry.
#[derive(Debug, Clone)]
pub(super) struct Mirror {
    spec: GitSpec,
    path: PathBuf,
}

/// Lock on a mirror's branch, against other processes with the same home. Held while the branch is read and moved.
#[derive(Debug)]
pub(super) struct Locked {
    _file: std::fs::File,
}

/// Filter for the objects that git transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    /// Omits trees and files, except requested ones.
    Trees,
    /// Omits files, except requested ones.
    Files,
    /// Transfers every object.
    None,
}

impl Filter {
    fn flag(self) -> &'static str {
        match self {
            Self::Trees => "--filter=tree:0",
            Self::Files => "--filter=blob:none",
            Self::None => "--no-filter",
        }
    }
}

impl Mirror {
    /// Returns the mirror of a registry; nothing is created.
    pub fn of(spec: &GitSpec, home: &Home) -> Self {
        let digest = Digest::of_bytes(spec.url().as_bytes()).hex();
        let name = format!("{}.git", digest.get(..16).unwrap_or(&digest));
        Self { spec: spec.clone(), path: home.mirrors().join(name) }
    }

    /// Returns its folder, which may not exist.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Acquires the lock, and waits for other processes that hold it.
    pub fn lock(&self, home: &Home) -> Result<Locked, RegistryError> {
        lock_to_change(&self.path, home)
    }

    /// Repacks all objects into a single pack.
    pub fn pack(&self, _locked: &Locked) -> Result<(), RegistryError> {
        self.repack().map_err(|error| self.unreached(error))
    }

    fn repack(&self) -> Result<(), ProgramError> {
        let mut repack = self.git("default");
        repack.args(["repack", "-a", "-d", "--keep-unreachable", "--quiet"]);
        self.run(repack, String::new())
    }

    /// Fetches the branch and returns its commit. `seen` is the commit seen last; it is fetched too if it is missing,
    /// for the later check that the branch has grown from it.
    pub fn refresh(&self, _locked: &Locked, seen: Option<&str>) -> Result<Oid, RegistryError> {
        let repo = self.ensure()?;
        let has_base = self.has_base(&repo, seen)?;
        self.pack_if_many()?;
        let refspec = format!("+{BRANCH}:{INCOMING}");
        let fetch = |filter: Filter| {
            let mut fetch = self.fetch(filter, "default");
            if !has_base {
                fetch.arg("--depth=1");
            }
            fetch.args([REMOTE, &refspec]);
            self.run(fetch, String::new())
        };
        match fetch(Filter::Trees) {
            Err(ProgramError::Failed { message }) if message.contains("filter") => fetch(Filter::None),
            done => done,
        }
        .map_err(|error| self.unreached(error))?;
        let incoming = repo.find_reference(INCOMING).and_then(|reference| reference.peel_to_commit());
        incoming.map(|commit| commit.id()).map_err(self.broken())
    }

    /// Returns whether `commit` equals `from` or descends from it; false if `from` is not in the mirror. This walks the
    /// commits itself, because libgit2 stops at the first commit whose parents were not fetched.
    pub fn descends(&self, commit: Oid, from: &str) -> Result<bool, RegistryError> {
        let repo = self.open()?;
        let Ok(from) = Oid::from_str(from) else { return Ok(false) };
        let (mut next, mut met) = (VecDeque::from([commit]), HashSet::from([commit]));
        while let Some(commit) = next.pop_front() {
            if commit == from {
                return Ok(true);
            }
            let parents = repo.find_commit(commit).map(|commit| commit.parent_ids().collect::<Vec<_>>());
            next.extend(parents.unwrap_or_default().into_iter().filter(|parent| met.insert(*parent)));
        }
        Ok(false)
    }

    /// Moves the mirror's branch to a commit.
    pub fn accept(&self, _locked: &Locked, commit: Oid) -> Result<(), RegistryError> {
        let repo = self.open()?;
        repo.reference(BRANCH, commit, true, "seen").map(|_| ()).map_err(self.broken())
    }

    /// Pushes a commit made here on top of the registry's branch. Fails if the branch has moved meanwhile, or if the
    /// registry rejects the change.
    pub fn push(&self, _locked: &Locked, commit: &str) -> Result<(), ProgramError> {
        let mut push = self.git("default");
        push.args(["push", "--porcelain", "--no-verify", "--no-signed", "--no-recurse-submodules", REMOTE]);
        push.arg(format!("{commit}:{BRANCH}"));
        self.run(push, String::new())
    }

    /// Fetches the folders and files at these paths in the tree of a commit. Paths that do not exist are ignored.
    pub fn fetch_missing(&self, commit: Oid, paths: &[String]) -> Result<(), RegistryError> {
        let repo = self.open()?;
        let root = self.root(&repo, commit)?;
        let mut at: Vec<(Oid, &str)> = paths.iter().map(|path| (root, path.as_str())).collect();
        for depth in 0.. {
            let (mut next, mut wanted) = (Vec::new(), BTreeSet::new());
            for (tree, path) in at {
                let (name, below) = path.split_once('/').map_or((path, None), |(name, below)| (name, Some(below)));
                let tree = repo.find_tree(tree).map_err(self.broken())?;
                let Some(entry) = tree.get_name(name) else { continue };
                wanted.insert(entry.id());
                if let Some(below) = below.filter(|_| entry.kind() == Some(ObjectType::Tree)) {
                    next.push((entry.id(), below));
                }
            }
            let filter = if depth >= DEEP { Filter::Files } else { Filter::Trees };
            self.fetch_objects(&repo, wanted, filter)?;
            if next.is_empty() {
                return Ok(());
            }
            at = next;
        }
        Ok(())
    }

    /// Fetches everything below the top-level folders for which `wanted` is true. Only changes since the last call are
    /// compared.
    pub fn fetch_all(&self, commit: Oid, wanted: impl Fn(&str) -> bool) -> Result<(), RegistryError> {
        let repo = self.open()?;
        let whole = repo.find_reference(WHOLE).and_then(|reference| reference.peel_to_commit()).ok();
        if whole.as_ref().is_some_and(|whole| whole.id() == commit) {
            return Ok(());
        }
        let root = self.root(&repo, commit)?;
        let mut level = changed(&repo, root, whole.map(|whole| whole.tree_id())).map_err(self.broken())?;
        level.retain(|entry| wanted(&entry.name));
        while !level.is_empty() {
            let ids: BTreeSet<Oid> = level.iter().map(|entry| entry.new).collect();
            let is_much = level.iter().filter(|entry| entry.old.is_none()).count() > MANY;
            self.fetch_objects(&repo, ids, if is_much { Filter::None } else { Filter::Trees })?;
            let mut below = Vec::new();
            for entry in level.iter().filter(|entry| entry.is_tree) {
                below.extend(changed(&repo, entry.new, entry.old).map_err(self.broken())?);
            }
            level = below;
        }
        repo.reference(WHOLE, commit, true, "all lines are here").map(|_| ()).map_err(self.broken())
    }

    /// Makes the commit seen last available, so that a later check can tell whether the branch has grown from it.
    /// Returns whether the mirror has a commit to start from. A deleted mirror starts from the commit seen last.
    fn has_base(&self, repo: &Repository, seen: Option<&str>) -> Result<bool, RegistryError> {
        let seen = seen.and_then(|seen| Oid::from_str(seen).ok());
        let Some(seen) = seen.filter(|seen| repo.find_commit(*seen).is_err()) else {
            return Ok(repo.find_reference(BRANCH).is_ok());
        };
        let mut fetch = self.fetch(Filter::Trees, NAMED);
        fetch.args(["--depth=1", REMOTE, &seen.to_string()]);
        // A server may not have the commit, or may refuse to send it. The later check then reports that the branch has
        // not grown.
        let _fetched = self.run(fetch, String::new());
        if repo.find_commit(seen).is_err() {
            return Ok(repo.find_reference(BRANCH).is_ok());
        }
        repo.reference(BRANCH, seen, true, "seen before").map_err(self.broken())?;
        Ok(true)
    }

    fn root(&self, repo: &Repository, commit: Oid) -> Result<Oid, RegistryError> {
        let root = repo.find_commit(commit).map_err(self.broken())?.tree_id();
        self.fetch_objects(repo, BTreeSet::from([root]), Filter::Trees)?;
        Ok(root)
    }

    fn fetch_objects(&self, repo: &Repository, ids: BTreeSet<Oid>, filter: Filter) -> Result<(), RegistryError> {
        let missing = self.missing(repo, ids)?;
        if missing.is_empty() {
            return Ok(());
        }
        let mut fetch = self.fetch(filter, NAMED);
        fetch.args([REMOTE, "--stdin"]);
        let list = missing.iter().map(|id| format!("{id}\n")).collect();
        self.run(fetch, list).map_err(|error| self.unreached(error))
    }

    fn missing(&self, repo: &Repository, ids: BTreeSet<Oid>) -> Result<BTreeSet<Oid>, RegistryError> {
        let odb = repo.odb().map_err(self.broken())?;
        Ok(ids.into_iter().filter(|id| !odb.exists(*id)).collect())
    }

    /// Repacks the objects if there are many packs. Unreachable objects are kept.
    fn pack_if_many(&self) -> Result<(), RegistryError> {
        let io = |source| RegistryError::Io { path: self.path.clone(), source };
        let dir = ensure_dir(&self.path.join("objects/pack"))?;
        if dir.entries().map_err(io)?.count() / 3 < MOST_PACKS {
            return Ok(());
        }
        let _next_time = self.repack();
        Ok(())
    }

    fn ensure(&self) -> Result<Repository, RegistryError> {
        ensure_dir(&self.path)?;
        let mut options = RepositoryInitOptions::new();
        options.bare(true).external_template(false).initial_head("main");
        match Repository::open_bare(&self.path) {
            Ok(repo) => Ok(repo),
            Err(_) => Repository::init_opts(&self.path, &options).map_err(self.broken()),
        }
    }

    fn open(&self) -> Result<Repository, RegistryError> {
        Repository::open_bare(&self.path).map_err(self.broken())
    }

    fn fetch(&self, filter: Filter, negotiation: &str) -> Command {
        let mut fetch = self.git(negotiation);
        fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", filter.flag()]).args(git::QUIET_FETCH);
        fetch
    }

    /// Creates a git command for the mirror, with the registry as a promisor remote.
    fn git(&self, negotiation: &str) -> Command {
        let mut command = git::program(&self.path);
        git::allow(&mut command, self.spec.transport());
        let url = format!("remote.{REMOTE}.url={}", self.spec.url());
        let negotiation = format!("fetch.negotiationAlgorithm={negotiation}");
        let settings = [
            url.as_str(),
            "protocol.version=2",
            "remote.registry.promisor=true",
            "remote.registry.partialclonefilter=tree:0",
            "push.followTags=false",
            "push.negotiate=false",
            negotiation.as_str(),
        ];
        git::set(&mut command, settings);
        command.env("GIT_NO_LAZY_FETCH", "1").arg("--git-dir").arg(&self.path);
        command
    }

    fn run(&self, command: Command, input: String) -> Result<(), ProgramError> {
        let limit = git::bytes_in(&self.path).saturating_add(Limits::default().fetch_bytes);
        git::run(command, input.into_bytes(), &self.path, &self.spec.url(), limit).map(|_| ())
    }

    fn unreached(&self, source: ProgramError) -> RegistryError {
        let url = self.spec.url();
        match &source {
            ProgramError::Failed { message } if message.contains("couldn't find remote ref") => {
                RegistryError::NotARegistry { url, reason: "it has no branch main".to_owned() }
            }
            _ => RegistryError::Unreached { url, source },
        }
    }

    fn broken(&self) -> impl Fn(git2::Error) -> RegistryError + use<> {
        let path = self.path.clone();
        move |source| RegistryError::Mirror { path: path.clone(), source }
    }
}

/// Acquires the lock of the mirror at a path, and waits for other processes. The modification time of the lock file is
/// the time of the mirror's last use.
pub(super) fn lock_at(path: &Path, home: &Home) -> Result<Locked, RegistryError> {
    home.ensure()?;
    let dir = ensure_dir(&home.mirrors())?;
    let name = path.with_extension("lock");
    let io = |source| RegistryError::Io { path: name.clone(), source };
    let mut options = cap_std::fs::OpenOptions::new();
    options.create(true).write(true);
    let mut file = dir.open_with(name.file_name().unwrap_or_default(), &options).map_err(io)?.into_std();
    file.lock().map_err(io)?;
    file.write_all(b".").map_err(io)?;
    Ok(Locked { _file: file })
}

/// Acquires the lock as [`lock_at`] does, and removes what a killed process left in git, which would prevent changes.
pub(super) fn lock_to_change(path: &Path, home: &Home) -> Result<Locked, RegistryError> {
    let locked = lock_at(path, home)?;
    remove_dead_locks(path).map_err(|source| RegistryError::Io { path: path.to_owned(), source })?;
    Ok(locked)
}

/// Returns the entries of a tree that an older version of the folder does not have.
fn changed(repo: &Repository, new: Oid, old: Option<Oid>) -> Result<Vec<Changed>, git2::Error> {
    let new = repo.find_tree(new)?;
    let old = old.and_then(|old| repo.find_tree(old).ok());
    let mut entries = Vec::new();
    for entry in new.iter() {
        let Ok(name) = entry.name() else { continue };
        let before = old.as_ref().and_then(|old| old.get_name(name)).map(|entry| entry.id());
        if before != Some(entry.id()) {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            entries.push(Changed { name: name.to_owned(), new: entry.id(), old: before, is_tree });
        }
    }
    Ok(entries)
}
