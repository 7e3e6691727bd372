//! The documents printed by `--json`, field by field. Every field listed here is a stable contract.

use serde_json::{Value, json};

use crate::support::{Sandbox, canonical, hostile_script, write_files};

/// The type of each field, by a letter: s text, n number, b true or false, a list, o object, ? null or any.
#[track_caller]
fn assert_fields(value: &Value, fields: &str) {
    for field in fields.split_whitespace() {
        let (key, kind) = field.rsplit_once(':').unwrap();
        let found = value.get(key).unwrap_or_else(|| panic!("no {key} in {value:#}"));
        let fits = match kind {
            "s" => found.as_str().is_some_and(|text| !text.is_empty()),
            "n" => found.is_u64(),
            "b" => found.is_boolean(),
            "a" => found.is_array(),
            "o" => found.is_object(),
            _ => true,
        };
        assert!(fits, "{key} is not of kind {kind} in {value:#}");
    }
}

/// Returns the validator of a schema in `docs/schemas`.
pub fn schema(name: &str) -> jsonschema::Validator {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schemas/{name}.json"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
pub fn assert_fits(name: &str, document: &Value) {
    let faults: Vec<String> = schema(name).iter_errors(document).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{name}: {faults:?} in {document:#}");
}

fn published() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Writes notes. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    sandbox.done(&["publish", "demo", "--owner", "acme"]);
    sandbox
}

#[test]
fn validate_lists_skills_and_their_problems() {
    let sandbox = Sandbox::new();
    sandbox.skill("good", "Does good. Use in tests.", &[]);
    write_files(&sandbox.cwd(), &[("bad/SKILL.md", b"---\nname: bad\n---\n\n# Bad\n", false)]);
    let document = sandbox.ask(&["validate", "good", "bad"]).exits(3).json();
    let skills = document["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 2);
    skills.iter().for_each(|skill| assert_fields(skill, "path:s name:s valid:b problems:a"));
    assert_eq!((&skills[0]["valid"], &skills[1]["valid"]), (&json!(true), &json!(false)));
    assert_eq!(skills[0]["path"], canonical(&sandbox.cwd().join("good")));
    assert_fields(&skills[1]["problems"][0], "code:s severity:s message:s path:s line:?");
    assert_eq!(sandbox.done(&["validate", "good"])["skills"][0]["problems"], json!([]));
}

#[test]
fn scan_lists_findings_on_every_exit() {
    let sandbox = Sandbox::new();
    sandbox.skill("good", "Does good. Use in tests.", &[]);
    sandbox.skill("bad", "Does bad. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    let document = sandbox.ask(&["scan", "good", "bad"]).exits(4).json();
    assert_fields(&document, "ruleset:s skills:a");
    let skills = document["skills"].as_array().unwrap();
    skills.iter().for_each(|skill| assert_fields(skill, "path:s name:s verdict:s findings:a"));
    assert_eq!((&skills[0]["verdict"], &skills[1]["verdict"]), (&json!("allow"), &json!("block")));
    let finding = &skills[1]["findings"][0];
    assert_fields(finding, "rule:s severity:s category:s path:s line:n excerpt:s message:s remedy:s new:b");
    assert_eq!((&finding["path"], &finding["line"]), (&json!("scripts/report.sh"), &json!(2)));
    sandbox.done(&["scan", "good"]);
    sandbox
        .ask(&["scan", "bad", "--fail-on", "critical"])
        .exits(i32::from(finding["severity"] == "critical") * 4)
        .json();
}

#[test]
fn pack_names_file_digest_and_size() {
    let sandbox = published();
    let document = sandbox.done(&["pack", "demo", "-o", "out.skill"]);
    assert_fields(&document, "file:s digest:s size:n");
    let size = std::fs::metadata(sandbox.cwd().join("out.skill")).unwrap().len();
    assert_eq!(document["size"], size);
    assert!(document["digest"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn publish_names_registry_version_and_digest() {
    let sandbox = published();
    let again = sandbox.done(&["publish", "demo", "--owner", "acme"]);
    assert_fields(&again, "status:s registry:s name:s version:s digest:s size:n verdict:s");
    assert_eq!([&again["status"], &again["name"], &again["version"]], ["unchanged", "acme/demo", "1.0.0"]);
    assert_eq!(again["registry"], sandbox.done(&["where"])["registry"]);
    assert_eq!(again["digest"], sandbox.done(&["pack", "demo"])["digest"]);
    sandbox.skill("demo", "Writes other notes. Use in tests.", &[]);
    let dry = sandbox.done(&["publish", "demo", "--owner", "acme", "--dry-run"]);
    assert_eq!([&dry["status"], &dry["version"]], ["dry_run", "1.0.1"]);
    assert_eq!(sandbox.done(&["info", "acme/demo"])["releases"].as_array().unwrap().len(), 1);
}

#[test]
fn search_and_info_show_published_releases() {
    let sandbox = published();
    let results = sandbox.done(&["search", "notes"])["results"].clone();
    let result = results.as_array().unwrap().iter().find(|result| result["name"] == "acme/demo").unwrap();
    assert_fields(result, "name:s version:s description:s score:n");
    let info = sandbox.done(&["info", "acme/demo"]);
    assert_eq!(info["name"], "acme/demo");
    let entry = &info["releases"][0];
    assert_fields(entry, "v:n name:s version:s digest:s archive:s size:n files:n description:s license:? keywords:a");
    assert_fields(entry, "requires:a verdict:s publisher:s published_at:s signature:? yanked:b withdrawn:?");
    assert_eq!((&entry["files"], &entry["yanked"]), (&json!(2), &json!(false)));
    assert_eq!(sandbox.done(&["search", "zzzzqqqq"])["results"], json!([]));
}

#[test]
fn history_has_every_revision_field() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "one");
    let patch = ["manage", "patch", "demo", "--find", "one", "--replace", "two", "--reason", "r", "--run", "7"];
    sandbox.done(&[&patch[..], &["--thread", "t", "--actor", "optimizer:x"]].concat());
    let document = sandbox.done(&["history", "demo"]);
    assert_eq!(document["name"], "demo");
    let revisions = document["revisions"].as_array().unwrap();
    for revision in revisions {
        let fields =
            "number:n revision:s parent:? time:s action:s actor:o reason:? run:? thread:? origin:? verdict:s files:n";
        assert_fields(revision, fields);
        assert_eq!(revision["revision"].as_str().unwrap().len(), 40, "ids are whole");
    }
    assert_eq!((&revisions[0]["number"], &revisions[1]["number"]), (&json!(2), &json!(1)), "newest first");
    assert_eq!((&revisions[0]["parent"], &revisions[1]["parent"]), (&revisions[1]["revision"], &Value::Null));
    assert_eq!(revisions[0]["actor"], json!({"kind": "optimizer", "id": "x"}));
    assert_eq!([&revisions[0]["reason"], &revisions[0]["run"], &revisions[0]["thread"]], ["r", "7", "t"]);
    assert_eq!(sandbox.done(&["history", "demo", "--limit", "1"])["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn diff_show_and_status_describe_files() {
    let sandbox = Sandbox::new();
    let first = sandbox.create("demo", "one");
    let second = sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "two"]);
    let diff = sandbox.done(&["diff", "demo"]);
    assert_fields(&diff, "from:s to:s files:a diff:s");
    assert_eq!((&diff["from"], &diff["to"]), (&first["revision"], &second["revision"]));
    assert_fields(&diff["files"][0], "path:s change:s added:n removed:n");
    assert_eq!(sandbox.done(&["diff", "demo", "2", "1"])["from"], second["revision"]);
    let shown = sandbox.done(&["show", "demo"]);
    assert_fields(&shown, "name:s revision:s files:a");
    assert_fields(&shown["files"][0], "path:s size:n executable:b");
    let status = sandbox.done(&["status"]);
    assert_eq!((&status["skills"][0]["name"], &status["skills"][0]["state"]), (&json!("demo"), &json!("clean")));
    assert_eq!(status["skills"][0]["files"], json!([]));
}

#[test]
fn show_prints_text_base64_or_bytes() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "one");
    let write = ["manage", "write_file", "demo", "--path", "assets/a.bin", "--content", "-"];
    sandbox.run_with(&write, &[0, 159, 255]).exits(0);
    let text = sandbox.done(&["show", "demo", "SKILL.md"]);
    assert_fields(&text, "path:s text:s");
    assert!(text.get("base64").is_none());
    let binary = sandbox.done(&["show", "demo", "assets/a.bin"]);
    assert_eq!((&binary["path"], &binary["base64"]), (&json!("assets/a.bin"), &json!("AJ//")));
    assert!(binary.get("text").is_none());
    assert_eq!(sandbox.run(&["show", "demo", "assets/a.bin"]).exits(0).stdout, [0, 159, 255]);
}

#[test]
fn revision_accepts_number_prefix_or_distance() {
    let sandbox = Sandbox::new();
    let first = sandbox.create("demo", "one");
    sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "two"]);
    let id = first["revision"].as_str().unwrap();
    for name in ["1", "head~1", &id[..12], id] {
        assert_eq!(sandbox.done(&["show", &format!("demo@{name}")])["revision"], first["revision"], "{name}");
    }
    sandbox.ask(&["show", "demo@3"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["show", "demo@head~2"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["show", "demo@no-id"]).refused(2, "invalid_request");
}

#[test]
fn rollback_answers_with_a_report() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "one");
    sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "two"]);
    let report = sandbox.done(&["rollback", "demo", "1", "--reason", "not wanted"]);
    assert_fields(&report, "status:s action:s name:s revision:s number:n previous_revision:s files:a diff:s");
    assert_fields(&report, "verdict:o problems:a proposal:? message:?");
    assert_eq!([&report["status"], &report["action"]], ["applied", "rollback"]);
    assert_eq!(report["number"], 3, "a rollback is a new revision");
    let again = sandbox.done(&["rollback", "demo", "head"]);
    assert_eq!(again["status"], "unchanged");
}

#[test]
fn where_prints_every_location() {
    let sandbox = Sandbox::new();
    let places = sandbox.done(&["where"]);
    assert_fields(&places, "home:s library:s history:s registry:s config:s lock:s");
    assert_eq!(places["home"], sandbox.skillhub_home().display().to_string());
    assert_eq!(places["library"], sandbox.home().join(".agents/skills").display().to_string());
    assert!(!sandbox.skillhub_home().exists(), "looking makes nothing");
    let project = Sandbox::project();
    std::fs::create_dir(project.cwd().join("deep")).unwrap();
    let mut command = project.command(&["where", "--json"]);
    command.current_dir(project.cwd().join("deep"));
    let places = project.finish(command, &["where"]).done();
    assert_eq!(places["library"], canonical(&project.cwd()) + "/.agents/skills");
    assert_eq!(places["lock"], canonical(&project.cwd()) + "/skillhub.lock");
    assert_eq!(
        project.done(&["where", "--global"])["library"],
        project.user_skill("").display().to_string().trim_end_matches('/')
    );
}

#[test]
fn log_has_changes_and_refusals() {
    let sandbox = Sandbox::new();
    let made = sandbox.create("demo", "one");
    sandbox.ask(&["manage", "patch", "demo", "--find", "none", "--replace", "x"]).refused(6, "no_match");
    sandbox.done(&["disable", "demo"]);
    let events = sandbox.done(&["log", "demo"])["events"].clone();
    let statuses: Vec<_> = events.as_array().unwrap().iter().map(|event| event["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["set", "refused", "applied"]);
    assert_fields(&events[1], "time:s skill:s action:s status:s actor:s code:s message:s");
    assert_eq!(events[2]["revision"], made["revision"]);
}

#[test]
fn documents_fit_their_published_schemas() {
    let sandbox = published();
    sandbox.skill("bad", "Does bad. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    sandbox.done(&["install", "acme/demo"]);
    for (name, args, exit) in [
        ("list", &["list", "--builtin"][..], 0),
        ("search", &["search", "notes"], 0),
        ("outdated", &["outdated", "--all"], 0),
        ("scan", &["scan", "demo", "bad", "--capabilities"], 4),
    ] {
        let document = sandbox.ask(args).exits(exit).json();
        let rows = document.get("skills").or_else(|| document.get("results")).and_then(Value::as_array).unwrap();
        assert!(!rows.is_empty(), "{name}: {document:#}");
        assert_fits(name, &document);
        // A document that lacks a field must not pass.
        for field in document.as_object().unwrap().keys() {
            let mut lacking = document.clone();
            lacking.as_object_mut().unwrap().remove(field);
            assert!(!schema(name).is_valid(&lacking), "{name} without {field}");
        }
    }
}
