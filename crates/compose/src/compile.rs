//! Compiler from `tool_schema`s to tools, which checks everything before anything runs ([`Compiler`]).

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

/// Maximum nesting depth of composed tools.
pub const DEPTH: usize = 8;

/// A skill that may declare a tool.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name of the skill.
    pub skill: String,
    /// Description from the frontmatter, used if the declaration has none.
    pub description: String,
    /// Digest that changes with any of its files.
    pub digest: String,
}

/// Reads the `SKILL.md` of a source. The error is the reason in words.
pub type ReadText<'a> = dyn Fn(&Source) -> Result<String, String> + 'a;

/// Result of compiling one skill.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The tool that it declares.
    Compiled(Box<ComposedTool>),
    /// The tool compiled earlier. Neither the skill nor anything that it calls has changed.
    Unchanged(Box<ComposedTool>),
    /// The skill does not declare a tool.
    Plain,
    /// Problems of a declaration that cannot be compiled.
    Broken(Vec<Problem>),
}

impl Outcome {
    /// Returns the tool, if there is one.
    pub fn tool(&self) -> Option<&ComposedTool> {
        match self {
            Self::Compiled(tool) | Self::Unchanged(tool) => Some(tool),
            Self::Plain | Self::Broken(_) => None,
        }
    }
}

/// Compiles skills against the tools of a host.
pub struct Compiler<'a> {
    host: BTreeMap<&'a str, (&'a ToolSpec, String)>,
    reserved: &'a [&'a str],
    limits: &'a Limits,
}

impl<'a> Compiler<'a> {
    /// Creates a compiler for the tools of a host. `reserved` are names that a skill's tool must not have.
    pub fn new(host: &'a [ToolSpec], reserved: &'a [&'a str], limits: &'a Limits) -> Self {
        let host = host.iter().map(|spec| (spec.name.as_str(), (spec, fingerprint(spec)))).collect();
        Self { host, reserved, limits }
    }

    /// Compiles the `wanted` skills among `sources` and the skills whose tools they call. Each is compiled once,
    /// after its callees. A tool in `known` that is still valid is not read again.
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

/// State of one compilation.
struct Work<'w, 'a> {
    compiler: &'w Compiler<'a>,
    read: &'w ReadText<'w>,
    sources: HashMap<String, &'w Source>,
    known: HashMap<&'w str, &'w ComposedTool>,
    /// Call stack: the tools being compiled, each called by the previous one.
    path: Vec<(String, Draft<'w>)>,
    done: HashMap<String, Done>,
}

/// A skill before its callees are known.
enum Draft<'w> {
    /// Its own files are unchanged since its tool was compiled.
    Known(&'w ComposedTool),
    /// It declares a tool that has to be compiled.
    Text { text: String, declared: Value },
    /// Its result does not depend on other skills.
    Outcome(Outcome),
}

struct Done {
    outcome: Outcome,
    /// The tool as seen by its callers, with its fingerprint. Computed on demand.
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
    /// Compiles the skill of a tool after all its callees. Uses an explicit stack, since a chain of calls may be as
    /// long as the number of skills.
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

    /// Pushes a skill onto the stack and returns its callees.
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

    /// Pops a skill from the stack and stores its result.
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

    /// Returns whether the callees of a known tool are unchanged.
    fn is_unchanged(&self, known: &ComposedTool) -> bool {
        known.uses.iter().all(|(tool, was)| self.fingerprint(tool) == Some(was.as_str()))
    }

    fn read(&self, source: &Source) -> Draft<'w> {
        let text = match (self.read)(source) {
            Ok(text) => text,
            Err(why) => return Draft::Outcome(Outcome::Broken(vec![unreadable("unreadable", why, None)])),
        };
        // Shortcut, since every skill is read and most do not declare a tool.
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

    /// Returns a tool that steps may call, with its fingerprint.
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
                format!("the tool's name would be `{}`, which is reserved for skillhub", tool_name(&source.skill));
            problems.value("/name", "reserved_name", message, "rename the skill");
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

    /// Reports callees that do not compile and call cycles. Returns the nesting depth of the others.
    fn called(&self, skill: &str, declaration: &Declaration, problems: &mut Problems<'_>) -> usize {
        let own = tool_name(skill);
        let open = || self.path.iter().map(|(name, _)| name.as_str()).chain([own.as_str()]);
        let mut nested = 0;
        for (index, step) in declaration.steps.iter().enumerate() {
            let at = join(&format!("{POINTER}/steps/{index}"), "tool");
            if let Some(from) = open().position(|open| open == step.tool) {
                let circle = open().skip(from).collect::<Vec<_>>().join("` calls `");
                let message = format!("`{circle}` calls `{}`, which is a cycle", step.tool);
                problems.value(&at, "cycle", message, "remove one of these calls");
                continue;
            }
            match self.done.get(&step.tool).map(|done| &done.outcome) {
                Some(Outcome::Broken(inner)) => {
                    // The message of a broken callee already names the skill at the end of the chain.
                    let inner = inner.first().map(|first| match &*first.code {
                        "broken_tool" => first.message.clone(),
                        _ => format!("`{}` does not compile: {first}", step.tool),
                    });
                    problems.value(&at, "broken_tool", inner.unwrap_or_default(), "fix that skill first");
                }
                Some(outcome) => nested = nested.max(outcome.tool().map_or(0, |tool| tool.depth + 1)),
                None => {}
            }
        }
        if nested > DEPTH {
            let message = format!("composed tools are nested more than {DEPTH} levels deep");
            problems.value(
                &format!("{POINTER}/steps"),
                "too_nested",
                message,
                "copy the steps of an inner tool instead of calling it",
            );
        }
        nested
    }

    fn check(&self, skill: &str, declaration: &Declaration, knows_input: bool, problems: &mut Problems<'_>) {
        let own = tool_name(skill);
        let called: BTreeSet<&str> = declaration.steps.iter().map(|step| step.tool.as_str()).collect();
        // Tools already reported as broken or cyclic get a permissive spec, so that they are not reported as missing
        // as well.
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

/// Reports problems of the schemas. Returns whether the input's schema is valid.
fn check_schemas(declaration: &Declaration, value: &Value, problems: &mut Problems<'_>) -> bool {
    let at = join(POINTER, "input");
    let mut knows_input = schema::check(&declaration.input, &at, "the input", problems);
    if knows_input {
        let types = crate::shape::Shape::of(&declaration.input, false).types();
        if types.is_some_and(|types| types != ["object"]) {
            problems.value(
                &join(&at, "type"),
                "input_not_an_object",
                "the input of a tool must be an object",
                "write `type: object` and put the fields under `properties`",
            );
            knows_input = false;
        } else if value.get("input").is_some() && !declaration.input.as_object().is_some_and(describes_fields) {
            let hint = "write `input: {type: object, properties: {FIELD: {type: string}}}`";
            problems.value(&at, "input_not_an_object", "this is not a JSON Schema of an object", hint);
            knows_input = false;
        }
    }
    if let Some(output) = &declaration.output {
        schema::check(output, &join(POINTER, "output"), "the output", problems);
    }
    knows_input
}

/// Returns whether a schema has keywords about objects. It does not if the fields were written without `properties`.
fn describes_fields(schema: &serde_json::Map<String, Value>) -> bool {
    let keys = [
        "type", "properties", "additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf",
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

/// Refuses the later of two skills whose tools have the same alias, since the alias would be ambiguous.
fn refuse_shared_aliases(outcomes: &mut BTreeMap<String, Outcome>) {
    let mut seen: HashMap<String, String> = HashMap::new();
    for (skill, outcome) in outcomes.iter_mut() {
        let Some(tool) = outcome.tool() else { continue };
        if let Some(first) = seen.insert(tool.alias.to_lowercase(), skill.clone()) {
            *outcome = Outcome::Broken(vec![Problem {
                code: "name_collision".into(),
                message: format!(
                    "its tool would have the name `{}`, which the tool of `{first}` already has",
                    tool.alias
                ),
                hint: Some("rename one of the skills".to_owned()),
                path: "SKILL.md".into(),
                line: 1,
                column: 1,
                pointer: "/name".to_owned(),
            }]);
        }
    }
}

/// Hashes the interface of a tool: name, schemas and approval level, but not the description.
fn fingerprint(spec: &ToolSpec) -> String {
    let told = serde_json::to_vec(&(&spec.name, &spec.input, &spec.output, spec.approval));
    hex_digest(&told.unwrap_or_default())
}

pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    skill::hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
