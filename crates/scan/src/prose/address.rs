//! Addresses in a sentence: [`scheme_rest`], [`mail_domain`], [`bare_host`] and [`public_address`].
//!
//! The first accepts every address and flags those of foreign hosts. The others accept only foreign ones.

use super::foreign::{is_foreign, is_foreign_at, is_strangers};
use crate::characters::is_wide;

/// Longest prefix of an address, in bytes, that is examined.
const ADDRESS: usize = 1024;

fn is_address_end(c: char) -> bool {
    c.is_whitespace()
        || is_wide(c)
        || matches!(c, '`' | ')' | '>' | '"' | '\'' | ']' | '，' | '。' | '）' | '、' | '；')
}

/// Returns the length in bytes of the address after a scheme, `://` included, and true if it leads to a foreign host.
pub(super) fn scheme_rest(after: &str) -> Option<(usize, bool)> {
    let address = head(after.strip_prefix("://")?, ADDRESS);
    let address = address.get(..address.find(is_address_end).unwrap_or(address.len())).unwrap_or("");
    Some((3 + address.len(), leads_away(address)))
}

/// Returns at most `bytes` bytes of a text, cut at a character boundary.
fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or("")
}

/// Returns true if an address, given without its scheme, leads to a host that is not well known. Hosts that contain a
/// variable or a placeholder do not count.
fn leads_away(address: &str) -> bool {
    let host = address.split(['/', '?', '#']).next().unwrap_or("");
    let path = address.get(host.len()..).unwrap_or("");
    let host = host.rsplit('@').next().unwrap_or("").split(':').next().unwrap_or("").to_ascii_lowercase();
    let variable = host.contains(['{', '$', '[', '<', '%']) && !host.starts_with('<');
    host.contains('.') && !variable && is_foreign_at(&host, path)
}

/// Returns the length of `@domain` at the start of a text, if anybody may have mail at that domain.
pub(super) fn mail_domain(after: &str) -> Option<usize> {
    let domain = head(after.strip_prefix('@')?, ADDRESS);
    let length = domain.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-')).unwrap_or(domain.len());
    let domain = domain.get(..length)?.trim_end_matches('.');
    let (name, top) = domain.rsplit_once('.')?;
    let named = !name.is_empty() && top.len() >= 2 && top.bytes().all(|b| b.is_ascii_alphabetic());
    (named && is_strangers(&domain.to_ascii_lowercase()) && !matches!(top, "md" | "json" | "ts" | "js" | "py"))
        .then_some(1 + domain.len())
}

/// Returns the length of the foreign host name at the start of a text, without a scheme.
pub(super) fn bare_host(rest: &str) -> Option<usize> {
    let rest = head(rest, 64);
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-')).unwrap_or(rest.len());
    let name = rest.get(..length)?.trim_end_matches(['.', '-']);
    let (before, top) = name.rsplit_once('.')?;
    let called = !rest.get(name.len()..).unwrap_or("").starts_with(['(', '_', '=']);
    let public = matches!(top, "com" | "org" | "invalid" | "xyz" | "info" | "top" | "cc")
        || matches!(top, "net" | "io" | "dev" | "co" | "cn" | "me" | "ai" | "app" | "cloud") && before.contains('.');
    (called && public && before.len() > 2 && leads_away(name)).then_some(name.len())
}

/// Returns the length of the public IPv4 address at the start of a text.
pub(super) fn public_address(rest: &str) -> Option<usize> {
    if rest.as_bytes().get(1).is_none_or(|second| !second.is_ascii_digit()) {
        return None;
    }
    let rest = head(rest, 16);
    let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let address = rest.get(..length)?.trim_end_matches('.');
    if address.bytes().filter(|byte| *byte == b'.').count() != 3 {
        return None;
    }
    let parts = address.split('.').filter(|part| part.parse::<u8>().is_ok()).count();
    let plain = parts == 4 && address.split('.').count() == 4 && is_foreign(address);
    (plain && address.split('.').next().is_some_and(|first| first.len() > 1)).then_some(address.len())
}
