//! [`AgentError`]: the reasons why an agent's request fails.

use std::path::PathBuf;

use library::{LibraryError, StorageError};
use serde_json::{Value, json};
use skill::{
    Problem, SkillName, SkillPath,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
};
use thiserror::Error;

/// Reason why an agent's request fails.
#[derive(Debug, Error)]
pub enum AgentError {
    /// No skill of that name exists, or the agent may not see it.
    #[error("no skill is named {name}")]
    NoSkill {
        /// Name as requested.
        name: String,
        /// Name that may have been meant.
        near: Option<String>,
    },
    /// Several skills have this name in their `SKILL.md`, and no folder has it.
    #[error("{name:?} is ambiguous: it is the name of {}", all(skills))]
    Ambiguous {
        /// Name as requested.
        name: String,
        /// Names of the skills' folders.
        skills: Vec<SkillName>,
    },
    /// The skill does not exist for the agent. The message is specific to the operation.
    #[error("{message}")]
    Missing {
        /// Message of the operation.
        message: String,
        /// Next step for the user.
        hint: Hint,
    },
    /// There is no visible skill at that path.
    #[error("no available skill is at {}", .0.display())]
    NoSkillAt(PathBuf),
    /// Name and path refer to different skills.
    #[error("the skill {name} is not at {}", path.display())]
    Disagree {
        /// Name as requested.
        name: SkillName,
        /// Path as requested.
        path: PathBuf,
    },
    /// Neither a name nor a path was given.
    #[error("no skill name or path given")]
    Nothing,
    /// The skill is disabled.
    #[error("{0} is disabled")]
    Disabled(SkillName),
    /// A person has to give consent first.
    #[error("{0} needs a person's consent before it is used")]
    Asked(SkillName),
    /// The skill exists, but its content is not shown to agents.
    #[error("{name} cannot be used: {fault}")]
    Unusable {
        /// Name of the skill.
        name: SkillName,
        /// Reason for hiding the content.
        fault: String,
    },
    /// The file does not exist in the skill.
    #[error("{name} has no file {:?}", skill::shortened(path, skill::ECHO_CHARS))]
    NoFile {
        /// Name of the skill.
        name: SkillName,
        /// Path as requested.
        path: String,
        /// Files of the skill.
        files: Vec<SkillPath>,
    },
    /// The path is not valid inside a skill.
    #[error("{:?} is not a valid path in a skill: {why}", skill::shortened(path, skill::ECHO_CHARS))]
    InvalidPath {
        /// Path as requested.
        path: String,
        /// Rule that the path breaks.
        why: String,
    },
    /// The `SKILL.md` cannot be read.
    #[error("{name} is not a valid skill: {}", first(problems))]
    Invalid {
        /// Name of the skill.
        name: SkillName,
        /// Problems of the `SKILL.md`.
        problems: Vec<Problem>,
    },
    /// A library cannot be read.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The history cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Returns the ways in which a person can give consent to the use of a skill.
pub fn ask_hint(name: &SkillName) -> String {
    format!(
        "ask a person to add the lines `[[permissions]]; skill = \"{name}\"; decision = \"allow\"` at the end of \
         config.toml (`skillhub where` shows its path), or to run `skillhub read {name}`"
    )
}

fn all(skills: &[SkillName]) -> String {
    skills.iter().map(SkillName::as_str).collect::<Vec<_>>().join(" and ")
}

fn first(problems: &[Problem]) -> String {
    let errors: Vec<&str> = problems.iter().filter(|p| p.is_error()).map(|p| p.message.as_str()).collect();
    if errors.is_empty() { problems.first().map(|p| p.message.clone()).unwrap_or_default() } else { errors.join("; ") }
}

impl Fails for AgentError {
    fn failure(&self) -> Failure {
        let new = Failure::new;
        match self {
            Self::NoSkill { near, .. } => {
                let meant = near.as_ref().map(|near| format!("did you mean {near}? ")).unwrap_or_default();
                let list = Hint::from(meant + "list the skills available in this folder with ");
                new(FailureKind::NotFound, "not_found").hint(list.step(NextStep::ListSkills))
            }
            Self::Ambiguous { .. } => {
                new(FailureKind::Conflict, "ambiguous_name").hint("use the name of the skill's folder")
            }
            Self::Missing { hint, .. } => new(FailureKind::NotFound, "not_found").hint(hint.clone()),
            Self::NoSkillAt(_) => new(FailureKind::NotFound, "not_found")
                .hint("use the skill's name, or the absolute path of its folder or SKILL.md"),
            Self::Disagree { .. } => new(FailureKind::Usage, "invalid_request").hint("use either the name or the path"),
            Self::Nothing => new(FailureKind::Usage, "invalid_request").hint("set `name` or `path`"),
            Self::Disabled(name) => new(FailureKind::Refused, "policy_denied").hint(
                Hint::from("show it to agents again with ")
                    .step(NextStep::Enable(name.to_string()))
                    .text("; if a person disabled it, only a person can"),
            ),
            Self::Asked(name) => new(FailureKind::Refused, "policy_denied").hint(ask_hint(name)),
            Self::Unusable { name, .. } => new(FailureKind::Blocked, "external_blocked")
                .hint(Hint::from("see the reason with ").step(NextStep::ShowStatus(name.to_string()))),
            Self::NoFile { files, .. } => {
                let names: Vec<&str> = files.iter().take(20).map(SkillPath::as_str).collect();
                let more = if files.len() > names.len() { " and more" } else { "" };
                new(FailureKind::NotFound, "not_found")
                    .hint(format!("use one of its files: {}{more}", names.join(", ")))
            }
            Self::InvalidPath { .. } => new(FailureKind::Invalid, "invalid_path")
                .hint("use a path relative to the skill's folder, such as references/api.md"),
            Self::Invalid { .. } => {
                new(FailureKind::Invalid, "invalid_skill").hint("fix the listed problems; each names its file and line")
            }
            Self::Library(error) => error.failure(),
            Self::Storage(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Invalid { problems, .. } => json!({ "problems": problems }),
            Self::Library(error) => error.details(),
            Self::Storage(error) => error.details(),
            _ => json!({}),
        }
    }
}
