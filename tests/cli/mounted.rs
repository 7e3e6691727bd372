//! File systems as on a container or a full machine: an overlay whose lower layer has the skills, a home on a full
//! disk, a read-only history.
//!
//! Each is mounted in its own mount namespace. If the system does not permit that, these tests print a notice and are
//! skipped.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::support::{Answer, Sandbox, skill_md, write_files};

/// A sandbox in a mount namespace that lasts until this is dropped.
struct Mounted {
    sandbox: Sandbox,
    holder: Child,
    is_root: bool,
}

impl Mounted {
    /// Runs a script that mounts in the sandbox's folder. If that is impossible, prints a notice and returns `None`.
    fn new(sandbox: Sandbox, script: &str) -> Option<Self> {
        let is_root = fs::metadata(sandbox.cwd()).unwrap().uid() == 0;
        let user: &[&str] = if is_root { &[] } else { &["--user", "--map-root-user"] };
        let mut command = Command::new("unshare");
        sandbox.confine(&mut command).args(user).args(["--mount", "sh", "-ec"]);
        // Only root may keep an overlay's own notes in attributes that users do not see.
        command.env("OVERLAY", if is_root { "" } else { ",userxattr" });
        // It lasts as long as its input is open.
        command.arg(format!("{script}\necho mounted\ncat")).current_dir(sandbox.path(""));
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let Ok(mut holder) = started else { return skipped("there is no `unshare`") };
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line != "mounted\n" {
            holder.wait().unwrap();
            return skipped("nothing can be mounted here");
        }
        Some(Self { sandbox, holder, is_root })
    }

    /// A program in the namespace.
    fn inside(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        self.sandbox.confine(&mut command).args(["--target", &self.holder.id().to_string(), "--mount"]);
        if !self.is_root {
            command.args(["--user", "--preserve-credentials"]);
        }
        // Entering a namespace leaves the folder in which it was done.
        let folder = format!("--wd={}", self.sandbox.cwd().display());
        command.arg(folder).arg(program).args(args);
        command
    }

    #[track_caller]
    fn ask(&self, args: &[&str]) -> Answer {
        let args = [args, &["--json"]].concat();
        self.sandbox.finish(self.inside(env!("CARGO_BIN_EXE_skillhub"), &args), &args)
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> Value {
        self.ask(args).done()
    }

    #[track_caller]
    fn sh(&self, script: &str) -> String {
        self.sandbox.finish(self.inside("sh", &["-ec", script]), &["sh"]).exits(0).text()
    }

    #[track_caller]
    fn is_well(&self) {
        let document = self.done(&["doctor"]);
        assert_eq!(document["ok"], true, "{document:#}");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _gone = self.holder.wait();
    }
}

fn skipped(why: &str) -> Option<Mounted> {
    eprintln!("SKIPPED, NOT TESTED: {why}; run it as root, or where user namespaces are allowed, on a disk of its own");
    None
}

fn patch(from: &str, to: &str) -> [String; 7] {
    ["manage", "patch", "demo", "--find", from, "--replace", to].map(str::to_owned)
}

#[track_caller]
fn patched(place: &Mounted, from: &str, to: &str) -> Value {
    place.done(&patch(from, to).each_ref().map(String::as_str))
}

#[test]
fn overlay_skills_can_be_changed() {
    let sandbox = Sandbox::new();
    let lower = sandbox.path("lower/demo");
    let text = skill_md("demo", "Does it. Use in tests.", "alpha");
    let files = [("SKILL.md", text.as_str()), ("references/deep/a.md", "one"), (".git/HEAD", "ref: x")];
    write_files(&lower, &files.map(|(path, text)| (path, text.as_bytes(), false)));
    let script = "mkdir upper work-of-it home/.agents home/.agents/skills\n\
                  mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work-of-it$OVERLAY home/.agents/skills";
    let Some(place) = Mounted::new(sandbox, script) else { return };
    let skills = place.sandbox.home().join(".agents/skills");
    let read = |path: &str| place.sh(&format!("cat {}", skills.join(path).display()));
    for (from, to) in [("alpha", "beta"), ("beta", "gamma")] {
        assert_eq!(patched(&place, from, to)["checkout"], "done");
        assert!(read("demo/SKILL.md").contains(to) && read("demo/references/deep/a.md").contains("one"));
        assert!(read("demo/.git/HEAD").contains("ref: x"));
        place.is_well();
    }
    assert_eq!(place.done(&["manage", "delete", "demo"])["checkout"], "done");
    assert_eq!(place.sh(&format!("ls -A {}/demo", skills.display())).trim(), ".git");
    assert_eq!(place.done(&["rollback", "demo"])["checkout"], "done");
    assert!(read("demo/SKILL.md").contains("gamma"));
    assert_eq!(place.sh(&format!("ls -A {}", skills.display())).trim(), "demo", "nothing temporary stays");
    let actions = place.done(&["history", "demo"]);
    let actions: Vec<&str> =
        actions["revisions"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["rollback", "delete", "patch", "patch", "external"], "and no hand edit was seen");
    place.is_well();
}

#[test]
fn full_overlay_is_not_hand_edit() {
    let sandbox = Sandbox::new();
    let long = "a line of a long text\n".repeat(3000);
    let text = skill_md("demo", "Does it. Use in tests.", "alpha");
    let names = ["references/1.md", "references/2.md", "references/3.md", "references/4.md", "references/5.md"];
    let files = names.iter().map(|name| (*name, long.as_bytes(), false));
    let files: Vec<_> = files.chain([("SKILL.md", text.as_bytes(), false)]).collect();
    write_files(&sandbox.path("lower/demo"), &files);
    // Room for the folder that is made, and not for that which it displaces. The notes that root may keep
    // are kept on every disk.
    let script = "test -z \"$OVERLAY\"; mkdir upper home/.agents home/.agents/skills\n\
                  mount -t tmpfs -o size=560k none upper; mkdir upper/files upper/work\n\
                  mount -t overlay overlay -o lowerdir=lower,upperdir=upper/files,workdir=upper/work home/.agents/skills";
    let Some(place) = Mounted::new(sandbox, script).filter(|_| has_small_pages()) else { return };
    let count =
        || place.sh(&format!("find {}/.agents/skills/demo -type f", place.sandbox.home().display())).lines().count();
    assert_eq!(patched(&place, "alpha", "beta")["checkout"], "pending");
    assert_eq!(count(), files.len(), "what was moved is back");
    place.done(&["status"]);
    assert_eq!(count(), files.len());
    place.sh(&format!("mount -o remount,size=8m none {}", place.sandbox.path("upper").display()));
    assert_eq!(patched(&place, "beta", "gamma")["number"], 3, "nobody's edit is seen in between");
    assert_eq!(count(), files.len());
    place.is_well();
}

/// Asserts that every command answers, and that each error has a hint.
#[track_caller]
fn everything_answers(place: &Mounted) {
    for args in [&["list"][..], &["status"], &["history", "demo"], &["prompt"], &["gc"], &["disable", "demo"], &["log"]]
    {
        let answer = place.ask(args);
        let document = answer.json();
        if document["ok"] == false {
            let error = &document["error"];
            assert!(error["hint"].is_string() && error["message"].is_string(), "{args:?}: {document:#}");
        }
    }
    for args in [&["doctor"][..], &["doctor", "--fix"]] {
        assert!(place.ask(args).json()["checks"].is_array());
    }
}

/// Returns whether pages have the size for which the sizes below were chosen.
fn has_small_pages() -> bool {
    let asked = Command::new("getconf").arg("PAGESIZE").output();
    asked.is_ok_and(|answer| answer.stdout == b"4096\n") || skipped("pages are not of 4 KiB").is_some()
}

#[test]
fn full_home_loses_nothing() {
    // Of these sizes some are used up by the journal, and some by an object after it.
    for kib in [3040, 3060, 3072, 3088] {
        if !has_small_pages() || !fills_a_home_of(kib) {
            return;
        }
    }
}

/// Fills a home of this size. Returns false if it cannot be mounted.
fn fills_a_home_of(kib: u32) -> bool {
    let script = format!("mkdir home/.skillhub\nmount -t tmpfs -o size={kib}k,mode=0700 none home/.skillhub");
    let Some(place) = Mounted::new(Sandbox::new(), &script) else { return false };
    let content = place.sandbox.path("content.md");
    fs::write(&content, skill_md("demo", "Does it. Use in tests.", "alpha")).unwrap();
    place.done(&["manage", "create", "demo", "--content", content.to_str().unwrap()]);
    let mut random = 1_u64;
    let mut reported = 1;
    let error = loop {
        let words = (0..9000).map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{:05x}\n", random >> 44)
        });
        fs::write(&content, words.collect::<String>()).unwrap();
        let path = format!("references/f{reported}.md");
        let args = ["manage", "write_file", "demo", "--path", &path, "--content", content.to_str().unwrap()];
        let document = place.ask(&args).json();
        if document["ok"] == false {
            break document;
        }
        reported = document["number"].as_u64().unwrap();
        assert!(reported < 200, "the disk gets full");
    };
    assert_eq!(error["error"]["code"], "io", "{error:#}");
    assert!(error["error"]["message"].as_str().unwrap().contains("No space left"), "{error:#}");
    assert!(error["error"]["hint"].as_str().unwrap().contains("space"), "{error:#}");
    everything_answers(&place);
    // With a source named, no former option is given again: the owner has no number in a namespace of users.
    place.sh(&format!("mount -o remount,size=32m none {}", place.sandbox.skillhub_home().display()));
    assert_eq!(patched(&place, "alpha", "beta")["number"], reported + 1);
    let revisions = place.done(&["history", "demo"]);
    assert_eq!(revisions["revisions"].as_array().unwrap().len() as u64, reported + 1);
    place.is_well();
    place.done(&["gc"]);
    place.is_well();
    true
}

#[test]
fn read_only_history_keeps_reported_changes() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha");
    let history = sandbox.done(&["where"])["history"].as_str().unwrap().to_owned();
    let script = format!("mount --bind {history} {history}\nmount -o remount,bind,ro {history}");
    let Some(place) = Mounted::new(sandbox, &script) else { return };
    let report = patched(&place, "alpha", "beta");
    assert_eq!((report["status"].as_str(), report["checkout"].as_str()), (Some("applied"), Some("pending")));
    let again = patch("beta", "gamma");
    let error = place.ask(&again.each_ref().map(String::as_str)).refused_with_hint(1, "io");
    assert!(error["message"].as_str().unwrap().contains(Path::new(&history).to_str().unwrap()), "{error:#}");
    everything_answers(&place);
    place.sh(&format!("umount {history}"));
    assert_eq!(patched(&place, "beta", "gamma")["number"], 3);
    place.is_well();
}
