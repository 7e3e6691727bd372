//! Table of supported agents and the folders in which each looks for skills.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Agents as tab-separated values, kept as data because they change often.
///
/// The columns are: id, name, skills folder in a project, skills folder of the user, `no` for a host that does not
/// follow links, the other folders that the host reads, and the page of the host's own documentation with which the row
/// was compared. The other folders are separated by spaces; `~/` marks a folder of the user.
const TABLE: &str = include_str!("../data/agents.tsv");

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Value of `--agent` that selects it.
    pub id: &'static str,
    /// Display name, such as "Claude Code".
    pub name: &'static str,
    /// Its skills folder, relative to a project's root.
    pub project_dir: &'static str,
    /// Its skills folder, relative to the user's home. `None` if the agent has no such folder.
    home_dir: Option<&'static str>,
    /// Environment variable that overrides the first part of `home_dir`.
    home_variable: Option<&'static str>,
    /// True if its host reads a skill through a symbolic link. Other hosts get a managed copy.
    pub follows_links: bool,
    /// Other folders that its host reads. `~/` marks folders of the user.
    also_reads: Vec<&'static str>,
}

impl Agent {
    /// Returns its skills folder in a project.
    pub fn project_folder(&self, root: &Path) -> PathBuf {
        root.join(self.project_dir)
    }

    /// Returns its skills folder for the user whose home is `home`. `variable` looks up the environment.
    pub fn user_folder(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let below_home = self.home_dir?;
        match self.home_variable.and_then(variable) {
            Some(moved) => Some(moved.join(below_home.rsplit('/').next()?)),
            None => Some(home.join(below_home)),
        }
    }

    /// Returns every folder in a project that its host reads, its own first.
    pub fn project_folders(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        let others = self.also_reads.iter().filter(|folder| !folder.starts_with("~/"));
        std::iter::once(self.project_folder(root)).chain(others.map(|folder| root.join(folder)))
    }

    /// Returns every folder of the user that its host reads, its own first. `variable` looks up the environment.
    pub fn user_folders(
        &self,
        home: &Path,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> impl Iterator<Item = PathBuf> {
        let others = self.also_reads.iter().filter_map(|folder| folder.strip_prefix("~/"));
        self.user_folder(home, variable).into_iter().chain(others.map(|folder| home.join(folder)))
    }
}

/// Returns all agents, in the order of the table.
pub fn agents() -> &'static [Agent] {
    static AGENTS: LazyLock<Vec<Agent>> = LazyLock::new(|| TABLE.lines().skip(1).filter_map(parse).collect());
    &AGENTS
}

/// Finds an agent by its id.
pub fn find_agent(id: &str) -> Option<&'static Agent> {
    agents().iter().find(|agent| agent.id == id)
}

fn parse(line: &'static str) -> Option<Agent> {
    let mut columns = line.split('\t');
    let (id, name, project_dir) = (columns.next()?, columns.next()?, columns.next()?);
    let global = columns.next().unwrap_or_default();
    let (folder, note) = global.split_once(" ($").map_or((global, None), |(f, note)| (f, Some(note)));
    let home_variable = note.map(|note| note.trim_end_matches(')'));
    let follows_links = columns.next() != Some("no");
    let also_reads = columns.next().unwrap_or_default().split_ascii_whitespace().collect();
    let home_dir = folder.trim().strip_prefix("~/");
    Some(Agent { id, name, project_dir, home_dir, home_variable, follows_links, also_reads })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_row_has_safe_folders() {
        assert_eq!(agents().len(), TABLE.lines().count() - 1);
        for agent in agents() {
            assert!(!agent.id.is_empty() && !agent.project_dir.is_empty(), "{agent:?}");
            assert!(!agent.project_dir.starts_with('/') && !agent.project_dir.contains(".."), "{agent:?}");
            assert!(agent.also_reads.iter().all(|f| !f.starts_with('/') && !f.contains("..")), "{agent:?}");
            assert!(
                agent.home_variable.is_none_or(|v| v.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')),
                "{agent:?}"
            );
        }
    }

    /// A host that reads the library directly needs no links.
    #[test]
    fn checked_rows_name_their_source() {
        let sources: Vec<(&str, &str)> =
            TABLE.lines().skip(1).filter_map(|row| Some((row.split('\t').next()?, row.split('\t').nth(6)?))).collect();
        assert!(
            sources.len() >= 7 && sources.iter().all(|(_, page)| page.contains('/') && !page.contains(' ')),
            "{sources:?}"
        );
        for id in ["augment", "rovodev", "goose", "github-copilot", "opencode"] {
            let agent = find_agent(id).unwrap();
            assert!(sources.iter().any(|(known, _)| *known == id), "{id}");
            assert!(agent.project_folders(Path::new("/p")).any(|folder| folder.ends_with(".agents/skills")), "{id}");
            let home = Path::new("/home/ann");
            assert!(agent.user_folders(home, |_| None).any(|folder| folder == home.join(".agents/skills")), "{id}");
        }
    }

    #[test]
    fn own_folder_is_read_first() {
        let opencode = find_agent("opencode").unwrap();
        let root = Path::new("/p");
        let read: Vec<_> = opencode.project_folders(root).collect();
        assert_eq!(read[0], root.join(opencode.project_dir));
        assert!(read.contains(&root.join(".claude/skills")) && read.contains(&root.join(".agents/skills")));
        let home = Path::new("/home/ann");
        assert!(opencode.user_folders(home, |_| None).any(|folder| folder == home.join(".claude/skills")));
    }

    /// Claude Code, Codex and OpenCode were tested. The other values are reports of users.
    #[test]
    fn hosts_that_ignore_links_are_marked() {
        for id in ["claude-code", "codex", "opencode"] {
            assert!(find_agent(id).unwrap().follows_links, "{id}");
        }
        for id in ["kiro-cli", "antigravity", "trae"] {
            assert!(!find_agent(id).unwrap().follows_links, "{id}");
        }
    }

    #[test]
    fn folder_paths_are_plain_and_unique() {
        let (root, home) = (Path::new("/p"), Path::new("/home/ann"));
        for agent in agents() {
            let all: Vec<_> = agent.project_folders(root).chain(agent.user_folders(home, |_| None)).collect();
            let plain = |folder: &PathBuf| !folder.to_string_lossy().contains([' ', '(', '$']);
            assert!(all.iter().all(plain), "{all:?}");
            assert!(all.iter().enumerate().all(|(at, folder)| !all[..at].contains(folder)), "twice: {all:?}");
        }
    }

    #[test]
    fn environment_variable_moves_user_folder() {
        let claude = find_agent("claude-code").unwrap();
        let home = Path::new("/home/ann");
        assert_eq!(claude.user_folder(home, |_| None), Some(home.join(".claude/skills")));
        let moved = claude.user_folder(home, |name| (name == "CLAUDE_CONFIG_DIR").then(|| PathBuf::from("/c")));
        assert_eq!(moved, Some(PathBuf::from("/c/skills")));
    }
}
