//! Flags, later formats, and reading with git alone.

use registry_index::{AppendError, Appended, Entry, FetchError, FlagError};
use skill::archive::Archive;

use crate::support::*;

fn version(text: &str) -> semver::Version {
    text.parse().unwrap()
}

#[test]
fn clone_has_one_line_per_release() {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    publish(&index, "acme/forms@1.1.0", "two").unwrap();
    let clone = clone(&dir);
    let text = std::fs::read_to_string(clone.join("fo/rm/forms/acme")).unwrap();
    let lines: Vec<Entry> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, index.releases(&name("acme/forms")).unwrap());
    let config = std::fs::read_to_string(clone.join("config.json")).unwrap();
    assert_eq!(config, "{\"format\":1,\"bundles\":\"bundles/{hex:0:2}/{hex:2:4}/{hex}.skill\"}\n");
    let hex = lines[0].digest.hex();
    let archive = std::fs::read(clone.join(format!("bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]))).unwrap();
    lines[0].check_archive(&Archive::of_bytes(archive)).unwrap();
    git(index.dir(), &["fsck", "--strict"]);
    assert_eq!(git(index.dir(), &["log", "--format=%s", "main"]).lines().next(), Some("acme/forms 1.1.0"));
}

#[test]
fn yank_only_hides_from_newest() {
    let (_dir, index) = index();
    let forms = name("acme/forms");
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    publish(&index, "acme/forms@1.1.0", "two").unwrap();
    let yanked = index.set_yanked(&forms, &version("1.1.0"), true, None, &stamp()).unwrap();
    assert!(yanked.yanked);
    assert_eq!(index.all().unwrap()[0].version, version("1.0.0"));
    index.bundle(&yanked).unwrap();
    let revision = index.revision().unwrap();
    index.set_yanked(&forms, &version("1.1.0"), true, None, &stamp()).unwrap();
    assert_eq!(index.revision().unwrap(), revision, "what is set already makes no commit");
    assert!(matches!(publish(&index, "acme/forms@1.1.0", "two"), Ok(Appended::Unchanged(entry)) if entry.yanked));
    index.set_yanked(&forms, &version("1.1.0"), false, None, &stamp()).unwrap();
    assert_eq!(index.all().unwrap()[0].version, version("1.1.0"));
    let missing = index.set_yanked(&forms, &version("9.0.0"), true, None, &stamp());
    assert!(matches!(missing, Err(FlagError::NotFound { .. })));
    assert_eq!(index.verify().unwrap(), []);
    assert!(index.has_grown_from(&revision).unwrap());
}

#[test]
fn withdrawn_release_keeps_its_line() {
    let (_dir, index) = index();
    let forms = name("acme/forms");
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let entry = index.withdraw(&forms, &version("1.0.0"), "held a password", &stamp()).unwrap();
    assert!(matches!(index.bundle(&entry), Err(FetchError::Withdrawn { reason, .. }) if reason == "held a password"));
    assert_eq!(git(index.dir(), &["ls-tree", "-r", "--name-only", "main", "bundles"]), "");
    assert_eq!(index.releases(&forms).unwrap(), std::slice::from_ref(&entry));
    assert!(index.all().unwrap().is_empty());
    assert!(matches!(publish(&index, "acme/forms@1.0.0", "one"), Err(AppendError::Withdrawn { .. })));
    assert_eq!(index.withdraw(&forms, &version("1.0.0"), "another reason", &stamp()).unwrap(), entry);
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn shared_archive_survives_withdrawal() {
    let (_dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    publish(&index, "beta/forms@1.0.0", "one").unwrap();
    index.withdraw(&name("acme/forms"), &version("1.0.0"), "not ours", &stamp()).unwrap();
    index.bundle(&index.releases(&name("beta/forms")).unwrap()[0]).unwrap();
    index.withdraw(&name("beta/forms"), &version("1.0.0"), "not ours", &stamp()).unwrap();
    assert_eq!(git(index.dir(), &["ls-tree", "-r", "--name-only", "main", "bundles"]), "");
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn unknown_fields_and_lines_survive() {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let later = r#"{"v":2,"version":"2.0.0","shape":{"unknown":[1, 2]}}"#;
    tamper(&dir, |copy| {
        let path = copy.join("fo/rm/forms/acme");
        let line = std::fs::read_to_string(&path).unwrap().replace("{\"v\":1,", "{\"v\":1,\"stars\":5,");
        std::fs::write(path, format!("{line}{later}\n")).unwrap();
    });
    let forms = name("acme/forms");
    assert_eq!(index.releases(&forms).unwrap().len(), 1);
    index.set_yanked(&forms, &version("1.0.0"), true, None, &stamp()).unwrap();
    publish(&index, "acme/forms@1.0.1", "two").unwrap();
    assert!(matches!(publish(&index, "acme/forms@2.0.0", "three"), Err(AppendError::VersionExists { .. })));
    let file = String::from_utf8(index.file("fo/rm/forms/acme").unwrap().unwrap().bytes).unwrap();
    let lines: Vec<_> = file.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("{\"v\":1,\"stars\":5,\"name\"") && lines[0].contains("\"yanked\":true"));
    assert_eq!(lines[1], later);
}

#[test]
fn unsafe_paths_read_nothing() {
    let (_dir, index) = index();
    let file = index.file("config.json").unwrap().unwrap();
    assert_eq!(file.id.len(), 40);
    for path in
        ["", "/", "..", "../config", "config.json/", "a/../config.json", "HEAD", "a\0b", "/etc/passwd", "owners"]
    {
        assert_eq!(index.file(path).unwrap(), None, "{path:?}");
    }
}

#[test]
fn rewritten_index_has_not_grown() {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let seen = index.revision().unwrap();
    publish(&index, "acme/forms@1.1.0", "two").unwrap();
    assert!(index.has_grown_from(&seen).unwrap());
    let copy = clone(&dir);
    git(&copy, &["commit", "-q", "--amend", "-m", "another past"]);
    git(index.dir(), &["fetch", "-q", copy.to_str().unwrap(), "+HEAD:main"]);
    assert!(index.has_grown_from(&seen).unwrap(), "only the newest commit was replaced");
    git(index.dir(), &["update-ref", "refs/heads/main", "main~2"]);
    assert!(!index.has_grown_from(&seen).unwrap());
    assert!(!index.has_grown_from("nothing").unwrap());
    assert!(!index.has_grown_from(&"1".repeat(40)).unwrap());
}
