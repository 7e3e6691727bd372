//! The contract of the stores, over PostgreSQL and a folder of archives.

use std::sync::Arc;

use registry_index::Config;
use server::store::{Stores, contract::Backend};
use tempfile::TempDir;
use web::ServerLimits;

use super::postgres::{TestDatabase, background};
use crate::{
    ObjectSettings, Objects, PgActivity, PgCatalogue, PgPeople, PgRates, PgSessions, PgUploads, StoredBlobs,
    releases::PgReleases,
};

/// A database and a folder of archives, which several replicas share.
pub struct TestEngines {
    pub database: TestDatabase,
    pub folder: TempDir,
}

impl TestEngines {
    pub fn new() -> Self {
        Self { database: TestDatabase::new(), folder: tempfile::tempdir().unwrap() }
    }

    pub fn objects(&self) -> Arc<Objects> {
        let location = self.folder.path().to_str().unwrap().to_owned();
        let settings = ObjectSettings { location, ..ObjectSettings::default() };
        Arc::new(Objects::open(&settings, background()).unwrap())
    }

    /// Opens the stores, as each replica does.
    pub fn open(&self) -> Stores {
        let (database, objects) = (self.database.open(), self.objects());
        let releases = PgReleases::new(Arc::clone(&database), Arc::clone(&objects), Config::fresh()).unwrap();
        Stores {
            releases: Box::new(releases),
            blobs: Box::new(StoredBlobs::new(Arc::clone(&database), objects)),
            catalogue: Box::new(PgCatalogue::new(Arc::clone(&database))),
            people: Box::new(PgPeople::new(Arc::clone(&database))),
            sessions: Box::new(PgSessions::new(Arc::clone(&database))),
            activity: Box::new(PgActivity::new(Arc::clone(&database))),
            rates: Box::new(PgRates::new(Arc::clone(&database), &ServerLimits::default())),
            uploads: Box::new(PgUploads::new(database)),
        }
    }
}

fn over_cluster(test: impl Fn(&Backend<'_>)) {
    let engines = TestEngines::new();
    test(&Backend { open: &|| engines.open(), caches_files: false });
}

server::contract_tests!(over_cluster, ignore = "needs PostgreSQL");
