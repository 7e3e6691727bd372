//! Tests of the report for the caller and of the recorded revision.

use super::*;

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn report_has_the_documented_fields() {
    let warned = script_with(Verdict::Warn);
    let mut place =
        Fixture::with_committed(&[("SKILL.md", &skill_md("s", "# S\n\nFirst.\n")), ("scripts/run.sh", &warned)]);
    let odd = patch("description:", "colour: red\ndescription:");
    let report = serde_json::to_value(place.applied(odd)).unwrap();
    let documented = [
        "action", "capabilities_added", "capabilities_complete", "capabilities_removed", "checkout", "decision",
        "diff", "files", "message", "name", "number", "ok", "previous_revision", "problems", "proposal",
        "proposal_revision", "revision", "status", "verdict",
    ];
    assert_eq!(keys(&report), documented);
    assert_eq!(keys(&report["files"][0]), ["added", "change", "path", "removed"]);
    assert_eq!(keys(&report["verdict"]), ["findings", "level", "ruleset"]);
    let finding = [
        "category", "column", "excerpt", "line", "matched", "message", "new", "path", "remedy", "risk", "rule",
        "severity", "waived",
    ];
    assert_eq!(keys(&report["verdict"]["findings"][0]), finding);
    assert_eq!(keys(&report["problems"][0]), ["code", "line", "message", "new", "path", "severity"]);
    let words = |field: &str| report[field].as_str().unwrap();
    assert_eq!([words("status"), words("action"), words("name"), words("checkout")], ["applied", "patch", "s", "done"]);
    assert_eq!((report["ok"].as_bool(), report["number"].as_u64()), (Some(true), Some(2)));
    assert_eq!(report["files"][0], json!({"path": "SKILL.md", "change": "modified", "added": 1, "removed": 0}));
    assert_eq!(report["verdict"]["level"], "warn");
    assert_eq!(report["proposal"], Value::Null);
    assert_eq!(words("revision"), place.head().id.as_str());
    assert!(words("diff").starts_with("diff --git a/SKILL.md b/SKILL.md\n"));
}

#[test]
fn first_revision_has_no_predecessor() {
    let mut place = Fixture::new();
    let report = place.applied(json!({"action": "create", "name": "s", "content": skill_md("s", "# S\n")}));
    assert_eq!((report.number, report.previous_revision), (Some(1), None));
}

#[test]
fn callers_notes_are_in_history() {
    let mut place = Fixture::with_skill();
    let reason = "because\n\nSkillhub-Actor: person:root\n\\n \u{202e}x";
    let mut request = patch("First.", "1.");
    request["reason"] = json!(reason);
    request["run"] = json!("run-1");
    request["thread"] = json!("thread: 1");
    place.applied(request);
    drop(std::mem::replace(&mut place.library, open(&place.temp)));
    let stamp = place.head().stamp;
    assert_eq!(stamp.reason.as_deref(), Some(reason));
    assert_eq!((stamp.run.as_deref(), stamp.thread.as_deref()), (Some("run-1"), Some("thread: 1")));
    assert_eq!((stamp.actor, stamp.time), (Actor::new(ActorKind::Agent, "tester"), time()));
    let event = place.last_event();
    assert_eq!(
        (event.status, event.reason.as_deref(), event.revision),
        (EventStatus::Applied, Some(reason), Some(place.head().id))
    );
}

#[test]
fn other_agents_field_names_work() {
    let mut place = Fixture::with_skill();
    let report = place.applied(json!({"action": "patch", "name": "s", "file_path": "scripts/run.sh",
        "old_string": "echo one", "new_string": "echo three", "replace_all": false, "category": "dev"}));
    assert!(report.message.contains("ignored `category`"), "{}", report.message);
    assert!(place.read("scripts/run.sh").contains("echo three"));
    place.applied(
        json!({"action": "write_file", "name": "s", "file_path": "references/more.md", "file_content": "more\n"}),
    );
    assert_eq!(place.read("references/more.md"), "more\n");
    place.applied(json!({"action": "delete", "name": "s", "absorbed_into": "", "category": ""}));
    assert_eq!(place.head().absorbed_into, None);
}

#[test]
fn used_relaxation_is_reported() {
    let mut place = Fixture::with_skill();
    let report = place.applied(patch_in("references/notes.md", "beta  \nalpha", "beta\ngamma"));
    assert_eq!(place.read("references/notes.md"), "alpha\nbeta\ngamma\n");
    assert!(report.message.contains("trailing space"), "{}", report.message);
}

#[test]
fn installed_skill_keeps_origin_until_deletion() {
    let mut place = Fixture::new();
    let digest = library::SourceDigest::Foreign("unknown".into());
    let skill = library::SourceSkill { name: name("s"), version: None, digest };
    let origin = library::Origin::Folder { path: "elsewhere".into(), skill };
    let cleared = scan::clear(bundle(&[("SKILL.md", &skill_md("s", "# S\n"))]), scan::Baseline::None).unwrap();
    let content = library::Content::Cleared(cleared);
    let new = library::NewRevision::new(content, library::Action::Install, place.stamp());
    let revisions = vec![new.with_origin(Some(origin.clone()))];
    place.library.commit(vec![library::Commit { skill: name("s"), base: None, revisions }]).unwrap();
    place.applied(patch("# S", "# T"));
    assert_eq!(place.head().origin.as_ref(), Some(&origin));
    place.write("SKILL.md", &skill_md("s", "# By hand\n"));
    place.rollback(Some("head")).unwrap();
    assert_eq!(place.head().origin.as_ref(), Some(&origin));
    place.applied(json!({"action": "delete", "name": "s"}));
    place.applied(json!({"action": "create", "name": "s", "content": skill_md("s", "# Own\n")}));
    assert_eq!(place.head().origin, None);
    place.rollback(Some("1")).unwrap();
    assert_eq!(place.head().origin.as_ref(), Some(&origin), "and is back with the content that it names");
}
