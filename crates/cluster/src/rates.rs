//! [`PgRates`]: rate limits that all replicas share.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use server::store::{
    Limited, RateLimiter, TooMany,
    rate::{Rates, per_minute},
};
use web::ServerLimits;

use crate::database::{Database, DatabaseError, row, run};

/// Requests of this replica after which buckets that are full again are removed.
const TIDIED_EACH: u64 = 1000;

/// Takes a token from a bucket, which is full after a minute; returns no row if it is empty. The clock is the database's.
const TAKE: &str = "
    insert into buckets as b (key, tokens, at) values ($1, $2::float8 - 1, clock_timestamp())
    on conflict (key) do update set at = clock_timestamp(),
        tokens = least($2, b.tokens + extract(epoch from clock_timestamp() - b.at)::float8 * $2 / 60) - 1
    where least($2, b.tokens + extract(epoch from clock_timestamp() - b.at)::float8 * $2 / 60) >= 1
    returning 1";

/// Token buckets in the database. Each replica asks its own buckets first, which hold as many tokens. So a client that
/// one replica refuses costs the database nothing, and limits remain while the database does not answer.
pub struct PgRates {
    database: Arc<Database>,
    limits: ServerLimits,
    own: Rates,
    asked: AtomicU64,
}

impl PgRates {
    /// Creates the rate limits of a server.
    pub fn new(database: Arc<Database>, limits: &ServerLimits) -> Self {
        Self { database, limits: limits.clone(), own: Rates::new(limits), asked: AtomicU64::default() }
    }

    /// Takes a token from the shared bucket of a client. Returns `false` if it is empty.
    fn take(&self, kind: Limited, client: IpAddr, most: f64) -> Result<bool, DatabaseError> {
        let key = format!("{kind:?} {client}");
        let is_time_to_tidy = self.asked.fetch_add(1, Ordering::Relaxed) % TIDIED_EACH == TIDIED_EACH - 1;
        self.database.read(async |client| {
            if is_time_to_tidy {
                run(client, "delete from buckets where at < now() - interval '1 minute'", &[]).await?;
            }
            Ok(row(client, TAKE, &[&key, &most]).await?.is_some())
        })
    }
}

impl RateLimiter for PgRates {
    fn admit(&self, kind: Limited, client: IpAddr, now: Instant) -> Result<(), TooMany> {
        self.own.admit(kind, client, now)?;
        let most = per_minute(kind, &self.limits);
        if most == 0 || self.take(kind, client, f64::from(most)).unwrap_or(true) {
            return Ok(());
        }
        Err(TooMany { retry_after: u64::from(60_u32.div_ceil(most)) })
    }
}
