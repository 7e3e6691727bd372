//! Authors of many skills: publishing in batches, changelogs, deprecated skills, and forks.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, bare_log, git, hostile_script, skill_md, write_files};

/// Writes the skill `skills/NAME` with a body.
fn skill(sandbox: &Sandbox, name: &str, body: &str, frontmatter: &str) {
    let description = format!("Does {name}. Use in tests.{frontmatter}");
    let text = skill_md(name, &description, body);
    write_files(&sandbox.cwd().join("skills").join(name), &[("SKILL.md", text.as_bytes(), false)]);
}

/// Three skills in `skills/`, and an empty registry.
fn author() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for name in ["alpha", "beta", "gamma"] {
        skill(&sandbox, name, "One.", "");
    }
    let registry = sandbox.path("registry").display().to_string();
    sandbox.done(&["index", "init", &registry]);
    (sandbox, registry)
}

fn publish(sandbox: &Sandbox, registry: &str, args: &[&str]) -> Answer {
    sandbox.ask(&[&["publish"], args, &["--owner", "acme", "--registry", registry]].concat())
}

fn column<'a>(document: &'a Value, key: &str) -> Vec<&'a str> {
    document["skills"].as_array().unwrap().iter().map(|skill| skill[key].as_str().unwrap_or("-")).collect()
}

fn commits(sandbox: &Sandbox, registry: &str) -> usize {
    bare_log(sandbox, registry, "HEAD").len()
}

#[test]
fn batch_publishes_only_changed_skills() {
    let (sandbox, registry) = author();
    let before = commits(&sandbox, &registry);
    let dry = publish(&sandbox, &registry, &["skills", "--changed", "--dry-run"]).done();
    assert_eq!(column(&dry, "change"), ["new", "new", "new"], "{dry:#}");
    assert_eq!((column(&dry, "version"), commits(&sandbox, &registry)), (vec!["1.0.0"; 3], before));
    assert_eq!(column(&publish(&sandbox, &registry, &["skills"]).done(), "status"), ["published"; 3]);
    skill(&sandbox, "beta", "Two.", "");
    let args = ["publish", "skills", "--changed", "--dry-run", "--owner", "acme", "--registry", &registry];
    let table = sandbox.run(&args).exits(0).text();
    assert!(table.lines().all(|line| line.chars().count() <= 80 || line.contains(&registry)), "{table}");
    assert!(table.contains("beta   1.0.0   1.0.1  changed    allow"), "{table}");
    assert!(table.contains("3 skills: 2 unchanged, 1 changed; nothing was published"), "{table}");
    let done = publish(&sandbox, &registry, &["skills", "--changed", "--bump", "minor"]).done();
    assert_eq!(column(&done, "status"), ["unchanged", "published", "unchanged"], "{done:#}");
    assert_eq!(column(&done, "version"), ["1.0.0", "1.1.0", "1.0.0"]);
    assert_eq!(commits(&sandbox, &registry), before + 4);
    let twice = ["skills/beta", "skills/beta", "skills/alpha"];
    assert_eq!(column(&publish(&sandbox, &registry, &twice).done(), "change"), ["unchanged"; 2]);
    sandbox.done(&["index", "verify", &registry]);
}

/// The frontmatter's version is what a batch publishes; content that the newest release has is skipped all the same.
#[test]
fn changed_ignores_a_version_without_changes() {
    let (sandbox, registry) = author();
    publish(&sandbox, &registry, &["skills/alpha", "--version", "1.0.0"]).done();
    let again = publish(&sandbox, &registry, &["skills/alpha", "--version", "2.0.0", "--changed"]).done();
    assert_eq!(column(&again, "status"), ["unchanged"]);
    let single = publish(&sandbox, &registry, &["skills/alpha", "--version", "2.0.0"]).done();
    assert_eq!(single["status"], "published", "without --changed, a version that was asked for is published");
}

#[test]
fn failed_check_publishes_nothing() {
    let (sandbox, registry) = author();
    let script = hostile_script();
    write_files(&sandbox.cwd().join("skills/beta"), &[("scripts/run.sh", script.as_bytes(), true)]);
    skill(&sandbox, "gamma", "One.", "\nname: other");
    let before = commits(&sandbox, &registry);
    let failed = publish(&sandbox, &registry, &["skills"]).exits(4);
    let document = failed.json();
    assert_eq!(column(&document, "status"), ["not_published", "failed", "failed"], "{document:#}");
    assert_eq!((&document["ok"], &document["skills"][1]["error"]["code"]), (&json!(false), &json!("scan_blocked")));
    assert_eq!(commits(&sandbox, &registry), before);
    fs::remove_dir_all(sandbox.cwd().join("skills/beta/scripts")).unwrap();
    skill(&sandbox, "gamma", "One.", "");
    assert_eq!(column(&publish(&sandbox, &registry, &["skills"]).done(), "status"), ["published"; 3]);
    let other = sandbox.cwd().join("other/alpha");
    write_files(&other, &[("SKILL.md", skill_md("alpha", "Does x. Use in tests.", "X").as_bytes(), false)]);
    let twice = publish(&sandbox, &registry, &["skills", "other/alpha"]).exits(2).json();
    assert!(twice["skills"][3]["error"]["message"].as_str().unwrap().contains("both have a skill"), "{twice:#}");
    publish(&sandbox, &registry, &["skills", "missing"]).refused(7, "not_found");
    publish(&sandbox, &registry, &["skills", "--bump", "minor", "--version", "1.0.0"]).refused(2, "usage");
}

/// A batch at a git host is pushed release by release; a requirement inside the batch counts as met.
#[test]
fn batch_meets_requirements_in_itself() {
    let (sandbox, registry) = author();
    skill(&sandbox, "alpha", "One.", "\nmetadata:\n  requires: acme/gamma@^1");
    let url = format!("file://{registry}");
    let done = publish(&sandbox, &url, &["skills/alpha", "skills/gamma"]).done();
    assert_eq!(column(&done, "status"), ["published"; 2], "{done:#}");
    assert_eq!(done["skills"][0]["warnings"], json!([]), "{done:#}");
    let info = sandbox.done(&["info", "acme/alpha", "--registry", &url]);
    assert_eq!(info["releases"][0]["requires"], json!(["acme/gamma@^1"]));
}

#[test]
fn bump_counts_from_the_newest_release() {
    let (sandbox, registry) = author();
    let bump = |part: &str, body: &str| {
        skill(&sandbox, "alpha", body, "\nmetadata:\n  version: \"0.4.0\"");
        publish(&sandbox, &registry, &["skills/alpha", "--bump", part]).done()
    };
    let first = bump("major", "1");
    assert_eq!(first["version"], "0.4.0");
    assert!(first["warnings"][0].as_str().unwrap().contains("first release"), "{first:#}");
    for (part, body, version) in [("patch", "2", "0.4.1"), ("minor", "3", "0.5.0"), ("major", "4", "1.0.0")] {
        assert_eq!(bump(part, body)["version"], version);
    }
    assert_eq!(bump("major", "4")["status"], "unchanged", "unchanged content is not published again");
}

/// Two releases of acme/alpha with changelogs, of which the first is installed.
fn with_changelogs(sandbox: &Sandbox, registry: &str) {
    publish(sandbox, registry, &["skills/alpha", "--changelog", "First."]).done();
    sandbox.done(&["install", "acme/alpha", "--registry", registry]);
    for (body, changelog) in [("Two.", "- two\n- 二\n"), ("Three.", "- three")] {
        skill(sandbox, "alpha", body, "");
        fs::write(sandbox.cwd().join("CHANGES.md"), changelog).unwrap();
        publish(sandbox, registry, &["skills/alpha", "--changelog", "@CHANGES.md"]).done();
    }
}

#[test]
fn changelogs_are_shown_by_info_and_update() {
    let (sandbox, registry) = author();
    with_changelogs(&sandbox, &registry);
    let at = ["--registry", registry.as_str()];
    let between = json!([
        {"version": "1.0.2", "changelog": "- three"}, {"version": "1.0.1", "changelog": "- two\n- 二"},
    ]);
    for command in [&["outdated"][..], &["update", "--check"], &["update"]] {
        assert_eq!(sandbox.done(&[command, &at].concat())["skills"][0]["changelog"], between, "{command:?}");
    }
    assert_eq!(sandbox.done(&["update", at[0], at[1]])["skills"][0]["changelog"], json!([]));
    let info = sandbox.run(&["info", "acme/alpha", at[0], at[1]]).exits(0).text();
    assert!(info.contains("1.0.1  - two\n       - 二\n1.0.0  First."), "{info}");
    let line = git(&sandbox, &["--git-dir", &registry, "show", "HEAD:al/ph/alpha/acme"]);
    assert_eq!(line.lines().last().unwrap().matches("\"changelog\":\"- three\"").count(), 1, "{line}");
    sandbox.done(&["index", "verify", &registry]);
}

#[test]
fn unusable_changelogs_are_refused() {
    let (sandbox, registry) = author();
    let before = commits(&sandbox, &registry);
    let long = "x".repeat(4001);
    for bad in ["\u{1b}[31mred", &long] {
        publish(&sandbox, &registry, &["skills/alpha", "--changelog", bad]).refused_with_hint(3, "invalid_changelog");
    }
    publish(&sandbox, &registry, &["skills/alpha", "--changelog", "@missing.md"]).refused(7, "not_found");
    publish(&sandbox, &registry, &["skills/alpha", "--changelog", "--dry-run"]).refused(2, "usage");
    assert_eq!(commits(&sandbox, &registry), before);
    let plain = publish(&sandbox, &registry, &["skills/alpha", "--changelog", "  \n"]).done();
    assert_eq!(plain["status"], "published");
    assert_eq!(sandbox.done(&["info", "acme/alpha", "--registry", &registry])["releases"][0].get("changelog"), None);
}

/// Lines without a changelog, as earlier versions wrote them, stay as they are beside a new one.
#[test]
fn earlier_lines_stay_as_they_are() {
    let (sandbox, registry) = author();
    publish(&sandbox, &registry, &["skills/alpha"]).done();
    let line = || git(&sandbox, &["--git-dir", &registry, "show", "HEAD:al/ph/alpha/acme"]);
    let earlier = line();
    assert!(!earlier.contains("changelog"), "{earlier}");
    skill(&sandbox, "alpha", "Two.", "");
    publish(&sandbox, &registry, &["skills/alpha", "--changelog", "Two."]).done();
    assert!(line().starts_with(&earlier) && line().contains("\"changelog\":\"Two.\""), "{}", line());
}

#[test]
fn deprecated_skill_is_marked_everywhere() {
    let (sandbox, registry) = author();
    let at = ["--registry", registry.as_str()];
    with_changelogs(&sandbox, &registry);
    publish(&sandbox, &registry, &["skills/gamma"]).done();
    let deprecate = ["yank", "acme/alpha", "--deprecate", at[0], at[1]];
    let more = ["--replacement", "acme/gamma", "--reason", "gamma does both"];
    let marked = sandbox.done(&[&deprecate[..], &more].concat());
    assert_eq!((&marked["releases"], &marked["version"]), (&json!(3), &json!("1.0.2")), "{marked:#}");
    let shown = |command: &[&str]| sandbox.run(&[command, &at].concat()).exits(0).text();
    for command in [&["search", "alpha"][..], &["info", "acme/alpha"], &["outdated"], &["update", "--check"]] {
        assert!(shown(command).contains("deprecated, use acme/gamma instead"), "{command:?}: {}", shown(command));
    }
    let lib = sandbox.path("lib").display().to_string();
    let installed = shown(&["install", "acme/alpha", "--library", &lib]);
    assert!(installed.contains("install acme/gamma"), "{installed}");
    let undone = sandbox.done(&[&deprecate[..], &["--undo"]].concat());
    assert!(undone["deprecated"].is_null() && !shown(&["search", "alpha"]).contains("deprecated"));
    sandbox.ask(&["yank", "acme/alpha", at[0], at[1]]).refused_with_hint(2, "invalid_spec");
    sandbox.done(&["index", "verify", &registry]);
}

#[test]
fn info_lists_forks_and_requirements() {
    let sandbox = Sandbox::new();
    skill(&sandbox, "alpha", "One.\n\nTwo.", "\nmetadata:\n  requires: acme/beta@^1");
    skill(&sandbox, "beta", "One.", "");
    sandbox.done(&["publish", "skills", "--owner", "acme"]);
    sandbox.done(&["install", "acme/alpha"]);
    sandbox.done(&["manage", "patch", "alpha", "--find", "Two.", "--replace", "Three."]);
    sandbox.done(&["publish", "alpha", "--from-fork", "--owner", "me"]);
    let info = sandbox.done(&["info", "acme/alpha"]);
    let fork = &info["forked_by"][0];
    assert_eq!([&fork["name"], &fork["version"], &fork["from"]], ["me/alpha", "1.0.0", "1.0.0"], "{info:#}");
    let text = sandbox.run(&["info", "acme/alpha"]).exits(0).text();
    assert!(text.contains("Requires: acme/beta@^1") && text.contains("Fork: me/alpha 1.0.0 from acme/alpha"), "{text}");
    assert_eq!(sandbox.done(&["info", "me/alpha"])["forked_by"], json!([]));
}

/// acme/alpha installed and changed here, and a fork of it with another change.
fn forked() -> Sandbox {
    let sandbox = Sandbox::new();
    skill(&sandbox, "alpha", "One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.", "");
    sandbox.done(&["publish", "skills/alpha", "--owner", "acme"]);
    let lib = sandbox.path("fork").display().to_string();
    sandbox.done(&["install", "acme/alpha", "--library", &lib]);
    let patch = ["manage", "patch", "alpha", "--library", &lib, "--find", "Five.", "--replace", "Five of the fork."];
    sandbox.done(&patch);
    sandbox.done(&["publish", "alpha", "--from-fork", "--owner", "me", "--library", &lib]);
    sandbox.done(&["install", "acme/alpha"]);
    sandbox.done(&["manage", "patch", "alpha", "--find", "One.", "--replace", "One of mine."]);
    sandbox
}

fn text(folder: &Path) -> String {
    fs::read_to_string(folder.join("SKILL.md")).unwrap()
}

#[test]
fn fork_is_merged_into_its_original() {
    let sandbox = forked();
    let merge = ["update", "alpha", "--from", "me/alpha"];
    let dry = sandbox.done(&[&merge[..], &["--dry-run"]].concat());
    assert_eq!(dry["skills"][0]["status"], "dry_run", "{dry:#}");
    let merged = sandbox.done(&merge);
    assert_eq!([&merged["skills"][0]["status"], &merged["skills"][0]["name"]], ["merged", "acme/alpha"], "{merged:#}");
    let files = text(&sandbox.user_skill("alpha"));
    assert!(files.contains("One of mine.") && files.contains("Five of the fork."), "{files}");
    let lock = fs::read_to_string(sandbox.done(&["where"])["lock"].as_str().unwrap()).unwrap();
    assert!(lock.contains("acme/alpha") && !lock.contains("\"me/alpha"), "{lock}");
    sandbox.done(&["verify"]);
    let history = sandbox.run(&["history", "alpha"]).exits(0).text();
    assert!(history.contains("from me/alpha 1.0.0 in "), "{history}");
    let revisions = sandbox.done(&["history", "alpha"])["revisions"].take();
    assert_eq!(
        (&revisions[0]["merged_from"]["name"], &revisions[1]["merged_from"]),
        (&json!("me/alpha"), &json!(null))
    );
    let lineage = sandbox.run(&["lineage", "alpha"]).exits(0).text();
    assert!(lineage.contains("merged from me/alpha 1.0.0"), "{lineage}");
    assert!(merged["skills"][0]["warnings"].to_string().contains("was merged in"), "{merged:#}");
    let again = sandbox.done(&merge)["skills"][0].take();
    assert_eq!((&again["status"], &again["warnings"]), (&json!("unchanged"), &json!([])), "{again:#}");
    skill(&sandbox, "alpha", "One.\n\nTwo.\n\nThree of acme.\n\nFour.\n\nFive.", "");
    sandbox.done(&["publish", "skills/alpha", "--owner", "acme"]);
    assert_eq!(sandbox.done(&["update"])["skills"][0]["status"], "merged", "it still follows its source");
    let files = text(&sandbox.user_skill("alpha"));
    assert!(files.contains("Three of acme.") && files.contains("Five of the fork."), "{files}");
}

#[test]
fn original_is_merged_into_its_fork() {
    let sandbox = forked();
    let lib = sandbox.path("other").display().to_string();
    sandbox.done(&["install", "me/alpha", "--library", &lib]);
    skill(&sandbox, "alpha", "One of acme.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.", "");
    sandbox.done(&["publish", "skills/alpha", "--owner", "acme"]);
    sandbox.done(&["update", "alpha", "--from", "acme/alpha", "--library", &lib]);
    let files = text(&sandbox.path("other/alpha"));
    assert!(files.contains("One of acme.") && files.contains("Five of the fork."), "{files}");
}

#[test]
fn conflicting_fork_needs_a_side() {
    let sandbox = forked();
    sandbox.done(&["manage", "patch", "alpha", "--find", "Five.", "--replace", "Five of mine."]);
    let merge = ["update", "alpha", "--from", "me/alpha"];
    let before = text(&sandbox.user_skill("alpha"));
    let refused = sandbox.ask(&merge).refused_with_hint(6, "merge_conflict");
    assert!(refused["hint"].as_str().unwrap().contains("--from me/alpha --theirs"), "{refused:#}");
    assert_eq!(text(&sandbox.user_skill("alpha")), before);
    sandbox.done(&[&merge[..], &["--theirs"]].concat());
    let files = text(&sandbox.user_skill("alpha"));
    assert!(files.contains("One of mine.") && files.contains("Five of the fork."), "{files}");
}

#[test]
fn unrelated_skill_is_not_merged() {
    let sandbox = forked();
    skill(&sandbox, "beta", "Something else.", "");
    sandbox.done(&["publish", "skills/beta", "--owner", "acme"]);
    let refused = sandbox.ask(&["update", "alpha", "--from", "acme/beta"]).refused_with_hint(6, "unrelated");
    assert!(refused["hint"].as_str().unwrap().contains("install acme/beta --as"), "{refused:#}");
    sandbox.ask(&["update", "alpha", "--from", "acme/alpha"]).refused_with_hint(2, "usage");
    sandbox.ask(&["update", "alpha", "--from", "acme/none"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["update", "--from", "me/alpha"]).refused(2, "usage");
}
