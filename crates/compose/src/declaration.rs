//! Parsed form of a `tool_schema` ([`Declaration`]).

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};

use crate::{
    condition::Condition,
    position::join,
    problem::Problems,
    suggestions::suggest,
    systems::own_name,
    template::{Template, TemplateError, is_name, is_template},
};

/// Maximum number of steps of a skill.
pub const STEPS: usize = 64;
/// Default number of retries of a step after a transient failure. It is also the maximum that a step may set.
pub const RETRIES: u32 = 2;
/// Maximum timeout that a step may set.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum nesting depth of a step's input.
const INPUT_DEPTH: usize = 16;

/// Valid keys of a `tool_schema`.
const KEYS: [&str; 5] = ["description", "input", "output", "returns", "steps"];
/// Valid keys of a step.
const STEP_KEYS: [&str; 8] = ["id", "tool", "input", "on_error", "retries", "for_each", "when", "timeout"];

/// The declaration of a tool by a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// Description of the tool, if it differs from that of the skill.
    pub description: Option<String>,
    /// JSON Schema of the input.
    pub input: Value,
    /// JSON Schema of the output, if declared.
    pub output: Option<Value>,
    /// Result of the tool, if it is not the last step's output. The first element is its key: `output` or `returns`.
    pub returns: Option<(&'static str, Filling)>,
    /// Steps in the order of execution.
    pub steps: Vec<Step>,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Name by which later steps refer to it.
    pub id: Option<String>,
    /// Name of the tool; empty if it is missing.
    pub tool: String,
    /// Input for the tool.
    pub input: Filling,
    /// Reaction to a failure.
    pub on_error: OnError,
    /// Maximum number of retries after a transient failure.
    pub retries: u32,
    /// True if it runs for each element of a list.
    pub loops: bool,
    /// Reference to the list; `None` if it could not be parsed.
    pub for_each: Option<Template>,
    /// Condition for running it.
    pub when: Option<Condition>,
    /// Timeout of one call.
    pub timeout: Option<Duration>,
}

/// Reaction to the failure of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The run ends with the failure.
    #[default]
    Abort,
    /// The step's output is `null`, and the run continues.
    Skip,
}

/// A value whose texts are templates. Keys are literal.
#[derive(Debug, Clone, PartialEq)]
pub enum Filling {
    /// A text with references.
    Text(Template),
    /// A list of fillings.
    List(Vec<Filling>),
    /// An object, in the order of the file.
    Fields(Vec<(String, Filling)>),
    /// Any other value, which is literal.
    Constant(Value),
    /// A value whose problem was already reported.
    Unreadable,
}

impl Filling {
    /// Calls `each` with every template in it and its JSON pointer, which starts with `pointer`.
    pub fn templates<'a>(&'a self, pointer: &str, each: &mut dyn FnMut(&str, &'a Template)) {
        match self {
            Self::Text(template) => each(pointer, template),
            Self::List(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    element.templates(&format!("{pointer}/{index}"), each);
                }
            }
            Self::Fields(fields) => fields.iter().for_each(|(key, value)| value.templates(&join(pointer, key), each)),
            Self::Constant(_) | Self::Unreadable => {}
        }
    }

    /// Returns the value if it has no references.
    pub fn constant(&self) -> Option<Value> {
        match self {
            Self::Unreadable => None,
            Self::Constant(value) => Some(value.clone()),
            Self::Text(template) => template.constant().map(Value::String),
            Self::List(elements) => elements.iter().map(Self::constant).collect::<Option<_>>().map(Value::Array),
            Self::Fields(fields) => {
                let fields = fields.iter().map(|(key, value)| Some((key.clone(), value.constant()?)));
                fields.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
        }
    }
}

/// Returns the tools named by the steps of a `tool_schema`, even if other parts of it are invalid.
pub(crate) fn called(value: &Value) -> impl Iterator<Item = &str> {
    let steps = value.get("steps").and_then(Value::as_array).into_iter().flatten();
    steps.filter_map(|step| step.get("tool")?.as_str())
}

/// Parses a `tool_schema`. Invalid parts are reported and skipped.
pub(crate) fn read(value: &Value, at: &str, problems: &mut Problems<'_>) -> Option<Declaration> {
    let Some(fields) = value.as_object() else {
        problems.value(at, "not_an_object", "`tool_schema` must be a map with `input` and `steps`", "");
        return None;
    };
    unknown_keys(fields, at, &KEYS, "tool_schema", problems);
    let description = text(fields, at, "description", problems);
    let input = match fields.get("input") {
        Some(input) => input.clone(),
        None => serde_json::json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    let (output, mapping) = output(fields, at, problems);
    let returns = mapping.map(|(key, value)| (key, filling(value, &join(at, key), 0, problems)));
    let steps = steps(fields, at, problems);
    Some(Declaration { description, input, output, returns, steps })
}

/// Parses `output` and `returns`: the schema, and the mapping with its key. An `output` that contains a template is a
/// mapping.
fn output<'v>(
    fields: &'v Map<String, Value>,
    at: &str,
    problems: &mut Problems<'_>,
) -> (Option<Value>, Option<(&'static str, &'v Value)>) {
    let returns = fields.get("returns").map(|value| ("returns", value));
    match fields.get("output") {
        None => (None, returns),
        Some(output) if !holds_template(output) => (Some(output.clone()), returns),
        Some(output) => {
            if returns.is_some() {
                let hint = "write the JSON Schema in `output` and the mapping in `returns`, or remove `returns`";
                problems.key(
                    &join(at, "returns"),
                    "two_mappings",
                    "`output` and `returns` both define the result of the tool",
                    hint,
                );
            }
            (None, Some(("output", output)))
        }
    }
}

fn holds_template(value: &Value) -> bool {
    match value {
        Value::String(text) => is_template(text),
        Value::Array(elements) => elements.iter().any(holds_template),
        Value::Object(fields) => fields.values().any(holds_template),
        _ => false,
    }
}

fn steps(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> Vec<Step> {
    let at = join(at, "steps");
    let Some(value) = fields.get("steps") else {
        problems.value(
            &at,
            "no_steps",
            "`tool_schema` has no `steps`",
            "list the tools to call: `steps: [{tool: web_search, input: {…}}]`",
        );
        return Vec::new();
    };
    let Some(list) = value.as_array() else {
        problems.value(&at, "not_a_list", "`steps` must be a list", "start each step with `- tool: NAME`");
        return Vec::new();
    };
    if list.is_empty() {
        problems.value(&at, "no_steps", "`steps` is empty", "list the tools to call: `- tool: web_search`");
    }
    if list.len() > STEPS {
        let hint = "move some of them to another skill, and call that skill's tool as a step";
        problems.value(&at, "too_many_steps", format!("the tool has {} steps; the limit is {STEPS}", list.len()), hint);
    }
    let mut ids = BTreeMap::new();
    let mut steps = Vec::new();
    for (index, value) in list.iter().take(STEPS).enumerate() {
        let at = format!("{at}/{index}");
        let step = step(value, &at, problems);
        if let Some(first) = step.id.clone().and_then(|id| ids.insert(id, index)) {
            let message = format!("step {first} already has this id");
            problems.value(&join(&at, "id"), "duplicate_id", message, "give each step a different id");
        }
        steps.push(step);
    }
    steps
}

/// Parses a step. An invalid step is reported and keeps its index, so that references to later steps stay valid.
fn step(value: &Value, at: &str, problems: &mut Problems<'_>) -> Step {
    let none = Map::new();
    let fields = value.as_object().unwrap_or_else(|| {
        problems.value(at, "not_an_object", "a step must be a map with `tool` and `input`", "write `- tool: NAME`");
        &none
    });
    unknown_keys(fields, at, &STEP_KEYS, "a step", problems);
    let input = match fields.get("input") {
        None | Some(Value::Null) => Filling::Fields(Vec::new()),
        Some(input @ Value::Object(_)) => filling(input, &join(at, "input"), 0, problems),
        Some(_) => {
            let hint = "write `input: {field: value}`";
            problems.value(
                &join(at, "input"),
                "not_an_object",
                "the `input` of a step must be a map of the tool's \
                                                                 fields",
                hint,
            );
            Filling::Unreadable
        }
    };
    let tool = text(fields, at, "tool", problems).unwrap_or_default();
    if value.is_object() && !fields.contains_key("tool") {
        let hint = "list the available tools with `skillhub tools list --native`";
        problems.value(&join(at, "tool"), "no_tool", "the step has no `tool`", hint);
    }
    let tool = own_name(&tool).to_owned();
    Step {
        id: id(fields, at, problems),
        tool,
        input,
        on_error: on_error(fields, at, problems),
        retries: retries(fields, at, problems),
        loops: fields.contains_key("for_each"),
        for_each: for_each(fields, at, problems),
        when: when(fields, at, problems),
        timeout: timeout(fields, at, problems),
    }
}

fn id(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> Option<String> {
    let id = text(fields, at, "id", problems)?;
    if is_name(&id) && id.chars().count() <= 64 {
        return Some(id);
    }
    let hint = "start with a letter, and use at most 64 letters, digits, `_` and `-`";
    problems.value(&join(at, "id"), "bad_id", format!("`{}` is not a valid id", crate::names::shortened(&id)), hint);
    None
}

fn on_error(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> OnError {
    match fields.get("on_error") {
        None => OnError::Abort,
        Some(Value::String(word)) if word == "abort" => OnError::Abort,
        Some(Value::String(word)) if word == "skip" => OnError::Skip,
        Some(other) => {
            let hint = suggest(other.as_str().unwrap_or_default(), ["abort", "skip"]);
            problems.value(&join(at, "on_error"), "bad_on_error", "`on_error` must be `abort` or `skip`", hint);
            OnError::Abort
        }
    }
}

fn retries(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> u32 {
    let Some(value) = fields.get("retries") else { return RETRIES };
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count <= RETRIES);
    count.unwrap_or_else(|| {
        problems.value(
            &join(at, "retries"),
            "bad_retries",
            format!("`retries` must be a number from 0 to {RETRIES}"),
            "",
        );
        RETRIES
    })
}

fn for_each(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> Option<Template> {
    let at = join(at, "for_each");
    let hint = "write `for_each: \"{{input.LIST}}\"`";
    let Some(text) = fields.get("for_each")?.as_str() else {
        problems.value(&at, "bad_for_each", "`for_each` must be a reference to a list", hint);
        return None;
    };
    let template = template(text, &at, problems)?;
    if template.single_reference().is_none() {
        problems.value(
            &at,
            "bad_for_each",
            "`for_each` must be a single reference to a list, without other text",
            hint,
        );
        return None;
    }
    Some(template)
}

fn when(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> Option<Condition> {
    let at = join(at, "when");
    match fields.get("when")? {
        Value::String(text) => Condition::parse(text).map_err(|error| tell(&error, &at, problems)).ok(),
        Value::Bool(is) => Condition::parse(&is.to_string()).ok(),
        _ => {
            problems.value(
                &at,
                "condition_syntax",
                "`when` must be a string with a condition",
                "write `when: \"{{input.flag}}\"`",
            );
            None
        }
    }
}

fn timeout(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> Option<Duration> {
    let value = fields.get("timeout")?;
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => seconds(text),
        _ => None,
    };
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = time.filter(|time| !time.is_zero() && *time <= STEP_TIMEOUT);
    if time.is_none() {
        let hint = "write seconds, or `500ms`, `30s`, `2m`";
        let message = format!("`timeout` must be more than 0 and at most {} seconds", STEP_TIMEOUT.as_secs());
        problems.value(&join(at, "timeout"), "bad_timeout", message, hint);
    }
    time
}

fn seconds(text: &str) -> Option<f64> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0)];
    let (number, factor) = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.trim().parse::<f64>().ok().map(|number| number * factor)
}

/// Parses a value to a filling.
fn filling(value: &Value, at: &str, depth: usize, problems: &mut Problems<'_>) -> Filling {
    if depth > INPUT_DEPTH {
        problems.value(at, "too_deep", format!("the value is nested more than {INPUT_DEPTH} levels deep"), "");
        return Filling::Unreadable;
    }
    match value {
        Value::String(text) => template(text, at, problems).map_or(Filling::Unreadable, Filling::Text),
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            Filling::List(elements.map(|(i, e)| filling(e, &format!("{at}/{i}"), depth + 1, problems)).collect())
        }
        Value::Object(fields) => {
            let mut read = Vec::new();
            for (key, value) in fields {
                let at = join(at, key);
                if is_template(key) {
                    problems.key(&at, "template_in_key", "a key cannot be a template", "write the field's name");
                    continue;
                }
                read.push((key.clone(), filling(value, &at, depth + 1, problems)));
            }
            Filling::Fields(read)
        }
        other => Filling::Constant(other.clone()),
    }
}

fn template(text: &str, at: &str, problems: &mut Problems<'_>) -> Option<Template> {
    Template::parse(text).map_err(|faults| faults.iter().for_each(|fault| tell(fault, at, problems))).ok()
}

fn tell(error: &TemplateError, at: &str, problems: &mut Problems<'_>) {
    problems.part(at, &error.part, error.code, error.message.clone(), error.hint.clone());
}

fn text(fields: &Map<String, Value>, at: &str, key: &str, problems: &mut Problems<'_>) -> Option<String> {
    let value = fields.get(key)?;
    match value.as_str() {
        Some(text) if !text.is_empty() => Some(text.to_owned()),
        _ => {
            problems.value(&join(at, key), "not_a_text", format!("`{key}` must be a string that is not empty"), "");
            None
        }
    }
}

fn unknown_keys(fields: &Map<String, Value>, at: &str, known: &[&str], of: &str, problems: &mut Problems<'_>) {
    for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
        let message = format!("{of} has no key `{}`", crate::names::shortened(key));
        problems.key(&join(at, key), "unknown_key", message, suggest(key, known.iter().copied()));
    }
}
