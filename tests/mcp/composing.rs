//! Compiled tools through the server: compiled, listed, called, described, and removed. Their steps call the tools of
//! another such server.

use std::fs;

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::Sandbox;

fn create(sandbox: &Sandbox, name: &str, tool_schema: &str) {
    let text =
        format!("---\nname: {name}\ndescription: Does {name}.\ntool_schema:\n  {tool_schema}\n---\n\nCall it.\n");
    let action = if sandbox.user_skill(name).exists() { "edit" } else { "create" };
    sandbox.request(&json!({"action": action, "name": name, "content": text})).done();
}

fn listed(agent: &mut Connection) -> Vec<Value> {
    let tools = agent.request("tools/list", &json!({}))["tools"].clone();
    tools.as_array().unwrap().iter().filter(|tool| tool["_meta"]["skillhub/skill"].is_string()).cloned().collect()
}

/// Steps of a tool that greets.
const GREET: &str = "{input: {type: object, properties: {who: {type: string}}, required: [who]}, steps: [{tool: text_template, input: {template: \"Hello ${.}\", values: \"{{input.who}}\"}}]}";

/// Calls a tool and gives this answer to its question.
pub(super) fn call_asked(agent: &mut Connection, tool: &str, arguments: &Value, action: &str) -> (String, Value) {
    let id = agent.send("tools/call", &json!({"name": tool, "arguments": arguments}));
    let question = loop {
        let message = agent.read();
        if message["method"] == "elicitation/create" {
            break message;
        }
        assert_ne!(message["id"], id, "nobody was asked: {message:#}");
    };
    agent.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action, "content": {}}}));
    loop {
        let message = agent.read();
        if message["id"] == id && message.get("method").is_none() {
            return (question["params"]["message"].as_str().unwrap().to_owned(), message["result"].clone());
        }
    }
}

/// The tool follows the changes of its skill.
#[test]
fn compiled_skill_is_callable_tool() {
    let sandbox = Sandbox::new();
    create(&sandbox, "greet", GREET);
    let mut agent = Connection::open(&sandbox, &[]);
    assert_eq!(listed(&mut agent), Vec::<Value>::new());
    let compiled = agent.done("skills.codegen", &json!({"names": ["greet"]}));
    assert_eq!(compiled["skills"][0]["tool"]["name"], "skill_greet");
    assert!(agent.is_told("notifications/tools/list_changed", 10));
    let tool = listed(&mut agent)[0].clone();
    assert_eq!((&tool["name"], &tool["inputSchema"]["required"]), (&json!("skill_greet"), &json!(["who"])));
    assert_eq!(agent.done("search_skills", &json!({"query": "greet"}))["results"][0]["tool"], "skill_greet");
    let done = agent.done("skill_greet", &json!({"who": "you"}));
    assert_eq!(done["output"], json!({"text": "Hello you"}));
    let trace = sandbox.done(&["tools", "trace", done["trace"].as_str().unwrap()]);
    assert_eq!(trace["trace"]["steps"][0]["tool"], "text_template");
    assert_eq!(agent.refused("skill_greet", &json!({"whom": "you"}))["code"], "invalid_input");
    assert_eq!(agent.refused("skill_none", &json!({}))["code"], "not_found");
    create(&sandbox, "greet", &GREET.replace("Hello", "Good day"));
    assert!(agent.is_told("notifications/tools/list_changed", 15), "another program changed the skill");
    assert_eq!(agent.done("skill_greet", &json!({"who": "you"}))["output"]["text"], "Good day you");
    agent.done("disable_skill", &json!({"name": "greet"}));
    assert_eq!(listed(&mut agent), Vec::<Value>::new());
    assert_eq!(agent.done("skills.codegen.status", &json!({}))["tools"][0]["state"], "absent");
    agent.done("enable_skill", &json!({"name": "greet"}));
    agent.done("skills_codegen_remove", &json!({"names": ["greet"]}));
    assert_eq!(agent.refused("skill_greet", &json!({"who": "you"}))["code"], "not_found");
    create(&sandbox, "wrong", "{steps: [{tool: text_templat}]}");
    let broken = agent.call("skills_codegen", &json!({"names": ["wrong"]}));
    assert_eq!(broken["structuredContent"]["skills"][0]["problems"][0]["code"], "unknown_tool", "{broken:#}");
    agent.close();
}

#[test]
fn strictest_step_sets_approval_level() {
    let sandbox = Sandbox::new();
    create(&sandbox, "save", "{steps: [{tool: write_file, input: {path: out.txt, content: x}}]}");
    sandbox.done(&["tools", "compile", "save"]);
    let mut cannot = Connection::open(&sandbox, &[]);
    let refused = cannot.refused("skill_save", &json!({}));
    assert_eq!(refused["code"], "policy_denied");
    assert!(refused["hint"].as_str().unwrap().contains("--approve plan_confirm"), "{refused}");
    cannot.close();
    let mut asks = Connection::of(&sandbox, &[], &json!({"elicitation": {}}));
    let (question, refused) = call_asked(&mut asks, "skill_save", &json!({}), "decline");
    assert!(
        question.contains("plan_confirm") && question.contains("write_file") && question.contains("out.txt"),
        "{question}"
    );
    assert_eq!(refused["isError"], true);
    assert!(!sandbox.cwd().join("out.txt").exists());
    let (_, done) = call_asked(&mut asks, "skill_save", &json!({}), "accept");
    assert_eq!(done["structuredContent"]["output"]["path"], "out.txt", "{done:#}");
    assert_eq!(fs::read_to_string(sandbox.cwd().join("out.txt")).unwrap(), "x");
    asks.close();
}

#[test]
fn agent_gets_tools_of_permitted_skills() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    let config =
        "[agents.small]\nskills = ['other']\n[[permissions]]\nagent = 'barred'\ntool = 'skill_*'\ndecision = 'deny'\n";
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    create(&sandbox, "greet", GREET);
    sandbox.done(&["tools", "compile", "greet"]);
    for agent in ["small", "barred"] {
        let mut connection = Connection::open(&sandbox, &["--agent", agent]);
        assert_eq!(listed(&mut connection), Vec::<Value>::new(), "{agent}");
        assert_eq!(connection.refused("skill_greet", &json!({"who": "x"}))["code"], "not_found");
        connection.close();
    }
    let mut hidden = Connection::open(&sandbox, &["--agent", "small"]);
    assert_eq!(hidden.refused("skills_codegen", &json!({"names": ["greet"]}))["code"], "not_found");
    hidden.close();
    let mut later = Connection::open(&sandbox, &["--defer-tools"]);
    assert_eq!(listed(&mut later), Vec::<Value>::new());
    later.done("read_skill", &json!({"name": "greet"}));
    assert_eq!(listed(&mut later).len(), 1, "reading the skill brings its tool");
    later.close();
}

#[test]
fn approval_covers_only_shown_plan() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), "[tools]\nshell = true\n").unwrap();
    create(&sandbox, "swap", "{steps: [{tool: write_file, input: {path: harmless.txt, content: x}}]}");
    sandbox.done(&["tools", "compile", "swap"]);
    let mut agent = Connection::of(&sandbox, &[], &json!({"elicitation": {}}));
    let id = agent.send("tools/call", &json!({"name": "skill_swap", "arguments": {}}));
    let mut questions = Vec::new();
    let result = loop {
        let message = agent.read();
        if message["method"] == "elicitation/create" {
            if questions.is_empty() {
                create(&sandbox, "swap", "{steps: [{tool: shell, input: {command: touch, args: [owned]}}]}");
            }
            questions.push(message["params"]["message"].as_str().unwrap().to_owned());
            let action = if questions.len() == 1 { "accept" } else { "decline" };
            agent.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"action": action, "content": {}}}));
        }
        if message["id"] == id && message.get("method").is_none() {
            break message["result"].clone();
        }
    };
    assert_eq!(questions.len(), 2, "the other plan is another question: {questions:#?}");
    assert!(questions[0].contains("plan_confirm") && questions[1].contains("exec_escalation"), "{questions:#?}");
    assert_eq!(result["isError"], true);
    assert!(!sandbox.cwd().join("owned").exists() && !sandbox.cwd().join("harmless.txt").exists());
    agent.close();
}

#[test]
fn nested_tool_grants_no_extra_access() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    let config = "[agents.limited]\nskills = ['open']\n[[permissions]]\nagent = 'shy'\ntool = 'text_template'\ndecision = 'ask'\n";
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    create(&sandbox, "secret", "{steps: [{tool: text_template, input: {template: key-of-secret}}]}");
    create(&sandbox, "open", "{steps: [{tool: skill_secret}]}");
    sandbox.done(&["tools", "compile", "--all"]);
    let mut limited = Connection::open(&sandbox, &["--agent", "limited"]);
    assert_eq!(listed(&mut limited), Vec::<Value>::new(), "what could only fail is not offered");
    assert_eq!(limited.refused("skill_open", &json!({}))["code"], "not_found");
    let status = limited.done("skills_codegen_status", &json!({}));
    assert_eq!(status["tools"].as_array().unwrap().len(), 1, "{status:#}");
    assert_eq!(status["tools"][0]["problems"][0]["code"], "unknown_tool", "{status:#}");
    assert_eq!(limited.refused("skills_codegen_remove", &json!({"names": ["secret"]}))["code"], "not_found");
    let compiled = limited.call("skills_codegen", &json!({}))["structuredContent"].take();
    assert_eq!(compiled["skills"].as_array().unwrap().len(), 1, "{compiled:#}");
    assert_eq!(compiled["skills"][0]["problems"][0]["code"], "unknown_tool", "{compiled:#}");
    let mut report = |step: &str| {
        create(&sandbox, "open", &format!("{{steps: [{{tool: {step}}}]}}"));
        let compiled = limited.call("skills_codegen", &json!({"names": ["open"]}));
        let called = sandbox.ask(&["tools", "call", "open", "--agent", "limited"]).refused(3, "invalid_skill");
        [compiled, called, limited.done("skills_codegen_status", &json!({}))]
            .map(|answer| answer.to_string().replace(step, "STEP"))
    };
    assert_eq!(report("skill_secreb"), report("skill_secret"));
    limited.close();
    sandbox.done(&["tools", "call", "open"]);
    assert_eq!(sandbox.done(&["tools", "trace"])["runs"].as_array().unwrap().len(), 1);
    let of_limited = sandbox.done(&["tools", "trace", "--actor", "agent:limited"]);
    assert_eq!(of_limited["runs"], json!([]), "a run that called a hidden tool");
    let mut shy = Connection::open(&sandbox, &["--agent", "shy"]);
    assert_eq!(shy.refused("skill_open", &json!({}))["code"], "policy_denied");
    shy.close();
    sandbox.ask(&["tools", "call", "open", "--agent", "shy"]).refused_with_hint(5, "policy_denied");
    let mut asks = Connection::of(&sandbox, &["--agent", "shy"], &json!({"elicitation": {}}));
    let (question, done) = call_asked(&mut asks, "skill_open", &json!({}), "accept");
    assert!(question.contains("can reach: skill_secret, text_template"), "{question}");
    assert_eq!(done["structuredContent"]["output"]["text"], "key-of-secret", "{done:#}");
    asks.close();
}
