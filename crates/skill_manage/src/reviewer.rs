//! [`Reviewer`]: the proof that a person makes a decision.

use std::io::IsTerminal;

use jiff::Timestamp;
use library::{Actor, ActorKind, Home, Reviewers, ReviewersError, StoredReviewer};
use serde_json::{Value, json};
use skill::{
    Digest,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

/// Prefix of every token, so that people and scanners recognise one.
const TOKEN_PREFIX: &str = "skillhub-reviewer-";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// Digits of the hash that identify a token.
const ID_DIGITS: usize = 8;
/// Longest name in bytes.
const NAME_BYTES: usize = 100;

/// Person who makes decisions. Operations reserved for people take one by reference. Its fields are private, and it can
/// be created only with a terminal, a token, or an answer to a question of the MCP server that the user trusts.
///
/// ```compile_fail
/// let actor = library::Actor::new(library::ActorKind::Person, "ann");
/// let forged = skill_manage::Reviewer { actor };
/// ```
#[derive(Debug)]
pub struct Reviewer {
    actor: Actor,
    proof: Proof,
}

/// Evidence that a person acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    Terminal,
    Token,
    /// Answer to a question that an MCP client showed.
    Elicitation,
}

/// Reason why a caller is not accepted as a person.
#[derive(Debug, Error)]
pub enum ReviewerError {
    /// Standard input or output is not a terminal.
    #[error("only a person can do this, and neither a terminal nor a token confirms one")]
    NoTerminal,
    /// The home does not have this token.
    #[error("the reviewer token is unknown")]
    UnknownToken,
    /// The token has expired.
    #[error("the reviewer token {id} of {name} expired at {expired}")]
    Expired {
        /// Id of the token.
        id: String,
        /// Name of the token's holder.
        name: String,
        /// Time of expiry.
        expired: String,
    },
    /// Creating a token requires a terminal. Otherwise the holder of a token could issue others that live longer.
    #[error("a reviewer token can be created only in a terminal")]
    TokenNeedsTerminal,
    /// The name cannot be shown in the history.
    #[error("{0:?} is not a valid reviewer name; use up to {NAME_BYTES} bytes without control characters")]
    Name(String),
    /// No token has this id.
    #[error("the reviewer token {0} does not exist")]
    NoSuchToken(String),
    /// The system provided no random numbers.
    #[error("cannot get random numbers from the system: {0}")]
    Random(getrandom::Error),
    /// The file with the token hashes cannot be read or written.
    #[error(transparent)]
    Store(#[from] ReviewersError),
}

impl Fails for ReviewerError {
    fn failure(&self) -> Failure {
        let refused = |hint: &str| Failure::new(FailureKind::Refused, "policy_denied").hint(hint);
        match self {
            Self::UnknownToken | Self::Expired { .. } => refused(
                "a person can create a new one in a terminal: `env -u SKILLHUB_REVIEWER_TOKEN skillhub reviewer new`",
            ),
            Self::NoTerminal | Self::TokenNeedsTerminal => refused("run the command in a terminal"),
            Self::Store(ReviewersError::Untrusted(_)) => refused(
                "find out who changed the file in the skillhub home, delete it, and create new tokens in a terminal",
            ),
            Self::Store(ReviewersError::Damaged(_) | ReviewersError::Format(_)) => {
                Failure::new(FailureKind::Integrity, "damaged_state")
                    .hint("fix the file in the skillhub home, or delete it and create new tokens in a terminal")
            }
            Self::Store(ReviewersError::Place(error)) => error.failure(),
            Self::Store(ReviewersError::Lock(error)) => error.failure(),
            Self::Name(_) => Failure::new(FailureKind::Usage, "usage").hint("give another name with --name"),
            Self::NoSuchToken(_) => {
                Failure::new(FailureKind::NotFound, "not_found").hint("list the ids: skillhub reviewer list")
            }
            Self::Random(_) | Self::Store(ReviewersError::Io(_)) => Failure::io(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Store(ReviewersError::Place(error)) => error.details(),
            Self::Store(ReviewersError::Lock(error)) => error.details(),
            _ => json!({}),
        }
    }
}

/// New token, which is shown only once.
#[derive(Debug)]
pub struct NewToken {
    /// Secret token for the holder.
    pub token: String,
    /// Stored record, with the hash of the token.
    pub stored: StoredReviewer,
}

impl Reviewer {
    /// Identifies the user at the terminal on standard input and output, under a name of their choice.
    ///
    /// # Errors
    /// [`ReviewerError::NoTerminal`] if one of the two is not a terminal.
    pub fn at_terminal(id: &str) -> Result<Self, ReviewerError> {
        match std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            true => Ok(Self { actor: Actor::new(ActorKind::Person, id), proof: Proof::Terminal }),
            false => Err(ReviewerError::NoTerminal),
        }
    }

    /// Identifies the holder of a token that the home knows and that has not expired.
    ///
    /// # Errors
    /// [`ReviewerError`], also if the file with the hashes is damaged or readable by others.
    pub fn with_token(home: &Home, token: &str, now: Timestamp) -> Result<Self, ReviewerError> {
        let hash = hash_of(token);
        let known = Reviewers::read(home)?.reviewers;
        // Every entry is compared in full, so that timing reveals nothing about the hashes.
        let found = known.into_iter().fold(None, |found, stored| match same(&stored.hash, &hash) {
            true => Some(stored),
            false => found,
        });
        let stored = found.ok_or(ReviewerError::UnknownToken)?;
        check_expiry(&stored, now)?;
        Ok(Self { actor: Actor::new(ActorKind::Person, stored.name), proof: Proof::Token })
    }

    /// Identifies the user who answered a question of the MCP server. The history names the client that showed the
    /// question.
    ///
    /// `ops` calls this for an answer of the client itself, if the user's configuration trusts such answers; nothing
    /// else may.
    #[must_use]
    pub fn by_elicitation(user: &str, client: &str) -> Self {
        let actor = Actor::new(ActorKind::Person, format!("{user} over MCP, asked by {client}").trim_start());
        Self { actor, proof: Proof::Elicitation }
    }

    /// Returns the actor, which is always a person.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Creates a token for a person and stores its hash in the home.
    ///
    /// # Errors
    /// [`ReviewerError`], for example without a terminal.
    pub fn new_token(
        &self,
        home: &Home,
        name: &str,
        now: Timestamp,
        expires: Option<Timestamp>,
    ) -> Result<NewToken, ReviewerError> {
        if self.proof != Proof::Terminal {
            return Err(ReviewerError::TokenNeedsTerminal);
        }
        issue(home, name, now, expires)
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// [`ReviewerError::NoSuchToken`], or an error of the store.
    pub fn revoke(&self, home: &Home, id: &str) -> Result<StoredReviewer, ReviewerError> {
        Reviewers::change(home, |known| {
            let at = known.reviewers.iter().position(|stored| stored.id == id);
            at.map(|at| known.reviewers.remove(at)).ok_or_else(|| ReviewerError::NoSuchToken(id.to_owned()))
        })
    }

    /// Returns a person for the tests of this crate, which have no terminal.
    #[cfg(test)]
    pub(crate) fn for_test(id: &str) -> Self {
        Self { actor: Actor::new(ActorKind::Person, id), proof: Proof::Terminal }
    }
}

/// Returns whether a token is valid at a time. An unreadable expiry counts as expired.
#[must_use]
pub fn is_valid_at(stored: &StoredReviewer, now: Timestamp) -> bool {
    check_expiry(stored, now).is_ok()
}

fn check_expiry(stored: &StoredReviewer, now: Timestamp) -> Result<(), ReviewerError> {
    match &stored.expires {
        Some(expires) if !expires.parse::<Timestamp>().is_ok_and(|end| now < end) => {
            Err(ReviewerError::Expired { id: stored.id.clone(), name: stored.name.clone(), expired: expires.clone() })
        }
        _ => Ok(()),
    }
}

fn issue(home: &Home, name: &str, now: Timestamp, expires: Option<Timestamp>) -> Result<NewToken, ReviewerError> {
    if name.trim().is_empty() || name.len() > NAME_BYTES || name.chars().any(char::is_control) {
        return Err(ReviewerError::Name(name.to_owned()));
    }
    let mut random = [0; TOKEN_BYTES];
    getrandom::fill(&mut random).map_err(ReviewerError::Random)?;
    let token = random.iter().fold(TOKEN_PREFIX.to_owned(), |token, byte| format!("{token}{byte:02x}"));
    let hash = hash_of(&token);
    let stored = StoredReviewer {
        id: hash.chars().take(ID_DIGITS).collect(),
        name: name.to_owned(),
        hash,
        created: format!("{now:.0}"),
        expires: expires.map(|end| format!("{end:.0}")),
    };
    Reviewers::change(home, |known| {
        known.reviewers.push(stored.clone());
        Ok::<_, ReviewerError>(())
    })?;
    Ok(NewToken { token, stored })
}

fn hash_of(token: &str) -> String {
    Digest::of_bytes(token.as_bytes()).hex()
}

/// Compares two strings in constant time with respect to the position of a difference.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;

    fn time() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    fn home() -> (tempfile::TempDir, Home) {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        (temp, home)
    }

    #[test]
    fn expired_or_revoked_token_is_refused() {
        let (_temp, home) = home();
        let end = time().checked_add(24.hours()).unwrap();
        let lasting = Reviewer::for_test("ann").new_token(&home, "ann", time(), None).unwrap();
        let ending = issue(&home, "ben", time(), Some(end)).unwrap();
        let reviewer = Reviewer::with_token(&home, &ending.token, time()).unwrap();
        assert_eq!(reviewer.actor().to_string(), "person:ben");
        assert!(matches!(Reviewer::with_token(&home, &ending.token, end), Err(ReviewerError::Expired { .. })));
        assert_eq!(Reviewer::with_token(&home, &lasting.token, end).unwrap().actor().to_string(), "person:ann");
        reviewer.revoke(&home, &lasting.stored.id).unwrap();
        assert!(matches!(Reviewer::with_token(&home, &lasting.token, time()), Err(ReviewerError::UnknownToken)));
        assert!(matches!(reviewer.revoke(&home, &lasting.stored.id), Err(ReviewerError::NoSuchToken(_))));
        assert!(Reviewer::with_token(&home, &ending.token, time()).is_ok(), "the other one stays");
    }

    /// The store holds a hash of the token, not the token.
    #[test]
    fn only_the_exact_token_is_accepted() {
        let (_temp, home) = home();
        let NewToken { token, stored } = issue(&home, "ann", time(), None).unwrap();
        let stored_text = format!("{:?}", Reviewers::read(&home).unwrap());
        assert!(!stored_text.contains(token.trim_start_matches(TOKEN_PREFIX)), "{stored_text}");
        let shorter = &token[..token.len() - 1];
        let others = [
            "",
            " ",
            "\n",
            shorter,
            &format!("{token}\n"),
            &format!(" {token}"),
            &format!("{token}0"),
            &token.to_uppercase(),
            token.trim_start_matches(TOKEN_PREFIX),
            TOKEN_PREFIX,
            &stored.hash,
            &stored.id,
            "ann",
        ]
        .map(str::to_owned);
        for other in others {
            let refused = Reviewer::with_token(&home, &other, time());
            assert!(matches!(refused, Err(ReviewerError::UnknownToken)), "{other:?}");
        }
    }

    /// An expiry that cannot be parsed counts as past.
    #[test]
    fn token_cannot_issue_another_token() {
        let (_temp, home) = home();
        let NewToken { token, stored } = issue(&home, "ann", time(), None).unwrap();
        let by_token = Reviewer::with_token(&home, &token, time()).unwrap();
        for reviewer in [&by_token, &Reviewer::by_elicitation("ann", "a client")] {
            let made = reviewer.new_token(&home, "eve", time(), None);
            assert!(matches!(made, Err(ReviewerError::TokenNeedsTerminal)));
        }
        assert!(!is_valid_at(&StoredReviewer { expires: Some("never".to_owned()), ..stored }, time()));
        for name in ["", "  ", "a\nb", &"x".repeat(101)] {
            assert!(matches!(issue(&home, name, time(), None), Err(ReviewerError::Name(_))), "{name:?}");
        }
        assert_eq!(Reviewers::read(&home).unwrap().reviewers.len(), 1);
    }
}
