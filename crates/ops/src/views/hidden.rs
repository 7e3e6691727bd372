//! Ways to hide a skill from a host that still reads it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use agent::{Catalogue, Host, ListedSkill};

use crate::{visibility::FolderVisibility, visible::visible, workspace::Workspace};

/// Command that updates links to the current state.
const FIX: &str = "skillhub doctor --fix";

/// A way to hide a skill from the hosts that read it at a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// `doctor --fix` removes a link to a skill of this library.
    RemoveLink(PathBuf),
    /// The hosts read the library's folder itself. Either their own settings can hide the skill, or a command that
    /// removes its folder and keeps its history.
    OwnFolder {
        /// Changes of the hosts' settings, in the imperative.
        settings: String,
        /// Command that removes the folder.
        command: String,
    },
    /// Agents that may see the skill read the same folder.
    Shared(Vec<&'static str>),
    /// A command moves away a folder or link that skillhub did not place.
    Foreign(String),
}

impl Remedy {
    /// Determines the remedy for a skill that hosts find at `place`.
    pub fn of(
        around: &Workspace,
        sight: &FolderVisibility,
        catalogue: &Catalogue,
        hosts: &[&Host],
        listed: &ListedSkill,
        place: &Path,
    ) -> Self {
        let name = &listed.name;
        let leads_to_own = library::resolve(place).ok() == listed.path;
        let is_link = leads_to_own && is_link(place);
        if listed.path.as_deref() == Some(place) || leads_to_own && !is_link {
            let is_installed = listed.head.as_ref().is_some_and(|head| head.origin.is_some());
            let verb = if is_installed { "uninstall" } else { "manage delete" };
            let command = format!("skillhub {verb} {name}{}", global(around, listed));
            return Self::OwnFolder { settings: settings(hosts, name.as_str()), command };
        }
        let foreign = || Self::Foreign(super::move_aside(place, name));
        let (Some(library), Some(folder)) = (catalogue.library_of(listed), place.parent()) else { return foreign() };
        let is_placed = library.state().is_ok_and(|state| state.of(name).placed.iter().any(|path| path == place));
        let readers: Vec<&'static str> = sight.readers(folder).collect();
        match (is_placed || is_link, !listed.enabled || sight.hides(library, name, folder)) {
            (true, true) => Self::RemoveLink(library.path().to_owned()),
            (true, false) if readers.len() > 1 => Self::Shared(readers),
            _ => foreign(),
        }
    }

    /// Returns the command that hides the skill, if there is one.
    pub fn command(&self) -> Option<String> {
        match self {
            Self::RemoveLink(_) => Some(FIX.to_owned()),
            Self::OwnFolder { command, .. } => Some(command.clone()),
            Self::Foreign(command) => Some(command.clone()),
            Self::Shared(_) => None,
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemoveLink(_) => write!(f, "`{FIX}` removes the link"),
            Self::OwnFolder { settings, command } => {
                write!(f, "this is the skill's own folder: {settings}, or remove the folder with `{command}`")
            }
            Self::Shared(readers) => {
                write!(f, "{} share this folder, and the skill is hidden from only some of them", readers.join(", "))
            }
            Self::Foreign(command) => write!(f, "skillhub did not create it; move it away: `{}`", visible(command)),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "says how a skill is placed for an agent; nothing is read or written")]
fn is_link(path: &Path) -> bool {
    path.is_symlink()
}

/// Returns the settings with which hosts hide a skill, from their documentation.
fn settings(hosts: &[&Host], name: &str) -> String {
    let mut others = Vec::new();
    let mut settings = Vec::new();
    for host in hosts {
        match host.id {
            "codex" => settings.push(format!(
                "add `[[skills.config]]` with `name = \"{name}\"` and `enabled = false` to ~/.codex/config.toml"
            )),
            "opencode" => {
                settings.push(format!("set `\"permission\": {{\"skill\": {{\"{name}\": \"deny\"}}}}` in opencode.json"))
            }
            _ => others.push(host.name),
        }
    }
    if !others.is_empty() {
        settings.push(format!("disable it in the settings of {}", others.join(", ")));
    }
    settings.join("; ")
}

/// Returns the flag that selects the user's skill from inside a project.
fn global(place: &Workspace, listed: &ListedSkill) -> &'static str {
    let is_global = listed.scope == library::Scope::User && place.project().is_some();
    if is_global { " --global" } else { "" }
}
