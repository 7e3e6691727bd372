//! [`Remote`]: the repository through which machines exchange a library, reached by the `git` program.
//!
//! It has a branch `skills/NAME` for each skill, whose commits are the revisions themselves, and a branch `machines/ID`
//! for each machine. Fetched branches are below `refs/sync/` of the library's history.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use git2::{Oid, Repository};
use skill::{Limits, SkillName};

use super::{SyncError, settings::is_machine};
use crate::{
    git::{self, ProgramError, is_lost_race, pause},
    registry::{Location, RegistryError},
    spec::transport_of,
};

const SKILLS: &str = "refs/sync/skills/";
const MACHINES: &str = "refs/sync/machines/";
/// Limit of the number of machines.
const MOST_MACHINES: usize = 64;
/// Maximum number of fetches while another process of this machine fetches too.
const FETCHES: u32 = 5;
/// Number of branches in one push, so that the command line stays short.
const BRANCHES_PER_PUSH: usize = 500;

/// The repository through which machines exchange a library.
pub(super) struct Remote {
    /// URL or absolute path, as passed to git.
    pub url: String,
    transport: &'static str,
    history: PathBuf,
}

/// Result of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    /// All branches are at the pushed commits.
    Landed,
    /// Another machine pushed first.
    Lost,
}

/// A branch of the remote and the commit to push to it.
#[derive(Debug)]
pub(super) struct BranchUpdate {
    pub branch: String,
    pub commit: Oid,
}

impl Remote {
    /// Opens a remote for a history. A folder is relative to `base`.
    pub fn open(text: &str, base: &Path, history: PathBuf) -> Result<Self, SyncError> {
        let location = Location::read(text, base).map_err(|error| match error {
            RegistryError::Location(error) => SyncError::Address(error),
            other => SyncError::Location(other),
        });
        let url = match location? {
            Location::Folder(path) => path.display().to_string(),
            Location::Git(spec) => spec.url(),
        };
        let mut remote = Self { transport: transport_of(&url), url, history };
        // The user's `url.<base>.insteadOf` may replace the transport. This command only prints the URL.
        let mut rewritten = git::program(&remote.history);
        rewritten.args(["ls-remote", "--get-url", "--", &remote.url]);
        remote.transport = transport_of(remote.run(rewritten)?.trim());
        Ok(remote)
    }

    /// Checks that the repository is empty or already exchanges libraries: then it has the branch of a machine.
    pub fn check_purpose(&self) -> Result<(), SyncError> {
        let mut list = self.program(&[]);
        list.args(["ls-remote", "--", &self.url]);
        let listed = self.run(list)?;
        let is_of_machine =
            |line: &str| line.split_once("\trefs/heads/machines/").is_some_and(|(_, name)| is_machine(name));
        match listed.is_empty() || listed.lines().any(is_of_machine) {
            true => Ok(()),
            false => Err(SyncError::OtherPurpose { remote: self.url.clone() }),
        }
    }

    /// Fetches all branches. A git that a killed sync left running may move them meanwhile; then they are fetched again.
    pub fn fetch(&self) -> Result<(), SyncError> {
        for attempt in 1..FETCHES {
            match self.fetch_once() {
                Err(SyncError::Unreached { source: ProgramError::Failed { message }, .. })
                    if is_lost_race(&message) => {}
                fetched => return fetched,
            }
            pause(attempt);
        }
        self.fetch_once()
    }

    /// Fetches all branches. New objects arrive as one synced pack whose objects git has checked.
    fn fetch_once(&self) -> Result<(), SyncError> {
        let mut fetch = self.program(&["fetch.unpackLimit=1", "transfer.fsckObjects=true", "fetch.prune=true"]);
        fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]).args(git::QUIET_FETCH);
        fetch.args(["--", &self.url]);
        fetch.args([format!("+refs/heads/skills/*:{SKILLS}*"), format!("+refs/heads/machines/*:{MACHINES}*")]);
        self.run(fetch).map(drop)
    }

    /// Pushes commits without force: a branch that another machine moved stays as it is.
    pub fn push(&self, updates: &[BranchUpdate]) -> Result<Pushed, SyncError> {
        let mut pushed = Pushed::Landed;
        for updates in updates.chunks(BRANCHES_PER_PUSH) {
            let mut push = self.program(&["push.followTags=false", "push.negotiate=false"]);
            push.args(["push", "--porcelain", "--no-verify", "--no-signed", "--no-recurse-submodules", "--"]);
            push.arg(&self.url);
            push.args(updates.iter().map(|update| format!("{}:refs/heads/{}", update.commit, update.branch)));
            match self.run(push) {
                Ok(_) => {}
                Err(SyncError::Unreached { source: ProgramError::Failed { message }, .. })
                    if is_lost_race(&message) =>
                {
                    pushed = Pushed::Lost;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(pushed)
    }

    /// Returns the fetched heads of skills. A branch with an invalid name is ignored.
    pub fn skills(&self, repo: &Repository) -> Result<BTreeMap<SkillName, Oid>, SyncError> {
        let heads = branches(repo, SKILLS, |name| SkillName::parse(name).ok())?;
        self.check_number("skills", heads.len(), Limits::default().state_skills)?;
        Ok(heads)
    }

    /// Returns the fetched states of machines.
    pub fn machines(&self, repo: &Repository) -> Result<BTreeMap<String, Oid>, SyncError> {
        let machines = machines(repo)?;
        self.check_number("machines", machines.len(), MOST_MACHINES)?;
        Ok(machines)
    }

    fn check_number(&self, what: &str, found: usize, limit: usize) -> Result<(), SyncError> {
        if found <= limit {
            return Ok(());
        }
        let what = format!("{found} {what}, but the limit is {limit}");
        Err(SyncError::TooMuch { remote: self.url.clone(), what })
    }

    fn program(&self, settings: &[&str]) -> Command {
        let mut command = git::program(&self.history);
        git::allow(&mut command, self.transport);
        git::set(&mut command, settings);
        command.arg("--git-dir").arg(&self.history);
        command
    }

    fn run(&self, command: Command) -> Result<String, SyncError> {
        let limit = git::bytes_in(&self.history).saturating_add(Limits::default().fetch_bytes);
        git::run(command, Vec::new(), &self.history, &self.url, limit)
            .map_err(|source| SyncError::Unreached { remote: self.url.clone(), source })
    }
}

/// Returns the states of machines that were fetched last.
pub(super) fn machines(repo: &Repository) -> Result<BTreeMap<String, Oid>, SyncError> {
    branches(repo, MACHINES, |name| is_machine(name).then(|| name.to_owned()))
}

fn branches<K: Ord>(
    repo: &Repository,
    below: &str,
    parse: impl Fn(&str) -> Option<K>,
) -> Result<BTreeMap<K, Oid>, SyncError> {
    let mut found = BTreeMap::new();
    for reference in repo.references_glob(&format!("{below}*"))? {
        let reference = reference?;
        let name = reference.name().ok().and_then(|name| name.strip_prefix(below)).and_then(&parse);
        if let Some((name, id)) = name.zip(reference.target()) {
            found.insert(name, id);
        }
    }
    Ok(found)
}

/// Returns the heads of the library, deleted skills included.
pub(super) fn local_heads(repo: &Repository) -> Result<BTreeMap<SkillName, Oid>, SyncError> {
    branches(repo, "refs/skills/", |name| SkillName::parse(name).ok())
}
