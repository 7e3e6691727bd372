//! [`Context`]: the inputs for judging a request, apart from the library.

use jiff::Timestamp;
use library::{Actor, EntryChange, Library, Origin, Scope, Stamp};
use skill::SkillName;

use crate::{policy::Policy, request::Notes};

/// Skill in another scope that is visible to the library's readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowedSkill {
    /// Name of the skill.
    pub name: SkillName,
    /// Scope that contains the skill.
    pub scope: Scope,
    /// Location as a phrase for messages, such as `in the user's library`.
    pub place: String,
}

/// Inputs for judging a request, apart from the library.
#[derive(Clone)]
pub struct Context<'a> {
    /// Actor that makes the request.
    pub actor: Actor,
    /// Time of the request.
    pub time: Timestamp,
    /// Policy on changes by agents.
    pub policy: Policy,
    /// Facts outside the library.
    pub surroundings: &'a dyn Surroundings,
}

/// Facts outside the library that few requests depend on, read when they are needed.
pub trait Surroundings {
    /// Returns the visible skills of other scopes. This opens their libraries.
    fn shadowed_skills(&self) -> Vec<ShadowedSkill>;

    /// Plans the removal of a skill's entry from the lock file. `None` if it has none.
    fn deleted_entry(&self, library: &Library, skill: &SkillName, origin: &Origin) -> Option<EntryChange>;

    /// Plans the entry of a skill that returns after its deletion. `None` if it had none.
    fn returned_entry(&self, library: &Library, skill: &SkillName, origin: &Origin) -> Option<EntryChange>;
}

/// A function that returns the shadowed skills, for a library without a lock file.
impl<F: Fn() -> Vec<ShadowedSkill>> Surroundings for F {
    fn shadowed_skills(&self) -> Vec<ShadowedSkill> {
        self()
    }

    fn deleted_entry(&self, _: &Library, _: &SkillName, _: &Origin) -> Option<EntryChange> {
        None
    }

    fn returned_entry(&self, _: &Library, _: &SkillName, _: &Origin) -> Option<EntryChange> {
        None
    }
}

impl Context<'_> {
    pub(crate) fn stamp(&self, notes: &Notes) -> Stamp {
        Stamp {
            actor: self.actor.clone(),
            time: self.time,
            reason: notes.reason.clone(),
            run: notes.run.clone(),
            thread: notes.thread.clone(),
        }
    }
}
