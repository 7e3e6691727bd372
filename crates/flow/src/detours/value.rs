//! [`Reader`]: static evaluation of expressions with string values.
//!
//! Supported are literals, names with known values, concatenation, format strings, and the functions and methods that
//! split, reverse, decode and join texts.

use std::borrow::Cow;

use super::TooMuch;
use super::{
    dialect::{Dialect, is_word},
    functions::{ITEMS, LONGEST, Value, called, is_known, is_method, joined, letters, method, size, texts},
    names::Names,
    text::{formatted, unescape},
};

/// Maximum length in bytes of a short form such as `[::-1]` or `chr(c ^ 7)`.
const SHORT: usize = 40;

/// Maximum nesting depth of expressions.
const DEPTH: usize = 4;

/// Bytes that may be read per byte of a script, and the minimum for a short one. A failed expression is read again from
/// its next part on.
const READS: usize = 24;
const LEAST: usize = 64 << 10;

/// Cost of each part of an expression, in addition to its bytes.
const PART: usize = 32;

/// Cost of an expression that exceeds [`DEPTH`], which hardly occurs in ordinary code.
const DEEP: usize = 512;

/// Value and the end of its expression.
#[derive(Debug)]
pub(super) struct Found {
    pub value: Value,
    pub end: usize,
    /// True if it is a literal or a name, without further evaluation.
    pub plain: bool,
}

/// Evaluator for the expressions of one script.
pub(super) struct Reader<'t> {
    pub text: &'t str,
    pub dialect: Dialect,
    pub names: Names<'t>,
    /// True if the last value depends on decoding or on the value of a name. Callers reset it before each evaluation.
    pub unsure: bool,
    left: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    pub fn new(text: &'t str, dialect: Dialect) -> Self {
        let left = text.len().saturating_mul(READS).saturating_add(LEAST);
        Self { text, dialect, names: Names::default(), unsure: false, left, depth: 0 }
    }

    /// Returns an error if the work limit is exhausted.
    pub fn is_within(&self) -> Result<(), TooMuch> {
        if self.left == 0 { Err(TooMuch) } else { Ok(()) }
    }

    pub fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    pub fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or("")
    }

    /// Returns the dotted name at a position, such as `base64.b64decode`.
    pub fn dotted(&self, at: usize) -> &'t str {
        let is_part = |byte: &u8| is_word(*byte) || *byte == b'.';
        let length = self.rest(at).bytes().take_while(is_part).count();
        self.rest(at).get(..length).unwrap_or("").trim_end_matches('.')
    }

    /// Returns the name at a position.
    pub fn word(&self, at: usize) -> &'t str {
        let length = self.rest(at).bytes().take_while(|byte| is_word(*byte)).count();
        self.rest(at).get(..length).unwrap_or("")
    }

    /// Skips spaces and tabs.
    pub fn skip(&self, at: usize) -> usize {
        at + self.rest(at).bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    }

    /// Skips white space, including line ends and backslashes.
    pub fn skip_lines(&self, at: usize) -> usize {
        at + self.rest(at).bytes().take_while(|byte| byte.is_ascii_whitespace() || *byte == b'\\').count()
    }

    /// Charges bytes that were read or copied against the work limit.
    pub fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// Evaluates the expression at a position, as far as it is known statically.
    pub fn value(&mut self, at: usize) -> Option<Found> {
        let mut found = self.operand(at)?;
        while self.add(&mut found) || self.fill(&mut found) {}
        Some(found)
    }

    /// Evaluates the expression at a position to a string, for a lookup.
    pub fn told(&mut self, at: usize) -> Option<(String, usize)> {
        match self.value(self.skip_lines(at))? {
            Found { value: Value::Text(text), end, .. } => Some((text, end)),
            _ => None,
        }
    }

    /// Appends the next operand of a concatenation.
    fn add(&mut self, so_far: &mut Found) -> bool {
        let Value::Text(left) = &mut so_far.value else { return false };
        let sign = self.skip_lines(so_far.end);
        let at = match self.dialect.plus(self.rest(sign)) {
            Some(length) => self.skip_lines(sign + length),
            None if self.dialect == Dialect::Python && self.is_literal(sign) => sign,
            None => return false,
        };
        match self.operand(at) {
            Some(Found { value: Value::Text(right), end, .. }) if left.len() + right.len() <= LONGEST => {
                left.push_str(&right);
                (so_far.end, so_far.plain) = (end, false);
                true
            }
            _ => false,
        }
    }

    /// Fills a format string of the form `'%s' % ...` (Python, Ruby).
    fn fill(&mut self, so_far: &mut Found) -> bool {
        let Value::Text(form) = &so_far.value else { return false };
        let sign = self.skip(so_far.end);
        if self.byte(sign) != b'%' || !form.contains('%') {
            return false;
        }
        let Some(found) = self.operand(self.skip_lines(sign + 1)) else { return false };
        let values = match found.value {
            Value::List(values) => values,
            value => vec![value],
        };
        let Some(text) = texts(values).and_then(|values| formatted(form, "%", &values)) else { return false };
        *so_far = Found { value: Value::Text(text), end: found.end, plain: false };
        true
    }

    fn operand(&mut self, at: usize) -> Option<Found> {
        if self.depth >= DEPTH {
            self.charge(DEEP);
            return None;
        }
        self.depth += 1;
        let found = self.first(at).map(|found| self.with_methods(found));
        self.depth -= 1;
        self.charge(PART + found.as_ref().map_or(0, |found| found.end.saturating_sub(at)));
        found.filter(|_| self.left > 0)
    }

    fn first(&mut self, at: usize) -> Option<Found> {
        match self.byte(at) {
            b'(' => self.group(at),
            b'[' => {
                let (items, end, plain) = self.items(at + 1, b']')?;
                Some(Found { value: Value::List(items), end, plain })
            }
            b'0'..=b'9' => self.number(at),
            _ if self.is_literal(at) => self.literal(at),
            byte if is_word(byte) => self.named(at),
            _ => None,
        }
    }

    fn group(&mut self, at: usize) -> Option<Found> {
        let (mut items, end, _) = self.items(at + 1, b')')?;
        let is_single = items.len() == 1 && !self.text.get(at..end)?.trim_end_matches(')').trim_end().ends_with(',');
        let value = if is_single { items.pop()? } else { Value::List(items) };
        Some(Found { value, end, plain: false })
    }

    /// Reads the items in brackets. Returns the position behind the closing bracket, and whether all items are plain.
    fn items(&mut self, at: usize, close: u8) -> Option<(Vec<Value>, usize, bool)> {
        let (mut items, mut at, mut plain) = (Vec::new(), self.skip_lines(at), true);
        while self.byte(at) != close {
            if items.len() == ITEMS {
                return None;
            }
            let spread = if self.rest(at).starts_with("...") { 3 } else { 0 };
            let found = self.value(at + spread)?;
            plain &= found.plain;
            match found.value {
                Value::List(values) if spread > 0 => items.extend(values),
                value => items.push(value),
            }
            at = self.skip_lines(found.end);
            if self.byte(at) == b',' {
                at = self.skip_lines(at + 1);
            } else if self.byte(at) != close {
                return None;
            }
        }
        Some((items, at + 1, plain))
    }

    fn number(&self, at: usize) -> Option<Found> {
        let word = self.word(at);
        let number = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => word.parse().ok()?,
        };
        Some(Found { value: Value::Number(number), end: at + word.len(), plain: true })
    }

    /// Returns whether a literal string begins at a position.
    pub fn is_literal(&self, at: usize) -> bool {
        let letters = self.prefix(at);
        self.dialect.is_quote(self.byte(at + letters)) && !(letters > 0 && at > 0 && is_word(self.byte(at - 1)))
    }

    /// Returns the length of a Python string prefix, such as `rb`.
    fn prefix(&self, at: usize) -> usize {
        let is_letter = |byte: &u8| b"rRbBuUfF".contains(byte);
        match self.dialect {
            Dialect::Python => self.rest(at).bytes().take(3).take_while(is_letter).count(),
            _ => 0,
        }
    }

    /// Returns the content and the end of a literal string.
    pub fn quoted(&mut self, at: usize) -> Option<(&'t str, usize)> {
        let found = self.dialect.quoted(self.text, at + self.prefix(at));
        self.charge(found.as_ref().map_or_else(|read| *read, |(inner, _)| inner.len()));
        found.ok()
    }

    fn literal(&mut self, at: usize) -> Option<Found> {
        let letters = self.prefix(at);
        let has = |letter: u8| self.rest(at).bytes().take(letters).any(|byte| byte.eq_ignore_ascii_case(&letter));
        let (is_raw, is_form) = (has(b'r'), has(b'f') || self.byte(at) == b'`');
        let (inner, end) = self.quoted(at)?;
        let is_plain = is_raw || !inner.contains('\\');
        let text = if is_plain { inner.to_owned() } else { unescape(inner) };
        if !is_form || !text.contains('{') {
            return Some(Found { value: Value::Text(text), end, plain: true });
        }
        let (text, any) = self.names.filled(&text);
        self.unsure |= any;
        (text.len() <= LONGEST).then_some(Found { value: Value::Text(text), end, plain: !any })
    }

    /// Evaluates a name with a known value, or a call of a known function.
    fn named(&mut self, at: usize) -> Option<Found> {
        let word = self.dotted(at);
        let name = word.split('.').next().unwrap_or(word);
        if let Some(value) = self.names.value_of(name).cloned() {
            self.charge(size(&value));
            self.unsure = true;
            return Some(Found { value, end: at + name.len(), plain: true });
        }
        let end = at + word.len();
        (self.byte(end) == b'(').then_some(())?;
        let function = self.function(word)?;
        if function == "map" {
            return self.mapped(end + 1);
        }
        let (arguments, end, _) = self.items(end + 1, b')')?;
        let (value, decoded) = called(&function, arguments)?;
        self.unsure |= decoded;
        Some(Found { value, end, plain: false })
    }

    /// Returns the function that a name refers to, if it can be evaluated.
    pub fn function(&self, dotted: &'t str) -> Option<Cow<'t, str>> {
        let last = |name: &str| name.rfind('.').map_or(0, |dot| dot + 1);
        if let Some(full) = self.names.resolved(dotted) {
            let function = full.get(last(&full)..)?;
            return is_known(function).then(|| Cow::Owned(function.to_owned()));
        }
        let function = dotted.get(last(dotted)..)?;
        is_known(function).then_some(Cow::Borrowed(function))
    }

    /// Evaluates `map(chr, LIST)`.
    fn mapped(&mut self, at: usize) -> Option<Found> {
        let rest = self.rest(at).strip_prefix("chr").and_then(|rest| rest.trim_start().strip_prefix(','))?;
        let found = self.value(self.skip_lines(self.text.len() - rest.len()))?;
        let close = self.skip_lines(found.end);
        let Value::List(numbers) = found.value else { return None };
        (self.byte(close) == b')').then_some(())?;
        self.unsure = true;
        Some(Found { value: Value::List(letters(numbers, |number| number)?), end: close + 1, plain: false })
    }

    fn with_methods(&mut self, mut found: Found) -> Found {
        while let Some(next) = self.method(&found).or_else(|| self.part(&found)) {
            self.charge(size(&found.value) + size(&next.value));
            found = next;
        }
        found
    }

    /// Evaluates a method call `.name(...)` behind a value.
    fn method(&mut self, on: &Found) -> Option<Found> {
        let dot = self.skip_lines(on.end);
        let name = self.rest(dot).strip_prefix('.').map(|_| self.word(dot + 1))?;
        let open = dot + 1 + name.len();
        (self.byte(open) == b'(').then_some(())?;
        if let Some(found) = self.spelled(&on.value, name, open + 1) {
            return Some(found);
        }
        is_method(name).then_some(())?;
        let (arguments, end) = self.arguments(open + 1)?;
        let value = method(&on.value, name, arguments)?;
        Some(Found { value, end, plain: false })
    }

    /// Reads the arguments of a method, of which the first may be a JavaScript regular expression.
    fn arguments(&mut self, at: usize) -> Option<(Vec<Value>, usize)> {
        let at = self.skip_lines(at);
        if let Some((pattern, end)) = self.dialect.pattern(self.text, at) {
            let (mut rest, end, _) = match self.byte(end) {
                b',' => self.items(end + 1, b')')?,
                _ => self.items(end, b')')?,
            };
            rest.insert(0, Value::Text(pattern.to_owned()));
            return Some((rest, end));
        }
        self.items(at, b')').map(|(arguments, end, _)| (arguments, end))
    }

    /// Evaluates a conversion of numbers to characters: `''.join(chr(c ^ 7) for c in LIST)` in Python and `LIST.map(c
    /// => String.fromCharCode(c ^ 7))` in JavaScript.
    fn spelled(&mut self, on: &Value, name: &str, at: usize) -> Option<Found> {
        match (on, name) {
            (Value::Text(between), "join") => {
                let at = at + usize::from(self.byte(at) == b'[');
                let (change, end) = self.change(at, "chr(")?;
                let list = near(self.rest(end), " in ")? + 4;
                let found = self.value(self.skip(end + list))?;
                let Value::List(numbers) = found.value else { return None };
                let letters = texts(letters(numbers, change)?)?;
                let close = self.rest(found.end).bytes().take_while(|byte| matches!(byte, b' ' | b']')).count();
                let value = joined(&letters, between)?;
                self.unsure = true;
                Some(Found { value, end: found.end + close + 1, plain: false })
            }
            (Value::List(numbers), "map") => {
                let arrow = near(self.rest(at), "=>")?;
                let (change, end) = self.change(self.skip(at + arrow + 2), "String.fromCharCode(")?;
                let value = Value::List(letters(numbers.clone(), change)?);
                self.unsure = true;
                Some(Found { value, end: self.skip(end) + 1, plain: false })
            }
            _ => None,
        }
    }

    /// Returns the operation that is applied to each number before its conversion to a character.
    fn change(&self, at: usize, call: &str) -> Option<(impl Fn(u32) -> u32 + use<>, usize)> {
        let inner = self.rest(at).strip_prefix(call)?;
        let close = near(inner, ")")?;
        let inside = inner.get(..close)?;
        let sign = inside.bytes().find(|byte| matches!(byte, b'^' | b'+' | b'-')).unwrap_or(0);
        let by = match inside.split_once(sign as char) {
            Some((_, digits)) => number_of(digits.trim())?,
            None => 0,
        };
        let change = move |number: u32| match sign {
            b'^' => number ^ by,
            b'+' => number.wrapping_add(by),
            _ => number.wrapping_sub(by),
        };
        Some((change, at + call.len() + close + 1))
    }

    /// Evaluates `[::-1]`, `[2]` and `[1:3]` behind a value.
    fn part(&self, on: &Found) -> Option<Found> {
        let inside = self.rest(on.end).strip_prefix('[')?;
        let close = near(inside, "]")?;
        let inside = inside.get(..close)?;
        let end = on.end + close + 2;
        let value = match (&on.value, inside) {
            (Value::Text(text), "::-1") => Value::Text(text.chars().rev().collect()),
            (Value::List(items), "::-1") => Value::List(items.iter().rev().cloned().collect()),
            (Value::List(items), place) => items.get(number_of(place)? as usize)?.clone(),
            (Value::Text(text), place) => Value::Text(slice(text, place)?),
            _ => return None,
        };
        Some(Found { value, end, plain: false })
    }
}

/// Returns the position of a mark within the next [`SHORT`] bytes.
fn near(rest: &str, mark: &str) -> Option<usize> {
    rest.get(..rest.floor_char_boundary(SHORT))?.find(mark)
}

fn number_of(digits: &str) -> Option<u32> {
    match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn slice(text: &str, place: &str) -> Option<String> {
    let (from, to) = match place.split_once(':') {
        Some((from, to)) => (from, to),
        None => return text.chars().nth(number_of(place)? as usize).map(String::from),
    };
    let from = if from.is_empty() { 0 } else { number_of(from)? as usize };
    let to = if to.is_empty() { usize::MAX } else { number_of(to)? as usize };
    Some(text.chars().take(to).skip(from).collect())
}
