//! [`trust_of`]: who serves what stands at a host.
//!
//! The table is `data/hosts.toml`. A host is found in it by whole labels, never by a part of its name: who can
//! register a name can put any word into it.

mod address;
mod names;
mod table;

pub(crate) use address::{Address, addresses, bare, first, is_unchecked};
pub(crate) use names::{domain_of, is_inside, is_near, is_sample, is_told, is_within};

use crate::local;
use table::{ALIASES, FILES, HOSTS, KEYS, OWNERS, PATHS, WILD};

/// Who serves what stands at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// A company or a project, and only what is its own.
    Vendor,
    /// Packages, libraries or images of many authors.
    Registry,
    /// A well-known service, for many people.
    Service,
    /// Repositories, known only by who owns them.
    Forge,
    /// Whoever rents or takes a name there.
    Tenant,
    /// Made for catching data or for passing on payloads.
    Drop,
    /// Nobody that we know.
    Unknown,
}

impl Trust {
    /// Whether packages usually come from there.
    pub fn gives_packages(self) -> bool {
        matches!(self, Self::Vendor | Self::Registry | Self::Forge)
    }

    /// Whether what is sent there or shown from there reaches no stranger.
    pub fn is_known(self) -> bool {
        self.gives_packages() || self == Self::Service
    }
}

/// The trust in a host.
pub(crate) fn trust_of(host: &str) -> Trust {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    own_trust(&host, "").unwrap_or_else(|| known_trust(&host))
}

/// The trust that the user or the company has in a host, or in a part of it.
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

/// The trust in a host by the table.
fn known_trust(host: &str) -> Trust {
    let owner = host.strip_suffix(".github.io");
    if owner.is_some_and(|owner| has_owner("github.com", owner)) {
        return Trust::Vendor;
    }
    entry_of(host).map_or(Trust::Unknown, |(_, trust)| trust)
}

/// The trust in what stands at an address: on a forge its owner's, on a shared host that of the part of it.
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

/// The domains at which a key is at home, by the name of its variable in capitals.
pub(crate) fn homes_of_key(variable: &str) -> Option<&'static [&'static str]> {
    KEYS.iter().find(|(start, _)| variable.starts_with(start)).map(|(_, domains)| *domains)
}

/// Whether a file of credentials is at home at a host.
pub(crate) fn is_home_of_file(path: &str, host: &str) -> bool {
    let is_home = |domains: &[&str]| domains.iter().any(|domain| is_within(host, domain));
    FILES.iter().any(|(part, domains)| path.contains(part) && is_home(domains))
}

/// Hosts of services to which a part of the address says whose channel it is.
const HOOKS: &[&str] = &["hooks.slack.com", "hooks.zapier.com"];

/// Whether an address is that of a channel which its user fills in: no digit of its own tells whose it is.
pub(crate) fn is_users_hook(host: &str, path: &str) -> bool {
    HOOKS.contains(&host) && !path.contains(|c: char| matches!(c, '1'..='9'))
}

/// Whether somebody of a forge is known for programs of his own.
fn has_owner(forge: &str, owner: &str) -> bool {
    let is_owned = |owners: &[&str]| owners.iter().any(|known| known.eq_ignore_ascii_case(owner));
    OWNERS.iter().any(|(known, owners)| *known == forge && is_owned(owners))
}

/// Whether a path begins with whole parts.
fn begins(path: &str, start: &str) -> bool {
    let rest = path.trim_start_matches('/').strip_prefix(start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
}

/// The trust in a host of the table, and how many of its last labels say so.
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

/// Whether the last labels of a host are those of an entry with `*` in it.
fn fits(host: &str, entry: &str) -> bool {
    // Most hosts do not end as any entry does, so that no labels are split.
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
