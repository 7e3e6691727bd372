//! Several processes on one library at the same time, as agents work.

use std::process::Stdio;

use crate::support::{Answer, Sandbox, snapshot};

/// Runs commands at the same time and gives their answers in order.
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
fn changes_of_different_skills_at_once_all_land() {
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
fn changes_of_different_lines_of_one_skill_at_once_are_all_kept() {
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
fn two_changes_of_one_line_at_once_have_one_winner() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let commands = [patch("demo", "alpha line", "beta text"), patch("demo", "alpha line", "gamma text")];
    let mut answers = at_once(&sandbox, &commands);
    answers.sort_by_key(|answer| answer.exit);
    answers.pop().unwrap().refused(6, "no_match");
    assert_eq!(answers.pop().unwrap().done()["number"], 2);
}

#[test]
fn one_install_by_two_processes_is_one_revision() {
    let sandbox = Sandbox::new();
    let folder = sandbox.skill("demo", "Writes notes. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    let install = vec!["install".to_owned(), "./demo".to_owned(), "--json".to_owned()];
    let answers = at_once(&sandbox, &[install.clone(), install]);
    assert!(answers.iter().any(|answer| answer.exit == 0), "{}", answers[0]);
    assert!(answers.iter().all(|answer| [0, 6].contains(&answer.exit)), "{} {}", answers[0], answers[1]);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 1);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), snapshot(&folder));
}
