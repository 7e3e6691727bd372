//! Tools of configured servers that join a session's tool list once a skill that brings them has been read.

use std::time::{Duration, Instant};

use agent::{PermissionDecision, Settings, matches};
use compose::{Approval, Bounds, RunLimits, ToolHost, ToolSpec};
use ops::{Question, Refusal};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use skill::{SkillName, failure::FailureKind};

use crate::{
    composed,
    tool::{Call, Spec, ToolResult, object},
};

/// A server's tool, with the skill that brings it.
#[derive(Debug, Clone)]
pub(crate) struct SkillTool {
    /// Name under which it is offered: the server's own name if the skill uses that, else `mcp__SERVER__TOOL`.
    pub name: String,
    /// Specification, under the name `mcp__SERVER__TOOL`.
    pub spec: ToolSpec,
    /// The first skill that brings the tool.
    pub skill: SkillName,
}

/// Collects the servers' tools that skills bring, each once, in the order of the skills. Without `skills`, all skills
/// that the agent may read without confirmation count.
pub(crate) fn joined(call: &Call<'_>, skills: Option<&[SkillName]>) -> Result<Vec<SkillTool>, Refusal> {
    let (settings, hosts) = (call.place.settings()?, call.place.tool_hosts()?);
    let brought = composed::named_by_skills(call, &settings, &hosts, skills)?;
    if brought.is_empty() {
        return Ok(Vec::new());
    }
    let may_use =
        |spec: &ToolSpec| spec.name.starts_with("mcp__") && decision(call, &settings, spec) != PermissionDecision::Deny;
    let specs: Vec<ToolSpec> = hosts.tools().into_iter().filter(may_use).collect();
    let mut joined: Vec<SkillTool> = Vec::new();
    for (skill, name) in &brought {
        for spec in specs.iter().filter(|spec| means(name, spec)) {
            if !joined.iter().any(|known| known.spec.name == spec.name) {
                let name = offered_as(name, spec, &specs).to_owned();
                joined.push(SkillTool { name, spec: spec.clone(), skill: skill.clone() });
            }
        }
    }
    Ok(joined)
}

/// Returns whether a skill's tool name refers to this tool. A pattern must name the server: a bare `*` restricts
/// nothing and brings nothing.
fn means(name: &str, spec: &ToolSpec) -> bool {
    own_name(spec) == name || (name.starts_with("mcp__") && matches(name, &spec.name))
}

/// Returns the server's own name of its tool.
fn own_name(spec: &ToolSpec) -> &str {
    let of_server = spec.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    of_server.map_or(spec.name.as_str(), |(_, own)| own)
}

/// Chooses the offered name: the one in the skill if it matches exactly one tool and cannot be confused with a tool of
/// this server, else the full name.
fn offered_as<'t>(name: &'t str, spec: &'t ToolSpec, specs: &[ToolSpec]) -> &'t str {
    let is_single = specs.iter().filter(|other| own_name(other) == name).count() == 1;
    let is_ours = Spec::find(name).is_some() || composed::may_be(name) || name.starts_with("mcp__");
    if is_single && !is_ours { name } else { &spec.name }
}

fn decision(call: &Call<'_>, settings: &Settings, spec: &ToolSpec) -> PermissionDecision {
    match settings.capability(call.agent, &spec.name) {
        Some(false) => PermissionDecision::Deny,
        Some(true) | None => settings.permissions.tool(call.agent, &spec.name),
    }
}

impl SkillTool {
    /// Describes the tool for a client's tool list.
    pub fn tool(&self) -> Tool {
        let reads = self.spec.approval == Approval::None;
        let hints = ToolAnnotations::from_raw(None, Some(reads), Some(!reads), None, Some(true));
        let input = if self.spec.input.is_object() { self.spec.input.clone() } else { json!({"type": "object"}) };
        let output = json!({
            "type": "object",
            "properties": {"ok": {"type": "boolean"}, "output": self.spec.output.clone().unwrap_or(Value::Bool(true))},
            "required": ["ok"],
        });
        let meta = json!({
            "skillhub/skill": self.skill.as_str(), "skillhub/name": self.spec.name, "skillhub/approval": self.spec.approval,
        });
        let mut tool = Tool::new(self.name.clone(), self.spec.description.clone(), object(input))
            .with_title(self.spec.name.clone())
            .with_raw_output_schema(object(output))
            .with_annotations(hints);
        tool.meta = serde_json::from_value(meta).ok();
        tool
    }

    /// Calls the tool if the agent may use it and a person agreed to its approval level.
    pub fn call(&self, call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
        let settings = call.place.settings()?;
        let name = &self.spec.name;
        let level = match decision(call, &settings, &self.spec) {
            PermissionDecision::Deny => {
                let message = format!("{} is not allowed to use {name}", call.agent);
                return Err(Refusal::new(FailureKind::Refused, "policy_denied", message)
                    .hint("continue without it; a person can allow it with [[permissions]] in config.toml"));
            }
            PermissionDecision::Ask => self.spec.approval.max(Approval::PlanConfirm),
            PermissionDecision::Allow => self.spec.approval,
        };
        let input = Value::Object(arguments);
        if level > Approval::None {
            let shown = composed::shown(&input);
            let text = format!("Allow the agent to run {name} ({})? Input: {shown}", level.as_str());
            let hint = "ask a person to set the approval level with `tools` under [mcp_servers.NAME] in config.toml";
            call.ask(name, Question::new(text, &json!([self.spec, input])), hint)?;
        }
        let limits = RunLimits::default();
        let bounds = Bounds {
            deadline: Instant::now() + Duration::from_millis(limits.call_millis),
            cancelled: call.cancelled,
            answer_bytes: limits.answer_bytes,
            level: self.spec.approval,
        };
        let output = call.place.tool_hosts()?.call(name, &input, &bounds);
        let output = output.map_err(|fault| Refusal::of_tool(&compose::Failure::from(&fault), Value::Null))?;
        let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        Ok(ToolResult { text: Some(text), ..json!({"ok": true, "output": output}).into() })
    }
}
