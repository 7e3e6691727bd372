//! Deobfuscation of Python, JavaScript and similar languages: [`edits`] replaces indirect expressions with their
//! values.

use super::{
    Edit, TooMuch,
    dialect::{Dialect, is_word},
    functions::{LONGEST, Value, is_known},
    names::is_told,
    text::written,
    value::{Found, Reader},
};

/// Maximum length of a declaration of names, and of a type annotation, in bytes.
const DECLARED: usize = 400;
const TYPE: usize = 32;

/// Maximum number of parts of a dotted name, and maximum depth of nested lookups.
const PARTS: usize = 8;
const LOOKUPS: usize = 3;

/// Returns whether a name of something that is looked up by a string may begin with this word.
fn is_lookup(word: &str) -> bool {
    matches!(
        word,
        "getattr"
            | "__import__"
            | "importlib"
            | "import_module"
            | "globals"
            | "locals"
            | "vars"
            | "__builtins__"
            | "builtins"
            | "globalThis"
            | "global"
            | "window"
            | "process"
            | "require"
            | "_G"
    )
}

/// Returns whether a call that can be evaluated may begin with this word: a known function, or an object or module with
/// one.
fn calls(word: &str) -> bool {
    is_known(word)
        || matches!(
            word,
            "base64" | "bytes" | "bytearray" | "codecs" | "binascii" | "urllib" | "String" | "Buffer" | "string"
        )
}

/// Returns whether members of this object are global names.
fn is_root(word: &str) -> bool {
    matches!(word, "builtins" | "__builtins__" | "globalThis" | "global" | "window" | "_G" | "globals()" | "locals()")
}

/// Returns whether a word introduces a declared name.
fn declares(word: &str) -> bool {
    matches!(word, "const" | "let" | "var" | "my" | "local" | "our" | "final" | "string" | "export" | "php")
}

/// Object or function at a position, by its resolved name.
struct Thing {
    name: String,
    end: usize,
    /// True if the resolved name differs from the source text.
    changed: bool,
}

/// Collects all edits of a script, in order of position.
pub(super) fn edits(text: &str, dialect: Dialect) -> Result<Vec<Edit>, TooMuch> {
    let mut walk = Walk { reader: Reader::new(text, dialect), edits: Vec::new(), room: super::room(text), fresh: true };
    let mut at = 0;
    while at < text.len() {
        at = walk.step(at)?;
    }
    walk.reader.is_within()?;
    Ok(walk.edits)
}

/// Single pass over a script.
struct Walk<'t> {
    reader: Reader<'t>,
    edits: Vec<Edit>,
    /// Bytes by which the script may still grow.
    room: usize,
    /// True where a statement may begin.
    fresh: bool,
}

impl<'t> Walk<'t> {
    /// Processes the token at a position and returns the position of the next one.
    fn step(&mut self, at: usize) -> Result<usize, TooMuch> {
        let byte = self.reader.byte(at);
        if is_word(byte) {
            return if self.reader.is_literal(at) { self.literal(at) } else { self.word(at) };
        }
        match byte {
            b' ' | b'\t' | b'\r' => return Ok(at + 1),
            b'\n' | b';' | b'{' | b'}' => self.fresh = true,
            b'(' | b'[' => {
                let is_call = at > 0 && self.is_behind_value(at - 1);
                self.fresh = false;
                return if is_call { Ok(at + 1) } else { self.expression(at, at + 1) };
            }
            b'"' | b'\'' | b'`' => return self.literal(at),
            b'#' | b'/' | b'-' => {
                if let Some(end) = self.reader.dialect.comment(self.reader.text, at) {
                    return Ok(end.max(at + 1));
                }
            }
            _ => self.fresh = false,
        }
        Ok(self.next_char(at))
    }

    /// Processes a literal string, which in most cases is the whole expression.
    fn literal(&mut self, at: usize) -> Result<usize, TooMuch> {
        self.fresh = false;
        let Some((inner, end)) = self.reader.quoted(at) else {
            self.reader.is_within()?;
            return Ok(at + 1);
        };
        let next = self.reader.byte(self.reader.skip_lines(end));
        let is_form = matches!(self.reader.byte(at), b'f' | b'F' | b'r' | b'R' | b'`') && inner.contains('{');
        if is_form || matches!(next, b'+' | b'.' | b'%' | b'[' | b'"' | b'\'' | b'r' | b'b' | b'f') {
            return self.expression(at, end);
        }
        Ok(end)
    }

    fn next_char(&self, at: usize) -> usize {
        self.reader.text.ceil_char_boundary(at + 1)
    }

    /// Returns whether a byte ends an expression that may be called or indexed.
    fn is_behind_value(&self, at: usize) -> bool {
        let byte = self.reader.byte(at);
        is_word(byte) || matches!(byte, b')' | b']' | b'"' | b'\'')
    }

    /// Replaces an expression with its string value. Returns `next` if it has no known value.
    fn expression(&mut self, at: usize, next: usize) -> Result<usize, TooMuch> {
        let found = self.value(at)?;
        match found {
            Some(found) if matches!(found.value, Value::Text(_)) => {
                let end = found.end.max(next);
                self.write(at, found)?;
                Ok(end)
            }
            Some(found) if found.plain => Ok(found.end.max(next)),
            _ => Ok(next),
        }
    }

    fn value(&mut self, at: usize) -> Result<Option<Found>, TooMuch> {
        self.reader.unsure = false;
        let found = self.reader.value(at);
        self.reader.is_within()?;
        Ok(found)
    }

    fn write(&mut self, at: usize, found: Found) -> Result<(), TooMuch> {
        if let (false, Value::Text(text)) = (found.plain, found.value) {
            self.put(at, found.end, written(&text))?;
        }
        Ok(())
    }

    fn put(&mut self, start: usize, end: usize, text: String) -> Result<(), TooMuch> {
        let lines = self.reader.text.get(start..end).unwrap_or("").bytes().filter(|byte| *byte == b'\n').count();
        let text = text + &"\n".repeat(lines);
        self.room = self.room.checked_sub(super::EDIT + text.len().saturating_sub(end - start)).ok_or(TooMuch)?;
        self.edits.push(Edit { range: start..end, text, unsure: self.reader.unsure });
        Ok(())
    }

    fn word(&mut self, at: usize) -> Result<usize, TooMuch> {
        let word = self.reader.word(at);
        let end = at + word.len();
        let is_fresh = std::mem::replace(&mut self.fresh, false) || word == "php";
        if at > 0 && self.reader.byte(at - 1) == b'.' && !self.reader.rest(at - 1).starts_with("..") {
            return Ok(end);
        }
        if is_fresh && let Some(next) = self.statement(word, at, end)? {
            return Ok(next);
        }
        let is_out = self.reader.names.is_out(word);
        if is_out && !is_lookup(word) && !(matches!(self.reader.byte(end), b'(' | b'.') && calls(word)) {
            return Ok(end);
        }
        if let Some(next) = self.variable_call(word, at, end)? {
            return Ok(next);
        }
        self.reader.unsure = false;
        if self.is_thing(word)
            && let Some(thing) = self.thing(at, 0).filter(|thing| thing.changed)
        {
            self.put(at, thing.end, thing.name)?;
            return Ok(thing.end);
        }
        let is_call =
            || matches!(self.reader.byte(end), b'(' | b'.') && self.reader.function(self.reader.dotted(at)).is_some();
        if self.reader.names.value_of(word).is_some() || is_call() { self.expression(at, end) } else { Ok(end) }
    }

    /// Returns whether a word may refer to an object with another name.
    fn is_thing(&self, word: &str) -> bool {
        is_lookup(word) || self.reader.names.other(word).is_some()
    }

    /// Resolves a call through a variable, as in PHP and Perl: `$f(...)`.
    fn variable_call(&mut self, word: &str, at: usize, end: usize) -> Result<Option<usize>, TooMuch> {
        if !word.starts_with('$') || self.reader.byte(end) != b'(' {
            return Ok(None);
        }
        let Some(Value::Text(name)) = self.reader.names.value_of(word).cloned() else { return Ok(None) };
        if !is_name(&name) {
            return Ok(None);
        }
        self.reader.unsure = true;
        self.put(at, end, name)?;
        Ok(Some(end))
    }

    /// Records the names that a statement declares, and returns the position at which to continue.
    fn statement(&mut self, word: &'t str, at: usize, end: usize) -> Result<Option<usize>, TooMuch> {
        if matches!(word, "import" | "from") {
            return self.import(at).map(Some);
        }
        if declares(word) {
            self.fresh = true;
            let open = self.reader.skip(end);
            return if self.reader.byte(open) == b'{' { self.unpacked(open).map(Some) } else { Ok(Some(end)) };
        }
        match self.assigned(end) {
            Some((is_more, value)) => self.assign(word, is_more, value).map(Some),
            None => Ok(None),
        }
    }

    fn import(&mut self, at: usize) -> Result<usize, TooMuch> {
        let rest = self.reader.rest(at);
        let rest = rest.get(..rest.floor_char_boundary(DECLARED)).unwrap_or("");
        let stop = match rest.find("import (") {
            Some(open) if open < TYPE * 2 => rest.find(')'),
            _ => rest.find(['\n', ';', '#']),
        };
        let statement = rest.get(..stop.unwrap_or(rest.len())).unwrap_or("");
        if self.reader.dialect == Dialect::Python {
            self.reader.names.import(statement)?;
        } else if let Some((_, names)) = statement.split_once('{')
            && let Some((names, from)) = names.split_once('}')
            && is_told(from.trim_start_matches([' ', 'f', 'r', 'o', 'm']).trim_matches(['"', '\'', ' ']))
        {
            self.reader.names.unpacked(names)?;
        } else if let Some((name, module)) =
            statement.split_once("* as ").and_then(|(_, rest)| rest.split_once(" from "))
        {
            self.stand_for(name.trim(), module.trim().trim_matches(['"', '\'']))?;
        }
        Ok(at + statement.len().max(1))
    }

    fn stand_for(&mut self, name: &'t str, other: &str) -> Result<(), TooMuch> {
        let other = other.strip_prefix("node:").unwrap_or(other);
        if is_told(other) { self.reader.names.alias(name, other.to_owned()) } else { Ok(()) }
    }

    /// Processes a destructuring such as `const {a: b} = require('child_process')`.
    fn unpacked(&mut self, open: usize) -> Result<usize, TooMuch> {
        let rest = self.reader.rest(open + 1);
        let Some((names, behind)) =
            rest.get(..rest.floor_char_boundary(DECLARED)).and_then(|rest| rest.split_once('}'))
        else {
            return Ok(open + 1);
        };
        let from = behind.trim_start().trim_start_matches('=').trim_start();
        if names.contains(':')
            && (from.starts_with("require(") || from.starts_with("process") || from.starts_with("await import("))
        {
            self.reader.names.unpacked(names)?;
        }
        Ok(open + 1 + names.len())
    }

    /// Returns whether an assignment appends, and the position of its value. `end` is the end of the name.
    fn assigned(&self, end: usize) -> Option<(bool, usize)> {
        let mut sign = self.reader.skip(end);
        if self.reader.byte(sign) == b':' && self.reader.byte(sign + 1) != b'=' {
            let kind = self
                .reader
                .rest(sign)
                .bytes()
                .take(TYPE)
                .position(|byte| matches!(byte, b'=' | b'\n' | b'{' | b'('))?;
            sign += kind;
        }
        let rest = self.reader.rest(sign);
        let mark = ["=", ":=", "+=", ".="].into_iter().find(|mark| rest.starts_with(mark))?;
        let behind = self.reader.byte(sign + mark.len());
        let is_more = mark.starts_with(['+', '.']);
        (!matches!(behind, b'=' | b'>' | b'~')).then(|| (is_more, self.reader.skip(sign + mark.len())))
    }

    fn assign(&mut self, name: &'t str, is_more: bool, at: usize) -> Result<usize, TooMuch> {
        let found = self.value(at)?;
        if let Some(found) = found.filter(|found| self.is_end(found.end)) {
            let end = found.end;
            let value = if is_more { self.grown(name, &found.value) } else { Some(found.value.clone()) };
            self.reader.charge(end - at);
            self.write(at, found)?;
            self.reader.names.set(name, value)?;
            return Ok(end);
        }
        let word = self.reader.word(at);
        self.reader.unsure = false;
        if (is_told(word) || self.is_thing(word))
            && let Some(thing) = self.thing(at, 0).filter(|thing| self.is_end(thing.end) && is_told(&thing.name))
        {
            if thing.changed {
                self.put(at, thing.end, thing.name.clone())?;
            }
            self.reader.names.alias(name, thing.name)?;
            return Ok(thing.end);
        }
        self.reader.names.set(name, None)?;
        Ok(at)
    }

    /// Returns the value of a name after a string is appended to it.
    fn grown(&self, name: &str, more: &Value) -> Option<Value> {
        match (self.reader.names.value_of(name)?, more) {
            (Value::Text(before), Value::Text(more)) if before.len() + more.len() < LONGEST => {
                Some(Value::Text(format!("{before}{more}")))
            }
            _ => None,
        }
    }

    /// Returns whether a statement ends at a position.
    fn is_end(&self, at: usize) -> bool {
        matches!(self.reader.byte(self.reader.skip(at)), 0 | b'\n' | b'\r' | b';' | b'#' | b',' | b')' | b'}')
    }

    /// Resolves the object at a position, which may be referred to by name or through strings.
    fn thing(&mut self, at: usize, depth: usize) -> Option<Thing> {
        let word = self.reader.word(at);
        if word.is_empty()
            || depth > LOOKUPS
            || !self.reader.byte(at).is_ascii_alphabetic() && !matches!(self.reader.byte(at), b'_' | b'$')
        {
            return None;
        }
        let thing = match self.looked_up(word, at, depth) {
            Some(thing) => thing,
            None => {
                let other = self.reader.names.other(word).map(str::to_owned);
                let changed = other.is_some();
                self.reader.unsure |= changed;
                Thing { name: other.unwrap_or_else(|| word.to_owned()), end: at + word.len(), changed }
            }
        };
        Some(self.with_parts(thing))
    }

    /// Resolves `getattr(x, 'y')`, `__import__('x')`, `import_module('x')`, `require('x')`, `vars(x)` and `globals()`.
    fn looked_up(&mut self, word: &str, at: usize, depth: usize) -> Option<Thing> {
        let dotted = self.reader.dotted(at);
        let open = at + dotted.len();
        (self.reader.byte(open) == b'(').then_some(())?;
        let full = self.reader.names.resolved(dotted).unwrap_or_else(|| dotted.to_owned());
        match full.rsplit('.').next()? {
            "getattr" => {
                let of = self.thing(self.reader.skip_lines(open + 1), depth + 1)?;
                let comma = self.reader.skip_lines(of.end);
                (self.reader.byte(comma) == b',').then_some(())?;
                let (part, end) = self.reader.told(comma + 1)?;
                let end = self.closing(end)?;
                is_name(&part).then(|| Thing { name: within(&of.name, &part), end, changed: true })
            }
            "__import__" | "import_module" | "require" => {
                let (name, end) = self.reader.told(open + 1)?;
                let end = self.closing(end)?;
                let name = name.strip_prefix("node:").unwrap_or(&name).to_owned();
                let changed = word != "require";
                name.split('.').all(is_name).then_some(Thing { name, end, changed })
            }
            "vars" => {
                let of = self.thing(self.reader.skip_lines(open + 1), depth + 1)?;
                let end = self.closing(of.end)?;
                Some(Thing { name: of.name + ".__dict__", end, changed: true })
            }
            "globals" | "locals" if self.reader.byte(open + 1) == b')' => {
                Some(Thing { name: "globals()".to_owned(), end: open + 2, changed: false })
            }
            _ => None,
        }
    }

    /// Returns the position behind the closing bracket of a call, skipping its remaining arguments.
    fn closing(&self, at: usize) -> Option<usize> {
        let close = self.reader.rest(at).bytes().take(DECLARED).position(|byte| matches!(byte, b')' | b'\n' | b'('))?;
        (self.reader.byte(at + close) == b')').then_some(at + close + 1)
    }

    /// Extends a resolved object by the members that follow it.
    fn with_parts(&mut self, mut thing: Thing) -> Thing {
        for _ in 0..PARTS {
            let Some((part, end, changed)) = self.part_name(&thing).or_else(|| self.part_text(&thing)) else { break };
            thing.changed |= changed;
            thing.end = end;
            if part != "__dict__" {
                thing.name = within(&thing.name, &part);
            }
        }
        thing
    }

    fn part_name(&self, thing: &Thing) -> Option<(String, usize, bool)> {
        (self.reader.byte(thing.end) == b'.').then_some(())?;
        let part = self.reader.word(thing.end + 1);
        let end = thing.end + 1 + part.len();
        let is_index = part == "__dict__";
        (!part.is_empty() && (!is_index || self.reader.byte(end) == b'[')).then(|| (part.to_owned(), end, is_index))
    }

    /// Resolves `x['y']`, where `x` is an object whose members have names.
    fn part_text(&mut self, thing: &Thing) -> Option<(String, usize, bool)> {
        let open = thing.end;
        let is_dict =
            self.reader.rest(open.saturating_sub(8)).starts_with("__dict__[") || thing.name.ends_with("__dict__");
        let has_parts =
            is_dict || is_root(&thing.name) || self.reader.dialect != Dialect::Python && is_told(&thing.name);
        (self.reader.byte(open) == b'[' && has_parts).then_some(())?;
        let (part, end) = self.reader.told(open + 1)?;
        let close = self.reader.skip_lines(end);
        (self.reader.byte(close) == b']' && is_name(&part)).then_some((part, close + 1, true))
    }
}

/// Returns the qualified name of a member. Members of a root are unqualified.
fn within(whole: &str, part: &str) -> String {
    let whole = whole.trim_end_matches(".__dict__");
    if is_root(whole) { part.to_owned() } else { format!("{whole}.{part}") }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() < 64 && text.bytes().all(|byte| is_word(byte) || byte == b'/')
}
