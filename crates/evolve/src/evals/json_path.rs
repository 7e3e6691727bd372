//! [`find`]: lookup of values inside a JSON document by a path.
//!
//! A path is a JSON Pointer (`/items/0/name`), or the subset of JSONPath without filters and searches: `$`, `.name`,
//! `['name']`, `[0]`, and `[*]` or `.*` for all elements.

use serde_json::Value;

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
    All,
}

/// Returns all values at a path.
///
/// # Errors
/// The reason why the path is invalid.
pub fn find<'v>(document: &'v Value, path: &str) -> Result<Vec<&'v Value>, String> {
    if path.is_empty() || path.starts_with('/') {
        return Ok(document.pointer(path).into_iter().collect());
    }
    let mut found = vec![document];
    for step in steps(path)? {
        found = found.into_iter().flat_map(|value| enter(value, &step)).collect();
    }
    Ok(found)
}

/// Checks that a path is valid.
///
/// # Errors
/// The reason why it is not.
pub fn check(path: &str) -> Result<(), String> {
    find(&Value::Null, path).map(|_| ())
}

fn enter<'v>(value: &'v Value, step: &Step) -> Vec<&'v Value> {
    match (step, value) {
        (Step::Name(name), Value::Object(map)) => map.get(name).into_iter().collect(),
        (Step::Index(index), Value::Array(list)) => list.get(*index).into_iter().collect(),
        (Step::All, Value::Array(list)) => list.iter().collect(),
        (Step::All, Value::Object(map)) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let wrong = || format!("{path:?} is not a valid path; write `$.name[0]` or `/name/0`");
    let mut rest = path.strip_prefix('$').ok_or_else(wrong)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, others) = after.split_at(end);
            steps.push(match name {
                "" => return Err(wrong()),
                "*" => Step::All,
                name => Step::Name(name.to_owned()),
            });
            rest = others;
        } else {
            let inner = rest.strip_prefix('[').ok_or_else(wrong)?;
            let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'));
            let (step, others) = match quote {
                Some(quote) => {
                    let (name, others) = inner.get(1..).and_then(|text| text.split_once(quote)).ok_or_else(wrong)?;
                    (Step::Name(name.to_owned()), others.strip_prefix(']').ok_or_else(wrong)?)
                }
                None => {
                    let (index, others) = inner.split_once(']').ok_or_else(wrong)?;
                    let step = if index == "*" { Step::All } else { Step::Index(index.parse().map_err(|_| wrong())?) };
                    (step, others)
                }
            };
            steps.push(step);
            rest = others;
        }
    }
    Ok(steps)
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
        for wrong in ["items", "$items", "$.", "$[", "$[x]", "$['a]", "$.a..b"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
