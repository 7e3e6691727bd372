//! Skills in git repositories. Each repository is fetched once.

use std::rc::Rc;

use library::{CommitId, Origin};
use skill::Limits;

use super::{Candidate, InstallError, Local, Source, one};
use crate::{
    discovery,
    git_source::{GitError, Repository},
    lock_file::LockedSkill,
    spec::GitSpec,
};

impl Source<'_> {
    pub(super) fn of_git(&self, git: &GitSpec, commit: Option<&str>) -> Result<Vec<Candidate>, InstallError> {
        let repository = self.repository(git, commit)?;
        self.of_repository(git, &repository)
    }

    fn repository(&self, git: &GitSpec, commit: Option<&str>) -> Result<Rc<Repository>, InstallError> {
        if self.request.offline && git.transport() != "file" {
            return Err(InstallError::Offline { origin: git.to_string() });
        }
        Ok(self.by.prefetch.repository(git, commit, &self.cache)?)
    }

    fn of_repository(&self, git: &GitSpec, repository: &Repository) -> Result<Vec<Candidate>, InstallError> {
        let found = repository.skills(git.path.as_ref())?;
        let top = git.path.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut candidates = Vec::new();
        for skill in discovery::choose(found, &top, &self.request.pick, &git.to_string())? {
            let bundle = repository.read(&skill.folder, &Limits::default())?;
            let fallback = skill.folder.rsplit('/').next().filter(|last| !last.is_empty());
            let fallback = fallback.unwrap_or_else(|| git.repository_name()).to_owned();
            let path = if skill.folder.is_empty() { None } else { Some(skill.folder.parse().map_err(GitError::from)?) };
            let requested = GitSpec { path, ..git.clone() }.to_string();
            let local = Local { requested, local: git.transport() == "file" };
            let of = |skill| Origin::Git { url: git.url(), commit: repository.commit().parse().ok(), skill };
            candidates.push(self.candidate(&skill, &fallback, bundle, local, of)?);
        }
        Ok(candidates)
    }

    pub(super) fn of_locked_git(
        &self,
        locked: &LockedSkill,
        commit: Option<&CommitId>,
    ) -> Result<Candidate, InstallError> {
        if let Some(candidate) = self.of_cache(locked)? {
            return Ok(candidate);
        }
        let git: GitSpec = locked.requested.parse()?;
        let commit = commit.ok_or_else(|| {
            let what = "the lock file has no commit for it".to_owned();
            InstallError::LockDiffers { name: locked.name(), what }
        })?;
        one(self.of_git(&git, Some(commit.as_str()))?, locked)
    }
}
