//! `update` and `outdated`: new releases merged with local changes, and conflicts settled by a person.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, bare_log, git, hostile_script, repository, skill_md, snapshot, write_files};

const BODY: &str = "# Demo\n\n1. Read the list.\n2. Group by kind.\n3. Write.\n\n## Notes\n\n- one\n- two\n";

fn first(document: &Value) -> &Value {
    &document["skills"][0]
}

/// Publishes a version of acme/demo with a body and further files.
fn publish(sandbox: &Sandbox, version: &str, body: &str, files: &[(&str, &str)]) {
    let folder = sandbox.cwd().join("demo");
    let _first_time = fs::remove_dir_all(&folder);
    let text = skill_md("demo", "Writes notes. Use in tests.", body);
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    for (path, text) in files {
        write_files(&folder, &[(path, text.as_bytes(), path.ends_with(".sh"))]);
    }
    sandbox.done(&["publish", "demo", "--owner", "acme", "--version", version]);
}

/// acme/demo 1.0.0 installed and changed here, and a newer release.
fn evolved(next: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    publish(&sandbox, "1.0.0", BODY, &[("references/a.md", "alpha\nbeta\ngamma\ndelta\n")]);
    sandbox.done(&["install", "acme/demo"]);
    patch(&sandbox, "Group by kind.", "Group by kind and area.");
    publish(
        &sandbox,
        "1.1.0",
        next,
        &[("references/a.md", "alpha\nbeta\ngamma\nDELTA\n"), ("scripts/run.sh", "#!/bin/sh\ntrue\n")],
    );
    sandbox
}

fn patch(sandbox: &Sandbox, find: &str, replace: &str) {
    sandbox.done(&["manage", "patch", "demo", "--find", find, "--replace", replace]);
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap()
}

fn locked(sandbox: &Sandbox) -> toml::Value {
    let path = sandbox.done(&["where"])["lock"].as_str().unwrap().to_owned();
    let table: toml::Table = fs::read_to_string(path).unwrap().parse().unwrap();
    table["skill"][0].clone()
}

#[test]
fn missing_folder_is_noted() {
    let sandbox = Sandbox::new();
    publish(&sandbox, "1.0.0", BODY, &[]);
    sandbox.done(&["install", "acme/demo"]);
    fs::remove_dir_all(sandbox.user_skill("demo")).unwrap();
    for command in ["update", "outdated"] {
        let document = sandbox.done(&[command]);
        let warnings = first(&document)["warnings"].to_string();
        assert!(warnings.contains("skillhub rollback demo head"), "{document:#}");
    }
    sandbox.done(&["rollback", "demo", "head"]);
    assert_eq!(sandbox.done(&["outdated"])["skills"], json!([]));
}

#[test]
fn release_is_merged_with_local_changes() {
    let sandbox = evolved(&BODY.replace("3. Write.", "3. Write it down."));
    let outdated = sandbox.done(&["outdated"]);
    assert_eq!([&first(&outdated)["installed"], &first(&outdated)["wanted"]], ["1.0.0", "1.1.0"]);
    let before = snapshot(&sandbox.user_skill("demo"));
    let dry = sandbox.done(&["update", "--dry-run"]);
    assert_eq!((&first(&dry)["status"], &first(&dry)["touched"]), (&json!("dry_run"), &json!(["SKILL.md"])));
    assert!(first(&dry)["diff"].as_str().unwrap().contains("+3. Write it down."), "{dry:#}");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before, "a dry run changes nothing");
    let updated = sandbox.done(&["update", "demo"]);
    assert_eq!([&first(&updated)["status"], &first(&updated)["version"]], ["merged", "1.1.0"]);
    let merged = text(&sandbox);
    assert!(merged.contains("Group by kind and area.") && merged.contains("Write it down."), "{merged}");
    assert!(sandbox.user_skill("demo").join("scripts/run.sh").exists());
    let entry = locked(&sandbox);
    assert_eq!(entry["version"].as_str(), Some("1.1.0"));
    assert_ne!(entry["content"], entry["digest"], "it is the release with a change");
    assert_eq!(first(&sandbox.done(&["update"]))["status"], "unchanged");
    assert_eq!(sandbox.done(&["outdated"])["skills"], json!([]));
    sandbox.done(&["install", "--frozen"]);
}

#[test]
fn merged_release_is_next_merge_base() {
    let sandbox = evolved(&BODY.replace("3. Write.", "3. Write it down."));
    sandbox.done(&["update"]);
    let history = sandbox.done(&["where"])["history"].as_str().unwrap().to_owned();
    assert_eq!(bare_log(&sandbox, &history, "refs/skills/demo").len(), 4, "install, patch, the release, their merge");
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 3);
    publish(&sandbox, "1.2.0", &BODY.replace("3. Write.", "3. Write all of it."), &[]);
    assert_eq!(first(&sandbox.done(&["update"]))["status"], "merged", "against 1.1.0, not against 1.0.0");
    let merged = text(&sandbox);
    assert!(merged.contains("kind and area.") && merged.contains("3. Write all of it."), "{merged}");
    assert!(!sandbox.user_skill("demo").join("references/a.md").exists(), "the release has it no more");
    sandbox.done(&["gc"]);
    sandbox.done(&["doctor"]);
}

#[test]
fn local_changes_are_diffed_against_release() {
    let sandbox = evolved(&BODY.replace("3. Write.", "3. Write it down."));
    sandbox.done(&["update"]);
    let patch = sandbox.run(&["diff", "demo", "--upstream"]).exits(0).text();
    assert!(patch.contains("acme/demo 1.1.0") && patch.contains("+2. Group by kind and area."), "{patch}");
    let changes = patch.lines().any(|line| line.starts_with(['+', '-']) && line.contains("Write it down."));
    assert!(!changes, "the release's own changes are none of ours: {patch}");
    fs::write(sandbox.cwd().join("demo.patch"), &patch).unwrap();
    git(&sandbox, &["-C", "demo", "apply", "--verbose", "../demo.patch"]);
    assert_eq!(snapshot(&sandbox.cwd().join("demo")), snapshot(&sandbox.user_skill("demo")));
    let document = sandbox.done(&["diff", "demo", "--upstream"]);
    assert_eq!(document["files"].as_array().unwrap().len(), 1);
    sandbox.create("mine", "Body.\n");
    sandbox.ask(&["diff", "mine", "--upstream"]).refused_with_hint(7, "not_found");
    let releases = sandbox.done(&["info", "acme/demo"])["releases"].clone();
    assert_eq!([&releases[0]["version"], &releases[1]["version"]], ["1.1.0", "1.0.0"], "newest first");
}

#[test]
fn conflicting_update_becomes_a_proposal() {
    let sandbox = evolved(&BODY.replace("Group by kind.", "Sort by kind."));
    let before = snapshot(&sandbox.user_skill("demo"));
    let dry = sandbox.ask(&["update", "--dry-run"]).exits(6).json();
    assert_eq!(first(&dry)["conflicts"][0]["path"], "SKILL.md");
    assert_eq!((&first(&dry)["status"], &first(&dry)["proposal"]), (&json!("conflict"), &Value::Null), "{dry:#}");
    assert_eq!(sandbox.done(&["review", "list"])["proposals"], json!([]));
    let conflict = sandbox.ask(&["update"]).exits(6).json();
    let (status, id) = (&first(&conflict)["status"], first(&conflict)["proposal"].as_str().unwrap());
    assert_eq!((status, &conflict["error"]["code"]), (&json!("conflict"), &json!("merge_conflict")));
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    assert_eq!(locked(&sandbox)["version"].as_str(), Some("1.0.0"));
    let again = sandbox.ask(&["update"]).exits(6).json();
    assert_eq!(first(&again)["proposal"], id, "the same merge waits already");
    let file = sandbox.done(&["review", "show", id, "SKILL.md"]);
    let marked = file["text"].as_str().unwrap();
    let both = "<<<<<<< yours\n2. Group by kind and area.\n=======\n2. Sort by kind.\n>>>>>>> acme/demo 1.1.0\n";
    assert!(marked.contains(both), "{marked}");
    assert_eq!(sandbox.done(&["review", "show", id])["proposal"]["release"]["unresolved"], json!(["SKILL.md"]));
}

#[test]
fn unchanged_skills_share_one_line() {
    let sandbox = evolved(&BODY.replace("3. Write.", "3. Write it down."));
    for name in ["one", "two"] {
        sandbox.skill(name, "Reads notes. Use in tests.", &[]);
        sandbox.done(&["publish", name, "--owner", "acme", "--version", "1.0.0"]);
        sandbox.done(&["install", &format!("acme/{name}")]);
    }
    let told = sandbox.run(&["update", "--dry-run"]).exits(0).text();
    let unchanged: Vec<&str> = told.lines().filter(|line| line.contains("Unchanged")).collect();
    assert_eq!(unchanged, ["Unchanged acme/one, acme/two"], "{told}");
    assert!(told.ends_with("3 skills: 2 unchanged, 1 dry run\n"), "{told}");
}

#[test]
fn person_resolves_and_accepts_conflict() {
    let sandbox = evolved(&BODY.replace("Group by kind.", "Sort by kind."));
    let conflict = sandbox.ask(&["update"]).exits(6).json();
    let id = first(&conflict)["proposal"].as_str().unwrap();
    let token = sandbox.token();
    sandbox.ask(&["review", "accept", id]).refused(5, "policy_denied");
    let refused = sandbox.run_as(&token, &["review", "accept", id]).refused_with_hint(6, "merge_conflict");
    assert_eq!(refused["details"]["unresolved"], json!(["SKILL.md"]));
    // A file that still has markers does not count as settled.
    let marked = sandbox.done(&["review", "show", id, "SKILL.md"])["text"].as_str().unwrap().to_owned();
    fs::write(sandbox.cwd().join("half.md"), format!("{marked}\n- three\n")).unwrap();
    sandbox.run_as(&token, &["review", "edit", id, "--path", "SKILL.md", "--content", "half.md"]).done();
    sandbox.run_as(&token, &["review", "accept", &format!("{id}@2")]).refused(6, "merge_conflict");
    let settled =
        skill_md("demo", "Writes notes. Use in tests.", &BODY.replace("Group by kind.", "Sort by kind and area."));
    fs::write(sandbox.cwd().join("settled.md"), &settled).unwrap();
    let edited =
        sandbox.run_as(&token, &["review", "edit", id, "--path", "SKILL.md", "--content", "settled.md"]).done();
    let accept = format!("skillhub review accept {id}@3");
    assert!(edited["message"].as_str().unwrap().contains(&accept), "{edited:#}");
    let waiting = sandbox.ask(&["update"]).exits(6).json();
    assert!(first(&waiting)["error"]["hint"].as_str().unwrap().contains(&accept), "{waiting:#}");
    let report = sandbox.run_as(&token, &["review", "accept", &format!("{id}@3")]).done();
    assert_eq!([&report["status"], &report["action"]], ["applied", "update"]);
    assert_eq!(text(&sandbox), settled);
    assert_eq!(
        fs::read_to_string(sandbox.user_skill("demo").join("references/a.md")).unwrap(),
        "alpha\nbeta\ngamma\nDELTA\n"
    );
    let entry = locked(&sandbox);
    assert_eq!(entry["version"].as_str(), Some("1.1.0"), "the lock file follows");
    assert_eq!(first(&sandbox.done(&["update"]))["status"], "unchanged");
    assert_eq!(sandbox.done(&["list"])["skills"][0]["version"], "1.1.0");
    sandbox.done(&["install", "--frozen"]);
}

#[test]
fn conflicts_can_take_one_side() {
    for (flag, line) in [("--theirs", "2. Sort by kind."), ("--ours", "2. Group by kind and area.")] {
        let next = BODY.replace("Group by kind.", "Sort by kind.").replace("- two", "- two\n- three");
        let sandbox = evolved(&next);
        let waiting = sandbox.ask(&["update"]).exits(6).json();
        let updated = sandbox.done(&["update", "demo", flag]);
        assert_eq!([&first(&updated)["status"], &first(&updated)["version"]], ["merged", "1.1.0"]);
        let merged = text(&sandbox);
        assert!(merged.contains(line) && merged.contains("- three"), "what does not clash comes from both: {merged}");
        let id = first(&waiting)["proposal"].as_str().unwrap();
        assert_eq!(sandbox.done(&["review", "show", id])["proposal"]["state"], "superseded");
        sandbox.done(&["rollback", "demo"]);
        assert!(text(&sandbox).contains("Group by kind and area."));
    }
}

#[test]
fn newer_release_supersedes_update_proposal() {
    let sandbox = evolved(&BODY.replace("Group by kind.", "Sort by kind."));
    let line = |run: usize| format!("{}\n", json!({"skill": "demo", "event": "completed", "run": format!("r{run}")}));
    let lines: String = (0..4).map(line).collect();
    sandbox.run_with(&["record", "--request", "-", "--json"], lines.as_bytes()).done();
    let older = sandbox.ask(&["update"]).exits(6).json();
    let older = first(&older)["proposal"].as_str().unwrap();
    let shown = sandbox.done(&["review", "show", older])["proposal"].clone();
    let releases = sandbox.done(&["info", "acme/demo"])["releases"].clone();
    let (base, theirs) = (releases[1]["digest"].as_str().unwrap(), releases[0]["digest"].as_str().unwrap());
    let head = sandbox.done(&["history", "demo"])["revisions"][0].clone();
    let here = sandbox.done(&["status", "demo"]);
    assert_eq!(here["skills"][0]["state"], "clean");
    let texts: Vec<&str> =
        shown["evidence"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(texts[0], format!("installed: acme/demo 1.0.0, {base}"), "{texts:#?}");
    let id = head["revision"].as_str().unwrap();
    assert!(texts[1].starts_with(&format!("here: revision {} ({}", head["number"], &id[..7])), "{texts:#?}");
    assert!(texts[1].contains("sha256:"), "{texts:#?}");
    assert_eq!(texts[2], format!("comes: acme/demo 1.1.0, {theirs}"));
    assert!(texts[3].starts_with("4 runs of revision 2: 4 succeeded, 0 failed, 0 unknown; 100 %"), "{texts:#?}");
    let line = text(&sandbox).lines().position(|line| line.starts_with("2. ")).unwrap() + 1;
    assert_eq!(texts[4], format!("conflict: both sides changed line {line} of SKILL.md differently"));
    assert!(!texts.concat().contains("r0"), "no run is named: {texts:#?}");
    let told = sandbox.run(&["review", "show", older]).exits(0).text();
    assert!(told.contains("installed: acme/demo 1.0.0") && told.contains("conflict: both sides"), "{told}");

    publish(&sandbox, "1.2.0", &BODY.replace("Group by kind.", "Sort by kind and name."), &[]);
    let newer = sandbox.ask(&["update"]).exits(6).json();
    let newer = first(&newer)["proposal"].as_str().unwrap();
    let shown = sandbox.done(&["review", "show", older])["proposal"].clone();
    assert_eq!([&shown["state"], &shown["superseded_by"]], [&json!("superseded"), &json!(newer)]);
    assert_eq!(sandbox.done(&["review", "list"])["proposals"].as_array().unwrap().len(), 1);
    sandbox.done(&["rollback", "demo", "1"]);
    let updated = sandbox.done(&["update"]);
    assert_eq!([&first(&updated)["status"], &first(&updated)["version"]], ["updated", "1.2.0"]);
    assert_eq!(sandbox.done(&["review", "show", newer])["proposal"]["state"], "superseded");
    assert_eq!(sandbox.done(&["review", "list"])["proposals"], json!([]));
}

#[test]
fn intervening_edit_makes_a_new_proposal() {
    let sandbox = evolved(&BODY.replace("Group by kind.", "Sort by kind."));
    let one = sandbox.ask(&["update"]).exits(6).json();
    patch(&sandbox, "- one", "- ONE");
    let two = sandbox.ask(&["update"]).exits(6).json();
    let ids = [&one, &two].map(|document| first(document)["proposal"].as_str().unwrap());
    assert_ne!(ids[0], ids[1]);
    let shown = sandbox.done(&["review", "show", ids[0]]);
    assert_eq!(shown["proposal"]["state"], "superseded");
    assert_eq!(shown["proposal"]["superseded_by"], ids[1]);
    assert!(sandbox.done(&["review", "show", ids[1], "SKILL.md"])["text"].as_str().unwrap().contains("- ONE"));
    // An agent's own change does not join the update that waits.
    patch(&sandbox, "- two", "- TWO");
    assert_eq!(sandbox.done(&["review", "list"])["proposals"].as_array().unwrap().len(), 1);
}

#[test]
fn replaced_resolution_is_named_and_kept() {
    let sandbox = evolved(&BODY.replace("Group by kind.", "Sort by kind."));
    let conflict = sandbox.ask(&["update"]).exits(6).json();
    let id = first(&conflict)["proposal"].as_str().unwrap();
    let settled = skill_md("demo", "Writes notes. Use in tests.", &BODY.replace("Group by kind.", "Settled."));
    fs::write(sandbox.cwd().join("settled.md"), &settled).unwrap();
    let edit = ["review", "edit", id, "--path", "SKILL.md", "--content", "settled.md"];
    sandbox.run_as(&sandbox.token(), &edit).done();
    patch(&sandbox, "- one", "- ONE");
    let again = sandbox.ask(&["update"]).exits(6).json();
    assert_ne!(first(&again)["proposal"], id);
    let kept = format!("skillhub review show {id} SKILL.md");
    assert!(first(&again)["warnings"][0].as_str().unwrap().contains(&kept), "{again:#}");
    assert_eq!(sandbox.done(&["review", "show", id, "SKILL.md"])["text"], settled.as_str());
    let shown = sandbox.run(&["review", "show", id]).exits(0).text();
    assert!(shown.contains("closed ") && !shown.contains("decided"), "{shown}");
}

#[test]
fn moved_or_removed_skill_of_a_repository_is_explained() {
    let sandbox = Sandbox::new();
    let up = sandbox.path("up");
    for name in ["a", "c"] {
        let text = skill_md(name, "Writes notes. Use in tests.", BODY);
        write_files(&up.join("skills").join(name), &[("SKILL.md", text.as_bytes(), false)]);
    }
    repository(&sandbox, &up);
    let commit = || {
        git(&sandbox, &["-C", up.to_str().unwrap(), "add", "--all"]);
        git(&sandbox, &["-C", up.to_str().unwrap(), "commit", "--quiet", "--message=next"]);
    };
    let url = format!("git+file://{}", up.display());
    sandbox.done(&["install", &format!("{url}#skills/c")]);
    fs::rename(up.join("skills/c"), up.join("skills/cc")).unwrap();
    commit();
    let moved = sandbox.ask(&["update"]).exits(7).json();
    let hint = first(&moved)["error"]["hint"].as_str().unwrap();
    assert!(hint.ends_with(&format!("skillhub install '{url}#skills/cc'")), "{moved:#}");
    fs::remove_dir_all(up.join("skills/cc")).unwrap();
    commit();
    let gone = sandbox.ask(&["update"]).exits(7).json();
    assert!(first(&gone)["error"]["hint"].as_str().unwrap().starts_with("keep or uninstall it"), "{gone:#}");
}

#[test]
fn blocked_release_changes_nothing() {
    let sandbox = evolved(BODY);
    let folder = sandbox.cwd().join("fork");
    write_files(&folder, &[("SKILL.md", skill_md("fork", "Writes notes. Use in tests.", BODY).as_bytes(), false)]);
    sandbox.done(&["install", "./fork"]);
    let before = snapshot(&sandbox.user_skill("fork"));
    write_files(&folder, &[("scripts/run.sh", hostile_script().as_bytes(), true)]);
    let blocked = sandbox.ask(&["update", "fork"]).exits(4).json();
    assert_eq!(first(&blocked)["status"], "blocked");
    assert!(!blocked["error"]["details"]["findings"].as_array().unwrap().is_empty());
    assert_eq!(snapshot(&sandbox.user_skill("fork")), before);
    let both = sandbox.ask(&["update"]).exits(4).json();
    let statuses: Vec<&Value> = both["skills"].as_array().unwrap().iter().map(|skill| &skill["status"]).collect();
    assert_eq!(statuses, ["merged", "blocked"], "a batch does what passes");
}

#[test]
fn hand_edits_follow_moved_files() {
    let sandbox = Sandbox::new();
    publish(&sandbox, "1.0.0", BODY, &[("references/a.md", "alpha\nbeta\ngamma\ndelta\n")]);
    sandbox.done(&["install", "acme/demo"]);
    let file = sandbox.user_skill("demo").join("references/a.md");
    fs::write(&file, "ALPHA\r\nbeta\r\ngamma\r\ndelta\r\n").unwrap();
    publish(&sandbox, "2.0.0", BODY, &[("references/b.md", "alpha\nbeta\ngamma\nDELTA\n")]);
    assert_eq!(first(&sandbox.done(&["update"]))["status"], "merged");
    assert!(!file.exists());
    let moved = fs::read_to_string(sandbox.user_skill("demo").join("references/b.md")).unwrap();
    assert_eq!(moved, "ALPHA\r\nbeta\r\ngamma\r\nDELTA\r\n");
}

#[test]
fn update_never_downgrades() {
    let sandbox = Sandbox::new();
    publish(&sandbox, "1.0.0", BODY, &[]);
    publish(&sandbox, "1.1.0", &BODY.replace("one", "two"), &[]);
    sandbox.done(&["install", "acme/demo"]);
    sandbox.done(&["yank", "acme/demo@1.1.0"]);
    let updated = sandbox.done(&["update"]);
    assert_eq!([&first(&updated)["status"], &first(&updated)["version"]], ["unchanged", "1.1.0"]);
    assert!(first(&updated)["warnings"][0].as_str().unwrap().contains("was yanked"), "{updated:#}");
    assert_eq!(first(&sandbox.done(&["update", "demo@1.0.0"]))["status"], "updated", "unless it is named");
    publish(&sandbox, "1.2.0", &BODY.replace("one", "three"), &[]);
    let held = sandbox.done(&["update"]);
    assert_eq!(first(&held)["status"], "unchanged", "an exact version was asked for");
    assert!(first(&held)["warnings"][0].as_str().unwrap().contains("skillhub update acme/demo@1.2.0"), "{held:#}");
    assert_eq!(first(&sandbox.done(&["update", "acme/demo@latest"]))["version"], "1.2.0");
    fs::remove_dir_all(sandbox.skillhub_home().join("registry")).unwrap();
    let gone = sandbox.ask(&["update"]).exits(7).json();
    assert_eq!(gone["error"]["code"], "not_found");
    assert!(sandbox.user_skill("demo").exists());
}

#[test]
fn impossible_update_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.create("mine", "Body.\n");
    sandbox.ask(&["update", "mine"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["update", "none"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["update", "@1"]).refused(2, "usage");
    sandbox.ask(&["update", "mine@x.y"]).refused_with_hint(2, "invalid_spec");
    assert_eq!(sandbox.done(&["update"])["skills"], json!([]));
    assert_eq!(sandbox.done(&["outdated"])["skills"], json!([]));
    publish(&sandbox, "1.0.0", BODY, &[]);
    sandbox.done(&["install", "acme/demo"]);
    sandbox.ask(&["update", "demo@^3"]).refused_with_hint(7, "not_found");
    let text = sandbox.run(&["outdated"]).exits(0).text();
    assert!(text.contains("The installed skill is up to date"), "{text}");
}

/// Returns the lines that list added capabilities.
fn added_in(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("  + ")).collect()
}

fn lock_text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.done(&["where"])["lock"].as_str().unwrap()).unwrap()
}

const COUNTS: &str = "#!/bin/sh\nwc -l notes.txt\n";

/// acme/demo 1.0.0 installed, and 1.1.0 that asks a host.
fn asking() -> Sandbox {
    let sandbox = Sandbox::new();
    publish(&sandbox, "1.0.0", BODY, &[("scripts/run.sh", COUNTS)]);
    let installed = sandbox.run(&["install", "acme/demo"]).exits(0).text();
    assert_eq!(added_in(&installed), [""; 0], "all of a new skill is new");
    let body = format!("{BODY}\nSends the number of lines, and nothing else, to `api.metrics.dev`.\n");
    let asks = format!("{COUNTS}curl -s https://api.metrics.dev/v1\n");
    publish(&sandbox, "1.1.0", &body, &[("scripts/run.sh", &asks)]);
    sandbox
}

#[test]
fn update_shows_new_capabilities() {
    let sandbox = asking();
    let added = ["  + network api.metrics.dev", "  + runs curl"];
    let dry = sandbox.run(&["update", "--dry-run"]).exits(0).text();
    assert_eq!(added_in(&dry), added, "{dry}");
    let dry = sandbox.done(&["update", "--dry-run"]);
    let host = json!({"kind": "network", "what": "api.metrics.dev", "in_text": false});
    assert_eq!((&first(&dry)["capabilities_added"][0], &first(&dry)["capabilities_removed"]), (&host, &json!([])));
    let before = lock_text(&sandbox);
    let updated = sandbox.run(&["update"]).exits(0).text();
    assert_eq!(added_in(&updated), added, "{updated}");
    let after = lock_text(&sandbox);
    let new: Vec<&str> = after.lines().filter(|line| line.starts_with("  ") && !before.contains(line)).collect();
    assert_eq!(new, ["  \"network api.metrics.dev\",", "  \"runs curl\","], "{after}");
    assert_eq!(added_in(&sandbox.run(&["update"]).exits(0).text()), [""; 0]);
    publish(&sandbox, "1.2.0", BODY, &[("scripts/run.sh", COUNTS)]);
    let back = sandbox.done(&["update"]);
    assert_eq!((&first(&back)["capabilities_added"], &first(&back)["capabilities_removed"][0]), (&json!([]), &host));
    assert_eq!(locked(&sandbox)["capabilities"], toml::Value::from(vec!["runs wc"]));
}

#[test]
fn merge_shows_new_capabilities() {
    let sandbox = asking();
    patch(&sandbox, "Group by kind.", "Group by kind and area.");
    let merged = sandbox.done(&["update"]);
    assert_eq!(
        (&first(&merged)["status"], &first(&merged)["capabilities_added"][1]["what"]),
        (&json!("merged"), &json!("curl"))
    );
}

#[test]
fn old_lock_entries_gain_capabilities_later() {
    let sandbox = asking();
    let lock = sandbox.done(&["where"])["lock"].as_str().unwrap().to_owned();
    let old = lock_text(&sandbox).replace("capabilities = [\n  \"runs wc\",\n]\n", "");
    assert!(!old.contains("capabilities"), "{old}");
    fs::write(&lock, &old).unwrap();
    sandbox.done(&["install"]);
    sandbox.done(&["install", "--frozen"]);
    sandbox.done(&["verify"]);
    assert_eq!(lock_text(&sandbox), old);
    let run = "sort notes.txt\n";
    fs::write(sandbox.cwd().join("run"), run).unwrap();
    sandbox.done(&["manage", "write_file", "demo", "--path", "scripts/run.sh", "--content", "run"]);
    assert_eq!(locked(&sandbox)["capabilities"], toml::Value::from(vec!["runs sort"]));
    sandbox.done(&["rollback", "demo"]);
    assert_eq!(locked(&sandbox)["capabilities"], toml::Value::from(vec!["runs wc"]));
}

#[test]
fn other_library_is_named_with_its_flag() {
    let sandbox = Sandbox::project();
    sandbox.skill("here", "Writes notes. Use in tests.", &[]);
    sandbox.skill("mine", "Writes notes. Use in tests.", &[]);
    sandbox.done(&["install", "./here"]);
    sandbox.done(&["install", "./mine", "--global"]);
    for command in ["update", "uninstall"] {
        for (name, scope, other) in [("here", "--global", "--project"), ("mine", "--project", "--global")] {
            let error = sandbox.ask(&[command, name, scope]).refused_with_hint(7, "not_found");
            let hint = error["hint"].as_str().unwrap();
            assert!(hint.ends_with(&format!(": skillhub {command} {name} {other}")), "{hint}");
        }
    }
}
