//! [`Head`], [`Front`] and [`Standing`]: what a list of skills says of one.

use scan::Verdict;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Limits, Problem, SkillName, SkillPath, validate::load};

use crate::revision::{Origin, Revision, RevisionId};

/// What a list of skills says of a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The revision.
    pub id: RevisionId,
    /// Its number.
    pub number: u64,
    /// The digest of its files, `sha256:…`.
    pub digest: String,
    /// What the scanner said when it was committed.
    pub verdict: Verdict,
    /// The version of the rules that said so.
    #[serde(default)]
    pub ruleset: String,
    /// The release that it is or derives from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl From<&Revision> for Head {
    fn from(revision: &Revision) -> Self {
        let (id, origin) = (revision.id.clone(), revision.origin.clone());
        let (number, verdict, ruleset) = (revision.number, revision.verdict, revision.ruleset.clone());
        Self { id, number, digest: revision.digest.to_string(), verdict, ruleset, origin }
    }
}

/// What a skill's `SKILL.md` says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Front {
    /// Its title in any script, by `metadata.title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the skill does and when to use it; empty where that cannot be read.
    pub description: String,
    /// The author's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The tools of its `allowed-tools`; `None` where it has no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The name that it gives, where that is not the folder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Departures from the standard with which it loads all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why an agent could not load it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl Front {
    /// That of a skill's files.
    #[must_use]
    pub fn of(files: &Bundle, name: &SkillName, limits: &Limits) -> Self {
        if !files.paths().any(|path| path.as_str() == SkillPath::SKILL_MD) {
            return Self { fault: Some("it has no SKILL.md".to_owned()), ..Self::default() };
        }
        match load(files.skill_md().unwrap_or_default().as_bytes(), name.as_str(), limits) {
            Ok(loaded) => Self {
                version: loaded.frontmatter.version(),
                title: loaded.frontmatter.metadata.get("title").cloned(),
                description: loaded.description,
                tools: loaded.frontmatter.allowed_tools,
                called: loaded.frontmatter.name.filter(|called| called.trim() != name.as_str()),
                warnings: loaded
                    .problems
                    .into_iter()
                    .filter(Problem::is_loaded_with_warning)
                    .map(|problem| problem.message)
                    .collect(),
                fault: None,
            },
            Err(problems) => Self {
                fault: Some(problems.first().map(|problem| problem.message.clone()).unwrap_or_default()),
                ..Self::default()
            },
        }
    }
}

/// How a skill's folder stands to its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// As committed.
    Clean,
    /// Committed, but there is no folder.
    Missing,
    /// Edited by hand, or without a history, and the scanner lets it pass.
    Modified,
    /// At an earlier revision, as after a switch of git branches.
    Earlier,
    /// Edited by hand, or without a history, in a way that is not shown to agents: why.
    Blocked(String),
    /// As committed, and blocked since a waiver ended or was taken back, or by hard evidence since the rules changed: why.
    Lapsed(String),
    /// Not to be told: what the history has of the skill is damaged: how.
    Damaged(String),
}
