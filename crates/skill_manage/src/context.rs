//! [`Context`]: the inputs for judging a request, apart from the library.

use jiff::Timestamp;
use library::{Actor, Scope, Stamp};
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
    /// Finds the visible skills of other scopes. It opens their libraries, and few requests depend on them.
    pub elsewhere: &'a FindElsewhere<'a>,
}

/// Function that finds the visible skills of other scopes.
pub type FindElsewhere<'a> = dyn Fn() -> Vec<ShadowedSkill> + 'a;

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
