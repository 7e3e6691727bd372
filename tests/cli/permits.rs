//! Policy rules about adding and removing whole skills, for agents and for people.

use std::fs;

use serde_json::json;

use crate::support::{Sandbox, snapshot};

/// Creates a sandbox with this policy in its `config.toml`.
fn with_rules(rules: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.done(&["where"]);
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), rules).unwrap();
    sandbox
}

#[test]
fn rules_limit_agents_installs() {
    let sandbox = with_rules(
        "policy = \"open\"\n[[rules]]\ndecision = \"deny\"\nactions = [\"install\", \"adopt\"]\nwhy = \"ask ann\"\n\
         [[rules]]\ndecision = \"hold\"\nactions = [\"update\", \"uninstall\"]\nactor = \"agent\"\n",
    );
    let token = sandbox.token();
    let source = sandbox.skill("demo", "From a folder. Use in tests.", &[]);
    let source = source.to_str().unwrap().to_owned();
    for args in [&["install", &source][..], &["install", &source, "--dry-run"], &["adopt", &source]] {
        let error = sandbox.ask(args).refused_with_hint(5, "policy_denied");
        assert!(error["message"].as_str().unwrap().contains("ask ann"), "{error:#}");
        assert!(error["hint"].as_str().unwrap().contains("a person"), "{error:#}");
        sandbox.ask(&[args, &["--actor", "person:ann"]].concat()).refused(5, "policy_denied");
        assert!(!sandbox.user_skill("demo").exists());
    }
    let log = sandbox.done(&["log", "demo"]);
    let refused = log["events"].as_array().unwrap();
    let words: Vec<_> = refused.iter().map(|event| (&event["action"], &event["code"], &event["actor"])).collect();
    let denied = json!("policy_denied");
    assert_eq!(words[..], [(&json!("adopt"), &denied, &json!("agent")), (&json!("install"), &denied, &json!("agent"))]);
    sandbox.run_as(&token, &["install", &source, "--actor", "person"]).done();
    assert_eq!(sandbox.done(&["install", &source])["skills"][0]["status"], "unchanged");
    let before = snapshot(&sandbox.user_skill("demo"));
    sandbox.skill("demo", "Another. Use in tests.", &[]);
    for args in [&["install", &source][..], &["uninstall", "demo"]] {
        sandbox.ask(args).refused_with_hint(5, "policy_denied");
        assert_eq!(snapshot(&sandbox.user_skill("demo")), before, "{args:?}");
    }
    sandbox.run_as(&token, &["install", &source, "--actor", "person"]).done();
    sandbox.run_as(&token, &["uninstall", "demo", "--actor", "person"]).done();
    assert!(!sandbox.user_skill("demo").exists());
}

#[test]
fn permitted_part_of_batch_installs() {
    let sandbox = with_rules("[[rules]]\ndecision = \"deny\"\nactions = [\"install\"]\nskill = \"team-*\"\n");
    let sources = ["team-a", "other"].map(|name| sandbox.skill(name, "A skill. Use in tests.", &[]));
    let [team, other] = sources.each_ref().map(|path| path.to_str().unwrap());
    let both = sandbox.ask(&["install", team, other]).exits(5).json();
    assert_eq!(both["skills"][0]["error"]["code"], "policy_denied");
    assert_eq!(both["skills"][1]["status"], "installed");
    assert!(!sandbox.user_skill("team-a").exists() && sandbox.user_skill("other").exists());
}

#[test]
fn only_install_rules_limit_installs() {
    let sandbox = with_rules("policy = \"strict\"\n[[rules]]\ndecision = \"deny\"\n");
    let source = sandbox.skill("demo", "From a folder. Use in tests.", &[]);
    sandbox.done(&["install", source.to_str().unwrap()]);
    sandbox.done(&["uninstall", "demo"]);
    fs::write(sandbox.skillhub_home().join("config.toml"), "[[rules]]\ndecision = \"deny\"\nactions = [\"instal\"]\n")
        .unwrap();
    sandbox.ask(&["install", source.to_str().unwrap()]).refused(2, "invalid_config");
    assert!(!sandbox.user_skill("demo").exists(), "a policy that cannot be read lets nothing in");
}

#[cfg(unix)]
#[test]
fn install_places_nothing_for_denied_agents() {
    let sandbox = Sandbox::project();
    let root = sandbox.cwd();
    sandbox.done(&["new", "mine"]);
    fs::create_dir_all(root.join(".claude")).unwrap();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    let config = sandbox.skillhub_home().join("config.toml");
    fs::write(&config, "[[permissions]]\nagent = 'claude-code'\nskill = 'mine'\ndecision = 'deny'\n").unwrap();
    let install = ["install", "./mine", "--agent", "claude-code", "bob"];
    let planned = sandbox.done(&[&install[..], &["--dry-run"]].concat());
    assert_eq!(planned["skills"][0]["links"].as_array().unwrap().len(), 1, "{planned:#}");
    let installed = sandbox.done(&install);
    assert_eq!(installed["skills"][0]["links"].as_array().unwrap().len(), 1, "{installed:#}");
    assert!(installed["skills"][0]["warnings"].to_string().contains("hidden from agents"), "{installed:#}");
    assert!(root.join(".bob/skills/mine").is_symlink());
    assert!(!root.join(".claude/skills").exists(), "a link that is taken away again would leave its folder");
    fs::write(&config, "").unwrap();
    assert_eq!(sandbox.done(&["enable", "mine"])["links"].as_array().unwrap().len(), 2);
    assert!(root.join(".claude/skills/mine").is_symlink());
    fs::write(&config, "[[permissions]]\nagent = 'bob'\nskill = 'mine'\ndecision = 'deny'\n").unwrap();
    let bob = root.join(".bob/skills/mine");
    sandbox.done(&["install", "./mine", "--agent", "claude-code", "--dry-run"]);
    assert!(bob.is_symlink(), "a dry run changes nothing");
    let again = sandbox.done(&["install", "./mine", "--agent", "claude-code"]);
    assert!(again["skills"][0]["warnings"].to_string().contains("hidden from agents"), "{again:#}");
    assert!(!bob.is_symlink(), "a link of an earlier install is removed as well");
}

#[test]
fn permission_follows_the_skill_that_a_name_means() {
    let sandbox = Sandbox::project();
    let source = sandbox.skill("demo", "From acme. Use in tests.", &[]);
    let source = source.to_str().unwrap();
    sandbox.done(&["publish", source, "--owner", "acme", "--version", "1.0.0"]);
    sandbox.done(&["install", "acme/demo", "--global"]);
    let config = sandbox.skillhub_home().join("config.toml");
    sandbox.done(&["install", source]);
    fs::write(&config, "[[permissions]]\nskill = 'acme/demo'\ndecision = 'deny'\n").unwrap();
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "clean");
    sandbox.ask(&["status", "demo", "--global"]).refused(7, "not_found");
}
