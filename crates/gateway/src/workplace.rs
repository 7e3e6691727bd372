//! The library that a gateway serves, and its rules ([`Workplace`]), as configured by the operator.

use agent::{Builtin, Catalogue, Places, Settings};
use compose::Hosts;
use library::{Actor, Library};
use serde_json::Value;
use skill::SkillName;
use skill_manage::{Elsewhere, Policy, Reviewer};
use web::ApiError;

/// The environment of a gateway during one request. Settings and policy are read again for each request, so that
/// changes by a person apply immediately.
pub trait Workplace: Send {
    /// Returns the library that changes are written to.
    ///
    /// # Errors
    /// The library cannot be opened.
    fn library(&self) -> Result<Library, ApiError>;

    /// Returns the library that a skill is changed in: the writable one, or the folder of a group below it that has the
    /// skill.
    ///
    /// # Errors
    /// The library cannot be opened.
    fn library_of(&self, name: &SkillName) -> Result<Library, ApiError>;

    /// Returns the writable library, and the folders of groups below it that have a history.
    ///
    /// # Errors
    /// One of them cannot be opened.
    fn libraries(&self) -> Result<Vec<Library>, ApiError>;

    /// Returns the person whom a reviewer's token proves.
    ///
    /// # Errors
    /// The home does not know the token, or it has expired.
    fn reviewer(&self, token: &str) -> Result<Reviewer, ApiError>;

    /// Returns the skills of other scopes that readers of the library see.
    ///
    /// # Errors
    /// They cannot be read.
    fn elsewhere(&self) -> Result<Vec<Elsewhere>, ApiError>;

    /// Returns the settings that determine which skills agents may see and use.
    ///
    /// # Errors
    /// The configuration cannot be read; no skill is shown then.
    fn settings(&self) -> Result<Settings, ApiError>;

    /// Returns the policy for changes.
    ///
    /// # Errors
    /// A policy file cannot be read; no change is permitted then.
    fn policy(&self) -> Result<Policy, ApiError>;

    /// Runs the follow-up work after a skill of the library has a new revision.
    /// Returns a warning if some of it failed; the change itself is kept.
    fn note_change(&self, library: &Library, skill: &SkillName) -> Option<String>;

    /// Returns the folders in which skills are searched.
    fn places(&self) -> Places;

    /// Returns the agents whose hosts read a skill of the catalogue, and those that read other content under its name.
    ///
    /// # Errors
    /// A part of the configuration cannot be used.
    fn readers(&self, catalogue: &Catalogue, name: &SkillName) -> Result<Readers, ApiError>;

    /// Returns the skills that are compiled into the program.
    ///
    /// # Errors
    /// Never, unless the program was built incorrectly.
    fn builtin(&self) -> Result<Vec<Builtin>, ApiError>;

    /// Returns the hosts of the tools that composed tools may call.
    ///
    /// # Errors
    /// The configuration cannot be read.
    fn tool_hosts(&self) -> Result<Hosts, ApiError>;

    /// Shows a skill to agents, or hides it.
    ///
    /// # Errors
    /// The skill does not exist, or the state cannot be written.
    fn set_enabled(&self, name: &SkillName, enabled: bool) -> Result<Value, ApiError>;

    /// Installs the skill of an archive, or updates the one of an earlier upload.
    /// Returns the report that `skillhub install --json` prints. The archive is kept as the skill's origin.
    ///
    /// # Errors
    /// The archive cannot be read, is blocked by the scanner, or conflicts with something that exists.
    fn install(&self, archive: &[u8], upload: &Upload) -> Result<Value, ApiError>;

    /// Reads a file below the upload folder.
    ///
    /// # Errors
    /// The configuration has no upload folder, or the folder has no such file.
    fn upload(&self, path: &str) -> Result<Vec<u8>, ApiError>;
}

/// Metadata of an uploaded archive.
#[derive(Debug, Clone, Default)]
pub struct Upload {
    /// Name of the file without its extension, for a skill that has no name of its own.
    pub file: String,
    /// Conversation that the archive comes from.
    pub thread: Option<String>,
    /// True if the install must not replace a skill of the same name.
    pub is_new: bool,
}

/// The agents whose hosts read a skill.
#[derive(Debug, Default)]
pub struct Readers {
    /// Ids of the agents in use that read the skill as it is served.
    pub agents: Vec<&'static str>,
    /// Descriptions of the places where hosts read other content, one sentence each.
    pub differences: Vec<String>,
}

/// Opens the workplace for one request of an actor.
pub type Open = dyn Fn(Actor) -> Result<Box<dyn Workplace>, ApiError> + Send + Sync;
