//! Conditions on keys, passwords and permissions, which tell genuine ones from samples.

use std::collections::BTreeSet;

/// Returns true if a match looks like a genuine secret: it contains no placeholder word, and as many distinct
/// characters as a random value.
pub(crate) fn is_genuine(secret: &str) -> bool {
    const SAMPLES: &[&str] = &[
        "example", "sample", "xxxx", "your", "dummy", "fake", "test", "placeholder", "redacted", "abcdef", "123456",
        "changeme", "secret", "0000", "aaaa", "deadbeef", "insert", "replace",
    ];
    let lower = secret.to_ascii_lowercase();
    let tail = secret.get(secret.len() / 3..).unwrap_or(secret);
    let distinct = tail.chars().filter(char::is_ascii_alphanumeric).collect::<BTreeSet<_>>().len();
    !SAMPLES.iter().any(|sample| lower.contains(sample)) && distinct * 3 >= tail.len().min(30)
}

/// Returns true if the body of a PEM block is key material rather than filler.
pub(crate) fn is_key_material(block: &str) -> bool {
    let body: String = block.rsplit("-----").next().unwrap_or("").split_whitespace().collect();
    let distinct = body.chars().collect::<BTreeSet<_>>().len();
    distinct >= 16 && !["EXAMPLE", "xxxx", "XXXX", "YOUR", "your", "...."].iter().any(|sample| body.contains(sample))
}

/// Returns true if a GitHub token has a valid checksum: the CRC-32 of the rest as six base-62 digits at its end. The
/// long form, `github_pat_`, has no published checksum and is checked by [`is_genuine`].
pub(crate) fn is_github(token: &str) -> bool {
    if token.starts_with("github_pat_") {
        return is_genuine(token);
    }
    let (Some(body), Some(sum)) = (token.get(4..34), token.get(34..40)) else { return false };
    base62(crc32(body.as_bytes())) == sum
}

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Formats a number as six base-62 digits, in the order 0-9, A-Z, a-z.
pub(crate) fn base62(mut number: u32) -> String {
    let mut digits = Vec::new();
    for _ in 0..6 {
        let digit = (number % 62) as u8;
        number /= 62;
        digits.push(match digit {
            0..=9 => b'0' + digit,
            10..=35 => b'A' + digit - 10,
            _ => b'a' + digit - 36,
        } as char);
    }
    digits.iter().rev().collect()
}

/// Returns true if the match contains a server password that is not a sample.
pub(crate) fn is_real_password(matched: &str) -> bool {
    const SAMPLES: &[&str] = &[
        "localhost", "127.0.0.1", "example", "your", "change", "test", "demo", "xxx", "<", "${", "{", "%s",
        "placeholder", "dummy", "sample",
    ];
    let lower = matched.to_ascii_lowercase();
    let word = match matched.rsplit_once('@') {
        Some((before, _)) if matched.contains("://") => before.rsplit(':').next().unwrap_or(""),
        _ => matched.rsplit(['\'', '"']).nth(1).unwrap_or(""),
    };
    let has = |kind: fn(&char) -> bool| word.chars().any(|c| kind(&c));
    !SAMPLES.iter().any(|sample| lower.contains(sample))
        && has(char::is_ascii_digit)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
        && has(|c| !c.is_ascii_alphanumeric())
}

pub(crate) fn is_no_known_key(matched: &str) -> bool {
    !crate::hosts::addresses(matched).any(|address| crate::hosts::trust_of(&address.host) == crate::hosts::Trust::Forge)
}

pub(crate) fn is_no_test_database(matched: &str) -> bool {
    const CHOSEN: &[&str] = &[
        "test", "if exists", "staging", "localhost", "preview", " -l ", "grep", "\"$ns", "\"$name", "selector",
        "--dry-run",
    ];
    let lower = matched.to_ascii_lowercase();
    !CHOSEN.iter().any(|word| lower.contains(word))
}

pub(crate) fn is_no_lease(matched: &str) -> bool {
    !matched.contains("--merged") && !matched.contains("lease") && !matched.contains("gone]")
}

/// Returns true if the command does more than filter keys out of `authorized_keys` or a copy of it.
pub(crate) fn adds_a_key(matched: &str) -> bool {
    let (filtered, written) = matched.split_once('>').unwrap_or((matched, ""));
    let is_of_the_list = filtered.contains("authorized_keys") && !filtered.contains([';', '|', '&']);
    !(filtered.starts_with("grep") && is_of_the_list) || written.starts_with('>')
}

/// Returns true if the service listens on all interfaces. `x11vnc` and a VNC server without security do so by default.
pub(crate) fn is_for_all(matched: &str) -> bool {
    let is_told = ["0.0.0.0", "ip=*", "ip='*'", "ip ="].iter().any(|all| matched.contains(all));
    super::hosts::is_far(matched) && (is_told || matched.contains("x11vnc") || matched.contains("SecurityTypes"))
}

/// Paths of the metadata service that reveal no secret, with the endpoint for its session token.
const NAMES: &[&str] = &[
    "/latest/api/token",
    "/latest/meta-data/instance-id",
    "/latest/meta-data/instance-type",
    "/latest/meta-data/placement/",
    "/latest/meta-data/ami-id",
    "/latest/meta-data/local-ipv4",
    "/latest/meta-data/local-hostname",
    "/latest/meta-data/public-ipv4",
    "/latest/meta-data/public-hostname",
    "/latest/meta-data/spot/",
    "/computeMetadata/v1/instance/id",
    "/computeMetadata/v1/instance/name",
    "/computeMetadata/v1/instance/zone",
    "/computeMetadata/v1/instance/machine-type",
    "/computeMetadata/v1/project/project-id",
    "/computeMetadata/v1/project/numeric-project-id",
];

/// Returns true if the metadata service is queried for more than a machine's identity and location.
pub(crate) fn asks_for_more_than_a_name(matched: &str) -> bool {
    let hosts = ["169.254.169.254", "metadata.google.internal"];
    let path = hosts.iter().find_map(|host| matched.rsplit_once(host)).map_or("", |(_, path)| path);
    path.contains("..") || !NAMES.iter().any(|name| path.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_token_is_checked() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        let body = "k3vR9sXq2LmZ7pYw8TnB4cHd6JfG1a";
        let token = format!("ghp_{body}{}", base62(crc32(body.as_bytes())));
        assert!(is_github(&token), "{token}");
        assert!(!is_github(&token.replace("k3vR", "k3vS")));
    }

    #[test]
    fn samples_are_no_secrets() {
        assert!(is_genuine("AKIAQ3EGWZ5JXKP7LV2M"));
        for sample in ["AKIAIOSFODNN7EXAMPLE", "AKIAXXXXXXXXXXXXXXXX", "npm_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert!(!is_genuine(sample), "{sample}");
        }
    }
}
