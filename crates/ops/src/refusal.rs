//! [`Refusal`]: why an operation came to nothing, as people and clients are told.

use std::{io, path::Path};

use serde_json::{Value, json};
use skill::{
    Digest,
    failure::{Fails, Failure, FailureKind},
};

/// Why an operation came to nothing, the same for the command line, a client of the Model Context Protocol and one of the
/// gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// What happened and where.
    pub message: String,
    /// Its class, its stable code and what to do next.
    pub failure: Failure,
    /// What a program needs to go on.
    pub details: Box<Value>,
    /// What a person has to agree to first, where that is all that is missing.
    pub question: Option<Box<Question>>,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// In words.
    pub text: String,
    /// What an answer holds for: the words and all that they are about. What differs in any of it is asked anew.
    pub key: String,
}

impl Question {
    /// A question; `about` is all that would be done, also what the words leave out.
    #[must_use]
    pub fn new(text: impl Into<String>, about: &Value) -> Self {
        let text = text.into();
        let key = Digest::of_bytes(json!([text, about]).to_string().as_bytes()).hex();
        Self { text, key }
    }
}

impl Refusal {
    /// One that no error of the crates below stands for.
    #[must_use]
    pub fn new(kind: FailureKind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            failure: Failure::new(kind, code),
            details: Box::new(json!({})),
            question: None,
        }
    }

    /// A request that cannot be understood.
    #[must_use]
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, "invalid_request", message)
    }

    /// A usage of the program that is none.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, "usage", message)
    }

    /// An error of the system.
    #[must_use]
    pub fn io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Interrupted => library::interrupt::Interrupted.into(),
            _ => Self::new(FailureKind::Failed, "io", error.to_string()),
        }
    }

    /// An error of the system at a path.
    pub fn io_at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| {
            let message = format!("cannot use {}: {error}", path.display());
            match error.kind() {
                io::ErrorKind::NotFound => Self::new(FailureKind::NotFound, "not_found", message)
                    .hint("check the path; it starts at the current folder"),
                _ => Self::new(FailureKind::Failed, "io", message),
            }
        }
    }

    /// The same with the way on.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.failure.hint = Some(hint.into());
        self
    }

    /// A request that a person has to agree to; `hint` says how, where the client cannot ask.
    #[must_use]
    pub fn to_ask(what: &str, question: Question, hint: impl Into<String>) -> Self {
        let message = format!("{what} takes the agreement of a person");
        let refusal = Self::new(FailureKind::Refused, "policy_denied", message).hint(hint);
        Self { question: Some(Box::new(question)), ..refusal }
    }

    /// The document that the command line prints for it with `--json`.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({"ok": false, "error": {
            "code": self.failure.code, "message": self.message, "hint": self.failure.hint, "details": self.details,
        }})
    }
}

impl<E: Fails> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self {
            message: error.to_string(),
            failure: error.failure(),
            details: Box::new(error.details()),
            question: None,
        }
    }
}
