//! Concurrent processes on one library, as agents work.

#[cfg(target_os = "linux")]
use std::process::Command;
use std::process::Stdio;

use crate::support::{Answer, Sandbox, snapshot};

/// Runs commands concurrently and returns their answers in order.
fn at_once(sandbox: &Sandbox, commands: &[Vec<String>]) -> Vec<Answer> {
    let start = |args: &Vec<String>| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        sandbox.start(sandbox.command(&args).stdin(Stdio::null()))
    };
    let children: Vec<_> = commands.iter().map(start).collect();
    let outputs = children.into_iter().map(|child| child.wait_with_output().unwrap());
    outputs.zip(commands).map(|(output, args)| Answer::new(args.join(" "), output)).collect()
}

fn patch(name: &str, find: &str, replace: &str) -> Vec<String> {
    ["manage", "patch", name, "--find", find, "--replace", replace, "--json"].map(str::to_owned).to_vec()
}

#[test]
fn concurrent_changes_of_skills_are_kept() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..8).map(|at| format!("skill-{at}")).collect();
    names.iter().for_each(|name| drop(sandbox.create(name, "alpha line")));
    let commands: Vec<_> = names.iter().map(|name| patch(name, "alpha line", "gamma line")).collect();
    for answer in at_once(&sandbox, &commands) {
        assert_eq!(answer.done()["number"], 2);
    }
    for skill in sandbox.done(&["status"])["skills"].as_array().unwrap() {
        assert_eq!(skill["state"], "clean", "{skill:#}");
    }
}

#[test]
fn concurrent_line_changes_are_kept() {
    let sandbox = Sandbox::new();
    let lines: Vec<String> = (10..18).map(|at| format!("line {at} old")).collect();
    sandbox.create("demo", &lines.join("\n\n"));
    let commands: Vec<_> = lines.iter().map(|line| patch("demo", line, &line.replace("old", "new"))).collect();
    for answer in at_once(&sandbox, &commands) {
        answer.done();
    }
    let text = sandbox.run(&["show", "demo", "SKILL.md"]).exits(0).text();
    assert_eq!((text.matches(" new").count(), text.matches(" old").count()), (8, 0), "{text}");
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 9);
    assert_eq!(std::fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap(), text);
}

#[test]
fn concurrent_change_of_line_has_winner() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let commands = [patch("demo", "alpha line", "beta text"), patch("demo", "alpha line", "gamma text")];
    let mut answers = at_once(&sandbox, &commands);
    answers.sort_by_key(|answer| answer.exit);
    answers.pop().unwrap().refused(6, "no_match");
    assert_eq!(answers.pop().unwrap().done()["number"], 2);
}

#[test]
fn concurrent_installs_make_one_revision() {
    let sandbox = Sandbox::new();
    let folder = sandbox.skill("demo", "Writes notes. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    let install = vec!["install".to_owned(), "./demo".to_owned(), "--json".to_owned()];
    let answers = at_once(&sandbox, &[install.clone(), install]);
    assert!(answers.iter().any(|answer| answer.exit == 0), "{}", answers[0]);
    assert!(answers.iter().all(|answer| [0, 6].contains(&answer.exit)), "{} {}", answers[0], answers[1]);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 1);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), snapshot(&folder));
}

/// A command as the first process of a container of its own, beside which others have the same files.
#[cfg(target_os = "linux")]
fn contained(sandbox: &Sandbox, program: &str, args: &[String]) -> Command {
    let mut command = Command::new("unshare");
    sandbox.confine(&mut command);
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--fork", "--mount-proc", program]).args(args);
    command
}

#[cfg(target_os = "linux")]
#[test]
fn containers_sharing_process_ids_lose_nothing() {
    let sandbox = Sandbox::new();
    let number = contained(&sandbox, "sh", &["-c".to_owned(), "echo $$".to_owned()]).output();
    if number.is_err() || number.is_ok_and(|told| told.stdout != b"1\n") {
        eprintln!(
            "SKIPPED, NOT TESTED: no container can be made here; run it as root, or where user namespaces are allowed"
        );
        return;
    }
    const ROUNDS: usize = 20;
    let line = |who: &str, round: usize, age: &str| format!("line {who}{round:02} is {age}");
    let lines: Vec<_> = (0..ROUNDS).flat_map(|round| ["a", "b"].map(|who| line(who, round, "old"))).collect();
    sandbox.create("demo", &lines.join("\n\n"));
    for round in 0..ROUNDS {
        let commands = ["a", "b"].map(|who| patch("demo", &line(who, round, "old"), &line(who, round, "new")));
        let start = |args: &Vec<String>| sandbox.start(&mut contained(&sandbox, env!("CARGO_BIN_EXE_skillhub"), args));
        for (child, args) in commands.each_ref().map(start).into_iter().zip(&commands) {
            Answer::new(args.join(" "), child.wait_with_output().unwrap()).done();
        }
    }
    let text = sandbox.run(&["show", "demo", "SKILL.md"]).exits(0).text();
    assert_eq!((text.matches(" new").count(), text.matches(" old").count()), (2 * ROUNDS, 0), "{text}");
    let revisions = sandbox.done(&["history", "demo", "--limit", "100"])["revisions"].as_array().unwrap().len();
    assert_eq!(revisions, 2 * ROUNDS + 1);
    assert_eq!(sandbox.done(&["log", "--limit", "100"])["events"].as_array().unwrap().len(), 2 * ROUNDS + 1);
    let left: Vec<_> = snapshot(&sandbox.home()).into_keys().filter(|path| path.contains(".tmp")).collect();
    assert_eq!(left, Vec::<String>::new(), "temporary files");
    assert_eq!(sandbox.done(&["doctor"])["ok"], true);
}
