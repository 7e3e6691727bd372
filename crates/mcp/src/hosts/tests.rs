//! Edits of configuration files in the forms that hosts write.

use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn entry() -> ServerEntry {
    ServerEntry { command: "skillhub".to_owned(), args: vec!["mcp".to_owned(), "--agent".to_owned(), "x".to_owned()] }
}

fn written(host: &str, text: &str) -> String {
    Host::find(host).unwrap().written(Path::new("file"), text, &entry()).unwrap()
}

fn refused(host: &str, text: &str) -> String {
    let error = Host::find(host).unwrap().written(Path::new("file"), text, &entry()).unwrap_err();
    assert!(error.failure().hint.unwrap().to_string().contains("skillhub"), "the way on has the snippet");
    error.to_string()
}

#[test]
fn empty_file_gets_each_hosts_entry() {
    let args = json!(["mcp", "--agent", "x"]);
    let started = json!({"command": "skillhub", "args": args});
    let typed = json!({"type": "stdio", "command": "skillhub", "args": args});
    let opencode = json!({"type": "local", "command": ["skillhub", "mcp", "--agent", "x"], "enabled": true});
    for (host, document) in [
        ("claude-code", json!({"mcpServers": {"skillhub": typed}})),
        ("claude-desktop", json!({"mcpServers": {"skillhub": started}})),
        ("cursor", json!({"mcpServers": {"skillhub": started}})),
        ("gemini-cli", json!({"mcpServers": {"skillhub": started}})),
        ("vscode", json!({"servers": {"skillhub": typed}})),
        ("opencode", json!({"mcp": {"skillhub": opencode}})),
    ] {
        for empty in ["", "\n", "{}", "{ }\n", "{\n}\n"] {
            let text = written(host, empty);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document, "{host}: {text}");
        }
    }
    assert_eq!(
        written("codex", ""),
        "[mcp_servers.skillhub]\ncommand = \"skillhub\"\nargs = [\"mcp\", \"--agent\", \"x\"]\n"
    );
}

#[test]
fn rewriting_entry_changes_nothing() {
    for host in HOSTS {
        let once = written(host.id, "");
        assert_eq!(written(host.id, &once), once, "{}", host.id);
    }
}

#[test]
fn existing_json_is_kept_byte_for_byte() {
    let before = "// people write here\n{\n    \"theme\": \"dark\", /* of the eyes */\n    \"big\": 12345678901234567890123,\n    \
                  \"mcpServers\": {\n        \"other\": { \"command\": \"o//ther\", \"args\": [\"}\"] } // stays\n    },\n    \
                  \"last\": [1.0, 1e3,],\n}\n";
    let after = written("gemini-cli", before);
    let added = "\n        \"skillhub\": {\n            \"command\": \"skillhub\",\n            \"args\": [\n                \
                 \"mcp\",\n                \"--agent\",\n                \"x\"\n            ]\n        }";
    let expected = before.replace("] } // stays", &format!("] }}, // stays{added}"));
    assert_eq!(after, expected);
    assert_eq!(written("gemini-cli", &after), after);
}

#[test]
fn line_layout_and_endings_are_kept() {
    let one = written("cursor", r#"{"mcpServers": {"a": {"command": "b"}}, "z": 1}"#);
    assert!(!one.contains('\n') && one.ends_with(r#""z": 1}"#), "{one}");
    let windows = written("cursor", "{\r\n\t\"z\": 1\r\n}\r\n");
    assert!(!windows.replace("\r\n", "").contains('\n'), "{windows:?}");
    assert!(windows.starts_with("{\r\n\t\"z\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"skillhub\""), "{windows:?}");
}

#[test]
fn customised_entry_keeps_its_fields() {
    let before =
        "{\"mcpServers\": {\"skillhub\": {\"command\": \"/old/skillhub\", \"args\": [], \"env\": {\"A\": \"1\"}}}}";
    let after: Value = serde_json::from_str(&written("cursor", before)).unwrap();
    let ours = &after["mcpServers"]["skillhub"];
    assert_eq!((&ours["command"], &ours["env"]["A"]), (&json!("skillhub"), &json!("1")));
    let codex = written("codex", "[mcp_servers.skillhub]\ncommand = \"old\" # ours\nstartup_timeout_sec = 20\n");
    assert!(codex.contains("command = \"skillhub\" # ours\nstartup_timeout_sec = 20\n"), "{codex}");
}

#[test]
fn toml_keeps_comments_and_order() {
    let before = "# mine\nmodel = \"m\"   # the model\n\n[mcp_servers.docs]\nurl = \"https://x\"\n\n[tui]\na = 1\n";
    let after = written("codex", before);
    assert!(
        after.starts_with("# mine\nmodel = \"m\"   # the model\n\n[mcp_servers.docs]\nurl = \"https://x\"\n"),
        "{after}"
    );
    assert!(after.contains("[tui]\na = 1\n") && after.contains("[mcp_servers.skillhub]\n"), "{after}");
    let inline = written("codex", "mcp_servers = { docs = { url = \"x\" } }\n");
    assert!(inline.contains("docs = { url = \"x\" }") && inline.contains("skillhub"), "{inline}");
    inline.parse::<toml_edit::DocumentMut>().unwrap();
}

#[test]
fn unparsable_file_is_refused_with_snippet() {
    for bad in [
        "[]",
        "nothing",
        "{\"a\": 1",
        "{\"a\": 1}}",
        "{\"mcpServers\": []}",
        "{\"mcpServers\": {\"skillhub\": 1}}",
        "{\"mcpServers\": {}, \"mcpServers\": {\"x\": {}}}",
        "{'a': 1}",
        "{\"a\": \"open}",
        "{ /* open }",
        "{,}",
        "\u{feff}{}",
    ] {
        let why = refused("cursor", bad);
        assert!(why.starts_with("file was not changed"), "{bad}: {why}");
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    refused("cursor", &deep);
    refused("codex", "[mcp_servers");
    refused("codex", "mcp_servers = 1");
    refused("codex", "[mcp_servers]\nskillhub = \"x\"");
}

#[test]
fn damaged_file_is_written_right_or_refused() {
    let good = "{\n  // c\n  \"a\": {\"b\": [1, \"\\\"}\", null]},\n  \"mcpServers\": {\n    \"o\": {},\n  },\n}\n";
    let noise = ["", "\"", "{", "}", ",", "/*", "//", "\\", "é", "\n", ":"];
    for at in (0..good.len()).filter(|at| good.is_char_boundary(*at)) {
        for cut in [0, 1, 3].map(|length| (at + length).min(good.len())) {
            for piece in noise {
                let text = [&good[..at], piece, &good[cut..]].concat();
                let set = |text: &str| json::set(text, &["mcpServers"], &[("s", json!(1))]);
                let Ok(after) = set(&text) else { continue };
                assert_eq!(set(&after).unwrap(), after, "{text}");
            }
        }
    }
}

#[test]
fn host_files_have_expected_locations() {
    let codex = Host::find("codex").unwrap();
    let home = Path::new("/home/ann");
    assert_eq!(codex.project_files(Path::new("/p")).unwrap(), [Path::new("/p/.codex/config.toml")]);
    assert_eq!(codex.user_files(home, |_| None), [Path::new("/home/ann/.codex/config.toml")]);
    let moved = codex.user_files(home, |name| (name == "CODEX_HOME").then(|| "/c".into()));
    assert_eq!(moved, [Path::new("/c/config.toml")]);
    let claude = Host::find("claude-code").unwrap();
    assert_eq!(claude.user_files(home, |_| None), [Path::new("/home/ann/.claude.json")]);
    assert!(Host::find("claude-desktop").unwrap().project_files(home).is_err());
    assert_eq!(Host::find("nobody").unwrap_err().failure().code, "unknown_agent");
}

/// Removal takes out the written entry and nothing else.
#[test]
fn removed_entry_leaves_the_rest() {
    let removed = |host: &str, text: &str| Host::find(host).unwrap().removed(Path::new("file"), text).unwrap();
    for (host, text) in [
        ("cursor", "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n"),
        ("cursor", "{\"mcpServers\": {\"a\": {}, \"b\": {}}, \"rest\": 1}"),
        ("vscode", "{\n  // kept\n  \"servers\": {\n    \"other\": {} // kept\n  }\n}\n"),
        ("codex", "# kept\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"x\" # kept\n"),
    ] {
        assert_eq!(removed(host, text), text, "{host} without an entry");
        assert_eq!(removed(host, &written(host, text)), text, "{host}");
    }
    assert_eq!(removed("cursor", "{\"mcpServers\": {\"skillhub\": {}, \"b\": 1}}"), "{\"mcpServers\": {\"b\": 1}}");
    assert_eq!(removed("cursor", &written("cursor", "{}")), "{\n  \"mcpServers\": {}\n}");
    let trailing = "{\n  \"servers\": {\n    \"other\": {}, // kept\n  },\n}\n";
    assert_eq!(removed("vscode", &written("vscode", trailing)), trailing.replacen("{}, //", "{} //", 1));
    let error = Host::find("cursor").unwrap().removed(Path::new("file"), "{]").unwrap_err();
    assert!(error.failure().hint.unwrap().to_string().contains("by hand"), "{error}");
}
