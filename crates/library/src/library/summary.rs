//! Parts of the summary of a skill ([`Head`], [`SkillMdSummary`], [`FolderStatus`]).

use scan::Verdict;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Limits, Problem, SkillName, SkillPath, validate::load};

use crate::{
    origin::Origin,
    revision::{Revision, RevisionId},
};

/// Summary of a head for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Id of the revision.
    pub id: RevisionId,
    /// Its number, from 1.
    pub number: u64,
    /// Digest of its files, `sha256:…`.
    pub digest: String,
    /// Verdict of the scanner when it was committed.
    pub verdict: Verdict,
    /// Ruleset version of that verdict. Empty in data of earlier versions.
    #[serde(default)]
    pub ruleset: String,
    /// Release that it is or derives from.
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

/// Summary of a skill's `SKILL.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillMdSummary {
    /// Title from `metadata.title`, in any script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Purpose of the skill and when to use it. Empty if it cannot be read.
    pub description: String,
    /// Version given by the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Tools of its `allowed-tools`; `None` if the field is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Name in the frontmatter, if it differs from the folder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Departures from the standard that do not prevent loading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Reason why an agent could not load it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl SkillMdSummary {
    /// Reads the front from a skill's files.
    pub fn of(files: &Bundle, name: &SkillName, limits: &Limits) -> Self {
        if !files.paths().any(|path| path.as_str() == SkillPath::SKILL_MD) {
            return Self { fault: Some("it has no SKILL.md".to_owned()), ..Self::default() };
        }
        match load(files.skill_md().unwrap_or_default().as_bytes(), name.as_str(), limits) {
            Ok(loaded) => Self {
                version: loaded.frontmatter.version(),
                title: loaded.frontmatter.title(),
                description: loaded.description,
                tools: loaded.frontmatter.allowed_tools.clone(),
                called: loaded.frontmatter.name.clone().filter(|called| called.trim() != name.as_str()),
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

/// State of a skill's folder compared with its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderStatus {
    /// As committed.
    Clean,
    /// Committed, but the folder is missing.
    Missing,
    /// Edited by hand, or without a history, and the scanner lets it pass.
    Modified,
    /// Same as an earlier revision, for example after switching git branches.
    Earlier,
    /// Edited by hand, or without a history, and hidden from agents for this reason.
    Blocked(String),
    /// As committed, but blocked for this reason: a waiver expired or was revoked, or changed rules found hard
    /// evidence.
    Lapsed(String),
    /// Unknown, because the skill's history is damaged in this way.
    Damaged(String),
}
