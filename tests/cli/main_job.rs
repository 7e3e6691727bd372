//! The main job of skillhub from end to end, as a newcomer would do it.

use serde_json::{Value, json};

use super::journey::Journey;
use crate::support::{Sandbox, git, snapshot};

#[test]
fn skill_completes_its_main_journey() {
    let sandbox = Sandbox::new();
    let job = Journey::new(&sandbox);
    let script = "#!/bin/sh\ngit log --format='%s' \"$1..HEAD\"\n";
    let folder =
        sandbox.skill("release-notes", "Writes release notes. Use for a release.", &[("scripts/a.sh", script)]);
    assert_eq!(job.done(&["validate", "release-notes"])["skills"][0]["valid"], true);
    assert_eq!(job.done(&["scan", "release-notes"])["skills"][0]["verdict"], "allow");
    job.publish("release-notes", &folder);

    git(&sandbox, &["clone", "--quiet", &job.registry, "clone"]);
    let lines = std::fs::read_to_string(sandbox.cwd().join("clone/re/le/release-notes/skillhub")).unwrap();
    let entry: Value = serde_json::from_str(lines.trim_end()).unwrap();
    assert_eq!([&entry["name"], &entry["version"]], ["skillhub/release-notes", "1.0.0"]);
    assert_eq!(job.done(&["search", "release"])["results"][0]["name"], "skillhub/release-notes");
    assert_eq!(job.done(&["info", "skillhub/release-notes"])["releases"][0]["digest"], entry["digest"]);

    let installed = job.done(&["install", "skillhub/release-notes"])["skills"][0].clone();
    assert_eq!([&installed["status"], &installed["digest"]], [&json!("installed"), &entry["digest"]]);
    assert_eq!(job.installed("release-notes"), snapshot(&folder));
    job.change_and_take_back("release-notes");
    let revisions = job.done(&["history", "release-notes"])["revisions"].clone();
    let actions: Vec<_> = revisions.as_array().unwrap().iter().map(|r| r["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["rollback", "patch", "install"]);
    job.delete_and_restore("release-notes");
    assert_eq!(job.installed("release-notes"), snapshot(&folder));

    let history = job.done(&["where"])["history"].as_str().unwrap().to_owned();
    let log = git(&sandbox, &["--git-dir", &history, "log", "--format=%s", "refs/skills/release-notes"]);
    assert_eq!(log.lines().count(), 5, "{log}");
    assert!(log.lines().last().unwrap().contains("install"), "{log}");
}

#[test]
fn agent_made_skill_is_shared() {
    let author = Sandbox::new();
    author.create("made-here", "Written by an agent.");
    let registry = author.path("registry").display().to_string();
    author.done(&["index", "init", &registry]);
    let folder = author.user_skill("made-here");
    author.done(&["publish", folder.to_str().unwrap(), "--owner", "acme", "--registry", &registry]);
    let reader = Sandbox::new();
    reader.done(&["install", "acme/made-here", "--registry", &registry]);
    assert_eq!(snapshot(&reader.user_skill("made-here")), snapshot(&folder));
    let prompt = reader.run(&["prompt"]).exits(0).text();
    assert!(prompt.contains("<name>\nmade-here\n</name>"), "{prompt}");
    assert!(reader.run(&["read", "made-here"]).exits(0).text().contains("Written by an agent."));
}

#[test]
fn disabled_skill_is_hidden_from_agents() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    sandbox.done(&["disable", "demo"]);
    assert!(!sandbox.run(&["prompt"]).exits(0).text().contains("demo"));
    sandbox.ask(&["read", "demo"]).refused_with_hint(5, "policy_denied");
    assert_eq!(sandbox.done(&["list"])["skills"][0]["enabled"], false);
    assert!(sandbox.user_skill("demo").exists());
    sandbox.done(&["enable", "demo"]);
    assert_eq!(sandbox.done(&["prompt"])["skills"][0]["name"], "demo");
}

#[test]
fn new_skill_is_valid() {
    let sandbox = Sandbox::new();
    sandbox.done(&["new", "pdf-forms"]);
    sandbox.done(&["validate", "--strict", "pdf-forms"]);
    let before = snapshot(&sandbox.cwd());
    sandbox.ask(&["new", "pdf-forms"]).refused_with_hint(6, "exists");
    assert_eq!(snapshot(&sandbox.cwd()), before);
}
