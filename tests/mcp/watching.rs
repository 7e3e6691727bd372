//! Changes by other programs: clients are notified, and reads follow the protocol's caching rules.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};

use super::connection::Connection;
use crate::support::{Sandbox, skill_md};

const LISTS: [&str; 3] =
    ["notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/tools/list_changed"];

/// Seconds within which a client is notified. Two are promised, but test machines are slow.
const SOON: u64 = 20;

fn put(sandbox: &Sandbox, name: &str, description: &str) {
    let folder = sandbox.user_skill(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), skill_md(name, description, "Do it.")).unwrap();
}

fn description(agent: &mut Connection) -> String {
    agent.request("tools/list", &json!({}))["tools"][0]["description"].as_str().unwrap().to_owned()
}

/// They are notified of nothing else.
#[test]
fn clients_are_notified_of_outside_changes() {
    let sandbox = Sandbox::new();
    put(&sandbox, "first", "Makes tables. Use in tests.");
    let mut agent = Connection::open(&sandbox, &[]);
    assert!(description(&mut agent).contains("Makes tables"));
    thread::sleep(Duration::from_millis(2500));
    agent.request("resources/templates/list", &json!({}));
    assert_eq!(agent.notifications, Vec::<Value>::new(), "nothing was changed");
    let config = sandbox.skillhub_home().join("config.toml");
    let steps: [(&str, &dyn Fn(), &str, bool); 5] = [
        ("an editor", &|| put(&sandbox, "first", "Makes chairs. Use in tests."), "Makes chairs", true),
        ("a new folder", &|| put(&sandbox, "second", "Makes boats. Use in tests."), "Makes boats", true),
        ("a removal", &|| fs::remove_dir_all(sandbox.user_skill("second")).unwrap(), "Makes boats", false),
        ("the command line", &|| drop(sandbox.create("third", "Do it.")), "Does what third says", true),
        (
            "a permission",
            &|| fs::write(&config, "[[permissions]]\nskill = \"third\"\ndecision = \"deny\"\n").unwrap(),
            "Does what third says",
            false,
        ),
    ];
    for (what, change, words, is_there) in steps {
        agent.notifications.clear();
        change();
        for list in LISTS {
            let told = agent.notifications.iter().any(|message| message["method"] == list);
            assert!(told || agent.is_told(list, SOON), "{what}: {list}");
        }
        assert_eq!(description(&mut agent).contains(words), is_there, "{what}");
    }
    agent.close();
}

/// In the newer protocol: a list of tools that names no skills does not change.
#[test]
fn subscription_notifies_only_changed_lists() {
    let sandbox = Sandbox::new();
    put(&sandbox, "first", "Makes tables. Use in tests.");
    let mut agent = Connection::newer(&sandbox, &["--no-catalogue"]);
    agent.request("prompts/list", &json!({}));
    let wanted = json!({"notifications": {"promptsListChanged": true, "toolsListChanged": true}});
    agent.send("subscriptions/listen", &wanted);
    assert!(agent.is_told("notifications/subscriptions/acknowledged", SOON));
    put(&sandbox, "first", "Makes chairs. Use in tests.");
    assert!(agent.is_told(LISTS[0], SOON));
    let others = agent.notifications.iter().filter(|message| message["method"] != LISTS[0]);
    assert_eq!(others.count(), 0, "{:#?}", agent.notifications);
    let prompts = agent.request("prompts/list", &json!({}));
    assert!(prompts.to_string().contains("Makes chairs"), "{prompts:#}");
    agent.close();
}

/// The lists stay; the policy comes with each skill that is named.
#[test]
fn tool_policy_comes_without_session() {
    let sandbox = Sandbox::new();
    for (name, tools) in [("git-notes", "Bash(git:*) Read"), ("web-notes", "WebFetch Read")] {
        let text = format!(
            "---\nname: {name}\ndescription: Writes notes. Use in tests.\nallowed-tools: {tools}\n---\n\nGo.\n"
        );
        sandbox.request(&json!({"action": "create", "name": name, "content": text})).done();
    }
    sandbox.create("plain", "Go.");
    let mut agent = Connection::newer(&sandbox, &[]);
    let before = agent.request("tools/list", &json!({}));
    let plain = agent.call("read_skill", &json!({"name": "plain"}));
    assert_eq!(plain["structuredContent"]["tool_policy"]["restricts"], false, "{plain:#}");
    assert!(plain["_meta"]["skillhub/tool-policy"].is_null(), "{plain:#}");
    let names = |result: &Value| -> Vec<String> {
        let policy = &result["structuredContent"]["tool_policy"];
        assert_eq!(result["_meta"]["skillhub/tool-policy"], *policy);
        policy["tools"].as_array().unwrap().iter().map(|tool| tool["tool"].as_str().unwrap().to_owned()).collect()
    };
    let first = agent.call("read_skill", &json!({"name": "git-notes", "active": ["plain"]}));
    assert_eq!(names(&first), ["Bash", "Read"]);
    let second = agent.call("read_skill", &json!({"name": "web-notes", "active": ["plain", "git-notes", "web-notes"]}));
    assert_eq!(names(&second), ["Bash", "Read", "WebFetch"]);
    let unknown = agent.refused("read_skill", &json!({"name": "web-notes", "active": ["none"]}));
    assert_eq!(unknown["code"], "not_found");
    let after = agent.request("tools/list", &json!({}));
    assert_eq!(after["tools"], before["tools"], "lists do not depend on what was asked before");
    assert!(after["_meta"]["skillhub/tool-policy"].is_null(), "{after:#}");
    assert!(agent.notifications.is_empty(), "{:#?}", agent.notifications);
    agent.close();
}
