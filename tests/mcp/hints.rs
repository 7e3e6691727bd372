//! Hints over MCP name the server's tools with their arguments.

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
    let mut agent = Connection::open(&sandbox, &[]);
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
    let mut agent = Connection::open(&sandbox, &[]);
    let text = skill_md("demo", "Shows things. Use in tests.", "alpha line");
    agent.done("skill_manage", &json!({"action": "create", "name": "demo", "content": text}));
    let back = json!({"name": "demo", "revision": "9"});
    names(&mut agent, "skill_rollback", &back, "not_found", r#"skill_history {"name":"demo"}"#);
    let proposal = json!({"id": "aaaaaa"});
    names(&mut agent, "skill_review_show", &proposal, "not_found", r#"skill_review_list {"all":true}"#);
    agent.done("disable_skill", &json!({"name": "demo"}));
    names(&mut agent, "read_skill", &json!({"name": "demo"}), "policy_denied", r#"enable_skill {"name":"demo"}"#);
    names(&mut agent, "skill_history", &json!({"name": "none"}), "not_found", "skill_status {}");
    agent.close();
}
