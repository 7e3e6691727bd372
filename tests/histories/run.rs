//! [`Run`]: a library with the model of its only skill.

use std::{
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use library::{Home, Library, ProposalEntry, ProposalId, ProposalState, Scope};
use serde_json::Value;
use skill::{Digest, Limits, SkillName};
use skill_manage::{
    ChangeRequest, Context, ManageError, Notes, Preset, Report, Reviewer, Rollback, Status, manage,
    review::{self, Accept, Decider, ProposalRef, Reject, ReviewError},
    roll_back,
};
use tempfile::TempDir;

use super::model::{self, Files};
use crate::support::{Random, set_mode, snapshot, write_files};

const TOKEN: &str = "skillhub-reviewer-of-the-histories";

/// Counts of the results of a run.
pub struct Made {
    pub revisions: usize,
    pub crashes: usize,
    pub proposals: usize,
}

/// A held change: its base and its result.
struct Held {
    id: ProposalId,
    base: Files,
    after: Files,
}

/// State of one history.
pub struct Run {
    seed: u64,
    place: TempDir,
    library: Library,
    random: Random,
    /// Expected files of each revision, from the first on.
    revisions: Vec<Files>,
    /// Expected content of the folder.
    folder: Files,
    held: Option<Held>,
    crashes: usize,
    proposals: usize,
}

/// Returns a folder in memory if there is one: nothing here depends on a disk.
fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn open(place: &Path) -> Library {
    Library::open(&place.join("library"), Scope::User, &Home::at(place.join("home")).unwrap(), "git").unwrap()
}

fn name() -> SkillName {
    SkillName::parse("demo").unwrap()
}

fn context(preset: Preset) -> Context<'static> {
    Context {
        actor: "agent:a".parse().unwrap(),
        time: Timestamp::now(),
        policy: preset.into(),
        surroundings: &Vec::new,
    }
}

/// Creates a token, as a person at a terminal would.
fn appoint(home: &Path) {
    let hash = Digest::of_bytes(TOKEN.as_bytes()).hex();
    let reviewer = format!("id = \"1\"\nname = \"ann\"\nhash = \"{hash}\"\ncreated = \"2026-01-01T00:00:00Z\"\n");
    fs::create_dir_all(home).unwrap();
    fs::write(home.join("reviewers.toml"), format!("format = 1\n[[reviewers]]\n{reviewer}")).unwrap();
    set_mode(&home.join("reviewers.toml"), 0o600);
}

impl Run {
    pub fn new(seed: u64) -> Self {
        let place = place();
        appoint(&place.path().join("home"));
        let (library, random) = (open(place.path()), Random::new(seed));
        let (revisions, folder) = (Vec::new(), Files::new());
        Self { seed, place, library, random, revisions, folder, held: None, crashes: 0, proposals: 0 }
    }

    fn head(&self) -> Files {
        self.revisions.last().cloned().unwrap_or_default()
    }

    /// Performs one random step.
    pub fn step(&mut self) {
        match self.random.below(20) {
            0..=7 => self.edit(),
            8..=9 => self.crash(),
            10 => self.delete(),
            11..=12 => self.roll_back(),
            13..=15 => self.edit_by_hand(),
            16..=17 => self.hold(),
            18 => self.decide(),
            _ => self.library = open(self.place.path()),
        }
    }

    /// Models the recording of a hand edit, which every access to the skill triggers first.
    fn take_over(&mut self) {
        if self.folder != self.head() {
            self.revisions.push(self.folder.clone());
        }
    }

    fn manage(&mut self, request: &Value, preset: Preset) -> Report {
        let request = ChangeRequest::from_json(request.to_string().as_bytes(), &Limits::default()).unwrap();
        manage(&mut self.library, &request, &context(preset)).unwrap()
    }

    /// Models the result of an operation.
    fn note(&mut self, report: &Report, after: Files) {
        assert_eq!(report.status, if after == self.head() { Status::Unchanged } else { Status::Applied });
        if report.status == Status::Applied {
            self.revisions.push(after.clone());
            self.folder = after;
        }
        assert_eq!(report.number, Some(self.revisions.len() as u64));
    }

    fn edit(&mut self) {
        self.take_over();
        let edit = model::edit(&self.head(), &mut self.random);
        let report = self.manage(&edit.request, Preset::Open);
        self.note(&report, edit.after);
    }

    fn delete(&mut self) {
        if self.folder.is_empty() {
            return;
        }
        self.take_over();
        let report = self.manage(&serde_json::json!({"action": "delete", "name": "demo"}), Preset::Open);
        self.note(&report, Files::new());
    }

    /// Restores any revision in which the skill was not deleted.
    fn roll_back(&mut self) {
        let to = self.random.below(self.revisions.len().max(1) as u64);
        let to = usize::try_from(to).unwrap();
        if self.revisions.get(to).is_none_or(Files::is_empty) || self.folder.is_empty() != self.head().is_empty() {
            return;
        }
        self.take_over();
        self.restore(to);
    }

    fn restore(&mut self, to: usize) {
        let to_text = Some((to + 1).to_string());
        let rollback =
            Rollback { skill: name(), to: to_text, expected_revision: None, notes: Notes::default(), dry_run: false };
        let report = roll_back(&mut self.library, &rollback, &context(Preset::Open)).unwrap();
        self.note(&report, self.revisions[to].clone());
        assert_eq!(snapshot(&self.skill()), model::on_disk(&self.revisions[to]));
    }

    fn skill(&self) -> PathBuf {
        self.place.path().join("library/demo")
    }

    fn edit_by_hand(&mut self) {
        if self.folder.is_empty() {
            return;
        }
        let (path, text, executable) = model::file(&mut self.random);
        let file = self.skill().join(path);
        write_files(&self.skill(), &[(path, text.as_bytes(), executable)]);
        set_mode(&file, if executable { 0o755 } else { 0o644 });
        self.folder.insert(path.to_owned(), (text, executable));
    }

    /// Makes a change that is held for a person.
    fn hold(&mut self) {
        if self.held.is_some() || self.folder.is_empty() {
            return;
        }
        self.take_over();
        let base = self.head();
        let edit = model::edit(&base, &mut self.random);
        let report = self.manage(&edit.request, Preset::Strict);
        if edit.after == base {
            assert_eq!(report.status, Status::Unchanged);
            return;
        }
        assert_eq!(report.status, Status::Proposed);
        let id = ProposalId::parse(report.proposal.as_deref().unwrap()).unwrap();
        self.held = Some(Held { id, base, after: edit.after });
        self.proposals += 1;
    }

    /// Accepts or rejects the held change as a person.
    fn decide(&mut self) {
        let Some(held) = self.held.take() else { return };
        let home = Home::at(self.place.path().join("home")).unwrap();
        let reviewer = Reviewer::with_token(&home, TOKEN, Timestamp::now()).unwrap();
        let target = ProposalRef { id: held.id.clone(), revision: None, head: None };
        if self.random.below(3) == 0 {
            return self.reject(target, &reviewer);
        }
        let is_taken_over = self.folder != self.head();
        let accept = Accept { target: target.clone(), reason: None, trial: None };
        let mut result = review::accept(&mut self.library, &accept, &reviewer, &context(Preset::Open));
        if let Err(ManageError::Review(ReviewError::HeadMoved { now, .. })) = result {
            assert_ne!(self.folder, held.base, "what did not move is as it was reviewed");
            let accept = Accept { target: *now, ..accept };
            result = review::accept(&mut self.library, &accept, &reviewer, &context(Preset::Open));
        }
        match result {
            Ok(report) => {
                if is_taken_over {
                    self.take_over();
                }
                let after = self.accepted(&held, &report);
                self.note(&report, after);
            }
            Err(ManageError::MergeConflict { .. }) => {
                self.take_over();
                assert_ne!(self.head(), held.base, "what did not move fits");
                // A proposal that no longer applies does not block the next.
                match self.random.below(2) {
                    0 => self.reject(target, &reviewer),
                    _ => self.hold(),
                }
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn reject(&mut self, target: ProposalRef, reviewer: &Reviewer) {
        let reject = Reject { target, reason: None };
        review::reject(&mut self.library, &reject, Decider::Person(reviewer), Timestamp::now()).unwrap();
    }

    /// Returns the expected head after accepting a proposal: the proposal itself if the head did not move, otherwise a
    /// merge by file.
    fn accepted(&self, held: &Held, report: &Report) -> Files {
        let head = self.head();
        if head == held.base {
            return held.after.clone();
        }
        let now = report.revision.as_ref().map(|id| self.library.bundle(id).unwrap()).unwrap();
        let now: Files = now
            .files()
            .map(|(path, file)| (path.to_string(), (file.text().unwrap().to_owned(), file.executable)))
            .collect();
        for path in held.base.keys().chain(held.after.keys()).chain(head.keys()) {
            let (base, ours, theirs) = (held.base.get(path), head.get(path), held.after.get(path));
            if ours == base {
                assert_eq!(now.get(path), theirs, "{path}: only the proposal changed it");
            } else if theirs == base {
                assert_eq!(now.get(path), ours, "{path}: the proposal did not change it");
            }
        }
        now
    }

    /// Performs an operation and then simulates a kill or a power loss: everything derived from the journal is in its
    /// old state, entirely or in part.
    fn crash(&mut self) {
        let home = self.place.path().join("home/libraries");
        let Some(own) = fs::read_dir(&home).ok().and_then(|mut entries| entries.next()) else { return };
        let (own, kept) = (own.unwrap().path(), self.place.path().join("kept"));
        copy(&own, &kept);
        let before = self.folder.clone();
        self.edit();
        let is_killed = self.random.below(2) == 0;
        for part in ["history.git", "events.jsonl", "proposals"] {
            if kept.join(part).exists() && (is_killed || self.random.below(2) == 0) {
                replace(&kept.join(part), &own.join(part));
            }
        }
        if is_killed {
            replace(&kept.join("journal.applied"), &own.join("journal.applied"));
        } else {
            let _absent = fs::remove_file(own.join("journal.applied"));
        }
        let is_folder_behind = self.random.below(2) == 0;
        if is_folder_behind && before == self.revisions[self.revisions.len().saturating_sub(2)] {
            let _absent = fs::remove_dir_all(self.skill());
            for (path, (text, executable)) in &before {
                write_files(&self.skill(), &[(path, text.as_bytes(), *executable)]);
            }
        }
        fs::remove_dir_all(&kept).unwrap();
        self.crashes += 1;
        self.library = open(self.place.path());
    }

    /// Compares the library with the model, and restores some revisions.
    pub fn check(&mut self) -> Made {
        self.library = open(self.place.path());
        self.look_at_history();
        for _ in 0..2 {
            self.roll_back();
        }
        self.look_at_history();
        Made { revisions: self.revisions.len(), crashes: self.crashes, proposals: self.proposals }
    }

    fn look_at_history(&mut self) {
        assert_eq!(snapshot(&self.skill()), model::on_disk(&self.folder));
        let revisions = self.library.revisions(&name(), usize::MAX).unwrap();
        assert_eq!(revisions.len(), self.revisions.len());
        for (revision, files) in revisions.iter().rev().zip(&self.revisions) {
            let bundle = self.library.bundle(&revision.id).unwrap();
            let found = bundle
                .files()
                .map(|(path, file)| (path.to_string(), (file.text().unwrap().to_owned(), file.executable)));
            assert_eq!(found.collect::<Files>(), *files, "revision {}", revision.number);
            assert_eq!((bundle.digest(), revision.tombstone), (revision.digest, files.is_empty()));
        }
        if let Some(held) = &self.held {
            let open = review::list(std::slice::from_ref(&self.library), false, None).unwrap();
            let fits = |entry: &&ProposalEntry| !matches!(entry, ProposalEntry::Whole(open) if open.state == ProposalState::Stale);
            let fitting: Vec<_> = open.iter().filter(fits).map(ProposalEntry::id).collect();
            assert_eq!(fitting, [&held.id]);
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the history of seed {} after {} revisions", self.seed, self.revisions.len());
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        put(&entry.path(), &to.join(entry.file_name()));
    }
}

fn put(from: &Path, to: &Path) {
    if from.is_dir() {
        copy(from, to);
    } else {
        fs::copy(from, to).unwrap();
    }
}

/// Restores a saved file or folder; one that did not exist is removed.
fn replace(kept: &Path, now: &Path) {
    let _absent = if now.is_dir() { fs::remove_dir_all(now) } else { fs::remove_file(now) };
    if kept.exists() {
        put(kept, now);
    }
}
