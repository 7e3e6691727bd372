//! An agent's view: folders, forms of the prompt, permissions, tool policy, and the usage log.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md, write_files};

/// Creates a skill in a folder that skillhub did not make.
fn put(folder: &Path, name: &str, description: &str) {
    write_files(&folder.join(name), &[("SKILL.md", skill_md(name, description, "Do it.").as_bytes(), false)]);
}

/// Returns the skills that are not built in.
fn names(document: &Value) -> Vec<&str> {
    let skills = document["skills"].as_array().unwrap().iter().filter(|skill| skill["scope"] != "builtin");
    skills.map(|skill| skill["name"].as_str().unwrap()).collect()
}

fn configure(sandbox: &Sandbox, text: &str) {
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), text).unwrap();
}

fn as_person(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.run_as(&sandbox.token(), &[&["--actor", "person:ann"], args].concat()).done()
}

fn sight<'a>(document: &'a Value, name: &str) -> &'a str {
    let skills = document["skills"].as_array().unwrap();
    skills.iter().find(|skill| skill["name"] == name).map_or("", |skill| skill["sight"].as_str().unwrap())
}

#[test]
fn skills_are_found_up_to_root() {
    let sandbox = Sandbox::project();
    let root = sandbox.cwd();
    put(&root.join(".agents/skills"), "own", "Of the project.");
    put(&root.join(".agents/skills/group/deeper"), "grouped", "In a folder of skills.");
    put(&root.join(".claude/skills"), "claude", "Of the project, for one agent.");
    put(&root.join(".opencode/skill"), "open", "Of the project, for another.");
    put(&root.join(".opencode/skills"), "own", "Shadowed.");
    put(&root.join("node_modules/.agents/skills"), "not-this", "In a folder that is none of ours.");
    put(&sandbox.home().join(".claude/skills"), "users", "Of the user.");
    put(&sandbox.home().join(".agents/skills"), "claude", "Shadowed by the project.");
    let prompt = sandbox.done(&["prompt"]);
    assert_eq!(names(&prompt), ["own", "grouped", "open", "claude", "users"]);
    let debug = sandbox.done(&["debug"]);
    let shadowed: Vec<&str> =
        debug["shadowed"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap()).collect();
    assert_eq!(shadowed, ["own", "claude"]);
    assert_eq!(sight(&debug, "grouped"), "seen");
    assert!(debug["prompt"].as_str().unwrap().contains("In a folder of skills."));
    let read = sandbox.done(&["read", "grouped"]);
    assert!(read["path"].as_str().unwrap().ends_with(".agents/skills/group/deeper/grouped"), "{read}");
    for path in [".claude/skills/claude", ".claude/skills/claude/SKILL.md"] {
        assert_eq!(sandbox.done(&["read", root.join(path).to_str().unwrap()])["name"], "claude");
    }
    sandbox.ask(&["read", "./nothing/SKILL.md"]).refused_with_hint(7, "not_found");
    let named = sandbox.path("named");
    put(&named, "alone", "Only this.");
    assert_eq!(names(&sandbox.done(&["--library", named.to_str().unwrap(), "prompt"])), ["alone"]);
}

#[cfg(unix)]
#[test]
fn outward_links_are_skipped() {
    let sandbox = Sandbox::project();
    let root = sandbox.cwd();
    sandbox.done(&["new", "mine"]);
    fs::create_dir_all(root.join(".claude")).unwrap();
    sandbox.done(&["install", "./mine", "--agent", "claude-code"]);
    assert!(root.join(".claude/skills/mine").is_symlink());
    assert_eq!(names(&sandbox.done(&["prompt"])), ["mine"]);
    let outside = sandbox.path("outside");
    put(&outside, "strange", "From elsewhere.");
    fs::create_dir_all(root.join(".opencode")).unwrap();
    std::os::unix::fs::symlink(&outside, root.join(".opencode/skills")).unwrap();
    assert_eq!(names(&sandbox.done(&["prompt"])), ["mine"]);
    let debug = sandbox.done(&["debug"]);
    assert!(debug["notes"][0].as_str().unwrap().contains("link out of the project"), "{debug:#}");
}

#[cfg(unix)]
#[test]
fn disabled_skill_loses_its_links() {
    let sandbox = Sandbox::project();
    let root = sandbox.cwd();
    sandbox.done(&["new", "mine"]);
    fs::create_dir_all(root.join(".claude")).unwrap();
    sandbox.done(&["install", "./mine", "--agent", "claude-code"]);
    let link = root.join(".claude/skills/mine");
    let off = sandbox.done(&["disable", "mine"]);
    assert_eq!(off["links"][0]["status"], "removed");
    assert!(!link.is_symlink());
    let debug = sandbox.done(&["debug"]);
    assert_eq!(sight(&debug, "mine"), "disabled");
    sandbox.done(&["doctor"]);
    assert_eq!(sandbox.done(&["enable", "mine"])["links"][0]["status"], "placed");
    assert!(link.is_symlink());
    for strange in ["open", "skillhub-writing-skills"] {
        put(&root.join(".opencode/skill"), "open", "Found in a folder of agents.");
        sandbox.done(&["disable", strange]);
        sandbox.ask(&["read", strange]).refused_with_hint(5, "policy_denied");
        sandbox.done(&["enable", strange]);
        sandbox.done(&["read", strange]);
    }
    fs::remove_file(&link).unwrap();
    put(&root.join(".claude/skills"), "mine", "Somebody's own.");
    let off = sandbox.done(&["disable", "mine"]);
    assert_eq!(off["links"][0]["status"], "left", "{off}");
    assert!(link.join("SKILL.md").exists());
    let told = sandbox.done(&["debug", "--agent", "claude-code"]);
    assert_eq!(sight(&told, "mine"), "disabled");
}

#[test]
fn still_read_disabled_skill_is_reported() {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.cwd().join(".codex")).unwrap();
    sandbox.create("mine", "text");
    sandbox.done(&["status"]);
    sandbox.done(&["disable", "mine"]);
    let status = sandbox.ask(&["status"]).exits(8).json();
    let [problem] = status["problems"].as_array().unwrap().as_slice() else { panic!("{status:#}") };
    assert_eq!(
        (&problem["code"], &problem["agents"]),
        (&json!("agent_reads_hidden"), &json!(["codex", "cursor"])),
        "{status:#}"
    );
    let message = problem["message"].as_str().unwrap();
    assert!(
        message.starts_with("codex, cursor still read mine, which is disabled")
            && message.contains("[[skills.config]]")
    );
    assert_eq!(problem["hint"], "skillhub manage delete mine");
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    let named = doctor["problems"].as_array().unwrap().iter().find(|found| found["code"] == "agent_reads_hidden");
    assert!(named.unwrap()["message"].as_str().unwrap().starts_with("codex, cursor still read mine"), "{doctor:#}");
    assert_eq!(sandbox.done(&["list"])["differences"][0]["agents"], json!(["codex", "cursor"]));
    sandbox.done(&["manage", "delete", "mine"]);
    sandbox.done(&["status"]);
    sandbox.done(&["doctor"]);
}

#[test]
fn agent_known_only_from_home_warns() {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.home().join(".codex")).unwrap();
    sandbox.create("mine", "text");
    sandbox.done(&["disable", "mine"]);
    let status = sandbox.done(&["status"]);
    assert_eq!(status["warnings"][0]["code"], "agent_reads_hidden", "{status:#}");
    assert!(sandbox.done(&["doctor"])["problems"].as_array().unwrap().is_empty());
}

#[cfg(unix)]
#[test]
fn permissions_remove_and_restore_links() {
    let sandbox = Sandbox::project();
    let root = sandbox.cwd();
    sandbox.done(&["new", "mine"]);
    fs::create_dir_all(root.join(".claude")).unwrap();
    let install = ["install", "./mine", "--agent", "claude-code", "bob"];
    let link = |agent: &str| root.join(agent).join("skills/mine");
    let linked = || [".claude", ".bob"].map(|agent| link(agent).is_symlink());
    let finding = |document: &Value| {
        let checks = document["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["check"] == "links").unwrap();
        [&found["code"], &found["state"]].map(|text| text.as_str().unwrap().to_owned())
    };
    let denied = "[[permissions]]\nagent = 'claude-code'\nskill = 'mine'\ndecision = 'deny'\n";
    sandbox.done(&install);
    assert_eq!(linked(), [true, true]);
    configure(&sandbox, denied);
    assert_eq!(
        sandbox.done(&["debug", "--agent", "claude-code"])["still_seen"],
        json!([]),
        "the agent is not shown it"
    );
    let told = as_person(&sandbox, &["debug", "--agent", "claude-code"]);
    let still = told["still_seen"][0].as_str().unwrap();
    assert!(still.contains(".claude/skills") && still.contains("doctor --fix"), "{still}");
    assert_eq!(finding(&sandbox.ask(&["doctor"]).exits(1).json()), ["link_denied", "found"]);
    assert_eq!(linked(), [true, true], "who only looks changes nothing");
    assert_eq!(finding(&sandbox.done(&["doctor", "--fix"])), ["link_denied", "mended"]);
    assert_eq!(linked(), [false, true], "the folder of the other agent is left alone");
    sandbox.done(&["doctor"]);
    assert_eq!(as_person(&sandbox, &["debug", "--agent", "claude-code"])["still_seen"], json!([]));
    let again = sandbox.done(&install);
    assert_eq!(again["skills"][0]["links"].as_array().unwrap().len(), 1, "{again:#}");
    assert!(again["skills"][0]["warnings"].to_string().contains("hidden from agents"), "{again:#}");
    assert_eq!(linked(), [false, true]);
    assert_eq!(sandbox.done(&["disable", "mine"])["links"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.done(&["enable", "mine"])["links"].as_array().unwrap().len(), 1);
    assert_eq!(linked(), [false, true]);
    configure(&sandbox, "[agents.claude-code]\nskills = ['mine']\n[agents.bob]\nskills = ['other']\n");
    let shown = sandbox.done(&["enable", "mine"]);
    assert_eq!(shown["links"].as_array().unwrap().len(), 2, "{shown:#}");
    assert_eq!(linked(), [true, false], "lists of skills hold as permissions do");
    configure(&sandbox, "");
    assert_eq!(finding(&sandbox.ask(&["doctor"]).exits(1).json()), ["link_broken", "found"]);
    sandbox.done(&["doctor", "--fix"]);
    assert_eq!(linked(), [true, true]);
    fs::remove_file(link(".claude")).unwrap();
    put(&root.join(".claude/skills"), "mine", "Somebody's own.");
    configure(&sandbox, denied);
    assert_eq!(finding(&sandbox.ask(&["doctor", "--fix"]).exits(1).json()), ["link_changed", "cannot"]);
    assert!(link(".claude").join("SKILL.md").exists(), "what is not ours stays");
}

#[test]
fn permissions_apply_to_prompt_and_read() {
    let sandbox = Sandbox::new();
    for name in ["open", "internal-a", "internal-b", "asked"] {
        sandbox.create(name, "body");
    }
    configure(
        &sandbox,
        "[agents.codex]\nskills = ['internal-*', 'asked']\n[[permissions]]\nskill = 'internal-*'\ndecision = 'deny'\n\
         [[permissions]]\nagent = 'codex'\nskill = 'internal-a'\ndecision = 'allow'\n\
         [[permissions]]\nskill = 'asked'\ndecision = 'ask'\n",
    );
    assert_eq!(names(&sandbox.done(&["prompt"])), ["asked", "open"]);
    assert_eq!(names(&sandbox.done(&["prompt", "--agent", "codex"])), ["asked", "internal-a"]);
    assert_eq!(names(&sandbox.done(&["prompt", "--actor", "agent:codex"])), ["asked", "internal-a"]);
    sandbox.ask(&["read", "internal-b"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["read", "open", "--agent", "codex"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["read", "asked"]).refused_with_hint(5, "policy_denied");
    assert_eq!(sandbox.done(&["read", "internal-a", "--agent", "codex"])["name"], "internal-a");
    let debug = [as_person(&sandbox, &["debug", "--agent", "codex"]), sandbox.done(&["debug", "--agent", "codex"])];
    let sights = |name| debug.each_ref().map(|debug| sight(debug, name));
    assert_eq!([sights("open"), sights("internal-b")], [["not_listed", ""], ["denied", ""]], "hidden from the agent");
    assert_eq!([sights("internal-a"), sights("asked")], [["seen"; 2], ["asked"; 2]]);
    configure(&sandbox, "[[permissions]]\nskill = 'a'\ndecision = 'maybe'\n");
    sandbox.ask(&["prompt"]).refused_with_hint(2, "invalid_config");
}

#[test]
fn skills_in_use_combine_tools() {
    let sandbox = Sandbox::new();
    let with_tools = |name: &str, tools: &str| {
        let text = skill_md(name, "Does it.", "Body.").replacen("---\n", &format!("---\n{tools}\n"), 1);
        write_files(&sandbox.user_skill(name), &[("SKILL.md", text.as_bytes(), false)]);
    };
    with_tools("git-notes", "allowed-tools: Bash(git:*) Read");
    with_tools("listed", "allowedTools:\n  - Read\n  - Write");
    with_tools("nothing", "allowed-tools: []");
    sandbox.create("plain", "body");
    let policy = |active: &str| sandbox.done(&["tools", "policy", "--active", active])["policy"].clone();
    let tools = |policy: &Value| {
        let tools = policy["tools"].as_array().unwrap().iter();
        tools.map(|tool| format!("{} {}", tool["tool"].as_str().unwrap(), tool["pattern"])).collect::<Vec<_>>()
    };
    assert_eq!(policy("plain")["restricts"], false);
    let both = policy("plain,git-notes,listed");
    assert_eq!(tools(&both), ["Bash \"git:*\"", "Read null", "Write null"]);
    assert_eq!(both["tools"][1]["skills"], json!(["git-notes", "listed"]));
    let none = policy("nothing");
    assert_eq!((&none["restricts"], tools(&none).len()), (&json!(true), 0));
    configure(&sandbox, "[agent]\nalways_on = ['Grep']\n");
    assert_eq!(policy("nothing")["always_on"], json!(["Grep"]));
    sandbox.ask(&["tools", "policy", "--active", "missing"]).refused_with_hint(7, "not_found");
}

#[test]
fn usage_log_orders_the_prompt() {
    let sandbox = Sandbox::new();
    for name in ["aa", "bb", "cc"] {
        sandbox.create(name, "body");
    }
    let log = Path::new(sandbox.done(&["where"])["history"].as_str().unwrap()).with_file_name("uses.jsonl");
    for _ in 0..2 {
        sandbox.done(&["read", "cc", "--agent", "codex"]);
    }
    sandbox.ask(&["read", "cc", "references/no.md"]).refused_with_hint(7, "not_found");
    let lines: Vec<Value> =
        fs::read_to_string(&log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&lines[0]["skill"], &lines[0]["agent"], &lines[0]["kind"]),
        (&json!("cc"), &json!("codex"), &json!("read"))
    );
    assert!(lines[0]["revision"].is_string() && lines[0]["time"].is_string());
    let room_for_one = sandbox.done(&["prompt", "--budget", "60"]);
    assert_eq!((names(&room_for_one), &room_for_one["left_out"][1]), (vec!["cc"], &json!("bb")));
    configure(&sandbox, "[agent]\nuse_log = false\n");
    sandbox.done(&["read", "aa"]);
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), lines.len());
}

#[test]
fn every_prompt_form_names_the_skill() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "body");
    for (form, part) in [
        ("xml", "<available_skills>\n<skill>\n<name>\ndemo\n"),
        ("markdown", "**User Skills:**\n- **demo**: "),
        ("deerflow", "<location>/mnt/skills/custom/demo/SKILL.md</location>"),
        ("opencode", "    <name>demo</name>\n"),
        ("names", "Available skills (4): demo, "),
    ] {
        let text = sandbox.run(&["prompt", "--format", form]).exits(0).text();
        assert!(text.contains(part), "{form}: {text}");
        assert_eq!(text.contains("## Skill Self-Evolution"), form == "deerflow", "{form}");
        let told = sandbox.run(&["prompt", "--format", form, "--evolution"]).exits(0).text();
        assert!(told.contains("## Skill Self-Evolution"), "{form}");
    }
    configure(&sandbox, "[skill_evolution]\nenabled = false\n[agent]\ncontainer_path = '/srv/s'\n");
    let text = sandbox.run(&["prompt", "--format", "deerflow"]).exits(0).text();
    assert!(!text.contains("## Skill Self-Evolution") && text.contains("/srv/s/custom/demo/SKILL.md"), "{text}");
}

/// Returns the findings of one check of `doctor`, as pairs of code and state.
fn findings(sandbox: &Sandbox, check: &str) -> Vec<[String; 2]> {
    let document = sandbox.ask(&["doctor"]).json();
    let found = document["checks"].as_array().unwrap().iter().filter(|found| found["check"] == check);
    found.map(|found| [&found["code"], &found["state"]].map(|word| word.as_str().unwrap().to_owned())).collect()
}

fn only(list: &Value) -> &Value {
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 1, "{list:#?}");
    &list[0]
}

#[cfg(unix)]
#[test]
fn list_names_reading_agents() {
    let sandbox = Sandbox::project();
    let root = sandbox.cwd();
    sandbox.create("demo", "body");
    assert_eq!(sandbox.done(&["list"])["skills"][0]["agents"], json!([]), "nobody is in use");
    for folder in [".opencode", ".claude/skills"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let list = sandbox.done(&["list"]);
    assert_eq!(list["skills"][0]["agents"], json!(["opencode"]), "which reads the library");
    let lacking = only(&list["lacking"]);
    assert_eq!((&lacking["agent"], &lacking["in_use"]), (&json!("claude-code"), &json!(true)));
    assert_eq!(lacking["command"], "skillhub enable demo --agent claude-code");
    assert_eq!(findings(&sandbox, "agents"), [["agent_not_linked", "warn"]]);
    assert_eq!(sandbox.done(&["status"])["lacking"], list["lacking"]);
    std::os::unix::fs::symlink("../../.agents/skills/demo", root.join(".claude/skills/demo")).unwrap();
    let list = sandbox.done(&["list"]);
    assert_eq!(list["skills"][0]["agents"], json!(["claude-code", "opencode"]));
    assert_eq!((&list["lacking"], &list["differences"]), (&json!([]), &json!([])));
    assert_eq!(findings(&sandbox, "agents"), [["agents", "ok"]]);
}

#[test]
fn diverged_originals_are_errors() {
    let sandbox = Sandbox::project();
    let original = sandbox.cwd().join(".claude/skills/demo");
    sandbox.create("demo", "body");
    let text = fs::read(sandbox.cwd().join(".agents/skills/demo/SKILL.md")).unwrap();
    write_files(&original, &[("SKILL.md", &text, false)]);
    assert_eq!(sandbox.done(&["list"])["skills"][0]["agents"], json!(["claude-code"]));
    let debug = sandbox.done(&["debug", "--agent", "claude-code"]);
    assert_eq!((&debug["shadowed"], &debug["skills"][0]["reads"]), (&json!([]), &json!("served")), "equal copies");
    sandbox.done(&["status"]);
    assert_eq!(findings(&sandbox, "agents"), [["agents", "ok"]]);

    sandbox.done(&["manage", "patch", "demo", "--find", "body", "--replace", "new body", "--reason", "r"]);
    let status = sandbox.ask(&["status"]).exits(8).json();
    let problem = only(&status["problems"]);
    assert_eq!((&problem["code"], &problem["agents"]), (&json!("agent_reads_other"), &json!(["claude-code"])));
    assert_eq!((&problem["reads"], &problem["revision"]), (&json!("older"), &json!(1)));
    assert_eq!(problem["hint"], "skillhub enable demo --agent claude-code --link");
    assert_eq!(findings(&sandbox, "agents"), [["agent_reads_other", "cannot"]]);
    sandbox.ask(&["doctor"]).exits(1);
    let list = sandbox.done(&["list"]);
    assert_eq!((&list["skills"][0]["agents"], only(&list["differences"])), (&json!([]), problem));
    let debug = sandbox.done(&["debug", "--agent", "claude-code"]);
    assert_eq!((&debug["skills"][0]["reads"], &debug["skills"][0]["reads_revision"]), (&json!("older"), &json!(1)));
    let shown = sandbox.run(&["status"]).exits(8).text();
    assert!(shown.contains("claude-code reads revision 1 of demo"), "{shown}");
    assert!(shown.contains("\n  hint: skillhub enable demo --agent claude-code --link\n"), "{shown}");

    put(&sandbox.cwd().join(".claude/skills"), "demo", "Somebody's own.");
    let problem = only(&sandbox.ask(&["status", "demo"]).exits(8).json()["problems"]).clone();
    assert_eq!(problem["reads"], "other");
    let hint = problem["hint"].as_str().unwrap();
    assert!(hint.starts_with("mv /") && hint.ends_with("/.claude/demo.aside"), "nothing else takes its place: {hint}");
    sandbox.create("other", "body");
    sandbox.done(&["status", "other"]);
}

#[cfg(unix)]
#[test]
fn home_skills_are_shown_by_precedence() {
    let sandbox = Sandbox::project();
    let (root, home) = (sandbox.cwd(), sandbox.home());
    sandbox.create("demo", "body");
    fs::create_dir_all(home.join(".claude")).unwrap();
    fs::create_dir_all(home.join(".codex")).unwrap();
    let list = sandbox.done(&["list"]);
    let lacking = only(&list["lacking"]);
    assert_eq!(
        (&lacking["agent"], &lacking["in_use"]),
        (&json!("claude-code"), &json!(false)),
        "Codex reads the library"
    );
    fs::create_dir_all(root.join(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../.agents/skills/demo", root.join(".claude/skills/demo")).unwrap();
    sandbox.done(&["status"]);
    for folder in [".claude/skills", ".codex/skills"] {
        put(&home.join(folder), "demo", "Of the user.");
    }
    let status = sandbox.ask(&["status"]).exits(8).json();
    let problem = only(&status["problems"]);
    assert_eq!(problem["agents"], json!(["claude-code"]), "Codex prefers the project's");
    assert!(problem["path"].as_str().unwrap().ends_with("home/.claude/skills/demo"), "{problem}");
    let hint = problem["hint"].as_str().unwrap();
    assert!(hint.starts_with("skillhub adopt /") && hint.ends_with("demo --link --global"), "{hint}");
    sandbox.done(&["--library", root.join(".agents/skills").to_str().unwrap(), "status"]);
}

#[test]
fn debug_searches_its_agents_folders() {
    let sandbox = Sandbox::project();
    let root = sandbox.cwd();
    for (folder, name) in [(".claude/skills", "claude"), (".opencode/skills", "open"), (".roo/skills", "roo")] {
        put(&root.join(folder), name, "Unmanaged.");
    }
    put(&sandbox.home().join(".claude/skills"), "personal", "Unmanaged.");
    sandbox.create("demo", "body");
    let seen = |agent: &str| {
        let debug = sandbox.done(&["debug", "--agent", agent]);
        let skills = debug["skills"].as_array().unwrap().iter().filter(|skill| skill["scope"] != "builtin");
        let pair = |skill: &Value| format!("{} {}", skill["name"].as_str().unwrap(), skill["reads"].as_str().unwrap());
        skills.map(pair).collect::<Vec<_>>()
    };
    assert_eq!(seen("claude-code"), ["demo served", "claude served", "personal served"]);
    assert_eq!(seen("codex"), ["demo served"]);
    assert_eq!(seen("roo"), ["demo served", "roo served"]);
    assert_eq!(seen("opencode"), ["demo served", "open served", "claude served", "personal served"]);
    let shown = sandbox.run(&["debug", "--agent", "roo"]).exits(0).text();
    assert!(shown.contains(".roo/skills") && !shown.contains(".claude/skills"), "{shown}");
}

#[test]
fn verify_warns_of_other_content() {
    let sandbox = Sandbox::project();
    sandbox.done(&["new", "mine"]);
    sandbox.done(&["install", "./mine"]);
    let warnings = || sandbox.done(&["verify", "--offline"])["skills"][0]["warnings"].clone();
    assert_eq!(warnings(), json!([]));
    put(&sandbox.cwd().join(".opencode/skills"), "mine", "Somebody's own.");
    let told = warnings();
    assert!(only(&told).as_str().unwrap().contains("opencode reads a different mine, at "), "{told}");
}

#[test]
fn list_counts_further_unmanaged_skills() {
    let sandbox = Sandbox::project();
    for number in 0..23 {
        put(&sandbox.home().join(".claude/skills"), &format!("own-{number:02}"), "Of the user.");
    }
    let shown = sandbox.run(&["list"]).exits(0).text();
    assert!(shown.contains("23 skills in agents' folders are not managed yet:"), "{shown}");
    assert!(shown.contains("own-19") && !shown.contains("own-20") && shown.contains("  and 3 more\n"), "{shown}");
    let hint = shown.lines().find(|line| line.contains("skillhub adopt")).unwrap().trim();
    assert!(hint.ends_with("home/.claude/skills --global"), "{hint}");
    let words: Vec<&str> = hint.split(' ').skip(1).collect();
    assert_eq!(sandbox.done(&words)["skills"].as_array().unwrap().len(), 23, "the command adopts all");
}

#[test]
fn additional_host_folders_are_listed() {
    let sandbox = Sandbox::project();
    put(&sandbox.cwd().join(".opencode/skills"), "own", "Of the project.");
    let unmanaged = sandbox.done(&["list"])["unmanaged"].clone();
    assert_eq!((&only(&unmanaged)["name"], &only(&unmanaged)["agents"]), (&json!("own"), &json!(["opencode"])));
}

#[test]
fn missing_skill_names_its_reader() {
    let sandbox = Sandbox::project();
    sandbox.create("demo", "body");
    put(&sandbox.cwd().join(".claude/skills"), "demo", "Somebody's own.");
    fs::remove_dir_all(sandbox.cwd().join(".agents/skills/demo")).unwrap();
    let problem = only(&sandbox.ask(&["status"]).exits(8).json()["problems"]).clone();
    assert_eq!(
        (&problem["agents"], &problem["hint"]),
        (&json!(["claude-code"]), &json!("skillhub rollback demo head"))
    );
    assert_eq!(findings(&sandbox, "agents"), [["agent_reads_other", "cannot"]]);
    sandbox.done(&["rollback", "demo", "head"]);
    let problem = only(&sandbox.ask(&["status"]).exits(8).json()["problems"]).clone();
    assert!(problem["hint"].as_str().unwrap().starts_with("mv "), "{problem:#}");
}

#[test]
fn titles_are_listed() {
    let sandbox = Sandbox::new();
    let text = skill_md("forms", "Fills forms.", "Do it.").replacen("---\n", "---\nmetadata:\n  title: 表格\n", 1);
    write_files(&sandbox.user_skill("forms"), &[("SKILL.md", text.as_bytes(), false)]);
    assert_eq!(sandbox.done(&["list"])["skills"][0]["title"], "表格");
}
