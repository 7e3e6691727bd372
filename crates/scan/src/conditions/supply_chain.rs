//! Conditions on the origin of packages, images and plugins.

use crate::{
    excerpt::visible,
    hosts::{Trust, addresses, is_inside, is_near, is_sample, is_within, trust_at, trust_of},
    lookalike::{self, Imitation},
};

/// Returns true if the first address in a text is neither internal nor a usual source of packages.
pub(crate) fn is_strange_mirror(matched: &str) -> bool {
    let is_inside = addresses(matched).next().is_some_and(|address| is_inside(&address.host));
    !is_inside && super::hosts::is_no_registry(matched)
}

/// Returns true if an address is not one from which certificate authorities distribute their certificates.
pub(crate) fn is_no_authority(matched: &str) -> bool {
    is_strange_mirror(matched)
}

pub(crate) fn is_other_host(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    if lower.contains("/etc/") {
        return !["127.", "10.", "192.168.", "172.", "0.0.0.0", "1.1.1.1", "1.0.0.1", "8.8.", "9.9.9.9", "208.67."]
            .iter()
            .any(|usual| lower.contains(usual));
    }
    let to = lower.rsplit_once("hostname").or_else(|| lower.rsplit_once("proxycommand")).map_or("", |(_, to)| to);
    let mut words = to.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-')));
    !words.any(|word| is_near(word) || trust_of(word) == Trust::Forge)
        && !["nc -x", "connect "].iter().any(|proxy| to.contains(proxy))
}

/// Returns true if packages come from an unknown source, given as an address or as a module path.
pub(crate) fn is_strange_source(matched: &str) -> bool {
    match matched.split_once("=>") {
        Some((_, module)) => super::hosts::is_no_registry(&format!("://{}", module.trim())),
        None => super::hosts::is_no_registry(matched),
    }
}

pub(crate) fn is_foreign_registry(matched: &str) -> bool {
    let is_for_few = matched.ends_with(" do") && matched.contains("https:");
    matched.contains('*') || !is_for_few && super::hosts::is_no_registry(matched)
}

pub(crate) fn has_lookalike(matched: &str) -> bool {
    imitation(matched).is_some()
}

/// Returns the first package or owner of an action in a command or a workflow that resembles a popular one.
pub(crate) fn imitation(matched: &str) -> Option<Imitation<'_>> {
    let list = match matched.split_once("uses:") {
        Some((_, action)) => action.split('/').next().unwrap_or(""),
        None => matched.split(['\n', '#', '&', '|', ';']).next().unwrap_or(""),
    };
    lookalike::first_imitation(lookalike::names(list))
}

/// A package with its malicious releases.
type Poisoned = (&'static str, &'static [&'static str]);

const POISONED: &[Poisoned] = &[
    // npm, 2018 to 2022: hijacked accounts, and owners who sabotaged their own packages.
    ("event-stream", &["3.3.6"]),
    ("flatmap-stream", &["0.1.1"]),
    ("eslint-scope", &["3.7.2"]),
    ("ua-parser-js", &["0.7.29", "0.8.0", "1.0.0"]),
    ("coa", &["2.0.3", "2.0.4", "2.1.1", "2.1.3", "3.0.1", "3.1.3"]),
    ("rc", &["1.2.9", "1.3.9", "2.3.9"]),
    ("node-ipc", &["10.1.1", "10.1.2"]),
    ("colors", &["1.4.1", "1.4.2", "1.4.44-liberty-2"]),
    ("faker", &["6.6.6"]),
    // npm, December 2024.
    ("@solana/web3.js", &["1.95.6", "1.95.7"]),
    // npm, 2025-07-18.
    ("eslint-config-prettier", &["8.10.1", "9.1.1", "10.1.6", "10.1.7"]),
    ("eslint-plugin-prettier", &["4.2.2", "4.2.3"]),
    ("synckit", &["0.11.9"]),
    ("@pkgr/core", &["0.2.8"]),
    ("napi-postinstall", &["0.3.1"]),
    // npm, 2025-08-26.
    ("nx", &["20.9.0", "20.10.0", "20.11.0", "20.12.0", "21.5.0", "21.6.0", "21.7.0", "21.8.0"]),
    // npm, 2025-09-08.
    ("debug", &["4.4.2"]),
    ("chalk", &["5.6.1"]),
    ("ansi-styles", &["6.2.2"]),
    ("ansi-regex", &["6.2.1"]),
    ("supports-color", &["10.2.1"]),
    ("strip-ansi", &["7.1.1"]),
    ("wrap-ansi", &["9.0.1"]),
    ("slice-ansi", &["7.1.1"]),
    ("color-convert", &["3.1.1"]),
    ("color-name", &["2.0.1"]),
    ("color-string", &["2.1.1"]),
    ("is-arrayish", &["0.3.3"]),
    ("error-ex", &["1.3.3"]),
    ("simple-swizzle", &["0.2.3"]),
    ("supports-hyperlinks", &["4.1.1"]),
    ("has-ansi", &["6.0.1"]),
    ("chalk-template", &["1.1.1"]),
    ("backslash", &["0.2.1"]),
    // npm, 2025-09-15.
    ("@ctrl/tinycolor", &["4.1.1", "4.1.2"]),
    // npm, 2025-09-17: an MCP server that copied each mail to its author.
    ("postmark-mcp", &["1.0.16"]),
    // npm, 2026-03-31.
    ("axios", &["1.14.1", "0.30.4"]),
    ("plain-crypto-js", &["4.2.1"]),
    // PyPI.
    ("ultralytics", &["8.3.41", "8.3.42", "8.3.45", "8.3.46"]),
    ("litellm", &["1.82.7", "1.82.8"]),
];

/// Returns true if a package with a version is one of the [`POISONED`] releases.
pub(crate) fn is_poisoned(matched: &str) -> bool {
    let split = matched.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')));
    let Some((name, version)) = split.and_then(|at| matched.split_at_checked(at + 1)) else { return false };
    let name = name.trim_end_matches(['@', '=', '"', '\'', ':', ' ', '\n']);
    let name = name.split('[').next().unwrap_or(name).to_ascii_lowercase();
    let name = name.trim_start_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '@'));
    POISONED.iter().any(|(package, versions)| *package == name && versions.contains(&version))
}

/// Returns true if the address is not the loopback address in any notation.
pub(crate) fn is_another_machine(matched: &str) -> bool {
    const OWN: &[&str] = &["0x7f", "2130706433", "0177.", "127.0.0.1", "7f00:1"];
    !OWN.iter().any(|own| matched.to_ascii_lowercase().contains(own))
}

pub(crate) fn is_no_home(matched: &str) -> bool {
    !matched.contains("://") || super::hosts::is_no_registry(matched)
}

/// Returns true if packages come over an unencrypted connection from another machine. XML namespaces do not count.
pub(crate) fn is_no_local(matched: &str) -> bool {
    let is_format = |host: &str| ["w3.org", "maven.apache.org"].iter().any(|domain| is_within(host, domain));
    let is_harmless = |host: &str| is_format(host) || is_near(host) || is_sample(host);
    addresses(matched).next().is_none() || !addresses(matched).all(|address| is_harmless(&address.host))
}

/// Returns true if an extension does not come from a usual marketplace.
pub(crate) fn is_no_marketplace(matched: &str) -> bool {
    addresses(matched).next().is_none_or(|address| !is_near(&address.host) && !trust_at(&address).gives_packages())
}

/// Products that extensions imitate, with substrings of their publishers' names.
const PRODUCTS: &[(&str, &[&str])] = &[
    ("claude", &["anthropic"]),
    ("copilot", &["github"]),
    ("chatgpt", &["openai"]),
    ("codex", &["openai"]),
    ("gemini", &["google"]),
    ("antigravity", &["google"]),
    ("cursor", &["anysphere"]),
    ("windsurf", &["codeium"]),
    ("rust-analyzer", &["rust-lang"]),
    ("prettier", &["prettier", "esbenp"]),
    ("eslint", &["dbaeumer"]),
    ("gitlens", &["eamodio"]),
    ("debugpy", &["ms-python"]),
    ("pylance", &["ms-python"]),
];

/// Returns true if an extension bears the name of a product of another publisher.
pub(crate) fn poses_as_known(matched: &str) -> bool {
    impostor(matched).is_some()
}

/// Returns the first extension that bears the name of a product of another publisher, and the product.
fn impostor(matched: &str) -> Option<(&str, &'static str)> {
    matched.split(['"', '\'']).find_map(|id| {
        let lower = id.to_ascii_lowercase();
        let (publisher, name) = lower.split_once('.')?;
        let is_own = |owners: &[&str]| owners.iter().any(|owner| publisher.contains(owner));
        let (product, _) = PRODUCTS.iter().find(|(product, owners)| name.contains(product) && !is_own(owners))?;
        Some((id, *product))
    })
}

/// Returns the message and the remedy for the extension that a match of `extension-poses-as-known` names.
pub(crate) fn impostor_described(matched: &str) -> Option<(String, String)> {
    let (id, product) = impostor(matched).map(|(id, product)| (visible(id), product))?;
    let message =
        format!("has an editor extension install “{id}”, which has {product} in its name and another publisher");
    Some((message, format!("delete “{id}”; have the user install extensions of the product's own publisher")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisoned_releases_are_known_however_asked_for() {
        for (package, versions) in POISONED {
            for version in *versions {
                for asked in [
                    format!("{package}@{version}"),
                    format!("{package}=={version}"),
                    format!("{package}\": \"{version}"),
                ] {
                    assert!(is_poisoned(&asked), "{asked}");
                }
                assert!(
                    !is_poisoned(&format!("other-{package}@{version}")) && !is_poisoned(&format!("{package}@9.9.9"))
                );
            }
            assert!(
                crate::rule("package-known-poisoned")
                    .unwrap()
                    .literals
                    .iter()
                    .any(|literal| package.contains(literal.trim_end_matches('@').trim_matches('"')))
            );
        }
    }
}
