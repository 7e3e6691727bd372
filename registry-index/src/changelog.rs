//! [`checked_changelog`]: the publisher's description of the changes in a release.

use thiserror::Error;

/// Maximum length of a changelog in characters. Servers enforce the same limit.
pub const CHANGELOG_CHARS: usize = 4000;

/// Reasons why a text is not a changelog.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChangelogError {
    /// The text is too long.
    #[error("the changelog has {0} characters, but the limit is {CHANGELOG_CHARS}")]
    TooLong(usize),
    /// The text has a control character other than a line feed or a tab.
    #[error("the changelog has the control character U+{:04X} in line {line}", u32::from(*character))]
    Control {
        /// The character.
        character: char,
        /// Line number from 1.
        line: usize,
    },
}

/// Returns a changelog as plain text with LF line ends, without blank lines around it; `None` if it is empty.
///
/// # Errors
/// [`ChangelogError`] if it is too long or has control characters.
pub fn checked_changelog(text: &str) -> Result<Option<String>, ChangelogError> {
    let text = text.trim().replace("\r\n", "\n");
    let length = text.chars().count();
    if length > CHANGELOG_CHARS {
        return Err(ChangelogError::TooLong(length));
    }
    for (at, line) in text.split('\n').enumerate() {
        if let Some(character) = line.chars().find(|c| c.is_control() && *c != '\t') {
            return Err(ChangelogError::Control { character, line: at + 1 });
        }
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changelog_is_bounded_plain_text() {
        assert_eq!(checked_changelog(" \r\n").unwrap(), None);
        assert_eq!(checked_changelog("\n- one\r\n- 二\n").unwrap().as_deref(), Some("- one\n- 二"));
        assert!(checked_changelog(&"字".repeat(CHANGELOG_CHARS)).is_ok());
        assert_eq!(checked_changelog(&"字".repeat(CHANGELOG_CHARS + 1)), Err(ChangelogError::TooLong(4001)));
        let error = checked_changelog("one\n\u{1b}[31mred").unwrap_err();
        assert_eq!(error.to_string(), "the changelog has the control character U+001B in line 2");
    }
}
