//! `skillhub setup`: existing skills and agents become managed, and all of it can be undone.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::{Sandbox, Snapshot, Terminal, hostile_script, skill_md, tree, write_files};

/// A project and a home with skills of Claude Code and Codex, as a newcomer has them.
fn newcomer() -> Sandbox {
    let sandbox = Sandbox::project();
    for name in ["notes", "ledger"] {
        skill_at(&sandbox.home().join(".claude/skills").join(name), name);
    }
    skill_at(&sandbox.home().join(".codex/skills/forms"), "forms");
    skill_at(&sandbox.cwd().join(".claude/skills/deploy"), "deploy");
    write_files(&sandbox.home(), &[(".claude.json", b"{\n  \"theme\": \"dark\"\n}\n", false)]);
    sandbox
}

fn skill_at(folder: &Path, name: &str) {
    let text = skill_md(name, &format!("Writes {name}. Use in tests."), "Read the input. Write the output.");
    write_files(folder, &[("SKILL.md", text.as_bytes(), false), ("scripts/run.sh", b"echo done\n", true)]);
}

/// Everything of the user and the project but skillhub's own home.
fn state(sandbox: &Sandbox) -> (Snapshot, Snapshot) {
    let mut home = tree(&sandbox.home());
    home.retain(|path, _| !path.starts_with(".skillhub"));
    (home, tree(&sandbox.cwd()))
}

fn statuses(document: &Value) -> BTreeMap<&str, &str> {
    let skills = document["skills"].as_array().unwrap().iter();
    skills.map(|skill| (skill["name"].as_str().unwrap(), skill["status"].as_str().unwrap())).collect()
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_symlink())
}

#[test]
fn setup_plan_changes_nothing() {
    let sandbox = newcomer();
    let before = state(&sandbox);
    let text = sandbox.run(&["setup"]).exits(0).text();
    for part in ["~/.claude/skills", "Claude Code", "Codex", "notes", "deploy", "skillhub setup -y"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let document = sandbox.done(&["setup"]);
    assert_eq!(document["status"], "dry_run");
    assert_eq!(statuses(&document).len(), 4, "{document:#}");
    assert_eq!(state(&sandbox), before);
}

#[test]
fn setup_manages_skills_and_connects_agents() {
    let sandbox = newcomer();
    let document = sandbox.done(&["setup", "-y"]);
    assert_eq!((&document["status"], &document["undo"]), (&json!("done"), &json!("skillhub setup --undo")));
    assert!(statuses(&document).values().all(|status| *status == "adopted"), "{document:#}");
    for (link, library) in [
        (sandbox.home().join(".claude/skills/notes"), sandbox.user_skill("notes")),
        (sandbox.cwd().join(".claude/skills/deploy"), sandbox.cwd().join(".agents/skills/deploy")),
    ] {
        assert!(is_link(&link), "{}", link.display());
        assert_eq!(link.canonicalize().unwrap(), library.canonicalize().unwrap());
    }
    let host: Value = serde_json::from_slice(&fs::read(sandbox.home().join(".claude.json")).unwrap()).unwrap();
    assert_eq!(host["theme"], "dark");
    let server = &host["mcpServers"]["skillhub"];
    assert!(Path::new(server["command"].as_str().unwrap()).is_absolute(), "not on the search path: {server}");
    let codex = fs::read_to_string(sandbox.home().join(".codex/config.toml")).unwrap();
    assert!(codex.contains("[mcp_servers.skillhub]"), "{codex}");
    let config = fs::read_to_string(sandbox.skillhub_home().join("config.toml")).unwrap();
    assert!(config.contains("in_use = [") && config.contains("\"claude-code\""), "{config}");
    let listed = sandbox.done(&["list"])["skills"].as_array().unwrap().len();
    assert_eq!(listed, 4);
}

#[test]
fn second_setup_changes_nothing() {
    let sandbox = newcomer();
    sandbox.done(&["setup", "-y"]);
    let after = state(&sandbox);
    let again = sandbox.done(&["setup", "-y"]);
    assert_eq!((&again["status"], &again["managed"]), (&json!("unchanged"), &json!(4)));
    assert_eq!(state(&sandbox), after);
    sandbox.run(&["setup"]).exits(0).text().contains("Everything is set up");
}

#[test]
fn undo_restores_everything() {
    for undo in [&["setup", "--undo"][..], &["undo"], &["undo", "--global"]] {
        let sandbox = newcomer();
        let before = state(&sandbox);
        sandbox.done(&["setup", "-y"]);
        assert_ne!(state(&sandbox), before);
        sandbox.done(undo);
        assert_eq!(state(&sandbox), before, "{undo:?}");
        sandbox.ask(&["setup", "--undo"]).refused_with_hint(7, "not_found");
        assert_eq!(statuses(&sandbox.done(&["setup", "-y"])).len(), 4, "and it can be set up again");
    }
}

/// After the undo, the folder is the user's own again, although the library has its content in a former revision.
#[test]
fn install_leaves_folders_that_undo_restored() {
    let sandbox = newcomer();
    sandbox.done(&["setup", "-y"]);
    sandbox.done(&["setup", "--undo"]);
    let own = sandbox.home().join(".claude/skills/notes");
    let before = tree(&own);
    let text = skill_md("notes", "Takes other notes. Use in tests.", "Read something else.");
    write_files(&sandbox.path("other/notes"), &[("SKILL.md", text.as_bytes(), false)]);
    let source = sandbox.path("other/notes");
    let installed = sandbox.done(&["install", source.to_str().unwrap(), "--global"]);
    let warnings = installed["skills"][0]["warnings"].to_string();
    assert!(warnings.contains("differs from every revision"), "{installed:#}");
    let again = sandbox.done(&["setup", "-y"]);
    assert_eq!(statuses(&again)["notes"], "failed", "{again:#}");
    assert!(!is_link(&own));
    assert_eq!(tree(&own), before);
    sandbox.done(&["uninstall", "notes", "--global"]);
    assert_eq!(tree(&own), before);
}

#[test]
fn undo_of_setup_changes_all_libraries_or_none() {
    let sandbox = newcomer();
    let before = state(&sandbox);
    sandbox.done(&["setup", "-y"]);
    let edited = sandbox.home().join(".agents/skills/notes/SKILL.md");
    let text = fs::read_to_string(&edited).unwrap();
    fs::write(&edited, format!("{text}By hand.\n")).unwrap();
    let after = state(&sandbox);
    let error = sandbox.ask(&["setup", "--undo"]).refused_with_hint(6, "hand_edited");
    assert!(error["hint"].as_str().unwrap().contains("`skillhub --global rollback notes head`"), "{error:#}");
    assert_eq!(state(&sandbox), after, "nothing in the project was undone either");
    fs::write(&edited, text).unwrap();
    sandbox.done(&["setup", "--undo"]);
    assert_eq!(state(&sandbox), before);
}

#[test]
fn only_person_repeats_setup_that_person_undid() {
    let sandbox = newcomer();
    sandbox.typing("y\n", &["setup"]).exits(0);
    sandbox.typing("", &["setup", "--undo"]).exits(0);
    for again in [&["setup", "-y"][..], &["--actor", "agent:x", "undo"]] {
        sandbox.ask(again).refused_with_hint(5, "policy_denied");
    }
    let done = sandbox.typing("y\n", &["setup"]).exits(0).text();
    assert!(done.contains("Managed"), "{done}");
}

/// Hosts write their configuration at every start.
#[test]
fn undo_keeps_what_others_wrote() {
    let sandbox = newcomer();
    sandbox.done(&["setup", "-y"]);
    let path = sandbox.home().join(".claude.json");
    let text = fs::read_to_string(&path).unwrap().replacen('{', "{\n  \"started\": 2,", 1);
    fs::write(&path, text).unwrap();
    sandbox.done(&["setup", "--undo"]);
    let host: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(host, json!({"started": 2, "theme": "dark", "mcpServers": {}}));
}

#[test]
fn later_operations_are_undone_on_request() {
    let sandbox = newcomer();
    let before = state(&sandbox);
    sandbox.done(&["setup", "-y"]);
    sandbox.done(&["manage", "patch", "notes", "--find", "Read the input.", "--replace", "Read it.", "--global"]);
    let after = state(&sandbox);
    let error = sandbox.ask(&["setup", "--undo"]).refused_with_hint(6, "conflict");
    let hint = error["hint"].as_str().unwrap();
    assert!(
        ["skillhub --global undo --list", "skillhub setup --undo -y"].iter().all(|part| hint.contains(part)),
        "{hint}"
    );
    assert_eq!(state(&sandbox), after);
    sandbox.done(&["setup", "--undo", "-y"]);
    assert_eq!(state(&sandbox), before);
}

#[test]
fn undo_names_the_library_of_an_edited_skill() {
    let sandbox = newcomer();
    sandbox.done(&["setup", "-y"]);
    let file = sandbox.user_skill("notes").join("SKILL.md");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "Read it twice.\n").unwrap();
    let error = sandbox.ask(&["setup", "--undo"]).refused_with_hint(6, "hand_edited");
    let hint = error["hint"].as_str().unwrap();
    for command in ["skillhub --global status notes", "skillhub --global rollback notes head"] {
        assert!(hint.contains(command), "{hint}");
    }
}

/// An agent may come after the skills. A skill that a person hid from it stays hidden.
#[test]
fn setup_links_skills_for_new_agent() {
    let sandbox = newcomer();
    sandbox.done(&["setup", "-y"]);
    fs::create_dir(sandbox.home().join(".bob")).unwrap();
    sandbox.done(&["disable", "ledger", "--agent", "bob"]);
    let before = state(&sandbox);
    let listed = sandbox.done(&["list"]);
    assert_eq!(listed["lacking"][0]["command"], "skillhub setup", "{listed:#}");
    let plan = sandbox.run(&["setup"]).exits(0).text();
    assert!(plan.contains("deploy, forms, notes"), "{plan}");
    let document = sandbox.done(&["setup", "-y"]);
    let linked = document["linked"].as_array().unwrap();
    assert!(linked.len() == 3 && linked.iter().all(|link| link["agent"] == "bob"), "{document:#}");
    assert_eq!(document["warnings"], json!([]), "files of the first setup are not written again");
    let folders = [sandbox.home().join(".bob/skills"), sandbox.cwd().join(".bob/skills")];
    assert!(
        is_link(&folders[0].join("notes")) && is_link(&folders[0].join("forms")) && is_link(&folders[1].join("deploy"))
    );
    assert!(!is_link(&folders[0].join("ledger")));
    assert_eq!(sandbox.done(&["status"])["lacking"], json!([]));
    let doctor = sandbox.done(&["doctor"]);
    assert!(doctor["checks"].as_array().unwrap().iter().all(|check| check["code"] != "agent_not_linked"), "{doctor:#}");
    assert_eq!(sandbox.done(&["setup", "-y"])["status"], "unchanged");
    assert_eq!(sandbox.done(&["setup", "--undo"])["earlier"], true);
    assert_eq!(state(&sandbox), before);
}

/// A link may have another name than the folder to which it leads, and than the frontmatter.
#[cfg(unix)]
#[test]
fn linked_skill_is_managed_once() {
    let sandbox = Sandbox::new();
    let (folder, kept) = (sandbox.home().join(".claude/skills"), sandbox.home().join("src/memo-tools"));
    skill_at(&kept, "memo");
    fs::create_dir_all(&folder).unwrap();
    for name in ["memo", "remember"] {
        std::os::unix::fs::symlink(&kept, folder.join(name)).unwrap();
        let document = sandbox.done(&["setup", "-y"]);
        assert_eq!(sandbox.done(&["list"])["skills"].as_array().unwrap().len(), 1, "{document:#}");
    }
    assert!(!is_link(&folder.join("memo-tools")));
    let again = sandbox.done(&["setup", "-y"]);
    assert_eq!((&again["status"], &again["duplicates"][0]["name"]), (&json!("unchanged"), &json!("memo")), "{again:#}");
    let text = sandbox.run(&["setup"]).exits(0).text();
    assert!(text.contains("Left ~/.claude/skills/remember") && text.contains("\n  mv /"), "{text}");
}

/// Files that an earlier setup wrote are left alone by one that adds another agent.
#[test]
fn second_setup_writes_only_new_files() {
    let sandbox = newcomer();
    sandbox.done(&["setup", "-y"]);
    fs::create_dir(sandbox.home().join(".gemini")).unwrap();
    let document = sandbox.done(&["setup", "-y"]);
    assert_eq!(document["warnings"], json!([]));
    let files = document["files"].as_array().unwrap();
    assert!(files.iter().all(|file| !file.as_str().unwrap().ends_with(".claude.json")), "{document:#}");
    let config = fs::read_to_string(sandbox.skillhub_home().join("config.toml")).unwrap();
    assert!(config.contains("gemini"), "{config}");
}

#[test]
fn terminal_asks_once() {
    let sandbox = newcomer();
    let before = state(&sandbox);
    let answer = sandbox.typing("n\n", &["setup"]).exits(0).text();
    assert_eq!(answer.matches("Continue?").count(), 1, "{answer}");
    assert!(answer.contains("Nothing was changed."), "{answer}");
    assert_eq!(state(&sandbox), before);
    let answer = sandbox.typing("y\n", &["setup"]).exits(0).text();
    assert_eq!(answer.matches("Continue?").count(), 1, "{answer}");
    assert!(answer.contains("Undo everything: ") && answer.lines().count() <= 40, "{answer}");
    assert!(is_link(&sandbox.home().join(".claude/skills/notes")));
}

/// A skill that the scanner blocks is never refused without a question, and stays where it is.
#[test]
fn blocked_skill_stays_unless_accepted() {
    let sandbox = newcomer();
    let folder = sandbox.home().join(".claude/skills/report");
    skill_at(&folder, "report");
    write_files(&folder, &[("scripts/run.sh", hostile_script().as_bytes(), true)]);
    let before = tree(&folder);
    let document = sandbox.done(&["setup", "-y"]);
    assert_eq!(statuses(&document)["report"], "blocked", "{document:#}");
    assert!(tree(&folder) == before && !is_link(&folder));
    sandbox.done(&["setup", "--undo"]);
    let answer = sandbox.typing("a\n", &["setup"]).exits(0).text();
    assert_eq!(answer.matches("[a]ccept the findings of 1 blocked skill").count(), 1, "{answer}");
    assert!(is_link(&folder), "{answer}");
    sandbox.done(&["setup", "--undo"]);
    assert!(tree(&folder) == before && !is_link(&folder));
}

#[test]
fn consecutive_setups_are_fully_undone() {
    let sandbox = Sandbox::project();
    skill_at(&sandbox.cwd().join(".opencode/skill/commit"), "commit");
    let before = state(&sandbox);
    let text = sandbox.run(&["setup"]).exits(0).text();
    assert!(text.contains(".opencode/skill: 1 skill, read by OpenCode"), "{text}");
    sandbox.done(&["setup", "-y"]);
    sandbox.done(&["setup", "-y"]);
    assert_eq!(sandbox.done(&["setup", "--undo"])["earlier"], false, "both at once");
    assert_eq!(state(&sandbox), before);

    sandbox.done(&["setup", "-y"]);
    skill_at(&sandbox.cwd().join(".claude/skills/deploy"), "deploy");
    sandbox.done(&["setup", "-y"]);
    let undone = sandbox.run(&["setup", "--undo"]).exits(0).text();
    assert!(undone.contains("the last setup") && undone.contains("Undo it too: skillhub setup --undo"), "{undone}");
    fs::remove_dir_all(sandbox.cwd().join(".claude")).unwrap();
    assert_eq!(sandbox.done(&["setup", "--undo"])["earlier"], false);
    assert_eq!(state(&sandbox), before);
}

#[test]
fn screen_of_many_skills_is_short() {
    let sandbox = Sandbox::project();
    for number in 0..20 {
        let name = format!("skill-with-a-long-name-{number}");
        skill_at(&sandbox.home().join(".claude/skills").join(&name), &name);
    }
    for number in 0..3 {
        let name = format!("of-project-{number}");
        skill_at(&sandbox.cwd().join(".claude/skills").join(&name), &name);
    }
    let text = sandbox.typing("y\n", &["setup", "--color", "never"]).exits(0).text();
    assert!(text.lines().count() <= 40, "{text}");
    for line in text.lines() {
        assert!(line.trim_end().chars().count() <= 80, "{line}");
    }
}

#[test]
fn lines_of_setup_and_adopt_fit() {
    let sandbox = newcomer();
    let folder = sandbox.home().join(".claude/skills");
    fs::create_dir(folder.join("broken")).unwrap();
    fs::write(folder.join("broken/SKILL.md"), "---\nname: broken\n---\nText.\n").unwrap();
    skill_at(&folder.join("ledger-of-the-house"), "ledger");
    skill_at(&folder.join("report"), "report");
    write_files(&folder.join("report"), &[("scripts/run.sh", hostile_script().as_bytes(), true)]);
    for args in [&["adopt", "--dry-run", folder.to_str().unwrap()][..], &["setup", "-y"]] {
        let text = sandbox.run(args).text();
        for line in text.lines().filter(|line| !line.contains("skillhub adopt")) {
            // A long path stays whole, on a line of its own.
            assert!(line.chars().count() <= 80 || !line.trim().contains(' '), "{line}");
        }
    }
}

#[test]
fn text_of_setup_fits_narrow_terminals() {
    for columns in [40, 60] {
        let sandbox = newcomer();
        for args in [&["setup"][..], &["setup", "-y"], &["setup", "--undo"]] {
            let mut command = Command::new("sh");
            let sized = format!("stty rows 24 cols {columns} && exec \"$0\" --color never \"$@\"");
            sandbox.confine(&mut command).args(["-c", sized.as_str(), env!("CARGO_BIN_EXE_skillhub")]).args(args);
            let answer = sandbox.with_terminal_typing(command, args, Terminal::BOTH, "n\n").exits(0);
            for line in answer.text().lines() {
                // A long path and a command stay whole, on a line of their own.
                let is_whole = !line.trim().contains(' ') || line.trim().starts_with("skillhub ");
                assert!(line.chars().count() <= columns || is_whole, "{columns}: {line}\n{answer}");
            }
        }
    }
}

#[test]
fn empty_home_has_next_steps() {
    let sandbox = Sandbox::new();
    let text = sandbox.run(&["setup"]).exits(0).text();
    for part in ["skillhub search WORD", "skillhub install", "skillhub new NAME"] {
        assert!(text.contains(part), "{text}");
    }
    sandbox.ask(&["setup", "--library", "x"]).refused_with_hint(2, "usage");
}

/// Without a command, a home that was never set up greets with four lines; later there is the help.
#[test]
fn greeting_leads_to_setup() {
    let sandbox = newcomer();
    let greeting = sandbox.run(&[]).exits(2);
    assert_eq!(greeting.stderr.lines().count(), 4, "{greeting}");
    assert!(greeting.stderr.contains("skillhub setup"), "{greeting}");
    assert!(!sandbox.skillhub_home().exists(), "greeting makes nothing");
    sandbox.done(&["setup", "-y"]);
    assert!(sandbox.run(&[]).exits(2).stderr.contains("Start here:"));
}

#[test]
fn folder_flag_runs_elsewhere() {
    let sandbox = newcomer();
    let document = sandbox.done(&["-C", "..", "where"]);
    assert!(document["library"].as_str().unwrap().ends_with("home/.agents/skills"), "{document:#}");
    let inside = sandbox.done(&["-C", ".claude/skills", "where"]);
    assert_eq!(inside["library"], sandbox.done(&["where"])["library"]);
    sandbox.ask(&["-C", "none", "where"]).refused_with_hint(7, "not_found");
}

/// The hooks of the agents in use are added beside the user's own, and removed alone.
#[test]
fn hooks_join_and_leave_users_settings() {
    let sandbox = newcomer();
    let settings = sandbox.home().join(".claude/settings.json");
    let own = json!({"model": "m", "hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "bye.sh"}]}]}});
    fs::write(&settings, own.to_string()).unwrap();
    let document = sandbox.done(&["setup", "-y"]);
    let agents = document["agents"].as_array().unwrap();
    let hook = |id: &str| agents.iter().find(|agent| agent["id"] == id).unwrap()["hook"]["status"].clone();
    assert_eq!((hook("claude-code"), hook("codex")), (json!("add"), json!("add")), "{document:#}");
    let read = || serde_json::from_slice::<Value>(&fs::read(&settings).unwrap()).unwrap();
    let groups = read()["hooks"]["SessionEnd"].as_array().unwrap().clone();
    assert_eq!((groups.len(), &groups[0]), (2, &own["hooks"]["SessionEnd"][0]));
    assert!(groups[1]["hooks"][0]["command"].as_str().unwrap().ends_with(" record --hook claude-code"), "{groups:#?}");
    let codex = fs::read_to_string(sandbox.home().join(".codex/config.toml")).unwrap();
    assert!(codex.starts_with("notify = [") && codex.contains("[mcp_servers.skillhub]"), "{codex}");
    // The host changes the file before the setup is undone.
    let text = fs::read_to_string(&settings).unwrap().replacen("\"m\"", "\"n\"", 1);
    fs::write(&settings, text).unwrap();
    sandbox.done(&["setup", "--undo"]);
    let mut expected = own;
    expected["model"] = json!("n");
    assert_eq!(read(), expected);
    assert!(!sandbox.home().join(".codex/config.toml").exists());
}

#[test]
fn disabled_log_and_damaged_settings_get_no_hook() {
    let sandbox = newcomer();
    let settings = sandbox.home().join(".claude/settings.json");
    fs::write(&settings, "{\"hooks\": {").unwrap();
    let document = sandbox.done(&["setup", "-y"]);
    let claude = document["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "claude-code").unwrap();
    assert_eq!(claude["hook"]["status"], "failed", "{document:#}");
    assert!(claude["hook"]["error"].as_str().unwrap().contains("not valid JSON"), "{document:#}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"hooks\": {");
    sandbox.done(&["setup", "--undo"]);
    fs::remove_file(&settings).unwrap();
    write_files(&sandbox.skillhub_home(), &[("config.toml", b"[agent]\nuse_log = false\n", false)]);
    sandbox.done(&["setup", "-y"]);
    assert!(!settings.exists());
    assert!(!fs::read_to_string(sandbox.home().join(".codex/config.toml")).unwrap().contains("notify"));
}
