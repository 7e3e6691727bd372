//! Property test: random changes, hand edits, crashes and reopenings, compared with a list of bundles.

use proptest::prelude::*;

use super::*;

const PATHS: [&str; 4] = ["notes.md", "scripts/run.sh", "资料/é.md", "a/b/c.txt"];
const TEXTS: [&str; 5] = ["", "one\n", "one\r\n", "two\nlines\n", "drei ☂\n"];

#[derive(Debug, Clone)]
enum Step {
    Write(usize, usize, bool),
    Remove(usize),
    Delete,
    HandWrite(usize, usize, bool),
    HandRemove(usize),
    Reopen,
    Reboot,
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    let (path, text) = (0..PATHS.len(), 0..TEXTS.len());
    prop_oneof![
        4 => (path.clone(), text.clone(), any::<bool>()).prop_map(|(p, t, x)| Step::Write(p, t, x)),
        2 => path.clone().prop_map(Step::Remove),
        1 => Just(Step::Delete),
        3 => (path.clone(), text, any::<bool>()).prop_map(|(p, t, x)| Step::HandWrite(p, t, x)),
        1 => path.prop_map(Step::HandRemove),
        1 => Just(Step::Reopen),
        1 => Just(Step::Reboot),
        1 => Just(Step::Settle),
    ]
}

/// The library with the expected state: every revision, and the content of the folder.
struct Run {
    place: Fixture,
    library: Library,
    revisions: Vec<Bundle>,
    folder: Bundle,
}

impl Run {
    fn new() -> Self {
        let place = Fixture::new();
        let library = place.open();
        Self { place, library, revisions: Vec::new(), folder: Bundle::default() }
    }

    fn head(&self) -> Bundle {
        self.revisions.last().cloned().unwrap_or_default()
    }

    /// Returns the revision expected for a hand edit. An earlier revision with other line ends keeps its own.
    fn recorded(&self) -> Bundle {
        let found = &self.folder;
        let forms = [found.clone(), found.with_line_feeds(), found.with_carriage_returns()];
        let mut earlier = self.revisions.iter().rev().skip(1).filter(|files| !files.is_empty());
        let earlier = if self.head().is_empty() { None } else { earlier.find(|files| forms.contains(files)) };
        earlier.unwrap_or(found).clone()
    }

    /// Takes a snapshot of the skill, which records a hand edit.
    fn take_over(&mut self) -> Snapshot {
        if !self.folder.is_empty() && !self.folder.same_but_line_ends(&self.head()) {
            self.revisions.push(self.recorded());
        }
        let seen = self.library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap();
        assert_eq!(seen.bundle, self.head());
        seen
    }

    fn commit(&mut self, change_files: impl FnOnce(Bundle) -> Bundle) {
        let seen = self.take_over();
        let files = if seen.exists() { seen.bundle } else { bundle("pdf", "x", &[]) };
        let files = change_files(files);
        let commit = change(&name("pdf"), seen.base.map(|base| base.id), &files);
        assert_eq!(self.library.commit(vec![commit]).unwrap()[0].checkout, Checkout::Done);
        self.revisions.push(files.clone());
        self.folder = files;
    }

    fn delete(&mut self) {
        let seen = self.take_over();
        if let Some(base) = seen.base.filter(|base| !base.tombstone) {
            self.library.commit(vec![tombstone(&name("pdf"), &base)]).unwrap();
            self.revisions.push(Bundle::default());
            self.folder = Bundle::default();
        }
    }

    fn by_hand(&mut self, path: usize, file: Option<File>) {
        if self.folder.is_empty() {
            self.folder = bundle("pdf", "by hand", &[]);
        }
        let path = SkillPath::parse(PATHS[path]).unwrap();
        self.folder = match file {
            Some(file) => self.folder.clone().with_file(path, file, &Limits::default()).unwrap(),
            None => self.folder.clone().without_file(&path),
        };
        let _absent = fs::remove_dir_all(self.place.skills().join("pdf"));
        let root = ensure_dir(&self.place.skills()).unwrap();
        crate::folder::write(&root, "pdf", &self.folder).unwrap();
    }

    fn take(&mut self, step: &Step) {
        let made = |text: usize, executable| file(TEXTS[text], executable);
        match *step {
            Step::Write(path, text, executable) => self.commit(|files| {
                files
                    .with_file(SkillPath::parse(PATHS[path]).unwrap(), made(text, executable), &Limits::default())
                    .unwrap()
            }),
            Step::Remove(path) => self.commit(|files| files.without_file(&SkillPath::parse(PATHS[path]).unwrap())),
            Step::Delete => self.delete(),
            Step::HandWrite(path, text, executable) => self.by_hand(path, Some(made(text, executable))),
            Step::HandRemove(path) => self.by_hand(path, None),
            Step::Reopen => self.library = self.place.open(),
            Step::Reboot => {
                self.take_over();
                let _absent = fs::remove_file(self.place.own().join("journal.applied"));
                self.library = self.place.open();
            }
            Step::Settle if self.revisions.is_empty() => {}
            Step::Settle => self.library.checkpoint(&self.library.locked().unwrap()).unwrap(),
        }
    }

    fn check(mut self) {
        self.take_over();
        let library = self.place.open();
        let revisions = library.revisions(&name("pdf"), usize::MAX).unwrap();
        let found: Vec<Bundle> = revisions.iter().rev().map(|revision| library.bundle(&revision.id).unwrap()).collect();
        assert_eq!(found, self.revisions);
        for (at, revision) in revisions.iter().rev().enumerate() {
            assert_eq!(revision.number, at as u64 + 1);
            assert_eq!((revision.digest, revision.tombstone), (found[at].digest(), found[at].is_empty()));
        }
        let state = library.folder_state(&name("pdf")).unwrap();
        let is_there = !self.head().is_empty();
        assert!(matches!(state, FolderState::Clean) == is_there, "{state:?}");
        assert_eq!(self.place.skills().exists() && !self.place.names().is_empty(), is_there);
        assert_eq!(library.events().unwrap().0.len(), self.revisions.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_reads_back(steps in prop::collection::vec(step(), 1..25)) {
        let mut run = Run::new();
        steps.iter().for_each(|step| run.take(step));
        run.check();
    }
}
