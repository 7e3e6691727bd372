//! [`Context`]: what a request is judged by, besides the library.

use jiff::Timestamp;
use library::{Actor, Scope, Stamp};
use skill::SkillName;

use crate::{policy::Policy, request::Notes};

/// A skill that the library's readers see although it is not in the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its name.
    pub name: SkillName,
    /// In which scope it is.
    pub scope: Scope,
    /// Where, for a message: `in the user's library`.
    pub place: String,
}

/// What a request is judged by, besides the library.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Who acts.
    pub actor: Actor,
    /// When.
    pub time: Timestamp,
    /// How much agents may change.
    pub policy: Policy,
    /// Skills of other scopes.
    pub elsewhere: &'a [Elsewhere],
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
