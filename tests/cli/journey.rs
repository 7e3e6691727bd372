//! [`Journey`]: the operations that every skill must survive, with a registry and a library of its own.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Sandbox, Snapshot, snapshot};

/// Owner of the published skills, whom some of our own require each other by.
pub const OWNER: &str = "skillhub";

/// Text that a change adds to a skill during the journey.
const ADDED: &str = "Say what was done in one more sentence.";

/// A registry, a library, and the commands of the main job on them.
pub struct Journey<'a> {
    sandbox: &'a Sandbox,
    pub registry: String,
    pub library: String,
}

impl<'a> Journey<'a> {
    /// Creates an empty registry and a library that does not exist yet.
    pub fn new(sandbox: &'a Sandbox) -> Self {
        let registry = sandbox.path("registry").display().to_string();
        sandbox.done(&["index", "init", &registry]);
        Self { sandbox, registry, library: sandbox.path("library").display().to_string() }
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub fn done(&self, args: &[&str]) -> Value {
        self.sandbox.done(&[args, &["--registry", &self.registry, "--library", &self.library]].concat())
    }

    /// Returns the skill's files in the library.
    pub fn installed(&self, name: &str) -> Snapshot {
        snapshot(&Path::new(&self.library).join(name))
    }

    /// Packs twice, to the same bytes, which unpack to the same files.
    pub fn pack(&self, name: &str, folder: &Path) {
        let folder_text = folder.to_str().unwrap();
        let packs = ["first", "second"].map(|at| {
            let file = self.sandbox.path("tmp").join(format!("{name}-{at}.skill"));
            self.done(&["pack", folder_text, "-o", file.to_str().unwrap()]);
            file
        });
        assert_eq!(fs::read(&packs[0]).unwrap(), fs::read(&packs[1]).unwrap(), "{name} packs to two archives");
        let unpacked = self.sandbox.path("tmp").join(name);
        self.done(&["unpack", packs[0].to_str().unwrap(), unpacked.to_str().unwrap()]);
        assert_eq!(snapshot(&unpacked), snapshot(folder), "{name} unpacks to other files");
    }

    /// Publishes it under [`OWNER`].
    pub fn publish(&self, name: &str, folder: &Path) {
        let published = self.done(&["publish", folder.to_str().unwrap(), "--owner", OWNER]);
        assert_eq!([&published["status"], &published["name"]], ["published", format!("{OWNER}/{name}").as_str()]);
    }

    /// Changes the installed skill, reads the change, and restores the same bytes.
    pub fn change_and_take_back(&self, name: &str) {
        let before = self.installed(name);
        let text = fs::read_to_string(Path::new(&self.library).join(name).join("SKILL.md")).unwrap();
        let line = line_that_occurs_once(&text);
        let replacement = format!("{line}\n{ADDED}");
        let patch = ["manage", "patch", name, "--find", &line, "--replace", &replacement, "--reason", "a test"];
        let report = self.done(&patch);
        assert_eq!(report["status"], "applied", "{name}");
        let changed = fs::read_to_string(Path::new(&self.library).join(name).join("SKILL.md")).unwrap();
        assert_eq!(changed, with_ends_of(&text, &text.replacen(&line, &replacement, 1)), "{name}");
        let diff = self.done(&["diff", name]);
        assert!(diff["diff"].as_str().unwrap().contains(&format!("\n+{ADDED}")), "{name}: {diff:#}");
        assert_eq!(diff["to"], report["revision"]);
        self.done(&["rollback", name]);
        assert_eq!(self.installed(name), before, "{name} is not what it was");
    }

    /// Deletes the skill and restores the same bytes and modes.
    pub fn delete_and_restore(&self, name: &str) {
        let before = self.installed(name);
        self.done(&["manage", "delete", name]);
        assert_eq!(self.installed(name), Snapshot::new(), "{name} is still there");
        // What is delicate in it waits for a person, as in an edit.
        let report = self.done(&["rollback", name]);
        if let Some(proposal) = report["proposal"].as_str() {
            let accept = ["review", "accept", proposal, "--library", &self.library];
            self.sandbox.run_as(&self.sandbox.token(), &accept).done();
        }
        assert_eq!(self.installed(name), before, "{name} is not what it was");
        let status = self.done(&["status", name]);
        assert_eq!(status["skills"][0]["state"], json!("clean"), "{name}");
    }
}

/// A text with the line ends of another, when all of those are CRLF.
fn with_ends_of(model: &str, text: &str) -> String {
    let is_crlf = model.matches("\r\n").count() == model.matches('\n').count();
    if is_crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.to_owned() }
}

/// A line of the body that is found once in the whole text, the last such.
fn line_that_occurs_once(text: &str) -> String {
    let body = text.split_once("\n---").map_or(text, |(_, body)| body);
    let once = |line: &&str| line.trim().len() > 5 && text.matches(line.trim()).count() == 1;
    let line = body.lines().rev().find(once).unwrap_or_else(|| panic!("no line occurs once in {text}"));
    line.trim().to_owned()
}
