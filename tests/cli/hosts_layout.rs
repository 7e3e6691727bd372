//! The folder that Claude Code reads holds what `read` serves, for each way to come by skills and each event.
//! `tests/hosts/hosts.py` checks the same with the hosts themselves, `tests/sequences` in random sequences.

use std::fs;

use crate::support::{
    Layout,
    layout::{Source, mark, put, text},
};

/// One skill per event, so that one project serves them all.
const PATCHED: &str = "tables";
const EDITED: &str = "letters";
const UPDATED: &str = "charts";
const ROLLED_BACK: &str = "invoices";
const UNDONE: &str = "recipes";
const DISABLED: &str = "slides";
const ENABLED: &str = "minutes";
const BRANCHED: &str = "budgets";
const SKILLS: [&str; 8] = [PATCHED, EDITED, UPDATED, ROLLED_BACK, UNDONE, DISABLED, ENABLED, BRANCHED];

#[track_caller]
fn patch(layout: &Layout, name: &str, from: u32, to: u32) {
    let (find, replace) = (mark(name, from), mark(name, to));
    layout.done(&["manage", "patch", name, "--find", &find, "--replace", &replace, "--replace-all"]);
}

/// Checks that Claude Code reads a version, and that `read` serves the same.
#[track_caller]
fn holds(layout: &Layout, name: &str, version: u32) {
    let path = layout.folder(".claude/skills").join(name).join("SKILL.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    assert!(text.contains(&mark(name, version)), "{name} is not at version {version}:\n{text}");
    let read = layout.done(&["read", name]);
    assert!(text.ends_with(read["content"].as_str().unwrap()), "{text}\n{read:#}");
}

#[track_caller]
fn all_events_reach_claude_code(layout: &Layout) {
    patch(layout, PATCHED, 1, 2);
    holds(layout, PATCHED, 2);
    layout.release(UPDATED, 2);
    match layout.source {
        Source::Here => layout.done_with(&["manage", "edit", UPDATED, "--content", "-"], &text(UPDATED, 2)),
        Source::Registry | Source::Git => layout.done(&["update", UPDATED]),
    };
    holds(layout, UPDATED, 2);
    for (name, command) in [(ROLLED_BACK, &["rollback", ROLLED_BACK][..]), (UNDONE, &["undo"])] {
        patch(layout, name, 1, 2);
        patch(layout, name, 2, 3);
        holds(layout, name, 3);
        layout.done(command);
        holds(layout, name, 2);
    }
    for name in [DISABLED, ENABLED] {
        patch(layout, name, 1, 2);
        layout.done(&["disable", name]);
        assert!(!layout.folder(".claude/skills").join(name).exists(), "{name}");
    }
    layout.done(&["enable", ENABLED]);
    holds(layout, ENABLED, 2);
}

/// Edits by hand and branches change the folder of the library without a command.
#[track_caller]
fn all_files_reach_claude_code(layout: &Layout) {
    layout.commit();
    layout.git(&["branch", "old"]);
    patch(layout, BRANCHED, 1, 2);
    layout.commit();
    layout.git(&["checkout", "--quiet", "old"]);
    holds(layout, BRANCHED, 1);
    layout.git(&["checkout", "--quiet", "main"]);
    holds(layout, BRANCHED, 2);
    put(&layout.folder(".agents/skills"), EDITED, 2);
    holds(layout, EDITED, 2);
}

fn adopted_in_home() -> Layout {
    Layout::adopted_in_home(&SKILLS, &["claude-code", "opencode"])
}

#[test]
fn events_reach_an_adopted_project() {
    all_events_reach_claude_code(&Layout::adopted_in_project(&SKILLS));
}

#[test]
fn events_reach_an_adopted_home() {
    all_events_reach_claude_code(&adopted_in_home());
}

#[test]
fn events_reach_imported_skills() {
    all_events_reach_claude_code(&Layout::imported(&SKILLS));
}

#[test]
fn events_reach_installed_skills() {
    all_events_reach_claude_code(&Layout::installed(&SKILLS));
}

#[test]
fn events_reach_created_skills() {
    all_events_reach_claude_code(&Layout::created(&SKILLS));
}

#[test]
fn events_reach_a_clone() {
    all_events_reach_claude_code(&Layout::cloned(&SKILLS));
}

#[test]
fn edits_and_branches_reach_every_layout() {
    let layouts = [Layout::adopted_in_project, Layout::imported, Layout::installed, Layout::created, Layout::cloned];
    for layout in layouts.map(|make| make(&SKILLS)).into_iter().chain([adopted_in_home()]) {
        all_files_reach_claude_code(&layout);
    }
}
