//! [`Host`]: the program that runs an agent, and the folders in which it looks for skills.

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::{Agent, Scope, agents};

/// Folder shared by many agents. It does not indicate which of them are in use.
const SHARED_FOLDER: &str = ".agents";

/// Agents whose host prefers the user's skill over the project's skill of the same name, according to its
/// documentation. All others prefer the project's.
const USER_FIRST: [&str; 1] = ["claude-code"];

/// Location in which a host is started. It determines the host's folders.
#[derive(Clone, Copy)]
pub struct HostEnvironment<'a> {
    /// Root of the project. `None` outside projects.
    pub project: Option<&'a Path>,
    /// Current folder, in the project or elsewhere.
    pub cwd: &'a Path,
    /// Home folder of the user.
    pub user_home: &'a Path,
    /// Lookup of environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

/// Host started in a location, with the folders that it reads there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Id of the agent, as accepted by `--agent`.
    pub id: &'static str,
    /// Display name of the agent.
    pub name: &'static str,
    pub(super) follows_links: bool,
    pub(super) levels: Vec<Level>,
}

/// Folders without a documented precedence among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    pub scope: Scope,
    pub folders: Vec<PathBuf>,
}

impl Host {
    /// Returns the host of an agent. In a project, it reads the folders of every level from the current folder up to
    /// the root, the nearest first. It always reads those of the user.
    pub fn of(agent: &'static Agent, around: &HostEnvironment<'_>) -> Self {
        let of_user = Level {
            scope: Scope::User,
            folders: agent.user_folders(around.user_home, |name| (around.variable)(name)).collect(),
        };
        let roots = around.project.into_iter().flat_map(|root| levels(root, around.cwd));
        let in_project =
            roots.map(|at| Level { scope: Scope::Project, folders: agent.project_folders(at).collect::<Vec<_>>() });
        let mut levels: Vec<Level> = in_project.chain([of_user]).collect();
        if USER_FIRST.contains(&agent.id) {
            levels.rotate_right(1);
        }
        Self { id: agent.id, name: agent.name, follows_links: agent.follows_links, levels }
    }

    /// Yields the folders that it reads, by precedence.
    pub fn folders(&self) -> impl Iterator<Item = (&Path, Scope)> {
        self.levels.iter().flat_map(|level| level.folders.iter().map(|folder| (folder.as_path(), level.scope)))
    }

    /// Returns whether a path is in one of the agent's own folders in which skills are placed for it: the one at the
    /// project's root, or that of the user.
    pub fn owns(&self, path: &Path) -> bool {
        let root = self.levels.iter().rfind(|level| level.scope == Scope::Project);
        let user = self.levels.iter().find(|level| level.scope == Scope::User);
        root.into_iter().chain(user).any(|level| level.folders.first().map(PathBuf::as_path) == path.parent())
    }

    /// Returns the hosts with their own folder in the project, in the order of the agents' table.
    pub fn of_project(around: &HostEnvironment<'_>) -> Vec<Self> {
        let Some(root) = around.project else { return Vec::new() };
        let has_own = |agent: &&Agent| own_folders(agent).any(|folder| is_dir(&root.join(folder)));
        agents().iter().filter(has_own).map(|agent| Self::of(agent, around)).collect()
    }

    /// Returns the hosts with their own folder in the user's home.
    pub fn of_user(around: &HostEnvironment<'_>) -> Vec<Self> {
        let has_own = |agent: &&Agent| {
            let folder = agent.user_folder(around.user_home, |name| (around.variable)(name));
            let parent = folder.as_deref().and_then(Path::parent);
            parent
                .is_some_and(|parent| parent != around.user_home && !parent.ends_with(SHARED_FOLDER) && is_dir(parent))
        };
        agents().iter().filter(has_own).map(|agent| Self::of(agent, around)).collect()
    }
}

/// Returns the current folder and its ancestors up to the root, or only the root if the folder is outside it.
fn levels<'a>(root: &'a Path, cwd: &'a Path) -> Vec<&'a Path> {
    let levels: Vec<&Path> = cwd.ancestors().take_while(|level| level.starts_with(root)).collect();
    if levels.is_empty() { vec![root] } else { levels }
}

/// Yields the hidden folders of a project that indicate that an agent is in use: that of its skills folder, and others
/// that it reads and that belong to no other agent.
fn own_folders(agent: &Agent) -> impl Iterator<Item = PathBuf> {
    let first = |folder: &Path| folder.components().next().map(|part| PathBuf::from(part.as_os_str()));
    let is_hidden = |folder: &PathBuf| folder.to_string_lossy().starts_with('.') && *folder != Path::new(SHARED_FOLDER);
    let own = first(Path::new(agent.project_dir));
    let is_of_another = move |folder: &PathBuf| {
        agents().iter().any(|other| first(Path::new(other.project_dir)).as_ref() == Some(folder))
    };
    let others = agent.project_folders(Path::new("")).skip(1).filter_map(move |folder| first(&folder));
    own.into_iter().chain(others.filter(move |folder| !is_of_another(folder))).filter(is_hidden)
}

fn is_dir(path: &Path) -> bool {
    Dir::open_ambient_dir(path, ambient_authority()).is_ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use library::find_agent;

    use super::*;

    fn ids(hosts: &[Host]) -> Vec<&'static str> {
        hosts.iter().map(|host| host.id).collect()
    }

    #[test]
    fn folders_are_searched_up_to_root() {
        let around = HostEnvironment {
            project: Some(Path::new("/p")),
            cwd: Path::new("/p/a"),
            user_home: Path::new("/home/ann"),
            variable: &|_| None,
        };
        let folders = |id: &str| -> Vec<PathBuf> {
            let host = Host::of(find_agent(id).unwrap(), &around);
            host.folders().map(|(folder, _)| folder.to_owned()).collect()
        };
        let at = |folder: &str| PathBuf::from(folder);
        let claude = folders("claude-code");
        assert_eq!(claude, [at("/home/ann/.claude/skills"), at("/p/a/.claude/skills"), at("/p/.claude/skills")]);
        let codex = folders("codex");
        let level = |folder: &str| codex.iter().position(|known| *known == at(folder)).unwrap();
        assert!(level("/p/a/.agents/skills") < level("/p/.agents/skills"), "the nearest first");
        assert!(level("/p/.agents/skills") < level("/home/ann/.agents/skills"), "the project first");
        assert!(folders("opencode").contains(&at("/p/.claude/skills")));
        let claude = Host::of(find_agent("claude-code").unwrap(), &around);
        let owned =
            ["/p/.claude/skills/x", "/home/ann/.claude/skills/x", "/p/a/.claude/skills/x", "/p/.agents/skills/x"];
        assert_eq!(owned.map(|path| claude.owns(Path::new(path))), [true, true, false, false]);
    }

    #[test]
    fn shared_folders_show_no_agent() {
        let temp = tempfile::tempdir().unwrap();
        let (project, user_home) = (temp.path().join("project"), temp.path().join("home"));
        for folder in [".agents/skills", ".opencode", "skills"] {
            std::fs::create_dir_all(project.join(folder)).unwrap();
        }
        for folder in [".agents/skills", ".codex"] {
            std::fs::create_dir_all(user_home.join(folder)).unwrap();
        }
        let around =
            HostEnvironment { project: Some(&project), cwd: &project, user_home: &user_home, variable: &|_| None };
        assert_eq!(ids(&Host::of_project(&around)), ["opencode"]);
        assert_eq!(ids(&Host::of_user(&around)), ["codex"]);
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        assert_eq!(ids(&Host::of_project(&around)), ["claude-code", "opencode"]);
    }
}
