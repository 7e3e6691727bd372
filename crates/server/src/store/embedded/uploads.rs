//! Files that clients send one by one before they publish the release ([`Uploads`]).
//!
//! The files are only in memory. A client whose files were lost in a restart sends them again.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use axum::body::Bytes;
use skill::{Digest, Owner};

use crate::store::{StoreError, UPLOAD_ACCOUNT_BYTES, UPLOAD_BYTES, UPLOAD_TIME, UploadStore};

/// The uploaded files, oldest first.
#[derive(Debug, Default)]
pub struct Uploads(Mutex<VecDeque<Upload>>);

#[derive(Debug)]
struct Upload {
    account: Owner,
    digest: Digest,
    bytes: Bytes,
    at: Instant,
}

impl UploadStore for Uploads {
    fn put(&self, account: &Owner, bytes: Bytes, now: Instant) -> Result<Digest, StoreError> {
        let digest = Digest::of_bytes(&bytes);
        let mut files = self.files();
        files.retain(|file| {
            now.duration_since(file.at) < UPLOAD_TIME && (file.account != *account || file.digest != digest)
        });
        files.push_back(Upload { account: account.clone(), digest, bytes, at: now });
        while held(&files, Some(account)) > UPLOAD_ACCOUNT_BYTES {
            if let Some(oldest) = files.iter().position(|file| file.account == *account) {
                files.remove(oldest);
            }
        }
        while held(&files, None) > UPLOAD_BYTES {
            files.pop_front();
        }
        Ok(digest)
    }

    fn get(&self, account: &Owner, digest: &Digest) -> Result<Option<Bytes>, StoreError> {
        let files = self.files();
        let found = files.iter().find(|file| file.account == *account && file.digest == *digest);
        Ok(found.map(|file| file.bytes.clone()))
    }

    fn evict(&self, account: &Owner, digests: &[Digest]) {
        self.files().retain(|file| file.account != *account || !digests.contains(&file.digest));
    }
}

impl Uploads {
    fn files(&self) -> MutexGuard<'_, VecDeque<Upload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn held(files: &VecDeque<Upload>, account: Option<&Owner>) -> usize {
    let of = files.iter().filter(|file| account.is_none_or(|account| file.account == *account));
    of.map(|file| file.bytes.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_expire_and_stay_within_limits() {
        let (uploads, now) = (Uploads::default(), Instant::now());
        let (ann, bob) = (Owner::parse("ann").unwrap(), Owner::parse("bob").unwrap());
        let one = uploads.put(&ann, Bytes::from_static(b"one"), now).unwrap();
        assert_eq!(uploads.get(&ann, &one).unwrap().as_deref(), Some(&b"one"[..]));
        assert_eq!(uploads.get(&bob, &one).unwrap(), None);
        let large = uploads.put(&ann, Bytes::from(vec![1; UPLOAD_ACCOUNT_BYTES]), now).unwrap();
        assert!(uploads.get(&ann, &one).unwrap().is_none() && uploads.get(&ann, &large).unwrap().is_some());
        uploads.evict(&ann, &[large]);
        assert_eq!(uploads.get(&ann, &large).unwrap(), None);
        let old = uploads.put(&bob, Bytes::from_static(b"old"), now).unwrap();
        uploads.put(&ann, Bytes::from_static(b"new"), now + UPLOAD_TIME).unwrap();
        assert_eq!(uploads.get(&bob, &old).unwrap(), None);
        for account in ["a", "b", "c", "d", "e"] {
            uploads
                .put(&Owner::parse(account).unwrap(), Bytes::from(vec![2; UPLOAD_ACCOUNT_BYTES]), now + UPLOAD_TIME)
                .unwrap();
        }
        assert!(held(&uploads.files(), None) <= UPLOAD_BYTES);
    }
}
