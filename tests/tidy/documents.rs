//! Checks that the documents match the code: links, named source files, invariants, copies of clippy's settings.

use std::collections::BTreeSet;

use toml::Table;

use super::tree::{Fault, Tree};

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";
const THREATS: &str = "docs/THREATS.md";
const MISSION: &str = "docs/MISSION.md";
/// Systems in the mission, with the number of rows of each.
const SYSTEMS: [(&str, usize); 5] = [("AS", 9), ("SA", 6), ("OC", 5), ("CC", 7), ("DF", 11)];
/// Prefix of the list of tests that enforce an invariant.
const HELD_BY: &str = "Held by:";
/// Documents that every checkout must have.
const EXPECTED: [&str; 3] = ["README.md", ARCHITECTURE, "docs/GLOSSARY.md"];

/// Finds missing documents, and broken links between documents and to files.
pub fn dead_links(tree: &Tree) -> Vec<Fault> {
    let absent = EXPECTED.iter().filter(|path| !tree.has(path));
    let mut faults: Vec<_> = absent.map(|path| Fault::new(path, 1, "this document is expected here")).collect();
    for (path, text) in tree.files().filter(|(path, _)| is_document(path)) {
        for (line, target) in links(text) {
            if resolve(path, &target).is_none_or(|found| !found.is_empty() && !tree.has(&found)) {
                faults.push(Fault::new(path, line, format!("the link to `{target}` leads nowhere")));
            }
        }
    }
    faults
}

/// Finds source files that a document or a comment names and that do not exist. A name with capitals is a placeholder.
pub fn missing_sources(tree: &Tree) -> Vec<Fault> {
    let is_known = |name: &str| tree.files().any(|(path, _)| path == name || path.ends_with(&format!("/{name}")));
    let mut faults = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_document(path) || path.ends_with(".rs")) {
        let is_read = |line: &str| !path.ends_with(".rs") || line.trim_start().starts_with("//");
        for (at, line) in text.lines().enumerate().filter(|(_, line)| is_read(line)) {
            for name in line.split('`').skip(1).step_by(2).filter(|name| is_source_name(name) && !is_known(name)) {
                faults.push(Fault::new(path, at + 1, format!("there is no `{name}`")));
            }
        }
    }
    faults
}

fn is_source_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '/' | '.');
    text.ends_with(".rs") && text.chars().all(is_plain)
}

/// Returns the Markdown files at the root, in `docs`, or at the top of the index crate.
fn is_document(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    path.ends_with(".md") && (matches!(folder, "" | "registry-index") || folder.split('/').next() == Some("docs"))
}

/// Returns line and target of every link inside the project, outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, prose) in prose_lines(text) {
        let inline = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
        let definition = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
        for target in inline.chain(definition) {
            let target = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push((line, target.to_owned()));
            }
        }
    }
    found
}

/// Returns the lines without inline code and code blocks, numbered from 1.
fn prose_lines(text: &str) -> Vec<(usize, String)> {
    let mut in_fence = false;
    let mut prose = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        if !in_fence && !is_fence {
            prose.push((at + 1, line.split('`').step_by(2).collect::<String>()));
        }
    }
    prose
}

/// Resolves `target` from the document at `from`; `None` if it leaves the project.
fn resolve(from: &str, target: &str) -> Option<String> {
    let file = target.split('#').next().unwrap_or_default();
    if file.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = if file.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in file.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A numbered item under the heading of the invariants.
struct Invariant {
    line: usize,
    number: usize,
    lines: Vec<(usize, String)>,
}

/// Finds invariants without a named test or type that enforces them, or whose test or file does not exist.
pub fn unheld_invariants(tree: &Tree) -> Vec<Fault> {
    let invariants = invariants(tree.text(ARCHITECTURE).unwrap_or_default());
    if invariants.is_empty() {
        return vec![Fault::new(ARCHITECTURE, 1, "no numbered items under a heading that says `Invariants`")];
    }
    let functions = tree.sources().iter().flat_map(|source| source.functions());
    let tests: BTreeSet<_> = functions.filter(|function| function.is_test).map(|function| function.name).collect();
    let mut faults = Vec::new();
    for (at, invariant) in invariants.iter().enumerate() {
        if invariant.number != at + 1 {
            faults.push(Fault::new(
                ARCHITECTURE,
                invariant.line,
                format!("invariant {} comes at place {}", invariant.number, at + 1),
            ));
        }
        let keepers = keepers(invariant);
        if keepers.is_empty() {
            let message =
                format!("invariant {} does not end with `{HELD_BY}` and names in backticks", invariant.number);
            faults.push(Fault::new(ARCHITECTURE, invariant.line, message));
        }
        let unknown = keepers.iter().filter(|(_, name)| !holds(tree, &tests, name));
        faults.extend(
            unknown.map(|(line, name)| Fault::new(ARCHITECTURE, *line, format!("`{name}` is no test and no file"))),
        );
    }
    faults
}

/// Finds names in the tables of threats that are not tests: claims that nothing enforces.
pub fn unheld_threats(tree: &Tree) -> Vec<Fault> {
    let functions = tree.sources().iter().flat_map(|source| source.functions());
    let tests: BTreeSet<_> = functions.filter(|function| function.is_test).map(|function| function.name).collect();
    let is_word = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_');
    let is_claim = |name: &&str| name.matches('_').count() > 1 && !name.starts_with('_') && name.chars().all(is_word);
    let mut faults = Vec::new();
    for (at, line) in tree.text(THREATS).unwrap_or_default().lines().enumerate() {
        let claims = line.split('`').skip(1).step_by(2).filter(is_claim);
        let unheld = claims.filter(|name| !tests.contains(*name));
        faults.extend(unheld.map(|name| Fault::new(THREATS, at + 1, format!("`{name}` is no test"))));
    }
    faults
}

/// Finds rows of the mission that are missing, duplicated, or name no test.
pub fn unheld_rows(tree: &Tree) -> Vec<Fault> {
    let functions = tree.sources().iter().flat_map(|source| source.functions());
    let tests: BTreeSet<_> = functions.filter(|function| function.is_test).map(|function| function.name).collect();
    let rows: Vec<(usize, Vec<&str>)> = tree
        .text(MISSION)
        .unwrap_or_default()
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| id |"))
        .map(|(at, line)| (at + 1, line.split(" | ").collect()))
        .collect();
    let of_system = |(system, count): (&'static str, usize)| (1..=count).map(move |number| format!("{system}{number}"));
    let expected = SYSTEMS.into_iter().flat_map(of_system).chain(["Card".to_owned()]);
    let is_of = |cells: &[&str], id: &str| cells.first().is_some_and(|cell| cell.trim_start_matches("| ") == id);
    let mut faults: Vec<Fault> = expected
        .filter(|id| rows.iter().filter(|(_, cells)| is_of(cells, id)).count() != 1)
        .map(|id| Fault::new(MISSION, 1, format!("there is not one row {id}")))
        .collect();
    for (line, cells) in &rows {
        let names: Vec<&str> = cells.get(3).map_or("", |cell| *cell).split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            faults.push(Fault::new(MISSION, *line, "the row names no test"));
        }
        let unknown = names.iter().filter(|name| !tests.contains(**name));
        faults.extend(unknown.map(|name| Fault::new(MISSION, *line, format!("`{name}` is no test"))));
    }
    faults
}

fn invariants(text: &str) -> Vec<Invariant> {
    let mut found: Vec<Invariant> = Vec::new();
    let mut depth = None;
    for (at, line) in text.lines().enumerate() {
        let level = line.chars().take_while(|c| *c == '#').count();
        if level > 0 && depth.is_none_or(|depth| level <= depth) {
            depth = line.to_lowercase().contains("invariant").then_some(level);
        } else if depth.is_some() {
            match (item_number(line), found.last_mut()) {
                (Some(number), _) => {
                    found.push(Invariant { line: at + 1, number, lines: vec![(at + 1, line.to_owned())] })
                }
                (None, Some(invariant)) => invariant.lines.push((at + 1, line.to_owned())),
                (None, None) => {}
            }
        }
    }
    found
}

fn item_number(line: &str) -> Option<usize> {
    line.split_once(". ")?.0.parse().ok()
}

/// Returns line and name of the items in backticks after `Held by:`.
fn keepers(invariant: &Invariant) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut begun = false;
    for (line, text) in &invariant.lines {
        let list = if begun { text.as_str() } else { text.split_once(HELD_BY).map_or("", |(_, list)| list) };
        begun |= text.contains(HELD_BY);
        found.extend(list.split('`').skip(1).step_by(2).map(|name| (*line, name.to_owned())));
    }
    found
}

/// Returns whether `name` is a test (possibly with its path), an existing file, or `type`.
fn holds(tree: &Tree, tests: &BTreeSet<String>, name: &str) -> bool {
    let bare = name.rsplit("::").next().unwrap_or(name);
    name == "type" || tests.contains(bare) || tree.has(name)
}

/// Finds copies of clippy's settings that differ: clippy reads only the nearest file.
pub fn differing_clippy_files(tree: &Tree) -> Vec<Fault> {
    let read = |path: &str| -> Table { tree.text(path).and_then(|text| text.parse().ok()).unwrap_or_default() };
    let (root, crates) = (read("clippy.toml"), read("crates/clippy.toml"));
    let mut faults = Vec::new();
    if crates != read("registry-index/clippy.toml") {
        faults.push(Fault::new("registry-index/clippy.toml", 1, "differs from crates/clippy.toml"));
    }
    let missing = root.iter().filter(|(key, value)| crates.get(*key) != Some(value));
    faults.extend(
        missing.map(|(key, _)| Fault::new("crates/clippy.toml", 1, format!("`{key}` differs from clippy.toml"))),
    );
    if !crates.contains_key("disallowed-methods") {
        faults.push(Fault::new("crates/clippy.toml", 1, "`disallowed-methods` is gone"));
    }
    faults
}

#[test]
fn dead_links_are_found() {
    let guide = "[ok](../README.md) [top](#a) [web](https://example.com/x) [dir](.) [root](/docs) `[code](no.md)`\n\
                 [bad](b.md#x) [out](../../x.md)\n```\n[fenced](no.md)\n```\n[ref]: c.md \"title\"\n";
    let good = [("README.md", ""), ("docs/ARCHITECTURE.md", ""), ("docs/GLOSSARY.md", "")];
    assert_eq!(dead_links(&Tree::of(&good)), []);
    let bad = dead_links(&Tree::of(&[&good[..], &[("docs/guide.md", guide)]].concat()));
    assert_eq!(bad.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 2, 6]);
    assert_eq!(dead_links(&Tree::of(&[])).len(), EXPECTED.len());
}

#[test]
fn missing_sources_are_found() {
    let comment = "//! See `b.rs`, `a/b.rs` and `gone.rs`.\nfn f() { let _sample = \"`none.rs`\"; }";
    let tree = Tree::of(&[("README.md", "`VERB.rs` and `a/gone.rs`"), ("x/a/b.rs", comment)]);
    let found: Vec<_> = missing_sources(&tree).into_iter().map(|fault| (fault.path, fault.message)).collect();
    assert_eq!(
        found,
        [("README.md", "`a/gone.rs`"), ("x/a/b.rs", "`gone.rs`")]
            .map(|(path, name)| { (path.to_owned(), format!("there is no {name}")) })
    );
}

#[test]
fn unheld_invariants_are_found() {
    let text = "# A\n1. not one\n## Invariants\n1. Good. Held by: `good`,\n\
                \x20  `a::b::good`, `type`, `clippy.toml`, `a.rs`.\n\
                2. None.\n4. `x` Held by:\n   `helper` and `gone.rs`\n## Next\n1. no\n";
    let tree = |text| {
        Tree::of(&[(ARCHITECTURE, text), ("clippy.toml", ""), ("a.rs", "#[test]\nfn good() {}\nfn helper() {}")])
    };
    let found: Vec<_> = unheld_invariants(&tree(text)).iter().map(|fault| fault.line).collect();
    assert_eq!(found, [6, 7, 8, 8]);
    assert_eq!(unheld_invariants(&tree("# Invariants\n\nnone yet")).len(), 1);
    assert_eq!(unheld_invariants(&tree("# Invariants\n1. A. Held by: `good`")), []);
}

#[test]
fn untested_threats_are_found() {
    let text = "Prose with `node_modules` and `__a_folder__`.\n| class | `held_by_a_test`, `other` |\n| x | `no_more_test` |\n";
    let source = "#[test]\nfn held_by_a_test() {}\nfn no_more_test() {}";
    let found = unheld_threats(&Tree::of(&[(THREATS, text), ("a.rs", source)]));
    assert_eq!(found.iter().map(|fault| fault.line).collect::<Vec<_>>(), [3]);
}

#[test]
fn untested_mission_rows_are_found() {
    let ids =
        SYSTEMS.into_iter().flat_map(|(system, count)| (1..=count).map(move |number| format!("{system}{number}")));
    let row = |id: String| format!("| {id} | what | `a.rs` | `held_by_a_test` | `skillhub` |\n");
    let rows: String = ids.chain(["Card".to_owned()]).map(row).collect();
    let found =
        |text: &str| unheld_rows(&Tree::of(&[(MISSION, text), ("a.rs", "#[test]\nfn held_by_a_test() {}")])).len();
    assert_eq!(found(&rows), 0);
    assert_eq!(found(&rows.replace("| DF7 |", "| DF6 |")), 2, "one is doubled, one is absent");
    assert_eq!(found(&rows.replacen("`held_by_a_test`", "`no_test`", 1)), 1);
    assert_eq!(found(&rows.replacen("`held_by_a_test`", "nothing", 1)), 1);
}

#[test]
fn differing_clippy_files_are_found() {
    let tree = |root, index| {
        Tree::of(&[
            ("clippy.toml", root),
            ("crates/clippy.toml", "a = 1\ndisallowed-methods = []"),
            ("registry-index/clippy.toml", index),
        ])
    };
    assert_eq!(differing_clippy_files(&tree("a = 1", "a = 1\ndisallowed-methods = []")), []);
    assert_eq!(differing_clippy_files(&tree("a = 2", "a = 1")).len(), 2);
    assert_eq!(differing_clippy_files(&Tree::of(&[])).len(), 1);
}
