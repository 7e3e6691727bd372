//! Forbidden words: impure names, unfinished code, and paths of one machine.

use super::{
    source::{Source, closing},
    tree::{Fault, Tree},
};

/// Sources of the packages without I/O.
const PURE: [&str; 2] = ["crates/skill/src/", "crates/scan/src/"];
/// Modules of `std` that reach outside the process.
const IMPURE_MODULES: [&str; 5] = ["env", "fs", "net", "os", "process"];
/// Names that read a clock or use a stream of the process.
const IMPURE_NAMES: [&str; 5] = ["Instant", "SystemTime", "stdin", "stdout", "stderr"];
/// Macros that write to a stream of the process.
const IMPURE_MACROS: [&str; 4] = ["print", "println", "eprint", "eprintln"];
/// Folder and file that may use the YAML crate.
const YAML_HOME: &str = "crates/skill/src/frontmatter";
/// The YAML crate, and its name in this workspace.
const YAML_NAMES: [&str; 2] = ["serde_yaml", "yaml_serde"];

/// The file that starts programs without the secrets of this process.
const CHILDREN: &str = "crates/process/src/child.rs";

/// Finds programs that are not started by the one function that withholds secrets, except in tests.
pub fn loose_children(tree: &Tree) -> Vec<Fault> {
    let is_ours = |path: &str| {
        let is_example = path.split('/').any(|part| matches!(part, "examples" | "tests"));
        path != CHILDREN
            && !is_example
            && (path.starts_with("cli/") || path.contains("/src/"))
            && !path.starts_with("fuzz/")
    };
    let mut faults = Vec::new();
    for source in tree.sources().iter().filter(|source| is_ours(&source.path)) {
        let starts = (0..source.tokens.len()).filter(|at| {
            source.reads(*at, &["Command", ":", ":", "new"]) && !source.is_test_line(source.tokens[*at].line)
        });
        faults.extend(starts.map(|at| {
            let message = "start programs with `process::child::command`, which keeps tokens from them";
            Fault::new(&source.path, source.tokens[at].line, message)
        }));
    }
    faults
}

/// The way from an answer over MCP to a person's proof: each function, with the files that define and call it.
const ELICITED: [(&str, [&str; 2]); 2] = [
    ("by_elicitation", ["crates/skill_manage/src/reviewer.rs", "crates/ops/src/workspace/acting.rs"]),
    ("elicited_reviewer", ["crates/ops/src/workspace/acting.rs", "crates/mcp/src/consent.rs"]),
];

/// Finds other ways to count as a person without a terminal or a token, except in tests.
pub fn loose_reviewers(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in tree.sources() {
        for (name, files) in ELICITED.iter().filter(|(_, files)| !files.contains(&source.path.as_str())) {
            let calls = (0..source.tokens.len())
                .filter(|at| source.reads(*at, &[name]) && !source.is_test_line(source.tokens[*at].line));
            faults.extend(calls.map(|at| {
                let message = format!("only {} may call `{name}`, for a client's own answer", files[1]);
                Fault::new(&source.path, source.tokens[at].line, message)
            }));
        }
    }
    faults
}

/// Finds uses of disk, clock, environment, processes or network in `skill` and `scan`, except in tests.
pub fn impure_names(tree: &Tree) -> Vec<Fault> {
    let pure = tree.sources().iter().filter(|source| PURE.iter().any(|package| source.path.starts_with(package)));
    let mut faults = Vec::new();
    for source in pure {
        for at in impure_tokens(source) {
            let line = source.tokens[at].line;
            if !source.is_test_line(line) {
                let message = format!("`{}` in a crate that does no I/O and reads no clock", source.text_at(at));
                faults.push(Fault::new(&source.path, line, message));
            }
        }
    }
    faults
}

fn impure_tokens(source: &Source) -> Vec<usize> {
    let mut found = Vec::new();
    for at in 0..source.tokens.len() {
        if source.reads(at, &["std", ":", ":"]) {
            found.extend(
                std_modules(source, at + 3).into_iter().filter(|at| IMPURE_MODULES.contains(&source.text_at(*at))),
            );
        } else if IMPURE_NAMES.contains(&source.text_at(at))
            || (IMPURE_MACROS.contains(&source.text_at(at)) && source.text_at(at + 1) == "!")
        {
            found.push(at);
        }
    }
    found
}

/// Returns the tokens that name modules of `std` from `at` on: one name, or the names of a braced list.
fn std_modules(source: &Source, at: usize) -> Vec<usize> {
    if source.text_at(at) != "{" {
        return vec![at];
    }
    let end = closing(&source.tokens, at);
    let mut found = Vec::new();
    let mut inner = at + 1;
    while inner < end {
        match source.text_at(inner) {
            "{" => inner = closing(&source.tokens, inner),
            _ if matches!(source.text_at(inner - 1), "{" | ",") => found.push(inner),
            _ => {}
        }
        inner += 1;
    }
    found
}

/// Finds files other than the frontmatter's that use the YAML crate.
pub fn yaml_outside_frontmatter(tree: &Tree) -> Vec<Fault> {
    let is_home = |path: &str| path.strip_prefix(YAML_HOME).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'));
    let mut faults = Vec::new();
    for source in tree.sources().iter().filter(|source| !is_home(&source.path)) {
        let named = source.tokens.iter().filter(|token| YAML_NAMES.contains(&token.text.as_str()));
        faults.extend(
            named.map(|token| Fault::new(&source.path, token.line, "only `skill::frontmatter` knows the YAML crate")),
        );
    }
    faults
}

/// Collection and engines that a test may need, and that need not be there when it is ignored.
const OPTIONAL: [&str; 3] = ["SKILLHUB_TEST_DATA", "PostgreSQL", "moto"];

/// Finds ignored tests, placeholders, debug prints, and notes about work to be done later.
pub fn unfinished(tree: &Tree) -> Vec<Fault> {
    // Split in two, so that this file passes the check itself.
    let note = concat!("FIX", "ME");
    let mut faults = Vec::new();
    for source in tree.sources() {
        for (at, token) in source.tokens.iter().enumerate() {
            let is_macro =
                source.reads(at + 1, &["!", "("]) && matches!(token.text.as_str(), "todo" | "unimplemented" | "dbg");
            if is_macro || is_ignore_attribute(source, at) {
                faults.push(Fault::new(&source.path, token.line, format!("`{}` in a source", token.text)));
            }
        }
        let notes = source.text.lines().enumerate().filter(|(_, line)| line.contains(note));
        faults.extend(notes.map(|(at, _)| Fault::new(&source.path, at + 1, format!("{note} in a source"))));
    }
    faults
}

/// Finds `ignore` of `#[ignore]`, `#[ignore = "…"]` or the second half of a `cfg_attr`, except for tests that need
/// something of [`OPTIONAL`].
fn is_ignore_attribute(source: &Source, at: usize) -> bool {
    let before = at.checked_sub(2).is_some_and(|start| source.reads(start, &["#", "["]));
    let conditional = at > 0 && source.text_at(at - 1) == ",";
    let line = source.tokens.get(at).and_then(|token| source.text.lines().nth(token.line.saturating_sub(1)));
    let needed = line.and_then(|line| line.split_once("ignore = \"needs ")?.1.split('"').next());
    source.text_at(at) == "ignore"
        && !needed.is_some_and(|needed| OPTIONAL.contains(&needed))
        && (before || conditional)
        && (source.text_at(at + 1) == "]" || source.text_at(at + 1) == "=" || source.reads(at + 1, &[")", "]"]))
}

/// Finds absolute folders that exist on a developer's machine only. The lock file is exempt.
pub fn machine_paths(tree: &Tree) -> Vec<Fault> {
    let folders = ["work", "root", "farm"].map(|name| format!("/{name}/"));
    let mut faults = Vec::new();
    let is_ours = |path: &str, text: &str| !path.ends_with(".lock") && !text.contains('\0') && tree.is_tracked(path);
    for (path, text) in tree.files().filter(|(path, text)| is_ours(path, text)) {
        for (at, line) in text.lines().enumerate() {
            let found = folders.iter().filter(|folder| line.contains(folder.as_str()));
            faults
                .extend(found.map(|folder| Fault::new(path, at + 1, format!("`{folder}` is a folder of one machine"))));
        }
    }
    faults
}

fn lines(faults: &[Fault]) -> Vec<usize> {
    faults.iter().map(|fault| fault.line).collect()
}

#[test]
fn impure_names_are_found() {
    let bad = "use std::fs;\nuse std::{io, net::IpAddr, collections::{fs}, env};\nlet t = SystemTime::now();\n\
               std::time::Instant::now();\nstd::process::exit(1);\nprintln!();\nprint();\n\
               // std::fs\nlet s = \"std::fs\";\n\
               #[cfg(test)]\nmod tests { use std::fs; }\n";
    let faults = impure_names(&Tree::of(&[("crates/scan/src/a.rs", bad), ("crates/library/src/a.rs", bad)]));
    assert_eq!(lines(&faults), [1, 2, 2, 3, 4, 5, 6]);
    assert!(faults.iter().all(|fault| fault.path == "crates/scan/src/a.rs"));
}

#[test]
fn stray_yaml_uses_are_found() {
    let uses = "//! \nuse serde_yaml::Value;";
    let names = ["crates/skill/src/frontmatter.rs", "crates/skill/src/frontmatter/write.rs"];
    assert_eq!(yaml_outside_frontmatter(&Tree::of(&names.map(|name| (name, uses)))), []);
    let others = ["crates/skill/src/validate.rs", "crates/skill/src/frontmatters.rs", "cli/main.rs"];
    assert_eq!(lines(&yaml_outside_frontmatter(&Tree::of(&others.map(|name| (name, uses))))), [2, 2, 2]);
}

#[test]
fn unfinished_work_is_found() {
    let bad = format!(
        "#[ignore]\nfn a() {{ todo!() }}\n#[ignore = \"x\"]\n#[cfg_attr(unix, ignore)]\nfn b() {{ dbg!(1) }}\n\
         // {}ME: x\n\
         fn c(ignore: bool) {{ unimplemented!(\"x\") }}\nfn d() {{ f(a, ignore); todo(); }}",
        "FIX"
    );
    let mut found = lines(&unfinished(&Tree::of(&[("a.rs", &bad)])));
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7]);
    let known = "#[ignore = \"needs SKILLHUB_TEST_DATA\"]\nfn a() {}";
    assert_eq!(unfinished(&Tree::of(&[("a.rs", known)])), []);
}

#[test]
fn machine_paths_are_found() {
    let bad = format!("a\ncd /{}/main\n", "work");
    let tree = Tree::of(&[
        ("a.md", &bad),
        ("Cargo.lock", &bad),
        ("b.md", "network/a, workers"),
        ("c.bin", &format!("\0{bad}")),
    ]);
    assert_eq!(
        machine_paths(&tree).iter().map(ToString::to_string).map(|f| f[..6].to_owned()).collect::<Vec<_>>(),
        ["a.md:2"]
    );
}

#[test]
fn loose_children_are_found() {
    let tree = Tree::of(&[
        ("cli/a.rs", "fn f() {\n std::process::Command::new(\"git\");\n}"),
        ("crates/x/src/b.rs", "fn g() { child::command(\"git\"); let text = \"Command::new(\"; }"),
        ("crates/x/src/c.rs", "#[cfg(test)]\nmod tests {\n fn h() { Command::new(\"sh\"); }\n}"),
        (CHILDREN, "fn command() { Command::new(\"x\"); }"),
    ]);
    let found = loose_children(&tree);
    assert_eq!(found.iter().map(|fault| (fault.path.as_str(), fault.line)).collect::<Vec<_>>(), [("cli/a.rs", 2)]);
}
