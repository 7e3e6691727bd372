//! Sessions of the pages ([`Sessions`]), kept in memory until the gateway ends.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

/// Time after which an unused session ends.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);
/// Maximum number of open sessions. At the limit, the least recently used one ends.
const MOST: usize = 256;
/// Random bytes in the name of a session.
const NAME_BYTES: usize = 32;

/// A signed-in browser, with its reviewer's token if it has one.
#[derive(Debug, Clone)]
struct Session {
    reviewer_token: Option<String>,
    used: Instant,
}

/// The open sessions of all browsers. A browser stores a random name instead of a token, because it sends cookies to
/// every port of a host.
#[derive(Debug, Default)]
pub struct Sessions {
    /// Keyed by the hash of the name, so that the duration of a lookup reveals nothing about names.
    open: Mutex<HashMap<[u8; 32], Session>>,
}

fn key(name: &str) -> [u8; 32] {
    Sha256::digest(name.as_bytes()).into()
}

impl Sessions {
    fn with<T>(&self, now: Instant, run: impl FnOnce(&mut HashMap<[u8; 32], Session>) -> T) -> T {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| now.saturating_duration_since(session.used) < IDLE);
        run(&mut open)
    }

    /// Opens a session and returns its name; `None` if the random number generator failed.
    pub fn begin(&self, reviewer_token: Option<String>, now: Instant) -> Option<String> {
        let name = web::random::<NAME_BYTES>().ok()?;
        self.with(now, |open| {
            let oldest = open.iter().min_by_key(|(_, session)| session.used).map(|(key, _)| *key);
            if let Some(oldest) = oldest.filter(|_| open.len() >= MOST) {
                open.remove(&oldest);
            }
            open.insert(key(&name), Session { reviewer_token, used: now });
        });
        Some(name)
    }

    /// Returns the reviewer's token of an open session, which may have none. `None` if the session is not open.
    pub fn find(&self, name: &str, now: Instant) -> Option<Option<String>> {
        self.with(now, |open| {
            let session = open.get_mut(&key(name))?;
            session.used = now;
            Some(session.reviewer_token.clone())
        })
    }

    /// Ends a session, if it is open.
    pub fn end(&self, name: &str) {
        self.with(Instant::now(), |open| open.remove(&key(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_and_excess_sessions_end() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let first = sessions.begin(Some("proof".to_owned()), start).unwrap();
        let second = sessions.begin(None, start).unwrap();
        assert_eq!(sessions.find(&first, start), Some(Some("proof".to_owned())));
        assert_eq!(sessions.find(&second, start), Some(None));
        assert_eq!(sessions.find("", start), None);
        assert_eq!(sessions.find(&first[1..], start), None);
        sessions.end(&second);
        assert_eq!(sessions.find(&second, start), None);
        let later = start + IDLE / 2;
        assert!(sessions.find(&first, later).is_some());
        assert!(sessions.find(&first, later + IDLE / 2).is_some(), "what is used stays open");
        assert_eq!(sessions.find(&first, later + IDLE * 2), None);
        let first = sessions.begin(None, later).unwrap();
        for at in 1..=MOST as u64 {
            sessions.begin(None, later + Duration::from_millis(at)).unwrap();
        }
        assert_eq!(sessions.find(&first, later + Duration::from_secs(1)), None);
    }
}
