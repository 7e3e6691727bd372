//! [`Layout`]: a home and a working folder after one of the ways to get skills, with every skill at its first version.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use skill::Digest;

use super::{Sandbox, git, write_files};

/// Source of new releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Not applicable: skills are edited in place.
    Here,
    Registry,
    Git,
}

/// A sandbox after one way to get skills.
pub struct Layout {
    pub sandbox: Sandbox,
    /// True for skills of the user, false for those of a project.
    pub global: bool,
    pub source: Source,
}

impl Layout {
    /// Creates a repository in which Claude Code and OpenCode are in use.
    fn project(source: Source) -> Self {
        let layout = Self { sandbox: Sandbox::new(), global: false, source };
        git(&layout.sandbox, &["init", "--quiet", "--initial-branch=main"]);
        for file in [".claude/settings.json", ".opencode/opencode.json"] {
            write_files(&layout.sandbox.cwd(), &[(file, b"{}\n", false)]);
        }
        layout
    }

    /// Skills of Claude Code in a project, linked by `adopt`.
    pub fn adopted_in_project(names: &[&str]) -> Self {
        let layout = Self::project(Source::Here);
        for name in names {
            put(&layout.folder(".claude/skills"), name, 1);
        }
        layout.commit();
        layout.done(&["adopt", "--link", ".claude/skills"]);
        layout
    }

    /// Skills of Claude Code in the home, with their repository beside it, as people keep their dotfiles.
    pub fn adopted_in_home(names: &[&str], in_use: &[&str]) -> Self {
        let layout = Self { sandbox: Sandbox::new(), global: true, source: Source::Here };
        let in_use = format!("[agents]\nin_use = {}\n", json!(in_use));
        write_files(&layout.sandbox.skillhub_home(), &[("config.toml", in_use.as_bytes(), false)]);
        for name in names {
            put(&layout.folder(".claude/skills"), name, 1);
        }
        layout.done(&["adopt", layout.folder(".claude/skills").to_str().unwrap()]);
        git(&layout.sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", "../dotfiles.git"]);
        layout
    }

    /// A project of `npx skills`: half of the skills linked for Claude Code, half copied.
    pub fn imported(names: &[&str]) -> Self {
        let layout = Self::project(Source::Git);
        let (sandbox, mut entries) = (&layout.sandbox, serde_json::Map::new());
        fs::create_dir_all(layout.folder(".claude/skills")).unwrap();
        for (index, name) in names.iter().enumerate() {
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
                "source": layout.upstream(), "sourceType": "git", "skillPath": format!("skills/{name}/SKILL.md"),
                "computedHash": hash,
            });
            entries.insert((*name).to_owned(), entry);
        }
        git(sandbox, &["init", "--quiet", "--initial-branch=main", "../upstream"]);
        layout.commit_upstream();
        let lock = json!({"version": 1, "skills": entries}).to_string();
        write_files(&sandbox.cwd(), &[("skills-lock.json", lock.as_bytes(), false)]);
        layout.done(&["import"]);
        layout
    }

    /// Skills installed from a registry.
    pub fn installed(names: &[&str]) -> Self {
        let layout = Self::project(Source::Registry);
        layout.install(names);
        layout
    }

    /// Skills created by an agent.
    pub fn created(names: &[&str]) -> Self {
        let layout = Self::project(Source::Here);
        for name in names {
            layout.done_with(&["manage", "create", name, "--content", "-"], &text(name, 1));
        }
        layout
    }

    /// A clone by a colleague: another home, the library and its lock file, without links.
    pub fn cloned(names: &[&str]) -> Self {
        let layout = Self::project(Source::Registry);
        let sandbox = &layout.sandbox;
        write_files(&sandbox.cwd(), &[(".gitignore", b".claude/skills\n", false)]);
        layout.install(names);
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

    /// Creates the registry, publishes all skills, and installs them.
    #[track_caller]
    fn install(&self, names: &[&str]) {
        self.sandbox.done(&["index", "init", "../registry"]);
        for name in names {
            self.publish(name, 1);
        }
        let specs: Vec<String> = names.iter().map(|name| format!("acme/{name}")).collect();
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        self.done(&[&["install"], &specs[..]].concat());
    }

    #[track_caller]
    pub fn done(&self, args: &[&str]) -> Value {
        self.sandbox.done(&self.scoped(args))
    }

    /// Runs a command with the text of a skill on standard input.
    #[track_caller]
    pub fn done_with(&self, args: &[&str], text: &str) -> Value {
        let args = [&self.scoped(args)[..], &["--json"]].concat();
        self.sandbox.run_with(&args, text.as_bytes()).done()
    }

    /// Adds the flags that this layout needs to arguments.
    pub fn scoped<'a>(&self, args: &[&'a str]) -> Vec<&'a str> {
        let scope: &[&str] = if self.global { &["--global"] } else { &[] };
        let registry: &[&str] = if self.source == Source::Registry { &["--registry", "../registry"] } else { &[] };
        [scope, registry, args].concat()
    }

    /// Commits all files; in a home, only the library.
    #[track_caller]
    pub fn commit(&self) {
        let paths = if self.global { ".agents/skills" } else { "." };
        self.git(&["add", "--force", paths]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=more"]);
    }

    /// Runs git in the repository of the skills.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let (home, folder) = (self.sandbox.home(), self.sandbox.path("dotfiles.git"));
        let (home, folder) = (home.display().to_string(), format!("--git-dir={}", folder.display()));
        let work_tree = format!("--work-tree={home}");
        let of_user = ["-C", &home, &folder, &work_tree];
        git(&self.sandbox, &[if self.global { &of_user[..] } else { &[] }, args].concat())
    }

    /// Returns a folder of the project, or of the home.
    pub fn folder(&self, below: &str) -> PathBuf {
        if self.global { self.sandbox.home().join(below) } else { self.sandbox.cwd().join(below) }
    }

    /// Publishes a version of a skill, in layouts with a source.
    #[track_caller]
    pub fn release(&self, name: &str, version: u32) {
        match self.source {
            Source::Here => {}
            Source::Git => {
                put(&self.sandbox.path("upstream/skills"), name, version);
                self.commit_upstream();
            }
            Source::Registry => self.publish(name, version),
        }
    }

    #[track_caller]
    fn publish(&self, name: &str, version: u32) {
        put(&self.sandbox.path("sources"), name, version);
        let folder = format!("../sources/{name}");
        self.done(&["publish", &folder, "--owner", "acme", "--version", &format!("1.{version}.0")]);
    }

    /// Returns the URL of the git repository from which skills are imported.
    pub fn upstream(&self) -> String {
        format!("file://{}", self.sandbox.path("upstream").display())
    }

    fn commit_upstream(&self) {
        git(&self.sandbox, &["-C", "../upstream", "add", "--all"]);
        git(&self.sandbox, &["-C", "../upstream", "commit", "--quiet", "--message=release"]);
    }
}

/// Returns words that occur in one version of one skill only.
pub fn mark(name: &str, version: u32) -> String {
    format!("mark-{name}-v{version}")
}

/// Returns a version of a skill, with the mark in description and body.
pub fn text(name: &str, version: u32) -> String {
    let mark = mark(name, version);
    format!(
        "---\nname: {name}\ndescription: Handles {name} files, {mark}. Use in tests.\n---\n\n# {name}\n\n1. Read {mark}.\n"
    )
}

/// Writes a version of a skill into a folder of skills.
pub fn put(folder: &Path, name: &str, version: u32) {
    write_files(&folder.join(name), &[("SKILL.md", text(name, version).as_bytes(), false)]);
}
