//! Skills that require others: installed, updated and uninstalled together.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, hostile_script, tree};

/// A sandbox with a registry of its own.
struct World {
    sandbox: Sandbox,
    registry: String,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let registry = sandbox.path("registry").display().to_string();
        sandbox.done(&["index", "init", &registry]);
        Self { sandbox, registry }
    }

    /// Writes the folder of a skill that requires others.
    fn skill(&self, name: &str, version: &str, requires: &str, files: &[(&str, &str)]) {
        let _old = fs::remove_dir_all(self.sandbox.cwd().join(name));
        let metadata = match requires {
            "" => String::new(),
            requires => format!("\nmetadata:\n  requires: {requires:?}"),
        };
        let description = format!("Does {name} as of {version}. Use in tests.{metadata}");
        self.sandbox.skill(name, &description, files);
    }

    /// Publishes a release of `acme/<name>`.
    fn publish(&self, name: &str, version: &str, requires: &str) -> Value {
        self.skill(name, version, requires, &[]);
        self.ask(&["publish", name, "--owner", "acme", "--version", version]).done()
    }

    fn ask(&self, args: &[&str]) -> Answer {
        self.sandbox.ask(&[args, &["--registry", &self.registry]].concat())
    }

    /// Returns the results of a command as `name version status`, with a plus for dependencies.
    fn did(&self, args: &[&str]) -> Vec<String> {
        told(&self.ask(args).done())
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.sandbox.done(&["where"])["lock"].as_str().unwrap()).unwrap_or_default()
    }

    /// Returns the names and versions of installed skills.
    fn installed(&self) -> Vec<String> {
        let skills = self.sandbox.done(&["list"])["skills"].clone();
        let one = |skill: &Value| {
            let version = skill["origin"]["version"].as_str().unwrap_or("-");
            format!("{} {version}", skill["name"].as_str().unwrap())
        };
        skills.as_array().unwrap().iter().map(one).collect()
    }
}

fn told(document: &Value) -> Vec<String> {
    let one = |skill: &Value| {
        let plus = if skill["dependency"] == json!(true) { "+" } else { "" };
        let text = |key: &str| skill[key].as_str().unwrap_or("-").to_owned();
        format!("{plus}{} {} {}", text("name").trim_start_matches("acme/"), text("version"), text("status"))
    };
    document["skills"].as_array().unwrap().iter().map(one).collect()
}

/// a requires b and c, b requires c below 2.
fn three() -> World {
    let world = World::new();
    world.publish("cc", "1.0.0", "");
    world.publish("cc", "2.0.0", "");
    world.publish("bb", "1.0.0", "acme/cc@>=1, <2");
    world.publish("bb", "1.1.0", "acme/cc@>=1, <2");
    world.publish("aa", "1.0.0", "acme/bb@^1, acme/cc");
    world
}

#[test]
fn requirements_install_and_uninstall_together() {
    let world = three();
    let dry = world.did(&["install", "acme/aa", "--dry-run"]);
    assert_eq!(dry, ["aa 1.0.0 dry_run", "+bb 1.1.0 dry_run", "+cc 1.0.0 dry_run"]);
    assert!(world.installed().is_empty());
    let done = world.did(&["install", "acme/aa"]);
    assert_eq!(done, ["aa 1.0.0 installed", "+bb 1.1.0 installed", "+cc 1.0.0 installed"]);
    let lock = world.lock();
    assert_eq!(lock.matches("dependency = true").count(), 2, "{lock}");
    assert!(lock.contains("requires = [\"acme/cc@>=1, <2\"]"), "{lock}");
    world.ask(&["verify"]).done();
    let listed = world.sandbox.done(&["list"]);
    assert_eq!(listed["skills"][2]["required_by"], json!(["acme/aa", "acme/bb"]), "{listed:#}");
    assert_eq!((&listed["skills"][0]["dependency"], &listed["skills"][1]["dependency"]), (&json!(false), &json!(true)));
    assert_eq!(world.ask(&["info", "acme/aa"]).done()["releases"][0]["requires"], json!(["acme/bb@^1", "acme/cc"]));
    assert_eq!(world.did(&["install", "acme/aa"]), ["aa 1.0.0 unchanged"]);
    world.sandbox.done(&["undo"]);
    assert!(world.installed().is_empty() && !world.lock().contains("acme/"), "one undo for all three");
    world.sandbox.done(&["undo"]);
    assert_eq!(world.installed().len(), 3);
    let left = world.sandbox.done(&["uninstall", "aa"]);
    let names: Vec<_> = left["skills"].as_array().unwrap().iter().map(|skill| skill["name"].clone()).collect();
    assert_eq!(names, ["acme/aa", "acme/bb", "acme/cc"]);
    assert!(world.installed().is_empty() && !world.lock().contains("acme/"));
    world.sandbox.done(&["undo"]);
    assert_eq!(world.installed(), ["aa 1.0.0", "bb 1.1.0", "cc 1.0.0"]);
}

#[test]
fn restore_uses_only_the_lock_file() {
    let world = three();
    world.did(&["install", "acme/aa"]);
    let lock = world.lock();
    world.publish("bb", "1.2.0", "");
    for name in ["aa", "bb", "cc"] {
        fs::remove_dir_all(world.sandbox.user_skill(name)).unwrap();
    }
    let done = world.did(&["install", "--frozen"]);
    assert_eq!(done, ["aa 1.0.0 installed", "+bb 1.1.0 installed", "+cc 1.0.0 installed"]);
    assert_eq!(world.did(&["install"]), ["aa 1.0.0 unchanged", "+bb 1.1.0 unchanged", "+cc 1.0.0 unchanged"]);
    assert_eq!(world.lock(), lock);
}

#[test]
fn only_new_requirements_of_an_update_are_linked() {
    let world = World::new();
    fs::create_dir(world.sandbox.home().join(".claude")).unwrap();
    world.publish("bb", "1.0.0", "");
    world.publish("aa", "1.0.0", "");
    world.did(&["install", "acme/aa"]);
    let linked = |name: &str| fs::symlink_metadata(world.sandbox.home().join(".claude/skills").join(name)).is_ok();
    fs::remove_file(world.sandbox.home().join(".claude/skills/aa")).unwrap();
    world.publish("aa", "1.1.0", "acme/bb");
    world.did(&["update"]);
    assert!(linked("bb") && world.lock().contains("agents = [\"claude-code\"]\n"));
    assert!(!linked("aa"), "a link that was removed stays away");
}

#[test]
fn required_skills_stay_installed() {
    let world = three();
    world.did(&["install", "acme/aa"]);
    for name in ["bb", "cc"] {
        let error = world.sandbox.ask(&["uninstall", name]).refused_with_hint(6, "required");
        assert!(error["message"].as_str().unwrap().contains("acme/aa"), "{error:#}");
        assert!(error["hint"].as_str().unwrap().contains("skillhub uninstall"), "{error:#}");
    }
    let deleted = world.sandbox.done(&["manage", "delete", "bb"]);
    assert!(deleted["message"].as_str().unwrap().contains("still required by acme/aa"), "{deleted:#}");
    world.sandbox.done(&["undo"]);
    assert_eq!(world.did(&["install", "acme/cc@^1"]), ["cc 1.0.0 unchanged"], "asked for from now on");
    world.sandbox.done(&["manage", "patch", "bb", "--find", "Read the input.", "--replace", "Read all of it."]);
    let left = world.sandbox.done(&["uninstall", "aa"]);
    assert_eq!(left["skills"].as_array().unwrap().len(), 1, "{left:#}");
    assert!(left["skills"][0]["warnings"][0].as_str().unwrap().contains("uninstall bb"), "{left:#}");
    assert_eq!(world.installed(), ["bb 1.1.0", "cc 1.0.0"]);
    let both = world.sandbox.done(&["uninstall", "cc", "bb"]);
    assert_eq!(both["skills"].as_array().unwrap().len(), 2, "{both:#}");
}

#[test]
fn conflicting_requirements_are_explained() {
    let world = three();
    world.publish("dd", "1.0.0", "acme/cc@^2");
    world.did(&["install", "acme/aa"]);
    for specs in [&["acme/dd"][..], &["acme/dd", "acme/aa"]] {
        let error = world.ask(&[&["install"], specs].concat()).refused_with_hint(6, "requirements_conflict");
        let message = error["message"].as_str().unwrap();
        for fact in ["acme/dd 1.0.0 requires acme/cc@^2", "requires acme/cc@>=1, <2", "2.0.0, 1.0.0"] {
            assert!(message.contains(fact), "{fact} in: {message}");
        }
    }
    assert_eq!(world.installed().len(), 3);
    world.publish("ee", "1.0.0", "zoe/none@^1");
    let error = world.ask(&["install", "acme/ee"]).refused_with_hint(6, "requirements_conflict");
    assert!(error["message"].as_str().unwrap().contains("zoe/none has no release"), "{error:#}");
}

#[test]
fn requirement_cycle_is_refused() {
    let world = World::new();
    world.publish("one", "1.0.0", "acme/two");
    world.publish("two", "1.0.0", "acme/three");
    world.publish("three", "1.0.0", "acme/one");
    let error = world.ask(&["install", "acme/two"]).refused_with_hint(6, "requirement_cycle");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("acme/one -> acme/two -> acme/three -> acme/one"), "{message}");
    assert!(world.installed().is_empty());
}

#[test]
fn invalid_requirements_fail_publishing() {
    let world = World::new();
    for requires in ["notes", "acme/notes@newest", "acme/none@^1, b"] {
        world.skill("notes", "1.0.0", requires, &[]);
        let error = world.ask(&["publish", "notes", "--owner", "acme"]).refused_with_hint(3, "invalid_requirement");
        assert!(error["hint"].as_str().unwrap().contains("metadata"), "{error:#}");
    }
    world.skill("notes", "1.0.0", "acme/notes@^1", &[]);
    world.ask(&["publish", "notes", "--owner", "acme"]).refused(3, "invalid_requirement");
    let published = world.publish("notes", "1.0.0", "acme/none@^1");
    assert!(published["warnings"][0].as_str().unwrap().contains("acme/none@^1"), "{published:#}");
}

#[test]
fn denied_requirement_refuses_the_install() {
    let world = World::new();
    world.publish("good", "1.0.0", "");
    world.publish("top", "1.0.0", "acme/good, acme/base");
    world.publish("base", "1.0.0", "");
    fs::create_dir_all(world.sandbox.skillhub_home()).unwrap();
    let policy = "format = 1\n[[rules]]\ndecision = \"deny\"\nactions = [\"install\"]\nskill = \"base\"\n";
    fs::write(world.sandbox.skillhub_home().join("config.toml"), policy).unwrap();
    let answer = world.ask(&["install", "acme/top"]).exits(5).json();
    let mut told = told(&answer);
    told.sort();
    assert_eq!(told, ["base 1.0.0 failed", "good 1.0.0 failed", "top 1.0.0 failed"], "{answer:#}");
    assert!(world.installed().is_empty() && tree(&world.sandbox.user_skill("good")).is_empty());
}

#[test]
fn local_skill_installs_its_requirements() {
    let world = three();
    world.skill("mine", "1.0.0", "acme/bb", &[]);
    assert_eq!(world.did(&["install", "./mine"]), ["mine - installed", "+bb 1.1.0 installed", "+cc 1.0.0 installed"]);
    assert_eq!(world.sandbox.done(&["uninstall", "mine"])["skills"].as_array().unwrap().len(), 3);
    world.skill("evil", "1.0.0", "acme/bb", &[("scripts/report.sh", &hostile_script())]);
    world.ask(&["install", "./evil"]).exits(4);
    assert!(world.installed().is_empty(), "nothing comes for the sake of what is blocked");
}

#[test]
fn update_selects_compatible_releases() {
    let world = three();
    world.did(&["install", "acme/aa"]);
    world.publish("bb", "1.2.0", "acme/cc@>=1, <2");
    world.publish("bb", "2.0.0", "");
    assert_eq!(world.did(&["update", "aa"]), ["aa 1.0.0 unchanged"]);
    assert_eq!(
        world.did(&["update"]),
        ["aa 1.0.0 unchanged", "+bb 1.2.0 updated", "+cc 1.0.0 unchanged"],
        "bb 2.0.0 is not what aa requires, cc 2.0.0 not what bb does"
    );
    world.publish("dd", "1.0.0", "");
    world.publish("aa", "1.1.0", "acme/bb@^2, acme/dd");
    let outdated = world.ask(&["outdated"]).done();
    assert!(outdated.to_string().contains("2.0.0"), "{outdated:#}");
    let mut done = world.did(&["update"]);
    done.sort();
    assert_eq!(done, ["+bb 2.0.0 updated", "+cc 1.0.0 unchanged", "+dd 1.0.0 installed", "aa 1.1.0 updated"]);
    let again = world.ask(&["update"]).done();
    let cc = again["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "acme/cc").unwrap();
    assert!(cc["warnings"][0].as_str().unwrap().contains("no skill requires it"), "{again:#}");
}

#[test]
fn unsatisfiable_release_is_skipped_by_update() {
    let world = three();
    world.did(&["install", "acme/aa"]);
    world.publish("aa", "1.1.0", "acme/bb@^9");
    assert_eq!(world.did(&["update", "aa"]), ["aa 1.0.0 unchanged"]);
    let error = world.ask(&["update", "aa@1.1.0"]).refused_with_hint(6, "requirements_conflict");
    assert!(error["message"].as_str().unwrap().contains("acme/aa 1.1.0 requires acme/bb@^9"), "{error:#}");
}
