//! The system's own git, to inspect registries and histories independently.

use std::{path::Path, process::Command};

use super::Sandbox;

/// Runs git and returns its output as text.
#[track_caller]
pub fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    String::from_utf8(git_bytes(sandbox, args)).unwrap()
}

/// Like [`git`], for output that may not be UTF-8.
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

/// Makes a git repository of a folder, with all files in one commit.
pub fn repository(sandbox: &Sandbox, folder: &Path) {
    let folder = folder.to_str().unwrap();
    git(sandbox, &["-C", folder, "init", "--quiet", "--initial-branch=main"]);
    git(sandbox, &["-C", folder, "add", "--all"]);
    git(sandbox, &["-C", folder, "commit", "--quiet", "--message=first"]);
}

/// Returns the commit ids of a bare repository, newest first.
pub fn bare_log(sandbox: &Sandbox, repository: &str, reference: &str) -> Vec<String> {
    let log = git(sandbox, &["--git-dir", repository, "log", "--format=%H", reference]);
    log.lines().map(str::to_owned).collect()
}
