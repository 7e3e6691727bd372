//! The rules as data, by category.

mod agents;
mod betrayal;
mod data;
mod deploy;
mod dialect;
mod disguise;
mod doom;
mod fetch;
pub(crate) mod flow;
mod gather;
pub(crate) mod infrastructure;
mod lasting;
mod mirror;
pub(crate) mod obfuscation;
pub(crate) mod package;
mod persistence;
mod prompt;
mod prose;
pub(crate) mod remote;
mod ruin;
mod secrets;
mod shell;
pub(crate) mod spy;
mod staged;
pub(crate) mod supply;
mod tamper;
mod unguard;
pub(crate) mod unicode;
mod veil;

use crate::Rule;
pub(crate) use prose::WEIGHT;

/// The rules of all categories.
pub(crate) const ALL: &[&[Rule]] = &[
    agents::RULES,
    betrayal::RULES,
    data::RULES,
    deploy::RULES,
    dialect::RULES,
    disguise::RULES,
    doom::RULES,
    fetch::RULES,
    flow::RULES,
    gather::RULES,
    infrastructure::RULES,
    lasting::RULES,
    mirror::RULES,
    obfuscation::RULES,
    package::RULES,
    persistence::RULES,
    prompt::RULES,
    prose::RULES,
    remote::RULES,
    ruin::RULES,
    secrets::RULES,
    shell::RULES,
    spy::RULES,
    staged::RULES,
    supply::RULES,
    tamper::RULES,
    unguard::RULES,
    unicode::RULES,
    veil::RULES,
];

/// The rules that are about concepts.
pub(crate) fn rules_of_prose() -> impl Iterator<Item = &'static Rule> {
    crate::rules().iter().filter(|rule| !rule.senses.is_empty())
}
