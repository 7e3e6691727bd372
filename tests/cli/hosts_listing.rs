//! Lists of skills in the prompts of hosts, and what skills need on a machine.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, skill_md, write_files};

/// Returns everything that a command printed: its answer, then its notes.
fn printed(answer: &Answer) -> String {
    answer.text() + &answer.stderr
}

/// Writes a folder of skills whose descriptions have so many characters.
fn write_skills(sandbox: &Sandbox, count: usize, chars: usize) -> String {
    let folder = sandbox.path("many");
    for at in 0..count {
        let (name, description) = (format!("skill-{at:03}"), format!("Skill {at}. {}", "w ".repeat(chars / 2)));
        write_files(&folder.join(&name), &[("SKILL.md", skill_md(&name, &description, "Do it.").as_bytes(), false)]);
    }
    folder.to_str().unwrap().to_owned()
}

fn listed_as<'a>(prompt: &'a Value, how: &str) -> Vec<&'a str> {
    let skills = prompt["skills"].as_array().unwrap().iter().filter(|skill| skill["listed"] == how);
    skills.map(|skill| skill["name"].as_str().unwrap()).collect()
}

/// `install`, `curate` and `doctor` name the host, some skills and a command that works.
#[test]
fn hosts_that_drop_descriptions_are_named() {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.cwd().join(".claude")).unwrap();
    let folder = write_skills(&sandbox, 50, 300);
    let checked = sandbox.done(&["validate", &folder])["warnings"].to_string();
    assert!(checked.contains("if an agent gets all of these skills, Claude Code drops descriptions of "), "{checked}");
    let installed = printed(&sandbox.run(&["install", &folder, "--all"]).exits(0));
    assert!(
        installed.contains("note: Claude Code drops descriptions of ") && installed.contains(" more)"),
        "{installed}"
    );
    let command = installed.split("hide a skill from it: skillhub ").nth(1).unwrap().lines().next().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!((words[0], &words[2..]), ("disable", &["--agent", "claude-code"][..]), "{command}");
    let before = listed_as(&sandbox.done(&["prompt", "--host", "claude-code"]), "name_only").len();
    assert!(before > 10, "{before}");
    assert!(printed(&sandbox.run(&["curate", "plan"]).exits(0)).contains("Claude Code drops descriptions"));
    let planned = sandbox.ask(&["curate", "plan"]).exits(0);
    assert!(planned.json()["warnings"][0].as_str().unwrap().starts_with("Claude Code drops "), "{}", planned.text());
    assert!(!planned.stderr.contains("Claude Code"), "the document has the warning: {}", planned.stderr);
    let doctor = sandbox.done(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let found: Vec<_> = checks.iter().filter(|check| check["code"] == "descriptions_not_listed").collect();
    assert_eq!((found.len(), &found[0]["path"], &found[0]["state"]), (1, &json!("claude-code"), &json!("warn")));
    sandbox.done(&words);
    let after = sandbox.done(&["prompt", "--host", "claude-code"]);
    assert_eq!(after["skills"].as_array().unwrap().len(), 49, "the command hides one skill");
    assert_eq!(after["budget"], json!({"limit": 8000, "unit": "characters", "description_chars": 1536}));
    let text = sandbox.run(&["--quiet", "prompt", "--host", "claude-code"]).exits(0).text();
    assert!(text.chars().count() <= 8000 && text.contains("- skill-040"), "{text}");
}

#[test]
fn few_skills_are_listed_whole() {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.cwd().join(".claude")).unwrap();
    let folder = write_skills(&sandbox, 3, 100);
    let installed = printed(&sandbox.run(&["install", &folder, "--all"]).exits(0));
    assert!(!installed.contains("Claude Code drops"), "{installed}");
    for host in ["claude-code", "codex", "cursor"] {
        assert_eq!(listed_as(&sandbox.done(&["prompt", "--host", host]), "full").len(), 3, "{host}");
    }
    let codex = sandbox.run(&["prompt", "--host", "codex"]).exits(0).text();
    assert!(codex.contains("/.agents/skills/skill-000/SKILL.md)"), "{codex}");
    let cursor = printed(&sandbox.run(&["prompt", "--host", "cursor"]).exits(0));
    assert!(cursor.contains("Cursor documents no limit"), "{cursor}");
    assert_eq!(sandbox.ask(&["prompt", "--host", "nobody"]).exits(2).json()["error"]["code"], "unknown_agent");
    sandbox.ask(&["prompt", "--host", "codex", "--budget", "9"]).exits(2);
}

#[test]
fn description_over_a_hosts_limit_is_reported() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("wordy");
    let text = skill_md("wordy", "Does it.", "Do it.").replacen(
        "---\n",
        &format!("---\nwhen_to_use: {}\n", "w ".repeat(800)),
        1,
    );
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    let checked = sandbox.ask(&["validate", folder.to_str().unwrap()]).exits(0).json();
    let problems = checked["skills"][0]["problems"].as_array().unwrap();
    let found = problems.iter().find(|problem| problem["code"] == "description_shortened").unwrap();
    assert_eq!(found["severity"], "warning");
    assert!(found["message"].as_str().unwrap().contains("1536 characters"), "{found}");
}

/// Missing programs, servers and variables are named, and nothing about their values.
#[test]
#[cfg(unix)]
fn missing_needs_are_reported() {
    let sandbox = Sandbox::project();
    let folder = sandbox.path("needy");
    let needs =
        "metadata:\n  needs: \"programs: sh, no-such-program; servers: docs, absent; variables: HOME, NO_SUCH_KEY\"\n";
    let text = skill_md("needy", "Does it.", "Do it.").replacen("---\n", &format!("---\n{needs}"), 1);
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    fs::write(sandbox.cwd().join(".mcp.json"), "{\"mcpServers\": {\"docs\": {\"command\": \"docs\"}}} // ours")
        .unwrap();
    let expected = "needy needs the program no-such-program and the MCP server absent and the environment variable \
                    NO_SUCH_KEY, which this machine does not have";
    let installed = printed(&sandbox.run(&["install", folder.to_str().unwrap()]).exits(0));
    assert!(installed.contains(expected), "{installed}");
    let again = sandbox.done(&["install", folder.to_str().unwrap(), "--as", "needier"]);
    assert!(again["warnings"][0].as_str().unwrap().starts_with("needier needs the program no-such-program"), "{again}");
    assert_eq!(again["warnings"].as_array().unwrap().len(), 1, "{again}");
    let doctor = sandbox.done(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["code"] == "needs_missing" && check["path"] == "needy").unwrap();
    assert_eq!(found["state"], "warn", "{found}");
    assert!(found["message"].as_str().unwrap().contains(expected), "{found}");
    let home = sandbox.home();
    assert!(!found["message"].as_str().unwrap().contains(home.to_str().unwrap()), "{found}");
}
