//! Rules about secrets that a skill gives away: private keys and the tokens of providers.
//!
//! The examples are made up, and written in two pieces so that no forge takes this file for a leak.

use std::collections::BTreeSet;

use crate::{Rule, Scope, Severity};

const BASE: Rule = Rule {
    category: "secrets",
    severity: Severity::High,
    elsewhere: Severity::High,
    scope: Scope::Any,
    message: "a token of a provider",
    remedy: "withdraw the secret at its provider, then remove it; a skill is public",
    accept: Some(is_genuine),
    secret: true,
    ..Rule::DEFAULT
};

const PRIVATE_KEY: Rule = Rule {
    id: "private-key",
    severity: Severity::Critical,
    elsewhere: Severity::Critical,
    message: "a private key",
    literals: &["PRIVATE KEY-----"],
    pattern: r"-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|ENCRYPTED|PGP) )?PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n){1,8}(?:[A-Za-z-]{3,20}: [^\n]{0,80}\n\s{0,4}){0,3}[A-Za-z0-9+/=]{40,120}",
    accept: Some(is_key_material),
    harmful: &[(
        "key.pem",
        "-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQEFAASCAUAwggE8AgEAAkEAq7BFUpkGp3+LQmlQ\n-----END PRIVATE KEY-----\n",
    )],
    harmless: &[
        ("SKILL.md", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"),
        ("SKILL.md", "-----BEGIN RSA PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"),
    ],
    ..BASE
};

const AWS: Rule = Rule {
    id: "token-aws",
    literals: &["AKIA", "ASIA"],
    pattern: r"\b(?-i:A[KS]IA[A-Z2-7]{16})\b",
    message: "an access key of AWS",
    harmful: &[("a.env", concat!("AWS_ACCESS_KEY_ID=AKIA", "Q3EGWZ5JXKP7LV2M"))],
    harmless: &[("SKILL.md", "AKIAIOSFODNN7EXAMPLE and AKIAXXXXXXXXXXXXXXXX")],
    ..BASE
};

const GITHUB: Rule = Rule {
    id: "token-github",
    literals: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
    pattern: r"\b(?-i:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b",
    message: "a token of GitHub",
    accept: Some(is_github),
    harmful: &[("a.py", concat!("T = 'ghp_", "k3vR9sXq2LmZ7pYw8TnB4cHd6JfG1a0wb7pO'"))],
    harmless: &[("SKILL.md", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and ghp_k3vR9sXq2LmZ7pYw8TnB4cHd6JfG1a000000")],
    ..BASE
};

const SLACK: Rule = Rule {
    id: "token-slack",
    literals: &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "hooks.slack.com/services/"],
    pattern: r"\b(?-i:xox[bpar]-\d{9,13}-\d{9,13}-[A-Za-z0-9-]{20,64}|hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24})\b",
    message: "a token or webhook of Slack",
    harmful: &[("a.py", concat!("T = 'xoxb-", "417092836451-417092836457-k3vR9sXq2LmZ7pYw8TnB4cHd'"))],
    harmless: &[("SKILL.md", "xoxb-your-token and xoxb-000000000000-000000000000-xxxxxxxxxxxxxxxxxxxxxxxx")],
    ..BASE
};

const MODELS: Rule = Rule {
    id: "token-model-provider",
    literals: &["sk-proj-", "sk-ant-", "T3BlbkFJ", "sk-or-v1-", "hf_", "gsk_"],
    pattern: r"\b(?-i:sk-proj-[A-Za-z0-9_-]{40,180}|sk-ant-(?:api03|admin01|oat01)-[A-Za-z0-9_-]{80,110}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|sk-or-v1-[0-9a-f]{64}|hf_[A-Za-z0-9]{34}|gsk_[A-Za-z0-9]{52})",
    message: "a key of a model provider",
    harmful: &[("a.py", concat!("K = 'sk-proj-", "k3vR9sXq2LmZ7pYw8TnB4cHd6JfG1aQ5uEoI0tVbN8Mx'"))],
    harmless: &[("SKILL.md", "sk-proj-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, sk-ant-api03-your-key-here")],
    ..BASE
};

const GOOGLE: Rule = Rule {
    id: "token-google",
    literals: &["AIza", "GOCSPX-"],
    pattern: r"\b(?-i:AIza[0-9A-Za-z_-]{35}|GOCSPX-[A-Za-z0-9_-]{28})",
    message: "a key of Google",
    harmful: &[("a.py", concat!("K = 'AIza", "SyB7k3vR9sXq2LmZ7pYw8TnB4cHd6JfG1aQ'"))],
    harmless: &[("SKILL.md", "AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX")],
    ..BASE
};

const PACKAGES: Rule = Rule {
    id: "token-package-registry",
    literals: &["npm_", "pypi-AgEIcHlwaS5vcmc", "rubygems_", "dckr_pat_"],
    pattern: r"\b(?-i:npm_[A-Za-z0-9]{36}|pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,180}|rubygems_[0-9a-f]{48}|dckr_pat_[A-Za-z0-9_-]{27})",
    message: "a token of a package registry",
    harmful: &[("a.py", concat!("T = 'npm_", "k3vR9sXq2LmZ7pYw8TnB4cHd6JfG1aQ5uEoI'"))],
    harmless: &[("SKILL.md", "npm_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and npm_config_registry")],
    ..BASE
};

const PAYMENTS: Rule = Rule {
    id: "token-payment",
    literals: &["sk_live_", "rk_live_", "whsec_", "SG.", "glpat-"],
    pattern: r"\b(?-i:[sr]k_live_[A-Za-z0-9]{24,99}|whsec_[A-Za-z0-9+/]{32,64}|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|glpat-[A-Za-z0-9_-]{20})\b",
    message: "a live key of a payment, mail or code service",
    harmful: &[("a.py", concat!("K = 'sk_live_", "k3vR9sXq2LmZ7pYw8TnB4cHd'"))],
    harmless: &[("SKILL.md", "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx and sk_test_k3vR9sXq2LmZ7pYw8TnB4cHd")],
    ..BASE
};

const BOT: Rule = Rule {
    id: "token-bot",
    severity: Severity::High,
    literals: &["api.telegram.org/bot", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
    pattern: r"(?-i:api\.telegram\.org/bot\d{8,10}:[A-Za-z0-9_-]{35}|discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,80})",
    message: "the address of a chat bot or webhook with its secret in it, where data can be sent to",
    harmful: &[(
        "a.py",
        concat!("U = 'https://api.telegram.org/bot7190283645", ":AAk3vR9sXq2LmZ7pYw8TnB4cHd6JfG1aQ5u/sendMessage'"),
    )],
    harmless: &[("SKILL.md", "https://api.telegram.org/bot<TOKEN>/sendMessage")],
    ..BASE
};

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[PRIVATE_KEY, AWS, GITHUB, SLACK, MODELS, GOOGLE, PACKAGES, PAYMENTS, BOT];

/// Whether a match looks like a real secret: no word of a sample in it, no run of one character, and
/// as many different characters as chance gives.
fn is_genuine(secret: &str) -> bool {
    const SAMPLES: &[&str] = &[
        "example",
        "sample",
        "xxxx",
        "your",
        "dummy",
        "fake",
        "test",
        "placeholder",
        "redacted",
        "abcdef",
        "123456",
        "changeme",
        "secret",
        "0000",
        "aaaa",
        "deadbeef",
        "insert",
        "replace",
    ];
    let lower = secret.to_ascii_lowercase();
    let tail = secret.get(secret.len() / 3..).unwrap_or(secret);
    let distinct = tail.chars().filter(char::is_ascii_alphanumeric).collect::<BTreeSet<_>>().len();
    !SAMPLES.iter().any(|sample| lower.contains(sample)) && distinct * 3 >= tail.len().min(30)
}

/// Whether the body of a PEM block is key material and not filler.
fn is_key_material(block: &str) -> bool {
    let body: String = block.rsplit("-----").next().unwrap_or("").split_whitespace().collect();
    let distinct = body.chars().collect::<BTreeSet<_>>().len();
    distinct >= 16 && !["EXAMPLE", "xxxx", "XXXX", "YOUR", "your", "...."].iter().any(|sample| body.contains(sample))
}

/// A token of GitHub ends in a checksum of the rest: CRC-32 in base 62, six digits. The long form has
/// none that is published.
fn is_github(token: &str) -> bool {
    if token.starts_with("github_pat_") {
        return is_genuine(token);
    }
    let (Some(body), Some(sum)) = (token.get(4..34), token.get(34..40)) else { return false };
    base62(crc32(body.as_bytes())) == sum
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// A number in six digits of base 62, in the order 0-9, A-Z, a-z.
fn base62(mut number: u32) -> String {
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
