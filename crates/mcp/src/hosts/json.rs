//! Edits of single members in a JSON file that preserve its comments, order, number formats and layout.
//!
//! The document is not re-serialised: each member is spliced into the existing text. The result is parsed and compared
//! with the intended document, so a file that this module misreads is refused instead of damaged.
//!
//! `jsonc-parser`, which edits such files too, holds every token of a document, and some hosts keep tens of megabytes in
//! theirs; and it breaks an object that stood on one line.

mod list;
mod outline;

use std::borrow::Cow;

use serde_json::{Map, Value};

use outline::{Keys, Outline};

pub use list::{push, retain};

/// Sets these members in the object at `path`, and creates missing objects on the way. An empty text counts as an empty
/// object.
///
/// # Errors
/// The reason, as a clause: the text is not JSON, or its layout is not understood.
pub fn set(text: &str, path: &[&str], members: &[(&str, Value)]) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let (keys, names) = (Keys::default(), members.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let before = outline(text, path, &names, &keys)?;
    let meant: Vec<Option<u64>> = members.iter().map(|(_, value)| keys.sum_of(value)).collect();
    let mut written = Cow::Borrowed(text);
    let missing = Value::Object(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
    let changed = members.iter().zip(before.members.iter().zip(&meant)).filter(|(_, (old, new))| old != new);
    let edits: Vec<(Vec<&str>, &Value)> = match before.has_holder {
        true => changed.map(|((name, value), _)| ([path, &[*name]].concat(), value)).collect(),
        false => vec![(path.to_vec(), &missing)],
    };
    for (path, value) in edits {
        written = Cow::Owned(splice(&written, &path, value).ok_or("its layout is not supported")?);
    }
    checked(written, path, &names, &keys, &before.with(meant))
}

/// Removes the member `name` of the object at `path`. Returns the text unchanged if there is no such member.
///
/// # Errors
/// The reason, as a clause: the text is not JSON, or its layout is not understood.
pub fn remove(text: &str, path: &[&str], name: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let keys = Keys::default();
    let before = outline(text, path, &[name], &keys)?;
    let written = match before.members.first() {
        Some(Some(_)) => cut_out(text, &[path, &[name]].concat()).ok_or("its layout is not supported")?.into(),
        _ => text.into(),
    };
    checked(written, path, &[name], &keys, &before.with(vec![None]))
}

/// Returns the words of `command` and `args` in the object at `path`, none if the text cannot be read.
pub fn words(text: &str, path: &[&str]) -> Vec<String> {
    let document = read(text);
    let entry = path.iter().fold(&document, |object, key| &object[*key]);
    let texts = |value: &Value| match value {
        Value::String(word) => vec![word.clone()],
        list => list.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect(),
    };
    [texts(&entry["command"]), texts(&entry["args"])].concat()
}

/// Returns the keys of the object `container`, none if the text cannot be read.
pub fn names(text: &str, container: &str) -> Vec<String> {
    let document = read(text);
    document[container].as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default()
}

/// Parses JSON with comments and trailing commas. A text that cannot be read is `null`.
fn read(text: &str) -> Value {
    let tolerant = || serde_json::from_str(&without_comments(text)?).ok();
    serde_json::from_str(text).ok().or_else(tolerant).unwrap_or_default()
}

/// Verifies that an edited text has the intended outline. A borrowed text was not edited and passes.
fn checked(
    written: Cow<'_, str>,
    path: &[&str],
    names: &[&str],
    keys: &Keys,
    meant: &Outline,
) -> Result<String, String> {
    let is_right = match &written {
        Cow::Borrowed(_) => true,
        Cow::Owned(written) => outline(written, path, names, keys).as_ref() == Ok(meant),
    };
    is_right.then(|| written.into_owned()).ok_or_else(|| "its layout is not supported".to_owned())
}

/// Parses JSON and tolerates comments and trailing commas, as hosts do.
fn outline(text: &str, path: &[&str], names: &[&str], keys: &Keys) -> Result<Outline, String> {
    let read = match Outline::of(text, path, names, keys) {
        Err(error) if !error.is_data() => {
            let plain = without_comments(text).ok_or("it contains an unterminated string or comment")?;
            Outline::of(&plain, path, names, keys)
        }
        read => read,
    };
    read.map_err(|error| match error.is_data() {
        true if path.is_empty() => "it is not an object, or a key occurs twice".to_owned(),
        true => format!("`{}` is not an object, or occurs twice", path.join(".")),
        false => format!("it is not valid JSON: {error}"),
    })
}

/// Follows the path and removes its last member, together with the comma that belongs to it.
fn cut_out(text: &str, path: &[&str]) -> Option<String> {
    let (last, above) = path.split_last()?;
    let mut start = blank_end(text, 0)?;
    for key in above {
        start = object(text, start, key)?.member?.value;
    }
    let object = object(text, start, last)?;
    let member = object.member?;
    let before = text.get(..member.start)?;
    match (object.previous, object.next) {
        (_, Some(next)) => Some([before, text.get(next.start..)?].concat()),
        (None, None) => Some([text.get(..=start)?, text.get(object.close..)?].concat()),
        (Some(_), None) if object.has_comma => {
            let comma = blank_end(text, member.end)?;
            Some([before.trim_end(), text.get(comma + 1..)?].concat())
        }
        (Some(previous), None) => {
            let comma = blank_end(text, previous.end)?;
            Some([text.get(..comma)?, text.get(comma + 1..member.start)?.trim_end(), text.get(member.end..)?].concat())
        }
    }
}

/// Returns the text, at the same length, with blanks in place of comments and trailing commas.
fn without_comments(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let mut comma = None;
    let mut at = 0;
    while at < bytes.len() {
        let end = blank_end(text, at)?;
        if end > at {
            bytes[at..end].iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
            at = end;
            continue;
        }
        match bytes[at] {
            b'}' | b']' => {
                if let Some(comma) = comma {
                    bytes[comma] = b' ';
                }
            }
            b'"' => at = string_end(text, at)? - 1,
            _ => {}
        }
        comma = (bytes[at] == b',').then_some(at);
        at += 1;
    }
    String::from_utf8(bytes).ok()
}

/// Wraps a value in the objects of a path.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| Value::Object(Map::from_iter([((*key).to_owned(), inner)])))
}

fn pretty(value: &Value, unit: &str) -> String {
    let mut out = Vec::new();
    let layout = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, layout);
    match serde::Serialize::serialize(value, &mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

/// Byte positions in an object, relative to one member that it may contain.
#[derive(Default)]
struct Object {
    member: Option<Member>,
    /// The member before [`Self::member`].
    previous: Option<Member>,
    /// The member after [`Self::member`].
    next: Option<Member>,
    /// The last member of the object.
    last: Option<Member>,
    /// Offset of the closing bracket.
    close: usize,
    /// True if a comma follows the last member.
    has_comma: bool,
}

/// Byte offsets of a member: start of its key, start and end of its value.
#[derive(Clone, Copy)]
struct Member {
    start: usize,
    value: usize,
    end: usize,
}

/// Follows the path as far as it exists and inserts the remainder there.
fn splice(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let mut start = blank_end(text, 0)?;
    for (depth, key) in path.iter().enumerate() {
        let object = object(text, start, key)?;
        let Some(member) = object.member else {
            return Some(insert(text, start, &object, key, &nested(&path[depth + 1..], value)));
        };
        if depth + 1 == path.len() {
            let layout = Layout::of(text);
            let rendered = layout.render(value, &layout.indent_at(text, member.start));
            return Some([&text[..member.value], &rendered, &text[member.end..]].concat());
        }
        start = member.value;
    }
    None
}

/// Inserts a new last member into an object, laid out like its neighbours.
fn insert(text: &str, open: usize, object: &Object, key: &str, value: &Value) -> String {
    let layout = Layout::of(text);
    let outer = layout.indent_at(text, open);
    let on_lines = match object.last {
        Some(last) => text[..last.start].rsplit('\n').next().is_none_or(|line| line.trim().is_empty()),
        None => true,
    };
    let key = Value::from(key).to_string();
    let end = object.last.map_or(open + 1, |last| last.end);
    if !on_lines {
        return [&text[..end], ", ", &key, ": ", &value.to_string(), &text[end..]].concat();
    }
    let indent = match object.last {
        Some(last) => layout.indent_at(text, last.start),
        None => format!("{outer}{}", layout.unit),
    };
    let comma = if object.has_comma || object.last.is_none() { "" } else { "," };
    let rest = text[end..object.close].trim_end();
    let member = format!("{}{indent}{key}: {}", layout.line, layout.render(value, &indent));
    [&text[..end], comma, rest, &member, layout.line, &outer, &text[object.close..]].concat()
}

/// Indentation unit and line ending of a text.
struct Layout {
    unit: String,
    line: &'static str,
}

impl Layout {
    fn of(text: &str) -> Self {
        let unit = text.lines().find_map(|line| {
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            (!indent.is_empty() && line.trim_start().starts_with('"')).then(|| indent.to_owned())
        });
        let line = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { unit: unit.unwrap_or_else(|| "  ".to_owned()), line }
    }

    /// Returns the indentation of the line that contains offset `at`.
    fn indent_at(&self, text: &str, at: usize) -> String {
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    /// Renders a value. All lines after the first begin with `indent`.
    fn render(&self, value: &Value, indent: &str) -> String {
        pretty(value, &self.unit).replace('\n', &format!("{}{indent}", self.line))
    }
}

/// Scans the object that begins at `start`, and locates the member `name` in it.
fn object(text: &str, start: usize, name: &str) -> Option<Object> {
    let bytes = text.as_bytes();
    if bytes.get(start) != Some(&b'{') {
        return None;
    }
    let mut object = Object::default();
    let mut at = blank_end(text, start + 1)?;
    while bytes.get(at) != Some(&b'}') {
        let key_end = string_end(text, at)?;
        let key: Cow<'_, str> = serde_json::from_str(&text[at..key_end]).ok()?;
        let colon = blank_end(text, key_end)?;
        let value = blank_end(text, colon + 1).filter(|_| bytes.get(colon) == Some(&b':'))?;
        let member = Member { start: at, value, end: value_end(text, value)? };
        match object.member {
            None if key == name => (object.previous, object.member) = (object.last, Some(member)),
            None => {}
            Some(_) => object.next = object.next.or(Some(member)),
        }
        object.last = Some(member);
        at = blank_end(text, member.end)?;
        object.has_comma = bytes.get(at) == Some(&b',');
        if object.has_comma {
            at = blank_end(text, at + 1)?;
        }
    }
    Some(Object { close: at, ..object })
}

/// Returns the end of the value that begins at `start`.
fn value_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' | b':' => at += 1,
            _ => {
                let word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let length = bytes[at..].iter().take_while(word).count();
                at += if length == 0 { return None } else { length };
            }
        }
        if depth == 0 {
            return Some(at);
        }
        at = blank_end(text, at)?;
    }
}

/// Returns the end of the string literal that begins at `start`.
fn string_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Skips blanks and comments, and returns the offset of the next token.
fn blank_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    loop {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'/'), Some(b'/')) => {
                at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
            }
            (Some(b'/'), Some(b'*')) => at += 4 + bytes[at + 2..].windows(2).position(|two| two == b"*/")?,
            (Some(byte), _) if byte.is_ascii_whitespace() => at += 1,
            _ => return (at <= bytes.len()).then_some(at),
        }
    }
}
