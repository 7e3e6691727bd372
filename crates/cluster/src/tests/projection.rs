//! Tests of the background work, over PostgreSQL and git.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use git2::{Repository, RepositoryInitOptions, Sort};
use registry_index::Index;
use server::store::{
    Bytes, Flag,
    contract::{now, publish},
};
use skill::{Digest, Owner};
use tempfile::TempDir;

use super::contract::TestEngines;
use crate::{
    EngineSettings, Engines, ObjectSettings, check,
    database::{Database, rows},
    engines::config_text,
    projection::{Projection, commits::Commits},
};

const ARCHIVES: &str = "https://skills.example.org/index/bundles/{hex:0:2}/{hex:2:4}/{hex}.skill";

/// A bare repository that follows an index.
pub struct Remote(TempDir);

impl Remote {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Repository::init_opts(folder.path(), RepositoryInitOptions::new().bare(true).initial_head("main")).unwrap();
        Self(folder)
    }

    pub fn url(&self) -> String {
        self.0.path().to_str().unwrap().to_owned()
    }

    /// Ids and subjects of all commits, oldest first.
    pub fn commits(&self) -> Vec<(String, String)> {
        let repo = Repository::open_bare(self.0.path()).unwrap();
        let mut walk = repo.revwalk().unwrap();
        walk.push_head().unwrap();
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE).unwrap();
        let commit = |id| repo.find_commit(id).unwrap();
        walk.map(|id| commit(id.unwrap()))
            .map(|commit| (commit.id().to_string(), commit.summary().unwrap().unwrap_or_default().to_owned()))
            .collect()
    }

    fn subjects(&self) -> Vec<String> {
        self.commits().into_iter().map(|(_, subject)| subject).collect()
    }
}

/// Settings of a replica over test engines, with a folder for its caches.
pub fn settings(engines: &TestEngines, remote: Option<&Remote>, folder: &Path) -> EngineSettings {
    EngineSettings {
        database: engines.database.address.clone(),
        objects: ObjectSettings {
            location: engines.folder.path().to_str().unwrap().to_owned(),
            ..ObjectSettings::default()
        },
        index_remote: remote.map(Remote::url),
        archives_url: remote.map(|_| ARCHIVES.to_owned()),
        folder: folder.to_owned(),
        ..EngineSettings::default()
    }
}

/// The background work of a replica with an empty folder.
pub struct Worker {
    projection: Projection,
    _folder: TempDir,
}

impl Worker {
    pub fn new(engines: &TestEngines, remote: &Remote) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let commits = Commits::open(&folder.path().join("git"), &remote.url(), config_text(Some(ARCHIVES))).unwrap();
        let projection = Projection::new(engines.database.open(), engines.objects(), Some(commits));
        Self { projection, _folder: folder }
    }

    fn leads(&self) -> bool {
        self.projection.gauges().unwrap().iter().any(|gauge| gauge.name.ends_with("_leader") && gauge.value > 0.0)
    }

    /// Works until this replica leads: the lock of an ended session is free a moment later.
    pub fn lead(&self) {
        let end = Instant::now() + Duration::from_secs(10);
        while !self.leads() && Instant::now() < end {
            self.projection.pass(&|| true).unwrap();
        }
        assert!(self.leads());
    }

    /// Works until this replica fails as the leader, and returns the cause.
    fn fails(&self) -> String {
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            if let Err(error) = self.projection.pass(&|| true) {
                return error.details["log"].as_str().unwrap_or_default().to_owned();
            }
        }
        panic!("it does not fail");
    }
}

pub fn run(database: &Database, sql: &str) {
    database.read(async |client| Ok(client.batch_execute(sql).await?)).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn successor_continues_with_equal_commits() {
    let (engines, remote) = (TestEngines::new(), Remote::new());
    let (stores, database) = (engines.open(), engines.database.open());
    publish(&stores, "ann/notes@1.0.0", "one").unwrap();
    publish(&stores, "bob/notes@1.0.0", "two").unwrap();
    let first = Worker::new(&engines, &remote);
    first.lead();
    assert_eq!(remote.subjects(), ["create the index", "ann/notes 1.0.0", "bob/notes 1.0.0"]);
    let second = Worker::new(&engines, &remote);
    let entry = publish(&stores, "ann/notes@1.1.0", "three").unwrap().entry().clone();
    second.projection.pass(&|| true).unwrap();
    assert!(!second.leads() && remote.commits().len() == 3, "there is one leader");
    first.projection.pass(&|| true).unwrap();
    drop(first);
    // As after a kill between the push and the record of it.
    run(
        &database,
        "update events set commit_id = null where seq > 2; update projections set seq = 2, commit_id =
        (select commit_id from events where seq = 2)",
    );
    let head = remote.commits();
    stores.releases.set_flag(&entry, Flag::Yanked(Some("broken")), &Owner::parse("ann").unwrap(), now()).unwrap();
    second.lead();
    let all = remote.commits();
    assert_eq!((&all[..4], all[4].1.as_str(), all.len()), (&head[..], "yank ann/notes 1.1.0", 5));
    drop(second);
    let rebuilt = Remote::new();
    let third = Worker::new(&engines, &rebuilt);
    third.lead();
    assert_eq!(rebuilt.commits(), all, "a repository that was lost is made again");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn files_of_git_are_those_of_the_rows() {
    let (engines, remote, folder) = (TestEngines::new(), Remote::new(), tempfile::tempdir().unwrap());
    let stores = engines.open();
    for at in 0..5 {
        publish(&stores, &format!("ann/notes@1.{at}.0"), &at.to_string()).unwrap();
    }
    Worker::new(&engines, &remote).lead();
    let opened = Engines::open(settings(&engines, Some(&remote), folder.path())).unwrap();
    let report = check::check(&opened).unwrap();
    assert_eq!((report.releases, report.archives, report.files), (5, 5, Some(2)));
    assert_eq!(report.faults, [] as [&str; 0]);
    assert_eq!(Index::open(Path::new(&remote.url())).unwrap().verify().unwrap(), []);
    run(&opened.database, "update releases set line = replace(line, 'Takes', 'Took') where position = 2");
    let lost = stores.releases.of_skill(&"ann/notes".parse().unwrap()).unwrap()[0].digest;
    opened.objects.remove(&lost).unwrap();
    let faults = check::check(&opened).unwrap().faults;
    assert!(faults.len() == 2 && faults[0].contains("no/te/notes/ann") && faults[1].contains(&lost.to_string()));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn releases_lost_by_failover_are_adopted() {
    let (engines, remote, folder) = (TestEngines::new(), Remote::new(), tempfile::tempdir().unwrap());
    let (stores, database) = (engines.open(), engines.database.open());
    publish(&stores, "ann/notes@1.0.0", "one").unwrap();
    Worker::new(&engines, &remote).lead();
    publish(&stores, "bob/notes@1.0.0", "two").unwrap();
    Worker::new(&engines, &remote).lead();
    run(
        &database,
        "delete from events where seq = 3; delete from links; delete from archives where digest in (
            select digest from releases join skills on skill = id where owner = 'bob');
        delete from releases where skill = (select id from skills where owner = 'bob');
        delete from skills where owner = 'bob'; delete from owners where name = 'bob';
        update projections set seq = 2, commit_id = (select commit_id from events where seq = 2)",
    );
    publish(&stores, "cid/notes@1.0.0", "three").unwrap();
    let before = remote.commits();
    assert!(Worker::new(&engines, &remote).fails().contains("is ahead of the database"));
    let opened = Engines::open(settings(&engines, Some(&remote), folder.path())).unwrap();
    assert!(check::check(&opened).unwrap().faults[0].contains("--adopt"));
    assert_eq!(check::adopt(&opened).unwrap(), 1);
    assert_eq!(check::adopt(&opened).unwrap(), 0);
    let bob = stores.releases.of_skill(&"bob/notes".parse().unwrap()).unwrap();
    assert!(stores.blobs.get(&bob[0].digest).unwrap().is_some());
    Worker::new(&engines, &remote).lead();
    let after = remote.commits();
    assert_eq!((&after[..3], after[3].1.as_str()), (&before[..], "cid/notes 1.0.0"));
    assert_eq!(check::check(&opened).unwrap().faults, [] as [&str; 0]);
}

#[test]
#[ignore = "needs PostgreSQL"]
#[expect(clippy::disallowed_methods, reason = "the test moves a repository of its own away")]
fn leader_stays_while_git_host_is_away() {
    let (engines, remote) = (TestEngines::new(), Remote::new());
    let stores = engines.open();
    let worker = Worker::new(&engines, &remote);
    worker.lead();
    let (there, away) = (PathBuf::from(remote.url()), PathBuf::from(format!("{}-away", remote.url())));
    fs::rename(&there, &away).unwrap();
    publish(&stores, "ann/notes@1.0.0", "one").unwrap();
    assert!(!worker.fails().is_empty());
    assert!(worker.leads());
    let other = Worker::new(&engines, &remote);
    other.projection.pass(&|| true).unwrap();
    assert!(!other.leads());
    fs::rename(&away, &there).unwrap();
    drop(worker);
    other.lead();
    assert_eq!(remote.subjects().last().unwrap(), "ann/notes 1.0.0");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unneeded_archives_go_after_a_day() {
    let (engines, remote) = (TestEngines::new(), Remote::new());
    let (stores, database, objects) = (engines.open(), engines.database.open(), engines.objects());
    let kept = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().digest;
    let [old, new] = [b"old", b"new"].map(|bytes| {
        let digest = Digest::of_bytes(bytes);
        objects.put(&digest, &Bytes::from_static(bytes)).unwrap();
        run(
            &database,
            &format!("insert into archives (digest, sha256, size, state) values ('{digest}', '', 3, 'pending')"),
        );
        digest
    });
    run(&database, &format!("update archives set touched_at = now() - interval '25 hours' where digest <> '{new}'"));
    Worker::new(&engines, &remote).lead();
    assert_eq!([old, new, kept].map(|digest| objects.has(&digest).unwrap()), [false, true, true]);
    let states = database.read(async |client| {
        let found = rows(client, "select state from archives order by state", &[]).await?;
        Ok(found.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?)
    });
    assert_eq!(states.unwrap(), ["pending", "removed", "stored"]);
}
