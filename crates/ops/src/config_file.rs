//! [`ConfigFile`]: a configuration file, its faults with their lines, and the settings in force with their origins.
//!
//! The published schemas find the misspelt keys and mistyped values of a file all at once. The code that uses the settings
//! then checks what a schema cannot express.

mod document;
mod in_force;
mod schema;

use std::path::{Path, PathBuf};

use agent::near;
use client::{Config, ConfigError, LockFile, LockFileError, PolicyDocument, PolicyFile, settings_text};
use compose::ToolSettings;
use evolve::GateConfig;
use library::{agents, find_agent, refuse_toml_flood};
use scan::{RuleText, Scanner, SettingsError};
use serde::{Serialize, de::DeserializeOwned};
use skill_manage::Rule;

pub use self::in_force::{SettingInForce, SettingOrigin};
use self::{
    document::{Document, LineColumn, dotted, pointer_to},
    schema::Schema,
};
use crate::{
    refusal::Refusal,
    workspace::{POLICY_VARIABLE, SYSTEM_POLICY, Workspace},
};

/// Minimum length in bytes of an agent's id that another id may be a misspelling of. Users have agents of their own,
/// and short names are near each other by chance.
const DISTINCTIVE: usize = 8;

/// Kinds of configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfigKind {
    /// `config.toml` of a home.
    Config,
    /// Policy file, such as `/etc/skillhub/policy.toml`.
    Policy,
    /// File of `serve --config`, of which only keys and types are checked.
    Serve,
    /// `skillhub.lock` of a project.
    Lock,
    /// Rules of the user or a company for the scanner.
    Rules,
}

impl ConfigKind {
    /// Guesses the kind from the names of a file and its folder. [`Self::Config`] if they match no other kind.
    pub fn of(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let by_name = [("policy", Self::Policy), ("serve", Self::Serve), ("rules", Self::Rules), (".lock", Self::Lock)];
        let is_in_rules = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "rules");
        let otherwise = if is_in_rules { Self::Rules } else { Self::Config };
        by_name.into_iter().find(|(part, _)| name.contains(part)).map_or(otherwise, |(_, kind)| kind)
    }

    fn schema(self) -> Schema {
        Schema::new(match self {
            Self::Config => include_str!("../../../docs/schemas/config.json"),
            Self::Policy => include_str!("../../../docs/schemas/policy.json"),
            Self::Serve => include_str!("../../../docs/schemas/serve.json"),
            Self::Lock => include_str!("../../../docs/schemas/lock.json"),
            Self::Rules => include_str!("../../../docs/schemas/rules.json"),
        })
    }
}

/// A configuration file, which need not exist.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Kind of the file.
    pub kind: ConfigKind,
    /// Absolute path.
    pub path: PathBuf,
}

/// A fault in a configuration file.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ConfigFault {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Dotted key; empty if the fault belongs to none.
    pub key: String,
    /// Description. It does not quote values of a wrong type.
    pub message: String,
    /// Known key or value that may have been meant.
    pub nearest: Option<String>,
}

impl ConfigFault {
    fn new((line, column): LineColumn, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { line, column, key: key.into(), message: message.into(), nearest: None }
    }
}

impl Workspace {
    /// Returns the files that settings are read from, existing or not: `config.toml` of the home, the system's policy
    /// file, and the policy file that the environment names.
    pub fn config_files(&self) -> Vec<ConfigFile> {
        let policy = |path| ConfigFile { kind: ConfigKind::Policy, path };
        let named = (self.setup().variables)(POLICY_VARIABLE).map(|path| policy(self.cwd.join(path)));
        let own = ConfigFile { kind: ConfigKind::Config, path: self.home.config() };
        [own, policy(PathBuf::from(SYSTEM_POLICY))].into_iter().chain(named).collect()
    }

    /// Returns the faults of a file, in the order of its lines.
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    pub fn check_config(&self, file: &ConfigFile) -> Result<Vec<ConfigFault>, Refusal> {
        let text = settings_text(&file.path).map_err(Refusal::io_at(&file.path))?;
        let mut faults = self.faults_of(file, &text);
        faults.sort_by_key(|fault| (fault.line, fault.column));
        Ok(faults)
    }

    fn faults_of(&self, file: &ConfigFile, text: &str) -> Vec<ConfigFault> {
        if let Err(message) = refuse_toml_flood(text) {
            return vec![ConfigFault::new((1, 1), "", message)];
        }
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(errors) => {
                return errors.into_iter().map(|(at, message)| ConfigFault::new(at, "", message)).collect();
            }
        };
        let misfits = match file.kind.schema().misfits(&document.value) {
            Ok(misfits) => misfits,
            Err(message) => return vec![ConfigFault::new((1, 1), "", message)],
        };
        if misfits.is_empty() {
            return match file.kind {
                ConfigKind::Config => self.misuses_of_config(&file.path, text, &document),
                ConfigKind::Policy => self.misuses_of_policy(&file.path, text, &document),
                ConfigKind::Serve => Vec::new(),
                ConfigKind::Lock => misuses_of_lock(&file.path, text, &document),
                ConfigKind::Rules => misuses_of_rules(&file.path, text, &document),
            };
        }
        let described = |misfit: schema::Misfit| ConfigFault {
            nearest: misfit.nearest,
            ..ConfigFault::new(document.position(&misfit.pointer), dotted(&misfit.pointer), misfit.message)
        };
        misfits.into_iter().map(described).collect()
    }

    /// Returns the faults of a `config.toml` that only the code that uses it finds.
    fn misuses_of_config(&self, path: &Path, text: &str, document: &Document<'_>) -> Vec<ConfigFault> {
        let parse = |()| Config::parse(text, path).map_err(described);
        let config = match check_type::<Config>(text).and_then(parse) {
            Ok(config) => config,
            Err(message) => return vec![located(document, "", &message)],
        };
        let policy = config.policy_file(&self.home);
        let tables = agent::Tables {
            agent: config.agent.clone(),
            skill_evolution: config.skill_evolution.clone(),
            agents: config.agents.tables.clone(),
            permissions: config.permissions.clone(),
        };
        let checks = [
            ("/gate", GateConfig::of(&config.gate).map(drop).map_err(|error| error.to_string())),
            ("/tools", check_tools(&config)),
            ("/notify", check_notify(&config)),
            ("/agents", agent::Settings::of(&tables).map(drop).map_err(|error| error.to_string())),
            ("/scan", self.check_scanner(&config.scan, path)),
        ];
        let faults = checks.into_iter().filter_map(|(table, checked)| Some(located(document, table, &checked.err()?)));
        faults.chain(misspelt_agents(&config, document)).chain(misused_rule(&policy, document)).collect()
    }

    /// Returns the faults of a policy file that only the code that uses it finds.
    fn misuses_of_policy(&self, path: &Path, text: &str, document: &Document<'_>) -> Vec<ConfigFault> {
        let read = |()| PolicyFile::read(path).map_err(described);
        match check_type::<PolicyDocument>(text).and_then(read) {
            Ok(Some(policy)) => {
                let scanner = self.check_scanner(&policy.scan, path).err();
                let scanner = scanner.map(|message| located(document, "/scan", &message));
                scanner.into_iter().chain(misused_rule(&policy, document)).collect()
            }
            Ok(None) => Vec::new(),
            Err(message) => vec![located(document, "", &message)],
        }
    }

    fn check_scanner(&self, settings: &scan::Settings, path: &Path) -> Result<(), String> {
        let settings = client::scan_settings(settings.clone(), path, &self.user_home, self.now);
        settings.and_then(|settings| client::scanner(&settings)).map(drop).map_err(described)
    }
}

fn check_tools(config: &Config) -> Result<(), String> {
    let tools = ToolSettings::of(&config.tools, &config.mcp_servers).map_err(|error| error.to_string())?;
    tools.unusable().map_or(Ok(()), Err)
}

fn check_notify(config: &Config) -> Result<(), String> {
    match config.notify.command.first() {
        Some(program) if program.is_empty() => Err("`notify.command` must begin with a program".to_owned()),
        _ => Ok(()),
    }
}

/// Returns a fault for each table `[agents.ID]` whose id is probably a misspelt one of a supported agent. Any other id
/// is that of an agent of the user.
fn misspelt_agents(config: &Config, document: &Document<'_>) -> Vec<ConfigFault> {
    let known = || agents().iter().map(|agent| agent.id).filter(|id| id.len() >= DISTINCTIVE);
    let is_unknown = |id: &&String| find_agent(id).is_none() && known().all(|known| !id.contains(known));
    let fault = |id: &String| {
        let nearest = near(id, known())?.to_owned();
        let pointer = pointer_to("/agents", id);
        let fault = ConfigFault::new(document.position(&pointer), dotted(&pointer), "no supported agent has this id");
        Some(ConfigFault { nearest: Some(nearest), ..fault })
    };
    config.agents.tables.keys().filter(is_unknown).filter_map(fault).collect()
}

/// Returns the fault of a lock file that only the code that uses it finds.
fn misuses_of_lock(path: &Path, text: &str, document: &Document<'_>) -> Vec<ConfigFault> {
    let message = match LockFile::parse(text, path) {
        Ok(_) => return Vec::new(),
        Err(LockFileError::Damaged { message, .. }) => message,
        Err(error) => error.to_string(),
    };
    vec![located(document, "", &message)]
}

/// Returns the fault of a rule file that only the scanner finds.
fn misuses_of_rules(path: &Path, text: &str, document: &Document<'_>) -> Vec<ConfigFault> {
    let file = RuleText { name: path.display().to_string(), text: text.to_owned() };
    match Scanner::new(&scan::Settings::default(), &[file]) {
        Ok(scanner) => {
            let wrong = scanner.wrong_example();
            let described = |(rule, example): (&scan::Rule, _)| {
                located(document, "", &format!("the rule {:?} fails its own example {example:?}", rule.id))
            };
            wrong.map(described).into_iter().collect()
        }
        Err(SettingsError::Rule { line, rule, message, .. }) => {
            vec![ConfigFault::new((line, 1), "", format!("rule {rule:?} is invalid: {message}"))]
        }
        Err(SettingsError::File { message, .. }) => vec![located(document, "", &message)],
        Err(error) => vec![located(document, "", &error.to_string())],
    }
}

/// Parses a text as a type, which is dropped. The message of an error has no excerpt of the text.
fn check_type<T: DeserializeOwned>(text: &str) -> Result<(), String> {
    toml::from_str::<T>(text).map(drop).map_err(|error| error.message().to_owned())
}

/// Describes an error without the path of the file.
fn described(error: ConfigError) -> String {
    match error {
        ConfigError::Damaged { message, .. } => message,
        ConfigError::Owner { source, .. } => source.to_string(),
        ConfigError::OwnerTwice { owner, .. } => format!("the owner {owner:?} has another registry already"),
        other => other.to_string(),
    }
}

/// Creates the fault that a message describes, at the key or text that it mentions, otherwise at `pointer`.
fn located(document: &Document<'_>, pointer: &str, message: &str) -> ConfigFault {
    let mentioned = document.mentioned_in(message);
    let (at, key) = mentioned.unwrap_or_else(|| (document.position(pointer), dotted(pointer)));
    ConfigFault::new(at, key, message)
}

/// Returns the first rule of a policy that cannot be used.
fn misused_rule(policy: &PolicyFile, document: &Document<'_>) -> Option<ConfigFault> {
    let ConfigError::Rule { number, message, .. } = policy.rules(Rule::check).err()? else { return None };
    let pointer = format!("/rules/{}", number - 1);
    Some(ConfigFault::new(document.position(&pointer), dotted(&pointer), message))
}
