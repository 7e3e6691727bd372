//! Under `balanced`, changes that add executable content or widen permissions are held for a person, however an agent
//! disguises or splits them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, snapshot, write_files};

/// A text that makes no more than a warning in this file of a skill.
pub fn warned(path: &str) -> String {
    let examples = scan::rules().iter().flat_map(|rule| rule.harmful.iter());
    let mut texts = examples.filter(|(of, _)| *of == path).map(|(_, text)| format!("{text}\n"));
    let verdict = |text: &str| {
        let files = match path {
            "SKILL.md" => vec![(path, text)],
            path => vec![("SKILL.md", "x"), (path, text)],
        };
        scan::scan(&testkit::bundle(&files)).verdict()
    };
    texts.find(|text| verdict(text) == scan::Verdict::Warn).unwrap()
}

/// A skill under `balanced`, with a script, an executable, evals and rights.
fn balanced() -> Sandbox {
    let sandbox = Sandbox::new();
    let text = "---\nname: demo\ndescription: Does it. Use in tests.\nallowed-tools: Read\n---\n\n# Demo\n\nalpha\n";
    let folder = sandbox.cwd().join("demo");
    write_files(
        &folder,
        &[
            ("SKILL.md", text.as_bytes(), false),
            ("scripts/a.sh", b"#!/bin/sh\necho a\n", true),
            ("assets/run", b"#!/bin/sh\necho b\n", true),
            ("evals/evals.json", b"{}\n", false),
        ],
    );
    sandbox.done(&["install", folder.to_str().unwrap()]);
    sandbox
}

/// Sends a request that must be held: it is done, and what agents read is as it was.
#[track_caller]
fn held(sandbox: &Sandbox, request: &Value) {
    let look = || (snapshot(&sandbox.user_skill("demo")), sandbox.done(&["history", "demo"])["revisions"].clone());
    let before = look();
    let answer = sandbox.request(request).exits(0);
    assert_eq!(answer.json()["status"], "proposed", "{request:#}\n{answer}");
    assert_eq!(look(), before, "{request:#}");
}

#[test]
fn executable_or_privileged_change_is_held() {
    let (script, text) = (warned("scripts/a.sh"), warned("SKILL.md"));
    let md = |fields: &str| {
        format!("---\nname: demo\ndescription: Does it. Use in tests.\n{fields}---\n\n# Demo\n\nalpha\n\n{text}")
    };
    let edit = |fields: &str| json!({"action": "edit", "name": "demo", "content": md(fields)});
    let write = |path: &str, content: &str, executable: bool| {
        let executable = if executable { json!(true) } else { Value::Null };
        let mut request = json!({"action": "write_file", "name": "demo", "path": path, "content": content});
        request["executable"] = executable;
        if request["executable"].is_null() {
            request.as_object_mut().unwrap().remove("executable");
        }
        request
    };
    let harmless = json!({"action": "patch", "find": "alpha", "replace": "beta"});
    let one = |mut request: Value| {
        request.as_object_mut().unwrap().remove("name");
        request
    };
    let table = [
        write("scripts/b.sh", &script, false),
        write("scripts/a.sh", &script, false),
        write("assets/run", &script, false),
        write("assets/new", &script, true),
        write("references/scripts/b.sh", &script, false),
        write("references/SCRIPTS/b.sh", &script, false),
        write("assets/Scripts/deep/b.sh", &script, false),
        edit("allowed-tools: Read Bash\n"),
        edit("allowed-tools: Read\nallowed_tools: Bash\n"),
        edit("allowed-tools: Read\nAllowed-Tools: Bash\n"),
        edit("allowed-tools: Read\nallowedTools: [Bash]\n"),
        edit("x: &x Bash\nallowed-tools: *x\n"),
        edit("\"allowed\\x2dtools\": Bash\n"),
        edit("allowed-tools: Read\n<<: {allowed-tools: Bash}\n"),
        edit("allowed-tools: Read\ntool_schema: {steps: []}\n"),
        edit("allowed-tools: Read\nTool-Schema: {steps: []}\n"),
        edit("allowed-tools: Read\nhooks: {PreToolUse: []}\n"),
        edit("allowed-tools: Read\npermissions: [read, write]\n"),
        edit(""),
        json!({"name": "demo", "operations": [harmless, one(write("scripts/b.sh", &script, false))]}),
        json!({"name": "demo", "operations": [one(write("scripts/b.sh", &script, false)), harmless]}),
        json!({"name": "demo", "operations": [harmless, {"action": "write_file", "path": "evals/b.json", "content": "1"}]}),
        json!({"name": "demo", "operations": [
            {"action": "remove_file", "path": "evals/evals.json"}, {"action": "patch", "find": "alpha", "replace": "b"},
        ]}),
    ];
    for request in table {
        held(&balanced(), &request);
    }
}

#[test]
fn split_change_is_still_held() {
    let sandbox = balanced();
    let script = warned("scripts/a.sh");
    let write = |executable: Option<bool>| {
        let mut request =
            json!({"action": "write_file", "name": "demo", "path": "assets/tool", "content": script.clone()});
        if let Some(executable) = executable {
            request["executable"] = json!(executable);
        }
        request
    };
    assert_eq!(sandbox.request(&write(None)).done()["status"], "applied", "it is text and no more");
    held(&sandbox, &write(Some(true)));
    let sandbox = balanced();
    let whole = json!({"action": "write_file", "name": "demo", "path": "scripts/b.sh", "content": script});
    held(&sandbox, &whole);
    held(&sandbox, &whole);
    let more = json!({"action": "patch", "name": "demo", "path": "scripts/b.sh", "find": script.trim(), "replace": format!("{}\necho more", script.trim())});
    held(&sandbox, &more);
    assert_eq!(sandbox.done(&["review", "list"])["proposals"].as_array().unwrap().len(), 1);
    let rule = "[[rules]]\ndecision = \"hold\"\nactions = [\"write_file\"]\n";
    fs::write(sandbox.skillhub_home().join("config.toml"), rule).unwrap();
    let text = json!({"action": "write_file", "name": "demo", "path": "references/x.md", "content": "one\n"});
    let sandbox = balanced();
    fs::write(sandbox.skillhub_home().join("config.toml"), rule).unwrap();
    held(&sandbox, &text);
    let on_it = json!({"action": "patch", "name": "demo", "path": "references/x.md", "find": "one", "replace": "two"});
    held(&sandbox, &on_it);
}
