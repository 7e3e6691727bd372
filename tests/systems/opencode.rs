//! OpenCode: skills in its folders and Claude Code's, behind one tool that is called `skill`.

use std::fs;

use serde_json::{Value, json};

use crate::{mcp::connection::Connection, support::Sandbox};

fn configured(config: &str) -> Sandbox {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    let skills = [
        (".opencode/skill/commit", "Create git commits"),
        (".opencode/skills/code-review", "Review code changes"),
        (".claude/skills/release", "Make a release"),
    ];
    for (folder, description) in skills {
        let path = sandbox.cwd().join(folder);
        fs::create_dir_all(&path).unwrap();
        let name = folder.rsplit('/').next().unwrap();
        fs::write(path.join("SKILL.md"), format!("---\nname: {name}\ndescription: {description}\n---\nDo {name}.\n"))
            .unwrap();
    }
    sandbox
}

fn tools(agent: &mut Connection) -> Vec<Value> {
    agent.request("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
}

// OC1, OC2, OC3, OC4
#[test]
fn one_tool_lists_and_opens_visible_skills() {
    let sandbox = configured("[[permissions]]\nskill = \"release\"\ndecision = \"deny\"\n");
    let mut agent = Connection::open(&sandbox, &["--agent", "opencode"]);
    let listed = tools(&mut agent);
    assert!(listed.iter().all(|tool| tool["name"] != "read_skill"));
    let tool = listed.iter().find(|tool| tool["name"] == "skill").unwrap();
    let text = tool["description"].as_str().unwrap();
    for (name, description, place) in [
        ("commit", "Create git commits", ".opencode/skill/commit"),
        ("code-review", "Review code changes", ".opencode/skills/code-review"),
    ] {
        let location = crate::support::canonical(&sandbox.cwd().join(place).join("SKILL.md"));
        let item = format!(
            "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    <location>{location}</location>\n"
        );
        assert!(text.contains(&item), "{item} in {text}");
    }
    assert!(text.contains("<available_skills>\n") && !text.contains("release"), "{text}");
    let opened = agent.call("skill", &json!({"name": "commit"}));
    assert!(opened["content"][0]["text"].as_str().unwrap().contains("Do commit."), "{opened}");
    assert_eq!(agent.refused("skill", &json!({"name": "release"}))["code"], "not_found");
    assert_eq!(agent.refused("skill", &json!({"id": "commit"}))["code"], "invalid_request");
}

// OC1
#[test]
fn other_hosts_can_choose_skill_tool() {
    let sandbox = configured("[agents.mine]\nskill_tool = true\n");
    for (host, name) in [("mine", "skill"), ("codex", "read_skill")] {
        let listed = tools(&mut Connection::open(&sandbox, &["--agent", host]));
        let named: Vec<_> =
            listed.iter().filter(|tool| tool["name"] == "skill" || tool["name"] == "read_skill").collect();
        assert_eq!((named.len(), &named[0]["name"]), (1, &json!(name)), "{host}");
        assert!(listed.len() <= 6, "{host}: {}", listed.len());
    }
}

// OC1, OC3
#[test]
fn hint_for_asking_skill_works() {
    let sandbox = configured("[[permissions]]\nskill = \"commit\"\ndecision = \"ask\"\n");
    let error = sandbox.ask(&["read", "commit"]).refused_with_hint(5, "policy_denied");
    let lines = error["hint"].as_str().unwrap().split('`').nth(1).unwrap().replace("; ", "\n");
    let config = sandbox.skillhub_home().join("config.toml");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{before}{lines}\n")).unwrap();
    sandbox.done(&["read", "commit"]);
}

// OC5
#[test]
fn debug_explains_found_and_unusable_skills() {
    let sandbox = configured("");
    let broken = sandbox.cwd().join(".opencode/skill/broken");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("SKILL.md"), "---\nname: broken\n---\nNo description.\n").unwrap();
    let document = sandbox.done(&["debug", "--agent", "opencode"]);
    let shown = |name: &str| document["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == name).unwrap();
    assert_eq!(shown("commit")["sight"], "seen");
    assert!(shown("commit")["path"].as_str().unwrap().ends_with(".opencode/skill/commit"));
    let broken = shown("broken");
    assert!(broken["sight"] == "unusable" && broken["why"].as_str().unwrap().contains("description"), "{broken}");
}
