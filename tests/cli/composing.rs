//! Skills that compile to tools: from SKILL.md to the run of a tool, against a server on this machine.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use crate::support::{Sandbox, write_files};

/// A server on this machine. `/search` answers like a search endpoint, `/flaky` fails twice, `/down` always
/// fails, and any other page answers.
pub(super) struct Site {
    port: u16,
    flaky: Arc<AtomicUsize>,
}

impl Site {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let flaky = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&flaky);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let (status, body) = match path {
                    path if path.starts_with("/search") => {
                        let page = |name: &str| json!({"title": name, "url": format!("http://127.0.0.1:{port}/{name}"), "content": "c"});
                        ("200 OK", json!({"results": [page("one"), page("down"), page("two")]}).to_string())
                    }
                    "/flaky" if count.fetch_add(1, Ordering::Relaxed) < 2 => ("503 Busy", String::new()),
                    "/down" => ("500 Broken", String::new()),
                    path => ("200 OK", format!("page {path}")),
                };
                let answer =
                    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
                let _gone = stream.write_all(answer.as_bytes());
            }
        });
        Self { port, flaky }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Creates a sandbox whose tools may access this server.
    pub fn sandbox(&self, more: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        let config = format!(
            "[tools]\nhosts = ['127.0.0.1:{0}']\nprivate_addresses = true\n[tools.search]\nurl = 'http://127.0.0.1:{0}/search?q={{query}}'\n{more}",
            self.port
        );
        fs::create_dir_all(sandbox.skillhub_home()).unwrap();
        fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
        sandbox
    }
}

fn create(sandbox: &Sandbox, name: &str, tool_schema: &str) {
    let indented: String = tool_schema.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!("---\nname: {name}\ndescription: Does {name}.\ntool_schema:\n{indented}---\n\nCall it.\n");
    let file = sandbox.path(&format!("{name}.md"));
    fs::write(&file, text).unwrap();
    let exists = sandbox.user_skill(name).exists();
    let action = if exists { "edit" } else { "create" };
    sandbox.done(&["manage", action, name, "--content", file.to_str().unwrap()]);
}

fn tools(sandbox: &Sandbox) -> Value {
    sandbox.done(&["tools", "list"])["tools"].clone()
}

fn call(sandbox: &Sandbox, name: &str, input: &Value) -> Value {
    sandbox.done(&["tools", "call", name, "--input", &input.to_string(), "--approve", "plan_confirm"])
}

#[test]
fn seed_skills_compile_and_run() {
    let site = Site::start();
    let sandbox = site.sandbox("");
    sandbox.done(&["install", "skillhub/page-check", "skillhub/site-monitor", "skillhub/topic-notes"]);
    let compiled = sandbox.done(&["tools", "compile", "site-monitor"]);
    let names: Vec<_> =
        compiled["skills"].as_array().unwrap().iter().map(|skill| skill["tool"]["name"].clone()).collect();
    assert_eq!(names, ["skill_page-check", "skill_site-monitor"], "what it calls is compiled with it");
    let input = json!({"sites": [site.url("a"), site.url("down")]}).to_string();
    let plan = sandbox.done(&["tools", "call", "site-monitor", "--input", &input, "--dry-run"]);
    assert_eq!(plan["plan"]["approval"], "plan_confirm");
    assert_eq!(plan["plan"]["steps"][0]["inputs"][1]["url"], site.url("down"));
    assert!(!sandbox.cwd().join("site-report.md").exists());
    let refused =
        sandbox.ask(&["tools", "call", "site-monitor", "--input", &input]).refused_with_hint(5, "policy_denied");
    assert!(refused["message"].as_str().unwrap().contains("plan_confirm"), "{refused}");
    let done = sandbox.done(&["tools", "call", "skill_site-monitor", "--input", &input, "--approve"]);
    assert_eq!(done["output"]["checks"][0]["status"], 200);
    assert_eq!(done["output"]["checks"][1]["status"], Value::Null);
    let report = fs::read_to_string(sandbox.cwd().join("site-report.md")).unwrap();
    assert!(report.starts_with("# Sites, daily\n") && report.contains("| 200 |"), "{report}");
    sandbox.done(&["tools", "compile", "topic-notes"]);
    let done = call(&sandbox, "topic-notes", &json!({"topic": "skills"}));
    let notes = fs::read_to_string(sandbox.cwd().join("notes.md")).unwrap();
    assert!(notes.contains("## one") && notes.contains("page /two"), "{notes}");
    let trace = sandbox.done(&["tools", "trace", done["trace"].as_str().unwrap()]);
    let pages = trace["trace"]["steps"][1].clone();
    let attempts: Vec<_> =
        pages["calls"].as_array().unwrap().iter().map(|call| call["attempts"].as_array().unwrap().len()).collect();
    assert_eq!(attempts, [1, 3, 1], "a page that fails is asked three times and passed over");
    assert_eq!(pages["calls"][1]["status"], "skipped");
}

#[test]
fn failing_steps_are_retried() {
    let site = Site::start();
    let sandbox = site.sandbox("");
    let fetch = |path: &str, rest: &str| {
        format!(
            "steps:\n  - {{tool: web_fetch, input: {{url: \"{}\"}}{rest}}}\n  - {{tool: text_template, input: {{template: done}}}}\n",
            site.url(path)
        )
    };
    create(&sandbox, "flaky", &fetch("flaky", ""));
    create(&sandbox, "down", &fetch("down", ", retries: 1"));
    sandbox.done(&["tools", "compile", "--all"]);
    assert_eq!(call(&sandbox, "flaky", &json!({}))["output"]["text"], "done");
    assert_eq!(site.flaky.load(Ordering::Relaxed), 3);
    let error = sandbox.ask(&["tools", "call", "down"]).refused_with_hint(1, "tool_failed");
    let id = error["details"]["trace"].as_str().unwrap();
    let trace = sandbox.done(&["tools", "trace", id])["trace"].clone();
    assert_eq!((&trace["steps"][0]["status"], &trace["steps"][1]["status"]), (&json!("failed"), &json!("not_run")));
    assert_eq!(trace["steps"][0]["calls"][0]["attempts"].as_array().unwrap().len(), 2);
    let runs = sandbox.done(&["tools", "trace"])["runs"].clone();
    assert_eq!(
        (runs[0]["status"].clone(), runs[1]["status"].clone()),
        (json!("failed"), json!("done")),
        "the newest first"
    );
}

#[test]
fn tool_follows_its_skill() {
    let sandbox = Sandbox::new();
    let step = |text: &str| format!("steps: [{{tool: text_template, input: {{template: \"{text}\"}}}}]");
    create(&sandbox, "note", &step("one"));
    assert_eq!(tools(&sandbox), json!([]), "nobody had it compiled");
    sandbox.done(&["tools", "compile", "note"]);
    let text = |expected: &str| assert_eq!(call(&sandbox, "note", &json!({}))["output"]["text"], expected);
    text("one");
    create(&sandbox, "note", &step("two"));
    text("two");
    sandbox.done(&["rollback", "note"]);
    text("one");
    sandbox.done(&["disable", "note"]);
    assert_eq!(tools(&sandbox)[0]["state"], "absent");
    sandbox.ask(&["tools", "call", "note"]).refused_with_hint(3, "invalid_skill");
    sandbox.done(&["enable", "note"]);
    text("one");
    create(&sandbox, "note", "steps: [{tool: text_templat, input: {template: x}}]");
    let broken = tools(&sandbox)[0].clone();
    assert_eq!((&broken["state"], &broken["problems"][0]["code"]), (&json!("broken"), &json!("unknown_tool")));
    assert_eq!((&broken["problems"][0]["line"], &broken["problems"][0]["column"]), (&json!(5), &json!(18)));
    sandbox.ask(&["tools", "compile", "note"]).exits(3);
    create(&sandbox, "note", &step("three"));
    text("three");
    sandbox.done(&["manage", "delete", "note"]);
    assert_eq!(tools(&sandbox), json!([]), "what is gone is not listed");
    assert_eq!(sandbox.done(&["tools", "show", "note"])["state"], "absent");
    sandbox.done(&["tools", "remove", "note"]);
    sandbox.ask(&["tools", "remove", "note"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["tools", "call", "note"]).refused_with_hint(7, "not_found");
}

#[test]
fn tools_respect_permissions_and_configuration() {
    let site = Site::start();
    let sandbox = site.sandbox("[[permissions]]\nagent = 'small'\ntool = 'web_fetch'\ndecision = 'deny'\n");
    create(
        &sandbox,
        "inner",
        "input: {type: object, properties: {url: {type: string}}}\nsteps: [{tool: web_fetch, input: {url: \"{{input.url}}\"}}]",
    );
    create(
        &sandbox,
        "outer",
        "input: {type: object, properties: {url: {type: string}}}\nsteps: [{tool: skill_inner, input: {url: \"{{input.url}}\"}}]",
    );
    create(
        &sandbox,
        "save",
        "input: {type: object, properties: {path: {type: string}}}\nsteps: [{tool: write_file, input: {path: \"{{input.path}}\", content: x}}]",
    );
    create(
        &sandbox,
        "saves",
        "input: {type: object, properties: {path: {type: string}}}\nsteps: [{tool: skill_save, input: {path: \"{{input.path}}\"}, on_error: skip}]",
    );
    sandbox.done(&["tools", "compile", "--all"]);
    let here = json!({"url": site.url("a")}).to_string();
    assert_eq!(sandbox.done(&["tools", "call", "outer", "--input", &here])["output"]["text"], "page /a");
    let refused = sandbox
        .ask(&["tools", "call", "outer", "--agent", "small", "--input", &here])
        .refused_with_hint(5, "policy_denied");
    assert!(refused["message"].as_str().unwrap().contains("web_fetch"), "{refused}");
    let elsewhere = json!({"url": "http://127.0.0.1:1/"}).to_string();
    sandbox.ask(&["tools", "call", "outer", "--input", &elsewhere]).refused_with_hint(5, "policy_denied");
    sandbox.ask(&["tools", "call", "saves", "--input", r#"{"path":"a"}"#]).refused_with_hint(5, "policy_denied");
    for path in ["../out", "/tmp/skillhub-out", ".git/hooks/x", "a/../../out"] {
        let input = json!({ "path": path });
        call(&sandbox, "saves", &input);
        sandbox
            .ask(&["tools", "call", "save", "--approve", "--input", &input.to_string()])
            .refused_with_hint(5, "policy_denied");
    }
    assert!(!sandbox.cwd().parent().unwrap().join("out").exists() && !sandbox.cwd().join(".git").exists());
}

#[test]
fn shell_needs_configuration_and_approval() {
    let sandbox = Sandbox::new();
    create(&sandbox, "run-it", "steps: [{tool: shell, input: {command: echo, args: [hi]}}]");
    sandbox.ask(&["tools", "compile", "run-it"]).exits(3);
    fs::write(sandbox.skillhub_home().join("config.toml"), "[tools]\nshell = true\n").unwrap();
    sandbox.done(&["tools", "compile", "run-it"]);
    assert_eq!(sandbox.done(&["tools", "show", "run-it"])["approval"], "exec_escalation");
    let run = ["tools", "call", "run-it", "--approve", "exec_escalation"];
    sandbox.ask(&["tools", "call", "run-it", "--approve", "plan_confirm"]).refused_with_hint(5, "policy_denied");
    sandbox.ask(&run).refused_with_hint(5, "policy_denied");
    let token = sandbox.token();
    assert_eq!(sandbox.run_as(&token, &run).done()["output"]["stdout"], "hi\n");
}

#[test]
fn stored_tools_are_versioned() {
    let sandbox = Sandbox::new();
    create(&sandbox, "note", "steps: [{tool: text_template, input: {template: x}}]");
    sandbox.done(&["tools", "compile", "note"]);
    let library = fs::read_dir(sandbox.skillhub_home().join("libraries")).unwrap().next().unwrap().unwrap().path();
    let file = library.join("composed_tools.json");
    let stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!((&stored["format"], &stored["skills"]["note"]["tool"]["name"]), (&json!(1), &json!("skill_note")));
    for damage in ["", "{", "{\"format\":2,\"skills\":{}}"] {
        fs::write(&file, damage).unwrap();
        sandbox.ask(&["tools", "list"]).refused_with_hint(8, "damaged");
        sandbox.ask(&["tools", "call", "note"]).refused(8, "damaged");
    }
    sandbox.ask(&["tools", "trace", "../../config"]).refused_with_hint(7, "not_found");
}

#[test]
fn unusable_skill_is_reported_by_name() {
    let sandbox = Sandbox::new();
    create(&sandbox, "off", "steps: [{tool: text_template, input: {template: x}}]");
    sandbox.done(&["tools", "compile", "off"]);
    sandbox.done(&["disable", "off"]);
    let compiled = sandbox.ask(&["tools", "compile", "off"]).exits(3);
    let problem = compiled.json()["skills"][0]["problems"][0].clone();
    assert_eq!(problem["code"], "skill_disabled", "{problem}");
    let refused = sandbox.ask(&["tools", "call", "off"]).refused_with_hint(3, "invalid_skill");
    assert!(refused["hint"].as_str().unwrap().contains("skillhub enable off"), "{refused}");
    let folder = sandbox.user_skill("twice");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), "---\nname: twice\ndescription: a\ndescription: b\n---\n").unwrap();
    let compiled = sandbox.ask(&["tools", "compile", "twice"]).exits(3);
    let problem = compiled.json()["skills"][0]["problems"][0].clone();
    assert_eq!(problem["code"], "unreadable", "{problem}");
}

#[test]
fn bad_call_names_its_error() {
    let sandbox = Sandbox::new();
    create(
        &sandbox,
        "count",
        "input: {type: object, properties: {n: {type: integer}}, required: [n]}\nsteps: [{tool: text_template, input: {template: x}}]",
    );
    create(&sandbox, "plain-name", "steps: [{tool: text_template, input: {template: x}}]");
    write_files(&sandbox.path("w"), &[("x", b"", false)]);
    sandbox.ask(&["tools", "compile"]).refused_with_hint(2, "usage");
    sandbox.ask(&["tools", "compile", "nothing"]).refused(7, "not_found");
    sandbox.done(&["tools", "compile", "count"]);
    sandbox.ask(&["tools", "call", "count", "--input", "{"]).refused_with_hint(2, "usage");
    let wrong =
        sandbox.ask(&["tools", "call", "count", "--input", r#"{"n":"x"}"#]).refused_with_hint(2, "invalid_input");
    assert!(wrong["message"].as_str().unwrap().contains("/n"), "{wrong}");
    sandbox.ask(&["tools", "call", "count", "--approve", "all"]).exits(2);
    let native = sandbox.done(&["tools", "list", "--native"])["tools"].clone();
    assert!(native.as_array().unwrap().iter().any(|tool| tool["name"] == "web_fetch" && tool["approval"] == "none"));
    assert!(sandbox.run(&["tools", "list"]).exits(0).text().contains("skill_count"));
}

#[cfg(target_os = "linux")]
#[test]
fn interrupted_call_leaves_only_trace() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), "[tools]\nshell = true\n").unwrap();
    let script = "touch begun; sleep 3; touch survived";
    create(&sandbox, "slow", &format!("steps: [{{tool: shell, input: {{command: sh, args: [-c, \"{script}\"]}}}}]"));
    sandbox.done(&["tools", "compile", "slow"]);
    let token = sandbox.token();
    let mut command = sandbox.command(&["tools", "call", "slow", "--approve", "exec_escalation"]);
    let mut child = sandbox.start(command.env("SKILLHUB_REVIEWER_TOKEN", token));
    let begun = std::time::Instant::now();
    while !sandbox.cwd().join("begun").exists() {
        assert!(begun.elapsed().as_secs() < 60, "it does not begin");
        thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    thread::sleep(std::time::Duration::from_millis(3_500));
    assert!(!sandbox.cwd().join("survived").exists(), "the command went on");
    let runs = sandbox.done(&["tools", "trace"])["runs"].clone();
    assert_eq!((&runs[0]["status"], &runs[0]["error"]["code"]), (&json!("cancelled"), &json!("cancelled")), "{runs:#}");
}

#[test]
fn unreadable_trace_hides_no_other() {
    let sandbox = Sandbox::new();
    create(&sandbox, "note", "steps: [{tool: text_template, input: {template: x}}]");
    sandbox.done(&["tools", "compile", "note"]);
    let run = sandbox.done(&["tools", "call", "note"])["trace"].as_str().unwrap().to_owned();
    let libraries = fs::read_dir(sandbox.skillhub_home().join("libraries")).unwrap();
    let traces = libraries.map(|entry| entry.unwrap().path().join("traces")).find(|path| path.exists()).unwrap();
    fs::write(traces.join("99991231T000000-bad.json"), "[".repeat(300)).unwrap();
    let runs = sandbox.done(&["tools", "trace"])["runs"].clone();
    assert_eq!((&runs[0]["status"], &runs[1]["id"]), (&json!("unreadable"), &json!(run)), "{runs:#}");
    assert!(sandbox.run(&["tools", "trace"]).exits(0).text().contains("skill_note"));
    sandbox.ask(&["tools", "trace", "99991231T000000-bad"]).refused_with_hint(8, "damaged");
}
