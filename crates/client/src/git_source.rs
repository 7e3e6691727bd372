//! [`Repository`]: what a git source holds, fetched by the system's `git` and read without a working
//! copy.
//!
//! Only commits and trees come over: nothing is checked out, so that neither links, hooks, filters nor
//! the repository's own configuration have any effect. The user's own configuration stays in force for
//! https and ssh, where credential helpers and keys are.

use std::{
    ffi::OsStr,
    io::{self, Read, Seek},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use cap_std::{ambient_authority, fs::Dir};
use git2::{ObjectType, Oid, TreeWalkMode, TreeWalkResult};
use library::folder::SKIPPED;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Bundle, BundleError, File, Limits, PathError, SkillPath};
use thiserror::Error;

use crate::{
    cache::{Cache, CacheError},
    found::{DEEPEST, Found},
    spec::GitSpec,
};

/// How long git may take for one fetch.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// Files and folders of a repository that are looked at, so that a tree that holds itself over and over, a
/// few bytes that stand for billions of folders, comes to an end.
const MOST_ENTRIES: usize = 200_000;

/// How often a running git is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// After how many of these looks the size of what it has fetched is added up.
const ROUNDS_BETWEEN_SIZES: u32 = 10;

/// What git reads from the environment and could be led astray by.
const UNSET: [&str; 15] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_ALLOW_PROTOCOL",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_TEMPLATE_DIR",
    "GIT_EXEC_PATH",
];

/// A fetched commit.
pub(crate) struct Repository {
    repo: git2::Repository,
    commit: Oid,
    _folder: tempfile::TempDir,
}

/// Why a git source cannot be read.
#[derive(Debug, Error)]
pub enum GitError {
    /// There is no `git`.
    #[error("the program git is not installed, or not on the path")]
    NoGit,
    /// git took too long.
    #[error("git took more than {seconds} seconds to fetch {url}")]
    TooSlow {
        /// The URL.
        url: String,
        /// The limit.
        seconds: u64,
    },
    /// git fetched too much.
    #[error("git fetched more than {limit} bytes of {url} for one commit")]
    TooMuch {
        /// The URL.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// git failed.
    #[error("git cannot fetch {reference} of {url}: {message}")]
    Fetch {
        /// The URL.
        url: String,
        /// The branch, tag or commit; `HEAD` for the default branch.
        reference: String,
        /// What git said last.
        message: String,
    },
    /// What was fetched cannot be read.
    #[error("cannot read what git fetched: {0}")]
    Read(#[from] git2::Error),
    /// A link.
    #[error("{0} is a link; skills hold regular files only")]
    Link(String),
    /// A submodule.
    #[error("{0} is a submodule; skills hold regular files only")]
    Submodule(String),
    /// A mode that git does not give to files: of a device, or with the setuid bit.
    #[error("{path} has the mode {mode:o}; skills hold regular files only")]
    Mode {
        /// The file.
        path: String,
        /// Its mode.
        mode: i32,
    },
    /// A name that no skill's file can have.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file name that is no UTF-8.
    #[error("a file name in {0:?} is not UTF-8")]
    NameEncoding(String),
    /// Too many or too large files.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The place for what is fetched.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The system refused.
    #[error("cannot run git: {0}")]
    Io(#[from] io::Error),
}

impl Fails for GitError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoGit => Failure::new(FailureKind::Failed, "no_git").hint("install git"),
            Self::TooSlow { .. } => Failure::new(FailureKind::Unreachable, "network"),
            Self::TooMuch { .. } => Failure::new(FailureKind::Invalid, "too_large")
                .hint("clone it yourself and install from the folder of the skill"),
            Self::Fetch { reference, .. } if reference == "HEAD" => {
                Failure::new(FailureKind::Unreachable, "git_failed")
                    .hint("check the URL, and that git can fetch it without asking for a password")
            }
            Self::Fetch { .. } => Failure::new(FailureKind::Unreachable, "git_failed")
                .hint("check the URL and the branch, tag or whole commit id after the @"),
            Self::Read(_) | Self::Io(_) => Failure::io(),
            Self::Link(_) | Self::Submodule(_) | Self::Mode { .. } | Self::Path(_) | Self::NameEncoding(_) => {
                Failure::new(FailureKind::Invalid, "invalid_path")
                    .hint("nothing was installed; its author has to mend it")
            }
            Self::Bundle(error) => error.failure(),
            Self::Cache(error) => error.failure(),
        }
    }
}

impl Repository {
    /// Fetches one commit: `commit` if given, else what the spec's reference stands at.
    pub fn fetch(spec: &GitSpec, commit: Option<&str>, cache: &Cache) -> Result<Self, GitError> {
        let folder = cache.temporary()?;
        let url = spec.url();
        let reference = commit.or(spec.reference.as_deref()).unwrap_or("HEAD");
        let path = folder.path();
        let init = ["init", "--quiet", "--bare", "--template=", "--"].map(OsStr::new);
        run(git(path).args(init).arg(path), path, &url, reference)?;
        let mut fetch = git(path);
        fetch.arg("-c").arg(format!("protocol.{}.allow=always", spec.transport()));
        fetch.arg("--git-dir").arg(path);
        fetch.args([
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-commit-graph",
        ]);
        fetch.args(["--no-auto-maintenance", "--", url.as_str(), reference]);
        run(&mut fetch, path, &url, reference)?;
        let repo = git2::Repository::open_bare(path)?;
        let commit = fetched_commit(&repo)?;
        Ok(Self { repo, commit, _folder: folder })
    }

    /// The commit's whole id.
    pub fn commit(&self) -> String {
        self.commit.to_string()
    }

    /// The skills in and below a folder, each with its place; none inside another.
    pub fn skills(&self, below: Option<&SkillPath>) -> Result<Vec<Found>, GitError> {
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
                found.push(Found::new(folder, self.repo.find_blob(id)?.content()));
            }
        }
        Ok(found)
    }

    /// The files of a folder; links and submodules are refused.
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
            // No git puts a `.git` into a tree; its files are refused by their names.
            if entry.kind() == Some(ObjectType::Tree) && name != ".git" && SKIPPED.contains(&name) {
                return TreeWalkResult::Skip;
            }
            match list(below, entry) {
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

    fn load(&self, listed: Vec<(SkillPath, Oid, bool)>, limits: &Limits) -> Result<Bundle, GitError> {
        let odb = self.repo.odb()?;
        let mut files = Vec::with_capacity(listed.len());
        let mut total = 0u64;
        for (path, id, executable) in listed {
            total = total.saturating_add(odb.read_header(id)?.0 as u64);
            if total > limits.skill_bytes {
                return Err(BundleError::TooManyBytes { bytes: total, limit: limits.skill_bytes }.into());
            }
            files.push((path, File { bytes: self.repo.find_blob(id)?.content().into(), executable }));
        }
        Ok(Bundle::from_files(files, limits)?)
    }

    /// The tree of a folder; `None` when there is no such folder.
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

/// Takes one from what is left; false when nothing was.
fn count_down(left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
}

/// What a walk came to, which fails by its own will when too much was met.
fn check_walk(walked: Result<(), git2::Error>, left: usize) -> Result<(), GitError> {
    match left {
        0 => Err(BundleError::TooManyFiles { files: MOST_ENTRIES, limit: MOST_ENTRIES }.into()),
        _ => Ok(walked?),
    }
}

/// A file of a tree; `None` for a folder and for what a system left behind.
fn list(below: &str, entry: &git2::TreeEntry<'_>) -> Result<Option<(SkillPath, Oid, bool)>, GitError> {
    let name = entry.name().map_err(|_| GitError::NameEncoding(below.to_owned()))?;
    let path = format!("{below}{name}");
    match entry.filemode_raw() {
        // The name of a folder is judged with those of its files.
        0o040_000 => Ok(None),
        0o120_000 => Err(GitError::Link(path)),
        0o160_000 => Err(GitError::Submodule(path)),
        // 664 is what git made in its first months.
        0o100_644 | 0o100_664 | 0o100_755 if is_left_behind(name) => Ok(None),
        mode @ (0o100_644 | 0o100_664 | 0o100_755) => {
            Ok(Some((SkillPath::parse(&path)?, entry.id(), mode & 0o100 != 0)))
        }
        mode => Err(GitError::Mode { path, mode }),
    }
}

/// What systems leave in folders.
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

/// What git fetched last, peeled to a commit.
fn fetched_commit(repo: &git2::Repository) -> Result<Oid, git2::Error> {
    Ok(repo.find_reference("FETCH_HEAD")?.peel_to_commit()?.id())
}

/// A git that asks nothing, runs no hook, and may use no transport until one is allowed.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in UNSET {
        command.env_remove(name);
    }
    command.current_dir(folder).env("GIT_TERMINAL_PROMPT", "0").env("GCM_INTERACTIVE", "never").env("LC_ALL", "C");
    let settings = [
        "protocol.allow=never",
        "core.hooksPath=/dev/null",
        "core.symlinks=true",
        "core.fsmonitor=false",
        "submodule.recurse=false",
        "fetch.recurseSubmodules=false",
        "gc.auto=0",
        "maintenance.auto=false",
    ];
    for setting in settings {
        command.args(["-c", setting]);
    }
    // A user's own `protocol.<name>.allow` would win over `protocol.allow`.
    for name in ["file", "ext", "git", "http", "https", "ssh"] {
        command.arg("-c").arg(format!("protocol.{name}.allow=never"));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn run(command: &mut Command, folder: &Path, url: &str, reference: &str) -> Result<(), GitError> {
    let mut errors = tempfile::tempfile()?;
    command.stderr(Stdio::from(errors.try_clone()?));
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => GitError::NoGit,
        _ => GitError::Io(error),
    })?;
    let limit = Limits::default().fetch_bytes;
    let status = match wait(child, folder, limit)? {
        Ended::ByItself(status) => status,
        Ended::TooSlow => {
            return Err(GitError::TooSlow { url: url.to_owned(), seconds: FETCH_LIMIT.as_secs() });
        }
        Ended::TooMuch => return Err(GitError::TooMuch { url: url.to_owned(), limit }),
    };
    if status.success() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    errors.rewind()?;
    errors.take(64 << 10).read_to_end(&mut bytes)?;
    let message = last_words(&String::from_utf8_lossy(&bytes));
    Err(GitError::Fetch { url: url.to_owned(), reference: reference.to_owned(), message })
}

/// How a git ended.
enum Ended {
    ByItself(ExitStatus),
    /// It was stopped.
    TooSlow,
    /// It was stopped, or has left more than it may.
    TooMuch,
}

/// Waits for a child, and stops it when it takes too long or writes too much into its folder.
fn wait(mut child: Child, folder: &Path, limit: u64) -> io::Result<Ended> {
    let deadline = Instant::now() + FETCH_LIMIT;
    for round in 0u32.. {
        let ended = child.try_wait()?;
        if (ended.is_some() || round.is_multiple_of(ROUNDS_BETWEEN_SIZES)) && bytes_in(folder) > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::TooMuch);
        }
        if let Some(status) = ended {
            return Ok(Ended::ByItself(status));
        }
        if Instant::now() >= deadline {
            break;
        }
        thread::sleep(PAUSE);
    }
    child.kill()?;
    child.wait()?;
    Ok(Ended::TooSlow)
}

/// The bytes of all files in a folder, as far as they can be seen.
fn bytes_in(folder: &Path) -> u64 {
    fn below(dir: &Dir) -> u64 {
        let entries = dir.entries().into_iter().flatten().flatten();
        entries
            .map(|entry| match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => entry.open_dir().map_or(0, |dir| below(&dir)),
                Ok(metadata) => metadata.len(),
                Err(_) => 0,
            })
            .sum()
    }
    Dir::open_ambient_dir(folder, ambient_authority()).map_or(0, |dir| below(&dir))
}

/// The lines that say what is wrong, without control characters.
fn last_words(text: &str) -> String {
    let said = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:") || line.starts_with("remote:");
    let mut lines: Vec<&str> = text.lines().filter(said).collect();
    if lines.is_empty() {
        lines = text.lines().collect();
    }
    lines.truncate(3);
    let text = lines.join("; ");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(script: &str) -> Child {
        Command::new("sh").arg("-c").arg(script).spawn().unwrap()
    }

    #[test]
    fn a_git_that_writes_too_much_is_stopped_and_one_that_has_written_too_much_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("pack");
        let write = |more: &str| format!("head -c 5000 /dev/zero > {}; {more}", file.display());
        let begun = Instant::now();
        assert!(matches!(wait(sleeper(&write("exec sleep 60")), temp.path(), 4000).unwrap(), Ended::TooMuch));
        assert!(begun.elapsed() < Duration::from_secs(120));
        assert!(matches!(wait(sleeper(&write("true")), temp.path(), 4000).unwrap(), Ended::TooMuch));
        assert!(matches!(wait(sleeper(&write("true")), temp.path(), 6000).unwrap(), Ended::ByItself(_)));
    }
}
