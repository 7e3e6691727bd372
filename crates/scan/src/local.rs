//! [`Local`]: what a user or a company adds to our rules.
//!
//! It holds for the scans that a [`crate::Scanner`] does with it, and for the threads of one such scan alone.

mod rules;

use std::{cell::Cell, collections::BTreeMap, fmt};

use skill::{Bundle, Digest, SkillPath};

use crate::{
    Acceptance, Evidence, Finding, Rule, Settings, SettingsError,
    capabilities::host_of,
    engine::{Engine, engine},
};

/// What is added.
pub(crate) struct Local {
    pub ruleset: String,
    pub engine: Engine,
    pub rules: &'static [Rule],
    /// What rules prove, where it is not what they say; nothing for those that are off.
    evidence: BTreeMap<String, Option<Evidence>>,
    settings: Settings,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("ruleset", &self.ruleset).finish_non_exhaustive()
    }
}

impl Local {
    pub fn new(ruleset: String, settings: &Settings, files: &[(String, String)]) -> Result<Self, SettingsError> {
        let settings = settings.checked()?;
        let added = rules::rules(files)?;
        let mut evidence: BTreeMap<_, _> = added.evidence.into_iter().map(|(id, new)| (id, Some(new))).collect();
        let is_rule = |id: &String| crate::rule(id).is_some() || added.rules.contains_key(id);
        let named = settings.severities.keys().map(|id| ("severities", id));
        for (key, id) in named.chain(settings.accepted.iter().map(|accepted| ("accepted", &accepted.rule))) {
            let message = match is_rule(id) {
                true if crate::can_be_waived(id) => continue,
                true => format!("{id}: it can be neither accepted nor switched off"),
                false => format!("there is no rule {id:?}"),
            };
            return Err(SettingsError::Value { key: key.to_owned(), message });
        }
        evidence.extend(settings.severities.iter().map(|(id, weight)| (id.clone(), weight.0.map(Evidence::of))));
        let rules: &'static [Rule] = Box::leak(added.rules.into_values().collect());
        Ok(Self { ruleset, engine: Engine::new(rules), rules, evidence, settings })
    }

    /// What the settings accept of a finding.
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
    /// What is added to the rules of the scan that this thread is at.
    static CURRENT: Cell<Option<&'static Local>> = const { Cell::new(None) };
}

/// Puts back what was added before.
struct Back(Option<&'static Local>);

impl Drop for Back {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Does some work of a scan with what is added to its rules.
pub(crate) fn during<T>(local: Option<&'static Local>, work: impl FnOnce() -> T) -> T {
    let _back = Back(CURRENT.replace(local));
    work()
}

/// What is added to the rules of the scan at hand.
pub(crate) fn current() -> Option<&'static Local> {
    CURRENT.get()
}

/// Whether a text holds anything that a rule looks for.
pub(crate) fn touches(text: &str) -> bool {
    engine().touches(text) || current().is_some_and(|local| local.engine.touches(text))
}

/// What a signal of a rule proves, by the settings of the scan at hand; nothing where the rule is off.
pub(crate) fn weighed(rule: &Rule, evidence: Evidence) -> Option<Evidence> {
    match current().and_then(|local| local.evidence.get(rule.id)) {
        None => Some(evidence),
        Some(new) if evidence >= rule.evidence => *new,
        Some(new) => new.map(|new| new.elsewhere(rule.role)),
    }
}

/// Whether a host is the company's own, so that skills may send there.
pub(crate) fn is_own_host(host: &str) -> bool {
    current().is_some_and(|local| local.settings.own_hosts.iter().any(|own| is_within(host, own)))
}

/// Whether packages of the company's own come from the host with which a text begins.
pub(crate) fn is_own_registry(text: &str) -> bool {
    let is_own = |local: &Local| {
        host_at(text).is_some_and(|host| local.settings.own_registries.iter().any(|own| is_within(&host, own)))
    };
    current().is_some_and(is_own)
}

/// Whether a text begins with a host, and a path, of the company's own installers.
pub(crate) fn is_own_installer(text: &str) -> bool {
    let is_at = |own: &String| match own.contains('/') {
        true => text.strip_prefix(own.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/')),
        false => host_at(text).is_some_and(|host| is_within(&host, own)),
    };
    current().is_some_and(|local| local.settings.own_installers.iter().any(is_at))
}

/// Whether a package is the company's own.
pub(crate) fn is_own_package(name: &str) -> bool {
    let is_it = |own: &String| own.strip_suffix('*').map_or(name == own, |start| name.starts_with(start));
    current().is_some_and(|local| local.settings.own_packages.iter().any(is_it))
}

/// The host with which a text begins.
fn host_at(text: &str) -> Option<String> {
    let ends = |c: char| c.is_whitespace() || "/?#\"'`)]}<>,;|\\".contains(c);
    host_of(text.split(ends).next()?.rsplit('@').next()?)
}

/// Whether a host is one, or stands below it. A name without a dot stands for itself alone.
fn is_within(host: &str, own: &str) -> bool {
    let before = host.strip_suffix(own);
    before.is_some_and(|before| before.is_empty() || own.contains('.') && before.ends_with('.'))
}
