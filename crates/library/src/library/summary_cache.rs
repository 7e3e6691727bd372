//! Cache of the summaries of skills ([`SummaryCache`]).
//!
//! `glances` in the library's folder of the home has one entry per skill:
//!
//! - the front of the head's `SKILL.md`, and the signature of the folder when it was last found to be as committed;
//! - for a folder without history, its digest and signature;
//! - the ruleset under which the scanner let the files pass, if the history does not record it;
//! - for an edited folder, a [`CachedEdit`].
//!
//! An entry only counts for the same head, and for the same digest or signature and ruleset. Blocked content is never
//! cached. The file is a [`Projection`]: if it is damaged, the cache is empty.

use cap_std::fs::Dir;
use scan::{Scanner, Verdict};
use serde::{Deserialize, Serialize};
use skill::{Digest, SkillName};

use super::{
    LibraryError,
    folder_edit::CachedEdit,
    summary::{Head, SkillMdSummary},
};
use crate::{
    folder::Signature,
    projection::Projection,
    revision::{Revision, RevisionId},
};

const FILE: Projection = Projection { kind: "glances", format: 6 };
const NAME: &str = "glances";

/// The file is written again when one in this many skills is new.
const NEWS: usize = 50;

/// Number of new skills at which it is always written. A scanned edit counts as that many, so that it is scanned
/// once.
pub(super) const MUCH_NEWS: usize = 200;

/// Cache entry of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CacheEntry {
    /// Its head; `None` for a folder without history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Head>,
    /// True if the head is a tombstone.
    #[serde(default, skip_serializing_if = "is_no")]
    pub tombstone: bool,
    /// Front of its `SKILL.md`.
    pub front: SkillMdSummary,
    /// Edit of the folder; `None` while the folder has the head's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Box<CachedEdit>>,
    /// Signature of the folder when it had the head's or the edit's files, or when the scanner let it pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Signature>,
    /// Digest of a folder without history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    /// True if that folder is a valid skill.
    #[serde(default, skip_serializing_if = "is_no")]
    pub valid: bool,
    /// Ruleset under which the scanner let it pass, if that is newer than the ruleset of the head's commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruleset: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_no(value: &bool) -> bool {
    !value
}

impl CacheEntry {
    fn nothing() -> Self {
        let (head, edit, folder, found, ruleset) = (None, None, None, None, None);
        Self { head, tombstone: false, front: SkillMdSummary::default(), edit, folder, found, valid: false, ruleset }
    }

    /// Creates the entry of a skill at its head.
    pub fn of_head(head: &Revision, front: SkillMdSummary) -> Self {
        Self { head: Some(head.into()), tombstone: head.tombstone, front, ..Self::nothing() }
    }

    /// Creates the entry of a folder without history that the scanner let pass with the current rules.
    pub fn of_folder(digest: Digest, valid: bool, front: SkillMdSummary, scanner: Scanner) -> Self {
        let (found, ruleset) = (Some(digest.to_string()), Some(scanner.ruleset().to_owned()));
        Self { front, found, valid, ruleset, ..Self::nothing() }
    }

    /// Returns whether its head was not yet scanned with the current rules.
    pub fn needs_rescan(&self, scanner: Scanner) -> bool {
        let today = Some(scanner.ruleset());
        let is_earlier = |head: &Head| head.verdict != Verdict::Block && Some(head.ruleset.as_str()) != today;
        !self.tombstone && self.ruleset.as_deref() != today && self.head.as_ref().is_some_and(is_earlier)
    }

    /// Returns whether files with this digest match the entry.
    pub fn is_of(&self, found: &str) -> bool {
        match (&self.edit, &self.head) {
            (Some(edit), _) => edit.is_of(found),
            (None, Some(head)) => head.digest == found,
            (None, None) => self.found.as_deref() == Some(found),
        }
    }
}

/// The cache and the number of new entries.
#[derive(Debug, Default)]
pub(super) struct SummaryCache {
    /// Entries sorted by name. `None` if the entry was taken.
    skills: Vec<(String, Option<Box<CacheEntry>>)>,
    /// Index after the skill that was looked up last. Lookups in sorted order find the next skill there.
    next: usize,
    /// Number of skills with new results. Results that must be written count more.
    pub news: usize,
}

impl SummaryCache {
    pub fn read(own: Option<&Dir>) -> Self {
        let content = own.and_then(|own| FILE.read(own, NAME)).unwrap_or_default();
        let text = std::str::from_utf8(content.bytes()).unwrap_or_default();
        Self { skills: serde_json::from_str(text).unwrap_or_default(), next: 0, news: 0 }
    }

    fn place(&mut self, name: &SkillName) -> Option<&mut Option<Box<CacheEntry>>> {
        let is_next = self.skills.get(self.next).is_some_and(|(known, _)| known == name.as_str());
        let place = match is_next {
            true => self.next,
            false => self.skills.binary_search_by(|(known, _)| known.as_str().cmp(name.as_str())).ok()?,
        };
        self.next = place + 1;
        self.skills.get_mut(place).map(|(_, known)| known)
    }

    /// Takes the entry of a skill, if it is for this head.
    pub fn take_head(&mut self, name: &SkillName, id: &RevisionId) -> Option<Box<CacheEntry>> {
        self.place(name)?.take_if(|known| known.head.as_ref().is_some_and(|head| head.id == *id))
    }

    /// Takes the entry of a folder without history, or an empty one if it is not of the current ruleset.
    pub fn take_folder(&mut self, name: &SkillName, scanner: Scanner) -> Box<CacheEntry> {
        let is_of_today =
            |known: &mut Box<CacheEntry>| known.head.is_none() && known.ruleset.as_deref() == Some(scanner.ruleset());
        self.place(name).and_then(|known| known.take_if(is_of_today)).unwrap_or_else(|| Box::new(CacheEntry::nothing()))
    }

    /// Writes the entries of these skills, if enough of them are new. A failure is ignored, since the next reader
    /// computes them again.
    pub fn write(&self, mut skills: Vec<(&SkillName, &CacheEntry)>, own: impl FnOnce() -> Result<Dir, LibraryError>) {
        if self.news < MUCH_NEWS && self.news * NEWS <= skills.len() {
            return;
        }
        skills.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        let lines: Vec<_> = skills.into_iter().map(|(name, known)| (name.as_str(), known)).collect();
        if let (Ok(content), Ok(own)) = (serde_json::to_vec(&lines), own()) {
            let _the_next_reader_finds_out = FILE.write(&own, NAME, &content);
        }
    }
}
