//! [`Settings`]: the configuration of the skills that agents see.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use skill::failure::{Fails, Failure};
use thiserror::Error;
use toml::Table;

use crate::permission::{Permission, PermissionDecision, Permissions, Subject, matches};

/// Parts of the user's configuration that concern agents.
///
/// ```toml
/// [agent]                         # for all agents
/// container_path = "/mnt/skills"  # root of the skills for agents in a container
/// always_on = ["Read"]            # tools that are allowed regardless of allowed-tools
/// use_log = true                  # record which skill was read
///
/// [skill_evolution]
/// enabled = true                  # agents may change skills, and get advice on when to do so
///
/// [agents.codex]                  # for one agent, by its id
/// skills = ["pdf-*", "tables"]    # skills that it sees; all by default
/// skill_evolution = false
/// skill_tool = true               # offer the tool `skill` in place of `read_skill`, as for OpenCode
///
/// [agents.codex.capabilities]     # composed tools and tools of servers that it may use; all by default
/// allow = ["skill_report", "web_search"]  # a composed tool includes the tools called by its steps
///
/// [[permissions]]                 # the last match applies
/// agent = "codex"                 # every agent by default
/// skill = "internal-*"            # or: tool = "install_skill"
/// decision = "deny"               # allow, ask or deny
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Rules on the visibility and use of skills and tools.
    pub permissions: Permissions,
    /// Root of the skills for agents in a container.
    pub container_path: Option<String>,
    /// Tools that are allowed regardless of the skills' declarations.
    pub always_on: Vec<String>,
    /// True if the usage log is written.
    pub use_log: bool,
    evolution: bool,
    agents: BTreeMap<String, AgentSettings>,
}

/// Tables as written in the file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tables {
    /// Table `[agent]`, for all agents.
    #[schemars(with = "AllAgents")]
    pub agent: Table,
    /// Table `[skill_evolution]`, for all agents.
    #[schemars(with = "Evolution")]
    pub skill_evolution: Table,
    /// Tables `[agents.ID]` by agent id.
    #[schemars(with = "BTreeMap<String, AgentSettings>")]
    pub agents: BTreeMap<String, Table>,
    /// Tables `[[permissions]]`, in the order of the file.
    #[schemars(with = "Vec<PermissionTable>")]
    pub permissions: Vec<Table>,
}

/// Error in a table of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{table} in config.toml is invalid: {message}")]
pub struct SettingsError {
    /// Name of the table.
    pub table: String,
    /// Description of the error.
    pub message: String,
}

impl Fails for SettingsError {
    fn failure(&self) -> Failure {
        Failure::invalid_config()
    }
}

/// Settings for all agents.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct AllAgents {
    /// Path of the skills for agents in a container.
    container_path: Option<String>,
    /// Tools that are allowed regardless of the `allowed-tools` of skills.
    always_on: Vec<String>,
    /// True to record which agent read which skill, on this machine only.
    use_log: bool,
}

impl Default for AllAgents {
    fn default() -> Self {
        Self { container_path: None, always_on: Vec::new(), use_log: true }
    }
}

/// Settings for changes of skills by agents.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Evolution {
    /// True if agents may change skills, and get advice on when to do so.
    #[serde(default = "yes")]
    enabled: bool,
}

fn yes() -> bool {
    true
}

/// Settings for one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct AgentSettings {
    /// Name patterns of the skills that it sees; all by default.
    skills: Option<Vec<String>>,
    /// True if it may change skills; the setting for all agents by default.
    skill_evolution: Option<bool>,
    /// True to offer the tool `skill` in place of `read_skill`.
    skill_tool: Option<bool>,
    /// Composed tools and tools of servers that it may use; all by default.
    capabilities: Option<Capabilities>,
}

/// Tools that an agent may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Capabilities {
    /// Names or patterns. A composed tool includes the tools that its steps call.
    allow: Vec<String>,
}

/// Permission for a skill or for a tool; exactly one of `skill` and `tool` is set. The last match applies.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PermissionTable {
    /// Id of the agent; every agent by default.
    agent: Option<String>,
    /// Name pattern of the skill, bare or `owner/name`.
    skill: Option<String>,
    /// Name pattern of the tool.
    tool: Option<String>,
    /// Decision for what matches.
    decision: PermissionDecision,
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
    /// Parses the tables.
    ///
    /// # Errors
    /// The first table with an error.
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

    /// Returns whether an agent may change skills and gets advice on when to do so.
    pub fn mentions_evolution(&self, agent: &str) -> bool {
        self.evolution_off(agent).is_none()
    }

    /// Returns the table of the configuration that keeps an agent from changing skills. `None` if it may.
    pub fn evolution_off(&self, agent: &str) -> Option<String> {
        match self.agents.get(agent).and_then(|agent| agent.skill_evolution) {
            Some(false) => Some(format!("[agents.{agent}]")),
            None if !self.evolution => Some("[skill_evolution]".to_owned()),
            _ => None,
        }
    }

    /// Returns the setting that offers an agent the tool `skill` in place of `read_skill`. `None` if it is not set.
    pub fn has_skill_tool(&self, agent: &str) -> Option<bool> {
        self.agents.get(agent)?.skill_tool
    }

    /// Returns whether an agent's list of capabilities has a tool. `None` for an agent without a list.
    pub fn capability(&self, agent: &str, tool: &str) -> Option<bool> {
        let allowed = &self.agents.get(agent)?.capabilities.as_ref()?.allow;
        Some(allowed.iter().any(|pattern| matches(pattern, tool)))
    }

    /// Returns whether any setting hides a skill from an agent or requires a person's consent.
    pub fn restricts_skills(&self) -> bool {
        self.permissions.name_skills() || self.agents.values().any(|agent| agent.skills.is_some())
    }

    /// Returns whether the agent's list contains a skill, by its bare name or `owner/name`. True for an agent without a
    /// list.
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
            let message = "it must have either `skill` or `tool`".to_owned();
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
    fn settings_have_defaults_and_reject_mistakes() {
        assert_eq!(settings("").unwrap(), Settings::default());
        let read = settings(
            "[agent]\nalways_on = ['Read']\ncontainer_path = '/mnt'\n[skill_evolution]\nenabled = false\n\
             [agents.codex]\nskills = ['pdf-*']\nskill_evolution = true\n\
             [[permissions]]\nskill = 'x'\ndecision = 'deny'\n",
        )
        .unwrap();
        assert!(read.mentions_evolution("codex") && !read.mentions_evolution("other"));
        assert!(read.is_on_list("codex", "pdf-a", None) && !read.is_on_list("codex", "x", None));
        assert!(read.is_on_list("other", "x", None));
        assert_eq!(read.permissions.skill("other", "x", None), PermissionDecision::Deny);
        assert!(read.grants_visibility("codex", "pdf-a", None) && !read.grants_visibility("codex", "other", None));
        assert!(read.grants_visibility("other", "other", None) && !read.grants_visibility("other", "x", None));
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
