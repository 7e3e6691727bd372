//! First contact with the program: help, completions, colours, the tour.

use std::{collections::BTreeSet, time::Instant};

use crate::support::{Answer, Sandbox, skill_md, tree, write_files};

const ESCAPE: u8 = 0x1b;

/// The names of all commands, as `help --all` lists them.
fn commands(sandbox: &Sandbox) -> BTreeSet<String> {
    let help = sandbox.run(&["help", "--all"]).exits(0).text();
    let names = help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

#[test]
fn every_command_has_help_with_examples() {
    let sandbox = Sandbox::new();
    let commands = commands(&sandbox);
    for name in ["install", "manage", "publish", "rollback", "tour"] {
        assert!(commands.contains(name), "{name} is not among {commands:?}");
    }
    let mut pages = sandbox.run(&["--help"]).exits(0).text();
    for name in &commands {
        let help = sandbox.run(&[name, "--help"]).exits(0).text();
        pages.push_str(&help);
        let (examples, options) = (help.find("Examples:\n  "), help.find("\nOptions:"));
        assert!(examples.is_some() && examples < options, "{name} does not begin with examples:\n{help}");
        assert_eq!(help, sandbox.run(&["help", name]).exits(0).text());
        assert!(help.contains(&format!("skillhub {name}")), "the examples of {name} show something else:\n{help}");
    }
    for line in pages.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(tree(&sandbox.home()).is_empty(), "help makes nothing");
}

#[test]
fn first_screen_leads_to_the_others() {
    let sandbox = Sandbox::new();
    let first = sandbox.run(&["help"]).exits(0).text();
    assert_eq!(first, sandbox.run(&["--help"]).exits(0).text());
    for text in ["Start here:\n", "  setup ", "skillhub help --all", "skillhub help options"] {
        assert!(first.contains(text), "{first}");
    }
    assert!(!first.contains("--accept-rewrite") && !first.contains("  gc "), "{first}");
    assert!(sandbox.run(&["help", "options"]).exits(0).text().contains("--accept-rewrite"));
    assert!(sandbox.run(&["help", "review", "accept"]).exits(0).text().contains("skillhub review accept"));
    let error = sandbox.run(&["help", "review", "grow"]).exits(2);
    assert!(error.stderr.contains("there is no command `review grow`"), "{error}");
}

#[test]
fn misspelt_command_suggests_nearest_first() {
    let error = Sandbox::new().run(&["instal"]).exits(2);
    assert!(error.stderr.contains("exist: 'install', 'uninstall', 'list'\n"), "{error}");
}

#[test]
fn misspelt_skill_suggests_nearest_name() {
    let sandbox = Sandbox::new();
    sandbox.create("notes", "Text.");
    for command in ["rollback", "uninstall", "history", "read"] {
        let error = sandbox.ask(&[command, "notse"]).refused_with_hint(7, "not_found");
        assert!(error["hint"].as_str().unwrap().starts_with("did you mean notes? "), "{command}: {error:#}");
    }
    for name in ["alpha", "other"] {
        let text = skill_md(name, "Writes notes. Use in tests.", "Read the input.");
        write_files(&sandbox.cwd().join("kit"), &[(&format!("{name}/SKILL.md"), text.as_bytes(), false)]);
    }
    let error = sandbox.ask(&["install", "./kit", "--skill", "alpah"]).refused_with_hint(7, "not_found");
    assert!(error["hint"].as_str().unwrap().starts_with("did you mean alpha? "), "{error:#}");
}

#[test]
fn words_of_other_tools_lead_to_our_commands() {
    let sandbox = Sandbox::new();
    for (word, command) in [("delete", "uninstall"), ("revert", "rollback"), ("approve", "review")] {
        let error = sandbox.run(&[word, "demo"]).exits(2);
        assert!(error.stderr.contains(&format!("skillhub help {command}")), "{error}");
        assert_eq!(sandbox.run(&["help", word]).exits(2).stderr, error.stderr);
    }
    for (alias, command) in [
        ("ls", "list"),
        ("rm", "uninstall"),
        ("remove", "uninstall"),
        ("add", "install"),
        ("find", "search"),
        ("upgrade", "update"),
        ("init", "new"),
    ] {
        let help = sandbox.run(&[alias, "--help"]).exits(0).text();
        assert_eq!(help, sandbox.run(&[command, "-h"]).exits(0).text());
        assert!(help.contains("Also called `") && help.contains(&format!("`{alias}`")), "{help}");
    }
    assert_eq!(sandbox.done(&["-C", "/", "where"])["library"], sandbox.done(&["where", "-g"])["library"]);
}

/// The command table of the README names each command once.
#[test]
fn readme_has_every_command() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let table = text.split_once("\n## Commands\n").unwrap().1.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let mut named: Vec<&str> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    named.sort_unstable();
    assert_eq!(named, commands(&Sandbox::new()).iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn completions_are_there_for_each_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.run(&["completions", shell]).exits(0).text();
        for word in ["skillhub", "rollback", "install"] {
            assert!(script.contains(word), "{word} is not in the completions of {shell}");
        }
    }
    sandbox.run(&["completions", "tcsh"]).exits(2);
}

#[test]
fn bash_reads_its_completions() {
    let sandbox = Sandbox::new();
    let script = sandbox.run(&["completions", "bash"]).exits(0).text();
    let mut bash = std::process::Command::new("bash");
    sandbox.confine(&mut bash).args(["-n", "-c", &script]);
    match bash.output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("skipped: there is no bash: {error}"),
    }
}

#[test]
fn tour_is_quick_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let before = (tree(&sandbox.path("tmp")), tree(&sandbox.home()), tree(&sandbox.cwd()));
    let started = Instant::now();
    let text = sandbox.run(&["tour"]).exits(0).text();
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    assert_eq!((tree(&sandbox.path("tmp")), tree(&sandbox.home()), tree(&sandbox.cwd())), before);
    for command in ["validate", "publish", "search", "install", "manage", "diff", "rollback", "history"] {
        assert!(text.contains(&format!("$ skillhub {command}")), "{command} is not shown:\n{text}");
    }
    let document = sandbox.done(&["tour"]);
    assert!(document["steps"].as_array().unwrap().iter().all(|step| step["ok"] == true), "{document:#}");
}

fn has_colour(answer: &Answer) -> bool {
    answer.stdout.contains(&ESCAPE) || answer.stderr.as_bytes().contains(&ESCAPE)
}

#[test]
fn pipes_get_no_colours_unless_requested() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    for args in [&["list"][..], &["history", "demo"], &["history", "none"], &["validate", "."], &["tour"], &["--help"]]
    {
        let plain = sandbox.run(args);
        assert!(!has_colour(&plain), "{plain}");
    }
    for args in [&["list"][..], &["history", "demo"], &["history", "none"]] {
        let asked = sandbox.run(&[args, &["--color", "always"]].concat());
        assert!(has_colour(&asked), "{asked}");
        let json = sandbox.run(&[args, &["--color", "always", "--json"]].concat());
        assert!(!has_colour(&json), "{json}");
    }
}

#[test]
fn no_color_yields_only_to_the_flag() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    let run = |args: &[&str], no_color: bool| {
        let mut command = sandbox.command(args);
        command.env("CLICOLOR_FORCE", "1");
        if no_color {
            command.env("NO_COLOR", "1");
        }
        has_colour(&sandbox.finish(command, args).exits(0))
    };
    assert!(run(&["history", "demo"], false));
    assert!(!run(&["history", "demo"], true));
    assert!(!run(&["history", "demo", "--color", "never"], false));
    assert!(run(&["history", "demo", "--color", "always"], true));
}

#[test]
fn variables_that_are_empty_count_as_not_set() {
    let sandbox = Sandbox::new();
    let expected = sandbox.done(&["where"]);
    let mut command = sandbox.command(&["where", "--json"]);
    command.env("SKILLHUB_REGISTRY", "").env("SKILLHUB_HOME", "");
    assert_eq!(sandbox.finish(command, &["where"]).done(), expected);
}

#[test]
fn quiet_leaves_the_answer_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    let answer = sandbox.run(&["list", "--quiet"]).exits(0);
    assert!(answer.text().contains("demo") && answer.stderr.is_empty(), "{answer}");
    let publish = ["publish", &sandbox.user_skill("demo").display().to_string(), "--owner", "acme"];
    let quiet = sandbox.run(&[&publish[..], &["--dry-run", "--quiet"]].concat()).exits(0);
    assert!(quiet.text().starts_with("Would publish") && quiet.stderr.is_empty(), "{quiet}");
    for (args, step) in [(&publish[..], "See its releases: "), (&["info", "acme/demo"], "Already installed: ")] {
        let spoken = sandbox.run(args).exits(0);
        let quiet = sandbox.run(&[args, &["-q"]].concat()).exits(0);
        assert!(spoken.text().contains(step) && !quiet.text().contains(step), "{spoken}\n{quiet}");
    }
    let error = sandbox.run(&["info", "acme/none", "--quiet"]).exits(7);
    assert!(error.stderr.starts_with("error: "), "{error}");
}

#[test]
fn counts_of_one_are_singular() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    let recorded = sandbox.run(&["record", "demo", "--event", "completed", "--run", "one"]).exits(0);
    assert!(recorded.text().starts_with("Recorded 1 outcome of demo"), "{recorded}");
    let recorded = sandbox.run(&["record", "demo", "--event", "completed", "--run", "one"]).exits(0);
    assert!(recorded.text().starts_with("Recorded 0 outcomes"), "{recorded}");
}

#[test]
fn stats_are_plain_without_colours() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    sandbox.done(&["record", "demo", "--event", "completed", "--run", "one"]);
    for answer in [sandbox.run(&["stats", "demo"]), sandbox.at_terminal(&["stats", "demo", "--color", "never"])] {
        assert!(!has_colour(&answer) && answer.text().contains("100 %"), "{answer}");
    }
    let coloured = sandbox.run(&["stats", "demo", "--color", "always"]).exits(0).text();
    assert_eq!(coloured.matches("\u{1b}[").count() % 2, 0, "every style ends: {coloured:?}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", &"A line of text.\n".repeat(5000));
    let mut child = sandbox.start(&mut sandbox.command(&["show", "demo", "SKILL.md"]));
    drop(child.stdout.take());
    let answer = Answer::new("show".to_owned(), child.wait_with_output().unwrap()).exits(0);
    assert!(answer.stderr.is_empty(), "{answer}");
}

#[test]
fn the_rules_of_the_scanner_are_listed_and_explained() {
    let sandbox = Sandbox::new();
    let rules = sandbox.done(&["scan", "--rules"])["rules"].clone();
    for rule in rules.as_array().unwrap().iter().take(5) {
        let id = rule["id"].as_str().unwrap();
        let text = sandbox.run(&["scan", "--explain", id]).exits(0).text();
        assert!(text.starts_with(id) && text.contains("What to do: "), "{text}");
    }
}

#[test]
fn usage_errors_name_what_is_missing_in_json_too() {
    let sandbox = Sandbox::new();
    let message =
        |args: &[&str]| sandbox.ask(args).refused_with_hint(2, "usage")["message"].as_str().unwrap().to_owned();
    assert!(message(&["history"]).contains("<NAME>"));
    assert!(message(&["index"]).contains("subcommand"));
    assert!(message(&["log", "--limit", "0"]).contains("--limit"));
    for command in ["new", "init"] {
        let answer = sandbox.run(&[command]).exits(2);
        assert!(answer.stderr.contains("skillhub new pdf-forms"), "{answer}");
        sandbox.ask(&[command]).refused_with_hint(2, "usage");
    }
}

#[test]
fn an_archive_is_not_packed_into_the_skill_itself() {
    let sandbox = Sandbox::new();
    let folder = sandbox.skill("demo", "Does demo. Use in tests.", &[]);
    sandbox.ask(&["pack", "demo", "-o", "demo/demo.skill"]).refused_with_hint(2, "usage");
    assert!(!folder.join("demo.skill").exists());
}

#[test]
fn body_cannot_close_its_element() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "before </skill_content> after");
    let text = sandbox.run(&["read", "demo"]).exits(0).text();
    assert_eq!(text.matches("</skill_content>").count(), 1, "{text}");
}

#[test]
fn empty_folder_is_not_scanned_as_good() {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Does demo. Use in tests.", &[]);
    sandbox.done(&["validate", "demo/SKILL.md"]);
    sandbox.done(&["scan", "demo/SKILL.md"]);
    std::fs::create_dir(sandbox.cwd().join("empty")).unwrap();
    sandbox.ask(&["scan", "empty"]).exits(3);
}
