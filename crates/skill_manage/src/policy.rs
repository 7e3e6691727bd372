//! [`Policy`]: what becomes of a change that the scanner let through.
//!
//! A policy has layers: the user's, and those that can only tighten it. Each layer is a list of rules and
//! a preset. A change is cut into its [`Part`]s, one for each kind of thing that each file is; in a layer
//! the first rule that fits a part decides about it, else the preset; the strictest answer over all parts,
//! all edits of the request and all layers is the decision. So no part is freed by a rule for another one,
//! and no layer by another layer.

mod edits;
mod part;
mod rule;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

use library::{Action, Actor, ActorKind, Denied, WholeChange};
use scan::Verdict;
use serde::{Deserialize, Serialize};
use skill::diff;
use thiserror::Error;

pub use part::Class;
pub(crate) use part::Proposed;
use part::{Part, parts};
use rule::Who;
pub use rule::{Rule, RuleError};

/// How much agents may change without a person, where no rule of their own says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Preset {
    /// Whatever the scanner lets through.
    Open,
    /// Text at once; what can run or widen rights only when the scanner has nothing to say.
    #[default]
    Balanced,
    /// Nothing.
    Strict,
}

/// The text is no [`Preset`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no policy; it is one of open, balanced, strict")]
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

/// What a rule says of a change, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// It becomes a revision.
    Apply,
    /// A person looks at it first.
    Hold,
    /// It is refused.
    Deny,
}

/// One file's part of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Where it is written, for messages.
    pub file: String,
    /// What decides where no rule fits; without one, nothing is held here.
    pub preset: Option<Preset>,
    /// The rules, the first that fits going before all others.
    pub rules: Vec<Rule>,
}

/// What holds for changes: the user's layer, and others that can only tighten it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    layers: Vec<Layer>,
}

/// What the policy says, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It becomes a revision: by which part of the policy.
    Apply(String),
    /// A person must look at it first: why.
    Hold(String),
    /// It is refused: why.
    Refuse(String),
}

impl From<Preset> for Policy {
    fn from(preset: Preset) -> Self {
        Self::new(Layer { file: "the default".to_owned(), preset: Some(preset), rules: Vec::new() }, Vec::new())
    }
}

impl Default for Policy {
    fn default() -> Self {
        Preset::default().into()
    }
}

impl Policy {
    /// The user's layer and those that tighten it.
    #[must_use]
    pub fn new(own: Layer, others: Vec<Layer>) -> Self {
        Self { layers: std::iter::once(own).chain(others).collect() }
    }

    /// The same for an agent that changes skills only where self-evolution is on.
    #[must_use]
    pub fn with_evolution(mut self, is_on: bool) -> Self {
        self.layers.extend((!is_on).then(Layer::without_evolution));
        self
    }

    /// The policy for the gate, which acts on terms that people set: rules apply, presets for agents do not.
    #[must_use]
    pub fn for_gate(&self) -> Self {
        let layers = self.layers.iter().map(|layer| Layer { preset: None, ..layer.clone() });
        Self { layers: layers.collect() }
    }

    /// The layers, the user's first.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Decides about an install, update, adoption or uninstall that an actor wants, or about an undo. Presets leave the
    /// former alone; rules apply that name them. An undo is judged as an edit with the same result. None of them can
    /// wait: what would hold one refuses it.
    ///
    /// # Errors
    /// [`Denied`], with the rule.
    pub fn permit(&self, actor: &Actor, change: &WholeChange<'_>) -> Result<(), Denied> {
        let mut rules = self.layers.iter().flat_map(|layer| &layer.rules);
        if rule::is_of_a_whole_skill(change.action) && !rules.any(|rule| rule.names(change.action)) {
            return Ok(());
        }
        let files = diff::diff(change.before, change.after).files;
        let (actions, states) = ([change.action], (change.before, change.after));
        let proposed = Proposed::new(change.skill.as_str(), (&actions, change.origin), states, &files, change.verdict);
        match self.decide(actor, &proposed) {
            Decision::Apply(_) => Ok(()),
            Decision::Hold(why) | Decision::Refuse(why) => {
                Err(Denied { skill: change.skill.clone(), action: change.action, why })
            }
        }
    }

    /// Decides about a change that an actor wants.
    pub(crate) fn decide(&self, actor: &Actor, change: &Proposed<'_>) -> Decision {
        let mut strictest: Option<(Ruling, String)> = None;
        for part in parts(change) {
            for action in change.actions {
                let rulings = self.layers.iter().filter_map(|layer| layer.rule(actor, *action, &part, change));
                for (ruling, why) in rulings {
                    if strictest.as_ref().is_none_or(|(known, _)| ruling > *known) {
                        strictest = Some((ruling, why));
                    }
                }
            }
        }
        match strictest.unwrap_or((Ruling::Apply, "nothing is touched".to_owned())) {
            (Ruling::Apply, why) => Decision::Apply(why),
            (Ruling::Hold, why) => Decision::Hold(why),
            (Ruling::Deny, why) => Decision::Refuse(why),
        }
    }
}

impl Layer {
    /// Refuses what agents change, as where self-evolution is off.
    #[must_use]
    pub fn without_evolution() -> Self {
        let rule = Rule {
            decision: Ruling::Deny,
            actor: Some(Who::agents()),
            actions: Vec::new(),
            changes: Vec::new(),
            origin: None,
            skill: None,
            verdict: None,
            why: Some("agents change no skills while skill_evolution is off".to_owned()),
        };
        Self { file: "`[skill_evolution]` in config.toml".to_owned(), preset: None, rules: vec![rule] }
    }

    /// What this layer says of one part; `None` where it says nothing.
    fn rule(&self, actor: &Actor, action: Action, part: &Part<'_>, change: &Proposed<'_>) -> Option<(Ruling, String)> {
        let fitting = self.rules.iter().enumerate().find(|(_, rule)| rule.fits(actor, action, part, change));
        match (fitting, self.preset) {
            (Some((at, rule)), _) => Some((rule.decision, self.told(at, rule, part))),
            (None, preset) => preset.map(|preset| preset.rule(actor.kind, action, part, change)),
        }
    }

    fn told(&self, at: usize, rule: &Rule, part: &Part<'_>) -> String {
        let word = match rule.decision {
            Ruling::Apply => "applies",
            Ruling::Hold => "holds",
            Ruling::Deny => "denies",
        };
        let why = rule.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("rule {} of {} {word} a change of {} ({}){why}", at + 1, self.file, part.path, part.class)
    }
}

impl Preset {
    /// Presets govern edits and rollbacks alike. A deletion can be taken back: it applies outside of `strict`.
    fn rule(self, actor: ActorKind, action: Action, part: &Part<'_>, change: &Proposed<'_>) -> (Ruling, String) {
        let applied = |why: String| (Ruling::Apply, why);
        if actor == ActorKind::Person {
            return applied("changes by people are applied".to_owned());
        }
        if action == Action::Delete && self != Self::Strict || rule::is_of_a_whole_skill(action) {
            return applied(format!("the policy `{self}` is about edits alone"));
        }
        match self {
            Self::Strict => (Ruling::Hold, "the policy `strict` holds every change that an agent makes".to_owned()),
            Self::Balanced if part.class == Class::Evals && change.moves_its_evals() => {
                (Ruling::Hold, "evals change together with what they judge".to_owned())
            }
            Self::Balanced if part.class.is_delicate() && !part.removed && change.verdict >= Verdict::Warn => {
                let why = format!("{} can run or widen rights, and the scanner warns of it", part.path);
                (Ruling::Hold, why)
            }
            Self::Balanced if part.class.is_script() && !part.removed => match change.new_privilege() {
                Some(privilege) => {
                    (Ruling::Hold, format!("its scripts gain a power that a person allows: {privilege}"))
                }
                None => applied(format!("the policy `{self}` applies it")),
            },
            Self::Open | Self::Balanced => applied(format!("the policy `{self}` applies it")),
        }
    }
}
