//! [`Declaration`]: a `tool_schema` as its author wrote it, read into steps.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};

use crate::{
    condition::Condition,
    near::suggest,
    position::join,
    problem::Problems,
    systems::own_name,
    template::{Template, TemplateError, is_name, is_template},
};

/// Steps that one skill may have.
pub const STEPS: usize = 64;
/// How often a step that failed for what may pass is made again, unless it says otherwise; no step may ask for more.
pub const RETRIES: u32 = 2;
/// The longest time that a step may ask for.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(600);
/// How deep a step's input may be nested.
const INPUT_DEPTH: usize = 16;

/// The keys of a `tool_schema`.
const KEYS: [&str; 5] = ["description", "input", "output", "returns", "steps"];
/// The keys of a step.
const STEP_KEYS: [&str; 8] = ["id", "tool", "input", "on_error", "retries", "for_each", "when", "timeout"];

/// What a skill declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// What the tool does, where that is not what the skill is for.
    pub description: Option<String>,
    /// The JSON Schema of the input.
    pub input: Value,
    /// The JSON Schema of the output, where there is one.
    pub output: Option<Value>,
    /// What the tool gives, where that is not the last step's output, and the key that says so: `output` or `returns`.
    pub returns: Option<(&'static str, Filling)>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name for later steps.
    pub id: Option<String>,
    /// The tool.
    pub tool: String,
    /// What the tool is called with.
    pub input: Filling,
    /// What follows when it fails.
    pub on_error: OnError,
    /// How often it is made again.
    pub retries: u32,
    /// Whether it is made for each element of a list.
    pub loops: bool,
    /// The list, where it could be read.
    pub for_each: Option<Template>,
    /// Whether it is made.
    pub when: Option<Condition>,
    /// How long one call may take.
    pub timeout: Option<Duration>,
}

/// What follows when a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The run ends.
    #[default]
    Abort,
    /// The step's output is `null`, and the run goes on.
    Skip,
}

/// A value whose texts are templates; keys are as they are.
#[derive(Debug, Clone, PartialEq)]
pub enum Filling {
    /// A text.
    Text(Template),
    /// A list.
    List(Vec<Filling>),
    /// An object, in the order of the file.
    Fields(Vec<(String, Filling)>),
    /// Anything else.
    Constant(Value),
    /// Something that was told to be wrong already.
    Unreadable,
}

impl Filling {
    /// Every template in it, with its pointer behind `pointer`.
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

    /// The value that it is whatever the run, if it refers to nothing.
    #[must_use]
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

/// The tools that the steps of a `tool_schema` name, whatever else is wrong with it.
pub(crate) fn called(value: &Value) -> impl Iterator<Item = &str> {
    let steps = value.get("steps").and_then(Value::as_array).into_iter().flatten();
    steps.filter_map(|step| step.get("tool")?.as_str())
}

/// Reads what stands under `tool_schema`; what cannot be read is told and left out.
pub(crate) fn read(value: &Value, at: &str, problems: &mut Problems<'_>) -> Option<Declaration> {
    let Some(fields) = value.as_object() else {
        problems.value(at, "not_an_object", "`tool_schema` is a map with `input` and `steps`", "");
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

/// What `output` and `returns` say: the schema, and the key and value of the mapping. An `output` that holds a template is a mapping.
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
                let hint = "make `output` the JSON Schema and leave the mapping to `returns`, or drop `returns`";
                problems.key(
                    &join(at, "returns"),
                    "two_mappings",
                    "`output` and `returns` both say what the tool gives",
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
        problems.value(&at, "not_a_list", "`steps` is a list", "begin each step with `- tool: NAME`");
        return Vec::new();
    };
    if list.is_empty() {
        problems.value(&at, "no_steps", "`steps` is empty", "list the tools to call: `- tool: web_search`");
    }
    if list.len() > STEPS {
        let hint = "move some of them to a skill of their own and call it as a step";
        problems.value(
            &at,
            "too_many_steps",
            format!("there are {} steps, and a skill may have {STEPS}", list.len()),
            hint,
        );
    }
    let mut ids = BTreeMap::new();
    let mut steps = Vec::new();
    for (index, value) in list.iter().take(STEPS).enumerate() {
        let at = format!("{at}/{index}");
        let step = step(value, &at, problems);
        if let Some(first) = step.id.clone().and_then(|id| ids.insert(id, index)) {
            let message = format!("step {first} has this id already");
            problems.value(&join(&at, "id"), "duplicate_id", message, "give each step an id of its own");
        }
        steps.push(step);
    }
    steps
}

/// Reads a step. What cannot be read of it is told, and it keeps its place, so that the others keep theirs.
fn step(value: &Value, at: &str, problems: &mut Problems<'_>) -> Step {
    let none = Map::new();
    let fields = value.as_object().unwrap_or_else(|| {
        problems.value(at, "not_an_object", "a step is a map with `tool` and `input`", "write `- tool: NAME`");
        &none
    });
    unknown_keys(fields, at, &STEP_KEYS, "a step", problems);
    let input = match fields.get("input") {
        None | Some(Value::Null) => Filling::Fields(Vec::new()),
        Some(input @ Value::Object(_)) => filling(input, &join(at, "input"), 0, problems),
        Some(_) => {
            let hint = "write `input: {field: value}`";
            problems.value(&join(at, "input"), "not_an_object", "a step's `input` is a map of the tool's fields", hint);
            Filling::Unreadable
        }
    };
    let tool = text(fields, at, "tool", problems).unwrap_or_default();
    if value.is_object() && !fields.contains_key("tool") {
        let hint = "`skillhub tools list --native` shows which there are";
        problems.value(&join(at, "tool"), "no_tool", "this step names no `tool`", hint);
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
    let hint = "begin with a letter and go on with letters, digits, `_` and `-`, 64 at most";
    problems.value(&join(at, "id"), "bad_id", format!("`{}` is no id", crate::names::shortened(&id)), hint);
    None
}

fn on_error(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> OnError {
    match fields.get("on_error") {
        None => OnError::Abort,
        Some(Value::String(word)) if word == "abort" => OnError::Abort,
        Some(Value::String(word)) if word == "skip" => OnError::Skip,
        Some(other) => {
            let hint = suggest(other.as_str().unwrap_or_default(), ["abort", "skip"]);
            problems.value(&join(at, "on_error"), "bad_on_error", "`on_error` is `abort` or `skip`", hint);
            OnError::Abort
        }
    }
}

fn retries(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> u32 {
    let Some(value) = fields.get("retries") else { return RETRIES };
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count <= RETRIES);
    count.unwrap_or_else(|| {
        problems.value(&join(at, "retries"), "bad_retries", format!("`retries` is a number from 0 to {RETRIES}"), "");
        RETRIES
    })
}

fn for_each(fields: &Map<String, Value>, at: &str, problems: &mut Problems<'_>) -> Option<Template> {
    let at = join(at, "for_each");
    let hint = "write `for_each: \"{{input.LIST}}\"`";
    let Some(text) = fields.get("for_each")?.as_str() else {
        problems.value(&at, "bad_for_each", "`for_each` is a reference to a list", hint);
        return None;
    };
    let template = template(text, &at, problems)?;
    if template.lone().is_none() {
        problems.value(&at, "bad_for_each", "`for_each` is one reference to a list, with nothing around it", hint);
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
                "`when` is a condition in a text",
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
        let message = format!("`timeout` is a time over 0 and up to {} seconds", STEP_TIMEOUT.as_secs());
        problems.value(&join(at, "timeout"), "bad_timeout", message, hint);
    }
    time
}

fn seconds(text: &str) -> Option<f64> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0)];
    let (number, factor) = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.trim().parse::<f64>().ok().map(|number| number * factor)
}

/// The filling that a value is.
fn filling(value: &Value, at: &str, depth: usize, problems: &mut Problems<'_>) -> Filling {
    if depth > INPUT_DEPTH {
        problems.value(at, "too_deep", format!("values may be nested {INPUT_DEPTH} deep"), "");
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
                    problems.key(&at, "template_in_key", "a key is no template", "write the field's name");
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
            problems.value(&join(at, key), "not_a_text", format!("`{key}` is a text that is not empty"), "");
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
