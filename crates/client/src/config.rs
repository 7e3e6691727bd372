//! [`Config`]: the user's `config.toml`.

mod edit;
pub(crate) mod error;
mod skills;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use library::{Home, open_dir, read_bounded, refuse_toml_flood};
use schemars::JsonSchema;
use serde::Deserialize;
use skill::{Limits, Owner};
use toml::{Table, Value};

use crate::policy_file::PolicyFile;

pub use edit::{add_source, remove_source, set_public_search};
pub use error::ConfigError;
use error::FORMAT;
pub use skills::{SkillsConfig, public_and_custom};
pub use sources::{SearchConfig, SourceConfig, SourceKind};

const FILE: &str = "config.toml";

/// Schema of a table that a crate above this one reads.
type AnyTable = serde_json::Map<String, serde_json::Value>;

/// `config.toml` of the home. Every part has a default, so that the file need not exist.
///
/// ```toml
/// format = 1
/// owner = "acme"                 # owner to publish under
/// require_signatures = ["acme"]  # owners whose releases are installed only if signed; "*" for all
/// policy = "balanced"            # what agents may change: open, balanced or strict
///
/// [[rules]]                      # checked before the preset, first match wins; see docs/guides/policy.md
/// decision = "hold"
/// changes = ["scripts"]
///
/// [registries.team]              # for --registry team, and for the owners it may serve
/// location = "git@host:team/skills.git"   # a git URL or a folder
/// require_signatures = true      # installs only releases signed by their owner
/// owners = ["acme"]              # one registry may have "*"
///
/// [sources.docs]                 # searched, beside the registries; `skillhub source add` writes it
/// kind = "well-known"            # registry, git, marketplace, well-known, clawhub or folder
/// location = "https://docs.example.org"
///
/// [search]
/// public = true                  # `search` also covers public sources, such as ClawHub
///
/// [signing]
/// key = "~/.ssh/id_ed25519"      # key that `publish --sign` uses
///
/// [library]
/// storage = "git"
///
/// [skills]
/// use = "local"                  # or "registry": its skills are listed as public ones
/// path = "~/deer-flow/skills"    # the library's folder, or the registry as --registry takes it
/// container_path = "/mnt/skills" # path under which agents in a container see the skills
/// uploads = "~/deer-flow/threads"  # folder for installs over HTTP that name a thread and a path
///
/// [agents]
/// in_use = ["claude-code"]       # agents that get every skill, besides those with a folder in the project
///
/// [scan]                         # additions to the scanner's rules; see docs/guides/scan-rules.md
/// own_hosts = ["acme.example"]
///
/// [notify]                       # command that gets events of proposals and of the gate as JSON on standard input
/// command = ["notify-send.sh"]
///
/// [review]
/// elicitation = true             # decisions of the person at an MCP client count
/// ```
///
/// `[agent]`, `[skill_evolution]`, `[agents.ID]` and `[[permissions]]` configure what agents see, `[gate]` configures
/// trials of revisions, `[tools]` and `[mcp_servers.NAME]` restrict what the steps of composed tools may call. The code
/// that uses these tables validates them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Format of the file, 1.
    #[schemars(range(min = 1, max = 1))]
    format: u32,
    /// Owner to publish under when the command names none.
    pub owner: Option<String>,
    /// Owners whose releases must be signed; `*` for all.
    pub require_signatures: Vec<String>,
    /// Settings for signing releases.
    pub signing: SigningConfig,
    /// Policy preset for changes by agents: open, balanced (the default) or strict.
    #[schemars(extend("enum" = ["open", "balanced", "strict"], "default" = "balanced"))]
    pub policy: Option<String>,
    /// Policy rules, checked before the preset.
    #[schemars(with = "Vec<AnyTable>")]
    rules: Vec<Table>,
    /// Registries by name.
    pub registries: BTreeMap<String, RegistryConfig>,
    /// Sources that are searched, by name. Those that are registries are in [`Self::registries`].
    pub sources: BTreeMap<String, SourceConfig>,
    /// Settings for searches.
    pub search: SearchConfig,
    /// Settings for the storage of libraries.
    pub library: LibraryConfig,
    /// Source of the skills.
    #[schemars(with = "skills::Fields")]
    pub skills: SkillsConfig,
    /// Command that is notified about proposals and decisions of the gate.
    pub notify: NotifyConfig,
    /// Settings for reviews by a person.
    pub review: ReviewConfig,
    /// Settings for all agents.
    #[schemars(with = "AnyTable")]
    pub agent: Table,
    /// Settings for when agents are instructed to change skills.
    #[schemars(with = "AnyTable")]
    pub skill_evolution: Table,
    /// Settings for trials of new revisions.
    #[schemars(with = "AnyTable")]
    pub gate: Table,
    /// Agents in use, and settings for individual agents.
    #[schemars(with = "AnyTable")]
    pub agents: AgentsConfig,
    /// Permissions: the skills that each agent may see and use.
    #[schemars(with = "Vec<AnyTable>")]
    pub permissions: Vec<Table>,
    /// Additions to the scanner's rules.
    pub scan: scan::Settings,
    /// Limits of the tools that steps of composed tools call.
    #[schemars(with = "AnyTable")]
    pub tools: Table,
    /// MCP servers whose tools steps may call, by name.
    #[schemars(with = "BTreeMap<String, AnyTable>")]
    pub mcp_servers: BTreeMap<String, Table>,
}

/// The table `[agents]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Table")]
pub struct AgentsConfig {
    /// Ids of agents in use besides those detected by their own folder in the project.
    pub in_use: Vec<String>,
    /// The tables `[agents.ID]`, by the agent's id.
    pub tables: BTreeMap<String, Table>,
}

impl TryFrom<Table> for AgentsConfig {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, String> {
        let in_use = table.remove("in_use").map(Value::try_into).transpose();
        let in_use: Vec<String> =
            in_use.map_err(|_| "agents.in_use is not a list of agents".to_owned())?.unwrap_or_default();
        if let Some(unknown) = in_use.iter().find(|id| library::find_agent(id).is_none()) {
            return Err(format!(
                "agents.in_use has the unknown agent {unknown:?}; without it, `list --agents` shows the known ones"
            ));
        }
        let mut tables = BTreeMap::new();
        for (id, value) in table {
            let Value::Table(value) = value else { return Err(format!("agents.{id} is not a table")) };
            tables.insert(id, value);
        }
        Ok(Self { in_use, tables })
    }
}

/// The table `[registries.NAME]`: one registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegistryConfig {
    /// Folder, relative to the home, or git URL.
    pub location: String,
    /// Owners whose skills are looked up only in this registry; `*` for all that no other registry lists. If empty, the
    /// registry is used only when a command names it.
    #[serde(default)]
    pub owners: Vec<String>,
    /// True if only releases signed by their owner are accepted from this registry.
    #[serde(default)]
    pub require_signatures: bool,
    /// True if it is a source, which is searched even if it serves no owners.
    #[serde(skip)]
    pub is_source: bool,
}

/// The table `[signing]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SigningConfig {
    /// Path of the private key file.
    pub key: Option<String>,
}

/// The table `[notify]`: a command that is notified about proposals and decisions of the gate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NotifyConfig {
    /// Program and its arguments; empty to disable notifications.
    pub command: Vec<String>,
    /// Events to send, as named in the log; empty for all. Other words, which earlier versions accepted, have no effect.
    #[schemars(extend("items" = {"type": "string", "enum": [
        "proposed", "amended", "accepted", "rejected", "stale", "quarantined", "expired", "superseded", "promoted",
        "rolled_back", "inconclusive", "alarmed",
    ]}))]
    pub events: Vec<String>,
    /// Timeout of the command, in seconds.
    pub timeout_seconds: u64,
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self { command: Vec::new(), events: Vec::new(), timeout_seconds: 10 }
    }
}

/// The table `[review]`: how a person's decisions reach skillhub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewConfig {
    /// True if answers to questions of the MCP server (elicitation) count as decisions of a person. This trusts every
    /// program that can start the server or connect to it to show the questions to a person.
    pub elicitation: bool,
}

/// The table `[library]` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LibraryConfig {
    /// Storage backend for histories. The only one is `git`.
    #[schemars(extend("enum" = ["git"]))]
    pub storage: String,
}

impl Default for LibraryConfig {
    fn default() -> Self {
        Self { storage: "git".to_owned() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            format: FORMAT,
            owner: None,
            require_signatures: Vec::new(),
            signing: SigningConfig::default(),
            policy: None,
            rules: Vec::new(),
            registries: BTreeMap::new(),
            sources: BTreeMap::new(),
            search: SearchConfig::default(),
            library: LibraryConfig::default(),
            skills: SkillsConfig::default(),
            notify: NotifyConfig::default(),
            review: ReviewConfig::default(),
            agent: Table::new(),
            skill_evolution: Table::new(),
            gate: Table::new(),
            agents: AgentsConfig::default(),
            permissions: Vec::new(),
            scan: scan::Settings::default(),
            tools: Table::new(),
            mcp_servers: BTreeMap::new(),
        }
    }
}

impl Config {
    /// Reads the home's `config.toml`. Returns the defaults if it does not exist.
    ///
    /// # Errors
    /// [`ConfigError`]
    pub fn read(home: &Home) -> Result<Self, ConfigError> {
        let path = home.config();
        let Some(dir) = open_dir(home.path())? else { return Ok(Self::default()) };
        match read_bounded(&dir, FILE, Limits::default().settings_bytes) {
            Ok(None) => Ok(Self::default()),
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => Self::parse(&text, &path),
                Err(error) => Err(ConfigError::Damaged { message: error.utf8_error().to_string(), path }),
            },
            Err(source) => Err(ConfigError::Io { path, source }),
        }
    }

    /// Parses the text of a `config.toml`. `path` appears in error messages only.
    ///
    /// # Errors
    /// [`ConfigError`]
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let damaged =
            |message: String| ConfigError::Damaged { path: path.to_owned(), message: message.trim_end().to_owned() };
        refuse_toml_flood(text).map_err(damaged)?;
        let mut config: Self = toml::from_str(text).map_err(|error| damaged(error.to_string()))?;
        if config.format != FORMAT {
            return Err(ConfigError::Format { path: path.to_owned(), found: config.format });
        }
        config.join_registries().map_err(damaged)?;
        config.check_owners(path)?;
        Ok(config)
    }

    /// Returns the policy part of the user's `config.toml`.
    #[must_use]
    pub fn policy_file(&self, home: &Home) -> PolicyFile {
        PolicyFile::new(home.config(), self.policy.clone(), self.rules.clone())
    }

    fn check_owners(&self, path: &Path) -> Result<(), ConfigError> {
        let path = || path.to_owned();
        if let Some(owner) = &self.owner {
            Owner::parse(owner).map_err(|source| ConfigError::Owner { path: path(), source })?;
        }
        for owner in self.require_signatures.iter().filter(|owner| *owner != "*") {
            Owner::parse(owner).map_err(|source| ConfigError::Owner { path: path(), source })?;
        }
        let mut seen = BTreeSet::new();
        for owner in self.registries.values().flat_map(|registry| &registry.owners) {
            if owner != "*" {
                Owner::parse(owner).map_err(|source| ConfigError::Owner { path: path(), source })?;
            }
            if !seen.insert(owner) {
                return Err(ConfigError::OwnerTwice { path: path(), owner: owner.clone() });
            }
        }
        Ok(())
    }

    /// Returns the name of the registry that serves an owner: the one that lists it, otherwise the one with `*`.
    #[must_use]
    pub fn registry_of(&self, owner: &str) -> Option<&str> {
        let serving = |wanted: &str| {
            self.registries.iter().find(|(_, registry)| registry.owners.iter().any(|owner| owner == wanted))
        };
        serving(owner).or_else(|| serving("*")).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use skill::failure::{Fails, FailureKind};

    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("config.toml"))
    }

    #[test]
    fn missing_file_means_defaults() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        assert_eq!(Config::read(&home).unwrap(), Config::default());
        assert_eq!(parse("").unwrap(), Config::default());
        assert_eq!(parse("format = 1\n[library]\n").unwrap(), Config::default());
    }

    #[test]
    fn named_owner_precedes_the_wildcard() {
        let config = parse(
            "owner = \"acme\"\n[registries.a]\nlocation = \"/a\"\nowners = [\"*\"]\n\
             [registries.b]\nlocation = \"file:///b\"\nowners = [\"acme\"]\n[registries.c]\nlocation = \"c\"\n",
        )
        .unwrap();
        assert_eq!((config.registry_of("acme"), config.registry_of("zoe")), (Some("b"), Some("a")));
        assert_eq!(Config::default().registry_of("acme"), None);
    }

    #[test]
    fn invalid_config_is_refused() {
        let error = parse("owner = \"acme\"\nowner = \"zoe\"\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(matches!(parse("polcy = \"strict\"\n"), Err(ConfigError::Damaged { .. })), "a key that nobody reads");
        assert!(matches!(parse("format = 2\n"), Err(ConfigError::Format { found: 2, .. })));
        assert!(matches!(parse("owner = \"A B\"\n"), Err(ConfigError::Owner { .. })));
        let twice =
            "[registries.a]\nlocation=\"/a\"\nowners=[\"x\"]\n[registries.b]\nlocation=\"/b\"\nowners=[\"x\"]\n";
        assert!(matches!(parse(twice), Err(ConfigError::OwnerTwice { .. })));
        assert_eq!(parse("[registries.a]\n").unwrap_err().failure().kind, FailureKind::Usage);
    }
}
