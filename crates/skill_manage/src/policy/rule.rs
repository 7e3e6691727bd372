//! [`Rule`]: one line of a person's own policy.

use library::{Action, Actor, ActorKind};
use scan::Verdict;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::{
    Ruling,
    part::{Class, Part, Proposed},
};

/// A rule as the tables `[[rules]]` of a policy file have it. What is left out fits everything, but
/// people: a rule is about them only where it says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What becomes of a change that fits.
    pub decision: Ruling,
    /// Who: `agent` (all who are no person), `optimizer`, `person`, or one of a kind by its id, `agent:ci-*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Who>,
    /// Doing what. What brings or takes a whole skill is only meant where it is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Doing>,
    /// To what kind of thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Class>,
    /// In skills from where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginKind>,
    /// In which skills: a name, where `*` stands for any characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// From which verdict on new findings on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why, for whoever is held or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Who a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    kind: ActorKind,
    id: Option<String>,
}

/// What a rule is about doing. Several edits of one request are each judged by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// A new skill.
    Create,
    /// The whole `SKILL.md`.
    Edit,
    /// A piece of a file.
    Patch,
    /// A whole file.
    WriteFile,
    /// A file away.
    RemoveFile,
    /// The skill away.
    Delete,
    /// An earlier revision back.
    Rollback,
    /// A skill from a registry or another source, that is not here yet.
    Install,
    /// Another release over an installed one.
    Update,
    /// A folder taken over as a skill.
    Adopt,
    /// An installed skill away.
    Uninstall,
}

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OriginKind {
    /// Written or adopted here.
    Authored,
    /// A release, or another source, that may have evolved here.
    Installed,
}

/// Why a rule cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    /// Whoever acts says so, and anybody may say so.
    #[error(
        "a rule that applies changes cannot be for {0:?}: anybody may claim that with --actor; \
         such a rule can hold or deny"
    )]
    Claimed(String),
    /// What is blocked never comes before a policy.
    #[error("`verdict` is allow or warn; what the scanner blocks is refused whatever a policy says")]
    Blocked,
}

impl Who {
    /// All agents.
    pub(super) fn agents() -> Self {
        Self { kind: ActorKind::Agent, id: None }
    }
}

impl Rule {
    /// Refuses what could not mean what it says.
    ///
    /// # Errors
    /// [`RuleError`]
    pub fn check(&self) -> Result<(), RuleError> {
        let claimed = self.actor.as_ref().filter(|who| who.id.is_some() || who.kind == ActorKind::Optimizer);
        match claimed {
            Some(who) if self.decision == Ruling::Apply => Err(RuleError::Claimed(who.to_string())),
            _ if self.verdict == Some(Verdict::Block) => Err(RuleError::Blocked),
            _ => Ok(()),
        }
    }

    /// Whether it names an action.
    pub(super) fn names(&self, action: Action) -> bool {
        self.actions.iter().any(|doing| doing.is(action))
    }

    /// Whether it is about a part of a change that an actor wants by an action.
    pub(super) fn fits(&self, actor: &Actor, action: Action, part: &Part<'_>, change: &Proposed<'_>) -> bool {
        let is_person = actor.kind == ActorKind::Person;
        self.actor.as_ref().map_or(!is_person, |who| who.is(actor))
            && (self.names(action) || self.actions.is_empty() && !is_of_a_whole_skill(action))
            && (self.changes.is_empty() || self.changes.iter().any(|class| [part.class, Class::Any].contains(class)))
            && self.origin.is_none_or(|from| (from == OriginKind::Installed) == change.origin.is_some())
            && self.skill.as_ref().is_none_or(|pattern| matches(pattern, change.skill))
            && self.verdict.is_none_or(|least| change.verdict >= least)
    }
}

impl Who {
    fn is(&self, actor: &Actor) -> bool {
        let kind = match self.kind {
            ActorKind::Agent => actor.kind != ActorKind::Person,
            kind => kind == actor.kind,
        };
        kind && self.id.as_ref().is_none_or(|pattern| matches(pattern, &actor.id))
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.id {
            Some(id) => write!(f, "{}:{id}", self.kind.as_str()),
            None => f.write_str(self.kind.as_str()),
        }
    }
}

impl<'de> Deserialize<'de> for Who {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (kind, id) = text.split_once(':').map_or((text.as_str(), None), |(kind, id)| (kind, Some(id)));
        let kinds = [ActorKind::Agent, ActorKind::Optimizer, ActorKind::Person];
        match kinds.into_iter().find(|known| known.as_str() == kind) {
            Some(kind) if id != Some("") => Ok(Self { kind, id: id.map(str::to_owned) }),
            _ => Err(serde::de::Error::custom(format!(
                "{text:?} is no actor of a rule; write agent, optimizer or person, or KIND:ID where `*` stands for \
                 any characters"
            ))),
        }
    }
}

impl Serialize for Who {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Doing {
    fn is(self, action: Action) -> bool {
        let meant = match self {
            Self::Create => Action::Create,
            Self::Edit => Action::Edit,
            Self::Patch => Action::Patch,
            Self::WriteFile => Action::WriteFile,
            Self::RemoveFile => Action::RemoveFile,
            Self::Delete => Action::Delete,
            Self::Rollback => Action::Rollback,
            Self::Install => Action::Install,
            Self::Update => Action::Update,
            Self::Adopt => Action::Adopt,
            Self::Uninstall => Action::Uninstall,
        };
        meant == action
    }
}

/// Whether an action brings a skill from elsewhere or takes such a one away.
pub(super) fn is_of_a_whole_skill(action: Action) -> bool {
    matches!(action, Action::Install | Action::Update | Action::Adopt | Action::Uninstall)
}

/// Whether a text is as a pattern says, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, text) in
            [("*", ""), ("*", "a"), ("ci-*", "ci-"), ("*-x", "a-x"), ("a*b*c", "a1b2c"), ("a**", "ab")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("ci-*", "xci-"), ("a*b*c", "acb"), ("a*a", "a"), ("", "a"), ("A*", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
