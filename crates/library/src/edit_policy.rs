//! [`EditPolicy`]: decides which hand edits count without a person, asked of a layer above.
//!
//! An edit of a skill's folder counts at once for every reader. So that nobody gets past the policy by writing to
//! the folder, an edit that an agent could not make through `skill_manage` waits for a person.

use std::{fmt, sync::Arc};

use scan::Verdict;
use skill::{Bundle, SkillName};

use crate::revision::Origin;

/// An edit of a skill's folder that validates and clears.
#[derive(Debug, Clone, Copy)]
pub struct HandEdit<'a> {
    /// The skill.
    pub skill: &'a SkillName,
    /// The release that the head derives from.
    pub origin: Option<&'a Origin>,
    /// The files of the head.
    pub before: &'a Bundle,
    /// The files of the folder.
    pub after: &'a Bundle,
    /// The verdict over findings that the head does not have.
    pub verdict: Verdict,
    /// Whether the files are those of an earlier revision that was once the head.
    pub is_return: bool,
}

/// The rules for hand edits. They are read anew for each question, so that a change of the policy holds at once.
pub trait EditRules: Send + Sync {
    /// Why an agent could not make the edit; `None` where it could. Rules that cannot be read object.
    fn objection(&self, edit: &HandEdit<'_>) -> Option<String>;

    /// A text that differs whenever the answers may differ.
    fn fingerprint(&self) -> String;
}

/// [`EditRules`] that every library opened through a home uses.
#[derive(Clone)]
pub struct EditPolicy(Arc<dyn EditRules>);

impl EditPolicy {
    /// Wraps rules.
    #[must_use]
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
