//! Immutable states of a whole skill, with their author, reason and origin ([`Revision`]).

use std::{fmt, path::PathBuf, str::FromStr};

use jiff::Timestamp;
use scan::{Captured, Cleared, Scanner, Verdict};
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest};
use thiserror::Error;

use crate::{
    links::{LockLines, Original},
    origin::Origin,
};

/// Kind of actor, on which permissions depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A coding agent.
    Agent,
    /// A person who has proved to be one.
    Person,
    /// A program that proposes improved revisions.
    Optimizer,
    /// Unknown author of an edit of the folder without skillhub.
    External,
}

impl ActorKind {
    /// Returns the word used in `--actor KIND:ID`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Optimizer => "optimizer",
            Self::External => "external",
        }
    }
}

/// An actor: a kind and a self-chosen id, written `kind:id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Kind of actor, on which permissions depend.
    pub kind: ActorKind,
    /// Name within that kind, for display only. It grants no rights.
    pub id: String,
}

/// Maximum length of an actor's id in bytes.
const ID_BYTES: usize = 200;

/// Error for a text that is not a valid [`Actor`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not an actor; write KIND:ID, with KIND one of agent, person, optimizer, external")]
pub struct ActorError(pub String);

impl Actor {
    /// Creates an actor with a sanitised id: without control characters, and truncated to 200 bytes.
    pub fn new(kind: ActorKind, id: impl Into<String>) -> Self {
        let mut id = id.into();
        id.retain(|c| !c.is_control());
        while id.len() > ID_BYTES {
            id.pop();
        }
        Self { kind, id }
    }
}

impl FromStr for Actor {
    type Err = ActorError;
    fn from_str(text: &str) -> Result<Self, ActorError> {
        let error = || ActorError(text.to_owned());
        let (kind, id) = text.split_once(':').unwrap_or((text, ""));
        let kind = [ActorKind::Agent, ActorKind::Person, ActorKind::Optimizer, ActorKind::External]
            .into_iter()
            .find(|known| known.as_str() == kind)
            .ok_or_else(error)?;
        if id.len() > ID_BYTES || id.chars().any(char::is_control) { Err(error()) } else { Ok(Self::new(kind, id)) }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id.as_str() {
            "" => f.write_str(self.kind.as_str()),
            id => write!(f, "{}:{id}", self.kind.as_str()),
        }
    }
}

/// Operation that created a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Created a new authored skill.
    Create,
    /// Replaced the whole SKILL.md.
    Edit,
    /// Replaced a piece of a text file.
    Patch,
    /// Wrote or replaced a single file.
    WriteFile,
    /// Removed a single file.
    RemoveFile,
    /// Made several edits as one revision.
    Operations,
    /// Deleted the skill; a tombstone.
    Delete,
    /// Installed a release.
    Install,
    /// Installed a newer release over an older one.
    Update,
    /// Removed an installed skill; a tombstone.
    Uninstall,
    /// Adopted an existing folder unchanged.
    Adopt,
    /// Recorded a change found on disk.
    External,
    /// Restored an earlier revision.
    Rollback,
    /// Joined the changes of two machines.
    Merge,
}

impl Action {
    const ALL: [Self; 14] = [
        Self::Create,
        Self::Edit,
        Self::Patch,
        Self::WriteFile,
        Self::RemoveFile,
        Self::Operations,
        Self::Delete,
        Self::Install,
        Self::Update,
        Self::Uninstall,
        Self::Adopt,
        Self::External,
        Self::Rollback,
        Self::Merge,
    ];

    /// Returns the word used in trailers, events and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Patch => "patch",
            Self::WriteFile => "write_file",
            Self::RemoveFile => "remove_file",
            Self::Operations => "operations",
            Self::Delete => "delete",
            Self::Install => "install",
            Self::Update => "update",
            Self::Uninstall => "uninstall",
            Self::Adopt => "adopt",
            Self::External => "external",
            Self::Rollback => "rollback",
            Self::Merge => "merge",
        }
    }

    /// Parses the word of an action; `None` if it is unknown.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

/// Actor, time and reason, shared by all revisions of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Acting party and its kind.
    pub actor: Actor,
    /// Time of the operation. Revisions store whole seconds.
    pub time: Timestamp,
    /// Reason in the actor's words.
    pub reason: Option<String>,
    /// Id of the agent run.
    pub run: Option<String>,
    /// Id of the conversation.
    pub thread: Option<String>,
}

impl Stamp {
    /// Creates a stamp without reason, run and thread.
    pub fn new(actor: Actor, time: Timestamp) -> Self {
        Self { actor, time, reason: None, run: None, thread: None }
    }

    /// Returns a stamp with the same time for an earlier edit of the folder by somebody else. It has no run or
    /// thread, since those of this operation do not belong to the edit.
    #[must_use]
    pub fn external(&self, reason: &str) -> Self {
        let reason = Some(reason.to_owned());
        Self { reason, ..Self::new(Actor::new(ActorKind::External, ""), self.time) }
    }
}

/// Id of a revision: 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RevisionId(String);

impl RevisionId {
    /// Wraps an id returned by a storage.
    pub fn new(hex: String) -> Self {
        Self(hex)
    }

    /// Returns all 40 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first twelve digits, for display.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for RevisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The proposal that became a revision, and the person who accepted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// Id of the proposal.
    pub proposal: String,
    /// Person who accepted it.
    pub reviewer: Actor,
    /// Person who last edited it, so that the content is not only its author's.
    pub edited_by: Option<Actor>,
}

/// One immutable state of a whole skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Id, which covers content and ancestors.
    pub id: RevisionId,
    /// Position in the skill's history, from 1.
    pub number: u64,
    /// Previous revision; `None` for the first.
    pub parent: Option<RevisionId>,
    /// Operation that created it.
    pub action: Action,
    /// Actor, time and reason.
    pub stamp: Stamp,
    /// Release from which the skill was installed, inherited by later revisions.
    pub origin: Option<Origin>,
    /// Verdict of the scanner when it was committed.
    pub verdict: Verdict,
    /// Ruleset version of that verdict.
    pub ruleset: String,
    /// Digest over all files.
    pub digest: Digest,
    /// Number of files that differ from the parent.
    pub files_changed: usize,
    /// True if the skill does not exist at this revision.
    pub tombstone: bool,
    /// Skill that absorbed this one's content, for a deletion.
    pub absorbed_into: Option<String>,
    /// Proposal that became this revision, if any.
    pub acceptance: Option<Acceptance>,
    /// Release that was merged in, stored as a separate revision outside the skill's line. For [`Action::Merge`], the
    /// newest revision of another machine's line.
    pub upstream: Option<RevisionId>,
}

impl Revision {
    /// Returns whether the content passed the scanner when it was committed. A blocked hand edit is kept but never
    /// restored, published or served.
    pub fn was_cleared(&self) -> bool {
        self.verdict != Verdict::Block
    }

    /// Returns whether it is not a tombstone and passed other rules than the current ones.
    pub(crate) fn was_let_pass_earlier(&self, scanner: Scanner) -> bool {
        self.was_cleared() && !self.tombstone && self.ruleset != scanner.ruleset()
    }
}

/// Content of a new revision.
#[derive(Debug, Clone)]
pub enum Content {
    /// Files that passed the scanner.
    Cleared(Cleared),
    /// A hand edit that is kept although the scanner blocks it. The next revision must replace it.
    Captured(Captured),
    /// No files: the skill is gone, its history stays.
    Tombstone,
}

impl Content {
    /// Returns the files; empty for a tombstone.
    pub fn bundle(&self) -> Bundle {
        match self {
            Self::Cleared(cleared) => cleared.bundle().clone(),
            Self::Captured(captured) => captured.bundle().clone(),
            Self::Tombstone => Bundle::default(),
        }
    }

    /// Returns the digest over the files, as computed by the scanner.
    pub fn digest(&self) -> Digest {
        match self {
            Self::Cleared(cleared) => cleared.digest(),
            Self::Captured(captured) => captured.digest(),
            Self::Tombstone => Bundle::default().digest(),
        }
    }

    /// Returns the ruleset version with which it was scanned.
    pub fn ruleset(&self) -> &str {
        match self {
            Self::Cleared(cleared) => &cleared.report().ruleset,
            Self::Captured(captured) => &captured.report().ruleset,
            Self::Tombstone => scan::ruleset(),
        }
    }

    /// Returns the verdict of the scanner. A tombstone is allowed.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Cleared(cleared) => cleared.report().verdict(),
            Self::Captured(_) => Verdict::Block,
            Self::Tombstone => Verdict::Allow,
        }
    }
}

/// A revision to be committed.
#[derive(Debug, Clone)]
pub struct NewRevision {
    /// Files, or a tombstone.
    pub content: Content,
    /// Operation that creates it.
    pub action: Action,
    /// Actor, time and reason.
    pub stamp: Stamp,
    /// Release that it is or derives from.
    pub origin: Option<Origin>,
    /// Skill that absorbs this one's content, for a deletion.
    pub absorbed_into: Option<String>,
    /// Proposal that becomes this revision, if any.
    pub acceptance: Option<Acceptance>,
    /// Release to merge in. It becomes the second parent, so that its files remain available.
    pub upstream: Option<Box<Upstream>>,
    /// Revision of another machine that takes part, if any.
    pub synced: Option<SyncedRevision>,
    /// Previous state that no revision records.
    pub before: Option<StateBefore>,
}

/// Revision that came from another machine and is in the history already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncedRevision {
    /// It becomes the head itself, and no revision is made.
    Head(RevisionId),
    /// It becomes the second parent.
    Parent(RevisionId),
}

/// State before an operation that no revision records. It is stored in the event, for `undo`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StateBefore {
    /// Text of a lock file with only the skill's former entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// True if a folder without a history was in the skill's place.
    #[serde(default)]
    pub in_place: bool,
    /// Originals in agents' folders that links replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub originals: Vec<Original>,
    /// Links to the skill in agents' folders that skillhub did not create.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<PathBuf>,
}

/// Change of a lock file with a commit that deletes an installed skill, or brings one back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryChange {
    /// The removed or restored entry.
    pub lines: LockLines,
    /// State to record for `undo`.
    pub before: StateBefore,
    /// Full names of the installed skills that require a deleted skill, sorted.
    pub required_by: Vec<String>,
}

/// A release as published.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Published files, cleared.
    pub files: Cleared,
    /// Source of the release.
    pub origin: Origin,
}

impl NewRevision {
    /// Creates a revision without origin, proposal or merged release.
    pub fn new(content: Content, action: Action, stamp: Stamp) -> Self {
        Self {
            content,
            action,
            stamp,
            origin: None,
            absorbed_into: None,
            acceptance: None,
            upstream: None,
            synced: None,
            before: None,
        }
    }

    /// Sets the release of origin.
    #[must_use]
    pub fn with_origin(self, origin: Option<Origin>) -> Self {
        Self { origin, ..self }
    }

    /// Returns whether its content should have been shown to the judge and was not.
    pub(crate) fn is_unjudged(&self) -> bool {
        let own = matches!(&self.content, Content::Cleared(cleared) if cleared.is_unjudged());
        own || self.upstream.as_ref().is_some_and(|upstream| upstream.files.is_unjudged())
    }

    /// Returns the bundles to store: its own files, unless the history has them, and those of a merged release.
    pub(crate) fn bundles(&self) -> impl Iterator<Item = Bundle> {
        let release = self.upstream.as_ref().map(|upstream| upstream.files.bundle().clone());
        let is_stored = matches!(self.synced, Some(SyncedRevision::Head(_)));
        (!is_stored).then(|| self.content.bundle()).into_iter().chain(release)
    }
}

/// Reference to a revision as written by a person: an id or a unique prefix of one, a number of up to six digits,
/// `head`, or `head~2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevisionSpec {
    /// Number of steps back from the head.
    Head(u64),
    /// Position in the history, from 1.
    Number(u64),
    /// Prefix of the id, at least four digits.
    Prefix(String),
}

/// Error for a text that is not a valid [`RevisionSpec`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{:?} is not a revision; use an id or its first digits, a number, `head` or `head~2`",
    skill::shortened(.0, skill::ECHO_CHARS)
)]
pub struct RevisionSpecError(pub String);

impl FromStr for RevisionSpec {
    type Err = RevisionSpecError;
    fn from_str(text: &str) -> Result<Self, RevisionSpecError> {
        let error = || RevisionSpecError(text.to_owned());
        if let Some(rest) = text.strip_prefix("head") {
            return match rest.strip_prefix('~') {
                None if rest.is_empty() => Ok(Self::Head(0)),
                Some(steps) => steps.parse().map(Self::Head).map_err(|_| error()),
                None => Err(error()),
            };
        }
        if (1..=6).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map(Self::Number).map_err(|_| error());
        }
        let hex = text.to_ascii_lowercase();
        if (4..=40).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self::Prefix(hex));
        }
        Err(error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_named_in_four_ways() {
        assert_eq!("head".parse(), Ok(RevisionSpec::Head(0)));
        assert_eq!("head~12".parse(), Ok(RevisionSpec::Head(12)));
        assert_eq!("000012".parse(), Ok(RevisionSpec::Number(12)));
        assert_eq!("1234567".parse(), Ok(RevisionSpec::Prefix("1234567".into())));
        assert_eq!("ABCD".parse(), Ok(RevisionSpec::Prefix("abcd".into())));
        for bad in ["", "head~", "heads", "abc", "xyzw", "head~-1"] {
            assert!(bad.parse::<RevisionSpec>().is_err(), "{bad}");
        }
    }

    #[test]
    fn actors_have_a_known_kind() {
        assert_eq!("agent:claude".parse(), Ok(Actor::new(ActorKind::Agent, "claude")));
        assert_eq!("person".parse::<Actor>().unwrap().to_string(), "person");
        assert!("root:x".parse::<Actor>().is_err());
        assert!("agent:a\nb".parse::<Actor>().is_err());
    }

    #[test]
    fn actor_of_any_text_reads_back() {
        for id in ["a\nb\0", &"é".repeat(150), "", ":", " x "] {
            let actor = Actor::new(ActorKind::Agent, id);
            assert_eq!(actor.to_string().parse(), Ok(actor));
        }
    }
}
