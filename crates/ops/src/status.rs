//! Comparison of skills with their histories: [`Workspace::overview`].

use std::path::PathBuf;

use library::Library;
use skill::SkillName;
use skill_manage::documents::{self, Overview};

use crate::{refusal::Refusal, workspace::Workspace};

impl Workspace {
    /// Returns the state of all skills of some libraries, or of one skill of a library. `paths` has the folders of all
    /// listed skills, which tell a skill from a group of skills.
    ///
    /// # Errors
    /// The skill does not exist, or a library cannot be read.
    pub fn overview(
        &self,
        libraries: &[&Library],
        paths: &[PathBuf],
        named: Option<&SkillName>,
    ) -> Result<Overview, Refusal> {
        let of_branch = |library: &Library| self.skills_of_branch(library);
        Ok(documents::overview(libraries, paths, named, &self.home, of_branch, self.now)?)
    }
}
