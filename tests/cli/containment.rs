//! Attacks on containment through every entry point: requests, folders, archives and git sources.
//!
//! Each attack runs in a [`Guarded`] sandbox. A refusal has the right exit and error code, nothing outside is changed
//! or read, and nothing is left half done. The table of classes, entry points and tests is in docs/THREATS.md.

mod archives;
mod folders;
mod git_sources;
mod races;
mod requests;
mod vulnerabilities;

use std::fs;

use serde_json::Value;

use crate::support::{Answer, Sandbox, Snapshot, git, skill_md, tree, write_files};

/// Content that only files outside the skill have.
const SECRET: &str = "outside-and-secret";

/// An invalid name for a file of a skill, and its class.
type BadPath = (&'static str, &'static str);

/// Paths that lead out of a skill's folder for some reader, or that no file system should be asked for.
const BAD_PATHS: &[BadPath] = &[
    ("parent", ".."),
    ("parent", "../x"),
    ("parent", "assets/../../x"),
    ("parent, encoded", "%2e%2e/x"),
    ("parent, encoded", "assets/..%2fx"),
    ("parent, encoded", "assets/%2E%2e%5cx"),
    ("parent, doubly encoded", "%252e%252e/x"),
    ("parent, doubly encoded", "assets/%25252e%25252e%25252fx"),
    ("parent, backslash", "..\\x"),
    ("parent, backslash", "assets\\..\\..\\x"),
    ("parent, full width", "assets/．．/x"),
    ("parent, full width", "assets／..／x"),
    ("parent, full width", "assets/‥/x"),
    ("parent, full width and encoded", "assets/％２ｅ％２ｅ/x"),
    ("absolute", "/x"),
    ("absolute", "//x"),
    ("absolute, encoded", "%2fx"),
    ("home", "~"),
    ("home", "~/x"),
    ("UNC", "\\\\host\\share\\x"),
    ("drive", "C:\\x"),
    ("drive", "C:/x"),
    ("drive-relative", "C:x"),
    ("NUL", "assets/a\0b"),
    ("NUL, encoded", "assets/a%00b"),
    ("control", "assets/a\nb"),
    ("control", "assets/a\u{1b}[2Jb"),
    ("control", "assets/a\u{7f}b"),
    ("bidirectional", "assets/a\u{202e}gpj.sh"),
    ("bidirectional", "assets/\u{2066}x"),
    ("zero width", "assets/a\u{200b}b"),
    ("NFD", "assets/e\u{301}.md"),
    ("trailing dot", "assets/x."),
    ("trailing dot", "assets./x"),
    ("trailing space", "assets/x "),
    ("stream", "assets/a:b"),
    ("stream", "assets/a::$DATA"),
    ("device", "assets/CON"),
    ("device", "assets/nul.txt"),
    ("device", "assets/Com1.tar.gz"),
    ("device", "assets/COM¹"),
    ("device", "assets/lpt².md"),
    ("device", "assets/ＣＯＮ"),
    ("device", "assets/CONIN$"),
    ("git", ".git/config"),
    ("git", "assets/.GIT/hooks/post-checkout"),
    ("git", "assets/.git /x"),
    ("git", "assets/.g\u{200c}it/config"),
    ("git", "assets/git~1/config"),
    ("git", "assets/.ｇｉｔ/config"),
    ("git", ".gitmodules"),
    ("ours", "assets/.skillhub-1-1/x"),
];

/// Paths that are too long or too deep.
fn long_paths() -> Vec<(&'static str, String)> {
    let deep = format!("assets/{}x", "d/".repeat(16));
    let whole = format!("assets/{}x", format!("{}/", "d".repeat(190)).repeat(3));
    vec![("long", format!("assets/{}", "x".repeat(201))), ("long", whole), ("deep", deep)]
}

/// Returns every path that is refused, with its class.
fn bad_paths() -> Vec<(&'static str, String)> {
    let fixed = BAD_PATHS.iter().map(|(class, path)| (*class, (*path).to_owned()));
    fixed.chain(long_paths()).collect()
}

/// Pairs of names that are one file on some systems.
const COLLISIONS: &[(&str, &str)] = &[
    ("assets/a", "assets/A"),
    ("assets/ä", "assets/Ä"),
    ("assets/fi", "assets/ﬁ"),
    ("assets/strasse", "assets/straße"),
    ("assets/STRASSE", "assets/straße"),
    ("assets/σ", "assets/ς"),
    ("assets/i\u{307}", "assets/İ"),
    ("assets/i", "assets/ı"),
    ("assets/k", "assets/K"),
    ("assets/1", "assets/①"),
    ("assets/a", "assets/a\u{fe0f}"),
    ("assets/Docs/a", "assets/docs/b"),
    ("skill.md", "SKILL.md"),
];

/// A sandbox with a skill `demo` in the library, and files outside that no command may access.
struct Guarded {
    sandbox: Sandbox,
    outside: Snapshot,
    library: Snapshot,
}

impl Guarded {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let stolen = skill_md("stolen", "Tells a secret. Use never.", SECRET);
        let files = [
            ("secret.txt", SECRET.as_bytes(), false),
            ("skill/SKILL.md", stolen.as_bytes(), false),
            ("skill/references/notes.md", SECRET.as_bytes(), false),
            ("skill/scripts/run.sh", SECRET.as_bytes(), true),
        ];
        write_files(&sandbox.path("outside"), &files);
        sandbox.create("demo", "alpha line");
        let outside = tree(&sandbox.path("outside"));
        let library = tree(&sandbox.home().join(".agents"));
        Self { sandbox, outside, library }
    }

    /// Creates a skill in the working folder that is valid until a file is added to it.
    fn folder(&self, name: &str) -> std::path::PathBuf {
        self.sandbox.skill(name, "Is good but for one file. Use in tests.", &[("references/notes.md", "# Notes\n")])
    }

    /// Runs a command that must be refused and leave everything as it is.
    #[track_caller]
    fn refused(&self, args: &[&str], exit: i32, code: &str) -> Value {
        let error = self.sandbox.ask(args).refused_with_hint(exit, code);
        self.held(&format!("{args:?}"));
        error
    }

    /// Everything that is refused alike by `validate` and `scan`, which say so in their documents.
    #[track_caller]
    fn told(&self, path: &str, code: &str) {
        let checked = self.sandbox.ask(&["validate", path]).exits(3).json();
        assert_eq!(checked["skills"][0]["problems"][0]["code"], code, "{path}: {checked:#}");
        let scanned = self.sandbox.ask(&["scan", path]).exits(3).json();
        assert_eq!(scanned["skills"][0]["verdict"], "block", "{path}: {scanned:#}");
        self.held(path);
    }

    /// Nothing outside has changed, nothing was put beside, no file is left in a temporary place, and the
    /// library is as it was.
    #[track_caller]
    fn held(&self, what: &str) {
        self.outside_held(what);
        assert!(tree(&self.sandbox.home().join(".agents")) == self.library, "{what} changed the library");
    }

    /// As [`Guarded::held`] where the library may have changed.
    #[track_caller]
    fn outside_held(&self, what: &str) {
        assert!(tree(&self.sandbox.path("outside")) == self.outside, "{what} changed what is outside");
        assert!(tree(&self.sandbox.path("tmp")).is_empty(), "{what} left something in the temporary folder");
        let mut names: Vec<_> = fs::read_dir(self.sandbox.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.retain(|name| !["home", "work", "tmp", "outside", "registry"].iter().any(|known| name == known));
        assert!(names.is_empty(), "{what} made {names:?}");
        assert!(!self.sandbox.home().join("x").exists() && !self.sandbox.home().join(".agents/x").exists(), "{what}");
    }

    /// Asserts that an answer does not leak content from outside.
    #[track_caller]
    fn told_nothing(&self, answer: &Answer) {
        assert!(!format!("{answer}").contains(SECRET) && !contains(&answer.stdout, SECRET), "{answer}");
    }

    /// No object of the history and no file of the home, the library or the registry holds the secret.
    #[track_caller]
    fn unread(&self) {
        for place in ["home", "work", "registry"] {
            for (path, entry) in tree(&self.sandbox.path(place)) {
                assert!(!contains(format!("{entry:?}").as_bytes(), SECRET), "{place}/{path} holds the secret");
                if let crate::support::Entry::File(_, bytes) = entry {
                    assert!(!contains(&bytes, SECRET), "{place}/{path} holds the secret");
                }
            }
        }
        let history = self.sandbox.done(&["where"])["history"].as_str().unwrap().to_owned();
        for repository in [history, self.sandbox.path("registry").display().to_string()] {
            if fs::exists(&repository).unwrap() {
                let all = ["--git-dir", &repository, "cat-file", "--batch-all-objects", "--batch"];
                assert!(!contains(&crate::support::git_bytes(&self.sandbox, &all), SECRET), "{repository}");
            }
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn guard_detects_leaks() {
    let guard = Guarded::new();
    guard.held("nothing");
    guard.unread();
    let folder = guard.folder("spy");
    fs::write(folder.join("references/notes.md"), SECRET).unwrap();
    guard.sandbox.done(&["install", "./spy"]);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guard.unread()));
    assert!(caught.is_err(), "a secret in the history is found");
    fs::write(guard.sandbox.path("outside/new"), "").unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guard.outside_held("")));
    assert!(caught.is_err(), "a file outside is found");
    let log = git(&guard.sandbox, &["--version"]);
    assert!(log.contains("git version"));
}
