//! [`Offer`]: a skill that a source offers, with the address that `skillhub install` takes.

use serde::{Deserialize, Serialize};
use skill::SkillPath;

use crate::{
    discovery::OfferedSkill,
    spec::{GitSpec, Spec},
};

/// A skill that a source offers, or a plugin whose skills are in another repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Offer {
    pub name: String,
    pub description: String,
    /// Version that the source gives, which may be any text.
    pub version: Option<String>,
    /// Address of the skill, as `skillhub install` takes it.
    pub address: String,
}

impl Offer {
    pub fn of(source: &Spec, skill: &OfferedSkill) -> Self {
        Self {
            name: skill.name.clone(),
            description: skill.description.clone(),
            version: skill.version.clone(),
            address: address_of(source, skill),
        }
    }
}

/// Returns the address of one skill. A plugin of another repository is installed by its name in the manifest, so that
/// all of its skills come at once.
fn address_of(source: &Spec, skill: &OfferedSkill) -> String {
    match (source, &skill.repository) {
        (Spec::Git(git), Some(repository)) => match SkillPath::parse(&skill.name) {
            Ok(name) if git.path.is_none() => GitSpec { path: Some(name), ..git.clone() }.to_string(),
            _ => repository.clone(),
        },
        (Spec::Git(git), None) => GitSpec { path: SkillPath::parse(&skill.folder).ok(), ..git.clone() }.to_string(),
        (Spec::Folder(folder), Some(_)) => format!("{folder}#{}", skill.name),
        (Spec::Folder(folder), None) if !skill.folder.is_empty() => format!("{folder}/{}", skill.folder),
        (Spec::Site(site), _) => site.with_skill(&skill.name).to_string(),
        (other, _) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_one_skill() {
        let skill = |folder: &str, repository: Option<&str>| OfferedSkill {
            name: "acme/pdf".to_owned(),
            description: String::new(),
            folder: folder.to_owned(),
            plugin: None,
            repository: repository.map(str::to_owned),
            version: None,
        };
        for (source, offered, address) in [
            ("github:a/b", skill("skills/pdf", None), "github:a/b#skills/pdf"),
            ("github:a/b@v1", skill("skills/pdf", None), "github:a/b#skills/pdf@v1"),
            ("github:a/b", skill("", None), "github:a/b"),
            ("github:a/b", skill("", Some("github:c/d")), "github:a/b#acme/pdf"),
            ("github:a/b#x", skill("", Some("github:c/d")), "github:c/d"),
            ("/srv/skills", skill("pdf", None), "/srv/skills/pdf"),
            ("/srv/skills", skill("", Some("github:c/d")), "/srv/skills#acme/pdf"),
            ("clawhub:", skill("", None), "clawhub:acme/pdf"),
            ("https://h.example", skill("", None), "https://h.example/.well-known/agent-skills/index.json#acme/pdf"),
        ] {
            assert_eq!(address_of(&source.parse().unwrap(), &offered), address, "{source}");
        }
    }
}
