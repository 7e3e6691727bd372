//! The table of agents and the folders where each looks for skills.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// The table: id, name, folder in a project, folder of the user, separated by tabs. It changes
/// often, so it is data.
const TABLE: &str = include_str!("../data/agents.tsv");

/// One agent of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What `--agent` takes.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// Its skills folder, relative to a project's root.
    pub project_dir: &'static str,
    /// Its skills folder, relative to the user's home; `None` when it has none.
    home_dir: Option<&'static str>,
    /// An environment variable that names another folder in place of the first part of `home_dir`.
    home_variable: Option<&'static str>,
}

impl Agent {
    /// Its skills folder in a project.
    #[must_use]
    pub fn project_folder(&self, root: &Path) -> PathBuf {
        root.join(self.project_dir)
    }

    /// Its skills folder for the user whose home is `home`; `variable` looks up the environment.
    #[must_use]
    pub fn user_folder(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let below_home = self.home_dir?;
        match self.home_variable.and_then(variable) {
            Some(moved) => Some(moved.join(below_home.rsplit('/').next()?)),
            None => Some(home.join(below_home)),
        }
    }
}

/// All agents, in the order of the table.
#[must_use]
pub fn agents() -> &'static [Agent] {
    static AGENTS: LazyLock<Vec<Agent>> = LazyLock::new(|| TABLE.lines().skip(1).filter_map(parse).collect());
    &AGENTS
}

/// The agent of an id.
#[must_use]
pub fn find_agent(id: &str) -> Option<&'static Agent> {
    agents().iter().find(|agent| agent.id == id)
}

fn parse(line: &'static str) -> Option<Agent> {
    let mut columns = line.split('\t');
    let (id, name, project_dir) = (columns.next()?, columns.next()?, columns.next()?);
    let global = columns.next().unwrap_or_default();
    let (folder, note) = global.split_once(" ($").map_or((global, None), |(f, note)| (f, Some(note)));
    let home_variable = note.map(|note| note.trim_end_matches(')'));
    Some(Agent { id, name, project_dir, home_dir: folder.trim().strip_prefix("~/"), home_variable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_an_agent_with_safe_folders() {
        assert_eq!(agents().len(), TABLE.lines().count() - 1);
        for agent in agents() {
            assert!(!agent.id.is_empty() && !agent.project_dir.is_empty(), "{agent:?}");
            assert!(!agent.project_dir.starts_with('/') && !agent.project_dir.contains(".."), "{agent:?}");
            assert!(
                agent.home_variable.is_none_or(|v| v.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')),
                "{agent:?}"
            );
        }
    }

    #[test]
    fn a_variable_moves_the_users_folder() {
        let claude = find_agent("claude-code").unwrap();
        let home = Path::new("/home/ann");
        assert_eq!(claude.user_folder(home, |_| None), Some(home.join(".claude/skills")));
        let moved = claude.user_folder(home, |name| (name == "CLAUDE_CONFIG_DIR").then(|| PathBuf::from("/c")));
        assert_eq!(moved, Some(PathBuf::from("/c/skills")));
    }
}
