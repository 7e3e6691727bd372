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
fn compiled_approval_follows_strictest_step() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), "[tools]\nshell = true\n").unwrap();
    let search = "    - tool: web_search\n      input: {query: \"{{input.url}}\"}\n";
    let write = "    - tool: write_file\n      input: {path: out.md, content: \"{{input.url}}\"}\n";
    let bash = "    - tool: bash\n      input: {command: ls}\n";
    skill(&sandbox, "plain", search);
    skill(&sandbox, "planned", &format!("{search}{write}"));
    skill(&sandbox, "escalated", &format!("{search}{write}{bash}"));
    sandbox.done(&["tools", "compile", "--all"]);
    for (name, level) in [("plain", "none"), ("planned", "plan_confirm"), ("escalated", "exec_escalation")] {
        let tool = sandbox.done(&["tools", "show", name]);
        assert_eq!(tool["approval"], level, "{name}: {tool:#}");
    }
}

// CC1, CC5
#[test]
fn steps_declare_failure_handling() {
    let sandbox = Sandbox::new();
    let steps = |path: &str| {
        format!(
            "    - tool: web_fetch\n      input:\n        url: \"{{{{input.url}}}}\"\n      on_error: skip      # 失败时跳过,继续下一步\n    - tool: write_file\n      input:\n{path}        content: \"{{{{steps.0.output.content}}}}\"\n      on_error: abort     # 失败时终止整个工具执行\n"
        )
    };
    skill(&sandbox, "as-written", &steps(""));
    let refused = sandbox.ask(&["tools", "compile", "as-written"]).json();
    assert!(refused.to_string().contains("path"), "the text leaves out where to write: {refused:#}");
    skill(&sandbox, "with-path", &steps("        path: out.md\n"));
    sandbox.done(&["tools", "compile", "with-path"]);
    let shown = sandbox.done(&["tools", "show", "with-path"]).to_string();
    assert!(shown.contains("skip"), "{shown}");
}

// CC6
#[test]
fn codegen_calls_have_documented_names() {
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
