//! [`run`]: any bytes as a `tool_schema`, compiled, planned and run with tools that give back what they get.

use std::{collections::BTreeSet, path::Path, sync::atomic::AtomicBool};

use compose::{
    Approval, Bounds, Compiler, Condition, Executor, Native, NativeSettings, Outcome, PermissionDecision, RunLimits,
    Source, ToolFault, ToolHost, ToolSpec, template::Template,
};
use serde_json::{Value, json};
use skill::Limits;

/// Takes the bytes as a template, as a condition, as the YAML below `tool_schema`, and as a whole `SKILL.md`.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(template) = Template::parse(text) {
        assert!(template.references().all(|reference| text.contains(&reference.text)));
        assert!(template.single_reference().is_none() || template.constant().is_none());
    }
    let _either_way = Condition::parse(text);
    let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
    check(&format!("---\nname: a\ndescription: d\ntool_schema:\n{indented}---\nBody.\n"));
    check(text);
}

/// What compiles runs within its limits, and what does not is told with lines that are there.
fn check(skill_md: &str) {
    let echo = Echo(Native::new(NativeSettings { shell: true, ..NativeSettings::default() }, Path::new("/")).tools());
    let sources = [source("a"), source("b")];
    let wanted: BTreeSet<&str> = sources.iter().map(|source| source.skill.as_str()).collect();
    let (limits, read) = (Limits::default(), |_: &Source| Ok(skill_md.to_owned()));
    let compiler = Compiler::new(&echo.0, &["skill_manage"], &limits);
    let outcomes = compiler.compile(&sources, &wanted, &[], &read);
    let tools: Vec<_> = outcomes.values().filter_map(|outcome| outcome.tool().cloned()).collect();
    let again = compiler.compile(&sources, &wanted, &tools.iter().collect::<Vec<_>>(), &read);
    assert!(tools.iter().all(|tool| again[&tool.skill] == Outcome::Unchanged(Box::new(tool.clone()))));
    let lines = skill_md.matches('\n').count() + 2;
    for outcome in outcomes.values() {
        let Outcome::Broken(problems) = outcome else { continue };
        assert!(!problems.is_empty());
        assert!(
            problems.iter().all(|problem| (1..=lines).contains(&problem.line) && problem.column > 0),
            "{problems:?}"
        );
    }
    let cancelled = AtomicBool::new(false);
    let executor = Executor {
        host: &echo,
        composed: &tools,
        decision: &|_| PermissionDecision::Allow,
        approved: Approval::ExecEscalation,
        limits: RunLimits {
            calls: 50,
            loop_items: 20,
            bytes: 100_000,
            answer_bytes: 20_000,
            back_off_millis: 0,
            ..RunLimits::default()
        },
        cancelled: &cancelled,
    };
    for tool in &tools {
        assert!(tool.declaration().is_some());
        let input = json!({"a": [1, "x", null, {"b": [true]}], "url": "u", "n": 3});
        let _either_way = executor.plan(tool, input.clone());
        let trace = executor.run(tool, input);
        assert!(trace.steps.iter().flat_map(|step| &step.calls).count() <= 50 * 64);
    }
}

fn source(skill: &str) -> Source {
    Source { skill: skill.to_owned(), description: "d".to_owned(), digest: "1".to_owned() }
}

/// Gives back what it gets.
struct Echo(Vec<ToolSpec>);

impl ToolHost for Echo {
    fn tools(&self) -> Vec<ToolSpec> {
        self.0.clone()
    }

    fn call(&self, _tool: &str, input: &Value, _bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        Ok(input.clone())
    }
}
