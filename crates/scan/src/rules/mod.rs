//! The rules as data, by category.

mod afar;
mod agents;
mod betrayal;
mod borrowed;
mod brought;
mod carried;
mod cloud;
mod consent;
mod data;
mod deploy;
mod dialect;
mod disguise;
mod doom;
mod endless;
mod exploits;
mod exposed;
mod fetch;
pub(crate) mod flow;
mod gather;
mod guards;
mod handover;
mod idioms;
pub(crate) mod infrastructure;
mod kits;
mod lasting;
mod leaving;
mod mirror;
pub(crate) mod obfuscation;
pub(crate) mod package;
mod persistence;
mod planted;
mod poisoned;
mod posing;
mod prompt;
mod prose;
pub(crate) mod purpose;
pub(crate) mod remote;
mod ruin;
mod secrets;
mod servers;
mod shell;
pub(crate) mod spy;
mod staged;
mod steering;
pub(crate) mod supply;
mod tamper;
mod unguard;
pub(crate) mod unicode;
mod unsound;
mod veil;

use crate::{Role, Rule, Scope, Severity};
pub(crate) use prose::WEIGHT;

/// What rules about code that comes from elsewhere begin with.
const REMOTE_CODE: Rule = Rule {
    category: "remote-code",
    severity: Severity::High,
    elsewhere: Severity::Medium,
    scope: Scope::Code,
    role: Role::Command,
    remedy: "ship the code in the skill, in the open",
    ..Rule::DEFAULT
};

/// Whether what matched names neither this machine nor a sample, so that it is about another one.
fn is_far(matched: &str) -> bool {
    !["localhost", "127.0.0.1", "[::1]", "host.docker.internal", "example.", ".local"]
        .iter()
        .any(|near| matched.contains(near))
}

/// The rules of all categories.
pub(crate) const ALL: &[&[Rule]] = &[
    afar::RULES,
    agents::RULES,
    betrayal::RULES,
    borrowed::RULES,
    brought::RULES,
    carried::RULES,
    cloud::RULES,
    consent::RULES,
    data::RULES,
    deploy::RULES,
    dialect::RULES,
    endless::RULES,
    exploits::RULES,
    exposed::RULES,
    disguise::RULES,
    doom::RULES,
    fetch::RULES,
    flow::RULES,
    gather::RULES,
    guards::RULES,
    handover::RULES,
    idioms::RULES,
    infrastructure::RULES,
    kits::RULES,
    lasting::RULES,
    leaving::RULES,
    mirror::RULES,
    obfuscation::RULES,
    package::RULES,
    persistence::RULES,
    planted::RULES,
    poisoned::RULES,
    posing::RULES,
    prompt::RULES,
    prose::RULES,
    purpose::RULES,
    remote::RULES,
    ruin::RULES,
    secrets::RULES,
    servers::RULES,
    shell::RULES,
    spy::RULES,
    staged::RULES,
    steering::RULES,
    supply::RULES,
    tamper::RULES,
    unguard::RULES,
    unicode::RULES,
    unsound::RULES,
    veil::RULES,
];

/// The rules that are about concepts.
pub(crate) fn rules_of_prose() -> impl Iterator<Item = &'static Rule> {
    crate::rules().iter().filter(|rule| !rule.senses.is_empty())
}
