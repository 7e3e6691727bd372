//! Refusal of content that a person took back ([`TakenBack`]).

use skill::{Bundle, SkillName};

use super::{
    Commit, Library, LibraryError, TakenBack,
    decision::{decision, is_by_person},
};
use crate::{
    lock::LockedDir,
    revision::{Actor, ActorKind, Content, Revision},
    state::State,
};

impl Library {
    /// Returns a person's decision against content of a skill, ignoring line ends of text. `None` without such a
    /// decision, or if the content was brought back since.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn taken_back(&self, skill: &SkillName, files: &Bundle) -> Result<Option<TakenBack>, LibraryError> {
        let revisions = self.revisions(skill, usize::MAX)?;
        let mut digests =
            vec![files.digest(), files.with_line_feeds().digest(), files.with_carriage_returns().digest()];
        digests.dedup();
        let found = digests.iter().find_map(|digest| decision(revisions.iter().cloned(), digest));
        Ok(found.map(|revision| TakenBack::of(skill, &revision)))
    }

    /// Returns the deletion or uninstall of a skill that does not exist, if a person decided it.
    pub fn removed_by_person(skill: &SkillName, head: Option<&Revision>) -> Option<TakenBack> {
        head.filter(|head| head.tombstone && is_by_person(head)).map(|head| TakenBack::of(skill, head))
    }

    /// Enforces that only people bring back content that a person took back.
    ///
    /// # Errors
    /// Returns [`LibraryError::TakenBack`] if the actor may not; the history cannot be read.
    pub fn check_taken_back(&self, skill: &SkillName, files: &Bundle, actor: &Actor) -> Result<(), LibraryError> {
        match actor.kind {
            ActorKind::Person => Ok(()),
            _ => self.taken_back(skill, files)?.map_or(Ok(()), |taken_back| Err(Box::new(taken_back).into())),
        }
    }

    /// Repeats the checks under the lock for actors other than people: refuses changes of a skill that was pinned in
    /// the meantime, and content that a person took back.
    pub(super) fn check_still_free(&self, own: &LockedDir, commits: &[Commit]) -> Result<(), LibraryError> {
        let last = commits.iter().filter_map(|commit| Some((&commit.skill, commit.revisions.last()?)));
        let free = [ActorKind::External, ActorKind::Person];
        let mut held = last.filter(|(_, revision)| !free.contains(&revision.stamp.actor.kind)).peekable();
        if held.peek().is_none() {
            return Ok(());
        }
        let state = State::read(own)?;
        for (skill, revision) in held {
            if state.of(skill).pinned {
                return Err(LibraryError::Pinned(skill.clone()));
            }
            if let (Content::Cleared(cleared), None) = (&revision.content, &revision.acceptance) {
                if let Some(removed) = Self::removed_by_person(skill, self.head(skill)?.as_ref()) {
                    return Err(Box::new(removed).into());
                }
                self.check_taken_back(skill, cleared.bundle(), &revision.stamp.actor)?;
            }
        }
        Ok(())
    }
}
