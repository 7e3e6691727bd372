//! Estimates of the memory that parsing a TOML text takes ([`parts`], [`from_toml`], [`toml_dots`]).

use serde::de::DeserializeOwned;
use toml_parser::{
    Source,
    lexer::{Token, TokenKind},
};

/// Size in bytes after which a part of a state ends before the next skill.
const PART_BYTES: usize = 64 << 10;
/// Weight limit of one part: a skill with 30,000 links.
const PART_WEIGHT: usize = 100_000;
/// Weight limit of a state. One of `Limits::state_bytes` with three links for each skill weighs a million.
const STATE_WEIGHT: usize = 1_500_000;
/// Weight limit of a settings file: 10,000 trusted projects in Codex's configuration.
const SETTINGS_WEIGHT: usize = 200_000;

/// Splits the text of a state into parts that are parsed one after the other, so that only one of them is a tree in
/// memory. Each part except the first begins with a skill, and a small state is one part.
///
/// # Errors
/// Returns a message if it has so many values that they would take many times its size in memory.
pub(crate) fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut part, mut weight, mut all) = (Vec::new(), text, 0, 0);
    let mut begins_line = true;
    for token in Source::new(text).lex() {
        let rest = text.get(token.span().start()..).unwrap_or_default();
        let length = part.len() - rest.len();
        if begins_line && length >= PART_BYTES && begins_skill(rest) {
            parts.push(part.get(..length).unwrap_or_default());
            (part, weight) = (rest, 0);
        }
        begins_line = token.kind() == TokenKind::Newline;
        (weight, all) = (weight + weight_of(&token), all + weight_of(&token));
        if weight > PART_WEIGHT || all > STATE_WEIGHT {
            return Err("it has too many values for its size".to_owned());
        }
    }
    parts.push(part);
    Ok(parts)
}

/// Returns whether a text begins with the header of a skill's entry, such as `[skills.pdf]`.
fn begins_skill(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("[skills.").and_then(|rest| rest.strip_suffix(']')).is_some_and(|name| {
        let quoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        quoted.map_or(!name.contains('.'), |name| !name.contains('"'))
    })
}

/// Refuses a settings file with so many values that they would take many times its size in memory.
///
/// # Errors
/// Returns a message with that reason.
pub fn refuse_toml_flood(text: &str) -> Result<(), String> {
    if is_heavier(text, SETTINGS_WEIGHT) { Err("it has too many values".to_owned()) } else { Ok(()) }
}

/// Parses a small file of skillhub.
///
/// # Errors
/// Returns a message if it is invalid, or if it has so many values that they would take many times its size in
/// memory.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    refuse_toml_flood(text)?;
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

/// Counts the dots outside of strings. Each may begin a table, which takes a kilobyte.
pub fn toml_dots(text: &str) -> usize {
    Source::new(text).lex().filter(|token| token.kind() == TokenKind::Dot).count()
}

/// Returns whether a text is too large in memory to be repaired.
pub(crate) fn is_flood(text: &str) -> bool {
    is_heavier(text, PART_WEIGHT)
}

fn is_heavier(text: &str, most: usize) -> bool {
    let mut left = most;
    Source::new(text).lex().any(|token| {
        let weight = weight_of(&token);
        let is_over = weight > left;
        left = left.saturating_sub(weight);
        is_over
    })
}

/// Returns the memory for parsing a token, in units of at most 250 bytes. A dot may begin a table.
fn weight_of(token: &Token) -> usize {
    if token.kind() == TokenKind::Dot { 4 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_at_skill_tables() {
        let one = |name: &str| {
            let text = "\"\"\"\n[skills.within]\n\"\"\"";
            let links = "\"/home/a/.claude/skills/x\", ".repeat(9);
            format!(
                "[skills.{name}]\nplaced = [{links}]\n[[skills.{name}.waivers]]\nid = {text}\n[skills.{name}.trial]\n"
            )
        };
        let all = (0..4_000).map(|at| one(&if at % 2 == 0 { format!("s{at}") } else { format!("\"a.{at}\"") }));
        let text = format!("format = 1\n{}", all.collect::<String>());
        let parts = parts(&text).unwrap();
        assert_eq!(parts.concat(), text);
        assert!(parts.len() > text.len() / PART_BYTES / 2, "{}", parts.len());
        for part in parts.iter().skip(1) {
            assert!(part.starts_with("[skills.s") || part.starts_with("[skills.\"a."), "{}", &part[..80]);
        }
        assert_eq!(super::parts("").unwrap(), [""]);
    }

    #[test]
    fn value_floods_are_refused() {
        for flood in ["0,", "[],", "\n", "{a=0},", "\"\",", ".a", "[[x]]\na.a.a.a=1\n"] {
            let text = flood.repeat((1 << 20) / flood.len());
            assert!(parts(&text).is_err() && refuse_toml_flood(&text).is_err() && is_flood(&text), "{flood:?}");
        }
        assert!(
            from_toml::<toml::Table>(&"x = [0,]\n".repeat(50_000)).is_err_and(|why| why.contains("too many values"))
        );
        let long = format!("x = \"{}\"\n", "a.b = [], ".repeat(100_000));
        assert!(parts(&long).is_ok() && refuse_toml_flood(&long).is_ok() && !is_flood(&long));
    }
}
