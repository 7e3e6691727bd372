//! Skills in git repositories. Each repository is fetched once.

use std::rc::Rc;

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
            let place = Local { kind: "git", source: git.url(), local: git.transport() == "file" };
            let mut candidate = self.candidate(&skill, &fallback, bundle, place, Some(repository.commit()))?;
            let path = if skill.folder.is_empty() { None } else { Some(skill.folder.parse().map_err(GitError::from)?) };
            candidate.requested = GitSpec { path, ..git.clone() }.to_string();
            candidates.push(candidate);
        }
        Ok(candidates)
    }

    pub(super) fn of_locked_git(&self, locked: &LockedSkill) -> Result<Candidate, InstallError> {
        if let Some(candidate) = self.of_cache(locked)? {
            return Ok(candidate);
        }
        let git: GitSpec = locked.requested.parse()?;
        let commit = locked.commit.as_deref().filter(|id| is_commit_id(id)).ok_or_else(|| {
            let what = "the lock file has no commit for it".to_owned();
            InstallError::LockDiffers { name: locked.name.clone(), what }
        })?;
        one(self.of_git(&git, Some(commit))?, locked)
    }
}

/// Returns whether the text is a full commit id. Everything else that git accepts in its place, such as a branch or a
/// refspec, is rejected.
fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
