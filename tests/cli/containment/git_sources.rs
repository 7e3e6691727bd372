//! Git sources whose trees hold what git itself would not put there: made object by object.

use std::path::PathBuf;

use git2::{ObjectType, Oid, Repository, Signature, Time};

use super::{COLLISIONS, Guarded, bad_paths};
use crate::support::skill_md;

/// An entry of a tree: its literal mode, its name, and its object.
type Entry<'a> = (&'a str, &'a [u8], Oid);

/// A bare repository that is written to past git's own checks.
struct Raw {
    repository: Repository,
    place: PathBuf,
}

impl Raw {
    fn new(guard: &Guarded) -> Self {
        let place = guard.sandbox.cwd().join("hostile.git");
        Self { repository: Repository::init_bare(&place).unwrap(), place }
    }

    fn blob(&self, bytes: &[u8]) -> Oid {
        self.repository.blob(bytes).unwrap()
    }

    fn skill_md(&self) -> Oid {
        self.blob(skill_md("raw", "Comes from a raw tree. Use in tests.", "Text.").as_bytes())
    }

    /// Writes a tree with these entries as they are: unsorted, doubled, with any name and mode.
    fn tree(&self, entries: &[Entry<'_>]) -> Oid {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend(*name);
            bytes.push(0);
            bytes.extend(id.as_bytes());
        }
        self.repository.odb().unwrap().write(ObjectType::Tree, &bytes).unwrap()
    }

    /// A skill at the top with more entries beside its `SKILL.md`, as the newest commit.
    fn skill_with(&self, entries: &[Entry<'_>]) {
        let text = self.skill_md();
        self.commit(self.tree(&[&[("100644", &b"SKILL.md"[..], text)], entries].concat()));
    }

    fn commit(&self, root: Oid) {
        let who = Signature::new("x", "x@example.org", &Time::new(0, 0)).unwrap();
        let commit = format!(
            "tree {root}\nauthor {name} <{mail}> 0 +0000\ncommitter {name} <{mail}> 0 +0000\n\nx\n",
            name = who.name().unwrap(),
            mail = who.email().unwrap()
        );
        let id = self.repository.odb().unwrap().write(ObjectType::Commit, commit.as_bytes()).unwrap();
        self.repository.reference("refs/heads/main", id, true, "x").unwrap();
        self.repository.set_head("refs/heads/main").unwrap();
    }

    fn url(&self) -> String {
        format!("file://{}", self.place.display())
    }

    /// The install is refused with this exit and code, and nothing has happened.
    #[track_caller]
    fn refused(&self, guard: &Guarded, what: &str, exit: i32, code: &str) {
        let answer = guard.sandbox.ask(&["install", &self.url()]);
        assert_eq!(answer.exit, exit, "{what}: {answer}");
        let error =
            answer.json()["skills"].get(0).map_or_else(|| answer.json()["error"].clone(), |s| s["error"].clone());
        assert_eq!(error["code"], code, "{what}: {answer}");
        guard.held(what);
    }

    /// The install is refused, by git or by us.
    #[track_caller]
    fn refused_somehow(&self, guard: &Guarded, what: &str) {
        let answer = guard.sandbox.ask(&["install", &self.url()]);
        assert!(answer.exit != 0, "{what}: {answer}");
        answer.json();
        guard.held(what);
    }
}

#[test]
fn valid_handmade_tree_installs() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let script = raw.tree(&[("100755", b"run.sh", raw.blob(b"#!/bin/sh\necho x\n"))]);
    raw.skill_with(&[("100664", b"notes.md", raw.blob(b"x")), ("40000", b"scripts", script)]);
    guard.sandbox.done(&["install", &raw.url()]);
    let tree = crate::support::tree(&guard.sandbox.user_skill("raw"));
    assert_eq!(tree["scripts/run.sh"], crate::support::Entry::File(true, b"#!/bin/sh\necho x\n".to_vec()));
    guard.outside_held("a good install");
}

#[test]
fn escaping_tree_paths_are_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let blob = raw.blob(b"x");
    // A NUL ends the name in a tree.
    for (class, path) in bad_paths().iter().filter(|(_, path)| !path.contains('\0')) {
        raw.skill_with(&[("100644", path.as_bytes(), blob)]);
        raw.refused(&guard, &format!("{class}: {path:?} as one name"), 3, "invalid_path");
        let mut parts = path.split('/').rev();
        let name = parts.next().unwrap();
        let mut inner = raw.tree(&[("100644", name.as_bytes(), blob)]);
        for part in parts {
            inner = raw.tree(&[("40000", part.as_bytes(), inner)]);
        }
        raw.place_below_top(inner);
        raw.refused_somehow(&guard, &format!("{class}: {path:?} as folders"));
    }
}

impl Raw {
    /// Puts the entries of a tree beside a `SKILL.md`.
    fn place_below_top(&self, inner: Oid) {
        let odb = self.repository.odb().unwrap();
        let entries = odb.read(inner).unwrap().data().to_vec();
        let text = self.tree(&[("100644", b"SKILL.md", self.skill_md())]);
        let both = [odb.read(text).unwrap().data(), &entries].concat();
        self.commit(odb.write(ObjectType::Tree, &both).unwrap());
    }
}

#[test]
fn non_utf8_name_is_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    raw.skill_with(&[("100644", b"caf\xe9.md", raw.blob(b"x"))]);
    raw.refused(&guard, "a file", 3, "invalid_path");
    let inner = raw.tree(&[("100644", b"x", raw.blob(b"x"))]);
    raw.skill_with(&[("40000", b"caf\xe9", inner)]);
    raw.refused_somehow(&guard, "a folder");
}

#[test]
fn links_and_submodules_are_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let outside = guard.sandbox.path("outside");
    let targets =
        [outside.join("secret.txt"), outside, "SKILL.md".into(), "../../x".into(), "nowhere".into(), "link".into()];
    for target in targets {
        let target = raw.blob(target.to_str().unwrap().as_bytes());
        raw.skill_with(&[("120000", b"link", target)]);
        raw.refused(&guard, "a link", 3, "invalid_path");
        let inside = raw.tree(&[("120000", b"link", target)]);
        raw.skill_with(&[("40000", b"references", inside)]);
        raw.refused(&guard, "a link in a folder", 3, "invalid_path");
    }
    let elsewhere = Oid::from_str("1234567890123456789012345678901234567890").unwrap();
    raw.skill_with(&[("160000", b"module", elsewhere)]);
    raw.refused(&guard, "a submodule", 3, "invalid_path");
    let secret = raw.blob(b"../../outside/skill/SKILL.md");
    raw.commit(raw.tree(&[("120000", b"SKILL.md", secret)]));
    raw.refused_somehow(&guard, "a SKILL.md that is a link");
    guard.unread();
}

#[test]
fn link_shadowing_folder_is_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let target = raw.blob(guard.sandbox.path("outside").to_str().unwrap().as_bytes());
    let inner = raw.tree(&[("100644", b"secret.txt", raw.blob(b"overwritten"))]);
    for entries in [
        [("120000", &b"references"[..], target), ("40000", &b"references"[..], inner)],
        [("40000", b"references", inner), ("120000", b"references", target)],
        [("120000", b"References", target), ("40000", b"references", inner)],
    ] {
        raw.skill_with(&entries);
        raw.refused(&guard, "a link and a folder", 3, "invalid_path");
    }
}

#[test]
fn unusual_git_modes_are_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    for mode in ["104755", "102755", "101644", "100777", "100600", "10644", "20644", "60644", "140755", "644", "0"] {
        raw.skill_with(&[("100644", b"a", raw.blob(b"x")), (mode, b"tool", raw.blob(b"x"))]);
        raw.refused_somehow(&guard, mode);
    }
    raw.skill_with(&[("40000", b"folder", raw.blob(b"a file"))]);
    raw.refused_somehow(&guard, "a folder that is a file");
    raw.skill_with(&[("100644", b"file", raw.tree(&[]))]);
    raw.refused_somehow(&guard, "a file that is a folder");
    raw.skill_with(&[("100644", b"gone", Oid::from_str("1234567890123456789012345678901234567890").unwrap())]);
    raw.refused_somehow(&guard, "a file that is not there");
}

#[test]
fn colliding_tree_entries_are_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let (one, two) = (raw.blob(b"1"), raw.blob(b"2"));
    raw.skill_with(&[("100644", b"notes.md", one), ("100644", b"notes.md", two)]);
    raw.refused(&guard, "a doubled entry", 3, "invalid_path");
    raw.skill_with(&[("100644", b"SKILL.md", one)]);
    raw.refused(&guard, "a doubled SKILL.md", 3, "invalid_path");
    let folder = raw.tree(&[("100644", b"x", one)]);
    raw.skill_with(&[("100644", b"notes", one), ("40000", b"notes", folder)]);
    raw.refused(&guard, "a file and a folder", 3, "invalid_path");
    for (first, second) in COLLISIONS.iter().filter(|(first, second)| ![*first, *second].contains(&"SKILL.md")) {
        let [first, second] = [first, second].map(|path| path.strip_prefix("assets/").unwrap());
        let (first_tree, second_tree) = (first.split_once('/'), second.split_once('/'));
        if let (Some((folder, file)), Some((other_folder, other_file))) = (first_tree, second_tree) {
            let (a, b) =
                (raw.tree(&[("100644", file.as_bytes(), one)]), raw.tree(&[("100644", other_file.as_bytes(), two)]));
            raw.skill_with(&[("40000", folder.as_bytes(), a), ("40000", other_folder.as_bytes(), b)]);
        } else {
            raw.skill_with(&[("100644", first.as_bytes(), one), ("100644", second.as_bytes(), two)]);
        }
        raw.refused(&guard, first, 3, "invalid_path");
    }
}

#[test]
fn repository_settings_and_hooks_never_run() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let marker = guard.sandbox.path("x");
    let script = format!("#!/bin/sh\ntouch {}\n", marker.display());
    for hook in
        ["post-checkout", "pre-auto-gc", "reference-transaction", "post-update", "fsmonitor-watchman", "upload-pack"]
    {
        let path = raw.place.join("hooks").join(hook);
        std::fs::write(&path, &script).unwrap();
        crate::support::set_mode(&path, 0o755);
    }
    let mut config = raw.repository.config().unwrap();
    let command = raw.place.join("hooks/post-checkout").display().to_string();
    for key in [
        "core.fsmonitor", "core.sshCommand", "filter.evil.smudge", "filter.evil.process", "core.pager",
        "uploadpack.packObjectsHook",
    ] {
        config.set_str(key, &command).unwrap();
    }
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    raw.skill_with(&[
        ("100644", b".gitattributes", raw.blob(b"* filter=evil text eol=crlf working-tree-encoding=UTF-16\n*.bin filter=lfs diff=lfs merge=lfs -text\n")),
        ("100644", b"notes.md", raw.blob(b"a\nb\n$Id$\n")),
        ("100644", b"model.bin", raw.blob(pointer)),
    ]);
    guard.sandbox.done(&["install", &raw.url()]);
    let read = |name: &str| std::fs::read(guard.sandbox.user_skill("raw").join(name)).unwrap();
    assert_eq!(read("notes.md"), b"a\nb\n$Id$\n", "no filter, no line ends, no expansion");
    assert_eq!(read("model.bin"), pointer, "a pointer is a file like any other, and nothing is fetched for it");
    guard.outside_held("hooks and filters");
}

#[test]
fn submodules_are_never_fetched() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let modules = "[submodule \"../../x\"]\n\tpath = ../../x\n\turl = ext::sh -c touch% x\n\tupdate = !touch x\n";
    raw.skill_with(&[("100644", b".gitmodules", raw.blob(modules.as_bytes()))]);
    raw.refused(&guard, ".gitmodules in the skill", 3, "invalid_path");
    let skill = raw.tree(&[("100644", b"SKILL.md", raw.skill_md())]);
    raw.commit(raw.tree(&[
        ("100644", b".gitmodules", raw.blob(modules.as_bytes())),
        ("40000", b"skills", raw.tree(&[("40000", b"raw", skill)])),
    ]));
    guard.sandbox.done(&["install", &raw.url()]);
    guard.outside_held(".gitmodules beside the skill");
}

#[test]
fn hostile_folder_name_is_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let skill = raw.tree(&[("100644", b"SKILL.md", raw.skill_md())]);
    for name in ["..", "../x", "a\\..\\x", "C:", "con", "/x", "a\u{202e}b", "~"] {
        raw.commit(raw.tree(&[("40000", name.as_bytes(), skill)]));
        raw.refused_somehow(&guard, name);
    }
}

#[test]
fn oversized_tree_is_refused() {
    let guard = Guarded::new();
    let raw = Raw::new(&guard);
    let blob = raw.blob(b"x");
    let names: Vec<String> = (0..513).map(|number| format!("{number:04}")).collect();
    let many: Vec<Entry<'_>> = names.iter().map(|name| ("100644", name.as_bytes(), blob)).collect();
    raw.skill_with(&many);
    raw.refused(&guard, "many files", 3, "too_large");
    raw.skill_with(&[("100644", b"large.bin", raw.blob(&vec![0; 17 << 20]))]);
    raw.refused(&guard, "a large file", 3, "too_large");
    let half = raw.blob(&vec![0; 9 << 20]);
    raw.skill_with(&[("100644", b"a.bin", half), ("100644", b"b.bin", half)]);
    raw.refused(&guard, "one large file twice", 3, "too_large");
}
