//! [`Rule`]: one rule of a user's own policy.

use library::{Action, Actor, ActorKind};
use scan::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::{
    Ruling,
    part::{Class, Part, Proposed},
};

/// Rule of a policy, in the form of the `[[rules]]` tables of a policy file. An omitted field matches everything,
/// except that a rule applies to people only if it names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Ruling on a matching change.
    pub decision: Ruling,
    /// Actors: `agent` (everyone except people), `optimizer`, `person`, or a kind with an id pattern, `agent:ci-*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub actor: Option<ActorFilter>,
    /// Actions. Those that bring or remove a whole skill match only if they are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub actions: Vec<ActionFilter>,
    /// Classes of changed content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub changes: Vec<Class>,
    /// Origin of the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginKind>,
    /// Name pattern of the skill, where `*` matches any characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Lowest verdict on new findings, `allow` or `warn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Reason, shown to the actor whose change is held or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Actors that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorFilter {
    kind: ActorKind,
    id: Option<String>,
}

/// Action that a rule applies to. Several edits of one request are each judged by their own action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionFilter {
    /// Creation of a skill.
    Create,
    /// Replacement of the whole `SKILL.md`.
    Edit,
    /// Replacement of text in a file.
    Patch,
    /// Creation or replacement of a file.
    WriteFile,
    /// Removal of one file.
    RemoveFile,
    /// Deletion of the skill.
    Delete,
    /// Return to an earlier revision.
    Rollback,
    /// Installation of a new skill from a registry or another source.
    Install,
    /// Replacement of an installed skill by another release.
    Update,
    /// Adoption of a folder as a skill.
    Adopt,
    /// Removal of an installed skill.
    Uninstall,
}

/// Kind of a skill's origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OriginKind {
    /// Written or adopted in this library.
    Authored,
    /// Installed from a release or another source, and possibly evolved since.
    Installed,
}

/// Reason why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    /// The rule applies changes by an actor that anybody can claim to be.
    #[error("a rule for {0:?} can only hold or deny, because anybody can claim to be that actor with --actor")]
    Claimed(String),
    /// The rule names the verdict `block`, which never reaches a policy.
    #[error("`verdict` must be allow or warn: no policy can allow what the scanner blocks")]
    Blocked,
}

impl ActorFilter {
    /// Returns the selector of all agents.
    pub(super) fn agents() -> Self {
        Self { kind: ActorKind::Agent, id: None }
    }
}

impl Rule {
    /// Checks that the rule can have its stated effect.
    ///
    /// # Errors
    /// [`RuleError`] for a rule that trusts a claimed actor or can never match.
    pub fn check(&self) -> Result<(), RuleError> {
        let claimed = self.actor.as_ref().filter(|who| who.id.is_some() || who.kind == ActorKind::Optimizer);
        match claimed {
            Some(who) if self.decision == Ruling::Apply => Err(RuleError::Claimed(who.to_string())),
            _ if self.verdict == Some(Verdict::Block) => Err(RuleError::Blocked),
            _ => Ok(()),
        }
    }

    /// Returns whether the rule names an action.
    pub(super) fn names(&self, action: Action) -> bool {
        self.actions.iter().any(|doing| doing.is(action))
    }

    /// Returns whether the rule applies to a part of a change, given its actor and action.
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

impl ActorFilter {
    fn is(&self, actor: &Actor) -> bool {
        let kind = match self.kind {
            ActorKind::Agent => actor.kind != ActorKind::Person,
            kind => kind == actor.kind,
        };
        kind && self.id.as_ref().is_none_or(|pattern| matches(pattern, &actor.id))
    }
}

impl std::fmt::Display for ActorFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.id {
            Some(id) => write!(f, "{}:{id}", self.kind.as_str()),
            None => f.write_str(self.kind.as_str()),
        }
    }
}

impl<'de> Deserialize<'de> for ActorFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (kind, id) = text.split_once(':').map_or((text.as_str(), None), |(kind, id)| (kind, Some(id)));
        let kinds = [ActorKind::Agent, ActorKind::Optimizer, ActorKind::Person];
        match kinds.into_iter().find(|known| known.as_str() == kind) {
            Some(kind) if id != Some("") => Ok(Self { kind, id: id.map(str::to_owned) }),
            _ => Err(serde::de::Error::custom(format!(
                "{text:?} is not an actor; write agent, optimizer or person, or KIND:ID, where `*` matches any \
                 characters"
            ))),
        }
    }
}

impl Serialize for ActorFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ActionFilter {
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

/// Returns whether an action brings a skill from elsewhere or removes such a skill.
pub(super) fn is_of_a_whole_skill(action: Action) -> bool {
    matches!(action, Action::Install | Action::Update | Action::Adopt | Action::Uninstall)
}

/// Returns whether a text matches a pattern, in which `*` stands for any characters.
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
    fn stars_match_any_characters() {
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
