//! Somebody exchanges folders and files for links while commands run.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use super::Guarded;

/// Exchanges two names as fast as possible while `work` runs, and returns the number of exchanges.
fn while_exchanging<T>(one: &Path, other: &Path, work: impl FnOnce() -> T) -> (T, usize) {
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let exchange = || {
        while !stop.load(Ordering::Relaxed) {
            let done = rustix::fs::renameat_with(
                rustix::fs::CWD,
                one,
                rustix::fs::CWD,
                other,
                rustix::fs::RenameFlags::EXCHANGE,
            );
            count.fetch_add(usize::from(done.is_ok()), Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        scope.spawn(exchange);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        (result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), count.load(Ordering::Relaxed))
    })
}

/// Runs commands while a place and a link to outside are exchanged again and again: whatever they
/// answer, they read and change nothing outside.
fn tried(guard: &Guarded, place: &Path, target: &Path, rounds: usize, commands: &[&[&str]]) {
    let link = guard.sandbox.cwd().join("swap");
    std::os::unix::fs::symlink(target, &link).unwrap();
    let ((), exchanges) = while_exchanging(place, &link, || {
        for command in commands.iter().cycle().take(rounds * commands.len()) {
            let answer = guard.sandbox.ask(command);
            guard.told_nothing(&answer);
            assert!(!answer.stderr.contains("panicked"), "{answer}");
        }
    });
    assert!(exchanges > 10, "only {exchanges} exchanges");
    for path in [place, &link] {
        if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
            fs::remove_file(path).unwrap();
        }
    }
    guard.outside_held("a race");
    guard.unread();
}

const READING: [&[&str]; 6] = [
    &["validate", "raced"],
    &["scan", "raced"],
    &["pack", "raced", "-o", "out.skill"],
    &["install", "./raced"],
    &["adopt", "raced"],
    &["publish", "raced", "--owner", "acme"],
];

#[test]
fn folder_swapped_for_link_leaks_nothing() {
    let guard = Guarded::new();
    let folder = guard.folder("raced");
    tried(&guard, &folder.join("references"), &guard.sandbox.path("outside/skill/references"), 8, &READING);
}

#[test]
fn file_swapped_for_link_leaks_nothing() {
    for (file, target) in [("references/notes.md", "outside/secret.txt"), ("SKILL.md", "outside/skill/SKILL.md")] {
        let guard = Guarded::new();
        let folder = guard.folder("raced");
        tried(&guard, &folder.join(file), &guard.sandbox.path(target), 5, &READING);
    }
}

#[test]
fn nested_skill_swap_leaks_nothing() {
    let guard = Guarded::new();
    let folder = guard.folder("skills/raced");
    let skills = guard.sandbox.cwd().join("skills");
    assert!(folder.starts_with(&skills));
    let commands: [&[&str]; 4] =
        [&["validate", "skills"], &["scan", "skills"], &["install", "./skills", "--all"], &["adopt", "skills"]];
    tried(&guard, &folder, &guard.sandbox.path("outside/skill"), 12, &commands);
}

const WRITING: [&[&str]; 7] = [
    &["manage", "patch", "demo", "--find", "alpha", "--replace", "alpha beta"],
    &["manage", "write_file", "demo", "--path", "references/notes.md", "--content", "notes.md"],
    &["manage", "remove_file", "demo", "--path", "references/notes.md"],
    &["rollback", "demo"],
    &["rollback", "demo", "head"],
    &["status"],
    &["read", "demo"],
];

#[test]
fn swapped_skill_is_never_written_through() {
    for (below, target) in
        [("", "outside/skill"), ("references", "outside/skill/references"), ("SKILL.md", "outside/skill/SKILL.md")]
    {
        let guard = Guarded::new();
        fs::write(guard.sandbox.cwd().join("notes.md"), "# Notes\n").unwrap();
        guard.sandbox.done(WRITING[1]);
        let skill = guard.sandbox.user_skill("demo");
        let place = if below.is_empty() { skill } else { skill.join(below) };
        tried(&guard, &place, &guard.sandbox.path(target), 4, &WRITING);
        guard.sandbox.done(&["history", "demo"]);
    }
}

#[test]
fn swapped_library_is_never_left() {
    let guard = Guarded::new();
    fs::write(guard.sandbox.cwd().join("notes.md"), "# Notes\n").unwrap();
    let library = guard.sandbox.home().join(".agents/skills");
    // The library is where its path led when the command began: there alone, or elsewhere as another library.
    tried_library(&guard, &library, &WRITING);
}

/// Like [`tried`], for the library itself. A command that began while it was a link works on the other library, so
/// files created there are not checked; but no command may mix the two.
fn tried_library(guard: &Guarded, library: &Path, commands: &[&[&str]]) {
    let other = guard.sandbox.cwd().join("other");
    fs::create_dir(&other).unwrap();
    let link = guard.sandbox.cwd().join("swap");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let ((), exchanges) = while_exchanging(library, &link, || {
        for command in commands.iter().cycle().take(6 * commands.len()) {
            guard.told_nothing(&guard.sandbox.ask(command));
        }
    });
    assert!(exchanges > 10, "only {exchanges} exchanges");
    // `demo` has a history in the first library alone, so no command may have checked it out in the other.
    assert!(!other.join("demo").exists(), "a skill of one library was written into another");
    guard.outside_held("a library that turns into a link");
}
