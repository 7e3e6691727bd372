//! Native tool `text_template`: fills a text.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{gives, spec as tool, text};
use crate::{
    host::{Approval, Bounds, ToolFault, ToolSpec},
    scope::kind,
};

pub(super) fn spec() -> ToolSpec {
    tool(
        "text_template",
        "Fill a template: replace each `${NAME}` by that field of `values`. With `each`, fill the template once for \
         each element and join the results.",
        json!({
            "template": text("Template. `${a.b.0}` selects a nested value, `${.}` the whole value; `$${` writes `${`."),
            "values": {"description": "Object with the fields"},
            "each": {"type": "array", "description": "List of objects with the fields, one for each repetition"},
            "join": {"type": "string", "default": "\n", "description": "Separator between the repetitions"},
        }),
        &["template"],
        gives(json!({"text": {"type": "string"}})),
        Approval::None,
    )
}

#[derive(Deserialize)]
pub(super) struct Fill {
    template: String,
    #[serde(default)]
    values: Value,
    each: Option<Vec<Value>>,
    join: Option<String>,
}

pub(super) fn fill(wanted: &Fill, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
    let mut text = String::new();
    match &wanted.each {
        None => add(&mut text, &wanted.template, &wanted.values, bounds)?,
        Some(elements) => {
            for (index, element) in elements.iter().enumerate() {
                bounds.remaining()?;
                if index > 0 {
                    push(&mut text, wanted.join.as_deref().unwrap_or("\n"), bounds)?;
                }
                add(&mut text, &wanted.template, element, bounds)?;
            }
        }
    }
    Ok(json!({ "text": text }))
}

/// Appends a piece, unless the text would exceed the size limit of an answer.
fn push(text: &mut String, piece: &str, bounds: &Bounds<'_>) -> Result<(), ToolFault> {
    if text.len() + piece.len() > bounds.answer_bytes {
        return Err(ToolFault::permanent(
            "too_large",
            format!("the text is larger than {} bytes", bounds.answer_bytes),
        ));
    }
    text.push_str(piece);
    Ok(())
}

/// Fills the template and appends the result.
fn add(text: &mut String, template: &str, values: &Value, bounds: &Bounds<'_>) -> Result<(), ToolFault> {
    let fault = |message: String| ToolFault::permanent("invalid_template", message);
    let mut rest = template;
    while let Some(at) = rest.find("${") {
        let before = &rest[..at];
        if let Some(plain) = before.strip_suffix('$') {
            push(text, plain, bounds)?;
            push(text, "${", bounds)?;
            rest = &rest[at + 2..];
            continue;
        }
        push(text, before, bounds)?;
        let (name, after) = rest[at + 2..].split_once('}').ok_or_else(|| fault("unclosed `${`".to_owned()))?;
        let mut value = values;
        for key in name.split('.').filter(|_| name != ".") {
            let inner = match value {
                Value::Array(elements) => key.parse::<usize>().ok().and_then(|index| elements.get(index)),
                value => value.get(key),
            };
            value = inner.ok_or_else(|| fault(format!("no field `{name}` in {}", kind(value))))?;
        }
        match value {
            Value::Null => {}
            Value::String(value) => push(text, value, bounds)?,
            value => push(text, &value.to_string(), bounds)?,
        }
        rest = after;
    }
    push(text, rest, bounds)
}
