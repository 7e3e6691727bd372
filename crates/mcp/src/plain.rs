//! JSON text for a model, with invisible and misleading characters escaped.

use std::fmt::Write;

use serde_json::Value;

/// Serialises a document as JSON. Invisible characters and characters that reverse the text direction are escaped, and
/// so is the `<` of any element that only a host may write, such as a tool result.
pub(crate) fn plain(document: &Value) -> String {
    let text = document.to_string();
    let hides = |c: char| c.is_control() || scan::characters::is_invisible(c);
    if !agent::is_misleading(&text) && !text.chars().any(hides) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut units = [0; 2];
    for (at, c) in text.char_indices() {
        if hides(c) || c == '<' && text.get(at..).is_some_and(agent::begins_frame) {
            for unit in c.encode_utf16(&mut units) {
                let _infallible = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_characters_are_escaped_losslessly() {
        let document = json!({"a": "x\u{200b}y\u{202e}z\u{e0041}", "b": "é\n填", "c": "<b> </tool_result>"});
        let text = plain(&document);
        assert!(text.contains("\\u200b") && text.contains("\\udb40") && text.contains("é") && text.contains("填"));
        assert!(text.contains("<b> \\u003c/tool_result>"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }
}
