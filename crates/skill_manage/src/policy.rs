//! [`Policy`]: the decision to apply, hold or refuse a change that passed the scanner.
//!
//! A policy has layers: that of the user, and others that can only tighten it. Each layer is a list of rules and a
//! preset. A change is divided into [`Part`]s, one for each class of each file. Within a layer, the first matching rule
//! decides about a part, or else the preset. The strictest result over all parts, all edits of the request and all
//! layers is the decision. No part is therefore freed by a rule for another one, and no layer by another layer.

mod edits;
mod part;
mod rule;
#[cfg(test)]
mod tests;

use std::{cell::OnceCell, fmt, str::FromStr};

use library::{Action, Actor, ActorKind, Denied, SkillChange};
use scan::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::diff;
use thiserror::Error;

pub use part::Class;
pub(crate) use part::Proposed;
use part::{Part, parts};
use rule::ActorFilter;
pub use rule::{Rule, RuleError};

/// Default freedom of agents, where no rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Preset {
    /// Everything that passes the scanner is applied.
    Open,
    /// Text is applied at once. Changes that can run or widen rights are applied only if the scanner has no finding.
    #[default]
    Balanced,
    /// Every change is held.
    Strict,
}

/// Text that is not a valid [`Preset`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a policy; use open, balanced or strict")]
pub struct PresetError(pub String);

impl FromStr for Preset {
    type Err = PresetError;
    fn from_str(text: &str) -> Result<Self, PresetError> {
        match text {
            "open" => Ok(Self::Open),
            "balanced" => Ok(Self::Balanced),
            "strict" => Ok(Self::Strict),
            other => Err(PresetError(other.to_owned())),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
        })
    }
}

/// Result of a rule for a change, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// The change becomes a revision.
    Apply,
    /// The change waits for a person.
    Hold,
    /// The change is refused.
    Deny,
}

/// Part of a policy that comes from one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// File that defines the layer, for messages.
    pub file: String,
    /// Fallback where no rule matches. Without one, this layer holds nothing.
    pub preset: Option<Preset>,
    /// Rules in order. The first match decides.
    pub rules: Vec<Rule>,
    /// Reason for what the preset holds, if it is not a setting of the user.
    pub why: Option<&'static str>,
}

/// Layered policy on changes: the user's layer, and others that can only tighten it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    layers: Vec<Layer>,
}

/// Decision of the policy, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub ruling: Ruling,
    /// Part of the policy that decides, or what it finds in the change.
    pub why: String,
}

impl Decision {
    /// Returns the stricter of two decisions, this one if they are equally strict.
    fn or_stricter(self, other: Self) -> Self {
        if other.ruling > self.ruling { other } else { self }
    }

    /// Returns the reason of a decision that holds or refuses the change.
    pub fn objection(self) -> Option<String> {
        (self.ruling != Ruling::Apply).then_some(self.why)
    }
}

impl From<Preset> for Policy {
    fn from(preset: Preset) -> Self {
        Self::new(
            Layer { file: "the default".to_owned(), preset: Some(preset), rules: Vec::new(), why: None },
            Vec::new(),
        )
    }
}

impl Default for Policy {
    fn default() -> Self {
        Preset::default().into()
    }
}

impl Policy {
    /// Combines the user's layer with layers that tighten it.
    #[must_use]
    pub fn new(own: Layer, others: Vec<Layer>) -> Self {
        Self { layers: std::iter::once(own).chain(others).collect() }
    }

    /// Returns the policy for an agent, which may change no skills if a table of config.toml disables self-evolution.
    #[must_use]
    pub fn with_evolution_off(mut self, table: Option<&str>) -> Self {
        self.layers.extend(table.map(Layer::without_evolution));
        self
    }

    /// Returns the policy with a layer that holds every change of programs for a person. `command` names the layer, and
    /// `why` is the reason in its proposals.
    #[must_use]
    pub fn holding(mut self, command: &str, why: &'static str) -> Self {
        let (file, preset) = (command.to_owned(), Some(Preset::Strict));
        self.layers.push(Layer { file, preset, rules: Vec::new(), why: Some(why) });
        self
    }

    /// Returns the policy for the gate, which acts on terms set by people: rules apply, presets for agents do not.
    #[must_use]
    pub fn for_gate(&self) -> Self {
        let layers = self.layers.iter().map(|layer| Layer { preset: None, ..layer.clone() });
        Self { layers: layers.collect() }
    }

    /// Returns the layers, the user's first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Decides about an install, update, adoption or uninstall by an actor, or about an undo.
    ///
    /// For the former, presets do not apply, and rules only if they name the action. An undo is judged as an edit with
    /// the same result. None of these can be held, so a rule that would hold one refuses it.
    ///
    /// # Errors
    /// [`Denied`], with the rule.
    pub fn permit(&self, actor: &Actor, change: &SkillChange<'_>) -> Result<(), Denied> {
        let mut rules = self.layers.iter().flat_map(|layer| &layer.rules);
        if rule::is_of_a_whole_skill(change.action) && !rules.any(|rule| rule.names(change.action)) {
            return Ok(());
        }
        let files = diff::diff(change.before, change.after).files;
        let proposed = Proposed {
            skill: change.skill.as_str(),
            actions: &[change.action],
            origin: change.origin,
            before: change.before,
            after: change.after,
            files: &files,
            verdict: change.verdict,
            privilege: OnceCell::new(),
        };
        match self.decide(actor, &proposed).objection() {
            None => Ok(()),
            Some(why) => Err(Denied { skill: change.skill.clone(), action: change.action, why }),
        }
    }

    /// Decides about a change by an actor. A change that no layer covers is applied, since layers only restrict.
    pub(crate) fn decide(&self, actor: &Actor, change: &Proposed<'_>) -> Decision {
        let mut decisions = Vec::new();
        for part in parts(change) {
            for action in change.actions {
                decisions.extend(self.layers.iter().filter_map(|layer| layer.rule(actor, *action, &part, change)));
            }
        }
        let uncovered = || Decision { ruling: Ruling::Apply, why: "the change touches no files".to_owned() };
        decisions.into_iter().reduce(Decision::or_stricter).unwrap_or_else(uncovered)
    }
}

impl Layer {
    /// Returns a layer that refuses all changes by agents, for self-evolution that a table of config.toml disables.
    #[must_use]
    fn without_evolution(table: &str) -> Self {
        let rule = Rule {
            decision: Ruling::Deny,
            actor: Some(ActorFilter::agents()),
            actions: Vec::new(),
            changes: Vec::new(),
            origin: None,
            skill: None,
            verdict: None,
            why: Some("agents cannot change skills while skill_evolution is off".to_owned()),
        };
        Self { file: format!("`{table}` in config.toml"), preset: None, rules: vec![rule], why: None }
    }

    /// Returns the ruling of this layer on one part, or `None` if the layer does not cover it.
    fn rule(&self, actor: &Actor, action: Action, part: &Part<'_>, change: &Proposed<'_>) -> Option<Decision> {
        let fitting = self.rules.iter().enumerate().find(|(_, rule)| rule.fits(actor, action, part, change));
        match (fitting, self.preset) {
            (Some((at, rule)), _) => Some(Decision { ruling: rule.decision, why: self.describe_rule(at, rule, part) }),
            (None, preset) => preset.map(|preset| {
                let (ruling, why) = preset.rule(actor.kind, action, part, change);
                Decision { ruling, why: self.why.filter(|_| ruling == Ruling::Hold).map_or(why, str::to_owned) }
            }),
        }
    }

    fn describe_rule(&self, at: usize, rule: &Rule, part: &Part<'_>) -> String {
        let word = match rule.decision {
            Ruling::Apply => "applies",
            Ruling::Hold => "holds",
            Ruling::Deny => "denies",
        };
        let why = rule.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("rule {} of {} {word} changes to {} ({}){why}", at + 1, self.file, part.path, part.class)
    }
}

impl Preset {
    /// Returns the preset's ruling. Edits and rollbacks are treated alike. A deletion is applied except under `strict`,
    /// since it can be undone.
    fn rule(self, actor: ActorKind, action: Action, part: &Part<'_>, change: &Proposed<'_>) -> (Ruling, String) {
        let applied = |why: String| (Ruling::Apply, why);
        if actor == ActorKind::Person {
            return applied("changes by people are applied".to_owned());
        }
        if action == Action::Delete && self != Self::Strict || rule::is_of_a_whole_skill(action) {
            return applied(format!("the policy `{self}` covers only edits"));
        }
        match self {
            Self::Strict => (Ruling::Hold, "the policy `strict` holds every change by an agent".to_owned()),
            Self::Balanced if part.class == Class::Evals && change.moves_its_evals() => {
                (Ruling::Hold, "the change edits evals together with the content that they test".to_owned())
            }
            Self::Balanced if part.class.is_delicate() && !part.removed && change.verdict >= Verdict::Warn => {
                let why = format!("{} can run code or extend permissions, and the scanner warns about it", part.path);
                (Ruling::Hold, why)
            }
            Self::Balanced if part.class.is_script() && !part.removed => match change.new_privilege() {
                Some(privilege) => {
                    (Ruling::Hold, format!("its scripts gain a capability that a person must approve: {privilege}"))
                }
                None => applied(format!("the policy `{self}` allows it")),
            },
            Self::Open | Self::Balanced => applied(format!("the policy `{self}` allows it")),
        }
    }
}
