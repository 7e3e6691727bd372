//! [`killed_at_each`]: commands that follow one killed at any boundary.

use super::{
    boundaries::Boundary,
    place::Place,
    scenario::{installed, of_an_agent},
    tracer::{Order, Watcher},
    trial::is_skipped,
};
use crate::support::{Sandbox, snapshot};

/// Step between the kills of a command with many boundaries.
const STEP: usize = 29;

/// Kills a process before one boundary.
struct KillAt(usize);

impl Watcher for KillAt {
    fn before(&mut self, boundary: &Boundary) -> Order {
        if boundary.number == self.0 { Order::Kill } else { Order::Go }
    }
}

/// Kills a command at every `step`-th boundary in a fresh sandbox, until it ends, and calls `look` after each.
fn killed_at_each(prepare: fn(&Sandbox), args: &[&str], step: usize, look: impl Fn(&Sandbox, usize)) {
    if is_skipped() {
        return;
    }
    let place = Place::new(prepare);
    for number in (0..).step_by(step) {
        place.restore();
        let ended = place.trace(args, b"", &mut KillAt(number));
        look(&place.sandbox, number);
        if ended.exit.is_some() {
            assert!(number > 5, "it has boundaries");
            return;
        }
    }
}

#[test]
fn removed_link_stays_removed() {
    killed_at_each(installed, &["disable", "one", "--agent", "claude-code"], 1, |sandbox, number| {
        let link = sandbox.home().join(".claude/skills/one");
        let was_there = link.is_symlink();
        sandbox.done(&["manage", "write_file", "one", "--path", "references/new.md", "--content", "-"]);
        sandbox.done(&["undo"]);
        assert!(was_there || !link.is_symlink(), "killed at {number}, the undo of another operation placed it");
    });
}

#[test]
fn repeated_setup_is_undone_whole() {
    killed_at_each(of_an_agent, &["setup", "-y"], STEP, |sandbox, number| {
        sandbox.done(&["setup", "-y"]);
        let record = sandbox.skillhub_home().join("setup");
        let files = std::fs::read_dir(&record).unwrap().map(|entry| entry.unwrap().path());
        let records = files.filter(|path| path.extension().is_some_and(|end| end == "json")).count();
        assert_eq!(records, 1, "killed at {number}");
        sandbox.done(&["setup", "--undo"]);
        let folder = sandbox.home().join(".claude/skills");
        let names: Vec<_> = ["one", "two"].into_iter().filter(|name| !folder.join(name).is_symlink()).collect();
        assert_eq!(names, ["one", "two"], "killed at {number}: {:?}", snapshot(&folder).keys());
        assert!(!sandbox.user_skill("one").exists(), "killed at {number}");
    });
}
