//! Tests of [`Library`] through its API and, for simulated crashes, by changing its files.

#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

mod concurrent;
mod gc;
mod hand_edits;
mod histories;
mod killed;
mod numbers;
mod proposals;
mod reading;
mod recovery;
mod returned;
mod review_checkpoint;
mod rows;
mod summaries;
mod temporary;
mod upkeep;

use std::{
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use scan::{Baseline, Verdict};
use skill::{Bundle, File, Limits, SkillName, SkillPath};
use tempfile::TempDir;
use testkit::name;

use super::*;
use crate::{
    revision::{Action, Actor, ActorKind, Content, NewRevision, Stamp},
    state::State,
};

/// A library and its home in a temporary folder.
struct Fixture {
    temp: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn skills(&self) -> PathBuf {
        self.temp.path().join("skills")
    }

    fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    fn open(&self) -> Library {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<Library, LibraryError> {
        Library::open(&self.skills(), Scope::Project, &Home::at(self.home()).unwrap(), "git")
    }

    /// Returns the library's folder in the home.
    fn own(&self) -> PathBuf {
        self.open_path()
    }

    fn open_path(&self) -> PathBuf {
        let real = fs::canonicalize(self.temp.path()).unwrap().join("skills");
        Home::at(self.home()).unwrap().library(&real)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.skills().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.skills().join(path)).unwrap()
    }

    /// Returns all names in the library's folder, including temporary ones.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.skills())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Copies the current state, for [`Fixture::restore`].
    fn save(&self) -> TempDir {
        let saved = tempfile::tempdir().unwrap();
        copy(self.temp.path(), saved.path());
        saved
    }

    fn restore(&self, saved: &TempDir) {
        for folder in ["skills", "home"] {
            let _absent = fs::remove_dir_all(self.temp.path().join(folder));
        }
        copy(saved.path(), self.temp.path());
    }

    /// Runs the real git on the history and returns its output.
    fn git(&self, arguments: &[&str]) -> String {
        let git_dir = self.own().join("history.git");
        let output = std::process::Command::new("git").arg("--git-dir").arg(git_dir).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{text}");
        text
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn stamp() -> Stamp {
    Stamp::new(Actor::new(ActorKind::Agent, "tester"), Timestamp::new(1_700_000_000, 123_456_789).unwrap())
}

fn skill_md(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Reads and writes documents of the kind {name}.\n---\n\n{body}\n")
}

fn file(text: &str, executable: bool) -> File {
    File { bytes: text.as_bytes().into(), executable }
}

/// Creates a valid skill with a body and additional text files.
fn bundle(name: &str, body: &str, more: &[(&str, &str)]) -> Bundle {
    testkit::bundle(&[more, &[("SKILL.md", &skill_md(name, body))]].concat())
}

fn cleared(bundle: &Bundle) -> Content {
    Content::Cleared(scan::clear(bundle.clone(), Baseline::None).unwrap())
}

fn change(skill: &SkillName, base: Option<RevisionId>, bundle: &Bundle) -> Commit {
    let revisions = vec![NewRevision::new(cleared(bundle), Action::Edit, stamp())];
    Commit { skill: skill.clone(), base, revisions }
}

fn tombstone(skill: &SkillName, base: &Revision) -> Commit {
    let revisions = vec![NewRevision::new(Content::Tombstone, Action::Delete, stamp())];
    Commit { skill: skill.clone(), base: Some(base.id.clone()), revisions }
}

/// Commits a bundle on the head, after recording a valid hand edit.
fn put(library: &mut Library, bundle: &Bundle) -> Committed {
    let skill = name("pdf");
    let base = library.snapshot(&skill, &stamp(), HandEditMode::Commit).unwrap().base;
    library.commit(vec![change(&skill, base.map(|base| base.id), bundle)]).unwrap().remove(0)
}

fn actions(library: &Library, skill: &str) -> Vec<Action> {
    library.revisions(&name(skill), usize::MAX).unwrap().iter().rev().map(|revision| revision.action).collect()
}

fn is_clean(library: &Library, skill: &str) -> bool {
    matches!(library.folder_state(&name(skill)).unwrap(), FolderState::Clean)
}

/// Returns a file that the scanner blocks, from the documented examples of its rules.
fn hostile() -> (SkillPath, File) {
    let examples = scan::rules().iter().flat_map(|rule| rule.harmful);
    let scripts = examples.filter(|(path, _)| path.starts_with("scripts/"));
    let mut files = scripts.map(|(path, text)| (SkillPath::parse(path).unwrap(), file(text, false)));
    let blocks = |(path, file): &(SkillPath, File)| {
        let with = bundle("pdf", "Body", &[]).with_file(path.clone(), file.clone(), &Limits::default()).unwrap();
        scan::scan(&with).verdict() == Verdict::Block
    };
    files.find(blocks).unwrap()
}
