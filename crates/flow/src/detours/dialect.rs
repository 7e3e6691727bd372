//! [`Dialect`]: syntax of comments, strings and concatenation in a language.

use memchr::{memchr, memmem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Python,
    /// Also languages with the same syntax, such as TypeScript, Go, Java and C#.
    JavaScript,
    /// PHP, and Perl as well.
    Php,
    Ruby,
    PowerShell,
    Lua,
}

impl Dialect {
    /// Returns the dialect for an extension, an interpreter name or the info string of a fence.
    pub fn of_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "py" | "pyw" | "python" | "python3" => Some(Self::Python),
            "js" | "mjs" | "cjs" | "jsx" | "tsx" | "node" | "javascript" | "ts" | "mts" | "cts" | "typescript"
            | "go" | "java" | "kt" | "kts" | "cs" | "scala" | "dart" | "swift" | "groovy" => Some(Self::JavaScript),
            "php" | "pl" | "pm" | "perl" => Some(Self::Php),
            "rb" | "ruby" => Some(Self::Ruby),
            "ps1" | "psm1" | "powershell" | "pwsh" => Some(Self::PowerShell),
            "lua" => Some(Self::Lua),
            _ => None,
        }
    }

    /// Returns the length of the concatenation operator at the beginning of `rest`, if there is one.
    pub fn plus(self, rest: &str) -> Option<usize> {
        let sign = match self {
            Self::Php => ".",
            Self::Lua => "..",
            _ => "+",
        };
        (rest.starts_with(sign) && !rest.starts_with("++") && !rest.starts_with("+=")).then_some(sign.len())
    }

    pub fn is_quote(self, byte: u8) -> bool {
        matches!(byte, b'"' | b'\'') || byte == b'`' && self == Self::JavaScript
    }

    /// Returns the end of a comment that begins at a position.
    pub fn comment(self, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let line = || memchr(b'\n', rest.as_bytes()).map_or(text.len(), |end| at + end);
        let until = |mark: &str| memmem::find(rest.as_bytes(), mark.as_bytes()).map_or(text.len(), |end| at + end);
        match self {
            Self::JavaScript | Self::Php if rest.starts_with("/*") => Some(until("*/")),
            Self::JavaScript => rest.starts_with("//").then(line),
            Self::Lua => rest.starts_with("--").then(line),
            Self::Php => (rest.starts_with("//") || rest.starts_with('#')).then(line),
            Self::Python | Self::Ruby | Self::PowerShell => rest.starts_with('#').then(line),
        }
    }

    /// Returns the content and the end of a literal string.
    ///
    /// # Errors
    ///
    /// The number of bytes examined, if the string is not closed.
    pub fn quoted(self, text: &str, at: usize) -> Result<(&str, usize), usize> {
        let bytes = text.as_bytes();
        let quote = bytes.get(at).copied().unwrap_or(0);
        let inner = |from: usize, to: usize| text.get(from..to).ok_or(0_usize);
        if self == Self::Python && bytes.get(at..at + 3) == Some(&[quote; 3]) {
            let start = at + 3;
            let rest = bytes.get(start..).unwrap_or_default();
            let end = memmem::find(rest, &[quote; 3]).ok_or(rest.len())? + start;
            return Ok((inner(start, end)?, end + 3));
        }
        let is_wide = quote == b'`' || matches!(self, Self::Php | Self::PowerShell);
        let mut end = at + 1;
        loop {
            match bytes.get(end) {
                Some(b'\\') if self != Self::PowerShell => end += 2,
                Some(b'\n') if !is_wide => return Err(end - at),
                Some(byte) if *byte == quote => return Ok((inner(at + 1, end)?, end + 1)),
                Some(_) => end += 1,
                None => return Err(end - at),
            }
        }
    }

    /// Returns the content and the end of a JavaScript regular expression that matches only its literal text.
    pub fn pattern(self, text: &str, at: usize) -> Option<(&str, usize)> {
        let inner = text.get(at..)?.strip_prefix('/').filter(|_| self == Self::JavaScript)?;
        let length = inner.bytes().take(32).position(|byte| byte == b'/')?;
        let found = inner.get(..length)?;
        let is_literal =
            !found.is_empty() && found.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-~@#%&!".contains(&byte));
        let flags = inner.get(length + 1..)?.bytes().take_while(u8::is_ascii_lowercase).count();
        is_literal.then_some((found, at + length + 2 + flags))
    }
}

/// Returns whether a byte may be part of a name.
pub(super) fn is_word(byte: u8) -> bool {
    WORD.get(usize::from(byte)).copied().unwrap_or(false)
}

/// Lookup table for [`is_word`], indexed by byte.
static WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        table[byte] = c.is_ascii_alphanumeric() || c == b'_' || c == b'$';
        byte += 1;
    }
    table
};
