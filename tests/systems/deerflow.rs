//! DeerFlow: the frontmatter, the section of the prompt, the switch for self-evolution and the six actions.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::{mcp::connection::Connection, support::Sandbox};

const DATA_ANALYSIS: &str = include_str!("data/data-analysis.md");

/// Parts of the section, in order.
const STRUCTURE: [&str; 14] = [
    "<skill_system>\n",
    "**Progressive Loading Pattern:**\n1. ",
    "`read_file`",
    "\n2. ",
    "\n3. ",
    "\n4. ",
    "\n5. ",
    "**Skills are located at:** /mnt/skills\n",
    "<available_skills>\n<skill>\n<name>",
    "</available_skills>\n",
    "</skill_system>\n",
    "<critical_reminders>\n- Skill First: ",
    "**complex**",
    "\n- Progressive Loading: ",
];

fn configure(sandbox: &Sandbox, config: &str) {
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
}

fn section(agent: &mut Connection) -> String {
    let read = agent.request("resources/read", &json!({"uri": "skillhub://prompt/deerflow"}));
    read["contents"][0]["text"].as_str().unwrap().to_owned()
}

// DF3
#[test]
fn section_has_structure_and_container_locations() {
    let sandbox = Sandbox::project();
    let library = sandbox.cwd().join(".agents/skills");
    for (folder, name) in [("data-analysis", "data-analysis"), ("group/my-skill", "my-skill")] {
        fs::create_dir_all(library.join(folder)).unwrap();
        fs::write(library.join(folder).join("SKILL.md"), DATA_ANALYSIS.replace("data-analysis", name)).unwrap();
    }
    let text = sandbox.run(&["prompt", "--format", "deerflow"]).exits(0).text();
    let places: Vec<usize> =
        STRUCTURE.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"))).collect();
    assert!(places.is_sorted(), "{places:?}: {text}");
    for location in [
        "[custom, editable]</description>\n<location>/mnt/skills/custom/data-analysis/SKILL.md</location>",
        "<location>/mnt/skills/custom/group/my-skill/SKILL.md</location>",
        "[built-in]</description>\n<location>/mnt/skills/public/skillhub-writing-skills/SKILL.md</location>",
    ] {
        assert!(text.contains(location), "{location}: {text}");
    }
    assert_eq!(section(&mut Connection::open(&sandbox, &[])), text, "the server tells the same");
}

// DF3
#[test]
fn next_section_has_outside_changes() {
    let sandbox = Sandbox::new();
    sandbox.create("first", "body");
    let mut agent = Connection::open(&sandbox, &[]);
    assert!(!section(&mut agent).contains("second"));
    sandbox.create("second", "body");
    assert!(section(&mut agent).contains("/mnt/skills/custom/second/SKILL.md"));
}

// DF4
/// The prompt does not offer it, either.
#[test]
fn disabled_self_evolution_does_nothing() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "body");
    let on = sandbox.run(&["prompt", "--format", "deerflow"]).exits(0).text();
    assert!(on.contains("\n## Skill Self-Evolution\n") && on.contains("5+ tool calls"), "{on}");
    for config in ["[skill_evolution]\nenabled = false\n", "[agents.codex]\nskill_evolution = false\n"] {
        configure(&sandbox, config);
        let off = sandbox.run(&["prompt", "--format", "deerflow", "--agent", "codex"]).exits(0).text();
        assert!(!off.contains("Self-Evolution") && !off.contains("skillhub-evolving-skills"), "{off}");
        let patch = json!({"action": "patch", "name": "demo", "find": "body", "replace": "text"});
        let mut agent = Connection::open(&sandbox, &["--agent", "codex", "--all-tools"]);
        let tools = agent.request("tools/list", &json!({}))["tools"].clone();
        let has = |name: &str| tools.as_array().unwrap().iter().any(|tool| tool["name"] == name);
        assert!(!has("skill_manage") && !has("skill_rollback") && has("read_skill"), "{tools}");
        let error = agent.refused("skill_manage", &patch);
        assert!(
            error["code"] == "policy_denied" && error["message"].as_str().unwrap().contains("skill_evolution"),
            "{error}"
        );
        agent.refused("read_skill", &json!({"name": "skillhub-evolving-skills"}));
        let request = ["manage", "--request", "-", "--actor", "agent:codex", "--json"];
        sandbox.run_with(&request, patch.to_string().as_bytes()).refused(5, "policy_denied");
    }
    configure(&sandbox, "[skill_evolution]\nenabled = 'yes'\n");
    for args in [&["prompt"][..], &["list"], &["read", "demo"], &["manage", "delete", "demo"], &["mcp"]] {
        let error = sandbox.ask(args).refused_with_hint(2, "invalid_config");
        assert!(error["message"].as_str().unwrap().contains("[skill_evolution]"), "{args:?}: {error}");
    }
}

// DF5, DF6
#[test]
fn six_actions_take_documented_parameters() {
    let sandbox = Sandbox::new();
    let content = DATA_ANALYSIS.replace("data-analysis", "my-skill");
    let mut agent = Connection::open(&sandbox, &[]);
    for (action, fields) in [
        ("create", json!({"content": content})),
        ("edit", json!({"content": content.replace("Step 1", "Step one")})),
        ("patch", json!({"find": "Step one", "replace": "First step"})),
        ("write_file", json!({"path": "references/guide.md", "content": "Guide.\n"})),
        ("remove_file", json!({"path": "references/guide.md"})),
        ("delete", json!({})),
    ] {
        let mut request = fields;
        request["action"] = json!(action);
        request["name"] = json!("my-skill");
        assert_eq!(agent.done("skill_manage", &request)["status"], "applied", "{action}");
    }
    assert_eq!(agent.done("skill_rollback", &json!({"name": "my-skill", "revision": 3}))["status"], "applied");
    for path in ["../../x.md", "docs/x.md", "/etc/x"] {
        agent.done("skill_manage", &json!({"action": "create", "name": "other", "content": content.replace("my-skill", "other"), "dry_run": true}));
        let write = json!({"action": "write_file", "name": "other", "path": path, "content": "x"});
        agent.refused("skill_manage", &write);
    }
}

// DF6
#[test]
fn scripts_gaining_capabilities_are_held() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "body");
    let write = |path: &str, text: &str| {
        let request = json!({"action": "write_file", "name": "demo", "path": path, "content": text});
        sandbox.request(&request).done()["status"].clone()
    };
    assert_eq!(write("scripts/plain.sh", "#!/bin/sh\nls\n"), "applied");
    for (path, text) in [
        ("scripts/a.sh", "#!/bin/sh\nsudo systemctl restart web\n"),
        ("scripts/b.py", "import subprocess\nsubprocess.run(['pip', 'install', 'requests'])\n"),
        ("scripts/c.sh", "#!/bin/sh\nrm -rf ~/projects/old\n"),
    ] {
        assert_eq!(write(path, text), "proposed", "{path}");
    }
}

// DF8
#[test]
fn tool_policy_is_union_of_skills() {
    let sandbox = Sandbox::new();
    let policy = |sandbox: &Sandbox| -> Value { sandbox.done(&["tools", "policy"]) };
    for (name, tools) in
        [("one", "allowed-tools: [read_file]"), ("two", "allowed-tools: bash read_file"), ("open", "license: MIT")]
    {
        let folder = sandbox.user_skill(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("SKILL.md"),
            format!("---\nname: {name}\ndescription: Does {name}.\n{tools}\n---\nDo it.\n"),
        )
        .unwrap();
    }
    let names: Vec<String> = policy(&sandbox)["policy"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["tool"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(["bash", "read_file"]));
}
