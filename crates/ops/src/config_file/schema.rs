//! [`Schema`]: the published JSON Schema of a configuration file, which finds misspelt keys and has the defaults.

use agent::near;
use json_schema::{Fault, Violation};
use serde_json::Value;

use super::document::{dotted, pointer_to, segments};

/// Maximum number of faults to report in one file.
const FAULTS: usize = 100;

/// JSON Schema of a file, without references to others.
pub struct Schema(Value);

/// A value that does not fit the schema.
pub struct Misfit {
    /// JSON Pointer to the key or list element.
    pub pointer: String,
    /// Description that does not quote the value.
    pub message: String,
    /// Known key or value that may have been meant.
    pub nearest: Option<String>,
}

impl Schema {
    /// Parses the text of a published schema.
    pub fn new(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// Returns the first misfits of a document.
    ///
    /// # Errors
    /// The schema itself is unusable.
    pub fn misfits(&self, document: &Value) -> Result<Vec<Misfit>, String> {
        let schema = json_schema::Schema::of_any_dialect(&self.0).map_err(|fault| fault.to_string())?;
        let faults = schema.faults(document, FAULTS);
        Ok(faults.into_iter().flat_map(|fault| self.describe(fault, document)).take(FAULTS).collect())
    }

    fn describe(&self, fault: Fault, document: &Value) -> Vec<Misfit> {
        let Fault { pointer, violation, .. } = fault;
        let node = segments(&pointer).fold(&self.0, |node, segment| self.inner(node, &segment));
        let key = if pointer.is_empty() { "the file".to_owned() } else { format!("`{}`", dotted(&pointer)) };
        let options = options(node);
        let message = match violation {
            Violation::UnknownKeys(unknown) => {
                return unknown.iter().map(|key| unknown_key(node, &pointer, key)).collect();
            }
            Violation::MissingKey(missing) => format!("{key} lacks the key `{missing}`"),
            Violation::TooSmall(limit) => format!("{key} must be at least {limit}"),
            Violation::TooLarge(limit) => format!("{key} must be at most {limit}"),
            Violation::WrongType => format!("{key} must be {}", type_name(node)),
            Violation::Other(keyword) if keyword == "minItems" => {
                format!("{key} is empty; write at least one of: {}", self::options(self.inner(node, "0")).join(", "))
            }
            Violation::Other(_) if !options.is_empty() => format!("{key} must be one of: {}", options.join(", ")),
            Violation::Other(keyword) => format!("{key} does not fit the schema ({keyword})"),
        };
        let written = document.pointer(&pointer).and_then(Value::as_str).unwrap_or_default();
        let nearest = near(written, options).map(str::to_owned);
        vec![Misfit { pointer, message, nearest }]
    }

    /// Returns the schema of a part of what `node` describes, or null.
    fn inner<'s>(&'s self, node: &'s Value, segment: &str) -> &'s Value {
        let parts = [&node["properties"][segment], &node["additionalProperties"], &node["items"]];
        parts.into_iter().find(|part| part.is_object()).map_or(&Value::Null, |part| self.resolve(part))
    }

    /// Returns the definition that a node refers to, or the node itself.
    fn resolve<'s>(&'s self, node: &'s Value) -> &'s Value {
        let reference = node["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.and_then(|pointer| self.0.pointer(pointer)).unwrap_or(node)
    }

    /// Calls `found` with the pointer, the value in `document` and the default of each setting. Lists and the settings of
    /// missing tables that need a key are settings as a whole.
    pub fn each_setting(&self, document: &Value, found: &mut impl FnMut(&str, Option<&Value>, Option<&Value>)) {
        self.visit(&self.0, Some(document), "", found);
    }

    fn visit(
        &self,
        node: &Value,
        value: Option<&Value>,
        pointer: &str,
        found: &mut impl FnMut(&str, Option<&Value>, Option<&Value>),
    ) {
        let table = self.resolve(node);
        let properties = table["properties"].as_object();
        let others = Some(&table["additionalProperties"]).filter(|others| others.is_object());
        let is_missing = value.is_none() && (table["required"].is_array() || properties.is_none());
        if (properties.is_none() && others.is_none()) || is_missing {
            return found(pointer, value, node.get("default").or(table.get("default")));
        }
        for (key, inner) in properties.into_iter().flatten() {
            self.visit(inner, value.and_then(|value| value.get(key)), &pointer_to(pointer, key), found);
        }
        let is_known = |key: &String| properties.is_some_and(|known| known.contains_key(key));
        let entries = value.and_then(Value::as_object).into_iter().flatten();
        for (key, value) in entries.filter(|(key, _)| !is_known(key)) {
            if let Some(inner) = others {
                self.visit(inner, Some(value), &pointer_to(pointer, key), found);
            }
        }
    }
}

/// Describes a key of the table at `pointer` that its schema does not have.
fn unknown_key(table: &Value, pointer: &str, key: &str) -> Misfit {
    let known = table["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    let nearest = near(key, known).map(str::to_owned);
    let pointer = pointer_to(pointer, key);
    Misfit { message: format!("unknown key `{}`", dotted(&pointer)), pointer, nearest }
}

/// Returns the values that a node lists.
fn options(node: &Value) -> Vec<&str> {
    let listed = node["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    listed.chain(node["oneOf"].as_array().into_iter().flatten().filter_map(|one| one["const"].as_str())).collect()
}

fn type_name(node: &Value) -> &str {
    match node["type"].as_str().unwrap_or_default() {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        other => other,
    }
}
