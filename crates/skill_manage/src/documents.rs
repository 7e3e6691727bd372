//! [`history`], [`compare`], [`overview`], [`proposal`]: what is told of a skill, as every way of asking answers it.
//!
//! The command line and the server for agents print the same JSON; it is made here once.

mod deerflow;
mod difference;
mod history;
mod lines;
mod proposals;
mod standing;

use jiff::Timestamp;

pub use difference::{Comparison, Since, at, compare};
pub use history::{History, history};
pub use lines::{line, lines};
pub use proposals::{ShownProposal, deltas, proposal, proposals, waiting};
pub use standing::{FileStanding, HostsDocument, Overview, Place, SkillStanding, overview, overview_of_all};

/// Forms of the lines of a history. That of another system is a module, and hangs on the rest by its entry here alone.
const FORMS: &[lines::Form] = &[deerflow::line];

/// A time as everything that is told has it: RFC 3339 in UTC, to the second.
#[must_use]
pub fn time(time: Timestamp) -> String {
    format!("{time:.0}")
}
