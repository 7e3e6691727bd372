//! DeerFlow for its hosts: the paths of its REST interface, and its configuration.

use std::fs;

use serde_json::{Value, json};

use crate::{
    http::gateway::{Gateway, TOKEN},
    support::{Sandbox, write_files},
};

const DATA_ANALYSIS: &str = include_str!("data/data-analysis.md");
const CONFIG: &str = include_str!("data/deerflow-config.yaml");
const EXTENSIONS: &str = include_str!("data/extensions_config.json");

// DF10
#[test]
fn every_documented_path_answers() {
    let sandbox = Sandbox::new();
    let text = DATA_ANALYSIS.replace("data-analysis", "my-skill");
    write_files(&sandbox.cwd().join("my-skill"), &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.done(&["pack", "my-skill", "-o", "my-skill.skill"]);
    let config = format!("[skills]\nuploads = {:?}\n", sandbox.path("threads").display().to_string());
    write_files(&sandbox.skillhub_home(), &[("config.toml", config.as_bytes(), false)]);
    let outputs = sandbox.path("threads/t1/user-data/outputs");
    fs::create_dir_all(&outputs).unwrap();
    fs::copy(sandbox.cwd().join("my-skill.skill"), outputs.join("my-skill.skill")).unwrap();
    let gateway = Gateway::start(&sandbox, TOKEN, &[]);
    let changed = text.replace("Step 1", "Step one");
    for (line, body) in [
        ("POST /api/skills/install", json!({"thread_id": "t1", "path": "mnt/user-data/outputs/my-skill.skill"})),
        ("GET /api/skills", Value::Null),
        ("GET /api/skills/my-skill", Value::Null),
        ("PUT /api/skills/my-skill", json!({"enabled": false})),
        ("PUT /api/skills/my-skill", json!({"enabled": true})),
        ("POST /api/skills/reload", Value::Null),
        ("GET /api/skills/custom", Value::Null),
        ("GET /api/skills/custom/my-skill", Value::Null),
        ("PUT /api/skills/custom/my-skill", json!({"content": changed})),
        ("GET /api/skills/custom/my-skill/history", Value::Null),
        ("POST /api/skills/custom/my-skill/rollback", json!({"history_index": -1})),
        ("DELETE /api/skills/custom/my-skill", Value::Null),
    ] {
        let (status, answer) = gateway.ask(line, &body);
        assert_eq!(status, 200, "{line}: {answer:#}");
    }
}

// DF1, DF2, DF4
#[test]
fn documented_configuration_has_equivalents() {
    let sandbox = Sandbox::project();
    sandbox.create("bootstrap", "body");
    let before = sandbox.done(&["where"])["library"].clone();
    write_files(
        &sandbox.cwd(),
        &[("config.yaml", CONFIG.as_bytes(), false), ("extensions_config.json", EXTENSIONS.as_bytes(), false)],
    );
    assert_eq!(sandbox.done(&["where"])["library"], before, "what came with a clone decides nothing");
    assert!(sandbox.run(&["prompt"]).text().contains("bootstrap"));
    let checks = sandbox.ask(&["doctor"]).json()["checks"].clone();
    let told: Vec<&str> = checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["code"] == "deerflow")
        .map(|check| check["message"].as_str().unwrap())
        .collect();
    let parts = |message: &str| message.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let [config, extensions] = told.as_slice() else { panic!("{checks:#}") };
    assert_eq!(parts(extensions), ["skillhub disable bootstrap"]);
    let lines = parts(config);
    assert_eq!(lines.len(), 3, "{lines:?}");
    fs::write(sandbox.skillhub_home().join("config.toml"), lines.join("\n")).unwrap();
    let library = sandbox.done(&["where"])["library"].clone();
    assert!(library.as_str().unwrap().ends_with("/skills"), "the lines can be copied as they are: {library}");
    let section = sandbox.run(&["prompt", "--format", "deerflow"]).text();
    assert!(section.contains("/mnt/skills") && section.contains("## Skill Self-Evolution"), "{section}");
}
