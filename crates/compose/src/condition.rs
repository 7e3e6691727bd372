//! Expression of a step's `when` ([`Condition`]).
//!
//! ```text
//! condition  = all { "||" all }
//! all        = one { "&&" one }
//! one        = "!" one | value [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) value ]
//! value      = "{{" reference "}}" | JSON string, number, true, false or null | "(" condition ")"
//! ```
//!
//! A value without a comparison is false if it is `false`, `null`, `0`, or an empty text, list or object. `<`, `<=`,
//! `>` and `>=` compare two numbers or two texts. For other values they are false, except that equal values satisfy
//! `<=` and `>=`.

use std::cmp::Ordering;

use serde_json::Value;

use crate::{
    reference::Reference,
    scope::{Absent, Scope},
    template::{TEMPLATE_BYTES, TemplateError, end_of},
};

/// Maximum nesting depth of `!` and parentheses.
const MAX_DEPTH: usize = 32;

/// A parsed condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Not(Box<Node>),
    Compare(Box<Node>, Comparison, Box<Node>),
    Reference(Reference),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Operators, longer ones first, so that `<=` is not read as `<`.
    const SIGNS: [(&str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            // Integers are compared exactly, since large ones would be rounded as floating-point numbers.
            (Value::Number(left), Value::Number(right)) => match (whole(left), whole(right)) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right)),
            },
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            _ => (left == right).then_some(Ordering::Equal),
        };
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::Unequal => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// The text does not match the grammar of the module, or exceeds a limit.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > TEMPLATE_BYTES {
            let message = format!("the condition is longer than {TEMPLATE_BYTES} bytes");
            return Err(TemplateError::new("template_too_long", "", message, "compute it in a separate step"));
        }
        let mut reader = Reader { rest: text };
        let root = reader.any(0)?;
        reader.blanks();
        if reader.rest.is_empty() { Ok(Self { root }) } else { Err(reader.fault()) }
    }

    /// Returns its references, in order.
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.root.references(&mut found);
        found
    }

    /// Evaluates the condition.
    ///
    /// # Errors
    /// A reference cannot be resolved.
    pub fn holds(&self, scope: &Scope<'_>) -> Result<bool, Absent> {
        Ok(is_something(&self.root.value(scope)?))
    }
}

fn whole(number: &serde_json::Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Returns whether a value without a comparison counts as true.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

impl Node {
    fn references<'a>(&'a self, found: &mut Vec<&'a Reference>) {
        match self {
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().for_each(|node| node.references(found)),
            Self::Not(node) => node.references(found),
            Self::Compare(left, _, right) => {
                left.references(found);
                right.references(found);
            }
            Self::Reference(reference) => found.push(reference),
            Self::Literal(_) => {}
        }
    }

    fn value(&self, scope: &Scope<'_>) -> Result<Value, Absent> {
        let holds = |node: &Self| node.value(scope).map(|value| is_something(&value));
        Ok(Value::Bool(match self {
            Self::Reference(reference) => return Ok(scope.look(reference)?.unwrap_or_default()),
            Self::Literal(value) => return Ok(value.clone()),
            Self::Not(node) => !holds(node)?,
            Self::Compare(left, comparison, right) => comparison.holds(&left.value(scope)?, &right.value(scope)?),
            Self::Any(nodes) => {
                for node in nodes {
                    if holds(node)? {
                        return Ok(Value::Bool(true));
                    }
                }
                false
            }
            Self::All(nodes) => {
                for node in nodes {
                    if !holds(node)? {
                        return Ok(Value::Bool(false));
                    }
                }
                true
            }
        }))
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, sign: &str) -> bool {
        self.blanks();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn fault(&self) -> TemplateError {
        let found: String = self.rest.chars().take(40).collect();
        let message = match found.is_empty() {
            true => "the condition ends where a value is expected".to_owned(),
            false => format!("unexpected `{found}`"),
        };
        let hint = "write `when: \"{{input.level}} == \\\"high\\\"\"`, with `==`, `!=`, `<`, `<=`, `>`, `>=`, `!`, `&&` and `||`";
        TemplateError::new("condition_syntax", &found, message, hint)
    }

    fn any(&mut self, depth: usize) -> Result<Node, TemplateError> {
        let mut nodes = vec![self.all(depth)?];
        while self.eat("||") {
            nodes.push(self.all(depth)?);
        }
        Ok(alone(nodes, Node::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Node, TemplateError> {
        let mut nodes = vec![self.one(depth)?];
        while self.eat("&&") {
            nodes.push(self.one(depth)?);
        }
        Ok(alone(nodes, Node::All))
    }

    fn one(&mut self, depth: usize) -> Result<Node, TemplateError> {
        if depth > MAX_DEPTH {
            return Err(self.fault());
        }
        self.blanks();
        if !self.rest.starts_with("!=") && self.eat("!") {
            return Ok(Node::Not(Box::new(self.one(depth + 1)?)));
        }
        let left = self.value(depth)?;
        for (sign, comparison) in Comparison::SIGNS {
            if self.eat(sign) {
                return Ok(Node::Compare(Box::new(left), comparison, Box::new(self.value(depth)?)));
            }
        }
        Ok(left)
    }

    fn value(&mut self, depth: usize) -> Result<Node, TemplateError> {
        if self.eat("(") {
            let inner = self.any(depth + 1)?;
            return if self.eat(")") { Ok(inner) } else { Err(self.fault()) };
        }
        if self.eat("{{") {
            let end = end_of(self.rest).ok_or_else(|| {
                TemplateError::new(
                    "template_unclosed",
                    "{{",
                    "unclosed `{{`".to_owned(),
                    "write `}}` after the reference",
                )
            })?;
            let inner = &self.rest[..end];
            self.rest = &self.rest[end + 2..];
            return Reference::parse(inner.trim()).map(Node::Reference);
        }
        let end = match self.rest.starts_with('"') {
            true => {
                let mut read = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
                read.next().and_then(Result::ok).map_or(0, |_| read.byte_offset())
            }
            false => self.rest.find(|c: char| c.is_whitespace() || "&|=<>!()".contains(c)).unwrap_or(self.rest.len()),
        };
        let (literal, rest) = self.rest.split_at(end);
        let read = serde_json::from_str::<Value>(literal).ok().filter(|read| !read.is_array() && !read.is_object());
        let literal = read.ok_or_else(|| self.fault())?;
        self.rest = rest;
        Ok(Node::Literal(literal))
    }
}

fn alone(mut nodes: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Node {
    match (nodes.len(), nodes.pop()) {
        (1, Some(node)) => node,
        (_, last) => {
            nodes.extend(last);
            many(nodes)
        }
    }
}
