//! Tests of the tool on real libraries. [`Fixture`] is a library and a home in a temporary folder.

#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

mod again;
mod decisions;
mod edits;
mod errors;
mod hand_edits;
mod held;
mod policies;
mod report;
mod review;
mod review_queue;
mod rollback;
mod scanning;
mod trials;
#[cfg(debug_assertions)]
mod work;

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::PathBuf};

use jiff::Timestamp;
use library::{Actor, ActorKind, Event, EventStatus, Home, Library, Revision, Scope, Stamp};
use scan::Verdict;
use serde_json::{Value, json};
use skill::{File, Limits, SkillName, SkillPath, failure::Fails};
use testkit::{bundle, name};

use crate::{
    ChangeRequest, Context, Layer, ManageError, Notes, Policy, Preset, Report, Rollback, ShadowedSkill, Status, manage,
    roll_back,
};

/// Script without scanner findings.
const SCRIPT: &str = "#!/bin/sh\necho one\necho two\n";

/// Library with its home and the current actor.
struct Fixture {
    temp: tempfile::TempDir,
    library: Library,
    actor: Actor,
    policy: Preset,
    elsewhere: Vec<ShadowedSkill>,
}

impl Fixture {
    /// Creates an empty library.
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let library = open(&temp);
        let actor = Actor::new(ActorKind::Agent, "tester");
        Self { temp, library, actor, policy: Preset::Balanced, elsewhere: Vec::new() }
    }

    /// Creates a library with a skill `s` of three files, at revision 1.
    fn with_skill() -> Self {
        let mut place = Self::new();
        place.applied(json!({"name": "s", "operations": [
            {"action": "create", "content": skill_md("s", "# S\n\nFirst.\n\nSecond.\n")},
            {"action": "write_file", "path": "scripts/run.sh", "content": SCRIPT, "executable": true},
            {"action": "write_file", "path": "references/notes.md", "content": "alpha\nbeta\nalpha\n"},
        ]}));
        place
    }

    /// Creates a library whose skill `s` was committed without the tool.
    fn with_committed(files: &[(&str, &str)]) -> Self {
        let mut place = Self::new();
        let cleared = scan::clear(bundle(files), scan::Baseline::None).unwrap();
        let content = library::Content::Cleared(cleared);
        let new = library::NewRevision::new(content, library::Action::Adopt, place.stamp());
        let commit = library::Commit { skill: name("s"), base: None, revisions: vec![new] };
        place.library.commit(vec![commit]).unwrap();
        place
    }

    fn stamp(&self) -> Stamp {
        Stamp::new(self.actor.clone(), time())
    }

    fn manage(&mut self, request: Value) -> Result<Report, ManageError> {
        self.manage_under(self.policy.into(), request)
    }

    fn manage_under(&mut self, policy: Policy, request: Value) -> Result<Report, ManageError> {
        let request = ChangeRequest::from_json(request.to_string().as_bytes(), &Limits::default())?;
        let (actor, elsewhere) = (self.actor.clone(), self.elsewhere.clone());
        let context = Context { actor, time: time(), policy, surroundings: &|| elsewhere.clone() };
        manage(&mut self.library, &request, &context)
    }

    fn applied(&mut self, request: Value) -> Report {
        let report = self.manage(request).unwrap();
        assert_eq!(report.status, Status::Applied, "{}", report.message);
        report
    }

    /// Sends a request that is held, and checks that neither disk nor history changed.
    fn held(&mut self, request: Value) -> Report {
        let report = self.undisturbed(|place| place.manage(request).unwrap());
        assert!(report.status == Status::Proposed && report.proposal.is_some(), "{}", report.message);
        report
    }

    /// Sends a request that fails, and checks that neither disk nor history changed.
    fn refused(&mut self, request: Value) -> ManageError {
        self.undisturbed(|place| place.manage(request).unwrap_err())
    }

    fn rollback(&mut self, to: Option<&str>) -> Result<Report, ManageError> {
        self.rollback_with(to, None, false)
    }

    fn rollback_with(
        &mut self,
        to: Option<&str>,
        expected: Option<&str>,
        dry_run: bool,
    ) -> Result<Report, ManageError> {
        let rollback = Rollback {
            skill: name("s"),
            to: to.map(str::to_owned),
            expected_revision: expected.map(str::to_owned),
            notes: Notes::default(),
            dry_run,
        };
        let (actor, elsewhere) = (self.actor.clone(), self.elsewhere.clone());
        let context = Context { actor, time: time(), policy: self.policy.into(), surroundings: &|| elsewhere.clone() };
        roll_back(&mut self.library, &rollback, &context)
    }

    /// Runs an operation that must not change the folder, the history or the temporary names.
    fn undisturbed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = (self.tree(), self.history());
        let result = work(self);
        assert_eq!((self.tree(), self.history()), before);
        assert_eq!(self.library.temporary_names().unwrap(), Vec::<String>::new());
        result
    }

    fn path(&self, path: &str) -> PathBuf {
        self.temp.path().join("library/s").join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Writes to the skill's folder without the tool.
    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns every file of the library with its content and executable bit.
    fn tree(&self) -> BTreeMap<String, (Vec<u8>, bool)> {
        let root = self.temp.path().join("library");
        let mut tree = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let executable = fs::metadata(&path).unwrap().permissions().mode() & 0o111 != 0;
                    let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    tree.insert(relative, (fs::read(&path).unwrap(), executable));
                }
            }
        }
        tree
    }

    /// Returns the revisions of `s`, newest first.
    fn history(&self) -> Vec<Revision> {
        self.library.revisions(&name("s"), usize::MAX).unwrap()
    }

    /// Returns the actions of the revisions of `s`, newest first.
    fn actions(&self) -> Vec<&'static str> {
        self.history().iter().map(|revision| revision.action.as_str()).collect()
    }

    fn head(&self) -> Revision {
        self.library.head(&name("s")).unwrap().unwrap()
    }

    fn last_event(&self) -> Event {
        self.library.events().unwrap().0.pop().unwrap()
    }

    /// Returns the action and code of the last event, which must be a refusal.
    fn last_refusal(&self) -> (String, String) {
        let event = self.last_event();
        assert_eq!(event.status, EventStatus::Refused);
        (event.action, event.code.unwrap())
    }
}

fn open(temp: &tempfile::TempDir) -> Library {
    let home = Home::at(temp.path().join("home")).unwrap();
    Library::open(&temp.path().join("library"), Scope::User, &home, "git").unwrap()
}

fn time() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

/// Returns a policy with a preset and one rule.
fn with_rule(preset: Preset, rule: Value) -> Policy {
    let rules = vec![serde_json::from_value(rule).unwrap()];
    Policy::new(Layer { file: "config.toml".to_owned(), preset: Some(preset), rules, why: None }, Vec::new())
}

fn path(text: &str) -> SkillPath {
    SkillPath::parse(text).unwrap()
}

/// Returns a `SKILL.md` that conforms to the standard.
fn skill_md(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Does a thing. Use when a thing is to be done.\n---\n{body}")
}

fn patch(find: &str, replace: &str) -> Value {
    json!({"action": "patch", "name": "s", "find": find, "replace": replace})
}

fn patch_in(path: &str, find: &str, replace: &str) -> Value {
    json!({"action": "patch", "name": "s", "path": path, "find": find, "replace": replace})
}

/// Returns one of the scanner's example scripts that has this verdict in an otherwise harmless skill.
fn script_with(verdict: Verdict) -> String {
    let fits = |text: &str| {
        let bundle = bundle(&[("SKILL.md", skill_md("s", "# S\n").as_str()), ("scripts/run.sh", text)]);
        scan::scan(&bundle).verdict() == verdict
    };
    let examples = scan::rules().iter().flat_map(|rule| rule.harmful.iter());
    let mut scripts =
        examples.filter(|(path, _)| *path == "scripts/a.sh").map(|(_, text)| format!("#!/bin/sh\n{text}\n"));
    scripts.find(|text| fits(text)).unwrap()
}
