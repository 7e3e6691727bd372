//! Import cycles: files of a crate that import each other in a loop. A module and its child may import each other.
//!
//! An item counts for the file that defines it, whatever the files that re-export it. Globs are not followed.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    source::Source,
    tree::{Fault, Tree},
};

/// Crates that must not have import cycles among their files.
const ROOTS: [&str; 20] = [
    "cli", "crates/agent/src", "crates/client/src", "crates/cluster/src", "crates/compose/src", "crates/evolve/src",
    "crates/flow/src", "crates/gateway/src", "crates/json_schema/src", "crates/library/src", "crates/mcp/src",
    "crates/ops/src", "crates/process/src", "crates/scan/src", "crates/server/src", "crates/skill/src",
    "crates/skill_manage/src", "crates/testkit/src", "crates/web/src", "registry-index/src",
];

/// Maximum number of re-exports on the way to an item.
const HOPS: usize = 8;

type Module = Vec<String>;
type Files<'t> = BTreeMap<Module, File<'t>>;

/// A file, with what it mentions outside tests.
struct File<'t> {
    source: &'t Source,
    /// Paths, with `use` trees expanded.
    paths: Vec<Vec<String>>,
    /// Names that `use` binds, with their paths.
    bound: BTreeMap<String, Vec<String>>,
}

/// Finds files in import cycles, each with its imports within the cycle.
pub fn cycles(tree: &Tree) -> Vec<Fault> {
    ROOTS.iter().flat_map(|root| cycles_of(&files(tree, root))).collect()
}

/// Returns the files of a crate by module, except for tests.
fn files<'t>(tree: &'t Tree, root: &str) -> Files<'t> {
    let sources = tree.sources().iter().filter(|source| !source.is_test_file());
    let below = sources.filter_map(|source| Some((source.path.strip_prefix(root)?.strip_prefix('/')?, source)));
    let module = |path: &str| match path.trim_end_matches(".rs").trim_end_matches("/mod") {
        "lib" | "main" => Module::new(),
        path => path.split('/').map(str::to_owned).collect(),
    };
    below.map(|(path, source)| (module(path), File::read(source))).collect()
}

fn cycles_of(files: &Files<'_>) -> Vec<Fault> {
    let imports: BTreeMap<&Module, BTreeSet<&Module>> =
        files.keys().map(|module| (module, imports(files, module))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (*module, reached(&imports, module))).collect();
    let is_in_one = |module: &Module, other: &Module| reached[other].contains(module);
    let path = |module: &Module| files[module].source.path.clone();
    let mut faults = Vec::new();
    for (module, others) in &imports {
        let round: Vec<String> =
            others.iter().filter(|other| is_in_one(module, other)).map(|other| path(other)).collect();
        if !round.is_empty() {
            let message = format!("is in a cycle with {}: give what both need a file below them", round.join(", "));
            faults.push(Fault::new(&path(module), 1, message));
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
fn imports<'f>(files: &'f Files<'_>, module: &Module) -> BTreeSet<&'f Module> {
    let found = files[module].paths.iter().filter_map(|path| target(files, module, path, HOPS));
    let is_near = |one: &Module, other: &Module| one.len() == other.len() + 1 && one.starts_with(other);
    found.filter(|found| *found != module && !is_near(found, module) && !is_near(module, found)).collect()
}

/// Resolves a path to the module that defines its item, through at most `hops` re-exports.
fn target<'f>(files: &'f Files<'_>, from: &[String], path: &[String], hops: usize) -> Option<&'f Module> {
    let up = path.iter().take_while(|part| *part == "super").count();
    let (mut at, mut rest) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "self" => (from.to_vec(), &path[1..]),
        "super" => (from[..from.len().checked_sub(up)?].to_vec(), &path[up..]),
        name if files.get(from)?.bound.contains_key(name) || files.contains_key(&[from, &path[..1]].concat()) => {
            (from.to_vec(), path)
        }
        _ => return None,
    };
    rest.first()?;
    while let Some((part, after)) = rest.split_first() {
        let below = [&at[..], &rest[..1]].concat();
        let is_module = files.contains_key(&below);
        match files.get(&at).and_then(|file| file.bound.get(part)) {
            Some(origin) if !is_module || after.is_empty() => {
                return target(files, &at, &[origin.as_slice(), after].concat(), hops.checked_sub(1)?);
            }
            _ if is_module => (at, rest) = (below, after),
            _ => break,
        }
    }
    files.get_key_value(&at).map(|(module, _)| module)
}

impl<'t> File<'t> {
    fn read(source: &'t Source) -> Self {
        let mut file = Self { source, paths: Vec::new(), bound: BTreeMap::new() };
        let mut at = 0;
        while at < source.tokens.len() {
            let begins = !source.reads(at.saturating_sub(2), &[":", ":"]);
            let is_use = at > 0 && source.text_at(at - 1) == "use";
            at = match begins && !source.is_test_line(source.tokens[at].line) && is_name(source.text_at(at)) {
                true => file.read_path(at, &mut Vec::new(), is_use).max(at + 1),
                false => at + 1,
            };
        }
        file
    }

    /// Parses a path or a tree of paths from a token on, below `prefix`; returns the index of the next token.
    fn read_path(&mut self, mut at: usize, prefix: &mut Vec<String>, is_use: bool) -> usize {
        let (source, depth) = (self.source, prefix.len());
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
                    true => self.read_path(at, prefix, is_use),
                    false => at + 1,
                };
            }
            at += 1;
        } else {
            if prefix.len() > 1 && prefix.last().is_some_and(|part| part == "self") {
                prefix.pop();
            }
            let is_renamed = is_use && source.text_at(at) == "as";
            let name = if is_renamed { source.text_at(at + 1) } else { prefix.last().map_or("", String::as_str) };
            if is_use && source.text_at(at) != "*" {
                self.bound.insert(name.to_owned(), prefix.clone());
            }
            self.paths.push(prefix.clone());
            at += if is_renamed { 2 } else { 0 };
        }
        prefix.truncate(depth);
        at
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[test]
fn planted_cycles_are_found() {
    let straight = [
        ("crates/skill/src/lib.rs", "mod one;\nmod two;\npub use one::A;\npub use two::{b, b as c};\n"),
        ("crates/skill/src/one.rs", "mod deep;\nuse deep::C;\npub struct A(C);\n"),
        ("crates/skill/src/one/deep.rs", "use super::A;\npub struct C;\n"),
        (
            "crates/skill/src/two.rs",
            "mod low;\npub use low::E;\nuse crate::A;\n#[cfg(test)]\nmod tests { use super::*; }\n",
        ),
        ("crates/skill/src/two/low.rs", "pub(crate) struct E(crate::A);\n"),
    ];
    assert_eq!(cycles(&Tree::of(&straight)), []);
    let found = |path: &str, text: &str| {
        let others = straight.iter().copied().filter(|(known, _)| *known != path);
        cycles(&Tree::of(&others.chain([(path, text)]).collect::<Vec<_>>())).len()
    };
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\nuse crate::{two::b, x::{Y, self}};\n"), 2);
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\nfn f() { super::two::b() }\n"), 2);
    for text in ["use crate::b;", "use super::{b as d};", "use crate::{x::Y, c};", "fn f(x: crate::c) {}"] {
        assert_eq!(found("crates/skill/src/one.rs", &format!("mod deep;\n{text}\n")), 2, "{text}");
    }
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\nuse crate::two::E;\n"), 2);
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\nuse crate::two;\nfn f(e: two::E) {}\n"), 3);
    assert_eq!(found("crates/skill/src/one/deep.rs", "use crate::two::b;\n"), 0);
    assert_eq!(found("crates/skill/src/two.rs", "use crate::one::deep::C;\n"), 0);
    assert_eq!(found("crates/skill/src/one.rs", "mod deep;\n#[cfg(test)]\nmod tests { use crate::two::b; }\n"), 0);
}
