//! Splitting of string literals into text and interpolated code.

use super::{
    dialect::{Kind, Quote},
    tokens::{Lexer, Piece},
};
use crate::program::unescaped;

/// Maximum length of interpolated code, in bytes.
const HOLE: usize = 1024;

impl<'t> Lexer<'t> {
    /// Splits the content of a string into text and interpolated code.
    pub(super) fn pieces(&self, inner: &'t str, quote: Quote) -> Vec<Piece<'t>> {
        let escape = self.dialect.escape();
        let plain = |text: &str| match quote {
            Quote::Raw => text.replace("\\'", "'"),
            _ if escape == b'`' => text.replace("`n", "\n").replace('`', ""),
            _ if text.contains('\\') => unescaped(text),
            _ => text.to_owned(),
        };
        let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
        let is_open = matches!(quote, Quote::Open | Quote::Command);
        while let (true, Some(next)) = (is_open, inner.get(at..)) {
            let Some(next) = next.find(['#', '$', '{', '@', '\\', '`']).map(|next| at + next) else { break };
            let rest = inner.get(next..).unwrap_or("");
            if rest.as_bytes().first() == Some(&escape) {
                at = next + 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
            } else if let Some((code, length)) = self.hole(rest) {
                pieces.push(Piece::Plain(plain(inner.get(from..next).unwrap_or(""))));
                pieces.push(Piece::Code(code));
                (from, at) = (next + length, next + length);
            } else {
                at = next + 1;
            }
        }
        pieces.push(Piece::Plain(plain(inner.get(from..).unwrap_or(""))));
        pieces.retain(|piece| !matches!(piece, Piece::Plain(text) if text.is_empty()));
        pieces
    }

    /// Returns the interpolated code at the beginning of `rest`, and its length including the delimiters.
    pub(super) fn hole<'r>(&self, rest: &'r str) -> Option<(&'r str, usize)> {
        let braced = |open: &str| {
            let inside = rest.strip_prefix(open)?;
            let inside = inside.get(..inside.floor_char_boundary(HOLE))?;
            let close = if open.ends_with('(') { b"()" } else { b"{}" };
            let mut depth = 0_usize;
            let end = inside.bytes().position(|byte| {
                depth += usize::from(byte == close[0]);
                let is_end = byte == close[1] && depth == 0;
                depth -= usize::from(byte == close[1] && depth > 0);
                is_end
            })?;
            Some((inside.get(..end)?, open.len() + end + 1))
        };
        let variable = || {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            let is_name = |byte: u8| is_word(byte) || byte == b':' && self.dialect.is(Kind::PowerShell);
            let mut length = 1 + rest.bytes().skip(1).take_while(|byte| is_name(*byte)).count();
            if length < 2 || rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            let after = rest.get(length..)?;
            let part = after.strip_prefix("->").unwrap_or(after);
            let close = match part.chars().next() {
                Some('{') if self.dialect.is(Kind::Perl) => part.find('}'),
                Some('[') if !self.dialect.is(Kind::PowerShell) => part.find(']'),
                Some(c) if part.len() < after.len() && c.is_alphabetic() => {
                    part.bytes().position(|byte| !is_word(byte)).or(Some(part.len())).map(|end| end - 1)
                }
                _ => None,
            };
            length += close.filter(|end| *end < 80).map_or(0, |end| after.len() - part.len() + end + 1);
            Some((rest.get(..length)?, length))
        };
        match self.dialect.kind {
            Kind::Ruby => braced("#{"),
            Kind::Php if rest.starts_with("{$") => braced("{"),
            Kind::Perl if rest.starts_with("@{[") => {
                braced("@{[").map(|(code, length)| (code.trim_end_matches(']'), length))
            }
            Kind::PowerShell if rest.starts_with("$(") => braced("$("),
            Kind::Php | Kind::Perl | Kind::PowerShell if rest.starts_with("${") => braced("${")
                .map(|(name, length)| (rest.get(..length).filter(|_| name.is_empty()).unwrap_or(name), length)),
            Kind::Php | Kind::Perl | Kind::PowerShell if rest.starts_with('$') => variable(),
            _ => None,
        }
    }
}
