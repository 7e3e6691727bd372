//! Tests of the effect of each action on a skill, and of refused actions.

use super::*;

#[test]
fn each_action_makes_one_revision() {
    let mut place = Fixture::new();
    place.applied(json!({"action": "create", "name": "s", "content": skill_md("s", "# One\n")}));
    place.applied(json!({"action": "edit", "name": "s", "content": skill_md("s", "# Two\n")}));
    place.applied(patch("# Two", "# Three"));
    place.applied(json!({"action": "write_file", "name": "s", "path": "scripts/run.sh", "content": SCRIPT}));
    assert_eq!(place.read("SKILL.md"), skill_md("s", "# Three\n"));
    assert_eq!(place.read("scripts/run.sh"), SCRIPT);
    place.applied(json!({"action": "remove_file", "name": "s", "path": "scripts/run.sh"}));
    assert!(!place.path("scripts").exists(), "an empty folder goes with its last file");
    place.applied(json!({"action": "delete", "name": "s"}));
    assert!(!place.path("").exists());
    assert_eq!(place.actions(), ["delete", "remove_file", "write_file", "patch", "edit", "create"]);
    let numbers: Vec<u64> = place.history().iter().map(|revision| revision.number).collect();
    assert_eq!(numbers, [6, 5, 4, 3, 2, 1]);
}

#[test]
fn operations_are_atomic() {
    let mut place = Fixture::with_skill();
    assert_eq!(place.actions(), ["operations"]);
    let error = place.refused(json!({"name": "s", "operations": [
        {"action": "patch", "find": "First.", "replace": "Changed."},
        {"action": "write_file", "path": "assets/new.txt", "content": "new"},
        {"action": "patch", "find": "is not there", "replace": "x"},
    ]}));
    assert_eq!(error.code(), "no_match");
    place.applied(json!({"name": "s", "operations": [
        {"action": "patch", "find": "First.", "replace": "Changed."},
        {"action": "patch", "find": "Changed.", "replace": "Changed again."},
        {"action": "remove_file", "path": "references/notes.md"},
    ]}));
    assert_eq!(place.actions(), ["operations", "operations"]);
    assert!(place.read("SKILL.md").contains("Changed again."), "each edit sees what the one before it made");
}

#[test]
fn patches_of_one_request_share_limit() {
    let mut place = Fixture::with_skill();
    let (path, all) = (
        "references/x.md",
        |find: &str, replace: &str| json!({"action": "patch", "path": "references/x.md", "find": find, "replace": replace, "replace_all": true}),
    );
    place.applied(json!({"action": "write_file", "name": "s", "path": path, "content": "x".repeat(600_000)}));
    let twice = json!({"name": "s", "operations": [all("x", "y"), all("y", "z")]});
    assert_eq!(place.refused(twice).code(), "too_large");
    place.applied(json!({"name": "s", "operations": [all("x", "y")]}));
}

#[test]
fn name_is_unique_across_libraries() {
    let mut place = Fixture::with_skill();
    let create = |name: &str| json!({"action": "create", "name": name, "content": skill_md(name, "# X\n")});
    assert_eq!(place.refused(create("s")).code(), "exists");
    let other = |taken, scope| ShadowedSkill { name: name(taken), scope, place: format!("where {taken} is") };
    place.elsewhere = vec![other("theirs", Scope::User), other("inbuilt", Scope::Builtin)];
    let error = place.refused(create("theirs"));
    assert_eq!((error.code(), error.to_string().contains("where theirs is")), ("exists", true), "{error}");
    assert_eq!(place.manage(create("inbuilt")).unwrap().number, Some(1), "it goes before the built-in one");
    assert_eq!(place.manage(create("free")).unwrap().number, Some(1));
}

#[test]
fn builtin_skill_edit_suggests_a_copy() {
    let mut place = Fixture::with_skill();
    let inbuilt = |name_: &str| ShadowedSkill { name: name(name_), scope: Scope::Builtin, place: "built in".into() };
    place.elsewhere = vec![inbuilt("inbuilt"), inbuilt("s")];
    let error = place.refused(json!({"action": "patch", "name": "inbuilt", "find": "a", "replace": "b"}));
    assert_eq!(error.code(), "policy_denied");
    assert!(error.hint().unwrap().to_string().contains("skillhub install skillhub/inbuilt"));
    place.applied(patch("First.", "Of the library's own."));
    let theirs = ShadowedSkill { name: name("theirs"), scope: Scope::User, place: "the user's".into() };
    place.elsewhere = vec![theirs];
    let error = place.refused(json!({"action": "delete", "name": "theirs"}));
    assert_eq!(error.code(), "not_found", "another library's skill is not this one's to delete");
}

#[test]
fn invalid_result_lists_all_problems() {
    let mut place = Fixture::new();
    let content = "---\nname: other\ndescription: ''\ncolour: red\n---\n";
    let error = place.refused(json!({"action": "create", "name": "s", "content": content}));
    assert_eq!(error.code(), "invalid_skill");
    let details = error.details();
    let codes: Vec<&str> =
        details["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect();
    for code in ["name_mismatch", "unknown_key"] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    assert!(codes.iter().any(|code| code.starts_with("description_")), "{codes:?}");
    assert_eq!(place.last_refusal(), ("create".to_owned(), "invalid_skill".to_owned()));
}

#[test]
fn patch_keeps_mode_and_other_text() {
    let mut place = Fixture::with_skill();
    let report = place.applied(patch_in("scripts/run.sh", "echo one", "echo three"));
    let mode = fs::metadata(place.path("scripts/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(place.read("scripts/run.sh"), SCRIPT.replace("one", "three"));
    assert_eq!(report.files.len(), 1);
    assert_eq!((report.files[0].added, report.files[0].removed), (1, 1));
}

/// Another tool silently changed the first of several matches.
#[test]
fn uncounted_matches_are_listed_and_refused() {
    let mut place = Fixture::with_skill();
    let many = patch_in("references/notes.md", "alpha", "gamma");
    let error = place.refused(many.clone());
    assert_eq!(error.code(), "ambiguous_match");
    let lines: Vec<u64> =
        error.details()["matches"].as_array().unwrap().iter().map(|found| found["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 3]);
    let with = |field: &str, value: Value| {
        let mut request = many.clone();
        request[field] = value;
        request
    };
    let error = place.refused(with("expected_count", json!(3)));
    assert_eq!((error.code(), error.details()["found"].as_u64()), ("count_mismatch", Some(2)));
    place.applied(with("expected_count", json!(2)));
    assert_eq!(place.read("references/notes.md"), "gamma\nbeta\ngamma\n");
    place.applied(json!({"action": "patch", "name": "s", "path": "references/notes.md", "find": "gamma",
        "replace": "delta", "replace_all": true}));
    assert_eq!(place.read("references/notes.md"), "delta\nbeta\ndelta\n");
}

#[test]
fn missing_text_suggests_nearest_line() {
    let mut place = Fixture::with_skill();
    let error = place.refused(patch_in("scripts/run.sh", "echo too", "echo 2"));
    assert_eq!(error.code(), "no_match");
    assert_eq!(error.details()["matches"][0]["line"].as_u64(), Some(3));
    assert!(error.hint().unwrap().to_string().contains("scripts/run.sh"), "the hint names the file");
}

#[test]
fn repeated_request_changes_nothing() {
    let mut place = Fixture::with_skill();
    let first = place.applied(patch("First.", "First and foremost."));
    let again = place.undisturbed(|place| place.manage(patch("First.", "First and foremost.")).unwrap());
    assert_eq!(again.status, Status::Unchanged);
    assert_eq!((&again.revision, again.number), (&first.revision, Some(2)));
    assert!(again.files.is_empty() && again.diff.is_empty());
    let text = place.read("SKILL.md");
    let same =
        place.undisturbed(|place| place.manage(json!({"action": "edit", "name": "s", "content": text})).unwrap());
    assert_eq!((same.status, same.number), (Status::Unchanged, Some(2)));
    place.policy = Preset::Strict;
    let strict = place.undisturbed(|place| place.manage(patch("First.", "First and foremost.")).unwrap());
    assert_eq!(strict.status, Status::Unchanged, "there is nothing for a person to decide");
}

#[test]
fn executable_bit_is_set_or_kept() {
    let mut place = Fixture::with_skill();
    let write =
        |path: &str, content: &str| json!({"action": "write_file", "name": "s", "path": path, "content": content});
    place.applied(write("scripts/run.sh", "#!/bin/sh\necho new\n"));
    place.applied(write("scripts/plain.sh", SCRIPT));
    let executable = |place: &Fixture, path: &str| place.tree()[&format!("s/{path}")].1;
    assert!(executable(&place, "scripts/run.sh") && !executable(&place, "scripts/plain.sh"));
    let mut unset = write("scripts/run.sh", "#!/bin/sh\necho new\n");
    unset["executable"] = json!(false);
    let report = place.applied(unset);
    assert!(!executable(&place, "scripts/run.sh"));
    assert!(report.diff.contains("old mode 100755\nnew mode 100644"), "{}", report.diff);
    let bytes = json!({"action": "write_file", "name": "s", "path": "assets/dot.bin", "content_base64": "AP8="});
    place.applied(bytes);
    assert_eq!(fs::read(place.path("assets/dot.bin")).unwrap(), [0, 255]);
}

#[test]
fn new_files_stay_in_allowed_folders() {
    let mut place = Fixture::with_committed(&[("SKILL.md", &skill_md("s", "# S\n")), ("forms.md", "a\n")]);
    let write = |path: &str| json!({"action": "write_file", "name": "s", "path": path, "content": "x\n"});
    for bad in
        ["loose.md", "src/a.py", "../a", "/a", "scripts/../../a", "scripts\\a", "assets/CON", "assets/a:b", "skill.md"]
    {
        assert_eq!(place.refused(write(bad)).code(), "invalid_path", "{bad}");
    }
    place.applied(write("forms.md"));
    place.applied(json!({"action": "remove_file", "name": "s", "path": "forms.md"}));
    assert_eq!(place.refused(write("forms.md")).code(), "invalid_path", "now it would be new");
    let folded = json!({"name": "s", "operations": [
        {"action": "write_file", "path": "assets/a", "content": "x"},
        {"action": "write_file", "path": "assets/A", "content": "x"},
    ]});
    assert_eq!(place.refused(folded).code(), "invalid_path");
}

#[test]
fn sizes_are_limited() {
    let mut place = Fixture::with_skill();
    let head = skill_md("s", "");
    let body = |chars: usize| "é".repeat(chars - head.chars().count());
    let edit = |chars: usize| json!({"action": "edit", "name": "s", "content": skill_md("s", &body(chars))});
    assert_eq!(place.refused(edit(100_001)).code(), "too_large");
    place.applied(edit(100_000));
    let text = "x".repeat((1 << 20) + 1);
    let error = place.refused(json!({"action": "write_file", "name": "s", "path": "assets/a.txt", "content": text}));
    assert_eq!(error.code(), "too_large");
}

#[test]
fn missing_targets_are_reported() {
    let mut place = Fixture::with_skill();
    let error = place.refused(json!({"action": "patch", "name": "absent", "find": "a", "replace": "b"}));
    assert_eq!(error.code(), "not_found");
    let error = place.refused(patch_in("scripts/rnu.sh", "a", "b"));
    assert_eq!(error.code(), "not_found");
    assert!(error.to_string().contains("scripts/run.sh"), "{error}");
    assert_eq!(place.refused(json!({"action": "remove_file", "name": "s", "path": "assets/a"})).code(), "not_found");
    let error = place.refused(json!({"action": "remove_file", "name": "s", "path": "SKILL.md"}));
    assert_eq!(error.code(), "invalid_request");
}

#[test]
fn carriage_returns_are_kept() {
    let text = skill_md("s", "# S\n\nFirst.\nSecond.\n").replace('\n', "\r\n");
    let mut place = Fixture::with_committed(&[("SKILL.md", &text)]);
    place.applied(patch("First.\nSecond.\n", "One.\nTwo.\nThree.\n"));
    assert_eq!(place.read("SKILL.md"), text.replace("First.\r\nSecond.\r\n", "One.\r\nTwo.\r\nThree.\r\n"));
}

#[test]
fn dry_run_reports_and_changes_nothing() {
    let mut place = Fixture::with_skill();
    let dry = |mut request: Value| {
        request["dry_run"] = json!(true);
        request
    };
    let events = place.library.events().unwrap().0.len();
    let report = place.undisturbed(|place| place.manage(dry(patch("First.", "1."))).unwrap());
    assert_eq!((report.status, &report.revision, report.number), (Status::DryRun, &None, None));
    assert_eq!(report.previous_revision, Some(place.head().id));
    assert!(report.diff.contains("+1."), "{}", report.diff);
    let report = place.undisturbed(|place| place.manage(dry(json!({"action": "delete", "name": "s"}))).unwrap());
    assert_eq!((report.status, report.files.len()), (Status::DryRun, 3));
    place.refused(dry(patch("is not there", "x")));
    assert_eq!(place.library.events().unwrap().0.len(), events, "what was only tried is no event");

    let mut empty = Fixture::new();
    let create = dry(json!({"action": "create", "name": "s", "content": skill_md("s", "# S\n")}));
    assert_eq!(empty.manage(create).unwrap().status, Status::DryRun);
    let made: Vec<_> = fs::read_dir(empty.temp.path()).unwrap().collect();
    assert!(made.is_empty(), "{made:?}");
}

#[test]
fn expected_revision_takes_id_or_number() {
    let mut place = Fixture::with_skill();
    let with = |expected: &str, to: &str| {
        let mut request = patch_in("assets/n.txt", "n", to);
        request = json!({"action": "write_file", "name": "s", "path": request["path"], "content": to,
            "expected_revision": expected});
        request
    };
    let first = place.head().id;
    place.applied(with(first.as_str(), "1"));
    let error = place.refused(with(first.as_str(), "2"));
    assert_eq!(error.code(), "stale_revision");
    assert_eq!(error.details()["head"].as_str(), Some(place.head().id.as_str()));
    let prefix = place.head().id.as_str()[..10].to_owned();
    place.applied(with(&prefix, "2"));
    place.applied(with("3", "3"));
    place.applied(with("head", "4"));
    for stale in ["3", "head~1", "not a revision", ""] {
        assert_eq!(place.refused(with(stale, "5")).code(), "stale_revision", "{stale:?}");
    }
    let mut create = json!({"action": "create", "name": "new", "content": skill_md("new", "# N\n")});
    create["expected_revision"] = json!("1");
    assert_eq!(place.refused(create).code(), "stale_revision");
}

#[test]
fn concurrent_patches_all_apply() {
    let mut place = Fixture::with_skill();
    let before = place.head().id;
    let temp = &place.temp;
    let barrier = std::sync::Barrier::new(2);
    let change = |find: &str, word: &str| {
        let mut library = open(temp);
        let context = Context {
            actor: Actor::new(ActorKind::Agent, word),
            time: time(),
            policy: Preset::Balanced.into(),
            surroundings: &Vec::new,
        };
        barrier.wait();
        for round in 0..5 {
            let (from, to) = match round {
                0 => (find.to_owned(), format!("{word}-0.")),
                _ => (format!("{word}-{}.", round - 1), format!("{word}-{round}.")),
            };
            let json = patch(&from, &to).to_string();
            let request = ChangeRequest::from_json(json.as_bytes(), &Limits::default()).unwrap();
            assert_eq!(manage(&mut library, &request, &context).unwrap().status, Status::Applied);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| change("First.", "left"));
        scope.spawn(|| change("Second.", "right"));
    });
    let text = place.read("SKILL.md");
    assert!(text.contains("left-4.") && text.contains("right-4."), "{text}");
    assert_eq!(place.history().len(), 11);
    let mut stale = patch("# S", "# T");
    stale["expected_revision"] = json!(before.as_str());
    assert_eq!(place.refused(stale).code(), "stale_revision");
}

#[test]
fn recreated_skill_continues_revision_numbers() {
    let mut place = Fixture::with_skill();
    place.applied(json!({"action": "delete", "name": "s", "absorbed_into": "umbrella"}));
    let head = place.head();
    assert!(head.tombstone);
    assert_eq!(head.absorbed_into.as_deref(), Some("umbrella"));
    assert_eq!(place.refused(patch("First.", "x")).code(), "not_found");
    assert_eq!(place.refused(json!({"action": "delete", "name": "s"})).code(), "not_found");
    let report = place.applied(json!({"action": "create", "name": "s", "content": skill_md("s", "# New\n")}));
    assert_eq!((report.number, report.previous_revision), (Some(3), Some(head.id)));
    assert_eq!(report.files.len(), 1, "the old files are not back");
}
