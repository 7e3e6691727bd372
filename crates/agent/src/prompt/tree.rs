//! [`Tree`]: the layout of skills for an agent in a container.

use std::path::Path;

use library::Scope;

use crate::listed_skill::ListedSkill;

/// Folders of skills in a container, for read-only and for writable skills.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    /// Default root, which the configuration may override.
    pub root: &'static str,
    /// Name of the folder of read-only skills.
    pub public: &'static str,
    /// Name of the folder of writable skills.
    pub custom: &'static str,
}

impl Tree {
    /// Returns the root folder of all skills.
    pub fn root<'a>(&self, container_path: Option<&'a str>) -> &'a str {
        container_path.unwrap_or(self.root).trim_end_matches('/')
    }

    /// Returns the folder of one skill.
    pub fn folder(&self, container_path: Option<&str>, listed: &ListedSkill) -> String {
        let category = if listed.scope == Scope::Builtin { self.public } else { self.custom };
        let group = listed.group.as_ref().map(|group| format!("{group}/")).unwrap_or_default();
        format!("{}/{category}/{group}{}", self.root(container_path), listed.name)
    }

    /// Returns the scope of a folder below the root, and the remaining path.
    pub fn place<'p>(&self, folder: &'p Path) -> Option<(Scope, &'p Path)> {
        let below = |part: &str, scope| folder.strip_prefix(part).ok().map(|rest| (scope, rest));
        below(self.public, Scope::Builtin).or_else(|| below(self.custom, Scope::Project))
    }
}
