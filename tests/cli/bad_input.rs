//! Bad input: an exit code, the failure, a hint, and nothing half done.

use std::{fs, os::unix::fs::symlink, time::Instant};

use serde_json::Value;

use crate::support::{Answer, Sandbox, Snapshot, bare_log, skill_md, tree, write_files};

/// A sandbox with a registry, one release in it, and one skill in the library.
struct Place {
    sandbox: Sandbox,
    registry: String,
}

impl Place {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let registry = sandbox.path("registry").display().to_string();
        sandbox.done(&["index", "init", &registry]);
        sandbox.skill("good", "Does good. Use in tests.", &[]);
        sandbox.done(&["publish", "good", "--owner", "acme", "--registry", &registry]);
        sandbox.create("mine", "one line");
        Self { sandbox, registry }
    }

    /// Snapshots everything that a refused command must leave unchanged.
    fn state(&self) -> (Snapshot, Snapshot, Vec<String>, Value) {
        let history = self.sandbox.done(&["history", "mine"]);
        let head = bare_log(&self.sandbox, &self.registry, "HEAD");
        (tree(&self.sandbox.cwd()), tree(&self.sandbox.home().join(".agents")), head, history)
    }

    /// Runs a command that must be refused with a hint and change nothing.
    #[track_caller]
    fn refused(&self, args: &[&str], exit: i32, code: &str) -> Value {
        let before = self.state();
        let error = self.sandbox.ask(&[args, &["--registry", &self.registry]].concat()).refused_with_hint(exit, code);
        assert!(self.state() == before, "`{}` left something behind", args.join(" "));
        error
    }

    /// Writes a bad skill that every command must refuse, and returns the first problem of `validate`.
    #[track_caller]
    fn no_command_takes(&self, name: &str, code: &str) -> Value {
        let before = self.state();
        let publish = ["publish", name, "--owner", "acme", "--registry", &self.registry];
        self.sandbox.ask(&publish).refused(3, code);
        assert!(self.state() == before);
        self.refused(&["pack", name], 3, code);
        let document = self.sandbox.ask(&["validate", name]).exits(3).json();
        let problem = document["skills"][0]["problems"][0].clone();
        assert_eq!((&document["skills"][0]["valid"], &problem["severity"]), (&false.into(), &"error".into()));
        problem
    }
}

#[test]
fn folder_without_skill_md_is_refused() {
    let place = Place::new();
    write_files(&place.sandbox.cwd(), &[("empty/readme.txt", b"Nothing.\n", false)]);
    let problem = place.no_command_takes("empty", "invalid_skill");
    assert_eq!(problem["code"], "skill_md_missing");
    assert!(problem["message"].as_str().unwrap().contains("skillhub new"));
}

#[test]
fn broken_yaml_reports_its_line() {
    let place = Place::new();
    let text = "---\nname: broken\ndescription: Fine.\nmetadata: [1, 2\nlicense: MIT\n---\n\n# Broken\n";
    write_files(&place.sandbox.cwd(), &[("broken/SKILL.md", text.as_bytes(), false)]);
    let problem = place.no_command_takes("broken", "invalid_skill");
    assert_eq!(problem["path"], "SKILL.md");
    assert!((4..=6).contains(&problem["line"].as_u64().unwrap()), "{problem:#}");
}

#[test]
fn name_mismatch_names_both() {
    let place = Place::new();
    write_files(&place.sandbox.cwd(), &[("one/SKILL.md", skill_md("two", "Two. Use.", "Text.").as_bytes(), false)]);
    let problem = place.no_command_takes("one", "invalid_skill");
    assert_eq!((&problem["code"], &problem["line"]), (&"name_mismatch".into(), &2.into()));
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("\"one\"") && message.contains("\"two\""), "{message}");
}

#[test]
fn links_in_skill_are_refused() {
    let place = Place::new();
    for (name, target) in [("to-file", "/etc/hostname"), ("to-folder", "/etc"), ("to-nothing", "nowhere")] {
        let folder = place.sandbox.skill(name, "Has a link. Use in tests.", &[]);
        symlink(target, folder.join("link")).unwrap();
        let problem = place.no_command_takes(name, "invalid_path");
        assert!(problem["message"].as_str().unwrap().contains("link"), "{problem:#}");
        place.refused(&["install", &format!("./{name}")], 3, "invalid_path");
        let scan = place.sandbox.ask(&["scan", name]).exits(3).json();
        assert_eq!(scan["skills"][0]["verdict"], "block", "what cannot be read is blocked");
    }
}

#[test]
fn linked_skill_md_is_refused() {
    let place = Place::new();
    fs::create_dir(place.sandbox.cwd().join("linked")).unwrap();
    symlink("../good/SKILL.md", place.sandbox.cwd().join("linked/SKILL.md")).unwrap();
    place.no_command_takes("linked", "invalid_path");
}

#[test]
fn nested_skill_md_is_refused() {
    let place = Place::new();
    let text = skill_md("inner", "Is inside. Use in tests.", "Text.");
    place.sandbox.skill("outer", "Holds another. Use in tests.", &[("references/inner/SKILL.md", &text)]);
    let problem = place.no_command_takes("outer", "invalid_skill");
    assert_eq!([&problem["code"], &problem["path"]], ["second_skill_md", "references/inner/SKILL.md"]);
}

#[test]
fn deeply_nested_frontmatter_is_refused_quickly() {
    let place = Place::new();
    let started = Instant::now();
    for (at, depth) in [200_000, 30_000, 5_000].into_iter().enumerate() {
        let name = format!("nested-{at}");
        let text = format!("---\nname: {name}\ndescription: Nests.\nmetadata: {}\n---\n\n# N\n", "[".repeat(depth));
        write_files(&place.sandbox.cwd().join(&name), &[("SKILL.md", text.as_bytes(), false)]);
        place.no_command_takes(&name, "invalid_skill");
    }
    assert!(started.elapsed().as_secs() < 90, "{:?}", started.elapsed());
}

#[test]
fn exceeded_limit_is_named() {
    let place = Place::new();
    let folder = place.sandbox.skill("large", "Is large. Use in tests.", &[]);
    write_files(&folder, &[("assets/large.bin", &vec![0; 17 << 20], false)]);
    let folder = place.sandbox.skill("many", "Has many files. Use in tests.", &[]);
    for at in 0..520 {
        write_files(&folder, &[(&format!("assets/{at}"), b"x", false)]);
    }
    let folder = place.sandbox.skill("long", "Is long. Use in tests.", &[]);
    let text = skill_md("long", "Is long. Use in tests.", &"Read each line.\n".repeat(80_000));
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    for (name, limit) in [("large", "16777216"), ("many", "512"), ("long", "1048576")] {
        for args in [&["pack", name][..], &["publish", name, "--owner", "acme"], &["install", &format!("./{name}")]] {
            let before = place.state();
            let error = place.sandbox.ask(&[args, &["--registry", &place.registry]].concat()).refused(3, "too_large");
            assert!(error["message"].as_str().unwrap().contains(limit), "{error:#}");
            assert!(place.state() == before);
        }
    }
    let error = place.sandbox.ask(&["adopt", "long"]).refused(3, "too_large");
    assert!(error["message"].as_str().unwrap().contains("1048576"), "{error:#}");
}

#[test]
fn malformed_or_taken_version_is_refused() {
    let place = Place::new();
    for version in ["1", "1.0", "v1.0.0", "one", "1.0.0.0"] {
        place.refused(&["publish", "good", "--owner", "acme", "--version", version], 3, "invalid_version");
    }
    place.sandbox.skill("good", "Does better. Use in tests.", &[]);
    let error = place.refused(&["publish", "good", "--owner", "acme", "--version", "1.0.0"], 6, "version_exists");
    assert!(error["hint"].as_str().unwrap().contains("--version 1.0.1"), "{error:#}");
}

#[test]
fn missing_or_malformed_owner_is_refused() {
    let place = Place::new();
    let error = place.refused(&["publish", "good"], 2, "no_owner");
    assert!(error["hint"].as_str().unwrap().contains("--owner"), "{error:#}");
    for owner in ["Acme", "a/b", "..", "con", "аcme"] {
        let answer = place.sandbox.ask(&["publish", "good", "--owner", owner, "--registry", &place.registry]);
        assert!([2, 3].contains(&answer.exit), "{answer}");
        answer.json();
    }
}

#[test]
fn missing_items_are_not_found() {
    let place = Place::new();
    for args in [
        &["info", "acme/none"][..],
        &["info", "none"],
        &["install", "acme/none"],
        &["install", "acme/good@9.9.9"],
        &["yank", "acme/none@1.0.0"],
        &["history", "none"],
        &["show", "none"],
        &["show", "mine@99"],
        &["show", "mine", "none.md"],
        &["diff", "mine", "99"],
        &["diff", "none"],
        &["rollback", "mine", "99"],
        &["rollback", "mine", "abcdef0123"],
        &["rollback", "none"],
        &["status", "none"],
        &["read", "none"],
        &["enable", "none"],
        &["uninstall", "none"],
        &["scan", "--explain", "none"],
    ] {
        place.refused(args, 7, "not_found");
    }
    for args in [&["validate", "none"][..], &["scan", "none"], &["pack", "none"], &["publish", "none"]] {
        place.sandbox.ask(args).refused_with_hint(7, "not_found");
    }
}

#[test]
fn path_is_not_a_skill_name() {
    let place = Place::new();
    for name in ["../mine", "./mine", "/mine", "a/b/mine", "mine/", "..", "mi ne"] {
        for command in ["new", "history", "status", "rollback", "read", "disable", "uninstall"] {
            place.refused(&[command, name], 3, "invalid_skill");
        }
    }
    place.refused(&["new", "Mine"], 3, "invalid_skill");
    place.sandbox.done(&["history", "acme/mine"]);
}

#[test]
fn non_registry_folder_is_reported() {
    let place = Place::new();
    let registry = place.sandbox.cwd().display().to_string();
    for args in
        [&["search", "x"][..], &["info", "acme/good"], &["install", "acme/good"], &["publish", "good", "--owner", "a"]]
    {
        let before = place.state();
        let error =
            place.sandbox.ask(&[args, &["--registry", &registry]].concat()).refused_with_hint(7, "not_a_registry");
        assert!(error["hint"].as_str().unwrap().contains("skillhub index init"), "{error:#}");
        assert!(place.state() == before);
    }
    let beyond = ["search", "x", "--registry", "https://registry.invalid/"];
    place.sandbox.ask(&beyond).refused_with_hint(9, "registry_unreachable");
}

#[test]
fn escaping_paths_are_refused_everywhere() {
    let place = Place::new();
    fs::write(place.sandbox.cwd().join("a.txt"), "text\n").unwrap();
    let paths = ["../a.txt", "/etc/passwd", "references/../../a.txt", ".."];
    for path in paths {
        for args in [
            &["show", "mine", path][..],
            &["manage", "write_file", "mine", "--path", path, "--content", "a.txt"],
            &["manage", "remove_file", "mine", "--path", path],
            &["manage", "patch", "mine", "--path", path, "--find", "a", "--replace", "b"],
        ] {
            let before = place.state();
            place.sandbox.ask(args).refused(3, "invalid_path");
            assert!(place.state() == before);
        }
    }
}

#[test]
fn usage_errors_exit_with_two() {
    let sandbox = Sandbox::new();
    for args in [&["--nope"][..], &["nope"], &["validate"], &["manage", "patch"], &["list", "--color", "pink"]] {
        let answer = sandbox.run(args).exits(2);
        assert!(answer.stdout.is_empty() && answer.stderr.starts_with("error: "), "{answer}");
        sandbox.ask(args).refused_with_hint(2, "usage");
    }
    let both = ["list", "--project", "--global"];
    sandbox.ask(&both).refused(2, "usage");
    sandbox.ask(&["list", "--project"]).refused_with_hint(2, "usage");
    sandbox.ask(&["manage", "destroy", "mine"]).refused_with_hint(2, "invalid_request");
    sandbox.ask(&["manage", "patch", "mine", "--find", "a"]).refused_with_hint(2, "invalid_request");
}

#[test]
fn person_actor_needs_terminal() {
    let place = Place::new();
    let patch = ["manage", "patch", "mine", "--find", "one", "--replace", "two", "--actor"];
    place.refused(&[&patch[..], &["person:x"]].concat(), 5, "policy_denied");
    for actor in ["external:x", "robot:x", ""] {
        place.sandbox.ask(&[&patch[..], &[actor]].concat()).refused(2, "usage");
    }
}

#[test]
fn empty_registry_is_refused() {
    let place = Place::new();
    place.sandbox.ask(&["list", "--registry", ""]).refused_with_hint(2, "usage");
    let mut command = place.sandbox.command(&["list", "--json"]);
    command.env("SKILLHUB_REGISTRY", "");
    Answer::new("list".to_owned(), place.sandbox.start(&mut command).wait_with_output().unwrap()).done();
}

#[test]
fn unreadable_configuration_fails_closed() {
    let place = Place::new();
    fs::write(place.sandbox.skillhub_home().join("config.toml"), "policy = [").unwrap();
    let answer = place.sandbox.ask(&["manage", "delete", "mine"]);
    let error = answer.json()["error"].clone();
    assert!(answer.exit != 0 && error["message"].as_str().unwrap().contains("config.toml"), "{answer}");
    assert!(place.sandbox.user_skill("mine").exists());
}

#[test]
fn damaged_state_or_history_fails_closed() {
    let sandbox = Sandbox::new();
    sandbox.create("mine", "one line");
    let before = tree(&sandbox.user_skill("mine"));
    let history = std::path::PathBuf::from(sandbox.done(&["where"])["history"].as_str().unwrap());
    let state = history.with_file_name("state.toml");
    let commands = [
        &["list"][..],
        &["rollback", "mine", "1"],
        &["manage", "patch", "mine", "--find", "one line", "--replace", "two lines"],
    ];
    fs::write(&state, "skills = [").unwrap();
    for args in commands {
        let answer = sandbox.ask(args);
        let error = answer.json()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains("state.toml"), "{answer}");
    }
    fs::remove_file(&state).unwrap();
    fs::write(history.join("refs/skills/mine"), "no id\n").unwrap();
    for args in commands {
        assert_eq!(sandbox.ask(args).json()["ok"], false, "{args:?}");
    }
    assert_eq!(tree(&sandbox.user_skill("mine")), before);
}

#[test]
fn hints_name_what_is_accepted() {
    let Place { sandbox, registry } = Place::new();
    for (args, exit, code, part) in [
        (&["record", "mine", "--event", "frob"][..], 2, "invalid_request", "completed"),
        (&["yank", "acme/good@9.9.9", "--registry", &registry], 7, "not_found", "info acme/good"),
        (&["publish", "good", "--owner", "Bad O", "--registry", &registry], 2, "invalid_owner", "--owner bad-o"),
    ] {
        let error = sandbox.ask(args).refused_with_hint(exit, code);
        assert!(error["hint"].as_str().unwrap().contains(part), "{args:?}: {error:#}");
    }
    fs::write(sandbox.skillhub_home().join("config.toml"), "[agents.noevo]\nskill_evolution = false\n").unwrap();
    let agent = ["--actor", "agent:noevo"];
    let delete = sandbox.ask(&["manage", "delete", "mine", agent[0], agent[1]]);
    let error = delete.refused_with_hint(5, "policy_denied");
    assert!(error["message"].as_str().unwrap().contains("`[agents.noevo]` in config.toml"), "{error:#}");
    assert!(sandbox.done(&["policy", agent[0], agent[1]]).to_string().contains("[agents.noevo]"));
}
