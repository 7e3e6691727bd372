//! `install` and `uninstall`: from every kind of source, for agents, from the lock file, and conflicts.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Sandbox, git, hostile_script, repository, snapshot, write_files};

fn published() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Writes notes. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    sandbox.done(&["publish", "demo", "--owner", "acme"]);
    sandbox
}

fn first(document: &Value) -> &Value {
    &document["skills"][0]
}

#[test]
fn install_reports_every_field() {
    let sandbox = published();
    let document = sandbox.done(&["install", "acme/demo"]);
    let skill = first(&document);
    assert_eq!([&skill["name"], &skill["version"], &skill["status"]], ["acme/demo", "1.0.0", "installed"]);
    assert_eq!(skill["path"], sandbox.user_skill("demo").display().to_string());
    assert_eq!((&skill["links"], &skill["previous"], &skill["proposal"]), (&json!([]), &Value::Null, &Value::Null));
    assert!(skill["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(skill["revision"], sandbox.done(&["history", "demo"])["revisions"][0]["revision"]);
    assert_eq!(first(&sandbox.done(&["install", "acme/demo"]))["status"], "unchanged");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), snapshot(&sandbox.cwd().join("demo")));
}

#[test]
fn install_dry_run_changes_nothing() {
    let sandbox = published();
    assert_eq!(first(&sandbox.done(&["install", "acme/demo", "--dry-run"]))["status"], "dry_run");
    assert!(!sandbox.user_skill("demo").exists());
    sandbox.ask(&["history", "demo"]).refused(7, "not_found");
}

#[test]
fn installed_skill_lists_its_origin() {
    let sandbox = published();
    sandbox.done(&["install", "acme/demo"]);
    let skill = first(&sandbox.done(&["list"])).clone();
    assert_eq!([&skill["name"], &skill["scope"], &skill["version"]], ["demo", "user", "1.0.0"]);
    assert_eq!([&skill["origin"]["name"], &skill["origin"]["kind"]], ["acme/demo", "registry"]);
    assert_eq!((&skill["enabled"], &skill["modified"]), (&json!(true), &json!(false)));
    assert_eq!(skill["path"], sandbox.user_skill("demo").display().to_string());
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read."]);
    assert_eq!(first(&sandbox.done(&["list"]))["modified"], true, "it differs from its release");
}

#[test]
fn detected_agents_get_links() {
    let sandbox = published();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    let answer = sandbox.run(&["install", "acme/demo"]).exits(0);
    let link = sandbox.home().join(".claude/skills/demo");
    assert!(answer.text().contains("  ~/.agents/skills/demo\n"), "{answer}");
    assert!(answer.text().contains("  also at ~/.claude/skills/demo\n"), "{answer}");
    assert_eq!(fs::canonicalize(&link).unwrap(), fs::canonicalize(sandbox.user_skill("demo")).unwrap());
    assert!(fs::read_link(&link).unwrap().is_relative(), "a link that survives a move of the home");
    let removed = first(&sandbox.done(&["uninstall", "demo"])).clone();
    assert_eq!(removed["removed"], json!([link]));
    assert!(fs::symlink_metadata(&link).is_err() && !sandbox.user_skill("demo").exists());
}

#[test]
fn existing_agent_folder_is_kept() {
    let sandbox = published();
    let theirs = sandbox.home().join(".claude/skills/demo");
    write_files(&theirs, &[("SKILL.md", b"mine", false)]);
    for more in [&[][..], &["--agent", "claude-code", "--copy"]] {
        let document = sandbox.done(&[&["install", "acme/demo"], more].concat());
        assert_eq!(first(&document)["links"], json!([]));
        assert!(first(&document)["warnings"][0].as_str().unwrap().contains(".claude/skills/demo"), "{document:#}");
    }
    sandbox.done(&["uninstall", "demo"]);
    assert_eq!(fs::read_to_string(theirs.join("SKILL.md")).unwrap(), "mine");
}

#[test]
fn linked_agent_folder_needs_no_links() {
    let sandbox = published();
    fs::create_dir_all(sandbox.user_skill("")).unwrap();
    fs::create_dir(sandbox.home().join(".claude")).unwrap();
    std::os::unix::fs::symlink("../.agents/skills", sandbox.home().join(".claude/skills")).unwrap();
    sandbox.done(&["install", "acme/demo", "--agent", "claude-code"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), snapshot(&sandbox.cwd().join("demo")));
    sandbox.done(&["uninstall", "demo"]);
    assert!(!sandbox.user_skill("demo").exists());
}

#[test]
fn copy_works_for_undetected_agent() {
    let sandbox = published();
    sandbox.done(&["install", "acme/demo", "--agent", "claude-code", "--copy"]);
    let copy = sandbox.home().join(".claude/skills/demo");
    assert!(fs::symlink_metadata(&copy).unwrap().is_dir());
    assert_eq!(snapshot(&copy), snapshot(&sandbox.cwd().join("demo")));
    sandbox.ask(&["install", "acme/demo", "--agent", "claude-cod"]).refused_with_hint(2, "unknown_agent");
}

#[test]
fn folders_archives_and_git_are_sources() {
    let sandbox = Sandbox::new();
    let scripts = [("scripts/run.sh", "#!/bin/sh\nprintf x\n")];
    let folder = sandbox.skill("by-folder", "Comes from a folder. Use in tests.", &scripts);
    sandbox.done(&["install", "./by-folder"]);
    assert_eq!(snapshot(&sandbox.user_skill("by-folder")), snapshot(&folder));
    let folder = sandbox.skill("by-archive", "Comes from a file. Use in tests.", &scripts);
    sandbox.done(&["pack", "by-archive"]);
    sandbox.done(&["install", "by-archive.skill"]);
    assert_eq!(snapshot(&sandbox.user_skill("by-archive")), snapshot(&folder));
}

#[test]
fn git_source_takes_path_and_reference() {
    let sandbox = Sandbox::new();
    let repo = sandbox.path("repo");
    let folder =
        sandbox.skill("by-git", "Comes from git. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    fs::create_dir_all(repo.join("skills")).unwrap();
    fs::rename(&folder, repo.join("skills/by-git")).unwrap();
    repository(&sandbox, &repo);
    git(&sandbox, &["-C", repo.to_str().unwrap(), "tag", "v1"]);
    let before = snapshot(&repo.join("skills/by-git"));
    fs::write(repo.join("skills/by-git/later.md"), "# Later\n").unwrap();
    git(&sandbox, &["-C", repo.to_str().unwrap(), "add", "--all"]);
    git(&sandbox, &["-C", repo.to_str().unwrap(), "commit", "--quiet", "--message=second"]);
    let url = format!("file://{}", repo.display());
    let installed = sandbox.done(&["install", &format!("{url}#skills/by-git@v1")]);
    let commit = git(&sandbox, &["-C", repo.to_str().unwrap(), "rev-parse", "v1"]);
    assert_eq!(first(&installed)["origin"]["commit"], commit.trim());
    assert_eq!(snapshot(&sandbox.user_skill("by-git")), before);
    sandbox.ask(&["install", &format!("{url}#skills/none")]).refused(7, "not_found");
    sandbox.ask(&["install", &format!("{url}#skills/by-git@none")]).refused_with_hint(7, "not_found");
}

#[test]
fn source_with_several_skills_is_ambiguous() {
    let sandbox = Sandbox::new();
    for name in ["one", "two"] {
        let folder = sandbox.skill(name, "Counts. Use in tests.", &[]);
        fs::create_dir_all(sandbox.cwd().join("many/skills")).unwrap();
        fs::rename(folder, sandbox.cwd().join("many/skills").join(name)).unwrap();
    }
    let error = sandbox.ask(&["install", "./many"]).refused_with_hint(6, "ambiguous_name");
    assert!(error["message"].as_str().unwrap().contains("one, two"), "{error:#}");
    sandbox.done(&["install", "./many", "--skill", "two"]);
    assert!(!sandbox.user_skill("one").exists() && sandbox.user_skill("two").exists());
    assert_eq!(sandbox.done(&["install", "./many", "--all"])["skills"].as_array().unwrap().len(), 2);
    sandbox.ask(&["install", "./many", "--skill", "three"]).refused(7, "not_found");
}

#[test]
fn versions_and_ranges_select_release() {
    let sandbox = Sandbox::new();
    for version in ["1.0.0", "1.2.0", "2.0.0"] {
        sandbox.skill("demo", &format!("Does it as of {version}. Use in tests."), &[]);
        sandbox.done(&["publish", "demo", "--owner", "acme", "--version", version]);
    }
    for (spec, version) in [("acme/demo", "2.0.0"), ("acme/demo@^1.0", "1.2.0"), ("demo@1.0.0", "1.0.0")] {
        let library = sandbox.path(&format!("library-{version}")).display().to_string();
        assert_eq!(first(&sandbox.done(&["install", spec, "--library", &library]))["version"], version, "{spec}");
    }
    sandbox.done(&["yank", "acme/demo@2.0.0"]);
    assert_eq!(first(&sandbox.done(&["install", "acme/demo"]))["version"], "1.2.0", "a yanked one is not chosen");
    sandbox.ask(&["install", "acme/demo@3"]).refused_with_hint(7, "not_found");
}

#[test]
fn new_request_for_the_installed_release_is_noted() {
    let sandbox = published();
    let noted = |spec: &str| {
        let skill = first(&sandbox.done(&["install", spec])).clone();
        assert_ne!(skill["status"], "updated", "{skill:#}");
        skill["warnings"].to_string()
    };
    assert_eq!(noted("acme/demo"), "[]");
    assert!(noted("acme/demo@^1").contains("requested the newest release and now requests ^1"));
    assert_eq!(noted("acme/demo@^1"), "[]");
    assert!(noted("acme/demo@latest").contains("requested ^1 and now requests the newest release"));
}

#[test]
fn second_owners_skill_conflicts() {
    let sandbox = published();
    sandbox.done(&["publish", "demo", "--owner", "other"]);
    sandbox.ask(&["install", "demo"]).refused_with_hint(6, "ambiguous_name");
    sandbox.done(&["install", "acme/demo"]);
    let before = snapshot(&sandbox.user_skill("demo"));
    sandbox.ask(&["install", "other/demo"]).refused_with_hint(6, "exists");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
}

#[test]
fn unrecorded_folder_is_never_overwritten() {
    let sandbox = published();
    fs::create_dir_all(sandbox.user_skill("demo")).unwrap();
    fs::write(sandbox.user_skill("demo").join("SKILL.md"), "mine").unwrap();
    sandbox.ask(&["install", "acme/demo"]).refused_with_hint(6, "exists");
    assert_eq!(fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap(), "mine");
}

#[test]
fn hostile_skill_is_not_installed() {
    let sandbox = Sandbox::new();
    sandbox.skill("bad", "Does bad. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    let error = sandbox.ask(&["install", "./bad"]).refused_with_hint(4, "scan_blocked");
    assert_eq!(error["details"]["findings"][0]["path"], "scripts/report.sh");
    assert!(error["details"]["causes"][0]["locations"].is_array());
    assert!(!sandbox.user_skill("bad").exists());
    assert_eq!(sandbox.done(&["log"])["events"][0]["code"], "scan_blocked");
}

#[test]
fn batch_install_exits_with_worst_code() {
    let sandbox = published();
    sandbox.skill("bad", "Does bad. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    let document = sandbox.ask(&["install", "acme/demo", "./bad", "acme/none"]).exits(7).json();
    let of = |name: &str| {
        let skills = document["skills"].as_array().unwrap().iter();
        skills.clone().find(|skill| skill["name"].as_str().unwrap().ends_with(name)).unwrap()["status"].clone()
    };
    assert_eq!([of("demo"), of("bad"), of("none")], ["installed", "blocked", "failed"]);
    assert!(sandbox.user_skill("demo").exists() && !sandbox.user_skill("bad").exists());
}

/// A project in git with an installed skill, whose lock file is committed and whose skills are not.
fn project_with_lock(sandbox: &Sandbox) {
    fs::write(sandbox.cwd().join(".gitignore"), "/.agents\n/.claude\n/demo\n").unwrap();
    repository(sandbox, &sandbox.cwd());
    sandbox.done(&["install", "acme/demo@^1.0"]);
    let cwd = sandbox.cwd().display().to_string();
    git(sandbox, &["-C", &cwd, "add", "--all"]);
    git(sandbox, &["-C", &cwd, "commit", "--quiet", "--message=lock"]);
    git(sandbox, &["clone", "--quiet", &cwd, "../clone"]);
}

fn in_clone(sandbox: &Sandbox, args: &[&str]) -> Value {
    let mut command = sandbox.command(&[args, &["--json"]].concat());
    command.current_dir(sandbox.path("clone"));
    sandbox.finish(command, args).done()
}

#[test]
fn clone_restores_locked_skills() {
    let sandbox = published();
    project_with_lock(&sandbox);
    let lock = fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap();
    assert!(lock.contains("acme/demo") && lock.contains("^1.0"), "{lock}");
    sandbox.skill("demo", "Writes other notes. Use in tests.", &[]);
    sandbox.done(&["publish", "demo", "--owner", "acme"]);
    let installed = in_clone(&sandbox, &["install", "--frozen"]);
    assert_eq!([&first(&installed)["name"], &first(&installed)["version"]], ["acme/demo", "1.0.0"]);
    let skills = |root: &Path| snapshot(&root.join(".agents/skills"));
    assert_eq!(skills(&sandbox.path("clone")), skills(&sandbox.cwd()));
    assert_eq!(fs::read_to_string(sandbox.path("clone/skillhub.lock")).unwrap(), lock, "restoring changes no lock");
}

/// A clone has no folders of agents. The lock file names the agents, and the user's home has their folders.
#[test]
fn clone_links_for_agents_of_lock_file() {
    let sandbox = published();
    fs::create_dir(sandbox.cwd().join(".claude")).unwrap();
    project_with_lock(&sandbox);
    let link = sandbox.path("clone/.claude/skills/demo");
    in_clone(&sandbox, &["install", "--frozen"]);
    assert!(!link.exists(), "the machine does not have the agent");
    fs::create_dir(sandbox.home().join(".claude")).unwrap();
    let again = in_clone(&sandbox, &["install", "--frozen"]);
    assert_eq!(first(&again)["status"], "unchanged");
    assert!(link.exists(), "{again:#}");
}

#[test]
fn changed_skill_updates_lock_file() {
    let sandbox = published();
    project_with_lock(&sandbox);
    let lock = || fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap();
    let before = lock();
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read."]);
    assert_ne!(lock(), before);
    sandbox.done(&["rollback", "demo"]);
    assert_eq!(lock(), before);
}

#[test]
fn unreadable_lock_file_only_warns() {
    let sandbox = published();
    fs::create_dir(sandbox.cwd().join(".git")).unwrap();
    sandbox.done(&["install", "acme/demo"]);
    fs::write(sandbox.cwd().join("skillhub.lock"), "format = 99\n").unwrap();
    let answer = sandbox.ask(&["manage", "delete", "demo"]);
    assert!(answer.stderr.contains("skillhub.lock"), "{answer}");
    assert_eq!(answer.done()["status"], "applied");
    let answer = sandbox.ask(&["rollback", "demo"]);
    assert!(answer.stderr.contains("skillhub.lock"), "{answer}");
    assert_eq!(answer.done()["status"], "applied");
    sandbox.ask(&["install"]).refused_with_hint(8, "damaged_lock_file");
    assert_eq!(fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap(), "format = 99\n");
}

#[test]
fn wrong_locked_digest_is_refused() {
    let sandbox = published();
    fs::create_dir(sandbox.cwd().join(".git")).unwrap();
    sandbox.done(&["install", "acme/demo"]);
    let path = sandbox.cwd().join("skillhub.lock");
    let lock = fs::read_to_string(&path).unwrap();
    let digest = lock.lines().find(|line| line.starts_with("digest = ")).unwrap();
    fs::write(&path, lock.replace(digest, &format!("digest = \"sha256:{}\"", "0".repeat(64)))).unwrap();
    sandbox.done(&["manage", "delete", "demo"]);
    let answer = sandbox.ask(&["install"]).exits(8);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("lock file"), "{answer}");
    assert!(!sandbox.cwd().join(".agents/skills/demo").exists());
}

#[test]
fn install_without_specs_needs_lock_file() {
    let sandbox = Sandbox::new();
    let answer = sandbox.ask(&["install"]);
    let error = answer.json()["error"].clone();
    assert!(error["hint"].is_string() && answer.exit != 0, "{answer}");
}

/// Rollback restores a skill that was installed and then uninstalled.
#[test]
fn uninstall_refuses_own_skills() {
    let sandbox = published();
    sandbox.create("mine", "Text.");
    sandbox.ask(&["uninstall", "mine"]).refused_with_hint(5, "not_installed");
    assert!(sandbox.user_skill("mine").exists());
    sandbox.done(&["install", "acme/demo"]);
    let before = snapshot(&sandbox.user_skill("demo"));
    sandbox.done(&["uninstall", "demo"]);
    assert!(!sandbox.user_skill("demo").exists());
    sandbox.done(&["rollback", "demo"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    sandbox.ask(&["uninstall", "none"]).refused_with_hint(7, "not_found");
}

#[test]
fn batch_uninstall_exits_with_worst_code() {
    let sandbox = published();
    sandbox.done(&["install", "acme/demo"]);
    let answer = sandbox.ask(&["uninstall", "demo", "none"]).exits(7).json();
    assert_eq!((&answer["ok"], &answer["skills"][0]["status"]), (&false.into(), &"uninstalled".into()));
    assert_eq!(answer["skills"][1]["error"]["code"], "not_found");
    assert!(!sandbox.user_skill("demo").exists());
}

/// A lock file with one skill that nothing here has, of about so many bytes.
fn large_lock(bytes: usize) -> String {
    let long = "x".repeat(bytes);
    format!(
        "format = 1\n\n[[skill]]\nname = \"other\"\nrequested = \"{long}\"\nkind = \"folder\"\n\
         archive = \"\"\ndigest = \"unknown\"\n"
    )
}

#[test]
fn lock_file_stays_within_its_limit() {
    let sandbox = published();
    fs::create_dir(sandbox.cwd().join(".git")).unwrap();
    let (path, skill) = (sandbox.cwd().join("skillhub.lock"), sandbox.cwd().join(".agents/skills/demo"));
    let before = large_lock((4 << 20) - 300);
    fs::write(&path, &before).unwrap();
    let error = sandbox.ask(&["install", "acme/demo"]).refused(3, "too_large");
    assert!(error.to_string().contains("the limit is 4194304"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    assert!(!skill.exists());
    sandbox.ask(&["history", "demo"]).refused(7, "not_found");
    fs::write(&path, large_lock(3 << 20)).unwrap();
    sandbox.done(&["install", "acme/demo"]);
    assert!(skill.exists());
    // What was taken out may come back, unless the file has grown meanwhile.
    sandbox.done(&["uninstall", "demo"]);
    fs::write(&path, &before).unwrap();
    sandbox.ask(&["undo"]).refused(3, "too_large");
    assert!(!skill.exists());
    assert_eq!(sandbox.ask(&["list"]).stderr, "", "no lines are left to be written");
}
