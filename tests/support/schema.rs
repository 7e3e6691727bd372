//! [`check_schema`]: validates a document against the subset of JSON Schema that our schemas use.
//!
//! An unknown keyword of a schema fails the test, so that nothing is ignored.

use serde_json::Value;

/// Keywords that annotate a schema and validate nothing.
const TALK: [&str; 6] = ["$schema", "$id", "title", "description", "default", "definitions"];

/// Returns every violation of a schema in a document.
pub fn check_schema(document: &Value, schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(document, schema, schema, "$", &mut faults);
    faults
}

fn check(value: &Value, schema: &Value, root: &Value, at: &str, faults: &mut Vec<String>) {
    for (word, rule) in schema.as_object().unwrap_or_else(|| panic!("{at}: no schema: {schema}")) {
        let mut demand = |holds: bool| {
            if !holds {
                faults.push(format!("{at}: {word} {rule} is broken by {value}"));
            }
        };
        match word.as_str() {
            word if TALK.contains(&word) => {}
            "$ref" => {
                let pointer = rule.as_str().unwrap().trim_start_matches('#');
                check(value, root.pointer(pointer).unwrap(), root, at, faults);
            }
            "type" => demand(rule.as_str().map_or_else(
                || rule.as_array().unwrap().iter().any(|kind| is_of(value, kind.as_str().unwrap())),
                |kind| is_of(value, kind),
            )),
            "enum" => demand(rule.as_array().unwrap().contains(value)),
            "minimum" => demand(value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap())),
            "maximum" => demand(value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap())),
            "minItems" => demand(value.as_array().is_none_or(|list| list.len() as u64 >= rule.as_u64().unwrap())),
            "uniqueItems" => demand(
                *rule == Value::Bool(false)
                    || value.as_array().is_none_or(|list| {
                        list.iter().enumerate().all(|(at, item)| !list.iter().take(at).any(|other| other == item))
                    }),
            ),
            "required" => demand(value.as_object().is_none_or(|object| {
                rule.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
            })),
            "anyOf" | "oneOf" => {
                let passed = rule.as_array().unwrap().iter().filter(|schema| {
                    let mut faults = Vec::new();
                    check(value, schema, root, at, &mut faults);
                    faults.is_empty()
                });
                let passed = passed.count();
                demand(if word == "anyOf" { passed > 0 } else { passed == 1 });
            }
            "format" => demand(value.as_str().is_none_or(|text| is_formed(text, rule.as_str().unwrap()))),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(item, rule, root, &format!("{at}[{index}]"), faults);
                }
            }
            "properties" => {
                for (key, schema) in rule.as_object().unwrap() {
                    if let Some(member) = value.get(key) {
                        check(member, schema, root, &format!("{at}.{key}"), faults);
                    }
                }
            }
            "additionalProperties" => {
                let known = |key: &str| schema.get("properties").is_some_and(|known| known.get(key).is_some());
                for (key, member) in value.as_object().into_iter().flatten().filter(|(key, _)| !known(key)) {
                    match rule {
                        Value::Bool(true) => {}
                        Value::Bool(false) => faults.push(format!("{at}: {key} is not in the schema")),
                        schema => check(member, schema, root, &format!("{at}.{key}"), faults),
                    }
                }
            }
            other => panic!("{at}: the word {other} of a schema is not known here"),
        }
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("the type {other} is not known here"),
    }
}

fn is_formed(text: &str, format: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    match format {
        "uri" => text.chars().all(is_plain) && text.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/')),
        "uri-reference" => text.chars().all(is_plain),
        other => panic!("the format {other} is not known here"),
    }
}

#[test]
fn schema_violations_are_found() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"$ref": "#/definitions/list"}, "b": {"enum": ["x"]}, "c": {"format": "uri", "type": "string"}},
        "definitions": {"list": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"type": "integer", "minimum": 0}}},
    });
    let faults = |text: &str| check_schema(&serde_json::from_str(text).unwrap(), &schema).len();
    assert_eq!(faults(r#"{"a": [1, 2], "b": "x", "c": "file:///a%20b"}"#), 0);
    for bad in ["[]", "{}", r#"{"a": []}"#, r#"{"a": [1, 1]}"#, r#"{"a": [-1]}"#, r#"{"a": ["1"]}"#] {
        assert_eq!(faults(bad), 1, "{bad}");
    }
    assert_eq!(faults(r#"{"a": [1], "b": "y", "c": "a b", "d": 1}"#), 3);
}
