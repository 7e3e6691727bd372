//! [`Words`]: reader for shell words that removes quotation marks and substitutes variables.

use std::collections::HashMap;

use memchr::memchr;

use super::{
    TooMuch,
    text::{Decoding, decode, replaced, unescape},
};

/// Maximum length of a variable's value in bytes, and maximum number of variables.
const VALUE: usize = 2048;
const VARIABLES: usize = 20_000;

/// Maximum length of a command whose output is evaluated, and of a parameter expansion, in bytes.
const SPOKEN: usize = 400;
const EXPANSION: usize = 80;

/// Maximum number of pieces of a word. The remainder becomes the next word.
const PIECES: usize = 256;

/// Bytes that may be read per byte of a script, and the minimum for a short one.
const READS: usize = 32;
const LEAST: usize = 64 << 10;

/// Shell word with its expansions.
#[derive(Default)]
pub(super) struct Word {
    pub end: usize,
    /// Text for the copy, with quotation marks where they are needed.
    pub shown: String,
    /// Value after the shell's expansion and quote removal.
    pub plain: String,
    /// True if `shown` differs from the source.
    pub changed: bool,
    /// True if any part of it is quoted.
    pub is_quoted: bool,
    /// True if a variable in it was substituted.
    pub unsure: bool,
    /// True if a part of it is unknown.
    is_open: bool,
}

impl Word {
    /// Returns the word without quotation marks, unless its value contains a `"`.
    pub fn bare(&self) -> String {
        if self.plain.contains('"') { self.shown.clone() } else { self.plain.clone() }
    }
}

/// Part of a word, with its quotation mark (0 if it has none).
struct Piece {
    text: String,
    quote: u8,
    end: usize,
    changed: bool,
    unsure: bool,
    is_open: bool,
}

pub(super) struct Words<'t> {
    text: &'t str,
    variables: HashMap<&'t str, String>,
    left: usize,
}

/// Returns whether a text is a valid name of a variable or a function.
pub(super) fn is_variable(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(is_part)
}

impl<'t> Words<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, variables: HashMap::new(), left: text.len().saturating_mul(READS) + LEAST }
    }

    pub fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    pub fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or("")
    }

    pub fn line_end(&self, at: usize) -> usize {
        memchr(b'\n', self.rest(at).as_bytes()).map_or(self.text.len(), |end| at + end)
    }

    /// Records the variable that a word such as `A=curl` sets. Returns whether the word is an assignment. Fails beyond
    /// the limit of variables.
    pub fn assign(&mut self, at: usize, word: &Word) -> Result<bool, TooMuch> {
        let Some((name, value)) = word.plain.split_once('=') else { return Ok(false) };
        let (name, is_more) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if !is_variable(name) {
            return Ok(false);
        }
        let name = self.rest(at).get(..name.len()).unwrap_or("");
        let value = match self.variables.remove(name) {
            Some(before) if is_more => before + value,
            _ => value.to_owned(),
        };
        if !word.is_open && !value.is_empty() && value.len() <= VALUE {
            self.variables.insert(name, value);
        }
        if self.variables.len() > VARIABLES { Err(TooMuch) } else { Ok(true) }
    }

    /// Reads the word at a position.
    pub fn read(&mut self, at: usize) -> Result<Word, TooMuch> {
        let (mut pieces, mut end) = (Vec::new(), at);
        while pieces.len() < PIECES
            && let Some(piece) = self.piece(end, pieces.is_empty())
        {
            self.left = self.left.checked_sub((piece.end - end).max(1) + piece.text.len()).ok_or(TooMuch)?;
            end = piece.end;
            pieces.push(piece);
        }
        let plain: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let changed = pieces.iter().any(|piece| piece.changed) || pieces.windows(2).any(is_seam);
        let unsure = pieces.iter().any(|piece| piece.unsure);
        let is_open = pieces.iter().any(|piece| piece.is_open);
        let is_quoted = pieces.iter().any(|piece| piece.quote != 0);
        let shown = match pieces.as_slice() {
            [one] if one.quote != 0 => quoted(&plain, one.quote),
            _ if is_quoted && plain.contains(|c: char| c.is_whitespace() || "|&;<>()#".contains(c)) => {
                quoted(&plain, b'"')
            }
            _ => plain.clone(),
        };
        Ok(Word { end, shown, plain, changed, is_quoted, unsure, is_open })
    }

    fn piece(&self, at: usize, is_first: bool) -> Option<Piece> {
        match self.byte(at) {
            0 | b' ' | b'\t' | b'\n' | b'\r' | b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>' | b'`' => None,
            b'\\' if self.byte(at + 1) == b'\n' => None,
            b'\\' => Some(self.escaped(at)),
            quote @ (b'\'' | b'"') => Some(self.quoted(at, quote).unwrap_or_else(|| self.bare(at, 1))),
            b'$' if self.byte(at + 1) == b'\'' => Some(self.quoted(at + 1, b'$').unwrap_or_else(|| self.bare(at, 2))),
            b'$' if self.byte(at + 1) == b'(' => self.spoken(at).map(|(text, end)| Piece {
                text,
                quote: 0,
                end,
                changed: true,
                unsure: false,
                is_open: false,
            }),
            b'$' => Some(self.variable(at).unwrap_or_else(|| Piece { is_open: true, ..self.bare(at, 1) })),
            b'#' if is_first => None,
            _ => Some(self.bare(at, 1)),
        }
    }

    /// Reads plain characters up to the next special one. The first `least` are taken unconditionally.
    fn bare(&self, at: usize, least: usize) -> Piece {
        let is_plain = |byte: &u8| !b" \t\n\r;|&()<>`\\'\"$".contains(byte) && *byte != 0;
        let more = self.rest(at + least).bytes().take_while(is_plain).count();
        let end = self.text.ceil_char_boundary(at + least + more);
        let text = self.text.get(at..end).unwrap_or("").to_owned();
        Piece { text, quote: 0, end, changed: false, unsure: false, is_open: false }
    }

    fn escaped(&self, at: usize) -> Piece {
        let next = self.byte(at + 1);
        let is_letter = next.is_ascii_alphanumeric() || matches!(next, b'.' | b'/' | b'-' | b'_' | b':');
        if !is_letter {
            return self.bare(at, 2);
        }
        Piece {
            text: char::from(next).to_string(),
            quote: 0,
            end: at + 2,
            changed: true,
            unsure: false,
            is_open: false,
        }
    }

    /// Reads a quoted string, which has to end on the same line. `$` as the quote means `$'...'`.
    fn quoted(&self, at: usize, quote: u8) -> Option<Piece> {
        let mark = if quote == b'$' { b'\'' } else { quote };
        let bytes = self.rest(at + 1).as_bytes();
        let mut length = 0;
        loop {
            match bytes.get(length)? {
                b'\n' => return None,
                b'\\' if quote != b'\'' => length += 2,
                byte if *byte == mark => break,
                _ => length += 1,
            }
        }
        let inner = self.rest(at + 1).get(..length)?;
        let end = at + length + 2;
        Some(match quote {
            b'$' => Piece { text: unescape(inner), quote: b'"', end, changed: true, unsure: false, is_open: false },
            b'\'' => Piece {
                text: inner.to_owned(),
                quote,
                end,
                changed: inner.is_empty() && self.is_inside(at, end),
                unsure: false,
                is_open: false,
            },
            _ => self.filled(inner, end, inner.is_empty() && self.is_inside(at, end)),
        })
    }

    /// Returns whether a range has a letter or digit on both sides.
    fn is_inside(&self, at: usize, end: usize) -> bool {
        at > 0 && self.byte(at - 1).is_ascii_alphanumeric() && self.byte(end).is_ascii_alphanumeric()
    }

    /// Reads a double-quoted string and substitutes its variables.
    fn filled(&self, inner: &str, end: usize, changed: bool) -> Piece {
        let mut piece = Piece { text: String::new(), quote: b'"', end, changed, unsure: false, is_open: false };
        let start = end - 1 - inner.len();
        let mut at = start;
        while let Some(dollar) =
            memchr(b'$', self.text.as_bytes().get(at..end - 1).unwrap_or_default()).map(|next| at + next)
        {
            piece.text.push_str(self.text.get(at..dollar).unwrap_or(""));
            let known = self.variable(dollar).map(|piece| (piece.text, piece.end)).or_else(|| self.spoken(dollar));
            match known.filter(|(_, behind)| *behind < end && piece.text.len() < VALUE) {
                Some((text, behind)) => {
                    piece.text.push_str(&text);
                    (piece.changed, piece.unsure, at) = (true, true, behind);
                }
                None => {
                    piece.text.push('$');
                    (piece.is_open, at) = (true, dollar + 1);
                }
            }
        }
        piece.text.push_str(self.text.get(at..end - 1).unwrap_or(""));
        piece.is_open |= piece.text.contains('`');
        piece
    }

    /// Expands a known variable: `$A`, `${A}`, `${A:1:2}`, `${A//x/y}`, `$IFS`.
    fn variable(&self, at: usize) -> Option<Piece> {
        let found =
            |text: String, end: usize| Some(Piece { text, quote: 0, end, changed: true, unsure: true, is_open: false });
        if self.byte(at + 1) != b'{' {
            let length =
                self.rest(at + 1).bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            let name = self.rest(at + 1).get(..length)?;
            return found(self.value(name)?, at + 1 + length);
        }
        let inner = self.rest(at + 2);
        let inner = inner.get(..inner.floor_char_boundary(EXPANSION))?.split_once('}')?.0;
        let length = inner.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (name, how) = inner.split_at(length);
        found(changed(self.value(name)?, how)?, at + inner.len() + 3)
    }

    fn value(&self, name: &str) -> Option<String> {
        if name == "IFS" { Some(" ".to_owned()) } else { self.variables.get(name).cloned() }
    }

    /// Evaluates a command substitution that only prints a text, optionally through decoders: `$(echo curl)`.
    pub fn spoken(&self, at: usize) -> Option<(String, usize)> {
        let inner = self.rest(at).strip_prefix("$(")?;
        let inner = inner.get(..inner.floor_char_boundary(SPOKEN))?;
        let words = inner.trim_start().strip_prefix("echo ").or_else(|| inner.trim_start().strip_prefix("printf "))?;
        let length = inner.find(')')?;
        let words = words.get(..words.find(')')?)?;
        let mut parts = words.split('|');
        let said = parts
            .next()?
            .trim()
            .trim_start_matches("-n ")
            .trim_start_matches("-e ")
            .trim_start_matches("%s ")
            .trim_start_matches("'%s' ");
        let said = unescape(said.trim_matches(['\'', '"']));
        let is_known = !said.contains(['$', '`', '"', '\'', '<', '>', ';', '&']);
        let said = parts.try_fold(said, |said, part| decode_by(&said, part.trim()))?;
        is_known.then_some((said, at + length + 3))
    }
}

/// Applies a decoder such as `base64 -d` to a text.
fn decode_by(text: &str, command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    match (words.next()?, words.next().unwrap_or("")) {
        ("base64", "-d" | "-D" | "--decode") => decode(text, Decoding::Base64),
        ("xxd", _) if command.contains("-r") => decode(text, Decoding::Hex),
        ("rev", _) => Some(text.chars().rev().collect()),
        ("tr", _) if command.to_ascii_lowercase().contains("n-z") => decode(text, Decoding::Rot13),
        _ => None,
    }
}

/// Applies a parameter expansion to the value of a variable.
fn changed(value: String, how: &str) -> Option<String> {
    if how.is_empty() {
        return Some(value);
    }
    if let Some(how) = how.strip_prefix("//").or_else(|| how.strip_prefix('/')) {
        let (from, to) = how.split_once('/').unwrap_or((how, ""));
        return replaced(&value, from, to, VALUE).filter(|_| !from.is_empty());
    }
    if let Some(how) = how.strip_prefix(':') {
        let (from, length) = how.split_once(':').unwrap_or((how, "9999"));
        let (from, length): (usize, usize) = (from.trim().parse().ok()?, length.trim().parse().ok()?);
        return Some(value.chars().skip(from).take(length).collect());
    }
    None
}

/// Returns whether a quotation mark separates two letters: `c'url'`.
fn is_seam(pair: &[Piece]) -> bool {
    let [left, right] = pair else { return false };
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    (left.quote != 0 || right.quote != 0) && ends(left.text.chars().next_back()) && ends(right.text.chars().next())
}

/// Quotes a text, if possible with a mark that it does not contain.
fn quoted(text: &str, quote: u8) -> String {
    let quote = char::from(quote);
    let quote = match (text.contains('"'), text.contains('\'')) {
        (true, false) => '\'',
        (false, true) => '"',
        _ => quote,
    };
    format!("{quote}{text}{quote}")
}
