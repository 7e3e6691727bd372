//! Tests of views for several layouts: the library alone, links, copied folders, homes.

#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use library::{Action, Actor, ActorKind, Commit, Content, Home, Library, NewRevision, Stamp, find_agent};
use scan::{Baseline, clear};
use tempfile::TempDir;

use super::*;
use crate::{host::HostEnvironment, skill_locations::SkillLocations};

/// Home with a project, and the skill `pdf` at revision 2 in the project's library.
struct Layout {
    dir: TempDir,
}

fn text(body: &str) -> String {
    format!("---\nname: pdf\ndescription: Fills forms. Use for PDF files.\n---\n\n{body}\n")
}

impl Layout {
    fn new() -> Self {
        let layout = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(layout.project().join(".git")).unwrap();
        let library = layout.project().join(".agents/skills");
        layout.commit(&library, "one");
        layout.commit(&library, "two");
        layout
    }

    fn home(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("home")
    }

    fn project(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("home/project")
    }

    fn commit(&self, library: &Path, body: &str) {
        let home = Home::at(self.home().join(".skillhub")).unwrap();
        let mut library = Library::open(library, Scope::Project, &home, "git").unwrap();
        let skill = SkillName::parse("pdf").unwrap();
        let base = library.head(&skill).unwrap().map(|head| head.id);
        let bundle = testkit::bundle(&[("SKILL.md", text(body))]);
        let action = if base.is_some() { Action::Edit } else { Action::Create };
        let stamp = Stamp::new(Actor::new(ActorKind::Agent, "test"), Timestamp::now());
        let new = NewRevision::new(Content::Cleared(clear(bundle, Baseline::None).unwrap()), action, stamp);
        library.commit(vec![Commit { skill, base, revisions: vec![new] }]).unwrap();
    }

    /// Writes the skill into a folder of an agent.
    fn put(&self, folder: &Path, body: &str) {
        fs::create_dir_all(folder.join("pdf")).unwrap();
        fs::write(folder.join("pdf/SKILL.md"), text(body)).unwrap();
    }

    fn link(&self, folder: &Path, to: &Path) {
        fs::create_dir_all(folder).unwrap();
        symlink(to, folder.join("pdf")).unwrap();
    }

    fn view(&self, agent: &str) -> AgentView {
        self.view_with(agent, "", true)
    }

    fn view_with(&self, agent: &str, config: &str, follows_links: bool) -> AgentView {
        let (project, home) = (self.project(), self.home());
        let places = SkillLocations {
            home: Home::at(home.join(".skillhub")).unwrap(),
            storage: "git".to_owned(),
            libraries: vec![
                (project.join(".agents/skills"), Scope::Project),
                (home.join(".agents/skills"), Scope::User),
            ],
            folders: Vec::new(),
            project: Some(project.clone()),
            inner: false,
        };
        let around = HostEnvironment { project: Some(&project), cwd: &project, user_home: &home, variable: &|_| None };
        let host = Host { follows_links, ..Host::of(find_agent(agent).unwrap(), &around) };
        let settings = Settings::of(&toml::from_str(config).unwrap()).unwrap();
        let catalogue = Catalogue::collect(&places, Vec::new()).unwrap();
        let listed = catalogue.find(&SkillName::parse("pdf").unwrap()).unwrap();
        Views::new(&catalogue, &settings).effective(&host, listed)
    }
}

#[test]
fn unlinked_library_serves_only_its_hosts() {
    let layout = Layout::new();
    let codex = layout.view("codex");
    assert_eq!((codex.reads, codex.path), (Reads::Served, Some(layout.project().join(".agents/skills/pdf"))));
    let claude = layout.view("claude-code");
    assert_eq!((&claude.reads, &claude.path), (&Reads::Nothing, &None));
    assert!(claude.lacks() && !claude.differs());
}

#[test]
fn links_serve_hosts_that_follow_them() {
    let layout = Layout::new();
    let claude = layout.project().join(".claude/skills");
    layout.link(&claude, Path::new("../../.agents/skills/pdf"));
    assert_eq!(layout.view("claude-code").reads, Reads::Served);
    assert_eq!(layout.view_with("claude-code", "", false).reads, Reads::Nothing);
    fs::remove_file(claude.join("pdf")).unwrap();
    layout.link(&claude, Path::new("../../nowhere"));
    assert_eq!(layout.view("claude-code").reads, Reads::Nothing);
    fs::remove_file(claude.join("pdf")).unwrap();
    layout.put(&layout.project().join("elsewhere"), "mine");
    layout.link(&claude, Path::new("../../elsewhere/pdf"));
    let elsewhere = layout.view("claude-code");
    assert_eq!((&elsewhere.reads, &elsewhere.path), (&Reads::Other, &Some(claude.join("pdf"))));
    assert!(elsewhere.differs());
}

#[test]
fn copied_folder_is_compared_with_head() {
    let layout = Layout::new();
    let claude = layout.project().join(".claude/skills");
    for (body, reads) in [("two", Reads::Served), ("one", Reads::Older { number: 1 }), ("neither", Reads::Other)] {
        layout.put(&claude, body);
        assert_eq!(layout.view("claude-code").reads, reads, "{body:?}");
    }
    fs::write(claude.join("pdf/SKILL.md"), text("two").replace('\n', "\r\n")).unwrap();
    assert_eq!(layout.view("claude-code").reads, Reads::Served, "line ends aside");
    fs::remove_file(claude.join("pdf/SKILL.md")).unwrap();
    assert_eq!(layout.view("claude-code").reads, Reads::Nothing, "a folder without SKILL.md");
    layout.put(&claude, "one");
    assert_eq!(layout.view("opencode").reads, Reads::Older { number: 1 }, "which it reads beside the library");
    assert_eq!(layout.view("codex").reads, Reads::Served, "which reads the library alone");
}

#[test]
fn hosts_have_their_own_precedence() {
    let layout = Layout::new();
    layout.link(&layout.project().join(".claude/skills"), Path::new("../../.agents/skills/pdf"));
    layout.put(&layout.home().join(".claude/skills"), "personal");
    layout.put(&layout.home().join(".codex/skills"), "personal");
    let claude = layout.view("claude-code");
    assert_eq!((claude.reads, claude.scope), (Reads::Other, Some(Scope::User)), "the user's goes first");
    let codex = layout.view("codex");
    assert_eq!((codex.reads, codex.scope), (Reads::Served, Some(Scope::Project)), "the project's goes first");
}

#[test]
fn hidden_skill_still_read_is_detected() {
    let layout = Layout::new();
    let denied = "[[permissions]]\nskill = 'pdf'\ndecision = 'deny'\n";
    let codex = layout.view_with("codex", denied, true);
    assert_eq!(codex.sight, Visibility::Denied);
    assert!(codex.is_hidden_but_read() && !codex.differs());
    let claude = layout.view_with("claude-code", denied, true);
    assert!(!claude.is_hidden_but_read() && !claude.lacks());
    layout.put(&layout.project().join(".claude/skills"), "mine");
    assert!(!layout.view_with("claude-code", denied, true).differs(), "nothing of it was to be seen");
    let listed = layout.view_with("codex", "[agents.codex]\nskills = ['other']\n", true);
    assert_eq!(listed.sight, Visibility::NotOnList);
    let asked = layout.view_with("codex", "[[permissions]]\nskill = 'pdf'\ndecision = 'ask'\n", true);
    assert_eq!((asked.sight, asked.reads), (Visibility::Asked, Reads::Served));
}

#[test]
fn equal_copies_are_not_shadowed() {
    let layout = Layout::new();
    let places = |other: PathBuf| SkillLocations {
        home: Home::at(layout.home().join(".skillhub")).unwrap(),
        storage: "git".to_owned(),
        libraries: vec![(layout.project().join(".agents/skills"), Scope::Project)],
        folders: vec![(other, Scope::User)],
        project: None,
        inner: false,
    };
    let shadowed = |other: &Path| Catalogue::collect(&places(other.to_owned()), Vec::new()).unwrap().shadowed.len();
    let (equal, other) = (layout.home().join("equal"), layout.home().join("other"));
    layout.put(&equal, "two");
    layout.put(&other, "one");
    assert_eq!((shadowed(&equal), shadowed(&other)), (0, 1));
}
