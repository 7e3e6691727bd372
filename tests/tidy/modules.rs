//! Checks that every Rust file is compiled, and that the integration tests link once.

use std::collections::{BTreeMap, BTreeSet};

use toml::Table;

use super::{
    source::Source,
    tree::{Fault, Tree},
};

/// Finds files without a `mod` line: their tests would never run.
pub fn forgotten(tree: &Tree) -> Vec<Fault> {
    let sources: BTreeMap<_, _> = tree.sources().iter().map(|source| (source.path.as_str(), source)).collect();
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = sources.keys().copied().filter(|path| is_root(path)).collect();
    while let Some(path) = open.pop() {
        if reached.insert(path) {
            let children = sources.get(path).map_or_else(Vec::new, |source| children(source));
            open.extend(
                children.iter().filter_map(|child| sources.get_key_value(child.as_str())).map(|(path, _)| *path),
            );
        }
    }
    let message = "no `mod` line reaches this file, so it is never compiled";
    sources.keys().filter(|path| !reached.contains(*path)).map(|path| Fault::new(path, 1, message)).collect()
}

/// Finds test files of the root package that cargo would compile into separate binaries.
pub fn stray_test_binaries(tree: &Tree) -> Vec<Fault> {
    let manifest: Table = tree.text("Cargo.toml").and_then(|text| text.parse().ok()).unwrap_or_default();
    let finds_tests = manifest.get("package").and_then(|package| package.get("autotests")?.as_bool()) != Some(false);
    let is_stray =
        |path: &str| path.strip_prefix("tests/").is_some_and(|name| name != "main.rs" && !name.contains('/'));
    let stray = tree.sources().iter().filter(|source| finds_tests && is_stray(&source.path));
    let message = "cargo makes this a test binary of its own: the root package needs `autotests = false`";
    stray.map(|source| Fault::new(&source.path, 1, message)).collect()
}

/// Returns whether cargo compiles the file as a crate root.
fn is_root(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (_, kind) = folder.rsplit_once('/').unwrap_or(("", folder));
    match kind {
        _ if matches!(path, "cli/main.rs" | "tests/main.rs" | "tests/replicas.rs") || name == "build.rs" => true,
        "src" => matches!(name, "lib.rs" | "main.rs"),
        "tests" => folder != "tests" && !folder.contains("/src/"),
        _ if name == "main.rs" && ["/examples/", "/tests/"].iter().any(|kind| folder.contains(kind)) => true,
        _ => matches!(kind, "bin" | "benches" | "examples" | "fuzz_targets"),
    }
}

/// Returns the possible paths of the modules that this file declares.
fn children(source: &Source) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let own = match name.trim_end_matches(".rs") {
        "mod" => folder.to_owned(),
        _ if is_root(&source.path) => folder.to_owned(),
        stem => format!("{folder}/{stem}"),
    };
    let declared = (0..source.tokens.len()).filter(|at| source.text_at(*at) == "mod" && source.text_at(at + 2) == ";");
    declared
        .map(|at| source.text_at(at + 1))
        .flat_map(|module| [format!("{own}/{module}.rs"), format!("{own}/{module}/mod.rs")])
        .collect()
}

#[test]
fn forgotten_files_are_found() {
    let tree = Tree::of(&[
        ("tests/main.rs", "mod a;\nmod b; // mod c;"),
        ("tests/a.rs", "mod d;"),
        ("tests/a/d.rs", ""),
        ("tests/b/mod.rs", "mod e;"),
        ("tests/b/e.rs", ""),
        ("tests/c.rs", ""),
        ("tests/a/f.rs", ""),
        ("cli/main.rs", "mod g { }"),
        ("cli/g.rs", ""),
        ("crates/h/src/lib.rs", "pub(crate) mod i;"),
        ("crates/h/src/i.rs", "#[cfg(test)]\nmod tests;"),
        ("crates/h/src/i/tests.rs", ""),
        ("crates/h/tests/j.rs", ""),
        ("crates/h/tests/n/main.rs", "mod o;"),
        ("crates/h/tests/n/o.rs", ""),
        ("crates/h/tests/n/p.rs", ""),
        ("crates/h/examples/k/main.rs", "mod l;"),
        ("crates/h/examples/k/l.rs", ""),
        ("crates/h/examples/k/m.rs", ""),
    ]);
    let found: Vec<_> = forgotten(&tree).into_iter().map(|fault| fault.path).collect();
    assert_eq!(found, ["cli/g.rs", "crates/h/examples/k/m.rs", "crates/h/tests/n/p.rs", "tests/a/f.rs", "tests/c.rs"]);
}

#[test]
fn second_test_binary_is_found() {
    let files = [("tests/main.rs", ""), ("tests/tidy.rs", ""), ("tests/cli/mod.rs", ""), ("crates/a/tests/b.rs", "")];
    assert_eq!(stray_test_binaries(&Tree::of(&files)).len(), 1);
    let manifest = ("Cargo.toml", "[package]\nautotests = false");
    assert_eq!(stray_test_binaries(&Tree::of(&[&files[..], &[manifest]].concat())), []);
}
