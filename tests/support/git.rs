//! The system's own git, to look at registries and histories as any other tool would.

use std::{path::Path, process::Command};

use super::Sandbox;

/// Runs git and gives what it printed.
#[track_caller]
pub fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    String::from_utf8(git_bytes(sandbox, args)).unwrap()
}

/// As [`git`], where what it prints may be anything.
#[track_caller]
pub fn git_bytes(sandbox: &Sandbox, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new("git");
    sandbox.confine(&mut command).args(args);
    command.env("GIT_AUTHOR_NAME", "Test").env("GIT_AUTHOR_EMAIL", "test@example.org");
    command.env("GIT_COMMITTER_NAME", "Test").env("GIT_COMMITTER_EMAIL", "test@example.org");
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {}: {error}", args.join(" "));
    output.stdout
}

/// Makes a git repository of a folder with everything in it as one commit.
pub fn repository(sandbox: &Sandbox, folder: &Path) {
    let folder = folder.to_str().unwrap();
    git(sandbox, &["-C", folder, "init", "--quiet", "--initial-branch=main"]);
    git(sandbox, &["-C", folder, "add", "--all"]);
    git(sandbox, &["-C", folder, "commit", "--quiet", "--message=first"]);
}

/// The ids of the commits of a bare repository, newest first.
pub fn bare_log(sandbox: &Sandbox, repository: &str, reference: &str) -> Vec<String> {
    let log = git(sandbox, &["--git-dir", repository, "log", "--format=%H", reference]);
    log.lines().map(str::to_owned).collect()
}
