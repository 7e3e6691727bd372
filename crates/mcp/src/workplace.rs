//! [`Workplace`]: where and under which rules the server works, as whoever started it says.

use library::{Home, Library};
use skill::SkillName;
use skill_manage::{Elsewhere, Policy};

use crate::refusal::Refusal;

/// Where the server works, as it is at the moment of one request: settings and policy are read anew for
/// each, so that what a person changes holds at once.
pub trait Workplace: Send {
    /// The library that is written to.
    ///
    /// # Errors
    /// It cannot be used.
    fn library(&self) -> Result<Library, Refusal>;

    /// skillhub's own folder.
    fn home(&self) -> &Home;

    /// Skills that readers of the library see besides its own.
    ///
    /// # Errors
    /// They cannot be read.
    fn elsewhere(&self) -> Result<Vec<Elsewhere>, Refusal>;

    /// Who may change what.
    ///
    /// # Errors
    /// A file that says so cannot be read; nothing may be changed then.
    fn policy(&self) -> Result<Policy, Refusal>;

    /// Called after a skill of the library has a new revision. What follows from it and could not be
    /// done is told; the change stands.
    fn note_change(&self, library: &Library, skill: &SkillName) -> Option<String>;
}

/// Opens the workplace for one request.
pub type Open = dyn Fn() -> Result<Box<dyn Workplace>, Refusal> + Send + Sync;
