//! Downgrade of redirected traffic ([`lower`]) for skills that openly configure a gateway, which the user chose along
//! with the skill.

use skill::Bundle;

use super::{TOLD, sentences};
use crate::{
    Evidence,
    capabilities::host_of,
    finder::Finder,
    hosts::{addresses, domain_of, is_told},
    rules::TRAFFIC_REDIRECTED,
    source::Source,
};

/// Words in a description that announce a gateway, proxy or provider.
const ABOUT: &[&str] =
    &["gateway", "proxy", "proxies", "base url", "base_url", "endpoint", "route", "provider", "relay", "网关", "代理"];

/// Settings files that agents apply without confirmation.
const SETTINGS: &[&str] = &[".claude/settings", ".claude.json", ".codex/config", ".gemini/settings"];

/// Lowers the evidence of redirected traffic to a warning if the skill discloses its gateway.
pub(crate) fn lower(bundle: &Bundle, sources: &[&Source<'_>], finder: &mut Finder) {
    let is_meant = |rule: &str| rule == TRAFFIC_REDIRECTED.id;
    if !finder.signals().iter().any(|signal| is_meant(signal.rule.id)) {
        return;
    }
    let front = bundle.frontmatter().unwrap_or_default();
    let description = front.description.as_deref().unwrap_or_default().to_lowercase();
    let own = sources.iter().find(|source| source.path == skill::SkillPath::SKILL_MD);
    let said = own.map(|source| sentences(source)).unwrap_or_default();
    for signal in finder.signals_mut().iter_mut().filter(|signal| is_meant(signal.rule.id)) {
        let source = sources.iter().find(|source| source.path == signal.path);
        let line = source.map_or("", |source| source.line(signal.line.saturating_sub(1)));
        if is_told_gateway(line, &description, &said) {
            signal.evidence = signal.evidence.min(Evidence::Strong);
            signal.why = Some(TOLD);
        }
    }
}

/// Returns true if every host in a line is disclosed in the skill's sentences and attributed to an owner in its
/// description.
fn is_told_gateway(line: &str, description: &str, said: &str) -> bool {
    let hosts: Vec<_> = addresses(line).map(|address| host_of(&address.host).unwrap_or_default()).collect();
    !hosts.is_empty()
        && ABOUT.iter().any(|word| description.contains(word))
        && !SETTINGS.iter().any(|file| line.contains(file))
        && hosts
            .iter()
            .all(|host| is_told(said, host) && (is_told(description, host) || names_owner(description, host)))
}

/// Returns true if a description contains a part of a host's registered name, as "Acme" for `gw.acme-ai.io`.
fn names_owner(description: &str, host: &str) -> bool {
    let parts = domain_of(host).split('.').next().unwrap_or("").split('-');
    parts.into_iter().any(|part| part.len() > 3 && !ABOUT.contains(&part) && description.contains(part))
}
