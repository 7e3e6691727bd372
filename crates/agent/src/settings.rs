//! [`Settings`]: what the configuration says of what agents see.

use std::collections::BTreeMap;

use serde::Deserialize;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;
use toml::Table;

use crate::permission::{Decision, Permission, Permissions, Subject, matches};

/// The parts of the user's configuration that are about agents.
///
/// ```toml
/// [agent]                         # for all agents
/// container_path = "/mnt/skills"  # where skills stand for agents in a container
/// always_on = ["Read"]            # tools that no skill's allowed-tools takes away
/// use_log = true                  # whether it is kept which skill was read
///
/// [skill_evolution]
/// enabled = true                  # whether agents are told when to change skills, and may
///
/// [agents.codex]                  # for one agent, by its id
/// skills = ["pdf-*", "tables"]    # the skills that it sees, all without this
/// skill_evolution = false
/// skill_tool = true               # whether it gets the tool `skill` in place of `read_skill`; OpenCode does
///
/// [agents.codex.capabilities]     # the composed tools and tools of servers that it may use, all without this
/// allow = ["skill_report", "web_search"]  # a composed tool is granted with what its steps call
///
/// [[permissions]]                 # the last that matches holds
/// agent = "codex"                 # every agent without this
/// skill = "internal-*"            # or: tool = "install_skill"
/// decision = "deny"               # allow, ask or deny
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Who may see and use what.
    pub permissions: Permissions,
    /// Where skills stand for agents in a container.
    pub container_path: Option<String>,
    /// Tools that are allowed whatever skills say.
    pub always_on: Vec<String>,
    /// Whether the log of uses is written.
    pub use_log: bool,
    evolution: bool,
    agents: BTreeMap<String, AgentSettings>,
}

/// The tables as they stand in the file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tables {
    /// `[agent]`
    pub agent: Table,
    /// `[skill_evolution]`
    pub skill_evolution: Table,
    /// `[agents.ID]`
    pub agents: BTreeMap<String, Table>,
    /// `[[permissions]]`
    pub permissions: Vec<Table>,
}

/// A table that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{table} cannot be used: {message}")]
pub struct SettingsError {
    /// Which one.
    pub table: String,
    /// What is wrong with it.
    pub message: String,
}

impl Fails for SettingsError {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Usage, "invalid_config").hint("mend config.toml; `skillhub where` says where it is")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AllAgents {
    container_path: Option<String>,
    always_on: Vec<String>,
    use_log: bool,
}

impl Default for AllAgents {
    fn default() -> Self {
        Self { container_path: None, always_on: Vec::new(), use_log: true }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evolution {
    #[serde(default = "yes")]
    enabled: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentSettings {
    skills: Option<Vec<String>>,
    skill_evolution: Option<bool>,
    skill_tool: Option<bool>,
    capabilities: Option<Capabilities>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capabilities {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PermissionTable {
    agent: Option<String>,
    skill: Option<String>,
    tool: Option<String>,
    decision: Decision,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            permissions: Permissions::default(),
            container_path: None,
            always_on: Vec::new(),
            use_log: true,
            evolution: true,
            agents: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Reads the tables.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub fn of(tables: &Tables) -> Result<Self, SettingsError> {
        let all: AllAgents = read("[agent]", &tables.agent)?;
        let evolution: Evolution = read("[skill_evolution]", &tables.skill_evolution)?;
        let agents = tables.agents.iter().map(|(id, table)| Ok((id.clone(), read(&format!("[agents.{id}]"), table)?)));
        let rules = tables.permissions.iter().enumerate().map(|(index, table)| permission(index + 1, table));
        Ok(Self {
            permissions: Permissions::new(rules.collect::<Result<_, _>>()?),
            container_path: all.container_path,
            always_on: all.always_on,
            use_log: all.use_log,
            evolution: evolution.enabled,
            agents: agents.collect::<Result<_, _>>()?,
        })
    }

    /// Lets an agent change skills, and tells it when to.
    #[must_use]
    pub fn tells_of_evolution(&self, agent: &str) -> bool {
        self.agents.get(agent).and_then(|agent| agent.skill_evolution).unwrap_or(self.evolution)
    }

    /// Offers an agent the tool `skill` in place of `read_skill`, or does not, where that is said.
    #[must_use]
    pub fn has_skill_tool(&self, agent: &str) -> Option<bool> {
        self.agents.get(agent)?.skill_tool
    }

    /// Tests an agent's list of capabilities for a tool; `None` for an agent without such a list.
    #[must_use]
    pub fn capability(&self, agent: &str, tool: &str) -> Option<bool> {
        let allowed = &self.agents.get(agent)?.capabilities.as_ref()?.allow;
        Some(allowed.iter().any(|pattern| matches(pattern, tool)))
    }

    /// Tests for a setting that hides any skill from an agent, or has a person asked about one.
    #[must_use]
    pub fn restricts_skills(&self) -> bool {
        self.permissions.name_skills() || self.agents.values().any(|agent| agent.skills.is_some())
    }

    /// Whether the agent's list, if it has one, has a skill, by its bare name or `owner/name`.
    pub(crate) fn is_on_list(&self, agent: &str, name: &str, qualified: Option<&str>) -> bool {
        let list = self.agents.get(agent).and_then(|agent| agent.skills.as_ref());
        let is_meant =
            |pattern: &String| matches(pattern, name) || qualified.is_some_and(|name| matches(pattern, name));
        list.is_none_or(|list| list.iter().any(is_meant))
    }
}

fn read<'a, T: Deserialize<'a>>(name: &str, table: &Table) -> Result<T, SettingsError> {
    table
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| SettingsError { table: name.to_owned(), message: error.message().to_owned() })
}

fn permission(number: usize, table: &Table) -> Result<Permission, SettingsError> {
    let name = format!("[[permissions]] number {number}");
    let read: PermissionTable = read(&name, table)?;
    let subject = match (read.skill, read.tool) {
        (Some(skill), None) => Subject::Skill(skill),
        (None, Some(tool)) => Subject::Tool(tool),
        _ => {
            let message = "it has to name either a skill or a tool".to_owned();
            return Err(SettingsError { table: name, message });
        }
    };
    Ok(Permission { agent: read.agent.unwrap_or_else(|| "*".to_owned()), subject, decision: read.decision })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, SettingsError> {
        Settings::of(&toml::from_str(text).unwrap())
    }

    #[test]
    fn every_part_has_a_default_and_no_mistake_is_passed_over() {
        assert_eq!(settings("").unwrap(), Settings::default());
        let read = settings(
            "[agent]\nalways_on = ['Read']\ncontainer_path = '/mnt'\n[skill_evolution]\nenabled = false\n\
             [agents.codex]\nskills = ['pdf-*']\nskill_evolution = true\n\
             [[permissions]]\nskill = 'x'\ndecision = 'deny'\n",
        )
        .unwrap();
        assert!(read.tells_of_evolution("codex") && !read.tells_of_evolution("other"));
        assert!(read.is_on_list("codex", "pdf-a", None) && !read.is_on_list("codex", "x", None));
        assert!(read.is_on_list("other", "x", None));
        assert_eq!(read.permissions.skill("other", "x", None), Decision::Deny);
        assert!(read.lets_see("codex", "pdf-a", None) && !read.lets_see("codex", "other", None));
        assert!(read.lets_see("other", "other", None) && !read.lets_see("other", "x", None));
        for (text, table) in [
            ("[agent]\nalways = []", "[agent]"),
            ("[agents.codex]\nskills = 'a'", "[agents.codex]"),
            ("[agents.codex.capabilities]\ndeny = ['a']", "[agents.codex]"),
            ("[[permissions]]\ndecision = 'deny'", "[[permissions]] number 1"),
            ("[[permissions]]\nskill = 'a'\ntool = 'b'\ndecision = 'deny'", "[[permissions]] number 1"),
            ("[[permissions]]\nskill = 'a'\ndecision = 'never'", "[[permissions]] number 1"),
        ] {
            assert_eq!(settings(text).unwrap_err().table, table);
        }
    }
}
