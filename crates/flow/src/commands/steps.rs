//! Reader for the steps of a `tool_schema`. It writes equivalent shell commands, so that data can be followed from step
//! to step.

use serde_json::Value;
use skill::{Limits, frontmatter};

use super::{Page, variable, with_variables};

/// Frontmatter key that holds the steps.
pub(super) const KEY: &str = "tool_schema";

/// Maximum number of steps that are read. No tool has more.
const STEPS: usize = 64;

/// Puts each step on the line that names its tool.
pub(super) fn commands(text: &str, page: &mut Page) {
    let Ok(fields) = frontmatter::as_json(text, &Limits::default()) else { return };
    let steps = fields.get(KEY).and_then(|declared| declared.get("steps")).and_then(Value::as_array);
    let Some(steps) = steps else { return };
    let from = text.lines().position(|line| line.starts_with(KEY)).unwrap_or(1);
    let named = text.lines().enumerate().skip(from);
    let mut lines = named.flat_map(|(at, line)| std::iter::repeat_n(at, line.matches("tool:").count()));
    for (index, step) in steps.iter().take(STEPS).enumerate() {
        let line = lines.next().unwrap_or(from);
        if let Some(list) = step.get("for_each").and_then(Value::as_str) {
            page.put(line, &format!("item={}", word(list)));
        }
        let result = format!("steps_{index}");
        page.put(line, &command(step, &result));
        if let Some(id) = step.get("id").and_then(Value::as_str) {
            page.put(line, &format!("{}=\"${{{result}}}\"", bare(&format!("steps_{id}"))));
        }
    }
}

/// Translates one step to a command that stores its output in the variable `result`.
fn command(step: &Value, result: &str) -> String {
    let input = &step["input"];
    let field = |name: &str| input.get(name).and_then(Value::as_str).map(word).unwrap_or_default();
    match step["tool"].as_str().unwrap_or_default() {
        "shell" => {
            let args = input.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<String> = args.map(word).collect();
            format!("{} {}", field("command").trim_matches('"'), words.join(" "))
        }
        "read_file" => format!("{result}=$(cat {})", field("path")),
        "web_fetch" => format!("{result}=$(curl {})", field("url")),
        "web_search" => format!("{result}=$(curl -d {} search)", field("query")),
        "write_file" => format!("echo {} > {}", field("content"), field("path")),
        // The output of any other tool is assumed to contain all of its input.
        _ => {
            let mut given = Vec::new();
            texts(input, &mut given);
            format!("{result}={}", word(&given.join(" ")))
        }
    }
}

/// Collects all strings in a value.
fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(elements) => elements.iter().for_each(|element| texts(element, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        _ => {}
    }
}

/// Quotes a string, with its template references replaced by shell variables.
fn word(text: &str) -> String {
    let marked = with_variables(&text.replace('\n', " "), "{{", "}}", |reference| {
        let mut parts = reference.split(['.', '[']);
        let root = match (parts.next(), parts.next()) {
            (Some("steps"), Some(step)) => format!("steps_{step}"),
            (Some("input"), Some(field)) => format!("input_{field}"),
            (root, _) => root.unwrap_or_default().to_owned(),
        };
        variable(&root)
    });
    if marked.contains("${") { format!("\"{}\"", marked.replace('"', "\\\"")) } else { super::quoted(&marked) }
}

/// Returns the name of a variable without `${` and `}`.
fn bare(name: &str) -> String {
    variable(name).trim_start_matches("${").trim_end_matches('}').to_owned()
}
