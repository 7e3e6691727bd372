//! Checks that the steps of a declaration fit each other and the tools that they call ([`Checker`]).

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
};

use agent::near;
use json_schema::Fault;
use serde_json::{Map, Value};

use crate::{
    declaration::{Declaration, Filling, Step},
    host::ToolSpec,
    names::SHELL,
    native::located::{KEYWORD, Located},
    position::join,
    problem::Problems,
    reference::{Reference, Root, Segment},
    schema::judge,
    shape::{Shape, follow, is_composed},
    suggestions::suggest,
    systems::also_called,
    template::Template,
};

/// Limit of the pairs of unknown and missing names that are compared to detect misspellings.
const SLIPS: usize = 1 << 16;

/// A declaration and the environment against which it is checked.
pub(crate) struct Checker<'a> {
    /// Existing tools that its steps call, by name.
    pub tools: &'a BTreeMap<&'a str, &'a ToolSpec>,
    /// Returns the names of all tools that a step may call, for suggestions.
    pub names: &'a dyn Fn() -> Vec<&'a str>,
    /// Declaration whose steps are checked.
    pub declaration: &'a Declaration,
    /// True if the schema of the input is valid.
    pub knows_input: bool,
}

/// Position of a reference in the declaration.
struct Spot {
    /// Number of steps before it.
    step: usize,
    /// True if it is inside a loop.
    in_loop: bool,
}

impl<'a> Checker<'a> {
    /// Reports all problems of the declaration.
    pub fn check(&self, at: &str, problems: &mut Problems<'_>) {
        for (index, step) in self.declaration.steps.iter().enumerate() {
            self.step(index, step, &format!("{at}/steps/{index}"), problems);
        }
        if let Some((key, returns)) = &self.declaration.returns {
            let spot = Spot { step: self.declaration.steps.len(), in_loop: false };
            returns.templates(&join(at, key), &mut |at, template| self.references(template, at, &spot, problems));
        }
    }

    fn step(&self, index: usize, step: &Step, at: &str, problems: &mut Problems<'_>) {
        let outside = Spot { step: index, in_loop: false };
        let inside = Spot { step: index, in_loop: step.loops };
        if let Some(list) = &step.for_each {
            self.list(list, &join(at, "for_each"), &outside, problems);
        }
        if let Some(when) = &step.when {
            let at = join(at, "when");
            when.references().into_iter().for_each(|reference| self.reference(reference, &at, &inside, problems));
        }
        let at_input = join(at, "input");
        let before = problems.count();
        step.input.templates(&at_input, &mut |at, template| self.references(template, at, &inside, problems));
        match self.tools.get(step.tool.as_str()) {
            // A reference that cannot be resolved has no type.
            Some(tool) if problems.count() == before => {
                let fit = Fit { checker: self, spot: &inside, root: &tool.input, tool: &step.tool };
                fit.value(&step.input, &tool.input, &at_input, problems);
                if step.tool == SHELL {
                    command_line(&step.input, &at_input, problems);
                }
            }
            Some(_) => {}
            // The missing name was reported when the step was read.
            None if step.tool.is_empty() => {}
            None if step.tool == SHELL => {
                let hint = "ask a person to set `shell = true` under [tools] in config.toml (`skillhub where` shows \
                            its path); each run then needs consent (exec_escalation), and commands run without a \
                            sandbox";
                let message = format!("`{SHELL}`{} is disabled", also_called(SHELL));
                problems.value(&join(at, "tool"), "tool_switched_off", message, hint);
            }
            None => {
                let message = format!("unknown tool `{}`", crate::names::shortened(&step.tool));
                problems.value(&join(at, "tool"), "unknown_tool", message, suggest(&step.tool, (self.names)()));
            }
        }
    }

    fn list(&self, list: &Template, at: &str, spot: &Spot, problems: &mut Problems<'_>) {
        let before = problems.count();
        self.references(list, at, spot, problems);
        let Some(reference) = list.single_reference().filter(|_| problems.count() == before) else { return };
        if let Ok(shape) = self.shape(reference, spot)
            && let Some(types) = shape.types()
            && !types.contains(&"array")
        {
            let message = format!("`{reference}` has type {}, but a loop needs a list", types.join(" or "));
            problems.part(at, &reference.text, "loop_without_list", message, "refer to a list");
        }
    }

    fn references(&self, template: &Template, at: &str, spot: &Spot, problems: &mut Problems<'_>) {
        template.references().for_each(|reference| self.reference(reference, at, spot, problems));
    }

    fn reference(&self, reference: &Reference, at: &str, spot: &Spot, problems: &mut Problems<'_>) {
        if problems.is_full() {
            return;
        }
        if let Err((code, message, hint)) = self.shape(reference, spot) {
            let message = format!("`{}`: {message}", crate::names::shortened(&reference.text));
            problems.part(at, &reference.text, code, message, hint);
        }
    }

    /// Returns the known shape of a reference's value, or the problem that it cannot have one.
    fn shape(&self, reference: &Reference, spot: &Spot) -> Result<Shape<'a>, (&'static str, String, String)> {
        let unknown = |(message, hint)| ("unknown_reference", message, hint);
        let path = reference.path.as_slice();
        match reference.root {
            Root::Input if !self.knows_input => Ok(Shape::Any),
            Root::Input => Shape::of(&self.declaration.input, false).at(path).map_err(unknown),
            Root::Item | Root::Index if !spot.in_loop => {
                let message = "only a step with `for_each` has a current element".to_owned();
                Err(("item_outside_loop", message, "add `for_each` to the step, or refer to the list".to_owned()))
            }
            Root::Index if path.is_empty() => Ok(Shape::Whole),
            Root::Index => Err(unknown(("`index` is a number and has no fields".to_owned(), String::new()))),
            Root::Item => {
                let list =
                    self.declaration.steps.get(spot.step).and_then(|step| step.for_each.as_ref()?.single_reference());
                let outside = Spot { step: spot.step, in_loop: false };
                let shape = match list {
                    Some(list) => self.shape(list, &outside).unwrap_or(Shape::Any),
                    None => Shape::Any,
                };
                shape.element().unwrap_or(Shape::Any).at(path).map_err(unknown)
            }
            Root::Steps => self.output(path, spot),
        }
    }

    fn output(&self, path: &[Segment], spot: &Spot) -> Result<Shape<'a>, (&'static str, String, String)> {
        let form = || "write `steps.ID.output` or `steps.0.output`".to_owned();
        let unknown = |message: &str, hint| ("unknown_reference", message.to_owned(), hint);
        let [Segment::Key(name), rest @ ..] = path else {
            return Err(unknown("the step is missing", form()));
        };
        let steps = &self.declaration.steps;
        let found = steps.iter().position(|step| step.id.as_deref() == Some(name));
        let found = found.or_else(|| name.parse().ok().filter(|index| *index < steps.len()));
        let Some(index) = found else {
            let ids: Vec<String> =
                steps.iter().take(spot.step).enumerate().map(|(i, s)| s.id.clone().unwrap_or(i.to_string())).collect();
            let message = format!("unknown step `{}`", crate::names::shortened(name));
            return Err(unknown(&message, suggest(name, ids.iter().map(String::as_str))));
        };
        if index >= spot.step {
            let message = match index == spot.step {
                true => "a step cannot use its own output".to_owned(),
                false => format!("step `{name}` has not run yet"),
            };
            return Err(("forward_reference", message, "refer to an earlier step, or reorder the steps".to_owned()));
        }
        match rest {
            [Segment::Key(what), rest @ ..] if what == "output" => {
                let step = &steps[index];
                let tool = self.tools.get(step.tool.as_str());
                let is_open = step.tool.starts_with("mcp__");
                let one =
                    tool.and_then(|tool| tool.output.as_ref()).map_or(Shape::Any, |schema| Shape::of(schema, is_open));
                let whole = if step.loops { Shape::List(Box::new(one)) } else { one };
                whole.at(rest).map_err(|(message, hint)| ("unknown_reference", message, hint))
            }
            [Segment::Key(what)] if what == "error" => Ok(Shape::Text),
            [Segment::Key(what), ..] => {
                let message = format!("a step has no field `{}`", crate::names::shortened(what));
                Err(unknown(&message, suggest(what, ["output", "error"])))
            }
            _ => Err(unknown("the part of the step is missing", form())),
        }
    }
}

/// Reports a command line given in place of a program's name, as far as it is literal.
fn command_line(input: &Filling, at: &str, problems: &mut Problems<'_>) {
    let Filling::Fields(fields) = input else { return };
    let Some((key, Filling::Text(template))) = fields.iter().find(|(key, _)| key == "command") else { return };
    let constant = template.constant();
    let literal = constant.as_deref().unwrap_or_else(|| template.beginning());
    let literal = if constant.is_some() { literal.trim() } else { literal.trim_start() };
    let Some((program, arguments)) = literal.split_once(char::is_whitespace) else { return };
    let first = arguments.split_whitespace().next().unwrap_or("…");
    // The path of a program may contain spaces.
    if constant.is_some() && program.contains('/') && !first.starts_with(['-', '/']) {
        return;
    }
    let hint = format!(
        "write `command: {program}` and `args: [{first:?}]` with one string for each argument; for a command line, \
         write `command: sh` and `args: [\"-c\", \"…\"]`"
    );
    let message = "`command` must be a program without arguments, but this is a command line";
    problems.value(&join(at, key), "command_line", message, hint);
}

/// Type check of a step's input against the input schema of its tool.
struct Fit<'c, 'a> {
    checker: &'c Checker<'a>,
    spot: &'c Spot,
    root: &'c Value,
    tool: &'c str,
}

impl Fit<'_, '_> {
    fn value(&self, given: &Filling, schema: &Value, at: &str, problems: &mut Problems<'_>) {
        let schema = follow(self.root, schema);
        if let (Filling::Text(template), Some(folders)) = (given, schema.get(KEYWORD)) {
            self.path(template, folders, at, problems);
        }
        let constant = given.constant().filter(|_| !matches!(given, Filling::Fields(_)) || is_composed(schema));
        if let Some(constant) = constant {
            for Fault { pointer, message, .. } in judge(self.root, schema, &constant) {
                problems.value(
                    &format!("{at}{pointer}"),
                    "type_clash",
                    format!("`{}` does not accept this value: {message}", self.tool),
                    "",
                );
            }
            return;
        }
        match given {
            Filling::Constant(_) | Filling::Unreadable => {}
            Filling::Text(template) => self.text(template, schema, at, problems),
            Filling::List(elements) => {
                if let Some(items) = schema.get("items") {
                    for (index, element) in elements.iter().enumerate() {
                        self.value(element, items, &format!("{at}/{index}"), problems);
                    }
                }
                self.kind("array", schema, at, problems);
            }
            Filling::Fields(fields) => self.fields(fields, schema, at, problems),
        }
    }

    fn fields(&self, fields: &[(String, Filling)], schema: &Value, at: &str, problems: &mut Problems<'_>) {
        self.kind("object", schema, at, problems);
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let given: HashSet<&str> = fields.iter().map(|(key, _)| key.as_str()).collect();
        let named = properties.into_iter().flat_map(Map::keys).map(String::as_str);
        let mut missing: Vec<&str> = named.filter(|name| !given.contains(name)).collect();
        let is_unknown = |key: &&str| properties.is_some_and(|known| !known.contains_key(*key));
        let mut unknown: Vec<&str> = fields.iter().map(|(key, _)| key.as_str()).filter(is_unknown).collect();
        if missing.len().saturating_mul(unknown.len()) > SLIPS {
            (missing, unknown) = (Vec::new(), Vec::new());
        }
        for name in required.filter(|name| !given.contains(name)) {
            // A misspelt key for it is reported as unknown instead.
            if near(name, unknown.iter().copied()).is_none() {
                let message = format!("`{}` needs `{name}`", self.tool);
                problems.value(&join(at, name), "missing_input", message, format!("add `{name}: …`"));
            }
        }
        for (key, value) in fields {
            let at = join(at, key);
            match properties.and_then(|properties| properties.get(key)) {
                Some(schema) => self.value(value, schema, &at, problems),
                None => {
                    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
                    if is_closed || near(key, missing.iter().copied()).is_some() {
                        self.unknown(key, schema, &at, problems);
                    }
                }
            }
        }
    }

    fn unknown(&self, key: &str, schema: &Value, at: &str, problems: &mut Problems<'_>) {
        if problems.is_full() {
            return;
        }
        let names = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&str> = names.map(|names| names.keys().map(String::as_str).collect()).unwrap_or_default();
        let message = format!("`{}` has no input `{}`", self.tool, crate::names::shortened(key));
        problems.key(at, "unknown_input", message, suggest(key, names.iter().copied()));
    }

    /// Reports a path that leads out of the folders of its tool, as far as it is literal.
    fn path(&self, template: &Template, folders: &Value, at: &str, problems: &mut Problems<'_>) {
        let folders: Vec<PathBuf> =
            folders.as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect();
        let constant = template.constant();
        let literal = constant.as_deref().unwrap_or_else(|| template.beginning());
        if let Some(fault) = Located::fault(literal, constant.is_some(), &folders) {
            problems.value(at, "path_outside", fault.message, fault.hint.unwrap_or_default());
        }
    }

    fn text(&self, template: &Template, schema: &Value, at: &str, problems: &mut Problems<'_>) {
        let shape = match template.single_reference() {
            Some(reference) => self.checker.shape(reference, self.spot).unwrap_or(Shape::Any),
            None => Shape::Text,
        };
        if let Some(why) = shape.clash(self.root, schema) {
            let hint = match template.single_reference() {
                Some(_) => "refer to another value, or add text around the reference to make it a string",
                None => "remove the text around the reference to keep the type of its value",
            };
            problems.value(at, "type_clash", format!("`{}` does not accept this value: {why}", self.tool), hint);
        }
    }

    fn kind(&self, kind: &'static str, schema: &Value, at: &str, problems: &mut Problems<'_>) {
        let types = Shape::of(schema, true).types();
        if let Some(types) = types
            && !types.contains(&kind)
        {
            let message = format!(
                "`{}` does not accept this value: found type {kind}, expected {}",
                self.tool,
                types.join(" or ")
            );
            problems.value(at, "type_clash", message, "");
        }
    }
}
