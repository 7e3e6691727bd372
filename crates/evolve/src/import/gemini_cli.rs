//! Transcripts of Gemini CLI.
//!
//! A conversation is a file of JSON lines, or one document in earlier versions. The first line has `sessionId`. A
//! message of the model is `{"id","timestamp","type":"gemini","toolCalls":[…]}`, and is written again when it changes.
//! A call is `{"id","name","args","status","timestamp","result":[{"functionResponse":{"response":{"output"}}}]}`; a
//! skill is read with `activate_skill` and its `name`. The form is that of version 0.61.0, where `tests/hosts` reads it.

use std::collections::HashSet;

use library::OutcomeKind;
use serde_json::Value;

use super::{
    Host, NAME_BYTES, SkillUse, Transcripts, change::changed_skills, conversation::Conversations, lines, parse, texts,
    time_at,
};

/// Adds the uses in a file.
pub fn add(all: &mut Transcripts, bytes: &[u8]) {
    let mut found = Conversations::default();
    let (mut session, mut known) = (String::new(), HashSet::new());
    let whole = parse(bytes).filter(|document| document["messages"].is_array());
    let documents: Box<dyn Iterator<Item = Option<Value>>> = match whole {
        Some(document) => Box::new(std::iter::once(Some(document))),
        None => Box::new(lines(bytes)),
    };
    for document in documents {
        let Some(document) = document.filter(Value::is_object) else {
            all.skipped += 1;
            continue;
        };
        all.read += 1;
        if let Some(id) = document["sessionId"].as_str().filter(|id| id.len() <= NAME_BYTES) {
            id.clone_into(&mut session);
        }
        let listed = document["messages"].as_array().or(document["$set"]["messages"].as_array());
        for message in listed.into_iter().flatten().chain(std::iter::once(&document)) {
            if message["type"] == "user" && !session.is_empty() {
                texts(&message["content"]).for_each(|text| found.say(&session, text));
            }
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                add_call(&mut found, call, &session, &mut known);
            }
        }
    }
    all.uses.extend(found.finish());
}

/// Adds a call once it has ended, and only once.
fn add_call(found: &mut Conversations, call: &Value, session: &str, known: &mut HashSet<String>) {
    let (Some(id), Some(name)) = (call["id"].as_str(), call["name"].as_str()) else { return };
    let (has_ended, is_error) = (call["result"].is_array(), call["status"] == "error");
    if session.is_empty() || !(has_ended || is_error) || !known.insert(id.to_owned()) {
        return;
    }
    let time = time_at(call, "timestamp");
    if name != "activate_skill" {
        let has_failed = output(call).is_some_and(|output| output.lines().any(is_failure));
        if !is_error && !has_failed {
            found.begin_change(id, changed_skills(name, &call["args"]));
            found.succeed(id, session, time);
        }
        return;
    }
    let Some(skill) = call["args"]["name"].as_str().filter(|skill| skill.len() <= NAME_BYTES) else { return };
    let mut used = SkillUse::new(Host::GeminiCli, skill, session, time);
    used.content = output(call).map(Into::into);
    if is_error {
        used.add_event(OutcomeKind::Failed, time);
    }
    found.read("", vec![used]);
}

/// Returns whether a line is the exit code of a command that failed.
fn is_failure(line: &str) -> bool {
    line.strip_prefix("Exit Code: ").is_some_and(|code| code != "0")
}

fn output(call: &Value) -> Option<&str> {
    let mut results = call["result"].as_array().into_iter().flatten();
    results.find_map(|result| result["functionResponse"]["response"]["output"].as_str())
}
