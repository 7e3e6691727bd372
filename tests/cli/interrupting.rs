//! Ctrl-C and SIGTERM at many moments: nothing or everything is done, without leftover processes and temporary folders.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use crate::support::{Answer, Sandbox, git, skill_md, tree, write_files};

/// Number of skills installed in one command.
const SKILLS: usize = 12;

/// Deadline for an interrupted command to exit.
const SOON: Duration = Duration::from_secs(5);

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

/// Waits for a command that received a signal.
#[track_caller]
fn ended(child: Child, args: &[&str]) -> Answer {
    let started = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < SOON, "{args:?} took {:?}", started.elapsed());
    // Before the program has a handler, a signal kills it like any program.
    let unheard = output.status.signal().is_some();
    let answer = Answer::new(args.join(" "), output);
    if unheard { Answer { exit: 130, ..answer } } else { answer }
}

fn wait_for(path: &Path) {
    let until = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        assert!(Instant::now() < until, "{} never came", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

/// A project with an agent in use and a git repository of skills beside it.
fn repository() -> (Sandbox, String) {
    let sandbox = Sandbox::project();
    fs::create_dir(sandbox.cwd().join(".claude")).unwrap();
    let source = sandbox.path("source");
    for number in 0..SKILLS {
        let name = format!("skill-{number}");
        let text = skill_md(&name, "Does things. Use in tests.", "Read the input. Write the output.");
        write_files(&source.join(&name), &[("SKILL.md", text.as_bytes(), false)]);
    }
    let place = source.to_str().unwrap();
    git(&sandbox, &["init", "--quiet", "--initial-branch=main", place]);
    git(&sandbox, &["-C", place, "add", "."]);
    git(&sandbox, &["-C", place, "commit", "--quiet", "--message=skills"]);
    let url = format!("git+file://{place}");
    (sandbox, url)
}

/// Names in a folder, without temporary ones of the program.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the folders of fetches that were not cleaned up.
fn fetches(sandbox: &Sandbox) -> Vec<String> {
    names(&sandbox.skillhub_home().join("cache")).into_iter().filter(|name| name.starts_with("fetch")).collect()
}

#[test]
fn interrupted_install_is_atomic() {
    let (sandbox, url) = repository();
    let args = ["install", &url, "--all", "--agent", "claude-code"];
    let whole = Instant::now();
    sandbox.done(&args);
    let step = whole.elapsed() / 24;
    sandbox.done(&["undo"]);
    let (mut nothing, mut everything) = (0, 0);
    for moment in 0..30 {
        let child = sandbox.start(&mut sandbox.command(&args));
        thread::sleep(step * moment);
        send(&child, if moment % 2 == 0 { Signal::SIGINT } else { Signal::SIGTERM });
        let answer = ended(child, &args);
        assert!(matches!(answer.exit, 0 | 130), "{answer}");
        let listed = sandbox.done(&["list"])["skills"].as_array().unwrap().len();
        let folders = names(&sandbox.cwd().join(".agents/skills")).len();
        let links = names(&sandbox.cwd().join(".claude/skills")).len();
        let lock = fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap_or_default();
        let locked = lock.matches("[[skill]]").count();
        let found = [listed, folders, links, locked];
        assert!(found == [0; 4] || found == [SKILLS; 4], "{found:?} at {moment}: {answer}");
        assert_eq!(fetches(&sandbox), Vec::<String>::new(), "{answer}");
        if listed > 0 {
            everything += 1;
            sandbox.done(&["verify"]);
            sandbox.done(&["undo"]);
        } else {
            nothing += 1;
            assert_eq!(answer.exit, 130, "{answer}");
        }
    }
    assert!(nothing > 0 && everything > 0, "{nothing} and {everything}");
    assert_eq!(sandbox.done(&["doctor"])["ok"], true);
}

#[test]
fn fetch_ends_with_its_git() {
    let (sandbox, url) = repository();
    let bin = sandbox.path("bin");
    let mark = sandbox.path("pid");
    let real = String::from_utf8(std::process::Command::new("which").arg("git").output().unwrap().stdout).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do [ \"$word\" != fetch ] || {{ echo $$ > {}; exec sleep 60; }}; done\nexec {} \"$@\"\n",
        mark.display(),
        real.trim()
    );
    write_files(&bin, &[("git", script.as_bytes(), true)]);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let _before = fs::remove_file(&mark);
        let args = ["install", &url, "--all", "--json"];
        let mut command = sandbox.command(&args);
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        let child = sandbox.start(&mut command);
        wait_for(&mark);
        send(&child, signal);
        let error = ended(child, &args).refused(130, "interrupted");
        assert_eq!(error["message"], "interrupted; nothing was changed");
        let pid: i32 = loop {
            if let Ok(pid) = fs::read_to_string(&mark).unwrap().trim().parse() {
                break pid;
            }
        };
        assert!(kill(Pid::from_raw(pid), None).is_err(), "git lives");
        assert_eq!(fetches(&sandbox), Vec::<String>::new());
    }
}

#[test]
fn unresponsive_server_can_be_interrupted() {
    let sandbox = Sandbox::project();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let args = ["install", "acme/x", "--registry", &place];
    let child = sandbox.start(&mut sandbox.command(&args));
    let _connected = listener.accept().unwrap();
    send(&child, Signal::SIGINT);
    let answer = ended(child, &args).exits(130);
    assert_eq!(answer.stderr, "error: interrupted; nothing was changed\n");
    assert!(answer.stdout.is_empty(), "{answer}");
}

#[test]
fn runner_ends_with_its_whole_group() {
    let sandbox = Sandbox::new();
    let cases = json!({"skill_name": "demo", "evals": [
        {"id": 1, "prompt": "Do it", "checks": [{"type": "exit_code"}]},
        {"id": 2, "prompt": "Do it", "checks": [{"type": "exit_code"}]},
    ]});
    sandbox.skill("demo", "Does things. Use in tests.", &[("evals/evals.json", &cases.to_string())]);
    let mark = sandbox.path("pids");
    let script = format!(
        "#!/bin/sh\ntrap '' TERM INT\n(trap '' TERM INT; sleep 61) &\necho $! >> {0}\necho ready > {0}.ready\nsleep 60\n",
        mark.display()
    );
    write_files(&sandbox.path(""), &[("slow.sh", script.as_bytes(), true)]);
    let runner = sandbox.path("slow.sh").display().to_string();
    sandbox.create("made", "alpha");
    for args in [
        vec!["eval", "run", "./demo", "--runner", &runner, "--json"],
        vec!["evolve", "run", "made", "--with", &runner, "--json"],
    ] {
        let ready = sandbox.path("pids.ready");
        let _before = (fs::remove_file(&ready), fs::remove_file(&mark));
        let child = sandbox.start(&mut sandbox.command(&args));
        wait_for(&ready);
        send(&child, Signal::SIGINT);
        ended(child, &args).refused(130, "interrupted");
        assert_eq!(fs::read_to_string(&mark).unwrap().lines().count(), 1, "no second case was begun");
        let sleeper: i32 = fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
        let until = Instant::now() + SOON;
        while kill(Pid::from_raw(sleeper), None).is_ok() && !is_zombie(sleeper) {
            assert!(Instant::now() < until, "{args:?}: something outlived the runner");
            thread::sleep(Duration::from_millis(5));
        }
        let left: Vec<_> = tree(&sandbox.path("tmp")).into_keys().collect();
        assert!(left.is_empty(), "{args:?} left {left:?}");
    }
}

/// Returns whether a process is a zombie.
fn is_zombie(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}
