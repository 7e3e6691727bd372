//! [`set`]: a member in a JSON file, with comments, order, numbers and layout kept.
//!
//! The text is not rendered anew: the member is put between what is there. What comes out is read
//! again and compared with what was meant, so that a file this cannot read right is refused whole.

use std::ops::Range;

use serde_json::{Map, Value};

/// The text with the member at `path` being `value`; missing objects on the way are made. An empty
/// text is an empty object.
///
/// # Errors
/// Why that cannot be done.
pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(format!("{}\n", pretty(&nested(path, value), "  ")));
    }
    let before = parse(text)?;
    let mut meant = before.clone();
    put(&mut meant, path, value)?;
    if meant == before {
        return Ok(text.to_owned());
    }
    let written = splice(text, path, value).ok_or("its layout is not understood")?;
    match parse(&written) {
        Ok(after) if after == meant => Ok(written),
        _ => Err("a name stands in it twice, or its layout is not understood".to_owned()),
    }
}

/// The text without the member at `path`; the same text where there is none.
///
/// # Errors
/// Why that cannot be done.
pub fn remove(text: &str, path: &[&str]) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let before = parse(text)?;
    let mut meant = before.clone();
    let parent = path.split_last().and_then(|(last, above)| {
        let parent = above.iter().try_fold(&mut meant, |value, key| value.get_mut(*key))?;
        parent.as_object_mut()?.shift_remove(*last)
    });
    if parent.is_none() {
        return Ok(text.to_owned());
    }
    let written = cut_out(text, path).ok_or("its layout is not understood")?;
    match parse(&written) {
        Ok(after) if after == meant => Ok(written),
        _ => Err("a name stands in it twice, or its layout is not understood".to_owned()),
    }
}

/// Follows the path and leaves its last member out, with the comma that belongs to it.
fn cut_out(text: &str, path: &[&str]) -> Option<String> {
    let (last, above) = path.split_last()?;
    let mut start = blank_end(text, 0)?;
    for key in above {
        start = object(text, start)?.members.iter().find(|member| member.key == *key)?.value.start;
    }
    let object = object(text, start)?;
    let at = object.members.iter().position(|member| member.key == *last)?;
    let (member, next) = (object.members.get(at)?, object.members.get(at + 1));
    let previous = at.checked_sub(1).and_then(|before| object.members.get(before));
    let before = text.get(..member.start)?;
    match (previous, next) {
        (_, Some(next)) => Some([before, text.get(next.start..)?].concat()),
        (None, None) => Some([text.get(..=start)?, text.get(object.close..)?].concat()),
        (Some(_), None) if object.has_comma => {
            let comma = blank_end(text, member.value.end)?;
            Some([before.trim_end(), text.get(comma + 1..)?].concat())
        }
        (Some(previous), None) => {
            let comma = blank_end(text, previous.value.end)?;
            Some(
                [text.get(..comma)?, text.get(comma + 1..member.start)?.trim_end(), text.get(member.value.end..)?]
                    .concat(),
            )
        }
    }
}

/// Reads JSON, with comments and commas at the end as hosts take them.
fn parse(text: &str) -> Result<Value, String> {
    let plain = without_comments(text).ok_or("a text or a comment in it has no end")?;
    serde_json::from_str(&plain).map_err(|error| format!("it is no JSON: {error}"))
}

/// The same text with blanks in place of comments and of commas before a closing bracket.
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

/// Sets the member in the value.
fn put(document: &mut Value, path: &[&str], value: &Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else {
        *document = value.clone();
        return Ok(());
    };
    let members = document.as_object_mut().ok_or_else(|| format!("what should hold `{first}` is no object"))?;
    put(members.entry(*first).or_insert_with(|| Value::Object(Map::new())), rest, value)
}

/// A value inside the objects of a path.
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

/// An object as it stands in the text.
struct Object {
    members: Vec<Member>,
    /// Where the closing bracket is.
    close: usize,
    /// Whether a comma stands after the last member.
    has_comma: bool,
}

struct Member {
    key: String,
    start: usize,
    value: Range<usize>,
}

/// Follows the path as far as it goes and puts the rest there.
fn splice(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let mut start = blank_end(text, 0)?;
    for (depth, key) in path.iter().enumerate() {
        let object = object(text, start)?;
        let Some(member) = object.members.iter().find(|member| member.key == *key) else {
            return Some(insert(text, start, &object, key, &nested(&path[depth + 1..], value)));
        };
        if depth + 1 == path.len() {
            let layout = Layout::of(text);
            let rendered = layout.render(value, &layout.indent_at(text, member.start));
            return Some([&text[..member.value.start], &rendered, &text[member.value.end..]].concat());
        }
        start = member.value.start;
    }
    None
}

/// The text with a new last member in an object.
fn insert(text: &str, open: usize, object: &Object, key: &str, value: &Value) -> String {
    let layout = Layout::of(text);
    let outer = layout.indent_at(text, open);
    let on_lines = match object.members.last() {
        Some(last) => text[..last.start].rsplit('\n').next().is_none_or(|line| line.trim().is_empty()),
        None => true,
    };
    let key = Value::from(key).to_string();
    let end = object.members.last().map_or(open + 1, |last| last.value.end);
    if !on_lines {
        return [&text[..end], ", ", &key, ": ", &value.to_string(), &text[end..]].concat();
    }
    let indent = match object.members.last() {
        Some(last) => layout.indent_at(text, last.start),
        None => format!("{outer}{}", layout.unit),
    };
    let comma = if object.has_comma || object.members.is_empty() { "" } else { "," };
    let rest = text[end..object.close].trim_end();
    let member = format!("{}{indent}{key}: {}", layout.line, layout.render(value, &indent));
    [&text[..end], comma, rest, &member, layout.line, &outer, &text[object.close..]].concat()
}

/// How a text is laid out.
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

    /// The blanks at the beginning of the line in which a place is.
    fn indent_at(&self, text: &str, at: usize) -> String {
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    /// A value whose lines but the first begin with `indent`.
    fn render(&self, value: &Value, indent: &str) -> String {
        pretty(value, &self.unit).replace('\n', &format!("{}{indent}", self.line))
    }
}

/// The object that begins at a place.
fn object(text: &str, start: usize) -> Option<Object> {
    let bytes = text.as_bytes();
    if bytes.get(start) != Some(&b'{') {
        return None;
    }
    let (mut members, mut has_comma) = (Vec::new(), false);
    let mut at = blank_end(text, start + 1)?;
    while bytes.get(at) != Some(&b'}') {
        let key_end = string_end(text, at)?;
        let key = serde_json::from_str(&text[at..key_end]).ok()?;
        let colon = blank_end(text, key_end)?;
        let value = blank_end(text, colon + 1).filter(|_| bytes.get(colon) == Some(&b':'))?;
        let end = value_end(text, value)?;
        members.push(Member { key, start: at, value: value..end });
        at = blank_end(text, end)?;
        has_comma = bytes.get(at) == Some(&b',');
        if has_comma {
            at = blank_end(text, at + 1)?;
        }
    }
    Some(Object { members, close: at, has_comma })
}

/// Where the value that begins at a place ends.
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

/// Where the text in quotes that begins at a place ends.
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

/// Where blanks and comments end.
fn blank_end(text: &str, start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let rest = text.as_bytes().get(at..)?;
        if rest.starts_with(b"//") {
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += 4 + rest.get(2..)?.windows(2).position(|two| two == b"*/")?;
        } else if rest.first().is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        } else {
            return Some(at);
        }
    }
}
