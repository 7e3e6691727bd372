//! [`Layout`]: the folder that Claude Code reads holds what `read` serves, for each way to come by skills and each
//! event. `tests/hosts/hosts.py` checks the same with the hosts themselves.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use skill::Digest;

use crate::support::{Sandbox, git, write_files};

/// One skill per event, so that one project serves them all.
const PATCHED: &str = "tables";
const EDITED: &str = "letters";
const UPDATED: &str = "charts";
const ROLLED_BACK: &str = "invoices";
const UNDONE: &str = "recipes";
const DISABLED: &str = "slides";
const ENABLED: &str = "minutes";
const BRANCHED: &str = "budgets";
const SKILLS: [&str; 8] = [PATCHED, EDITED, UPDATED, ROLLED_BACK, UNDONE, DISABLED, ENABLED, BRANCHED];

/// Where new releases come from.
enum Source {
    /// Nowhere: skills are edited in place.
    Here,
    Registry,
    Git,
}

/// A sandbox after an entry point, with every skill at its first version.
struct Layout {
    sandbox: Sandbox,
    global: bool,
    source: Source,
}

impl Layout {
    /// A repository in which Claude Code and OpenCode are in use.
    fn project(source: Source) -> Self {
        let layout = Self { sandbox: Sandbox::new(), global: false, source };
        git(&layout.sandbox, &["init", "--quiet", "--initial-branch=main"]);
        for file in [".claude/settings.json", ".opencode/opencode.json"] {
            write_files(&layout.sandbox.cwd(), &[(file, b"{}\n", false)]);
        }
        layout
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> Value {
        self.sandbox.done(&self.scoped(args))
    }

    /// Runs a command with the text of a skill on standard input.
    #[track_caller]
    fn done_with(&self, args: &[&str], text: &str) -> Value {
        let args = [&self.scoped(args)[..], &["--json"]].concat();
        self.sandbox.run_with(&args, text.as_bytes()).done()
    }

    fn scoped<'a>(&self, args: &[&'a str]) -> Vec<&'a str> {
        let scope: &[&str] = if self.global { &["--global"] } else { &[] };
        let registry: &[&str] =
            if matches!(self.source, Source::Registry) { &["--registry", "../registry"] } else { &[] };
        [scope, registry, args].concat()
    }

    /// Commits everything; the repository of a user's library is beside the home, as people keep their dotfiles.
    #[track_caller]
    fn commit(&self) {
        let paths = if self.global { ".agents/skills" } else { "." };
        self.git(&["add", "--force", paths]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=more"]);
    }

    #[track_caller]
    fn git(&self, args: &[&str]) {
        let (home, folder) = (self.sandbox.home(), self.sandbox.path("dotfiles.git"));
        let (home, folder) = (home.display().to_string(), format!("--git-dir={}", folder.display()));
        let work_tree = format!("--work-tree={home}");
        let of_user = ["-C", &home, &folder, &work_tree];
        git(&self.sandbox, &[if self.global { &of_user[..] } else { &[] }, args].concat());
    }

    fn folder(&self, below: &str) -> PathBuf {
        if self.global { self.sandbox.home().join(below) } else { self.sandbox.cwd().join(below) }
    }

    #[track_caller]
    fn patch(&self, name: &str, from: u8, to: u8) {
        let (find, replace) = (mark(name, from), mark(name, to));
        self.done(&["manage", "patch", name, "--find", &find, "--replace", &replace, "--replace-all"]);
    }

    /// Publishes the second version of a skill.
    #[track_caller]
    fn release(&self, name: &str) {
        match self.source {
            Source::Here => {}
            Source::Git => {
                put(&self.sandbox.path("upstream/skills"), name, 2);
                commit_upstream(&self.sandbox);
            }
            Source::Registry => self.publish(name, 2),
        }
    }

    #[track_caller]
    fn publish(&self, name: &str, version: u8) {
        put(&self.sandbox.path("sources"), name, version);
        let folder = format!("../sources/{name}");
        self.done(&["publish", &folder, "--owner", "acme", "--version", &format!("1.{version}.0")]);
    }

    /// Makes the registry, publishes all skills, and installs them.
    #[track_caller]
    fn install(&self) {
        self.sandbox.done(&["index", "init", "../registry"]);
        for name in SKILLS {
            self.publish(name, 1);
        }
        let specs = SKILLS.map(|name| format!("acme/{name}"));
        let specs: Vec<_> = specs.iter().map(String::as_str).collect();
        self.done(&[&["install"], &specs[..]].concat());
    }

    /// Checks that Claude Code reads a version, and that `read` serves the same.
    #[track_caller]
    fn holds(&self, name: &str, version: u8) {
        let path = self.folder(".claude/skills").join(name).join("SKILL.md");
        let text = fs::read_to_string(&path).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert!(text.contains(&mark(name, version)), "{name} is not at version {version}:\n{text}");
        let read = self.done(&["read", name]);
        assert!(text.ends_with(read["content"].as_str().unwrap()), "{text}\n{read:#}");
    }

    #[track_caller]
    fn all_events_reach_claude_code(&self) {
        self.patch(PATCHED, 1, 2);
        self.holds(PATCHED, 2);
        self.release(UPDATED);
        match self.source {
            Source::Here => self.done_with(&["manage", "edit", UPDATED, "--content", "-"], &text(UPDATED, 2)),
            Source::Registry | Source::Git => self.done(&["update", UPDATED]),
        };
        self.holds(UPDATED, 2);
        for (name, command) in [(ROLLED_BACK, &["rollback", ROLLED_BACK][..]), (UNDONE, &["undo"])] {
            self.patch(name, 1, 2);
            self.patch(name, 2, 3);
            self.holds(name, 3);
            self.done(command);
            self.holds(name, 2);
        }
        for name in [DISABLED, ENABLED] {
            self.patch(name, 1, 2);
            self.done(&["disable", name]);
            assert!(!self.folder(".claude/skills").join(name).exists(), "{name}");
        }
        self.done(&["enable", ENABLED]);
        self.holds(ENABLED, 2);
    }

    /// Edits by hand and branches change the folder of the library without a command.
    #[track_caller]
    fn all_files_reach_claude_code(&self) {
        self.commit();
        self.git(&["branch", "old"]);
        self.patch(BRANCHED, 1, 2);
        self.commit();
        self.git(&["checkout", "--quiet", "old"]);
        self.holds(BRANCHED, 1);
        self.git(&["checkout", "--quiet", "main"]);
        self.holds(BRANCHED, 2);
        put(&self.folder(".agents/skills"), EDITED, 2);
        self.holds(EDITED, 2);
    }
}

fn mark(name: &str, version: u8) -> String {
    format!("mark-{name}-v{version}")
}

fn text(name: &str, version: u8) -> String {
    let mark = mark(name, version);
    format!(
        "---\nname: {name}\ndescription: Handles {name} files, {mark}. Use in tests.\n---\n\n# {name}\n\n1. Read {mark}.\n"
    )
}

fn put(folder: &Path, name: &str, version: u8) {
    write_files(&folder.join(name), &[("SKILL.md", text(name, version).as_bytes(), false)]);
}

fn commit_upstream(sandbox: &Sandbox) {
    git(sandbox, &["-C", "../upstream", "add", "--all"]);
    git(sandbox, &["-C", "../upstream", "commit", "--quiet", "--message=release"]);
}

fn adopted_in_project() -> Layout {
    let layout = Layout::project(Source::Here);
    for name in SKILLS {
        put(&layout.folder(".claude/skills"), name, 1);
    }
    layout.commit();
    layout.done(&["adopt", "--link", ".claude/skills"]);
    layout
}

fn adopted_in_home() -> Layout {
    let layout = Layout { sandbox: Sandbox::new(), global: true, source: Source::Here };
    let in_use = b"[agents]\nin_use = [\"claude-code\", \"opencode\"]\n";
    write_files(&layout.sandbox.skillhub_home(), &[("config.toml", in_use, false)]);
    for name in SKILLS {
        put(&layout.folder(".claude/skills"), name, 1);
    }
    layout.done(&["adopt", layout.folder(".claude/skills").to_str().unwrap()]);
    git(&layout.sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", "../dotfiles.git"]);
    layout
}

/// As `npx skills` leaves a project: half of the skills linked for Claude Code, half of them copied.
fn imported() -> Layout {
    let layout = Layout::project(Source::Git);
    let (sandbox, mut entries) = (&layout.sandbox, serde_json::Map::new());
    let upstream = format!("file://{}", sandbox.path("upstream").display());
    fs::create_dir_all(layout.folder(".claude/skills")).unwrap();
    for (index, name) in SKILLS.into_iter().enumerate() {
        put(&sandbox.path("upstream/skills"), name, 1);
        put(&layout.folder(".agents/skills"), name, 1);
        let of_claude = layout.folder(".claude/skills").join(name);
        if index % 2 == 0 {
            std::os::unix::fs::symlink(Path::new("../../.agents/skills").join(name), of_claude).unwrap();
        } else {
            put(of_claude.parent().unwrap(), name, 1);
        }
        let hash = Digest::of_bytes(format!("SKILL.md{}", text(name, 1)).as_bytes()).hex();
        let entry = json!({
            "source": upstream, "sourceType": "git", "skillPath": format!("skills/{name}/SKILL.md"),
            "computedHash": hash,
        });
        entries.insert(name.to_owned(), entry);
    }
    git(sandbox, &["init", "--quiet", "--initial-branch=main", "../upstream"]);
    commit_upstream(sandbox);
    let lock = json!({"version": 1, "skills": entries}).to_string();
    write_files(&sandbox.cwd(), &[("skills-lock.json", lock.as_bytes(), false)]);
    layout.done(&["import"]);
    layout
}

fn installed() -> Layout {
    let layout = Layout::project(Source::Registry);
    layout.install();
    layout
}

fn created() -> Layout {
    let layout = Layout::project(Source::Here);
    for name in SKILLS {
        layout.done_with(&["manage", "create", name, "--content", "-"], &text(name, 1));
    }
    layout
}

/// A colleague's clone: another home, the library and its lock file, and no links.
fn cloned() -> Layout {
    let layout = Layout::project(Source::Registry);
    let sandbox = &layout.sandbox;
    write_files(&sandbox.cwd(), &[(".gitignore", b".claude/skills\n", false)]);
    layout.install();
    git(sandbox, &["add", "--all"]);
    git(sandbox, &["commit", "--quiet", "--message=skills"]);
    for (from, to) in [("home", "origin-home"), ("work", "origin")] {
        fs::rename(sandbox.path(from), sandbox.path(to)).unwrap();
        fs::create_dir(sandbox.path(from)).unwrap();
    }
    git(sandbox, &["clone", "--quiet", "../origin", "."]);
    layout.done(&["install"]);
    layout
}

#[test]
fn events_reach_an_adopted_project() {
    adopted_in_project().all_events_reach_claude_code();
}

#[test]
fn events_reach_an_adopted_home() {
    adopted_in_home().all_events_reach_claude_code();
}

#[test]
fn events_reach_imported_skills() {
    imported().all_events_reach_claude_code();
}

#[test]
fn events_reach_installed_skills() {
    installed().all_events_reach_claude_code();
}

#[test]
fn events_reach_created_skills() {
    created().all_events_reach_claude_code();
}

#[test]
fn events_reach_a_clone() {
    cloned().all_events_reach_claude_code();
}

#[test]
fn edits_and_branches_reach_every_layout() {
    for layout in [adopted_in_project(), adopted_in_home(), imported(), installed(), created(), cloned()] {
        layout.all_files_reach_claude_code();
    }
}
