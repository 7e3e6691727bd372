//! `json_query` and `text_template`: tools that compute.

use std::cell::Cell;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{gives, spec, text};
use crate::{
    host::{Approval, Bounds, ToolFault, ToolSpec},
    scope::Scope,
    template::{Root, Template},
};

pub(super) fn specs() -> [ToolSpec; 2] {
    [
        spec(
            "json_query",
            "Take the values at a JSONPath (RFC 9535) out of a value.",
            json!({
                "data": {"description": "The value, or JSON in a text"},
                "query": text("The path, such as $.items[?@.price < 10].name"),
                "first": {"type": "boolean", "default": false, "description": "The first value alone, or null"},
            }),
            &["data", "query"],
            Value::Bool(true),
            Approval::None,
        ),
        spec(
            "text_template",
            "Fill a text: `{{input.NAME}}` is replaced by that field of `values`.",
            json!({"template": text("The text"), "values": {"type": "object"}}),
            &["template", "values"],
            gives(json!({"text": {"type": "string"}})),
            Approval::None,
        ),
    ]
}

#[derive(Deserialize)]
pub(super) struct Query {
    data: Value,
    query: String,
    #[serde(default)]
    first: bool,
}

pub(super) fn query(wanted: &Query) -> Result<Value, ToolFault> {
    let path = serde_json_path::JsonPath::parse(&wanted.query)
        .map_err(|error| ToolFault::lasting("invalid_query", format!("{:?} is no JSONPath: {error}", wanted.query)))?;
    let read;
    let data = match &wanted.data {
        Value::String(text) => {
            read = serde_json::from_str(text)
                .map_err(|error| ToolFault::lasting("invalid_json", format!("the text is no JSON: {error}")))?;
            &read
        }
        data => data,
    };
    let found = path.query(data);
    Ok(match wanted.first {
        true => found.first().cloned().unwrap_or_default(),
        false => found.into_iter().cloned().collect(),
    })
}

#[derive(Deserialize)]
pub(super) struct Fill {
    template: String,
    values: Value,
}

pub(super) fn fill(wanted: &Fill, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
    let fault = |message: String| ToolFault::lasting("invalid_template", message);
    let template = Template::parse(&wanted.template).map_err(|error| fault(format!("{error}; {}", error.hint)))?;
    if let Some(other) = template.references().find(|reference| reference.root != Root::Input) {
        return Err(fault(format!("`{other}` is not among the values; write `input.NAME`")));
    }
    let budget = Cell::new(bounds.answer_bytes);
    let scope = Scope { input: &wanted.values, steps: &[], item: None, budget: &budget };
    let filled = template.fill(&scope).map_err(|error| fault(error.to_string()))?.unwrap_or_default();
    let text = match filled {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    Ok(json!({"text": text}))
}
