//! Archives that come over http: named by their URL, or by the index of a registry that keeps them elsewhere.

use std::fs;

use serde_json::Value;

use crate::support::{Sandbox, Web, git};

fn web(sandbox: &Sandbox) -> Web {
    fs::create_dir(sandbox.path("files")).unwrap();
    Web::start(sandbox.path("files"))
}

#[test]
fn archive_url_installs_and_restores() {
    let sandbox = Sandbox::project();
    let web = web(&sandbox);
    sandbox.skill("alpha", "Does alpha. Use in tests.", &[]);
    let file = sandbox.path("files/alpha-1.skill");
    sandbox.done(&["pack", "alpha", "-o", file.to_str().unwrap()]);
    let url = web.url("alpha-1.skill");
    let installed = sandbox.done(&["install", &url]);
    assert_eq!(
        (&installed["skills"][0]["name"], &installed["skills"][0]["status"]),
        (&"alpha".into(), &"installed".into())
    );
    let lock = fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap();
    assert!(lock.contains(&url) && !lock.contains("local = true"), "{lock}");
    // In another checkout, with nothing in the cache.
    let forget = || {
        let _none = fs::remove_dir_all(sandbox.skillhub_home());
        let _none = fs::remove_dir_all(sandbox.cwd().join(".agents"));
    };
    forget();
    sandbox.ask(&["install", "--frozen", "--offline"]).refused_with_hint(9, "offline");
    sandbox.done(&["install", "--frozen"]);
    assert!(sandbox.cwd().join(".agents/skills/alpha/SKILL.md").is_file());
    forget();
    sandbox.skill("alpha", "Does something else. Use in tests.", &[]);
    fs::remove_file(&file).unwrap();
    sandbox.done(&["pack", "alpha", "-o", file.to_str().unwrap()]);
    sandbox.ask(&["install", "--frozen"]).refused_with_hint(8, "lock_differs");
    assert!(!sandbox.cwd().join(".agents/skills/alpha").exists());
}

#[test]
fn archives_are_fetched_in_parallel() {
    let sandbox = Sandbox::project();
    fs::create_dir(sandbox.path("files")).unwrap();
    let web = Web::for_groups(sandbox.path("files"), 4);
    let mut args = vec!["install".to_owned()];
    for name in ["alpha", "beta", "gamma"] {
        sandbox.skill(name, &format!("Does {name}. Use in tests."), &[]);
        sandbox.done(&["pack", name, "-o", sandbox.path(&format!("files/{name}.skill")).to_str().unwrap()]);
        args.push(web.url(&format!("{name}.skill")));
    }
    args.insert(2, web.url("none.skill"));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let installed = sandbox.ask(&args).refused_with_hint(7, "not_found");
    assert_eq!(web.most_at_once(), 4);
    let found = sandbox.done(&["list"]);
    assert_eq!(found["skills"].as_array().unwrap().len(), 3, "{installed:#}");
    let lock = fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap();
    let at = |name: &str| lock.find(&format!("name = \"{name}\"")).unwrap();
    assert!(at("alpha") < at("beta") && at("beta") < at("gamma"));
}

#[test]
fn update_fetches_the_url_again() {
    let sandbox = Sandbox::project();
    let web = web(&sandbox);
    let file = sandbox.path("files/alpha.skill");
    for text in ["one", "two"] {
        sandbox.skill("alpha", &format!("Does {text}. Use in tests."), &[]);
        let _none_at_first = fs::remove_file(&file);
        sandbox.done(&["pack", "alpha", "-o", file.to_str().unwrap()]);
        if text == "one" {
            sandbox.done(&["install", &web.url("alpha.skill")]);
        }
    }
    assert_eq!(sandbox.done(&["outdated"])["skills"].as_array().unwrap().len(), 1);
    let updated = sandbox.done(&["update"]);
    assert_eq!(updated["skills"][0]["status"], "updated", "{updated:#}");
    let text = fs::read_to_string(sandbox.cwd().join(".agents/skills/alpha/SKILL.md")).unwrap();
    assert!(text.contains("Does two"));
    assert_eq!(sandbox.done(&["outdated"])["skills"].as_array().unwrap().len(), 0);
}

#[test]
fn invalid_or_missing_archive_is_refused() {
    let sandbox = Sandbox::project();
    let web = web(&sandbox);
    fs::write(sandbox.path("files/page.skill"), "<html>no skill</html>").unwrap();
    fs::File::create(sandbox.path("files/large.skill")).unwrap().set_len(200 << 20).unwrap();
    sandbox.ask(&["install", &web.url("page.skill")]).refused_with_hint(3, "invalid_archive");
    sandbox.ask(&["install", &web.url("large.skill")]).refused_with_hint(3, "too_large");
    sandbox.ask(&["install", &web.url("none.skill")]).refused_with_hint(7, "not_found");
    sandbox.ask(&["install", "http://127.0.0.1:1/x.skill"]).refused_with_hint(9, "network");
    let error = sandbox.ask(&["install", "http://me:secret@127.0.0.1/x.skill"]).refused_with_hint(2, "invalid_spec");
    assert!(!error.to_string().contains("secret"), "{error:#}");
    sandbox.ask(&["install", &web.url("page.skill"), "--offline"]).refused_with_hint(9, "offline");
}

#[test]
fn registry_can_host_archives_elsewhere() {
    let sandbox = Sandbox::new();
    let web = web(&sandbox);
    let place = sandbox.path("registry").display().to_string();
    sandbox.done(&["index", "init", &place]);
    let mut files = Vec::new();
    for name in ["alpha", "beta", "gamma"] {
        sandbox.skill(name, &format!("Does {name}. Use in tests."), &[]);
        let published = sandbox.done(&["publish", name, "--owner", "acme", "--registry", &place]);
        let hex = published["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
        let file = sandbox.path("files").join(format!("{hex}.skill"));
        sandbox.done(&["pack", name, "-o", file.to_str().unwrap()]);
        files.push(file);
    }
    let clone = sandbox.path("clone");
    let at = clone.to_str().unwrap();
    git(&sandbox, &["clone", "--quiet", &place, at]);
    git(&sandbox, &["-C", at, "rm", "--quiet", "-r", "bundles"]);
    let config = format!("{{\"format\":1,\"bundles\":\"{}\"}}\n", web.url("{hex}.skill"));
    fs::write(clone.join("config.json"), config).unwrap();
    git(&sandbox, &["-C", at, "commit", "--quiet", "--all", "--message=elsewhere"]);
    git(&sandbox, &["-C", at, "push", "--quiet", "origin", "main"]);
    fs::write(&files[1], fs::read(&files[1]).unwrap().iter().map(|byte| byte ^ 1).collect::<Vec<_>>()).unwrap();
    fs::remove_file(&files[2]).unwrap();
    for (home, registry) in [("one", place.clone()), ("two", format!("git+file://{place}"))] {
        let lib = sandbox.path(&format!("lib-{home}")).display().to_string();
        let install = |name: &str| {
            let args = ["install", name, "--registry", &registry, "--library", &lib, "--json"];
            let mut command = sandbox.command(&args);
            command.env("SKILLHUB_HOME", sandbox.path(home));
            sandbox.finish(command, &args)
        };
        let installed: Value = install("acme/alpha").done();
        assert_eq!(installed["skills"][0]["status"], "installed");
        install("acme/beta").refused_with_hint(8, "integrity");
        install("acme/gamma").refused_with_hint(8, "integrity");
    }
    sandbox.skill("delta", "Does delta. Use in tests.", &[]);
    sandbox
        .ask(&["publish", "delta", "--owner", "acme", "--registry", &place])
        .refused_with_hint(9, "registry_unreachable");
}
