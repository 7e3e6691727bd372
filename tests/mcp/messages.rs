//! Notifications of the server: log messages and progress. Also cancelled requests.

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::{Sandbox, skill_md};

fn create(name: &str) -> Value {
    json!({"action": "create", "name": name, "content": skill_md(name, "Shows things. Use in tests.", "alpha line")})
}

/// Returns the notifications of this method since the connection began.
fn said<'a>(agent: &'a Connection, method: &str) -> Vec<&'a Value> {
    agent.notifications.iter().filter(|message| message["method"] == method).map(|message| &message["params"]).collect()
}

#[test]
fn log_respects_client_level() {
    let sandbox = Sandbox::new();
    let mut agent = Connection::open(&sandbox, &[]);
    agent.done("skill_manage", &create("quiet"));
    assert_eq!(said(&agent, "notifications/message").len(), 0, "nobody asked for it");
    agent.request("logging/setLevel", &json!({"level": "warning"}));
    agent.done("skill_manage", &create("first"));
    agent.refused("skill_manage", &create("first"));
    let logged = said(&agent, "notifications/message");
    assert_eq!(logged.len(), 1, "{logged:#?}");
    assert_eq!((&logged[0]["level"], &logged[0]["data"]["code"]), (&json!("warning"), &json!("exists")));
    agent.request("logging/setLevel", &json!({"level": "info"}));
    agent.done("skill_manage", &create("second"));
    let logged = said(&agent, "notifications/message");
    assert_eq!((&logged[1]["level"], &logged[1]["data"]["name"]), (&json!("info"), &json!("second")));
    assert!(agent.answer("logging/setLevel", &json!({"level": "loud"}))["error"].is_object());
    agent.close();
}

/// Only a call that asks a registry reports progress.
#[test]
fn progress_is_sent_only_on_request() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    let mut agent = Connection::open(&sandbox, &[]);
    let call =
        |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 7}});
    agent.request("tools/call", &call("read_skill", json!({"name": "demo"})));
    agent.request("tools/call", &json!({"name": "search_marketplace", "arguments": {"query": "skill"}}));
    assert_eq!(said(&agent, "notifications/progress").len(), 0);
    agent.request("tools/call", &call("search_marketplace", json!({"query": "skill"})));
    let told = said(&agent, "notifications/progress");
    let steps: Vec<_> = told.iter().map(|params| (&params["progressToken"], params["progress"].as_f64())).collect();
    assert_eq!(steps, [(&json!(7), Some(0.0)), (&json!(7), Some(1.0))]);
    agent.close();
}

#[test]
fn cancelled_request_is_atomic() {
    let sandbox = Sandbox::new();
    let mut agent = Connection::open(&sandbox, &[]);
    for at in 0..20 {
        let name = format!("skill-{at}");
        let id = agent.send("tools/call", &json!({"name": "skill_manage", "arguments": create(&name)}));
        let cancelled = json!({"requestId": id, "reason": "changed my mind"});
        agent.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    }
    agent.done("skill_manage", &create("last"));
    agent.close();
    let listed = sandbox.done(&["list"])["skills"].as_array().unwrap().clone();
    assert!(listed.iter().any(|skill| skill["name"] == "last"));
    for skill in &listed {
        let history = sandbox.done(&["history", skill["name"].as_str().unwrap()]);
        assert_eq!(history["revisions"].as_array().unwrap().len(), 1, "{history:#}");
    }
    let status = sandbox.done(&["status"]);
    assert!(status["skills"].as_array().unwrap().iter().all(|skill| skill["state"] == "clean"), "{status:#}");
    assert_eq!(sandbox.done(&["doctor"])["ok"], true);
}
