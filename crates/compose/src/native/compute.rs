//! `text_template`: fills a text.

use std::cell::Cell;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{gives, spec as tool, text};
use crate::{
    host::{Approval, Bounds, ToolFault, ToolSpec},
    scope::Scope,
    template::{Root, Template},
};

pub(super) fn spec() -> ToolSpec {
    tool(
        "text_template",
        "Fill a text: `{{input.NAME}}` is replaced by that field of `values`.",
        json!({"template": text("The text"), "values": {"type": "object"}}),
        &["template", "values"],
        gives(json!({"text": {"type": "string"}})),
        Approval::None,
    )
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
