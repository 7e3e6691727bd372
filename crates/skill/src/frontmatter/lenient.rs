//! Fallback for a block that is almost YAML.

/// Quotes every plain one-line value that YAML would misread because of a colon, a `#` or a special first character.
/// Returns the text and the line, from 1, of the first quoted value. `None` if there is no such value.
pub(super) fn quote_values(yaml: &str) -> Option<(String, usize)> {
    let mut first = None;
    let mut lines = Vec::new();
    for (number, line) in yaml.lines().enumerate() {
        match quote_line(line) {
            Some(quoted) => {
                first.get_or_insert(number + 1);
                lines.push(quoted);
            }
            None => lines.push(line.to_owned()),
        }
    }
    first.map(|line| (lines.join("\n"), line))
}

fn quote_line(line: &str) -> Option<String> {
    let (key, value) = line.split_once(':')?;
    let value = value.strip_prefix([' ', '\t'])?.trim();
    let plain_key = !key.trim().is_empty() && key.trim().chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    if !plain_key || !needs_quotes(value) { None } else { Some(format!("{key}: '{}'", value.replace('\'', "''"))) }
}

fn needs_quotes(value: &str) -> bool {
    match value.chars().next() {
        None | Some('\'' | '|' | '>' | '[' | '{' | '&' | '!') => false,
        Some('"') => !is_whole_double_quoted(value),
        Some('*' | '@' | '`' | '%') => true,
        Some(_) => value.contains(": ") || value.ends_with(':') || value.contains(" #"),
    }
}

/// Returns whether a value that starts with a double quote also ends with it, so that the parser can read it.
fn is_whole_double_quoted(value: &str) -> bool {
    let inner = &value[1..];
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return inner[at + 1..].trim_start().is_empty(),
            _ => escaped = false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misread_values_are_quoted() {
        assert_eq!(quote_values("a: b\nc: [x\n"), None);
        assert_eq!(quote_values("a: x: y"), Some(("a: 'x: y'".to_owned(), 1)));
        assert_eq!(quote_values("a: 1\nb: \"q\" and more"), Some(("a: 1\nb: '\"q\" and more'".to_owned(), 2)));
        assert_eq!(quote_values("m:\n  k: it's: x"), Some(("m:\n  k: 'it''s: x'".to_owned(), 2)));
        assert_eq!(quote_values("a: \"x: y\""), None);
    }
}
