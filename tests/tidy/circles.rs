//! Import cycles: files of a crate that import each other in a loop. A module and its child may import each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    source::Source,
    tree::{Fault, Tree},
};

/// Crates that must not have import cycles among their files.
const ROOTS: [&str; 17] = [
    "cli",
    "crates/agent/src",
    "crates/client/src",
    "crates/compose/src",
    "crates/evolve/src",
    "crates/flow/src",
    "crates/gateway/src",
    "crates/library/src",
    "crates/mcp/src",
    "crates/ops/src",
    "crates/process/src",
    "crates/scan/src",
    "crates/server/src",
    "crates/skill/src",
    "crates/skill_manage/src",
    "crates/web/src",
    "registry-index/src",
];

type Module = Vec<String>;

/// Finds files in import cycles, each with its imports within the cycle.
pub fn circles(tree: &Tree) -> Vec<Fault> {
    ROOTS.iter().flat_map(|root| circles_of(&modules(tree, root))).collect()
}

/// Returns the files of a crate by module, except for tests.
fn modules<'t>(tree: &'t Tree, root: &str) -> BTreeMap<Module, &'t Source> {
    let sources = tree.sources().iter().filter(|source| !source.is_test_file());
    let below = sources.filter_map(|source| Some((source.path.strip_prefix(root)?.strip_prefix('/')?, source)));
    let module = |path: &str| match path.trim_end_matches(".rs") {
        "lib" | "main" => Module::new(),
        path => path.split('/').map(str::to_owned).collect(),
    };
    below.map(|(path, source)| (module(path), source)).collect()
}

fn circles_of(modules: &BTreeMap<Module, &Source>) -> Vec<Fault> {
    let imports: BTreeMap<&Module, BTreeSet<&Module>> =
        modules.iter().map(|(module, source)| (module, imports(modules, module, source))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (*module, reached(&imports, module))).collect();
    let is_in_one = |module: &Module, other: &Module| reached[other].contains(module);
    let mut faults = Vec::new();
    for (module, others) in &imports {
        let round: Vec<String> =
            others.iter().filter(|other| is_in_one(module, other)).map(|other| modules[*other].path.clone()).collect();
        if !round.is_empty() {
            let message = format!("is in a circle with {}: give what both need a file below them", round.join(", "));
            faults.push(Fault::new(&modules[*module].path, 1, message));
        }
    }
    faults
}

/// Returns the modules reachable by imports.
fn reached<'m>(imports: &BTreeMap<&'m Module, BTreeSet<&'m Module>>, from: &Module) -> BTreeSet<&'m Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = imports[from].iter().copied().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(&imports[module]);
        }
    }
    found
}

/// Returns the modules that a file imports, except for its parent and children.
fn imports<'m>(modules: &'m BTreeMap<Module, &Source>, module: &Module, source: &Source) -> BTreeSet<&'m Module> {
    let found = paths(source).into_iter().filter_map(|path| target(modules, module, &path));
    let is_near = |one: &Module, other: &Module| one.len() == other.len() + 1 && one.starts_with(other);
    found.filter(|found| *found != module && !is_near(found, module) && !is_near(module, found)).collect()
}

/// Resolves a path to its module.
fn target<'m>(modules: &'m BTreeMap<Module, &Source>, from: &Module, path: &[String]) -> Option<&'m Module> {
    let up = path.iter().take_while(|part| *part == "super").count();
    let (mut at, rest) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => (from[..from.len().checked_sub(up)?].to_vec(), &path[up..]),
        child if modules.contains_key(&[from.as_slice(), &[child.to_owned()]].concat()) => (from.clone(), path),
        _ => return None,
    };
    for part in rest {
        at.push(part.clone());
        if !modules.contains_key(&at) {
            at.pop();
            break;
        }
    }
    modules.get_key_value(&at).map(|(module, _)| module)
}

/// Returns the paths outside tests, with `use` trees expanded.
fn paths(source: &Source) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < source.tokens.len() {
        let begins = at == 0 || source.text_at(at - 1) != ":";
        at = match begins && !source.is_test_line(source.tokens[at].line) && is_name(source.text_at(at)) {
            true => read_path(source, at, &mut Vec::new(), &mut found).max(at + 1),
            false => at + 1,
        };
    }
    found
}

/// Parses a path or a tree of paths from a token on, below `prefix`; returns the index of the next token.
fn read_path(source: &Source, mut at: usize, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let depth = prefix.len();
    while is_name(source.text_at(at)) {
        prefix.push(source.text_at(at).to_owned());
        at += 1;
        if !source.reads(at, &[":", ":"]) {
            break;
        }
        at += 2;
    }
    if source.text_at(at) == "{" && source.reads(at.saturating_sub(2), &[":", ":"]) {
        at += 1;
        while !matches!(source.text_at(at), "}" | "") {
            at = match is_name(source.text_at(at)) {
                true => read_path(source, at, prefix, found),
                false => at + 1,
            };
        }
        at += 1;
    } else {
        found.push(prefix.clone());
    }
    prefix.truncate(depth);
    at
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[test]
fn planted_cycles_are_found() {
    let straight = [
        ("crates/skill/src/lib.rs", "mod one;\nmod two;\npub use one::A;\npub use two::b;\n"),
        ("crates/skill/src/one.rs", "mod deep;\nuse deep::C;\npub struct A(C);\n"),
        ("crates/skill/src/one/deep.rs", "use super::A;\npub struct C;\n"),
        ("crates/skill/src/two.rs", "use crate::one::A;\n#[cfg(test)]\nmod tests { use super::*; }\n"),
    ];
    assert_eq!(circles(&Tree::of(&straight)), []);
    let found = |path: &str, text: &str| {
        let others = straight.iter().copied().filter(|(known, _)| *known != path);
        circles(&Tree::of(&others.chain([(path, text)]).collect::<Vec<_>>())).len()
    };
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\nuse crate::{two::b, x::{Y, self}};\n"), 2);
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\nfn f() { super::two::b() }\n"), 2);
    assert_eq!(found("crates/skill/src/one/deep.rs", "use crate::two::b;\n"), 0);
    assert_eq!(found("crates/skill/src/two.rs", "use crate::one::deep::C;\n"), 0);
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\n#[cfg(test)]\nmod tests { use crate::two::b; }\n"), 0);
}
