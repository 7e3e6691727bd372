//! [`Transcripts`]: uses of skills in a host's own conversation records.
//!
//! Claude Code stores a conversation as one file of JSON lines:
//! `{"type","sessionId","timestamp","message":{"content":[…], "usage":{…}}}`. A use of a skill is a block
//! `{"type":"tool_use","id","name":"Skill","input":{"skill"}}`, and its answer a block
//! `{"type":"tool_result","tool_use_id","is_error"}`. OpenCode stores each part of a message as a file
//! `{"type":"tool","tool":"skill","sessionID","state":{"status","input":{"name"},"time":{"start","end"}}}`, and exports
//! a conversation as one document with `messages`, each with such `parts`. These formats follow descriptions by their
//! users. A line of another form is skipped and counted.
//!
//! A transcript shows that a skill was read, and that reading it or the conversation was interrupted. It never shows
//! that the task was completed. Without other evidence, such a run remains unknown.

use std::collections::HashMap;

use jiff::Timestamp;
use library::OutcomeSource;
use serde_json::Value;
use skill::objects_and_commas;

use crate::record::OutcomeRecord;

/// Host with a supported transcript format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Code, with JSON lines per conversation.
    ClaudeCode,
    /// OpenCode, with one JSON file per message part.
    OpenCode,
}

impl Host {
    /// Returns its id.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::OpenCode => "opencode",
        }
    }

    /// Returns the host with an id.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::ClaudeCode, Self::OpenCode].into_iter().find(|host| host.as_str() == word)
    }
}

/// Largest size in bytes of a conversation id or skill name, since each is stored with every use.
const NAME_BYTES: usize = 500;

/// Largest number of JSON values in a line or document, more than a conversation of 64 MiB has.
const VALUES: usize = 500_000;

/// Uses of skills found in transcripts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcripts {
    /// Outcomes, in order.
    pub requests: Vec<OutcomeRecord>,
    /// Number of lines and documents that are malformed or not of the host's format.
    pub skipped: usize,
    /// Number of lines and documents that were parsed.
    pub read: usize,
}

/// Uses of skills in one file, as indices of the requests.
#[derive(Default)]
struct Uses {
    /// Uses by call id. The first call with an id counts.
    by_call: HashMap<String, usize>,
    /// Uses of each conversation since its last interruption.
    of_session: HashMap<String, Vec<usize>>,
}

impl Transcripts {
    /// Adds the uses in one file of a host.
    pub fn add(&mut self, host: Host, bytes: &[u8]) {
        match host {
            Host::ClaudeCode => self.add_lines(bytes),
            Host::OpenCode => match parse(bytes) {
                Some(document) => self.add_document(&document),
                None => self.skipped += 1,
            },
        }
    }

    fn add_lines(&mut self, bytes: &[u8]) {
        let mut uses = Uses::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let Some(line) = parse(line) else {
                self.skipped += 1;
                continue;
            };
            match (line["type"].as_str(), line["sessionId"].as_str()) {
                (Some("user" | "assistant"), Some(session)) if session.len() <= NAME_BYTES => {
                    self.read += 1;
                    self.add_message(&line, session, &mut uses);
                }
                (Some(_), _) => self.read += 1,
                (None, _) => self.skipped += 1,
            }
        }
    }

    fn add_message(&mut self, line: &Value, session: &str, uses: &mut Uses) {
        let time = line["timestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        let message = &line["message"];
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") if block["name"] == "Skill" => {
                    let input = &block["input"];
                    let Some(skill) = input["skill"].as_str().or(input["command"].as_str()) else { continue };
                    if skill.len() > NAME_BYTES {
                        continue;
                    }
                    let call = block["id"].as_str().unwrap_or_default();
                    uses.by_call.entry(call.to_owned()).or_insert(self.requests.len());
                    uses.of_session.entry(session.to_owned()).or_default().push(self.requests.len());
                    let mut request = self.request(Host::ClaudeCode, skill, session, time);
                    request.tokens_in = message["usage"]["input_tokens"].as_u64();
                    request.tokens_out = message["usage"]["output_tokens"].as_u64();
                    self.requests.push(request);
                }
                Some("tool_result") if block["is_error"] == true => {
                    let call = block["tool_use_id"].as_str().unwrap_or_default();
                    let failed = uses.by_call.get(call).and_then(|at| self.requests.get(*at)).cloned();
                    self.requests.extend(failed.map(|request| of_event(request, "failed", time)));
                }
                _ => {}
            }
        }
        let is_broken_off = line["isApiErrorMessage"] == true;
        if is_broken_off {
            let since = uses.of_session.remove(session).unwrap_or_default();
            let aborted: Vec<OutcomeRecord> = since.iter().filter_map(|at| self.requests.get(*at)).cloned().collect();
            self.requests.extend(aborted.into_iter().map(|request| of_event(request, "aborted", time)));
        }
    }

    fn add_document(&mut self, document: &Value) {
        if let Some(messages) = document["messages"].as_array() {
            self.read += 1;
            messages
                .iter()
                .filter_map(|message| message["parts"].as_array())
                .flatten()
                .for_each(|part| self.add_part(part));
        } else if document["type"].is_string() && document["sessionID"].is_string() {
            self.read += 1;
            self.add_part(document);
        } else {
            self.skipped += 1;
        }
    }

    fn add_part(&mut self, part: &Value) {
        let state = &part["state"];
        let of_skill =
            (part["type"] == "tool" && part["tool"] == "skill").then(|| state["input"]["name"].as_str()).flatten();
        let (Some(skill), Some(session)) = (of_skill, part["sessionID"].as_str()) else { return };
        let time = |key: &str| state["time"][key].as_i64().and_then(|millis| Timestamp::from_millisecond(millis).ok());
        let request = self.request(Host::OpenCode, skill, session, time("start"));
        if state["status"] == "error" {
            self.requests.push(of_event(request.clone(), "failed", time("end")));
        }
        self.requests.push(request);
    }

    fn request(&self, host: Host, skill: &str, session: &str, time: Option<Timestamp>) -> OutcomeRecord {
        OutcomeRecord {
            // Skills of a plugin are called `plugin:skill`.
            skill: skill.rsplit(':').next().unwrap_or(skill).trim_start_matches('/').to_owned(),
            event: "activated".to_owned(),
            run: Some(run(host, session)),
            ts: time.map(|time| time.to_string()),
            source: Some(host.as_str().to_owned()),
            basis: OutcomeSource::Transcript,
            ..OutcomeRecord::default()
        }
    }
}

/// Parses a line or document, unless it has so many values that they would take many times its size in memory.
fn parse(json: &[u8]) -> Option<Value> {
    let (_, values) = objects_and_commas(json);
    (values <= VALUES).then(|| serde_json::from_slice(json).ok()).flatten()
}

/// Returns the run id of a conversation, since each conversation is one run.
fn run(host: Host, session: &str) -> String {
    format!("{}:{session}", host.as_str())
}

fn of_event(request: OutcomeRecord, event: &str, time: Option<Timestamp>) -> OutcomeRecord {
    let ts = time.map(|time| time.to_string()).or(request.ts.clone());
    OutcomeRecord { event: event.to_owned(), ts, tokens_in: None, tokens_out: None, ..request }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(transcripts: &Transcripts) -> Vec<(&str, &str)> {
        transcripts.requests.iter().map(|request| (request.skill.as_str(), request.event.as_str())).collect()
    }

    #[test]
    fn flood_of_values_is_skipped() {
        for flood in ["0,", "[],", "{\"a\":0},", "\"\","] {
            let values = flood.repeat(600_000);
            let line = format!(r#"{{"type":"user","sessionId":"s","messages":[],"x":[{values}0]}}"#);
            let mut found = Transcripts::default();
            found.add(Host::ClaudeCode, line.as_bytes());
            found.add(Host::OpenCode, line.as_bytes());
            assert_eq!((found.skipped, found.read), (2, 0), "{flood}");
        }
        assert!(parse(format!("[\"{}\"]", "\\\",[{".repeat(600_000)).as_bytes()).is_some());
    }

    #[test]
    fn broken_conversation_fails_each_use_once() {
        let used = r#"{"type":"assistant","sessionId":"s","message":{"content":[{"type":"tool_use","id":"t","name":"Skill","input":{"skill":"a"}}]}}"#;
        let broken = r#"{"type":"assistant","sessionId":"s","isApiErrorMessage":true}"#;
        let (used, broken) = (format!("{used}\n").repeat(500), format!("{broken}\n").repeat(500));
        let mut found = Transcripts::default();
        found.add(Host::ClaudeCode, format!("{used}{broken}{used}{broken}").as_bytes());
        assert_eq!((found.read, found.requests.len()), (2000, 2000));
    }

    #[test]
    fn overlong_names_are_skipped() {
        let long = "x".repeat(NAME_BYTES + 1);
        let used = |session: &str, skill: &str| {
            format!(
                r#"{{"type":"user","sessionId":"{session}","message":{{"content":[{{"type":"tool_use","name":"Skill","input":{{"skill":"{skill}"}}}}]}}}}"#
            )
        };
        let mut found = Transcripts::default();
        for line in [used(&long, "a"), used("s", &long), used("s", "b")] {
            found.add(Host::ClaudeCode, line.as_bytes());
        }
        assert_eq!(events(&found), [("b", "activated")]);
    }

    /// Written for this test from the description of the format, not taken from a conversation.
    #[test]
    fn claude_code_transcript_is_imported() {
        let text = r#"{"type":"summary","summary":"x"}
{"type":"assistant","sessionId":"s1","timestamp":"2026-01-02T03:04:05Z","message":{"content":[{"type":"text","text":"I use a skill"},{"type":"tool_use","id":"t1","name":"Skill","input":{"skill":"docs:pdf"}}],"usage":{"input_tokens":10,"output_tokens":3}}}
{"type":"user","sessionId":"s1","timestamp":"2026-01-02T03:04:06Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"…"}]}}
{"type":"assistant","sessionId":"s1","timestamp":"2026-01-02T03:04:07Z","message":{"content":[{"type":"tool_use","id":"t2","name":"Skill","input":{"command":"tables"}}]}}
{"type":"user","sessionId":"s1","timestamp":"2026-01-02T03:04:08Z","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no such skill"}]}}
{"type":"user","sessionId":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"other","is_error":true}]}}
{"broken
{"no":"type"}
{"type":"user","sessionId":"s1","message":{"content":"only text"}}
"#;
        let mut found = Transcripts::default();
        found.add(Host::ClaudeCode, text.as_bytes());
        assert_eq!(events(&found), [("pdf", "activated"), ("tables", "activated"), ("tables", "failed")]);
        assert_eq!((found.read, found.skipped), (7, 2));
        let first = &found.requests[0];
        assert_eq!((first.run.as_deref(), first.tokens_in), (Some("claude-code:s1"), Some(10)));
        assert_eq!(found.requests[2].ts.as_deref(), Some("2026-01-02T03:04:08Z"));
    }

    /// Written for this test from the description of the format, not taken from a conversation.
    #[test]
    fn opencode_parts_and_exports_are_imported() {
        let part = r#"{"id":"p1","sessionID":"s2","messageID":"m","type":"tool","tool":"skill","callID":"c",
            "state":{"status":"error","input":{"name":"pdf"},"error":"x","time":{"start":1767323045000,"end":1767323046000}}}"#;
        let mut found = Transcripts::default();
        found.add(Host::OpenCode, part.as_bytes());
        found.add(Host::OpenCode, br#"{"id":"p2","sessionID":"s2","type":"text","text":"x"}"#);
        found.add(Host::OpenCode, br#"{"id":"ses"}"#);
        found.add(Host::OpenCode, b"\xff");
        assert_eq!(events(&found), [("pdf", "failed"), ("pdf", "activated")]);
        assert_eq!((found.read, found.skipped), (2, 2));
        let export = format!(r#"{{"info":{{}},"messages":[{{"info":{{}},"parts":[{part}]}}]}}"#);
        let mut again = Transcripts::default();
        again.add(Host::OpenCode, export.as_bytes());
        assert_eq!(again.requests, found.requests);
    }
}
