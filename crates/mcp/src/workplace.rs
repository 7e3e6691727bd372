//! [`Workplace`]: where and under which rules the server works, as whoever started it says.

use std::collections::BTreeSet;

use agent::{Builtin, Catalogue, Places, Settings};
use compose::Hosts;
use library::{Actor, Head, Home, Library, UseKind, UseState};
use serde_json::Value;
use skill::SkillName;
use skill_manage::{Elsewhere, Policy, documents::HostsDocument};

use crate::refusal::Refusal;

/// Where the server works, as it is at the moment of one request: settings and policy are read anew for
/// each, so that what a person changes holds at once.
pub trait Workplace: Send {
    /// The library that is written to.
    ///
    /// # Errors
    /// It cannot be used.
    fn library(&self) -> Result<Library, Refusal>;

    /// The library that a skill is changed in: that one, or the folder of a group below it where the skill stands there.
    ///
    /// # Errors
    /// It cannot be used.
    fn library_of(&self, name: &SkillName) -> Result<Library, Refusal>;

    /// The library that is written to, and the folders of groups below it that have a history.
    ///
    /// # Errors
    /// One of them cannot be used.
    fn libraries(&self) -> Result<Vec<Library>, Refusal>;

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

    /// The skills that a library has on this git branch by its lock file; `None` outside of a git work tree.
    fn skills_of_branch(&self, library: &Library) -> Option<BTreeSet<SkillName>>;

    /// Where skills are looked for.
    fn places(&self) -> Places;

    /// What agents' hosts read of a skill, or of any.
    ///
    /// # Errors
    /// A part of the configuration cannot be used.
    fn hosts_read(&self, catalogue: &Catalogue, name: Option<&SkillName>) -> Result<HostsDocument, Refusal>;

    /// The skills inside the program.
    ///
    /// # Errors
    /// Never, unless the program was built wrongly.
    fn builtin(&self) -> Result<Vec<Builtin>, Refusal>;

    /// What agents may see and use.
    ///
    /// # Errors
    /// The configuration says it in a way that cannot be read; nothing is shown then.
    fn settings(&self) -> Result<Settings, Refusal>;

    /// Where the tools are that steps of composed tools may call.
    ///
    /// # Errors
    /// The configuration says it in a way that cannot be read; none is called then.
    fn tool_hosts(&self) -> Result<Hosts, Refusal>;

    /// Keeps that a skill was used.
    fn note_use(&self, catalogue: &Catalogue, settings: &Settings, used: Used<'_>);

    /// Keeps that a run read a revision of a skill.
    fn note_activation(&self, catalogue: &Catalogue, settings: &Settings, read: (&SkillName, &Head), run: &str);

    /// Keeps how a run with a skill went, and has the gate look at it.
    ///
    /// # Errors
    /// There is no such skill, run or revision, or it cannot be written.
    fn record(&self, outcome: Told<'_>) -> Result<Value, Refusal>;

    /// Whether agents see a skill, from now on.
    ///
    /// # Errors
    /// There is no such skill, or the state cannot be written.
    fn set_enabled(&self, name: &SkillName, enabled: bool) -> Result<Value, Refusal>;

    /// Looks for skills in the registries.
    ///
    /// # Errors
    /// One cannot be read.
    fn search(&self, query: &str, limit: usize) -> Result<Value, Refusal>;

    /// Installs a skill from a registry.
    ///
    /// # Errors
    /// It is not there, it is blocked, or something is in its way.
    fn install(&self, spec: &str) -> Result<Value, Refusal>;
}

/// One use of a skill.
#[derive(Debug, Clone, Copy)]
pub struct Used<'a> {
    /// The skill.
    pub name: &'a SkillName,
    /// What was done.
    pub kind: UseKind,
    /// How it ended.
    pub state: UseState,
    /// The agent.
    pub agent: &'a str,
}

/// How a run with a skill went, as the agent tells it.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// The skill.
    pub name: &'a SkillName,
    /// What happened.
    pub event: &'a str,
    /// The run.
    pub run: &'a str,
    /// The conversation.
    pub thread: Option<&'a str>,
    /// The connection changed the skill before.
    pub by_author: bool,
    /// What was to be done.
    pub task: Option<&'a str>,
    /// Milliseconds that it took.
    pub latency_ms: Option<u64>,
    /// Tokens that the model read.
    pub tokens_in: Option<u64>,
    /// Tokens that it wrote.
    pub tokens_out: Option<u64>,
}

/// Opens the workplace for one request of somebody.
pub type Open = dyn Fn(Actor) -> Result<Box<dyn Workplace>, Refusal> + Send + Sync;
