//! [`Sessions`]: who has signed in on the pages, known for as long as the gateway runs.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

/// How long a session stays open that nobody uses.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);
/// Sessions that are open at the same time; the one that was not used for longest ends for another.
const MOST: usize = 256;
/// Random bytes of a session's name.
const NAME_BYTES: usize = 32;

/// What a session stands for.
#[derive(Debug, Clone)]
struct Session {
    reviewer_token: Option<String>,
    used: Instant,
}

/// Open sessions. A browser keeps a random name and never a token: it sends its cookies to every port of a host.
#[derive(Debug, Default)]
pub struct Sessions {
    /// By the hash of their names, so that how long a search takes tells nothing of them.
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

    /// Opens one, with what a reviewer has to show; `None` when the system has no random bytes.
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

    /// The reviewer's token of an open session; `None` where there is no such session.
    pub fn find(&self, name: &str, now: Instant) -> Option<Option<String>> {
        self.with(now, |open| {
            let session = open.get_mut(&key(name))?;
            session.used = now;
            Some(session.reviewer_token.clone())
        })
    }

    /// Ends one.
    pub fn end(&self, name: &str) {
        self.with(Instant::now(), |open| open.remove(&key(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_end_when_asked_when_unused_and_when_there_are_too_many() {
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
