//! A single view: only the modules `agent::{effective, host, visibility}` decide whether an agent sees a skill.

use super::tree::{Fault, Tree};

/// Modules that decide it.
const HOMES: [&str; 3] = ["crates/agent/src/effective", "crates/agent/src/host", "crates/agent/src/visibility"];

/// Parts of the decision, as tokens, with the files besides the module that define them.
const PARTS: [(&[&str], &str); 4] = [
    (&["permissions", ".", "skill", "("], ""),
    (&[".", "is_on_list", "("], ""),
    (&[".", "project_folders", "("], "crates/library/src/agents.rs"),
    (&[".", "user_folders", "("], "crates/library/src/agents.rs"),
];

/// The crate that links skills. It is below `agent`, and uses the agents' table to find their folders.
const PLACES: &str = "crates/client/src/";

/// Finds calls of a part of the decision outside the module that makes it, except in tests.
pub fn second_views(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in tree.sources().iter().filter(|source| !is_home(&source.path)) {
        for at in 0..source.tokens.len() {
            let is_part = |(words, defined): &&(&[&str], &str)| source.reads(at, words) && source.path != *defined;
            let Some((words, _)) = PARTS.iter().find(is_part) else { continue };
            let line = source.tokens[at].line;
            if !source.is_test_line(line) {
                let message = format!("`{}` outside `agent::effective`: call `Views::effective`", words.concat());
                faults.push(Fault::new(&source.path, line, message));
            }
        }
    }
    faults
}

fn is_home(path: &str) -> bool {
    let is_in = |home: &&str| path.strip_prefix(*home).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'));
    path.starts_with(PLACES) || HOMES.iter().any(is_in)
}

#[test]
fn second_implementations_are_found() {
    let deciding = "//! X.\nfn f() { settings.permissions.skill(a, b, c) == d }\nfn g() { agent.user_folders(home) }\n";
    let found = |path: &str| second_views(&Tree::of(&[(path, deciding)])).iter().map(|f| f.line).collect::<Vec<_>>();
    assert_eq!(found("crates/ops/src/visibility.rs"), [2, 3]);
    assert_eq!(found("crates/mcp/src/offer.rs"), [2, 3]);
    assert_eq!(found("crates/agent/src/effective_too.rs"), [2, 3]);
    assert!(found("crates/agent/src/effective.rs").is_empty());
    assert!(found("crates/agent/src/host.rs").is_empty());
    assert_eq!(found("crates/library/src/agents.rs"), [2]);
    assert!(found("crates/agent/tests/live.rs").is_empty());
}
