//! A project that two people share through git: the library of one of them did not see what the other one did.

use std::fs;

use serde_json::Value;

use crate::support::{Answer, Sandbox, git, skill_md, write_files};

/// Two people with a clone each, and a registry that both can read.
struct Team {
    ann: Sandbox,
    bob: Sandbox,
    registry: String,
}

impl Team {
    /// Ann has installed and committed `acme/demo` 1.0.0, and Bob has pulled it.
    fn new() -> Self {
        let (ann, bob) = (Sandbox::new(), Sandbox::new());
        let registry = ann.path("registry").display().to_string();
        ann.done(&["index", "init", &registry]);
        let team = Self { ann, bob, registry };
        for person in [&team.ann, &team.bob] {
            git(person, &["-C", person.cwd().to_str().unwrap(), "init", "--quiet", "--initial-branch=main"]);
            fs::create_dir(person.cwd().join(".claude")).unwrap();
        }
        team.publish("demo", "1.0.0", "alpha line");
        team.ask(&team.ann, &["install", "acme/demo"]).done();
        team.share();
        team
    }

    fn publish(&self, name: &str, version: &str, line: &str) {
        let text = skill_md(name, "Writes notes. Use in tests.", &format!("{line}\n\nbeta line\n\ngamma line"));
        let folder = self.ann.path("source").join(name);
        write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
        let folder = folder.to_str().unwrap();
        self.ask(&self.ann, &["publish", folder, "--owner", "acme", "--version", version]).done();
    }

    fn ask(&self, person: &Sandbox, args: &[&str]) -> Answer {
        person.ask(&[args, &["--registry", &self.registry]].concat())
    }

    /// Ann commits her project, and Bob pulls it.
    fn share(&self) {
        let (ann, bob) = (self.ann.cwd(), self.bob.cwd());
        let (ann, bob) = (ann.to_str().unwrap(), bob.to_str().unwrap());
        git(&self.ann, &["-C", ann, "add", "skillhub.lock", ".agents"]);
        git(&self.ann, &["-C", ann, "commit", "--quiet", "--message", "skills"]);
        git(&self.bob, &["-C", bob, "pull", "--quiet", ann, "main"]);
    }

    /// Ann publishes a release, updates to it and commits, and Bob pulls.
    fn update(&self, version: &str, line: &str) {
        self.publish("demo", version, line);
        self.ask(&self.ann, &["update"]).done();
        self.share();
    }

    /// Returns the changes of Bob's files that git sees.
    fn changes_of_bob(&self) -> String {
        git(&self.bob, &["-C", self.bob.cwd().to_str().unwrap(), "status", "--porcelain", "--untracked-files=no"])
    }

    fn lock_of_bob(&self) -> String {
        fs::read_to_string(self.bob.cwd().join("skillhub.lock")).unwrap()
    }
}

#[track_caller]
fn assert_pulled_content_is_found(bob: &Sandbox) {
    let found = bob.ask(&["doctor"]).exits(1).json();
    let is_it = |check: &Value| check["check"] == "folders" && check["code"] == "not_recorded";
    assert!(found["checks"].as_array().unwrap().iter().any(is_it), "{found:#}");
}

/// `setup` is the first command of the README. Only an install checks what a lock file claims.
#[test]
fn setup_in_a_clone_leaves_its_skills_to_install() {
    let team = Team::new();
    let done = team.ask(&team.bob, &["setup", "--yes"]).done();
    assert!(done["warnings"][0].as_str().unwrap().contains("installs 1 skill of skillhub.lock"), "{done:#}");
    assert!(done["skills"].as_array().unwrap().is_empty(), "{done:#}");
    let seen = team.ask(&team.bob, &["status"]).json();
    assert!(seen["lacking"][0]["command"].as_str().unwrap().ends_with(" install"), "{seen:#}");
    assert_eq!(team.ask(&team.bob, &["install"]).done()["skills"][0]["status"], "installed");
    assert!(team.bob.cwd().join(".claude/skills/demo/SKILL.md").exists());
    assert_eq!(team.bob.done(&["list"])["skills"][0]["origin"]["version"], "1.0.0");
    team.bob.done(&["verify"]);
    team.bob.done(&["doctor"]);
    team.bob.done(&["undo"]);
    team.bob.done(&["setup", "--undo"]);
    assert_eq!(team.changes_of_bob(), "", "the undo leaves what git brought");
}

#[test]
fn undo_in_a_clone_keeps_the_lock_file() {
    let team = Team::new();
    team.ask(&team.bob, &["install"]).done();
    team.bob.done(&["undo"]);
    assert_eq!(team.changes_of_bob(), "");
    assert_eq!(team.ask(&team.bob, &["install"]).done()["skills"][0]["status"], "installed");
}

/// Otherwise a hostile clone could give its folders any origin.
#[test]
fn skill_of_the_lock_file_is_not_adopted() {
    let team = Team::new();
    for folder in [".agents/skills/demo", ".claude/skills/demo"] {
        let folder = team.bob.cwd().join(folder);
        let text = skill_md("demo", "Writes notes. Use in tests.", "my own line");
        write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
        let error = team.ask(&team.bob, &["adopt", folder.to_str().unwrap()]).refused_with_hint(6, "locked_release");
        assert!(error["hint"].as_str().unwrap().contains("install"), "{error:#}");
    }
}

/// The two releases have the same files.
#[test]
fn pulled_release_with_equal_files_stays_locked() {
    let team = Team::new();
    team.ask(&team.bob, &["install"]).done();
    team.update("1.0.1", "alpha line");
    team.bob.done(&["manage", "patch", "demo", "--find", "gamma line", "--replace", "my line"]);
    assert!(team.lock_of_bob().contains("version = \"1.0.1\""), "{}", team.lock_of_bob());
}

/// A change after `git pull` must not take the lock file back to the release that this library has.
#[test]
fn change_after_a_pull_keeps_the_newer_release() {
    let team = Team::new();
    team.ask(&team.bob, &["install"]).done();
    team.update("1.1.0", "new line");
    assert_pulled_content_is_found(&team.bob);
    team.bob.done(&["manage", "patch", "demo", "--find", "gamma line", "--replace", "my line"]);
    let lock = team.lock_of_bob();
    assert!(lock.contains("version = \"1.1.0\"") && !lock.contains("1.0.0"), "{lock}");
    team.ask(&team.bob, &["install"]).refused(6, "evolved");
    assert_eq!(team.ask(&team.bob, &["update"]).done()["skills"][0]["status"], "merged");
    team.bob.done(&["doctor"]);
    let text = fs::read_to_string(team.bob.cwd().join(".agents/skills/demo/SKILL.md")).unwrap();
    assert!(text.contains("new line\n\nbeta line\n\nmy line"), "{text}");
}

#[test]
fn pulled_change_is_recorded_by_an_install() {
    let team = Team::new();
    team.ask(&team.bob, &["install"]).done();
    team.ann.done(&["manage", "patch", "demo", "--find", "beta line", "--replace", "delta line"]);
    team.share();
    assert_pulled_content_is_found(&team.bob);
    team.ask(&team.bob, &["install"]).done();
    team.bob.done(&["doctor"]);
    assert_eq!(team.changes_of_bob(), "");
}

#[test]
fn clone_without_an_install_is_named() {
    let team = Team::new();
    let outdated = team.bob.run(&["outdated", "--registry", &team.registry]).exits(0);
    assert!(outdated.stderr.contains("install` installs 1 skill of skillhub.lock"), "{outdated}");
    let verified = team.bob.done(&["verify"]);
    let note = verified["skills"][0]["warnings"][0].as_str().unwrap();
    assert!(note.contains("not compared with") && !note.contains("no longer has"), "{verified:#}");
    assert_eq!(team.ask(&team.bob, &["verify"]).done()["skills"][0]["warnings"], serde_json::json!([]));
}
