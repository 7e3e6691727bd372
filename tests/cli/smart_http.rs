//! Registries and repositories behind the real `git http-backend`, over HTTP on loopback.

use std::{fs, thread};

use serde_json::json;

use crate::support::{Sandbox, SmartHttp, git, repository, skill_md, snapshot, write_files};

/// Number of publishers that race.
const RACERS: usize = 4;

/// A bare repository below `served`, without a commit.
fn served(sandbox: &Sandbox, name: &str) {
    let path = sandbox.path("served").join(name);
    git(sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", path.to_str().unwrap()]);
}

#[test]
fn registry_over_http_works() {
    let sandbox = Sandbox::new();
    let web = SmartHttp::start(&sandbox, Some("team"));
    served(&sandbox, "team.git");
    let url = web.url("team.git");
    sandbox.done(&["index", "init", &url]);
    // Large enough that git sends it in pieces.
    let much: String = (0..60_000).map(|n| format!("{}\n", n * 7_919 % 65_537)).collect();
    sandbox.skill("alpha", "Sorts what comes in. Use in tests.", &[("references/much.txt", &much)]);
    let published = sandbox.done(&["publish", "alpha", "--owner", "acme", "--registry", &url]);
    assert_eq!([&published["status"], &published["registry"]], ["published", url.as_str()]);
    let found = sandbox.done(&["search", "sorts", "--registry", &url]);
    assert_eq!(found["results"][0]["name"], "acme/alpha");
    let home = sandbox.path("other-home");
    let other = |args: &[&str]| {
        let args = [args, &["--registry", &url, "--json"]].concat();
        let mut command = sandbox.command(&args);
        command.env("SKILLHUB_HOME", &home);
        sandbox.finish(command, &args).done()
    };
    let installed = other(&["install", "acme/alpha"]);
    assert_eq!(installed["skills"][0]["status"], "installed");
    assert_eq!(snapshot(&sandbox.user_skill("alpha")), snapshot(&sandbox.cwd().join("alpha")));
    sandbox.skill("alpha", "Sorts what comes in, and more. Use in tests.", &[]);
    sandbox.done(&["publish", "alpha", "--owner", "acme", "--registry", &url]);
    assert_eq!(other(&["update"])["skills"][0]["version"], "1.0.1");
    let whole = sandbox.path("whole");
    git(&sandbox, &["clone", "--quiet", "--bare", &url, whole.to_str().unwrap()]);
    sandbox.done(&["index", "verify", whole.to_str().unwrap()]);
}

#[test]
fn read_only_user_cannot_publish() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("served/team.git");
    sandbox.done(&["index", "init", path.to_str().unwrap()]);
    sandbox.skill("alpha", "Sorts what comes in. Use in tests.", &[]);
    sandbox.done(&["publish", "alpha", "--owner", "acme", "--registry", path.to_str().unwrap()]);
    let web = SmartHttp::start(&sandbox, None);
    let url = web.url("team.git");
    sandbox.done(&["install", "acme/alpha", "--registry", &url]);
    sandbox.skill("beta", "Sorts again. Use in tests.", &[]);
    let refused = sandbox.ask(&["publish", "beta", "--owner", "acme", "--registry", &url]);
    assert!([5, 9].contains(&refused.exit), "{refused}");
    let missing = sandbox.ask(&["search", "x", "--registry", &web.url("none.git")]);
    missing.refused_with_hint(9, "registry_unreachable");
}

#[test]
fn concurrent_http_publishers_lose_nothing() {
    let sandbox = Sandbox::new();
    let web = SmartHttp::start(&sandbox, Some("team"));
    served(&sandbox, "team.git");
    let url = web.url("team.git");
    sandbox.done(&["index", "init", &url]);
    for racer in 0..RACERS {
        sandbox.skill(&format!("racer-{racer}"), "Runs. Use in tests.", &[]);
    }
    thread::scope(|scope| {
        for racer in 0..RACERS {
            let (sandbox, url) = (&sandbox, &url);
            scope.spawn(move || {
                let name = format!("racer-{racer}");
                let args = ["publish", &name, "--owner", "acme", "--registry", url, "--json"];
                let mut command = sandbox.command(&args);
                command.env("SKILLHUB_HOME", sandbox.path(&format!("home-{racer}")));
                assert_eq!(sandbox.finish(command, &args).done()["status"], "published");
            });
        }
    });
    let found = sandbox.done(&["search", "runs", "--registry", &url]);
    assert_eq!(found["results"].as_array().unwrap().len(), RACERS);
}

#[test]
fn http_repository_installs_and_updates() {
    let sandbox = Sandbox::new();
    let web = SmartHttp::start(&sandbox, None);
    let made = sandbox.path("made");
    let write = |body: &str| {
        let text = skill_md("notes", "Handles notes. Use in tests.", body);
        write_files(&made.join("skills/notes"), &[("SKILL.md", text.as_bytes(), false)]);
    };
    write("Read. Sort.");
    repository(&sandbox, &made);
    let bare = sandbox.path("served/skills.git");
    git(&sandbox, &["clone", "--quiet", "--bare", made.to_str().unwrap(), bare.to_str().unwrap()]);
    sandbox.done(&["install", &format!("{}#skills/notes", web.url("skills.git"))]);
    write("Read. Sort by date.");
    git(&sandbox, &["-C", made.to_str().unwrap(), "commit", "--quiet", "--all", "--message=more"]);
    git(&sandbox, &["-C", made.to_str().unwrap(), "push", "--quiet", bare.to_str().unwrap(), "main"]);
    assert_eq!(sandbox.done(&["update"])["skills"][0]["status"], "updated");
    assert!(fs::read_to_string(sandbox.user_skill("notes/SKILL.md")).unwrap().contains("by date"));
    assert_eq!(sandbox.done(&["outdated"])["skills"], json!([]));
}
