//! Tests of the archives in a folder, and in a bucket that fails.
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::time::Instant;

use super::*;
use crate::tests::{
    buckets::{
        Fault::{self, *},
        FaultyBucket,
    },
    postgres::background,
};

const BYTES: &[u8] = b"the bytes of an archive";

fn in_folder(path: &std::path::Path) -> Objects {
    let settings = ObjectSettings { location: path.to_str().unwrap().to_owned(), ..ObjectSettings::default() };
    Objects::open(&settings, background()).unwrap()
}

/// Opens a bucket with short time limits.
fn in_bucket(bucket: &FaultyBucket, prefix: &str) -> Objects {
    let limits = ObjectLimits {
        attempt_time: Duration::from_millis(700),
        total_time: Duration::from_secs(4),
        ..ObjectLimits::default()
    };
    let location = format!("s3://{}/{prefix}", bucket.name);
    let settings = ObjectSettings { location, endpoint: Some(bucket.endpoint.clone()), region: None, limits };
    Objects::open_as(&settings, background(), with_keys()).unwrap()
}

fn with_keys() -> AmazonS3Builder {
    AmazonS3Builder::new().with_access_key_id("key").with_secret_access_key("secret")
}

/// The digest of some content, and the hash of the archive.
fn digests() -> (Digest, Digest) {
    (Digest::of_bytes(b"content"), Digest::of_bytes(BYTES))
}

fn reason(error: &StoreError) -> String {
    assert!(error.0.is::<Unavailable>(), "{error}");
    error.to_string()
}

/// Stores, reads and removes an archive.
fn check_cycle(objects: &Objects) {
    let (digest, archive) = digests();
    assert!(!objects.has(&digest).unwrap());
    for _ in 0..2 {
        objects.put(&digest, &Bytes::from_static(BYTES)).unwrap();
    }
    assert!(objects.has(&digest).unwrap());
    assert_eq!(objects.get(&digest, &archive).unwrap(), BYTES);
    assert!(reason(&objects.get(&digest, &digest).unwrap_err()).contains("not that of the release"));
    for _ in 0..2 {
        objects.remove(&digest).unwrap();
    }
    assert!(!objects.has(&digest).unwrap());
    reason(&objects.get(&digest, &archive).unwrap_err());
}

#[test]
fn folder_holds_archives_at_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let objects = in_folder(folder.path());
    check_cycle(&objects);
    let (digest, archive) = digests();
    objects.put(&digest, &Bytes::from_static(BYTES)).unwrap();
    let hex = digest.hex();
    let path = folder.path().join(format!("bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]));
    assert_eq!(std::fs::read(&path).unwrap(), BYTES);
    let most = objects.limits.archive_bytes;
    std::fs::File::create(&path).unwrap().set_len(most + 1).unwrap();
    assert!(reason(&objects.get(&digest, &archive).unwrap_err()).contains("more than an archive may have"));
}

#[test]
fn unusable_locations_are_refused() {
    let opened = |location: &str, endpoint: Option<&str>, builder: AmazonS3Builder| {
        let endpoint = endpoint.map(str::to_owned);
        let settings = ObjectSettings { location: location.to_owned(), endpoint, ..ObjectSettings::default() };
        Objects::open_as(&settings, background(), builder).map(drop)
    };
    for location in ["", "archives", "./archives", "s3://", "s3:///prefix", "http://127.0.0.1/x", &"/".repeat(2000)] {
        let refused = opened(location, None, with_keys());
        assert!(matches!(refused, Err(OpenObjectsError::Location)), "{location}: {refused:?}");
    }
    let refused = opened("/does/not/exist", None, with_keys()).unwrap_err().to_string();
    assert!(refused.contains("/does/not/exist"), "{refused}");
    for endpoint in ["http://s3.example.org", "http://127.0.0.1.example.org", "ftp://127.0.0.1"] {
        let refused = opened("s3://skills/hub", Some(endpoint), with_keys());
        assert!(matches!(refused, Err(OpenObjectsError::Plain(_))), "{endpoint}: {refused:?}");
    }
    let refused = opened("s3://skills/hub", None, AmazonS3Builder::new());
    assert!(matches!(refused, Err(OpenObjectsError::NoKeys)), "{refused:?}");
    opened("s3://skills/hub", Some("https://s3.example.org"), with_keys()).unwrap();
}

#[test]
#[ignore = "needs moto"]
fn bucket_holds_archives_below_its_prefix() {
    let bucket = FaultyBucket::new();
    check_cycle(&in_bucket(&bucket, "hub"));
    let (digest, archive) = digests();
    in_bucket(&bucket, "hub").put(&digest, &Bytes::from_static(BYTES)).unwrap();
    assert!(!in_bucket(&bucket, "").has(&digest).unwrap());
    assert_eq!(in_bucket(&bucket, "hub/").get(&digest, &archive).unwrap(), BYTES);
    let large = Bytes::from(vec![7; 20 << 20]);
    let digest = Digest::of_bytes(b"large");
    in_bucket(&bucket, "").put(&digest, &large).unwrap();
    assert_eq!(in_bucket(&bucket, "").get(&digest, &Digest::of_bytes(&large)).unwrap(), large);
}

#[test]
#[ignore = "needs moto"]
fn two_faults_are_survived_and_three_are_not() {
    let bucket = FaultyBucket::new();
    let objects = in_bucket(&bucket, "hub");
    let (digest, archive) = digests();
    let bytes = Bytes::from_static(BYTES);
    let read: &[Fault] = &[Broken, Lost, Hangs, Cut, CutAnswer, Garbled];
    objects.put(&digest, &bytes).unwrap();
    for fault in read {
        bucket.fail(&[*fault; 2]);
        assert_eq!(objects.get(&digest, &archive).unwrap(), BYTES, "{fault:?}");
        assert_eq!(bucket.requests(), 3, "{fault:?}");
        bucket.fail(&[*fault; 3]);
        let began = Instant::now();
        reason(&objects.get(&digest, &archive).unwrap_err());
        assert!(bucket.requests() == 3 && began.elapsed() < objects.limits.total_time, "{fault:?}");
    }
    for fault in [Broken, Hangs, Cut, CutAnswer] {
        bucket.fail(&[fault; 2]);
        objects.put(&digest, &bytes).unwrap();
        bucket.fail(&[fault; 3]);
        reason(&objects.put(&digest, &bytes).unwrap_err());
        bucket.fail(&[fault; 3]);
        reason(&objects.has(&digest).unwrap_err());
    }
    bucket.fail(&[]);
    assert_eq!(objects.get(&digest, &archive).unwrap(), BYTES);
}

#[test]
#[ignore = "needs moto"]
fn unreachable_bucket_fails_within_its_limit() {
    let mut bucket = FaultyBucket::new();
    // Nobody listens at port 1.
    bucket.endpoint = "http://127.0.0.1:1".to_owned();
    let (objects, (digest, _)) = (in_bucket(&bucket, "hub"), digests());
    let began = Instant::now();
    reason(&objects.put(&digest, &Bytes::from_static(BYTES)).unwrap_err());
    assert!(began.elapsed() < Duration::from_secs(3));
}
