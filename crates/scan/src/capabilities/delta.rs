//! [`CapabilityDelta`]: what one state of a skill would touch and the state before would not.

use std::{collections::HashMap, fmt};

use serde::Serialize;
use skill::Bundle;

use super::{Capabilities, Part, Use, capabilities};
use crate::excerpt;

/// One thing that a skill would touch, without its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// `network`, `runs`, `reads`, `writes`, `variable`, `lasting`, `power` or `tool`.
    pub kind: &'static str,
    /// Its name, with invisible characters shown, cut to [`EXCERPT_CHARS`](crate::EXCERPT_CHARS).
    pub what: String,
    /// Whether running text alone names it, and no code.
    pub in_text: bool,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.in_text { " (in text)" } else { "" };
        write!(f, "{} {}{place}", self.kind, self.what)
    }
}

/// What differs between the capabilities of two states of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CapabilityDelta {
    /// What the later state would touch besides; what text alone named before and code uses now counts.
    #[serde(rename = "capabilities_added")]
    pub added: Vec<Capability>,
    /// What it would touch no more.
    #[serde(rename = "capabilities_removed")]
    pub removed: Vec<Capability>,
    /// Whether both states were summed up whole, so that nothing else differs.
    #[serde(rename = "capabilities_complete")]
    pub complete: bool,
}

impl CapabilityDelta {
    /// Compares two states of a skill; `None` where either has no files, as before a first install.
    #[must_use]
    pub fn between(before: &Bundle, after: &Bundle) -> Option<Self> {
        let is_change = !before.is_empty() && !after.is_empty();
        is_change.then(|| match before == after {
            true => Self { added: Vec::new(), removed: Vec::new(), complete: true },
            false => capabilities(after).since(&capabilities(before)),
        })
    }
}

impl Capabilities {
    /// All of it, kind by kind, but files of the skill itself and of the folder in which the agent works.
    #[must_use]
    pub fn listed(&self) -> Vec<Capability> {
        let kinds = [
            ("network", &self.hosts),
            ("runs", &self.commands),
            ("writes", &self.writes),
            ("reads", &self.reads),
            ("variable", &self.environment),
            ("lasting", &self.persistence),
            ("power", &self.privileges),
        ];
        let one = |kind, used: &Use| Capability { kind, what: used.what.clone(), in_text: used.part == Part::Text };
        let uses = kinds.into_iter().flat_map(|(kind, uses)| uses.iter().map(move |used| (kind, used)));
        let uses = uses.filter(|(_, used)| used.outside != Some(false)).map(|(kind, used)| one(kind, used));
        let tools = self.allowed_tools.iter().flatten().map(|tool| excerpt::visible(tool));
        uses.chain(tools.map(|what| Capability { kind: "tool", what, in_text: false })).collect()
    }

    /// What differs from those of an earlier state.
    #[must_use]
    pub fn since(&self, before: &Self) -> CapabilityDelta {
        let (before_listed, listed) = (before.listed(), self.listed());
        CapabilityDelta {
            added: not_in(&listed, &before_listed),
            removed: not_in(&before_listed, &listed),
            complete: self.complete && before.complete,
        }
    }
}

/// Those of the first list that the second has not, or has in text alone while code has them in the first.
fn not_in(these: &[Capability], others: &[Capability]) -> Vec<Capability> {
    let others: HashMap<_, _> = others.iter().map(|one| ((one.kind, one.what.as_str()), one.in_text)).collect();
    let is_new = |one: &&Capability| match others.get(&(one.kind, one.what.as_str())) {
        Some(in_text) => *in_text && !one.in_text,
        None => true,
    };
    these.iter().filter(is_new).cloned().collect()
}
