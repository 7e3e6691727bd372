//! What the name of a host tells by itself.

use super::{Trust, entry_of};

/// Whether a host is a domain or below it.
pub(crate) fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Whether a host is this machine, or one of its own network (RFC 1918, RFC 1122, RFC 3927, RFC 6762).
pub(crate) fn is_near(host: &str) -> bool {
    const ENDS: &[&str] = &["localhost", "local", "internal", "intranet", "lan", "corp", "localdomain", "svc"];
    let parts: Vec<u8> = host.split('.').map_while(|part| part.parse().ok()).collect();
    let is_private =
        matches!(parts[..], [0 | 10 | 127, _, _, _] | [192, 168, _, _] | [169, 254, _, _] | [172, 16..=31, _, _]);
    let last = host.rsplit('.').next().unwrap_or(host);
    is_private || ENDS.contains(&last) || matches!(host, "::1" | "kubernetes.default")
}

/// Whether a host is near, or has a name that only its own network knows.
pub(crate) fn is_inside(host: &str) -> bool {
    let is_number = host.starts_with(|c: char| c.is_ascii_digit());
    is_near(host) || !host.is_empty() && !host.contains('.') && !is_number
}

/// Words that stand for a name which the reader puts in.
const STAND_INS: &[&str] = &[
    "account",
    "api",
    "app",
    "backend",
    "bucket",
    "business",
    "cdn",
    "cluster",
    "company",
    "corp",
    "domain",
    "endpoint",
    "git",
    "gitlab",
    "host",
    "instance",
    "mirror",
    "name",
    "org",
    "organization",
    "project",
    "proxy",
    "registry",
    "repo",
    "saas",
    "server",
    "service",
    "shop",
    "site",
    "store",
    "team",
    "tenant",
    "url",
    "user",
    "webhook",
    "website",
    "workspace",
];

/// Whether a host is one that documents use for any other: one that is kept for it (RFC 2606), or `your-domain.com`.
pub(crate) fn is_sample(host: &str) -> bool {
    let domain = domain_of(host);
    let name = domain.split('.').next().unwrap_or("");
    let is_stand_in = |rest: &str| rest.split('-').all(|word| STAND_INS.contains(&word));
    let mut named = ["your", "my", "new", "old"].iter().filter_map(|whose| name.strip_prefix(whose));
    host.ends_with(".example")
        || matches!(name, "example" | "company" | "domain" | "test")
        || named.any(|rest| is_stand_in(rest.trim_start_matches('-')))
}

/// What somebody has to register to have a host: the last two labels; three where the country parts them; and at a
/// host that is let to anybody, one more than is let.
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

/// Whether a text, in lower case, names a host or the domain that somebody has registered for it.
pub(crate) fn is_told(text: &str, host: &str) -> bool {
    let is_address = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    has_word(text, host) || !is_address && has_word(text, domain_of(host))
}

/// Whether a text has a host that is no part of another one.
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
