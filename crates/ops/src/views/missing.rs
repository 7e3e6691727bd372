//! Skills that agents' hosts do not find, and the links that show them ([`MissingSkills`]).

use std::path::PathBuf;

use agent::{Catalogue, Host, ListedSkill};
use client::{AgentFolder, AgentFolders};
use library::Scope;
use serde_json::{Value, json};
use skill::{SkillName, shell_word};

use crate::{refusal::Refusal, visibility::FolderVisibility, workspace::Workspace};

use super::AgentViews;

/// Maximum number of skills named in a sentence. More are counted.
const NAMED: usize = 3;

/// An agent whose host does not find some skills.
pub struct MissingSkills {
    /// Id of the agent.
    pub agent: &'static str,
    /// True if the agent is in use, false if it is only known by a folder in the home.
    pub in_use: bool,
    /// Skills that its host does not find.
    pub skills: Vec<SkillName>,
    /// Command that links the skills.
    pub command: String,
    /// Links that `setup` creates.
    links: Vec<MissingLink>,
}

/// A link that makes an agent's host find a skill.
pub struct MissingLink {
    /// Id of the agent.
    pub agent: &'static str,
    /// Name of the skill.
    pub skill: SkillName,
    /// Path of the skill's library.
    pub library: PathBuf,
    /// Folder of the agent in which the link is missing.
    pub folder: AgentFolder,
}

impl Workspace {
    /// Returns the links that `setup` creates for agents whose hosts do not find managed skills. Skills that a person
    /// hid from an agent are left out.
    ///
    /// # Errors
    /// A library cannot be read, or part of the configuration is invalid.
    pub fn missing_links(&self) -> Result<Vec<MissingLink>, Refusal> {
        let catalogue = Catalogue::inspect(&self.places(false))?;
        let views = AgentViews::of(self, &catalogue, None)?;
        Ok(views.lacking.into_iter().flat_map(|missing| missing.links).collect())
    }
}

impl MissingSkills {
    /// Finds the links and the command that show skills to an agent.
    pub(super) fn of(
        place: &Workspace,
        sight: &FolderVisibility,
        catalogue: &Catalogue,
        host: &Host,
        skills: &[&ListedSkill],
        in_use: bool,
    ) -> Self {
        let links: Vec<MissingLink> =
            skills.iter().flat_map(|listed| links_of(place, sight, catalogue, host, listed)).collect();
        let is_for_setup = !links.is_empty() || skills.iter().any(|listed| listed.head.is_none());
        let is_locked = |listed: &&ListedSkill| {
            let library = catalogue.library_of(listed).filter(|_| listed.head.is_none());
            library.is_some_and(|library| place.is_locked(library, &listed.name))
        };
        let command = match skills {
            all if all.iter().any(is_locked) => "skillhub install".to_owned(),
            [ListedSkill { head: None, path: Some(path), .. }] => {
                format!("skillhub adopt {}", shell_word(&path.display().to_string()))
            }
            [first, others @ ..] if others.is_empty() || !is_for_setup => {
                let is_global = first.scope == Scope::User && place.project().is_some();
                let global = if is_global { " --global" } else { "" };
                format!("skillhub enable {} --agent {}{global}", first.name, host.id)
            }
            _ => "skillhub setup".to_owned(),
        };
        let skills = skills.iter().map(|listed| listed.name.clone()).collect();
        Self { agent: host.id, in_use, skills, command, links }
    }

    /// Formats the agent and its missing skills as JSON.
    pub fn document(&self) -> Value {
        let skills: Vec<&str> = self.skills.iter().map(SkillName::as_str).collect();
        json!({"agent": self.agent, "in_use": self.in_use, "skills": skills, "command": self.command})
    }

    /// Describes the missing skills, as a sentence without its period.
    pub fn message(&self) -> String {
        if self.skills.len() > NAMED {
            return format!("{} does not see {} of the skills", self.agent, self.skills.len());
        }
        let names: Vec<&str> = self.skills.iter().map(SkillName::as_str).collect();
        format!("{} does not see {}", self.agent, names.join(", "))
    }
}

/// Returns the links that show a managed skill to an agent. There are none unless the agent is in use where the skill's
/// library is, or has a folder in the home.
fn links_of(
    place: &Workspace,
    sight: &FolderVisibility,
    catalogue: &Catalogue,
    host: &Host,
    listed: &ListedSkill,
) -> Vec<MissingLink> {
    let Some(library) = catalogue.library_of(listed).filter(|_| listed.head.is_some()) else { return Vec::new() };
    let is_used_in =
        |folders: &AgentFolders| folders.all().iter().any(|folder| folder.in_use && folder.ids.contains(&host.id));
    let folders = place.agent_folders_of(library);
    if !is_used_in(&folders) && !is_used_in(&place.user_agent_folders()) {
        return Vec::new();
    }
    let chosen = folders.chosen(&[host.id.to_owned()], library.path()).unwrap_or_default().into_iter();
    let shown = chosen.filter(|folder| !sight.hides(library, &listed.name, &folder.path));
    let link =
        |folder| MissingLink { agent: host.id, skill: listed.name.clone(), library: library.path().to_owned(), folder };
    shown.map(link).collect()
}
