//! [`lines`]: the history of a skill with contents before and after each change, in the format of another system.

use library::{Library, Revision};
use scan::Scanner;
use serde_json::Value;
use skill::{Bundle, SkillName};

use super::{FORMS, history};
use crate::error::ManageError;

/// Function that formats a history line, with contents if they are given.
pub(super) type Form = fn(&Revision, Option<Contents<'_>>) -> Value;

/// Files before and after a change, and the scanner for them.
pub(super) type Contents<'a> = (&'a Bundle, &'a Bundle, Scanner);

/// Yields the newest `limit` changes of a skill, oldest first, with one line per revision.
///
/// # Errors
/// The library has never had the skill, or cannot be read.
pub fn lines<'a>(
    library: &'a Library,
    name: SkillName,
    limit: usize,
) -> Result<impl Iterator<Item = Result<Value, ManageError>> + use<'a>, ManageError> {
    let past = history::history(library, name, limit.saturating_add(1))?.revisions;
    let mut revisions: Vec<Revision> = past.into_iter().map(|past| past.revision).collect();
    let earlier = if revisions.len() > limit { revisions.pop() } else { None };
    let mut before = earlier.map_or(Ok(Bundle::default()), |earlier| files_of(library, &earlier))?;
    Ok(revisions.into_iter().rev().map(move |revision| {
        let after = files_of(library, &revision)?;
        let before = std::mem::replace(&mut before, after.clone());
        Ok(in_form(&revision, Some((&before, &after, library.scanner()))))
    }))
}

/// Returns the line of a revision, without contents.
#[must_use]
pub fn line(revision: &Revision) -> Value {
    in_form(revision, None)
}

/// Formats a line in the first registered format. Without one, uses our own format, which omits contents.
fn in_form(revision: &Revision, contents: Option<Contents<'_>>) -> Value {
    FORMS.first().map_or_else(|| history::row(revision), |form| form(revision, contents))
}

fn files_of(library: &Library, revision: &Revision) -> Result<Bundle, ManageError> {
    Ok(if revision.tombstone { Bundle::default() } else { library.bundle(&revision.id)? })
}
