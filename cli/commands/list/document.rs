//! [`ListDocument`]: the answer of `skillhub list --json`.

use std::path::Path;

use agent::ListedSkill;
use client::{ReleaseState, Unmanaged};
use library::{Origin, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Found, Known};
use crate::commands::verify::accepted_document;

/// Answer of `skillhub list --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListDocument<'a> {
    /// False if the history of a skill is damaged.
    pub(super) ok: bool,
    /// Skills, those of the project first.
    pub(super) skills: Vec<ListedDocument<'a>>,
    /// Skills in agents' folders that skillhub does not manage.
    pub(super) unmanaged: Vec<UnmanagedDocument<'a>>,
    /// Places where an agent reads something else than the skill.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub(super) differences: Vec<Value>,
    /// Agents that do not find some of the skills.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub(super) lacking: Vec<Value>,
    /// Names of the skills that changed since their review checkpoints.
    pub(super) changed_since_review: &'a [String],
    /// Notes about skills that were left out, one sentence each.
    pub(super) notes: &'a [String],
    /// Skills with a damaged history.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub(super) problems: &'a [Value],
}

/// A skill of a library.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedDocument<'a> {
    /// Name of the skill.
    name: &'a str,
    /// Path of its folder; null for a built-in skill.
    path: Option<&'a Path>,
    /// Scope of its library: `project`, `user` or `builtin`.
    #[schemars(with = "String")]
    scope: Scope,
    /// Release that it was installed from.
    #[schemars(with = "Option<Map<String, Value>>")]
    origin: Option<&'a Origin>,
    /// Version given by the author or the release.
    version: Option<&'a str>,
    /// Id of the revision that agents get.
    revision: Option<&'a str>,
    /// Number of that revision.
    number: Option<u64>,
    /// Id of the newest revision.
    newest: Option<&'a str>,
    /// True if its folder has changes that are not recorded yet.
    edited: bool,
    /// Digest of the files that agents get.
    digest: Option<&'a str>,
    /// Reason why an edit of its folder waits for a person.
    held: Option<&'a str>,
    /// True if it is enabled for agents.
    enabled: bool,
    /// True if it is pinned, so that only people can change it.
    pinned: bool,
    /// True if it differs from the release that it was installed from.
    modified: bool,
    /// True if it has a history.
    managed: bool,
    /// Ids of the agents that read it.
    agents: &'a [&'a str],
    /// Title, from `metadata.title`.
    title: Option<&'a str>,
    /// Description in its frontmatter.
    description: &'a str,
    /// Reason why agents do not see it although it is enabled.
    fault: Option<&'a str>,
    /// Number of findings that a person has to decide about.
    undecided: usize,
    /// Findings that a person accepted.
    #[schemars(with = "Vec<Map<String, Value>>")]
    accepted: Vec<Value>,
    /// Tolerated deviations from the standard, one sentence each.
    warnings: &'a [String],
    /// State of the release in its registry, if the registry does not want it to be used.
    release_state: Option<&'a str>,
    /// Reason of that state.
    release_reason: Option<&'a str>,
    /// True if it was installed only because another skill requires it.
    dependency: bool,
    /// Full names of the skills that require it.
    required_by: &'a [String],
    /// `missing` if it has a history and no folder, `absent` if that is so because of the git branch.
    state: Option<&'static str>,
}

impl<'a> ListedDocument<'a> {
    pub(super) fn of(
        listed: &'a ListedSkill,
        readers: &'a [&'a str],
        Known { accepted, requirers, release }: Known<'a>,
        state: Option<&'static str>,
    ) -> Self {
        let served = listed.served();
        Self {
            name: listed.name.as_str(),
            path: listed.path.as_deref(),
            scope: listed.scope,
            origin: listed.head.as_ref().and_then(|head| head.origin.as_ref()),
            version: listed.version.as_deref(),
            revision: served.map(|head| head.id.as_str()),
            number: served.map(|head| head.number),
            newest: listed.head.as_ref().map(|head| head.id.as_str()),
            edited: listed.is_edited(),
            digest: listed.digest(),
            held: listed.held(),
            enabled: listed.enabled,
            pinned: listed.pinned,
            modified: listed.modified,
            managed: listed.head.is_some() || listed.damaged,
            agents: readers,
            title: listed.title.as_deref(),
            description: &listed.description,
            fault: listed.fault.as_deref(),
            undecided: listed.undecided,
            accepted: accepted.iter().map(accepted_document).collect(),
            warnings: &listed.warnings,
            release_state: release.map(ReleaseState::as_str),
            release_reason: release.map(ReleaseState::reason),
            dependency: requirers.is_some_and(|requirers| requirers.is_dependency),
            required_by: requirers.map(|requirers| requirers.by.as_slice()).unwrap_or_default(),
            state,
        }
    }
}

/// A skill in an agent's folder that skillhub does not manage.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UnmanagedDocument<'a> {
    /// Name of its folder.
    name: &'a str,
    /// Path of its folder.
    path: &'a Path,
    /// Ids of the agents that read it.
    agents: &'a [&'static str],
    /// Description in its frontmatter; empty if it was not read.
    description: &'a str,
    /// Reason why it cannot be adopted.
    fault: Option<&'a str>,
}

impl<'a> UnmanagedDocument<'a> {
    pub(super) fn of(Found { skill: Unmanaged { agents, path, name, description, fault }, .. }: &'a Found) -> Self {
        Self { name, path, agents, description, fault: fault.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_has_the_published_schema() {
        testkit::assert_published::<ListDocument<'_>>("list");
    }
}
