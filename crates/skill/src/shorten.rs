//! [`shortened`]: the beginning of a text, and the length to which messages cut the texts of callers.

/// Number of characters of a caller's text that a message repeats.
pub const ECHO_CHARS: usize = 80;

/// Returns at most `chars` characters of a text. A text that is cut ends with a further character, `…`.
pub fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_longer_texts_are_cut_and_marked() {
        assert_eq!([shortened("", 0), shortened("äbc", 3), shortened("äbc", 4)], ["", "äbc", "äbc"]);
        assert_eq!([shortened("äbc", 0), shortened("äbc", 1), shortened("äbc", 2)], ["…", "ä…", "äb…"]);
    }
}
