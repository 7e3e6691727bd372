//! [`shell_word`]: shell quoting for printed commands.

/// Quotes a text as one shell word, so that a printed command can be pasted unchanged.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:+=,~%^".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[test]
fn special_characters_are_quoted() {
    assert_eq!(shell_word("~/skills/a-b_c.d"), "~/skills/a-b_c.d");
    assert_eq!(shell_word("/a b/$c"), "'/a b/$c'");
    assert_eq!(shell_word("it's"), r"'it'\''s'");
    assert_eq!(shell_word(""), "''");
}
