//! Conversion of a tool result into the JSON value that steps work with.

use compose::ToolFault;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use super::{http, remote_tool::plain};

/// Maximum length, in characters, of a server's error message.
const MESSAGE_CHARS: usize = 500;

/// Converts a tool result. Structured content is used as is. Otherwise one text becomes a string, several parts a list,
/// and no content null. Parts other than text keep their protocol object.
pub(super) fn answer(result: CallToolResult, most: usize) -> Result<Value, ToolFault> {
    if result.is_error == Some(true) {
        let texts: Vec<&str> = result.content.iter().filter_map(text).collect();
        let told = plain(&texts.join(" "), MESSAGE_CHARS);
        let message = if told.is_empty() { "the tool failed without a message".to_owned() } else { told };
        return Err(ToolFault::transient("tool_failed", message));
    }
    let value = match result.structured_content {
        Some(value) => value,
        None => {
            let part = |block: &ContentBlock| match text(block) {
                Some(text) => json!(text),
                None => serde_json::to_value(block).unwrap_or_default(),
            };
            let mut parts: Vec<Value> = result.content.iter().map(part).collect();
            match parts.len() {
                0 => Value::Null,
                1 => parts.remove(0),
                _ => Value::Array(parts),
            }
        }
    };
    let bytes = serde_json::to_vec(&value).map_or(usize::MAX, |json| json.len());
    match bytes <= most {
        true => Ok(value),
        false => {
            let message = format!("the tool returned {bytes} bytes; the limit is {most}");
            Err(ToolFault::permanent("too_large", message).hint("request less from it"))
        }
    }
}

fn text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

/// Converts a failed request into a fault, marked as lasting or passing.
pub(super) fn fault(error: ServiceError) -> ToolFault {
    match error {
        ServiceError::McpError(error) => {
            let message = plain(&error.message, MESSAGE_CHARS);
            match error.code {
                ErrorCode::METHOD_NOT_FOUND => ToolFault::permanent("unknown_tool", message),
                ErrorCode::INVALID_PARAMS => ToolFault::permanent("invalid_input", message),
                http::LASTING => ToolFault::permanent("server_failed", message),
                http::PASSING => ToolFault::transient("server_failed", message),
                _ => ToolFault::transient("tool_failed", message),
            }
        }
        ServiceError::TransportClosed | ServiceError::TransportSend(_) | ServiceError::Cancelled { .. } => {
            ToolFault::transient("server_gone", "the server exited during the call")
        }
        ServiceError::UnexpectedResponse => unexpected_response(),
        other => ToolFault::transient("server_failed", plain(&other.to_string(), MESSAGE_CHARS)),
    }
}

/// Fault of a server whose response does not match the request.
pub(super) fn unexpected_response() -> ToolFault {
    ToolFault::permanent("bad_answer", "the server's response does not match the request")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: Value) -> CallToolResult {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn structured_answer_precedes_text() {
        let text = |text: &str| json!({"type": "text", "text": text});
        for (given, meant) in [
            (json!({"content": [text("x")], "structuredContent": {"a": 1}}), json!({"a": 1})),
            (json!({"content": [text("{\"a\": 1}")]}), json!("{\"a\": 1}")),
            (json!({"content": [text("x"), text("y")]}), json!(["x", "y"])),
            (json!({"content": []}), json!(null)),
            (
                json!({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]}),
                json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
            ),
        ] {
            assert_eq!(answer(result(given), 1000).unwrap(), meant);
        }
    }

    #[test]
    fn failed_and_oversized_answers_are_faults() {
        let failed = json!({"content": [{"type": "text", "text": "no\u{1b}[31m such\nthing"}], "isError": true});
        let fault = answer(result(failed), 1000).unwrap_err();
        assert_eq!((fault.code, fault.message.contains('\n')), ("tool_failed", false));
        assert!(!fault.message.chars().any(char::is_control), "{fault}");
        let silent = answer(result(json!({"content": [], "isError": true})), 1000).unwrap_err();
        assert_eq!(silent.message, "the tool failed without a message");
        let large = json!({"content": [{"type": "text", "text": "x".repeat(1000)}]});
        assert_eq!(answer(result(large), 1000).unwrap_err().code, "too_large");
    }
}
