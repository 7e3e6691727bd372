//! [`step`]: one random step of a sequence.

use std::collections::BTreeSet;

use super::{
    edits, places,
    world::{Files, World},
};
use crate::support::{Answer, Entry};

/// Function of a step; returns `None` if it ran no command, or the command was killed.
type Step = fn(&mut World) -> Option<Answer>;

/// Steps that one `undo` reverses, with their weights.
const UNDOABLE: [(Step, u64); 16] = [
    (edits::patch, 10),
    (edits::edit, 5),
    (edits::write_file, 6),
    (edits::remove_file, 2),
    (edits::create, 6),
    (edits::delete, 3),
    (edits::roll_back, 5),
    (edits::roll_back_to_head, 2),
    (edits::disable, 4),
    (edits::enable, 6),
    (edits::hide, 3),
    (edits::show, 4),
    (edits::install, 5),
    (edits::uninstall, 3),
    (edits::update, 5),
    (places::adopt, 5),
];

/// Steps that `undo` does not reverse in one operation.
const OTHERS: [(Step, u64); 18] = [
    (edits::undo, 5),
    (edits::undo_to, 2),
    (edits::commit, 5),
    (edits::pin, 1),
    (edits::unpin, 2),
    (edits::gc, 2),
    (edits::doctor_fix, 5),
    (edits::follow_hint, 8),
    (places::edit_well, 8),
    (places::edit_badly, 4),
    (places::edit_hostile, 3),
    (places::mend, 9),
    (places::git_commit, 3),
    (places::git_switch, 5),
    (places::remove_link, 4),
    (places::replace_link, 4),
    (places::remove_folder, 2),
    (places::link_folder, 1),
];

/// One step in this many is undone at once.
const UNDONE: u64 = 5;

/// One kill in this many is followed by another step before anything is checked.
const UNSEEN: u64 = 2;

/// Performs a step, and checks the agents' views afterwards.
pub fn step(world: &mut World) {
    world.tally.steps += 1;
    let (of_undoable, of_others) = (total(&UNDOABLE), total(&OTHERS));
    let at = world.random.below(of_undoable + of_others);
    if at >= of_undoable {
        let _answer = chosen(&OTHERS, at - of_undoable)(world);
    } else if world.chance(UNDONE) {
        undone(world, chosen(&UNDOABLE, at));
    } else {
        let _answer = chosen(&UNDOABLE, at)(world);
    }
    if !world.is_killed || !world.chance(UNSEEN) {
        world.check();
    }
}

/// Performs a step and undoes it, which restores the previous state. A command that changed nothing, or only restored a
/// missing link, is not an operation and leaves nothing to undo.
fn undone(world: &mut World, step: Step) {
    let listed = world.run(&["list"], b"").text();
    let last = last_operation(world);
    world.steady = Some(world.files());
    let answer = step(world);
    let before = world.steady.take().unwrap();
    if answer.is_none_or(|answer| answer.exit != 0) || world.files() == before {
        return;
    }
    if last_operation(world) != last {
        let undo = world.run(&["undo"], b"");
        if [4, 5].contains(&undo.exit) {
            // A blocked edit that `rollback NAME head` put aside never comes back, and an agent that disables a pinned
            // skill may not take that back.
            return;
        }
        assert_eq!(undo.exit, 0, "{undo}");
        world.tally.undone += 1;
    }
    let left = left_changed(&before, world, &listed);
    assert!(left.is_empty(), "`undo` left: {left:#?}");
}

/// Returns the operation that `undo` would reverse.
fn last_operation(world: &mut World) -> Option<String> {
    let list = world.run(&["undo", "--list"], b"").done();
    list["operations"][0]["id"].as_str().map(str::to_owned)
}

/// Returns the changed files. Excluded are files that were removed by hand and that a command may restore (our links,
/// and folders of skills that `list` names), and links restored by git to skills that are withheld from agents.
fn left_changed(before: &Files, world: &World, listed: &str) -> Vec<String> {
    const LIBRARY: &str = ".agents/skills";
    let now = world.files();
    let library = &now[LIBRARY];
    let mut left = Vec::new();
    for (folder, then) in before {
        let now = &now[folder];
        let is_healed = |path: &str| *folder != LIBRARY && now.get(path) == library.get(path);
        let is_back = |path: &str| {
            let name = skill_of(path);
            *folder == LIBRARY && !then.keys().any(|path| skill_of(path) == name) && listed.contains(name)
        };
        let paths: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
        for path in paths.into_iter().filter(|path| then.get(*path) != now.get(*path)) {
            let is_withheld = *folder != LIBRARY && !now.contains_key(path) && world.is_withheld(skill_of(path));
            let may_come = !then.contains_key(path) && (is_healed(path) || is_back(path));
            if !is_withheld && !may_come {
                let (was, is) = (describe(then.get(path)), describe(now.get(path)));
                left.push(format!("{folder}/{path} was {was} and is {is}"));
            }
        }
    }
    left
}

/// Returns the skill to which a path of a library belongs.
fn skill_of(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

fn describe(entry: Option<&Entry>) -> String {
    match entry {
        Some(Entry::File(_, bytes)) => format!("{:?}", String::from_utf8_lossy(bytes)),
        other => format!("{other:?}"),
    }
}

fn total(steps: &[(Step, u64)]) -> u64 {
    steps.iter().map(|(_, weight)| weight).sum()
}

fn chosen(steps: &[(Step, u64)], mut at: u64) -> Step {
    for (step, weight) in steps {
        match at.checked_sub(*weight) {
            Some(rest) => at = rest,
            None => return *step,
        }
    }
    unreachable!("a number below the sum of the weights")
}
