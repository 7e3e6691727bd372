//! Folders that the user may not write to: refused with a message, and nothing half done.
//!
//! The superuser may write everywhere. If the tests run as root, the program runs as nobody.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
};

use crate::support::{Answer, Sandbox, Snapshot, set_mode, skill_md, snapshot};

const NOBODY: u32 = 65534;

/// A sandbox whose commands run as a user who is not the superuser.
struct Place {
    sandbox: Sandbox,
    program: PathBuf,
    is_root: bool,
}

impl Place {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let is_root = fs::metadata(sandbox.cwd()).unwrap().uid() == 0;
        let program = sandbox.path("skillhub");
        // By another process: a file that this one has open for writing, if only in a child that another
        // test is about to start, cannot be run.
        let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_skillhub")).arg(&program).status();
        assert!(copied.unwrap().success());
        set_mode(&sandbox.path(""), 0o755);
        sandbox.skill("demo", "Does it. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
        fs::create_dir(sandbox.path("library")).unwrap();
        let place = Self { sandbox, program, is_root };
        place.give(&place.sandbox.path(""));
        place
    }

    /// Changes the owner of a folder and its content to the user who runs the commands.
    fn give(&self, path: &Path) {
        if self.is_root {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            if path.is_dir() {
                fs::read_dir(path).unwrap().for_each(|entry| self.give(&entry.unwrap().path()));
            }
        }
    }

    fn run(&self, args: &[&str]) -> Answer {
        let mut command = std::process::Command::new(&self.program);
        self.sandbox.confine(&mut command).args(args).arg("--json");
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        self.sandbox.finish(command, args)
    }

    fn library(&self) -> String {
        self.sandbox.path("library").display().to_string()
    }

    /// Files of the home, without the log, in which a refusal may stand.
    fn home(&self) -> Snapshot {
        let mut files = snapshot(&self.sandbox.home());
        files.retain(|path, _| !path.ends_with("events.jsonl"));
        files
    }
}

#[test]
fn read_only_library_is_refused() {
    let place = Place::new();
    let library = place.library();
    let text = skill_md("made", "Is made. Use in tests.", "Text.");
    fs::write(place.sandbox.cwd().join("new.md"), text).unwrap();
    let create = ["manage", "create", "made", "--content", "new.md", "--library", &library];
    let install = ["install", "./demo", "--library", &library];
    set_mode(Path::new(&library), 0o555);
    for args in [&create[..], &install] {
        let error = place.run(args).refused_with_hint(1, "io");
        assert!(error["message"].as_str().unwrap().contains(&library), "{error:#}");
        assert_eq!(snapshot(Path::new(&library)), Snapshot::new());
    }
    for name in ["made", "demo"] {
        place.run(&["history", name, "--library", &library]).refused(7, "not_found");
    }
    let kept: Vec<_> = place
        .home()
        .into_keys()
        .filter(|path| path.contains("refs/skills") || path.ends_with("skillhub.lock"))
        .collect();
    assert_eq!(kept, Vec::<String>::new());
    set_mode(Path::new(&library), 0o755);
    assert_eq!(place.run(&create).done()["number"], 1);
    assert_eq!(place.run(&install).done()["skills"][0]["status"], "installed");
    assert_eq!(snapshot(&Path::new(&library).join("demo")), snapshot(&place.sandbox.cwd().join("demo")));
}

#[test]
fn unreplaceable_skill_stays_intact() {
    let place = Place::new();
    let library = place.library();
    place.run(&["install", "./demo", "--library", &library]).done();
    let before = (snapshot(Path::new(&library)), place.run(&["history", "demo", "--library", &library]).done());
    set_mode(Path::new(&library), 0o555);
    let patch = ["manage", "patch", "demo", "--find", "Read the input.", "--replace", "x", "--library", &library];
    place.run(&patch).refused_with_hint(1, "io");
    place.run(&["manage", "delete", "demo", "--library", &library]).refused_with_hint(1, "io");
    place.run(&["uninstall", "demo", "--library", &library]).refused(1, "io");
    set_mode(Path::new(&library), 0o755);
    let after = (snapshot(Path::new(&library)), place.run(&["history", "demo", "--library", &library]).done());
    assert_eq!(after, before);
}

#[test]
fn read_only_home_leaves_library_unchanged() {
    let place = Place::new();
    let library = place.library();
    set_mode(&place.sandbox.home(), 0o555);
    let error = place.run(&["install", "./demo", "--library", &library]).refused(1, "io");
    assert!(error["message"].as_str().unwrap().contains(".skillhub"), "{error:#}");
    assert_eq!(snapshot(Path::new(&library)), Snapshot::new());
    set_mode(&place.sandbox.home(), 0o755);
}

#[test]
fn doctor_reports_read_only_home() {
    let place = Place::new();
    let library = place.library();
    place.run(&["install", "./demo", "--library", &library]).done();
    let home = place.sandbox.skillhub_home();
    for read_only in [home.clone(), home.join("libraries")] {
        set_mode(&read_only, 0o500);
        let document = place.run(&["doctor", "--library", &library]).exits(1).json();
        let found = document["checks"].as_array().unwrap().iter().find(|check| check["code"] == "read_only").unwrap();
        assert_eq!(found["path"], read_only.to_str().unwrap(), "{found:#}");
        assert!(found["message"].as_str().unwrap().contains("chmod u+w "), "{found:#}");
        set_mode(&read_only, 0o700);
        place.run(&["doctor", "--library", &library]).done();
    }
}

#[test]
fn another_users_library_is_refused() {
    let place = Place::new();
    if !place.is_root {
        println!("skipped: only the superuser can give a folder to somebody else");
        return;
    }
    let library = place.library();
    chown(&library, Some(0), Some(0)).unwrap();
    set_mode(Path::new(&library), 0o777);
    place.run(&["install", "./demo", "--library", &library]).refused(5, "policy_denied");
    assert_eq!(snapshot(Path::new(&library)), Snapshot::new());
}

#[test]
fn world_writable_folder_accepts_new_files() {
    let place = Place::new();
    if !place.is_root {
        println!("skipped: only the superuser can give a folder to somebody else");
        return;
    }
    let shared = place.sandbox.path("shared");
    fs::create_dir_all(shared.join(".git")).unwrap();
    set_mode(&shared, 0o777);
    let inside = |name: &str| shared.join(name).display().to_string();
    place.run(&["new", "made", "--in", &inside("")]).done();
    place.run(&["pack", "demo"]).done();
    place.run(&["unpack", "demo.skill", &inside("demo")]).done();
    assert_eq!(snapshot(&shared.join("demo")), snapshot(&place.sandbox.cwd().join("demo")));
}
