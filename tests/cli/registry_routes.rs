//! Each installed skill asks the registry that it came from, without a flag; a lock file from elsewhere makes nobody
//! talk to a host that this home does not know.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{Sandbox, git};

/// Registries as an origin can name them: a folder, and one that only git reaches.
fn places(sandbox: &Sandbox) -> [(String, &'static str); 2] {
    ["folder", "served.git"].map(|name| {
        let path = sandbox.path(name).display().to_string();
        sandbox.done(&["index", "init", &path]);
        match name {
            "folder" => (path, "alpha"),
            _ => (format!("git+file://{path}"), "beta"),
        }
    })
}

fn publish(sandbox: &Sandbox, registry: &str, skill: &str, version: &str, requires: &str) {
    let _old = fs::remove_dir_all(sandbox.path("work").join(skill));
    let metadata = if requires.is_empty() { String::new() } else { format!("\nmetadata:\n  requires: {requires:?}") };
    let folder = sandbox.skill(skill, &format!("Does {skill} as of {version}. Use in tests.{metadata}"), &[]);
    let folder = folder.to_str().unwrap();
    sandbox.done(&["publish", folder, "--owner", "acme", "--version", version, "--registry", registry]);
}

fn statuses(document: &Value) -> Vec<String> {
    let skills = document["skills"].as_array().unwrap().iter();
    skills.map(|skill| format!("{} {}", skill["name"].as_str().unwrap(), skill["status"].as_str().unwrap())).collect()
}

/// A sandbox with a skill of each kind of registry, and a newer release of both.
fn two_sources() -> Sandbox {
    let sandbox = Sandbox::project();
    for (registry, skill) in places(&sandbox) {
        publish(&sandbox, &registry, skill, "1.0.0", "");
        sandbox.done(&["install", &format!("acme/{skill}"), "--registry", &registry]);
        publish(&sandbox, &registry, skill, "1.1.0", "");
    }
    sandbox
}

#[test]
fn every_command_asks_each_source() {
    let sandbox = two_sources();
    let outdated = sandbox.done(&["outdated"]);
    let wanted: Vec<&Value> = outdated["skills"].as_array().unwrap().iter().map(|skill| &skill["wanted"]).collect();
    assert_eq!(wanted, ["1.1.0", "1.1.0"], "{outdated:#}");
    assert_eq!(sandbox.done(&["verify"])["ok"], true);
    assert_eq!(statuses(&sandbox.done(&["update"])), ["acme/alpha updated", "acme/beta updated"]);
    for skill in ["alpha", "beta"] {
        fs::remove_dir_all(sandbox.cwd().join(".agents/skills").join(skill)).unwrap();
    }
    fs::remove_dir_all(sandbox.skillhub_home().join("cache")).unwrap();
    assert_eq!(statuses(&sandbox.done(&["install"])), ["acme/alpha installed", "acme/beta installed"]);
    assert_eq!(sandbox.done(&["install", "acme/beta@1.0.0"])["skills"][0]["version"], "1.0.0", "a known skill");
    assert_eq!(sandbox.done(&["install", "alpha@1.0.0"])["skills"][0]["version"], "1.0.0", "by its bare name");
    let verified = sandbox.done(&["verify"]);
    assert!(!verified.to_string().contains("could not be checked"), "{verified:#}");
}

#[test]
fn earlier_home_knows_its_sources() {
    let sandbox = two_sources();
    fs::remove_file(sandbox.skillhub_home().join("sources.toml")).unwrap();
    assert_eq!(statuses(&sandbox.done(&["update"])), ["acme/alpha updated", "acme/beta updated"]);
}

#[test]
fn requirement_comes_from_its_requirers_registry() {
    let sandbox = Sandbox::project();
    let [(registry, _), _] = places(&sandbox);
    publish(&sandbox, &registry, "base", "1.0.0", "");
    publish(&sandbox, &registry, "top", "1.0.0", "");
    sandbox.done(&["install", "acme/top", "--registry", &registry]);
    publish(&sandbox, &registry, "top", "1.1.0", "acme/base@^1");
    assert_eq!(statuses(&sandbox.done(&["update"])), ["acme/top updated", "acme/base installed"]);
    publish(&sandbox, &registry, "base", "1.2.0", "");
    assert_eq!(statuses(&sandbox.done(&["update"])), ["acme/base updated", "acme/top unchanged"]);
}

/// Another user's clone of a project: the lock file is there, and nothing of the home.
fn clone_of(sandbox: &Sandbox) -> Sandbox {
    let clone = Sandbox::project();
    fs::copy(sandbox.cwd().join("skillhub.lock"), clone.cwd().join("skillhub.lock")).unwrap();
    clone
}

#[test]
fn unknown_lock_source_needs_confirmation() {
    let origin = two_sources();
    let clone = clone_of(&origin);
    let answer = clone.ask(&["install"]);
    let document = answer.json();
    assert_eq!(answer.exit, 7, "{document:#}");
    assert!(!clone.cwd().join(".agents/skills/alpha").exists());
    assert_eq!(clone.ask(&["verify"]).exit, 8, "missing");
    for skill in document["skills"].as_array().unwrap() {
        let hint = skill["error"]["hint"].as_str().unwrap();
        let command = hint.split_once("skillhub ").expect(hint).1;
        assert!(command.contains("--registry"), "{hint}");
        clone.done(&command.split(' ').collect::<Vec<_>>());
    }
    assert_eq!(statuses(&clone.done(&["install"])), ["acme/alpha unchanged", "acme/beta unchanged"]);
    assert_eq!(clone.done(&["verify"])["ok"], true);
    let second = clone.path("second");
    fs::create_dir_all(second.join(".git")).unwrap();
    fs::copy(origin.cwd().join("skillhub.lock"), second.join("skillhub.lock")).unwrap();
    let mut again = clone.command(&["install", "--json"]);
    again.current_dir(&second);
    assert_eq!(clone.finish(again, &["install"]).done()["skills"][0]["status"], "installed", "the home knows it now");
}

#[test]
fn single_source_lock_restores_directly() {
    let sandbox = Sandbox::project();
    let [(registry, _), _] = places(&sandbox);
    for skill in ["alpha", "gamma"] {
        publish(&sandbox, &registry, skill, "1.0.0", "");
        sandbox.done(&["install", &format!("acme/{skill}"), "--registry", &registry]);
    }
    let clone = clone_of(&sandbox);
    let document = clone.ask(&["install"]).json();
    let hint = document["skills"][0]["error"]["hint"].as_str().unwrap();
    assert!(hint.ends_with(&format!("skillhub install --registry {registry}")), "{hint}");
    clone.done(&["install", "--registry", &registry]);
    assert_eq!(clone.done(&["verify"])["ok"], true);
}

#[test]
fn foreign_lock_host_is_never_contacted() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let sandbox = Sandbox::project();
    let digest = format!("sha256:{}", "0".repeat(64));
    let lock = format!(
        "format = 1\n[[skill]]\nname = \"acme/x\"\nversion = \"1.0.0\"\nkind = \"registry\"\nsource = \"{place}\"\n\
         archive = \"{digest}\"\ndigest = \"{digest}\"\ncontent = \"{digest}\"\n"
    );
    fs::write(sandbox.cwd().join("skillhub.lock"), lock).unwrap();
    sandbox.ask(&["install"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["install", "acme/x"]).refused_with_hint(7, "not_found");
    for command in [["verify"], ["outdated"], ["update"], ["list"]] {
        sandbox.ask(&command);
    }
    assert!(listener.accept().is_err(), "somebody called");
}

#[test]
fn flag_overrides_recorded_source() {
    let sandbox = two_sources();
    let other = sandbox.path("other").display().to_string();
    sandbox.done(&["index", "init", &other]);
    let document = sandbox.ask(&["update", "alpha", "--registry", &other]).refused_with_hint(5, "other_registry");
    let hint = document["hint"].as_str().unwrap();
    let command = hint.split_once("skillhub ").unwrap().1;
    sandbox.done(&command.split(' ').collect::<Vec<_>>());
}

/// Marks a release in an index, as a server of the team would.
fn mark(sandbox: &Sandbox, registry: &Path, [from, to]: [&str; 2]) {
    let clone = sandbox.path("marked");
    let _old = fs::remove_dir_all(&clone);
    let place = clone.to_str().unwrap();
    git(sandbox, &["clone", "--quiet", registry.to_str().unwrap(), place]);
    let files = crate::support::tree(&clone);
    let file = files.keys().find(|path| path.ends_with("/acme") && !path.starts_with(".git")).unwrap().clone();
    let text = fs::read_to_string(clone.join(&file)).unwrap();
    fs::write(clone.join(&file), text.replacen(from, to, 1)).unwrap();
    git(sandbox, &["-C", place, "commit", "--quiet", "--all", "--message=mark"]);
    git(sandbox, &["-C", place, "push", "--quiet", "origin", "main"]);
}

#[test]
fn withdrawn_and_quarantined_releases_are_reported() {
    let said = "{\"reason\":\"it may be bad\",\"at\":\"2026-01-02T03:04:05Z\"}";
    let quarantined = format!("\"yanked\":true,\"status\":{{\"quarantined\":{said}}}");
    let withdrawn = format!("\"withdrawn\":{said}");
    for (state, flag) in [
        ("quarantined", ["\"yanked\":false", quarantined.as_str()]),
        ("withdrawn", ["\"withdrawn\":null", withdrawn.as_str()]),
    ] {
        for at in 0..2 {
            let sandbox = Sandbox::project();
            let (registry, skill) = places(&sandbox)[at].clone();
            publish(&sandbox, &registry, skill, "1.0.0", "");
            sandbox.done(&["install", &format!("acme/{skill}"), "--registry", &registry]);
            mark(&sandbox, Path::new(registry.trim_start_matches("git+file://")), flag);
            let error = sandbox.ask(&["verify"]).refused_with_hint(8, state);
            assert!(error["message"].as_str().unwrap().contains("it may be bad"), "{error:#}");
            let listed = sandbox.done(&["list"])["skills"][0].clone();
            assert_eq!([&listed["release_state"], &listed["release_reason"]], [state, "it may be bad"]);
            assert!(sandbox.run(&["list"]).text().contains(state));
            let named = format!("acme/{skill}");
            let error =
                sandbox.ask(&["install", &named, "--as", "other", "--registry", &registry]).refused(7, "not_found");
            let (message, hint) = (error["message"].as_str().unwrap(), error["hint"].as_str().unwrap());
            assert!(message.contains("1.0.0") && message.contains("it may be bad"), "{error:#}");
            assert!(hint.contains(" info acme/") && !hint.contains(" install "), "{error:#}");
            let info = sandbox.run(&["info", skill]).exits(0).text();
            assert!(info.contains("it may be bad"), "a known skill is asked at its own registry: {info}");
        }
    }
}

#[test]
fn deprecated_release_names_its_replacement() {
    let sandbox = Sandbox::project();
    let (registry, skill) = places(&sandbox)[0].clone();
    publish(&sandbox, &registry, skill, "1.0.0", "");
    sandbox.done(&["install", &format!("acme/{skill}"), "--registry", &registry]);
    let deprecated = "\"withdrawn\":null,\"status\":{\"deprecated\":{\"use\":\"acme/other\",\"reason\":\"it is old\"}}";
    mark(&sandbox, Path::new(registry.trim_start_matches("git+file://")), ["\"withdrawn\":null", deprecated]);
    let spec = format!("acme/{skill}");
    for command in [&["update"][..], &["outdated"], &["verify"], &["info", &spec], &["install", &spec, "--dry-run"]] {
        let shown = sandbox.run(&[command, &["--json", "--registry", &registry]].concat()).exits(0).text();
        assert!(shown.contains("acme/other") && shown.contains("it is old"), "{command:?}: {shown}");
    }
}

#[test]
fn hints_repeat_the_commands_flags() {
    let sandbox = Sandbox::project();
    let [(registry, _), _] = places(&sandbox);
    publish(&sandbox, &registry, "alpha", "1.0.0", "");
    let library = sandbox.path("lib").display().to_string();
    sandbox.done(&["install", "acme/alpha", "--registry", &registry, "--library", &library]);
    fs::write(Path::new(&library).join("alpha/SKILL.md"), "---\nname: alpha\ndescription: Other. Use it.\n---\nB\n")
        .unwrap();
    let hint = sandbox.ask(&["undo", "--library", &library]).refused_with_hint(6, "hand_edited")["hint"].clone();
    assert!(hint.as_str().unwrap().contains(&format!("skillhub --library {library} status alpha")), "{hint}");
    let missing = sandbox.ask(&["install", "acme/nothing", "--registry", &registry]).refused(7, "not_found");
    assert!(
        missing["hint"]
            .as_str()
            .unwrap()
            .contains(&format!("skillhub --registry {registry} install github:acme/nothing")),
        "{missing}"
    );
    let text = sandbox.run(&["search", "does", "--registry", &registry]).text();
    assert!(text.contains(&format!("skillhub --registry {registry} install acme/alpha")), "{text}");
    let by_variable = {
        let mut command = sandbox.command(&["search", "does"]);
        command.env("SKILLHUB_REGISTRY", &registry);
        sandbox.finish(command, &["search"]).text()
    };
    assert!(by_variable.contains("Install one: skillhub install acme/alpha"), "{by_variable}");
}

#[test]
fn release_status_follows_the_registry() {
    let sandbox = Sandbox::project();
    let [(registry, _), _] = places(&sandbox);
    let names: Vec<String> = (0..17).map(|number| format!("acme/skill-{number}")).collect();
    for name in &names {
        publish(&sandbox, &registry, name.trim_start_matches("acme/"), "1.0.0", "");
    }
    let mut install = vec!["install", "--registry", registry.as_str()];
    install.extend(names.iter().map(String::as_str));
    sandbox.done(&install);
    let flagged = || {
        let skills = sandbox.done(&["list"])["skills"].as_array().unwrap().clone();
        skills.iter().filter(|skill| skill["release_state"] == "withdrawn").count()
    };
    assert_eq!(flagged(), 0);
    let kept = sandbox.skillhub_home().join("release-states.toml");
    assert!(kept.exists(), "a list does not read every line again");
    mark(
        &sandbox,
        Path::new(&registry),
        ["\"withdrawn\":null", "\"withdrawn\":{\"reason\":\"x\",\"at\":\"2026-01-02T03:04:05Z\"}"],
    );
    assert_eq!([flagged(), flagged()], [1, 1]);
    fs::write(kept, "damaged").unwrap();
    assert_eq!(flagged(), 1);
}
