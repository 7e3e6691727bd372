//! `import`: what `npx skills` and ClawHub installed, taken over with where it came from.

use std::{fs, path::Path};

use serde_json::{Value, json};
use skill::Digest;

use crate::support::{Sandbox, git, repository, skill_md, snapshot, write_files};

const STEPS: &str = "# Steps\n\n1. Read.\n2. Sort.\n3. Write.\n4. Check.\n5. Tell.\n";

/// A project whose team used `npx skills`, with the repository that the skills are from.
fn project() -> Sandbox {
    let sandbox = Sandbox::project();
    let upstream = sandbox.path("upstream");
    for name in ["forms", "notes"] {
        write_skill(&upstream.join("skills").join(name), name, STEPS);
    }
    repository(&sandbox, &upstream);
    sandbox
}

fn write_skill(folder: &Path, name: &str, body: &str) {
    let text = skill_md(name, &format!("Handles {name}. Use in tests."), body);
    write_files(folder, &[("SKILL.md", text.as_bytes(), false), ("references/a.md", b"alpha\n", false)]);
}

fn url(sandbox: &Sandbox) -> String {
    format!("file://{}", sandbox.path("upstream").display())
}

/// Computes the hash that `npx skills` records of a skill's files.
fn computed_hash(folder: &Path) -> String {
    let mut all = Vec::new();
    for path in ["references/a.md", "SKILL.md"] {
        all.extend(path.bytes());
        all.extend(fs::read(folder.join(path)).unwrap());
    }
    Digest::of_bytes(&all).hex()
}

fn entry(sandbox: &Sandbox, name: &str) -> Value {
    let folder = sandbox.path("upstream/skills").join(name);
    json!({
        "source": url(sandbox), "sourceType": "git", "skillPath": format!("skills/{name}/SKILL.md"),
        "computedHash": computed_hash(&folder),
    })
}

/// Installs as the other tool does: files, a link, and a line in its lock file.
fn installed_by_npx(sandbox: &Sandbox, names: &[&str]) {
    let mut skills = serde_json::Map::new();
    for name in names {
        let from = sandbox.path("upstream/skills").join(name);
        let to = folder(sandbox, name);
        for path in ["SKILL.md", "references/a.md"] {
            write_files(&to, &[(path, &fs::read(from.join(path)).unwrap(), false)]);
        }
        skills.insert((*name).to_owned(), entry(sandbox, name));
    }
    lock(sandbox, &json!({"version": 1, "skills": skills}));
}

fn lock(sandbox: &Sandbox, content: &Value) {
    fs::write(sandbox.cwd().join("skills-lock.json"), format!("{content:#}\n")).unwrap();
}

fn folder(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    sandbox.cwd().join(".agents/skills").join(name)
}

/// Makes another release of a skill.
fn release(sandbox: &Sandbox, name: &str, find: &str, replace: &str) {
    let path = sandbox.path("upstream/skills").join(name).join("SKILL.md");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace(find, replace)).unwrap();
    let upstream = sandbox.path("upstream").display().to_string();
    git(sandbox, &["-C", &upstream, "commit", "--quiet", "--all", "--message=more"]);
}

fn edit(sandbox: &Sandbox, name: &str, find: &str, replace: &str) {
    let path = folder(sandbox, name).join("SKILL.md");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace(find, replace)).unwrap();
}

fn text(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(folder(sandbox, name).join("SKILL.md")).unwrap()
}

fn statuses(document: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    document["skills"].as_array().unwrap().iter().map(|row| (word(&row["key"]), word(&row["status"]))).collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(key, status)| ((*key).to_owned(), (*status).to_owned())).collect()
}

#[cfg(unix)]
#[test]
fn import_adopts_or_installs_every_skill() {
    let sandbox = project();
    installed_by_npx(&sandbox, &["forms"]);
    let both = json!({"forms": entry(&sandbox, "forms"), "notes": entry(&sandbox, "notes")});
    lock(&sandbox, &json!({"version": 1, "skills": both}));
    fs::create_dir_all(sandbox.cwd().join(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../.agents/skills/forms", sandbox.cwd().join(".claude/skills/forms")).unwrap();
    let foreign = fs::read(sandbox.cwd().join("skills-lock.json")).unwrap();
    let before = snapshot(&sandbox.cwd());
    let dry = sandbox.done(&["import", "--dry-run"]);
    assert_eq!(statuses(&dry), pairs(&[("forms", "dry_run"), ("notes", "dry_run")]));
    assert_eq!(snapshot(&sandbox.cwd()), before, "a dry run changes nothing");
    let document = sandbox.done(&["import"]);
    assert_eq!(statuses(&document), pairs(&[("forms", "imported"), ("notes", "installed")]));
    assert_eq!(fs::read(sandbox.cwd().join("skills-lock.json")).unwrap(), foreign, "the other tool's file stays");
    let listed = sandbox.done(&["list"]);
    let names: Vec<&str> = listed["skills"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["forms", "notes"]);
    sandbox.done(&["verify"]);
    sandbox.done(&["install", "--frozen"]);
    assert_eq!(sandbox.done(&["outdated"])["skills"], json!([]));
    assert_eq!(
        statuses(&sandbox.done(&["import"])),
        pairs(&[("forms", "unchanged"), ("notes", "unchanged")]),
        "a second time there is nothing to do"
    );
    release(&sandbox, "forms", "2. Sort.", "2. Sort by date.");
    edit(&sandbox, "forms", "5. Tell.", "5. Tell the team.");
    let outdated = sandbox.done(&["outdated"]);
    assert_eq!(outdated["skills"].as_array().unwrap().len(), 1, "{outdated:#}");
    assert_eq!(sandbox.done(&["update"])["skills"][0]["status"], "merged");
    let merged = text(&sandbox, "forms");
    assert!(merged.contains("Sort by date.") && merged.contains("Tell the team."), "{merged}");
    sandbox.done(&["uninstall", "forms"]);
    assert!(fs::symlink_metadata(sandbox.cwd().join(".claude/skills/forms")).is_err(), "its link goes with it");
}

#[test]
fn import_can_be_undone() {
    let sandbox = project();
    installed_by_npx(&sandbox, &["forms"]);
    let before = snapshot(&folder(&sandbox, "forms"));
    fs::create_dir_all(sandbox.cwd().join(".claude/skills")).unwrap();
    let link = sandbox.cwd().join(".claude/skills/forms");
    std::os::unix::fs::symlink("../../.agents/skills/forms", &link).unwrap();
    sandbox.done(&["import"]);
    assert!(sandbox.cwd().join("skillhub.lock").exists());
    let undone = sandbox.done(&["undo"]);
    assert_eq!(undone["undone"]["action"], "adopt");
    assert_eq!(snapshot(&folder(&sandbox, "forms")), before);
    assert!(fs::read(link.join("SKILL.md")).is_ok(), "the link that was there stays");
    assert_eq!(sandbox.done(&["list"])["skills"][0]["managed"], false);
    assert_eq!(statuses(&sandbox.done(&["import"])), pairs(&[("forms", "imported")]), "and it can be done again");
}

/// As `npx skills` does for one agent alone: a copy in its folder, and nothing else. It becomes a link.
#[test]
fn imported_copies_become_links() {
    let sandbox = project();
    installed_by_npx(&sandbox, &["forms", "notes"]);
    let copies = sandbox.cwd().join(".claude/skills");
    fs::create_dir_all(&copies).unwrap();
    for name in ["forms", "notes"] {
        fs::rename(folder(&sandbox, name), copies.join(name)).unwrap();
    }
    let document = sandbox.done(&["import"]);
    assert_eq!(statuses(&document), pairs(&[("forms", "imported"), ("notes", "imported")]));
    assert!(document["skills"][0]["warnings"].as_array().unwrap().is_empty(), "{document:#}");
    release(&sandbox, "forms", "2. Sort.", "2. Sort by date.");
    let of_notes = copies.join("notes/SKILL.md");
    fs::write(&of_notes, format!("{}More.\n", fs::read_to_string(&of_notes).unwrap())).unwrap();
    sandbox.done(&["update"]);
    assert_eq!(snapshot(&copies.join("forms")), snapshot(&folder(&sandbox, "forms")), "the agent sees the release");
    sandbox.done(&["uninstall", "forms", "notes"]);
    assert!(!copies.join("forms").exists());
    assert!(!of_notes.exists());
    let history = sandbox.done(&["history", "notes"]);
    let reasons = history["revisions"].to_string();
    assert!(reasons.contains("\"external\""), "the edit through the link is a revision: {reasons}");
}

#[test]
fn changes_before_import_are_kept() {
    let sandbox = project();
    installed_by_npx(&sandbox, &["forms", "notes"]);
    edit(&sandbox, "forms", "5. Tell.", "5. Tell the team.");
    edit(&sandbox, "notes", "5. Tell.", "5. Tell nobody.");
    // Of forms the source has what was installed still; of notes it has not.
    release(&sandbox, "notes", "2. Sort.", "2. Sort by name.");
    let document = sandbox.done(&["import"]);
    assert_eq!(statuses(&document), pairs(&[("forms", "imported"), ("notes", "imported")]));
    assert!(document["skills"].as_array().unwrap().iter().all(|row| row["changed"] == true), "{document:#}");
    assert!(text(&sandbox, "forms").contains("Tell the team.") && text(&sandbox, "notes").contains("Tell nobody."));
    sandbox.done(&["install", "--frozen"]);
    sandbox.done(&["verify"]);
    fs::remove_dir_all(sandbox.cwd().join(".agents")).unwrap();
    fs::remove_dir_all(sandbox.skillhub_home().join("libraries")).unwrap();
    sandbox.done(&["install", "--offline"]);
    assert!(text(&sandbox, "notes").contains("Tell nobody."), "restored as it was imported");
    edit(&sandbox, "forms", "5. Tell.", "5. Tell the team.");
    release(&sandbox, "forms", "2. Sort.", "2. Sort by date.");
    let updated = sandbox.ask(&["update"]).exits(6).json();
    assert_eq!(updated["skills"][0]["status"], "merged");
    let merged = text(&sandbox, "forms");
    assert!(merged.contains("Sort by date.") && merged.contains("Tell the team."), "{merged}");
    assert_eq!(updated["skills"][1]["status"], "conflict", "a person decides: {updated:#}");
    assert!(text(&sandbox, "notes").contains("Tell nobody."), "until then it stays as it is");
    assert!(updated["skills"][1]["proposal"].is_string());
}

#[test]
fn offline_import_adopts_local_skills() {
    let sandbox = project();
    installed_by_npx(&sandbox, &["forms"]);
    let gone = json!({
        "forms": {"source": "o/r", "sourceType": "github", "skillPath": "skills/forms/SKILL.md",
                  "computedHash": computed_hash(&sandbox.path("upstream/skills/forms"))},
        "elsewhere": {"source": "o/r", "sourceType": "github", "skillPath": "skills/elsewhere/SKILL.md"},
        "packaged": {"source": "left-pad", "sourceType": "node_modules"},
    });
    lock(&sandbox, &json!({"version": 1, "skills": gone}));
    let document = sandbox.done(&["import", "--offline"]);
    assert_eq!(
        statuses(&document),
        pairs(&[("elsewhere", "left"), ("forms", "imported"), ("packaged", "left")]),
        "{document:#}"
    );
    let row = &document["skills"][1];
    assert_eq!([&row["changed"], &row["commit"]], [&json!(false), &Value::Null]);
    assert!(row["warnings"][0].as_str().unwrap().contains("commit"), "{row:#}");
    let told = sandbox.run(&["import", "--offline"]).exits(0).text();
    assert!(told.contains("left-pad") && told.contains("folder is missing"), "{told}");
}

#[test]
fn clawhub_and_user_files_are_imported() {
    let sandbox = Sandbox::new();
    let upstream = sandbox.path("upstream");
    write_skill(&upstream.join("forms"), "forms", STEPS);
    repository(&sandbox, &upstream);
    let tree = git(&sandbox, &["-C", upstream.to_str().unwrap(), "rev-parse", "HEAD:forms"]).trim().to_owned();
    write_skill(&sandbox.user_skill("forms"), "forms", STEPS);
    let entry = json!({
        "source": "team/skills", "sourceUrl": url(&sandbox), "sourceType": "git", "skillPath": "forms/SKILL.md",
        "skillFolderHash": tree, "installedAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
    });
    let file = json!({"version": 3, "skills": {"forms": entry}, "dismissed": {}});
    fs::write(sandbox.home().join(".agents/.skill-lock.json"), file.to_string()).unwrap();
    let document = sandbox.done(&["import", "--offline"]);
    assert_eq!(statuses(&document), pairs(&[("forms", "imported")]));
    assert_eq!(document["skills"][0]["changed"], false, "git's own id of the folder tells: {document:#}");
    let of_clawhub = sandbox.cwd().join(".clawhub/lock.json");
    fs::create_dir(of_clawhub.parent().unwrap()).unwrap();
    let content = json!({"version": 1, "skills": {
        "@acme/tidy": {"version": "1.2.0", "installedAt": 1, "pinned": true},
        "gone": {"version": null, "installedAt": 1},
    }});
    fs::write(&of_clawhub, content.to_string()).unwrap();
    write_skill(&sandbox.cwd().join("skills/tidy"), "tidy", STEPS);
    write_files(&sandbox.cwd().join("skills/tidy"), &[(".clawhub/origin.json", b"{}", false)]);
    let document = sandbox.done(&["import", of_clawhub.to_str().unwrap()]);
    assert!(!sandbox.user_skill("tidy/.clawhub").exists(), "what the tool notes for itself is no part of the skill");
    sandbox.done(&["install", "--frozen"]);
    assert_eq!(statuses(&document), pairs(&[("@acme/tidy", "imported"), ("gone", "left")]), "{document:#}");
    assert_eq!(document["skills"][0]["version"], "1.2.0");
    let told = sandbox.done(&["update"]);
    let warned = told["skills"].as_array().unwrap().iter().find(|row| row["name"] == "tidy").unwrap();
    assert!(warned["warnings"][0].as_str().unwrap().contains("clawhub.ai/acme/tidy"), "{told:#}");
}

#[test]
fn broken_import_file_changes_nothing() {
    let sandbox = project();
    installed_by_npx(&sandbox, &["forms"]);
    sandbox.ask(&["import", "nowhere.json"]).refused_with_hint(3, "invalid_lock_file");
    sandbox.ask(&["import", "none/skills-lock.json"]).refused_with_hint(7, "not_found");
    let good = entry(&sandbox, "forms");
    let with = |entry: Value| json!({"version": 1, "skills": {"forms": good.clone(), "other": entry}}).to_string();
    let cases = [
        ("", 3, "invalid_lock_file"),
        ("{\"version\":7,\"skills\":{}}", 3, "invalid_lock_file"),
        ("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", 6, "merge_conflict"),
        (&with(json!({"source": 1, "sourceType": "git"})), 3, "invalid_lock_file"),
        (&with(json!({"source": "ext::sh -c 'touch x'", "sourceType": "git"})), 3, "invalid_lock_file"),
        (&with(json!({"source": "--upload-pack=x", "sourceType": "git"})), 3, "invalid_lock_file"),
        (&with(json!({"source": "o/r", "sourceType": "github", "skillPath": "../../x"})), 3, "invalid_lock_file"),
    ];
    for (text, exit, code) in cases {
        fs::write(sandbox.cwd().join("skills-lock.json"), text).unwrap();
        let before = snapshot(&sandbox.cwd());
        sandbox.ask(&["import"]).refused_with_hint(exit, code);
        assert_eq!(snapshot(&sandbox.cwd()), before, "{text}");
    }
    let elsewhere = json!({"source": "left-pad", "sourceType": "node_modules"});
    let names = json!({"../../../escape": elsewhere, "..": elsewhere, "CON": elsewhere});
    lock(&sandbox, &json!({"version": 1, "skills": names}));
    let document = sandbox.ask(&["import"]).exits(3).json();
    assert_eq!(document["skills"][0]["error"]["code"], "invalid_name", "{document:#}");
    assert!(!sandbox.path("escape").exists() && !sandbox.cwd().join("escape").exists());
}

#[cfg(unix)]
#[test]
fn linked_skill_folder_is_never_followed() {
    let sandbox = project();
    installed_by_npx(&sandbox, &["forms"]);
    let secret = sandbox.path("secret/forms");
    write_skill(&secret, "forms", "# Secret\n\nThe pass word is here.\n");
    fs::remove_dir_all(folder(&sandbox, "forms")).unwrap();
    std::os::unix::fs::symlink(&secret, folder(&sandbox, "forms")).unwrap();
    let document = sandbox.ask(&["import"]).exits(6).json();
    assert_eq!(document["skills"][0]["folder"], Value::Null);
    assert!(!document.to_string().contains("pass word"));
    assert!(fs::symlink_metadata(folder(&sandbox, "forms")).unwrap().is_symlink(), "it stays as it is");
    let mut search = std::process::Command::new("grep");
    let found = search.args(["-r", "pass word"]).arg(sandbox.skillhub_home()).output();
    assert!(!found.unwrap().status.success());
}
