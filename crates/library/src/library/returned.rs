//! History of a skill as seen from one git branch ([`Library::previous_content`]).
//!
//! Switching branches returns a skill's folder to an earlier revision. The next operation records that as an external
//! revision with a reason of this form. A search for the previous revision continues from the one that was returned
//! to.

use skill::{Bundle, SkillName};

use super::{
    FindError, Library, LibraryError,
    comparison::{Comparison, FolderContent},
};
use crate::{
    revision::{Action, Revision, RevisionSpec},
    state::SkillState,
    storage::StorageError,
};

const RETURNED: &str = "returned to revision ";

/// Formats the reason of a revision that records a return, with an optional reason given by the actor.
pub fn return_reason(number: u64, given: Option<&str>) -> String {
    let given = given.map(|given| format!(": {given}")).unwrap_or_default();
    format!("{RETURNED}{number}{given}")
}

/// Parses the revision's number out of such a reason.
fn returned_number(reason: &str) -> Option<u64> {
    let rest = reason.strip_prefix(RETURNED)?;
    rest.split_once(':').map_or(rest, |(number, _)| number).parse().ok()
}

/// Returns whether the gate rolled this content back or has it on trial. Returning to such content is judged like any
/// edit.
fn is_withheld(set: &SkillState, digest: &str) -> bool {
    set.trial.as_ref().is_some_and(|trial| trial.candidate_digest == digest)
        || set.set_back.iter().any(|set_back| set_back.digest == digest)
}

impl Library {
    /// Finds the newest revision before the head with these files, ignoring line ends of text. Deletions, blocked
    /// edits and content that the gate withholds are skipped.
    pub(super) fn earlier_with(
        &self,
        skill: &SkillName,
        head: Option<&Revision>,
        found: &Bundle,
    ) -> Result<Option<Revision>, LibraryError> {
        let Some(head) = head.filter(|head| !head.tombstone && head.number > 1) else { return Ok(None) };
        let digests = [found.digest(), found.with_line_feeds().digest(), found.with_carriage_returns().digest()];
        let set = self.state()?.of(skill);
        let mut revisions = self.revisions(skill, usize::MAX)?.into_iter();
        Ok(revisions.find(|revision| {
            let is_usable = revision.number < head.number && !revision.tombstone && revision.was_cleared();
            is_usable && digests.contains(&revision.digest) && !is_withheld(&set, &revision.digest.to_string())
        }))
    }

    /// Returns the revision whose files are in a skill's folder, or the head if the folder is missing. `None` if no
    /// revision has them, and for a skill without history. Nothing is scanned.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn revision_in_folder(&self, skill: &SkillName) -> Result<Option<Revision>, LibraryError> {
        let Comparison { base, found, .. } = self.compare_settled(skill)?;
        match found {
            FolderContent::Absent | FolderContent::Same | FolderContent::Missing => Ok(base),
            FolderContent::Different(found) => self.earlier_with(skill, base.as_ref(), &found),
            FolderContent::Unreadable(_) => Ok(None),
        }
    }

    /// Returns the revision that an external one returned to; `None` for any other.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn returned_to(&self, skill: &SkillName, revision: &Revision) -> Result<Option<Revision>, StorageError> {
        let is_external = revision.action == Action::External && revision.was_cleared();
        let number = revision.stamp.reason.as_deref().filter(|_| is_external).and_then(returned_number);
        let Some(number) = number.filter(|number| *number < revision.number) else { return Ok(None) };
        match self.find(skill, &RevisionSpec::Number(number), "") {
            Ok(target) => Ok(Some(target).filter(|target| target.digest == revision.digest)),
            Err(FindError::Storage(error)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Finds the newest revision before `from` with other files; `None` if all of them have the same files. A
    /// revision that returned to an earlier one counts as that.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn previous_content(&self, skill: &SkillName, from: &Revision) -> Result<Option<Revision>, StorageError> {
        let mut at = from.clone();
        loop {
            // Both branches lead to a smaller number, so the loop ends.
            at = match self.returned_to(skill, &at)? {
                Some(target) => target,
                None => match &at.parent {
                    Some(parent) => self.revision(parent)?,
                    None => return Ok(None),
                },
            };
            if at.digest != from.digest {
                return Ok(Some(self.returned_to(skill, &at)?.unwrap_or(at)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_reasons_are_recognised() {
        assert_eq!(return_reason(3, None), "returned to revision 3");
        for (reason, number) in [
            (return_reason(3, None), Some(3)),
            (return_reason(12, Some("the branch: main")), Some(12)),
            ("returned to revision three".to_owned(), None),
            ("we returned to revision 3".to_owned(), None),
        ] {
            assert_eq!(returned_number(&reason), number, "{reason}");
        }
    }
}
