//! Texts with references to values of a run ([`Template`]).
//!
//! ```text
//! template   = { text | "{{" blanks expression blanks "}}" }
//! expression = reference | JSON string           {{"{{"}} is the escape for two braces
//! reference  = ( "input" | "item" | "index" | "steps" ) { segment }
//! segment    = "." name | "." digits | ".*" | "[" digits "]" | "[*]" | "[" JSON string "]"
//! name       = ( letter | "_" ) { letter | digit | "_" | "-" }
//! ```
//!
//! A template that consists of a single reference yields the value itself, with its type. Any other template yields a
//! text: texts are inserted unchanged, `null` is empty, a list of scalars is joined with ", ", and everything else is
//! JSON. `*` selects every element: `steps.find.output.*.url` is the flat list of all `url`.

use std::fmt::Write as _;

use serde_json::Value;
use thiserror::Error;

use crate::{
    reference::{Reference, Root, Segment},
    scope::{Absent, Scope},
};

/// Size limit of a template or condition, in bytes.
pub const TEMPLATE_BYTES: usize = 64 * 1024;
/// Maximum number of segments of a reference.
pub const REFERENCE_SEGMENTS: usize = 32;

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Reference(Reference),
}

/// Syntax error in a template, condition or reference.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Description of the error.
    pub message: String,
    /// Suggestion for fixing it.
    pub hint: String,
    /// Part of the text that is wrong; empty for all of it.
    pub part: String,
    /// Stable code of the problem.
    pub code: &'static str,
}

impl TemplateError {
    pub(crate) fn new(code: &'static str, part: &str, message: String, hint: impl Into<String>) -> Self {
        Self { message, hint: hint.into(), part: part.to_owned(), code }
    }
}

/// Returns whether a text has anything to be replaced.
pub fn is_template(text: &str) -> bool {
    text.contains("{{")
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// Returns every violation of the grammar, or the exceeded limit.
    pub fn parse(text: &str) -> Result<Self, Vec<TemplateError>> {
        if text.len() > TEMPLATE_BYTES {
            let message = format!("the text has {} bytes; the limit for a template is {TEMPLATE_BYTES}", text.len());
            let hint = "move long text to a file, and read it in a step";
            return Err(vec![TemplateError::new("template_too_long", "", message, hint)]);
        }
        let (mut parts, mut faults) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            push_text(&mut parts, &rest[..at]);
            let inner = &rest[at + 2..];
            let Some(end) = end_of(inner) else {
                let hint = "write `}}` after the reference, or `{{\"{{\"}}` for two literal braces";
                faults.push(TemplateError::new("template_unclosed", &rest[at..], "unclosed `{{`".to_owned(), hint));
                return Err(faults);
            };
            let expression = inner[..end].trim();
            let read = match expression.strip_prefix('"') {
                Some(_) => json_text(expression).map(|text| push_text(&mut parts, &text)),
                None => Reference::parse(expression).map(|reference| parts.push(Part::Reference(reference))),
            };
            let whole = &rest[at..at + end + 4];
            faults.extend(read.err().map(|fault| match fault.part.is_empty() {
                true => TemplateError { part: whole.to_owned(), ..fault },
                false => fault,
            }));
            rest = &inner[end + 2..];
        }
        push_text(&mut parts, rest);
        if faults.is_empty() { Ok(Self { parts }) } else { Err(faults) }
    }

    /// Returns its references, in order.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Reference(reference) => Some(reference),
            Part::Text(_) => None,
        })
    }

    /// Returns the reference, if the template consists of a single one.
    pub fn single_reference(&self) -> Option<&Reference> {
        match self.parts.as_slice() {
            [Part::Reference(reference)] => Some(reference),
            _ => None,
        }
    }

    /// Returns the text, if the template has no references.
    pub fn constant(&self) -> Option<String> {
        match self.parts.as_slice() {
            [] => Some(String::new()),
            [Part::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns the literal text before the first reference.
    pub(crate) fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Fills the template. Returns `None` for a single reference to an optional input that is missing.
    ///
    /// # Errors
    /// A reference cannot be resolved, or the budget of the scope is exhausted.
    pub fn fill(&self, scope: &Scope<'_>) -> Result<Option<Value>, Absent> {
        if let Some(reference) = self.single_reference() {
            return scope.resolve(reference);
        }
        let mut text = String::new();
        for part in &self.parts {
            part.push(&mut text, |reference| scope.resolve(reference))?;
            scope.may_hold(text.len())?;
        }
        scope.spend(text.len())?;
        Ok(Some(Value::String(text)))
    }

    /// Fills the template with another resolver of references.
    pub(crate) fn with(&self, answer: impl Fn(&Reference) -> Option<Value>) -> Option<Value> {
        if let Some(reference) = self.single_reference() {
            return answer(reference);
        }
        let mut text = String::new();
        for part in &self.parts {
            let _: Result<(), Absent> = part.push(&mut text, |reference| Ok(answer(reference)));
        }
        Some(Value::String(text))
    }
}

impl Part {
    /// Appends the filled part to a text.
    fn push(
        &self,
        text: &mut String,
        answer: impl Fn(&Reference) -> Result<Option<Value>, Absent>,
    ) -> Result<(), Absent> {
        match self {
            Self::Text(plain) => text.push_str(plain),
            Self::Reference(reference) => match answer(reference)? {
                None => {}
                Some(Value::Array(elements)) if elements.iter().all(|element| !is_nested(element)) => {
                    for (index, element) in elements.iter().filter(|element| !element.is_null()).enumerate() {
                        text.push_str(if index > 0 { ", " } else { "" });
                        push_value(text, element);
                    }
                }
                Some(value) => push_value(text, &value),
            },
        }
        Ok(())
    }
}

/// Appends a value to a text: a text unchanged, `null` as nothing, everything else as JSON.
fn push_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(value) => text.push_str(value),
        value => {
            let _ = write!(text, "{value}");
        }
    }
}

fn is_nested(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// Returns the offset of the `}}` that ends an expression. One inside a JSON string does not count.
pub(crate) fn end_of(inner: &str) -> Option<usize> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'}' if !is_quoted && inner[at..].starts_with("}}") => return Some(at),
            b'{' if !is_quoted && inner[at..].starts_with("{{") => return None,
            _ => {}
        }
    }
    None
}

fn json_text(text: &str) -> Result<String, TemplateError> {
    serde_json::from_str(text).map_err(|_| {
        let message = format!("`{text}` is not a valid JSON string");
        TemplateError::new("template_syntax", text, message, "write a string as in `{{\"{{\"}}`")
    })
}

impl Reference {
    /// Parses a reference.
    ///
    /// # Errors
    /// The text does not match the grammar of the module.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let fault = |message: String, hint: &str| TemplateError::new("template_syntax", text, message, hint);
        const FORM: &str = "use `input.FIELD`, `item`, `item.FIELD`, `index` or `steps.ID.output.FIELD`";
        if text.is_empty() {
            return Err(TemplateError::new("template_empty", "{{", "`{{}}` has no reference".to_owned(), FORM));
        }
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let root = Root::ALL.into_iter().find(|root| root.as_str() == &text[..end]).ok_or_else(|| {
            let near = agent::near(&text[..end], Root::ALL.iter().map(|root| root.as_str()));
            let hint = near.map_or_else(|| FORM.to_owned(), |near| format!("did you mean `{near}`? {FORM}"));
            let message = format!("`{}` is not a valid reference", shown(&text[..end]));
            TemplateError::new("unknown_reference", text, message, hint)
        })?;
        let mut path = Vec::new();
        let mut rest = &text[end..];
        while !rest.is_empty() {
            if path.len() == REFERENCE_SEGMENTS {
                return Err(fault(
                    format!("the reference has more than {REFERENCE_SEGMENTS} parts"),
                    "compute it in a separate step",
                ));
            }
            let (segment, after) = segment(rest).ok_or_else(|| fault(format!("unexpected `{}`", shown(rest)), FORM))?;
            path.push(segment);
            rest = after;
        }
        Ok(Self { root, path, text: text.to_owned() })
    }
}

/// Truncates a text for a message.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

fn segment(text: &str) -> Option<(Segment, &str)> {
    if let Some(rest) = text.strip_prefix("[") {
        if rest.starts_with('"') {
            let mut read = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let key = read.next()?.ok()?;
            let after = rest.get(read.byte_offset()..)?.strip_prefix(']')?;
            return Some((Segment::Key(key), after));
        }
        let (inner, after) = rest.split_once(']')?;
        return match inner {
            "*" => Some((Segment::All, after)),
            _ => is_number(inner).then(|| (Segment::Key(inner.to_owned()), after)),
        };
    }
    let rest = text.strip_prefix('.')?;
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (key, after) = rest.split_at(end);
    match key {
        "*" => Some((Segment::All, after)),
        _ => (is_name(key) || is_number(key)).then(|| (Segment::Key(key.to_owned()), after)),
    }
}

/// Returns whether a text is a valid name after a dot.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

fn is_number(text: &str) -> bool {
    (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}
