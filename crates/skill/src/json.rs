//! JSON of clients: faults in the words of JSON ([`parse_json`], [`read_json`]), and an estimate of the memory to parse it
//! ([`objects_and_commas`]).

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Deserializer, Value};

use crate::shorten::{ECHO_CHARS, shortened};

/// Parses a JSON text.
///
/// # Errors
/// A sentence with the field and the types of JSON. A text that is not JSON gets the line of the fault.
pub fn parse_json<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, String> {
    let mut document = Deserializer::from_slice(text);
    let read = serde_path_to_error::deserialize(&mut document).map_err(explained)?;
    document.end().map(|()| read).map_err(|error| error.to_string())
}

/// Reads a value from a parsed document.
///
/// # Errors
/// As [`parse_json`].
pub fn read_json<T: DeserializeOwned>(document: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(document).map_err(explained)
}

fn explained(error: serde_path_to_error::Error<serde_json::Error>) -> String {
    let field = error.path().to_string();
    let error = error.into_inner();
    if !error.is_data() {
        return error.to_string();
    }
    let at = format!(" at line {} column {}", error.line(), error.column());
    let fault = error.to_string();
    json_fault(Some(field.as_str()).filter(|field| *field != "."), fault.strip_suffix(&at).unwrap_or(&fault))
}

/// Describes an error of serde about a field, or about the whole document, without the names of types in Rust.
pub fn json_fault(field: Option<&str>, error: &str) -> String {
    let named = field.map_or_else(|| "the request".to_owned(), |field| format!("`{field}`"));
    if let Some((fault, expected)) = error.rsplit_once(", expected ") {
        if let Some(found) = ["invalid type: ", "invalid value: "].iter().find_map(|begin| fault.strip_prefix(begin)) {
            let found = shortened(in_json(found), ECHO_CHARS);
            return format!("{named} must be {}, not {found}", in_json(expected));
        }
        if let Some(found) = fault.strip_prefix("unknown variant ") {
            return format!("{named} must be {expected}, not {}", shortened(found, ECHO_CHARS));
        }
    }
    // Names of unknown and missing fields are those of their object.
    if field.is_some_and(|field| field.contains(['.', '['])) { format!("{named}: {error}") } else { error.to_owned() }
}

/// Translates the name of a type in an error of serde to the words of JSON.
fn in_json(kind: &str) -> &str {
    match kind {
        "a boolean" => "`true` or `false`",
        "sequence" | "a sequence" => "an array",
        "map" | "a map" => "an object",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        _ if kind.starts_with("a nonzero u") => "a whole number from 1",
        _ if kind.starts_with("struct ") => "an object",
        other => other,
    }
}

/// Counts the objects of a JSON text and its commas outside strings. Each list element except the first is preceded by
/// a comma, and takes many times its size in memory.
pub fn objects_and_commas(json: &[u8]) -> (usize, usize) {
    let (mut objects, mut commas, mut is_text, mut is_escaped) = (0, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' if !is_text => objects += 1,
            b',' if !is_text => commas += 1,
            _ => {}
        }
    }
    (objects, commas)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn faults_name_fields_and_types() {
        #[derive(Debug, Deserialize)]
        struct Request {
            #[serde(rename = "limits")]
            _limits: Vec<u32>,
            #[serde(rename = "most")]
            _most: Option<NonZeroU32>,
            #[serde(rename = "parts", default)]
            _parts: Vec<Part>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Part {
            #[serde(rename = "path")]
            _path: String,
        }
        for (json, fault) in [
            (r#"{"limits": [1, "x"]}"#, "`limits[1]` must be a whole number from 0, not string \"x\""),
            (r#"{"limits": [0], "most": 0}"#, "`most` must be a whole number from 1, not integer `0`"),
            (r#"{"limits": null}"#, "`limits` must be an array, not null"),
            ("{}", "missing field `limits`"),
            ("7", "the request must be an object, not integer `7`"),
            (r#"{"limits": "look at line 5"}"#, "`limits` must be an array, not string \"look at line 5\""),
            (r#"{"limits": [], "parts": [{}]}"#, "`parts[0]`: missing field `path`"),
            (r#"{"limits": [], "parts": [{"pth": 1}]}"#, "`parts[0].pth`: unknown field `pth`, expected `path`"),
            ("{", "EOF while parsing an object at line 1 column 1"),
            (r#"{"limits": []} 7"#, "trailing characters at line 1 column 16"),
        ] {
            assert_eq!(parse_json::<Request>(json.as_bytes()).unwrap_err(), fault, "{json}");
        }
    }

    #[test]
    fn strings_are_not_counted() {
        assert_eq!(objects_and_commas(br#"{"a,{\",{":[1,{},"\\"],"b":{}}"#), (3, 3));
        assert_eq!(objects_and_commas(b""), (0, 0));
    }
}
