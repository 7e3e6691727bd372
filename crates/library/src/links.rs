//! [`LinkPlan`]: the links and managed copies in agents' folders that a commit places, renews and removes.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use skill::SkillName;

/// An agent's skills folder that is to show a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTarget {
    /// The folder, absolute, links resolved; it need not exist.
    pub folder: PathBuf,
    /// Whether it gets a copy: for a host that does not follow links.
    pub copy: bool,
    /// Whether a folder or link that shows a content of the skill is moved aside for the new one. Anything else
    /// that has the name stays.
    pub replaces: bool,
}

impl LinkTarget {
    /// A folder that gets a link where its place is free.
    #[must_use]
    pub fn link(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), copy: false, replaces: false }
    }
}

/// An original that was moved aside for a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// Its place in an agent's folder, absolute.
    pub path: PathBuf,
    /// Its place below the library's folder in the home, as `originals/<operation>/<name>`.
    pub kept: String,
}

/// Changes of one skill's links in agents' folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkPlan {
    /// Folders that are to show the skill.
    pub targets: Vec<LinkTarget>,
    /// Links and copies that go.
    pub removed: Vec<PathBuf>,
    /// Originals that come back to their places, once these are free.
    pub restored: Vec<Original>,
}

/// The outcome of a [`LinkPlan`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkChanges {
    /// Links and copies that show the skill, new ones and those that stood there before.
    pub placed: Vec<PathBuf>,
    /// Links and copies that were removed.
    pub removed: Vec<PathBuf>,
    /// Places that were to be removed and hold something else than a link or copy of ours.
    pub kept: Vec<PathBuf>,
    /// Places that a link was to leave and where nothing was.
    pub absent: Vec<PathBuf>,
    /// Originals that were moved aside.
    pub originals: Vec<Original>,
    /// Originals that are in their places again.
    pub restored: Vec<PathBuf>,
    /// Steps that failed, one sentence each; `doctor` names what they leave.
    pub warnings: Vec<String>,
}

/// Lines of a lock file that a commit changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockLines {
    /// The lock file, absolute.
    pub path: PathBuf,
    /// The entries, by the name of the skill in the file.
    pub entries: Vec<LockLine>,
}

/// One entry of a lock file after a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockLine {
    /// The name of the entry.
    pub name: String,
    /// A lock file with this entry alone; `None` where the entry goes.
    pub text: Option<String>,
}

/// A kind of change in an agent's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkAction {
    /// A link is placed.
    Link,
    /// A copy is placed, or renewed.
    Copy,
    /// A copy that stands there gets the new content.
    Renew,
    /// The link or copy goes.
    Remove,
    /// An original comes back.
    Restore,
}

/// One change in an agent's folder. The journal holds it, so that an interrupted operation is completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkStep {
    /// The skill.
    pub skill: String,
    /// The place in the agent's folder, absolute.
    pub path: PathBuf,
    /// The change.
    pub action: LinkAction,
    /// Where the original is kept: of `Link` and `Copy` one that may be moved aside, of `Restore` the one that
    /// comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// Finds the agents' folders in which a new skill of a library is linked.
#[derive(Clone)]
pub struct Linker(Arc<FindTargets>);

/// Maps a library's resolved path and a skill of it to the folders of the agents in use that may see the skill.
type FindTargets = dyn Fn(&Path, &SkillName) -> Vec<LinkTarget> + Send + Sync;

impl Linker {
    /// A linker that calls this function with a library's resolved path and a skill.
    #[must_use]
    pub fn new(find: impl Fn(&Path, &SkillName) -> Vec<LinkTarget> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// The folders for a skill, without the library itself.
    pub(crate) fn targets(&self, library: &Path, skill: &SkillName) -> Vec<LinkTarget> {
        (self.0)(library, skill).into_iter().filter(|target| target.folder != library).collect()
    }
}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Linker")
    }
}
