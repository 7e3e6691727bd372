//! Which folders are an index.

use std::collections::BTreeSet;

use registry_index::{Index, InitError, OpenError};
use skill::archive;
use tempfile::TempDir;

use crate::support::*;

fn reason(dir: &std::path::Path) -> String {
    let OpenError::NotARegistry { reason, .. } = Index::open(dir).unwrap_err();
    reason
}

#[test]
fn invalid_registry_is_refused_with_reason() {
    let dir = TempDir::new().unwrap();
    assert!(reason(&dir.path().join("none")).contains("the folder does not exist"));
    assert!(reason(dir.path()).contains("not a git repository"));
    std::fs::write(dir.path().join("file"), "x").unwrap();
    assert!(!reason(&dir.path().join("file")).is_empty());
    git(dir.path(), &["init", "-q", "--bare", "empty.git"]);
    assert!(reason(&dir.path().join("empty.git")).contains("branch"));
    git(dir.path(), &["init", "-q", "other"]);
    let other = dir.path().join("other");
    git(&other, &["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(reason(&other).contains("no config.json"));
    std::fs::write(other.join("config.json"), r#"{"format":9,"bundles":"{hex}"}"#).unwrap();
    git(&other, &["add", "-A"]);
    git(&other, &["commit", "-qm", "x"]);
    assert!(reason(&other).contains("format 9"));
}

#[test]
fn folder_inside_repository_is_refused() {
    let (dir, _index) = index();
    let inside = clone(&dir).join("owners");
    std::fs::create_dir(&inside).unwrap();
    assert!(reason(&inside).contains("not a git repository"));
}

#[test]
fn init_accepts_empty_folder_or_index() {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let again = Index::init(index.dir(), &stamp()).unwrap();
    assert_eq!(again.names().unwrap(), [name("acme/forms")]);
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(Index::init(&empty, &stamp()).unwrap().is_writable());
}

#[test]
fn init_refuses_a_nonempty_folder() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(Index::init(dir.path(), &stamp()), Err(InitError::NotEmpty(_))));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    git(dir.path(), &["init", "-q", "project"]);
    assert!(matches!(Index::init(&dir.path().join("project"), &stamp()), Err(InitError::NotEmpty(_))));
}

#[test]
fn interrupted_init_is_completed() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "--bare", "-b", "main", "registry"]);
    let index = Index::init(&dir.path().join("registry"), &stamp()).unwrap();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
}

#[test]
fn concurrent_inits_create_one_index() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("registry");
    std::thread::scope(|scope| {
        let inits: Vec<_> = (0..4).map(|_| scope.spawn(|| Index::init(&path, &stamp()).map(|_| ()))).collect();
        inits.into_iter().for_each(|init| init.join().unwrap().unwrap());
    });
    assert_eq!(git(&path, &["rev-list", "--count", "main"]).trim(), "1");
}

#[test]
fn clone_is_read_only() {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let clone = Index::open(&clone(&dir)).unwrap();
    assert!(!clone.is_writable());
    assert_eq!(clone.releases(&name("acme/forms")).unwrap(), index.releases(&name("acme/forms")).unwrap());
    assert_eq!(*clone.bundle(&clone.all().unwrap()[0]).unwrap(), *index.bundle(&index.all().unwrap()[0]).unwrap());
    let error = publish(&clone, "acme/forms@1.0.1", "two").unwrap_err();
    assert!(error.to_string().contains("clone"), "{error}");
    let error = clone.set_yanked(&name("acme/forms"), &"1.0.0".parse().unwrap(), true, None, &stamp()).unwrap_err();
    assert!(error.to_string().contains("clone"), "{error}");
}

#[test]
fn hooks_do_not_run() {
    let (dir, index) = index();
    let hooks = index.dir().join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "pre-commit", "post-commit", "update", "commit-msg"] {
        let script = format!("#!/bin/sh\ntouch {}\nexit 1\n", dir.path().join("ran").display());
        std::fs::write(hooks.join(hook), script).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(hooks.join(hook), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    assert!(!dir.path().join("ran").exists());
}

#[test]
fn repository_with_alternates_is_refused() {
    let (_dir, index) = index();
    std::fs::write(index.dir().join("objects/info/alternates"), "/elsewhere\n").unwrap();
    assert!(reason(index.dir()).contains("alternates"));
}

#[test]
fn new_registry_syncs_and_denies_rewrites() {
    let (_dir, index) = index();
    for key in ["receive.denyNonFastForwards", "receive.denyDeletes"] {
        assert_eq!(git(index.dir(), &["config", "--bool", key]).trim(), "true", "{key}");
    }
    assert_eq!(git(index.dir(), &["config", "core.fsync"]).trim(), "objects,reference");
    let for_libgit2 = ["config", "--file", "libgit2.config", "--bool", "core.fsyncObjectFiles"];
    assert_eq!(git(index.dir(), &for_libgit2).trim(), "true");
}

#[test]
fn git_push_prints_no_warnings() {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let clone = clone(&dir);
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "more"]);
    let push = std::process::Command::new("git").arg("-C").arg(&clone).args(["push", "-q"]).output().unwrap();
    assert!(push.status.success() && push.stderr.is_empty(), "{}", String::from_utf8_lossy(&push.stderr));
}

#[test]
fn first_party_skills_are_published_once() {
    let (_dir, index) = index();
    let at = stamp().at;
    assert_eq!(registry_index::seed(&index, at).unwrap().len(), 6);
    let revision = index.revision().unwrap();
    registry_index::seed(&index, at).unwrap();
    assert_eq!(index.revision().unwrap(), revision);
    assert_eq!(index.verify().unwrap(), []);
    let names: Vec<_> = index.all().unwrap().iter().map(|entry| entry.name.to_string()).collect();
    let built_in = ["evolving", "reviewing", "writing"].map(|s| format!("skillhub-{s}-skills"));
    let tools = ["page-check", "site-monitor", "topic-notes"].map(str::to_owned);
    let published: BTreeSet<String> = built_in.iter().chain(&tools).map(|name| format!("skillhub/{name}")).collect();
    assert_eq!(names.into_iter().collect::<BTreeSet<_>>(), published);
    let told: Vec<_> = registry_index::builtin_names().map(|name| name.to_string()).collect();
    assert_eq!(told, built_in);
    let entry = &index.releases(&name("skillhub/skillhub-writing-skills")).unwrap()[0];
    let bundle = archive::unpack(&index.bundle(entry).unwrap(), &skill::Limits::default()).unwrap();
    assert_eq!(bundle.digest(), entry.digest);
}
