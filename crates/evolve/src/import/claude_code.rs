//! Transcripts of Claude Code.
//!
//! A conversation is a file of JSON lines:
//! `{"type","sessionId","timestamp","message":{"content":[…], "usage":{…}}}`. A use of a skill is a block
//! `{"type":"tool_use","id","name":"Skill","input":{"skill"}}`, and its answer a block
//! `{"type":"tool_result","tool_use_id","is_error"}`. The skill's text follows as a message with `"isMeta":true` and
//! `sourceToolUseID`, and without the latter if the user typed the skill's name. The form is that of version 2.1.331,
//! where `tests/hosts` reads it; earlier versions lack `sourceToolUseID`.

use serde_json::Value;

use super::{
    Host, NAME_BYTES, SkillUse, Transcripts, change::changed_skills, conversation::Conversations, lines, texts, time_at,
};

/// First words of the message with a skill's text, followed by the path of its folder.
const LOADED: &str = "Base directory for this skill: ";

/// Adds the uses in a file.
pub fn add(all: &mut Transcripts, bytes: &[u8]) {
    let mut found = Conversations::default();
    for line in lines(bytes) {
        let Some(line) = line else {
            all.skipped += 1;
            continue;
        };
        match (line["type"].as_str(), line["sessionId"].as_str()) {
            (Some("user" | "assistant"), Some(session)) if session.len() <= NAME_BYTES => {
                all.read += 1;
                add_message(&mut found, &line, session);
            }
            (Some(_), _) => all.read += 1,
            (None, _) => all.skipped += 1,
        }
    }
    all.uses.extend(found.finish());
}

fn add_message(found: &mut Conversations, line: &Value, session: &str) {
    let time = time_at(line, "timestamp");
    if line["isMeta"] == true {
        add_content(found, line, session);
    } else if line["type"] == "user" && line["isSidechain"] != true {
        // The first message of a subagent is the agent's.
        texts(&line["message"]["content"]).for_each(|text| found.say(session, text));
    }
    for block in line["message"]["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("tool_use") => add_call(found, block, line, session),
            Some("tool_result") => {
                let call = block["tool_use_id"].as_str().unwrap_or_default();
                if block["is_error"] == true {
                    found.fail(call, time);
                } else {
                    found.succeed(call, session, time);
                }
            }
            _ => {}
        }
    }
    if line["isApiErrorMessage"] == true {
        found.abort(session, time);
    }
}

fn add_call(found: &mut Conversations, block: &Value, line: &Value, session: &str) {
    let (call, name, input) = (block["id"].as_str().unwrap_or_default(), &block["name"], &block["input"]);
    if name != "Skill" {
        found.begin_change(call, changed_skills(name.as_str().unwrap_or_default(), input));
        return;
    }
    let Some(skill) = input["skill"].as_str().or(input["command"].as_str()) else { return };
    if skill.len() > NAME_BYTES {
        return;
    }
    let usage = &line["message"]["usage"];
    let mut used = SkillUse::new(Host::ClaudeCode, skill, session, time_at(line, "timestamp"));
    used.tokens_in = usage["input_tokens"].as_u64();
    used.tokens_out = usage["output_tokens"].as_u64();
    found.read(call, vec![used]);
}

/// Adds the text of a skill to the call that loaded it, or as a use by the user.
fn add_content(found: &mut Conversations, line: &Value, session: &str) {
    let blocks = line["message"]["content"].as_array().into_iter().flatten();
    for text in blocks.filter_map(|block| block["text"].as_str()) {
        if let Some(call) = line["sourceToolUseID"].as_str() {
            found.set_content(call, text);
        } else if let Some(path) = text.strip_prefix(LOADED).and_then(|rest| rest.lines().next()) {
            let skill = path.trim_end().rsplit(['/', '\\']).next().unwrap_or_default();
            if skill.len() <= NAME_BYTES {
                let used = SkillUse::new(Host::ClaudeCode, skill, session, time_at(line, "timestamp"));
                found.read("", vec![SkillUse { content: Some(text.into()), ..used }]);
            }
        }
    }
}
