//! The example of Crab Claw's description, verbatim: from `SKILL.md` to the report that it writes.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::composing::Site;
use crate::support::{Sandbox, canonical};

const NAME: &str = "竞品监控";
const TOOL: &str = "skill_竞品监控";
const REPORT: &str = "/tmp/competitor-report.md";
const EXAMPLE: &str = r#"---
name: "竞品监控"
description: "自动监控竞品动态并生成报告"
tool_schema:
  input:
    type: object
    properties:
      competitors:
        type: array
        items:
          type: string
        description: "竞品名称列表"
      depth:
        type: string
        enum: [shallow, deep]
        default: shallow
    required: [competitors]
  output:
    type: object
    properties:
      report:
        type: string
      findings_count:
        type: integer
  steps:
    - tool: web_search
      input:
        query: "{{input.competitors}} 最新动态"
    - tool: web_fetch
      input:
        url: "{{steps.0.output.url}}"
    - tool: write_file
      input:
        path: "/tmp/competitor-report.md"
        content: "{{steps.1.output.content}}"
---
"#;

/// Installs a skill from a folder that holds just this.
fn install(sandbox: &Sandbox, name: &str, text: &str) {
    let folder = sandbox.cwd().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
    sandbox.done(&["install", folder.to_str().unwrap()]);
}

/// A sandbox with the example compiled, whose `[tools]` have these lines more.
fn compiled(site: &Site, tools: &str, more: &str) -> Sandbox {
    let sandbox = site.sandbox(more);
    let config = sandbox.skillhub_home().join("config.toml");
    let text = fs::read_to_string(&config).unwrap().replacen("[tools]\n", &format!("[tools]\n{tools}\n"), 1);
    fs::write(config, text).unwrap();
    install(&sandbox, NAME, EXAMPLE);
    sandbox.done(&["tools", "compile", NAME]);
    sandbox
}

// CC2, CC3, CC5
#[cfg(unix)]
#[test]
fn example_writes_its_report() {
    let site = Site::start();
    let sandbox = compiled(&site, "folders = ['/tmp']", "");
    let begun = SystemTime::now() - Duration::from_secs(5);
    let input = json!({"competitors": ["甲", "乙"]}).to_string();
    sandbox.ask(&["tools", "call", TOOL, "--input", &input]).refused_with_hint(5, "policy_denied");
    let done = sandbox.done(&["tools", "call", TOOL, "--input", &input, "--approve", "plan_confirm"]);
    assert_eq!(done["output"]["path"], REPORT, "{done}");
    assert_eq!(fs::read_to_string(REPORT).unwrap(), "page /one");
    assert!(fs::metadata(REPORT).unwrap().modified().unwrap() >= begun);
    let trace = sandbox.done(&["tools", "trace", done["trace"].as_str().unwrap()])["trace"].clone();
    assert_eq!(trace["input"]["depth"], "shallow");
    assert_eq!(trace["steps"][0]["calls"][0]["input"]["query"], "甲, 乙 最新动态");
    assert_eq!(trace["steps"][0]["calls"][0]["output"]["content"], "c");
    assert_eq!(trace["steps"][1]["calls"][0]["input"]["url"], site.url("one"));
}

// CC5
#[cfg(unix)]
#[test]
fn outside_path_is_a_compile_error() {
    let sandbox = Site::start().sandbox("");
    install(&sandbox, NAME, EXAMPLE);
    let answer = sandbox.ask(&["tools", "compile", NAME]).exits(3);
    let problem = answer.json()["skills"][0]["problems"][0].clone();
    assert_eq!(
        (&problem["code"], &problem["line"], &problem["column"]),
        (&json!("path_outside"), &json!(34), &json!(15))
    );
    let hint = problem["hint"].as_str().unwrap();
    let line = hint.split('`').find(|part| part.starts_with("folders")).unwrap();
    let config = sandbox.skillhub_home().join("config.toml");
    let text = fs::read_to_string(&config).unwrap().replacen("[tools]\n", &format!("[tools]\n{line}\n"), 1);
    fs::write(&config, text).unwrap();
    assert_eq!(sandbox.done(&["tools", "compile", NAME])["ok"], true, "the hint is enough");
    fs::write(&config, "").unwrap();
    assert_eq!(sandbox.done(&["tools", "list"])["tools"][0]["state"], "broken", "the folder was taken away again");
}

// CC2, CC4
#[test]
fn bash_is_a_name_of_shell() {
    let site = Site::start();
    let sandbox = site.sandbox("");
    let text = "---\nname: levels\ndescription: Three levels.\ntool_schema:\n  steps:\n    - tool: web_search\n      input: {query: a}\n    \
                - tool: write_file\n      input: {path: a.md, content: b}\n    - tool: bash\n      input: {command: echo, args: [hi]}\n---\n";
    install(&sandbox, "levels", text);
    let answer = sandbox.ask(&["tools", "compile", "levels"]).exits(3);
    let problem = answer.json()["skills"][0]["problems"][0].clone();
    assert_eq!(problem["code"], "tool_switched_off");
    assert!(problem["hint"].as_str().unwrap().contains("`shell = true` under [tools]"), "{problem}");
    let denied = "shell = true\n[[permissions]]\nagent = 'small'\ntool = 'shell'\ndecision = 'deny'\n";
    let config = sandbox.skillhub_home().join("config.toml");
    fs::write(&config, format!("[tools]\n{denied}")).unwrap();
    let compiled = sandbox.done(&["tools", "compile", "levels"])["skills"][0]["tool"].clone();
    assert_eq!(compiled["approval"], "exec_escalation");
    assert_eq!(compiled["tools"], json!(["shell", "web_search", "write_file"]));
    assert_eq!(sandbox.done(&["tools", "show", "bash"])["name"], "shell");
    let call = ["tools", "call", "levels", "--agent", "small"];
    sandbox.ask(&call).refused_with_hint(5, "policy_denied");
}

// CC1, CC2
#[test]
fn all_compile_errors_are_reported() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), "[tools]\nshell = true\n").unwrap();
    let faults = |name: &str, steps: &str| -> Vec<String> {
        let input = "  input: {type: object, properties: {q: {type: string}}}\n";
        let text = format!("---\nname: {name}\ndescription: Does.\ntool_schema:\n{input}  steps:\n{steps}---\n");
        install(&sandbox, name, &text);
        let answer = sandbox.ask(&["tools", "compile", name]).json();
        let problems = answer["skills"][0]["problems"].as_array().unwrap().clone();
        let line = |problem: &Value| format!("{}@{}", problem["code"].as_str().unwrap(), problem["column"]);
        problems.iter().map(line).collect()
    };
    let text = "    - {tool: text_template, input: {template: \"{{inputs.q}} {{}} {{bad}} {{item\"}}\n";
    let found = faults("texts", text);
    assert_eq!(found.len(), 4, "{found:?}");
    let bash = |command: &str| format!("    - {{tool: bash, input: {{command: {command:?}}}}}\n");
    for command in ["ls -l /tmp", "grep {{input.q}} notes.md", "/bin/no-such-program -l"] {
        assert!(faults("line", &bash(command))[0].starts_with("command_line@"), "{command}");
    }
    for command in ["ls", "{{input.q}}", " ls ", "/opt/My Programs/run"] {
        assert!(faults("program", &bash(command)).is_empty(), "{command}");
    }
}

// CC1, CC5
#[test]
fn missing_skipped_output_exits_with_one() {
    let sandbox = Sandbox::new();
    let text = "---\nname: skips\ndescription: Does.\ntool_schema:\n  steps:\n    - tool: read_file\n      \
                input: {path: absent.md}\n      on_error: skip\n    - tool: write_file\n      \
                input: {path: a.md, content: \"{{steps.0.output.text}}\"}\n---\n";
    install(&sandbox, "skips", text);
    sandbox.done(&["tools", "compile", "skips"]);
    sandbox.ask(&["tools", "call", "skips", "--approve", "plan_confirm"]).refused(1, "invalid_step_input");
    sandbox.ask(&["tools", "call", "skips", "--input", "[]"]).refused(2, "invalid_input");
    sandbox.done(&["manage", "delete", "skips"]);
    assert_eq!(sandbox.done(&["tools", "list"])["tools"], json!([]));
    sandbox.done(&["rollback", "skips"]);
    assert_eq!(sandbox.done(&["tools", "list"])["tools"][0]["state"], "compiled");
}

/// The view over all libraries.
fn view(sandbox: &Sandbox) -> Vec<Value> {
    let text = fs::read(sandbox.skillhub_home().join("state/composed_tools.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    document["tools"].as_array().unwrap().clone()
}

// CC6
#[cfg(unix)]
#[test]
fn tools_of_all_libraries_share_file() {
    let site = Site::start();
    let sandbox = compiled(&site, "folders = ['/tmp']", "");
    let shown = sandbox.done(&["tools", "show", NAME]);
    assert_eq!(shown["output"]["properties"]["findings_count"], json!({"type": "integer"}));
    assert!(sandbox.run(&["tools", "show", NAME]).text().contains("findings_count"));
    let one = view(&sandbox)[0].clone();
    assert_eq!(
        (&one["name"], &one["owner"], &one["kind"]),
        (&json!(TOOL), &json!("composed_subsystem"), &json!("Tool"))
    );
    fs::create_dir_all(sandbox.path("project/.git")).unwrap();
    let in_project = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.current_dir(sandbox.path("project"));
        sandbox.finish(command, args).exits(0);
    };
    let other = EXAMPLE.replace(NAME, "other").replace(REPORT, "report.md");
    let folder = sandbox.path("other");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), other).unwrap();
    in_project(&["install", folder.to_str().unwrap()]);
    in_project(&["tools", "compile", "other"]);
    let libraries = |sandbox: &Sandbox| -> Vec<String> {
        let rows = view(sandbox);
        let mut rows: Vec<_> = rows.iter().map(|row| format!("{} {}", row["name"], row["library"])).collect();
        rows.sort();
        rows
    };
    let library = |path: &Path| json!(canonical(path)).to_string();
    let user = library(&sandbox.home().join(".agents/skills"));
    let project = library(&sandbox.path("project/.agents/skills"));
    assert_eq!(libraries(&sandbox), [format!("\"skill_other\" {project}"), format!("\"{TOOL}\" {user}")]);
    in_project(&["tools", "remove", "other"]);
    assert_eq!(libraries(&sandbox), [format!("\"{TOOL}\" {user}")]);
}

// Blueprint
#[cfg(unix)]
#[test]
fn capability_grants_whole_without_parts() {
    let site = Site::start();
    let rules = |agent: &str| {
        let rule = |tool: &str| format!("[[permissions]]\nagent = '{agent}'\ntool = '{tool}'\ndecision = 'deny'\n");
        rule("web_fetch") + &rule("write_file")
    };
    let asked = "[[permissions]]\nagent = 'careful'\ntool = 'web_search'\ndecision = 'ask'\n\
                 [agents.careful.capabilities]\nallow = ['skill_pages']\n";
    let config = format!(
        "{}{}{asked}[agents.small.capabilities]\nallow = [\"{TOOL}\", \"web_search\"]\n",
        rules("small"),
        rules("other")
    );
    let sandbox = compiled(&site, "folders = ['/tmp']", &config);
    install(
        &sandbox,
        "pages",
        "---\nname: pages\ndescription: One page.\ntool_schema: {steps: [{tool: web_search, input: {query: a}}]}\n---\n",
    );
    sandbox.done(&["tools", "compile", "pages"]);
    let listed = sandbox.done(&["tools", "list", "--agent", "small"])["tools"].clone();
    assert_eq!(listed.as_array().unwrap().iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), [TOOL]);
    let native = sandbox.done(&["tools", "list", "--native", "--agent", "small"])["tools"].clone();
    assert_eq!(native.as_array().unwrap().iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), ["web_search"]);
    let input = json!({"competitors": ["甲"]}).to_string();
    let call = ["tools", "call", TOOL, "--input", &input, "--agent", "small"];
    let refused = sandbox.ask(&call).refused_with_hint(5, "policy_denied");
    assert!(refused["message"].as_str().unwrap().contains("plan_confirm"), "the strictest step: {refused}");
    let done = sandbox.done(&[&call[..], &["--approve", "plan_confirm"]].concat());
    assert_eq!(done["output"]["path"], REPORT);
    sandbox.ask(&["tools", "call", "pages", "--agent", "small"]).refused_with_hint(5, "policy_denied");
    let refused = sandbox.ask(&["tools", "call", "pages", "--agent", "careful"]).refused_with_hint(5, "policy_denied");
    assert!(refused["message"].as_str().unwrap().contains("plan_confirm"), "a part is to be asked for: {refused}");
    // What a project says grants nothing.
    fs::create_dir_all(sandbox.cwd().join(".skillhub")).unwrap();
    for file in ["config.toml", ".skillhub/config.toml"] {
        fs::write(sandbox.cwd().join(file), format!("[agents.other.capabilities]\nallow = [\"{TOOL}\"]\n")).unwrap();
    }
    let other = ["tools", "call", TOOL, "--input", &input, "--agent", "other", "--approve", "plan_confirm"];
    let refused = sandbox.ask(&other).refused_with_hint(5, "policy_denied");
    assert!(refused["message"].as_str().unwrap().contains("web_fetch"), "{refused}");
}
