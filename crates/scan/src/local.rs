//! [`Local`]: rules and settings that a user or a company adds to the built-in rules.
//!
//! They apply only to scans by a [`crate::Scanner`] that was created with them, and only on the threads of such a scan.

mod rules;

use std::{cell::Cell, collections::BTreeMap, fmt};

use skill::{Bundle, Digest, SkillPath};

use crate::{
    Acceptance, Evidence, Finding, Rule, Settings, SettingsError,
    capabilities::host_of,
    engine::{Engine, engine},
    settings::RuleText,
};

/// Added rules and settings, checked and compiled.
pub(crate) struct Local {
    pub ruleset: String,
    pub engine: Engine,
    pub rules: &'static [Rule],
    /// Evidence that overrides a rule's own, by rule ID. `None` means that the rule is off.
    evidence: BTreeMap<String, Option<Evidence>>,
    settings: Settings,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("ruleset", &self.ruleset).finish_non_exhaustive()
    }
}

impl Local {
    pub fn new(ruleset: String, settings: &Settings, files: &[RuleText]) -> Result<Self, SettingsError> {
        let settings = settings.checked()?;
        let added = rules::rules(files)?;
        let mut evidence: BTreeMap<_, _> = added.evidence.into_iter().map(|(id, new)| (id, Some(new))).collect();
        let is_rule = |id: &String| crate::rule(id).is_some() || added.rules.contains_key(id);
        let named = settings.severities.keys().map(|id| ("severities", id));
        for (key, id) in named.chain(settings.accepted.iter().map(|accepted| ("accepted", &accepted.rule))) {
            let message = match is_rule(id) {
                true if crate::can_be_waived(id) => continue,
                true => format!("{id} cannot be accepted or disabled"),
                false => format!("unknown rule {id:?}"),
            };
            return Err(SettingsError::Value { key: key.to_owned(), message });
        }
        evidence.extend(settings.severities.iter().map(|(id, weight)| (id.clone(), weight.0.map(Evidence::of))));
        let rules: &'static [Rule] = Box::leak(added.rules.into_values().collect());
        Ok(Self { ruleset, engine: Engine::new(rules), rules, evidence, settings })
    }

    /// Returns the acceptance that the settings give to a finding, if any.
    pub fn acceptance(&self, finding: &Finding, bundle: &Bundle) -> Option<Acceptance> {
        let content = || {
            let file = bundle.get(&SkillPath::parse(&finding.path).ok()?)?;
            Some(Digest::of_bytes(&file.bytes))
        };
        let accepted = self.settings.accepted.iter().find(|accepted| {
            accepted.rule == finding.rule
                && accepted.path.as_ref().is_none_or(|path| *path == finding.path)
                && accepted.content.as_ref().is_none_or(|digest| digest.parse().ok() == content())
        })?;
        Some(Acceptance::of_configuration(&accepted.reason, accepted.until.as_deref()))
    }
}

thread_local! {
    /// Local rules of the scan that runs on this thread.
    static CURRENT: Cell<Option<&'static Local>> = const { Cell::new(None) };
}

/// Guard that restores the previous local rules on drop.
struct Back(Option<&'static Local>);

impl Drop for Back {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs a part of a scan with the given local rules in effect on this thread.
pub(crate) fn during<T>(local: Option<&'static Local>, work: impl FnOnce() -> T) -> T {
    let _back = Back(CURRENT.replace(local));
    work()
}

/// Returns the local rules of the current scan.
pub(crate) fn current() -> Option<&'static Local> {
    CURRENT.get()
}

/// Returns whether a text contains any literal of any rule, built-in or local.
pub(crate) fn touches(text: &str) -> bool {
    engine().touches(text) || current().is_some_and(|local| local.engine.touches(text))
}

/// Returns the evidence of a signal after the current scan's settings, or `None` if they turn the rule off.
pub(crate) fn weighed(rule: &Rule, evidence: Evidence) -> Option<Evidence> {
    match current().and_then(|local| local.evidence.get(rule.id)) {
        None => Some(evidence),
        Some(new) if evidence >= rule.evidence => *new,
        Some(new) => new.map(|new| new.elsewhere(rule.role)),
    }
}

/// Returns whether a host is one of the company's own, to which skills may send data.
pub(crate) fn is_own_host(host: &str) -> bool {
    current().is_some_and(|local| local.settings.own_hosts.iter().any(|own| is_within(host, own)))
}

/// Returns whether a text begins with a host that is one of the company's own package registries.
pub(crate) fn is_own_registry(text: &str) -> bool {
    let is_own = |local: &Local| {
        host_at(text).is_some_and(|host| local.settings.own_registries.iter().any(|own| is_within(&host, own)))
    };
    current().is_some_and(is_own)
}

/// Returns whether a text begins with the host, or the host and path, of one of the company's own installers.
pub(crate) fn is_own_installer(text: &str) -> bool {
    let is_at = |own: &String| match own.contains('/') {
        true => text.strip_prefix(own.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/')),
        false => host_at(text).is_some_and(|host| is_within(&host, own)),
    };
    current().is_some_and(|local| local.settings.own_installers.iter().any(is_at))
}

/// Returns whether a package is one of the company's own.
pub(crate) fn is_own_package(name: &str) -> bool {
    let is_it = |own: &String| own.strip_suffix('*').map_or(name == own, |start| name.starts_with(start));
    current().is_some_and(|local| local.settings.own_packages.iter().any(is_it))
}

/// Returns the host at the beginning of a text.
fn host_at(text: &str) -> Option<String> {
    let ends = |c: char| c.is_whitespace() || "/?#\"'`)]}<>,;|\\".contains(c);
    host_of(text.split(ends).next()?.rsplit('@').next()?)
}

/// Returns whether a host equals `own` or is a subdomain of it. A name without a dot has no subdomains.
fn is_within(host: &str, own: &str) -> bool {
    let before = host.strip_suffix(own);
    before.is_some_and(|before| before.is_empty() || own.contains('.') && before.ends_with('.'))
}
