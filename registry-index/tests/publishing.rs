//! Appending releases, alone and against others.

use registry_index::{AppendError, Appended, Index, ReleaseSelector, select};
use skill::archive::{self, Archive};

use crate::support::*;

#[test]
fn release_is_one_commit() {
    let (_dir, index) = index();
    let mut new = release("acme/forms@1.2.0");
    new.changelog = "Fills tables too.\r\nAnd more.\n".to_owned();
    let cleared = cleared(&new.name, "one");
    let packed = archive::pack(cleared.bundle());
    let Appended::Published(entry) = index.append(&new, &cleared, &packed).unwrap() else { panic!("not published") };
    assert_eq!(entry.description, "Fills forms. Use when a form is to be filled.");
    assert_eq!((entry.license.as_deref(), entry.keywords.join(" ").as_str()), (Some("MIT"), "forms pdf"));
    assert_eq!((entry.size, entry.files, entry.verdict.as_str()), (packed.len() as u64, 2, "allow"));
    assert_eq!(entry.published_at.to_string(), "2026-11-02T08:30:00Z");
    assert_eq!(entry.changelog.as_deref(), Some("Fills tables too.\nAnd more."));
    assert_eq!(*index.bundle(&entry).unwrap(), *packed);
    let hex = entry.digest.hex();
    let changed = git(index.dir(), &["show", "--name-status", "--format=%an|%s|%b", "main"]);
    let expected = format!(
        "acme|acme/forms 1.2.0|Fills tables too.\nAnd more.\n\n\nA\tbundles/{}/{}/{hex}.skill\nA\tfo/rm/forms/acme\nA\towners/acme.json\n",
        &hex[..2],
        &hex[2..4]
    );
    assert_eq!(changed, expected);
    assert_eq!(git(index.dir(), &["show", "main:owners/acme.json"]), "{\"format\":1,\"owner\":\"acme\",\"keys\":[]}\n");
}

#[test]
fn published_version_is_immutable() {
    let (_dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let revision = index.revision().unwrap();
    assert!(matches!(publish(&index, "acme/forms@1.0.0", "one"), Ok(Appended::Unchanged(_))));
    assert!(matches!(publish(&index, "acme/forms@1.0.0", "two"), Err(AppendError::VersionExists { .. })));
    assert!(matches!(publish(&index, "acme/forms@1.0.0+b", "one"), Err(AppendError::SameVersion { .. })));
    assert_eq!(index.revision().unwrap(), revision);
}

#[test]
fn release_must_match_cleared_bundle() {
    let (_dir, index) = index();
    let forms = cleared(&name("acme/forms"), "one");
    let packed = archive::pack(forms.bundle());
    let refused = |text: &str, archive: &Archive| index.append(&release(text), &forms, archive).unwrap_err();
    assert!(matches!(refused("acme/other@1.0.0", &packed), AppendError::NotThisSkill { .. }));
    assert!(matches!(refused("acme/技能@1.0.0", &packed), AppendError::Name(_)));
    let other = archive::pack(cleared(&name("acme/forms"), "two").bundle());
    assert!(matches!(refused("acme/forms@1.0.0", &other), AppendError::Archive { .. }));
    let unknown = Archive::of_bytes(packed.into_bytes());
    assert!(matches!(refused("acme/forms@1.0.0", &unknown), AppendError::Archive { .. }), "nobody knows its files");
    assert!(index.names().unwrap().is_empty());
}

#[test]
fn identical_content_shares_one_archive() {
    let (_dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    publish(&index, "beta/forms@3.0.0", "one").unwrap();
    let owners: Vec<_> = index.owners_of(&name("acme/forms").name).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(owners, ["acme", "beta"]);
    assert_eq!(git(index.dir(), &["ls-tree", "-r", "--name-only", "main", "bundles"]).lines().count(), 1);
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn releases_keep_publishing_order() {
    let (_dir, index) = index();
    for version in ["1.0.0", "2.0.0", "1.0.1"] {
        publish(&index, &format!("acme/forms@{version}"), version).unwrap();
    }
    let releases = index.releases(&name("acme/forms")).unwrap();
    let versions: Vec<_> = releases.iter().map(|entry| entry.version.to_string()).collect();
    assert_eq!(versions, ["1.0.0", "2.0.0", "1.0.1"]);
    assert_eq!(select(&releases, &ReleaseSelector::Newest).unwrap().version.to_string(), "2.0.0");
    assert_eq!(index.all().unwrap()[0].version.to_string(), "2.0.0");
}

#[test]
fn concurrent_writers_all_land() {
    let (_dir, index) = index();
    let (dir, writers, each) = (index.dir().to_owned(), 4, 6);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let dir = &dir;
            scope.spawn(move || {
                let index = Index::open(dir).unwrap();
                for n in 0..each {
                    publish(&index, &format!("acme/forms@{writer}.{n}.0"), &format!("{writer} {n}")).unwrap();
                    publish(&index, &format!("acme/own-{writer}@1.{n}.0"), "same").unwrap();
                }
            });
        }
    });
    assert_eq!(index.releases(&name("acme/forms")).unwrap().len(), writers * each);
    assert_eq!(index.names().unwrap().len(), 1 + writers);
    let commits: usize = git(index.dir(), &["rev-list", "--count", "main"]).trim().parse().unwrap();
    assert_eq!(commits, 1 + 2 * writers * each, "one commit a release, none lost");
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn version_race_has_one_winner() {
    let (_dir, index) = index();
    let dir = index.dir().to_owned();
    let race = |bodies: [&'static str; 2], version: &'static str| {
        let dir = &dir;
        std::thread::scope(|scope| {
            let writers = bodies.map(|body| scope.spawn(move || publish(&Index::open(dir).unwrap(), version, body)));
            writers.map(|writer| writer.join().unwrap())
        })
    };
    let same = race(["one", "one"], "acme/forms@1.0.0").map(Result::unwrap);
    assert_eq!(same.iter().filter(|appended| matches!(appended, Appended::Published(_))).count(), 1);
    let other = race(["two", "three"], "acme/forms@2.0.0");
    assert_eq!(other.iter().filter(|result| matches!(result, Err(AppendError::VersionExists { .. }))).count(), 1);
    assert_eq!(index.releases(&name("acme/forms")).unwrap().len(), 2);
}

#[test]
fn locked_branch_prevents_publishing() {
    let (_dir, index) = index();
    std::fs::write(index.dir().join("refs/heads/main.lock"), "").unwrap();
    let error = publish(&index, "acme/forms@1.0.0", "one").unwrap_err().to_string();
    assert!(error.contains("refs/heads/main.lock"), "{error}");
    std::fs::remove_file(index.dir().join("refs/heads/main.lock")).unwrap();
    assert!(index.names().unwrap().is_empty());
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
}
