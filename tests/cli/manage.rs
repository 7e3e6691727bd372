//! `manage` by flags, and the exit codes of what it refuses.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, hostile_script, skill_md, snapshot, write_files};

const BODY: &str = "alpha line\nbeta line\nbeta again";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", BODY);
    sandbox
}

fn lines(error: &Value) -> Vec<u64> {
    error["details"]["matches"].as_array().unwrap().iter().map(|found| found["line"].as_u64().unwrap()).collect()
}

/// Runs a command that must be refused and leave the skill and its history as they were.
#[track_caller]
fn changes_nothing(sandbox: &Sandbox, args: &[&str], exit: i32, code: &str) -> Value {
    let folder = sandbox.user_skill("demo");
    let look = || (snapshot(&folder), sandbox.done(&["history", "demo"]));
    let before = look();
    let error = sandbox.ask(args).refused(exit, code);
    assert_eq!(look(), before, "what was refused left something behind");
    error
}

/// As [`changes_nothing`], for a change of the skill: its refusal is the newest event of the log.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], exit: i32, code: &str) -> Value {
    let error = changes_nothing(sandbox, args, exit, code);
    let newest = sandbox.done(&["log", "--limit", "1"])["events"][0].clone();
    assert_eq!((&newest["status"], &newest["code"]), (&json!("refused"), &json!(code)), "{newest}");
    error
}

#[test]
fn patch_writes_revision_and_folder() {
    let sandbox = sandbox();
    let args = ["manage", "patch", "demo", "--find", "alpha line", "--replace", "gamma line", "--reason", "better"];
    let report = sandbox.done(&args);
    assert_eq!((&report["status"], &report["number"]), (&json!("applied"), &json!(2)));
    assert_eq!(report["files"], json!([{"path": "SKILL.md", "change": "modified", "added": 1, "removed": 1}]));
    assert!(report["diff"].as_str().unwrap().contains("-alpha line\n+gamma line\n"));
    let text = fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap();
    assert!(text.contains("gamma line\nbeta line\n") && !text.contains("alpha"));
    let log = sandbox.done(&["log", "demo"]);
    assert_eq!((&log["events"][0]["reason"], &log["events"][0]["action"]), (&json!("better"), &json!("patch")));
}

#[test]
fn patch_in_project_leaves_user_library_closed() {
    let sandbox = Sandbox::project();
    let create = ["manage", "create", "theirs", "--content", "-", "--global", "--json"];
    sandbox.run_with(&create, skill_md("theirs", "Of the user. Use in tests.", BODY).as_bytes()).done();
    sandbox.create("demo", BODY);
    let history = sandbox.done(&["where", "--global"])["history"].as_str().unwrap().to_owned();
    fs::remove_dir_all(&history).unwrap();
    fs::write(&history, "no repository").unwrap();
    let note = "cannot read the history of the user's library";
    let patch = ["manage", "patch", "demo", "--find", "alpha line", "--replace", "gamma line", "--json"];
    let patched = sandbox.run(&patch).exits(0);
    assert!(!patched.stderr.contains(note), "{patched}");
    let create = ["manage", "create", "other", "--content", "-", "--json"];
    let created = sandbox.run_with(&create, skill_md("other", "Another. Use in tests.", BODY).as_bytes()).exits(0);
    assert!(created.stderr.contains(note), "its names are looked at here: {created}");
}

#[test]
fn ambiguous_patch_lists_its_lines() {
    let sandbox = sandbox();
    let error =
        refused(&sandbox, &["manage", "patch", "demo", "--find", "beta", "--replace", "x"], 6, "ambiguous_match");
    assert_eq!(lines(&error), [9, 10]);
    assert_eq!(error["details"]["found"], 2);
    let told = error.to_string();
    assert!(told.contains("`--expected-count`") && told.contains("`--replace-all`"), "{told}");
    assert!(!told.contains("expected_count"), "{told}");
    let request = r#"{"action":"patch","name":"demo","find":"beta","replace":"x"}"#;
    let error =
        sandbox.run_with(&["manage", "--request", "-", "--json"], request.as_bytes()).refused(6, "ambiguous_match");
    assert!(error["hint"].as_str().unwrap().contains("`expected_count`"), "{error:#}");
}

#[test]
fn absent_text_suggests_nearest_line() {
    let sandbox = sandbox();
    let error =
        refused(&sandbox, &["manage", "patch", "demo", "--find", "alpha lime", "--replace", "x"], 6, "no_match");
    assert_eq!(lines(&error)[0], 8);
    assert_eq!(error["details"]["matches"][0]["text"], "alpha line");
}

#[test]
fn expected_count_must_be_found() {
    let sandbox = sandbox();
    let patch = ["manage", "patch", "demo", "--find", "beta", "--replace", "x", "--expected-count"];
    let error = refused(&sandbox, &[&patch[..], &["3"]].concat(), 6, "count_mismatch");
    assert_eq!((&error["details"]["expected"], &error["details"]["found"]), (&json!(3), &json!(2)));
    assert_eq!(lines(&error), [9, 10]);
    let report = sandbox.done(&[&patch[..], &["2"]].concat());
    assert_eq!(report["files"][0]["added"], 2);
}

#[test]
fn replace_all_changes_every_match() {
    let sandbox = sandbox();
    sandbox.done(&["manage", "patch", "demo", "--find", "beta", "--replace", "x", "--replace-all"]);
    let text = fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap();
    assert!(text.ends_with("x line\nx again\n"), "{text}");
}

#[test]
fn repeated_patch_changes_nothing() {
    let sandbox = sandbox();
    let patch = ["manage", "patch", "demo", "--find", "alpha line", "--replace", "alpha line and more"];
    let first = sandbox.done(&patch);
    let second = sandbox.done(&patch);
    assert_eq!(second["status"], "unchanged");
    assert_eq!(second["revision"], first["revision"]);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
}

#[test]
fn outdated_expected_revision_is_stale() {
    let sandbox = sandbox();
    let first = sandbox.done(&["history", "demo"])["revisions"][0]["revision"].as_str().unwrap().to_owned();
    let patch = ["manage", "patch", "demo", "--find", "alpha", "--replace", "gamma", "--expected-revision", &first];
    let report = sandbox.done(&patch);
    let again = ["manage", "patch", "demo", "--find", "gamma", "--replace", "x", "--expected-revision", &first];
    let error = refused(&sandbox, &again, 6, "stale_revision");
    assert_eq!(error["details"]["head"], report["revision"]);
    assert!(error["hint"].as_str().unwrap().contains("skillhub diff demo"));
}

#[test]
fn dry_run_shows_change_only() {
    let sandbox = sandbox();
    let before = snapshot(&sandbox.user_skill("demo"));
    let report = sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "gamma", "--dry-run"]);
    assert_eq!((&report["status"], &report["revision"]), (&json!("dry_run"), &Value::Null));
    assert!(report["diff"].as_str().unwrap().contains("+gamma line"));
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn rewritten_file_keeps_its_mode() {
    let sandbox = sandbox();
    let script = sandbox.cwd().join("run.sh");
    fs::write(&script, "#!/bin/sh\nprintf '%s\\n' one\n").unwrap();
    let write = ["manage", "write_file", "demo", "--path", "scripts/run.sh", "--content", "run.sh"];
    sandbox.done(&[&write[..], &["--executable"]].concat());
    fs::write(&script, "#!/bin/sh\nprintf '%s\\n' two\n").unwrap();
    sandbox.done(&write);
    let files = sandbox.done(&["show", "demo"])["files"].clone();
    assert_eq!(files[1], json!({"path": "scripts/run.sh", "size": 28, "executable": true}));
    sandbox.done(&["manage", "remove_file", "demo", "--path", "scripts/run.sh"]);
    assert!(!sandbox.user_skill("demo").join("scripts").exists(), "an empty folder is left");
}

#[test]
fn edit_reads_file_or_stdin() {
    let sandbox = sandbox();
    let text = skill_md("demo", "Does more. Use in tests.", "New text.");
    fs::write(sandbox.cwd().join("new.md"), &text).unwrap();
    sandbox.done(&["manage", "edit", "demo", "--content", "new.md"]);
    assert_eq!(fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap(), text);
    let again = sandbox.run_with(&["manage", "edit", "demo", "--content", "-", "--json"], text.as_bytes());
    assert_eq!(again.done()["status"], "unchanged");
}

#[test]
fn find_and_replace_accept_files() {
    let sandbox = sandbox();
    fs::write(sandbox.cwd().join("old"), "beta line\nbeta again").unwrap();
    fs::write(sandbox.cwd().join("new"), "one line").unwrap();
    sandbox.done(&["manage", "patch", "demo", "--find-file", "old", "--replace-file", "new"]);
    let text = sandbox.run(&["show", "demo", "SKILL.md"]).exits(0).text();
    assert!(text.ends_with("alpha line\none line\n"), "{text}");
}

#[test]
fn blocked_write_names_its_finding() {
    let sandbox = sandbox();
    fs::write(sandbox.cwd().join("report.sh"), hostile_script()).unwrap();
    let write = ["manage", "write_file", "demo", "--path", "scripts/report.sh", "--content", "report.sh"];
    let error = refused(&sandbox, &write, 4, "scan_blocked");
    let finding = &error["details"]["findings"][0];
    assert_eq!((&finding["path"], &finding["line"]), (&json!("scripts/report.sh"), &json!(2)));
    for key in ["rule", "severity", "category", "excerpt", "message", "remedy"] {
        assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{key} of {finding:#}");
    }
    assert_eq!(finding["new"], true);
    let event = &sandbox.done(&["log", "demo"])["events"][0];
    assert_eq!((&event["status"], &event["code"]), (&json!("refused"), &json!("scan_blocked")));
}

#[test]
fn patched_script_is_scanned() {
    let sandbox = sandbox();
    fs::write(sandbox.cwd().join("run.sh"), "#!/bin/sh\nprintf done\n").unwrap();
    sandbox.done(&["manage", "write_file", "demo", "--path", "scripts/run.sh", "--content", "run.sh"]);
    fs::write(sandbox.cwd().join("new"), hostile_script()).unwrap();
    let patch = ["manage", "patch", "demo", "--path", "scripts/run.sh", "--find", "printf done\n"];
    let error = refused(&sandbox, &[&patch[..], &["--replace-file", "new"]].concat(), 4, "scan_blocked");
    assert_eq!(error["details"]["findings"][0]["path"], "scripts/run.sh");
}

#[test]
fn name_errors_have_distinct_codes() {
    let sandbox = sandbox();
    fs::write(sandbox.cwd().join("new.md"), skill_md("demo", "Other. Use in tests.", "Text.")).unwrap();
    refused(&sandbox, &["manage", "create", "demo", "--content", "new.md"], 6, "exists");
    refused(&sandbox, &["manage", "patch", "other", "--find", "a", "--replace", "b"], 7, "not_found");
    refused(&sandbox, &["manage", "remove_file", "demo", "--path", "scripts/none.sh"], 7, "not_found");
    for name in ["de mo", "demo.", ".demo", "..", ""] {
        refused(&sandbox, &["manage", "delete", name], 3, "invalid_skill");
    }
    for name in ["Demo", "demo-", "demo--x"] {
        refused(&sandbox, &["manage", "delete", name], 7, "not_found");
        refused(&sandbox, &["manage", "create", name, "--content", "new.md"], 3, "invalid_skill");
    }
}

#[test]
fn paths_outside_allowed_folders_are_refused() {
    let sandbox = sandbox();
    fs::write(sandbox.cwd().join("a.txt"), "text\n").unwrap();
    for path in ["../a.txt", "/etc/a.txt", "scripts/../../a.txt", "a\\b", "scripts/con", "scripts/a:b", "other/a.txt"] {
        let write = ["manage", "write_file", "demo", "--path", path, "--content", "a.txt"];
        refused(&sandbox, &write, 3, "invalid_path");
    }
    refused(
        &sandbox,
        &["manage", "patch", "demo", "--path", "../x", "--find", "a", "--replace", "b"],
        3,
        "invalid_path",
    );
}

#[test]
fn builtin_skills_cannot_be_changed() {
    let sandbox = sandbox();
    let name = "skillhub-evolving-skills";
    for change in [&["delete", name][..], &["patch", name, "--find", "a", "--replace", "b"]] {
        let error = sandbox.ask(&[&["manage"], change].concat()).refused_with_hint(5, "policy_denied");
        let hint = error["hint"].as_str().unwrap();
        for way in ["create a custom skill of the same name", &format!("skillhub install skillhub/{name}")] {
            assert!(hint.contains(way), "{error:#}");
        }
    }
    assert!(!sandbox.user_skill(name).exists());
}

// DF2
#[test]
fn created_skill_shadows_the_builtin() {
    let sandbox = sandbox();
    let name = "skillhub-evolving-skills";
    let text = skill_md(name, "Another. Use in tests.", "Text of ours.");
    let create = ["manage", "create", name, "--content", "-", "--json"];
    sandbox.run_with(&create, text.as_bytes()).done();
    assert!(sandbox.ask(&["read", name]).text().contains("Text of ours."));
    sandbox.run_with(&create, text.as_bytes()).refused(6, "exists");
    sandbox.done(&["manage", "delete", name]);
    assert!(!sandbox.ask(&["read", name]).text().contains("Text of ours."), "the built-in one is back");
}

// DF1
#[test]
fn grouped_skill_is_changed_in_place() {
    let sandbox = sandbox();
    let folder = sandbox.user_skill("team/deep/help");
    let text = skill_md("help", "Helps. Use in tests.", "Help.");
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    let patch = ["manage", "patch", "help", "--find", "Help.", "--replace", "Help twice."];
    assert_eq!(sandbox.done(&patch)["status"], "applied");
    assert!(fs::read_to_string(folder.join("SKILL.md")).unwrap().contains("Help twice."));
    assert_eq!(sandbox.done(&["history", "help"])["revisions"].as_array().unwrap().len(), 2);
    let all = sandbox.done(&["list"]);
    let listed = all["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "help").unwrap();
    assert!(listed["path"].as_str().unwrap().ends_with("team/deep/help"), "{listed:#}");
    sandbox.done(&["rollback", "help"]);
    assert!(fs::read_to_string(folder.join("SKILL.md")).unwrap().contains("Help."));
    assert!(!sandbox.user_skill("help").exists(), "nothing is made at the top");
    write_files(&sandbox.skillhub_home(), &[("config.toml", b"policy = \"strict\"\n", false)]);
    let held = sandbox.done(&patch);
    assert!(held["message"].as_str().unwrap().contains("skillhub review diff"), "{held:#}");
    let group = sandbox.user_skill("team/deep").display().to_string();
    for args in [&["review", "list", "--skill", "help"][..], &["--library", &group, "review", "list"]] {
        let waiting = sandbox.done(args);
        assert_eq!(waiting["proposals"].as_array().unwrap().len(), 1, "{waiting:#}");
    }
}

// DF1
#[test]
fn grouped_proposals_are_decided_by_id() {
    let sandbox = sandbox();
    write_files(&sandbox.skillhub_home(), &[("config.toml", b"policy = \"strict\"\n", false)]);
    let folder = sandbox.user_skill("team/deep/help");
    let text = skill_md("help", "Helps. Use in tests.", "Help. Ask.");
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.create("top", "Do.");
    let hold = |name: &str, find: &str| {
        let held = sandbox.done(&["manage", "patch", name, "--find", find, "--replace", "Other."]);
        held["proposal"].as_str().unwrap().to_owned()
    };
    let (first, _) = (hold("help", "Help."), hold("top", "Do."));
    let waiting = sandbox.done(&["review", "list"])["proposals"].clone();
    let names: Vec<_> = waiting.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"help") && names.contains(&"top"), "{waiting:#}");
    assert_eq!(sandbox.done(&["review", "show", &first])["proposal"]["name"], "help");
    let diff = sandbox.done(&["review", "diff", &first, "--onto-head"]);
    assert!(diff["diff"].as_str().unwrap().contains("+Other. Ask."), "{diff:#}");
    changes_nothing(&sandbox, &["review", "accept", &first], 5, "policy_denied");
    assert_eq!(sandbox.run_as(&sandbox.token(), &["review", "accept", &first]).done()["status"], "applied");
    assert!(fs::read_to_string(folder.join("SKILL.md")).unwrap().contains("Other. Ask."));
    let second = hold("help", "Ask.");
    assert_eq!(sandbox.done(&["review", "reject", &second])["state"], "rejected");
    changes_nothing(&sandbox, &["review", "show", "zzzzzz"], 7, "not_found");
}

// DF1
#[test]
fn grouped_skill_has_one_name() {
    let sandbox = sandbox();
    let folder = sandbox.user_skill("team/deep/help");
    let text = skill_md("help", "Helps. Use in tests.", "Help.");
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    let names = |args: &[&str]| -> Vec<String> {
        let skills = sandbox.done(args)["skills"].clone();
        skills.as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((names(&["status", "help"]), names(&["status"])), (vec!["help".to_owned()], names(&["list"])));
    let patch = ["manage", "patch", "help", "--find", "Help.", "--replace", "Help twice."];
    sandbox.done(&patch);
    assert_eq!(sandbox.done(&["blame", "help"])["number"], 2);
    assert_eq!(sandbox.done(&["pin", "help"])["pinned"], true);
    changes_nothing(&sandbox, &["manage", "delete", "help"], 5, "policy_denied");
    sandbox.run_as(&sandbox.token(), &["unpin", "help"]).done();
    sandbox.done(&["manage", "delete", "help"]);
    assert!(!folder.exists());
    changes_nothing(&sandbox, &["pin", "help"], 7, "not_found");
    assert_eq!(sandbox.done(&["rollback", "help"])["status"], "applied");
    assert!(fs::read_to_string(folder.join("SKILL.md")).unwrap().contains("Help twice."));
    assert!(!sandbox.user_skill("help").exists());
    fs::create_dir_all(sandbox.user_skill("empty")).unwrap();
    let listed = sandbox.done(&["list"])["skills"].clone();
    let empty = listed.as_array().unwrap().iter().find(|skill| skill["name"] == "empty");
    assert!(empty.is_none_or(|empty| empty["fault"].as_str().unwrap().contains("no SKILL.md")), "{listed:#}");
}

// DF1
#[test]
fn configuration_sets_library_and_public_skills() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("deer");
    let public = skill_md("research", "Searches. Use in tests.", "Search.");
    write_files(&root.join("public/research"), &[("SKILL.md", public.as_bytes(), false)]);
    let config = |storage: &str| {
        let path = root.display();
        let text = format!("[skills]\nuse = {storage:?}\npath = \"{path}\"\ncontainer_path = \"/opt/skills\"\n");
        write_files(&sandbox.skillhub_home(), &[("config.toml", text.as_bytes(), false)]);
    };
    config("deerflow.skills.storage.local_skill_storage:LocalSkillStorage");
    sandbox.create("mine", "Do.");
    assert!(root.join("custom/mine/SKILL.md").is_file());
    assert!(sandbox.ask(&["read", "research"]).text().contains("Search."));
    let section = sandbox.run(&["prompt", "--format", "deerflow"]).text();
    for part in [
        "[built-in]</description>\n<location>/opt/skills/public/research/",
        "[custom, editable]</description>\n<location>/opt/skills/custom/mine/",
    ] {
        assert!(section.contains(part), "{section}");
    }
    let create = ["manage", "create", "research", "--content", "-", "--json"];
    let shadow = skill_md("research", "Searches. Use in tests.", "Search twice.");
    sandbox.run_with(&create, shadow.as_bytes()).done();
    assert!(sandbox.ask(&["read", "research"]).text().contains("Search twice."));
    assert_eq!(fs::read_to_string(root.join("public/research/SKILL.md")).unwrap(), public);
    let prompt = sandbox.run(&["prompt", "--format", "deerflow"]).text();
    assert!(prompt.contains("/opt/skills"), "{prompt}");
    config("s3");
    let error = sandbox.ask(&["list"]).refused_with_hint(2, "invalid_config");
    assert!(error["message"].as_str().unwrap().contains("skills.use"), "{error:#}");
}

#[test]
fn project_cannot_reuse_users_name() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.cwd().join(".git")).unwrap();
    let text = skill_md("demo", "Another. Use in tests.", "Text.");
    let create = ["manage", "create", "demo", "--content", "-", "--json"];
    let error = sandbox.run_with(&create, text.as_bytes()).refused(6, "exists");
    assert!(error["message"].as_str().unwrap().contains(".agents/skills"), "{error:#}");
}

#[test]
fn deleted_skill_is_restored_by_rollback() {
    let sandbox = sandbox();
    fs::write(sandbox.cwd().join("run.sh"), "#!/bin/sh\nprintf done\n").unwrap();
    let write = ["manage", "write_file", "demo", "--path", "scripts/run.sh", "--content", "run.sh", "--executable"];
    sandbox.done(&write);
    let before = snapshot(&sandbox.user_skill("demo"));
    sandbox.done(&["manage", "delete", "demo"]);
    assert!(!sandbox.user_skill("demo").exists());
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"][0]["action"], "delete");
    sandbox.done(&["rollback", "demo"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
}

#[test]
fn text_output_shows_change_and_rollback() {
    let sandbox = sandbox();
    let answer = sandbox.run(&["manage", "patch", "demo", "--find", "alpha", "--replace", "gamma"]).exits(0);
    let text = answer.text();
    assert!(text.starts_with("Applied: patch demo, revision 2"), "{text}");
    assert!(text.contains("+gamma line") && text.contains("skillhub rollback demo"), "{text}");
    let error = sandbox.run(&["manage", "patch", "demo", "--find", "beta", "--replace", "x"]).exits(6);
    assert!(error.stdout.is_empty() && error.stderr.starts_with("error: "), "{error}");
}

// DF1
#[test]
fn nested_skill_is_hidden_or_separate() {
    let sandbox = Sandbox::project();
    let library = sandbox.cwd().join(".agents/skills");
    for (folder, name) in [("outer", "outer"), ("outer/inner", "inner"), ("outer/evals/files/sample", "sample")] {
        fs::create_dir_all(library.join(folder)).unwrap();
        fs::write(library.join(folder).join("SKILL.md"), skill_md(name, "Does it. Use in tests.", "Do it.")).unwrap();
    }
    let listed = || {
        let document = sandbox.done(&["list"]);
        document["skills"].as_array().unwrap().iter().map(|skill| skill["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(), ["outer"]);
    sandbox.done(&["manage", "patch", "outer", "--find", "Do it.", "--replace", "Do that."]);
    fs::write(sandbox.skillhub_home().join("config.toml"), "[skills]\ninner = \"own\"\n").unwrap();
    assert_eq!(listed(), ["outer", "inner"]);
    assert!(sandbox.run(&["read", "inner"]).exits(0).text().contains("Do it."));
    let prompt = sandbox.run(&["prompt", "--format", "deerflow"]).exits(0).text();
    assert!(prompt.contains("<location>/mnt/skills/custom/outer/inner/SKILL.md</location>"), "{prompt}");
    sandbox.done(&["manage", "patch", "outer", "--find", "Do that.", "--replace", "Do this."]);
    fs::write(sandbox.skillhub_home().join("config.toml"), "[skills]\ninner = \"yes\"\n").unwrap();
    sandbox.ask(&["list"]).refused_with_hint(2, "invalid_config");
}
