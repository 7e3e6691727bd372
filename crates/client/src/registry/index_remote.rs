//! [`IndexRemote`]: the git repository to which a server pushes its index, reached by the `git` program.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{Location, RegistryError};
use crate::{
    git::{self, ProgramError, is_lost_race},
    spec::transport_of,
};

/// Branch of an index.
const BRANCH: &str = "refs/heads/main";

/// Reference under which the fetched branch is kept.
const FETCHED: &str = "refs/remotes/index/main";

/// A repository that holds a copy of an index, and the bare repository on this machine from which it is pushed.
#[derive(Debug)]
pub struct IndexRemote {
    url: String,
    transport: &'static str,
    local: PathBuf,
}

impl IndexRemote {
    /// Prepares a remote, given as a URL or an absolute folder. `local` is a bare repository.
    ///
    /// # Errors
    /// [`RegistryError`] for a text that does not locate a whole repository.
    pub fn open(remote: &str, local: &Path) -> Result<Self, RegistryError> {
        let url = match Location::read(remote, Path::new("/"))? {
            Location::Folder(path) => path.display().to_string(),
            Location::Git(spec) => spec.url(),
        };
        Ok(Self { transport: transport_of(&url), url, local: local.to_owned() })
    }

    /// Returns the URL or folder of the remote.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the commit of the remote's branch; `None` if it has none yet.
    ///
    /// # Errors
    /// [`RegistryError::Unreached`]
    pub fn head(&self) -> Result<Option<String>, RegistryError> {
        let mut list = self.program();
        list.args(["ls-remote", "--quiet", "--", &self.url, BRANCH]);
        let answer = self.run(list).map_err(|source| self.unreached(source))?;
        Ok(answer.split_whitespace().next().map(str::to_owned))
    }

    /// Fetches the branch with its whole history.
    ///
    /// # Errors
    /// [`RegistryError::Unreached`]
    pub fn fetch(&self) -> Result<(), RegistryError> {
        let mut fetch = self.program();
        git::set(&mut fetch, ["fetch.unpackLimit=1", "transfer.fsckObjects=true"]);
        fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]).args(git::QUIET_FETCH);
        fetch.args(["--", &self.url, &format!("+{BRANCH}:{FETCHED}")]);
        self.run(fetch).map(drop).map_err(|source| self.unreached(source))
    }

    /// Pushes a commit to the branch, without force. Returns `false` if the branch is not an ancestor of it.
    ///
    /// # Errors
    /// [`RegistryError::Unreached`]
    pub fn push(&self, commit: &str) -> Result<bool, RegistryError> {
        let mut push = self.program();
        git::set(&mut push, ["push.followTags=false", "push.negotiate=false"]);
        push.args(["push", "--porcelain", "--no-verify", "--no-signed", "--no-recurse-submodules", "--"]);
        push.args([self.url.as_str(), &format!("{commit}:{BRANCH}")]);
        match self.run(push) {
            Ok(_) => Ok(true),
            Err(ProgramError::Failed { message }) if is_lost_race(&message) => Ok(false),
            Err(source) => Err(self.unreached(source)),
        }
    }

    fn program(&self) -> Command {
        let mut command = git::program(&self.local);
        git::allow(&mut command, self.transport);
        command.arg("--git-dir").arg(&self.local);
        command
    }

    fn run(&self, command: Command) -> Result<String, ProgramError> {
        // It is the operator's own repository, so its size is not limited.
        git::run(command, Vec::new(), &self.local, &self.url, u64::MAX)
    }

    fn unreached(&self, source: ProgramError) -> RegistryError {
        RegistryError::Unreached { url: self.url.clone(), source }
    }
}
