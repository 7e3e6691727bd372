//! Edits of skill folders, seen through the server: good ones are recorded, and none bypasses the restrictions of
//! agents.

use std::fs;

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::{Random, Sandbox, write_files};

/// Changes of a folder, only some of which an agent could make.
const EDITS: [(&str, &str); 5] = [
    ("SKILL.md", "---\nname: demo\ndescription: Does it. Use in tests.\n---\n\n# demo\n\nedited line\n"),
    ("SKILL.md", "---\nname: demo\ndescription: Other words.\nallowed-tools: Bash\n---\n\n# demo\n\nedited line\n"),
    ("references/more.md", "edited line\n"),
    ("evals/evals.json", "{\"edited line\": 1}\n"),
    ("scripts/a.sh", "#!/bin/sh\necho edited line\n"),
];

fn read(agent: &mut Connection) -> Value {
    agent.done("read_skill", &json!({"name": "demo"}))
}

#[test]
fn edit_shows_in_the_next_read() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "first line");
    let mut agent = Connection::open(&sandbox, &[]);
    let before = read(&mut agent);
    assert_eq!((&before["edited"], before["revision"].is_string()), (&json!(false), true));
    fs::write(sandbox.user_skill("demo").join("SKILL.md"), EDITS[0].1).unwrap();
    let after = read(&mut agent);
    assert_eq!((&after["edited"], &after["revision"], &after["held"]), (&json!(true), &Value::Null, &Value::Null));
    assert!(after["content"].as_str().unwrap().contains("edited line"), "{after:#}");
    assert_ne!(after["digest"], before["digest"]);
    let file = agent.done("read_skill_file", &json!({"name": "demo", "path": "SKILL.md"}));
    assert_eq!(file["text"], EDITS[0].1);
    let diff = agent.done("skill_diff", &json!({"name": "demo"}));
    assert_eq!((&diff["edited"], &diff["to"]), (&json!(true), &Value::Null));
}

/// Applies random edits to a pinned skill, and to one under `strict`: every reader gets the head and a notice that an
/// edit waits, whatever the folder has.
#[test]
fn random_edits_pass_neither_pin_nor_strict() {
    for pinned in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.create("demo", "first line");
        sandbox.done(&["manage", "patch", "demo", "--find", "first line", "--replace", "second line"]);
        let head = sandbox.done(&["history", "demo"])["revisions"][0].clone();
        let first = sandbox.run(&["show", "demo@1", "SKILL.md"]).exits(0).text();
        if pinned {
            sandbox.done(&["pin", "demo"]);
        } else {
            fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
        }
        let mut agent = Connection::open(&sandbox, &[]);
        let mut random = Random::new(7);
        for _ in 0..12 {
            let (path, text) = match usize::try_from(random.below(6)).unwrap() {
                5 => ("SKILL.md", first.as_str()),
                at => EDITS[at],
            };
            write_files(&sandbox.user_skill("demo"), &[(path, text.as_bytes(), false)]);
            let answers = [
                read(&mut agent),
                sandbox.done(&["read", "demo"]),
                sandbox.done(&["prompt"])["skills"][0].clone(),
                sandbox.done(&["list"])["skills"][0].clone(),
            ];
            for answer in answers {
                assert_eq!(answer["digest"], head["digest"], "{path}: {answer:#}");
                assert!(answer["held"].is_string() && answer["edited"] == false, "{path}: {answer:#}");
                assert!(!answer.to_string().contains("edited line"), "{path}: {answer:#}");
            }
            agent.refused("skill_manage", &json!({"action": "patch", "name": "demo", "find": "line", "replace": "x"}));
            assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
        }
    }
}
