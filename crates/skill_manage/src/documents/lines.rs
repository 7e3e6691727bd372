//! [`lines`]: a skill's history with the contents before and after each change, in the form of another system.

use library::{Library, Revision};
use scan::Scanner;
use serde_json::Value;
use skill::{Bundle, SkillName};

use super::{FORMS, history};
use crate::error::ManageError;

/// A line of a history in the form of a system; with contents where these are given.
pub(super) type Form = fn(&Revision, Option<Contents<'_>>) -> Value;

/// The files before and after a change, and what scans them.
pub(super) type Contents<'a> = (&'a Bundle, &'a Bundle, Scanner);

/// The newest `limit` changes of a skill, the oldest of them first: one for each revision.
///
/// # Errors
/// The library never had the skill, or cannot be read.
pub fn lines<'a>(
    library: &'a Library,
    name: SkillName,
    limit: usize,
) -> Result<impl Iterator<Item = Result<Value, ManageError>> + use<'a>, ManageError> {
    let mut revisions = history::history(library, name, limit.saturating_add(1))?.revisions;
    let earlier = if revisions.len() > limit { revisions.pop() } else { None };
    let mut before = earlier.map_or(Ok(Bundle::default()), |earlier| files_of(library, &earlier))?;
    Ok(revisions.into_iter().rev().map(move |revision| {
        let after = files_of(library, &revision)?;
        let before = std::mem::replace(&mut before, after.clone());
        Ok(in_form(&revision, Some((&before, &after, library.scanner()))))
    }))
}

/// One of them without contents.
#[must_use]
pub fn line(revision: &Revision) -> Value {
    in_form(revision, None)
}

/// A line in the first of the forms; in ours, which has no contents, where there is none.
fn in_form(revision: &Revision, contents: Option<Contents<'_>>) -> Value {
    FORMS.first().map_or_else(|| history::row(revision), |form| form(revision, contents))
}

fn files_of(library: &Library, revision: &Revision) -> Result<Bundle, ManageError> {
    Ok(if revision.tombstone { Bundle::default() } else { library.bundle(&revision.id)? })
}
