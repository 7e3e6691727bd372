//! [`InstallError::Moved`]: the error for a skill that its repository has moved to another folder and changed.

use skill::{Limits, SkillPath};

use super::{Candidate, InstallError, Installer};
use crate::{cache::Cache, spec::GitSpec};

impl Installer<'_> {
    /// Replaces the error for a taken name if the candidate's repository no longer has the installed skill in its
    /// folder, which is `from`.
    pub(super) fn or_moved(
        &self,
        error: InstallError,
        candidate: &Candidate,
        from: Option<&SkillPath>,
    ) -> InstallError {
        let moved = self.moved(&error, candidate, from);
        moved.unwrap_or(error)
    }

    fn moved(&self, error: &InstallError, candidate: &Candidate, from: Option<&SkillPath>) -> Option<InstallError> {
        let InstallError::Exists { name, .. } = error else { return None };
        let (from, to) = (from?, candidate.git_path()?);
        let installed = self.library.head(name).ok()??.origin?;
        let (old, new) = (&installed, &candidate.origin);
        if candidate.locked.is_some() || old.location() != new.location() || old.name() != new.name() {
            return None;
        }
        let spec: GitSpec = candidate.requested.parse().ok()?;
        let repository = self.prefetch.repository(&spec, None, &Cache::of(self.home)).ok()?;
        let skill_md = format!("{from}/{}", SkillPath::SKILL_MD);
        let found = repository.file(&skill_md, Limits::default().skill_bytes).ok()?;
        let place = new.location().to_owned();
        found.is_none().then(|| InstallError::Moved { name: name.clone(), place, from: from.clone(), to })
    }
}
