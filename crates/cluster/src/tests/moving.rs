//! Tests of moves between a data folder and engines.

use std::{net::SocketAddr, path::Path};

use registry_index::{Entry, Index};
use server::{
    Hub, INDEX, NewToken, Scope, Settings, Visibility,
    store::{
        Download, Flag, Stores,
        contract::{now, publish},
    },
};
use skill::Owner;
use web::{Client, ServerLimits, TrustedProxies};

use super::{
    contract::TestEngines,
    projection::{Remote, settings},
};
use crate::{
    Engines, check,
    moving::{MoveError, move_in, move_out},
};

fn hub(data: &Path) -> Hub {
    let settings = Settings {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        data: data.to_owned(),
        visibility: Visibility::Public,
        read_only: false,
        hosts: Vec::new(),
        trusted_proxies: TrustedProxies::default(),
        proxy_account_header: None,
        log: |_| {},
        logs_requests: false,
        scanner: scan::Scanner::default(),
        limits: ServerLimits::default(),
    };
    Hub::open(settings).unwrap()
}

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

/// Releases in every state, with what people did; returns a token.
fn filled(stores: &Stores) -> String {
    let of = |text: &str, body: &str| publish(stores, text, body).unwrap().entry().clone();
    let set = |entry: &Entry, flag| stores.releases.set_flag(entry, flag, &owner("root"), now()).unwrap();
    let (first, gone) = (of("ann/notes@1.0.0", "one"), of("ann/notes@1.1.0", "two"));
    let bad = of("bob/pdf@1.0.0", "bad");
    of("cid/pdf@2.0.0", "bad");
    set(&first, Flag::Yanked(Some("old")));
    set(&gone, Flag::Withdrawn("a secret"));
    set(&bad, Flag::Quarantined("bad"));
    let download = Download {
        skill: "ann/notes".to_owned(),
        version: "1.0.0".to_owned(),
        digest: first.digest,
        account: String::new(),
        day: "2027-01-15".to_owned(),
    };
    stores.activity.count(download, Client::default());
    stores.activity.write_downloads().unwrap();
    stores.activity.set_star("ann/notes", &owner("bob"), true).unwrap();
    stores.activity.report("ann/notes", "1.0.0", "odd", &owner("bob"), now()).unwrap();
    let new = NewToken { account: owner("ann"), scope: Scope::Publish, label: "laptop".to_owned(), expires_at: None };
    stores.people.add_token(&new, true, &owner("ann"), now()).unwrap().1
}

/// Everything that can be read of an index, in a form to compare.
fn state(stores: &Stores, secret: &str) -> String {
    let releases =
        ["ann/notes", "bob/pdf", "cid/pdf"].map(|name| stores.releases.of_skill(&name.parse().unwrap()).unwrap());
    let archives = releases.concat().iter().map(|entry| stores.blobs.get(&entry.digest).unwrap()).collect::<Vec<_>>();
    let people = (stores.people.tokens(Some(&owner("ann"))).unwrap(), stores.people.caller(secret, now()).unwrap());
    let members = ["ann", "bob", "cid"].map(|name| stores.people.members(&owner(name)).unwrap());
    let decided = (stores.releases.quarantined().unwrap(), stores.releases.held_copies().unwrap());
    let activity = &stores.activity;
    let counts = (activity.by_version("ann/notes").unwrap(), activity.stars("ann/notes").unwrap());
    let noted = (activity.reports(true).unwrap(), activity.audit(None).unwrap());
    let (owners, first) = (stores.releases.owner(&owner("ann")).unwrap(), releases.concat()[0].clone());
    let barriers = releases.concat().iter().map(|entry| stores.releases.barrier(entry).unwrap()).collect::<Vec<_>>();
    assert!(first.yanked);
    format!("{releases:?} {archives:?} {people:?} {members:?} {decided:?} {counts:?} {owners:?} {barriers:?} {noted:?}")
}

#[test]
#[ignore = "needs PostgreSQL"]
fn index_moves_into_engines_and_back() {
    let (engines, remote) = (TestEngines::new(), Remote::new());
    let [folder, cache, target] = [(), (), ()].map(|()| tempfile::tempdir().unwrap());
    let first = hub(folder.path());
    let secret = filled(&first.stores);
    let before = state(&first.stores, &secret);
    let opened = Engines::open(settings(&engines, Some(&remote), cache.path())).unwrap();
    assert!(move_in(&opened, folder.path(), &|_, _, _| {}).unwrap().is_served, "a server runs on the folder");
    publish(&first.stores, "dan/late@1.0.0", "late").unwrap();
    drop(first);
    let moved = move_in(&opened, folder.path(), &|_, _, _| {}).unwrap();
    assert_eq!((moved.releases, moved.archives, moved.is_served), (5, 3, false));
    assert_eq!(move_in(&opened, folder.path(), &|_, _, _| {}).unwrap(), moved, "it can be repeated");
    let stores = opened.stores(&ServerLimits::default(), true).unwrap();
    let without_late = |text: String| text.split("AuditLine").next().unwrap().to_owned();
    assert_eq!(without_late(state(&stores, &secret)), without_late(before));
    stores.releases.tidy(&|| true).unwrap();
    publish(&stores, "ann/notes@2.0.0", "new").unwrap();
    stores.releases.tidy(&|| true).unwrap();
    let old = Index::open(&folder.path().join(INDEX)).unwrap().revision().unwrap();
    let commits = remote.commits();
    assert!(commits.iter().any(|(id, _)| *id == old), "the old history is an ancestor");
    assert_eq!(commits.last().unwrap().1, "ann/notes 2.0.0");
    assert_eq!(check::check(&opened).unwrap().faults, [] as [&str; 0]);
    assert!(matches!(move_in(&opened, folder.path(), &|_, _, _| {}), Err(MoveError::NotEmpty(_))));
    let back = move_out(&opened, target.path(), &|_, _, _| {}).unwrap();
    assert_eq!(move_out(&opened, target.path(), &|_, _, _| {}).unwrap(), back, "it can be repeated");
    let second = hub(target.path());
    assert_eq!(state(&second.stores, &secret), state(&stores, &secret));
    let index = Index::open(&target.path().join(INDEX)).unwrap();
    assert_eq!(index.verify().unwrap(), []);
    assert!(index.has_grown_from(&commits.last().unwrap().0).unwrap());
}
