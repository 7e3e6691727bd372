//! Validates a body against DeerFlow's schema of its route, and normalises alternative spellings of values ([`read`]).

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use web::ApiError;

/// A field of a body, with its type.
pub struct Field {
    name: &'static str,
    kind: Kind,
    is_required: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// A boolean, also as a word or number.
    Flag,
    /// An integer, also as a text or a fraction without remainder.
    Index,
    /// A revision, as its id or number, in text or as a number.
    Revision,
}

const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_required: true }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_required: false }
}

/// Fields of an install from a thread's folder. `update` is our own.
pub const INSTALL: &[Field] =
    &[required("thread_id", Kind::Text), required("path", Kind::Text), optional("update", Kind::Flag)];

const SCHEMAS: &[(&str, &[Field])] = &[
    ("PUT /api/skills/{name}", &[required("enabled", Kind::Flag)]),
    ("PUT /api/skills/custom/{name}", &[required("content", Kind::Text)]),
    ("DELETE /api/skills/custom/{name}", &[]),
    (
        "POST /api/skills/custom/{name}/rollback",
        &[optional("history_index", Kind::Index), optional("revision", Kind::Revision)],
    ),
];

/// Returns the fields of a route's body, if the route has a schema.
pub fn fields_of(route: &str) -> Option<&'static [Field]> {
    SCHEMAS.iter().find(|(known, _)| *known == route).map(|(_, fields)| *fields)
}

/// Parses and validates a body. Fields that DeerFlow does not know are left to the handler.
///
/// # Errors
/// A 422 with a list of the faults.
pub fn read(body: &[u8], fields: &[Field]) -> Result<Map<String, Value>, ApiError> {
    let body = if body.is_empty() { b"{}" } else { body };
    let mut object = match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(refusal(vec![fault("model_attributes_type", None, "it is not a JSON object")])),
        Err(error) => return Err(refusal(vec![fault("json_invalid", None, &error.to_string())])),
    };
    let faults: Vec<Value> = fields.iter().filter_map(|field| field.settle(&mut object)).collect();
    if faults.is_empty() { Ok(object) } else { Err(refusal(faults)) }
}

impl Field {
    /// Replaces the value by its normalised form, or returns the fault.
    fn settle(&self, object: &mut Map<String, Value>) -> Option<Value> {
        let Some(value) = object.get_mut(self.name) else {
            return self.is_required.then(|| fault("missing", Some(self.name), "field required"));
        };
        match self.kind.read(value) {
            Some(read) => {
                *value = read;
                None
            }
            None => Some(fault(self.kind.fault(), Some(self.name), self.kind.expected())),
        }
    }
}

impl Kind {
    fn read(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Text | Self::Revision, Value::String(_)) | (Self::Flag, Value::Bool(_)) => Some(value.clone()),
            (Self::Revision, Value::Number(number)) => number.as_u64().map(|number| json!(number.to_string())),
            (Self::Flag, Value::String(word)) => flag(word).map(Value::Bool),
            (Self::Flag, Value::Number(number)) => flag(&number.to_string()).map(Value::Bool),
            (Self::Index, Value::Number(number)) => integer(&number.to_string()),
            (Self::Index, Value::String(text)) => integer(text.trim()),
            _ => None,
        }
    }

    fn fault(self) -> &'static str {
        match self {
            Self::Text | Self::Revision => "string_type",
            Self::Flag => "bool_parsing",
            Self::Index => "int_parsing",
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Text => "must be a string",
            Self::Flag => "must be true or false",
            Self::Index => "must be an integer",
            Self::Revision => "must be the id or number of a revision",
        }
    }
}

fn flag(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" | "1.0" => Some(true),
        "false" | "f" | "no" | "n" | "off" | "0" | "0.0" => Some(false),
        _ => None,
    }
}

fn integer(text: &str) -> Option<Value> {
    text.strip_suffix(".0").unwrap_or(text).parse::<i64>().ok().map(Value::from)
}

fn fault(kind: &str, field: Option<&str>, message: &str) -> Value {
    let place: Vec<&str> = ["body"].into_iter().chain(field).collect();
    json!({"type": kind, "loc": place, "msg": message})
}

fn refusal(faults: Vec<Value>) -> ApiError {
    let told: Vec<String> = faults.iter().map(describe).collect();
    let message = format!("the request is invalid: {}", told.join("; "));
    let error = ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message);
    ApiError { details: Box::new(json!({"fields": faults})), ..error }
}

fn describe(fault: &Value) -> String {
    let message = fault["msg"].as_str().unwrap_or_default();
    match fault["loc"].get(1).and_then(Value::as_str) {
        Some(field) => format!("`{field}`: {message}"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // DF10
    #[test]
    fn flags_and_indexes_are_normalised() {
        let enabled = |value: Value| {
            let body = json!({"enabled": value}).to_string();
            read(body.as_bytes(), fields_of("PUT /api/skills/{name}").unwrap()).ok().map(|read| read["enabled"].clone())
        };
        for yes in [json!(true), json!("Yes"), json!("on"), json!(1), json!(1.0)] {
            assert_eq!(enabled(yes.clone()), Some(json!(true)), "{yes}");
        }
        for bad in [json!("maybe"), json!(2), json!(null), json!([])] {
            assert_eq!(enabled(bad.clone()), None, "{bad}");
        }
        let fields = fields_of("POST /api/skills/custom/{name}/rollback").unwrap();
        assert_eq!(read(br#"{"history_index": "-2"}"#, fields).unwrap()["history_index"], -2);
        assert!(read(br#"{"history_index": 1.5}"#, fields).is_err());
        assert!(read(b"", fields).unwrap().is_empty());
        for (body, kind) in [("[]", "model_attributes_type"), ("{", "json_invalid")] {
            let refused = read(body.as_bytes(), fields).unwrap_err();
            assert_eq!((refused.status.as_u16(), &refused.details["fields"][0]["type"]), (422, &json!(kind)));
        }
    }
}
