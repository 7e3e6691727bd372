//! Steps of composed tools that call other servers: here skillhub itself, over the standard streams and over HTTP.

use std::fs;

use serde_json::{Value, json};

use super::http::{Served, TOKEN, serve};
use crate::support::Sandbox;

const FINDER: &str = "---
name: finder
description: Looks zebras up.
tool_schema:
  input:
    type: object
    properties: {words: {type: string}}
    required: [words]
  steps:
    - tool: mcp__own__search_skills
      input: {query: \"{{input.words}}\"}
---
# Finder

Call the tool.
";

/// Creates a sandbox with a skill that calls a server with this configuration.
fn asking(server: &str) -> Sandbox {
    let sandbox = Sandbox::project();
    sandbox.run_with(&["manage", "create", "finder", "--content", "-", "--json"], FINDER.as_bytes()).done();
    configure(&sandbox, server);
    sandbox
}

/// Returns the configuration of the server as a program of the sandbox.
fn program(sandbox: &Sandbox) -> String {
    let skillhub = json!([env!("CARGO_BIN_EXE_skillhub"), "mcp"]);
    let env = format!("{{ SKILLHUB_HOME = {}, HOME = {} }}", json!(sandbox.skillhub_home()), json!(sandbox.home()));
    format!("command = {skillhub}\nenv = {env}")
}

fn configure(sandbox: &Sandbox, server: &str) {
    let text = format!("[mcp_servers.own]\n{server}\n");
    fs::write(sandbox.skillhub_home().join("config.toml"), text).unwrap();
}

fn found(answer: &Value) -> &Value {
    &answer["output"]["results"][0]["name"]
}

#[test]
fn step_starts_its_server() {
    let sandbox = asking("url = 'http://127.0.0.1:1/mcp'");
    configure(&sandbox, &program(&sandbox));
    let native = sandbox.done(&["tools", "list", "--native"]);
    let tools = native["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{native}"));
    assert_eq!(tool("mcp__own__search_skills")["approval"], "none");
    assert_ne!(tool("mcp__own__skill_manage")["approval"], "none");
    assert_eq!(sandbox.done(&["tools", "compile", "finder"])["ok"], true);
    // Because of the compiled tool, the server looks for other servers. It finds itself and starts nothing.
    let answer = sandbox.done(&["tools", "call", "finder", "--input", "{\"words\": \"zebras\"}"]);
    assert_eq!(found(&answer), "finder", "{answer}");
}

/// A server that is gone is a warning.
#[test]
fn step_calls_server_by_url() {
    let sandbox = asking("url = 'http://127.0.0.1:1/mcp'");
    let elsewhere = Sandbox::new();
    let striped = FINDER.replace("name: finder", "name: striped").split("tool_schema").next().unwrap().to_owned();
    let striped = format!("{striped}---\n# Striped\n\nRead on.\n");
    elsewhere.run_with(&["manage", "create", "striped", "--content", "-", "--json"], striped.as_bytes()).done();
    let served: Served = serve(&elsewhere, TOKEN, &[]);
    let url = served.ready["url"].as_str().unwrap();
    configure(&sandbox, &format!("url = '{url}'\nenv = {{ AUTHORIZATION = 'Bearer {TOKEN}' }}"));
    sandbox.done(&["tools", "compile", "finder"]);
    let answer = sandbox.done(&["tools", "call", "finder", "--input", "{\"words\": \"zebras\"}"]);
    assert_eq!(found(&answer), "striped", "{answer}");
    drop(served);
    let gone = sandbox.run(&["tools", "list", "--native"]);
    assert!(gone.stderr.contains("the tools of the MCP server own are missing"), "{gone}");
    let answer = sandbox.ask(&["tools", "call", "finder", "--input", "{\"words\": \"zebras\"}"]);
    assert_ne!(answer.json()["ok"], true, "{}", answer.text());
}
