//! Registries that are reached through git: on a real `git daemon` and behind `file://`, with real bare repositories.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    thread,
};

use serde_json::Value;

use crate::support::{Answer, Daemon, Sandbox, Terminal, git};

/// Publishers who race for one registry.
const RACERS: usize = 8;

/// Creates a bare repository without commits below `served`, and returns its path.
fn empty_repository(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.path("served").join(name);
    git(sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", path.to_str().unwrap()]);
    path
}

/// A URL of a repository of this machine that is used through git all the same.
fn through_git(path: &Path) -> String {
    format!("git+file://{}", path.display())
}

/// A registry behind `git+file://` with two skills, the second with two releases.
fn registry(sandbox: &Sandbox) -> (PathBuf, String) {
    let path = sandbox.path("served/team.git");
    let url = through_git(&path);
    sandbox.done(&["index", "init", path.to_str().unwrap()]);
    for (name, what) in [("alpha", "one"), ("beta", "one"), ("beta", "two")] {
        sandbox.skill(name, &format!("Does {what}. Use in tests."), &[]);
        let published = sandbox.done(&["publish", name, "--owner", "acme", "--registry", &url]);
        assert_eq!(published["status"], "published");
    }
    (path, url)
}

/// Prepares the program as another user of the same machine.
fn other_user(sandbox: &Sandbox, home: &str, args: &[&str]) -> Answer {
    let args = [args, &["--json"]].concat();
    let mut command = sandbox.command(&args);
    command.env("SKILLHUB_HOME", sandbox.path(home));
    sandbox.finish(command, &args)
}

/// Commits a change of one file on top of the registry's branch, as an attacker with push access could.
fn tamper(sandbox: &Sandbox, registry: &Path, file: &str, change: impl Fn(&[u8]) -> Vec<u8>) {
    let clone = sandbox.path("tampered");
    let _none_yet = fs::remove_dir_all(&clone);
    let place = clone.to_str().unwrap();
    git(sandbox, &["clone", "--quiet", registry.to_str().unwrap(), place]);
    let path = clone.join(file);
    fs::write(&path, change(&fs::read(&path).unwrap())).unwrap();
    git(sandbox, &["-C", place, "commit", "--quiet", "--all", "--message=tamper"]);
    git(sandbox, &["-C", place, "push", "--quiet", "origin", "main"]);
}

fn set_branch(sandbox: &Sandbox, registry: &Path, commit: &str) {
    git(sandbox, &["--git-dir", registry.to_str().unwrap(), "update-ref", "refs/heads/main", commit.trim()]);
}

fn head(sandbox: &Sandbox, registry: &Path, revision: &str) -> String {
    git(sandbox, &["--git-dir", registry.to_str().unwrap(), "rev-parse", revision]).trim().to_owned()
}

fn names(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|result| result["name"].as_str().unwrap()).collect()
}

#[test]
fn empty_repository_becomes_a_registry() {
    let sandbox = Sandbox::new();
    let daemon = Daemon::start(&sandbox, true);
    let path = empty_repository(&sandbox, "team.git");
    let url = daemon.url("team.git");
    let error = sandbox.ask(&["search", "x", "--registry", &url]).refused_with_hint(7, "not_a_registry");
    assert!(error["hint"].as_str().unwrap().contains(&format!("index init {url}")), "{error:#}");
    for _ in 0..2 {
        assert_eq!(sandbox.done(&["index", "init", &url])["registry"], url.as_str());
    }
    sandbox.skill("alpha", "Does alpha. Use in tests.", &[("scripts/run.sh", "echo alpha\n")]);
    sandbox.skill("beta", "Does beta. Use in tests.", &[]);
    for name in ["alpha", "beta"] {
        let published = sandbox.done(&["publish", name, "--owner", "acme", "--registry", &url]);
        assert_eq!((&published["status"], &published["registry"]), (&"published".into(), &url.as_str().into()));
    }
    let again = sandbox.done(&["publish", "alpha", "--owner", "acme", "--registry", &url]);
    assert_eq!(again["status"], "unchanged");
    let found = other_user(&sandbox, "second", &["search", "does", "--registry", &url]).done();
    assert_eq!(names(&found), ["acme/alpha", "acme/beta"]);
    let lib = sandbox.path("lib").display().to_string();
    let to_install = ["install", "alpha", "acme/beta@1.0.0", "--registry", &url, "--library", &lib];
    let installed = other_user(&sandbox, "second", &to_install).done();
    assert_eq!(installed["skills"].as_array().unwrap().len(), 2, "{installed:#}");
    assert!(sandbox.path("lib/alpha/scripts/run.sh").is_file() && sandbox.path("lib/beta/SKILL.md").is_file());
    let frozen = ["install", "--frozen", "--registry", &url, "--library", &lib];
    other_user(&sandbox, "second", &frozen).done();
    drop(daemon);
    // Everything is in the cache by now.
    other_user(&sandbox, "second", &[&frozen[..], &["--offline"]].concat()).done();
    other_user(&sandbox, "second", &["info", "alpha", "--registry", &url]).refused_with_hint(9, "registry_unreachable");
    sandbox.done(&["index", "verify", path.to_str().unwrap()]);
}

#[test]
fn remote_registry_reports_yanks_and_lookalikes() {
    let sandbox = Sandbox::new();
    let (path, url) = registry(&sandbox);
    let yanked = sandbox.done(&["yank", "acme/beta@1.0.1", "--registry", &url]);
    assert_eq!(yanked["yanked"], true);
    let deprecated =
        sandbox.done(&["yank", "acme/beta@1.0.0", "--deprecate", "--reason", "it is old", "--registry", &url]);
    assert_eq!(deprecated["deprecated"]["reason"], "it is old");
    let lib = sandbox.path("lib").display().to_string();
    let installed = other_user(&sandbox, "second", &["install", "beta", "--registry", &url, "--library", &lib]).done();
    assert_eq!(installed["skills"][0]["version"], "1.0.0", "{installed:#}");
    assert!(installed["skills"][0]["warnings"].to_string().contains("it is old"), "{installed:#}");
    let error = sandbox.ask(&["info", "acme/alphq", "--registry", &url]).refused_with_hint(7, "not_found");
    assert!(error["hint"].as_str().unwrap().contains("acme/alpha"), "{error:#}");
    sandbox.ask(&["index", "verify", &url]).refused_with_hint(2, "usage");
    sandbox.done(&["index", "verify", path.to_str().unwrap()]);
    let places = sandbox.done(&["where", "--registry", &url]);
    assert!(Path::new(places["mirror"].as_str().unwrap()).join("objects").is_dir(), "{places:#}");
}

/// Eight publishers at one time, each with a home of its own: four with a skill of their own, four with one that they
/// share and no version asked for.
fn race(sandbox: &Sandbox, url: &str, registry: &Path) {
    let folders: Vec<(String, PathBuf)> = (0..RACERS)
        .map(|racer| {
            let name = if racer < RACERS / 2 { format!("own-{racer}") } else { "shared".to_owned() };
            let skill = sandbox.skill(&name, &format!("Does what racer {racer} does. Use in tests."), &[]);
            let folder = sandbox.path(&format!("racer-{racer}")).join(&name);
            fs::create_dir_all(folder.parent().unwrap()).unwrap();
            fs::rename(skill, &folder).unwrap();
            (name, folder)
        })
        .collect();
    let published: Vec<Value> = thread::scope(|scope| {
        let racers = folders.iter().enumerate().map(|(racer, (_, folder))| {
            let home = format!("home-{racer}");
            let folder = folder.to_str().unwrap();
            scope.spawn(move || {
                other_user(sandbox, &home, &["publish", folder, "--owner", "acme", "--registry", url]).done()
            })
        });
        racers.collect::<Vec<_>>().into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert!(published.iter().all(|published| published["status"] == "published"), "{published:#?}");
    let releases: BTreeSet<_> =
        published.iter().map(|published| format!("{} {}", published["name"], published["version"])).collect();
    assert_eq!(releases.len(), RACERS, "{releases:?}");
    let info = other_user(sandbox, "reader", &["info", "acme/shared", "--registry", url]).done();
    assert_eq!(info["releases"].as_array().unwrap().len(), RACERS / 2);
    let place = registry.to_str().unwrap();
    sandbox.done(&["index", "verify", place]);
    let commits = git(sandbox, &["--git-dir", place, "rev-list", "--count", "main"]);
    assert_eq!(commits.trim(), (RACERS + 1).to_string());
}

#[test]
fn concurrent_publishers_through_daemon_lose_nothing() {
    let sandbox = Sandbox::new();
    let daemon = Daemon::start(&sandbox, true);
    let path = empty_repository(&sandbox, "team.git");
    sandbox.done(&["index", "init", &daemon.url("team.git")]);
    race(&sandbox, &daemon.url("team.git"), &path);
}

#[test]
fn concurrent_local_publishers_lose_nothing() {
    for prefix in ["git+file://", "file://"] {
        let sandbox = Sandbox::new();
        let path = empty_repository(&sandbox, "team.git");
        let url = format!("{prefix}{}", path.display());
        sandbox.done(&["index", "init", &url]);
        race(&sandbox, &url, &path);
    }
}

#[test]
fn only_requested_objects_are_fetched() {
    let sandbox = Sandbox::new();
    let (path, url) = registry(&sandbox);
    let home = sandbox.path("second");
    let lib = sandbox.path("lib").display().to_string();
    other_user(&sandbox, "second", &["install", "acme/beta", "--registry", &url, "--library", &lib]).done();
    let mirror = fs::read_dir(home.join("registries")).unwrap().map(|entry| entry.unwrap().path());
    let mirror = mirror.into_iter().find(|path| path.is_dir()).unwrap();
    let here = |id: &str| {
        let listed =
            git(&sandbox, &["--git-dir", mirror.to_str().unwrap(), "cat-file", "--batch-all-objects", "--batch-check"]);
        listed.lines().any(|line| line.starts_with(id))
    };
    for (file, is_here) in [("be/ta/beta/acme", true), ("al/ph/alpha/acme", false), ("al", false), ("bundles", true)] {
        let id = head(&sandbox, &path, &format!("main:{file}"));
        assert_eq!(here(&id), is_here, "{file}");
    }
    let bundles = git(&sandbox, &["--git-dir", path.to_str().unwrap(), "ls-tree", "-r", "main", "bundles/"]);
    let ids: Vec<_> = bundles.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!((ids.len(), ids.iter().filter(|id| here(id)).count()), (3, 1));
}

#[test]
fn many_skills_are_fetched_together() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("team.git");
    sandbox.done(&["index", "init", path.to_str().unwrap()]);
    let names: Vec<String> = (0..12).map(|at| format!("skill-{at}-of-many")).collect();
    for name in &names {
        sandbox.skill(name, &format!("Does {name}. Use in tests."), &[]);
        sandbox.done(&["publish", name, "--owner", "acme", "--registry", path.to_str().unwrap()]);
    }
    let specs: Vec<String> = names.iter().map(|name| format!("acme/{name}")).collect();
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    let (url, lib) = (through_git(&path), sandbox.path("lib").display().to_string());
    let to_install = [&["install"], &specs[..], &["--registry", &url, "--library", &lib]].concat();
    let installed = other_user(&sandbox, "second", &to_install).done();
    assert_eq!(installed["skills"].as_array().unwrap().len(), names.len());
    let mirror = fs::read_dir(sandbox.path("second/registries")).unwrap().map(|entry| entry.unwrap().path());
    let packs = fs::read_dir(mirror.into_iter().find(|path| path.is_dir()).unwrap().join("objects/pack")).unwrap();
    let packs = packs.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "pack"));
    assert!((5..=9).contains(&packs.count()), "each fetch leaves a pack, whatever the number of skills");
}

#[test]
fn owner_is_resolved_in_one_registry() {
    let sandbox = Sandbox::new();
    let daemon = Daemon::start(&sandbox, true);
    for (repository, owner, skills) in [
        ("a.git", "acme", &["both", "only-a"][..]),
        ("b.git", "acme", &["both", "only-b"]),
        ("b.git", "zoe", &["hers"]),
    ] {
        let path = sandbox.path("served").join(repository);
        if !path.exists() {
            empty_repository(&sandbox, repository);
        }
        let url = daemon.url(repository);
        sandbox.done(&["index", "init", &url]);
        for skill in skills {
            sandbox.skill(skill, &format!("Is of {repository}. Use in tests."), &[]);
            sandbox.done(&["publish", skill, "--owner", owner, "--registry", &url]);
        }
    }
    let config = format!(
        "format = 1\n[registries.a]\nlocation = \"{}\"\nowners = [\"acme\"]\n[registries.b]\nlocation = \"{}\"\nowners = \
         [\"*\"]\n",
        daemon.url("a.git"),
        daemon.url("b.git")
    );
    fs::write(sandbox.skillhub_home().join("config.toml"), &config).unwrap();
    let text = |spec: &str| sandbox.done(&["info", spec])["releases"][0]["description"].as_str().unwrap().to_owned();
    assert_eq!(text("acme/both"), "Is of a.git. Use in tests.");
    assert_eq!(text("both"), "Is of a.git. Use in tests.", "the other registry's is not acme's");
    assert_eq!(text("hers"), "Is of b.git. Use in tests.");
    for missing in ["acme/only-b", "only-b"] {
        sandbox.ask(&["info", missing]).refused_with_hint(7, "not_found");
    }
    assert_eq!(names(&sandbox.done(&["search", "is", "of"])), ["acme/both", "acme/only-a", "zoe/hers"]);
    // One that is away is not made up for by the other.
    fs::rename(sandbox.path("served/a.git"), sandbox.path("a.git")).unwrap();
    sandbox.ask(&["info", "acme/both"]).refused_with_hint(9, "registry_unreachable");
    sandbox.skill("both", "Is new. Use in tests.", &[]);
    sandbox.ask(&["publish", "both", "--owner", "acme"]).refused_with_hint(9, "registry_unreachable");
    assert_eq!(text("zoe/hers"), "Is of b.git. Use in tests.");
}

#[test]
fn changed_bundle_or_line_is_refused() {
    let sandbox = Sandbox::new();
    let (path, url) = registry(&sandbox);
    let good = head(&sandbox, &path, "main");
    let install = |home: &str| {
        let lib = sandbox.path(&format!("lib-{home}")).display().to_string();
        other_user(&sandbox, home, &["install", "acme/alpha", "--registry", &url, "--library", &lib])
    };
    let files = git(&sandbox, &["--git-dir", path.to_str().unwrap(), "ls-tree", "-r", "--name-only", "main"]);
    let line: Value =
        serde_json::from_str(&git(&sandbox, &["--git-dir", path.to_str().unwrap(), "show", "main:al/ph/alpha/acme"]))
            .unwrap();
    let hex = line["digest"].as_str().unwrap().trim_start_matches("sha256:");
    let bundle = files.lines().find(|file| file.contains(hex)).unwrap();
    tamper(&sandbox, &path, bundle, |bytes| {
        bytes.iter().map(|byte| if *byte == b'R' { b'S' } else { *byte }).collect()
    });
    let refused = |answer: Answer, words: &[&str]| {
        let text = format!("{answer}");
        let document = answer.exits(8).json();
        let error = &document["error"];
        assert!(error["hint"].as_str().is_some_and(|hint| hint.len() > 8), "{text}");
        for word in words {
            assert!(text.contains(word), "{word} is not in {text}");
        }
    };
    refused(install("one"), &["acme/alpha 1.0.0", "does not match the index"]);
    assert!(!sandbox.path("lib-one/alpha").exists());
    set_branch(&sandbox, &path, &good);
    tamper(&sandbox, &path, "al/ph/alpha/acme", |bytes| {
        String::from_utf8_lossy(bytes)
            .replace(line["archive"].as_str().unwrap(), &format!("sha256:{}", "7".repeat(64)))
            .into()
    });
    refused(install("two"), &["acme/alpha 1.0.0", "does not match the index"]);
    set_branch(&sandbox, &path, &good);
    tamper(&sandbox, &path, "al/ph/alpha/acme", |bytes| {
        String::from_utf8_lossy(bytes).replace(hex, &"7".repeat(64)).into()
    });
    refused(install("three"), &["acme/alpha 1.0.0", "missing from the index"]);
    // Who has it installed already is told what its lock file says.
    set_branch(&sandbox, &path, &good);
    install("four").done();
    tamper(&sandbox, &path, "al/ph/alpha/acme", |bytes| {
        String::from_utf8_lossy(bytes).replace(hex, &"7".repeat(64)).into()
    });
    let lib = sandbox.path("lib-four").display().to_string();
    let frozen = ["install", "--frozen", "--registry", &url, "--library", &lib];
    other_user(&sandbox, "four", &frozen).refused_with_hint(8, "lock_differs");
}

#[test]
fn replaced_registry_history_needs_acceptance() {
    let sandbox = Sandbox::new();
    let (path, url) = registry(&sandbox);
    let old = head(&sandbox, &path, "main");
    other_user(&sandbox, "second", &["info", "acme/beta", "--registry", &url]).done();
    let tree = head(&sandbox, &path, "main^{tree}");
    let place = path.to_str().unwrap();
    let new = git(&sandbox, &["--git-dir", place, "commit-tree", "-m", "anew", &tree]);
    set_branch(&sandbox, &path, &new);
    let lib = sandbox.path("lib").display().to_string();
    for command in [
        &["info", "acme/beta"][..],
        &["search", "does"],
        &["install", "acme/beta", "--library", &lib],
        &["info", "alpha"],
    ] {
        let command = [command, &["--registry", &url]].concat();
        let answer = other_user(&sandbox, "second", &command);
        let text = format!("{answer}");
        assert!(text.contains(&old) && text.contains("--accept-rewrite"), "{text}");
        answer.exits(8);
    }
    // Nor is it forgotten with what was fetched.
    fs::remove_dir_all(sandbox.path("second/registries")).unwrap();
    let again = ["info", "acme/beta", "--registry", &url];
    other_user(&sandbox, "second", &again).refused_with_hint(8, "registry_went_back");
    let accept = [&again[..], &["--accept-rewrite"]].concat();
    other_user(&sandbox, "second", &accept).refused_with_hint(5, "policy_denied");
    let mut command = sandbox.command(&accept);
    command.env("SKILLHUB_HOME", sandbox.path("second"));
    sandbox.with_terminal(command, &accept, Terminal::BOTH).exits(0);
    other_user(&sandbox, "second", &again).done();
    // Who never saw the old one has nothing to compare.
    other_user(&sandbox, "third", &again).done();
    sandbox.skill("gamma", "Does three. Use in tests.", &[]);
    let publish = ["publish", "gamma", "--owner", "acme", "--registry", &url];
    sandbox.ask(&publish).refused_with_hint(8, "registry_went_back");
    assert_eq!(head(&sandbox, &path, "main"), new.trim(), "nothing was pushed");
    sandbox.run_as(&sandbox.token(), &[&publish[..], &["--accept-rewrite"]].concat()).done();
}

#[test]
fn outdated_registry_mirror_is_refused() {
    let sandbox = Sandbox::new();
    let (path, url) = registry(&sandbox);
    other_user(&sandbox, "second", &["info", "acme/beta", "--registry", &url]).done();
    let seen = head(&sandbox, &path, "main");
    sandbox.skill("gamma", "Does three. Use in tests.", &[]);
    sandbox.done(&["publish", "gamma", "--owner", "acme", "--registry", &url]);
    let newest = head(&sandbox, &path, "main");
    other_user(&sandbox, "second", &["info", "acme/gamma", "--registry", &url]).done();
    for older in [seen.as_str(), "main~3"] {
        set_branch(&sandbox, &path, &head(&sandbox, &path, older));
        let error = other_user(&sandbox, "second", &["info", "acme/beta", "--registry", &url])
            .refused_with_hint(8, "registry_went_back");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&newest), "{error:#}");
        if older == seen {
            assert!(message.contains("is at an older state than before"), "{error:#}");
        }
    }
    set_branch(&sandbox, &path, &newest);
    other_user(&sandbox, "second", &["info", "acme/gamma", "--registry", &url]).done();
}

#[test]
fn registry_errors_have_hints() {
    let sandbox = Sandbox::new();
    let (path, url) = registry(&sandbox);
    let ask = |registry: &str| sandbox.ask(&["info", "acme/alpha", "--registry", registry]);
    ask("git://127.0.0.1:1/none").refused_with_hint(9, "registry_unreachable");
    ask("git+file:///nowhere/at/all.git").refused_with_hint(9, "registry_unreachable");
    for wrong in ["gopher://example.org/x", "https://me:secret@example.org/x", "https://example.org/x.git#part"] {
        let error = ask(wrong).refused_with_hint(2, "invalid_registry");
        assert!(!error["message"].as_str().unwrap().contains("secret"), "{error:#}");
    }
    // Another program's repository.
    let other = sandbox.path("served/other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("README"), "no registry\n").unwrap();
    crate::support::repository(&sandbox, &other);
    ask(&through_git(&other)).refused_with_hint(7, "not_a_registry");
    git(&sandbox, &["-C", other.to_str().unwrap(), "branch", "--move", "trunk"]);
    ask(&through_git(&other)).refused_with_hint(7, "not_a_registry");
    sandbox.ask(&["index", "init", &through_git(&other)]).refused_with_hint(6, "exists");
    // No git.
    let args = ["info", "acme/alpha", "--registry", &url, "--json"];
    let mut command = sandbox.command(&args);
    command.env("PATH", sandbox.path("nothing"));
    sandbox.finish(command, &args).refused_with_hint(1, "no_git");
    // One that takes no pushes.
    let daemon = Daemon::start(&sandbox, false);
    sandbox.skill("gamma", "Does three. Use in tests.", &[]);
    let before = head(&sandbox, &path, "main");
    let publish = ["publish", "gamma", "--owner", "acme", "--registry", &daemon.url("team.git")];
    sandbox.ask(&publish).refused_with_hint(5, "registry_refused");
    sandbox.ask(&["yank", "acme/beta@1.0.0", "--registry", &daemon.url("team.git")]).refused(5, "registry_refused");
    empty_repository(&sandbox, "empty.git");
    sandbox.ask(&["index", "init", &daemon.url("empty.git")]).refused_with_hint(5, "registry_refused");
    assert_eq!(head(&sandbox, &path, "main"), before);
}

#[cfg(unix)]
#[test]
fn registry_hook_refusal_is_shown() {
    let sandbox = Sandbox::new();
    let (path, url) = registry(&sandbox);
    let hook = path.join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'releases are frozen this week' >&2\nexit 1\n").unwrap();
    crate::support::set_mode(&hook, 0o755);
    sandbox.skill("gamma", "Does three. Use in tests.", &[]);
    let error = sandbox
        .ask(&["publish", "gamma", "--owner", "acme", "--registry", &url])
        .refused_with_hint(5, "registry_refused");
    assert!(error["message"].as_str().unwrap().contains("frozen this week"), "{error:#}");
}
