//! Tests of repairs of rows and archives.

use server::store::contract::publish;

use super::{
    contract::TestEngines,
    postgres::background,
    projection::{Remote, Worker, run, settings},
};
use crate::{
    Engines, ObjectSettings, Objects,
    check::{Repaired, check, repair},
};

/// Opens a folder of archives.
fn folder(path: &std::path::Path) -> Objects {
    let settings = ObjectSettings { location: path.to_str().unwrap().to_owned(), ..ObjectSettings::default() };
    Objects::open(&settings, background()).unwrap()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn proven_faults_are_repaired() {
    let (engines, remote) = (TestEngines::new(), Remote::new());
    let [cache, backup] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let stores = engines.open();
    for at in 0..3 {
        publish(&stores, &format!("ann/notes@1.{at}.0"), &at.to_string()).unwrap();
    }
    Worker::new(&engines, &remote).lead();
    let opened = Engines::open(settings(&engines, Some(&remote), cache.path())).unwrap();
    let entries = || stores.releases.of_skill(&"ann/notes".parse().unwrap()).unwrap();
    let (before, first) = (entries(), entries()[0].clone());
    let copies = folder(backup.path());
    copies.put(&first.digest, &opened.objects.get(&first.digest, &first.archive).unwrap()).unwrap();
    let skill = Repaired { archives: 0, skills: 1 };
    let sound = || check(&opened).unwrap().faults.is_empty();
    for damage in [
        "update releases set line = replace(line, 'Takes', 'Took') where position = 2",
        "delete from releases where position = 3",
        "update releases set digest = null where position = 1",
        "update skills set file_id = ''",
    ] {
        run(&opened.database, damage);
        assert!(!sound(), "{damage}");
        assert_eq!((repair(&opened, None).unwrap(), entries(), sound()), (skill, before.clone(), true), "{damage}");
    }
    let archive = Repaired { archives: 1, skills: 0 };
    run(&opened.database, &format!("update archives set state = 'removing' where digest = '{}'", first.digest));
    assert_eq!((repair(&opened, None).unwrap(), sound()), (archive, true));
    opened.objects.remove(&first.digest).unwrap();
    assert_eq!(repair(&opened, None).unwrap(), Repaired::default(), "no place has it");
    assert_eq!((repair(&opened, Some(&copies)).unwrap(), sound()), (archive, true));
    assert!(opened.objects.get(&first.digest, &first.archive).is_ok());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unproven_faults_are_left_alone() {
    let (engines, remote) = (TestEngines::new(), Remote::new());
    let [cache, backup] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let stores = engines.open();
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    Worker::new(&engines, &remote).lead();
    publish(&stores, "ann/notes@1.1.0", "two").unwrap();
    let opened = Engines::open(settings(&engines, Some(&remote), cache.path())).unwrap();
    // The git repository does not have the second release yet.
    run(&opened.database, "update releases set line = replace(line, 'Takes', 'Took') where position = 2");
    let other = folder(backup.path());
    other.put(&entry.digest, &"other bytes".into()).unwrap();
    opened.objects.remove(&entry.digest).unwrap();
    let faults = check(&opened).unwrap().faults;
    assert_eq!(repair(&opened, Some(&other)).unwrap(), Repaired::default());
    assert_eq!((faults.len(), check(&opened).unwrap().faults), (2, faults));
    let lines = stores.releases.of_skill(&"ann/notes".parse().unwrap()).unwrap();
    assert_eq!((lines.len(), lines[1].description.contains("Took")), (2, true));
}
