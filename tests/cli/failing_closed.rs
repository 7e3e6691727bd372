//! Hostile, damaged or oversized content is reported and not passed on.

use std::fs;

use serde_json::Value;

use crate::support::{Sandbox, hostile_script, skill_md, write_files};

/// The skills that are not of the program.
fn names(answer: &Value) -> Vec<&str> {
    let skills = answer["skills"].as_array().unwrap().iter().filter(|skill| skill["scope"] != "builtin");
    skills.map(|skill| skill["name"].as_str().unwrap()).collect()
}

/// The skills that have no room, but for those of the program.
fn left_out(answer: &Value) -> Vec<&str> {
    let names = answer["left_out"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    names.filter(|name| !name.starts_with("skillhub-")).collect()
}

#[test]
fn hostile_unrecorded_folder_is_hidden() {
    let sandbox = Sandbox::new();
    sandbox.create("good", "body");
    let text = skill_md("bad", "Looks useful. Use in tests.", "body");
    let script = hostile_script();
    let files = [("SKILL.md", text.as_bytes(), false), ("scripts/report.sh", script.as_bytes(), true)];
    write_files(&sandbox.user_skill("bad"), &files);
    assert_eq!(names(&sandbox.done(&["prompt"])), ["good"]);
    sandbox.ask(&["read", "bad"]).refused_with_hint(4, "external_blocked");
    let list = sandbox.done(&["list"]);
    let bad = list["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "bad").unwrap().clone();
    assert!(bad["fault"].as_str().unwrap().contains("scripts/report.sh"), "{bad:#}");
}

#[test]
fn unreadable_head_stays_listed() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "body");
    let place = sandbox.done(&["where"]);
    let history = place["history"].as_str().unwrap();
    fs::write(format!("{history}/refs/skills/demo"), "x").unwrap();
    for command in ["list", "prompt", "status"] {
        let document = sandbox.ask(&[command]).exits(8).json();
        assert_eq!(document["problems"][0]["skill"], "demo", "{document:#}");
    }
    let error = sandbox.ask(&["history", "demo"]).refused_with_hint(8, "damaged_history");
    assert!(error["hint"].as_str().unwrap().contains("doctor"), "{error:#}");
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    assert_eq!(doctor["problems"][0]["code"], "history_damaged");
}

#[test]
fn oversized_skill_is_invalid() {
    let sandbox = Sandbox::new();
    let folder = sandbox.skill("large", "Large. Use in tests.", &[]);
    write_files(&folder, &[("assets/large.bin", &vec![0; 17 << 20], false)]);
    let problems = sandbox.ask(&["validate", "large"]).exits(3).json()["skills"][0]["problems"].clone();
    assert_eq!(problems[0]["code"], "too_large", "{problems:#}");
    fs::remove_file(folder.join("assets/large.bin")).unwrap();
    write_files(&folder, &[("references/long.md", &vec![b'a'; (1 << 20) + 1], false)]);
    let problems = sandbox.ask(&["validate", "large"]).exits(3).json()["skills"][0]["problems"].clone();
    assert_eq!(problems[0]["code"], "too_large", "{problems:#}");
}

#[test]
fn irrelevant_flag_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let patch = ["manage", "patch", "demo", "--find", "alpha", "--replace", "beta", "--content", "nothing.md"];
    sandbox.ask(&patch).refused_with_hint(2, "invalid_request");
    sandbox.ask(&["manage", "delete", "demo", "--path", "SKILL.md"]).refused_with_hint(2, "invalid_request");
    sandbox.done(&["show", "demo"]);
}

#[test]
fn flag_overrides_environment() {
    let sandbox = Sandbox::new();
    let library = |variable: &str, args: &[&str]| {
        let mut command = sandbox.command(args);
        command.arg("--json").env("SKILLHUB_LIBRARY", variable);
        let answer = sandbox.finish(command, args).done();
        answer["library"].as_str().unwrap().to_owned()
    };
    let other = sandbox.path("other");
    assert!(library(other.to_str().unwrap(), &["where"]).ends_with("/other"));
    assert!(library(other.to_str().unwrap(), &["where", "--global"]).ends_with("/.agents/skills"));
    assert!(library("", &["where"]).ends_with("/.agents/skills"));
}

#[test]
fn baseline_fails_only_new_findings() {
    let sandbox = Sandbox::new();
    let folder = sandbox.skill("noisy", "Noisy. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    let scan = sandbox.ask(&["scan", "noisy"]).exits(4);
    fs::write(sandbox.cwd().join("known.json"), scan.text()).unwrap();
    sandbox.done(&["scan", "noisy", "--baseline", "known.json"]);
    write_files(&folder, &[("scripts/second.sh", hostile_script().as_bytes(), true)]);
    sandbox.ask(&["scan", "noisy", "--baseline", "known.json"]).exits(4);
    sandbox.ask(&["scan", "noisy", "--baseline", "noisy/SKILL.md"]).refused_with_hint(2, "invalid_baseline");
}

#[test]
fn sarif_names_rule_file_and_line() {
    let sandbox = Sandbox::new();
    sandbox.skill("noisy", "Noisy. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    let sarif: Value = serde_json::from_str(&sandbox.run(&["scan", "noisy", "--sarif"]).exits(4).text()).unwrap();
    let run = &sarif["runs"][0];
    let result = &run["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!((sarif["version"].as_str(), result["level"].as_str()), (Some("2.1.0"), Some("error")));
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("noisy/scripts/report.sh"));
    assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result:#}");
}

#[test]
fn budget_keeps_relevant_skills() {
    let sandbox = Sandbox::new();
    for (name, what) in
        [("bread", "Bakes bread."), ("pdf-forms", "Fills forms in PDF files."), ("tests", "Writes tests.")]
    {
        let text = skill_md(name, &format!("{what} Use when asked."), "body");
        fs::write(sandbox.cwd().join("text.md"), text).unwrap();
        sandbox.done(&["manage", "create", name, "--content", "text.md"]);
    }
    let answer = sandbox.done(&["prompt", "--budget", "80", "--task", "fill in a PDF form"]);
    assert_eq!(names(&answer), ["pdf-forms"]);
    assert_eq!(left_out(&answer), ["bread", "tests"]);
    let text = sandbox.run(&["prompt", "--budget", "80", "--task", "fill in a PDF form"]).exits(0).text();
    assert!(text.contains("5 more skills") && text.contains("bread, tests"), "{text}");
    assert_eq!(names(&sandbox.done(&["prompt", "--budget", "100000"])).len(), 3);
    for (form, part) in [("opencode", "<available_skills>\n</available_skills>"), ("names", "too long to show")] {
        let text = sandbox.run(&["prompt", "--budget", "5", "--format", form]).exits(0).text();
        assert!(text.contains(part) && !text.contains("Available skills"), "{text}");
    }
}

#[test]
fn scan_includes_hidden_agent_folders() {
    let sandbox = Sandbox::new();
    let (text, script) = (skill_md("x", "Good. Use in tests.", "body"), hostile_script());
    let folder = sandbox.cwd().join("repository");
    write_files(&folder.join("skills/good"), &[("SKILL.md", text.as_bytes(), false)]);
    let bad = [("SKILL.md", text.as_bytes(), false), ("scripts/report.sh", script.as_bytes(), true)];
    write_files(&folder.join(".claude/skills/bad"), &bad);
    let skills = sandbox.ask(&["scan", "repository"]).exits(4).json()["skills"].clone();
    let verdicts: Vec<_> = skills.as_array().unwrap().iter().map(|skill| skill["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["block", "allow"]);
}

#[cfg(unix)]
#[test]
fn skill_text_cannot_control_terminal() {
    let sandbox = Sandbox::new();
    let text = "---\nname: demo\ndescription: \"Hello \\e]0;title\\a \\e[2J. Use in tests.\"\n---\n\nText \u{1b}[2J.\n";
    write_files(&sandbox.user_skill("demo"), &[("SKILL.md", text.as_bytes(), false)]);
    for command in [&["--color", "always", "list"][..], &["--color", "always", "read", "demo"]] {
        let shown = sandbox.run(command).exits(0).text();
        assert!(shown.contains("[2J"), "the text itself stays: {shown}");
        assert!(!shown.contains("\u{1b}]0;") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    }
}

#[cfg(unix)]
#[test]
fn pack_never_writes_through_link() {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Does it. Use in tests.", &[]);
    let target = sandbox.path("precious");
    fs::write(&target, "precious").unwrap();
    std::os::unix::fs::symlink(&target, sandbox.cwd().join("demo.skill")).unwrap();
    sandbox.ask(&["pack", "demo"]).refused_with_hint(6, "exists");
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

#[cfg(unix)]
#[test]
fn cloned_library_link_is_refused() {
    let sandbox = Sandbox::project();
    let users = sandbox.home().join(".agents/skills");
    fs::create_dir_all(&users).unwrap();
    fs::create_dir(sandbox.cwd().join(".agents")).unwrap();
    std::os::unix::fs::symlink(&users, sandbox.cwd().join(".agents/skills")).unwrap();
    sandbox.ask(&["install", "skillhub/skillhub-writing-skills"]).refused_with_hint(5, "policy_denied");
    assert_eq!(fs::read_dir(&users).unwrap().count(), 0);
    sandbox.done(&["install", "skillhub/skillhub-writing-skills", "--global"]);
    assert_eq!(fs::read_dir(&users).unwrap().count(), 1);
}

#[test]
fn other_registrys_skill_never_replaces_installed() {
    let sandbox = Sandbox::new();
    for (registry, what) in [("one", "first"), ("two", "second")] {
        let registry = sandbox.path(registry);
        let registry = registry.to_str().unwrap();
        sandbox.done(&["index", "init", registry]);
        sandbox.skill("demo", &format!("Does the {what}. Use in tests."), &[]);
        sandbox.done(&["publish", "demo", "--owner", "acme", "--registry", registry]);
    }
    let install = |registry: &str| {
        let place = sandbox.path(registry);
        sandbox.ask(&["install", "acme/demo", "--registry", place.to_str().unwrap()])
    };
    install("one").done();
    let error = install("two").refused_with_hint(6, "exists");
    assert!(error["message"].as_str().unwrap().contains("/one"), "{error:#}");
    let text = fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap();
    assert!(text.contains("the first"), "{text}");
}

#[test]
fn unknown_setting_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha");
    fs::write(sandbox.skillhub_home().join("config.toml"), "polcy = \"strict\"\n").unwrap();
    let patch = ["manage", "patch", "demo", "--find", "alpha", "--replace", "beta"];
    let error = sandbox.ask(&patch).refused_with_hint(2, "invalid_config");
    assert!(error["message"].as_str().unwrap().contains("polcy"), "{error:#}");
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    assert_eq!(sandbox.done(&patch)["status"], "proposed");
}
