//! Tests of the stores beside the releases, over PostgreSQL and with several replicas. The contract of all backends has
//! what they share with the embedded server.

use std::{sync::Arc, thread, time::Instant};

use jiff::Timestamp;
use server::{
    Scope,
    access::{Caller, Role},
    store::{
        AccountError, Activity, Bytes, Download, Limited, NewToken, People, RateLimiter, Sessions,
        UPLOAD_ACCOUNT_BYTES, UPLOAD_BYTES, UploadStore, secrets::SESSIONS_OF_TOKEN,
    },
};
use skill::{Digest, Owner};
use web::{Client, ServerLimits};

use super::postgres::TestDatabase;
use crate::{
    PgActivity, PgPeople, PgRates, PgSessions, PgUploads,
    activity::sum_downloads,
    database::{Database, row, run},
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

fn execute(database: &Database, sql: &str) {
    database.read(async |client| Ok(run(client, sql, &[]).await?)).unwrap();
}

fn number(database: &Database, sql: &str) -> i64 {
    database.read(async |client| Ok(row(client, sql, &[]).await?.unwrap().try_get(0)?)).unwrap()
}

/// Adds a token that expires after 1,000 seconds, and returns its id and secret.
fn add_token(people: &PgPeople, name: &str, is_admin: bool) -> (String, String) {
    let new =
        NewToken { account: owner(name), scope: Scope::Publish, label: "ci".to_owned(), expires_at: Some(at(1000)) };
    let (token, secret) = people.add_token(&new, is_admin, &owner("root"), at(0)).unwrap();
    (token.id, secret)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn token_is_valid_on_every_replica_until_its_end() {
    let database = TestDatabase::new();
    let (people, other) = (PgPeople::new(database.open()), PgPeople::new(database.open()));
    let (id, secret) = add_token(&people, "ann", false);
    let caller = Caller::Account { name: owner("ann"), scope: Scope::Publish, is_admin: false };
    assert_eq!(other.caller(&secret, at(999)).unwrap(), Some(caller));
    assert_eq!(other.caller(&secret, at(1000)).unwrap(), None);
    assert_eq!(other.caller(&secret[..40], at(1)).unwrap(), None);
    let listed = &other.tokens(Some(&owner("ann"))).unwrap()[0];
    assert_eq!(listed.created_at, "2027-01-15T08:00:00Z");
    assert_eq!((listed.expires_at.as_deref(), listed.revoked_at.as_deref()), (Some("2027-01-15T08:16:40Z"), None));
    assert!(!people.revoke(&id, Some(&owner("bob")), at(2)).unwrap());
    assert!(people.revoke(&id, None, at(2)).unwrap() && !people.revoke(&id, None, at(3)).unwrap());
    assert_eq!(other.caller(&secret, at(3)).unwrap(), None);
    // An account that became an admin stays one.
    add_token(&people, "ann", true);
    let (_, later) = add_token(&people, "ann", false);
    assert!(matches!(other.caller(&later, at(1)).unwrap(), Some(Caller::Account { is_admin: true, .. })));
    assert!(matches!(other.signed_in(owner("ann"), at(1)).unwrap(), Caller::Account { is_admin: true, .. }));
    assert!(matches!(other.signed_in(owner("new"), at(1)).unwrap(), Caller::Account { is_admin: false, .. }));
    assert_eq!(number(&database.open(), "select count(*) from accounts where name in ('ann', 'new')"), 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn concurrent_removals_leave_a_maintainer() {
    let database = TestDatabase::new();
    let people = PgPeople::new(database.open());
    let names: Vec<String> = (0..8).map(|at| format!("member-{at}")).collect();
    names.iter().for_each(|name| drop(add_token(&people, name, false)));
    let acme = owner("acme");
    for _ in 0..5 {
        names.iter().for_each(|name| people.set_member(&acme, &owner(name), Role::Maintainer).unwrap());
        let removed = thread::scope(|scope| {
            let remove = |name: &String| {
                let (other, name) = (PgPeople::new(database.open()), owner(name));
                scope.spawn({
                    let acme = &acme;
                    move || other.remove_member(acme, &name)
                })
            };
            let running: Vec<_> = names.iter().map(remove).collect();
            running.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        let refused = removed.iter().filter(|one| matches!(one, Err(AccountError::LastMaintainer(_)))).count();
        assert_eq!((refused, people.members(&acme).unwrap().len()), (1, 1));
    }
    let unknown = people.set_member(&owner("free"), &owner("eve"), Role::Publisher);
    assert!(matches!(unknown, Err(AccountError::NoAccount(_))));
    assert!(!people.remove_member(&owner("free"), &owner("ann")).unwrap());
    assert_eq!(number(&database.open(), "select count(*) from owners where name = 'free'"), 0, "it is still free");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn sessions_end_with_their_token_and_are_bounded() {
    let database = TestDatabase::new();
    let (people, sessions, other) =
        (PgPeople::new(database.open()), PgSessions::new(database.open()), PgSessions::new(database.open()));
    let (id, secret) = add_token(&people, "ann", false);
    assert_eq!(sessions.begin("skh_unknown", at(0)).unwrap(), None);
    let begin = |second: i64| sessions.begin(&secret, at(second)).unwrap().unwrap();
    let first = begin(0);
    assert!(other.caller(&first, at(999)).unwrap().is_some() && other.caller(&first, at(1000)).unwrap().is_none());
    assert_eq!(other.caller(&secret, at(1)).unwrap(), None, "the token is not a session");
    let later: Vec<_> = (1..=SESSIONS_OF_TOKEN).map(begin).collect();
    assert_eq!(other.caller(&first, at(100)).unwrap(), None);
    assert!(later.iter().all(|name| other.caller(name, at(100)).unwrap().is_some()));
    sessions.end(&later[0]).unwrap();
    assert_eq!(other.caller(&later[0], at(100)).unwrap(), None);
    people.revoke(&id, None, at(100)).unwrap();
    assert_eq!(other.caller(&later[1], at(101)).unwrap(), None);
    assert_eq!(sessions.begin(&secret, at(101)).unwrap(), None);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn replicas_share_one_rate() {
    let database = TestDatabase::new();
    let limits = ServerLimits { sign_ins_per_minute: 6, ..ServerLimits::default() };
    let replicas: Vec<_> = (0..3).map(|_| PgRates::new(database.open(), &limits)).collect();
    let (client, now) = ("10.0.0.1".parse().unwrap(), Instant::now());
    let admitted = |kind| {
        let all = (0..6).flat_map(|_| &replicas).map(|one| one.admit(kind, client, now));
        all.filter(Result::is_ok).count()
    };
    assert_eq!((admitted(Limited::SignIn), admitted(Limited::AuditedFailure)), (6, 10));
    let other = "10.0.0.2".parse().unwrap();
    assert!(replicas[0].admit(Limited::SignIn, other, now).is_ok());
    let fresh = PgRates::new(database.open(), &limits);
    assert_eq!(fresh.admit(Limited::SignIn, client, now).unwrap_err().retry_after, 10);
    execute(&database.open(), "update buckets set at = at - interval '21 seconds'");
    assert!((0..2).all(|_| fresh.admit(Limited::SignIn, client, now).is_ok()), "it refills");
    assert!(fresh.admit(Limited::SignIn, client, now).is_err());
    // Without the database, each replica limits by itself.
    let alone = PgRates::new(database.open(), &limits);
    execute(&database.open(), "drop table buckets");
    assert_eq!((0..9).filter(|_| alone.admit(Limited::SignIn, client, now).is_ok()).count(), 6);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn uploads_expire_and_stay_within_limits() {
    let database = TestDatabase::new();
    let (uploads, other) = (PgUploads::new(database.open()), PgUploads::new(database.open()));
    let (ann, bob, now) = (owner("ann"), owner("bob"), Instant::now());
    let one = uploads.put(&ann, Bytes::from_static(b"one"), now).unwrap();
    assert_eq!(other.get(&ann, &one).unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(other.get(&bob, &one).unwrap(), None);
    let large = other.put(&ann, Bytes::from(vec![1; UPLOAD_ACCOUNT_BYTES]), now).unwrap();
    assert!(uploads.get(&ann, &one).unwrap().is_none() && uploads.get(&ann, &large).unwrap().is_some());
    uploads.evict(&ann, &[large]);
    assert_eq!(other.get(&ann, &large).unwrap(), None);
    let old = uploads.put(&bob, Bytes::from_static(b"old"), now).unwrap();
    execute(&database.open(), "update uploads set at = at - interval '15 minutes'");
    assert_eq!(other.get(&bob, &old).unwrap(), None);
    for account in ["a", "b", "c", "d", "e"] {
        uploads.put(&owner(account), Bytes::from(vec![2; UPLOAD_ACCOUNT_BYTES]), now).unwrap();
    }
    let held = number(&database.open(), "select sum(octet_length(bytes))::bigint from uploads");
    assert_eq!(held, i64::try_from(UPLOAD_BYTES).unwrap());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn downloads_and_stars_of_replicas_add_up() {
    let database = TestDatabase::new();
    let execute = |sql: &str| execute(&database.open(), sql);
    let digest = Digest::of_bytes(b"content");
    execute("insert into skills (owner, name, path, newest) values ('ann', 'notes', 'no/te/notes/ann', '{}')");
    execute(&format!(
        "insert into releases (skill, position, version, version_key, digest, published_at, line)
         select id, 0, '1.0.0', '1.0.0', '{digest}', now(), '' from skills"
    ));
    let today = Timestamp::now().strftime("%Y-%m-%d").to_string();
    let replicas: Vec<_> = (0..4).map(|_| Arc::new(PgActivity::new(database.open()))).collect();
    let by_digest =
        Download { skill: String::new(), version: String::new(), digest, account: String::new(), day: today.clone() };
    let named = Download {
        skill: "ann/notes".to_owned(),
        version: "1.0.0".to_owned(),
        account: "bob".to_owned(),
        ..by_digest.clone()
    };
    thread::scope(|scope| {
        for (at, replica) in replicas.iter().enumerate() {
            let downloads = [&by_digest, &by_digest, &named];
            scope.spawn(move || {
                downloads.iter().for_each(|one| replica.count((*one).clone(), Client::default()));
                replica.write_downloads().unwrap();
                assert!(replica.set_star("ann/notes", &owner(&format!("fan-{at}")), true).unwrap() > 0);
            });
        }
    });
    let activity = &replicas[0];
    assert_eq!(activity.by_version("ann/notes").unwrap().into_iter().collect::<Vec<_>>(), [("1.0.0".to_owned(), 8)]);
    assert_eq!(activity.by_day("ann/notes", "2026-01-01").unwrap(), [(today, 8)]);
    assert!(activity.by_day("ann/notes", "9999-01-01").unwrap().is_empty());
    let accounts: Vec<_> =
        activity.downloaders(&digest).unwrap().into_iter().map(|one| (one.account, one.count)).collect();
    assert_eq!(accounts, [(None, 4), (Some("bob".to_owned()), 4)]);
    sum_downloads(&database.open()).unwrap();
    assert_eq!(number(&database.open(), "select downloads from skills"), 8);
    assert_eq!(number(&database.open(), "select stars from skills"), 4);
    assert_eq!(activity.set_star("ann/notes", &owner("fan-1"), false).unwrap(), 3);
    // An unknown content counts for nothing, and an unknown skill has no stars to keep.
    activity.count(Download { digest: Digest::of_bytes(b"other"), ..by_digest }, Client::default());
    activity.write_downloads().unwrap();
    assert_eq!(activity.set_star("ann/none", &owner("bob"), true).unwrap(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn downloads_wait_for_the_database() {
    let database = TestDatabase::new();
    let activity = PgActivity::new(database.open());
    let download = Download {
        skill: "ann/notes".to_owned(),
        version: "1.0.0".to_owned(),
        digest: Digest::of_bytes(b"content"),
        account: String::new(),
        day: "2027-01-15".to_owned(),
    };
    activity.count(download, Client::default());
    execute(&database.open(), "alter table downloads rename to gone");
    assert!(activity.write_downloads().is_err());
    execute(&database.open(), "alter table gone rename to downloads");
    activity.write_downloads().unwrap();
    assert_eq!(activity.by_version("ann/notes").unwrap().values().sum::<u64>(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn report_is_decided_once() {
    let database = TestDatabase::new();
    let activity = PgActivity::new(database.open());
    let report = activity.report("ann/notes", "1.0.0", "odd", &owner("bob"), at(0)).unwrap();
    assert_eq!((report.created_at.as_str(), report.decision.as_deref()), ("2027-01-15T08:00:00Z", None));
    assert_eq!(activity.reports(true).unwrap(), std::slice::from_ref(&report));
    let decided: Vec<_> = thread::scope(|scope| {
        let decide = |_| {
            let (other, id) = (PgActivity::new(database.open()), report.id);
            scope.spawn(move || other.decide(id, "upheld", &owner("root"), "spam", at(5)).unwrap())
        };
        let running: Vec<_> = (0..4).map(decide).collect();
        running.into_iter().filter_map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(decided.len(), 1);
    assert_eq!((activity.reports(true).unwrap().len(), activity.reports(false).unwrap()), (0, decided));
    activity.note(None, at(6), "failed sign-in", "10.0.0.1", "token").unwrap();
    let lines = activity.audit(None).unwrap();
    let actions: Vec<_> = lines.iter().map(|line| (line.account.as_str(), line.action.as_str())).collect();
    assert_eq!(actions, [("", "failed sign-in"), ("root", "report upheld")]);
    assert_eq!(activity.audit(Some(lines[0].id)).unwrap(), lines[1..]);
}
