//! [`Schema`]: untrusted JSON Schemas, without external references and with linear-time matching.
//!
//! The validator is generic code. It is compiled here and nowhere else, because each crate that used it directly
//! would add a copy to the program.

use std::fmt;

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

/// Size limit of a compiled pattern of [`Schema::of_2020_12`], in bytes.
const PATTERN_BYTES: usize = 256 * 1024;

/// Maximum length of a message, in characters.
const MESSAGE_CHARS: usize = 300;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema(Validator);

/// A place in a document that violates a schema, or a place in a schema that is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON Pointer of the place; empty for the whole document.
    pub pointer: String,
    /// Description of the violation, at most 300 characters.
    pub message: String,
    /// Kind of the violation, for messages of one's own.
    pub violation: Violation,
}

/// Kind of a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// Keys that the schema does not permit.
    UnknownKeys(Vec<String>),
    /// A required key that is missing.
    MissingKey(String),
    /// A number below this minimum.
    TooSmall(String),
    /// A number above this maximum.
    TooLarge(String),
    /// A value of another type.
    WrongType,
    /// A violation of another keyword, named here.
    Other(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

impl Schema {
    /// Compiles a schema of the dialect that its `$schema` names, 2020-12 by default. `format` is an annotation.
    ///
    /// # Errors
    /// The schema is invalid, or refers to another document.
    pub fn of_any_dialect(schema: &Value) -> Result<Self, Fault> {
        let options = jsonschema::options().with_retriever(Nothing).with_pattern_options(PatternOptions::regex());
        options.build(schema).map(Self).map_err(|error| Fault::of(&error))
    }

    /// Compiles a schema of the dialect 2020-12, with small patterns. A violated `format` is a fault.
    ///
    /// # Errors
    /// The schema is invalid, or refers to another document.
    pub fn of_2020_12(schema: &Value) -> Result<Self, Fault> {
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_retriever(Nothing)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .should_validate_formats(true)
            .build(schema)
            .map(Self)
            .map_err(|error| Fault::of(&error))
    }

    /// Returns the first `limit` faults of a document.
    #[must_use]
    pub fn faults(&self, document: &Value, limit: usize) -> Vec<Fault> {
        self.0.iter_errors(document).take(limit).map(|error| Fault::of(&error)).collect()
    }
}

impl Fault {
    fn of(error: &ValidationError<'_>) -> Self {
        let whole = error.to_string();
        let mut message: String = whole.chars().take(MESSAGE_CHARS).collect();
        if message.len() < whole.len() {
            message.push('…');
        }
        Self { pointer: error.instance_path().to_string(), message, violation: Violation::of(error.kind()) }
    }
}

impl Violation {
    fn of(kind: &ValidationErrorKind) -> Self {
        match kind {
            ValidationErrorKind::AdditionalProperties { unexpected } => Self::UnknownKeys(unexpected.clone()),
            ValidationErrorKind::Required { property } => {
                Self::MissingKey(property.as_str().unwrap_or_default().to_owned())
            }
            ValidationErrorKind::Minimum { limit } => Self::TooSmall(limit.to_string()),
            ValidationErrorKind::Maximum { limit } => Self::TooLarge(limit.to_string()),
            ValidationErrorKind::Type { .. } => Self::WrongType,
            other => Self::Other(other.keyword().to_owned()),
        }
    }
}

/// Returns the first `limit` violations of the meta-schema of the dialect 2020-12 in a schema.
#[must_use]
pub fn meta_faults(schema: &Value, limit: usize) -> Vec<Fault> {
    let meta = jsonschema::draft202012::meta::validator();
    meta.iter_errors(schema).take(limit).map(|error| Fault::of(&error)).collect()
}

/// Retriever that refuses to fetch anything.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is outside the schema, and references are not fetched").into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_cannot_load_external_references() {
        for address in ["http://127.0.0.1:1/schema.json", "file:///etc/passwd"] {
            assert!(Schema::of_any_dialect(&json!({"$ref": address})).is_err());
            assert!(Schema::of_2020_12(&json!({"$ref": address})).is_err());
        }
        let inner = json!({"$defs": {"a": {"type": "string"}}, "items": {"$ref": "#/$defs/a"}});
        let faults = Schema::of_any_dialect(&inner).unwrap().faults(&json!(["a", 1]), 5);
        let found: Vec<_> = faults.iter().map(|fault| (fault.pointer.as_str(), &fault.violation)).collect();
        assert_eq!(found, [("/1", &Violation::WrongType)]);
    }

    #[test]
    fn only_one_way_asserts_formats() {
        let schema = json!({"type": "string", "format": "date"});
        assert_eq!(Schema::of_2020_12(&schema).unwrap().faults(&json!("tomorrow"), 5).len(), 1);
        assert_eq!(Schema::of_any_dialect(&schema).unwrap().faults(&json!("tomorrow"), 5), []);
    }
}
