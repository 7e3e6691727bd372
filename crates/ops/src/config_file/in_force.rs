//! [`SettingInForce`]: settings with their values and origins, without secrets.

use std::path::Path;

use client::settings_text;
use serde::Serialize;
use serde_json::{Value, json};
use skill::uri;

use super::{
    ConfigFile, ConfigKind,
    document::{Document, dotted, segments},
};
use crate::{
    refusal::Refusal,
    workspace::{POLICY_VARIABLE, SERVER_TOKEN_VARIABLE, TOKEN_VARIABLE, Workspace},
};

/// Environment variables that settings come from.
const VARIABLES: [&str; 8] = [
    "SKILLHUB_HOME", "SKILLHUB_LIBRARY", "SKILLHUB_REGISTRY", POLICY_VARIABLE, SERVER_TOKEN_VARIABLE, TOKEN_VARIABLE,
    "SSL_CERT_FILE", "SSL_CERT_DIR",
];

/// Tables that can name skills which agents must not know of.
const NAMING_SKILLS: [&str; 3] = ["agents", "permissions", "tools.groups"];

/// Text in place of a part that may be secret.
const HIDDEN: &str = "…";

/// A setting in force.
#[derive(Debug, PartialEq, Serialize)]
pub struct SettingInForce {
    /// Dotted key, or the name of an environment variable.
    pub key: String,
    /// Value, null if it is not set and has no default. Variables, arguments of commands, and users and queries of
    /// addresses are hidden.
    pub value: Value,
    /// Kind of place that the value comes from.
    pub origin: SettingOrigin,
    /// File that sets it.
    pub file: Option<String>,
    /// Line of the key in the file, from 1.
    pub line: Option<usize>,
}

/// Kinds of places that settings come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingOrigin {
    /// `config.toml` of the home.
    File,
    /// Policy file, which adds to the user's settings.
    Policy,
    /// Environment variable.
    Environment,
    /// Default of the program.
    Default,
}

impl Workspace {
    /// Returns all settings: those of `config.toml` with the defaults, what policy files add, and the environment
    /// variables that are set. Agents do not get the tables that can name hidden skills.
    ///
    /// # Errors
    /// The home is not trusted, or a file cannot be read or has faults.
    pub fn settings_in_force(&self) -> Result<Vec<SettingInForce>, Refusal> {
        if let Some(fault) = self.home_fault.as_ref().or(self.config_fault.as_ref()) {
            return Err(fault.clone());
        }
        self.policy()?;
        let mut settings = Vec::new();
        for file in self.config_files() {
            let text = match settings_text(&file.path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                Err(error) => return Err(Refusal::io_at(&file.path)(error)),
            };
            settings.extend(settings_of(&file, &text));
        }
        settings.retain(|setting| self.is_person() || !names_skills(&setting.key));
        let is_set = |name: &&&str| (self.setup().variables)(name).is_some();
        settings.extend(VARIABLES.iter().filter(is_set).map(|name| SettingInForce {
            key: (*name).to_owned(),
            value: json!(HIDDEN),
            origin: SettingOrigin::Environment,
            file: None,
            line: None,
        }));
        Ok(settings)
    }
}

fn names_skills(key: &str) -> bool {
    NAMING_SKILLS
        .iter()
        .any(|table| key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Returns the settings of a file. Only `config.toml` has those that it does not set.
fn settings_of(file: &ConfigFile, text: &str) -> Vec<SettingInForce> {
    let Ok(document) = Document::parse(text) else { return Vec::new() };
    let is_policy = file.kind == ConfigKind::Policy;
    let mut settings = Vec::new();
    file.kind.schema().each_setting(&document.value, &mut |pointer, value, default| {
        let place = |path: &Path| (Some(path.display().to_string()), Some(document.position(pointer).0));
        let (origin, (path, line)) = match (value.is_some(), is_policy) {
            (false, true) => return,
            (false, false) => (SettingOrigin::Default, (None, None)),
            (true, false) => (SettingOrigin::File, place(&file.path)),
            (true, true) => (SettingOrigin::Policy, place(&file.path)),
        };
        let value = value.or(default).map_or(Value::Null, |value| without_secrets(pointer, value));
        settings.push(SettingInForce { key: dotted(pointer), value, origin, file: path, line });
    });
    settings
}

/// Hides environment variables, all arguments of commands, and the users and queries of addresses.
fn without_secrets(pointer: &str, value: &Value) -> Value {
    let names: Vec<String> = segments(pointer).collect();
    let is_variable = names.iter().rev().skip(1).any(|name| name == "env");
    let is_command = names.last().is_some_and(|name| name == "command");
    match value {
        Value::String(_) if is_variable => json!(HIDDEN),
        Value::String(text) => json!(without_user_and_query(text)),
        Value::Array(words) if is_command => {
            words.iter().take(1).cloned().chain((words.len() > 1).then(|| json!(HIDDEN))).collect()
        }
        Value::Array(list) => list.iter().map(|element| without_secrets(pointer, element)).collect(),
        Value::Object(table) => {
            let hidden =
                |(key, value): (&String, &Value)| (key.clone(), without_secrets(&format!("{pointer}/{key}"), value));
            Value::Object(table.iter().map(hidden).collect())
        }
        other => other.clone(),
    }
}

/// Replaces the user and the query of an address. Other texts are unchanged.
fn without_user_and_query(text: &str) -> String {
    let (scheme, rest) = text.split_at(text.find("://").map_or(0, |at| at + 3));
    let (authority, path) = rest.split_at(uri::authority(text).len());
    // Without a scheme, only `user@host:path` is an address.
    let (user, host) = authority.rsplit_once('@').map_or(("", authority), |(_, host)| (HIDDEN, host));
    if scheme.is_empty() && (user.is_empty() || !host.contains(':')) {
        return text.to_owned();
    }
    let at = if user.is_empty() { "" } else { "@" };
    match path.find(['?', '#']) {
        Some(query) => format!("{scheme}{user}{at}{host}{}?{HIDDEN}", path.get(..query).unwrap_or_default()),
        None => format!("{scheme}{user}{at}{host}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_settings_are_hidden() {
        for (text, shown) in [
            ("https://ann:pw@host.example/path?key=1", "https://…@host.example/path?…"),
            ("https://host.example?token=1#x", "https://host.example?…"),
            ("https://a@b:c@host.example/x", "https://…@host.example/x"),
            ("git@host:team/skills.git", "…@host:team/skills.git"),
            ("agent:ci-*", "agent:ci-*"),
            ("~/skills/a@b", "~/skills/a@b"),
        ] {
            assert_eq!(without_user_and_query(text), shown);
        }
        let config = "[mcp_servers.a]\ncommand = ['run', '--token', 'x1']\nenv = { TOKEN = 'x2' }\n\
                      [notify]\ncommand = ['tell', 'x3']\n[tools.search]\nurl = 'https://h/?q={query}&key=x4'\n\
                      [scan.judge]\ncommand = ['judge', 'x5']\n";
        let file = ConfigFile { kind: ConfigKind::Config, path: Path::new("/home/config.toml").to_owned() };
        let settings = settings_of(&file, config);
        let shown = serde_json::to_string(&settings).unwrap();
        assert!(!shown.contains("\"x") && !shown.contains("x4"), "{shown}");
        let find = |key: &str| settings.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(find("notify.command").value, json!(["tell", HIDDEN]));
        assert_eq!(
            (find("mcp_servers.a.env.TOKEN").line, find("notify.timeout_seconds").value.clone()),
            (Some(3), json!(10))
        );
        assert_eq!(find("notify.timeout_seconds").origin, SettingOrigin::Default);
    }
}
