//! [`Repository`]: a git source, fetched by the system's `git` and read without a working copy.
//!
//! Only commits and trees are fetched and nothing is checked out. Links, hooks, filters and the repository's own
//! configuration therefore have no effect. The user's own configuration stays in effect for https and ssh, because it
//! has the credential helpers and keys.

use std::{collections::BTreeSet, path::Path, process::Command};

use git2::{ObjectType, Oid, TreeWalkMode, TreeWalkResult};
use library::folder::SKIPPED;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Bundle, BundleError, File, Limits, PathError, SkillPath};
use thiserror::Error;

use crate::{
    cache::{Cache, CacheError},
    discovery::{DEEPEST, DiscoveredSkill},
    git::{self, ProgramError},
    spec::{GitSpec, check_reference, transport_of},
};

/// Maximum number of files and folders visited in a repository. It bounds a tree that contains itself repeatedly, in
/// which a few bytes stand for billions of folders.
const MOST_ENTRIES: usize = 200_000;

/// Maximum number of path components that the name of a reference in a browser's link may have.
const MOST_REFERENCE_PARTS: usize = 16;

/// A fetched commit, in a temporary bare repository.
pub(crate) struct Repository {
    repo: git2::Repository,
    commit: Oid,
    /// Reference and path of a browser's link.
    separated: Option<(String, Option<SkillPath>)>,
    _folder: tempfile::TempDir,
}

/// Reasons why a git source cannot be read.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum GitError {
    /// git is missing or was stopped.
    Program(ProgramError),
    /// git exited with an error.
    #[error("git cannot fetch {reference} from {url}: {message}")]
    Fetch {
        /// URL of the repository.
        url: String,
        /// Branch, tag or commit; `HEAD` for the default branch.
        reference: String,
        /// Last error messages of git.
        message: String,
    },
    /// No reference of the repository begins a browser's link.
    #[error("{url} has no branch or tag that {tail:?} begins with")]
    NoReference {
        /// URL of the repository.
        url: String,
        /// Reference and path in the link.
        tail: String,
    },
    /// The repository has no commits.
    #[error("the repository {url} is empty")]
    Empty {
        /// URL of the repository.
        url: String,
    },
    /// The fetched objects cannot be read.
    #[error("cannot read the objects that git fetched: {0}")]
    Read(#[from] git2::Error),
    /// The folder contains a symbolic link.
    #[error("{0} is a link, but a skill may have only regular files")]
    Link(String),
    /// The folder contains a submodule.
    #[error("{0} is a submodule, but a skill may have only regular files")]
    Submodule(String),
    /// A file has a mode that git does not write: that of a device, or one with the setuid bit.
    #[error("{path} has the mode {mode:o}, but a skill may have only regular files")]
    Mode {
        /// Path of the file.
        path: String,
        /// Mode of the tree entry, printed in octal.
        mode: i32,
    },
    /// A file has a path that is not allowed in a skill.
    Path(#[from] PathError),
    /// A file name is not valid UTF-8.
    #[error("the folder {0:?} has a file name that is not UTF-8")]
    NameEncoding(String),
    /// The files exceed the limits in number or size.
    Bundle(#[from] BundleError),
    /// The temporary folder for the fetch cannot be created.
    Cache(#[from] CacheError),
}

impl Fails for GitError {
    fn failure(&self) -> Failure {
        match self {
            Self::Program(error) => error.failure(),
            Self::Fetch { message, .. } if message.contains("certificate") => crate::http::untrusted(),
            Self::Fetch { url, message, .. } if is_missing_reference(message) => {
                Failure::new(FailureKind::NotFound, "not_found")
                    .hint(format!("name a branch, a tag or a full commit id; git ls-remote {url} lists them"))
            }
            Self::Fetch { .. } => Failure::new(FailureKind::Unreachable, "git_failed")
                .hint("check the URL, and make sure that git can fetch it without a password prompt"),
            Self::NoReference { .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint("copy the link again from the page of the folder, on a branch or tag that still exists"),
            Self::Empty { .. } => {
                Failure::new(FailureKind::NotFound, "not_found").hint("push a skill to it first, or check the URL")
            }
            Self::Read(_) => Failure::io(),
            Self::Link(_) | Self::Submodule(_) | Self::Mode { .. } | Self::Path(_) | Self::NameEncoding(_) => {
                Failure::new(FailureKind::Invalid, "invalid_path")
                    .hint("ask the author of the skill to fix it; nothing was installed")
            }
            Self::Bundle(error) => error.failure(),
            Self::Cache(error) => error.failure(),
        }
    }
}

impl Repository {
    /// Fetches one commit: `commit` if given, otherwise the tip of the spec's reference. A redirect within the host is
    /// followed, as of a repository that was renamed.
    pub fn fetch(spec: &GitSpec, commit: Option<&str>, cache: &Cache) -> Result<Self, GitError> {
        match Self::fetch_from(spec.url(), spec, commit, cache) {
            Err(GitError::Program(ProgramError::Redirect { url, to })) if is_same_origin(&url, &to) => {
                Self::fetch_from(to, spec, commit, cache)
            }
            fetched => fetched,
        }
    }

    fn fetch_from(url: String, spec: &GitSpec, commit: Option<&str>, cache: &Cache) -> Result<Self, GitError> {
        let folder = cache.temporary()?;
        let remote = RemoteRepository::create(url, folder.path())?;
        let separated = match (&spec.link, commit) {
            (Some(link), None) => Some(remote.separate(&link.tail)?),
            _ => None,
        };
        let reference = separated.as_ref().map(|(reference, _)| reference.as_str()).or(spec.reference.as_deref());
        let reference = commit.or(reference).unwrap_or("HEAD");
        remote.fetch(reference)?;
        let repo = git2::Repository::open_bare(folder.path())?;
        let commit = fetched_commit(&repo)?;
        Ok(Self { repo, commit, separated, _folder: folder })
    }

    /// Returns the spec with the reference and path of a browser's link.
    pub fn spec(&self, git: &GitSpec) -> GitSpec {
        match &self.separated {
            Some((reference, path)) => {
                GitSpec { reference: Some(reference.clone()), path: path.clone(), link: None, ..git.clone() }
            }
            None => git.clone(),
        }
    }

    /// Returns the content of a regular file of at most `limit` bytes. `None` if it does not exist.
    pub fn file(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, GitError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(tree) = self.tree(folder)? else { return Ok(None) };
        let Some(entry) = tree.get_name(name).filter(|entry| matches!(entry.filemode(), 0o100_644 | 0o100_755)) else {
            return Ok(None);
        };
        match self.repo.odb()?.read_header(entry.id())? {
            (size, _) if size as u64 > limit => Ok(None),
            _ => Ok(Some(self.repo.find_blob(entry.id())?.content().to_vec())),
        }
    }

    /// Returns the full id of the commit.
    pub fn commit(&self) -> String {
        self.commit.to_string()
    }

    /// Finds the skills in and below a folder, with their paths. Nested skills are included.
    pub fn skills(&self, below: Option<&SkillPath>) -> Result<Vec<DiscoveredSkill>, GitError> {
        let Some(tree) = self.tree(below.map_or("", SkillPath::as_str))? else { return Ok(Vec::new()) };
        let base = below.map(ToString::to_string).unwrap_or_default();
        let mut folders = Vec::new();
        let mut left = MOST_ENTRIES;
        let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
            if !count_down(&mut left) {
                return TreeWalkResult::Abort;
            }
            let name = entry.name().unwrap_or_default();
            if entry.kind() == Some(ObjectType::Tree) {
                let too_deep = folder.matches('/').count() >= DEEPEST;
                return if too_deep || SKIPPED.contains(&name) { TreeWalkResult::Skip } else { TreeWalkResult::Ok };
            }
            if name == SkillPath::SKILL_MD {
                folders.push((join(&base, folder.trim_end_matches('/')), entry.id()));
            }
            TreeWalkResult::Ok
        });
        check_walk(walked, left)?;
        let limit = Limits::default().skill_bytes;
        let mut found = Vec::new();
        for (folder, id) in folders {
            if self.repo.odb()?.read_header(id).is_ok_and(|(size, _)| size as u64 <= limit) {
                found.push(DiscoveredSkill::new(folder, self.repo.find_blob(id)?.content()));
            }
        }
        Ok(found)
    }

    /// Reads the files of a folder. Links and submodules are errors.
    pub fn read(&self, folder: &str, limits: &Limits) -> Result<Bundle, GitError> {
        let Some(tree) = self.tree(folder)? else { return Ok(Bundle::default()) };
        let mut listed = Vec::new();
        let mut fault = None;
        let mut left = MOST_ENTRIES;
        let walked = tree.walk(TreeWalkMode::PreOrder, |below, entry| {
            if !count_down(&mut left) {
                return TreeWalkResult::Abort;
            }
            let name = entry.name().unwrap_or_default();
            // git itself never writes a `.git` into a tree. The files of such a folder are refused because of their
            // names.
            if entry.kind() == Some(ObjectType::Tree) && name != ".git" && SKIPPED.contains(&name) {
                return TreeWalkResult::Skip;
            }
            match list(folder, below, entry) {
                Ok(None) => TreeWalkResult::Ok,
                Ok(Some(_)) if listed.len() >= limits.files_per_skill => {
                    let files = listed.len() + 1;
                    fault = Some(BundleError::TooManyFiles { files, limit: limits.files_per_skill }.into());
                    TreeWalkResult::Abort
                }
                Ok(Some(file)) => {
                    listed.push(file);
                    TreeWalkResult::Ok
                }
                Err(error) => {
                    fault = Some(error);
                    TreeWalkResult::Abort
                }
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        check_walk(walked, left)?;
        self.load(listed, limits)
    }

    fn load(&self, listed: Vec<TreeFile>, limits: &Limits) -> Result<Bundle, GitError> {
        let odb = self.repo.odb()?;
        let mut files = Vec::with_capacity(listed.len());
        let mut total = 0u64;
        for TreeFile { path, id, executable } in listed {
            total = total.saturating_add(odb.read_header(id)?.0 as u64);
            if total > limits.skill_bytes {
                return Err(BundleError::TooManyBytes { bytes: total, limit: limits.skill_bytes }.into());
            }
            files.push((path, File { bytes: self.repo.find_blob(id)?.content().into(), executable }));
        }
        Ok(Bundle::from_files(files, limits)?)
    }

    /// Returns the tree of a folder; `None` if the folder does not exist.
    fn tree(&self, folder: &str) -> Result<Option<git2::Tree<'_>>, GitError> {
        let root = self.repo.find_commit(self.commit)?.tree()?;
        if folder.is_empty() {
            return Ok(Some(root));
        }
        match root.get_path(Path::new(folder)) {
            Ok(entry) if entry.kind() == Some(ObjectType::Tree) => Ok(Some(self.repo.find_tree(entry.id())?)),
            Ok(_) => Ok(None),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// File in a tree of the repository.
struct TreeFile {
    path: SkillPath,
    id: Oid,
    executable: bool,
}

/// A repository that git reaches, and the local bare repository into which it fetches.
struct RemoteRepository<'a> {
    folder: &'a Path,
    url: String,
    transport: &'static str,
}

impl<'a> RemoteRepository<'a> {
    /// Creates the local repository.
    fn create(url: String, folder: &'a Path) -> Result<Self, GitError> {
        let mut remote = Self { folder, transport: transport_of(&url), url };
        let mut create = git::program(folder);
        create.args(["init", "--quiet", "--bare", "--template=", "--"]).arg(folder);
        remote.run(create, "HEAD")?;
        // The user's `url.<base>.insteadOf` may replace the transport. This command only prints the URL.
        let mut rewritten = git::program(folder);
        rewritten.args(["ls-remote", "--get-url", "--", &remote.url]);
        remote.transport = transport_of(remote.run(rewritten, "HEAD")?.trim());
        Ok(remote)
    }

    fn fetch(&self, reference: &str) -> Result<(), GitError> {
        let mut fetch = self.program();
        fetch.args(["fetch", "--quiet", "--depth=1", "--no-tags"]).args(git::QUIET_FETCH);
        fetch.args(["--", &self.url, reference]);
        match self.run(fetch, reference) {
            Err(GitError::Fetch { url, message, .. }) if is_missing_reference(&message) && self.is_empty() => {
                Err(GitError::Empty { url })
            }
            done => done.map(drop),
        }
    }

    /// Returns whether the repository has no references.
    fn is_empty(&self) -> bool {
        let mut list = self.program();
        list.args(["ls-remote", "--quiet", "--", &self.url]);
        self.run(list, "refs").is_ok_and(|listed| listed.trim().is_empty())
    }

    /// Separates the reference of a browser's link from the path: the longest one that the repository has.
    fn separate(&self, tail: &str) -> Result<(String, Option<SkillPath>), GitError> {
        let splits = tail.match_indices('/').filter_map(|(at, _)| Some((tail.get(..at)?, tail.get(at + 1..)?)));
        let splits = splits.chain([(tail, "")]).filter(|(reference, _)| check_reference(reference).is_ok());
        let splits: Vec<_> = splits.take(MOST_REFERENCE_PARTS).collect();
        let names = |reference: &str| ["heads", "tags"].map(|kind| format!("refs/{kind}/{reference}"));
        let mut list = self.program();
        list.args(["ls-remote", "--refs", "--", &self.url]).args(splits.iter().flat_map(|(name, _)| names(name)));
        let listed = self.run(list, "refs")?;
        let listed: BTreeSet<&str> = listed.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
        let exists = |reference: &str| names(reference).iter().any(|name| listed.contains(name.as_str()));
        match splits.iter().rev().find(|(reference, _)| exists(reference)) {
            Some((reference, "")) => Ok(((*reference).to_owned(), None)),
            Some((reference, path)) => Ok(((*reference).to_owned(), Some(SkillPath::parse(path)?))),
            None => Err(GitError::NoReference { url: self.url.clone(), tail: tail.to_owned() }),
        }
    }

    fn program(&self) -> Command {
        let mut command = git::program(self.folder);
        git::allow(&mut command, self.transport);
        command.arg("--git-dir").arg(self.folder);
        command
    }

    fn run(&self, command: Command, reference: &str) -> Result<String, GitError> {
        let limit = Limits::default().fetch_bytes;
        git::run(command, Vec::new(), self.folder, &self.url, limit).map_err(|error| match error {
            ProgramError::Failed { message } => {
                GitError::Fetch { url: self.url.clone(), reference: reference.to_owned(), message }
            }
            other => GitError::Program(other),
        })
    }
}

/// Returns whether git failed because the repository does not have the reference.
fn is_missing_reference(message: &str) -> bool {
    message.contains("couldn't find remote ref") || message.contains("not our ref")
}

/// Returns whether two URLs have the same scheme and host.
fn is_same_origin(a: &str, b: &str) -> bool {
    let origin = |url: &str| url.split('/').take(3).map(str::to_owned).collect::<Vec<_>>();
    origin(a) == origin(b)
}

/// Decrements the remaining budget. Returns false when it is used up.
fn count_down(left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
}

/// Converts the result of a tree walk, which the callback aborts when the budget is used up.
fn check_walk(walked: Result<(), git2::Error>, left: usize) -> Result<(), GitError> {
    match left {
        0 => Err(BundleError::TooManyFiles { files: MOST_ENTRIES, limit: MOST_ENTRIES }.into()),
        _ => Ok(walked?),
    }
}

/// Checks an entry of the tree of a folder and returns its path in the folder, blob and executable bit; `None` for
/// folders and for files left by operating systems.
fn list(folder: &str, below: &str, entry: &git2::TreeEntry<'_>) -> Result<Option<TreeFile>, GitError> {
    let name = entry.name().map_err(|_| GitError::NameEncoding(join(folder, below)))?;
    let path = format!("{below}{name}");
    let in_repository = || join(folder, &path);
    match entry.filemode_raw() {
        // The name of a folder is checked as part of its files' paths.
        0o040_000 => Ok(None),
        0o120_000 => Err(GitError::Link(in_repository())),
        0o160_000 => Err(GitError::Submodule(in_repository())),
        // Early versions of git wrote the mode 664.
        0o100_644 | 0o100_664 | 0o100_755 if is_left_behind(name) => Ok(None),
        mode @ (0o100_644 | 0o100_664 | 0o100_755) => {
            Ok(Some(TreeFile { path: SkillPath::parse(&path)?, id: entry.id(), executable: mode & 0o100 != 0 }))
        }
        mode => Err(GitError::Mode { path: in_repository(), mode }),
    }
}

/// Returns whether this is a file that operating systems leave in folders.
fn is_left_behind(name: &str) -> bool {
    matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini")
}

fn join(base: &str, folder: &str) -> String {
    match (base, folder) {
        ("", folder) => folder.to_owned(),
        (base, "") => base.to_owned(),
        (base, folder) => format!("{base}/{folder}"),
    }
}

/// Returns the commit in `FETCH_HEAD`, with tags peeled.
fn fetched_commit(repo: &git2::Repository) -> Result<Oid, git2::Error> {
    Ok(repo.find_reference("FETCH_HEAD")?.peel_to_commit()?.id())
}
