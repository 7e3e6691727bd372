//! [`Revision`]: one immutable state of a whole skill, and who made it, why and from what.

use std::{fmt, path::PathBuf, str::FromStr};

use jiff::Timestamp;
use scan::{Captured, Cleared, Scanner, Verdict};
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest};
use thiserror::Error;

use crate::links::Original;

/// What kind of party acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A coding agent.
    Agent,
    /// A person who has proved to be one.
    Person,
    /// A program that proposes better revisions.
    Optimizer,
    /// Whoever edited the folder without going through skillhub.
    External,
}

impl ActorKind {
    /// The kind's word, as in `--actor KIND:ID`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Optimizer => "optimizer",
            Self::External => "external",
        }
    }
}

/// Who acts: a kind and an id of its own choosing, written `kind:id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// What kind of party.
    pub kind: ActorKind,
    /// Which one of that kind; for display only, it gives no rights.
    pub id: String,
}

/// Bytes of an actor's id.
const ID_BYTES: usize = 200;

/// The text is no [`Actor`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no actor; write KIND:ID with KIND one of agent, person, optimizer, external")]
pub struct ActorError(pub String);

impl Actor {
    /// An actor of a kind. Of the id, control characters and what passes 200 bytes are left out.
    #[must_use]
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
        if id.len() > ID_BYTES || id.chars().any(char::is_control) {
            return Err(error());
        }
        Ok(Self::new(kind, id))
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

/// What made a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A new authored skill.
    Create,
    /// The whole SKILL.md replaced.
    Edit,
    /// A piece of a text file replaced.
    Patch,
    /// A file written.
    WriteFile,
    /// A file removed.
    RemoveFile,
    /// Several edits as one revision.
    Operations,
    /// The skill deleted; a tombstone.
    Delete,
    /// A release installed.
    Install,
    /// A newer release installed over an older one.
    Update,
    /// An installed skill removed; a tombstone.
    Uninstall,
    /// A folder taken over as it was.
    Adopt,
    /// A change found on disk.
    External,
    /// An earlier revision brought back.
    Rollback,
}

impl Action {
    const ALL: [Self; 13] = [
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
    ];

    /// The action's word in trailers, events and JSON.
    #[must_use]
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
        }
    }

    /// The action of a word, if there is one.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

/// Where an installed skill came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `registry`, `git`, `folder` or `archive`.
    pub kind: String,
    /// The registry's location, the git URL, or the path.
    pub source: String,
    /// `owner/name` in a registry; the bare name from other sources.
    pub name: String,
    /// The release's version; absent from sources that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit that a git source stood at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of what was installed, `sha256:…`.
    pub digest: String,
}

impl Origin {
    /// The release as people call it: the name, with the version, the commit or the content's digest, each as
    /// far as it tells releases apart.
    #[must_use]
    pub fn release(&self) -> String {
        let digits = |id: &str, from: usize| id.get(from..from + 12).unwrap_or(id).to_owned();
        let which = match (&self.version, &self.commit) {
            (Some(version), None) => version.clone(),
            (_, Some(commit)) => digits(commit, 0),
            (None, None) => digits(&self.digest, "sha256:".len()),
        };
        format!("{} {which}", self.name)
    }
}

/// Who acts, when and why: the same for every revision of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Who.
    pub actor: Actor,
    /// When; revisions keep whole seconds.
    pub time: Timestamp,
    /// Why, in the actor's words.
    pub reason: Option<String>,
    /// The id of the run in which it happened.
    pub run: Option<String>,
    /// The id of the conversation in which it happened.
    pub thread: Option<String>,
}

impl Stamp {
    /// A stamp with neither reason, run nor thread.
    #[must_use]
    pub fn new(actor: Actor, time: Timestamp) -> Self {
        Self { actor, time, reason: None, run: None, thread: None }
    }

    /// The same moment, for an edit of the folder that another made before. The run and the thread of this
    /// operation are not the edit's.
    #[must_use]
    pub fn external(&self, reason: &str) -> Self {
        let reason = Some(reason.to_owned());
        Self { reason, ..Self::new(Actor::new(ActorKind::External, ""), self.time) }
    }
}

/// The id of a revision: 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RevisionId(String);

impl RevisionId {
    /// Wraps an id that a storage gave out.
    #[must_use]
    pub fn new(hex: String) -> Self {
        Self(hex)
    }

    /// All 40 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for RevisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The proposal that a revision was, and the person who accepted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// The proposal's id.
    pub proposal: String,
    /// Who accepted it.
    pub reviewer: Actor,
    /// The person who edited it last, so that it is not all its author's.
    pub edited_by: Option<Actor>,
}

/// One immutable state of a whole skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its id.
    pub id: RevisionId,
    /// Its place in the skill's history, from 1.
    pub number: u64,
    /// The revision before it.
    pub parent: Option<RevisionId>,
    /// What made it.
    pub action: Action,
    /// Who, when, why.
    pub stamp: Stamp,
    /// The release that the skill was installed from, carried on by later changes.
    pub origin: Option<Origin>,
    /// What the scanner said when it was committed.
    pub verdict: Verdict,
    /// The version of the rules that said so.
    pub ruleset: String,
    /// The digest of its files.
    pub digest: Digest,
    /// How many files changed against the parent.
    pub files_changed: usize,
    /// Whether the skill does not exist at this revision.
    pub tombstone: bool,
    /// The skill that took this one's content in, when it was deleted for that.
    pub absorbed_into: Option<String>,
    /// The proposal that it was, if it was one.
    pub acceptance: Option<Acceptance>,
    /// The release that was merged in, as a revision of its own beside the history.
    pub upstream: Option<RevisionId>,
}

impl Revision {
    /// Whether the content passed the scanner when it was committed. A hand edit that was kept
    /// although it did not is never restored, published or served.
    #[must_use]
    pub fn was_cleared(&self) -> bool {
        self.verdict != Verdict::Block
    }

    /// Whether it exists and rules other than those of today let it pass.
    pub(crate) fn was_let_pass_earlier(&self, scanner: Scanner) -> bool {
        self.was_cleared() && !self.tombstone && self.ruleset != scanner.ruleset()
    }
}

/// What a new revision holds.
#[derive(Debug)]
pub enum Content {
    /// Files that the scanner let through.
    Cleared(Cleared),
    /// A hand edit kept although the scanner blocks it; the next revision must replace it.
    Captured(Captured),
    /// Nothing: the skill is gone, its history stays.
    Tombstone,
}

impl Content {
    /// The files; empty for a tombstone.
    #[must_use]
    pub fn bundle(&self) -> Bundle {
        match self {
            Self::Cleared(cleared) => cleared.bundle().clone(),
            Self::Captured(captured) => captured.bundle().clone(),
            Self::Tombstone => Bundle::default(),
        }
    }

    /// The digest of the files, as the scanner took it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Self::Cleared(cleared) => cleared.digest(),
            Self::Captured(captured) => captured.digest(),
            Self::Tombstone => Bundle::default().digest(),
        }
    }

    /// The version of the rules by which it was scanned.
    #[must_use]
    pub fn ruleset(&self) -> &str {
        match self {
            Self::Cleared(cleared) => &cleared.report().ruleset,
            Self::Captured(captured) => &captured.report().ruleset,
            Self::Tombstone => scan::ruleset(),
        }
    }

    /// The scanner's verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Cleared(cleared) => cleared.report().verdict(),
            Self::Captured(_) => Verdict::Block,
            Self::Tombstone => Verdict::Allow,
        }
    }
}

/// A revision that is to be committed.
#[derive(Debug)]
pub struct NewRevision {
    /// The files.
    pub content: Content,
    /// What makes it.
    pub action: Action,
    /// Who, when, why.
    pub stamp: Stamp,
    /// The release that it is or derives from.
    pub origin: Option<Origin>,
    /// The skill that took this one's content in.
    pub absorbed_into: Option<String>,
    /// The proposal that it was.
    pub acceptance: Option<Acceptance>,
    /// The release that is merged in; it becomes the second parent, so that its files stay at hand.
    pub upstream: Option<Box<Upstream>>,
    /// What stood before that no revision holds.
    pub before: Option<Before>,
}

/// What stood before an operation that no revision holds; it is noted in the event, for `undo`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Before {
    /// The skill's entry in the lock file, as a lock file with nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// Whether a folder without a history stood in the skill's place.
    #[serde(default)]
    pub in_place: bool,
    /// Originals in agents' folders that links replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub originals: Vec<Original>,
    /// Links to the skill that others had placed in agents' folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<PathBuf>,
}

/// A release as its publisher made it.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Its files.
    pub files: Cleared,
    /// Where it came from.
    pub origin: Origin,
}

impl NewRevision {
    /// A revision with neither origin nor lineage.
    #[must_use]
    pub fn new(content: Content, action: Action, stamp: Stamp) -> Self {
        Self {
            content,
            action,
            stamp,
            origin: None,
            absorbed_into: None,
            acceptance: None,
            upstream: None,
            before: None,
        }
    }

    /// The same with an origin.
    #[must_use]
    pub fn with_origin(self, origin: Option<Origin>) -> Self {
        Self { origin, ..self }
    }

    /// Whether a judge should have been asked about what it stores.
    pub(crate) fn is_unjudged(&self) -> bool {
        let own = matches!(&self.content, Content::Cleared(cleared) if cleared.is_unjudged());
        own || self.upstream.as_ref().is_some_and(|upstream| upstream.files.is_unjudged())
    }

    /// The files that it stores: its own, and those of a release that was merged in.
    pub(crate) fn bundles(&self) -> impl Iterator<Item = Bundle> {
        let release = self.upstream.as_ref().map(|upstream| upstream.files.bundle().clone());
        std::iter::once(self.content.bundle()).chain(release)
    }
}

/// How a person names a revision: an id or a unique prefix of one, up to six digits for a number,
/// `head`, or `head~2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevisionSpec {
    /// So many revisions before the newest.
    Head(u64),
    /// The place in the history, from 1.
    Number(u64),
    /// The first digits of the id, at least four.
    Prefix(String),
}

/// The text is no [`RevisionSpec`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} names no revision; use an id or its first digits, a number, `head` or `head~2`")]
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
    fn an_actor_made_from_any_text_can_be_written_and_read_again() {
        for id in ["a\nb\0", &"é".repeat(150), "", ":", " x "] {
            let actor = Actor::new(ActorKind::Agent, id);
            assert_eq!(actor.to_string().parse(), Ok(actor));
        }
    }
}
