//! [`PgUploads`]: files that clients send one by one before they publish the release, for every replica.

use std::{sync::Arc, time::Instant};

use server::store::{Bytes, StoreError, UPLOAD_ACCOUNT_BYTES, UPLOAD_BYTES, UPLOAD_TIME, UploadStore};
use skill::{Digest, Owner};

use crate::database::{Abort, Database, DatabaseError, row, run};

/// Removes the oldest files beyond a number of bytes, of one account or of all.
const TRIM: &str = "
    delete from uploads u using (
        select account, digest, sum(octet_length(bytes)) over (order by at desc, account, digest) as bytes
        from uploads where $1::text is null or account = $1) newer
    where u.account = newer.account and u.digest = newer.digest and newer.bytes > $2::bigint";

/// The uploaded files. They may be lost in a crash of the database; a client then sends them again.
pub struct PgUploads {
    database: Arc<Database>,
}

impl PgUploads {
    /// Creates the store on a database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl UploadStore for PgUploads {
    fn put(&self, account: &Owner, bytes: Bytes, _: Instant) -> Result<Digest, StoreError> {
        let (digest, content): (Digest, &[u8]) = (Digest::of_bytes(&bytes), &bytes);
        let (account, text, most_seconds) = (account.as_str(), digest.to_string(), UPLOAD_TIME.as_secs_f64());
        let stored = self.database.transaction(async |write| -> Result<(), Abort<DatabaseError>> {
            // The clock is the database's: replicas may differ.
            let sql = "delete from uploads where at <= clock_timestamp() - make_interval(secs => $1)";
            run(write, sql, &[&most_seconds]).await?;
            let sql = "insert into uploads (account, digest, bytes, at) values ($1, $2, $3, clock_timestamp())
                       on conflict (account, digest) do update set at = excluded.at";
            run(write, sql, &[&account, &text, &content]).await?;
            run(write, TRIM, &[&Some(account), &stored(UPLOAD_ACCOUNT_BYTES)]).await?;
            run(write, TRIM, &[&None::<&str>, &stored(UPLOAD_BYTES)]).await?;
            Ok(())
        });
        stored?;
        Ok(digest)
    }

    fn get(&self, account: &Owner, digest: &Digest) -> Result<Option<Bytes>, StoreError> {
        let (text, most_seconds) = (digest.to_string(), UPLOAD_TIME.as_secs_f64());
        let sql = "select bytes from uploads where account = $1 and digest = $2
                   and at > clock_timestamp() - make_interval(secs => $3)";
        Ok(self.database.read(async |client| {
            let found = row(client, sql, &[&account.as_str(), &text, &most_seconds]).await?;
            Ok(found.map(|found| found.try_get::<_, Vec<u8>>(0)).transpose()?.map(Bytes::from))
        })?)
    }

    fn evict(&self, account: &Owner, digests: &[Digest]) {
        let digests: Vec<String> = digests.iter().map(ToString::to_string).collect();
        let sql = "delete from uploads where account = $1 and digest = any ($2)";
        let evicted = self.database.transaction(async |write| -> Result<u64, Abort<DatabaseError>> {
            Ok(run(write, sql, &[&account.as_str(), &digests]).await?)
        });
        // A file that remains expires.
        drop(evicted);
    }
}

fn stored(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
