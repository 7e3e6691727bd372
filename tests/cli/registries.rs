//! Registries that are damaged, or were rolled back.

use std::fs;

use crate::support::{Sandbox, git};

/// A registry with two skills, the second with two releases.
fn registry(sandbox: &Sandbox) -> String {
    let place = sandbox.path("registry").display().to_string();
    sandbox.done(&["index", "init", &place]);
    for (name, what) in [("alpha", "one"), ("beta", "one"), ("beta", "two")] {
        sandbox.skill(name, &format!("Does {what}. Use in tests."), &[]);
        sandbox.done(&["publish", name, "--owner", "acme", "--registry", &place]);
    }
    place
}

#[test]
fn empty_repository_becomes_registry_where_it_is() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("reg.git").display().to_string();
    git(&sandbox, &["init", "--quiet", "--bare", &place]);
    let error = sandbox.ask(&["search", "x", "--registry", &place]).json();
    let told = error.to_string();
    assert!(told.contains(&format!("skillhub index init {place}")) && !told.contains("reg.git/registry"), "{told}");
    assert_eq!(sandbox.done(&["index", "init", &place])["created"], true);
    assert_eq!(sandbox.done(&["index", "init", &place])["created"], false);
    let again = sandbox.run(&["index", "init", &place]).exits(0).text();
    assert!(again.contains("is a registry already") && !again.contains("Created"), "{again}");
}

#[test]
fn file_urls_name_registries_to_verify_and_export() {
    let sandbox = Sandbox::new();
    let place = registry(&sandbox);
    let url = format!("file://{place}");
    assert_eq!(sandbox.done(&["index", "verify", &url])["registry"], place.as_str());
    sandbox.done(&["index", "export", &url, "site"]);
    assert!(sandbox.cwd().join("site/config.json").exists());
    let error = sandbox.ask(&["index", "verify", &format!("git+{url}")]).refused_with_hint(2, "usage");
    assert!(error["hint"].as_str().unwrap().contains(&format!("--bare {url} ")), "{error:#}");
}

#[test]
fn damaged_line_hides_only_its_skill() {
    let sandbox = Sandbox::new();
    let place = registry(&sandbox);
    let copy = sandbox.path("copy").display().to_string();
    git(&sandbox, &["clone", "--quiet", &place, &copy]);
    let file = sandbox.path("copy/be/ta/beta/acme");
    fs::write(&file, fs::read_to_string(&file).unwrap().replacen("\"version\"", "\"vers\"", 1)).unwrap();
    let who = ["-c", "user.name=x", "-c", "user.email=x@y"];
    git(&sandbox, &[&["-C", &copy], &who[..], &["commit", "--quiet", "-am", "damage"]].concat());
    git(&sandbox, &["-C", &copy, "push", "--quiet"]);
    let found = sandbox.ask(&["search", "does", "--registry", &place]);
    assert!(found.stderr.contains("be/ta/beta/acme") && found.stderr.contains("index verify"), "{found}");
    let found = found.done();
    let names: Vec<_> = found["results"].as_array().unwrap().iter().map(|skill| skill["name"].clone()).collect();
    assert_eq!(names, ["acme/alpha"], "{found:#}");
    assert_eq!(found["skipped"].as_array().unwrap().len(), 1);
    sandbox.ask(&["info", "acme/beta", "--registry", &place]).refused_with_hint(8, "damaged_index");
    sandbox.ask(&["index", "verify", &place]).exits(8);
}

#[test]
fn reverted_registry_needs_acceptance() {
    let sandbox = Sandbox::new();
    let place = registry(&sandbox);
    sandbox.done(&["info", "acme/beta", "--registry", &place]);
    let newest = git(&sandbox, &["--git-dir", &place, "rev-parse", "refs/heads/main"]);
    git(&sandbox, &["--git-dir", &place, "update-ref", "refs/heads/main", "refs/heads/main~1"]);
    // Completion asks the registry too, and accepts nothing.
    let complete = ["completions", "--accept-rewrite", "--registry", &place, "--", "update", "acme/beta", "--from", ""];
    sandbox.run(&complete).exits(0);
    for command in [&["info", "acme/beta"][..], &["search", "does"], &["install", "acme/beta"]] {
        let error =
            sandbox.ask(&[command, &["--registry", &place]].concat()).refused_with_hint(8, "registry_went_back");
        assert!(error["hint"].as_str().unwrap().contains("--accept-rewrite"), "{error:#}");
    }
    git(&sandbox, &["--git-dir", &place, "update-ref", "refs/heads/main", newest.trim()]);
    sandbox.skill("beta", "Does three. Use in tests.", &[]);
    sandbox.done(&["publish", "beta", "--owner", "acme", "--registry", &place]);
    sandbox.done(&["info", "acme/beta", "--registry", &place]);
    git(&sandbox, &["--git-dir", &place, "update-ref", "refs/heads/main", newest.trim()]);
    sandbox.ask(&["info", "acme/beta", "--registry", &place]).refused(8, "registry_went_back");
    fs::write(sandbox.skillhub_home().join("registries.toml"), "format = 1\n").unwrap();
    sandbox.done(&["info", "acme/beta", "--registry", &place]);
    fs::write(sandbox.skillhub_home().join("registries.toml"), "format = 1\nseen").unwrap();
    sandbox.ask(&["info", "acme/beta", "--registry", &place]).refused(1, "io");
}

#[test]
fn oversized_files_are_refused_unread() {
    let sandbox = Sandbox::project();
    fs::create_dir(sandbox.skillhub_home()).unwrap();
    let sparse = |path: std::path::PathBuf, bytes: u64| fs::File::create(path).unwrap().set_len(bytes).unwrap();
    sparse(sandbox.cwd().join("skillhub.lock"), 1 << 40);
    let error = sandbox.ask(&["install"]).refused(1, "io");
    assert!(error["message"].as_str().unwrap().contains("4194304 bytes"), "{error:#}");
    sparse(sandbox.skillhub_home().join("config.toml"), 1 << 40);
    let error = sandbox.ask(&["list"]).refused(1, "io");
    assert!(error["message"].as_str().unwrap().contains("1048576 bytes"), "{error:#}");
}
