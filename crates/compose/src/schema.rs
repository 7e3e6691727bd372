//! JSON Schema 2020-12 for skills, restricted so that validation takes bounded time ([`is_bounded`]).
//!
//! Nothing is fetched: a `$ref` must point into the same schema. Recursive schemas are refused, and a referenced
//! schema counts each time it is reached, so that no value makes the validation by a small schema slow.

use agent::near;
use json_schema::{Fault, Schema, meta_faults};
use serde_json::{Map, Value};

use crate::{position::join, problem::Problems, suggestions::suggest};

/// The only supported dialect, optional in `$schema`.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Maximum number of subschemas. The target of a `$ref` counts each time it is reached.
const PLACES: usize = 4_000;
/// Maximum nesting depth of subschemas.
const DEPTH: usize = 48;
/// Marker value of the counter: the excess was already reported.
const TOLD: usize = usize::MAX / 2;
/// Maximum number of reported faults of one value.
pub(crate) const FAULTS: usize = 10;

/// Keywords of the dialect by the type of their value: one schema, a list of schemas, a map of schemas, or other
/// values.
const ONE: [&str; 11] = [
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
];
const MANY: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
const PLAIN: [&str; 37] = [
    "$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary", "const",
    "contentEncoding", "contentMediaType", "default", "dependentRequired", "deprecated", "description", "enum",
    "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "maxContains", "maxItems", "maxLength",
    "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
    "pattern", "readOnly", "required", "title", "type", "uniqueItems",
];
/// Keyword outside of the table above, so that the table stays in step with the dialect's meta-schema.
const WRITE_ONLY: &str = "writeOnly";

/// Checks a schema that a skill declares and reports its problems. `of` names it. Returns whether it is valid.
pub(crate) fn check(schema: &Value, at: &str, of: &str, problems: &mut Problems<'_>) -> bool {
    if problems.is_full() {
        return false;
    }
    let before = problems.count();
    let mut checking = Checking { root: schema, places: 0, depth: 0, may_recur: false, problems };
    checking.schema(schema, at, &mut Vec::new(), true);
    if checking.problems.count() > before {
        return false;
    }
    for Fault { pointer, message, .. } in meta_faults(schema, FAULTS) {
        problems.value(
            &format!("{at}{pointer}"),
            "invalid_schema",
            format!("the schema of {of} is not valid JSON Schema: {message}"),
            "",
        );
    }
    if problems.count() == before
        && let Err(Fault { pointer, message, .. }) = Schema::of_2020_12(schema)
    {
        let message = format!("the schema of {of} is invalid: {message}");
        problems.value(&format!("{at}{pointer}"), "invalid_schema", message, "");
    }
    if problems.count() == before {
        defaults(schema, schema, at, problems);
    }
    problems.count() == before
}

/// Returns whether an untrusted schema has bounded size after expanding its references: a target counts each time it
/// is reached. Recursive schemas are allowed.
pub fn is_bounded(schema: &Value) -> bool {
    let mut problems = Problems::new("");
    let mut checking = Checking { root: schema, places: 0, depth: 0, may_recur: true, problems: &mut problems };
    checking.schema(schema, "", &mut Vec::new(), false);
    problems.count() == 0
}

struct Checking<'a, 'p, 'y> {
    root: &'a Value,
    places: usize,
    depth: usize,
    /// True if recursive schemas are allowed.
    may_recur: bool,
    problems: &'p mut Problems<'y>,
}

impl<'a> Checking<'a, '_, '_> {
    /// Walks a schema. `via` are the references that led here. `is_written` is false behind a `$ref`, where nothing
    /// is reported again.
    fn schema(&mut self, schema: &'a Value, at: &str, via: &mut Vec<&'a str>, is_written: bool) {
        if self.problems.is_full() {
            return;
        }
        self.places += 1;
        if self.places > PLACES || self.depth > DEPTH {
            if self.places < TOLD {
                let message = format!(
                    "the schema has more than {PLACES} nodes, or is nested more than {DEPTH} levels \
                                       deep"
                );
                self.problems.value(at, "schema_too_large", message, "simplify it: describe only the important fields");
            }
            self.places = TOLD;
            return;
        }
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(_) => return,
            _ => {
                self.problems.value(
                    at,
                    "invalid_schema",
                    "a schema must be a map, `true` or `false`",
                    "write `{type: string}`",
                );
                return;
            }
        };
        if is_written {
            self.keywords(fields, at);
        }
        if let Some(Value::String(reference)) = fields.get("$ref") {
            self.reference(reference, at, via, is_written);
        }
        self.depth += 1;
        self.inner(fields, at, via, is_written);
        self.depth -= 1;
    }

    fn keywords(&mut self, fields: &Map<String, Value>, at: &str) {
        for (key, value) in fields {
            if self.problems.is_full() {
                return;
            }
            let at = join(at, key);
            match key.as_str() {
                "$schema" if value.as_str().is_none_or(|uri| uri.trim_end_matches('#') != DIALECT) => {
                    self.problems.value(
                        &at,
                        "other_dialect",
                        "only JSON Schema 2020-12 is supported",
                        format!("remove `$schema`, or write `{DIALECT}`"),
                    );
                }
                "$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$vocabulary" => {
                    let hint = "put the shared part under `$defs` and write `$ref: \"#/$defs/NAME\"`";
                    self.problems.key(&at, "unsupported_keyword", format!("`{key}` is not supported"), hint);
                }
                key if !is_known(key) && value.is_null() => {
                    let message =
                        format!("`{}` is not a JSON Schema keyword and has no value", crate::names::shortened(key));
                    let hint = "put the text in quotes, since a comma between braces ends it";
                    self.problems.key(&at, "unknown_keyword", message, hint);
                }
                key if !is_known(key) && !key.starts_with("x-") => {
                    if let Some(meant) = near(key, known()) {
                        let message = format!("`{key}` is not a JSON Schema keyword");
                        self.problems.key(&at, "unknown_keyword", message, format!("did you mean `{meant}`?"));
                    }
                }
                _ => {}
            }
        }
    }

    fn reference(&mut self, reference: &'a str, at: &str, via: &mut Vec<&'a str>, is_written: bool) {
        let at_key = if is_written { join(at, "$ref") } else { at.to_owned() };
        let Some(pointer) = reference.strip_prefix('#') else {
            let hint = "put the schema under `$defs` and write `$ref: \"#/$defs/NAME\"`";
            let message = "`$ref` points outside this schema, and references are not fetched";
            return self.problems.value(&at_key, "remote_reference", message, hint);
        };
        if via.contains(&reference) {
            if !self.may_recur && (is_written || via.first() == Some(&reference)) {
                let message = format!("`{}` contains itself", crate::names::shortened(reference));
                self.problems.value(
                    &at_key,
                    "recursive_schema",
                    message,
                    "limit the nesting, or use `{}` for the inner part",
                );
            }
            return;
        }
        match self.root.pointer(pointer) {
            Some(target) => {
                via.push(reference);
                self.depth += 1;
                self.schema(target, if is_written { &at_key } else { at }, via, false);
                self.depth -= 1;
                via.pop();
            }
            None if is_written => {
                let names = self.root.get("$defs").and_then(Value::as_object);
                let names: Vec<String> =
                    names.map(|defs| defs.keys().map(|key| format!("#/$defs/{key}")).collect()).unwrap_or_default();
                let hint = suggest(reference, names.iter().map(String::as_str));
                let message = format!("`{}` does not exist in this schema", crate::names::shortened(reference));
                self.problems.value(&at_key, "unknown_schema", message, hint);
            }
            None => {}
        }
    }

    fn inner(&mut self, fields: &'a Map<String, Value>, at: &str, via: &mut Vec<&'a str>, is_written: bool) {
        for (key, value) in fields {
            let at = if is_written { join(at, key) } else { at.to_owned() };
            match value {
                _ if ONE.contains(&key.as_str()) => self.schema(value, &at, via, is_written),
                Value::Array(schemas) if MANY.contains(&key.as_str()) => {
                    for (index, schema) in schemas.iter().enumerate() {
                        self.schema(
                            schema,
                            &if is_written { format!("{at}/{index}") } else { at.clone() },
                            via,
                            is_written,
                        );
                    }
                }
                Value::Object(schemas) if NAMED.contains(&key.as_str()) => {
                    for (name, schema) in schemas {
                        self.schema(schema, &if is_written { join(&at, name) } else { at.clone() }, via, is_written);
                    }
                }
                _ => {}
            }
        }
    }
}

fn known() -> impl Iterator<Item = &'static str> {
    ONE.into_iter().chain(MANY).chain(NAMED).chain(PLAIN).chain([WRITE_ONLY])
}

fn is_known(key: &str) -> bool {
    known().any(|known| known == key)
}

/// Reports a `default` that violates its own schema.
fn defaults(root: &Value, schema: &Value, at: &str, problems: &mut Problems<'_>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let at = join(&join(at, "properties"), name);
        if let Some(default) = property.get("default")
            && let Some(Fault { message, .. }) = judge(root, property, default).into_iter().next()
        {
            problems.value(
                &join(&at, "default"),
                "bad_default",
                format!("the default does not match the schema: {message}"),
                "",
            );
        }
        defaults(root, property, &at, problems);
    }
}

/// Validates a value by a part of a schema, whose references point into `root`. Returns the faults.
pub(crate) fn judge(root: &Value, part: &Value, value: &Value) -> Vec<Fault> {
    let mut whole = part.clone();
    // Definitions are only copied if the part has references, since they may be large.
    if let (Value::Object(whole), Value::Object(root)) = (&mut whole, root)
        && part.to_string().contains("\"$ref\"")
    {
        for key in ["$defs", "definitions"] {
            if let Some(shared) = root.get(key) {
                whole.entry(key).or_insert_with(|| shared.clone());
            }
        }
    }
    Schema::of_2020_12(&whole).map_or_else(|_| Vec::new(), |schema| schema.faults(value, FAULTS))
}

/// Fills missing fields of an object with the schema's defaults, recursively.
pub fn fill_defaults(schema: &Value, value: &mut Value) {
    let (Some(properties), Value::Object(fields)) = (schema.get("properties").and_then(Value::as_object), value) else {
        return;
    };
    for (name, property) in properties {
        match (fields.get_mut(name), property.get("default")) {
            (Some(given), _) => fill_defaults(property, given),
            (None, Some(default)) => {
                fields.insert(name.clone(), default.clone());
            }
            (None, None) => {}
        }
    }
}
