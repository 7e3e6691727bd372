//! Homes and libraries that other users own or can write to: no command trusts them, and some explain why.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Sandbox, set_mode, write_files};

/// A user and group that no machine of ours has.
const STRANGER: u32 = 54_321;

/// A home whose configuration names a command, and the file that this command makes.
fn sandbox() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "one");
    let mark = sandbox.path("mark");
    let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
    write_files(&sandbox.path("bin"), &[("hook", script.as_bytes(), true)]);
    let hook = sandbox.path("bin/hook");
    let config = format!("policy = \"strict\"\n[notify]\ncommand = [{:?}]\n", hook.to_str().unwrap());
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    (sandbox, mark)
}

fn is_root(sandbox: &Sandbox) -> bool {
    let is_root = fs::metadata(sandbox.cwd()).unwrap().uid() == 0;
    if !is_root {
        println!("skipped: only the superuser can give a file to somebody else");
    }
    is_root
}

/// Holds that commands refuse, that nothing of the configuration ran, and that `where`, `doctor` and help explain.
#[track_caller]
fn assert_refused(sandbox: &Sandbox, mark: &Path) -> String {
    let patch = ["manage", "patch", "demo", "--find", "one", "--replace", "two"];
    let mut hint = String::new();
    for args in [&patch[..], &["list"], &["status"], &["mcp"], &["search", "x"]] {
        let error = sandbox.ask(args).refused_with_hint(5, "policy_denied");
        hint = error["hint"].as_str().unwrap().to_owned();
    }
    assert!(!mark.exists(), "its command ran");
    let place = sandbox.done(&["where"]);
    assert_eq!(place["home"], sandbox.skillhub_home().to_str().unwrap());
    assert_eq!(place["fault"]["code"], "policy_denied", "{place:#}");
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    assert!(
        doctor["checks"].to_string().contains("other commands refuse")
            || doctor["checks"].to_string().contains("other users")
            || doctor["checks"].to_string().contains("another user"),
        "{doctor:#}"
    );
    sandbox.run(&["--help"]).exits(0);
    hint
}

/// Runs the command at the end of a hint.
fn run_hint(hint: &str) {
    let command = hint.split_once(": ").unwrap().1;
    assert!(command.starts_with("chmod "), "{hint}");
    assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{hint}");
}

#[test]
fn home_open_to_all_is_refused() {
    let (sandbox, mark) = sandbox();
    set_mode(&sandbox.skillhub_home(), 0o777);
    run_hint(&assert_refused(&sandbox, &mark));
    let patch = sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "two"]);
    assert_eq!(patch["status"], "proposed");
    assert!(mark.exists(), "the home is the user's own again");
}

#[test]
fn doctor_closes_an_open_home() {
    let (sandbox, _) = sandbox();
    set_mode(&sandbox.skillhub_home(), 0o777);
    sandbox.done(&["doctor", "--fix"]);
    sandbox.done(&["list"]);
}

#[test]
fn writable_configuration_is_refused() {
    let (sandbox, mark) = sandbox();
    let config = sandbox.skillhub_home().join("config.toml");
    set_mode(&sandbox.skillhub_home(), 0o755);
    set_mode(&config, 0o666);
    let hint = assert_refused(&sandbox, &mark);
    assert!(hint.ends_with("config.toml"), "{hint}");
    set_mode(&sandbox.skillhub_home(), 0o700);
    sandbox.ask(&["list"]).refused(5, "policy_denied");
    let target = sandbox.skillhub_home().join("settings.toml");
    fs::rename(&config, &target).unwrap();
    symlink("settings.toml", &config).unwrap();
    run_hint(&assert_refused(&sandbox, &mark));
    sandbox.done(&["list"]);
}

#[test]
fn home_below_open_folder_is_refused() {
    let (sandbox, mark) = sandbox();
    set_mode(&sandbox.home(), 0o777);
    run_hint(&assert_refused(&sandbox, &mark));
    sandbox.done(&["list"]);
    set_mode(&sandbox.home(), 0o1777);
    sandbox.done(&["list"]);
}

#[test]
fn home_of_foreign_group_is_refused() {
    let (sandbox, mark) = sandbox();
    if !is_root(&sandbox) {
        return;
    }
    let home = sandbox.skillhub_home();
    set_mode(&home, 0o775);
    sandbox.done(&["list"]);
    chown(&home, None, Some(STRANGER)).unwrap();
    set_mode(&home, 0o755);
    sandbox.done(&["list"]);
    set_mode(&home, 0o775);
    run_hint(&assert_refused(&sandbox, &mark));
}

#[test]
fn home_of_another_user_is_refused() {
    let (sandbox, mark) = sandbox();
    if !is_root(&sandbox) {
        return;
    }
    chown(sandbox.skillhub_home(), Some(STRANGER), None).unwrap();
    assert_refused(&sandbox, &mark);
    chown(sandbox.skillhub_home(), Some(0), None).unwrap();
    set_mode(&sandbox.skillhub_home(), 0o755);
    chown(sandbox.skillhub_home().join("config.toml"), Some(STRANGER), None).unwrap();
    assert_refused(&sandbox, &mark);
}

#[test]
fn library_open_to_all_is_refused() {
    let (sandbox, _) = sandbox();
    let library = sandbox.user_skill("demo").parent().unwrap().to_owned();
    set_mode(&library, 0o777);
    let error = sandbox.ask(&["status"]).refused_with_hint(5, "policy_denied");
    assert_eq!(sandbox.done(&["where"])["fault"]["code"], "policy_denied");
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    assert!(doctor["checks"].to_string().contains("chmod go-w"), "{doctor:#}");
    run_hint(error["hint"].as_str().unwrap());
    sandbox.done(&["status"]);
}

#[test]
fn state_open_to_all_is_refused() {
    let (sandbox, _) = sandbox();
    set_mode(&sandbox.skillhub_home(), 0o755);
    let history = sandbox.done(&["where"])["history"].as_str().unwrap().to_owned();
    let own = Path::new(&history).parent().unwrap();
    set_mode(&own.join("journal"), 0o666);
    sandbox.ask(&["status"]).refused_with_hint(5, "policy_denied");
}
