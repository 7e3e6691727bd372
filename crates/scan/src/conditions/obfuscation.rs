//! Conditions on texts that hide a name or a command.

use crate::hosts::{addresses, trust_at};

/// Returns true if the match is code rather than a search expression for code.
pub(crate) fn is_no_search(matched: &str) -> bool {
    !matched.contains("\\(") && !matched.contains("grep")
}

/// Returns true if the variables have names of at most three characters, which are typical of split commands.
pub(crate) fn is_of_pieces(matched: &str) -> bool {
    let mut names = matched.split('$').skip(1).take(2).map(|name| name.trim_start_matches('{'));
    names.all(|name| name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').count() <= 3)
}

/// Returns true if a connection does more than test for an open port and close again.
pub(crate) fn is_no_probe(matched: &str) -> bool {
    let closes = [">&-", "<&-", "\") 2>"].iter().any(|end| matched.contains(end));
    !closes || ["sh ", "sh<", "sh\"", "cat <&", "read ", "eval", "0<&", "0>&"].iter().any(|part| matched.contains(part))
}

/// Returns true if a function calls itself twice rather than two other functions.
pub(crate) fn is_one_name(matched: &str) -> bool {
    let parts = matched.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    let names: Vec<&str> = parts.collect();
    let is_function = matched.contains('{') && !names.is_empty();
    !is_function || names.iter().all(|name| Some(name) == names.first())
}

/// Returns true if the escapes decode mostly to letters.
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

/// Returns true if code is loaded from a host that does not publish libraries.
pub(crate) fn is_no_library(matched: &str) -> bool {
    addresses(matched).next().is_none_or(|address| !address.is_nowhere() && !trust_at(&address).is_known())
}

/// Returns true if the sentence does not describe a search for such code.
pub(crate) fn is_no_warning(matched: &str) -> bool {
    const LOOKS: &[&str] = &["look for", "find ", "detect", "check ", "report", "flag ", "unsanit", "user input"];
    let lower = matched.to_ascii_lowercase();
    !LOOKS.iter().any(|word| lower.contains(word))
}

/// Returns true if the sentence does not demand honesty.
pub(crate) fn is_meant(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    !["unless", "never claim", "never say that", "never report", "not claim"].iter().any(|word| lower.contains(word))
}
