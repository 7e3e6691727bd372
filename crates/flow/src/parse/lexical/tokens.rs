//! [`read`]: single-pass tokeniser for languages without a grammar.

use memchr::memmem;

use super::dialect::{Dialect, Kind, Quote};

/// Token with its position.
#[derive(Debug)]
pub(super) struct Lexeme<'t> {
    pub token: Token<'t>,
    pub start: usize,
    pub end: usize,
    pub line: usize,
    /// Index of the matching closing bracket, or the number of tokens if there is none. Its own index for other tokens.
    pub pair: usize,
}

#[derive(Debug)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Number(&'t str),
    /// String literal in pieces. The flag is true for a shell command.
    Text(Vec<Piece<'t>>, bool),
    Mark(&'t str),
    Line,
}

/// Piece of a string: literal text, or interpolated code.
#[derive(Debug)]
pub(super) enum Piece<'t> {
    Plain(String),
    Code(&'t str),
}

/// Operators of several characters. Longer ones precede their prefixes.
const MARKS: &[&str] = &[
    "...", "||=", "&&=", "//=", "**=", "?->", "<=>", "===", "!==", "->", "=>", "::", ":=", "==", "!=", "<=", ">=",
    "=~", "!~", "+=", "-=", "*=", "/=", ".=", "|=", "&&", "||", "??", "?.", "&.", "<<", ">>", "..", "++", "--", "<-",
    "**",
];

/// Maximum number of unterminated strings. Beyond it, quotation marks are treated as operators.
const OPEN: usize = 16;

/// Splits a script into tokens. The flag is true if it has too many unterminated strings.
pub(super) fn read<'t>(dialect: &'static Dialect, text: &'t str, first_line: usize) -> (Vec<Lexeme<'t>>, bool) {
    let mut lexer =
        Lexer { dialect, text, at: 0, line: first_line, counted: 0, found: Vec::new(), open: 0, behind: None };
    if dialect.is(Kind::Php) && text.contains("<?") {
        lexer.at = text.find("<?").map_or(0, |at| at + 2);
    }
    while lexer.at < text.len() {
        lexer.next();
    }
    pair(&mut lexer.found);
    (lexer.found, lexer.open >= OPEN)
}

/// Matches each opening bracket with its closing one.
fn pair(found: &mut [Lexeme<'_>]) {
    let mut open = Vec::new();
    let end = found.len();
    for at in 0..found.len() {
        let Some(Lexeme { token: Token::Mark(mark), .. }) = found.get(at) else { continue };
        match *mark {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => {
                if let Some(lexeme) = open.pop().and_then(|from| found.get_mut(from)) {
                    lexeme.pair = at;
                }
            }
            _ => {}
        }
    }
    for from in open {
        found.get_mut(from).into_iter().for_each(|lexeme| lexeme.pair = end);
    }
}

pub(super) struct Lexer<'t> {
    pub dialect: &'static Dialect,
    text: &'t str,
    at: usize,
    line: usize,
    /// Offset up to which line ends were counted.
    counted: usize,
    found: Vec<Lexeme<'t>>,
    open: usize,
    /// Offset at which the input continues after the current line, behind its here-documents.
    behind: Option<usize>,
}

impl<'t> Lexer<'t> {
    fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or("")
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn put(&mut self, token: Token<'t>, end: usize) {
        let passed = self.text.as_bytes().get(self.counted..self.at).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.counted = self.at;
        let pair = self.found.len();
        self.found.push(Lexeme { token, start: self.at, end, line: self.line, pair });
        self.at = end;
    }

    fn mark(&mut self, length: usize) {
        let text = self.text;
        self.put(Token::Mark(text.get(self.at..self.at + length).unwrap_or("")), self.at + length);
    }

    /// Returns whether the previous token ends a value, so that a following operator is binary.
    fn is_behind_value(&self) -> bool {
        match self.found.last().map(|lexeme| &lexeme.token) {
            // In Perl, a word without a sigil is a function or a key.
            Some(Token::Name(name)) if self.dialect.is(Kind::Perl) => name.starts_with(['$', '@', '%']),
            Some(Token::Name(name)) => !matches!(
                *name,
                "return" | "if" | "and" | "or" | "not" | "unless" | "while" | "when" | "split" | "grep"
            ),
            Some(Token::Number(_) | Token::Text(..)) => true,
            Some(Token::Mark(mark)) => matches!(*mark, ")" | "]" | "}"),
            _ => false,
        }
    }

    fn next(&mut self) {
        let byte = self.byte(self.at);
        match byte {
            b'\n' => {
                if self.found.last().is_some_and(|last| !matches!(last.token, Token::Line)) {
                    self.put(Token::Line, self.at);
                }
                if self.long() {
                    return;
                }
                self.at = self.behind.take().unwrap_or(self.at + 1);
            }
            b' ' | b'\t' | b'\r' => self.at += 1,
            _ if self.long() || self.comment() || self.raw() || self.heredoc() || self.quoted() || self.listed() => {}
            b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                let length = self.rest(self.at).bytes().take_while(is_part).count();
                let text = self.text;
                self.put(Token::Number(text.get(self.at..self.at + length).unwrap_or("")), self.at + length);
            }
            _ if self.name() => {}
            _ => {
                let rest = self.rest(self.at);
                let known = MARKS.iter().find(|mark| rest.starts_with(**mark)).map(|mark| mark.len());
                self.mark(known.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8)));
            }
        }
    }

    /// Skips a block comment.
    fn long(&mut self) -> bool {
        let is_first = self.at == 0;
        let rest = self.rest(self.at);
        let starts = |open: &str| {
            rest.starts_with(open) || is_first && open.strip_prefix('\n').is_some_and(|open| rest.starts_with(open))
        };
        let Some((_, close)) = self.dialect.long.iter().find(|(open, _)| starts(open)) else { return false };
        let end = memmem::find(rest.as_bytes(), close.as_bytes()).map_or(rest.len(), |end| end + close.len());
        self.at += end.max(1);
        true
    }

    fn comment(&mut self) -> bool {
        let rest = self.rest(self.at);
        let is_comment = self.dialect.comments.iter().any(|mark| rest.starts_with(mark));
        if is_comment {
            let line = rest.lines().next().unwrap_or("");
            let end = if self.dialect.is(Kind::Php) { line.find("?>").unwrap_or(line.len()) } else { line.len() };
            self.at += end.max(1);
        }
        is_comment
    }

    /// Reads a string without escapes and interpolation.
    fn raw(&mut self) -> bool {
        let rest = self.rest(self.at);
        let Some((open, close)) = self.dialect.raw.iter().find(|(open, _)| rest.starts_with(open)) else {
            return false;
        };
        let inside = rest.get(open.len()..).unwrap_or("");
        let Some(length) = self.ends(inside, close) else { return false };
        let text = inside.get(..length).unwrap_or("").to_owned();
        self.put(Token::Text(vec![Piece::Plain(text)], false), self.at + open.len() + length + close.len());
        true
    }

    /// Returns the position of a delimiter, or `None` after too many failed searches.
    fn ends(&mut self, rest: &str, mark: &str) -> Option<usize> {
        let found = (self.open < OPEN).then(|| memmem::find(rest.as_bytes(), mark.as_bytes())).flatten();
        self.open += usize::from(found.is_none());
        found
    }

    /// Reads a here-document, whose text is in the following lines.
    fn heredoc(&mut self) -> bool {
        let rest = self.rest(self.at);
        let after = match self.dialect.kind {
            Kind::Ruby | Kind::Perl => rest.strip_prefix("<<"),
            Kind::Php => rest.strip_prefix("<<<"),
            _ => None,
        };
        let Some(word) = after.map(|after| after.trim_start_matches(['~', '-'])) else { return false };
        let quote = word.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let word = word.trim_start_matches(['\'', '"']);
        let length = word.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b'_').count();
        let end = self.at + (rest.len() - word.len()) + length + usize::from(quote.is_some());
        let Some(word) = word.get(..length).filter(|word| word.len() > 1) else { return false };
        let line = self.behind.or_else(|| self.rest(end).find('\n').map(|at| end + at + 1));
        let Some(line) = line.filter(|line| *line < self.text.len()) else { return false };
        let (mut body, mut below) = (0, self.rest(line));
        while self.open < OPEN {
            let own = below.lines().next().unwrap_or("");
            if own.trim_start().strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            {
                let inner = self.rest(line).get(..body).unwrap_or("");
                let kind = if quote == Some('\'') { Quote::Raw } else { Quote::Open };
                let pieces = self.pieces(inner, kind);
                self.behind = Some(line + body + own.len());
                self.put(Token::Text(pieces, false), end);
                return true;
            }
            body += own.len() + 1;
            let Some(next) = below.get(own.len() + 1..).filter(|next| !next.is_empty()) else {
                self.open += 1;
                return false;
            };
            below = next;
        }
        false
    }

    /// Reads a quoted string.
    fn quoted(&mut self) -> bool {
        let byte = self.byte(self.at);
        let Some((_, quote)) = self.dialect.quotes.iter().find(|(own, _)| *own == byte) else { return false };
        self.between(self.at + 1, byte, byte, *quote)
    }

    /// Reads quote-like operators, such as Ruby's `%w[...]` and Perl's `qq{...}`, and regular expressions.
    fn listed(&mut self) -> bool {
        let rest = self.rest(self.at).as_bytes();
        let is_text = |byte: u8| byte.is_ascii_punctuation() && !b",;.=)]}_".contains(&byte);
        let is_free = !self.is_behind_value();
        match (self.dialect.kind, rest) {
            (Kind::Ruby | Kind::Perl, [b'/', next, ..]) if is_free && *next != b'/' => self.pattern(),
            (Kind::Ruby, [b'%', kind @ (b'w' | b'i' | b'q' | b'Q' | b'x' | b'r'), open, ..]) if is_text(*open) => {
                self.marked(*kind, 2, *open)
            }
            (Kind::Ruby, [b'%', open @ (b'(' | b'[' | b'{'), ..]) if is_free => self.marked(b'Q', 1, *open),
            (Kind::Perl, [b'q', kind @ (b'q' | b'x' | b'w' | b'r'), open, ..]) if is_text(*open) && self.is_word() => {
                self.marked(if *kind == b'q' { b'Q' } else { *kind }, 2, *open)
            }
            (Kind::Perl, [kind @ (b'q' | b'm'), open, ..]) if is_text(*open) && self.is_word() => {
                self.marked(*kind, 1, *open)
            }
            _ => false,
        }
    }

    /// Returns whether a word at this position is neither a member nor a key.
    fn is_word(&self) -> bool {
        let last = self.found.last().filter(|last| last.end == self.at);
        !matches!(last.map(|last| &last.token), Some(Token::Mark("->" | "::" | "{") | Token::Name(_)))
    }

    fn marked(&mut self, kind: u8, length: usize, open: u8) -> bool {
        let close = match open {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            other => other,
        };
        let quote = match kind {
            b'Q' => Quote::Open,
            b'x' => Quote::Command,
            _ => Quote::Raw,
        };
        self.between(self.at + length + 1, open, close, quote)
    }

    /// Skips a regular expression on a single line.
    fn pattern(&mut self) -> bool {
        let line = self.rest(self.at + 1).lines().next().unwrap_or("");
        let mut is_escaped = false;
        let end = line.bytes().position(|byte| {
            let is_end = byte == b'/' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        });
        if let Some(end) = end {
            self.put(Token::Text(Vec::new(), false), self.at + 1 + end + 1);
        }
        end.is_some()
    }

    /// Reads a string up to its closing delimiter.
    fn between(&mut self, from: usize, open: u8, close: u8, quote: Quote) -> bool {
        if self.open >= OPEN {
            return false;
        }
        let (mut at, mut depth) = (from, 0);
        let escape = self.dialect.escape();
        let escapes = quote != Quote::Raw || escape == b'\\';
        while at < self.text.len() {
            let byte = self.byte(at);
            match byte {
                _ if byte == escape && escapes => at += 1,
                _ if byte == close && depth == 0 => {
                    let inner = self.text.get(from..at).unwrap_or("");
                    let pieces = self.pieces(inner, quote);
                    self.put(Token::Text(pieces, quote == Quote::Command), at + 1);
                    return true;
                }
                _ if byte == close => depth -= 1,
                _ if byte == open => depth += 1,
                b'#' | b'$' | b'{' if quote == Quote::Open || quote == Quote::Command => {
                    at += self.hole(self.rest(at)).map_or(0, |(_, length)| length - 1);
                }
                _ => {}
            }
            at += 1;
        }
        self.open += 1;
        false
    }

    fn name(&mut self) -> bool {
        let rest = self.rest(self.at);
        let bytes = rest.as_bytes();
        let first = self.byte(self.at);
        let is_start = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        let is_shell = self.dialect.is(Kind::PowerShell);
        let sigil = usize::from(self.dialect.sigils.contains(&first) && (is_start(bytes.get(1))));
        if sigil == 1 && first == b'%' && self.is_behind_value() {
            return false;
        }
        if self.dialect.is(Kind::Perl)
            && first == b'$'
            && matches!(bytes.get(1), Some(b'/' | b'!' | b'?' | b'@' | b',' | b'.' | b'&' | b'0'..=b'9'))
        {
            self.put(Token::Name(rest.get(..2).unwrap_or("")), self.at + 2);
            return true;
        }
        if first == b':'
            && self.dialect.is(Kind::Ruby)
            && is_start(bytes.get(1))
            && self.byte(self.at.wrapping_sub(1)) != b':'
        {
            let length = self.length(1);
            self.put(
                Token::Text(vec![Piece::Plain(rest.get(1..length).unwrap_or("").to_owned())], false),
                self.at + length,
            );
            return true;
        }
        if is_shell && sigil == 0 && (self.path() || self.option()) {
            return true;
        }
        if sigil == 0 && !is_start(bytes.first()) {
            return false;
        }
        let mut length = self.length(sigil);
        let is_asked = self.dialect.is(Kind::Ruby) && matches!(bytes.get(length), Some(b'?' | b'!'));
        length += usize::from(is_asked && !matches!(bytes.get(length + 1), Some(b'=' | b' ' | b':')));
        let text = self.text;
        self.put(Token::Name(text.get(self.at..self.at + length).unwrap_or("")), self.at + length);
        true
    }

    /// Returns the length of the current name, including its first `from` bytes.
    fn length(&self, from: usize) -> usize {
        let is_shell = self.dialect.is(Kind::PowerShell);
        let bytes = self.rest(self.at).as_bytes();
        let is_part = |at: usize| match bytes.get(at) {
            Some(b'-') => is_shell && from == 0 && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic),
            Some(b':') => is_shell && from == 1 && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic),
            Some(byte) => byte.is_ascii_alphanumeric() || *byte == b'_',
            None => false,
        };
        (from..).take_while(|at| is_part(*at)).last().map_or(from, |last| last + 1)
    }

    /// Reads a path or URL without quotation marks.
    fn path(&mut self) -> bool {
        let rest = self.rest(self.at);
        let is_part = |byte: &u8| !byte.is_ascii_whitespace() && !b"()[]{};,|\"'`$&<>=".contains(byte);
        let length = rest.bytes().take_while(is_part).count();
        let word = rest.get(..length).unwrap_or("");
        if word.eq_ignore_ascii_case("env:") {
            self.put(Token::Name(word), self.at + length);
            return true;
        }
        let is_path = length > 1 && (word.contains(['/', '\\']) || word.starts_with('~')) && !word.starts_with('-');
        if is_path {
            self.put(Token::Text(vec![Piece::Plain(word.to_owned())], false), self.at + length);
        }
        is_path
    }

    /// Reads a named parameter of a command, such as `-Name`.
    fn option(&mut self) -> bool {
        let rest = self.rest(self.at);
        let is_free = self.at == 0 || self.byte(self.at - 1).is_ascii_whitespace();
        let length = 1 + rest.bytes().skip(1).take_while(u8::is_ascii_alphabetic).count();
        let is_option = is_free && rest.starts_with('-') && length > 1;
        if is_option {
            self.put(Token::Name(rest.get(..length).unwrap_or("")), self.at + length);
        }
        is_option
    }
}
