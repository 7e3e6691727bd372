//! [`Offer`]: the skill `notes` at a source of each [`Kind`].

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use skill::Digest;

use crate::support::{Answer, Hosting, Sandbox, Server, SmartHttp, Web, git, repository, skill_md, write_files};

/// Text of the skill. The lines between those that change keep both sides of a merge apart.
pub const BODY: &str = "Read the input.\n\nCheck each line.\n\nWrite the output.\n";

/// Hosts that git finds in the sandbox.
const HOSTS: [&str; 2] = ["github.com", "git.example.org"];

/// Manifest of a repository that is a marketplace.
const MANIFEST: &str = ".claude-plugin/marketplace.json";

/// Kinds of sources from which a skill is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    GitRegistry,
    HttpRegistry,
    Repository,
    BrowserLink,
    RelativePlugin,
    GithubPlugin,
    UrlPlugin,
    SubdirPlugin,
    IndexArchive,
    IndexSkillMd,
    IndexFiles,
    ClawHub,
    FolderPattern,
    Folder,
    ArchiveFile,
    ArchiveUrl,
}

impl Kind {
    pub const ALL: [Self; 16] = [
        Self::GitRegistry,
        Self::HttpRegistry,
        Self::Repository,
        Self::BrowserLink,
        Self::RelativePlugin,
        Self::GithubPlugin,
        Self::UrlPlugin,
        Self::SubdirPlugin,
        Self::IndexArchive,
        Self::IndexSkillMd,
        Self::IndexFiles,
        Self::ClawHub,
        Self::FolderPattern,
        Self::Folder,
        Self::ArchiveFile,
        Self::ArchiveUrl,
    ];

    /// Kinds that are read with git, other than registries.
    pub const OF_GIT: [Self; 6] = [
        Self::Repository,
        Self::BrowserLink,
        Self::RelativePlugin,
        Self::GithubPlugin,
        Self::UrlPlugin,
        Self::SubdirPlugin,
    ];

    /// Returns whether the source is on this machine, so that `--offline` still reads it.
    pub fn is_local(self) -> bool {
        matches!(self, Self::FolderPattern | Self::Folder | Self::ArchiveFile)
    }
}

/// A project, and a source outside of it that offers `notes`.
pub struct Offer {
    pub sandbox: Sandbox,
    kind: Kind,
    server: RefCell<Option<Server>>,
    /// Arguments of `install`.
    pub args: Vec<String>,
}

impl Offer {
    /// Makes the source, with the first version of the skill.
    pub fn new(kind: Kind) -> Self {
        let sandbox = Sandbox::project();
        let _of_git = Hosting::new(&sandbox, &HOSTS);
        let mut offer = Self { sandbox, kind, server: RefCell::default(), args: Vec::new() };
        offer.args = offer.open();
        offer.put(BODY, "1.0.0");
        if kind == Kind::FolderPattern {
            offer.done(&["source", "add", "node_modules/*/skills"]);
            let found = offer.done(&["search", "notes"])["results"].take();
            let found = found.as_array().unwrap().iter().find(|skill| skill["name"] == "notes").unwrap();
            offer.args = vec![found["install"].as_str().unwrap().trim_matches('\'').to_owned()];
        }
        offer
    }

    /// Starts what serves the source, and returns the arguments that install from it.
    fn open(&self) -> Vec<String> {
        let path = |below: &str| self.sandbox.path(below).display().to_string();
        match self.kind {
            Kind::GitRegistry => {
                self.sandbox.done(&["index", "init", &path("served/team.git")]);
                let url = SmartHttp::start(&self.sandbox, None).url("team.git");
                vec!["acme/notes".to_owned(), "--registry".to_owned(), url]
            }
            Kind::HttpRegistry | Kind::ClawHub => {
                let server = Server::start(&self.sandbox, &[]);
                let url = server.url.clone();
                self.server.replace(Some(server));
                match self.kind {
                    Kind::ClawHub => vec![format!("clawhub:{url}#acme/notes")],
                    _ => vec!["acme/notes".to_owned(), "--registry".to_owned(), url],
                }
            }
            Kind::Repository => {
                vec![format!("{}#skills/notes", SmartHttp::start(&self.sandbox, None).url("kit.git"))]
            }
            Kind::BrowserLink => vec!["https://github.com/acme/kit/tree/main/skills/notes".to_owned()],
            Kind::RelativePlugin => ["github:acme/kit", "--skill", "tools:"].map(str::to_owned).into(),
            Kind::GithubPlugin => self.market(&json!({"source": "github", "repo": "acme/kit"})),
            Kind::UrlPlugin => self.market(&json!({"source": "url", "url": "https://git.example.org/acme/kit.git"})),
            Kind::SubdirPlugin => self.market(
                &json!({"source": "git-subdir", "url": "https://git.example.org/acme/kit.git", "path": "skills/notes"}),
            ),
            Kind::IndexArchive | Kind::IndexSkillMd => vec![self.web(".well-known/agent-skills/index.json#notes")],
            Kind::IndexFiles => vec![self.web(".well-known/skills/index.json#notes")],
            Kind::ArchiveUrl => vec![self.web("notes.skill")],
            // The address of a skill that a pattern finds comes from a search.
            Kind::FolderPattern => Vec::new(),
            Kind::Folder => vec![self.folder().join("notes").display().to_string()],
            Kind::ArchiveFile => vec![path("files/notes.skill")],
        }
    }

    fn web(&self, file: &str) -> String {
        Web::start(self.sandbox.path("files")).url(file)
    }

    /// Makes a repository whose manifest lists a plugin in another one.
    fn market(&self, source: &Value) -> Vec<String> {
        let manifest = json!({"plugins": [{"name": "tools", "source": source}]}).to_string();
        let hosting = Hosting::new(&self.sandbox, &HOSTS);
        hosting.add("github.com/acme/market", &[(MANIFEST, &manifest)]);
        ["github:acme/market", "--skill", "tools"].map(str::to_owned).into()
    }

    /// Returns the folder whose child `notes` is the skill as its author has it.
    pub fn folder(&self) -> PathBuf {
        match self.kind {
            Kind::Repository => self.sandbox.path("served/kit.git/skills"),
            Kind::BrowserLink | Kind::RelativePlugin | Kind::GithubPlugin => {
                self.sandbox.path("hosts/github.com/acme/kit.git/skills")
            }
            Kind::UrlPlugin | Kind::SubdirPlugin => self.sandbox.path("hosts/git.example.org/acme/kit.git/skills"),
            Kind::FolderPattern => self.sandbox.cwd().join("node_modules/kit/skills"),
            _ => self.sandbox.path("own"),
        }
    }

    /// Offers this text.
    pub fn put(&self, body: &str, version: &str) {
        let (text, folder) = (skill_md("notes", "Handles notes files. Use in tests.", body), self.folder());
        write_files(&folder, &[("notes/SKILL.md", text.as_bytes(), false)]);
        match self.kind {
            Kind::GitRegistry => self.publish(version, &self.sandbox.path("served/team.git").display().to_string()),
            Kind::HttpRegistry | Kind::ClawHub => {
                let url = self.server.borrow().as_ref().unwrap().url.clone();
                self.publish(version, &url);
            }
            Kind::FolderPattern | Kind::Folder => {}
            Kind::ArchiveFile | Kind::ArchiveUrl => {
                self.pack("notes.skill");
            }
            Kind::IndexArchive => {
                let digest = Digest::of_bytes(&self.pack("notes.zip")).to_string();
                self.write_index("agent-skills", &json!({"type": "archive", "url": "/notes.zip", "digest": digest}));
            }
            Kind::IndexSkillMd => {
                let digest = Digest::of_bytes(text.as_bytes()).to_string();
                write_files(&self.sandbox.path("files"), &[("N.md", text.as_bytes(), false)]);
                self.write_index("agent-skills", &json!({"type": "skill-md", "url": "/N.md", "digest": digest}));
            }
            Kind::IndexFiles => {
                let file = ".well-known/skills/notes/SKILL.md";
                write_files(&self.sandbox.path("files"), &[(file, text.as_bytes(), false)]);
                self.write_index("skills", &json!({"files": ["SKILL.md"]}));
            }
            _ => self.commit(folder.parent().unwrap()),
        }
    }

    fn publish(&self, version: &str, registry: &str) {
        let folder = self.folder().join("notes").display().to_string();
        let args = ["publish", &folder, "--owner", "acme", "--version", version, "--registry", registry, "--json"];
        let mut command = self.sandbox.command(&args);
        command.envs(self.server.borrow().as_ref().map(|server| ("SKILLHUB_TOKEN", server.admin.clone())));
        self.sandbox.finish(command, &args).done();
    }

    fn pack(&self, name: &str) -> Vec<u8> {
        let file = self.sandbox.path("files").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let _none_at_first = fs::remove_file(&file);
        let folder = self.folder().join("notes").display().to_string();
        self.sandbox.done(&["pack", &folder, "-o", file.to_str().unwrap()]);
        fs::read(&file).unwrap()
    }

    fn write_index(&self, form: &str, content: &Value) {
        let mut skill = content.clone();
        (skill["name"], skill["description"]) = ("notes".into(), "Handles notes.".into());
        let (path, index) = (format!(".well-known/{form}/index.json"), json!({"skills": [skill]}).to_string());
        write_files(&self.sandbox.path("files"), &[(path.as_str(), index.as_bytes(), false)]);
    }

    fn commit(&self, folder: &Path) {
        if folder.join(".git").exists() {
            git(&self.sandbox, &["-C", folder.to_str().unwrap(), "commit", "--quiet", "--all", "--message=next"]);
            return;
        }
        let manifest = json!({"plugins": [{"name": "tools", "source": "./"}]}).to_string();
        if self.kind == Kind::RelativePlugin {
            write_files(folder, &[(MANIFEST, manifest.as_bytes(), false)]);
        }
        repository(&self.sandbox, folder);
    }

    /// Makes the source unreachable.
    pub fn take_away(&self) {
        self.server.replace(None);
        for folder in ["served", "hosts", "files", "own", "work/node_modules"] {
            let _not_of_this_kind = fs::remove_dir_all(self.sandbox.path(folder));
        }
    }

    /// Returns the installed `SKILL.md`.
    pub fn file(&self) -> PathBuf {
        self.sandbox.cwd().join(".agents/skills/notes/SKILL.md")
    }

    /// Returns the text of the lock file; empty if there is none.
    pub fn lock(&self) -> String {
        fs::read_to_string(self.sandbox.cwd().join("skillhub.lock")).unwrap_or_default()
    }

    /// Removes the installed skill with its history, as in another clone. The cache stays.
    pub fn forget(&self) {
        fs::remove_dir_all(self.sandbox.cwd().join(".agents")).unwrap();
        fs::remove_dir_all(self.sandbox.skillhub_home().join("libraries")).unwrap();
    }

    /// Returns the arguments of `install` from the source.
    pub fn install(&self) -> Vec<&str> {
        ["install"].into_iter().chain(self.args.iter().map(String::as_str)).collect()
    }

    /// Prepares a command with `--json`.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(args);
        command.arg("--json").env("GIT_CONFIG_GLOBAL", self.sandbox.path("gitconfig"));
        command
    }

    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> Answer {
        self.sandbox.finish(self.command(args), args)
    }

    #[track_caller]
    pub fn done(&self, args: &[&str]) -> Value {
        self.ask(args).done()
    }
}
