//! The rules for which hand edits count without a person ([`EditPolicy`]). A higher layer provides them.
//!
//! An edit of a skill's folder is visible to every reader at once. So that writing to the folder does not bypass the
//! policy, an edit that an agent could not make through `skill_manage` waits for a person.

use std::{fmt, sync::Arc};

use scan::Verdict;
use skill::{Bundle, SkillName};

use crate::origin::Origin;

/// An edit of a skill's folder that validates and clears.
#[derive(Debug, Clone, Copy)]
pub struct HandEdit<'a> {
    /// Name of its folder in the library.
    pub skill: &'a SkillName,
    /// Release from which the head derives. `None` for a skill that was written here.
    pub origin: Option<&'a Origin>,
    /// The files of the head.
    pub before: &'a Bundle,
    /// The files of the folder.
    pub after: &'a Bundle,
    /// Verdict over the findings that the head does not have.
    pub verdict: Verdict,
    /// True if the files are those of an earlier revision that was once the head.
    pub is_return: bool,
}

/// The rules for hand edits. They are read for each query, so that a change of the policy takes effect at once.
pub trait EditRules: Send + Sync {
    /// Returns the reason why an agent could not make the edit, or `None` if it could. Unreadable rules count as an
    /// objection.
    fn objection(&self, edit: &HandEdit<'_>) -> Option<String>;

    /// Returns a text that changes whenever the answers may change. Used as a cache key.
    fn fingerprint(&self) -> String;
}

/// The [`EditRules`] of every library opened through a home.
#[derive(Clone)]
pub struct EditPolicy(Arc<dyn EditRules>);

impl EditPolicy {
    /// Shares the rules, so that clones of a home use the same ones.
    pub fn new(rules: impl EditRules + 'static) -> Self {
        Self(Arc::new(rules))
    }

    pub(crate) fn rules(&self) -> &dyn EditRules {
        self.0.as_ref()
    }
}

impl fmt::Debug for EditPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EditPolicy")
    }
}
