//! Making indexes and releases.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use registry_index::{AppendError, Appended, Index, NewRelease, Stamp};
use scan::{Baseline, Cleared};
use skill::{QualifiedName, archive};
use tempfile::TempDir;

pub fn stamp() -> Stamp {
    Stamp { by: "acme".to_owned(), at: "2026-11-02T08:30:00.75Z".parse().unwrap() }
}

pub fn index() -> (TempDir, Index) {
    let dir = TempDir::new().unwrap();
    let index = Index::init(&dir.path().join("registry"), &stamp()).unwrap();
    (dir, index)
}

pub fn name(text: &str) -> QualifiedName {
    text.parse().unwrap()
}

/// A skill with the name's frontmatter and some body.
pub fn cleared(name: &QualifiedName, body: &str) -> Cleared {
    let text = format!(
        "---\nname: {}\ndescription: Fills forms. Use when a form is to be filled.\nlicense: MIT\nmetadata:\n  keywords: \"forms, pdf\"\n---\n\n{body}\n",
        name.name
    );
    let bundle = testkit::bundle(&[("SKILL.md", text.as_str()), ("references/a.md", "# A\n")]);
    scan::clear(bundle, Baseline::None).unwrap()
}

pub fn release(text: &str) -> NewRelease {
    let (skill, version) = text.split_once('@').unwrap();
    NewRelease {
        name: name(skill),
        version: version.parse().unwrap(),
        changelog: String::new(),
        signature: None,
        forked_from: None,
        stamp: stamp(),
    }
}

/// Publishes `owner/name@version` with a body.
pub fn publish(index: &Index, text: &str, body: &str) -> Result<Appended, AppendError> {
    let release = release(text);
    let cleared = cleared(&release.name, body);
    index.append(&release, &cleared, &archive::pack(cleared.bundle()))
}

/// What the system's git prints; fails the test when git fails.
pub fn git(dir: &Path, args: &[&str]) -> String {
    git_fed(dir, args, "")
}

/// As [`git`], with an input.
pub fn git_fed(dir: &Path, args: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A clone with a working copy.
pub fn clone(dir: &TempDir) -> std::path::PathBuf {
    git(dir.path(), &["clone", "-q", "registry", "clone"]);
    dir.path().join("clone")
}

/// Changes the index as someone with git would: clones it, changes files, pushes.
pub fn tamper(dir: &TempDir, change: impl Fn(&Path)) {
    let copy = clone(dir);
    change(&copy);
    git(&copy, &["add", "-A"]);
    git(&copy, &["commit", "-qm", "a hand edit"]);
    git(&copy, &["push", "-q", "origin", "HEAD:main"]);
    std::fs::remove_dir_all(copy).unwrap();
}
