//! [`AgentError`]: why an agent does not get what it asked for.

use std::path::PathBuf;

use library::{LibraryError, StorageError};
use serde_json::{Value, json};
use skill::{
    Problem, SkillName, SkillPath,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

/// Why an agent does not get what it asked for.
#[derive(Debug, Error)]
pub enum AgentError {
    /// There is no skill of that name, or none that the agent may see.
    #[error("there is no skill {name} here")]
    NoSkill {
        /// The name.
        name: String,
        /// Names of skills that are like it.
        similar: Vec<String>,
    },
    /// Several skills give this name in their `SKILL.md`, and no folder has it.
    #[error("{} call themselves {name:?}", all(skills))]
    Ambiguous {
        /// The name.
        name: String,
        /// The skills, by their folders.
        skills: Vec<SkillName>,
    },
    /// No such skill for the agent, in the words of the operation.
    #[error("{message}")]
    Missing {
        /// The operation's message.
        message: String,
        /// The way on.
        hint: String,
    },
    /// No skill stands at that path.
    #[error("no skill that is visible here stands at {}", .0.display())]
    NoSkillAt(PathBuf),
    /// Name and path are of two skills.
    #[error("the skill {name} does not stand at {}", path.display())]
    Disagree {
        /// The name.
        name: SkillName,
        /// The path.
        path: PathBuf,
    },
    /// Neither a name nor a path was given.
    #[error("neither the name nor the path of a skill was given")]
    Nothing,
    /// The skill is switched off.
    #[error("{0} is disabled")]
    Disabled(SkillName),
    /// A person has to be asked first.
    #[error("{0} may be used only after a person agreed")]
    Asked(SkillName),
    /// The skill is there, but what it holds is not shown to agents.
    #[error("{name} cannot be used: {fault}")]
    Unusable {
        /// The skill.
        name: SkillName,
        /// Why.
        fault: String,
    },
    /// The skill has no such file.
    #[error("{name} has no file {path:?}")]
    NoFile {
        /// The skill.
        name: SkillName,
        /// The path as given.
        path: String,
        /// The files that it has.
        files: Vec<SkillPath>,
    },
    /// The file's path is none that a skill can have.
    #[error("{path:?} is no path in a skill: {why}")]
    InvalidPath {
        /// The path as given.
        path: String,
        /// Why.
        why: String,
    },
    /// Its `SKILL.md` cannot be read.
    #[error("{name} is not a valid skill: {}", first(problems))]
    Invalid {
        /// The skill.
        name: SkillName,
        /// What is wrong.
        problems: Vec<Problem>,
    },
    /// A library cannot be read.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The history cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The ways in which a person lets an agent use a skill that has to be asked about.
#[must_use]
pub fn ask_hint(name: &SkillName) -> String {
    format!(
        "a person allows it with the lines `[[permissions]]; skill = \"{name}\"; decision = \"allow\"` at the end of \
         config.toml, or reads it with `skillhub read {name}`; `skillhub where` says where the file is"
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
            Self::NoSkill { similar, .. } if similar.is_empty() => new(FailureKind::NotFound, "not_found")
                .hint("`skillhub list` shows the skills that are visible from this folder"),
            Self::NoSkill { similar, .. } => {
                new(FailureKind::NotFound, "not_found").hint(format!("did you mean {}?", similar.join(" or ")))
            }
            Self::Ambiguous { .. } => new(FailureKind::Conflict, "ambiguous_name").hint("name the skill by its folder"),
            Self::Missing { hint, .. } => new(FailureKind::NotFound, "not_found").hint(hint),
            Self::NoSkillAt(_) => new(FailureKind::NotFound, "not_found")
                .hint("give the skill's folder or its SKILL.md, absolute, or its name"),
            Self::Disagree { .. } => new(FailureKind::Usage, "invalid_request").hint("give one of the two"),
            Self::Nothing => new(FailureKind::Usage, "invalid_request").hint("give `name` or `path`"),
            Self::Disabled(name) => new(FailureKind::Refused, "policy_denied").hint(format!(
                "`skillhub enable {name}` lets agents see it again, by a person where a person disabled it"
            )),
            Self::Asked(name) => new(FailureKind::Refused, "policy_denied").hint(ask_hint(name)),
            Self::Unusable { name, .. } => {
                new(FailureKind::Blocked, "external_blocked").hint(format!("`skillhub status {name}` says more"))
            }
            Self::NoFile { files, .. } => {
                let names: Vec<&str> = files.iter().take(20).map(SkillPath::as_str).collect();
                let more = if files.len() > names.len() { " and more" } else { "" };
                new(FailureKind::NotFound, "not_found").hint(format!("it has {}{more}", names.join(", ")))
            }
            Self::InvalidPath { .. } => new(FailureKind::Invalid, "invalid_path")
                .hint("give the path relative to the skill's folder, such as references/api.md"),
            Self::Invalid { .. } => new(FailureKind::Invalid, "invalid_skill")
                .hint("mend what is listed, each problem with its file and line"),
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
