//! [`Compiler`]: from `tool_schema`s to tools, everything checked before anything runs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use skill::{Limits, frontmatter};

use crate::{
    check::Checker,
    declaration::{self, Declaration},
    host::{Approval, ToolSpec},
    names::{alias, is_reserved, tool_name},
    position::join,
    problem::{Problem, Problems},
    schema,
    tool::{ComposedTool, POINTER},
};

/// How deep composed tools may stand in each other.
pub const DEPTH: usize = 8;

/// A skill that may declare a tool.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name.
    pub skill: String,
    /// What it is for.
    pub description: String,
    /// What changes when any of its files does.
    pub digest: String,
}

/// Gives the `SKILL.md` of a source, or says why it cannot be read.
pub type ReadText<'a> = dyn Fn(&Source) -> Result<String, String> + 'a;

/// What became of one skill.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It declares a tool, and this is it.
    Compiled(Box<ComposedTool>),
    /// As [`Outcome::Compiled`], and nothing that it depends on has changed.
    Unchanged(Box<ComposedTool>),
    /// It declares none.
    Plain,
    /// What it declares cannot be a tool.
    Broken(Vec<Problem>),
}

impl Outcome {
    /// The tool, if it is one.
    #[must_use]
    pub fn tool(&self) -> Option<&ComposedTool> {
        match self {
            Self::Compiled(tool) | Self::Unchanged(tool) => Some(tool),
            Self::Plain | Self::Broken(_) => None,
        }
    }
}

/// Compiles skills against the tools that there are.
pub struct Compiler<'a> {
    host: BTreeMap<&'a str, (&'a ToolSpec, String)>,
    reserved: &'a [&'a str],
    limits: &'a Limits,
}

impl<'a> Compiler<'a> {
    /// One for the tools of a host. `reserved` are names of tools that no skill's may have.
    #[must_use]
    pub fn new(host: &'a [ToolSpec], reserved: &'a [&'a str], limits: &'a Limits) -> Self {
        let host = host.iter().map(|spec| (spec.name.as_str(), (spec, fingerprint(spec)))).collect();
        Self { host, reserved, limits }
    }

    /// Compiles the skills among `sources` that are wanted and those whose tools they call, each once and after what it calls. What is among `known` and
    /// still true is not read again.
    #[must_use]
    pub fn compile(
        &self,
        sources: &[Source],
        wanted: &BTreeSet<&str>,
        known: &[ComposedTool],
        read: &ReadText<'_>,
    ) -> BTreeMap<String, Outcome> {
        let mut work = Work {
            compiler: self,
            read,
            sources: sources.iter().map(|source| (tool_name(&source.skill), source)).collect(),
            known: known.iter().map(|tool| (tool.name.as_str(), tool)).collect(),
            path: Vec::new(),
            done: HashMap::new(),
        };
        for skill in wanted {
            work.skill(&tool_name(skill));
        }
        let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
        for source in sources {
            if let Some(done) = work.done.remove(&tool_name(&source.skill)) {
                outcomes.insert(source.skill.clone(), done.outcome);
            }
        }
        refuse_shared_aliases(&mut outcomes);
        outcomes
    }
}

/// What there is to do, and what was done.
struct Work<'w, 'a> {
    compiler: &'w Compiler<'a>,
    read: &'w ReadText<'w>,
    sources: HashMap<String, &'w Source>,
    known: HashMap<&'w str, &'w ComposedTool>,
    /// The tools that are being compiled, each called by the one before.
    path: Vec<String>,
    done: HashMap<String, Done>,
}

struct Done {
    outcome: Outcome,
    spec: Option<ToolSpec>,
    fingerprint: String,
}

impl Work<'_, '_> {
    /// Compiles the skill of a tool, if it is not done yet.
    fn skill(&mut self, name: &str) {
        let Some(source) = self.sources.get(name).copied().filter(|_| !self.done.contains_key(name)) else { return };
        self.path.push(name.to_owned());
        let outcome = match self.unchanged(name, &source.digest) {
            Some(tool) => Outcome::Unchanged(Box::new(tool)),
            None => match (self.read)(source) {
                Ok(text) => self.anew(source, &text),
                Err(why) => Outcome::Broken(vec![unreadable("unreadable", why, None)]),
            },
        };
        self.path.pop();
        let spec = outcome.tool().map(ComposedTool::spec);
        let fingerprint = spec.as_ref().map(fingerprint).unwrap_or_default();
        self.done.insert(name.to_owned(), Done { outcome, spec, fingerprint });
    }

    /// The known tool, if its source and everything that it calls are as they were.
    fn unchanged(&mut self, name: &str, digest: &str) -> Option<ComposedTool> {
        let known = *self.known.get(name)?;
        if known.source != digest || is_reserved(&known.skill, self.compiler.reserved) {
            return None;
        }
        for (tool, was) in &known.uses {
            if self.path.iter().any(|open| open == tool) {
                return None;
            }
            self.skill(tool);
            if self.fingerprint(tool) != Some(was.as_str()) {
                return None;
            }
        }
        Some(known.clone())
    }

    fn fingerprint(&self, tool: &str) -> Option<&str> {
        if let Some(done) = self.done.get(tool) {
            return done.spec.as_ref().map(|_| done.fingerprint.as_str());
        }
        self.compiler.host.get(tool).map(|(_, fingerprint)| fingerprint.as_str())
    }

    fn spec(&self, tool: &str) -> Option<&ToolSpec> {
        match self.done.get(tool) {
            Some(done) => done.spec.as_ref(),
            None => self.compiler.host.get(tool).map(|(spec, _)| *spec),
        }
    }

    fn anew(&mut self, source: &Source, text: &str) -> Outcome {
        // Whether it declares anything is asked of every skill, and most do not.
        if !text.contains("tool_schema") {
            return Outcome::Plain;
        }
        let fields = match frontmatter::as_json(text, self.compiler.limits) {
            Ok(fields) => fields,
            Err(error) => return Outcome::Broken(vec![unreadable(error.code(), error.to_string(), error.line())]),
        };
        let Some(value) = fields.get("tool_schema") else { return Outcome::Plain };
        let yaml = frontmatter::split(text).map_or("", |split| split.yaml);
        let mut problems = Problems::new(yaml);
        if is_reserved(&source.skill, self.compiler.reserved) {
            let message =
                format!("the tool would be called `{}`, which is a name of skillhub's own", tool_name(&source.skill));
            problems.value("/name", "reserved_name", message, "give the skill another name");
        }
        let Some(declaration) = declaration::read(value, POINTER, &mut problems) else {
            return Outcome::Broken(problems.into_vec());
        };
        let knows_input = check_schemas(&declaration, value, &mut problems);
        let nested = self.called(&declaration, &mut problems);
        self.check(&declaration, knows_input, &mut problems);
        if problems.count() > 0 {
            return Outcome::Broken(problems.into_vec());
        }
        let called = declaration.steps.iter().map(|step| step.tool.as_str());
        let uses: BTreeMap<_, _> = called
            .clone()
            .map(|tool| (tool.to_owned(), self.fingerprint(tool).unwrap_or_default().to_owned()))
            .collect();
        let levels = called.filter_map(|tool| self.spec(tool)).map(|spec| spec.approval);
        Outcome::Compiled(Box::new(ComposedTool {
            name: tool_name(&source.skill),
            alias: alias(&source.skill),
            description: declaration.description.unwrap_or_else(|| source.description.clone()),
            approval: levels.max().unwrap_or(Approval::None),
            input: declaration.input,
            output: declaration.output,
            tool_schema: value.clone(),
            source: source.digest.clone(),
            uses,
            depth: nested,
            skill: source.skill.clone(),
        }))
    }

    /// Compiles the skills whose tools are called, and gives how deep they are nested. A circle is told.
    fn called(&mut self, declaration: &Declaration, problems: &mut Problems<'_>) -> usize {
        let mut nested = 0;
        for (index, step) in declaration.steps.iter().enumerate() {
            let at = join(&format!("{POINTER}/steps/{index}"), "tool");
            if let Some(from) = self.path.iter().position(|open| *open == step.tool) {
                let circle = self.path[from..].join("` calls `");
                let message = format!("`{circle}` calls `{}`, which goes round in a circle", step.tool);
                problems.value(&at, "cycle", message, "take one of the calls out");
                continue;
            }
            if self.path.len() > DEPTH {
                let message = format!("composed tools may stand {DEPTH} deep in each other");
                problems.value(&at, "too_nested", message, "call the inner steps themselves");
                continue;
            }
            self.skill(&step.tool);
            match self.done.get(&step.tool).map(|done| &done.outcome) {
                Some(Outcome::Broken(inner)) => {
                    let first = inner.first().map(ToString::to_string).unwrap_or_default();
                    let message = format!("`{}` does not compile: {first}", step.tool);
                    problems.value(&at, "broken_tool", message, "mend that skill first");
                }
                Some(outcome) => nested = nested.max(outcome.tool().map_or(0, |tool| tool.depth + 1)),
                None => {}
            }
        }
        if nested > DEPTH {
            let message = format!("composed tools may stand {DEPTH} deep in each other");
            problems.value(&format!("{POINTER}/steps"), "too_nested", message, "call the inner steps themselves");
        }
        nested
    }

    fn check(&self, declaration: &Declaration, knows_input: bool, problems: &mut Problems<'_>) {
        // A tool that was told to be broken or in a circle is known by name, so that it is not told to be missing as well.
        let told: HashSet<&str> = declaration.steps.iter().map(|step| step.tool.as_str()).collect();
        let silent: Vec<ToolSpec> = told
            .into_iter()
            .filter(|tool| {
                self.spec(tool).is_none() && (self.path.iter().any(|open| open == tool) || self.is_broken(tool))
            })
            .map(|tool| ToolSpec {
                name: tool.to_owned(),
                description: String::new(),
                input: Value::Bool(true),
                output: None,
                approval: Approval::None,
            })
            .collect();
        let mut tools: BTreeMap<&str, &ToolSpec> =
            self.compiler.host.iter().map(|(name, (spec, _))| (*name, *spec)).collect();
        tools.extend(self.done.iter().filter_map(|(name, done)| Some((name.as_str(), done.spec.as_ref()?))));
        tools.extend(silent.iter().map(|spec| (spec.name.as_str(), spec)));
        Checker { tools: &tools, declaration, knows_input }.check(POINTER, problems);
    }

    fn is_broken(&self, tool: &str) -> bool {
        self.done.get(tool).is_some_and(|done| matches!(done.outcome, Outcome::Broken(_)))
    }
}

/// Tells what is wrong with the schemas, and gives whether that of the input can be used.
fn check_schemas(declaration: &Declaration, value: &Value, problems: &mut Problems<'_>) -> bool {
    let at = join(POINTER, "input");
    let mut knows_input = schema::check(&declaration.input, &at, "the input", problems);
    if knows_input {
        let types = crate::shape::Shape::of(&declaration.input, false).types();
        if types.is_some_and(|types| types != ["object"]) {
            problems.value(
                &join(&at, "type"),
                "input_not_an_object",
                "a tool is called with an object",
                "write `type: object` and put the fields under `properties`",
            );
            knows_input = false;
        } else if value.get("input").is_some() && !declaration.input.as_object().is_some_and(describes_fields) {
            let hint = "write `input: {type: object, properties: {FIELD: {type: string}}}`";
            problems.value(&at, "input_not_an_object", "this is no JSON Schema of an object", hint);
            knows_input = false;
        }
    }
    if let Some(output) = &declaration.output {
        schema::check(output, &join(POINTER, "output"), "the output", problems);
    }
    knows_input
}

/// Whether a schema says anything about an object: fields that were written without `properties` do not.
fn describes_fields(schema: &serde_json::Map<String, Value>) -> bool {
    let keys = [
        "type",
        "properties",
        "additionalProperties",
        "patternProperties",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "required",
    ];
    schema.is_empty() || keys.iter().any(|key| schema.contains_key(*key))
}

fn unreadable(code: &'static str, message: String, line: Option<usize>) -> Problem {
    Problem {
        code: code.into(),
        message,
        hint: None,
        path: "SKILL.md".into(),
        line: line.unwrap_or(1),
        column: 1,
        pointer: String::new(),
    }
}

/// Two skills whose tools have one alias: neither can be called by it, so the later one is refused.
fn refuse_shared_aliases(outcomes: &mut BTreeMap<String, Outcome>) {
    let mut seen: HashMap<String, String> = HashMap::new();
    for (skill, outcome) in outcomes.iter_mut() {
        let Some(tool) = outcome.tool() else { continue };
        if let Some(first) = seen.insert(tool.alias.to_lowercase(), skill.clone()) {
            *outcome = Outcome::Broken(vec![Problem {
                code: "name_collision".into(),
                message: format!("its tool would be called `{}`, as that of `{first}` is", tool.alias),
                hint: Some("give one of the skills another name".to_owned()),
                path: "SKILL.md".into(),
                line: 1,
                column: 1,
                pointer: "/name".to_owned(),
            }]);
        }
    }
}

/// What tells one form of a tool from another: its schemas and its level, not its description.
fn fingerprint(spec: &ToolSpec) -> String {
    let told = serde_json::json!([spec.name, spec.input, spec.output, spec.approval]);
    hex_digest(told.to_string().as_bytes())
}

pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    skill::hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
