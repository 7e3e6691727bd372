//! `review` without a subcommand: what changed since a person last looked, and their decisions about it.

use std::{
    fs::{self, File},
    io::Read,
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::{Answer, Entry, Sandbox, Terminal, pair, skill_md, snapshot, write_files};

/// Changes of agents in the week that a person reviews, and the skills that they change.
const CHANGES: usize = 80;
const SKILLS: usize = 12;

/// Creates a skill as a person, whose own changes need no review.
fn create(sandbox: &Sandbox, name: &str) {
    let file = sandbox.path("new.md");
    fs::write(&file, skill_md(name, "A skill for the inbox.", "line 0")).unwrap();
    sandbox.at_terminal(&["manage", "create", name, "--content", file.to_str().unwrap()]).exits(0);
}

fn patch(sandbox: &Sandbox, name: &str, from: usize) {
    let (find, replace) = (format!("line {from}"), format!("line {}", from + 1));
    let reason = format!("change {} of {name}", from + 1);
    sandbox.done(&["manage", "patch", name, "--find", &find, "--replace", &replace, "--reason", &reason]);
}

fn waiting(sandbox: &Sandbox) -> Vec<String> {
    let inbox = sandbox.done(&["review"]);
    inbox["skills"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn week_of_changes_takes_twelve_keys() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..SKILLS).map(|skill| format!("skill-{skill:02}")).collect();
    names.iter().for_each(|name| create(&sandbox, name));
    assert_eq!(waiting(&sandbox), Vec::<String>::new(), "a person made them all");
    (0..CHANGES).for_each(|change| patch(&sandbox, &names[change % SKILLS], change / SKILLS));
    let listed = sandbox.at_terminal(&["list"]).exits(0);
    assert!(listed.text().contains("12 skills changed since you looked"), "{listed}");
    assert_eq!(sandbox.done(&["status"])["changed_since_review"].as_array().unwrap().len(), SKILLS);
    let walked = sandbox.typing("kkkkkkkkkkkk", &["review"]).exits(0);
    for (place, name) in names.iter().enumerate() {
        let changes = CHANGES / SKILLS + usize::from(place < CHANGES % SKILLS);
        let heading = format!("{changes} revisions since revision 1");
        assert_eq!(walked.text().matches(&format!("Kept revision {} of {name}", changes + 1)).count(), 1, "{walked}");
        assert!(walked.text().contains(&heading) && walked.text().contains(&format!("change {changes} of {name}")));
        let diff = format!("+line {changes}");
        assert!(walked.text().contains(&diff), "one difference: {walked}");
    }
    assert_eq!(walked.text().matches("+line 3").count(), 0, "no step in between is shown");
    let nothing = sandbox.at_terminal(&["review"]).exits(0);
    assert!(nothing.text().contains("Nothing changed since you looked"), "{nothing}");
    patch(&sandbox, "skill-03", 7);
    assert_eq!(waiting(&sandbox), ["skill-03"]);
}

#[test]
fn each_decision_takes_effect_at_once() {
    let sandbox = Sandbox::new();
    for name in ["a-one", "b-two", "c-three"] {
        create(&sandbox, name);
        patch(&sandbox, name, 0);
    }
    let ended = sandbox.typing("krq", &["review"]).exits(0);
    assert!(ended.text().contains("Kept revision 2 of a-one"), "{ended}");
    assert!(ended.text().contains("Rolled b-two back to revision 1"), "{ended}");
    assert_eq!(waiting(&sandbox), ["c-three"]);
    assert!(fs::read_to_string(sandbox.user_skill("b-two").join("SKILL.md")).unwrap().contains("line 0"));
    let skipped = sandbox.typing("xs", &["review"]).exits(0);
    assert!(skipped.text().contains("1 item left for later: skillhub review"), "{skipped}");
    let pinned = sandbox.typing("p", &["review"]).exits(0);
    assert!(pinned.text().contains("only people can change it now"), "{pinned}");
    sandbox.ask(&["manage", "patch", "c-three", "--find", "line 1", "--replace", "line 2"]).refused(5, "policy_denied");
}

#[test]
fn only_people_move_the_checkpoint() {
    let sandbox = Sandbox::new();
    create(&sandbox, "demo");
    patch(&sandbox, "demo", 0);
    patch(&sandbox, "demo", 1);
    sandbox.ask(&["review", "keep", "demo"]).refused_with_hint(5, "policy_denied");
    assert_eq!(waiting(&sandbox), ["demo"]);
    let token = sandbox.token();
    let kept = sandbox.run_as(&token, &["--json", "review", "keep", "demo@2"]).exits(0).json();
    assert_eq!(kept["skills"][0]["number"], 2);
    let inbox = sandbox.done(&["review"]);
    let skill = &inbox["skills"][0];
    assert_eq!((&skill["checkpoint"]["number"], &skill["revisions"]), (&json!(2), &json!(1)), "{inbox:#}");
    assert!(skill["diff"].as_str().unwrap().contains("-line 1\n+line 2"), "{inbox:#}");
    sandbox.run_as(&token, &["--json", "review", "keep", "demo@9"]).refused(7, "not_found");
    sandbox.run_as(&token, &["--json", "review", "keep", "demo@x y"]).refused_with_hint(2, "invalid_request");
    let both = sandbox.run_as(&token, &["--json", "review", "keep", "missing", "demo"]);
    assert_eq!(both.json()["skills"][1]["ok"], true, "the other one is kept");
    assert_eq!(waiting(&sandbox), Vec::<String>::new());
}

#[test]
fn inbox_shows_edits_outcomes_and_deletions() {
    let sandbox = Sandbox::new();
    create(&sandbox, "demo");
    create(&sandbox, "gone");
    for run in 0..4 {
        let run = format!("r{run}");
        sandbox.done(&["record", "demo", "--event", "completed", "--run", &run]);
    }
    patch(&sandbox, "demo", 0);
    sandbox.done(&["record", "demo", "--event", "failed", "--run", "r9"]);
    sandbox.done(&["manage", "delete", "gone", "--reason", "unused"]);
    let inbox = sandbox.done(&["review"]);
    let of = |name: &str| -> &Value {
        inbox["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == name).unwrap()
    };
    let outcomes = &of("demo")["outcomes"];
    assert_eq!((&outcomes["before"]["successes"], &outcomes["since"]["failures"]), (&json!(4), &json!(1)), "{inbox:#}");
    assert_eq!(of("gone")["newest"][0]["action"], "delete");
    fs::write(sandbox.user_skill("demo").join("SKILL.md"), skill_md("demo", "A skill for the inbox.", "by hand"))
        .unwrap();
    assert_eq!(sandbox.done(&["review"])["skills"][0]["edited"], true);
    let walked = sandbox.typing("kr", &["review"]).exits(0);
    assert!(walked.text().contains("4 of 4 runs succeeded before, 0 of 1 run succeeded since"), "{walked}");
    assert!(walked.text().contains("Kept revision 3 of demo"), "the edit is recorded: {walked}");
    assert!(walked.text().contains("Rolled gone back to revision 1"), "{walked}");
    assert_eq!(waiting(&sandbox), Vec::<String>::new());
}

#[test]
fn new_skill_of_an_agent_can_be_deleted() {
    let sandbox = Sandbox::new();
    sandbox.create("learned", "a body");
    let walked = sandbox.typing("d", &["review"]).exits(0);
    assert!(walked.text().contains("new, 1 revision") && walked.text().contains("Deleted learned"), "{walked}");
    assert!(!sandbox.user_skill("learned").exists());
    assert_eq!(waiting(&sandbox), Vec::<String>::new());
}

#[test]
fn lines_fit_eighty_columns() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "line 0");
    let reason = "the numbers of the metrics service are needed, and the former way does not work any more";
    let patch = |find: &str, replace: &str| {
        sandbox.done(&["manage", "patch", "demo", "--find", find, "--replace", replace, "--reason", reason])
    };
    patch("line 0", "line 1");
    for (event, run) in [("completed", "r1"), ("failed", "r2")] {
        let numbers = ["--latency-ms", "120000", "--tokens-in", "123456", "--tokens-out", "123456"];
        sandbox.done(&[&["record", "demo", "--event", event, "--run", run][..], &numbers].concat());
    }
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let id = patch("line 1", "line 2")["proposal"].as_str().unwrap().to_owned();
    let texts = [&["stats"][..], &["stats", "demo"], &["review", "show", &id], &["review", "diff", &id]];
    let mut lines: Vec<String> = texts
        .iter()
        .flat_map(|args| sandbox.run(args).exits(0).text().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    // The table of proposals is cut at the edge of a terminal only.
    let review = sandbox.run(&["review"]).exits(0).text();
    lines.extend(review.lines().filter(|line| !line.starts_with(&id)).map(str::to_owned));
    assert!(lines.iter().any(|line| line.ends_with("any more")), "{lines:#?}");
    let long: Vec<&String> = lines.iter().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn long_change_is_shown_by_screenfuls() {
    let sandbox = Sandbox::new();
    let body: Vec<String> = (0..200).map(|line| format!("row {line}.")).collect();
    sandbox.create("long", &body.join("\n"));
    let review = |typed: &str| -> Answer {
        let mut command = sandbox.command(&["review"]);
        command.env("PAGER", "false");
        sandbox.with_terminal_typing(command, &["review"], Terminal::BOTH, typed).exits(0)
    };
    let folded = review("q");
    assert!(folded.text().contains("+row 9.") && !folded.text().contains("+row 199."), "{folded}");
    assert!(folded.text().contains("more lines"), "{folded}");
    let whole = review("mmmmmmmmk");
    for row in &body {
        assert_eq!(whole.text().matches(&format!("+{row}")).count(), 1, "{row}: {whole}");
    }
    assert!(whole.text().contains("Kept revision 1 of long"), "{whole}");
}

#[test]
fn deleted_before_a_look_is_no_change() {
    let sandbox = Sandbox::new();
    sandbox.create("brief", "a body");
    sandbox.done(&["manage", "delete", "brief"]);
    for command in ["status", "list"] {
        assert_eq!(sandbox.done(&[command])["changed_since_review"], json!([]), "{command}");
    }
    let walked = sandbox.typing("", &["review"]).exits(0);
    assert!(walked.text().contains("Nothing changed since you looked"), "{walked}");
    // A folder that was there before skillhub knew it is missed.
    let text = skill_md("own", "Made by hand. Use in tests.", "mine");
    write_files(&sandbox.user_skill("own"), &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.done(&["manage", "delete", "own"]);
    assert_eq!(sandbox.done(&["status"])["changed_since_review"], json!(["own"]));
    let walked = sandbox.typing("r", &["review"]).exits(0);
    assert!(walked.text().contains("deleted since revision 1"), "{walked}");
    assert!(fs::read_to_string(sandbox.user_skill("own").join("SKILL.md")).unwrap().contains("mine"));
}

#[test]
fn hand_edit_counts_as_change_until_undone() {
    let sandbox = Sandbox::new();
    create(&sandbox, "brief");
    let file = sandbox.user_skill("brief").join("SKILL.md");
    let recorded = fs::read_to_string(&file).unwrap();
    let expect = |changed: &Value, when: &str| {
        for command in ["status", "list"] {
            assert_eq!(sandbox.done(&[command])["changed_since_review"], *changed, "{command} {when}");
        }
        assert_eq!(json!(waiting(&sandbox)), *changed, "{when}");
    };
    expect(&json!([]), "as recorded");
    fs::write(&file, format!("{recorded}One more line.\n")).unwrap();
    expect(&json!(["brief"]), "edited");
    fs::write(&file, &recorded).unwrap();
    expect(&json!([]), "as before");
}

/// A short form of `bench/year.py`, which times the commands.
#[test]
fn unreviewed_months_stay_readable_and_small() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..4).map(|skill| format!("skill-{skill}")).collect();
    names.iter().for_each(|name| drop(sandbox.create(name, "line 0")));
    let mut outcomes = String::new();
    for change in 0..80 {
        patch(&sandbox, &names[change % 4], change / 4);
        for run in 0..5 {
            let event = if run == change % 5 { "failed" } else { "completed" };
            outcomes.push_str(
                &json!({"skill": names[change % 4], "event": event, "run": format!("r{change}-{run}")}).to_string(),
            );
            outcomes.push('\n');
        }
    }
    sandbox.run_with(&["record", "--request", "-"], outcomes.as_bytes()).exits(0);
    let inbox = sandbox.done(&["review"]);
    for skill in inbox["skills"].as_array().unwrap() {
        assert_eq!((&skill["revisions"], &skill["newest"].as_array().unwrap().len()), (&json!(21), &20), "{skill:#}");
        assert_eq!(skill["outcomes"]["since"]["successes"], 80, "{skill:#}");
    }
    let stats = sandbox.done(&["stats"]);
    assert_eq!(stats["skills"].as_array().unwrap().len(), 4);
    assert_eq!(stats["skills"][0]["trend"], json!(vec![0.8; 10]), "{stats:#}");
    sandbox.done(&["gc"]);
    let bytes = |entry: &Entry| if let Entry::File(_, bytes) = entry { bytes.len() } else { 0 };
    let size: usize = snapshot(&sandbox.skillhub_home()).values().map(bytes).sum();
    assert!(size < 200_000, "{size} bytes for 84 revisions and 400 outcomes");
}

/// Reviews with one key, and kills the command once it has acknowledged the decision.
fn killed_once_acknowledged(sandbox: &Sandbox, key: &str, acknowledged: &str) {
    let (ours, theirs) = pair();
    let mut terminal = File::from(ours);
    std::io::Write::write_all(&mut terminal, key.as_bytes()).unwrap();
    let mut command = sandbox.command(&["review"]);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let (mut seen, mut buffer) = (Vec::new(), [0; 1024]);
    while !String::from_utf8_lossy(&seen).contains(acknowledged) {
        let read = terminal.read(&mut buffer).unwrap();
        seen.extend_from_slice(&buffer[..read]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn kill_loses_no_acknowledged_decision() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..8).map(|skill| format!("skill-{skill}")).collect();
    for name in &names {
        create(&sandbox, name);
        patch(&sandbox, name, 0);
    }
    for (place, name) in names.iter().enumerate() {
        let (key, line) = [
            ("k", format!("Kept revision 2 of {name}")),
            ("r", format!("Rolled {name} back to revision 1")),
            ("p", format!("Kept revision 2 of {name}; only people can change it now")),
        ][place % 3]
            .clone();
        killed_once_acknowledged(&sandbox, key, &line);
        assert_eq!(waiting(&sandbox), names[place + 1..], "{key} for {name}");
        let text = fs::read_to_string(sandbox.user_skill(name).join("SKILL.md")).unwrap();
        assert_eq!(text.contains("line 0"), key == "r", "{text}");
        assert_eq!(sandbox.done(&["status", name])["skills"][0]["state"], "clean");
    }
}

/// The change comes first, so that the proposal is not a part of it.
#[test]
fn accepted_proposal_is_not_shown_again() {
    let sandbox = Sandbox::new();
    sandbox.create("learned", "line 0");
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    patch(&sandbox, "learned", 0);
    let walked = sandbox.typing("ka", &["review"]).exits(0);
    assert!(walked.text().contains("Kept revision 1 of learned"), "{walked}");
    assert!(walked.text().contains("Accepted for learned as revision 2"), "{walked}");
    assert_eq!(walked.text().matches("+line 1").count(), 1, "{walked}");
    assert_eq!(waiting(&sandbox), Vec::<String>::new());
}

#[test]
fn refused_edit_is_offered_again() {
    let sandbox = Sandbox::new();
    create(&sandbox, "demo");
    patch(&sandbox, "demo", 0);
    let editor = sandbox.path("editor");
    // The first edit is refused, and the second one begins with its text.
    let script = "if grep -q mine \"$1\"; then sed -i 's/^name: .*/name: demo/' \"$1\"\n\
                  else echo mine >> \"$1\"; sed -i 's/^name: .*/name: No Name/' \"$1\"; fi\n";
    fs::write(&editor, script).unwrap();
    let review = |typed: &str| -> Answer {
        let mut command = sandbox.command(&["review"]);
        command.env("EDITOR", format!("sh {}", editor.display()));
        sandbox.with_terminal_typing(command, &["review"], Terminal::BOTH, typed)
    };
    let discarded = review("eqq").exits(0);
    assert!(discarded.text().contains("your edit was refused"), "{discarded}");
    assert_eq!(waiting(&sandbox), ["demo"]);
    let kept = review("ee").exits(0);
    assert!(kept.text().contains("Kept your edit of demo as revision 3"), "{kept}");
    let text = fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap();
    assert!(text.contains("mine") && text.contains("name: demo"), "{text}");
}

/// The hooks of hosts report no success.
#[test]
fn corrections_alone_give_no_rate() {
    let sandbox = Sandbox::new();
    create(&sandbox, "demo");
    create(&sandbox, "unused");
    let line = |run: usize, event: &str| {
        let ts = format!("2026-01-02T03:04:{run:02}Z");
        json!({"skill": "demo", "event": event, "run": format!("r{run}"), "ts": ts}).to_string() + "\n"
    };
    let mut lines: String = (0..20).map(|run| line(run, "activated")).collect();
    lines.push_str(&line(7, "corrected"));
    sandbox.run_with(&["record", "--request", "-"], lines.as_bytes()).exits(0);
    patch(&sandbox, "demo", 0);
    let stats = sandbox.done(&["stats"]);
    let skill = &stats["skills"][0];
    assert_eq!((&skill["rate"], &skill["runs"], &skill["trend"]), (&Value::Null, &json!(20), &json!([])), "{stats:#}");
    assert_eq!(stats["without_runs"], json!(["unused"]));
    assert_eq!(sandbox.done(&["stats", "demo"])["revisions"][0]["rate"], Value::Null);
    for args in [&["stats"][..], &["stats", "demo"]] {
        let text = sandbox.run(args).exits(0).text();
        assert!(text.contains("No success was reported") && !text.contains("0 %"), "{text}");
    }
    let unused = sandbox.run(&["stats", "unused"]).exits(0).text();
    assert!(unused.contains("skillhub setup"), "{unused}");
    assert_eq!(sandbox.done(&["review"])["skills"][0]["outcomes"]["before"]["rate"], Value::Null);
    let review = sandbox.run(&["review"]).exits(0).text();
    let words = "1 of 20 runs failed or was corrected before, no known results since; no success was reported";
    assert!(review.contains(words), "{review}");
    let stored = sandbox.done(&["record", "--show"]);
    assert_eq!((&stored["skills"][0]["skill"], &stored["skills"][0]["outcomes"]), (&json!("demo"), &json!(21)));
}
