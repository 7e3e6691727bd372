//! Native tool `json_query`: evaluates a JSONPath with a cost limit that is checked in advance.

use std::{collections::HashMap, sync::mpsc, thread, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use serde_json_path::JsonPath;

use super::{fitting, spec as tool, text};
use crate::{
    host::{Approval, Bounds, ToolFault, ToolSpec},
    scope::size,
};

/// Maximum length of a query in bytes.
const QUERY_BYTES: usize = 1024;
/// Maximum nesting of brackets in a query.
const NESTED: usize = 16;
/// Maximum number of node visits that a query may need.
const LOOKS: u64 = 10_000_000;
/// Maximum delay until a cancellation is noticed.
const NAP: Duration = Duration::from_millis(20);
/// Stack size of the thread that evaluates a query, in bytes.
const STACK: usize = 8 << 20;

pub(super) fn spec() -> ToolSpec {
    tool(
        "json_query",
        "Select values by a JSONPath (RFC 9535, without match and search).",
        json!({
            "data": {"description": "Value to query, or a string of JSON"},
            "query": text("JSONPath, such as $.items[?@.price < 10].name"),
            "first": {"type": "boolean", "default": false, "description": "Return only the first match, or null"},
        }),
        &["data", "query"],
        Value::Bool(true),
        Approval::None,
    )
}

#[derive(Deserialize)]
pub(super) struct Query {
    data: Value,
    query: String,
    #[serde(default)]
    first: bool,
}

/// Runs the tool in a separate thread, so that a cancelled call does not wait for it.
pub(super) fn run(wanted: Query, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
    let most = bounds.answer_bytes;
    let (tell, told) = mpsc::sync_channel(1);
    let work = move || {
        let _nobody_waits = tell.send(query(wanted, most));
    };
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .map_err(|error| ToolFault::transient("io", format!("cannot start a thread: {error}")))?;
    loop {
        match told.recv_timeout(bounds.remaining()?.min(NAP)) {
            Ok(answer) => return answer,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(ToolFault::permanent("invalid_query", "the query could not be run"));
            }
        }
    }
}

fn query(wanted: Query, most: usize) -> Result<Value, ToolFault> {
    let shown: String = wanted.query.chars().take(100).collect();
    let plain = without_strings(&wanted.query);
    if wanted.query.len() > QUERY_BYTES || nesting(&plain) > NESTED {
        let message = format!("{shown:?} is longer than {QUERY_BYTES} bytes, or nests more than {NESTED} brackets");
        return Err(ToolFault::permanent("invalid_query", message));
    }
    let path = JsonPath::parse(&wanted.query).map_err(|error| {
        ToolFault::permanent("invalid_query", format!("{shown:?} is not a valid JSONPath: {error}"))
    })?;
    let data = match wanted.data {
        Value::String(text) => fitting::parse(&text)
            .map_err(|error| ToolFault::permanent("invalid_json", format!("`data` is not valid JSON: {error}")))?,
        data => data,
    };
    if looks(&plain, &data) > LOOKS {
        let message = format!("{shown:?} may visit more than {LOOKS} nodes of this value");
        return Err(ToolFault::permanent("too_large", message).hint("use fewer `..`, commas and `$` inside filters"));
    }
    let found = path.query(&data);
    if wanted.first {
        return Ok(found.first().cloned().unwrap_or_default());
    }
    // The same part may be found many times, even nested in itself. The total size is computed before anything is
    // copied, and each part is measured once.
    let mut sizes: HashMap<*const Value, usize> = HashMap::new();
    let mut bytes = 2_usize;
    for part in found.iter() {
        bytes = bytes.saturating_add(1 + *sizes.entry(std::ptr::from_ref(*part)).or_insert_with(|| size(part)));
        if bytes > most {
            return Err(ToolFault::permanent(
                "too_large",
                format!("the matches of {shown:?} are larger than {most} bytes"),
            ));
        }
    }
    Ok(found.into_iter().cloned().collect())
}

/// Estimates the maximum number of node visits of a query. Each node counts once and again for every `..` and filter
/// on the way to it. Every comma doubles the number, and every `$` in a filter counts the whole value at each node.
fn looks(plain: &str, data: &Value) -> u64 {
    let count = |part: &str| u32::try_from(plain.matches(part).count()).unwrap_or(u32::MAX);
    let (nodes, depth) = extent(data);
    let down = count("..").saturating_add(count("?"));
    nodes
        .saturating_pow(count("$").max(1))
        .saturating_mul(depth.saturating_pow(down))
        .saturating_mul(u64::from(count("@")) + 1)
        .saturating_mul(2_u64.saturating_pow(count(",")))
}

/// Returns the number of nodes of a value and its depth.
fn extent(data: &Value) -> (u64, u64) {
    let add = |(nodes, depth): (u64, u64), inner: &Value| {
        let (more, below) = extent(inner);
        (nodes + more, depth.max(below + 1))
    };
    match data {
        Value::Array(items) => items.iter().fold((1, 1), add),
        Value::Object(fields) => fields.values().fold((1, 1), add),
        _ => (1, 1),
    }
}

/// Removes the content of strings from a query, so that operators can be counted.
fn without_strings(query: &str) -> String {
    let mut plain = String::new();
    let mut open: Option<char> = None;
    let mut is_escaped = false;
    for c in query.chars() {
        match open {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(quote) if c == quote => open = None,
            Some(_) => {}
            None => {
                open = matches!(c, '"' | '\'').then_some(c);
                plain.push(c);
            }
        }
    }
    plain
}

fn nesting(plain: &str) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for c in plain.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}
