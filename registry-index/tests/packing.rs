//! Packing an index while it is used.

use std::{collections::BTreeMap, path::Path};

use registry_index::{Index, PackBounds, Packed};

use crate::support::*;

/// Everything is packed at once, and packs when there are more than two.
const AT_ONCE: PackBounds = PackBounds { loose_objects: 0, loose_bytes: 0, packs: 2, growth_percent: 200 };

/// What git counts: `count` of loose objects, `in-pack`, `packs`, `size-pack` in KiB and others.
fn counts(dir: &Path) -> BTreeMap<String, u64> {
    let text = git(dir, &["count-objects", "-v"]);
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(key, count)| (key.to_owned(), count.parse().unwrap())).collect()
}

#[test]
fn packing_keeps_every_object() {
    let (_dir, index) = index();
    let open_before = Index::open(index.dir()).unwrap();
    for at in 0..6 {
        publish(&index, &format!("acme/forms@1.{at}.0"), &format!("body {at}")).unwrap();
    }
    let of_nobody = git_fed(index.dir(), &["hash-object", "-w", "--stdin"], "in no tree");
    let before = counts(index.dir());
    assert_eq!((before["count"], before["packs"]), (3 + 1, 6), "a pack for each release, beside the first commit");
    let packed = index.pack(&AT_ONCE, || true).unwrap();
    assert_eq!(packed, Packed { objects: 4, packs: 6 });
    let after = counts(index.dir());
    assert_eq!((after["count"], after["in-pack"], after["packs"]), (0, before["in-pack"] + 4, 1));
    for reader in [&index, &open_before] {
        let releases = reader.releases(&name("acme/forms")).unwrap();
        assert_eq!(releases.len(), 6);
        assert!(releases.iter().all(|entry| reader.bundle(entry).is_ok()));
    }
    assert_eq!(git(index.dir(), &["cat-file", "blob", of_nobody.trim()]), "in no tree");
    git(index.dir(), &["fsck", "--full", "--strict"]);
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn index_within_its_bounds_stays() {
    let (_dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let before = counts(index.dir());
    assert_eq!(index.pack(&PackBounds::default(), || true).unwrap(), Packed::default());
    let of_bytes = PackBounds { loose_bytes: 10, ..PackBounds::default() };
    assert_eq!(index.pack(&of_bytes, || false).unwrap(), Packed::default(), "it was to end");
    assert_eq!(counts(index.dir()), before);
    assert_eq!(index.pack(&of_bytes, || true).unwrap().objects as u64, before["count"]);
}

#[test]
fn packs_stay_few_and_each_is_written_seldom() {
    let (_dir, index) = index();
    let open_before = Index::open(index.dir()).unwrap();
    let (releases, mut written) = (40, 0);
    for at in 0..releases {
        publish(&index, &format!("acme/forms@1.{at}.0"), &format!("body {at}")).unwrap();
        written += index.pack(&AT_ONCE, || true).unwrap().packs;
        assert!(counts(index.dir())["packs"] <= 6, "{at}");
        assert_eq!(open_before.releases(&name("acme/forms")).unwrap().len(), at + 1);
    }
    assert!(written < 3 * releases, "{written} packs were read for {releases} releases");
    git(index.dir(), &["fsck", "--full", "--strict"]);
    assert_eq!(index.verify().unwrap(), []);
}

/// Makes a pack of a number of new blobs.
fn import_blobs(index: &Index, series: &str, count: usize) {
    let blob = |number| format!("blob\ndata <<END\n{series} {number}\nEND\n");
    let blobs: String = (0..count).map(blob).collect();
    git_fed(index.dir(), &["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"], &blobs);
}

#[test]
fn large_pack_stays_until_others_are_half_as_large() {
    let (_dir, index) = index();
    import_blobs(&index, "large", 1000);
    for (series, count) in [("first", 200), ("second", 190)] {
        import_blobs(&index, series, count);
    }
    assert_eq!(index.pack(&AT_ONCE, || true).unwrap().packs, 2, "the large one stays");
    import_blobs(&index, "third", 150);
    assert_eq!(index.pack(&AT_ONCE, || true).unwrap().packs, 3, "together, they are more than half as large");
    assert_eq!(counts(index.dir())["packs"], 1);
}

#[test]
fn kept_packs_stay() {
    let (_dir, index) = index();
    let packs = index.dir().join("objects/pack");
    publish(&index, "acme/forms@0.1.0", "first").unwrap();
    index.pack(&AT_ONCE, || true).unwrap();
    let kept = std::fs::read_dir(&packs).unwrap().map(|file| file.unwrap().path());
    let kept = kept.into_iter().find(|file| file.extension().is_some_and(|part| part == "pack")).unwrap();
    std::fs::write(kept.with_extension("keep"), "").unwrap();
    for at in 0..5 {
        publish(&index, &format!("acme/forms@1.{at}.0"), &format!("body {at}")).unwrap();
        index.pack(&AT_ONCE, || true).unwrap();
    }
    assert!(kept.exists());
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn publishers_go_on_during_packing() {
    let (_dir, index) = index();
    let (dir, writers, each) = (index.dir(), 3, 8);
    let done = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let done = &done;
            scope.spawn(move || {
                let index = Index::open(dir).unwrap();
                for n in 0..each {
                    publish(&index, &format!("acme/forms@{writer}.{n}.0"), &format!("{writer} {n}")).unwrap();
                }
                done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            });
        }
        while done.load(std::sync::atomic::Ordering::Relaxed) < writers {
            index.pack(&AT_ONCE, || true).unwrap();
        }
    });
    index.pack(&AT_ONCE, || true).unwrap();
    assert_eq!(index.releases(&name("acme/forms")).unwrap().len(), writers * each);
    assert_eq!(counts(dir)["count"], 0);
    git(dir, &["fsck", "--full", "--strict"]);
    assert_eq!(index.verify().unwrap(), []);
}

/// 3,000 names in one folder make a tree of 110 KB, which each release writes anew.
#[test]
fn packed_growth_does_not_follow_the_trees() {
    let (_dir, index) = index();
    let mut import = String::from(
        "commit refs/heads/main\ncommitter a <a@b> 1767225600 +0000\ndata 4\nfill\nfrom refs/heads/main^0\n",
    );
    for at in 0..3000 {
        import.push_str(&format!("M 100644 inline fo/rm/form-{at}/acme\ndata 1\n\n\n"));
    }
    git_fed(index.dir(), &["fast-import", "--quiet"], &import);
    let (before, releases) = (counts(index.dir())["size-pack"], 120);
    for at in 0..releases {
        publish(&index, &format!("acme/form-{at}@1.0.0"), &format!("body {at}")).unwrap();
    }
    assert!(counts(index.dir())["packs"] > 16, "packs are left to join");
    index.pack(&AT_ONCE, || true).unwrap();
    let grown = (counts(index.dir())["size-pack"] - before) * 1024 / releases;
    assert!(grown < 8 << 10, "{grown} bytes a release");
}

#[test]
fn changes_alone_keep_packs_few() {
    let (_dir, index) = index();
    let entry = publish(&index, "acme/forms@1.0.0", "one").unwrap().entry().clone();
    for at in 0..230 {
        index.set_yanked(&entry.name, &entry.version, at % 2 == 0, None, &stamp()).unwrap();
    }
    assert!(counts(index.dir())["packs"] <= 201);
    assert!(!index.releases(&entry.name).unwrap()[0].yanked);
    git(index.dir(), &["fsck", "--full", "--strict"]);
    assert_eq!(index.verify().unwrap(), []);
}

/// Remains of a pack after a kill or a power loss: parts of files, and an index before its pack.
#[test]
fn unfinished_packs_are_harmless() {
    let (_dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let other = tempfile::tempdir().unwrap();
    git(index.dir(), &["clone", "--quiet", "--bare", ".", other.path().to_str().unwrap()]);
    let killed = Index::open(other.path()).unwrap();
    publish(&killed, "acme/forms@1.1.0", "two").unwrap();
    let packs = index.dir().join("objects/pack");
    for file in std::fs::read_dir(other.path().join("objects/pack")).unwrap().map(|file| file.unwrap().path()) {
        let (bytes, place) = (std::fs::read(&file).unwrap(), packs.join(file.file_name().unwrap()));
        if place.exists() {
            continue;
        }
        if place.extension().is_some_and(|part| part == "idx") {
            std::fs::write(place, bytes).unwrap();
        } else {
            std::fs::write(packs.join("pack_git2_killed"), &bytes[..bytes.len() / 2]).unwrap();
        }
    }
    publish(&index, "acme/forms@1.1.0", "two").unwrap();
    index.pack(&AT_ONCE, || true).unwrap();
    assert_eq!(index.releases(&name("acme/forms")).unwrap().len(), 2);
    assert_eq!(index.verify().unwrap(), []);
}
