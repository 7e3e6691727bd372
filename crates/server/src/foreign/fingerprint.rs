//! [`fingerprint`]: how `clawhub` tells whether a folder is a certain release.
//!
//! The sha256 over `path:sha256` lines, joined by line feeds and sorted as JavaScript's `localeCompare` sorts them. No
//! file below a folder that begins with a dot counts, nor one that does itself.

use std::cmp::Ordering;

use sha2::{Digest, Sha256};
use skill::{Bundle, hex};

/// Characters in the order of the Unicode collation's root, letters aside.
const ORDER: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

/// What `clawhub` sends of a folder with these files.
#[must_use]
pub fn fingerprint(bundle: &Bundle) -> String {
    let seen = bundle.files().filter(|(path, _)| !path.as_str().split('/').any(|part| part.starts_with('.')));
    let mut files: Vec<(&str, String)> =
        seen.map(|(path, file)| (path.as_str(), hex(&Sha256::digest(&file.bytes)))).collect();
    files.sort_by(|a, b| collated(a.0, b.0));
    let lines: Vec<String> = files.iter().map(|(path, hash)| format!("{path}:{hash}")).collect();
    hex(&Sha256::digest(lines.join("\n")))
}

/// `a.localeCompare(b)`, exact for ASCII. Beyond it letters stand after ASCII by their number, which is right within one
/// script; where it is not, a release is not known again, and the client says "local changes".
fn collated(a: &str, b: &str) -> Ordering {
    let letters = a.chars().map(primary).cmp(b.chars().map(primary));
    // Equal but for their case: lower before upper, at the first place where they differ.
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
    use skill::{File, Limits, SkillPath};

    use super::*;

    #[test]
    fn paths_stand_as_javascript_sorts_them() {
        // What node 22 prints for the same list.
        let expected =
            ["a b", "a_b", "a-b", "A-b", "a.b", "a/b", "a1", "ab", "aB", "Ab", "references/a.md", "SKILL.md"];
        let mut paths = expected;
        paths.sort_unstable();
        assert_ne!(paths, expected);
        paths.sort_by(|a, b| collated(a, b));
        assert_eq!(paths, expected);
    }

    #[test]
    fn a_fingerprint_is_the_clients_and_leaves_out_what_begins_with_a_dot() {
        let file = |text: &str| File { bytes: text.as_bytes().into(), executable: false };
        let files = |paths: &[(&str, &str)]| {
            let files = paths.iter().map(|(path, text)| (SkillPath::parse(path).unwrap(), file(text)));
            fingerprint(&Bundle::from_files(files, &Limits::default()).unwrap())
        };
        let seen = files(&[("SKILL.md", "a\n"), ("references/x.md", "b\n")]);
        assert_eq!(seen, files(&[("SKILL.md", "a\n"), ("references/x.md", "b\n"), (".gitignore", "c\n")]));
        let line = |path: &str, text: &str| format!("{path}:{}", hex(&Sha256::digest(text)));
        let lines = [line("references/x.md", "b\n"), line("SKILL.md", "a\n")];
        assert_eq!(seen, hex(&Sha256::digest(lines.join("\n"))));
    }
}
