//! Validation of the tools that a server announces.

use std::collections::BTreeSet;

use compose::{Approval, ServerSettings, ToolSpec};
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

/// Maximum number of tools per server.
pub(super) const TOOLS: usize = 512;

/// Maximum length of a tool's name, in characters.
pub(super) const NAME_CHARS: usize = 128;

/// Maximum length of a description, in characters.
const DESCRIPTION_CHARS: usize = 1024;

/// Maximum size of a schema, in bytes.
const SCHEMA_BYTES: usize = 64 << 10;

/// A validated tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RemoteTool {
    /// Tool name on the server, without the `mcp__SERVER__` prefix.
    pub(super) own: String,
    /// Specification under the name that steps use.
    pub(super) spec: ToolSpec,
    /// True if a call with an unknown outcome may be retried.
    pub(super) is_repeatable: bool,
}

/// Filters a server's tools: valid names only, each once, up to [`TOOLS`].
pub(super) fn offered(name: &str, server: &ServerSettings, tools: Vec<Tool>) -> Vec<RemoteTool> {
    let mut seen = BTreeSet::new();
    tools
        .into_iter()
        .filter(|tool| is_name(&tool.name) && seen.insert(tool.name.to_string()))
        .take(TOOLS)
        .map(|tool| one(name, server, &tool))
        .collect()
}

fn one(name: &str, server: &ServerSettings, tool: &Tool) -> RemoteTool {
    let approval = level(server, tool);
    let says_idempotent = tool.annotations.as_ref().is_some_and(|hints| hints.idempotent_hint == Some(true));
    let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    RemoteTool {
        own: tool.name.to_string(),
        spec: ToolSpec {
            name: format!("mcp__{name}__{}", tool.name),
            description: plain(description, DESCRIPTION_CHARS),
            input: schema(&tool.input_schema).unwrap_or(Value::Bool(true)),
            output: tool.output_schema.as_deref().and_then(schema),
            approval,
        },
        is_repeatable: approval == Approval::None || says_idempotent,
    }
}

/// Determines a tool's approval level. The configuration of the tool or its server takes precedence over the server's
/// annotations. Missing or contradictory annotations count as the most dangerous level.
fn level(server: &ServerSettings, tool: &Tool) -> Approval {
    if let Some(level) = server.tools.get(tool.name.as_ref()).copied().or(server.approval) {
        return level;
    }
    let hints = tool.annotations.as_ref();
    let (reads, destroys) =
        (hints.and_then(|hints| hints.read_only_hint), hints.and_then(|hints| hints.destructive_hint));
    match (reads, destroys) {
        (Some(true), None | Some(false)) => Approval::None,
        (None | Some(false), Some(false)) => Approval::PlanConfirm,
        _ => Approval::ExecEscalation,
    }
}

/// Returns a schema that can be validated here. `None` means that validation is left to the server: the schema is too
/// large, too expensive to follow, or uses features that the validator lacks (look-ahead in a pattern, external
/// references).
fn schema(schema: &JsonObject) -> Option<Value> {
    let bytes = serde_json::to_vec(schema).ok()?.len();
    let schema = (bytes <= SCHEMA_BYTES).then(|| Value::Object(schema.clone()))?;
    (compose::schema::is_bounded(&schema) && json_schema::Schema::of_2020_12(&schema).is_ok()).then_some(schema)
}

/// Returns whether a step can refer to a tool by this name.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=NAME_CHARS).contains(&name.len()) && name.bytes().all(fits)
}

/// Converts untrusted text to one line of at most `chars` characters, without invisible characters.
pub(super) fn plain(text: &str, chars: usize) -> String {
    let some: String = text.chars().take(chars.saturating_mul(4)).collect();
    let mut told: Vec<char> = agent::single_line(&some).chars().collect();
    if told.len() > chars {
        told.truncate(chars.saturating_sub(1));
        told.push('…');
    }
    told.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, annotations: Value) -> Tool {
        let tool = json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations});
        serde_json::from_value(tool).unwrap()
    }

    /// Without either, the strictest level holds.
    #[test]
    fn configured_level_overrides_annotations() {
        let silent = ServerSettings::default();
        for (annotations, level) in [
            (json!(null), Approval::ExecEscalation),
            (json!({}), Approval::ExecEscalation),
            (json!({"readOnlyHint": true}), Approval::None),
            (json!({"readOnlyHint": true, "destructiveHint": false}), Approval::None),
            (json!({"readOnlyHint": true, "destructiveHint": true}), Approval::ExecEscalation),
            (json!({"destructiveHint": false}), Approval::PlanConfirm),
            (json!({"readOnlyHint": false, "destructiveHint": false}), Approval::PlanConfirm),
            (json!({"readOnlyHint": false}), Approval::ExecEscalation),
        ] {
            assert_eq!(super::level(&silent, &tool("t", annotations.clone())), level, "{annotations}");
        }
        let says = ServerSettings {
            approval: Some(Approval::PlanConfirm),
            tools: [("loud".to_owned(), Approval::ExecEscalation)].into(),
            ..ServerSettings::default()
        };
        let read_only = json!({"readOnlyHint": true});
        assert_eq!(super::level(&says, &tool("quiet", read_only.clone())), Approval::PlanConfirm);
        assert_eq!(super::level(&says, &tool("loud", read_only)), Approval::ExecEscalation);
    }

    #[test]
    fn invalid_and_duplicate_tools_are_dropped() {
        let server = ServerSettings::default();
        let long = "n".repeat(NAME_CHARS + 1);
        let names = ["good", "good", "a b", "", "../up", "zeile\nzwei", "名", long.as_str(), "dotted.name-1"];
        let tools = names.iter().map(|name| tool(name, json!(null))).collect();
        let kept: Vec<String> = offered("s", &server, tools).into_iter().map(|tool| tool.spec.name).collect();
        assert_eq!(kept, ["mcp__s__good", "mcp__s__dotted.name-1"]);
        let many = (0..2000).map(|i| tool(&format!("t{i}"), json!(null))).collect();
        assert_eq!(offered("s", &server, many).len(), TOOLS);
    }

    /// A description is also a single line.
    #[test]
    fn descriptions_and_schemas_are_bounded() {
        let raw = json!({
            "name": "t", "description": format!("first\u{202e}\n\u{1b}[31m second {}", "x".repeat(5000)),
            "inputSchema": {"type": "object", "description": "y".repeat(SCHEMA_BYTES)},
        });
        let spec = one("s", &ServerSettings::default(), &serde_json::from_value(raw).unwrap()).spec;
        assert_eq!(spec.description.chars().count(), DESCRIPTION_CHARS);
        assert!(!spec.description.chars().any(|c| c.is_control() || c == '\u{202e}'), "{}", spec.description);
        assert_eq!(spec.input, json!(true));
    }

    #[test]
    fn unsupported_schema_is_left_to_server() {
        let mut endless = json!({"type": "object"});
        for level in 0..40 {
            let next =
                json!([{"$ref": format!("#/$defs/d{}", level + 1)}, {"$ref": format!("#/$defs/d{}", level + 1)}]);
            endless["$defs"][format!("d{level}")] = json!({ "allOf": next });
        }
        endless["$defs"]["d40"] = json!({"type": "string"});
        endless["properties"] = json!({"a": {"$ref": "#/$defs/d0"}});
        for (schema, is_kept) in [
            (json!({"type": "object", "properties": {"a": {"type": "string"}}}), true),
            (json!({"type": "object", "properties": {"child": {"$ref": "#"}}}), true),
            (json!({"type": "object", "properties": {"a": {"pattern": "^(?!foo)"}}}), false),
            (json!({"type": "object", "properties": {"a": {"$ref": "https://a.example/s.json"}}}), false),
            (endless, false),
        ] {
            let raw = json!({"name": "t", "inputSchema": schema});
            let spec = one("s", &ServerSettings::default(), &serde_json::from_value(raw).unwrap()).spec;
            assert_eq!(spec.input != json!(true), is_kept, "{}", spec.input);
        }
    }

    #[test]
    fn server_names_keep_tool_names_unambiguous() {
        for good in ["a", "files", "my-server", "my_server", "A1"] {
            assert!(ServerSettings::is_name(good), "{good}");
        }
        for bad in ["", "_a", "a_", "a__b", "a.b", "a b", "名", &"a".repeat(33)] {
            assert!(!ServerSettings::is_name(bad), "{bad}");
        }
    }
}
