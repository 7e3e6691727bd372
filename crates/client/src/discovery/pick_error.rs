//! [`PickError`]: reasons why no skill of a source is chosen.

use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use skill::shell_word;
use strsim::levenshtein;
use thiserror::Error;

use super::{OfferedSkill, first_of, shared_names};

/// Maximum number of names in an error message.
const MOST_NAMES: usize = 20;

/// Reasons why the selection of skills is empty or ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PickError {
    /// The source does not contain a `SKILL.md`.
    #[error("no skill was found in {origin}")]
    None {
        /// Source as shown to people.
        origin: String,
    },
    /// The source has several skills and none was selected.
    #[error("{origin} has {} skills: {}{}", skills.len(), names_of(skills), after(outside.as_deref()))]
    Several {
        /// Source as shown to people.
        origin: String,
        /// Skills and plugins to choose from.
        skills: Vec<OfferedSkill>,
        /// Sentence with the number and names of the skills outside the usual folders.
        outside: Option<String>,
    },
    /// The source does not have the selected skill.
    #[error("{origin} has no skill or plugin named {wanted}; it has {}", names_of(skills))]
    Missing {
        /// Source as shown to people.
        origin: String,
        /// Name that was selected.
        wanted: String,
        /// Skills and plugins of the source.
        skills: Vec<OfferedSkill>,
    },
    /// The spec names a single skill, where a source of several is needed.
    #[error("{0} is a single skill, not a source of several")]
    Single(String),
}

fn after(outside: Option<&str>) -> String {
    outside.map(|outside| format!("; {outside}")).unwrap_or_default()
}

/// Joins the first names for a message. Skills of one name are distinguished by their folders.
pub(super) fn names_of(skills: &[OfferedSkill]) -> String {
    let shared = shared_names(skills);
    let name = |skill: &OfferedSkill| match shared.contains(skill.name.as_str()) && !skill.folder.is_empty() {
        true => format!("{} in {}", skill.name, skill.folder),
        false => skill.name.clone(),
    };
    first_of(skills.iter().map(name), MOST_NAMES)
}

/// Returns the hint for a source with several skills.
fn choice_hint(origin: &str, skills: &[OfferedSkill]) -> Hint {
    let shared = shared_names(skills);
    let by_folder = skills.iter().find(|skill| shared.contains(skill.name.as_str()) && !skill.folder.is_empty());
    let Some(skill) = by_folder else {
        return "choose one with --skill NAME, or install all of them with --all; --list describes them".into();
    };
    let source = shell_word(origin);
    Hint::from("choose one with --skill NAME or, if several have its name, by its folder, as in ")
        .step(NextStep::Install(format!("{source} --skill {}", shell_word(&skill.folder))))
        .text("; to see the address of each: ")
        .last(NextStep::Install(format!("{source} --list")))
}

impl Fails for PickError {
    fn failure(&self) -> Failure {
        match self {
            Self::None { .. } => {
                Failure::new(FailureKind::NotFound, "not_found").hint("name a folder that has a SKILL.md")
            }
            Self::Several { origin, skills, .. } => {
                Failure::new(FailureKind::Conflict, "ambiguous_name").hint(choice_hint(origin, skills))
            }
            Self::Missing { wanted, skills, .. } => {
                let near = skills.iter().map(|skill| (levenshtein(wanted, &skill.name), &skill.name)).min();
                let near = near.filter(|(distance, name)| *distance <= name.chars().count() / 2);
                let meant = near.map(|(_, name)| format!("did you mean {name}? ")).unwrap_or_default();
                Failure::new(FailureKind::NotFound, "not_found")
                    .hint(format!("{meant}add --list to see the skills of the source"))
            }
            Self::Single(_) => Failure::new(FailureKind::Usage, "invalid_spec")
                .hint("name a folder, or a repository as in github:owner/repo"),
        }
    }
}
