//! Values: strings, operators, lists, records, members and closures.

use super::{
    Reader, SETS, STOPS,
    dialect::Kind,
    names,
    tokens::{Piece, Token, read},
};
use crate::program::{Act, Expr};

/// Prefix operators that do not change a value for the analysis.
const PREFIXES: &[&str] =
    &["!", "-", "+", "&", "*", "\\", "@", "~", "<-", "...", "**", "#", "$", "%", "^", "<", "?", "->"];

/// Binary operators whose result may contain either operand.
const BETWEEN: &[&str] = &[
    "+", "-", "*", "/", "%", ".", "..", "<<", ">>", "==", "!=", "===", "!==", "<", ">", "<=", ">=", "<=>", "=~", "!~",
    "&&", "||", "??", "?", ":", "^", "//", "...", "&", "=>", "?:",
];

/// Binary operators that are words.
const WORDS: &[&str] =
    &["eq", "ne", "x", "xor", "-f", "-join", "-split", "-replace", "-eq", "-and", "-or", "-bxor", "instanceof"];

/// Returns whether a word is a binary operator.
pub(super) fn is_between(word: &str) -> bool {
    WORDS.contains(&word)
}

impl<'t> Reader<'_, '_, 't> {
    /// Reads values that are separated by commas.
    pub(super) fn values(&mut self, end: usize) -> Vec<Expr> {
        let mut found = Vec::new();
        while !self.ends_here(end) {
            let before = self.at;
            let value = self.value(end);
            found.push(value);
            if self.at >= end || self.mark(self.at) != "," {
                break;
            }
            self.at += 1;
            self.skip_lines(end);
            if self.at == before {
                break;
            }
        }
        found
    }

    /// Reads a whole value, including assignments inside it.
    pub(super) fn value(&mut self, end: usize) -> Expr {
        let first = self.chain(end);
        self.rest_of(first, end)
    }

    /// Reads the remainder of a value whose first operand is `first`.
    pub(super) fn rest_of(&mut self, first: Expr, end: usize) -> Expr {
        if self.at < end && SETS.contains(&self.mark(self.at)) {
            self.at += 1;
            self.skip_lines(end);
            let value = self.deeper(end, |reader| reader.value(end));
            let name = self.to.variable_for(value);
            let value = Expr::Name(format!("${name}"));
            self.set_all(vec![first], vec![value.clone()], self.dialect.own);
            return value;
        }
        let (mut parts, mut is_sum, mut pipe) = (vec![first], true, None);
        while self.at < end {
            let (mark, word) = (self.mark(self.at), self.word(self.at).to_ascii_lowercase());
            if mark == "|" && self.dialect.is(Kind::PowerShell) {
                self.at += 1;
                self.skip_lines(end);
                let passed = std::mem::take(&mut parts);
                let passed = pipe.take().into_iter().chain(passed).collect();
                let passed = Expr::Name(format!("${}", self.to.variable_for(Expr::List(passed))));
                parts = vec![self.piped(passed, end)];
                continue;
            }
            let goes_on = BETWEEN.contains(&mark) || WORDS.contains(&word.as_str());
            if !goes_on {
                break;
            }
            is_sum &= self.dialect.plus.contains(&mark);
            self.at += 1;
            self.skip_lines(end);
            parts.push(self.chain(end));
        }
        match parts.len() {
            1 => parts.remove(0),
            _ if is_sum => Expr::Join(parts, ""),
            _ => Expr::List(parts),
        }
    }

    /// Reads one operand of an expression.
    pub(super) fn chain(&mut self, end: usize) -> Expr {
        self.operand(end)
    }

    pub(super) fn operand(&mut self, end: usize) -> Expr {
        self.deeper(end, |reader| {
            while reader.at < end && PREFIXES.contains(&reader.mark(reader.at)) {
                reader.at += 1;
            }
            let first = reader.first(end);
            reader.with_parts(first, end)
        })
    }

    fn first(&mut self, end: usize) -> Expr {
        if self.at >= end {
            return Expr::nothing();
        }
        match self.token(self.at) {
            Some(Token::Text(pieces, is_command)) => {
                let line = self.line();
                let text = self.text(pieces, line);
                self.at += 1;
                let command = Expr::Name("os.popen".to_owned());
                if *is_command { self.call_of(command, vec![text], Vec::new(), line) } else { text }
            }
            Some(Token::Number(digits)) => {
                self.at += 1;
                Expr::Text((*digits).to_owned())
            }
            Some(Token::Name(name)) => self.named(name, end),
            Some(Token::Mark("(")) => {
                let (mut values, records) = self.listed();
                match (values.len(), records.is_empty()) {
                    (1, true) => values.remove(0),
                    (_, true) => Expr::List(values),
                    _ => with_record(values, records),
                }
            }
            Some(Token::Mark("[")) => self.bracket(end),
            Some(Token::Mark("{")) => self.brace(),
            _ => Expr::nothing(),
        }
    }

    fn named(&mut self, name: &'t str, end: usize) -> Expr {
        if self.dialect.functions.contains(&name) {
            return self.closure(end);
        }
        if STOPS.contains(&name) {
            return Expr::nothing();
        }
        self.at += 1;
        match name {
            "nil" | "null" | "undef" | "true" | "false" | "NULL" | "None" => Expr::nothing(),
            "new" | "not" | "my" | "our" | "await" | "clone" | "var" | "local" | "struct" | "interface" => {
                self.operand(end)
            }
            "map" if self.dialect.is(Kind::Go) && self.mark(self.at) == "[" => self.operand(end),
            "do" | "eval" if self.dialect.is(Kind::Perl) && self.mark(self.at) == "{" => self.brace(),
            _ if self.dialect.is(Kind::PowerShell) && self.is_command(name) => self.command(name, end),
            _ => Expr::Name(self.dialect.variable(name)),
        }
    }

    /// Builds a string from its pieces, with interpolated code.
    fn text(&mut self, pieces: &[Piece<'t>], line: usize) -> Expr {
        let mut parts: Vec<Expr> = Vec::new();
        for piece in pieces {
            parts.push(match piece {
                Piece::Plain(text) => Expr::Text(text.clone()),
                Piece::Code(code) => self.filled(code, line),
            });
        }
        match parts.len() {
            0 => Expr::Text(String::new()),
            1 if matches!(parts.first(), Some(Expr::Text(_))) => parts.remove(0),
            _ => Expr::Join(parts, ""),
        }
    }

    fn filled(&mut self, code: &str, line: usize) -> Expr {
        if let Some(name) = code.strip_prefix("${") {
            return Expr::Name(self.dialect.variable(&format!("${}", name.trim_end_matches('}'))));
        }
        let (tokens, is_cut) = read(self.dialect, code, line);
        self.to.program.cut |= is_cut;
        let end = tokens.len();
        if !self.to.sink() {
            return Expr::nothing();
        }
        let mut inner = Reader { to: &mut *self.to, dialect: self.dialect, tokens: &tokens, at: 0 };
        let value = inner.value(end);
        self.to.rise();
        value
    }

    /// Reads the bracket at the current token. Returns the values without a key, and those with one.
    pub(super) fn listed(&mut self) -> (Vec<Expr>, Vec<(String, Expr)>) {
        let close = self.pair(self.at);
        self.at += 1;
        let found = self.deeper(close, |reader| reader.entries(close));
        self.at = close + 1;
        found
    }

    pub(super) fn entries(&mut self, close: usize) -> (Vec<Expr>, Vec<(String, Expr)>) {
        let (mut values, mut records) = (Vec::new(), Vec::new());
        while self.at < close {
            let before = self.at;
            if matches!(self.mark(self.at), "," | ";") || matches!(self.token(self.at), Some(Token::Line)) {
                self.at += 1;
                continue;
            }
            match self.entry_key() {
                Some(key) => {
                    let value = self.value(close);
                    records.push((names::key(&key), value));
                }
                None => {
                    let value = self.value(close);
                    values.push(value);
                }
            }
            self.at = self.at.max(before + 1);
        }
        (values, records)
    }

    /// Consumes the key of a record entry, if there is one.
    pub(super) fn entry_key(&mut self) -> Option<String> {
        let (at, after) = match self.mark(self.at) {
            "[" if self.dialect.is(Kind::Lua) => (self.at + 1, self.at + 3),
            _ => (self.at, self.at + 1),
        };
        let key = match self.token(at) {
            Some(Token::Name(name)) => (*name).to_owned(),
            Some(Token::Text(pieces, false)) => match pieces.as_slice() {
                [Piece::Plain(text)] => text.clone(),
                _ => return None,
            },
            _ => return None,
        };
        let is_key = match self.mark(after) {
            "=>" => true,
            ":" => {
                !self.dialect.is(Kind::Php)
                    && !self.dialect.is(Kind::Lua)
                    && (self.is_joined(after) || self.dialect.is(Kind::Go))
            }
            "=" => matches!(self.dialect.kind, Kind::Lua | Kind::PowerShell) && !key.starts_with('$'),
            _ => false,
        };
        is_key.then(|| self.at = after + 1)?;
        Some(key)
    }

    /// Reads a list, without a type in brackets before a Go or PowerShell value.
    fn bracket(&mut self, end: usize) -> Expr {
        let close = self.pair(self.at);
        match self.dialect.kind {
            Kind::Go if !self.word(close + 1).is_empty() || matches!(self.mark(close + 1), "[" | "*") => {
                self.at = close + 1;
                self.operand(end)
            }
            Kind::PowerShell if !self.word(self.at + 1).is_empty() && !self.word(self.at + 1).starts_with('$') => {
                let parts: Vec<String> = (self.at + 1..close)
                    .map(|at| self.word(at))
                    .filter(|word| !word.is_empty())
                    .map(str::to_ascii_lowercase)
                    .collect();
                self.at = close + 1;
                if self.mark(self.at) == "::" { Expr::Name(parts.join(".")) } else { self.operand(end) }
            }
            _ => {
                let (values, records) = self.listed();
                if records.is_empty() { Expr::List(values) } else { with_record(values, records) }
            }
        }
    }

    /// Reads a record or a block of statements.
    fn brace(&mut self) -> Expr {
        let at = self.at;
        self.at += 1;
        self.skip_lines(self.pair(at));
        let is_record = self.entry_key().is_some()
            || matches!(self.token(self.at), Some(Token::Text(..)))
            || self.dialect.is(Kind::Lua);
        let is_part = matches!(self.mark(at.wrapping_sub(1)), "@" | "%" | "$")
            && self.is_joined(at)
            && self.dialect.is(Kind::Perl);
        self.at = at;
        if is_record || is_part {
            let (values, records) = self.listed();
            return if records.is_empty() { Expr::List(values) } else { with_record(values, records) };
        }
        let before = self.to.program.steps.len();
        self.inside();
        let is_any = self.to.program.steps.len() > before;
        is_any.then(|| self.to.last_value()).flatten().unwrap_or_default()
    }

    /// Reads an anonymous function. Its value is the function's result.
    fn closure(&mut self, end: usize) -> Expr {
        self.at += 1;
        let params =
            if self.mark(self.at) == "(" { self.params_between(self.at + 1, self.pair(self.at)) } else { Vec::new() };
        if self.mark(self.at) == "(" {
            self.at = self.pair(self.at) + 1;
        }
        let around = self.to.enter(String::new(), params);
        let scope = self.to.scope();
        if self.dialect.is(Kind::Lua) {
            self.until_end(end);
        } else {
            let body = (self.at..end.min(self.at + 32)).find(|at| matches!(self.mark(*at), "{" | "=>"));
            self.at = body.unwrap_or(self.at);
            match self.mark(self.at) {
                "{" => self.inside(),
                "=>" => {
                    self.at += 1;
                    let given = self.value(end);
                    self.to.step(Act::Return(given));
                }
                _ => {}
            }
            self.to.give_last();
        }
        self.to.leave(around);
        Expr::Inside(scope, Box::default())
    }

    /// Reads the statements up to the keyword that ends a Lua function.
    fn until_end(&mut self, end: usize) {
        let (mut depth, mut at) = (1_usize, self.at);
        let mut is_loop = false;
        while at < end && depth > 0 {
            match self.word(at) {
                "end" | "until" => depth -= 1,
                "do" if is_loop => is_loop = false,
                "function" | "if" | "do" | "repeat" => depth += 1,
                "for" | "while" => {
                    depth += 1;
                    is_loop = true;
                }
                _ => {}
            }
            at += 1;
        }
        let close = at.saturating_sub(usize::from(depth == 0)).max(self.at);
        self.deeper(close, |reader| reader.statements(close));
        self.at = at;
    }
}

/// Combines the values of a list with its keyed entries.
pub(super) fn with_record(mut values: Vec<Expr>, records: Vec<(String, Expr)>) -> Expr {
    let record = Expr::Record(records);
    if values.is_empty() {
        return record;
    }
    values.push(record);
    Expr::List(values)
}
