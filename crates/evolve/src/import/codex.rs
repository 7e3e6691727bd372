//! Transcripts of Codex.
//!
//! A conversation is a file of JSON lines `{"timestamp","type","payload"}`. The first one has the type `session_meta`
//! and the conversation's `id`. Calls and their answers are `response_item`s: `{"type":"function_call","name",
//! "arguments","call_id"}` with the arguments as JSON text, `{"type":"custom_tool_call","name","input","call_id"}`, and
//! `function_call_output` and `custom_tool_call_output` with `output`, which has the exit code of a command in its
//! first lines. The model reads a skill with a command that
//! names its `SKILL.md`. The user's messages are `event_msg`s `{"type":"user_message","message"}`. The form is that of version 0.169.0, where `tests/hosts` reads it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Host, NAME_BYTES, SkillUse, Transcripts,
    change::{changed_skills, named_skills},
    conversation::Conversations,
    lines, parse, texts, time_at,
};

/// Adds the uses in a file.
pub fn add(all: &mut Transcripts, bytes: &[u8]) {
    let mut found = Conversations::default();
    let mut session = String::new();
    for line in lines(bytes) {
        let Some(kind) = line.as_ref().and_then(|line| line["type"].as_str()) else {
            all.skipped += 1;
            continue;
        };
        all.read += 1;
        let (payload, time) = (line.as_ref().map_or(&Value::Null, |line| &line["payload"]), line.as_ref());
        let time = time.and_then(|line| time_at(line, "timestamp"));
        match kind {
            "session_meta" if session.is_empty() => {
                let id = payload["id"].as_str().filter(|id| id.len() <= NAME_BYTES);
                id.unwrap_or_default().clone_into(&mut session);
            }
            "response_item" if !session.is_empty() => add_item(&mut found, payload, &session, time),
            "event_msg" if payload["type"] == "user_message" => {
                texts(&payload["message"]).for_each(|text| found.say(&session, text));
            }
            "event_msg" if payload["type"] == "turn_aborted" => found.abort(&session, time),
            _ => {}
        }
    }
    // A command that names a skill without printing its text, such as `git add`, did not read it.
    all.uses.extend(found.finish().into_iter().filter(|used| used.content.is_some()));
}

fn add_item(found: &mut Conversations, item: &Value, session: &str, time: Option<Timestamp>) {
    let (call, name) = (item["call_id"].as_str().unwrap_or_default(), item["name"].as_str().unwrap_or_default());
    match item["type"].as_str() {
        Some("function_call") => {
            let arguments = item["arguments"].as_str().and_then(|text| parse(text.as_bytes())).unwrap_or_default();
            add_call(found, call, name, &arguments, session, time);
        }
        Some("custom_tool_call") => add_call(found, call, name, &json!({"input": item["input"]}), session, time),
        Some("function_call_output" | "custom_tool_call_output") => {
            let output = item["output"].as_str().or(item["output"]["content"].as_str()).unwrap_or_default();
            found.set_content(call, output);
            if has_failed(output) { found.forget_change(call) } else { found.succeed(call, session, time) }
        }
        _ => {}
    }
}

fn add_call(
    found: &mut Conversations,
    call: &str,
    name: &str,
    arguments: &Value,
    session: &str,
    time: Option<Timestamp>,
) {
    let changed = changed_skills(name, arguments);
    if changed.is_empty() {
        let skills = command(arguments).map(|command| named_skills(&command)).unwrap_or_default();
        let uses = skills.iter().map(|skill| SkillUse::new(Host::Codex, skill, session, time));
        found.read(call, uses.collect());
    }
    found.begin_change(call, changed);
}

/// Returns whether an output begins with the exit code of a command that failed.
fn has_failed(output: &str) -> bool {
    let head = output.lines().take_while(|line| *line != "Output:");
    head.filter_map(|line| line.strip_prefix("Process exited with code ")).any(|code| code != "0")
}

/// Returns the command of a call: a text, or a list of words.
fn command(arguments: &Value) -> Option<String> {
    match &arguments["cmd"] {
        Value::String(text) => Some(text.clone()),
        _ => match &arguments["command"] {
            Value::String(text) => Some(text.clone()),
            Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            _ => None,
        },
    }
}
