//! JSON documents about a skill: [`history`], [`compare`], [`overview`], [`proposal`].
//!
//! The command line and the MCP server print the same JSON, which is built here.

mod deerflow;
mod difference;
mod history;
mod lines;
mod proposals;
mod status;

use jiff::Timestamp;

pub use difference::{Comparison, DiffBase, at, compare};
pub use history::{History, PastRevision, history};
pub use lines::{line, lines};
pub use proposals::{ShownProposal, deltas, proposal, proposals, waiting};
pub use status::{FileStatus, HostsDocument, NumberedRevision, Overview, SkillStatus, overview};

/// Line formats of a history. The format of another system is a module, connected only through its entry here.
const FORMS: &[lines::Form] = &[deerflow::line];

/// Formats a time for all documents: RFC 3339 in UTC, to the second.
#[must_use]
pub fn time(time: Timestamp) -> String {
    format!("{time:.0}")
}
