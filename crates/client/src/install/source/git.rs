//! Skills in git repositories. Each repository is fetched once.

use std::rc::Rc;

use library::{CommitId, Origin};
use skill::Limits;

use super::{Candidate, InstallError, Local, Source, folder::with_warnings, one};
use crate::{
    discovery::{DiscoveredSkill, ForeignPlugin, Pick, SourceContents},
    git_source::{GitError, Repository},
    lock_file::LockedSkill,
    plugin_manifest::{MANIFEST, MOST_BYTES},
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
        let (git, contents, pick) = self.contents_of(git, repository)?;
        let chosen = contents.choose(&pick)?;
        let left_out = chosen.warnings();
        let mut candidates = self.candidates_of(&git, repository, chosen.skills)?;
        candidates.extend(self.of_foreign(&chosen.foreign)?);
        Ok(with_warnings(candidates, contents.warnings.into_iter().chain(left_out)))
    }

    /// Returns the spec with its reference and path, the skills of the source, and the selection. A path that the
    /// repository does not have is the name of a skill or a plugin.
    fn contents_of(
        &self,
        git: &GitSpec,
        repository: &Repository,
    ) -> Result<(GitSpec, SourceContents, Pick), InstallError> {
        let git = repository.spec(git);
        let found = repository.skills(git.path.as_ref())?;
        let origin = git.to_string();
        let (found, git, pick) = match &git.path {
            Some(path) if found.is_empty() => {
                let pick = Pick { skills: vec![path.to_string()], all: false };
                (repository.skills(None)?, GitSpec { path: None, ..git }, pick)
            }
            _ => (found, git, self.request.pick.clone()),
        };
        let top = git.path.as_ref().map(ToString::to_string).unwrap_or_default();
        let place = if top.is_empty() { MANIFEST.to_owned() } else { format!("{top}/{MANIFEST}") };
        let manifest = repository.file(&place, MOST_BYTES)?;
        let contents = SourceContents::new(found, &top, &origin).with_manifest(manifest.as_deref(), Some(&git.url()));
        Ok((git, contents, pick))
    }

    /// Finds the skills of a repository. Also returns the spec with its reference and path.
    pub(super) fn git_contents(&self, git: &GitSpec) -> Result<(GitSpec, SourceContents), InstallError> {
        let repository = self.repository(git, None)?;
        self.contents_of(git, &repository).map(|(git, contents, _)| (git, contents))
    }

    /// Reads all skills of plugins in other repositories. A manifest there is not followed.
    pub(super) fn of_foreign(&self, plugins: &[ForeignPlugin]) -> Result<Vec<Candidate>, InstallError> {
        let mut candidates = Vec::new();
        for ForeignPlugin { git, .. } in plugins {
            let repository = self.repository(git, None)?;
            let top = git.path.as_ref().map(ToString::to_string).unwrap_or_default();
            let contents = SourceContents::new(repository.skills(git.path.as_ref())?, &top, &git.to_string());
            let chosen = contents.choose(&Pick { all: true, ..Pick::default() })?;
            let left_out = chosen.warnings();
            candidates.extend(with_warnings(self.candidates_of(git, &repository, chosen.skills)?, left_out));
        }
        Ok(candidates)
    }

    fn candidates_of(
        &self,
        git: &GitSpec,
        repository: &Repository,
        skills: Vec<DiscoveredSkill>,
    ) -> Result<Vec<Candidate>, InstallError> {
        let mut candidates = Vec::new();
        for skill in skills {
            self.add(&mut candidates, &skill, self.candidate_of_git(git, repository, &skill))?;
        }
        Ok(candidates)
    }

    fn candidate_of_git(
        &self,
        git: &GitSpec,
        repository: &Repository,
        skill: &DiscoveredSkill,
    ) -> Result<Candidate, InstallError> {
        let bundle = repository.read(&skill.folder, &Limits::default())?;
        let fallback = skill.folder.rsplit('/').next().filter(|last| !last.is_empty());
        let fallback = fallback.unwrap_or_else(|| git.repository_name());
        let path = if skill.folder.is_empty() { None } else { Some(skill.folder.parse().map_err(GitError::from)?) };
        let requested = GitSpec { path, ..git.clone() }.to_string();
        let local = Local { requested, local: git.transport() == "file" };
        let of = |skill| Origin::Git { url: git.url(), commit: repository.commit().parse().ok(), skill };
        self.candidate(skill, fallback, bundle, local, of)
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
            InstallError::lock_differs(locked, what)
        })?;
        one(self.of_git(&git, Some(commit.as_str()))?, locked)
    }
}
