//! [`Workplace`]: the library that a gateway leads to, and the rules there, as whoever started it says.

use agent::{Builtin, Catalogue, Places, Settings};
use compose::Hosts;
use library::{Actor, Library};
use serde_json::Value;
use skill::SkillName;
use skill_manage::{Elsewhere, Policy, Reviewer};
use web::ApiError;

/// Where a gateway works, as it is at the moment of one request: settings and policy are read anew for each, so that what
/// a person changes holds at once.
pub trait Workplace: Send {
    /// The library that is written to.
    ///
    /// # Errors
    /// It cannot be used.
    fn library(&self) -> Result<Library, ApiError>;

    /// The library that a skill is changed in: that one, or the folder of a group below it where the skill stands there.
    ///
    /// # Errors
    /// It cannot be used.
    fn library_of(&self, name: &SkillName) -> Result<Library, ApiError>;

    /// The library that is written to, and the folders of groups below it that have a history.
    ///
    /// # Errors
    /// One of them cannot be used.
    fn libraries(&self) -> Result<Vec<Library>, ApiError>;

    /// The person whom a reviewer's token shows.
    ///
    /// # Errors
    /// The home does not know the token, or its time is over.
    fn reviewer(&self, token: &str) -> Result<Reviewer, ApiError>;

    /// Skills that readers of the library see besides its own.
    ///
    /// # Errors
    /// They cannot be read.
    fn elsewhere(&self) -> Result<Vec<Elsewhere>, ApiError>;

    /// What agents may see and use.
    ///
    /// # Errors
    /// The configuration says it in a way that cannot be read; nothing is shown then.
    fn settings(&self) -> Result<Settings, ApiError>;

    /// Who may change what.
    ///
    /// # Errors
    /// A file that says so cannot be read; nothing may be changed then.
    fn policy(&self) -> Result<Policy, ApiError>;

    /// Called after a skill of the library has a new revision. What follows from it and could not be done is told; the
    /// change stands.
    fn note_change(&self, library: &Library, skill: &SkillName) -> Option<String>;

    /// Where skills are looked for.
    fn places(&self) -> Places;

    /// The agents whose hosts read a skill of the catalogue, and those that read something else under its name.
    ///
    /// # Errors
    /// A part of the configuration cannot be used.
    fn readers(&self, catalogue: &Catalogue, name: &SkillName) -> Result<Readers, ApiError>;

    /// The skills inside the program.
    ///
    /// # Errors
    /// Never, unless the program was built wrongly.
    fn builtin(&self) -> Result<Vec<Builtin>, ApiError>;

    /// Where the tools are that steps of composed tools may call.
    ///
    /// # Errors
    /// The configuration says it in a way that cannot be read.
    fn tool_hosts(&self) -> Result<Hosts, ApiError>;

    /// Whether agents see a skill, from now on.
    ///
    /// # Errors
    /// There is no such skill, or the state cannot be written.
    fn set_enabled(&self, name: &SkillName, enabled: bool) -> Result<Value, ApiError>;

    /// Installs the skill of an archive, or updates the one of an earlier upload, and says what became of it as
    /// `skillhub install --json` does. The archive is kept, so that it has a place that it came from.
    ///
    /// # Errors
    /// It cannot be read, it is blocked, or something is in its way.
    fn install(&self, archive: &[u8], upload: &Upload) -> Result<Value, ApiError>;

    /// Reads a file below the folder of uploads.
    ///
    /// # Errors
    /// The configuration names no such folder, or there is no such file in it.
    fn upload(&self, path: &str) -> Result<Vec<u8>, ApiError>;
}

/// What is known of an archive beside its bytes.
#[derive(Debug, Clone, Default)]
pub struct Upload {
    /// The file's name without its ending, for a skill that does not name itself.
    pub file: String,
    /// The conversation that it came from.
    pub thread: Option<String>,
    /// Whether a skill of that name must not be there yet.
    pub is_new: bool,
}

/// The agents whose hosts read a skill.
#[derive(Debug, Default)]
pub struct Readers {
    /// The ids of agents in use that read it as it is served.
    pub agents: Vec<&'static str>,
    /// One sentence for each place where hosts read other content.
    pub differences: Vec<String>,
}

/// Opens the workplace for one request of somebody.
pub type Open = dyn Fn(Actor) -> Result<Box<dyn Workplace>, ApiError> + Send + Sync;
