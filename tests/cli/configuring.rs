//! `config check`, `show` and `path`: every fault with its place, and no secrets.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

const DAMAGED: &str = "polcy = \"strict\"\n\n[notify]\ntimeout_seconds = \"10\"\n\n[registries.team]\n\
                       locaton = \"/srv\"\n\n[[rules]]\ndecision = \"hold\"\nchanges = [\"script\"]\n";

fn write(sandbox: &Sandbox, text: &str) {
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), text).unwrap();
}

/// Returns the faults of the first file as `LINE:COLUMN KEY NEAREST`.
fn faults(document: &Value) -> Vec<String> {
    let faults = document["files"][0]["faults"].as_array().unwrap();
    let described = |fault: &Value| {
        let nearest = fault["nearest"].as_str().unwrap_or("-");
        format!("{}:{} {} {nearest}", fault["line"], fault["column"], fault["key"].as_str().unwrap())
    };
    faults.iter().map(described).collect()
}

#[test]
fn every_fault_is_reported_with_its_place() {
    let sandbox = Sandbox::new();
    write(&sandbox, DAMAGED);
    let error = sandbox.ask(&["list"]).refused_with_hint(2, "invalid_config");
    assert!(error["hint"].as_str().unwrap().ends_with(": skillhub config check"), "{error:#}");
    sandbox.ask(&["config", "show"]).refused_with_hint(2, "invalid_config");
    let document = sandbox.ask(&["config", "check"]).exits(2).json();
    assert_eq!(
        faults(&document),
        [
            "1:1 polcy policy", "4:1 notify.timeout_seconds -", "6:13 registries.team -",
            "7:1 registries.team.locaton location", "11:12 rules[0].changes[0] scripts",
        ],
        "{document:#}"
    );
    let text = sandbox.run(&["config", "check"]).exits(2).text();
    assert!(text.contains("config.toml:1:1: unknown key `polcy`; did you mean `policy`?"), "{text}");
    assert!(text.ends_with("5 faults\n"), "{text}");
}

/// Faults that no schema shows, each at the key or value that is to blame.
#[test]
fn faults_beyond_the_schema_have_places() {
    let sandbox = Sandbox::new();
    for (text, place) in [
        ("owner = 'acme'\nowner = 'zoe'\n", "2:1  -"),
        ("owner = 'acme'\n[notify\n", "2:8  -"),
        ("[agents]\nin_use = ['clod']\n", "2:1 agents.in_use -"),
        ("[agents.cluade-code]\nskills = ['pdf']\n", "1:9 agents.cluade-code claude-code"),
        ("[skills]\npath = 'relative'\n", "2:1 skills.path -"),
        ("[gate]\nmin_runs = 9\nmax_runs = 3\n", "1:2 gate -"),
        ("[tools]\nhosts = ['a/b']\n", "2:10 tools.hosts -"),
        (
            "policy = 'open'\n[[rules]]\ndecision = 'hold'\n[[rules]]\nactor = 'agent:x'\ndecision = 'apply'\n",
            "4:1 rules[1] -",
        ),
        (
            "[registries.a]\nlocation = '/a'\nowners = ['x']\n[registries.b]\nlocation = '/b'\nowners = ['x']\n",
            "6:11 registries.b.owners -",
        ),
        ("[scan]\nrules = ['missing']\n", "1:2 scan -"),
    ] {
        write(&sandbox, text);
        let document = sandbox.ask(&["config", "check"]).exits(2).json();
        assert_eq!(faults(&document), [place], "{text}\n{document:#}");
        sandbox.ask(&["config", "check"]).exits(2);
    }
}

/// Values that earlier versions accepted: each is a fault with its place and the values that work, but is still loaded.
#[test]
fn unusable_values_are_faults_but_load() {
    let sandbox = Sandbox::new();
    for (text, place, advice) in [
        ("[library]\nstorage = 'sqlite'\n", "2:1 library.storage -", "must be one of: git"),
        ("[notify]\nevents = ['propsed']\n", "2:11 notify.events[0] proposed", "must be one of: proposed, amended, "),
        ("[mcp_servers.x]\nurl = 'ftp://a.example'\n", "2:1 mcp_servers.x.url -", "`https://` or `http://`"),
        ("[mcp_servers.x]\ncommand = ['']\n", "2:1 mcp_servers.x.command -", "must begin with a program"),
        ("[notify]\ncommand = ['']\n", "2:1 notify.command -", "must begin with a program"),
        ("[[rules]]\ndecision = 'hold'\nactions = []\n", "3:1 rules[0].actions -", "at least one of: create, edit, "),
    ] {
        write(&sandbox, text);
        let document = sandbox.ask(&["config", "check"]).exits(2).json();
        assert_eq!(faults(&document), [place], "{text}\n{document:#}");
        let message = document["files"][0]["faults"][0]["message"].as_str().unwrap();
        assert!(message.contains(advice), "{message}");
        sandbox.done(&["policy"]);
    }
    write(&sandbox, "[notify]\nevents = ['propsed']\n[mcp_servers.x]\nurl = 'ftp://a.example'\n");
    sandbox.done(&["list"]);
}

#[test]
fn shown_settings_name_the_tables_left_out() {
    let sandbox = Sandbox::new();
    write(&sandbox, "[[permissions]]\nskill = 'x'\ndecision = 'deny'\n");
    let text = sandbox.run(&["config", "show"]).exits(0).text();
    assert!(text.contains("[[permissions]] and [tools.groups] are left out here"), "{text}");
    assert!(!sandbox.run(&["config", "show", "--quiet"]).exits(0).text().contains("left out"));
}

#[test]
fn agents_of_the_user_are_no_faults() {
    let sandbox = Sandbox::new();
    for id in ["claude-code", "coder", "reporter", "opencode-2", "my-claude-code"] {
        write(&sandbox, &format!("[agents.{id}]\nskills = ['pdf']\n"));
        sandbox.done(&["config", "check"]);
    }
}

#[test]
fn other_files_are_checked_by_kind() {
    let sandbox = Sandbox::new();
    let check = |name: &str, text: &str, more: &[&str]| {
        fs::write(sandbox.cwd().join(name), text).unwrap();
        sandbox.ask(&[&["config", "check", name], more].concat())
    };
    assert_eq!(
        faults(&check("serve.toml", "data = 'x'\nreadonly = true\n", &[]).exits(2).json()),
        ["2:1 readonly read_only"]
    );
    check("serve.toml", "data = 'x'\n[limits]\nconnections = 3\n", &[]).done();
    assert_eq!(faults(&check("policy.toml", "format = 1\nowner = 'acme'\n", &[]).exits(2).json()), ["2:1 owner -"]);
    check("policy.toml", "format = 1\npolicy = 'strict'\n", &[]).done();
    check("other.toml", "format = 1\npolicy = 'strict'\n", &["--kind", "policy"]).done();
    let lock = "format = 1\n[[skill]]\nname = 'acme/a'\nkind = 'registry'\narchive = ''\ndigest = ''\n";
    assert_eq!(faults(&check("skillhub.lock", &lock.replace("kind", "knd"), &[]).exits(2).json()), ["2:1 skill[0] -"]);
    assert_eq!(faults(&check("skillhub.lock", &lock.replace("acme/a", "a/../b"), &[]).exits(2).json()).len(), 1);
    let guide = include_str!("../../docs/guides/scan-rules.md");
    let rule = guide.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    check("my-rules.toml", rule, &[]).done();
    let misspelt = rule.replace("evidence", "evidense");
    assert_eq!(faults(&check("rules.toml", &misspelt, &[]).exits(2).json()).len(), 2);
    let harmless = rule.replace("-h warehouse", "-h prod-db");
    assert_eq!(faults(&check("rules.toml", &harmless, &[]).exits(2).json()), ["6:6 rule.id -"]);
    check("large.toml", &"# 16 characters\n".repeat(70_000), &[]).refused(1, "io");
    assert_eq!(faults(&check("flood.toml", &"[[a]]\n".repeat(150_000), &[]).exits(2).json()), ["1:1  -"]);
    sandbox.ask(&["config", "check", "none.toml"]).refused_with_hint(7, "not_found");
}

#[test]
fn settings_show_origins_without_secrets() {
    let sandbox = Sandbox::new();
    write(
        &sandbox,
        "owner = 'acme'\n[notify]\ncommand = ['tell', 'SECRET']\n[mcp_servers.a]\nurl = 'https://u:SECRET@h.test/?k=SECRET'\n\
         env = { KEY = 'SECRET' }\n",
    );
    fs::write(sandbox.path("policy.toml"), "format = 1\npolicy = 'strict'\n").unwrap();
    let mut command = sandbox.command(&["config", "show", "--json"]);
    command.env("SKILLHUB_POLICY", sandbox.path("policy.toml")).env("SKILLHUB_TOKEN", "SECRET");
    let answer = sandbox.finish(command, &["config", "show"]);
    let document = answer.done();
    assert!(!document.to_string().contains("SECRET"), "{document:#}");
    let settings = document["settings"].as_array().unwrap();
    let of = |key: &str, origin: &str| {
        let found = settings.iter().find(|one| one["key"] == key && one["origin"] == origin);
        found.unwrap_or_else(|| panic!("{key} {origin} in {document:#}"))
    };
    assert_eq!((&of("owner", "file")["value"], &of("owner", "file")["line"]), (&json!("acme"), &json!(1)));
    assert_eq!(of("policy", "default")["value"], "balanced");
    assert_eq!(of("policy", "policy")["value"], "strict");
    assert_eq!(of("notify.command", "file")["value"], json!(["tell", "…"]));
    assert_eq!(of("mcp_servers.a.url", "file")["value"], "https://…@h.test/?…");
    assert_eq!(of("SKILLHUB_TOKEN", "environment")["value"], "…");
    assert_eq!(of("gate.min_runs", "default")["value"], 50);
    let files = sandbox.done(&["config", "path"])["files"].clone();
    assert_eq!((&files[0]["kind"], &files[0]["exists"]), (&json!("config"), &json!(true)));
}
