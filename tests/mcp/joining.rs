//! Tools of other servers that are added to the list after a skill that declares them was read.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::Sandbox;

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Starts an MCP server over HTTP and returns its address. Each of its tools answers with its own name.
fn serve_tools() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            thread::spawn(move || answer(stream));
        }
    });
    format!("http://127.0.0.1:{port}/mcp")
}

/// Answers one request, then closes the connection.
fn answer(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        match line.trim().to_ascii_lowercase().strip_prefix("content-length:") {
            Some(count) => length = count.trim().parse().unwrap(),
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (status, body) = match result_of(&request) {
        Some(result) => ("200 OK", json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string()),
        None if request["id"].is_null() => ("202 Accepted", String::new()),
        None => {
            let error = json!({"code": -32601, "message": "method not found"});
            ("200 OK", json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string())
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _gone = stream.write_all((head + &body).as_bytes());
}

fn result_of(request: &Value) -> Option<Value> {
    match request["method"].as_str()? {
        "initialize" => Some(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "kit", "version": "1"},
        })),
        "tools/list" => {
            let tool = |name: &str, reads: bool| {
                json!({
                    "name": name, "description": format!("Does {name}."), "annotations": {"readOnlyHint": reads},
                    "inputSchema": {"type": "object", "properties": {"file": {"type": "string"}}},
                })
            };
            let reading =
                ["extract_pdf_tool", "process_data_tool", "count_pages", "read_skill"].map(|name| tool(name, true));
            let tools = [reading.as_slice(), &[tool("erase_tool", false)]].concat();
            Some(json!({ "tools": tools }))
        }
        "tools/call" => Some(json!({"content": [{"type": "text", "text": request["params"]["name"]}]})),
        _ => None,
    }
}

/// Creates a sandbox with the server `kit`, more configuration, and a skill for each of the given lines of frontmatter.
fn sandbox(config: &str, skills: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    let text = format!("[mcp_servers.kit]\nurl = '{}'\n{config}", serve_tools());
    fs::write(sandbox.skillhub_home().join("config.toml"), text).unwrap();
    for (name, line) in skills {
        let text =
            format!("---\nname: {name}\ndescription: Does {name}. Use in tests.\n{line}\n---\n\nUse the tools.\n");
        sandbox.request(&json!({"action": "create", "name": name, "content": text})).done();
    }
    sandbox
}

fn names(agent: &mut Connection) -> Vec<String> {
    let listed = agent.request("tools/list", &json!({}));
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the names of tools that were not listed at first.
fn joined(agent: &mut Connection, first: &[String]) -> Vec<String> {
    let now = names(agent);
    assert_eq!(&now[..first.len()], first, "what was offered stays");
    now[first.len()..].to_vec()
}

fn read(agent: &mut Connection, skill: &str) -> Value {
    agent.done("read_skill", &json!({"name": skill}))
}

fn is_unknown(agent: &mut Connection, tool: &str) -> bool {
    let answer = agent.answer("tools/call", &json!({"name": tool, "arguments": {}}));
    answer["error"]["code"] == -32602
}

// SA5
#[test]
fn tools_join_over_three_turns() {
    let skills = [
        ("pdf-extractor", "allowed_tools: [extract_pdf_tool]"),
        ("data-processor", "allowedTools: process_data_tool extract_pdf_tool"),
    ];
    let sandbox = sandbox("", &skills);
    let mut agent = Connection::open(&sandbox, &[]);
    let first = names(&mut agent);
    assert!(!first.iter().any(|name| name.contains("_tool")), "{first:?}");
    assert!(is_unknown(&mut agent, "extract_pdf_tool"), "no skill was read");
    assert_eq!(read(&mut agent, "pdf-extractor")["tools"], json!(["extract_pdf_tool"]));
    assert!(agent.is_told(LIST_CHANGED, 10));
    assert_eq!(joined(&mut agent, &first), ["extract_pdf_tool"]);
    assert_eq!(agent.done("extract_pdf_tool", &json!({"file": "a.pdf"}))["output"], "extract_pdf_tool");
    read(&mut agent, "data-processor");
    assert!(agent.is_told(LIST_CHANGED, 10));
    let both = ["extract_pdf_tool", "process_data_tool"];
    assert_eq!(joined(&mut agent, &first), both);
    read(&mut agent, "data-processor");
    read(&mut agent, "pdf-extractor");
    assert_eq!(joined(&mut agent, &first), both, "nothing twice");
    assert_eq!(agent.done("process_data_tool", &json!({}))["output"], "process_data_tool");
    agent.notifications.clear();
    agent.done("disable_skill", &json!({"name": "data-processor"}));
    assert!(agent.is_told(LIST_CHANGED, 10));
    assert_eq!(joined(&mut agent, &first), ["extract_pdf_tool"]);
    assert!(is_unknown(&mut agent, "process_data_tool"));
    agent.close();
}

// SA5
#[test]
fn tools_join_by_every_spelling_and_group() {
    let config = "[tools.groups]\ngrouped = ['count_pages', 'mcp__kit__erase_tool', 'mcp__none__x']\n";
    let skills = [
        ("hyphens", "allowed-tools: Bash(git:*) mcp__kit__process_data_tool"),
        ("patterns", "allowed-tools: mcp__kit__*"),
        ("grouped", "license: MIT"),
        ("loose", "allowed-tools: count_*"),
        ("posing", "allowed-tools: read_skill web_fetch mcp__none__x"),
    ];
    let sandbox = sandbox(config, &skills);
    let mut agent = Connection::open(&sandbox, &[]);
    let first = names(&mut agent);
    for (skill, tools) in [
        ("loose", json!([])),
        ("posing", json!(["mcp__kit__read_skill"])),
        ("hyphens", json!(["mcp__kit__process_data_tool"])),
        ("grouped", json!(["count_pages", "mcp__kit__erase_tool"])),
    ] {
        assert_eq!(read(&mut agent, skill)["tools"], tools, "{skill}");
    }
    let all = ["mcp__kit__read_skill", "mcp__kit__process_data_tool", "count_pages", "mcp__kit__erase_tool"];
    assert_eq!(joined(&mut agent, &first), all);
    assert_eq!(read(&mut agent, "patterns")["tools"].as_array().unwrap().len(), 5);
    assert_eq!(joined(&mut agent, &first).len(), 5);
    agent.close();
}

// SA5
#[test]
fn permissions_and_consent_hold_for_joined_tools() {
    let config = "[[permissions]]\nagent = 'barred'\ntool = 'mcp__kit__*'\ndecision = 'deny'\n\
                  [[permissions]]\nagent = 'shy'\ntool = 'mcp__kit__count_pages'\ndecision = 'ask'\n\
                  [agents.narrow.capabilities]\nallow = ['mcp__kit__count_pages']\n";
    let sandbox = sandbox(config, &[("both", "allowed-tools: count_pages erase_tool")]);
    for (agent, tools) in
        [("barred", json!([])), ("narrow", json!(["count_pages"])), ("shy", json!(["count_pages", "erase_tool"]))]
    {
        let mut connection = Connection::open(&sandbox, &["--agent", agent]);
        assert_eq!(read(&mut connection, "both")["tools"], tools, "{agent}");
        if agent == "shy" {
            for tool in ["count_pages", "erase_tool", "mcp__kit__erase_tool"] {
                assert_eq!(connection.refused(tool, &json!({}))["code"], "policy_denied", "{tool}");
            }
        }
        connection.close();
    }
    let mut asks = Connection::of(&sandbox, &[], &json!({"elicitation": {}}));
    read(&mut asks, "both");
    for (action, is_error) in [("decline", true), ("accept", false)] {
        let (question, result) = super::composing::call_asked(&mut asks, "erase_tool", &json!({"file": "x"}), action);
        assert!(
            question.contains("mcp__kit__erase_tool (exec_escalation)") && question.contains("\"x\""),
            "{question}"
        );
        assert_eq!(result["isError"], is_error, "{result:#}");
    }
    asks.close();
}

// SA5
#[test]
fn list_stays_without_session() {
    let sandbox = sandbox("", &[("pdf-extractor", "allowed-tools: extract_pdf_tool"), ("plain", "license: MIT")]);
    let mut agent = Connection::newer(&sandbox, &[]);
    let first = names(&mut agent);
    let result = agent.call("read_skill", &json!({"name": "pdf-extractor"}));
    assert_eq!(result["structuredContent"]["tools"], json!(["extract_pdf_tool"]));
    assert!(result["content"][0]["text"].as_str().unwrap().contains("Tools of this skill: extract_pdf_tool"));
    assert_eq!(names(&mut agent), first);
    assert_eq!(agent.done("extract_pdf_tool", &json!({}))["output"], "extract_pdf_tool");
    assert!(is_unknown(&mut agent, "process_data_tool"), "no skill brings it");
    agent.close();
}

// SA5
#[test]
fn skill_with_broken_tools_is_read() {
    let sandbox =
        sandbox("[tools]\nfolders = ['not-absolute']\n", &[("pdf-extractor", "allowed-tools: extract_pdf_tool")]);
    let mut agent = Connection::open(&sandbox, &[]);
    let first = names(&mut agent);
    assert_eq!(read(&mut agent, "pdf-extractor")["tools"], json!([]));
    assert_eq!(names(&mut agent), first);
    let answer = agent.answer("tools/call", &json!({"name": "extract_pdf_tool", "arguments": {}}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("not an absolute path"), "{answer}");
    agent.close();
}

// SA5
#[test]
fn deferred_composed_tools_join_naming_skills() {
    let sandbox = sandbox("", &[("greeting", "allowed-tools: skill_greet")]);
    let text = "---\nname: greet\ndescription: Greets.\ntool_schema: {steps: [{tool: text_template, input: {template: Hello}}]}\n---\n\nCall it.\n";
    sandbox.request(&json!({"action": "create", "name": "greet", "content": text})).done();
    sandbox.done(&["tools", "compile", "greet"]);
    let mut agent = Connection::open(&sandbox, &["--defer-tools"]);
    assert!(!names(&mut agent).contains(&"skill_greet".to_owned()));
    assert_eq!(read(&mut agent, "greeting")["tools"], json!(["skill_greet"]));
    assert!(names(&mut agent).contains(&"skill_greet".to_owned()));
    agent.close();
}
