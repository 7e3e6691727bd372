//! Published schemas of `config.toml` and of policy files, and their agreement with the code that reads the files.

#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::path::Path;

use client::{Config, PolicyDocument, PolicyFile};
use compose::ToolSettings;
use evolve::GateConfig;
use jsonschema::Validator;
use schemars::JsonSchema;
use serde_json::{Value, json};
use skill_manage::Rule;
use toml::Table;

/// Tables of both files that `client` does not interpret.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "has the types of the tables, for their schemas")]
struct Rules {
    /// Policy rules, checked before the preset.
    rules: Vec<Rule>,
}

/// The table `[gate]`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "has the type of the table, for its schema")]
struct Gate {
    /// Settings for trials of new revisions.
    gate: GateConfig,
}

/// Replaces the properties of a schema by those of a schema with more details.
fn refine<T: JsonSchema>(schema: &mut Value) {
    let details = testkit::file_schema::<T>("");
    for part in ["properties", "$defs"] {
        let known = schema[part].as_object_mut().unwrap();
        for (key, value) in details[part].as_object().into_iter().flatten() {
            known.insert(key.clone(), value.clone());
        }
    }
}

fn config_schema() -> Value {
    let mut schema = testkit::file_schema::<Config>("config.toml of skillhub's home");
    refine::<Rules>(&mut schema);
    refine::<Gate>(&mut schema);
    refine::<agent::Tables>(&mut schema);
    refine::<ToolSettings>(&mut schema);
    schema["properties"]["agents"]["properties"] = json!({"in_use": {
        "type": "array", "items": {"type": "string"},
        "description": "Ids of agents in use besides those detected by their own folder in the project.",
    }});
    schema
}

fn policy_schema() -> Value {
    let mut schema = testkit::file_schema::<PolicyDocument>("Policy file of skillhub");
    refine::<Rules>(&mut schema);
    schema
}

fn reads_config(text: &str) -> Result<(), String> {
    let config = Config::parse(text, Path::new("config.toml")).map_err(|error| error.to_string())?;
    let home = library::Home::unchecked("/nonexistent");
    config.policy_file(&home).rules(Rule::check).map_err(|error| error.to_string())?;
    GateConfig::of(&config.gate).map_err(|error| error.to_string())?;
    ToolSettings::of(&config.tools, &config.mcp_servers).map_err(|error| error.to_string())?;
    let Config { agent, skill_evolution, permissions, agents, .. } = config;
    let tables = agent::Tables { agent, skill_evolution, agents: agents.tables, permissions };
    agent::Settings::of(&tables).map(drop).map_err(|error| error.to_string())
}

fn reads_policy(text: &str) -> Result<(), String> {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("policy.toml");
    std::fs::write(&path, text).unwrap();
    let file = PolicyFile::read(&path).map_err(|error| error.to_string())?.unwrap();
    file.rules(Rule::check).map(drop).map_err(|error| error.to_string())
}

/// Returns the table with each key misspelt, one at a time.
fn misspelt(table: &Table) -> Vec<Table> {
    let mut all = Vec::new();
    for (key, value) in table {
        let mut other = table.clone();
        other.remove(key);
        other.insert(format!("{key}x"), value.clone());
        all.push(other);
        let inner: Vec<toml::Value> = match value {
            toml::Value::Table(inner) => misspelt(inner).into_iter().map(Into::into).collect(),
            toml::Value::Array(list) => match list.as_slice() {
                [toml::Value::Table(first), rest @ ..] => {
                    let with = |one: Table| [vec![one.into()], rest.to_vec()].concat().into();
                    misspelt(first).into_iter().map(with).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        all.extend(inner.into_iter().map(|value| {
            let mut other = table.clone();
            other.insert(key.clone(), value);
            other
        }));
    }
    all
}

/// Asserts that program and schema accept a text, and agree about it with each key misspelt. Returns the number of
/// misspelt texts that both refuse.
fn assert_agreement(text: &str, schema: &Value, read: impl Fn(&str) -> Result<(), String>) -> usize {
    let validator = Validator::new(schema).unwrap();
    let accepts = |table: &Table| validator.is_valid(&serde_json::to_value(table).unwrap());
    let table: Table = text.parse().unwrap();
    assert_eq!(read(text), Ok(()), "{text}");
    let faults: Vec<String> =
        validator.iter_errors(&serde_json::to_value(&table).unwrap()).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?} in {text}");
    let agree = |other: &Table| {
        let text = other.to_string();
        assert_eq!(read(&text).is_ok(), accepts(other), "{:?} for {text}", read(&text));
        !accepts(other)
    };
    misspelt(&table).iter().filter(|other| agree(other)).count()
}

const POLICY: &str = r#"
format = 1
policy = "balanced"
require_signatures = ["acme", "*"]
[scan]
own_hosts = ["acme.test"]
severities = { "acme-production-database" = "off" }
accepted = [{ rule = "r", reason = "ours", path = "scripts/x.sh", until = "2027-01-31" }]
judge = { command = ["judge"], timeout_seconds = 20, may_settle_warnings = true, required = true }
[[rules]]
decision = "hold"
actor = "agent:ci-*"
actions = ["write_file"]
changes = ["scripts", "allowed-tools"]
origin = "installed"
skill = "team-*"
verdict = "warn"
why = "scripts are reviewed"
"#;

const CONFIG: &str = r#"
owner = "acme"
[registries.team]
location = "git@host:team/skills.git"
require_signatures = true
owners = ["acme"]
[sources.docs]
kind = "well-known"
location = "https://docs.example.org"
[search]
public = true
[signing]
key = "~/.ssh/id_ed25519"
[library]
storage = "git"
[skills]
use = "local"
path = "~/skills"
container_path = "/mnt/skills"
inner = "own"
uploads = "~/threads"
[notify]
command = ["tell-me"]
events = ["proposed"]
timeout_seconds = 10
[review]
elicitation = true
[agents]
in_use = ["claude-code"]
[agents.codex]
skills = ["pdf-*"]
skill_evolution = false
skill_tool = true
capabilities = { allow = ["web_search"] }
[agent]
container_path = "/mnt/skills"
always_on = ["Read"]
use_log = true
[skill_evolution]
enabled = true
[[permissions]]
agent = "codex"
skill = "internal-*"
decision = "deny"
[gate]
share = 0.2
rollback_alpha = 0.025
promote_alpha = 0.05
margin = 0.1
min_runs = 50
max_runs = 400
max_days = 30
cooldown_days = 14
known_rate = 0.9
decline = "roll-back"
[tools]
folder = "/home/me/work"
folders = ["/tmp"]
hidden = false
hosts = ["example.org"]
private_addresses = false
fetch_bytes = 2097152
shell = false
groups = { pdf = ["mcp__pdf__extract"] }
[tools.search]
url = "https://search.example.org/search?q={query}"
results = "/results"
title = "/title"
link = "/url"
snippet = "/content"
header = "X-Token"
header_from = "SEARCH_TOKEN"
[mcp_servers.files]
command = ["files-server"]
env = { TOKEN = "x" }
approval = "plan_confirm"
tools = { read = "none" }
"#;

#[test]
fn configuration_schemas_are_published() {
    testkit::assert_published_value("config", &config_schema());
    testkit::assert_published_value("policy", &policy_schema());
}

#[test]
fn program_and_schema_refuse_the_same_keys() {
    let (config, policy) = (config_schema(), policy_schema());
    assert!(assert_agreement(CONFIG, &config, reads_config) > 50);
    assert!(assert_agreement(POLICY, &policy, reads_policy) > 15);
    let whole = format!("{CONFIG}[scan]{}", POLICY.split_once("[scan]").unwrap().1);
    assert_agreement(&whole, &config, reads_config);
}

/// Key of the block that shows a faulty file.
const MISSPELT: &str = "polcy";

/// Blocks of the guides that show a `config.toml`.
#[test]
fn examples_of_guides_fit_the_schema() {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    let schema = config_schema();
    let mut count = 0;
    for entry in std::fs::read_dir(guides).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let is_of_server = path.ends_with("server.md") || path.ends_with("growing-up.md");
            let is_other =
                is_of_server || block.contains(MISSPELT) || block.contains("[[rule]]") || block.contains("[[skill]]");
            if !is_other {
                assert_agreement(block, &schema, reads_config);
                count += 1;
            }
        }
    }
    assert!(count >= 10, "{count} examples");
}
