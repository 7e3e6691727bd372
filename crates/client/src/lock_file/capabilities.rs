//! [`locked_capabilities`]: the capabilities of a skill as the lock file lists them, for readers of its diff.

use library::{Library, LibraryError, Revision};
use scan::Capabilities;

/// Maximum number of lines in an entry. The remaining capabilities are counted in one further line.
const LISTED: usize = 64;

/// Formats capabilities for an entry.
pub(crate) fn locked_capabilities(capabilities: &Capabilities) -> Vec<String> {
    let mut listed: Vec<String> = capabilities.listed().iter().map(ToString::to_string).collect();
    let more = listed.len().saturating_sub(LISTED);
    listed.truncate(LISTED);
    listed.extend((more > 0).then(|| format!("and {more} more")));
    listed.extend((!capabilities.complete).then(|| "and what could not be summed up".to_owned()));
    listed
}

/// Formats the capabilities of a head for an entry.
pub(super) fn of_head(library: &Library, head: &Revision) -> Result<Vec<String>, LibraryError> {
    Ok(locked_capabilities(&scan::capabilities(&library.bundle(&head.id)?)))
}
