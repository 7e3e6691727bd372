//! Crab Claw: a skill that compiles to a tool, its levels of approval and what its calls are named.

use std::fs;

use serde_json::json;

use crate::{mcp::connection::Connection, support::Sandbox};

/// A skill whose steps are these.
fn skill(sandbox: &Sandbox, name: &str, steps: &str) {
    let folder = sandbox.user_skill(name);
    fs::create_dir_all(&folder).unwrap();
    let input = "    type: object\n    properties: {url: {type: string}}\n    required: [url]\n";
    let text = format!(
        "---\nname: {name}\ndescription: Does {name}.\ntool_schema:\n  input:\n{input}  steps:\n{steps}---\nDo it.\n"
    );
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

// CC4
#[test]
fn approval_is_that_of_the_strictest_step() {
    let sandbox = Sandbox::new();
    let (search, write) = (
        "    - tool: web_search\n      input: {query: \"{{input.url}}\"}\n",
        "    - tool: write_file\n      input: {path: out.md, content: \"{{input.url}}\"}\n",
    );
    skill(&sandbox, "plain", search);
    skill(&sandbox, "planned", &format!("{search}{write}"));
    sandbox.done(&["tools", "compile", "--all"]);
    for (name, level) in [("plain", "none"), ("planned", "plan_confirm")] {
        let tool = sandbox.done(&["tools", "show", name]);
        assert_eq!(tool["approval"], level, "{name}: {tool:#}");
    }
}

// CC6
#[test]
fn calls_are_named_as_in_the_text() {
    let sandbox = Sandbox::new();
    skill(&sandbox, "plain", "    - tool: web_search\n      input: {query: \"{{input.url}}\"}\n");
    let mut agent = Connection::open(&sandbox, &[]);
    agent.done("skills.codegen", &json!({"names": ["plain"]}));
    let status = agent.done("skills.codegen.status", &json!({}));
    assert!(status.to_string().contains("skill_plain"), "{status:#}");
    agent.done("skills.codegen.remove", &json!({"names": ["plain"]}));
    let status = agent.done("skills.codegen.status", &json!({}));
    assert!(!status.to_string().contains("\"skill_plain\""), "{status:#}");
}
