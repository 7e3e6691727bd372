//! Dry run of a composed tool, which resolves everything known in advance ([`plan`]).

use serde_json::{Map, Value, json};

use super::Shared;
use crate::{
    declaration::{Filling, OnError, Step},
    host::Approval,
    reference::{Reference, Root},
    scope::{Scope, StepResult},
    template::Template,
    tool::ComposedTool,
    trace::Failure,
};

/// Maximum number of elements of a known list that are shown individually.
const ITEMS_SHOWN: usize = 5;

/// Builds the plan, see [`super::Executor::plan`].
pub(super) fn plan(shared: &Shared<'_, '_>, tool: &ComposedTool, input: Value) -> Result<Value, Failure> {
    let input = shared.with_defaults(tool, input);
    shared.judge(&tool.name, "input", &tool.input, &input).map_err(|fault| Failure::from(&fault))?;
    let declaration = tool.declaration().ok_or_else(|| Failure {
        code: "damaged".to_owned(),
        message: "the stored definition of this tool is damaged".to_owned(),
        hint: Some("compile it again".to_owned()),
    })?;
    let steps = declaration.steps.iter().enumerate();
    let steps: Vec<Value> = steps.map(|(index, step)| step_plan(shared, index, step, &input)).collect();
    let called: Vec<&String> = tool.uses.keys().collect();
    let reaches = shared.all_of(tool);
    Ok(json!({
        "tool": tool.name, "approval": shared.level(tool), "input": input, "tools": called, "reaches": reaches, "steps": steps,
    }))
}

fn step_plan(shared: &Shared<'_, '_>, index: usize, step: &Step, input: &Value) -> Value {
    let scope = Scope { input, steps: &[] as &[StepResult], item: None, budget: &shared.budget };
    let list = step.for_each.as_ref().map(|list| known(list, &scope));
    let mut told = json!({"step": index, "id": step.id, "tool": step.tool, "approval": level(shared, &step.tool)});
    match list {
        Some(Value::Array(items)) => {
            let shown = items.iter().take(ITEMS_SHOWN).enumerate();
            let shown = shown.map(|(index, item)| show(&step.input, &Scope { item: Some((item, index)), ..scope }));
            told["for_each"] = json!({"items": items.len()});
            told["inputs"] = shown.collect();
        }
        Some(unknown) => {
            told["for_each"] = unknown;
            told["input"] = show(&step.input, &scope);
        }
        None => told["input"] = show(&step.input, &scope),
    }
    if let Some(when) = &step.when {
        let is_known = when.references().iter().all(|reference| is_known(reference, &scope));
        told["when"] = match is_known.then(|| when.holds(&scope).ok()).flatten() {
            Some(holds) => Value::Bool(holds),
            None => Value::from("known only when the tool runs"),
        };
    }
    told["on_error"] = Value::from(if step.on_error == OnError::Skip { "skip" } else { "abort" });
    told["retries"] = Value::from(step.retries);
    told
}

fn level(shared: &Shared<'_, '_>, tool: &str) -> Approval {
    match shared.composed(tool) {
        Some(inner) => shared.level(inner),
        None => shared.specs.get(tool).map_or(Approval::ExecEscalation, |spec| spec.approval),
    }
}

/// Returns whether a reference can be resolved before the run.
fn is_known(reference: &Reference, scope: &Scope<'_>) -> bool {
    match reference.root {
        Root::Input => true,
        Root::Item | Root::Index => scope.item.is_some(),
        Root::Steps => false,
    }
}

fn show(filling: &Filling, scope: &Scope<'_>) -> Value {
    match filling {
        Filling::Text(template) => known(template, scope),
        Filling::Constant(value) => value.clone(),
        Filling::Unreadable => Value::Null,
        Filling::List(elements) => elements.iter().map(|element| show(element, scope)).collect(),
        Filling::Fields(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), show(value, scope))).collect::<Map<_, _>>().into()
        }
    }
}

/// Fills a template partially. References that only the run can resolve remain in it.
fn known(template: &Template, scope: &Scope<'_>) -> Value {
    let partly = template.with(|reference| match is_known(reference, scope) {
        true => scope.resolve(reference).unwrap_or_default(),
        false => Some(Value::String(format!("{{{{{reference}}}}}"))),
    });
    partly.unwrap_or_default()
}
