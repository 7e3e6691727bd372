//! The server's own tools, and the checks that each call passes.

pub(crate) mod change;
mod codegen;
mod deciding;
mod history;
mod marketplace;
mod names;
mod outcome;
mod review;
mod review_question;
pub(crate) mod skills;

use agent::{
    PermissionDecision,
    decisions::{Act, Channel, Operation},
};
use ops::{Question, Refusal};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use skill::{SkillName, failure::FailureKind};
use skill_manage::review::ProposalRef;

use crate::{
    systems::SYSTEMS,
    tool::{Call, Effect, Spec, ToolResult},
};

/// All tools of the server, in the order of the list. Those that are always offered come first.
pub(crate) const TOOLS: &[Spec] = &[
    skills::READ_SKILL,
    skills::READ_SKILL_FILE,
    skills::SEARCH_SKILLS,
    change::SKILL_MANAGE,
    outcome::RECORD_OUTCOME,
    change::SKILL_ROLLBACK,
    history::SKILL_HISTORY,
    history::SKILL_DIFF,
    history::SKILL_STATUS,
    review::SKILL_REVIEW_LIST,
    review::SKILL_REVIEW_SHOW,
    skills::DISABLE_SKILL,
    skills::ENABLE_SKILL,
    marketplace::SEARCH_MARKETPLACE,
    marketplace::INSTALL_SKILL,
    codegen::SKILLS_CODEGEN,
    codegen::SKILLS_CODEGEN_STATUS,
    codegen::SKILLS_CODEGEN_REMOVE,
];

impl Spec {
    /// Finds a tool by its name, or by its name in another system.
    pub fn find(name: &str) -> Option<&'static Self> {
        let own = SYSTEMS.iter().find_map(|system| (system.own_name)(name));
        let name = own.as_deref().unwrap_or(name);
        TOOLS.iter().find(|spec| spec.name == name)
    }
}

impl Spec {
    /// Executes a call if the agent may use the tool.
    pub fn call(&self, call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
        let settings = call.place.settings()?;
        let decision = settings.permissions.tool(call.agent, self.name);
        if decision == PermissionDecision::Deny {
            let message = format!("{} is not allowed to use {}", call.agent, self.name);
            return Err(Refusal::new(FailureKind::Refused, "policy_denied", message)
                .hint("continue without it; a person can allow it with [[permissions]] in config.toml"));
        }
        let operation = self.operation()?;
        let arguments = names::by_folder(call, &settings, self, operation, arguments)?;
        let admitted = if names::creates(&arguments) { operation.creating() } else { *operation };
        self.admit(call, &admitted, &arguments)?;
        match decision {
            PermissionDecision::Ask => {
                let text = match self.effect {
                    Effect::Installs => {
                        let text = marketplace::question(&arguments)?;
                        marketplace::check_release(call, &arguments)?;
                        text
                    }
                    _ => format!("Allow the agent to use {} ({})?", self.name, self.title.to_lowercase()),
                };
                let hint = "ask a person to do it on the command line, or to allow it with [[permissions]] in \
                            config.toml";
                call.ask(self.name, Question::new(text, &json!([self.name, arguments])), hint)?;
            }
            PermissionDecision::Allow | PermissionDecision::Deny => {}
        }
        (self.run)(call, arguments)
    }
}

impl Spec {
    /// Returns the tool's row in the decision table. A tool without a row does not run.
    fn operation(&self) -> Result<&'static Operation, Refusal> {
        let internal = || {
            Refusal::new(FailureKind::Failed, "internal", "internal error: the decision table has no row for this tool")
        };
        Operation::find(Channel::Mcp, self.name).ok_or_else(internal)
    }

    /// Checks a call against the decision table.
    fn admit(&self, call: &Call<'_>, operation: &Operation, arguments: &JsonObject) -> Result<(), Refusal> {
        // Tools that only read answer a hidden name and a missing one alike, with similar names.
        if operation.act == Act::Reads {
            return Ok(());
        }
        let texts =
            |fields: &'static [&'static str]| fields.iter().flat_map(move |field| texts_in(arguments.get(*field)));
        let skills = texts(operation.skills).filter_map(|text| skills::bare_name(text.split('@').next()?).ok());
        let skills: Vec<SkillName> = skills.collect();
        let proposals = texts(operation.proposals).filter_map(|text| text.parse::<ProposalRef>().ok());
        let proposals = proposals.map(|ProposalRef { id, .. }| (id.clone(), call.place.library_with_proposal(&id)));
        let ask = |skill: &SkillName| {
            let text = format!("Allow the agent to use {} on the skill {skill}?", self.name);
            let question = Question::new(text, &json!([self.name, arguments]));
            call.ask(&format!("{} on {skill}", self.name), question, "ask a person to do it on the command line")
        };
        ops::admit(operation, Channel::Mcp, call.sight()?, skills.iter().cloned(), proposals, ask)?;
        let is_of_known = operation.act == Act::Records;
        skills.iter().filter(|_| is_of_known).try_for_each(|skill| call.place.check_exists(call.live, operation, skill))
    }
}

/// Returns the strings of a field that holds one string or a list.
fn texts_in(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        other => other.and_then(Value::as_str).into_iter().collect(),
    }
}

/// Builds the schema of an argument object. Arguments other than `properties` are not allowed.
pub(crate) fn arguments(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Leaves out the schema of an answer, which no model reads. The tools that are always listed do so, to be short.
pub(crate) fn undeclared() -> Value {
    Value::Null
}

/// Builds the schema of a string.
pub(crate) fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Parses arguments. Unknown ones are an error.
pub(crate) fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Refusal> {
    skill::read_json(Value::Object(arguments)).map_err(|fault| Refusal::request(format!("invalid arguments: {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_operation_row() {
        for spec in TOOLS {
            let row = Operation::find(Channel::Mcp, spec.name).unwrap_or_else(|| panic!("{} has no row", spec.name));
            let schema = (spec.input)();
            for field in row.skills.iter().chain(row.proposals) {
                assert!(schema["properties"].get(field).is_some(), "{} has no field {field}", spec.name);
            }
        }
        for row in agent::decisions::TOOLS {
            assert!(Spec::find(row.name).is_some(), "there is no tool {}", row.name);
        }
    }

    #[test]
    fn tool_names_are_unique_with_object_schemas() {
        for (at, spec) in TOOLS.iter().enumerate() {
            assert!(TOOLS[..at].iter().all(|other| other.name != spec.name), "{}", spec.name);
            let tool = spec.tool();
            assert_eq!(tool.input_schema["additionalProperties"], false, "{}", spec.name);
            assert!(tool.output_schema.is_none_or(|schema| schema["required"] == json!(["ok"])), "{}", spec.name);
            let required = tool.input_schema["required"].as_array().unwrap();
            let properties = tool.input_schema["properties"].as_object().unwrap();
            assert!(required.iter().all(|name| properties.contains_key(name.as_str().unwrap())), "{}", spec.name);
        }
    }
}
