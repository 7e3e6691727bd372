//! [`Host`]: the folders in which a host looks for skills, modelled on measurements of the hosts, and the skills it
//! finds.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::support::{Snapshot, snapshot};

/// Discovery rules of one host.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    pub id: &'static str,
    /// Project folders, relative to the project's root.
    project: &'static [&'static str],
    /// User folders, relative to the home.
    user: &'static [&'static str],
    /// True if the first folder with the name wins, the user's before the project's. Otherwise any of them may win.
    takes_first: bool,
}

/// Claude Code 2.1, Codex 0.169 and OpenCode 1.18.
const HOSTS: [Host; 3] = [
    Host { id: "claude-code", project: &[".claude/skills"], user: &[".claude/skills"], takes_first: true },
    Host {
        id: "codex",
        project: &[".agents/skills", ".codex/skills"],
        user: &[".agents/skills", ".codex/skills"],
        takes_first: false,
    },
    Host {
        id: "opencode",
        project: &[".opencode/skill", ".opencode/skills", ".claude/skills", ".agents/skills"],
        user: &[
            ".config/opencode/skill", ".config/opencode/skills", ".opencode/skill", ".opencode/skills",
            ".claude/skills", ".agents/skills",
        ],
        takes_first: false,
    },
];

/// A skill as a host may send it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// The skill's folder with links resolved.
    pub folder: PathBuf,
    /// Content of its `SKILL.md`.
    pub text: String,
}

impl Host {
    pub fn of(id: &str) -> Self {
        *HOSTS.iter().find(|host| host.id == id).unwrap()
    }

    /// Returns the folders in which it looks, by precedence. The current folder is the project's root.
    fn folders(&self, project: Option<&Path>, home: &Path) -> Vec<PathBuf> {
        let user = self.user.iter().map(|folder| home.join(folder));
        let project = project.into_iter().flat_map(|root| self.project.iter().map(move |folder| root.join(folder)));
        user.chain(project).collect()
    }

    /// Returns all candidates for a skill. Each folder occurs once, regardless of the links to it.
    pub fn sends(&self, name: &str, project: Option<&Path>, home: &Path) -> BTreeSet<Sent> {
        let places = self.folders(project, home).into_iter().map(|folder| folder.join(name));
        let found = places.filter_map(|place| {
            let text = fs::read(place.join("SKILL.md")).ok()?;
            let folder = place.canonicalize().unwrap();
            Some(Sent { folder, text: String::from_utf8_lossy(&text).into_owned() })
        });
        if self.takes_first { found.take(1).collect() } else { found.collect() }
    }
}

/// Returns a skill's files, without folders and files that do not belong to it.
pub fn files(folder: &Path) -> Snapshot {
    snapshot(folder)
}
