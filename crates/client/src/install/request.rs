//! [`InstallRequest`]: skills to install, and options.

use skill::SkillName;

use crate::{discovery::Pick, spec::Spec};

/// Skills to install, and options.
#[derive(Debug, Clone, Default)]
pub struct InstallRequest {
    /// Skills to install; empty to restore the lock file.
    pub specs: Vec<Spec>,
    /// Ids of the agents to link the skills for; empty for the agents in use.
    pub agents: Vec<String>,
    /// Write copies into agents' folders in place of links.
    pub copy: bool,
    /// Replace folders that git tracks with links.
    pub replaces_tracked: bool,
    /// Fail unless the result is exactly the lock file's.
    pub frozen: bool,
    /// Use only the cache and folders on this machine.
    pub offline: bool,
    /// Check and report, but change nothing.
    pub dry_run: bool,
    /// Selection among the skills of a source with several.
    pub pick: Pick,
    /// Action for an installed skill that was changed since it was installed.
    pub evolved: Evolved,
    /// Fingerprints of keys accepted although their owners signed with other keys before.
    pub accept_keys: Vec<String>,
    /// Name under which the single requested skill is installed; `None` for its own.
    pub alias: Option<SkillName>,
}

/// Action when another release would replace an installed skill that was changed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Evolved {
    /// Keep the skill and fail.
    #[default]
    Refuse,
    /// Merge the release into the skill.
    Merge(Choice),
}

/// Resolution of conflicts between the library's changes and the new release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// Leave conflicts to a person, as a proposal.
    #[default]
    Ask,
    /// Prefer the library's side.
    Ours,
    /// Prefer the release's side.
    Theirs,
}
