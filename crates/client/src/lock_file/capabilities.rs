//! [`locked_capabilities`]: what a skill would touch, as readers of a lock file's diff are told of it.

use library::{Library, LibraryError, Revision};
use scan::Capabilities;

/// Lines of an entry; of a skill with more the last one says how many.
const LISTED: usize = 64;

/// The list of an entry.
pub(crate) fn locked_capabilities(capabilities: &Capabilities) -> Vec<String> {
    let mut listed: Vec<String> = capabilities.listed().iter().map(ToString::to_string).collect();
    let more = listed.len().saturating_sub(LISTED);
    listed.truncate(LISTED);
    listed.extend((more > 0).then(|| format!("and {more} more")));
    listed.extend((!capabilities.complete).then(|| "and what could not be summed up".to_owned()));
    listed
}

/// The list for a head.
pub(super) fn of_head(library: &Library, head: &Revision) -> Result<Vec<String>, LibraryError> {
    Ok(locked_capabilities(&scan::capabilities(&library.bundle(&head.id)?)))
}
