//! [`Counted`]: deduplicates the downloads of a day, so that one client cannot make a skill popular.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use crate::store::Download;

/// Most downloads of one day in the set, about 16 MB. Beyond it, the set is cleared, so a client can count again after
/// a million others.
const MOST: usize = 1_000_000;

/// Keyed hashes of address, account and content. The key lives as long as the process, and no address is stored.
#[derive(Debug, Default)]
pub struct Counted {
    hasher: RandomState,
    today: Mutex<Today>,
}

#[derive(Debug, Default)]
struct Today {
    day: String,
    seen: HashSet<u64>,
}

impl Counted {
    /// Returns whether this is the day's first download of this content by this account from this address.
    pub fn is_first(&self, download: &Download, site: Option<IpAddr>) -> bool {
        let one = self.hasher.hash_one((site, &download.account, &download.digest));
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if today.day != download.day || today.seen.len() >= MOST {
            *today = Today { day: download.day.clone(), seen: HashSet::new() };
        }
        today.seen.insert(one)
    }
}

#[cfg(test)]
mod tests {
    use skill::Digest;

    use super::*;

    #[test]
    fn each_address_counts_once_a_day() {
        let counted = Counted::default();
        let download = |content: &str, account: &str, day: &str| Download {
            skill: String::new(),
            version: String::new(),
            digest: Digest::of_bytes(content.as_bytes()),
            account: account.to_owned(),
            day: day.to_owned(),
        };
        let (one, other): (Option<IpAddr>, Option<IpAddr>) = ("10.0.0.1".parse().ok(), "10.0.0.2".parse().ok());
        assert!(counted.is_first(&download("a", "", "2026-01-01"), one));
        assert!((0..800).all(|_| !counted.is_first(&download("a", "", "2026-01-01"), one)));
        assert!(counted.is_first(&download("a", "", "2026-01-01"), other), "another address");
        assert!(counted.is_first(&download("a", "ann", "2026-01-01"), one), "an account");
        assert!(counted.is_first(&download("b", "", "2026-01-01"), one), "other content");
        assert!(counted.is_first(&download("a", "", "2026-01-02"), one), "another day");
    }
}
