//! Tests of releases over PostgreSQL, beyond the contract of all backends.

#![expect(clippy::disallowed_methods, reason = "a test breaks the folder of archives")]

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use registry_index::{ClearedRelease, Deprecation, Entry, KeyChange, NewRelease, Stamp, shard};
use server::{
    access::Role,
    store::{
        Flag, NamespaceState, Releases, Stores,
        catalogue::Query,
        contract::{account, now, publish, publish_as},
    },
};
use skill::Owner;
use web::ApiError;

use super::{contract::TestEngines, postgres::background};
use crate::{
    database::{Database, rows},
    events::Change,
    releases::{PgReleases, blob_id},
};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g";

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

fn set(stores: &Stores, entry: &Entry, flag: Flag<'_>) -> Entry {
    stores.releases.set_flag(entry, flag, &owner("root"), now()).unwrap()
}

fn published(stores: &Stores, text: &str, body: &str) -> Entry {
    publish(stores, text, body).unwrap().entry().clone()
}

/// Makes the files of the index from the events, as the leader does.
fn replayed(database: &Database) -> BTreeMap<String, Vec<u8>> {
    let bodies: Vec<serde_json::Value> = database
        .read(async |client| {
            let found = rows(client, "select body from events order by id", &[]).await?;
            Ok(found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
        })
        .unwrap();
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for body in bodies {
        let change: Change = serde_json::from_value(body).unwrap();
        assert!(change.message.ends_with('\n') && !change.edits.is_empty());
        for edit in &change.edits {
            match edit.apply(files.get(edit.path()).map(Vec::as_slice)).unwrap() {
                Some(new) => files.insert(edit.path().to_owned(), new),
                None => files.remove(edit.path()),
            };
        }
    }
    files
}

#[test]
#[ignore = "needs PostgreSQL"]
fn events_replay_to_the_served_files() {
    let engines = TestEngines::new();
    let stores = engines.open();
    let bad = published(&stores, "ann/notes@1.0.0", "bad");
    let copy = published(&stores, "bob/notes@1.0.0", "bad");
    published(&stores, "ann/notes@1.1.0", "good");
    set(&stores, &bad, Flag::Yanked(Some("broken")));
    set(&stores, &bad, Flag::Yanked(Some("broken")));
    set(&stores, &bad, Flag::Quarantined("bad"));
    published(&stores, "cid/notes@1.0.0", "bad");
    assert!(!set(&stores, &copy, Flag::Restored("harmless")).yanked);
    assert!(set(&stores, &bad, Flag::Restored("fine")).yanked, "it was yanked before");
    set(&stores, &bad, Flag::Withdrawn("a secret"));
    set(&stores, &copy, Flag::Deprecated(&Deprecation { replacement: None, reason: "old".to_owned() }));
    let change = KeyChange::Add { key: KEY.parse().unwrap(), vouched_by: None };
    stores.releases.change_key(&owner("dan"), &change, &owner("root"), now(), "add key", "one").unwrap();
    let files = replayed(&engines.database.open());
    let paths: Vec<_> = files.keys().map(String::as_str).collect();
    let owners = ["owners/ann.json", "owners/bob.json", "owners/cid.json", "owners/dan.json"];
    assert_eq!(paths, [["no/te/notes/ann", "no/te/notes/bob", "no/te/notes/cid"].as_slice(), &owners].concat());
    for (path, bytes) in files {
        let served = stores.releases.file(&path).unwrap().unwrap();
        assert_eq!(served.bytes, bytes, "{path}");
        assert_eq!(served.etag, format!("\"{}\"", blob_id(&bytes).unwrap()), "{path}");
    }
    let odd = ["owners/../config.json", "owners/ann.json/", "owners/\0.json", "no/te/notes/\0", "", "\0"];
    for absent in ["no/te/notes/eve", "owners/eve.json"].iter().chain(&odd) {
        assert_eq!(stores.releases.file(absent).unwrap(), None, "{absent:?}");
    }
    assert!(stores.releases.file(shard::CONFIG).unwrap().is_some());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn concurrent_publishers_lose_nothing() {
    const PUBLISHERS: usize = 12;
    const EACH: usize = 5;
    let engines = TestEngines::new();
    let replicas = [engines.open(), engines.open(), engines.open()];
    let name = |number: usize| format!("ann/skill-{}", number % 3);
    thread::scope(|scope| {
        for publisher in 0..PUBLISHERS {
            let (stores, name) = (&replicas[publisher % 3], name(publisher));
            scope.spawn(move || {
                (0..EACH).for_each(|at| {
                    published(stores, &format!("{name}@{publisher}.0.{at}"), &format!("{publisher} {at}"));
                });
            });
        }
    });
    let files = replayed(&engines.database.open());
    for number in 0..3 {
        let name = name(number).parse().unwrap();
        let entries = replicas[0].releases.of_skill(&name).unwrap();
        assert_eq!(entries.len(), PUBLISHERS / 3 * EACH);
        for entry in &entries {
            assert!(replicas[1].blobs.get(&entry.digest).unwrap().is_some());
        }
        let path = shard::skill_file(&name).unwrap();
        assert_eq!(replicas[2].releases.file(&path).unwrap().unwrap().bytes, files[&path]);
    }
    assert_eq!(replicas[0].people.members(&owner("ann")).unwrap().len(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn one_account_opens_a_namespace() {
    let engines = TestEngines::new();
    let replicas = [engines.open(), engines.open()];
    let accounts = ["bob", "cid"].map(|name| account(&replicas[0], name));
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (at, account) in accounts.iter().enumerate() {
            let (stores, done) = (&replicas[at], &done);
            scope.spawn(move || {
                let may = |state: NamespaceState| match state.is_taken && state.role.is_none() {
                    true => Err(ApiError::bad_request("it belongs to someone else")),
                    false => Ok(()),
                };
                let published = publish_as(stores, "team/notes@1.0.0", "one", account, &may);
                done.fetch_add(usize::from(published.is_ok()), Ordering::SeqCst);
            });
        }
    });
    assert_eq!(done.into_inner(), 1);
    let members = replicas[0].people.members(&owner("team")).unwrap();
    assert_eq!(members.iter().map(|member| member.role).collect::<Vec<_>>(), [Role::Maintainer]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn withdrawn_content_can_be_published_again() {
    let engines = TestEngines::new();
    let (stores, other) = (engines.open(), engines.open());
    let gone = published(&stores, "ann/notes@1.0.0", "one");
    let shared = published(&stores, "bob/notes@1.0.0", "one");
    set(&stores, &gone, Flag::Withdrawn("mine"));
    assert!(other.blobs.get(&gone.digest).unwrap().is_some(), "another release has it");
    set(&stores, &shared, Flag::Withdrawn("mine too"));
    assert_eq!(other.blobs.get(&gone.digest).unwrap(), None);
    assert!(!engines.objects().has(&gone.digest).unwrap());
    let again = published(&other, "cid/notes@1.0.0", "one");
    assert!(stores.blobs.get(&again.digest).unwrap().is_some());
    assert_eq!(publish(&stores, "ann/notes@1.0.0", "one").unwrap_err().status.as_u16(), 409, "the version is taken");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn object_store_failure_leaves_no_release() {
    let engines = TestEngines::new();
    let stores = engines.open();
    published(&stores, "ann/notes@1.0.0", "one");
    let head = stores.releases.head().unwrap();
    // A file in place of the folder refuses every archive.
    let bundles = engines.folder.path().join(shard::BUNDLES);
    let aside = engines.folder.path().join("aside");
    std::fs::rename(&bundles, &aside).unwrap();
    std::fs::write(&bundles, "").unwrap();
    let failed = publish(&stores, "ann/notes@2.0.0", "two").unwrap_err();
    assert_eq!((failed.status.as_u16(), failed.retry_after), (503, Some(5)));
    assert_eq!(stores.releases.head().unwrap(), head);
    std::fs::remove_file(&bundles).unwrap();
    std::fs::rename(&aside, &bundles).unwrap();
    let entry = published(&stores, "ann/notes@2.0.0", "two");
    assert!(stores.blobs.get(&entry.digest).unwrap().is_some());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unreachable_database_is_no_missing_release() {
    let engines = TestEngines::new();
    let nowhere = "host=127.0.0.1 port=1 user=skillhub dbname=skillhub";
    let database = Database::open(nowhere, None, background()).unwrap();
    let releases = PgReleases::new(database.into(), engines.objects(), String::new()).unwrap();
    let entry = published(&engines.open(), "ann/notes@1.0.0", "one");
    let errors = [
        releases.of_skill(&entry.name).unwrap_err(),
        releases.file("no/te/notes/ann").unwrap_err(),
        releases.barrier(&entry).unwrap_err(),
        releases.set_flag(&entry, Flag::Unyanked, &owner("ann"), now()).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.status.as_u16(), error.retry_after), (503, Some(5)), "{}", error.details);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn closed_connections_are_replaced() {
    let engines = TestEngines::new();
    let stores = engines.open();
    let entry = published(&stores, "ann/notes@1.0.0", "one");
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() \
               and datname = current_database()";
    for _ in 0..3 {
        engines.database.open().read(async |client| Ok(rows(client, end, &[]).await?)).unwrap();
        assert_eq!(stores.releases.of_skill(&entry.name).unwrap(), std::slice::from_ref(&entry));
    }
    engines.database.open().read(async |client| Ok(rows(client, end, &[]).await?)).unwrap();
    published(&stores, "ann/notes@1.1.0", "two");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn odd_characters_of_a_description_are_kept() {
    let engines = TestEngines::new();
    let stores = engines.open();
    let text = "---\nname: notes\ndescription: \"Takes\\0 'notes' \\\\ and 图表.\"\n---\n\n# Notes\n";
    let cleared = scan::clear(testkit::bundle(&[("SKILL.md", text)]), scan::Baseline::None).unwrap();
    let packed = skill::archive::pack(cleared.bundle());
    let release = NewRelease {
        name: "ann/notes".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
        changelog: String::new(),
        signature: None,
        forked_from: None,
        stamp: Stamp { by: "ann".to_owned(), at: now() },
    };
    let new = ClearedRelease::new(&release, &cleared, &packed).unwrap();
    let entry = stores.releases.publish(&new, &account(&stores, "ann"), &|_| Ok(())).unwrap().entry().clone();
    assert!(entry.description.contains('\0'));
    assert_eq!(stores.releases.of_skill(&entry.name).unwrap(), [entry]);
    let query = Query { words: "图表".to_owned(), limit: 5, ..Query::default() };
    assert_eq!(stores.catalogue.find(&query).unwrap().skills.len(), 1);
}
