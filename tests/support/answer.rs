//! [`Answer`]: the result of one run of the program.

use std::process::Output;

use serde_json::Value;

/// Result of one run.
#[derive(Debug)]
pub struct Answer {
    /// Command line, for messages.
    pub command: String,
    /// The exit code, or -1 after a signal.
    pub exit: i32,
    /// Bytes of standard output.
    pub stdout: Vec<u8>,
    /// Bytes of standard error.
    pub stderr: String,
}

impl Answer {
    pub fn new(command: String, output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer = Self { command, exit: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr };
        assert!(!answer.stderr.contains("panicked at"), "{answer}");
        answer
    }

    /// Returns standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap_or_else(|_| panic!("no UTF-8: {self}"))
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.exit, code, "{self}");
        self
    }

    /// Returns the single JSON document on standard output, checked against the common contract.
    #[track_caller]
    pub fn json(&self) -> Value {
        let document: Value = match serde_json::from_slice(&self.stdout) {
            Ok(document) => document,
            Err(error) => panic!("not one JSON document ({error}): {self}"),
        };
        assert_eq!(document["ok"].as_bool(), Some(self.exit == 0), "`ok` against the exit code: {self}");
        if let Some(error) = document.get("error") {
            let code = error["code"].as_str().unwrap_or_default();
            let is_snake = !code.is_empty() && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(is_snake, "an error has a code in snake_case: {self}");
            assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "an error says why: {self}");
            assert!(error["hint"].is_string() || error["hint"].is_null(), "{self}");
            assert!(error["details"].is_object(), "{self}");
        }
        document
    }

    /// Asserts success and returns the document.
    #[track_caller]
    pub fn done(self) -> Value {
        self.exits(0).json()
    }

    /// Asserts a refusal with this exit code and error code, and returns the error.
    #[track_caller]
    pub fn refused(self, exit: i32, code: &str) -> Value {
        let answer = self.exits(exit);
        let error = answer.json()["error"].clone();
        assert_eq!(error["code"], code, "{answer}");
        error
    }

    /// Like [`Answer::refused`], and asserts that the error has a hint.
    #[track_caller]
    pub fn refused_with_hint(self, exit: i32, code: &str) -> Value {
        let command = self.command.clone();
        let error = self.refused(exit, code);
        assert!(error["hint"].as_str().is_some_and(|hint| hint.len() > 8), "{command} without hint: {error:#}");
        error
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stdout: String = String::from_utf8_lossy(&self.stdout).chars().take(3000).collect();
        write!(f, "`{}` ended with {}\nstdout: {stdout}\nstderr: {}", self.command, self.exit, self.stderr)
    }
}
