//! [`Offer`]: a skill that a source offers, with the address that `skillhub install` takes.

use serde::{Deserialize, Serialize};

use crate::{discovery::OfferedSkill, install::SourceListing};

/// A skill that a source offers, or a plugin whose skills are in another repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Offer {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    /// Version that the source gives, which may be any text.
    pub version: Option<String>,
    /// Address of the skill, as `skillhub install` takes it.
    pub address: String,
}

impl Offer {
    pub fn of(source: &SourceListing, skill: &OfferedSkill) -> Self {
        Self {
            name: skill.name.clone(),
            title: skill.title.clone(),
            description: skill.description.clone(),
            version: skill.version.clone(),
            address: source.address(skill),
        }
    }
}
