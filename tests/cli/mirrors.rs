//! Partial clones of git registries: `doctor` finds broken ones, `gc` drops unneeded ones.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::support::{Sandbox, Server};

/// A registry behind `git+file://` that the configuration names, installed from and searched.
fn used() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let url = registry(&sandbox, "team");
    let config = format!("[registries.team]\nlocation = \"{url}\"\nowners = [\"*\"]\n");
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    sandbox.done(&["install", "acme/alpha"]);
    sandbox.done(&["search", "sorts"]);
    (sandbox, url)
}

fn registry(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.path("served").join(name);
    sandbox.done(&["index", "init", path.to_str().unwrap()]);
    sandbox.skill("alpha", "Sorts what comes in. Use in tests.", &[]);
    sandbox.done(&["publish", "alpha", "--owner", "acme", "--registry", path.to_str().unwrap()]);
    format!("git+file://{}", path.display())
}

fn mirrors(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(sandbox.skillhub_home().join("registries")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "git")).collect()
}

fn packs(mirror: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(mirror.join("objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect()
}

fn check(document: &Value) -> &Value {
    let all = document["checks"].as_array().unwrap();
    all.iter().find(|check| check["check"] == "registries").unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn broken_mirror_is_fetched_again() {
    type Breaking = fn(&Path);
    let cut: Breaking = |mirror| {
        for pack in packs(mirror) {
            let bytes = fs::read(&pack).unwrap();
            fs::remove_file(&pack).unwrap();
            fs::write(&pack, &bytes[..bytes.len() / 2]).unwrap();
        }
    };
    let headless: Breaking = |mirror| fs::remove_file(mirror.join("HEAD")).unwrap();
    let nowhere: Breaking =
        |mirror| fs::write(mirror.join("refs/heads/main"), format!("{}\n", "1".repeat(40))).unwrap();
    for breaking in [cut, headless, nowhere] {
        let (sandbox, _) = used();
        let well = sandbox.done(&["doctor"]);
        assert_eq!(check(&well)["state"], "ok");
        assert!(check(&well)["message"].as_str().unwrap().contains("bytes"), "{well:#}");
        let mirror = mirrors(&sandbox).remove(0);
        breaking(&mirror);
        let found = sandbox.ask(&["doctor"]).exits(1).json();
        assert_eq!([&check(&found)["code"], &check(&found)["state"]], ["mirror_broken", "found"]);
        assert!(mirror.exists(), "nothing is changed unless asked for");
        let mended = sandbox.ask(&["doctor", "--fix"]).exits(0).json();
        assert_eq!(check(&mended)["state"], "mended", "{mended:#}");
        assert!(!mirror.exists());
        assert_eq!(sandbox.done(&["search", "sorts"])["results"][0]["name"], "acme/alpha");
        assert!(mirror.exists());
    }
}

/// A process that is killed while git fetches leaves lock files.
#[test]
fn dead_locks_do_not_stop_a_mirror() {
    let (sandbox, url) = used();
    let mirror = mirrors(&sandbox).remove(0);
    for lock in ["refs/heads/main.lock", "refs/incoming/main.lock", "shallow.lock", "packed-refs.lock"] {
        fs::write(mirror.join(lock), "").unwrap();
    }
    sandbox.skill("beta", "Counts what comes in. Use in tests.", &[]);
    sandbox.done(&["publish", "beta", "--owner", "acme", "--registry", &url]);
    assert_eq!(sandbox.done(&["search", "counts"])["results"][0]["name"], "acme/beta");
}

/// The copy of a server's index is a git repository too.
#[test]
fn dead_lock_does_not_stop_the_copy_of_a_server() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let at = ["--registry", server.url.as_str()];
    sandbox.run_with(&["login", &server.url, "--json"], server.token("mei", "publish").as_bytes()).done();
    let publish = |name: &str| {
        sandbox.skill(name, "Sorts what comes in. Use in tests.", &[]);
        sandbox.done(&[&["publish", name, "--owner", "mei"][..], &at].concat());
    };
    publish("alpha");
    sandbox.done(&[&["info", "mei/alpha"][..], &at].concat());
    let copies = fs::read_dir(sandbox.skillhub_home().join("registries")).unwrap().map(|entry| entry.unwrap().path());
    let copy = copies.into_iter().find(|path| path.is_dir()).unwrap();
    fs::write(copy.join("refs/heads/main.lock"), "").unwrap();
    publish("beta");
    assert_eq!(sandbox.done(&[&["info", "mei/beta"][..], &at].concat())["name"], "mei/beta");
}

#[test]
fn registry_checkpoint_outlives_its_mirror() {
    let (sandbox, _) = used();
    let served = sandbox.path("served/team");
    fs::remove_dir_all(&served).unwrap();
    fs::remove_dir_all(mirrors(&sandbox).remove(0)).unwrap();
    let other = Sandbox::new();
    let anew = other.path("anew").display().to_string();
    other.done(&["index", "init", &anew]);
    other.skill("beta", "Is something else. Use in tests.", &[]);
    other.done(&["publish", "beta", "--owner", "acme", "--registry", &anew]);
    fs::rename(&anew, &served).unwrap();
    sandbox.ask(&["search", "sorts"]).refused_with_hint(8, "registry_went_back");
}

#[test]
fn gc_drops_unused_mirrors() {
    let (sandbox, _) = used();
    let other = registry(&sandbox, "other");
    sandbox.done(&["search", "sorts", "--registry", &other]);
    let of_team = mirrors(&sandbox);
    assert_eq!(of_team.len(), 2);
    let kept = sandbox.done(&["gc"]);
    assert_eq!(kept["registries"]["dropped"].as_array().unwrap().len(), 0, "it was used just now");
    assert!(kept["registries"]["before"].as_u64().unwrap() > 0);
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
    for mirror in mirrors(&sandbox) {
        let lock = fs::File::options().write(true).open(mirror.with_extension("lock")).unwrap();
        lock.set_modified(long_ago).unwrap();
    }
    let collected = sandbox.done(&["gc"]);
    let dropped = collected["registries"]["dropped"].as_array().unwrap();
    assert_eq!(dropped.len(), 1, "{collected:#}");
    let left = mirrors(&sandbox);
    assert_eq!((left.len(), packs(&left[0]).len()), (1, 1), "the one that the configuration names, in one pack");
    assert!(sandbox.run(&["gc"]).exits(0).text().contains("registry mirrors"));
    sandbox.done(&["search", "sorts"]);
    sandbox.done(&["search", "sorts", "--registry", &other]);
}
