//! Completion of values, in the shells themselves.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output},
};

#[cfg(unix)]
use crate::support::pair;
use crate::support::{Sandbox, snapshot, tree, write_files};

/// Names of folders that a shell must never take apart or run.
const HOSTILE: [&str; 4] = ["$(touch ran)", "dem`touch ran`", "demo; touch ran", "dem o"];

/// Returns a home with the skills `demo` and `other`, folders with hostile names, a source and a waiting proposal.
fn sandbox() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    sandbox.create("other", "Other text.");
    let config =
        "policy = \"strict\"\n\n[sources.docs]\nkind = \"git\"\nlocation = \"https://host.invalid/skills.git\"\n";
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    for name in HOSTILE {
        write_files(&sandbox.user_skill(name), &[("SKILL.md", b"---\nname: x\ndescription: y\n---\n", false)]);
    }
    let patch = ["manage", "patch", "demo", "--find", "alpha", "--replace", "beta", "--reason", "better"];
    let id = sandbox.done(&patch)["proposal"].as_str().unwrap().to_owned();
    (sandbox, id)
}

fn values(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let answer = sandbox.run(&[&["completions", "--"], words].concat()).exits(0);
    assert!(answer.stderr.is_empty(), "{}", answer.stderr);
    answer.text().lines().map(str::to_owned).collect()
}

/// Returns the command of a shell that finds the program.
fn in_path(sandbox: &Sandbox, name: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_skillhub")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([program.to_owned()].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut command = Command::new(name);
    sandbox.confine(&mut command).env("PATH", path);
    command
}

/// Runs a shell. `None` if there is no such shell.
fn shell(sandbox: &Sandbox, name: &str, args: &[&str]) -> Option<Output> {
    match in_path(sandbox, name).args(args).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: there is no {name}: {error}");
            None
        }
    }
}

/// Writes the script for a shell, and returns its path.
fn script(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.path(&format!("completions-{name}"));
    fs::write(&path, sandbox.run(&["completions", name]).exits(0).text()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn each_kind_has_its_values() {
    let (sandbox, proposal) = sandbox();
    assert_eq!(values(&sandbox, &["info", ""]), ["demo", "other"]);
    assert_eq!(values(&sandbox, &["uninstall", "demo", "o"]), ["other"]);
    assert_eq!(values(&sandbox, &["rollback", "demo", ""]), ["1"]);
    assert_eq!(values(&sandbox, &["review", "show", ""]), [proposal]);
    assert_eq!(values(&sandbox, &["source", "remove", ""]), ["docs"]);
    assert_eq!(values(&sandbox, &["search", "--registry", "lo"]), ["local"]);
    let script = sandbox.run(&["completions", "bash"]).exits(0).text();
    assert!(script.contains("skillhub,add)"), "aliases have the flags of their commands");
    assert_eq!(values(&sandbox, &["enable", "demo", "--agent", "claude-c"]), ["claude-code"]);
    assert!(values(&sandbox, &["prompt", "--host", ""]).len() > 50);
    assert!(!values(&sandbox, &["mcp", "install", "--agent", "c"]).is_empty());
    let empty = sandbox.path("empty");
    assert!(values(&sandbox, &["--library", empty.to_str().unwrap(), "info", ""]).is_empty());
    for words in [&["install", ""][..], &["info", "--"], &["info", "$("], &["rollback", "none", ""], &[""]] {
        assert!(values(&sandbox, words).is_empty(), "{words:?}");
    }
}

#[test]
fn grouped_skills_and_revisions_have_values() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "beta", "--reason", "better"]);
    let text = b"---\nname: help\ndescription: Helps. Use in tests.\n---\n\nOld help.\n";
    write_files(&sandbox.user_skill("team/deep/help"), &[("SKILL.md", text, false)]);
    sandbox.done(&["manage", "patch", "help", "--find", "Old", "--replace", "New", "--reason", "better"]);
    let before = (snapshot(&sandbox.home()), tree(&sandbox.skillhub_home()));
    assert_eq!(values(&sandbox, &["show", ""]), ["demo", "help"], "no group folder");
    assert_eq!(values(&sandbox, &["show", "demo@"]), ["demo@2", "demo@1"]);
    assert_eq!(values(&sandbox, &["blame", "demo", "@", "1"]), ["demo@1"], "as bash splits it");
    assert_eq!(values(&sandbox, &["eval", "run", "help@"]), ["help@2", "help@1"]);
    assert_eq!(values(&sandbox, &["review", "keep", "help@1", "demo@2"]), ["demo@2"]);
    for words in [["show", "none@"], ["show", "demo@$("], ["show", "demo@3"], ["show", "@"], ["update", "demo@"]] {
        assert!(values(&sandbox, &words).is_empty(), "{words:?}");
    }
    assert_eq!((snapshot(&sandbox.home()), tree(&sandbox.skillhub_home())), before);
}

/// A denied skill is unknown to the agent, a damaged configuration offers nothing, and neither is an error.
#[test]
fn values_reveal_and_change_nothing() {
    let (sandbox, _) = sandbox();
    let before = (snapshot(&sandbox.home()), tree(&sandbox.skillhub_home()));
    assert_eq!(values(&sandbox, &["info", ""]).len(), 2);
    assert_eq!((snapshot(&sandbox.home()), tree(&sandbox.skillhub_home())), before);
    let config = sandbox.skillhub_home().join("config.toml");
    fs::write(&config, "[[permissions]]\nskill = 'other'\ndecision = 'deny'\n").unwrap();
    let as_agent = ["--actor", "agent:x", "completions", "--", "info", ""];
    assert_eq!(sandbox.run(&as_agent).exits(0).text(), "demo\n");
    fs::write(&config, "= damaged").unwrap();
    assert!(values(&sandbox, &["info", ""]).is_empty());
    sandbox.run(&["completions"]).exits(2);
}

#[test]
fn bash_completes_values() {
    let (sandbox, _) = sandbox();
    let script = script(&sandbox, "bash");
    let complete = "source \"$0\"; COMP_WORDS=(skillhub \"$@\"); COMP_CWORD=$#; \
                    _skillhub_with_values skillhub \"${@: -1}\" \"${@: -2:1}\"; printf '%s\\n' \"${COMPREPLY[@]}\"; \
                    complete -p skillhub";
    let reply = |words: &[&str]| {
        let args = [&["--norc", "-c", complete, &script], words].concat();
        let output = shell(&sandbox, "bash", &args)?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let Some(skills) = reply(&["info", ""]) else { return };
    assert!(skills.starts_with("demo\nother\ncomplete "), "{skills}");
    assert!(skills.contains("-F _skillhub_with_values"), "{skills}");
    assert!(reply(&["enable", "demo", "--agent", "=", "claude-c"]).unwrap().starts_with("claude-code\n"));
    assert!(reply(&["info", "--js"]).unwrap().starts_with("--json\n"), "options are still completed");
    assert!(!sandbox.cwd().join("ran").exists());
}

/// bash divides words at `@` itself, so that only its editor shows what a value replaces.
#[cfg(unix)]
#[test]
fn bash_editor_completes_revisions() {
    use std::{fs::File, io::Write, process::Stdio};

    let (sandbox, _) = sandbox();
    let (ours, theirs) = pair();
    let typed = format!(
        "source {}\nskillhub() {{ printf 'GOT:%s:\\n' \"$*\"; }}\nskillhub show demo@\t\nskillhub blame de\t\nexit\n",
        script(&sandbox, "bash")
    );
    let mut ours = File::from(ours);
    ours.write_all(typed.as_bytes()).unwrap();
    let mut command = in_path(&sandbox, "bash");
    command.args(["--norc", "--noprofile", "-i"]).stdin(theirs).stderr(Stdio::null());
    let Ok(output) = command.output() else { return println!("skipped: there is no bash") };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("GOT:show demo@1:"), "{text}");
    assert!(text.contains("GOT:blame demo:"), "{text}");
}

#[test]
fn fish_completes_values() {
    let (sandbox, _) = sandbox();
    let script = script(&sandbox, "fish");
    let reply = |line: &str| {
        let output = shell(&sandbox, "fish", &["-N", "-c", &format!("source {script}; complete -C '{line}'")])?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        Some(text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let Some(skills) = reply("skillhub info ") else { return };
    assert!(["demo", "other"].iter().all(|name| skills.iter().any(|value| value == name)), "{skills:?}");
    assert!(!skills.iter().any(|value| value.contains("touch")), "{skills:?}");
    let agents = reply("skillhub enable demo --agent claude-c").unwrap();
    assert!(agents.len() == 1 && agents[0].starts_with("claude-code\t"), "{agents:?}");
    assert!(reply("skillhub show demo@").unwrap().iter().any(|value| value == "demo@1"));
    assert!(reply("skillhub info --js").unwrap().iter().any(|value| value.starts_with("--json")));
    assert!(!sandbox.cwd().join("ran").exists());
}

/// zsh completes only for a terminal, so that it gets one, and prints the completed line.
#[test]
fn zsh_completes_values() {
    let (sandbox, _) = sandbox();
    let script = script(&sandbox, "zsh");
    let setup = sandbox.path("setup.zsh");
    let text = format!(
        "PS1= PS2=\nautoload -Uz compinit\ncompinit -u -D\nsource {script}\n\
         skillhub() {{ print -r -- \"GOT:$*:\" }}\nprint -r -- READY:\n"
    );
    fs::write(&setup, text).unwrap();
    let complete = "zmodload zsh/zpty || exit 3; zpty inner zsh -f -i; zpty -w inner \"source $1\"; \
                    wait_for() { local line; while zpty -r inner line; do \
                    if [[ $line == *$1* ]]; then print -r -- $line; return; fi; done; exit 4 }; \
                    wait_for READY:; zpty -w inner \"skillhub $2\"$'\\t'; wait_for GOT:; zpty -d inner";
    let reply = |line: &str| {
        let output = shell(&sandbox, "zsh", &["-f", "-c", complete, "zsh", setup.to_str().unwrap(), line])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        Some(text)
    };
    let Some(skill) = reply("info ot") else { return };
    assert!(skill.contains("GOT:info other:"), "{skill}");
    assert!(reply("enable demo --agent claude-c").unwrap().contains("GOT:enable demo --agent claude-code:"));
    assert!(reply("show demo@").unwrap().contains("GOT:show demo@1:"));
    assert!(reply("info --js").unwrap().contains("GOT:info --json:"), "options are still completed");
    assert!(!sandbox.cwd().join("ran").exists());
}
