//! [`RULES`]: releases of packages that are known to have held malicious code.
//!
//! They were withdrawn from their registries and live on in caches, mirrors and lock files. Each is told by the
//! maintainers of the package or by the registry's advisory, with the day on which it was found.

use crate::{Role, Rule, Severity};

/// A package, and its releases that did harm.
type Poisoned = (&'static str, &'static [&'static str]);

const POISONED: &[Poisoned] = &[
    // npm, 2018 to 2022: accounts that were taken over, and owners who turned against their users.
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
    // npm, 2025-09-17: a server for agents that sent each mail to its author as well.
    ("postmark-mcp", &["1.0.16"]),
    // npm, 2026-03-31.
    ("axios", &["1.14.1", "0.30.4"]),
    ("plain-crypto-js", &["4.2.1"]),
    // PyPI.
    ("ultralytics", &["8.3.41", "8.3.42", "8.3.45", "8.3.46"]),
    ("litellm", &["1.82.7", "1.82.8"]),
];

const RELEASE: Rule = Rule {
    id: "package-known-poisoned",
    category: "supply-chain",
    severity: Severity::High,
    elsewhere: Severity::Low,
    role: Role::Command,
    message: "asks for a release of a package that is known to have held malicious code",
    remedy: "take another release; on a machine that installed this one, replace every credential",
    literals: &[
        "event-stream@",
        "event-stream==",
        "event-stream\"",
        "event-stream'",
        "flatmap-stream@",
        "flatmap-stream==",
        "flatmap-stream\"",
        "flatmap-stream'",
        "eslint-scope@",
        "eslint-scope==",
        "eslint-scope\"",
        "eslint-scope'",
        "ua-parser-js@",
        "ua-parser-js==",
        "ua-parser-js\"",
        "ua-parser-js'",
        "coa@",
        "\"coa\"",
        "rc@",
        "\"rc\"",
        "node-ipc@",
        "node-ipc==",
        "node-ipc\"",
        "node-ipc'",
        "colors@",
        "colors==",
        "colors\"",
        "colors'",
        "faker@",
        "faker==",
        "faker\"",
        "faker'",
        "@solana/web3.js@",
        "@solana/web3.js==",
        "@solana/web3.js\"",
        "@solana/web3.js'",
        "nx@",
        "\"nx\"",
        "debug@",
        "\"debug\"",
        "eslint-config-prettier@",
        "eslint-config-prettier==",
        "eslint-config-prettier\"",
        "eslint-config-prettier'",
        "eslint-plugin-prettier@",
        "eslint-plugin-prettier==",
        "eslint-plugin-prettier\"",
        "eslint-plugin-prettier'",
        "synckit@",
        "synckit==",
        "synckit\"",
        "synckit'",
        "@pkgr/core@",
        "@pkgr/core==",
        "@pkgr/core\"",
        "@pkgr/core'",
        "napi-postinstall@",
        "napi-postinstall==",
        "napi-postinstall\"",
        "napi-postinstall'",
        "chalk@",
        "chalk==",
        "chalk\"",
        "chalk'",
        "ansi-styles@",
        "ansi-styles==",
        "ansi-styles\"",
        "ansi-styles'",
        "ansi-regex@",
        "ansi-regex==",
        "ansi-regex\"",
        "ansi-regex'",
        "supports-color@",
        "supports-color==",
        "supports-color\"",
        "supports-color'",
        "strip-ansi@",
        "strip-ansi==",
        "strip-ansi\"",
        "strip-ansi'",
        "wrap-ansi@",
        "wrap-ansi==",
        "wrap-ansi\"",
        "wrap-ansi'",
        "slice-ansi@",
        "slice-ansi==",
        "slice-ansi\"",
        "slice-ansi'",
        "color-convert@",
        "color-convert==",
        "color-convert\"",
        "color-convert'",
        "color-name@",
        "color-name==",
        "color-name\"",
        "color-name'",
        "color-string@",
        "color-string==",
        "color-string\"",
        "color-string'",
        "is-arrayish@",
        "is-arrayish==",
        "is-arrayish\"",
        "is-arrayish'",
        "error-ex@",
        "error-ex==",
        "error-ex\"",
        "error-ex'",
        "simple-swizzle@",
        "simple-swizzle==",
        "simple-swizzle\"",
        "simple-swizzle'",
        "supports-hyperlinks@",
        "supports-hyperlinks==",
        "supports-hyperlinks\"",
        "supports-hyperlinks'",
        "has-ansi@",
        "has-ansi==",
        "has-ansi\"",
        "has-ansi'",
        "chalk-template@",
        "chalk-template==",
        "chalk-template\"",
        "chalk-template'",
        "backslash@",
        "backslash==",
        "backslash\"",
        "backslash'",
        "@ctrl/tinycolor@",
        "@ctrl/tinycolor==",
        "@ctrl/tinycolor\"",
        "@ctrl/tinycolor'",
        "postmark-mcp@",
        "postmark-mcp==",
        "postmark-mcp\"",
        "postmark-mcp'",
        "axios@",
        "axios==",
        "axios\"",
        "axios'",
        "plain-crypto-js@",
        "plain-crypto-js==",
        "plain-crypto-js\"",
        "plain-crypto-js'",
        "ultralytics@",
        "ultralytics==",
        "ultralytics\"",
        "ultralytics'",
        "litellm@",
        "litellm==",
        "litellm\"",
        "litellm'",
        "litellm[",
    ],
    pattern: concat!(
        r"(?:^|[^\w./@-])(?:event-stream|flatmap-stream|eslint-scope|ua-parser-js|node-ipc|colors|faker|@solana/web3\.js|chalk|ansi-styles|ansi-regex|supports-color|strip-ansi|wrap-ansi",
        r"|slice-ansi|color-convert|color-name|color-string|is-arrayish|error-ex|simple-swizzle|supports-hyperlinks|has-ansi|chalk-template|backslash|@ctrl/tinycolor|postmark-mcp|axios|plain-crypto-js|ultralytics|litellm(?:\[[\w,-]{1,30}\])?)(?:@|==|['\x22]\s{0,2}:\s{0,2}['\x22]=?)\d{1,2}\.\d{1,2}\.\d{1,2}(?:-[\w-]{1,12})?\b",
        r"|(?:^|[^\w./@-])(?:(?:coa|rc|nx|debug)@|\x22(?:coa|rc|nx|debug)\x22\s{0,2}:\s{0,2}\x22=?)\d{1,2}\.\d{1,2}\.\d{1,2}\b",
    ),
    accept: Some(is_poisoned),
    harmful: &[
        ("SKILL.md", "```bash\npip install litellm==1.82.8\n```\n"),
        ("package.json", "{\"dependencies\": {\"axios\": \"1.14.1\"}}"),
    ],
    harmless: &[
        ("SKILL.md", "```bash\npip install litellm==1.82.6\nnpm i my-debug@4.4.2 axios@1.14.0\n```\n"),
        ("SKILL.md", "Never install axios@1.14.1."),
    ],
    ..Rule::DEFAULT
};

/// Whether a package with a version is one of those.
fn is_poisoned(matched: &str) -> bool {
    let split = matched.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')));
    let Some((name, version)) = split.and_then(|at| matched.split_at_checked(at + 1)) else { return false };
    let name = name.trim_end_matches(['@', '=', '"', '\'', ':', ' ', '\n']);
    let name = name.split('[').next().unwrap_or(name).to_ascii_lowercase();
    let name = name.trim_start_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '@'));
    POISONED.iter().any(|(package, versions)| *package == name && versions.contains(&version))
}

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[RELEASE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_is_known_in_each_way_of_asking_for_it() {
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
                RELEASE
                    .literals
                    .iter()
                    .any(|literal| package.contains(literal.trim_end_matches('@').trim_matches('"')))
            );
        }
    }
}
