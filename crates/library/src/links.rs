//! Links and managed copies in agents' folders that a commit creates, updates or removes ([`LinkPlan`]).

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use skill::SkillName;

/// An agent's skills folder in which a skill should appear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTarget {
    /// Absolute path with links resolved. The folder need not exist.
    pub folder: PathBuf,
    /// True to create a copy, for a host that does not follow links.
    pub copy: bool,
    /// True to replace an original: a folder or link that already has a content of the skill. Anything else with the
    /// name stays.
    pub replaces: bool,
    /// True if no agent that reads the folder may see the skill. The path is noted for later, and nothing is placed.
    pub hidden: bool,
}

impl LinkTarget {
    /// Creates a target for a link, without replacing anything.
    pub fn link(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), copy: false, replaces: false, hidden: false }
    }
}

/// A folder or link that a link replaced, kept in the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// Absolute path in an agent's folder.
    pub path: PathBuf,
    /// Path below the library's folder in the home, as `originals/<operation>/<name>`.
    pub kept: String,
}

/// Changes of one skill's links in agents' folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkPlan {
    /// Folders in which the skill should appear.
    pub targets: Vec<LinkTarget>,
    /// Paths of links and copies to remove.
    pub removed: Vec<PathBuf>,
    /// Originals to restore once their paths are free.
    pub restored: Vec<Original>,
}

/// Result of applying a [`LinkPlan`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkChanges {
    /// Links and copies of the skill, both new and existing.
    pub placed: Vec<PathBuf>,
    /// Paths at which a link would stand if agents were to see the skill there.
    pub hidden: Vec<PathBuf>,
    /// Links and copies that were removed.
    pub removed: Vec<PathBuf>,
    /// Paths that should be removed but contain something not created by skillhub.
    pub kept: Vec<PathBuf>,
    /// Paths that should be removed but do not exist.
    pub absent: Vec<PathBuf>,
    /// Originals that were replaced.
    pub originals: Vec<Original>,
    /// Paths of originals that were restored.
    pub restored: Vec<PathBuf>,
    /// Failed steps, one sentence each. `doctor` reports what they left behind.
    pub warnings: Vec<String>,
}

/// Lines of a lock file that a commit changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockLines {
    /// Absolute path of the lock file.
    pub path: PathBuf,
    /// Changed entries. A name occurs once.
    pub entries: Vec<LockLine>,
}

/// One entry of a lock file after a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockLine {
    /// Name of the entry: the skill in the file.
    pub name: String,
    /// Text of a lock file with only this entry; `None` to remove the entry.
    pub text: Option<String>,
}

/// Kind of change in an agent's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkAction {
    /// Create a link to the skill's folder.
    Link,
    /// Create or update a copy.
    Copy,
    /// Place nothing, and note the path as one that shows the skill as soon as it may.
    Hide,
    /// Update an existing copy to the new content.
    Renew,
    /// Remove the link or copy.
    Remove,
    /// Move an original back to its path.
    Restore,
}

/// One change in an agent's folder, stored in the journal so that an interrupted operation is completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkStep {
    /// Name of the skill.
    pub skill: String,
    /// Absolute path in the agent's folder.
    pub path: PathBuf,
    /// Kind of change at that path.
    pub action: LinkAction,
    /// Location of the original. For `Link` and `Copy`, an existing entry may be moved there; for `Restore`, it is
    /// moved back from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// Finds the agents' folders in which a new skill of a library is linked.
#[derive(Clone)]
pub struct Linker(Arc<FindTargets>);

/// Maps a library's resolved path and a skill of it to the folders of the agents in use that may see the skill.
type FindTargets = dyn Fn(&Path, &SkillName) -> Vec<LinkTarget> + Send + Sync;

impl Linker {
    /// Creates a linker that calls this function with a library's resolved path and a skill.
    pub fn new(find: impl Fn(&Path, &SkillName) -> Vec<LinkTarget> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Returns the folders for a skill, without the library itself.
    pub(crate) fn targets(&self, library: &Path, skill: &SkillName) -> Vec<LinkTarget> {
        (self.0)(library, skill).into_iter().filter(|target| target.folder != library).collect()
    }
}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Linker")
    }
}
