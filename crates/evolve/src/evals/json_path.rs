//! [`find`]: lookup of values inside a JSON document by a path.
//!
//! A path is a JSON Pointer (`/items/0/name`), or a JSONPath of `$`, `.name`, `['name']`, `[0]`, and `[*]` or `.*` for
//! all elements. Filters, searches and lists of selectors are refused, because the document does not bound their cost.

use regex::{Captures, Regex};
use serde_json::Value;
use serde_json_path::JsonPath;

/// One step by name. After a dot, a name is anything up to the next step, and no character in quotes is special. Both
/// are wider than in RFC 9535.
const NAME: &str = r#"\.([^.\[]+)|\['([^']*)'\]|\["([^"]*)"\]"#;

/// Returns all values at a path.
///
/// # Errors
/// The reason why the path is invalid.
pub fn find<'v>(document: &'v Value, path: &str) -> Result<Vec<&'v Value>, String> {
    if path.is_empty() || path.starts_with('/') {
        return Ok(document.pointer(path).into_iter().collect());
    }
    let wrong = || format!("{path:?} is not a valid path; write `$.name[0]` or `/name/0`");
    let name = Regex::new(NAME).map_err(|error| error.to_string())?;
    let is_plain = |c: char| matches!(c, '$' | '[' | ']' | '*') || c.is_ascii_digit();
    if !name.replace_all(path, "").chars().all(is_plain) {
        return Err(wrong());
    }
    let quoted = name.replace_all(path, |found: &Captures<'_>| match found.extract() {
        (".*", _) => "[*]".to_owned(),
        (_, [name]) => format!("[{}]", Value::from(name)),
    });
    JsonPath::parse(&quoted).map(|path| path.query(document).all()).map_err(|_| wrong())
}

/// Checks that a path is valid.
///
/// # Errors
/// The reason why it is not.
pub fn check(path: &str) -> Result<(), String> {
    find(&Value::Null, path).map(|_| ())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_path_and_pointer_are_equivalent() {
        let document = json!({"items": [{"name": "a"}, {"name": "b", "x.y": 3}]});
        let at = |path: &str| find(&document, path).unwrap();
        assert_eq!(at("$.items[1].name"), [&json!("b")]);
        assert_eq!(at("/items/1/name"), [&json!("b")]);
        assert_eq!(at("$.items[*].name"), [&json!("a"), &json!("b")]);
        assert_eq!(at("$['items'][1][\"x.y\"]"), [&json!(3)]);
        assert_eq!(at("$"), [&document]);
        assert!(at("$.items[7]").is_empty() && at("$.none.deep").is_empty());
        let odd = json!({"my-key": {"a b": 1, "it's": 2, "*x": 3, "a\\n": 4, "q\"": 5}, "": [[6]]});
        for (path, value) in [
            ("$.my-key.a b", 1),
            ("$.my-key.it's", 2),
            ("$['my-key'].*x", 3),
            ("$.my-key['a\\n']", 4),
            ("$.*['q\"']", 5),
            ("$[''].*[0]", 6),
        ] {
            assert_eq!(find(&odd, path), Ok(vec![&json!(value)]), "{path}");
        }
        for wrong in ["$..*", "$..[0]", "$[*,*]", "$[?@.a]", "$[ 'x.',*,\"][0]\"]", "$.a[0.b]", "$[-1]", "$ .a"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        for wrong in ["items", "$items", "$.", "$[", "$[x]", "$['a]", "$.a..b"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
