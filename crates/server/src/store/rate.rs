//! [`Rates`]: rate limits per client, with a separate [`Rate`] for each kind of request.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use web::ServerLimits;

use super::{Limited, RateLimiter, TooMany};

/// Audited failures to sign in per client and minute. Further ones are refused but not audited.
const AUDITED_FAILURES: u32 = 10;

/// Most clients with a bucket. Beyond it, buckets unused for a minute are dropped, then all of them.
const CLIENTS: usize = 10_000;

/// Rate limits in the memory of this process. Each kind has its own buckets.
#[derive(Debug)]
pub struct Rates {
    costly: Rate,
    sign_ins: Rate,
    audited_failures: Rate,
}

impl RateLimiter for Rates {
    fn admit(&self, kind: Limited, client: IpAddr, now: Instant) -> Result<(), TooMany> {
        let rate = match kind {
            Limited::Costly => &self.costly,
            Limited::SignIn => &self.sign_ins,
            Limited::AuditedFailure => &self.audited_failures,
        };
        rate.admit(client, now)
    }
}

impl Rates {
    /// Creates the rate limits of a server.
    #[must_use]
    pub fn new(limits: &ServerLimits) -> Self {
        let rate = |kind| Rate::new(per_minute(kind, limits));
        Self {
            costly: rate(Limited::Costly),
            sign_ins: rate(Limited::SignIn),
            audited_failures: rate(Limited::AuditedFailure),
        }
    }
}

/// Returns how many requests of a kind a client may make each minute; 0 means no limit.
#[must_use]
pub fn per_minute(kind: Limited, limits: &ServerLimits) -> u32 {
    match kind {
        Limited::Costly => limits.costly_per_minute,
        Limited::SignIn => limits.sign_ins_per_minute,
        Limited::AuditedFailure => AUDITED_FAILURES,
    }
}

/// A token bucket for each client. It refills evenly and is full after a minute.
#[derive(Debug)]
pub struct Rate {
    per_minute: u32,
    clients: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rate {
    /// Permits this many requests a minute to each client; 0 means no limit.
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, clients: Mutex::default() }
    }

    /// Takes a token from the client's bucket.
    ///
    /// # Errors
    /// [`TooMany`] if the bucket is empty.
    pub fn admit(&self, client: IpAddr, now: Instant) -> Result<(), TooMany> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let (most, a_second) = (f64::from(self.per_minute), f64::from(self.per_minute) / 60.0);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= CLIENTS && !clients.contains_key(&client) {
            clients.retain(|_, bucket| now.duration_since(bucket.at) < Duration::from_secs(60));
        }
        if clients.len() >= CLIENTS {
            clients.clear();
        }
        let bucket = clients.entry(client).or_insert(Bucket { left: most, at: now });
        let refilled = bucket.left + now.duration_since(bucket.at).as_secs_f64() * a_second;
        *bucket = Bucket { left: refilled.min(most), at: now };
        if bucket.left < 1.0 {
            let retry_after = ((1.0 - bucket.left) / a_second).ceil() as u64;
            return Err(TooMany { retry_after: retry_after.max(1) });
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_its_share_and_no_other_suffers() {
        let (rate, now) = (Rate::new(60), Instant::now());
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        assert!((0..60).all(|_| rate.admit(one, now).is_ok()));
        assert_eq!(rate.admit(one, now), Err(TooMany { retry_after: 1 }));
        assert!(rate.admit(other, now).is_ok());
        let later = now + Duration::from_secs(2);
        assert!(rate.admit(one, later).is_ok() && rate.admit(one, later).is_ok() && rate.admit(one, later).is_err());
        assert!(Rate::new(0).admit(one, now).is_ok());
    }
}
