//! [`Tree`]: where skills stand for an agent in a container.

use std::path::Path;

use library::Scope;

use crate::listed::Listed;

/// Folders of skills in a container: of those that are read only, and of those that can be changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    /// Where they stand unless the configuration says otherwise.
    pub root: &'static str,
    /// The folder of the skills that are read only.
    pub public: &'static str,
    /// The folder of the others.
    pub custom: &'static str,
}

impl Tree {
    /// The folder of all skills.
    pub fn root<'a>(&self, container_path: Option<&'a str>) -> &'a str {
        container_path.unwrap_or(self.root).trim_end_matches('/')
    }

    /// The folder of one skill.
    pub fn folder(&self, container_path: Option<&str>, listed: &Listed) -> String {
        let category = if listed.scope == Scope::Builtin { self.public } else { self.custom };
        let group = listed.group.as_ref().map(|group| format!("{group}/")).unwrap_or_default();
        format!("{}/{category}/{group}{}", self.root(container_path), listed.name)
    }

    /// The scope of what stands in a folder below the root, and the rest of the way there.
    pub fn place<'p>(&self, folder: &'p Path) -> Option<(Scope, &'p Path)> {
        let below = |part: &str, scope| folder.strip_prefix(part).ok().map(|rest| (scope, rest));
        below(self.public, Scope::Builtin).or_else(|| below(self.custom, Scope::Project))
    }
}
