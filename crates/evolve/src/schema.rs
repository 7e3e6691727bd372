//! [`compile`]: JSON Schemas of strangers, read so that they reach nothing and take no time that grows.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// A schema ready to be used. References lead inside the schema only, and expressions match in linear time.
///
/// # Errors
/// Why it is none.
pub fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| format!("this is no JSON Schema: {error}"))
}

/// What in a document does not fit, at most five sentences.
#[must_use]
pub fn faults(validator: &Validator, document: &Value) -> Vec<String> {
    let told = |error: jsonschema::ValidationError<'_>| match error.instance_path().to_string() {
        at if at.is_empty() => error.to_string(),
        at => format!("{at}: {error}"),
    };
    validator.iter_errors(document).take(5).map(told).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_reaches_nothing_outside_of_itself() {
        assert!(compile(&json!({"$ref": "http://127.0.0.1:1/schema.json"})).is_err());
        assert!(compile(&json!({"$ref": "file:///etc/passwd"})).is_err());
        let inner = compile(&json!({"$defs": {"a": {"type": "string"}}, "items": {"$ref": "#/$defs/a"}})).unwrap();
        assert_eq!(faults(&inner, &json!(["a", 1])).len(), 1);
    }
}
