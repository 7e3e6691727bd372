//! [`Recorded`]: the hash that another tool recorded of a skill's files, for detecting changes since.

use git2::{ObjectType, Oid};
use skill::{Bundle, Digest, SkillPath};

/// A hash recorded by another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// No usable hash was recorded.
    None,
    /// The sha256 that `npx skills` computes over paths and contents, in hexadecimal digits.
    Content(String),
    /// The id of a git tree, in hexadecimal digits.
    Tree(String),
}

impl Recorded {
    /// Parses the hash that `npx skills` writes: 64 digits over the contents, or a git id of 40 digits.
    pub fn of_npx(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        match (text.len(), is_hexadecimal(&text)) {
            (64, true) => Self::Content(text),
            (40, true) => Self::Tree(text),
            _ => Self::None,
        }
    }

    /// Returns whether a skill's files have the recorded hash. Returns `false` if none was recorded.
    pub fn is_of(&self, files: &Bundle) -> bool {
        match self {
            Self::None => false,
            Self::Content(digits) => content(files) == *digits,
            Self::Tree(id) => tree(files).is_ok_and(|found| found.to_string() == *id),
        }
    }

    /// Returns the text that an origin stores in place of a digest when the release's files are unknown.
    pub fn digest_placeholder(&self) -> String {
        match self {
            Self::None => "unknown".to_owned(),
            Self::Content(digits) => format!("npx-skills:{digits}"),
            Self::Tree(id) => format!("git-tree:{id}"),
        }
    }

    /// Returns whether a text has one of the forms of [`Self::digest_placeholder`].
    pub fn is_placeholder(text: &str) -> bool {
        let digits = text.strip_prefix("npx-skills:").or_else(|| text.strip_prefix("git-tree:"));
        text == "unknown" || digits.is_some_and(is_hexadecimal)
    }
}

fn is_hexadecimal(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Hashes paths and contents, concatenated in the order of JavaScript's `localeCompare`.
fn content(files: &Bundle) -> String {
    let mut sorted: Vec<(&SkillPath, &skill::File)> = files.files().collect();
    sorted.sort_by_cached_key(|(path, _)| collation(path.as_str()));
    let mut all = Vec::new();
    for (path, file) in sorted {
        all.extend_from_slice(path.as_str().as_bytes());
        all.extend_from_slice(&file.bytes);
    }
    Digest::of_bytes(&all).hex()
}

/// Returns a sort key for the root collation of plain characters: punctuation, then digits, then letters regardless of
/// case. Lower case comes first where two texts differ in nothing else.
fn collation(text: &str) -> (Vec<(u8, u32)>, Vec<bool>) {
    const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let place = |c: char| match c {
        ' ' => (0, 0),
        c if PUNCTUATION.contains(c) => (1, PUNCTUATION.find(c).and_then(|at| at.try_into().ok()).unwrap_or_default()),
        '0'..='9' => (2, u32::from(c)),
        c => (3, c.to_lowercase().next().map_or(0, u32::from)),
    };
    (text.chars().map(place).collect(), text.chars().map(char::is_uppercase).collect())
}

/// Computes the id of the git tree of these files.
fn tree(files: &Bundle) -> Result<Oid, git2::Error> {
    let all: Vec<(&str, &skill::File)> = files.files().map(|(path, file)| (path.as_str(), file)).collect();
    tree_of(&all)
}

fn tree_of(files: &[(&str, &skill::File)]) -> Result<Oid, git2::Error> {
    let mut entries: Vec<(String, &str, Oid)> = Vec::new();
    let mut folders: std::collections::BTreeMap<&str, Vec<(&str, &skill::File)>> = std::collections::BTreeMap::new();
    for (path, file) in files {
        match path.split_once('/') {
            Some((folder, below)) => folders.entry(folder).or_default().push((below, file)),
            None => {
                let mode = if file.executable { "100755" } else { "100644" };
                entries.push(((*path).to_owned(), mode, Oid::hash_object(ObjectType::Blob, &file.bytes)?));
            }
        }
    }
    for (folder, below) in folders {
        entries.push((folder.to_owned(), "40000", tree_of(&below)?));
    }
    // git sorts a folder as if its name ended in a slash.
    entries.sort_by_key(|(name, mode, _)| if *mode == "40000" { format!("{name}/") } else { name.clone() });
    let mut bytes = Vec::new();
    for (name, mode, id) in entries {
        bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        bytes.extend_from_slice(id.as_bytes());
    }
    Oid::hash_object(ObjectType::Tree, &bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests use a real git")]

    use testkit::bundle_with_modes;

    use super::*;

    #[test]
    fn tree_hash_matches_git() {
        let files =
            [("SKILL.md", "x\n", false), ("a/b.txt", "1", false), ("a-b", "2", false), ("scripts/run.sh", "y", true)];
        let temp = tempfile::tempdir().unwrap();
        for (path, text, _) in files {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.current_dir(temp.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").args(args);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        git(&["update-index", "--chmod=+x", "scripts/run.sh"]);
        let id = git(&["write-tree"]);
        assert!(Recorded::of_npx(&id).is_of(&bundle_with_modes(&files)));
        assert!(!Recorded::of_npx(&id).is_of(&bundle_with_modes(&files[..3])));
    }

    #[test]
    fn files_sort_as_in_node() {
        let files = bundle_with_modes(&[
            ("SKILL.md", "x\n", false),
            ("references/a.md", "1", false),
            ("scripts/Run-2.sh", "y", false),
            ("scripts/run.sh", "z", false),
            ("scripts/run_1.sh", "w", false),
        ]);
        // The order that Node's `localeCompare` produces.
        let order = ["references/a.md", "scripts/run_1.sh", "scripts/Run-2.sh", "scripts/run.sh", "SKILL.md"];
        let mut sorted: Vec<&str> = files.paths().map(SkillPath::as_str).collect();
        sorted.sort_by_cached_key(|path| collation(path));
        assert_eq!(sorted, order);
    }
}
