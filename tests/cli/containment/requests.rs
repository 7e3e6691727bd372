//! Requests: a path or a name that leads out is refused as flag and as JSON, by every action that takes one.

use serde_json::json;

use super::{BAD_PATHS, COLLISIONS, Guarded, bad_paths};

#[test]
fn escaping_request_paths_are_refused() {
    let guard = Guarded::new();
    for (class, path) in bad_paths() {
        for request in [
            json!({"action": "write_file", "name": "demo", "path": path, "content": "x"}),
            json!({"action": "patch", "name": "demo", "path": path, "find": "alpha", "replace": "beta"}),
            json!({"action": "remove_file", "name": "demo", "path": path}),
        ] {
            guard.sandbox.request(&request).refused_with_hint(3, "invalid_path");
        }
        let inside = json!({"name": "demo", "operations": [
            {"action": "patch", "find": "alpha", "replace": "beta"},
            {"action": "write_file", "path": path, "content": "x"},
        ]});
        let error = guard.sandbox.request(&inside).refused_with_hint(3, "invalid_path");
        assert!(!error["message"].as_str().unwrap().contains(['\u{202e}', '\u{1b}', '\n']), "{class}: {error:#}");
        guard.held(class);
    }
}

#[test]
fn escaping_flag_paths_are_refused() {
    let guard = Guarded::new();
    std::fs::write(guard.sandbox.cwd().join("text.md"), "x").unwrap();
    for (class, path) in bad_paths().iter().filter(|(_, path)| !path.contains('\0')) {
        let write = ["manage", "write_file", "demo", "--path", path, "--content", "text.md"];
        guard.sandbox.ask(&write).refused_with_hint(3, "invalid_path");
        guard.sandbox.ask(&["manage", "remove_file", "demo", "--path", path]).refused_with_hint(3, "invalid_path");
        let shown = guard.sandbox.ask(&["show", "demo", path]);
        assert!(matches!(shown.exit, 3 | 7), "{class}: {shown}");
        guard.told_nothing(&shown);
        guard.held(class);
    }
}

#[test]
fn escaping_skill_names_are_refused() {
    let guard = Guarded::new();
    let names =
        BAD_PATHS.iter().map(|(_, path)| *path).chain(["demo/../../x", "DEMO", "demo.", "con", ".git", "-x", ""]);
    for name in names {
        let text = crate::support::skill_md("x", "Leads out. Use never.", "Text.");
        let request = json!({"action": "create", "name": name, "content": text});
        guard.sandbox.request(&request).refused_with_hint(3, "invalid_skill");
        if !name.contains('\0') && !name.starts_with('-') && !name.starts_with("assets/") {
            for command in ["history", "read", "rollback", "uninstall", "enable"] {
                let answer = guard.sandbox.ask(&[command, name]);
                assert!(answer.exit != 0, "{answer}");
                guard.told_nothing(&answer);
            }
        }
        guard.held(name);
    }
}

#[test]
fn colliding_request_paths_are_refused() {
    let guard = Guarded::new();
    for (first, second) in COLLISIONS.iter().filter(|(first, second)| ![*first, *second].contains(&"SKILL.md")) {
        let both = json!({"name": "demo", "operations": [
            {"action": "write_file", "path": first, "content": "x"},
            {"action": "write_file", "path": second, "content": "x"},
        ]});
        guard.sandbox.request(&both).refused_with_hint(3, "invalid_path");
        guard.held(first);
    }
}

#[test]
fn file_and_folder_collision_is_refused() {
    let guard = Guarded::new();
    for (first, second) in [("assets/a", "assets/a/b"), ("assets/A/b", "assets/a")] {
        let both = json!({"name": "demo", "operations": [
            {"action": "write_file", "path": first, "content": "x"},
            {"action": "write_file", "path": second, "content": "x"},
        ]});
        guard.sandbox.request(&both).refused_with_hint(3, "invalid_path");
        guard.held(first);
    }
}
