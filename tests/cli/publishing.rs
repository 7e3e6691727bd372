//! The registry: releases as lines of a git repository, found by search, and published concurrently.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, bare_log, git, hostile_script};

fn names(document: &Value) -> Vec<String> {
    document["results"].as_array().unwrap().iter().map(|found| found["name"].as_str().unwrap().to_owned()).collect()
}

/// A registry of its own, made by `index init`.
fn registry(sandbox: &Sandbox) -> String {
    let registry = sandbox.path("registry").display().to_string();
    sandbox.done(&["index", "init", &registry]);
    registry
}

#[test]
fn cloned_index_has_line_per_release() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    for version in ["1.0.0", "1.1.0"] {
        sandbox.skill("notes", &format!("Writes notes as of {version}. Use in tests."), &[]);
        sandbox.done(&["publish", "notes", "--owner", "acme", "--version", version, "--registry", &registry]);
    }
    let clone = sandbox.path("clone");
    git(&sandbox, &["clone", "--quiet", &registry, clone.to_str().unwrap()]);
    let text = fs::read_to_string(clone.join("no/te/notes/acme")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["version"].as_str().unwrap()).collect::<Vec<_>>(), ["1.0.0", "1.1.0"]);
    for line in &lines {
        let hex = line["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
        assert!(clone.join(format!("bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4])).is_file());
    }
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(clone.join("config.json")).unwrap()).unwrap()["format"], 1);
    assert_eq!(sandbox.done(&["index", "verify", &registry])["faults"], json!([]));
}

#[test]
fn first_registry_has_seed_skills() {
    let sandbox = Sandbox::new();
    let found = names(&sandbox.done(&["search", "skillhub"]));
    assert!(found.iter().any(|name| name == "skillhub/skillhub-writing-skills"), "{found:?}");
    let registry = sandbox.done(&["where"])["registry"].as_str().unwrap().to_owned();
    assert!(Path::new(&registry).starts_with(sandbox.skillhub_home()));
    sandbox.done(&["index", "verify"]);
}

/// A Chinese query finds Chinese descriptions.
#[test]
fn search_ranks_names_first() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    sandbox.skill("ledger", "Keeps accounts and checks invoices. Use for money.", &[]);
    sandbox.skill("invoices", "Reads bills. Use for paper.", &[]);
    sandbox.skill("biaodan", "填写和核对各种表单。需要处理表单或发票时使用。", &[]);
    for name in ["ledger", "invoices", "biaodan"] {
        sandbox.done(&["publish", name, "--owner", "acme", "--registry", &registry]);
    }
    let search = |query: &str| names(&sandbox.done(&["search", query, "--registry", &registry]));
    assert_eq!(search("invoices"), ["acme/invoices", "acme/ledger"]);
    assert_eq!(search("表单"), ["acme/biaodan"]);
    assert_eq!(search("处理发票")[0], "acme/biaodan");
    assert_eq!(search("nothing-of-this-kind"), Vec::<String>::new());
}

#[test]
fn republished_content_is_unchanged() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    let publish = ["publish", "notes", "--owner", "acme", "--registry", &registry];
    sandbox.done(&publish);
    let before = bare_log(&sandbox, &registry, "HEAD");
    assert_eq!(sandbox.done(&publish)["status"], "unchanged");
    assert_eq!(sandbox.done(&[&publish[..], &["--version", "1.0.0"]].concat())["status"], "unchanged");
    assert_eq!(bare_log(&sandbox, &registry, "HEAD"), before);
}

#[test]
fn version_comes_from_flag_or_frontmatter() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    let publish = |args: &[&str]| {
        let common = ["publish", "notes", "--owner", "acme", "--registry", registry.as_str()];
        sandbox.done(&[&common[..], args].concat())["version"].as_str().unwrap().to_owned()
    };
    sandbox.skill("notes", "Writes notes, one. Use in tests.", &[]);
    assert_eq!(publish(&[]), "1.0.0");
    sandbox.skill("notes", "Writes notes, two. Use in tests.", &[]);
    assert_eq!(publish(&[]), "1.0.1");
    sandbox.skill("notes", "Writes notes, three. Use in tests.\nmetadata:\n  version: 2.5.0", &[]);
    assert_eq!(publish(&[]), "2.5.0");
    sandbox.skill("notes", "Writes notes, four. Use in tests.\nmetadata:\n  version: 2.6.0", &[]);
    assert_eq!(publish(&["--version", "3.0.0"]), "3.0.0");
    sandbox.skill("notes", "Writes notes, five. Use in tests.\nmetadata:\n  version: \"4.1\"", &[]);
    assert_eq!(publish(&[]), "4.1.0", "authors leave the last number out");
}

#[test]
fn flag_overrides_invalid_frontmatter_version() {
    let sandbox = Sandbox::new();
    sandbox.skill("notes", "Writes notes. Use in tests.\nmetadata:\n  version: draft", &[]);
    let publish = ["publish", "notes", "--owner", "acme"];
    let error = sandbox.ask(&publish).refused_with_hint(3, "invalid_version");
    assert!(error["hint"].as_str().unwrap().contains("--version"), "{error:#}");
    for status in ["published", "unchanged"] {
        assert_eq!(sandbox.done(&[&publish[..], &["--version", "1.0.0"]].concat())["status"], status);
    }
}

#[test]
fn hostile_skill_is_not_published() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    sandbox.skill("bad", "Does bad. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    let before = bare_log(&sandbox, &registry, "HEAD");
    let answer = sandbox.ask(&["publish", "bad", "--owner", "acme", "--registry", &registry]);
    let error = answer.refused_with_hint(4, "scan_blocked");
    assert_eq!(error["details"]["findings"][0]["path"], "scripts/report.sh");
    assert_eq!(bare_log(&sandbox, &registry, "HEAD"), before);
    sandbox.ask(&["info", "acme/bad", "--registry", &registry]).refused(7, "not_found");
}

#[test]
fn yank_can_be_undone() {
    let sandbox = Sandbox::new();
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    sandbox.done(&["publish", "notes", "--owner", "acme"]);
    assert_eq!(sandbox.done(&["yank", "acme/notes@1.0.0"])["yanked"], true);
    assert_eq!(sandbox.done(&["info", "acme/notes"])["releases"][0]["yanked"], true);
    sandbox.done(&["yank", "acme/notes@1.0.0", "--undo"]);
    assert_eq!(sandbox.done(&["info", "acme/notes"])["releases"][0]["yanked"], false);
    sandbox.ask(&["yank", "acme/notes@2.0.0"]).refused(7, "not_found");
}

#[test]
fn deprecation_can_be_undone() {
    let sandbox = Sandbox::new();
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    sandbox.done(&["publish", "notes", "--owner", "acme"]);
    let deprecate = ["yank", "acme/notes@1.0.0", "--deprecate"];
    let with = |more: &[&str]| sandbox.ask(&[&deprecate[..], more].concat());
    let set = with(&["--replacement", "acme/other", "--reason", "it is old"]).done();
    assert_eq!((&set["yanked"], &set["deprecated"]["use"]), (&json!(false), &json!("acme/other")), "{set:#}");
    let installed = sandbox.done(&["install", "acme/notes"]);
    assert!(installed["skills"][0]["warnings"].to_string().contains("acme/other"), "{installed:#}");
    assert!(with(&["--undo"]).done()["deprecated"].is_null());
    assert!(!sandbox.run(&["info", "acme/notes"]).exits(0).text().contains("deprecated"));
    sandbox.ask(&["yank", "acme/notes@1.0.0", "--replacement", "acme/other"]).refused(2, "usage");
    with(&["--replacement", "no name"]).refused(2, "usage");
}

#[test]
fn exported_index_equals_the_repository() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    sandbox.done(&["publish", "notes", "--owner", "acme", "--registry", &registry]);
    sandbox.done(&["index", "export", &registry, "site"]);
    let exported = fs::read_to_string(sandbox.cwd().join("site/no/te/notes/acme")).unwrap();
    assert_eq!(exported, git(&sandbox, &["--git-dir", &registry, "show", "HEAD:no/te/notes/acme"]));
    sandbox.ask(&["index", "export", &registry, "site"]).refused_with_hint(6, "exists");
}

/// Runs several publications at the same time.
fn at_once(sandbox: &Sandbox, commands: &[Vec<&str>]) -> Vec<Answer> {
    let children: Vec<_> = commands.iter().map(|args| sandbox.start(&mut sandbox.command(args))).collect();
    let answers = children.into_iter().map(|child| child.wait_with_output().unwrap());
    answers.zip(commands).map(|(output, args)| Answer::new(args.join(" "), output)).collect()
}

#[test]
fn concurrent_skills_are_all_published() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    let skills = ["one", "two", "three", "four"];
    skills.iter().for_each(|name| drop(sandbox.skill(name, "Counts. Use in tests.", &[])));
    let publish = |name| vec!["publish", name, "--owner", "acme", "--registry", registry.as_str(), "--json"];
    for answer in at_once(&sandbox, &skills.map(publish)) {
        assert_eq!(answer.done()["status"], "published");
    }
    for name in skills {
        sandbox.done(&["info", &format!("acme/{name}"), "--registry", &registry]);
    }
    sandbox.done(&["index", "verify", &registry]);
}

#[test]
fn concurrent_versions_are_all_published() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    let versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];
    let folders: Vec<String> = versions.iter().map(|version| format!("{version}/notes")).collect();
    for (version, folder) in versions.iter().zip(&folders) {
        let made = sandbox.skill("notes", &format!("Writes notes of {version}. Use in tests."), &[]);
        fs::create_dir(sandbox.cwd().join(version)).unwrap();
        fs::rename(made, sandbox.cwd().join(folder)).unwrap();
    }
    let publish = |at: usize| {
        let version = ["--version", versions[at], "--registry", registry.as_str(), "--json"];
        [&["publish", folders[at].as_str(), "--owner", "acme"], &version[..]].concat()
    };
    for answer in at_once(&sandbox, &[0, 1, 2, 3].map(publish)) {
        assert_eq!(answer.done()["status"], "published");
    }
    let releases = sandbox.done(&["info", "acme/notes", "--registry", &registry])["releases"].clone();
    assert_eq!(releases.as_array().unwrap().len(), 4);
    sandbox.done(&["index", "verify", &registry]);
}

#[test]
fn concurrent_same_version_has_one_winner() {
    let sandbox = Sandbox::new();
    let registry = registry(&sandbox);
    for at in ["a", "b"] {
        let made = sandbox.skill("notes", &format!("Writes notes of {at}. Use in tests."), &[]);
        fs::create_dir(sandbox.cwd().join(at)).unwrap();
        fs::rename(made, sandbox.cwd().join(at).join("notes")).unwrap();
    }
    let version = ["--owner", "acme", "--version", "1.0.0", "--registry", registry.as_str(), "--json"];
    let commands = ["a/notes", "b/notes"].map(|folder| [&["publish", folder], &version[..]].concat());
    let mut answers = at_once(&sandbox, &commands);
    answers.sort_by_key(|answer| answer.exit);
    let refused = answers.pop().unwrap().refused_with_hint(6, "version_exists");
    assert!(refused["message"].as_str().unwrap().contains("1.0.0"), "{refused:#}");
    assert_eq!(answers.pop().unwrap().done()["status"], "published");
    let releases = sandbox.done(&["info", "acme/notes", "--registry", &registry])["releases"].clone();
    assert_eq!(releases.as_array().unwrap().len(), 1);
}

/// A skill as `new` makes it is valid and no release, until its author has written it.
#[test]
fn untouched_template_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.done(&["new", "notes"]);
    let document = sandbox.done(&["validate", "notes"]);
    let lines: Vec<&Value> = document["skills"][0]["problems"].as_array().unwrap().iter().map(|p| &p["line"]).collect();
    assert_eq!(lines, [3, 10, 14, 15]);
    let error = sandbox.ask(&["publish", "notes", "--owner", "acme"]).refused_with_hint(3, "invalid_skill");
    assert!(error["message"].as_str().unwrap().contains("lines 3, 10, 14 and 15"), "{error:#}");
    fs::remove_dir_all(sandbox.cwd().join("notes")).unwrap();
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    sandbox.done(&["publish", "notes", "--owner", "acme"]);
}

#[test]
fn build_metadata_is_not_a_version() {
    let sandbox = Sandbox::new();
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    let publish = |version: &str| sandbox.ask(&["publish", "notes", "--owner", "acme", "--version", version]);
    assert_eq!(publish("1.0.0+b1").done()["status"], "published");
    assert_eq!(publish("1.0.0+b1").done()["status"], "unchanged");
    for content in ["the same", "another"] {
        let error = publish("1.0.0+b2").refused_with_hint(6, "version_exists");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("acme/notes 1.0.0+b1 exists"), "{content}: {error:#}");
        assert!(error["hint"].as_str().unwrap().contains("--version 1.0.1"), "{error:#}");
        sandbox.skill("notes", "Writes other notes. Use in tests.", &[]);
    }
    assert_eq!(sandbox.done(&["info", "acme/notes"])["releases"].as_array().unwrap().len(), 1);
}

#[test]
fn requirements_may_be_a_list() {
    let sandbox = Sandbox::new();
    let path = sandbox.skill("notes", "Writes notes. Use in tests.", &[]).join("SKILL.md");
    let text = fs::read_to_string(&path).unwrap();
    let with = |requires: &str| text.replacen("---\n\n", &format!("metadata:\n  requires: {requires}\n---\n\n"), 1);
    fs::write(&path, with("[acme/ledger, \"acme/forms@>=1, <2\"]")).unwrap();
    let published = sandbox.done(&["publish", "notes", "--owner", "acme"]);
    assert_eq!(published["warnings"].as_array().unwrap().len(), 2, "neither is there yet: {published:#}");
    let release = sandbox.done(&["info", "acme/notes"])["releases"][0]["requires"].clone();
    assert_eq!(release, json!(["acme/ledger", "acme/forms@>=1, <2"]));
    fs::write(&path, with("{acme: ledger}")).unwrap();
    let problems = sandbox.done(&["validate", "notes"])["skills"][0]["problems"].to_string();
    assert!(problems.contains("requires_type"), "{problems}");
}
