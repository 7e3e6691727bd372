//! [`Value`] and the evaluation of known functions and methods.

use super::text::{Decoding, decode, formatted, replaced};

/// Maximum length of a value in bytes. No rule looks for anything longer.
pub(super) const LONGEST: usize = 16 << 10;

/// Maximum number of items of a list.
pub(super) const ITEMS: usize = 4096;

/// Statically known value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Value>),
    Number(u32),
}

/// Returns the cost of copying a value.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(items) => items.iter().map(size).sum::<usize>() + 1,
        Value::Number(_) => 1,
    }
}

pub(super) fn letters(numbers: Vec<Value>, change: impl Fn(u32) -> u32) -> Option<Vec<Value>> {
    let letter = |value| match value {
        Value::Number(number) => Some(Value::Text(char::from_u32(change(number))?.to_string())),
        _ => None,
    };
    numbers.into_iter().map(letter).collect()
}

/// Converts values to strings. Returns `None` if one is a list.
pub(super) fn texts(values: Vec<Value>) -> Option<Vec<String>> {
    let text = |value| match value {
        Value::Text(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::List(_) => None,
    };
    values.into_iter().map(text).collect()
}

pub(super) fn joined<T: AsRef<str>>(parts: &[T], between: &str) -> Option<Value> {
    let length: usize = parts.iter().map(|part| part.as_ref().len() + between.len()).sum();
    let parts = || parts.iter().map(AsRef::as_ref).collect::<Vec<&str>>();
    (length <= LONGEST).then(|| Value::Text(parts().join(between)))
}

/// Returns whether a function can be evaluated, by the last part of its name.
pub(super) fn is_known(function: &str) -> bool {
    matches!(
        function,
        "map"
            | "chr"
            | "fromCharCode"
            | "b64decode"
            | "urlsafe_b64decode"
            | "b32decode"
            | "atob"
            | "from"
            | "fromhex"
            | "unhexlify"
            | "decode"
            | "bytes"
            | "bytearray"
            | "str"
            | "String"
            | "reversed"
            | "list"
            | "unquote"
            | "decodeURIComponent"
            | "unescape"
            | "base64_decode"
            | "strrev"
            | "hex2bin"
            | "str_rot13"
    )
}

/// Evaluates a function call. The flag is true if the argument was encoded.
pub(super) fn called(function: &str, arguments: Vec<Value>) -> Option<(Value, bool)> {
    let how = match arguments.get(1) {
        Some(Value::Text(how)) => how.to_ascii_lowercase(),
        _ => String::new(),
    };
    if let ("chr" | "fromCharCode", [Value::Number(_), ..]) = (function, arguments.as_slice()) {
        return Some((joined(&texts(letters(arguments, |number| number)?)?, "")?, true));
    }
    let decoding = decoding_of(function, &how);
    let value = match (function, arguments.into_iter().next()?) {
        ("strrev" | "reversed", Value::Text(text)) => Value::Text(text.chars().rev().collect()),
        ("reversed", Value::List(items)) => Value::List(items.into_iter().rev().collect()),
        ("list", Value::Text(text)) => Value::List(one_by_one(&text)),
        ("bytes" | "bytearray" | "from", Value::List(items)) => {
            return Some((joined(&texts(letters(items, |number| number)?)?, "")?, true));
        }
        (_, Value::Text(text)) => Value::Text(decode(&text, decoding)?),
        _ => return None,
    };
    Some((value, decoding != Decoding::None))
}

fn decoding_of(function: &str, how: &str) -> Decoding {
    match (function, how) {
        ("b64decode" | "urlsafe_b64decode" | "atob" | "base64_decode", _) | ("from" | "decode", "base64") => {
            Decoding::Base64
        }
        ("fromhex" | "unhexlify" | "hex2bin", _) | ("from" | "decode", "hex") => Decoding::Hex,
        ("decode", "rot13" | "rot_13") | ("str_rot13", _) => Decoding::Rot13,
        ("unquote" | "decodeURIComponent" | "unescape", _) => Decoding::Percent,
        _ => Decoding::None,
    }
}

fn one_by_one(text: &str) -> Vec<Value> {
    text.chars().take(ITEMS).map(|c| Value::Text(c.to_string())).collect()
}

pub(super) fn is_method(name: &str) -> bool {
    matches!(
        name,
        "join"
            | "format"
            | "replace"
            | "replaceAll"
            | "gsub"
            | "decode"
            | "encode"
            | "toString"
            | "strip"
            | "trim"
            | "lower"
            | "upper"
            | "toLowerCase"
            | "toUpperCase"
            | "concat"
            | "split"
            | "reverse"
            | "hex"
    )
}

/// Evaluates a method call.
pub(super) fn method(on: &Value, name: &str, arguments: Vec<Value>) -> Option<Value> {
    match (on, name) {
        (Value::Text(between), "join") => match arguments.into_iter().next()? {
            Value::List(items) => joined(&texts(items)?, between),
            _ => None,
        },
        (Value::List(items), "join") => {
            let between = texts(arguments)?.pop().unwrap_or_else(|| ",".to_owned());
            joined(&texts(items.clone())?, &between)
        }
        (Value::List(items), "reverse") => Some(Value::List(items.iter().rev().cloned().collect())),
        (Value::Text(text), _) => method_of_text(text, name, texts(arguments)?),
        _ => None,
    }
}

fn method_of_text(text: &str, name: &str, arguments: Vec<String>) -> Option<Value> {
    let text = match (name, arguments.as_slice()) {
        ("format", _) => formatted(text, "{", &arguments)?,
        ("replace" | "replaceAll" | "gsub", [from, to, ..]) => replaced(text, from, to, LONGEST)?,
        ("decode" | "encode" | "toString" | "hex", _) => text.to_owned(),
        ("strip" | "trim", []) => text.trim().to_owned(),
        ("lower" | "toLowerCase", _) => text.to_lowercase(),
        ("upper" | "toUpperCase", _) => text.to_uppercase(),
        ("reverse", []) => text.chars().rev().collect(),
        ("concat", parts) => return joined(&[&[text.to_owned()], parts].concat(), ""),
        ("split", [mark]) if mark.is_empty() => return Some(Value::List(one_by_one(text))),
        ("split", [mark]) => {
            let parts = text.split(mark.as_str()).take(ITEMS);
            return Some(Value::List(parts.map(|part| Value::Text(part.to_owned())).collect()));
        }
        _ => return None,
    };
    (text.len() <= LONGEST).then_some(Value::Text(text))
}
