//! The agents in use on this machine, and the state of their connections.

use std::{io::ErrorKind, path::Path};

use client::{AgentFolder, AgentFolders};
use library::{Agent, find_agent};
use mcp::hosts::Host;
use skill::Limits;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::{found::FoundLibrary, record::FileChange};
use crate::{
    commands::mcp::install,
    context::Context,
    exit::{CliError, Exit, io_at},
    reading::text_at,
};

/// An agent in use.
pub struct InUse {
    /// Row of the agent in the table of agents.
    pub agent: &'static Agent,
    /// True if the user has a folder of this agent, so that it belongs in the user's configuration.
    pub of_user: bool,
    /// Plan to register the MCP server. `None` for a host with an unsupported configuration.
    pub connection: Option<Result<Connection, CliError>>,
    /// Plan to record its sessions. `None` for a host without hooks, or if the usage log is disabled.
    pub hook: Option<Result<Connection, CliError>>,
}

impl InUse {
    /// Returns the configuration files that have to be written, in this order.
    pub fn new_files(&self) -> impl Iterator<Item = &FileChange> {
        [&self.connection, &self.hook].into_iter().flatten().flatten().filter(|it| it.is_new).map(|it| &it.file)
    }
}

/// The server's entry or the hook in a host's configuration.
pub struct Connection {
    /// Configuration file with its old and new text.
    pub file: FileChange,
    /// True if the entry has to be written.
    pub is_new: bool,
}

/// Returns the agents that have a folder of their own, in the project or in the user's home.
pub fn in_use(context: &Context, places: &[FoundLibrary]) -> Vec<InUse> {
    let of_user = with_folder(&context.user_agent_folders()).into_iter().map(|id| (id, true));
    let of_places = places.iter().flat_map(|place| with_folder(&place.context.agent_folders()));
    let mut ids: Vec<(&'static str, bool)> = Vec::new();
    for (id, of_user) in of_user.chain(of_places.map(|id| (id, false))) {
        if ids.iter().all(|(known, _)| *known != id) {
            ids.push((id, of_user));
        }
    }
    ids.into_iter().filter_map(|(id, of_user)| Some(find(context, find_agent(id)?, of_user))).collect()
}

/// Returns the agents that own one of the folders: one in which their skills are placed, or one that no other agent
/// reads.
fn with_folder(folders: &AgentFolders) -> Vec<&'static str> {
    let is_shared = |folder: &AgentFolder| folder.path.ends_with(ops::SKILLS_FOLDER);
    let placed = folders.all().iter().filter(|folder| folder.in_use && !is_shared(folder));
    let mut ids: Vec<&'static str> = placed.filter_map(|folder| folder.ids.first().copied()).collect();
    for folder in folders.all_read().iter().skip(folders.all().len()).filter(|folder| folder.path.is_dir()) {
        if let [only] = folder.ids.as_slice() {
            ids.push(only);
        }
    }
    ids
}

fn find(context: &Context, agent: &'static Agent, of_user: bool) -> InUse {
    let Some(host) = Host::all().iter().find(|host| host.id == agent.id) else {
        return InUse { agent, of_user, connection: None, hook: None };
    };
    let planned = install::plan_for_user(context, host);
    let hook = install::plan_hook(context, host, None, &[], planned.as_ref().ok()).transpose();
    let hook = hook.map(|hook| hook.map(|planned| Connection::of(host, planned, true)));
    let connection = planned.map(|planned| Connection::of(host, planned, false));
    InUse { agent, of_user, connection: Some(connection), hook }
}

impl Connection {
    fn of(host: &Host, planned: install::Planned, is_hook: bool) -> Self {
        let is_new = planned.is_new();
        let (path, before, after) = (planned.target, planned.before, planned.after);
        Self { file: FileChange { agent: Some(host.id.to_owned()), is_hook, path, before, after }, is_new }
    }
}

/// Table and key of the configuration that list the agents in use.
const AGENTS: (&str, &str) = ("agents", "in_use");

/// Returns the user's configuration with these agents added, `None` if it has them all.
///
/// # Errors
/// The configuration cannot be read or parsed.
pub fn config_change(context: &Context, ids: &[&str]) -> Result<Option<FileChange>, CliError> {
    let path = context.home.config();
    let before = match text_at(&path, Limits::default().settings_bytes) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        text => Some(text.map_err(io_at(&path))?),
    };
    let after = with_agents(before.as_deref().unwrap_or("format = 1\n"), ids).map_err(|why| unusable(&path, &why))?;
    Ok(after.map(|after| FileChange { agent: None, is_hook: false, path, before, after }))
}

fn unusable(path: &Path, why: &str) -> CliError {
    CliError::new("invalid_config", Exit::Usage, format!("cannot change {}: {why}", path.display()))
        .hint(format!("correct {}", path.display()))
}

fn with_agents(text: &str, ids: &[&str]) -> Result<Option<String>, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let known = named(&document);
    let new: Vec<&&str> = ids.iter().filter(|id| !known.iter().any(|known| known == **id)).collect();
    if new.is_empty() {
        return Ok(None);
    }
    let agents = document.entry(AGENTS.0).or_insert_with(|| Item::Table(Table::new()));
    let agents = agents.as_table_like_mut().ok_or("`agents` is not a table")?;
    let list = agents.entry(AGENTS.1).or_insert_with(|| value(Array::new()));
    let list = list.as_array_mut().ok_or("`agents.in_use` is not a list")?;
    new.into_iter().for_each(|id| list.push(*id));
    Ok(Some(document.to_string()))
}

fn named(document: &DocumentMut) -> Vec<String> {
    let list = document.get(AGENTS.0).and_then(|agents| agents.get(AGENTS.1)).and_then(Item::as_array);
    list.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// Removes the agents that a change added from the text of the configuration.
///
/// # Errors
/// The configuration cannot be parsed.
pub fn without_agents(text: &str, change: &FileChange) -> Result<String, CliError> {
    let parse = |text: &str| text.parse::<DocumentMut>().map_err(|error| unusable(&change.path, &error.to_string()));
    let (mut document, before, after) =
        (parse(text)?, named(&parse(change.before.as_deref().unwrap_or_default())?), named(&parse(&change.after)?));
    let is_ours = |id: &str| after.iter().any(|known| known == id) && !before.iter().any(|known| known == id);
    let list = document.get_mut(AGENTS.0).and_then(|agents| agents.get_mut(AGENTS.1)).and_then(Item::as_array_mut);
    if let Some(list) = list {
        list.retain(|id| !id.as_str().is_some_and(is_ours));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_join_those_in_use() {
        let text = "# mine\nformat = 1\n\n[agents]\nin_use = [\"codex\"] # kept\n";
        let after = with_agents(text, &["codex", "claude-code"]).unwrap().unwrap();
        assert_eq!(after, text.replace("\"codex\"]", "\"codex\", \"claude-code\"]"));
        assert_eq!(with_agents(&after, &["claude-code"]).unwrap(), None);
        let change = FileChange {
            agent: None,
            is_hook: false,
            path: "c".into(),
            before: Some(text.to_owned()),
            after: after.clone(),
        };
        let edited = format!("owner = \"me\"\n{after}");
        assert_eq!(without_agents(&edited, &change).unwrap(), format!("owner = \"me\"\n{text}"));
    }

    #[test]
    fn new_configuration_has_the_agents() {
        let after = with_agents("format = 1\n", &["claude-code"]).unwrap().unwrap();
        assert_eq!(after, "format = 1\n\n[agents]\nin_use = [\"claude-code\"]\n");
        assert_eq!(with_agents("format = 1\n", &[]).unwrap(), None);
        assert!(with_agents("agents = 1\n", &["codex"]).is_err());
    }
}
