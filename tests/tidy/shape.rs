//! Length of files and functions, and the header comment of each file.

use super::tree::{Fault, Tree};

/// Maximum lines of a file without its tests module. A longer file has two topics.
const FILE_LINES: usize = 500;
/// Maximum lines of a function from `fn` to its closing brace: a screenful.
const FUNCTION_LINES: usize = 70;

/// Finds files that do not start with `//!`.
pub fn missing_docs(tree: &Tree) -> Vec<Fault> {
    let undocumented = tree.sources().iter().filter(|source| !source.text.trim_start().starts_with("//!"));
    undocumented.map(|source| Fault::new(&source.path, 1, "no `//!` documentation at the head of the file")).collect()
}

/// Finds files and functions over their limits.
pub fn too_long(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in tree.sources() {
        let lines = source.lines_without_tests();
        if lines > FILE_LINES && !source.path.ends_with("/tests.rs") {
            let message = format!("{lines} lines without tests, at most {FILE_LINES}");
            faults.push(Fault::new(&source.path, 1, message));
        }
        faults.extend(source.functions().iter().filter(|function| function.lines > FUNCTION_LINES).map(|function| {
            let message = format!("`{}` has {} lines, at most {FUNCTION_LINES}", function.name, function.lines);
            Fault::new(&source.path, function.line, message)
        }));
    }
    faults
}

#[test]
fn files_without_docs_are_found() {
    let tree = Tree::of(&[("a.rs", "//! A.\n"), ("b.rs", "// B.\nfn b() {}\n"), ("c.rs", ""), ("d.py", "")]);
    assert_eq!(missing_docs(&tree).iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(), ["b.rs", "c.rs"]);
}

/// Braces inside literals do not end a function.
#[test]
fn long_functions_are_found() {
    let body = "\n".repeat(FUNCTION_LINES - 2);
    let of = |head: &str, body: &str| {
        too_long(&Tree::of(&[("a.rs", &format!("{head}fn f() {{ let x = \"}}\";\n{body}}}"))]))
    };
    assert_eq!(of("", &body), []);
    assert_eq!(of("\n\n", &format!("{body}\n")), [Fault::new("a.rs", 3, "`f` has 71 lines, at most 70")]);
}

/// Lines of their unit tests do not count.
#[test]
fn long_files_are_found_without_tests() {
    let lines = "x;\n".repeat(FILE_LINES);
    assert_eq!(too_long(&Tree::of(&[("a.rs", &format!("{lines}#[cfg(test)]\nmod tests {{\n{lines}}}\n"))])), []);
    assert_eq!(too_long(&Tree::of(&[("a/tests.rs", &format!("{lines}x;"))])), []);
    assert_eq!(too_long(&Tree::of(&[("a.rs", &format!("{lines}x;"))])).len(), 1);
}
