//! Classification of hosts by their names alone.

use super::{Trust, entry_of};

/// Returns true if a host is a domain or one of its subdomains.
pub(crate) fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Returns true for this machine and for hosts in its private network (RFC 1918, RFC 1122, RFC 3927, RFC 6762).
pub(crate) fn is_near(host: &str) -> bool {
    const ENDS: &[&str] = &["localhost", "local", "internal", "intranet", "lan", "corp", "localdomain", "svc"];
    let parts: Vec<u8> = host.split('.').map_while(|part| part.parse().ok()).collect();
    let is_private =
        matches!(parts[..], [0 | 10 | 127, _, _, _] | [192, 168, _, _] | [169, 254, _, _] | [172, 16..=31, _, _]);
    let last = host.rsplit('.').next().unwrap_or(host);
    is_private || ENDS.contains(&last) || matches!(host, "::1" | "kubernetes.default")
}

/// Returns true for local hosts and for names that only resolve in their own network.
pub(crate) fn is_inside(host: &str) -> bool {
    let is_number = host.starts_with(|c: char| c.is_ascii_digit());
    is_near(host) || !host.is_empty() && !host.contains('.') && !is_number
}

/// Placeholder words in host names, which the reader replaces.
const STAND_INS: &[&str] = &[
    "account", "api", "app", "backend", "bucket", "business", "cdn", "cluster", "company", "corp", "domain",
    "endpoint", "git", "gitlab", "host", "instance", "mirror", "name", "org", "organization", "project", "proxy",
    "registry", "repo", "saas", "server", "service", "shop", "site", "store", "team", "tenant", "url", "user",
    "webhook", "website", "workspace",
];

/// Returns true for hosts that documentation uses as samples: reserved names (RFC 2606), or names such as
/// `your-domain.com`.
pub(crate) fn is_sample(host: &str) -> bool {
    let domain = domain_of(host);
    let name = domain.split('.').next().unwrap_or("");
    let is_stand_in = |rest: &str| rest.split('-').all(|word| STAND_INS.contains(&word));
    let mut named = ["your", "my", "new", "old"].iter().filter_map(|whose| name.strip_prefix(whose));
    host.ends_with(".example")
        || matches!(name, "example" | "company" | "domain" | "test")
        || named.any(|rest| is_stand_in(rest.trim_start_matches('-')))
}

/// Returns the registrable domain of a host: its last two labels, or three below a country's second-level domain. At a
/// host that is rented out to anybody, the tenant's label is included.
pub(crate) fn domain_of(host: &str) -> &str {
    const PARTED: &[&str] = &["co", "com", "org", "net", "gov", "edu", "ac", "or", "ne", "go"];
    let mut last = host.rsplit('.');
    let is_country = last.next().is_some_and(|label| label.len() == 2);
    let is_parted = is_country && last.next().is_some_and(|label| PARTED.contains(&label));
    let count = match entry_of(host) {
        Some((labels, Trust::Tenant | Trust::Drop)) => labels + 1,
        _ => 2 + usize::from(is_parted),
    };
    let start = host.rmatch_indices('.').nth(count - 1).map_or(0, |(at, _)| at + 1);
    host.get(start..).unwrap_or(host)
}

/// Returns true if a lower-case text names a host or its registrable domain.
pub(crate) fn is_told(text: &str, host: &str) -> bool {
    let is_address = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    has_word(text, host) || !is_address && has_word(text, domain_of(host))
}

/// Returns true if a text contains a host that is not part of a longer one.
fn has_word(text: &str, host: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(host).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let mut after = text.get(at + host.len()..).unwrap_or("").chars();
        let ends = match after.next() {
            Some('.') => !after.next().is_some_and(is_part),
            next => !next.is_some_and(is_part),
        };
        ends && !before.is_some_and(is_part)
    })
}
