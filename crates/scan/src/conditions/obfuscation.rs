//! Which texts hide a name or a command.

use crate::hosts::{addresses, trust_at};

/// Whether it is code, and not an expression by which code is sought.
pub(crate) fn is_no_search(matched: &str) -> bool {
    !matched.contains("\\(") && !matched.contains("grep")
}

/// Whether the variables have names that tell nothing.
pub(crate) fn is_of_pieces(matched: &str) -> bool {
    let mut names = matched.split('$').skip(1).take(2).map(|name| name.trim_start_matches('{'));
    names.all(|name| name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').count() <= 3)
}

/// Whether a connection is more than a look whether a port is open, which is closed at once.
pub(crate) fn is_no_probe(matched: &str) -> bool {
    let closes = [">&-", "<&-", "\") 2>"].iter().any(|end| matched.contains(end));
    !closes || ["sh ", "sh<", "sh\"", "cat <&", "read ", "eval", "0<&", "0>&"].iter().any(|part| matched.contains(part))
}

/// Whether a function calls itself twice, and not two others.
pub(crate) fn is_one_name(matched: &str) -> bool {
    let parts = matched.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    let names: Vec<&str> = parts.collect();
    let is_function = matched.contains('{') && !names.is_empty();
    !is_function || names.iter().all(|name| Some(name) == names.first())
}

/// Whether what is escaped is text, mostly letters.
pub(crate) fn is_written(matched: &str) -> bool {
    let codes = matched.split('\\').filter(|code| !code.is_empty());
    let read = |code: &str| match code.strip_prefix('x').or_else(|| code.strip_prefix("u00")) {
        Some(hex) => u8::from_str_radix(hex, 16).ok(),
        None => u8::from_str_radix(code, 8).ok(),
    };
    let letters: Vec<u8> = codes.filter_map(read).collect();
    let plain = letters.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    plain * 2 > letters.len() && plain >= 4
}

/// Whether code is loaded from a host that keeps no libraries.
pub(crate) fn is_no_library(matched: &str) -> bool {
    addresses(matched).next().is_none_or(|address| !address.is_nowhere() && !trust_at(&address).is_known())
}

/// Whether the sentence does not look for such code.
pub(crate) fn is_no_warning(matched: &str) -> bool {
    const LOOKS: &[&str] = &["look for", "find ", "detect", "check ", "report", "flag ", "unsanit", "user input"];
    let lower = matched.to_ascii_lowercase();
    !LOOKS.iter().any(|word| lower.contains(word))
}

/// Whether the sentence does not ask for the truth.
pub(crate) fn is_meant(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    !["unless", "never claim", "never say that", "never report", "not claim"].iter().any(|word| lower.contains(word))
}
