//! The tools that a connection is offered: few at first, and others once they are needed.

use std::fs;

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::{Sandbox, skill_md};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Tools that are always offered.
const CORE: [&str; 5] = ["read_skill", "read_skill_file", "search_skills", "skill_manage", "record_outcome"];

/// Tools offered at first, at most.
const MOST_TOOLS: usize = 6;

/// Size of the list with the built-in skills, at most. A token is estimated at four bytes of JSON.
const MOST_TOKENS: usize = 1500;

fn tools(agent: &mut Connection) -> Value {
    agent.request("tools/list", &json!({}))["tools"].clone()
}

fn names(agent: &mut Connection) -> Vec<String> {
    let listed = tools(agent);
    listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn create(name: &str) -> Value {
    json!({"action": "create", "name": name, "content": skill_md(name, "Shows things. Use in tests.", "alpha line")})
}

#[test]
fn default_list_is_small() {
    let sandbox = Sandbox::new();
    for open in [Connection::open, Connection::newer] {
        let mut agent = open(&sandbox, &[]);
        let listed = tools(&mut agent);
        let tokens = listed.to_string().len().div_ceil(4);
        assert!(listed.to_string().contains("skillhub-evolving-skills"), "the built-in skills are listed");
        assert!(listed.as_array().unwrap().len() <= MOST_TOOLS && tokens <= MOST_TOKENS, "{tokens} tokens: {listed:#}");
        assert_eq!(names(&mut agent), CORE);
        agent.close();
    }
    let mut all = Connection::open(&sandbox, &["--all-tools"]);
    let listed = names(&mut all);
    assert_eq!((&listed[..CORE.len()], listed.len()), (CORE.map(str::to_owned).as_slice(), 18), "{listed:?}");
    all.close();
}

/// The skills that do not fit are found by search.
#[test]
fn list_stays_small_with_many_skills() {
    let sandbox = Sandbox::new();
    let mut made = 0;
    for skills in [10, 40] {
        for skill in made..skills {
            let does = "Fills in the forms of a department, checks each field, and sends the result. Use when somebody \
                        asks for a form, a stamp or a signature.";
            fs::create_dir_all(sandbox.user_skill(&format!("forms-{skill:02}"))).unwrap();
            let text = skill_md(&format!("forms-{skill:02}"), does, "body");
            fs::write(sandbox.user_skill(&format!("forms-{skill:02}")).join("SKILL.md"), text).unwrap();
        }
        made = skills;
        for agent in ["claude-code", "opencode"] {
            let mut agent = Connection::open(&sandbox, &["--agent", agent]);
            let listed = tools(&mut agent);
            let tokens = listed.to_string().len().div_ceil(4);
            assert!(tokens <= MOST_TOKENS, "{skills} skills: {tokens} tokens: {listed:#}");
            assert!(listed.to_string().contains("not listed here. Use search_skills to find them"), "{listed:#}");
            assert!(listed.to_string().contains("forms-00"), "{listed:#}");
            let found = agent.done("search_skills", &json!({"query": "forms", "limit": 50})).to_string();
            assert!(found.contains(&format!("forms-{:02}", skills - 1)), "{found}");
            agent.close();
        }
    }
}

#[test]
fn tools_join_once_their_skill_is_read() {
    let sandbox = Sandbox::new();
    for (skill, tool) in [
        ("skillhub-evolving-skills", "skill_history"),
        ("skillhub-reviewing-skills", "install_skill"),
        ("skillhub-writing-skills", "skills_codegen"),
    ] {
        let mut agent = Connection::open(&sandbox, &[]);
        assert_eq!(names(&mut agent), CORE);
        let read = agent.done("read_skill", &json!({"name": skill}));
        assert!(agent.is_told(LIST_CHANGED, 10), "{skill}");
        let now = names(&mut agent);
        assert!(now.len() > CORE.len() && now[..CORE.len()] == CORE && now.contains(&tool.to_owned()), "{now:?}");
        assert_eq!(read["tools"], json!(now[CORE.len()..]), "{skill}");
        agent.close();
    }
}

/// By the host's name for it as well, and by a group in the configuration. A bare `*` brings none.
#[test]
fn tools_join_skills_that_name_them() {
    let sandbox = Sandbox::new();
    let config =
        "[tools.groups]\ngrouped = ['skill_status']\n[[permissions]]\ntool = 'skill_diff'\ndecision = 'deny'\n";
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    for (name, line) in [
        ("plain", "allowed-tools: Bash(git:*) skill_history skill_diff read_skill"),
        ("prefixed", "allowed-tools: mcp__skillhub__disable_skill"),
        ("grouped", "license: MIT"),
        ("any", "allowed-tools: \"*\""),
    ] {
        let text = format!("---\nname: {name}\ndescription: Does {name}. Use in tests.\n{line}\n---\n\nGo.\n");
        fs::create_dir_all(sandbox.user_skill(name)).unwrap();
        fs::write(sandbox.user_skill(name).join("SKILL.md"), text).unwrap();
    }
    let mut agent = Connection::open(&sandbox, &[]);
    for (skill, tools) in [
        ("any", json!([])),
        ("plain", json!(["skill_history"])),
        ("prefixed", json!(["disable_skill"])),
        ("grouped", json!(["skill_status"])),
    ] {
        assert_eq!(agent.done("read_skill", &json!({"name": skill}))["tools"], tools, "{skill}");
    }
    assert_eq!(names(&mut agent)[CORE.len()..], ["skill_history", "skill_status", "disable_skill"]);
    sandbox.done(&["disable", "prefixed"]);
    assert!(agent.is_told(LIST_CHANGED, 20));
    assert_eq!(names(&mut agent)[CORE.len()..], ["skill_history", "skill_status"]);
    agent.close();
}

#[test]
fn tools_of_the_next_step_join() {
    let sandbox = Sandbox::new();
    let mut agent = Connection::open(&sandbox, &[]);
    let mut joins = |tool: &str, arguments: &Value, next: &str| {
        agent.notifications.clear();
        agent.call(tool, arguments);
        assert!(agent.is_told(LIST_CHANGED, 10), "{tool} {arguments}");
        let now = names(&mut agent);
        assert!(now.contains(&next.to_owned()), "{next} is missing after {tool}: {now:?}");
    };
    joins("skill_manage", &create("demo"), "skill_rollback");
    joins("search_skills", &json!({"query": "zyzzyva"}), "search_marketplace");
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    joins("skill_manage", &create("other"), "skill_review_show");
    agent.close();
}

/// The permissions are those of a listed tool.
#[test]
fn unlisted_tools_are_callable() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    for open in [Connection::open, Connection::newer] {
        let mut agent = open(&sandbox, &[]);
        assert_eq!(agent.done("skill_history", &json!({"name": "demo"}))["revisions"].as_array().unwrap().len(), 1);
        assert_eq!(agent.done("skills.codegen.status", &json!({}))["tools"], json!([]));
        let install = json!({"spec": "skillhub/skillhub-writing-skills"});
        assert_eq!(agent.refused("install_skill", &install)["code"], "policy_denied", "nobody agreed");
        agent.close();
    }
}
