//! Names of the tools of skills ([`tool_name`]).

use sha2::{Digest as _, Sha256};

/// Prefix of every such name.
pub const PREFIX: &str = "skill_";
/// Name of the native tool that runs commands.
pub(crate) const SHELL: &str = "shell";
/// Length limit of a tool's name in protocols. MCP hosts pass names to models' interfaces, which accept
/// `[A-Za-z0-9_-]{1,64}`.
const ALIAS_CHARS: usize = 64;
/// Number of hexadecimal digits of the digest that keeps shortened names distinct.
const DIGEST_CHARS: usize = 8;

/// Skill names whose tools would collide with skillhub's own, whichever of those a server offers.
const RESERVED: [&str; 11] = [
    "manage", "history", "diff", "rollback", "status", "review", "review-list", "review-show", "codegen", "read",
    "search",
];

/// Returns the name of a skill's tool: `skill_` and the skill's name, unchanged.
pub fn tool_name(skill: &str) -> String {
    format!("{PREFIX}{skill}")
}

/// Returns the name for protocols that require ASCII of at most 64 characters: the tool's name if it qualifies,
/// otherwise its ASCII part with a digest to keep it distinct.
pub fn alias(skill: &str) -> String {
    let name = tool_name(skill);
    if name.len() <= ALIAS_CHARS && name.is_ascii() {
        return name;
    }
    let digest = ::skill::hex(&Sha256::digest(skill.as_bytes())[..DIGEST_CHARS / 2]);
    let room = ALIAS_CHARS - PREFIX.len() - DIGEST_CHARS - 1;
    let ascii: String = skill.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(room).collect();
    match ascii.trim_matches('-') {
        "" => format!("{PREFIX}{digest}"),
        ascii => format!("{PREFIX}{ascii}_{digest}"),
    }
}

/// Returns whether a skill's tool would collide with one of skillhub's own: those in `others`, and those that are
/// always reserved.
pub(crate) fn is_reserved(skill: &str, others: &[&str]) -> bool {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let tool = plain(&tool_name(skill));
    RESERVED.iter().any(|name| plain(&tool_name(name)) == tool) || others.iter().any(|name| plain(name) == tool)
}

/// Shortens a user-written name for a message and replaces control characters.
pub(crate) fn shortened(text: &str) -> String {
    ::skill::shortened(&text.replace(char::is_control, " "), 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_aliases_are_short_ascii() {
        assert_eq!(tool_name("site-monitor"), "skill_site-monitor");
        assert_eq!(alias("site-monitor"), "skill_site-monitor");
        assert_eq!(tool_name("监控"), "skill_监控");
        let alias_of = alias("监控");
        assert!(alias_of.is_ascii() && alias_of.len() <= ALIAS_CHARS && alias_of != alias("监视"), "{alias_of}");
        let long = "a".repeat(64);
        assert_eq!(alias(&long).len(), ALIAS_CHARS);
        assert_ne!(alias(&long), alias(&format!("{}b", "a".repeat(63))));
    }

    #[test]
    fn only_cut_names_end_with_an_ellipsis() {
        assert_eq!(shortened("a\u{85}b\n"), "a b ");
        assert_eq!(shortened(&"é".repeat(65)), format!("{}…", "é".repeat(64)));
    }

    #[test]
    fn builtin_names_are_always_reserved() {
        for name in ["manage", "history", "diff", "rollback", "status", "review-list", "Manage"] {
            assert!(is_reserved(name, &[]), "{name}");
        }
        assert!(is_reserved("my-tool", &["skill_my_tool"]) && !is_reserved("my-tool", &[]));
    }
}
