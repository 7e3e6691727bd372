//! The [`fingerprint`] by which `clawhub` recognises the release of a folder.
//!
//! It is the sha256 of `path:sha256` lines, joined by line feeds and sorted like JavaScript's `localeCompare`. Files
//! and folders whose name begins with a dot are ignored.

use std::cmp::Ordering;

use sha2::{Digest, Sha256};
use skill::{Bundle, hex};

/// Characters in the order of the Unicode root collation, without letters.
const ORDER: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

/// Returns the fingerprint that `clawhub` computes for a folder with these files.
#[must_use]
pub fn fingerprint(bundle: &Bundle) -> String {
    let seen = bundle.files().filter(|(path, _)| !path.as_str().split('/').any(|part| part.starts_with('.')));
    let mut files: Vec<(&str, String)> =
        seen.map(|(path, file)| (path.as_str(), hex(&Sha256::digest(&file.bytes)))).collect();
    files.sort_by(|a, b| collated(a.0, b.0));
    let lines: Vec<String> = files.iter().map(|(path, hash)| format!("{path}:{hash}")).collect();
    hex(&Sha256::digest(lines.join("\n")))
}

/// Compares like `a.localeCompare(b)`, exactly for ASCII. Other letters come after ASCII in the order of their code
/// points, which is right within one script. Where it is wrong, the release is not recognised, and the client reports
/// local changes.
fn collated(a: &str, b: &str) -> Ordering {
    let letters = a.chars().map(primary).cmp(b.chars().map(primary));
    // Texts that differ only in case: lower case comes first, at the first difference.
    letters.then_with(|| a.chars().map(char::is_uppercase).cmp(b.chars().map(char::is_uppercase)))
}

fn primary(c: char) -> (usize, char) {
    match ORDER.chars().position(|other| other == c) {
        Some(at) => (at, ' '),
        None => (ORDER.len(), c.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_sort_like_javascript() {
        // The order that Node.js 22 prints for the same list.
        let expected =
            ["a b", "a_b", "a-b", "A-b", "a.b", "a/b", "a1", "ab", "aB", "Ab", "references/a.md", "SKILL.md"];
        let mut paths = expected;
        paths.sort_unstable();
        assert_ne!(paths, expected);
        paths.sort_by(|a, b| collated(a, b));
        assert_eq!(paths, expected);
    }

    #[test]
    fn fingerprint_ignores_hidden_files() {
        let files = |files: &[(&str, &str)]| fingerprint(&testkit::bundle(files));
        let seen = files(&[("SKILL.md", "a\n"), ("references/x.md", "b\n")]);
        assert_eq!(seen, files(&[("SKILL.md", "a\n"), ("references/x.md", "b\n"), (".gitignore", "c\n")]));
        let line = |path: &str, text: &str| format!("{path}:{}", hex(&Sha256::digest(text)));
        let lines = [line("references/x.md", "b\n"), line("SKILL.md", "a\n")];
        assert_eq!(seen, hex(&Sha256::digest(lines.join("\n"))));
    }
}
