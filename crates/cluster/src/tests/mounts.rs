//! Tests of a folder of archives that is not mounted, or not that of the index.
#![expect(clippy::disallowed_methods, reason = "tests replace folders of their own")]

use std::{fs, path::PathBuf};

use server::store::{
    Stores,
    contract::{now, publish},
};
use skill::{Owner, failure::Fails};
use web::ServerLimits;

use super::{contract::TestEngines, projection::settings};
use crate::{Engines, EnginesError, check, claim::ClaimError, objects::MARKER};

/// Engines with a folder of archives that can be unmounted.
struct Mount {
    engines: TestEngines,
    folder: PathBuf,
    away: PathBuf,
}

impl Mount {
    fn new() -> Self {
        let engines = TestEngines::new();
        let folder = engines.folder.path().join("archives");
        fs::create_dir(&folder).unwrap();
        Self { away: engines.folder.path().join("away"), engines, folder }
    }

    fn open(&self) -> Engines {
        let mut settings = settings(&self.engines, None, self.engines.folder.path());
        settings.objects.location = self.folder.to_str().unwrap().to_owned();
        Engines::open(settings).unwrap()
    }

    fn stores(&self) -> Result<Stores, EnginesError> {
        self.open().stores(&ServerLimits::default(), true)
    }

    /// Leaves an empty mount point.
    fn unmount(&self) {
        fs::rename(&self.folder, &self.away).unwrap();
        fs::create_dir(&self.folder).unwrap();
    }

    fn mount(&self) {
        fs::remove_dir(&self.folder).expect("nothing is written to the mount point");
        fs::rename(&self.away, &self.folder).unwrap();
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unmounted_folder_is_refused_at_start() {
    let mount = Mount::new();
    publish(&mount.stores().unwrap(), "ann/notes@1.0.0", "one").unwrap();
    let marker = fs::read_to_string(mount.folder.join(MARKER)).unwrap();
    assert_eq!(marker.trim().len(), 36, "{marker}");
    mount.unmount();
    let refused = mount.stores().map(drop).unwrap_err();
    assert!(matches!(&refused, EnginesError::Claim(ClaimError::NotMounted { .. })), "{refused}");
    let (text, hint) = (refused.to_string(), format!("{:?}", refused.failure().hint));
    assert!(text.contains(mount.folder.to_str().unwrap()) && hint.contains(marker.trim()), "{text} {hint}");
    assert!(check::check(&mount.open()).unwrap_err().to_string().contains("is not mounted"));
    mount.mount();
    mount.stores().unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn replica_without_its_mount_is_not_ready() {
    let mount = Mount::new();
    let stores = mount.stores().unwrap();
    let kept = publish(&stores, "ann/notes@1.0.0", "one").unwrap().entry().clone();
    // Another replica has not read the archive yet.
    let other = mount.stores().unwrap();
    stores.releases.check_readiness().unwrap();
    mount.unmount();
    let why = format!("{:?}", stores.releases.check_readiness().unwrap_err());
    assert!(why.contains("is not mounted"), "{why}");
    assert!(publish(&stores, "ann/notes@1.1.0", "two").is_err());
    assert!(other.blobs.get(&kept.digest).unwrap_err().to_string().contains("is not mounted"));
    stores
        .releases
        .set_flag(&kept, server::store::Flag::Withdrawn("a secret"), &Owner::parse("root").unwrap(), now())
        .unwrap();
    mount.mount();
    stores.releases.check_readiness().unwrap();
    publish(&stores, "ann/notes@1.1.0", "two").unwrap();
    assert!(mount.open().objects.has(&kept.digest).unwrap(), "the leader removes it later");
    stores.releases.tidy(&|| true).unwrap();
    assert!(!mount.open().objects.has(&kept.digest).unwrap());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn folder_of_an_earlier_version_is_marked() {
    let mount = Mount::new();
    publish(&mount.stores().unwrap(), "ann/notes@1.0.0", "one").unwrap();
    let marker = mount.folder.join(MARKER);
    fs::remove_file(&marker).unwrap();
    assert_eq!(check::check(&mount.open()).unwrap().faults, [] as [&str; 0]);
    assert!(!marker.exists(), "a check writes nothing");
    mount.stores().unwrap();
    assert!(marker.exists());
    let other = Mount::new();
    other.stores().unwrap();
    fs::copy(&marker, other.folder.join(MARKER)).unwrap();
    let refused = other.stores().map(drop).unwrap_err();
    assert!(matches!(refused, EnginesError::Claim(ClaimError::OtherIndex { .. })), "{refused}");
}
