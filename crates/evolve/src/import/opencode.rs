//! Transcripts of OpenCode.
//!
//! A part of a message is `{"type":"tool","tool":"skill","callID","sessionID","state":{"status","input":{"name"},
//! "output","time":{"start","end"}}}`. Earlier versions store each part as a file; `opencode export` and our plugin
//! (`skillhub mcp install`) write one document with `messages`, each with such `parts`. The form is that of version
//! 1.18.33 (`message.part.updated` in its plugin interface), where `tests/hosts` reads it.

use jiff::Timestamp;
use library::OutcomeKind;
use serde_json::Value;

use super::{Host, NAME_BYTES, SkillUse, Transcripts, change::changed_skills, conversation::Conversations, parse};

/// Adds the uses in a file.
pub fn add(all: &mut Transcripts, bytes: &[u8]) {
    let mut found = Conversations::default();
    let Some(document) = parse(bytes) else {
        all.skipped += 1;
        return;
    };
    if let Some(messages) = document["messages"].as_array() {
        all.read += 1;
        for message in messages {
            let is_users = message["info"]["role"] == "user";
            for part in message["parts"].as_array().into_iter().flatten() {
                if let (true, Some(session), Some(text)) = (is_users, part["sessionID"].as_str(), part["text"].as_str())
                    && part["synthetic"] != true
                {
                    found.say(session, text);
                }
                add_part(&mut found, part);
            }
        }
    } else if document["type"].is_string() && document["sessionID"].is_string() {
        all.read += 1;
        add_part(&mut found, &document);
    } else {
        all.skipped += 1;
    }
    all.uses.extend(found.finish());
}

fn add_part(found: &mut Conversations, part: &Value) {
    let (Some(tool), Some(session)) = (part["tool"].as_str(), part["sessionID"].as_str()) else { return };
    if part["type"] != "tool" || session.len() > NAME_BYTES {
        return;
    }
    let state = &part["state"];
    let time = |key: &str| state["time"][key].as_i64().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    if tool != "skill" {
        // `exit` is the exit code of a command.
        let has_failed = state["metadata"]["exit"].as_i64().is_some_and(|code| code != 0);
        if state["status"] == "completed" && !has_failed {
            let call = part["callID"].as_str().unwrap_or_default();
            found.begin_change(call, changed_skills(tool, &state["input"]));
            found.succeed(call, session, time("end"));
        }
        return;
    }
    let Some(skill) = state["input"]["name"].as_str().filter(|skill| skill.len() <= NAME_BYTES) else { return };
    let mut used = SkillUse::new(Host::OpenCode, skill, session, time("start"));
    used.content = state["output"].as_str().map(Into::into);
    if state["status"] == "error" {
        used.add_event(OutcomeKind::Failed, time("end"));
    }
    found.read("", vec![used]);
}
