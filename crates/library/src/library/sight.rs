//! Observed state of a folder ([`Seen`]), and the summary derived from it ([`Found`]).

use skill::{SkillName, SkillPath};

use super::{
    folder_edit::FolderEdit,
    remembered::Known,
    summary::{Front, Standing},
};
use crate::folder::{Content, Signature};

/// Observed state of one folder.
#[derive(Default)]
pub(super) struct Seen {
    /// True if its signature matches the cached one.
    pub is_as_known: bool,
    /// New signature, if it does not match and the folder is old enough.
    pub signature: Option<Signature>,
    pub content: Option<Content>,
}

impl Seen {
    /// Returns whether the folder matches the cache entry.
    pub fn is_same(&self, known: &Known) -> bool {
        match &self.content {
            Some(content) => known.is_of(&content.digest.to_string()),
            None => self.is_as_known,
        }
    }
}

/// A skill, its cache entry, and the observed state of its folder.
pub(super) type Looked = ((SkillName, Box<Known>), Seen);

/// Summary of a skill, before it becomes a [`Glance`](super::Glance).
pub(super) struct Found {
    pub known: Box<Known>,
    pub standing: Standing,
    /// Content of an edited folder, and its front if readers get it.
    pub edit: Option<(FolderEdit, Option<Front>)>,
    pub paths: Vec<SkillPath>,
    /// See [`Glance::undecided`](super::Glance::undecided).
    pub undecided: usize,
    /// True if the result for the same content under the same rules does not change with time. False for a blocked
    /// folder without history, and for content that passed because of a waiver, which may expire.
    pub lasts: bool,
}

impl Found {
    pub fn new(known: Box<Known>, standing: Standing) -> Self {
        Self { known, standing, edit: None, paths: Vec::new(), undecided: 0, lasts: true }
    }

    /// Applies the status that a person's decision gives.
    pub fn barred(self, bar: Option<Standing>) -> Self {
        match bar {
            Some(standing) => Self { lasts: self.lasts && self.known.head.is_some(), standing, ..self },
            None => self,
        }
    }
}
