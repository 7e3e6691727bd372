//! Integrations of other systems: the code refers to each module at one point, so that two lines delete it.

use super::{
    source::Source,
    tree::{Fault, Tree},
};

/// Systems by the names of their modules.
const SYSTEMS: [&str; 4] = ["spring", "deerflow", "opencode", "crab_claw"];

/// Document that lists the modules.
const LIST: &str = "docs/ARCHITECTURE.md";

/// Finds uses of such a module outside its own files, except for its `mod` line and one adjacent entry, and unlisted
/// modules.
pub fn strays(tree: &Tree) -> Vec<Fault> {
    let code = || tree.sources().iter().filter(|source| !source.path.starts_with("tests/"));
    let list = tree.text(LIST).unwrap_or_default();
    let mut faults = Vec::new();
    for system in SYSTEMS {
        let modules: Vec<&str> =
            code().map(|source| source.path.as_str()).filter(|path| path.ends_with(&format!("/{system}.rs"))).collect();
        let unlisted = modules.iter().filter(|path| !list.contains(&format!("`{path}`")));
        faults.extend(unlisted.map(|path| Fault::new(LIST, 1, format!("the module `{path}` is not listed"))));
        for source in code().filter(|source| !source.path.split(['/', '.']).any(|part| part == system)) {
            let is_parent = modules.iter().any(|module| is_parent(&source.path, module));
            let allowed = if is_parent { 2 } else { 0 };
            let message = format!("`{system}` outside its module: register it once, beside its `mod` line");
            let more = uses(source, system).into_iter().skip(allowed);
            faults.extend(more.map(|line| Fault::new(&source.path, line, message.clone())));
        }
    }
    faults
}

/// Returns the lines that name a module, in `mod` lines and in paths.
fn uses(source: &Source, module: &str) -> Vec<usize> {
    let is_use = |at: usize| {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| source.text_at(at));
        before(1) == "mod" || (before(1) == ":" && before(2) == ":") || source.reads(at + 1, &[":", ":"])
    };
    let named = (0..source.tokens.len()).filter(|at| source.text_at(*at) == module && is_use(*at));
    named.map(|at| source.tokens[at].line).collect()
}

/// Returns whether a file may declare the module.
fn is_parent(path: &str, module: &str) -> bool {
    let folder = module.rsplit_once('/').map_or("", |(folder, _)| folder);
    ["lib.rs", "main.rs"].iter().any(|root| path == format!("{folder}/{root}")) || path == format!("{folder}.rs")
}

#[test]
fn stray_system_names_are_found() {
    let list = (LIST, "| A | `crates/a/src/forms/spring.rs` |");
    let good = [
        ("crates/a/src/forms.rs", "mod spring;\nconst FORMS: &[Form] = &[spring::FORM];\n// spring::prompt\n"),
        ("crates/a/src/forms/spring.rs", "mod joined;\nuse self::joined::x;"),
        ("crates/a/src/forms/spring/joined.rs", "use super::super::spring::y;"),
        ("crates/a/src/lib.rs", "fn f() { let spring = \"spring::x\"; g(spring) }"),
        ("tests/systems.rs", "mod spring;\nfn f() { spring::g(); spring::h() }"),
        list,
    ];
    assert_eq!(strays(&Tree::of(&good)), []);
    let found = |path: &str, text: &str| {
        let files: Vec<_> = good.iter().copied().filter(|(known, _)| *known != path).chain([(path, text)]).collect();
        strays(&Tree::of(&files)).len()
    };
    assert_eq!(found("crates/a/src/forms.rs", "mod spring;\nuse spring::a;\nuse spring::b;"), 1);
    assert_eq!(found("crates/a/src/other.rs", "use crate::forms::spring;"), 1);
    assert_eq!(found("cli/commands/x.rs", "fn f() { a::forms::spring::g() }"), 1);
    assert_eq!(found(LIST, ""), 1);
}
