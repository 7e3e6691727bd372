//! Tests that count the work of publishing and installing.
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::fs;

use client::{Installed, PublishStatus};
use skill::{
    archive,
    work::{Tally, watched},
};

use crate::support::{World, name};

/// Returns the counts of parsing, packing, and parsing the lock file.
fn counts(tally: &Tally) -> [Vec<usize>; 3] {
    ["parse", "pack", "parse the lock file"].map(|kind| tally.counts(kind))
}

#[test]
fn release_is_parsed_packed_and_hashed_once() {
    let world = World::new();
    world.registries().default_one().unwrap();
    let (published, tally) = watched(|| world.release("pdf", "1.0.0", "One."));
    assert_eq!(published.status, PublishStatus::Published);
    assert_eq!(counts(&tally), [vec![1], vec![1], vec![]]);
    let packed = archived(&world);
    assert_eq!(tally.of("hash", &packed), 1);
    assert_eq!(published.size, packed.len() as u64);
}

#[test]
fn installed_release_is_parsed_and_hashed_once() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.release("other", "1.0.0", "Other.");
    world.install_one("acme/other");
    let install = || watched(|| world.install_one("acme/pdf"));
    let (_, first) = install();
    let packed = archived(&world);
    assert_eq!((counts(&first), first.of("hash", &packed)), ([vec![1], vec![], vec![1]], 1));
    // Its bytes are read to plan, when the commit begins, and under the lock before it is written.
    assert_eq!(first.counts("read the lock file"), [3]);
    let (_, again) = install();
    assert_eq!((counts(&again), again.of("hash", &packed)), ([vec![1], vec![], vec![1]], 1));
    assert_eq!(again.counts("read the lock file"), [2]);
    let (_, gone) = watched(|| world.uninstall("pdf").unwrap());
    assert_eq!(counts(&gone), [vec![], vec![], vec![1]]);
}

#[test]
fn folder_is_packed_and_hashed_once() {
    let world = World::new();
    let folder = world.skill("pdf", "One.");
    let (_, tally): (Installed, _) = watched(|| world.install_one(folder.to_str().unwrap()));
    assert_eq!(counts(&tally), [vec![1], vec![1], vec![]]);
    assert_eq!(tally.of("hash", &archived(&world)), 1);
}

/// Packs the files of the installed skill, or of its source.
fn archived(world: &World) -> archive::Archive {
    let library = world.library();
    match library.head(&name("pdf")).unwrap() {
        Some(head) => archive::pack(&library.bundle(&head.id).unwrap()),
        None => {
            let text = fs::read(world.root.join("source/pdf/SKILL.md")).unwrap();
            archive::pack(&testkit::bundle(&[("SKILL.md", text)]))
        }
    }
}
