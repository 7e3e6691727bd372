//! The error of a failed operation, as shown to people and clients.

use std::{io, path::Path};

use serde_json::{Value, json};
use skill::{
    Digest,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
};

/// A failed operation. The error is the same for the command line and for clients of the MCP server and the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Cause and location of the failure.
    pub message: String,
    /// Kind, stable code and hint.
    pub failure: Failure,
    /// Structured data for programs.
    pub details: Box<Value>,
    /// Question that a person has to confirm, if the confirmation is all that is missing.
    pub question: Option<Box<Question>>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Text of the question.
    pub text: String,
    /// Hash of the text and of everything that the answer applies to. Any difference requires a new answer.
    pub key: String,
    /// Answers to choose from. Empty if the person can only agree.
    pub choices: Vec<&'static str>,
    /// Words without spaces to remember until the end of the call, for what was done before this question.
    pub progress: Vec<String>,
}

impl Question {
    /// Creates a question. `about` must contain everything that would be done, including what the text omits.
    pub fn new(text: impl Into<String>, about: &Value) -> Self {
        let text = text.into();
        let key = Digest::of_bytes(json!([text, about]).to_string().as_bytes()).hex();
        Self { text, key, choices: Vec::new(), progress: Vec::new() }
    }
}

impl Refusal {
    /// Creates a refusal that does not come from an error of a lower crate.
    pub fn new(kind: FailureKind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            failure: Failure::new(kind, code),
            details: Box::new(json!({})),
            question: None,
        }
    }

    /// Creates the error for an invalid request.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, "invalid_request", message)
    }

    /// Creates a usage error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, "usage", message)
    }

    /// Converts an I/O error.
    pub fn io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Interrupted => library::interrupt::Interrupted.into(),
            _ => Self::new(FailureKind::Failed, "io", error.to_string()),
        }
    }

    /// Returns a function that converts an I/O error at a path.
    pub fn io_at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| {
            let message = format!("cannot access {}: {error}", path.display());
            match error.kind() {
                io::ErrorKind::NotFound => Self::new(FailureKind::NotFound, "not_found", message)
                    .hint("check the path; a relative one starts at the current folder"),
                _ => Self::new(FailureKind::Failed, "io", message),
            }
        }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.failure.hint = Some(hint.into());
        self
    }

    /// Creates the refusal of an operation that a person has to confirm. `hint` is for clients that cannot ask.
    pub fn to_ask(what: &str, question: Question, hint: impl Into<Hint>) -> Self {
        let message = format!("{what} requires the approval of a person");
        let refusal = Self::new(FailureKind::Refused, "policy_denied", message).hint(hint);
        Self { question: Some(Box::new(question)), ..refusal }
    }

    /// Formats the error as a document, with the operations in its hint as given by `step`.
    pub fn document(&self, step: impl Fn(&NextStep) -> String) -> Value {
        let hint = self.failure.hint.as_ref().map(|hint| hint.with(step));
        error_document(self.failure.code, &self.message, hint.as_deref(), &self.details)
    }
}

/// Returns the document of an error, as the command line and MCP show it.
pub fn error_document(code: &str, message: &str, hint: Option<&str>, details: &Value) -> Value {
    json!({"ok": false, "error": {"code": code, "message": message, "hint": hint, "details": details}})
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
