//! [`Tree`]: the files of a checkout in memory, and [`Fault`]: a violation of a rule.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
    process::Command,
};

use super::source::Source;

/// Folders that do not belong to the project, at any depth.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];
/// Folder of shipped skills, whose files are content, whatever their extension.
const SEED: &str = "registry-index/seed/";

/// Files by path from the root, with `/` between segments. Invalid UTF-8 is replaced.
pub struct Tree {
    files: BTreeMap<String, String>,
    sources: Vec<Source>,
    /// Files tracked by git; `None` without a repository.
    tracked: Option<BTreeSet<String>>,
}

/// A violation of a rule at one line.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path from the root.
    pub path: String,
    /// Line number, from 1.
    pub line: usize,
    /// Description of the fault and its remedy.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

impl Fault {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl Tree {
    /// Reads the checkout from which this test was built.
    pub fn of_checkout() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = BTreeMap::new();
        read_folder(root, "", &mut files);
        Self { tracked: tracked_files(root), ..Self::of_files(files) }
    }

    /// Builds a sample tree from paths and texts.
    pub fn of(files: &[(&str, &str)]) -> Self {
        Self::of_files(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    fn of_files(files: BTreeMap<String, String>) -> Self {
        let is_source = |path: &str| path.ends_with(".rs") && !path.starts_with(SEED);
        let sources =
            files.iter().filter(|(path, _)| is_source(path)).map(|(path, text)| Source::new(path, text)).collect();
        Self { files, sources, tracked: None }
    }

    /// Returns all files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the text of a file, if it exists.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns whether a file or a folder exists at `path`.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(p, _)| p.starts_with(&folder))
    }

    /// Returns whether the file is part of the project, unlike a log that was left in the checkout.
    pub fn is_tracked(&self, path: &str) -> bool {
        self.tracked.as_ref().is_none_or(|tracked| tracked.contains(path))
    }

    /// Returns the Rust files, except for shipped skills.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
}

fn tracked_files(root: &Path) -> Option<BTreeSet<String>> {
    let output = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output().ok()?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| list.split_terminator('\0').map(str::to_owned).collect())
}

fn read_folder(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            read_folder(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            // Another process may delete a temporary file between listing and reading.
            let bytes = fs::read(entry.path()).unwrap_or_default();
            files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

#[test]
fn tree_has_files_folders_and_sources() {
    let tree = Tree::of(&[("a/b.rs", ""), ("a-b", ""), ("registry-index/seed/x/y.rs", "")]);
    assert!(tree.has("a/b.rs") && tree.has("a") && tree.has("a/") && tree.has("a-b"));
    assert!(!tree.has("b.rs") && !tree.has("a/b"));
    assert_eq!(tree.sources().len(), 1);
    assert!(Tree::of_checkout().text("Cargo.toml").unwrap().contains("[workspace]"));
}
