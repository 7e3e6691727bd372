//! Tests that a workplace depends on its setup only, not on the environment.

#[cfg(debug_assertions)]
mod work;

use std::{ffi::OsString, path::Path, sync::Arc};

use compose::Hosts;
use library::Scope;

use super::Workspace;
use crate::setup::{Setup, Variables};

fn setup(folder: &Path, variables: Variables) -> Setup {
    Setup {
        user_home: folder.join("user"),
        cwd: folder.to_owned(),
        home: folder.join("home"),
        library: None,
        scope: None,
        registry: None,
        accepts_rewrite: false,
        actor: Some("agent:tester".to_owned()),
        user: String::new(),
        is_at_terminal: false,
        program: None,
        variables,
        note: Arc::new(|_| {}),
        servers: |_| Arc::new(Hosts::new(Vec::new())),
    }
}

fn nothing(_: &str) -> Option<OsString> {
    None
}

#[test]
fn named_folder_is_the_library() {
    let temp = tempfile::tempdir().unwrap();
    let of_user = Workspace::open(setup(temp.path(), nothing)).unwrap();
    assert_eq!(of_user.library_path(), temp.path().join("user/.agents/skills"));
    assert_eq!(of_user.actor.to_string(), "agent:tester");
    let named = Setup { library: Some("skills".into()), ..setup(temp.path(), nothing) };
    assert_eq!(Workspace::open(named).unwrap().library_path(), temp.path().join("skills"));
    let project = Setup { scope: Some(Scope::Project), ..setup(temp.path(), nothing) };
    assert_eq!(Workspace::open(project).err().unwrap().failure.code, "usage");
}

#[test]
fn setup_alone_says_what_the_environment_holds() {
    let temp = tempfile::tempdir().unwrap();
    let policy = |variables| Workspace::open(setup(temp.path(), variables)).unwrap().policy().err();
    assert!(policy(nothing).is_none());
    let refusal = policy(|name| (name == "SKILLHUB_POLICY").then(|| "absent.toml".into())).unwrap();
    assert_eq!(refusal.failure.code, "invalid_config");
}

#[test]
fn shown_paths_have_one_separator() {
    let temp = tempfile::tempdir().unwrap();
    let place = Workspace::open(setup(temp.path(), nothing)).unwrap();
    let shown = |path: &str| place.short(Path::new(path)).replace(std::path::MAIN_SEPARATOR, "|");
    assert_eq!(shown("/a/b//c"), "|a|b|c");
    assert_eq!(shown(&format!("{}/user/a//b/c", temp.path().display())), "~|a|b|c");
    assert_eq!(place.short(&temp.path().join("user")), "~");
}
