//! Hints over MCP name tools that the client was offered, with their arguments, and otherwise commands.

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::{Sandbox, skill_md};

/// Asserts that a call is refused and that its hint names another call.
#[track_caller]
fn names(agent: &mut Connection, tool: &str, arguments: &Value, code: &str, call: &str) {
    let error = agent.refused(tool, arguments);
    let hint = error["hint"].as_str().unwrap_or_default();
    assert_eq!(error["code"], code, "{error:#}");
    assert!(hint.contains(&format!("`{call}`")) && !hint.contains("skillhub "), "{error:#}");
}

#[test]
fn refused_change_names_the_next_call() {
    let sandbox = Sandbox::new();
    let mut agent = Connection::open(&sandbox, &["--all-tools"]);
    let text = skill_md("demo", "Shows things. Use in tests.", "alpha line");
    agent.done("skill_manage", &json!({"action": "create", "name": "demo", "content": text}));
    let manage = |action: &str, more: Value| {
        let mut all = json!({"action": action, "name": "demo"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let patch = |find: &str| json!({"find": find, "replace": "y"});
    let file = r#"read_skill_file {"name":"demo","path":"SKILL.md"}"#;
    names(&mut agent, "skill_manage", &manage("patch", patch("beta")), "no_match", file);
    names(&mut agent, "skill_manage", &manage("create", json!({"content": text})), "exists", file);
    let missing = manage("remove_file", json!({"path": "scripts/none.sh"}));
    names(&mut agent, "skill_manage", &missing, "not_found", r#"read_skill {"name":"demo"}"#);
    let whole = manage("remove_file", json!({"path": "SKILL.md"}));
    let delete = r#"skill_manage {"action":"delete","name":"demo"}"#;
    names(&mut agent, "skill_manage", &whole, "invalid_request", delete);
    let mut stale = manage("patch", patch("alpha"));
    stale["expected_revision"] = json!("7");
    names(&mut agent, "skill_manage", &stale, "stale_revision", r#"skill_diff {"name":"demo"}"#);
    agent.close();
}

#[test]
fn refused_lookup_names_the_next_call() {
    let sandbox = Sandbox::new();
    let mut agent = Connection::open(&sandbox, &["--all-tools"]);
    let text = skill_md("demo", "Shows things. Use in tests.", "alpha line");
    agent.done("skill_manage", &json!({"action": "create", "name": "demo", "content": text}));
    let back = json!({"name": "demo", "revision": "9"});
    names(&mut agent, "skill_rollback", &back, "not_found", r#"skill_history {"name":"demo"}"#);
    for (tool, arguments) in [
        ("skill_rollback", json!({"name": "demo", "revision": "zz"})),
        ("skill_diff", json!({"name": "demo", "from": "zz"})),
    ] {
        names(&mut agent, tool, &arguments, "invalid_request", r#"skill_history {"name":"demo"}"#);
    }
    let proposal = json!({"id": "aaaaaa"});
    names(&mut agent, "skill_review_show", &proposal, "not_found", r#"skill_review_list {"all":true}"#);
    agent.done("disable_skill", &json!({"name": "demo"}));
    names(&mut agent, "read_skill", &json!({"name": "demo"}), "policy_denied", r#"enable_skill {"name":"demo"}"#);
    let search = r#"search_skills {"query":"WORDS"}"#;
    for (tool, arguments) in [
        ("skill_history", json!({"name": "none"})),
        ("read_skill", json!({"name": "none"})),
        ("skill_manage", json!({"action": "patch", "name": "none", "find": "a", "replace": "b"})),
        ("record_outcome", json!({"name": "none", "event": "completed"})),
    ] {
        names(&mut agent, tool, &arguments, "not_found", search);
    }
    agent.close();
}

#[test]
fn hints_name_only_listed_tools() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let names = |agent: &mut Connection| -> Vec<String> {
        let listed = agent.request("tools/list", &json!({}))["tools"].clone();
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut agent = Connection::open(&sandbox, &["--all-tools"]);
    let all = names(&mut agent);
    agent.close();
    let missing = json!({"action": "remove_file", "name": "demo", "path": "scripts/none.sh"});
    let stale = json!({"action": "patch", "name": "demo", "find": "a", "replace": "b", "expected_revision": "7"});
    for (args, reader) in [(&[][..], "read_skill"), (&["--agent", "opencode"][..], "skill")] {
        for open in [Connection::open, Connection::newer] {
            let mut agent = open(&sandbox, args);
            let listed = names(&mut agent);
            for (tool, arguments, step) in [
                ("skill_manage", &missing, format!(r#"{reader} {{"name":"demo"}}"#).as_str()),
                ("skill_manage", &stale, "skillhub diff demo"),
                ("skill_rollback", &json!({"name": "demo", "revision": "9"}), "skillhub history demo"),
                ("skill_history", &json!({"name": "none"}), r#"search_skills {"query":"WORDS"}"#),
                ("read_skill", &json!({"name": "none"}), r#"search_skills {"query":"WORDS"}"#),
                ("skill_review_show", &json!({"id": "aaaaaa"}), "skillhub review list --all"),
                ("skill_review_show", &json!({"id": "!"}), "skillhub review list"),
            ] {
                let hint = agent.refused(tool, arguments)["hint"].as_str().unwrap().to_owned();
                assert!(hint.contains(&format!("`{step}`")), "{tool}: {hint}");
                let unlisted = all.iter().find(|tool| !listed.contains(tool) && hint.contains(&format!("`{tool} ")));
                assert_eq!(unlisted, None, "{tool}: {hint}");
            }
            assert_eq!(names(&mut agent), listed);
            agent.close();
        }
    }
}

#[test]
fn authors_withdraw_what_they_proposed() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    std::fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let mut agent = Connection::open(&sandbox, &[]);
    let delete = |name: &str| json!({"action": "delete", "name": name});
    assert_eq!(agent.done("skill_manage", &delete("demo"))["status"], "proposed");
    let patch = json!({"action": "patch", "name": "demo", "find": "alpha", "replace": "beta"});
    let restore = json!({"name": "demo", "revision": "head"});
    let call = format!("skill_rollback {restore}");
    names(&mut agent, "skill_manage", &patch, "merge_conflict", &call);
    assert_eq!(agent.done("skill_rollback", &restore)["status"], "unchanged");
    assert_eq!(agent.done("skill_manage", &patch)["status"], "proposed");
    let text = |line: &str| skill_md("new", "Shows things. Use in tests.", line);
    let new = |line: &str| json!({"action": "create", "name": "new", "content": text(line)});
    assert_eq!(agent.done("skill_manage", &new("alpha"))["status"], "proposed");
    let call = r#"skill_manage {"action":"delete","name":"new"}"#;
    names(&mut agent, "skill_manage", &new("beta"), "merge_conflict", call);
    assert_eq!(agent.done("skill_manage", &delete("new"))["status"], "unchanged");
    assert_eq!(agent.done("skill_review_list", &json!({}))["proposals"].as_array().unwrap().len(), 1);
    agent.close();
}

#[test]
fn deletion_is_no_revision_to_restore() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let mut agent = Connection::open(&sandbox, &["--all-tools"]);
    let delete = json!({"action": "delete", "name": "demo"});
    agent.done("skill_manage", &delete);
    agent.done("skill_rollback", &json!({"name": "demo"}));
    let call = format!("skill_manage {delete}");
    names(&mut agent, "skill_rollback", &json!({"name": "demo", "revision": "2"}), "invalid_request", &call);
    agent.close();
}

#[test]
fn unknown_name_gets_the_nearest() {
    let sandbox = Sandbox::new();
    sandbox.create("alpha", "alpha line");
    let mut agent = Connection::open(&sandbox, &[]);
    let hint = agent.refused("read_skill", &json!({"name": "alpa"}))["hint"].to_string();
    assert!(hint.contains("did you mean alpha? ") && hint.contains("search_skills"), "{hint}");
    let hint = agent.refused("read_skill", &json!({"name": "mine"}))["hint"].to_string();
    assert!(!hint.contains("did you mean"), "{hint}");
    let error = agent.answer("prompts/get", &json!({"name": "none"}))["error"].to_string();
    assert!(error.contains("search_skills") && !error.contains("skillhub list"), "{error}");
    let hint = agent.refused("install_skill", &json!({"spec": "acme/alpha@"}))["hint"].to_string();
    assert!(hint.contains("version after the @"), "{hint}");
    agent.close();
}
