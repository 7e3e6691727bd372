//! Values that references can reach at one moment of a run ([`Scope`]).

use std::{cell::Cell, fmt::Write as _};

use serde_json::Value;
use thiserror::Error;

use crate::reference::{Reference, Root, Segment};

/// Result of a completed step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    /// Id of the step, if it has one.
    pub id: Option<String>,
    /// Its output; `null` if it was skipped.
    pub output: Value,
    /// Message of its failure, if it was skipped because of that.
    pub error: Option<String>,
}

/// Values that references can reach, and the size budget of the run.
#[derive(Debug)]
pub struct Scope<'a> {
    /// Input of the tool.
    pub input: &'a Value,
    /// Results of the previous steps, in order.
    pub steps: &'a [StepResult],
    /// Current element of a loop and its index.
    pub item: Option<(&'a Value, usize)>,
    /// Bytes that templates of this run may still produce.
    pub budget: &'a Cell<usize>,
}

/// Reason why a reference has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Absent {
    /// It cannot be resolved.
    #[error("`{reference}` has no value: {why}")]
    Missing {
        /// The reference as written.
        reference: String,
        /// Description of the value found instead.
        why: String,
    },
    /// The result would exceed the size budget of the run.
    #[error("the values of this run exceed the size limit")]
    TooLarge,
}

impl<'a> Scope<'a> {
    /// Resolves a reference. Returns `None` for an optional input that is missing.
    ///
    /// # Errors
    /// It cannot be resolved, or the value exceeds the remaining budget.
    pub fn resolve(&self, reference: &Reference) -> Result<Option<Value>, Absent> {
        let value = self.look(reference)?;
        self.spend(value.as_ref().map_or(0, size))?;
        Ok(value)
    }

    /// Resolves a reference without charging the budget, for values that are not stored.
    ///
    /// # Errors
    /// It cannot be resolved.
    pub fn look(&self, reference: &Reference) -> Result<Option<Value>, Absent> {
        let index;
        let (root, path): (&Value, &[Segment]) = match reference.root {
            Root::Input => (self.input, &reference.path),
            Root::Item => (self.item.map_or(&Value::Null, |(item, _)| item), &reference.path),
            Root::Index => {
                index = Value::from(self.item.map_or(0, |(_, index)| index));
                (&index, &reference.path)
            }
            Root::Steps => match self.step(reference)? {
                (Found::Output(output), rest) => (output, rest),
                (Found::Error(error), _) => {
                    let text = error.map_or(Value::Null, Value::from);
                    return Ok(Some(text));
                }
            },
        };
        let values = match walk(root, path) {
            Ok(values) => values,
            // An optional input is also left out of values derived from it.
            Err(_) if reference.root == Root::Input => return Ok(None),
            Err(why) => return Err(Absent::Missing { reference: reference.text.clone(), why }),
        };
        Ok(Some(match path.contains(&Segment::All) {
            true => Value::Array(values.into_iter().cloned().collect()),
            false => values.first().map_or(Value::Null, |value| (*value).clone()),
        }))
    }

    fn step<'r>(&self, reference: &'r Reference) -> Result<(Found<'a>, &'r [Segment]), Absent> {
        let missing = |why: &str| Absent::Missing { reference: reference.text.clone(), why: why.to_owned() };
        let [Segment::Key(step), Segment::Key(what), rest @ ..] = reference.path.as_slice() else {
            return Err(missing("refer to a step's value as `steps.ID.output`"));
        };
        let given = find(self.steps, step).ok_or_else(|| missing("no earlier step has this id"))?;
        match what.as_str() {
            "output" => Ok((Found::Output(&given.output), rest)),
            "error" => Ok((Found::Error(given.error.as_deref()), rest)),
            _ => Err(missing("a step has only `output` and `error`")),
        }
    }

    /// Charges the budget.
    ///
    /// # Errors
    /// The remaining budget is smaller.
    pub fn spend(&self, bytes: usize) -> Result<(), Absent> {
        self.may_hold(bytes)?;
        self.budget.set(self.budget.get() - bytes);
        Ok(())
    }

    /// Checks the budget without charging it.
    ///
    /// # Errors
    /// The remaining budget is smaller.
    pub fn may_hold(&self, bytes: usize) -> Result<(), Absent> {
        if bytes > self.budget.get() { Err(Absent::TooLarge) } else { Ok(()) }
    }
}

enum Found<'a> {
    Output(&'a Value),
    Error(Option<&'a str>),
}

/// Finds a step by its id or index.
fn find<'a>(steps: &'a [StepResult], name: &str) -> Option<&'a StepResult> {
    let by_id = steps.iter().find(|given| given.id.as_deref() == Some(name));
    by_id.or_else(|| steps.get(name.parse::<usize>().ok()?))
}

/// Returns the values at a path. Any path inside `null` yields `null`.
fn walk<'v>(root: &'v Value, path: &[Segment]) -> Result<Vec<&'v Value>, String> {
    let mut at = vec![root];
    for segment in path {
        let mut next = Vec::new();
        for value in at {
            match (segment, value) {
                (Segment::All, Value::Array(elements)) => next.extend(elements),
                (Segment::All, Value::Object(fields)) => next.extend(fields.values()),
                (Segment::All, Value::Null) => {}
                (_, Value::Null) => next.push(value),
                (Segment::All, _) => return Err(format!("`*` needs a list, but found {}", kind(value))),
                (Segment::Key(key), Value::Object(fields)) => {
                    next.push(fields.get(key).ok_or_else(|| without(key, value))?)
                }
                (Segment::Key(key), Value::Array(elements)) => {
                    let element = key.parse::<usize>().ok().and_then(|index| elements.get(index));
                    next.push(element.ok_or_else(|| without(key, value))?);
                }
                (Segment::Key(key), _) => return Err(without(key, value)),
            }
        }
        at = next;
    }
    Ok(at)
}

fn without(key: &str, value: &Value) -> String {
    let mut why = format!("no field `{key}` in {}", kind(value));
    if let Value::Object(fields) = value
        && !fields.is_empty()
    {
        let names: Vec<&str> = fields.keys().map(String::as_str).take(12).collect();
        let _ = write!(why, ", which has `{}`", names.join("`, `"));
    }
    why
}

/// Describes the type of a value in words.
pub(crate) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(elements) => format!("a list of {}", elements.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Estimates the size of a value as JSON, in bytes.
pub fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => elements.iter().map(size).sum::<usize>() + elements.len() + 2,
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + size(value) + 4).sum::<usize>() + 2,
    }
}

/// Returns the nesting depth of a value; 0 for a scalar.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}
