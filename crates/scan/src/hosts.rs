//! [`trust_of`]: trust level of a host, by who controls its content.
//!
//! The table is `data/hosts.toml`. Hosts are matched by whole labels, never by a part of a label, since anybody can
//! register a name that contains a given word.

mod address;
mod names;
mod table;

pub(crate) use address::{Address, addresses, bare, first, is_address, is_unchecked};
pub(crate) use names::{domain_of, is_inside, is_near, is_sample, is_told, is_within};

use crate::local;
use table::{ALIASES, FILES, HOSTS, KEYS, OWNERS, PATHS, WILD};

/// Trust level of a host, by who controls its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Company or project that hosts only its own content.
    Vendor,
    /// Registry of packages, libraries or images by many authors.
    Registry,
    /// Well-known service with many users.
    Service,
    /// Forge for repositories, trusted only as far as their owner is.
    Forge,
    /// Shared host on which anybody can register or rent a name.
    Tenant,
    /// Service made for capturing data or for delivering payloads.
    Drop,
    /// Host without an entry in the table.
    Unknown,
}

impl Trust {
    /// Returns whether packages usually come from such a host.
    pub fn gives_packages(self) -> bool {
        matches!(self, Self::Vendor | Self::Registry | Self::Forge)
    }

    /// Returns whether data sent to or loaded from such a host stays with a trusted party.
    pub fn is_known(self) -> bool {
        self.gives_packages() || self == Self::Service
    }
}

/// Returns the trust level of a host, by settings first and the table second.
pub(crate) fn trust_of(host: &str) -> Trust {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    own_trust(&host, "").unwrap_or_else(|| known_trust(&host))
}

/// Returns the trust level that the user's or company's settings give to a host or a path on it.
fn own_trust(host: &str, path: &str) -> Option<Trust> {
    local::current()?;
    if local::is_own_installer(&format!("{host}/{path}")) {
        return Some(Trust::Vendor);
    }
    if local::is_own_registry(host) {
        return Some(Trust::Registry);
    }
    local::is_own_host(host).then_some(Trust::Service)
}

/// Returns the trust level of a host from the table.
fn known_trust(host: &str) -> Trust {
    let owner = host.strip_suffix(".github.io");
    if owner.is_some_and(|owner| has_owner("github.com", owner)) {
        return Trust::Vendor;
    }
    entry_of(host).map_or(Trust::Unknown, |(_, trust)| trust)
}

/// Returns the trust level of an address. On a forge it depends on the owner, and on a shared host on the path.
pub(crate) fn trust_at(address: &Address<'_>) -> Trust {
    let host = address.host.trim_end_matches('.');
    let host = ALIASES.iter().find(|(alias, _)| *alias == host).map_or(host, |(_, known)| known);
    let path = address.path.trim_start_matches('/');
    if let Some(trust) = own_trust(host, path) {
        return trust;
    }
    let owner = path.split(['/', '?', '#']).next().unwrap_or("");
    if has_owner(host, owner) {
        return Trust::Vendor;
    }
    let parts = PATHS.iter().filter(|(whose, part, _)| *whose == host && begins(address.path, part));
    parts.max_by_key(|(_, part, _)| part.len()).map_or_else(|| trust_of(host), |(_, _, trust)| *trust)
}

/// Returns the domains that a key belongs to, by the name of its variable in upper case.
pub(crate) fn homes_of_key(variable: &str) -> Option<&'static [&'static str]> {
    KEYS.iter().find(|(start, _)| variable.starts_with(start)).map(|(_, domains)| *domains)
}

/// Returns whether a credentials file belongs to a host.
pub(crate) fn is_home_of_file(path: &str, host: &str) -> bool {
    let is_home = |domains: &[&str]| domains.iter().any(|domain| is_within(host, domain));
    FILES.iter().any(|(part, domains)| path.contains(part) && is_home(domains))
}

/// Hosts of webhook services whose URL path identifies the receiving channel.
const HOOKS: &[&str] = &["hooks.slack.com", "hooks.zapier.com"];

/// Returns whether a webhook address is a template for the user to fill in. Its path then contains no digit from 1 to
/// 9, so it identifies no channel.
pub(crate) fn is_users_hook(host: &str, path: &str) -> bool {
    HOOKS.contains(&host) && !path.contains(|c: char| matches!(c, '1'..='9'))
}

/// Returns whether an owner on a forge is known for publishing own programs.
fn has_owner(forge: &str, owner: &str) -> bool {
    let is_owned = |owners: &[&str]| owners.iter().any(|known| known.eq_ignore_ascii_case(owner));
    OWNERS.iter().any(|(known, owners)| *known == forge && is_owned(owners))
}

/// Returns whether a path begins with `start`, compared by whole segments.
fn begins(path: &str, start: &str) -> bool {
    let rest = path.trim_start_matches('/').strip_prefix(start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
}

/// Returns the trust level of a host in the table, with the number of trailing labels that matched.
fn entry_of(host: &str) -> Option<(usize, Trust)> {
    if let Some((entry, trust)) = WILD.iter().find(|(entry, _)| fits(host, entry)) {
        return Some((entry.split('.').count(), *trust));
    }
    let starts = [0].into_iter().chain(host.match_indices('.').map(|(at, _)| at + 1));
    let mut names = starts.filter_map(|at| Some((at, host.get(at..)?)));
    names.find_map(|(at, name)| {
        let found = HOSTS.binary_search_by_key(&name, |(known, ..)| known).ok();
        let (_, alone, all) = found.and_then(|place| HOSTS.get(place))?;
        let trust = alone.filter(|_| at == 0).or(*all)?;
        Some((name.split('.').count(), trust))
    })
}

/// Returns whether the trailing labels of a host match an entry that contains `*`.
fn fits(host: &str, entry: &str) -> bool {
    // Fast path: most hosts do not have the suffix of an entry, so their labels need not be split.
    if !entry.rsplit('*').next().is_some_and(|end| host.ends_with(end)) {
        return false;
    }
    let mut labels = host.rsplit('.');
    entry.rsplit('.').all(|wanted| {
        labels.next().is_some_and(|label| match wanted.strip_suffix('*') {
            Some(start) => label.starts_with(start),
            None => label == wanted,
        })
    })
}

#[cfg(test)]
mod tests;
