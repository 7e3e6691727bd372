//! [`AgentFolders`]: the folders in which the agents of a project, or of a user, look for skills.

use std::path::{Path, PathBuf};

use library::{Agent, LinkTarget, agents, find_agent};
use skill::failure::{Fails, Failure, FailureKind};
use strsim::levenshtein;
use thiserror::Error;

/// A folder in which one or more agents look for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFolder {
    /// Ids of the agents that read it.
    pub ids: Vec<&'static str>,
    /// Absolute path with links resolved. The folder need not exist.
    pub path: PathBuf,
    /// True if files of these agents exist already, so that the agents count as in use.
    pub in_use: bool,
    /// True if skills are copied into it, because its hosts do not follow links.
    pub copy: bool,
}

impl AgentFolder {
    /// Returns the folder as a link target. `replaces` is true if links replace originals.
    pub fn target(&self, replaces: bool) -> LinkTarget {
        LinkTarget { copy: self.copy, replaces, ..LinkTarget::link(&self.path) }
    }
}

/// Skill folders of all agents, for one project or one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFolders {
    folders: Vec<AgentFolder>,
    outside: Vec<AgentFolder>,
    /// Every folder that an agent's host reads, with the agent's id.
    read: Vec<(&'static str, PathBuf)>,
    detects: bool,
    /// Ids of the agents that this machine has.
    on_machine: Vec<&'static str>,
}

/// Reasons why skills cannot be linked for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AgentError {
    /// No agent has this id.
    #[error("unknown agent {id:?}")]
    Unknown {
        /// Id as the user gave it.
        id: String,
        /// Most similar known id, if any is close enough.
        nearest: Option<&'static str>,
    },
    /// The agent has no skills folder for users.
    #[error("the agent {0} has no skills folder for the user, only for projects")]
    NoFolder(String),
    /// A link in the project leads the agent's folder out of the project. It may have come with a clone.
    #[error("the skills folder of the agent {id} is a link to a folder outside the project: {}", path.display())]
    Outside {
        /// Id of the agent.
        id: String,
        /// Target of the link, resolved.
        path: PathBuf,
    },
}

impl Fails for AgentError {
    fn failure(&self) -> Failure {
        let failure = Failure::new(FailureKind::Usage, "unknown_agent");
        match self {
            Self::Unknown { nearest: Some(nearest), .. } => {
                failure.hint(format!("did you mean {nearest}? `skillhub list --agents` lists all agents"))
            }
            Self::Unknown { .. } => failure.hint("list all agents: skillhub list --agents"),
            Self::NoFolder(_) => failure.hint("add --project to install into the current project"),
            Self::Outside { .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint("replace the link with a folder, or add --global to install for the user"),
        }
    }
}

impl AgentFolders {
    /// Returns the folders in a project. An agent is in use if its own hidden folder exists, such as `.claude` for
    /// `.claude/skills`. Folders that a link leads out of the project are excluded.
    pub fn of_project(root: &Path) -> Self {
        let folders = agents().iter().map(|agent| {
            let first = agent.project_dir.split('/').next().unwrap_or_default();
            let in_use = first.starts_with('.') && is_dir(&root.join(first));
            (agent, agent.project_folder(root), in_use)
        });
        let read = agents().iter().flat_map(|agent| agent.project_folders(root).map(|path| (agent.id, path)));
        let all = Self::collect(folders, read);
        let Ok(root) = library::resolve(root) else { return all };
        let (folders, outside) = all.folders.into_iter().partition(|folder| folder.path.starts_with(&root));
        let read = all.read.into_iter().filter(|(_, path)| path.starts_with(&root)).collect();
        Self { folders, outside, read, ..all }
    }

    /// Returns the folders of a user. `variable` looks up the environment. An agent is in use if the parent of its
    /// skills folder exists and is not the user's home.
    pub fn of_user(home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let folders = agents().iter().filter_map(|agent| {
            let path = agent.user_folder(home, &variable)?;
            let in_use = path.parent().is_some_and(|parent| parent != home && is_dir(parent));
            Some((agent, path, in_use))
        });
        let user_folders = |agent: &'static Agent| agent.user_folders(home, &variable).collect::<Vec<_>>();
        let read = agents().iter().flat_map(|agent| user_folders(agent).into_iter().map(|path| (agent.id, path)));
        Self::collect(folders, read)
    }

    /// Marks the agents that the user's configuration names as in use, besides the detected ones.
    #[must_use]
    pub fn with_in_use(mut self, ids: &[String]) -> Self {
        for folder in &mut self.folders {
            folder.in_use |= folder.ids.iter().any(|id| ids.iter().any(|in_use| in_use == id));
        }
        self
    }

    /// Notes the agents that this machine has, for which a lock file may ask.
    #[must_use]
    pub fn with_on_machine(self, on_machine: Vec<&'static str>) -> Self {
        Self { on_machine, ..self }
    }

    /// Disables detection, so that only agents named explicitly get links.
    #[must_use]
    pub fn without_detection(self) -> Self {
        Self { detects: false, ..self }
    }

    /// Returns the folders that skillhub can write links to.
    pub fn all(&self) -> &[AgentFolder] {
        &self.folders
    }

    /// Returns all folders, followed by those that hosts read but skillhub does not write, each with the agents that
    /// read it.
    pub fn all_read(&self) -> Vec<AgentFolder> {
        let mut all = self.folders.clone();
        for (id, path) in &self.read {
            match all.iter_mut().skip(self.folders.len()).find(|folder| folder.path == *path) {
                Some(known) => known.ids.push(id),
                None if self.folders.iter().any(|folder| folder.path == *path) => {}
                None => all.push(AgentFolder { ids: vec![id], path: path.clone(), in_use: false, copy: false }),
            }
        }
        all
    }

    /// Returns the folders of the named agents or, if none is named, of those in use. Agents whose hosts read the
    /// library directly need no links and are left out.
    ///
    /// # Errors
    /// [`AgentError`]
    pub fn chosen(&self, ids: &[String], library: &Path) -> Result<Vec<AgentFolder>, AgentError> {
        for id in ids {
            self.check(id)?;
        }
        let is_named = |id: &&str| ids.is_empty() || ids.iter().any(|named| named == id);
        let needs_link = |id: &&str| is_named(id) && !self.reads(id, library);
        let is_wanted = |folder: &&AgentFolder| {
            (!ids.is_empty() || self.detects && folder.in_use) && folder.ids.iter().any(needs_link)
        };
        let chosen = self.folders.iter().filter(is_wanted).filter(|folder| folder.path != library);
        Ok(chosen.map(|folder| self.for_agents(folder, is_named)).collect())
    }

    /// Returns the folders of those agents that this machine has, like [`Self::chosen`].
    pub(crate) fn on_machine(&self, ids: &[String], library: &Path) -> Vec<AgentFolder> {
        let has = |id: &&String| self.detects && self.on_machine.iter().any(|known| known == id);
        let chosen = ids.iter().filter(has).filter_map(|id| self.chosen(std::slice::from_ref(id), library).ok());
        chosen.flatten().collect()
    }

    /// Returns whether an agent's host reads a folder.
    pub fn reads(&self, id: &str, folder: &Path) -> bool {
        self.read.iter().any(|(reader, path)| *reader == id && path == folder)
    }

    /// Returns a folder configured for these agents: with copies if the host of one of them does not follow links.
    fn for_agents(&self, folder: &AgentFolder, is_meant: impl Fn(&&str) -> bool) -> AgentFolder {
        let mut meant = folder.ids.iter().filter(|id| is_meant(id)).filter_map(|id| find_agent(id)).peekable();
        let copy = if meant.peek().is_some() { meant.any(|agent| !agent.follows_links) } else { folder.copy };
        AgentFolder { copy, ..folder.clone() }
    }

    fn check(&self, id: &str) -> Result<(), AgentError> {
        if find_agent(id).is_none() {
            let nearest = agents().iter().map(|agent| (levenshtein(id, agent.id), agent.id)).min();
            let nearest = nearest.filter(|(distance, near)| *distance <= near.len() / 2 || near.contains(id));
            let by_part = agents().iter().map(|agent| agent.id).find(|known| known.starts_with(id));
            let nearest = by_part.or(nearest.map(|(_, near)| near));
            return Err(AgentError::Unknown { id: id.to_owned(), nearest });
        }
        let has = |folder: &&AgentFolder| folder.ids.contains(&id);
        match (self.folders.iter().find(has), self.outside.iter().find(has)) {
            (Some(_), _) => Ok(()),
            (None, Some(led)) => Err(AgentError::Outside { id: id.to_owned(), path: led.path.clone() }),
            (None, None) => Err(AgentError::NoFolder(id.to_owned())),
        }
    }

    fn collect(
        found: impl Iterator<Item = (&'static Agent, PathBuf, bool)>,
        read: impl Iterator<Item = (&'static str, PathBuf)>,
    ) -> Self {
        let mut folders: Vec<AgentFolder> = Vec::new();
        for (agent, path, in_use) in found {
            let Ok(path) = library::resolve(&path) else { continue };
            let copy = !agent.follows_links;
            match folders.iter_mut().find(|folder| folder.path == path) {
                Some(same) => {
                    same.ids.push(agent.id);
                    same.in_use |= in_use;
                    same.copy &= copy;
                }
                None => folders.push(AgentFolder { ids: vec![agent.id], path, in_use, copy }),
            }
        }
        let read = read.filter_map(|(id, path)| Some((id, library::resolve(&path).ok()?))).collect();
        Self { folders, outside: Vec::new(), read, detects: true, on_machine: Vec::new() }
    }
}

fn is_dir(path: &Path) -> bool {
    cap_std::fs::Dir::open_ambient_dir(path, cap_std::ambient_authority()).is_ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use super::*;

    #[test]
    fn agents_in_use_are_detected() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in [".claude", "data", "skills", ".agents/skills"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let folders = AgentFolders::of_project(&root);
        let library = root.join(".agents/skills");
        let chosen = folders.chosen(&[], &library).unwrap();
        assert_eq!(chosen.iter().map(|f| f.path.clone()).collect::<Vec<_>>(), [root.join(".claude/skills")]);
        assert!(chosen[0].ids.contains(&"claude-code"));
        assert!(folders.clone().without_detection().chosen(&[], &library).unwrap().is_empty());
        let named = folders.chosen(&["bob".to_owned()], &library).unwrap();
        assert_eq!(named[0].path, root.join(".bob/skills"));
        for reader in ["cline", "roo"] {
            let chosen = folders.chosen(&[reader.to_owned()], &library).unwrap();
            assert!(chosen.is_empty(), "{reader} reads the library itself");
        }
    }

    #[test]
    fn all_read_includes_unlinked_folders() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let folders = AgentFolders::of_project(&root).all_read();
        let of = |below: &str| folders.iter().filter(|folder| folder.path == root.join(below)).collect::<Vec<_>>();
        assert_eq!(of(".opencode/skills").len(), 1);
        assert!(of(".opencode/skills")[0].ids.contains(&"opencode"));
        assert_eq!(of(".claude/skills").len(), 1);
        assert_eq!(of(".claude/skills")[0].ids, ["claude-code"], "the agents for which skills are placed there");
    }

    /// Such a link may arrive with a clone.
    #[cfg(unix)]
    #[test]
    fn link_out_of_project_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let (root, outside) = (temp.path().join("project"), temp.path().join("outside"));
        for folder in [root.join(".claude"), root.join(".roo"), root.join(".agents/skills"), outside.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::os::unix::fs::symlink(&outside, root.join(".claude/skills")).unwrap();
        std::os::unix::fs::symlink("../.agents/skills", root.join(".roo/skills")).unwrap();
        let folders = AgentFolders::of_project(&root);
        let library = root.join(".agents/skills").canonicalize().unwrap();
        assert_eq!(folders.chosen(&[], &library).unwrap(), []);
        assert!(folders.chosen(&["roo".to_owned()], &library).unwrap().is_empty(), "inside a link may lead anywhere");
        let error = folders.chosen(&["claude-code".to_owned()], &library).unwrap_err();
        assert!(matches!(error, AgentError::Outside { .. }), "{error}");
        assert_eq!(error.failure().kind, FailureKind::Refused);
    }

    #[test]
    fn unknown_agent_suggests_the_nearest() {
        let temp = tempfile::tempdir().unwrap();
        let folders = AgentFolders::of_user(temp.path(), |_| None);
        for (id, near) in [("claude", Some("claude-code")), ("claude-cod", Some("claude-code")), ("zzzzzzzzzz", None)] {
            let error = folders.chosen(&[id.to_owned()], temp.path()).unwrap_err();
            assert_eq!(error, AgentError::Unknown { id: id.to_owned(), nearest: near });
            assert_eq!(error.failure().kind, FailureKind::Usage);
        }
    }
}
