//! [`compile`]: untrusted JSON Schemas, without external references and with linear-time matching.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Compiles a schema. References resolve only within it, and regular expressions match in linear time.
///
/// # Errors
/// The reason why the schema is invalid.
pub fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| format!("this is not a valid JSON Schema: {error}"))
}

/// Returns the first five violations in a document, one sentence each.
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
    fn schema_cannot_load_external_references() {
        assert!(compile(&json!({"$ref": "http://127.0.0.1:1/schema.json"})).is_err());
        assert!(compile(&json!({"$ref": "file:///etc/passwd"})).is_err());
        let inner = compile(&json!({"$defs": {"a": {"type": "string"}}, "items": {"$ref": "#/$defs/a"}})).unwrap();
        assert_eq!(faults(&inner, &json!(["a", 1])).len(), 1);
    }
}
