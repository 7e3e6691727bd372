//! [`CapabilityDelta`]: the difference between the capabilities of two states of a skill.

use std::{collections::HashMap, fmt};

use serde::Serialize;
use skill::Bundle;

use super::{Capabilities, Part, Use, capabilities};
use crate::excerpt;

/// One capability of a skill, without its locations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// `network`, `runs`, `reads`, `writes`, `variable`, `lasting`, `power` or `tool`.
    pub kind: &'static str,
    /// Its name, with invisible characters shown, cut to [`EXCERPT_CHARS`](crate::EXCERPT_CHARS).
    pub what: String,
    /// True if only running text names it, and no code uses it.
    pub in_text: bool,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.in_text { " (in text)" } else { "" };
        write!(f, "{} {}{place}", self.kind, self.what)
    }
}

/// The capabilities added and removed between two states of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CapabilityDelta {
    /// Capabilities that only the later state has, including those that only running text named before and code uses
    /// now.
    #[serde(rename = "capabilities_added")]
    pub added: Vec<Capability>,
    /// Capabilities that only the earlier state has.
    #[serde(rename = "capabilities_removed")]
    pub removed: Vec<Capability>,
    /// True if both summaries are complete. Otherwise there may be further differences.
    #[serde(rename = "capabilities_complete")]
    pub complete: bool,
}

impl CapabilityDelta {
    /// Compares two states of a skill. Returns `None` if either has no files, as before a first install.
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
    /// Returns all capabilities by kind, except files within the skill and the agent's working directory.
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

    /// Compares these capabilities with those of an earlier state.
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

/// Returns the capabilities of the first list that are missing in the second, or that only text names there while code
/// uses them in the first.
fn not_in(these: &[Capability], others: &[Capability]) -> Vec<Capability> {
    let others: HashMap<_, _> = others.iter().map(|one| ((one.kind, one.what.as_str()), one.in_text)).collect();
    let is_new = |one: &&Capability| match others.get(&(one.kind, one.what.as_str())) {
        Some(in_text) => *in_text && !one.in_text,
        None => true,
    };
    these.iter().filter(is_new).cloned().collect()
}
