//! The review inbox over MCP: the person at a client that can ask (elicitation) decides on each item.

use std::fs;

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::{Sandbox, skill_md};

const TOOL: &str = "skill_review_list";

/// A library with the skill `demo`, which a person made and an agent changed, in a home that allows answers over MCP.
fn changed(config: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    create(&sandbox, "demo", "line 0");
    fs::write(sandbox.skillhub_home().join("config.toml"), format!("{config}\n[review]\nelicitation = true\n"))
        .unwrap();
    patch(&sandbox, "demo", "line 0", "line 1");
    sandbox
}

fn create(sandbox: &Sandbox, name: &str, body: &str) {
    let text = skill_md(name, &format!("Does what {name} says. Use in tests."), body);
    sandbox.run_with_proof(&["manage", "create", name, "--content", "-"], text.as_bytes()).exits(0);
}

fn patch(sandbox: &Sandbox, name: &str, find: &str, replace: &str) -> Value {
    sandbox.done(&["--actor", "agent:codex", "manage", "patch", name, "--find", find, "--replace", replace])
}

/// Names of the changed skills and ids of the proposals that wait.
fn waiting(sandbox: &Sandbox) -> Vec<String> {
    let inbox = sandbox.done(&["review"]);
    let of = |list: &str, field: &str| -> Vec<String> {
        inbox[list].as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
    };
    [of("proposals", "id"), of("skills", "name")].concat()
}

fn text(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.user_skill(name).join("SKILL.md")).unwrap()
}

fn asking(sandbox: &Sandbox) -> Connection {
    Connection::of(sandbox, &[], &json!({"elicitation": {}}))
}

fn accepted(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

/// Waits for a question of the server, or for the result of the call.
fn next(agent: &mut Connection, id: u64) -> Value {
    loop {
        let message = agent.read();
        if message["method"] == "elicitation/create" || message["id"] == id && message.get("method").is_none() {
            return message;
        }
    }
}

/// Asks for decisions, answers each question in turn, and returns the questions and the tool's document.
fn decide(agent: &mut Connection, mut answer: impl FnMut(&str) -> Value) -> (Vec<String>, Value) {
    let id = agent.send("tools/call", &json!({"name": TOOL, "arguments": {"decide": true}}));
    let mut questions = Vec::new();
    loop {
        let message = next(agent, id);
        if message["id"] == id && message.get("method").is_none() {
            return (questions, message["result"]["structuredContent"].clone());
        }
        let question = message["params"]["message"].as_str().unwrap().to_owned();
        let given = answer(&question);
        agent.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": given}));
        questions.push(question);
    }
}

/// The history names the person and the client; the agent learns names only.
#[test]
fn answer_over_mcp_keeps_change() {
    let sandbox = changed("");
    let mut agent = asking(&sandbox);
    let (questions, done) = decide(&mut agent, |_| accepted("keep"));
    assert_eq!(questions.len(), 1);
    assert!(questions[0].starts_with("Review: the skill demo changed since revision 1"), "{}", questions[0]);
    assert!(questions[0].contains("\n| -line 0\n| +line 1"), "{}", questions[0]);
    let expected = json!({"ok": true, "decided": [{"name": "demo", "decision": "keep"}], "failed": [], "left": 0});
    assert_eq!(done, expected);
    assert_eq!(waiting(&sandbox), Vec::<String>::new());
    let log = sandbox.done(&["log", "demo"]).to_string();
    assert!(log.contains("over MCP, asked by tester"), "{log}");
    agent.close();
}

#[test]
fn answers_roll_back_delete_and_pin() {
    let sandbox = changed("");
    sandbox.create("fresh", "Made by an agent.");
    create(&sandbox, "pinned", "line 0");
    patch(&sandbox, "pinned", "line 0", "line 2");
    let mut agent = asking(&sandbox);
    let (_, done) = decide(&mut agent, |question| {
        accepted(match question {
            _ if question.contains("skill demo") => "roll back",
            _ if question.contains("skill fresh") => "delete",
            _ => "keep and pin",
        })
    });
    assert_eq!(done["decided"].as_array().unwrap().len(), 3, "{done:#}");
    assert!(text(&sandbox, "demo").contains("line 0"));
    assert!(!sandbox.user_skill("fresh").exists());
    assert!(text(&sandbox, "pinned").contains("line 2"));
    let denied = ["--actor", "agent:codex", "manage", "patch", "pinned", "--find", "line", "--replace", "x"];
    sandbox.ask(&denied).refused(5, "policy_denied");
    let newest = sandbox.done(&["history", "demo"])["revisions"][0].to_string();
    assert!(newest.contains("\"person\"") && newest.contains("over MCP, asked by tester"), "{newest}");
    agent.close();
}

#[test]
fn answers_accept_and_reject_proposals() {
    let sandbox = changed("policy = \"strict\"");
    create(&sandbox, "other", "line 0");
    patch(&sandbox, "other", "line 0", "line 5");
    let mut agent = asking(&sandbox);
    let (questions, done) =
        decide(&mut agent, |question| accepted(if question.contains("skill demo") { "accept" } else { "reject" }));
    assert!(questions[0].contains("| held: the policy `strict` holds every change"), "{}", questions[0]);
    assert_eq!(done["decided"].as_array().unwrap().len(), 2, "{done:#}");
    assert!(text(&sandbox, "demo").contains("line 1") && text(&sandbox, "other").contains("line 0"));
    assert_eq!(waiting(&sandbox), Vec::<String>::new());
    agent.close();
}

/// The agent changes the skill between the question and the answer. The answer counts for nothing, and the new content
/// is shown.
#[test]
fn stale_answer_is_asked_again() {
    for config in ["", "policy = \"strict\""] {
        let sandbox = changed(config);
        let (mut agent, mut count) = (asking(&sandbox), 0);
        let (questions, done) = decide(&mut agent, |_| {
            count += 1;
            match count {
                1 => {
                    let find = if config.is_empty() { "line 1" } else { "# demo" };
                    patch(&sandbox, "demo", find, "line 2");
                    accepted(if config.is_empty() { "keep" } else { "accept" })
                }
                _ => accepted("skip"),
            }
        });
        assert_eq!(questions.len(), 2, "{questions:#?}");
        assert!(questions[1].contains("| +line 2") && !questions[0].contains("line 2"), "{}", questions[1]);
        assert_eq!((&done["decided"], &done["left"]), (&json!([]), &json!(1)));
        assert_eq!(waiting(&sandbox).len(), 1);
        agent.close();
    }
}

#[test]
fn declined_and_malformed_answers_decide_nothing() {
    let sandbox = changed("");
    let mut agent = asking(&sandbox);
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel", "content": {"decision": "keep"}}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"decision": "accept"}}),
        json!({"action": "accept", "content": {"decision": ["keep"]}}),
        json!({"action": "accept", "content": "keep"}),
        accepted("skip"),
        accepted("stop"),
    ] {
        let (questions, done) = decide(&mut agent, |_| answer.clone());
        assert_eq!(questions.len(), 1, "{answer}");
        assert_eq!(done, json!({"ok": true, "decided": [], "failed": [], "left": 1}), "{answer}");
        assert_eq!(waiting(&sandbox), ["demo"], "{answer}");
    }
    for argument in ["decision", "answer", "keep"] {
        agent.refused(TOOL, &json!({"decide": true, argument: "keep"}));
    }
    agent.close();
}

/// Neither a project's file nor a skill's can allow it.
#[test]
fn decisions_over_mcp_are_off_by_default() {
    let sandbox = Sandbox::project();
    create(&sandbox, "demo", "line 0");
    patch(&sandbox, "demo", "line 0", "line 1");
    for place in ["config.toml", ".skillhub/config.toml", ".agents/config.toml", ".agents/skills/demo/config.toml"] {
        let path = sandbox.cwd().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "[review]\nelicitation = true\n").unwrap();
    }
    let mut agent = asking(&sandbox);
    let refused = agent.refused(TOOL, &json!({"decide": true}));
    assert_eq!(refused["code"], "policy_denied");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("`skillhub review` in a terminal") && hint.contains("elicitation = true"), "{hint}");
    assert_eq!(waiting(&sandbox), ["demo"]);
    agent.close();
}

#[test]
fn client_without_elicitation_decides_nothing() {
    let sandbox = changed("");
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut agent = Connection::of(&sandbox, &[], &capabilities);
        let refused = agent.refused(TOOL, &json!({"decide": true}));
        assert!(refused["hint"].as_str().unwrap().contains("person"), "{refused:#}");
        agent.close();
    }
    assert_eq!(waiting(&sandbox), ["demo"]);
}

/// Text of the skill stays behind the bar, and a change that is too long to show cannot be kept.
#[test]
fn hostile_diff_cannot_forge_question() {
    let sandbox = changed("");
    let reason = "fine\nReview: the skill other\u{2028}answer: keep";
    let hostile = "x\rReview: done\u{1b}[2K\u{1b}]0;keep\u{7}peek\u{2028}answer: keep\u{85}\u{0}\nanswer: keep";
    let request = json!({
        "action": "patch", "name": "demo", "find": "line 1", "replace": hostile.replace('\0', ""), "reason": reason,
    });
    sandbox.request(&request).done();
    let mut agent = asking(&sandbox);
    let (questions, _) = decide(&mut agent, |_| accepted("stop"));
    let (head, quotation) = questions[0].split_once("\n\n").unwrap();
    assert_eq!(head.lines().count(), 2, "{head}");
    assert!(quotation.split('\n').all(|line| line.starts_with('|')), "{quotation}");
    let breaks = |c: char| c != '\n' && (c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c));
    assert!(!questions[0].contains(breaks), "{questions:?}");
    assert!(quotation.contains("answer: keep"), "the text itself is shown: {quotation}");
    let long = (0..900).map(|number| format!("more {number}\n")).collect::<String>();
    let body = skill_md("demo", "Does what demo says. Use in tests.", &long);
    sandbox.request(&json!({"action": "edit", "name": "demo", "content": body})).done();
    let (questions, done) = decide(&mut agent, |_| accepted("keep"));
    assert!(questions[0].len() < 30_000 && questions[0].contains("lines are not shown"), "{}", questions[0].len());
    assert_eq!(done["decided"], json!([]), "keep is not offered");
    let (_, done) = decide(&mut agent, |_| accepted("roll back"));
    assert_eq!(done["decided"][0]["decision"], "roll back", "{done:#}");
    agent.close();
}

/// Once the next question is asked, the previous answer is stored.
#[test]
fn killed_server_loses_no_answer() {
    let sandbox = changed("");
    create(&sandbox, "other", "line 0");
    patch(&sandbox, "other", "line 0", "line 1");
    let mut agent = asking(&sandbox);
    let id = agent.send("tools/call", &json!({"name": TOOL, "arguments": {"decide": true}}));
    let first = next(&mut agent, id);
    agent.write(&json!({"jsonrpc": "2.0", "id": first["id"], "result": accepted("keep")}));
    assert_eq!(next(&mut agent, id)["method"], "elicitation/create");
    agent.kill();
    assert_eq!(waiting(&sandbox), ["other"]);
}

/// In the revision without sessions, the client answers by repeating the request.
#[test]
fn sessionless_client_decides_by_repeating() {
    let sandbox = changed("");
    create(&sandbox, "other", "line 0");
    patch(&sandbox, "other", "line 0", "line 1");
    let mut agent = Connection::newer_of(&sandbox, &[], &json!({"elicitation": {}}));
    let call = json!({"name": TOOL, "arguments": {"decide": true}});
    let first = agent.request("tools/call", &call);
    let key = first["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let mut forged = call.clone();
    forged["requestState"] = json!(format!("{key}=keep {key}:keep"));
    assert!(agent.request("tools/call", &forged)["inputRequests"].is_object(), "a state decides nothing");
    let answered = |asked: &Value, decision: &str| {
        let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
        let mut again = call.clone();
        again["inputResponses"] = json!({key: accepted(decision)});
        if asked["requestState"].is_string() {
            again["requestState"] = asked["requestState"].clone();
        }
        again
    };
    patch(&sandbox, "demo", "line 1", "line 2");
    let second = agent.request("tools/call", &answered(&first, "keep"));
    assert!(second.to_string().contains("+line 2"), "the answer is stale: {second:#}");
    let third = agent.request("tools/call", &answered(&second, "keep"));
    assert!(third.to_string().contains("the skill other"), "{third:#}");
    let done = agent.request("tools/call", &answered(&third, "skip"))["structuredContent"].clone();
    assert_eq!(done["decided"], json!([{"name": "demo", "decision": "keep"}]), "{done:#}");
    assert_eq!(waiting(&sandbox), ["other"]);
    agent.close();
}
