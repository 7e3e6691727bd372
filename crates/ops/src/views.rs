//! Comparison of the skills here with the content that agents read.

mod hidden;
mod missing;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use agent::{AgentView, Catalogue, Host, ListedSkill, Reads, Views, Visibility};
use library::{LibraryError, Scope, State};
use serde_json::{Value, json};
use skill::{SkillName, shell_word};
use skill_manage::documents::HostsDocument;

use crate::{refusal::Refusal, visibility::FolderVisibility, visible::visible, workspace::Workspace};

pub use self::{
    hidden::Remedy,
    missing::{MissingLink, MissingSkills},
};

/// The views of all agents that are in use or known here.
#[derive(Default)]
pub struct AgentViews {
    /// Ids of the agents in use that read the same content as `read` serves, for each skill of the catalogue.
    pub readers: Vec<Vec<&'static str>>,
    /// Locations where hosts read other content under a skill's name, or a skill that is hidden from them.
    pub differences: Vec<Difference>,
    /// Agents whose hosts do not find skills that they may see.
    pub lacking: Vec<MissingSkills>,
}

/// A location where hosts read content that differs from `read`, or a skill that `read` does not serve.
pub struct Difference {
    /// Stable code of the kind of difference.
    pub code: &'static str,
    /// True for an error, false for a warning about agents known only by a folder in the home.
    pub is_error: bool,
    /// Name of the skill.
    pub skill: SkillName,
    /// Ids of the agents that read it there.
    pub agents: Vec<&'static str>,
    /// Path below one of the agents' folders.
    pub path: PathBuf,
    /// Relation of the content to the skill's revisions.
    pub reads: Reads,
    /// Description, as a sentence without its period.
    pub message: String,
    /// Command that resolves the difference, or an instruction if no command can.
    pub command: String,
    /// Library of the skill, if the location is a link to it that `doctor --fix` removes.
    pub link_to: Option<PathBuf>,
}

impl AgentViews {
    /// Compares the catalogue's skills, or one of them, with the agents' views.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    pub fn of(place: &Workspace, catalogue: &Catalogue, only: Option<&SkillName>) -> Result<Self, Refusal> {
        let (hosts, settings) = (place.hosts(), place.settings()?);
        let (views, sight) = (Views::new(catalogue, &settings), FolderVisibility::new(place)?);
        let states = catalogue.libraries().iter().map(|library| Ok((library.path(), library.state()?)));
        let states: HashMap<&Path, State> = states.collect::<Result<_, LibraryError>>()?;
        let state_of = |listed: &ListedSkill| states.get(catalogue.library_of(listed)?.path());
        let mut picture = Self::default();
        let mut lacks: Vec<(&Host, Vec<&ListedSkill>)> = hosts.all().map(|host| (host, Vec::new())).collect();
        for listed in &catalogue.skills {
            let mut readers = Vec::new();
            let is_managed = listed.path.is_some() && !listed.found_elsewhere;
            let is_meant = is_managed && only.is_none_or(|name| *name == listed.name);
            let (mut differing, mut hidden) = (Vec::new(), Vec::new());
            for (host, lacking) in lacks.iter_mut().filter(|_| is_meant) {
                let (view, is_in_use) = (views.effective(host, listed), hosts.is_in_use(host.id));
                if matches!(view.reads, Reads::Served | Reads::Trial { .. }) && is_in_use {
                    readers.push(host.id);
                }
                if view.is_hidden_but_read() && view.sight != Visibility::NotOnList {
                    add_host(&mut hidden, host, view, is_in_use);
                } else if view.differs() {
                    add_host(&mut differing, host, view, true);
                } else if view.lacks() && !state_of(listed).is_some_and(|state| is_hidden_from(host, listed, state)) {
                    lacking.push(listed);
                }
            }
            picture.readers.push(readers);
            let differing = differing.into_iter().map(|shared| shared.differing(place, listed));
            picture.differences.extend(differing);
            let hidden = hidden.into_iter().map(|shared| shared.hidden(place, &sight, catalogue, listed));
            picture.differences.extend(hidden);
        }
        let lacks = lacks.into_iter().filter(|(_, skills)| !skills.is_empty());
        let missing = |(host, skills): (&Host, Vec<&ListedSkill>)| {
            MissingSkills::of(place, &sight, catalogue, host, &skills, hosts.is_in_use(host.id))
        };
        picture.lacking = lacks.map(missing).collect();
        Ok(picture)
    }
}

impl AgentViews {
    /// Formats the comparison as JSON.
    pub fn document(&self) -> HostsDocument {
        let (errors, warnings): (Vec<_>, Vec<_>) = self.differences.iter().partition(|one| one.is_error);
        HostsDocument {
            problems: errors.into_iter().map(Difference::document).collect(),
            warnings: warnings.into_iter().map(Difference::document).collect(),
            lacking: self.lacking.iter().map(MissingSkills::document).collect(),
        }
    }
}

impl Difference {
    /// Formats the difference as JSON, in the form of a document's problems.
    pub fn document(&self) -> Value {
        let revision = match self.reads {
            Reads::Older { number } => Some(number),
            _ => None,
        };
        json!({
            "skill": self.skill.as_str(), "code": self.code, "agents": self.agents, "path": self.path,
            "reads": self.reads.as_str(), "revision": revision, "message": self.message, "hint": self.command,
        })
    }
}

/// Hosts that read the same location, with the view of the first. All of them are in use, or none is.
struct SharedPlace<'a> {
    path: PathBuf,
    view: AgentView,
    hosts: Vec<&'a Host>,
    in_use: bool,
}

/// Adds a host to those that read the same location.
fn add_host<'a>(places: &mut Vec<SharedPlace<'a>>, host: &'a Host, view: AgentView, in_use: bool) {
    let Some(path) = view.path.clone() else { return };
    match places.iter_mut().find(|known| known.path == path && known.in_use == in_use) {
        Some(known) => known.hosts.push(host),
        None => places.push(SharedPlace { path, view, hosts: vec![host], in_use }),
    }
}

impl SharedPlace<'_> {
    fn agents(&self) -> Vec<&'static str> {
        self.hosts.iter().map(|host| host.id).collect()
    }

    /// Describes content that differs from `read`.
    fn differing(self, place: &Workspace, listed: &ListedSkill) -> Difference {
        let agents = self.agents();
        let (who, at) = (agents.join(", "), visible(&place.short(&self.path)));
        let (reads, name) = (if agents.len() == 1 { "reads" } else { "read" }, &listed.name);
        let message = match self.view.reads {
            _ if listed.missing => format!("{who} {reads} {name} at {at}, but its folder in the library is missing"),
            Reads::Blocked => {
                let why = visible(listed.fault.as_deref().unwrap_or_default());
                format!("{who} {reads} {name} at {at}, which skillhub does not serve: {why}")
            }
            Reads::Older { number } => format!("{who} {reads} revision {number} of {name} at {at}, not the newest"),
            _ => format!("{who} {reads} a different {name}, at {at}"),
        };
        let command = repair(place, listed, &self.view, &self.path, &self.hosts);
        let (code, skill) = ("agent_reads_other", name.clone());
        Difference {
            code,
            is_error: true,
            skill,
            agents,
            path: self.path,
            reads: self.view.reads,
            message,
            command,
            link_to: None,
        }
    }

    /// Describes a skill that is hidden from the agents but still read by their hosts.
    fn hidden(
        self,
        place: &Workspace,
        sight: &FolderVisibility,
        catalogue: &Catalogue,
        listed: &ListedSkill,
    ) -> Difference {
        let remedy = Remedy::of(place, sight, catalogue, &self.hosts, listed, &self.path);
        let agents = self.agents();
        let (who, at) = (agents.join(", "), visible(&place.short(&self.path)));
        let why =
            if self.view.sight == Visibility::Disabled { "which is disabled" } else { "which a permission denies" };
        let (reads, skill) = (if agents.len() == 1 { "reads" } else { "read" }, listed.name.clone());
        let still = format!("{who} still {reads} {skill}, {why}, at {at}");
        let (message, command) = match remedy.command() {
            Some(command) => (format!("{still}; {remedy}"), command),
            None => (still, remedy.to_string()),
        };
        let (code, is_error) = ("agent_reads_hidden", self.in_use);
        let link_to = match remedy {
            Remedy::RemoveLink(library) => Some(library),
            _ => None,
        };
        Difference { code, is_error, skill, agents, path: self.path, reads: self.view.reads, message, command, link_to }
    }
}

/// Returns whether a path is a folder and not a link to one.
#[expect(clippy::disallowed_methods, reason = "says how a folder of an agent is placed; nothing is read or written")]
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Returns the command that makes the hosts read the skill. It links the skill in an agent's own folder, or adopts the
/// folder at that location.
fn repair(place: &Workspace, listed: &ListedSkill, view: &AgentView, path: &Path, hosts: &[&Host]) -> String {
    let (name, is_of_user) = (&listed.name, view.scope == Some(Scope::User));
    let global = if is_of_user && place.project().is_some() { " --global" } else { "" };
    let is_folder = is_folder(path);
    // This includes an agent's folder that is itself a link to the library.
    let is_own = listed.path.is_some() && library::resolve(path).ok() == listed.path;
    if is_own && listed.blocked {
        return restore(place, listed);
    }
    if is_own && listed.held().is_some() {
        return format!("skillhub commit {name} --reason TEXT{global}");
    }
    if listed.missing {
        return format!("skillhub rollback {name} head{global}");
    }
    let is_same_scope = is_of_user == (listed.scope == Scope::User);
    // Content that was never a revision of the skill is not replaced. Only its owner can move it away.
    if is_same_scope && matches!(view.reads, Reads::Other) && !is_own {
        return move_aside(path, name);
    }
    let owner = hosts.iter().find(|host| host.owns(path)).map(|host| host.id);
    match (owner, is_same_scope) {
        (Some(id), true) => {
            format!("skillhub enable {name} --agent {id}{}{global}", if is_folder { " --link" } else { "" })
        }
        // The link leads to the user's skill, which takes precedence over the project's.
        (Some(id), false) if is_of_user && !is_folder => format!("skillhub disable {name} --agent {id}{global}"),
        _ => format!("skillhub adopt {} --link{global}", shell_word(&path.display().to_string())),
    }
}

/// Returns the command that removes blocked content from a skill's folder. If the history can preserve the content, the
/// newest revision is restored, otherwise the folder is moved aside.
fn restore(place: &Workspace, listed: &ListedSkill) -> String {
    let Some(path) = &listed.path else { return "skillhub doctor".to_owned() };
    let is_readable = library::folder::open_at(path)
        .and_then(|dir| library::folder::read_dir(dir, library::folder::ToolFiles::Skip, &skill::Limits::default()));
    if listed.head.is_none() || is_readable.is_err() {
        return move_aside(path, &listed.name);
    }
    let global = if listed.scope == Scope::User && place.project().is_some() { " --global" } else { "" };
    format!("skillhub rollback {} head{global}", listed.name)
}

/// Returns the command that moves a folder or link out of the folder that hosts read.
pub fn move_aside(path: &Path, name: &SkillName) -> String {
    let aside = path.parent().and_then(Path::parent).unwrap_or(path).join(format!("{name}.aside"));
    let word = |path: &Path| shell_word(&path.display().to_string());
    format!("mv {} {}", word(path), word(&aside))
}

/// Returns whether a person hid the skill from the agent, by disabling its link in the agent's folder.
fn is_hidden_from(host: &Host, listed: &ListedSkill, state: &State) -> bool {
    let hidden_in = state.of(&listed.name).hidden_in;
    hidden_in.iter().any(|folder| host.owns(&folder.join(listed.name.as_str())))
}
