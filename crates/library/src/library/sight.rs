//! [`Seen`] and [`Found`]: a folder as it was looked at, and what that says of its skill.

use skill::{SkillName, SkillPath};

use super::{
    folder_edit::FolderEdit,
    remembered::Known,
    summary::{Front, Standing},
};
use crate::folder::{Content, Signature};

/// What was seen of one folder.
#[derive(Default)]
pub(super) struct Seen {
    /// It has the signature that is known.
    pub is_as_known: bool,
    /// Its new one.
    pub signature: Option<Signature>,
    pub content: Option<Content>,
}

impl Seen {
    /// Whether the folder holds what is known.
    pub fn is_same(&self, known: &Known) -> bool {
        match &self.content {
            Some(content) => known.is_of(&content.digest.to_string()),
            None => self.is_as_known,
        }
    }
}

/// A skill, what is known of it, and what was seen of its folder.
pub(super) type Looked = ((SkillName, Box<Known>), Seen);

/// What was found out of a skill.
pub(super) struct Found {
    pub known: Box<Known>,
    pub standing: Standing,
    /// The content of an edited folder, and what it says of the skill where readers get it.
    pub edit: Option<(FolderEdit, Option<Front>)>,
    pub paths: Vec<SkillPath>,
    /// As in [`Glance::undecided`](super::Glance::undecided).
    pub undecided: usize,
    /// Whether the same content is the same by the same rules: not where a folder without history is
    /// blocked, or a waiver let it pass, which ends.
    pub lasts: bool,
}

impl Found {
    pub fn new(known: Box<Known>, standing: Standing) -> Self {
        Self { known, standing, edit: None, paths: Vec::new(), undecided: 0, lasts: true }
    }

    /// The same as a person's decision leaves it.
    pub fn barred(self, bar: Option<Standing>) -> Self {
        match bar {
            Some(standing) => Self { lasts: self.lasts && self.known.head.is_some(), standing, ..self },
            None => self,
        }
    }
}
