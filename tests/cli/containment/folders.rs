//! Folders: what a skill's folder may not hold, at every command that reads one, and in the library.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use super::{COLLISIONS, Guarded, SECRET, bad_paths};
use crate::support::{Entry, set_mode, skill_md, snapshot, tree, write_files};

/// A skill in the working folder with something in it that every command which reads it refuses.
#[track_caller]
fn refused_everywhere(guard: &Guarded, what: &str, code: &str, spoil: impl Fn(&Path)) {
    refused_and_told(guard, what, code, code, spoil);
}

/// As [`refused_everywhere`], where `validate` has a name of its own for the problem.
#[track_caller]
fn refused_and_told(guard: &Guarded, what: &str, code: &str, problem: &str, spoil: impl Fn(&Path)) {
    let _old = fs::remove_dir_all(guard.sandbox.cwd().join("spoilt"));
    let folder = guard.folder("spoilt");
    spoil(&folder);
    let before = tree_without_opening(&folder);
    guard.told("spoilt", problem);
    for args in [&["pack", "spoilt"][..], &["publish", "spoilt", "--owner", "acme"]] {
        let error = guard.refused(args, 3, code);
        assert!(!error["message"].as_str().unwrap().contains(SECRET), "{what}: {error:#}");
    }
    for args in [&["install", "./spoilt"][..], &["adopt", "spoilt"]] {
        let answer = guard.sandbox.ask(args).exits(3);
        let document = answer.json();
        let error = document["skills"].get(0).map_or(&document["error"], |skill| &skill["error"]);
        assert_eq!(error["code"], code, "{what}: {answer}");
        guard.told_nothing(&answer);
        guard.held(what);
    }
    assert_eq!(tree_without_opening(&folder), before, "{what}");
}

/// The names below a folder and what they are, without opening what may wait for ever.
fn tree_without_opening(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            found.push((path.clone(), metadata.permissions().mode()));
            if metadata.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Damage done to a skill's folder, and its name for messages.
type Spoiling<'a> = (&'a str, &'a dyn Fn(&Path));

/// Replacement of a folder, and its name for messages.
type Replacing<'a> = (&'a str, &'a dyn Fn(&Guarded, &Path));

fn make_fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn escaping_file_names_are_refused() {
    let guard = Guarded::new();
    for (class, path) in bad_paths() {
        // What the system itself reads as a way out cannot be a name in a folder.
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| matches!(*part, "" | "." | "..") || part.contains('\0') || part.len() > 255) {
            continue;
        }
        // What git leaves is passed over and not read.
        if parts.iter().any(|part| matches!(*part, ".git" | ".gitmodules")) {
            continue;
        }
        refused_everywhere(&guard, class, "invalid_path", |folder| write_files(folder, &[(&path, b"x", false)]));
    }
}

#[test]
fn non_utf8_name_is_refused() {
    let guard = Guarded::new();
    refused_everywhere(&guard, "a file", "invalid_path", |folder| {
        fs::write(folder.join(OsStr::from_bytes(b"caf\xe9.md")), "x").unwrap();
    });
    refused_everywhere(&guard, "a folder", "invalid_path", |folder| {
        fs::create_dir(folder.join(OsStr::from_bytes(b"caf\xe9"))).unwrap();
    });
}

#[test]
fn colliding_names_are_refused() {
    let guard = Guarded::new();
    for (first, second) in COLLISIONS {
        refused_and_told(&guard, first, "invalid_path", "path_collision", |folder| {
            let text = skill_md("spoilt", "Is there twice. Use never.", "Text.");
            write_files(folder, &[(first, text.as_bytes(), false), (second, text.as_bytes(), false)]);
        });
    }
}

#[test]
fn links_are_refused_and_never_followed() {
    let guard = Guarded::new();
    let outside = guard.sandbox.path("outside");
    let absolute = outside.join("secret.txt");
    let targets = [
        absolute.to_str().unwrap(),
        outside.to_str().unwrap(),
        "../../outside/secret.txt",
        "../../outside/skill/references",
        "SKILL.md",
        "references",
        ".",
        "..",
        "nowhere",
        "link",
        "/",
        "/proc/self/environ",
    ];
    for target in targets {
        for place in ["link", "references/link", "scripts"] {
            refused_everywhere(&guard, target, "invalid_path", |folder| symlink(target, folder.join(place)).unwrap());
        }
        refused_everywhere(&guard, target, "invalid_path", |folder| {
            symlink(target, folder.join("second")).unwrap();
            symlink("second", folder.join("first")).unwrap();
        });
    }
    refused_everywhere(&guard, "a folder that is a link", "invalid_path", |folder| {
        fs::remove_dir_all(folder.join("references")).unwrap();
        symlink(outside.join("skill/references"), folder.join("references")).unwrap();
    });
    guard.unread();
}

#[test]
fn linked_skill_md_is_never_read() {
    let guard = Guarded::new();
    let folder = guard.folder("spoilt");
    fs::remove_file(folder.join("SKILL.md")).unwrap();
    symlink(guard.sandbox.path("outside/skill/SKILL.md"), folder.join("SKILL.md")).unwrap();
    guard.told("spoilt", "invalid_path");
    for args in [
        &["pack", "spoilt"][..],
        &["publish", "spoilt", "--owner", "acme"],
        &["install", "./spoilt"],
        &["adopt", "spoilt"],
    ] {
        let answer = guard.sandbox.ask(args);
        assert!(answer.exit != 0, "{answer}");
        guard.told_nothing(&answer);
        guard.held("a SKILL.md that is a link");
    }
    guard.unread();
}

#[test]
fn pipes_and_sockets_never_block() {
    let guard = Guarded::new();
    for place in ["pipe", "references/pipe", "references/notes.md"] {
        refused_everywhere(&guard, place, "invalid_path", |folder| {
            let _old = fs::remove_file(folder.join(place));
            make_fifo(&folder.join(place));
        });
    }
    refused_everywhere(&guard, "socket", "invalid_path", |folder| {
        drop(UnixListener::bind(folder.join("socket")).unwrap());
    });
    for name in ["SKILL.md", "scripts"] {
        let folder = guard.folder("waiting");
        let _old = fs::remove_file(folder.join(name));
        make_fifo(&folder.join(name));
        for args in [
            &["validate", "waiting"][..],
            &["scan", "waiting"],
            &["install", "./waiting"],
            &["adopt", "waiting"],
            &["pack", "waiting"],
        ] {
            assert!(guard.sandbox.ask(args).exit != 0, "{name} {args:?}");
            guard.held(name);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn devices_are_refused_without_opening_them() {
    let guard = Guarded::new();
    let probe = guard.sandbox.cwd().join("device");
    let made = |path: &Path| {
        let made = std::process::Command::new("mknod").arg(path).args(["c", "1", "5"]).output();
        made.is_ok_and(|output| output.status.success())
    };
    if !made(&probe) {
        return eprintln!("not tried: only root makes devices");
    }
    refused_everywhere(&guard, "an endless device", "invalid_path", |folder| assert!(made(&folder.join("zero"))));
    guard.sandbox.ask(&["validate", "device"]).exits(3);
    guard.sandbox.ask(&["install", "./device"]);
    fs::remove_file(probe).unwrap();
}

#[test]
fn hard_link_is_copied() {
    let guard = Guarded::new();
    let shared = guard.sandbox.cwd().join("shared.txt");
    fs::write(&shared, "one\n").unwrap();
    let folder = guard.folder("shared");
    fs::hard_link(&shared, folder.join("references/shared.md")).unwrap();
    guard.sandbox.done(&["install", "./shared"]);
    let installed = guard.sandbox.user_skill("shared").join("references/shared.md");
    let patch = ["manage", "patch", "shared", "--path", "references/shared.md", "--find", "one", "--replace", "two"];
    guard.sandbox.done(&patch);
    assert_eq!(fs::read_to_string(&shared).unwrap(), "one\n", "the installed file is one of its own");
    fs::remove_file(&installed).unwrap();
    fs::hard_link(&shared, &installed).unwrap();
    guard
        .sandbox
        .done(&["manage", "write_file", "shared", "--path", "references/shared.md", "--content", "shared/SKILL.md"]);
    assert_eq!(fs::read_to_string(&shared).unwrap(), "one\n", "a hand edit by a hard link is not written through");
    guard.sandbox.done(&["rollback", "shared"]);
    assert_eq!(fs::read_to_string(&installed).unwrap(), "one\n", "what it held was a revision like any other");
    set_mode(&shared, 0o600);
    guard.sandbox.done(&["uninstall", "shared"]);
    assert_eq!(fs::metadata(&shared).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(fs::read_to_string(&shared).unwrap(), "one\n");
}

#[test]
fn special_mode_bits_are_never_reproduced() {
    let guard = Guarded::new();
    let folder =
        guard.sandbox.skill("sticky", "Has bits. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    for (path, mode) in [("scripts/run.sh", 0o6777), ("SKILL.md", 0o1666), ("scripts", 0o7777), ("", 0o3777)] {
        set_mode(&folder.join(path), mode);
    }
    guard.sandbox.done(&["pack", "sticky"]);
    guard.sandbox.done(&["unpack", "sticky.skill", "unpacked"]);
    guard.sandbox.done(&["install", "./sticky"]);
    let installed = guard.sandbox.user_skill("sticky");
    set_mode(&installed.join("scripts/run.sh"), 0o6755);
    set_mode(&installed.join("scripts"), 0o7777);
    guard.sandbox.done(&["manage", "patch", "sticky", "--find", "Read the input.", "--replace", "Read."]);
    for copy in [guard.sandbox.cwd().join("unpacked"), installed] {
        for (path, mode) in tree_without_opening(&copy) {
            assert_eq!(mode & 0o7000, 0, "{} has {mode:o}", path.display());
        }
    }
}

#[test]
fn planted_special_files_are_never_read() {
    let outside = "../../../../outside";
    let spoil: [Spoiling<'_>; 8] = [
        ("a link to a file", &|skill| symlink(format!("{outside}/secret.txt"), skill.join("notes.md")).unwrap()),
        ("a link to a folder", &|skill| symlink(format!("{outside}/skill"), skill.join("references")).unwrap()),
        ("a dangling link", &|skill| symlink("nowhere", skill.join("notes.md")).unwrap()),
        ("a SKILL.md that is a link", &|skill| {
            fs::remove_file(skill.join("SKILL.md")).unwrap();
            symlink(format!("../{outside}/skill/SKILL.md"), skill.join("SKILL.md")).unwrap();
        }),
        ("a pipe", &|skill| make_fifo(&skill.join("pipe"))),
        ("a SKILL.md that is a pipe", &|skill| {
            fs::remove_file(skill.join("SKILL.md")).unwrap();
            make_fifo(&skill.join("SKILL.md"));
        }),
        ("a device's name", &|skill| fs::write(skill.join("nul"), "x").unwrap()),
        ("names that collide", &|skill| write_files(skill, &[("assets/a", b"", false), ("assets/A", b"", false)])),
    ];
    for (what, spoil) in spoil {
        let guard = Guarded::new();
        let skill = guard.sandbox.user_skill("demo");
        spoil(&skill);
        left_alone(&guard, what, &skill);
    }
}

#[test]
fn replaced_skill_folder_is_never_followed() {
    let spoil: [Replacing<'_>; 4] = [
        ("a link to a skill", &|guard, skill| symlink(guard.sandbox.path("outside/skill"), skill).unwrap()),
        ("a link to nothing", &|_, skill| symlink("nowhere", skill).unwrap()),
        ("a file", &|_, skill| fs::write(skill, "x").unwrap()),
        ("a pipe", &|_, skill| make_fifo(skill)),
    ];
    for (what, spoil) in spoil {
        let guard = Guarded::new();
        let skill = guard.sandbox.user_skill("demo");
        fs::remove_dir_all(&skill).unwrap();
        spoil(&guard, &skill);
        left_alone(&guard, what, &skill);
    }
}

/// Asserts that no command that reads or writes the skill leaks or changes anything outside.
#[track_caller]
fn left_alone(guard: &Guarded, what: &str, skill: &Path) {
    let library = skill.parent().unwrap();
    let before = tree_without_opening(library);
    let head = guard.sandbox.done(&["history", "demo"])["revisions"].clone();
    for args in [
        &["manage", "patch", "demo", "--find", "alpha", "--replace", "beta"][..],
        &["manage", "write_file", "demo", "--path", "references/notes.md", "--content", "/dev/null"],
        &["manage", "delete", "demo"],
        &["rollback", "demo", "head"],
        &["read", "demo"],
        &["prompt"],
        &["status"],
        &["list"],
        &["diff", "demo"],
        &["adopt", skill.to_str().unwrap()],
        &["doctor", "--fix"],
        &["uninstall", "demo"],
    ] {
        // A path that somebody names may be a link, and is then followed.
        if args[0] == "adopt" && fs::symlink_metadata(skill).unwrap().is_symlink() {
            continue;
        }
        let answer = guard.sandbox.ask(args);
        guard.told_nothing(&answer);
        guard.outside_held(what);
        let changes = guard.sandbox.done(&["history", "demo"])["revisions"] != head;
        if changes {
            // What cannot be read as a skill is kept by no revision: so it may not go either.
            assert!(answer.exit == 0, "{what}: {answer}");
            break;
        }
        assert_eq!(tree_without_opening(library), before, "{what}: {answer}");
    }
    guard.unread();
}

#[test]
fn foreign_library_entries_are_ignored() {
    let guard = Guarded::new();
    let library = guard.sandbox.home().join(".agents/skills");
    symlink(guard.sandbox.path("outside/skill"), library.join("stolen")).unwrap();
    symlink(guard.sandbox.path("outside"), library.join("outside")).unwrap();
    make_fifo(&library.join("pipe"));
    fs::write(library.join("file"), "x").unwrap();
    fs::create_dir(library.join(OsStr::from_bytes(b"caf\xe9"))).unwrap();
    for args in [
        &["list"][..],
        &["status"],
        &["prompt"],
        &["read", "stolen"],
        &["doctor"],
        &["history", "stolen"],
        &["scan", library.to_str().unwrap()],
        &["validate", library.to_str().unwrap()],
    ] {
        guard.told_nothing(&guard.sandbox.ask(args));
        guard.outside_held(args[0]);
    }
    for name in ["stolen", "outside", "pipe", "file"] {
        let text = skill_md(name, "Is new. Use in tests.", "Text.");
        let answer = guard.sandbox.run_with(&["manage", "create", name, "--content", "-", "--json"], text.as_bytes());
        assert!(answer.exit != 0, "{name}: {answer}");
        guard.told_nothing(&answer);
        guard.outside_held(name);
    }
    assert!(fs::symlink_metadata(library.join("stolen")).unwrap().is_symlink());
    guard.unread();
}

#[test]
fn unpack_never_writes_through_link() {
    let guard = Guarded::new();
    guard.folder("good");
    guard.sandbox.done(&["pack", "good"]);
    symlink(guard.sandbox.path("outside/new"), guard.sandbox.cwd().join("dangling")).unwrap();
    symlink(guard.sandbox.path("outside"), guard.sandbox.cwd().join("link")).unwrap();
    for target in ["dangling", "link"] {
        let answer = guard.sandbox.ask(&["unpack", "good.skill", target]);
        assert!(answer.exit != 0, "{answer}");
        guard.held(target);
    }
}

#[test]
fn installed_files_equal_scanned_files() {
    let guard = Guarded::new();
    let folder = guard.folder("exact");
    guard.sandbox.done(&["install", "./exact"]);
    let files = |place: &Path| snapshot(place).into_iter().filter(|(_, entry)| matches!(entry, Entry::File(..)));
    assert!(files(&folder).eq(files(&guard.sandbox.user_skill("exact"))));
    assert!(!tree(&guard.sandbox.user_skill("exact")).is_empty());
}
