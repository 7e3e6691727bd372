//! Observed state of a folder ([`ObservedFolder`]), and the summary derived from it ([`SummaryDraft`]).

use skill::{SkillName, SkillPath};

use super::{
    folder_edit::FolderEdit,
    summary::{FolderStatus, SkillMdSummary},
    summary_cache::CacheEntry,
};
use crate::folder::{Content, Signature};

/// Observed state of one folder.
#[derive(Default)]
pub(super) struct ObservedFolder {
    /// True if its signature matches the cached one.
    pub is_as_known: bool,
    /// New signature, if it does not match and the folder is old enough.
    pub signature: Option<Signature>,
    pub content: Option<Content>,
}

impl ObservedFolder {
    /// Returns whether the folder matches the cache entry.
    pub fn is_same(&self, known: &CacheEntry) -> bool {
        match &self.content {
            Some(content) => known.is_of(&content.digest.to_string()),
            None => self.is_as_known,
        }
    }
}

/// A skill, its cache entry, and the observed state of its folder.
pub(super) type ObservedSkill = ((SkillName, Box<CacheEntry>), ObservedFolder);

/// Summary of a skill, before it becomes a [`SkillSummary`](super::SkillSummary).
pub(super) struct SummaryDraft {
    pub known: Box<CacheEntry>,
    pub standing: FolderStatus,
    /// Content of an edited folder, and its front if readers get it.
    pub edit: Option<(FolderEdit, Option<SkillMdSummary>)>,
    pub paths: Vec<SkillPath>,
    /// See [`SkillSummary::undecided`](super::SkillSummary::undecided).
    pub undecided: usize,
    /// True if the result for the same content under the same rules does not change with time. False for a blocked
    /// folder without history, and for content that passed because of a waiver, which may expire.
    pub lasts: bool,
}

impl SummaryDraft {
    pub fn new(known: Box<CacheEntry>, standing: FolderStatus) -> Self {
        Self { known, standing, edit: None, paths: Vec::new(), undecided: 0, lasts: true }
    }

    /// Applies the status that a person's decision gives.
    pub fn barred(self, bar: Option<FolderStatus>) -> Self {
        match bar {
            Some(standing) => Self { lasts: self.lasts && self.known.head.is_some(), standing, ..self },
            None => self,
        }
    }
}
