//! [`Remembered`]: what was found out about skills when they were looked at last.
//!
//! `glances` in the library's folder of the home holds, for each skill, what its head's `SKILL.md`
//! says, and the signature of its folder when that was found to be as committed; for a folder without
//! history, its digest and its signature; the ruleset by which the scanner let files pass of which the history does not
//! say so; for a folder that was edited, a [`KnownEdit`]. What a line says counts only for the same head, and for the same digest or
//! signature and ruleset. That something
//! is blocked is never remembered. It is a [`Projection`]: when it is damaged, nothing is known.

use cap_std::fs::Dir;
use scan::{Scanner, Verdict};
use serde::{Deserialize, Serialize};
use skill::{Digest, SkillName};

use super::{
    LibraryError,
    folder_edit::KnownEdit,
    summary::{Front, Head},
};
use crate::{
    folder::Signature,
    projection::Projection,
    revision::{Revision, RevisionId},
};

const FILE: Projection = Projection { kind: "glances", format: 6 };
const NAME: &str = "glances";

/// The file is written again when one skill in so many is new.
const NEWS: usize = 50;

/// It is written in any case when so many are new, and when an edit was scanned, so that this is done once.
pub(super) const MUCH_NEWS: usize = 200;

/// What is known of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    /// Its head; `None` for a folder without history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Head>,
    /// Whether it is deleted at its head.
    #[serde(default, skip_serializing_if = "is_no")]
    pub tombstone: bool,
    /// What its `SKILL.md` says.
    pub front: Front,
    /// An edit of the folder; `None` while it is as the head has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Box<KnownEdit>>,
    /// The signature of the folder that was as the head or the edit has it, or that the scanner let pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Signature>,
    /// The digest of a folder without history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    /// Whether that is a valid skill.
    #[serde(default, skip_serializing_if = "is_no")]
    pub valid: bool,
    /// The rules by which the scanner let it pass, for a head after those of its commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruleset: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_no(value: &bool) -> bool {
    !value
}

impl Known {
    fn nothing() -> Self {
        let (head, edit, folder, found, ruleset) = (None, None, None, None, None);
        Self { head, tombstone: false, front: Front::default(), edit, folder, found, valid: false, ruleset }
    }

    /// A skill at its head.
    pub fn of_head(head: &Revision, front: Front) -> Self {
        Self { head: Some(head.into()), tombstone: head.tombstone, front, ..Self::nothing() }
    }

    /// A folder without history that the scanner of today let pass.
    pub fn of_folder(digest: Digest, valid: bool, front: Front, scanner: Scanner) -> Self {
        let (found, ruleset) = (Some(digest.to_string()), Some(scanner.ruleset().to_owned()));
        Self { front, found, valid, ruleset, ..Self::nothing() }
    }

    /// Whether it is at a head that the rules of today have not let pass.
    pub fn awaits_rules(&self, scanner: Scanner) -> bool {
        let today = Some(scanner.ruleset());
        let is_earlier = |head: &Head| head.verdict != Verdict::Block && Some(head.ruleset.as_str()) != today;
        !self.tombstone && self.ruleset.as_deref() != today && self.head.as_ref().is_some_and(is_earlier)
    }

    /// Whether a folder with files of this digest is as known.
    pub fn is_of(&self, found: &str) -> bool {
        match (&self.edit, &self.head) {
            (Some(edit), _) => edit.is_of(found),
            (None, Some(head)) => head.digest == found,
            (None, None) => self.found.as_deref() == Some(found),
        }
    }
}

/// All that is known, and how much of it is new.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// By name.
    skills: Vec<(String, Option<Box<Known>>)>,
    /// The place behind the skill that was asked for last: who asks for one after the other finds the
    /// next one there.
    next: usize,
    /// Skills about which something was found out.
    pub news: usize,
}

impl Remembered {
    pub fn read(own: Option<&Dir>) -> Self {
        let content = own.and_then(|own| FILE.read(own, NAME)).unwrap_or_default();
        let text = std::str::from_utf8(content.bytes()).unwrap_or_default();
        Self { skills: serde_json::from_str(text).unwrap_or_default(), next: 0, news: 0 }
    }

    fn place(&mut self, name: &SkillName) -> Option<&mut Option<Box<Known>>> {
        let is_next = self.skills.get(self.next).is_some_and(|(known, _)| known == name.as_str());
        let place = match is_next {
            true => self.next,
            false => self.skills.binary_search_by(|(known, _)| known.as_str().cmp(name.as_str())).ok()?,
        };
        self.next = place + 1;
        self.skills.get_mut(place).map(|(_, known)| known)
    }

    /// Takes out what is known of a skill at this head.
    pub fn take_head(&mut self, name: &SkillName, id: &RevisionId) -> Option<Box<Known>> {
        self.place(name)?.take_if(|known| known.head.as_ref().is_some_and(|head| head.id == *id))
    }

    /// Takes out what is known of a folder without history.
    pub fn take_folder(&mut self, name: &SkillName, scanner: Scanner) -> Box<Known> {
        let is_of_today =
            |known: &mut Box<Known>| known.head.is_none() && known.ruleset.as_deref() == Some(scanner.ruleset());
        self.place(name).and_then(|known| known.take_if(is_of_today)).unwrap_or_else(|| Box::new(Known::nothing()))
    }

    /// Writes down what is known of these skills, if there is enough news. Where that is not possible,
    /// the next reader finds it out again.
    pub fn write(&self, mut skills: Vec<(&SkillName, &Known)>, own: impl FnOnce() -> Result<Dir, LibraryError>) {
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
