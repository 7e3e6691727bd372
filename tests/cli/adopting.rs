//! `list` for a newcomer with unmanaged skills, and `adopt`, which manages them.

use std::fs;

use serde_json::json;

use crate::support::{Sandbox, hostile_script, skill_md, snapshot, write_files};

/// A user who has two skills for Claude Code and has never used skillhub.
fn newcomer() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join(".claude/skills")).unwrap();
    for name in ["first", "second"] {
        let made =
            sandbox.skill(name, "Was here before. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
        fs::rename(made, sandbox.home().join(".claude/skills").join(name)).unwrap();
    }
    sandbox
}

#[test]
fn list_suggests_adopting_unmanaged_skills() {
    let sandbox = newcomer();
    let before = snapshot(&sandbox.home());
    let plan =
        sandbox.run(&["adopt", "--dry-run", sandbox.home().join(".claude/skills").to_str().unwrap()]).exits(0).text();
    assert!(plan.contains("first  ~/.agents/skills/first"), "{plan}");
    let text = sandbox.run(&["list"]).exits(0).text();
    assert!(text.contains("first") && text.contains("second") && text.contains("skillhub adopt "), "{text}");
    let document = sandbox.done(&["list"]);
    assert_eq!((&document["skills"], document["unmanaged"].as_array().unwrap().len()), (&json!([]), 2));
    assert_eq!(snapshot(&sandbox.home()), before);
}

#[test]
fn list_names_skill_with_too_large_text() {
    let sandbox = newcomer();
    let large = sandbox.home().join(".claude/skills/large");
    fs::create_dir_all(&large).unwrap();
    fs::write(large.join("SKILL.md"), "a".repeat(1_048_577)).unwrap();
    let text = sandbox.run(&["list"]).exits(0).text();
    let reason = "large: its SKILL.md has 1048577 bytes, but the limit is 1048576\n";
    assert!(text.contains("3 skills in agents' folders") && text.contains(reason), "{text}");
    let adopt = text.lines().last().unwrap();
    assert!(adopt.contains("/first ") && adopt.ends_with("/second"), "{text}");
    assert!(sandbox.done(&["list"])["unmanaged"][1]["fault"].is_string());
}

#[test]
fn adopt_links_and_undo_restores_originals() {
    let sandbox = newcomer();
    let original = sandbox.home().join(".claude/skills");
    let before = snapshot(&original.join("first"));
    let whole = snapshot(&original);
    let document = sandbox.done(&["adopt", original.to_str().unwrap()]);
    let skills = document["skills"].as_array().unwrap();
    assert_eq!(
        skills.iter().map(|skill| skill["status"].as_str().unwrap()).collect::<Vec<_>>(),
        ["adopted", "adopted"]
    );
    assert!(original.join("first").is_symlink() && original.join("second").is_symlink());
    assert_eq!(snapshot(&sandbox.user_skill("first")), before);
    sandbox.done(&["undo"]);
    assert_eq!(snapshot(&original), whole, "every byte and link is as before");
    sandbox.done(&["undo"]);
    assert!(original.join("first").is_symlink() && original.join("second").is_symlink());
    let listed = sandbox.done(&["list"]);
    assert_eq!((listed["skills"].as_array().unwrap().len(), &listed["unmanaged"]), (2, &json!([])));
    let again = sandbox.done(&["adopt", original.to_str().unwrap()]);
    assert!(again["skills"].as_array().unwrap().iter().all(|skill| skill["status"] == "unchanged"), "{again:#}");
    sandbox.done(&["manage", "patch", "first", "--find", "Read the input.", "--replace", "Read."]);
    sandbox.done(&["rollback", "first"]);
}

#[test]
fn command_printed_by_list_works() {
    let sandbox = newcomer();
    let text = sandbox.run(&["list"]).exits(0).text();
    let line = text.lines().find(|line| line.contains("skillhub adopt ")).unwrap();
    let (_, path) = line.split_once("skillhub adopt ").unwrap();
    let path = path.split_whitespace().next().unwrap().replace('~', sandbox.home().to_str().unwrap());
    let document = sandbox.done(&["adopt", &path]);
    assert_eq!(document["skills"][0]["status"], "adopted");
}

#[test]
fn library_folder_is_adopted_in_place() {
    let sandbox = newcomer();
    fs::create_dir_all(sandbox.user_skill("")).unwrap();
    fs::rename(sandbox.home().join(".claude/skills/first"), sandbox.user_skill("first")).unwrap();
    let before = snapshot(&sandbox.user_skill("first"));
    assert_eq!(sandbox.done(&["status", "first"])["skills"][0]["managed"], false);
    sandbox.done(&["adopt", sandbox.user_skill("first").to_str().unwrap()]);
    assert_eq!(snapshot(&sandbox.user_skill("first")), before);
    assert_eq!(sandbox.done(&["history", "first"])["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn adopt_dry_run_changes_nothing() {
    let sandbox = newcomer();
    let original = sandbox.home().join(".claude/skills");
    let document = sandbox.done(&["adopt", original.to_str().unwrap(), "--dry-run"]);
    assert_eq!(document["skills"][0]["status"], "dry_run");
    assert!(!sandbox.user_skill("first").exists());
}

#[test]
fn hostile_or_conflicting_skill_is_refused() {
    let sandbox = newcomer();
    let original = sandbox.home().join(".claude/skills");
    write_files(&original, &[("first/scripts/report.sh", hostile_script().as_bytes(), true)]);
    sandbox.ask(&["adopt", original.join("first").to_str().unwrap()]).refused(4, "scan_blocked");
    assert!(!sandbox.user_skill("first").exists());
    sandbox.create("second", "Another one of that name.");
    let before = snapshot(&sandbox.user_skill("second"));
    sandbox.ask(&["adopt", original.join("second").to_str().unwrap()]).refused(6, "exists");
    assert_eq!(snapshot(&sandbox.user_skill("second")), before);
    sandbox.ask(&["adopt", "none"]).refused(7, "not_found");
}

/// A link to a skill among somebody's dotfiles, in a folder of Claude Code.
#[cfg(unix)]
fn dotfiles_link(sandbox: &Sandbox, folder: &std::path::Path) -> std::path::PathBuf {
    let made = sandbox.skill("linked", "Lives among dotfiles. Use in tests.", &[]);
    let kept = sandbox.home().join("dotfiles/linked");
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::rename(made, &kept).unwrap();
    fs::create_dir_all(folder).unwrap();
    std::os::unix::fs::symlink(&kept, folder.join("linked")).unwrap();
    kept
}

#[cfg(unix)]
#[test]
fn links_of_the_home_are_followed() {
    let sandbox = newcomer();
    let folder = sandbox.home().join(".claude/skills");
    let kept = dotfiles_link(&sandbox, &folder);
    let before = snapshot(&sandbox.home().join(".claude"));
    let document = sandbox.done(&["adopt", folder.to_str().unwrap()]);
    let statuses = document["skills"].as_array().unwrap().iter().map(|skill| skill["status"].as_str().unwrap());
    assert_eq!(statuses.collect::<Vec<_>>(), ["adopted"; 3], "{document:#}");
    assert_eq!(fs::canonicalize(folder.join("linked")).unwrap(), sandbox.user_skill("linked").canonicalize().unwrap());
    assert!(kept.join("SKILL.md").is_file(), "the files among the dotfiles stay");
    sandbox.done(&["undo"]);
    assert_eq!(snapshot(&sandbox.home().join(".claude")), before, "the link leads to the dotfiles again");
}

#[cfg(unix)]
#[test]
fn project_links_are_skipped() {
    let sandbox = Sandbox::project();
    let folder = sandbox.cwd().join(".claude/skills");
    let kept = dotfiles_link(&sandbox, &folder);
    let document = sandbox.done(&["adopt", ".claude/skills"]);
    assert_eq!(document["skills"][0]["status"], "passed_over", "{document:#}");
    assert_eq!(fs::read_link(folder.join("linked")).unwrap(), kept);
    let text = sandbox.run(&["adopt", ".claude/skills"]).exits(0).text();
    assert!(text.contains("Skipped") && text.contains("~/dotfiles/linked"), "{text}");
    let command = text.split("skillhub ").last().unwrap().split_whitespace().collect::<Vec<_>>();
    let setup = sandbox.done(&["setup", "-y"]);
    assert_eq!(setup["passed_over"].as_array().unwrap().len(), 1, "{setup:#}");
    assert_eq!(sandbox.done(&command[..3])["skills"][0]["status"], "adopted", "{command:?}");
    assert!(fs::canonicalize(folder.join("linked")).unwrap().ends_with("work/.agents/skills/linked"));
}

#[cfg(unix)]
#[test]
fn linked_library_is_adopted_in_place() {
    for scope in [&[][..], &["--global"]] {
        let sandbox = Sandbox::project();
        let root = if scope.is_empty() { sandbox.cwd() } else { sandbox.home() };
        for name in ["one", "two"] {
            let made = sandbox.skill(name, "Was here before. Use in tests.", &[]);
            fs::create_dir_all(root.join(".agents/skills")).unwrap();
            fs::rename(made, root.join(".agents/skills").join(name)).unwrap();
        }
        fs::create_dir(root.join(".claude")).unwrap();
        std::os::unix::fs::symlink("../.agents/skills", root.join(".claude/skills")).unwrap();
        let library = root.join(".agents/skills");
        let before = snapshot(&library);
        let run = |args: &[&str]| sandbox.done(&[scope, args].concat());
        run(&["setup", "-y"]);
        assert_eq!(snapshot(&library), before, "nothing moves, no link inside of itself");
        let folder = root.join(".claude/skills");
        let adopted = run(&["adopt", folder.to_str().unwrap()]);
        assert!(adopted["skills"].as_array().unwrap().iter().all(|skill| skill["status"] == "unchanged"));
        sandbox.skill("three", "Comes later. Use in tests.", &[]);
        run(&["install", "./three"]);
        run(&["manage", "patch", "one", "--find", "Read the input.", "--replace", "Read."]);
        assert!(fs::read_to_string(root.join(".claude/skills/one/SKILL.md")).unwrap().contains("Read. Write"));
        let list = run(&["list"]);
        let readers = |name: &str| {
            let skills = list["skills"].as_array().unwrap();
            skills.iter().find(|skill| skill["name"] == name).unwrap()["agents"].to_string()
        };
        assert!(["one", "two", "three"].iter().all(|name| readers(name).contains("claude-code") || !scope.is_empty()));
        run(&["doctor"]);
        run(&["uninstall", "three"]);
        run(&["undo"]);
        assert!(library.join("three/SKILL.md").is_file() && !library.join("three").is_symlink());
        assert!(["one", "two", "three"].iter().all(|name| !library.join(name).join(name).exists()));
    }
}

#[test]
fn gitmodules_file_is_kept() {
    let sandbox = Sandbox::new();
    let text = skill_md("demo", "Was there before. Use in tests.", "Text.");
    let list = b"[submodule \"x\"]\n\tpath = x\n\turl = https://example.org/x\n";
    let files = [("SKILL.md", text.as_bytes(), false), (".gitmodules", &list[..], false)];
    write_files(&sandbox.user_skill("demo"), &files);
    sandbox.done(&["adopt", sandbox.user_skill("demo").to_str().unwrap()]);
    sandbox.done(&["manage", "patch", "demo", "--find", "Text.", "--replace", "More text."]);
    assert_eq!(fs::read(sandbox.user_skill("demo").join(".gitmodules")).unwrap(), list);
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "clean");
}

#[cfg(unix)]
#[test]
fn folder_of_reading_host_gets_links() {
    let sandbox = Sandbox::project();
    let found = sandbox.cwd().join(".opencode/skill/commit");
    fs::create_dir_all(&found).unwrap();
    fs::write(found.join("SKILL.md"), skill_md("commit", "Makes commits. Use in tests.", "old")).unwrap();
    sandbox.done(&["setup", "-y"]);
    assert!(found.is_symlink());
    sandbox.done(&["manage", "patch", "commit", "--find", "old", "--replace", "new"]);
    assert!(fs::read_to_string(found.join("SKILL.md")).unwrap().ends_with("new\n"));
    assert_eq!(sandbox.done(&["list"])["differences"], json!([]));
}

// DF1
#[test]
fn deerflow_custom_skills_are_adopted() {
    let sandbox = Sandbox::new();
    for skill in ["public/research", "custom/mine"] {
        let text = skill_md(skill.split('/').next_back().unwrap(), "Does. Use in tests.", "Do.");
        write_files(&sandbox.cwd().join("skills").join(skill), &[("SKILL.md", text.as_bytes(), false)]);
    }
    let tree = sandbox.cwd().join("skills").display().to_string();
    let run = sandbox.ask(&["adopt", &tree]);
    assert!(run.stderr.contains("public skills are read-only") && run.stderr.contains(&format!("path = {tree:?}")));
    let adopted = run.done()["skills"].clone();
    assert_eq!((adopted.as_array().unwrap().len(), &adopted[0]["name"]), (1, &json!("mine")), "{adopted:#}");
    assert!(sandbox.user_skill("mine").exists() && !sandbox.user_skill("research").exists());
}
