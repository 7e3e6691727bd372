//! Contract of the stores, as tests that every backend must pass.
//!
//! [`contract_tests!`](crate::contract_tests) makes a test function of each. Other crates get them with the feature
//! `contract`, which is for tests only.

#![expect(clippy::unwrap_used, reason = "all of this is run by tests")]

use std::{net::IpAddr, time::Instant};

use axum::body::Bytes;
use jiff::Timestamp;
use registry_index::{Appended, ClearedRelease, Deprecation, Entry, KeyChange, NewRelease, Stamp};
use scan::{Baseline, Cleared};
use skill::{
    Bundle, Digest, File, Limits, Owner, SkillPath,
    archive::{self, Archive},
};
use web::{Client, ServerLimits};

use super::{Flag, Limited, NamespaceState, Stores};
use crate::{
    access::{Role, Scope},
    error::ApiError,
    store::catalogue::Query,
    store::{Download, NewToken, WithheldReason},
};

/// A backend under test, without content.
pub struct Backend<'a> {
    /// Opens another instance of the same stores, as each process of a server does.
    pub open: &'a dyn Fn() -> Stores,
    /// True if an instance caches files of the index, and so has to catch up with other instances.
    pub caches_files: bool,
}

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

/// The time of everything in the contract.
pub fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// An unpublished release.
struct Draft {
    release: NewRelease,
    cleared: Cleared,
    packed: Archive,
}

/// Builds a release from `owner/name@version`.
fn draft(text: &str, body: &str) -> Draft {
    let (name, version) = text.split_once('@').unwrap();
    let release = NewRelease {
        name: name.parse().unwrap(),
        version: version.parse().unwrap(),
        changelog: String::new(),
        signature: None,
        forked_from: None,
        stamp: Stamp { by: name.split('/').next().unwrap().to_owned(), at: now() },
    };
    let text = format!("---\nname: {}\ndescription: Takes notes. Use in tests.\n---\n\n{body}\n", release.name.name);
    let file = File { bytes: text.as_bytes().into(), executable: false };
    let bundle = Bundle::from_files([(SkillPath::parse("SKILL.md").unwrap(), file)], &Limits::default()).unwrap();
    let cleared = scan::clear(bundle, Baseline::None).unwrap();
    let packed = archive::pack(cleared.bundle());
    Draft { release, cleared, packed }
}

/// Publishes `owner/name@version` with a body, by an account with the name of the owner.
pub fn publish(stores: &Stores, text: &str, body: &str) -> Result<Appended, ApiError> {
    let (owner, _) = text.split_once('/').unwrap();
    publish_as(stores, text, body, &account(stores, owner), &|_| Ok(()))
}

/// Publishes as [`publish`], by an account that exists, if `may` permits it.
pub fn publish_as(
    stores: &Stores,
    text: &str,
    body: &str,
    account: &Owner,
    may: &dyn Fn(NamespaceState) -> Result<(), ApiError>,
) -> Result<Appended, ApiError> {
    let Draft { release, cleared, packed } = draft(text, body);
    let new = ClearedRelease::new(&release, &cleared, &packed).unwrap();
    stores.releases.publish(&new, account, may)
}

/// Creates an account if it does not exist.
pub fn account(stores: &Stores, name: &str) -> Owner {
    token(stores, name);
    owner(name)
}

fn token(stores: &Stores, name: &str) -> (String, String) {
    let new = NewToken { account: owner(name), scope: Scope::Publish, label: String::new(), expires_at: None };
    let (token, secret) = stores.people.add_token(&new, false, &owner(name), now()).unwrap();
    (token.id, secret)
}

fn actions(stores: &Stores) -> Vec<String> {
    let lines = stores.activity.audit(None).unwrap().into_iter();
    lines.map(|line| line.action).filter(|action| action != "new token").collect()
}

fn found(stores: &Stores, words: &str) -> Vec<String> {
    let query = Query { words: words.to_owned(), limit: 10, ..Query::default() };
    let skills = stores.catalogue.find(&query).unwrap().skills;
    skills.iter().map(|found| format!("{} {}", found.entry.name, found.entry.version)).collect()
}

const NOTES: &str = "no/te/notes/ann";
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g";

pub fn release_is_read_in_every_way(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let before = stores.releases.head().unwrap();
    assert_eq!(stores.releases.file(NOTES).unwrap(), None);
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    publish(&stores, "ann/notes@1.1.0", "two").unwrap();
    publish(&stores, "bob/notes@3.0.0", "one").unwrap();
    for stores in [&stores, &open()] {
        let releases = &stores.releases;
        assert_ne!(releases.head().unwrap(), before);
        let versions: Vec<_> =
            releases.of_skill(&entry.name).unwrap().iter().map(|entry| entry.version.to_string()).collect();
        assert_eq!(versions, ["1.0.0", "1.1.0"]);
        assert_eq!(releases.owners_of(&entry.name.name).unwrap(), [owner("ann"), owner("bob")]);
        assert!(releases.names_beside(&entry.name.name).unwrap().contains(&entry.name));
        let file = releases.file(NOTES).unwrap().unwrap();
        assert!(file.bytes.starts_with(format!("{}\n", entry.to_line()).as_bytes()));
        let cached = backend.caches_files.then_some(Some(file));
        assert_eq!(releases.file_at_hand(NOTES), cached, "without a cache, nothing is at hand");
        assert_eq!(stores.blobs.get(&entry.digest).unwrap().unwrap(), *draft("ann/notes@1.0.0", "one").packed);
        assert_eq!(found(stores, "notes"), ["ann/notes 1.1.0", "bob/notes 3.0.0"]);
        assert_eq!(stores.catalogue.count().unwrap(), 2);
        assert_eq!(actions(stores), ["publish", "publish", "publish"]);
    }
}

pub fn version_is_taken_once(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    publish(&stores, "ann/notes@1.0.0", "one").unwrap();
    let head = stores.releases.head().unwrap();
    assert!(matches!(publish(&stores, "ann/notes@1.0.0", "one"), Ok(Appended::Unchanged(_))));
    for other in ["ann/notes@1.0.0", "ann/notes@1.0.0+build"] {
        assert_eq!(publish(&stores, other, "two").unwrap_err().status.as_u16(), 409, "{other}");
    }
    assert_eq!((stores.releases.head().unwrap(), actions(&stores).len()), (head, 1));
}

pub fn publishers_of_one_version_get_one_release(backend: &Backend<'_>) {
    let open = backend.open;
    let all = [open(), open()];
    let done: Vec<_> = std::thread::scope(|scope| {
        let one = |at: usize| {
            scope.spawn({
                let stores = &all[at % 2];
                move || publish(stores, "ann/notes@1.0.0", &at.to_string())
            })
        };
        let running: Vec<_> = (0..6).map(one).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|one| one.is_ok()).count(), 1);
    assert!(done.iter().filter_map(|one| one.as_ref().err()).all(|error| error.status.as_u16() == 409));
    assert_eq!(all[0].releases.of_skill(&"ann/notes".parse().unwrap()).unwrap().len(), 1);
}

pub fn refused_release_changes_nothing(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let Draft { release, cleared, packed } = draft("ann/notes@1.0.0", "one");
    let new = ClearedRelease::new(&release, &cleared, &packed).unwrap();
    let head = stores.releases.head().unwrap();
    let refused = stores.releases.publish(&new, &account(&stores, "ann"), &|_| Err(ApiError::bad_request("no")));
    assert_eq!(refused.unwrap_err().message, "no");
    let free = NamespaceState { is_taken: false, role: None };
    assert_eq!(stores.releases.namespace(&owner("ann"), Some(&owner("ann"))).unwrap(), free);
    assert_eq!((stores.releases.head().unwrap(), actions(&stores)), (head, Vec::new()));
    assert_eq!(stores.blobs.get(&new.entry().digest).unwrap(), None);
}

pub fn first_publisher_looks_after_the_namespace(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    publish(&stores, "ann/notes@1.0.0", "one").unwrap();
    let state = |account: &str| stores.releases.namespace(&owner("ann"), Some(&owner(account))).unwrap();
    assert_eq!(state("ann"), NamespaceState { is_taken: true, role: Some(Role::Maintainer) });
    assert_eq!(state("bob"), NamespaceState { is_taken: true, role: None });
    account(&stores, "bob");
    stores.people.set_member(&owner("ann"), &owner("bob"), Role::Publisher).unwrap();
    assert_eq!(state("bob").role, Some(Role::Publisher));
    assert!(stores.people.remove_member(&owner("ann"), &owner("ann")).is_err(), "nobody would look after it");
    assert_eq!(stores.people.members(&owner("ann")).unwrap().len(), 2);
}

pub fn flags_are_set_and_taken_back(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    let set = |flag| stores.releases.set_flag(&entry, flag, &owner("ann"), now()).unwrap();
    assert!(set(Flag::Yanked(Some("broken"))).yanked);
    assert_eq!(found(&stores, "notes"), Vec::<String>::new());
    assert!(!set(Flag::Unyanked).yanked);
    let advice = Deprecation { replacement: None, reason: "old".to_owned() };
    assert_eq!(set(Flag::Deprecated(&advice)).deprecated(), Some(advice.clone()));
    assert_eq!(set(Flag::Undeprecated), entry);
    assert_eq!(actions(&stores), ["undeprecate", "deprecate", "unyank", "yank", "publish"]);
}

pub fn quarantine_holds_release_and_copies_in_every_process(backend: &Backend<'_>) {
    let open = backend.open;
    let (stores, other) = (open(), open());
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    let copy = publish(&stores, "bob/notes@2.0.0", "one").unwrap().entry().clone();
    assert!(other.blobs.get(&entry.digest).unwrap().is_some() && other.releases.is_readable(&entry.digest).unwrap());
    stores.releases.set_flag(&entry, Flag::Quarantined("bad"), &owner("root"), now()).unwrap();
    for stores in [&stores, &other, &open()] {
        assert!(!stores.releases.is_readable(&entry.digest).unwrap());
        assert_eq!(stores.releases.barrier(&entry).unwrap(), Some(WithheldReason::Quarantined("bad".to_owned())));
        assert!(matches!(stores.releases.barrier(&copy).unwrap(), Some(WithheldReason::Held(_))));
        assert_eq!(
            (stores.releases.quarantined().unwrap().len(), stores.releases.held_copies().unwrap().len()),
            (1, 1)
        );
    }
    let late = publish(&other, "cid/notes@1.0.0", "one").unwrap().entry().clone();
    assert!(matches!(other.releases.barrier(&late).unwrap(), Some(WithheldReason::Held(_))));
    let refused = other.releases.set_flag(&entry, Flag::Unyanked, &owner("ann"), now());
    assert_eq!(refused.unwrap_err().status.as_u16(), 409);
    let restored = other.releases.set_flag(&entry, Flag::Restored("fine"), &owner("root"), now()).unwrap();
    assert!(!restored.yanked && stores.releases.is_readable(&entry.digest).unwrap());
    assert!(stores.releases.held_copies().unwrap().is_empty());
}

pub fn withdrawn_archive_is_gone(backend: &Backend<'_>) {
    let open = backend.open;
    let (stores, other) = (open(), open());
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    other.releases.refresh().unwrap();
    assert!(other.blobs.get(&entry.digest).unwrap().is_some());
    let gone = stores.releases.set_flag(&entry, Flag::Withdrawn("a secret"), &owner("root"), now()).unwrap();
    assert_eq!(gone.withdrawn.as_ref().unwrap().reason, "a secret");
    other.releases.refresh().unwrap();
    for stores in [&stores, &other, &open()] {
        assert_eq!(stores.blobs.get(&entry.digest).unwrap(), None);
        assert_eq!(stores.blobs.cached(&entry.digest), None);
    }
}

pub fn withdrawn_content_is_held(backend: &Backend<'_>) {
    let open = backend.open;
    let (stores, other) = (open(), open());
    let set = |entry: &Entry, flag| stores.releases.set_flag(entry, flag, &owner("root"), now());
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    let early = publish(&stores, "bob/notes@1.0.0", "one").unwrap().entry().clone();
    set(&entry, Flag::Withdrawn("a secret")).unwrap();
    let late = ["cid/notes@1.0.0", "ann/notes@1.0.1"].map(|text| publish(&other, text, "one").unwrap().entry().clone());
    for copy in [&early, &late[0], &late[1]] {
        assert!(matches!(open().releases.barrier(copy).unwrap(), Some(WithheldReason::Held(_))), "{}", copy.name);
    }
    assert!(!other.releases.is_readable(&entry.digest).unwrap());
    assert_eq!(stores.releases.held_copies().unwrap().len(), 3);
    assert!(actions(&stores).iter().all(|action| action != "quarantine"));
    set(&early, Flag::Restored("harmless")).unwrap();
    assert_eq!(other.releases.barrier(&early).unwrap(), None);
    assert_eq!(other.releases.held_copies().unwrap().len(), 2);
}

pub fn withdrawn_release_is_not_restored(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let set = |entry: &Entry, flag| stores.releases.set_flag(entry, flag, &owner("root"), now());
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    let bad = set(&entry, Flag::Quarantined("bad")).unwrap();
    let copy = publish(&stores, "ann/notes@1.0.1", "one").unwrap().entry().clone();
    let gone = set(&bad, Flag::Withdrawn("a secret")).unwrap();
    assert_eq!(set(&gone, Flag::Restored("fine")).unwrap_err().status.as_u16(), 409);
    assert!(matches!(stores.releases.barrier(&copy).unwrap(), Some(WithheldReason::Held(_))));
    assert!(!stores.releases.is_readable(&copy.digest).unwrap());
}

pub fn other_processes_catch_up(backend: &Backend<'_>) {
    let open = backend.open;
    let (stores, other) = (open(), open());
    assert_eq!(other.releases.file(NOTES).unwrap(), None);
    publish(&stores, "ann/notes@1.0.0", "one").unwrap();
    assert_eq!(other.releases.is_behind().unwrap(), backend.caches_files, "without a cache, every read is current");
    assert!(!stores.releases.is_behind().unwrap());
    other.releases.catch_up().unwrap();
    assert!(!other.releases.is_behind().unwrap());
    assert_eq!(other.releases.file(NOTES).unwrap(), stores.releases.file(NOTES).unwrap());
    assert_eq!(other.releases.head().unwrap(), stores.releases.head().unwrap());
    assert_eq!(found(&other, "notes"), ["ann/notes 1.0.0"]);
}

pub fn owner_with_a_key_signs(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let key = KEY.parse().unwrap();
    publish(&stores, "ann/notes@1.0.0", "one").unwrap();
    let change = KeyChange::Add { key, vouched_by: None };
    let file = stores.releases.change_key(&owner("ann"), &change, &owner("ann"), now(), "add key", "one").unwrap();
    assert_eq!(stores.releases.owner(&owner("ann")).unwrap(), file);
    assert!(publish(&stores, "ann/notes@2.0.0", "two").is_err(), "it is not signed");
    assert_eq!(actions(&stores), ["add key", "publish"]);
    let unsigned = &stores.releases.of_skill(&"ann/notes".parse().unwrap()).unwrap()[0];
    assert!(matches!(stores.releases.signer(unsigned).unwrap(), Ok(None)));
}

pub fn tokens_and_sessions_end(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let (id, secret) = token(&stores, "ann");
    assert!(stores.people.caller(&secret, now()).unwrap().is_some());
    let session = stores.sessions.begin(&secret, now()).unwrap().unwrap();
    let other = stores.sessions.begin(&secret, now()).unwrap().unwrap();
    assert!(open().sessions.caller(&session, now()).unwrap().is_some());
    stores.sessions.end(&other).unwrap();
    assert_eq!(stores.sessions.caller(&other, now()).unwrap(), None);
    assert!(!stores.people.revoke(&id, Some(&owner("bob")), now()).unwrap());
    assert!(stores.people.revoke(&id, Some(&owner("ann")), now()).unwrap());
    assert_eq!(
        (stores.people.caller(&secret, now()).unwrap(), stores.sessions.caller(&session, now()).unwrap()),
        (None, None)
    );
    assert_eq!(stores.people.tokens(Some(&owner("ann"))).unwrap().len(), 1);
}

pub fn what_people_do_is_kept(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let entry = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    let by_digest = Download {
        skill: String::new(),
        version: String::new(),
        digest: entry.digest,
        account: String::new(),
        day: "2027-01-15".to_owned(),
    };
    let named = Download {
        skill: "ann/notes".to_owned(),
        version: "1.0.0".to_owned(),
        account: "bob".to_owned(),
        ..by_digest.clone()
    };
    for download in [&by_digest, &by_digest, &named] {
        stores.activity.count(download.clone(), Client::default());
    }
    stores.activity.write_downloads().unwrap();
    assert_eq!(stores.activity.set_star("ann/notes", &owner("bob"), true).unwrap(), 1);
    let report = stores.activity.report("ann/notes", "1.0.0", "odd", &owner("bob"), now()).unwrap();
    let decide = || stores.activity.decide(report.id, "dismissed", &owner("root"), "fine", now()).unwrap();
    assert_eq!(decide().unwrap().decision.as_deref(), Some("dismissed"));
    assert_eq!(decide(), None, "once");
    let again = open();
    assert_eq!(
        again.activity.by_version("ann/notes").unwrap().into_iter().collect::<Vec<_>>(),
        [("1.0.0".to_owned(), 2)]
    );
    assert_eq!(again.activity.by_day("ann/notes", "2027-01-01").unwrap(), [("2027-01-15".to_owned(), 2)]);
    assert_eq!(again.activity.downloaders(&entry.digest).unwrap().len(), 2);
    assert_eq!((again.activity.stars("ann/notes").unwrap(), again.activity.reports(true).unwrap().len()), (1, 0));
    assert_eq!(actions(&again), ["report dismissed", "publish"]);
}

pub fn uploads_are_their_senders(backend: &Backend<'_>) {
    let open = backend.open;
    let stores = open();
    let digest = stores.uploads.put(&owner("ann"), Bytes::from_static(b"one"), Instant::now()).unwrap();
    assert_eq!(digest, Digest::of_bytes(b"one"));
    assert_eq!(stores.uploads.get(&owner("ann"), &digest).unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(stores.uploads.get(&owner("bob"), &digest).unwrap(), None);
    stores.uploads.evict(&owner("ann"), &[digest]);
    assert_eq!(stores.uploads.get(&owner("ann"), &digest).unwrap(), None);
}

pub fn clients_and_kinds_are_limited_apart(backend: &Backend<'_>) {
    let open = backend.open;
    let (stores, at) = (open(), Instant::now());
    let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let most = ServerLimits::default().sign_ins_per_minute;
    assert!((0..most).all(|_| stores.rates.admit(Limited::SignIn, one, at).is_ok()));
    assert!(stores.rates.admit(Limited::SignIn, one, at).unwrap_err().retry_after > 0);
    assert!(stores.rates.admit(Limited::SignIn, other, at).is_ok());
    assert!(stores.rates.admit(Limited::Costly, one, at).is_ok());
}

/// Makes a test of each part of the contract. The argument is a function that gives each a [`contract::Backend`]; further
/// arguments are attributes of the tests.
///
/// [`contract::Backend`]: crate::store::contract::Backend
#[macro_export]
macro_rules! contract_tests {
    ($over:path $(, $attribute:meta)*) => {
        $crate::contract_tests! { @all $over, [$($attribute),*],
            release_is_read_in_every_way
            version_is_taken_once
            publishers_of_one_version_get_one_release
            refused_release_changes_nothing
            first_publisher_looks_after_the_namespace
            flags_are_set_and_taken_back
            quarantine_holds_release_and_copies_in_every_process
            withdrawn_archive_is_gone
            withdrawn_content_is_held
            withdrawn_release_is_not_restored
            other_processes_catch_up
            owner_with_a_key_signs
            tokens_and_sessions_end
            what_people_do_is_kept
            uploads_are_their_senders
            clients_and_kinds_are_limited_apart
        }
    };
    (@all $over:path, $attributes:tt, $($name:ident)+) => {
        $($crate::contract_tests! { @one $over, $attributes, $name })+
    };
    (@one $over:path, [$($attribute:meta),*], $name:ident) => {
        #[test]
        $(#[$attribute])*
        fn $name() {
            $over($crate::store::contract::$name);
        }
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use registry_index::Index;

    use super::*;
    use crate::store::embedded::{self, database::Database, index_pool::IndexPool};

    fn over_folder(test: impl Fn(&Backend<'_>)) {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let path = folder.path().join("index.git");
            Index::init(&path, &Stamp { by: "skillhub".to_owned(), at: now() }).unwrap();
            let database = Arc::new(Database::open(&folder.path().join("skillhub.sqlite")).unwrap());
            embedded::stores(IndexPool::open(&path).unwrap(), &database, &ServerLimits::default(), false).unwrap()
        };
        test(&Backend { open: &open, caches_files: true });
    }

    crate::contract_tests!(over_folder);
}
