//! [`Dialect`]: how a language marks comments, texts and sums.

use memchr::{memchr, memmem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Python,
    /// And languages with its marks, such as TypeScript, Go, Java and C#.
    JavaScript,
    /// Perl as well.
    Php,
    Ruby,
    PowerShell,
    Lua,
}

impl Dialect {
    /// By an extension, the name of an interpreter, or the word behind a fence.
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

    /// The length of the sign that adds texts, if one stands here.
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

    /// Where a comment ends that begins here.
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

    /// What a literal text holds, and where it ends; of one that is not closed, how many bytes were looked at.
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

    /// A regular expression of JavaScript that stands for the characters between its slashes.
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

/// Whether a byte may be part of a name.
pub(super) fn is_word(byte: u8) -> bool {
    WORD.get(usize::from(byte)).copied().unwrap_or(false)
}

/// For each byte whether it may be part of a name.
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
