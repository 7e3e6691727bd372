//! Names and titles: `install --as`, two skills of one bare name, and skills with a title in another script.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Hosting, Sandbox, Server, repository, skill_md, write_files};

/// Publishes `code-review` for two owners and installs the first one.
fn two_owners() -> Sandbox {
    let sandbox = Sandbox::project();
    release(&sandbox, "acme", "One of acme.");
    release(&sandbox, "zoe", "One of zoe.");
    sandbox.done(&["install", "acme/code-review"]);
    sandbox
}

/// Publishes the next release of an owner's `code-review`, with the first paragraph `body`.
fn release(sandbox: &Sandbox, owner: &str, body: &str) {
    let folder = sandbox.path("tmp").join("code-review");
    let text = skill_md("code-review", "Reviews code. Use in tests.", &format!("{body}\n\nRead it.\n\nWrite it."));
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.done(&["publish", folder.to_str().unwrap(), "--owner", owner]);
}

fn text(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.cwd().join(".agents/skills").join(name).join("SKILL.md")).unwrap()
}

fn lock(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap()
}

/// Returns one field of every skill in a document, by the skill's name.
fn fields(document: &Value, field: &str) -> Value {
    let skills = document["skills"].as_array().unwrap().iter();
    skills.map(|skill| (skill["name"].as_str().unwrap().to_owned(), skill[field].clone())).collect()
}

#[test]
fn skill_is_installed_under_other_name() {
    let sandbox = two_owners();
    let refused = sandbox.ask(&["install", "zoe/code-review"]).refused_with_hint(6, "exists");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("skillhub install zoe/code-review --as zoe-code-review"), "{hint}");
    let info = sandbox.run(&["info", "zoe/code-review"]).exits(0).text();
    assert!(info.contains("skillhub install zoe/code-review --as zoe-code-review"), "{info}");
    let installed = sandbox.done(&["install", "zoe/code-review", "--as", "zoe-code-review"]);
    assert_eq!(installed["skills"][0]["name"], "zoe/code-review");
    assert!(text(&sandbox, "zoe-code-review").starts_with("---\nname: zoe-code-review\n"));
    assert!(text(&sandbox, "code-review").contains("One of acme."));
    assert!(lock(&sandbox).contains("name = \"zoe/code-review\"\nas = \"zoe-code-review\"\n"), "{}", lock(&sandbox));

    let verified = sandbox.done(&["verify"]);
    assert_eq!(fields(&verified, "status"), json!({"acme/code-review": "pristine", "zoe/code-review": "pristine"}));
    let listed = sandbox.done(&["list"]);
    assert_eq!(fields(&listed, "modified"), json!({"code-review": false, "zoe-code-review": false}));
    let clean = json!({"code-review": "clean", "zoe-code-review": "clean"});
    assert_eq!(fields(&sandbox.done(&["status"]), "state"), clean);
    assert_eq!(sandbox.done(&["diff", "zoe-code-review", "--upstream"])["files"], json!([]));
    assert_eq!(sandbox.done(&["info", "zoe-code-review"])["name"], "zoe/code-review");
    let known = sandbox.run(&["info", "zoe/code-review"]).exits(0).text();
    assert!(known.contains("Already installed: skillhub status zoe-code-review"), "{known}");
    let again = sandbox.done(&["install", "zoe/code-review"]);
    assert_eq!(again["skills"][0]["status"], "unchanged", "it is known under its other name");
    assert_eq!(sandbox.done(&["history", "zoe-code-review"])["revisions"].as_array().unwrap().len(), 2);
    assert!(sandbox.run(&["doctor"]).exits(0).text().contains("matches the library"));
}

#[test]
fn update_keeps_the_other_name() {
    let sandbox = two_owners();
    sandbox.done(&["install", "zoe/code-review", "--as", "review-2"]);
    release(&sandbox, "zoe", "Two of zoe.");
    let outdated = sandbox.done(&["outdated"]);
    assert!(outdated.to_string().contains("1.0.1"), "{outdated}");
    assert_eq!(sandbox.done(&["update", "review-2"])["skills"][0]["status"], "updated");
    assert!(text(&sandbox, "review-2").starts_with("---\nname: review-2\n"));
    assert!(text(&sandbox, "review-2").contains("Two of zoe."));
    let pristine = json!({"acme/code-review": "pristine", "zoe/code-review": "pristine"});
    assert_eq!(fields(&sandbox.done(&["verify"]), "status"), pristine);

    sandbox.done(&["manage", "patch", "review-2", "--find", "Write it.", "--replace", "Write it well."]);
    release(&sandbox, "zoe", "Three of zoe.");
    assert_eq!(sandbox.done(&["update", "zoe/code-review"])["skills"][0]["status"], "merged");
    let merged = text(&sandbox, "review-2");
    assert!(merged.starts_with("---\nname: review-2\n"), "{merged}");
    assert!(merged.contains("Three of zoe.") && merged.contains("Write it well."), "{merged}");
    let difference = sandbox.done(&["diff", "review-2", "--upstream"])["diff"].as_str().unwrap().to_owned();
    assert!(difference.contains("+Write it well.") && !difference.contains("name:"), "{difference}");
    assert_eq!(fields(&sandbox.done(&["verify"]), "status")["zoe/code-review"], "evolved");
}

/// The lock file alone restores both skills in a clone without a history.
#[test]
fn clone_restores_other_name() {
    let sandbox = two_owners();
    sandbox.done(&["install", "zoe/code-review", "--as", "review-2"]);
    let (before, lines) = (text(&sandbox, "review-2"), lock(&sandbox));
    let clone = sandbox.path("clone");
    fs::create_dir_all(clone.join(".git")).unwrap();
    fs::write(clone.join("skillhub.lock"), &lines).unwrap();
    let at = clone.to_str().unwrap();
    sandbox.done(&["-C", at, "install", "--frozen"]);
    assert_eq!(fs::read_to_string(clone.join(".agents/skills/review-2/SKILL.md")).unwrap(), before);
    assert_eq!(fs::read_to_string(clone.join("skillhub.lock")).unwrap(), lines);
    assert_eq!(fields(&sandbox.done(&["-C", at, "verify"]), "status")["zoe/code-review"], "pristine");
    let renamed = lines.replace("as = \"review-2\"", "as = \"../review-2\"");
    fs::write(clone.join("skillhub.lock"), renamed).unwrap();
    sandbox.ask(&["-C", at, "install"]).refused_with_hint(8, "damaged_lock_file");
}

/// History, pins, proposals, outcomes, updates and removal of one skill leave the other alone.
#[test]
fn no_state_crosses_between_names() {
    let sandbox = two_owners();
    sandbox.done(&["install", "zoe/code-review", "--as", "review-2"]);
    sandbox.done(&["manage", "patch", "review-2", "--find", "Write it.", "--replace", "Write it well."]);
    sandbox.done(&["record", "review-2", "--event", "completed", "--run", "r1"]);
    sandbox.done(&["pin", "review-2"]);
    let count = |name: &str| sandbox.done(&["history", name])["revisions"].as_array().unwrap().len();
    assert_eq!((count("code-review"), count("review-2")), (1, 3));
    assert_eq!(sandbox.done(&["stats", "code-review"])["revisions"], json!([]));
    assert_ne!(sandbox.done(&["stats", "review-2"])["revisions"], json!([]));
    sandbox.ask(&["manage", "patch", "review-2", "--find", "Read it.", "--replace", "R."]).exits(5);
    sandbox.done(&["manage", "patch", "code-review", "--find", "Read it.", "--replace", "Read all."]);
    assert!(!text(&sandbox, "review-2").contains("Read all."));
    release(&sandbox, "acme", "Two of acme.");
    assert_eq!(sandbox.done(&["update", "acme/code-review"])["skills"][0]["status"], "merged");
    assert!(text(&sandbox, "code-review").contains("Two of acme.\n\nRead all."));
    assert!(count("review-2") == 3 && !text(&sandbox, "review-2").contains("Two of acme."));

    sandbox.done(&["uninstall", "code-review"]);
    assert!(!lock(&sandbox).contains("acme/code-review") && lock(&sandbox).contains("as = \"review-2\""));
    assert_eq!(fields(&sandbox.done(&["verify"]), "status"), json!({"zoe/code-review": "evolved"}));
    assert!(text(&sandbox, "review-2").contains("Write it well."));
    sandbox.done(&["undo"]);
    assert!(text(&sandbox, "code-review").contains("Read all.") && lock(&sandbox).contains("acme/code-review"));
    sandbox.run_with_proof(&["unpin", "review-2", "--json"], b"").done();
    let gone = sandbox.done(&["uninstall", "review-2"]);
    assert_eq!(gone["skills"][0]["name"], "zoe/code-review");
    assert!(!lock(&sandbox).contains("zoe/code-review") && lock(&sandbox).contains("acme/code-review"));
    assert!(text(&sandbox, "code-review").contains("Read all."));
}

#[test]
fn bad_other_names_are_refused() {
    let sandbox = two_owners();
    for name in ["Bad Name", "../x", "con", "a--b", "", "-a", "a/b"] {
        let as_name = format!("--as={name}");
        sandbox.ask(&["install", "zoe/code-review", &as_name]).refused_with_hint(3, "invalid_name");
    }
    for args in [&["zoe/code-review", "acme/code-review"][..], &[], &["zoe/code-review", "--all"]] {
        sandbox.ask(&[&["install", "--as", "other"], args].concat()).refused(2, "usage");
    }
    sandbox.ask(&["install", "zoe/code-review", "--as", "code-review"]).refused_with_hint(6, "exists");
    sandbox.ask(&["install", "acme/code-review", "--as", "other"]).refused_with_hint(6, "exists");
    let odd = sandbox.path("tmp").join("odd");
    let text = "---\nname: >\n  odd\ndescription: Folded name. Use in tests.\n---\n\nBody.\n";
    write_files(&odd, &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.ask(&["install", odd.to_str().unwrap(), "--as", "even"]).refused_with_hint(3, "cannot_rename");
    assert!(!lock(&sandbox).contains("as = "));
}

/// Sources without owners have only bare names, which may be equal.
#[test]
fn folders_of_one_name_live_together() {
    let sandbox = Sandbox::project();
    for parent in ["a", "b"] {
        let text = skill_md("notes", "Takes notes. Use in tests.", &format!("Version one of {parent}."));
        write_files(&sandbox.path("tmp").join(parent).join("notes"), &[("SKILL.md", text.as_bytes(), false)]);
    }
    let place = |parent: &str| sandbox.path("tmp").join(parent).join("notes").to_str().unwrap().to_owned();
    sandbox.done(&["install", &place("a")]);
    let taken = sandbox.ask(&["install", &place("b")]).refused_with_hint(6, "exists");
    assert!(taken["hint"].as_str().unwrap().contains("--as notes-2"), "{taken}");
    let hint = sandbox.ask(&["info", "notes"]).refused_with_hint(7, "not_found")["hint"].to_string();
    assert!(hint.contains("skillhub status notes"), "{hint}");
    sandbox.done(&["install", &place("b"), "--as", "notes-b"]);
    assert_eq!(fields(&sandbox.done(&["verify"]), "status"), json!({"notes": "pristine", "notes-b": "pristine"}));
    let two = skill_md("notes", "Takes notes. Use in tests.", "Version two of b.");
    write_files(&sandbox.path("tmp/b/notes"), &[("SKILL.md", two.as_bytes(), false)]);
    let updated = fields(&sandbox.done(&["update"]), "status");
    assert_eq!(updated, json!({"notes": "unchanged", "notes-b": "updated"}));
    assert!(text(&sandbox, "notes-b").contains("name: notes-b") && text(&sandbox, "notes-b").contains("two of b"));
    assert!(text(&sandbox, "notes").contains("one of a"));
    sandbox.done(&["uninstall", "notes-b"]);
    assert_eq!(fields(&sandbox.done(&["verify"]), "status"), json!({"notes": "pristine"}));
}

#[test]
fn skill_of_another_folder_of_a_repository_conflicts() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    let texts = ["code", "law"].map(|what| skill_md("review", &format!("Reviews {what}. Use in tests."), "Read it."));
    hosting.add("github.com/acme/kit", &[("code/review/SKILL.md", &texts[0]), ("law/review/SKILL.md", &texts[1])]);
    hosting.done(&["install", "github:acme/kit#code/review"]);
    let taken = hosting.ask(&["install", "github:acme/kit#law/review"]).refused_with_hint(6, "exists");
    let message = taken["message"].as_str().unwrap();
    assert!(message.contains("folder code/review") && message.contains("folder law/review"), "{taken}");
    assert!(taken["hint"].as_str().unwrap().contains("'github:acme/kit#law/review' --as review-2"), "{taken}");
    assert_eq!(text(&sandbox, "review"), texts[0]);
    let again = hosting.done(&["install", "github:acme/kit#code/review"]);
    assert_eq!(fields(&again, "status"), json!({"review": "unchanged"}));
    hosting.done(&["install", "github:acme/kit#law/review", "--as", "review-2"]);
    assert_eq!(fields(&hosting.done(&["update"]), "status"), json!({"review": "unchanged", "review-2": "unchanged"}));
}

#[test]
fn skill_that_moved_and_changed_is_no_other_skill() {
    let sandbox = Sandbox::project();
    let kit = sandbox.path("kit");
    let text = |body: &str| skill_md("review", "Reviews code. Use in tests.", body);
    write_files(&kit.join("old/review"), &[("SKILL.md", text("Read it.").as_bytes(), false)]);
    repository(&sandbox, &kit);
    let address = format!("file://{}", kit.display());
    sandbox.done(&["install", &format!("{address}#old/review")]);
    fs::remove_dir_all(kit.join("old")).unwrap();
    write_files(&kit.join("new/review"), &[("SKILL.md", text("Read all of it.").as_bytes(), false)]);
    repository(&sandbox, &kit);
    let error = sandbox.ask(&["install", &format!("{address}#new/review")]).refused_with_hint(6, "exists");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("review moved from old/review to new/review in file://"), "{error:#}");
    assert!(message.ends_with(" and changed"), "{error:#}");
}

/// A lock file of an earlier version may have the address of the repository alone.
#[test]
fn skill_locked_without_folder_is_recognised() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    hosting.add_skills("github.com/acme/kit", &["skills/review"]);
    hosting.done(&["install", "github:acme/kit"]);
    let old = lock(&sandbox).replace("\"github:acme/kit#skills/review\"", "\"github:acme/kit\"");
    fs::write(sandbox.cwd().join("skillhub.lock"), old).unwrap();
    let next = skill_md("review", "Reviews it. Use in tests.", "Read it twice.");
    hosting.add("github.com/acme/kit", &[("skills/review/SKILL.md", &next)]);
    assert_eq!(fields(&hosting.done(&["install", "github:acme/kit"]), "status"), json!({"review": "updated"}));
}

/// A fork of a skill with another name is published under the name of its original, so that both are found.
#[test]
fn fork_of_renamed_skill_keeps_its_name() {
    let sandbox = two_owners();
    sandbox.done(&["install", "zoe/code-review", "--as", "review-2"]);
    sandbox.ask(&["publish", "review-2", "--from-fork", "--owner", "mei"]).refused_with_hint(6, "unchanged");
    sandbox.done(&["manage", "patch", "review-2", "--find", "Write it.", "--replace", "Write it well."]);
    let published = sandbox.done(&["publish", "review-2", "--from-fork", "--owner", "mei"]);
    assert_eq!(published["name"], "mei/code-review", "{published:#}");
    assert_eq!(sandbox.done(&["info", "zoe/code-review"])["forked_by"][0]["name"], "mei/code-review");
    assert!(text(&sandbox, "review-2").starts_with("---\nname: review-2\n"));
}

/// Starts a skill with a Chinese title and completes its text. Returns its name.
fn chinese(sandbox: &Sandbox) -> String {
    let made = sandbox.done(&["new", "中文技能", "--description", "Reads tables. Use when a table is given."]);
    let name = made["name"].as_str().unwrap().to_owned();
    assert!(name.is_ascii() && made["title"] == "中文技能", "{made}");
    let file = sandbox.cwd().join(&name).join("SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("metadata:\n  title: 中文技能\n") && text.contains("# 中文技能"), "{text}");
    fs::write(&file, text.split("## When to use").next().unwrap().to_owned() + "Read the table.\n").unwrap();
    assert_eq!(sandbox.done(&["validate", &name])["skills"][0]["problems"], json!([]));
    name
}

#[test]
fn title_is_found_in_embedded_registry() {
    let sandbox = Sandbox::new();
    let name = chinese(&sandbox);
    sandbox.done(&["publish", &name, "--owner", "mei"]);
    let found = sandbox.done(&["search", "中文"]);
    assert_eq!(
        (&found["results"][0]["name"], &found["results"][0]["title"]),
        (&json!(format!("mei/{name}")), &json!("中文技能"))
    );
    assert!(sandbox.run(&["search", "中文"]).exits(0).text().contains("中文技能 · Reads tables."));
    let hint = sandbox.ask(&["install", "中文技能"]).refused_with_hint(7, "not_found")["hint"].to_string();
    assert!(hint.contains(&format!("did you mean mei/{name}?")), "{hint}");
    assert!(sandbox.run(&["info", &name]).exits(0).text().contains("中文技能\n"));
    sandbox.done(&["install", &name]);
    assert_eq!(sandbox.done(&["read", "中文技能"])["name"], name);
    assert!(sandbox.run(&["list"]).exits(0).text().contains("中文技能 · Reads tables."));
    assert_eq!(sandbox.done(&["list"])["skills"][0]["title"], "中文技能");
    assert!(sandbox.run(&["prompt"]).exits(0).text().contains("<title>\n中文技能\n</title>"));
    assert!(sandbox.run(&["prompt", "--task", "中文技能"]).exits(0).text().contains(&name));
    sandbox.done(&["index", "verify"]);
}

#[test]
fn title_is_found_on_a_server() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    let at = ["--registry", server.url.as_str()];
    sandbox.run_with(&["login", &server.url, "--json"], server.token("mei", "publish").as_bytes()).done();
    let name = chinese(&sandbox);
    sandbox.done(&[&["publish", &name], &at[..]].concat());

    let colleague = Sandbox::project();
    let found = colleague.done(&[&["search", "中文"], &at[..]].concat());
    let full = format!("mei/{name}");
    assert_eq!((&found["results"][0]["name"], &found["results"][0]["title"]), (&json!(full), &json!("中文技能")));
    let by_title = colleague.ask(&[&["install", "中文技能"], &at[..]].concat()).refused_with_hint(7, "not_found");
    assert!(by_title["hint"].as_str().unwrap().contains(&full), "{by_title}");
    colleague.done(&[&["install", &full], &at[..]].concat());
    assert_eq!(colleague.done(&["list"])["skills"][0]["title"], "中文技能");
    assert_eq!(colleague.done(&["read", "中文技能"])["name"], name);
    assert!(colleague.run(&["prompt"]).exits(0).text().contains("中文技能"));
    for page in ["/", &format!("/{full}")] {
        let headers = [("Accept", "text/html")];
        let html = server.send("GET", page, &headers, b"").text();
        assert!(html.contains("中文技能"), "{page}: {html}");
    }
    assert_eq!(server.get(&format!("/v1/skills/{full}/latest"))["release"]["title"], "中文技能");
}

/// A title is one bounded line, and none of it becomes markup of a prompt.
#[test]
fn hostile_title_stays_harmless() {
    let sandbox = Sandbox::new();
    let title = format!("Title </title> {}", "x".repeat(300));
    let text = format!(
        "---\nname: demo\ndescription: Does it. Use in tests.\nmetadata:\n  title: \"{title}\"\n---\n\nBody.\n"
    );
    let folder = sandbox.cwd().join("demo");
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.done(&["install", "./demo"]);
    assert!(sandbox.run(&["prompt"]).text().contains("Title &lt;/title&gt; x"));
    for command in [&["list"][..], &["prompt"]] {
        let text = sandbox.run(command).text();
        assert!(text.contains("Title ") && !text.contains(&"x".repeat(100)), "{text}");
    }
}

#[test]
fn refused_names_are_reported_at_once() {
    let sandbox = Sandbox::new();
    let named = sandbox.done(&["new", "图表", "--name", "charts"]);
    assert_eq!((&named["name"], &named["title"]), (&json!("charts"), &json!("图表")), "{named}");
    sandbox.ask(&["new", "图表", "--name", "图表"]).refused_with_hint(3, "invalid_skill");
    for name in ["con", "PDF Forms"] {
        let refused = sandbox.ask(&["new", name]).refused_with_hint(3, "invalid_skill");
        assert!(refused["hint"].as_str().unwrap().contains("skillhub new "), "{refused}");
    }
    sandbox.ask(&["new", "../技能"]).refused_with_hint(3, "invalid_skill");
    sandbox.skill("技能", "Does it. Use in tests.", &[]);
    let validated = sandbox.done(&["validate", "技能"]);
    let problem = &validated["skills"][0]["problems"][0];
    assert_eq!((&problem["code"], &problem["severity"]), (&json!("name_not_publishable"), &json!("warning")));
    assert!(problem["message"].as_str().unwrap().contains("\"skill-"), "{problem}");
    let scanned = sandbox.run(&["scan", "技能"]);
    assert!(scanned.stderr.contains("registries refuse the name"), "{scanned}");
    let refused = sandbox.ask(&["publish", "技能", "--owner", "mei"]).refused_with_hint(3, "invalid_name");
    assert!(refused["hint"].as_str().unwrap().contains("skill-"), "{refused}");
}
