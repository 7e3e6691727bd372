//! [`Compiler`]: from `tool_schema`s to tools, everything checked before anything runs.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

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
        known: &[&ComposedTool],
        read: &ReadText<'_>,
    ) -> BTreeMap<String, Outcome> {
        let mut work = Work {
            compiler: self,
            read,
            sources: sources.iter().map(|source| (tool_name(&source.skill), source)).collect(),
            known: known.iter().map(|tool| (tool.name.as_str(), *tool)).collect(),
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
    /// The tools that were begun, each called by the one before.
    path: Vec<(String, Draft<'w>)>,
    done: HashMap<String, Done>,
}

/// A skill before what it calls is known.
enum Draft<'w> {
    /// It is as it was when its tool was compiled.
    Known(&'w ComposedTool),
    /// It declares a tool, and is to be compiled.
    Text { text: String, declared: Value },
    /// What became of it needs no other skill.
    Outcome(Outcome),
}

struct Done {
    outcome: Outcome,
    /// The tool as others call it, and its fingerprint; worked out when somebody does.
    callable: OnceCell<Option<(ToolSpec, String)>>,
}

impl Done {
    fn callable(&self) -> Option<&(ToolSpec, String)> {
        let worked_out = self.callable.get_or_init(|| {
            let spec = self.outcome.tool()?.spec();
            let fingerprint = fingerprint(&spec);
            Some((spec, fingerprint))
        });
        worked_out.as_ref()
    }
}

impl<'w> Work<'w, '_> {
    /// Compiles the skill of a tool, after all whose tools it calls. The way down is kept by hand: a chain may be as long as there are skills.
    fn skill(&mut self, name: &str) {
        if !self.is_new(name) {
            return;
        }
        let mut called = vec![self.open(name)];
        while let Some(callees) = called.last_mut() {
            match callees.next() {
                Some(callee) if self.is_new(&callee) => called.push(self.open(&callee)),
                Some(_) => {}
                None => {
                    called.pop();
                    self.close();
                }
            }
        }
    }

    fn is_new(&self, name: &str) -> bool {
        self.sources.contains_key(name) && !self.done.contains_key(name) && !self.path.iter().any(|open| open.0 == name)
    }

    /// Begins with a skill, and gives what it calls.
    fn open(&mut self, name: &str) -> std::vec::IntoIter<String> {
        let source = self.sources[name];
        let known = self
            .known
            .get(name)
            .copied()
            .filter(|known| known.source == source.digest && !is_reserved(&known.skill, self.compiler.reserved));
        let draft = known.map_or_else(|| self.read(source), Draft::Known);
        let called: Vec<String> = match &draft {
            Draft::Known(tool) => tool.uses.keys().cloned().collect(),
            Draft::Text { declared, .. } => declaration::called(declared).map(str::to_owned).collect(),
            Draft::Outcome(_) => Vec::new(),
        };
        self.path.push((name.to_owned(), draft));
        called.into_iter()
    }

    /// Ends with the skill that was begun last.
    fn close(&mut self) {
        let Some((name, draft)) = self.path.pop() else { return };
        let source = self.sources[name.as_str()];
        let draft = match draft {
            Draft::Known(tool) if !self.is_unchanged(tool) => self.read(source),
            draft => draft,
        };
        let outcome = match draft {
            Draft::Known(tool) => Outcome::Unchanged(Box::new(tool.clone())),
            Draft::Text { text, declared } => self.anew(source, &text, &declared),
            Draft::Outcome(outcome) => outcome,
        };
        self.done.insert(name, Done { outcome, callable: OnceCell::new() });
    }

    /// Whether everything that a known tool calls is as it was.
    fn is_unchanged(&self, known: &ComposedTool) -> bool {
        known.uses.iter().all(|(tool, was)| self.fingerprint(tool) == Some(was.as_str()))
    }

    fn read(&self, source: &Source) -> Draft<'w> {
        let text = match (self.read)(source) {
            Ok(text) => text,
            Err(why) => return Draft::Outcome(Outcome::Broken(vec![unreadable("unreadable", why, None)])),
        };
        // Whether it declares anything is asked of every skill, and most do not.
        if !text.contains("tool_schema") {
            return Draft::Outcome(Outcome::Plain);
        }
        match frontmatter::as_json(&text, self.compiler.limits) {
            Ok(mut fields) => match fields.get_mut("tool_schema").map(Value::take) {
                Some(declared) => Draft::Text { text, declared },
                None => Draft::Outcome(Outcome::Plain),
            },
            Err(error) => {
                let fault = unreadable(error.code(), error.to_string(), error.line());
                Draft::Outcome(Outcome::Broken(vec![fault]))
            }
        }
    }

    /// A tool that steps may call, and its fingerprint.
    fn callable(&self, tool: &str) -> Option<(&ToolSpec, &str)> {
        match self.done.get(tool) {
            Some(done) => done.callable().map(|(spec, fingerprint)| (spec, fingerprint.as_str())),
            None => self.compiler.host.get(tool).map(|(spec, fingerprint)| (*spec, fingerprint.as_str())),
        }
    }

    fn fingerprint(&self, tool: &str) -> Option<&str> {
        self.callable(tool).map(|(_, fingerprint)| fingerprint)
    }

    fn spec(&self, tool: &str) -> Option<&ToolSpec> {
        self.callable(tool).map(|(spec, _)| spec)
    }

    fn anew(&self, source: &Source, text: &str, value: &Value) -> Outcome {
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
        let nested = self.called(&source.skill, &declaration, &mut problems);
        self.check(&source.skill, &declaration, knows_input, &mut problems);
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

    /// Tells which of the skills whose tools are called cannot be tools, and circles, and gives how deep the others are nested.
    fn called(&self, skill: &str, declaration: &Declaration, problems: &mut Problems<'_>) -> usize {
        let own = tool_name(skill);
        let open = || self.path.iter().map(|(name, _)| name.as_str()).chain([own.as_str()]);
        let mut nested = 0;
        for (index, step) in declaration.steps.iter().enumerate() {
            let at = join(&format!("{POINTER}/steps/{index}"), "tool");
            if let Some(from) = open().position(|open| open == step.tool) {
                let circle = open().skip(from).collect::<Vec<_>>().join("` calls `");
                let message = format!("`{circle}` calls `{}`, which goes round in a circle", step.tool);
                problems.value(&at, "cycle", message, "take one of the calls out");
                continue;
            }
            match self.done.get(&step.tool).map(|done| &done.outcome) {
                Some(Outcome::Broken(inner)) => {
                    // Where that is broken by another in turn, its message tells which.
                    let inner = inner.first().map(|first| match &*first.code {
                        "broken_tool" => first.message.clone(),
                        _ => format!("`{}` does not compile: {first}", step.tool),
                    });
                    problems.value(&at, "broken_tool", inner.unwrap_or_default(), "mend that skill first");
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

    fn check(&self, skill: &str, declaration: &Declaration, knows_input: bool, problems: &mut Problems<'_>) {
        let own = tool_name(skill);
        let called: BTreeSet<&str> = declaration.steps.iter().map(|step| step.tool.as_str()).collect();
        // A tool that was told to be broken or in a circle is known by name, so that it is not told to be missing as well.
        let is_told =
            |tool: &str| self.path.iter().any(|(open, _)| open == tool) || tool == own || self.is_broken(tool);
        let silent: Vec<ToolSpec> = called
            .iter()
            .filter(|tool| self.spec(tool).is_none() && is_told(tool))
            .map(|tool| ToolSpec {
                name: (*tool).to_owned(),
                description: String::new(),
                input: Value::Bool(true),
                output: None,
                approval: Approval::None,
            })
            .collect();
        let mut tools: BTreeMap<&str, &ToolSpec> =
            called.iter().filter_map(|tool| Some((*tool, self.spec(tool)?))).collect();
        tools.extend(silent.iter().map(|spec| (spec.name.as_str(), spec)));
        let names = || {
            let composed = self.done.iter().filter(|(_, done)| done.outcome.tool().is_some());
            let mut names: Vec<&str> = composed.map(|(name, _)| name.as_str()).collect();
            names.extend(self.compiler.host.keys());
            names.sort_unstable();
            names
        };
        Checker { tools: &tools, names: &names, declaration, knows_input }.check(POINTER, problems);
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
    let told = serde_json::to_vec(&(&spec.name, &spec.input, &spec.output, spec.approval));
    hex_digest(&told.unwrap_or_default())
}

pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    skill::hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
