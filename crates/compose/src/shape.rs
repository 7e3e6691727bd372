//! Static types of values, known before the run ([`Shape`]).

use serde_json::Value;

use crate::{reference::Segment, suggestions::suggest};

/// Maximum number of branches of `anyOf` and `oneOf`, including nested ones, that are examined for types.
const BRANCHES: usize = 64;
/// Maximum depth to which nested lists are compared.
const DEPTH: usize = 16;

/// Static knowledge about a value.
#[derive(Debug, Clone)]
pub(crate) enum Shape<'a> {
    /// A value about which nothing is known.
    Any,
    /// Described by a schema, whose references point into `root`.
    Schema { root: &'a Value, at: &'a Value, is_open: bool },
    /// A list with elements of this shape.
    List(Box<Shape<'a>>),
    /// Any text.
    Text,
    /// Any integer.
    Whole,
}

impl<'a> Shape<'a> {
    /// Creates the shape of a schema. An open schema may have more fields than it names.
    pub fn of(schema: &'a Value, is_open: bool) -> Self {
        Self::Schema { root: schema, at: schema, is_open }
    }

    /// Returns the shape at a path. The error is a message and a hint.
    pub fn at(self, path: &[Segment]) -> Result<Self, (String, String)> {
        let Some((segment, rest)) = path.split_first() else { return Ok(self) };
        match segment {
            // The segments after a `*` apply to each element, and the result is one flat list.
            Segment::All => Ok(Self::List(Box::new(self.element()?.at_each(rest)?))),
            Segment::Key(key) => self.key(key)?.at(rest),
        }
    }

    /// Like [`Shape::at`] inside a list: a further `*` does not nest lists.
    fn at_each(self, path: &[Segment]) -> Result<Self, (String, String)> {
        match path.split_first() {
            None => Ok(self),
            Some((Segment::All, rest)) => self.element()?.at_each(rest),
            Some((Segment::Key(key), rest)) => self.key(key)?.at_each(rest),
        }
    }

    /// Returns the shape of the elements of a list, or of the values of an object.
    pub fn element(self) -> Result<Self, (String, String)> {
        match self {
            Self::Any => Ok(Self::Any),
            Self::List(inner) => Ok(*inner),
            Self::Text | Self::Whole => Err(("this is not a list".to_owned(), String::new())),
            Self::Schema { root, at, is_open } => {
                let at = follow(root, at);
                let types = types(root, at);
                if types.as_ref().is_some_and(|types| !types.iter().any(|t| matches!(*t, "array" | "object" | "null")))
                {
                    return Err(("this is not a list".to_owned(), String::new()));
                }
                let items = at.get("items").filter(|_| at.get("prefixItems").is_none() && !is_composed(at));
                Ok(items.map_or(Self::Any, |items| Self::Schema { root, at: items, is_open }))
            }
        }
    }

    fn key(self, key: &str) -> Result<Self, (String, String)> {
        let is_index = key.bytes().all(|b| b.is_ascii_digit());
        match self {
            Self::Any => Ok(Self::Any),
            Self::List(inner) if is_index => Ok(*inner),
            Self::List(_) => Err((
                format!("this is a list; only its elements have the field `{key}`"),
                format!("write `.*.{key}` for the field of every element, or `.0.{key}` for that of the first"),
            )),
            Self::Text | Self::Whole => Err((format!("this has no field `{key}`"), String::new())),
            Self::Schema { root, at, is_open } => {
                let at = follow(root, at);
                let types = types(root, at);
                let may_be = |name: &str| types.as_ref().is_none_or(|types| types.contains(&name));
                if may_be("array") && !may_be("object") {
                    return if is_index {
                        let items = at.get("prefixItems").and_then(|items| items.get(key.parse::<usize>().ok()?));
                        let items = items.or_else(|| at.get("items"));
                        Ok(items.map_or(Self::Any, |at| Self::Schema { root, at, is_open }))
                    } else {
                        Self::List(Box::new(Self::Any)).key(key)
                    };
                }
                if !may_be("object") {
                    let is = types.unwrap_or_default().join(" or ");
                    return Err((format!("this has type {is} and no field `{key}`"), String::new()));
                }
                property(root, at, key, is_open)
            }
        }
    }

    /// Returns the types that the value may have; `None` if unknown.
    pub fn types(&self) -> Option<Vec<&'a str>> {
        match self {
            Self::Any => None,
            Self::List(_) => Some(vec!["array"]),
            Self::Text => Some(vec!["string"]),
            Self::Whole => Some(vec!["integer"]),
            Self::Schema { root, at, .. } => types(root, follow(root, at)),
        }
    }

    /// Returns the values of its `enum`, if it has one.
    fn values(&self) -> Option<&'a [Value]> {
        match self {
            Self::Schema { root, at, .. } => follow(root, at).get("enum").and_then(Value::as_array).map(Vec::as_slice),
            _ => None,
        }
    }

    /// Returns the reason why a schema refuses every value of this shape; `None` if it may accept one.
    pub fn clash(&self, root: &Value, target: &Value) -> Option<String> {
        self.clash_within(root, target, DEPTH)
    }

    fn clash_within(&self, root: &Value, target: &Value, depth: usize) -> Option<String> {
        let target = follow(root, target);
        let (given, wanted) = (self.types(), types(root, target));
        if let (Some(given), Some(wanted)) = (&given, &wanted)
            && !given.iter().any(|given| wanted.iter().any(|wanted| is_a(given, wanted) || is_a(wanted, given)))
        {
            return Some(format!("found type {}, expected {}", given.join(" or "), wanted.join(" or ")));
        }
        if let (Some(given), Some(wanted)) = (self.values(), target.get("enum").and_then(Value::as_array))
            && !given.iter().any(|value| wanted.contains(value))
        {
            return Some("none of its possible values is allowed".to_owned());
        }
        let items = target.get("items").filter(|_| given.as_ref().is_some_and(|given| given == &["array"]))?;
        let inner = self.clone().element().ok()?;
        let why = inner.clash_within(root, items, depth.checked_sub(1)?)?;
        Some(format!("in its elements: {why}"))
    }
}

fn property<'a>(root: &'a Value, at: &'a Value, key: &str, is_open: bool) -> Result<Shape<'a>, (String, String)> {
    let properties = at.get("properties").and_then(Value::as_object);
    if let Some(at) = properties.and_then(|properties| properties.get(key)) {
        return Ok(Shape::Schema { root, at, is_open });
    }
    let more = at.get("additionalProperties");
    if let Some(at @ Value::Object(_)) = more {
        return Ok(Shape::Schema { root, at, is_open });
    }
    let is_told = more == Some(&Value::Bool(false)) || (more.is_none() && properties.is_some() && !is_open);
    let required = at.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|names| names.iter().any(|name| name == key));
    if !is_told || is_required || at.get("patternProperties").is_some() || is_composed(at) {
        return Ok(Shape::Any);
    }
    let names =
        properties.map(|properties| properties.keys().map(String::as_str).collect::<Vec<_>>()).unwrap_or_default();
    Err((format!("no field `{}` exists", crate::names::shortened(key)), suggest(key, names.iter().copied())))
}

/// Returns whether a schema is composed of others, which are not examined.
pub(crate) fn is_composed(at: &Value) -> bool {
    ["allOf", "anyOf", "oneOf", "if"].iter().any(|key| at.get(key).is_some())
}

/// Follows `$ref`s to their target. Recursive schemas of skills were refused before, others end after 64 steps.
pub(crate) fn follow<'a>(root: &'a Value, mut at: &'a Value) -> &'a Value {
    for _ in 0..64 {
        let pointer = at.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

/// Returns the types that a schema allows. Schemas of servers' tools may be recursive; the search is bounded.
fn types<'a>(root: &'a Value, at: &'a Value) -> Option<Vec<&'a str>> {
    types_within(root, at, &mut { BRANCHES })
}

fn types_within<'a>(root: &'a Value, at: &'a Value, branches_left: &mut usize) -> Option<Vec<&'a str>> {
    match at.get("type") {
        Some(Value::String(one)) => Some(vec![one]),
        Some(Value::Array(many)) => Some(many.iter().filter_map(Value::as_str).collect()),
        _ => {
            let values = at.get("enum").and_then(Value::as_array).map(Vec::as_slice);
            let values = values.or_else(|| at.get("const").map(std::slice::from_ref));
            let branches = ["anyOf", "oneOf"].iter().find_map(|key| at.get(key)).and_then(Value::as_array);
            match (values, branches) {
                (Some(values), _) => Some(values.iter().map(type_of).collect()),
                (None, Some(branches)) => {
                    let each = branches.iter().map(|branch| {
                        *branches_left = branches_left.checked_sub(1)?;
                        types_within(root, follow(root, branch), branches_left)
                    });
                    each.collect::<Option<Vec<_>>>().map(|all| all.into_iter().flatten().collect())
                }
                (None, None) => None,
            }
        }
    }
}

/// Returns the JSON Schema type of a value.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_a(given: &str, wanted: &str) -> bool {
    given == wanted || (given == "integer" && wanted == "number")
}
