//! Tests of the hosts' forms. The texts are written for these tests in the form that the hosts write.

use super::*;

fn found(host: Host, text: &str) -> Transcripts {
    let mut found = Transcripts::default();
    found.add(host, text.as_bytes());
    found
}

/// Returns each skill with its event, as they are recorded.
fn events(transcripts: &Transcripts) -> Vec<(String, String)> {
    let id = RevisionId::new("a".repeat(40));
    let records = transcripts.uses.iter().flat_map(|used| used.records(&id));
    records.map(|record| (record.skill, record.event)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(skill, event)| ((*skill).to_owned(), (*event).to_owned())).collect()
}

#[test]
fn flood_of_values_is_skipped() {
    for flood in ["0,", "[],", "{\"a\":0},", "\"\","] {
        let values = flood.repeat(600_000);
        let line = format!(r#"{{"type":"user","sessionId":"s","messages":[],"x":[{values}0]}}"#);
        for host in Host::ALL {
            let found = found(host, &line);
            assert_eq!((found.skipped, found.read), (1, 0), "{host:?} {flood}");
        }
    }
    assert!(parse(format!("[\"{}\"]", "\\\",[{".repeat(600_000)).as_bytes()).is_some());
}

#[test]
fn broken_conversation_aborts_each_use_once() {
    let used = r#"{"type":"assistant","sessionId":"s","message":{"content":[{"type":"tool_use","id":"t","name":"Skill","input":{"skill":"a"}}]}}"#;
    let broken = r#"{"type":"assistant","sessionId":"s","isApiErrorMessage":true}"#;
    let (used, broken) = (format!("{used}\n").repeat(500), format!("{broken}\n").repeat(500));
    let found = found(Host::ClaudeCode, &format!("{used}{broken}{used}{broken}"));
    assert_eq!((found.read, events(&found).len()), (2000, 2000));
}

#[test]
fn overlong_names_are_skipped() {
    let long = "x".repeat(NAME_BYTES + 1);
    let used = |session: &str, skill: &str| {
        format!(
            r#"{{"type":"user","sessionId":"{session}","message":{{"content":[{{"type":"tool_use","name":"Skill","input":{{"skill":"{skill}"}}}}]}}}}"#
        )
    };
    let found = found(Host::ClaudeCode, &[used(&long, "a"), used("s", &long), used("s", "b")].join("\n"));
    assert_eq!(events(&found), pairs(&[("b", "activated")]));
}

#[test]
fn claude_code_transcript_is_imported() {
    let text = r##"{"type":"summary","summary":"x"}
{"type":"assistant","sessionId":"s1","timestamp":"2026-01-02T03:04:05Z","message":{"content":[{"type":"text","text":"I use a skill"},{"type":"tool_use","id":"t1","name":"Skill","input":{"skill":"docs:pdf"}}],"usage":{"input_tokens":10,"output_tokens":3}}}
{"type":"user","sessionId":"s1","timestamp":"2026-01-02T03:04:06Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"…"}]}}
{"type":"user","sessionId":"s1","isMeta":true,"sourceToolUseID":"t1","message":{"content":[{"type":"text","text":"Base directory for this skill: /a/pdf\n\n# PDF"}]}}
{"type":"assistant","sessionId":"s1","timestamp":"2026-01-02T03:04:07Z","message":{"content":[{"type":"tool_use","id":"t2","name":"Skill","input":{"command":"tables"}}]}}
{"type":"user","sessionId":"s1","timestamp":"2026-01-02T03:04:08Z","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no such skill"}]}}
{"type":"user","sessionId":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"other","is_error":true}]}}
{"broken
{"no":"type"}
{"type":"user","sessionId":"s1","message":{"content":"only text"}}
"##;
    let found = found(Host::ClaudeCode, text);
    assert_eq!(events(&found), pairs(&[("pdf", "activated"), ("tables", "activated"), ("tables", "failed")]));
    assert_eq!((found.read, found.skipped), (8, 2));
    let first = &found.uses[0];
    assert_eq!(first.content.as_deref(), Some("Base directory for this skill: /a/pdf\n\n# PDF"));
    let id = RevisionId::new("a".repeat(40));
    let record = &first.records(&id)[0];
    assert_eq!((record.run.as_deref(), record.tokens_in), (Some("claude-code:s1"), Some(10)));
    assert_eq!(found.uses[1].records(&id)[1].ts.as_deref(), Some("2026-01-02T03:04:08Z"));
}

#[test]
fn skill_typed_by_the_user_is_a_use() {
    let text = r##"{"type":"user","sessionId":"s1","message":{"content":"<command-name>/pdf</command-name>"}}
{"type":"user","sessionId":"s1","isMeta":true,"message":{"content":[{"type":"text","text":"Base directory for this skill: /a/.claude/skills/pdf\n\n# PDF"}]}}
{"type":"user","sessionId":"s1","isMeta":true,"message":{"content":[{"type":"text","text":"Another remark of the host"}]}}
"##;
    assert_eq!(events(&found(Host::ClaudeCode, text)), pairs(&[("pdf", "activated")]));
}

#[test]
fn change_after_reading_is_a_correction() {
    let call = |id: &str, name: &str, input: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]}}}}"#
        )
    };
    let result = |id: &str, is_error: bool| {
        format!(
            r#"{{"type":"user","sessionId":"s","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{is_error}}}]}}}}"#
        )
    };
    let read = [call("1", "Skill", r#"{"skill":"pdf"}"#), result("1", false)];
    let patch =
        |name: &str| call("2", "mcp__skillhub__skill_manage", &format!(r#"{{"action":"patch","name":"{name}"}}"#));
    let told = |lines: &[String]| events(&found(Host::ClaudeCode, &lines.join("\n")));
    let [first, second] = read.clone();
    let corrected = pairs(&[("pdf", "activated"), ("pdf", "corrected")]);
    assert_eq!(told(&[first.clone(), second.clone(), patch("pdf"), result("2", false)]), corrected);
    let activated = pairs(&[("pdf", "activated")]);
    for rest in [[patch("pdf"), result("2", true)], [patch("other"), result("2", false)]] {
        assert_eq!(told(&[read.as_slice(), rest.as_slice()].concat()), activated);
    }
    assert_eq!(told(&[patch("pdf"), result("2", false), first, second]), activated, "a change before reading");
}

#[test]
fn opencode_parts_and_exports_are_imported() {
    let part = r#"{"id":"p1","sessionID":"s2","messageID":"m","type":"tool","tool":"skill","callID":"c",
        "state":{"status":"error","input":{"name":"pdf"},"error":"x","time":{"start":1767323045000,"end":1767323046000}}}"#;
    let mut found = Transcripts::default();
    found.add(Host::OpenCode, part.as_bytes());
    found.add(Host::OpenCode, br#"{"id":"p2","sessionID":"s2","type":"text","text":"x"}"#);
    found.add(Host::OpenCode, br#"{"id":"ses"}"#);
    found.add(Host::OpenCode, b"\xff");
    assert_eq!(events(&found), pairs(&[("pdf", "activated"), ("pdf", "failed")]));
    assert_eq!((found.read, found.skipped), (2, 2));
    let export = format!(r#"{{"info":{{}},"messages":[{{"info":{{}},"parts":[{part}]}}]}}"#);
    let mut again = Transcripts::default();
    again.add(Host::OpenCode, export.as_bytes());
    assert_eq!(again.uses, found.uses);
}

#[test]
fn codex_transcript_is_imported() {
    let text = r##"{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"t1"}}
{"timestamp":"2026-01-02T03:04:06Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\": \"cat -- /a/.agents/skills/pdf/SKILL.md\"}","call_id":"c1"}}
{"timestamp":"2026-01-02T03:04:07Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Output:\n# PDF"}}
{"timestamp":"2026-01-02T03:04:08Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** Update File: .agents/skills/pdf/SKILL.md","call_id":"c2"}}
{"timestamp":"2026-01-02T03:04:09Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":"Done"}}
{"timestamp":"2026-01-02T03:04:10Z","type":"event_msg","payload":{"type":"turn_aborted"}}
{"payload":{}}
"##;
    let found = found(Host::Codex, text);
    assert_eq!(events(&found), pairs(&[("pdf", "activated"), ("pdf", "corrected"), ("pdf", "aborted")]));
    let failed = text.replace(r#""output":"Done""#, r#""output":"Process exited with code 1\nOutput:\nno""#);
    let failed = self::found(Host::Codex, &failed);
    assert_eq!(events(&failed), pairs(&[("pdf", "activated"), ("pdf", "aborted")]), "a change that failed");
    assert_eq!((found.read, found.skipped), (6, 1));
    assert_eq!((found.uses[0].session.as_str(), found.uses[0].content.as_deref()), ("t1", Some("Output:\n# PDF")));
}

#[test]
fn gemini_transcript_is_imported() {
    let call = r##"{"id":"c1","name":"activate_skill","args":{"name":"pdf"},"status":"success","timestamp":"2026-01-02T03:04:05Z","result":[{"functionResponse":{"response":{"output":"# PDF"}}}]}"##;
    let message = format!(r#"{{"id":"m1","type":"gemini","toolCalls":[{call}]}}"#);
    let lines = format!("{{\"sessionId\":\"s1\"}}\n{{\"id\":\"m1\",\"type\":\"gemini\"}}\n{message}\n{message}\nx\n");
    let of_lines = found(Host::GeminiCli, &lines);
    assert_eq!(events(&of_lines), pairs(&[("pdf", "activated")]));
    assert_eq!((of_lines.read, of_lines.skipped), (4, 1));
    assert_eq!(of_lines.uses[0].content.as_deref(), Some("# PDF"));
    let of_document = found(Host::GeminiCli, &format!(r#"{{"sessionId":"s1","messages":[{message}]}}"#));
    assert_eq!(of_document.uses, of_lines.uses);
}
