//! [`Assertion`]: a condition on the result of a case.

use serde_json::{Value, json};
use skill::SkillPath;

/// One condition on the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// Condition in words.
    pub text: String,
    /// Method by which it is decided.
    pub check: Check,
}

/// Method by which an assertion is decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// By a person or a judge that reads the text.
    Judged,
    /// By the runner's exit code, which must be this one.
    ExitCode(i32),
    /// By the existence of a file.
    File {
        /// Path in the working folder of the case.
        path: SkillPath,
        /// True if the file must exist, false if it must not.
        there: bool,
    },
    /// By a regular expression.
    Regex {
        /// Regular expression to search for.
        pattern: String,
        /// Text to search in.
        target: Target,
        /// True if it must match, false if it must not.
        matches: bool,
    },
    /// By a value inside a JSON document.
    JsonPath {
        /// Document to search in.
        target: Target,
        /// Path of the value: `$.items[0].name`, or `/items/0/name`.
        at: String,
        /// Expected value. `None` if it only has to exist.
        equals: Option<Value>,
    },
    /// By validation of a JSON document against a JSON Schema.
    JsonSchema {
        /// Document to validate.
        target: Target,
        /// JSON Schema of the document.
        schema: Value,
    },
    /// By a script of the evals, which must succeed.
    Script(SkillPath),
    /// By a size in bytes.
    Size {
        /// Output or file to measure.
        target: Target,
        /// Smallest size allowed.
        at_least: u64,
        /// Largest size allowed, if limited.
        at_most: Option<u64>,
    },
}

/// Output or file that a check examines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Standard output of the runner.
    Stdout,
    /// Standard error of the runner.
    Stderr,
    /// File in the working folder of the case.
    File(SkillPath),
}

impl Target {
    /// Returns the target in words.
    pub fn words(&self) -> &str {
        match self {
            Self::Stdout => "the answer",
            Self::Stderr => "the error output",
            Self::File(path) => path.as_str(),
        }
    }

    /// Adds the target to the JSON fields of a check.
    fn with(&self, mut fields: Value) -> Value {
        match self {
            Self::Stdout => {}
            Self::Stderr => fields["of"] = json!("stderr"),
            Self::File(path) => fields["path"] = json!(path.as_str()),
        }
        fields
    }
}

impl Check {
    /// Returns its name in `evals.json`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Judged => "text",
            Self::ExitCode(_) => "exit_code",
            Self::File { there: true, .. } => "file_exists",
            Self::File { there: false, .. } => "file_absent",
            Self::Regex { matches: true, .. } => "regex",
            Self::Regex { matches: false, .. } => "not_regex",
            Self::JsonPath { .. } => "json_path",
            Self::JsonSchema { .. } => "json_schema",
            Self::Script(_) => "script",
            Self::Size { .. } => "size",
        }
    }

    /// Describes the check, for an assertion without its own text.
    pub fn words(&self) -> String {
        match self {
            Self::Judged => String::new(),
            Self::ExitCode(code) => format!("the exit code is {code}"),
            Self::File { path, there: true } => format!("{path} is there"),
            Self::File { path, there: false } => format!("{path} is not there"),
            Self::Regex { pattern, target, matches: true } => format!("{} matches /{pattern}/", target.words()),
            Self::Regex { pattern, target, matches: false } => {
                format!("{} does not match /{pattern}/", target.words())
            }
            Self::JsonPath { target, at, equals: Some(value) } => format!("{at} of {} is {value}", target.words()),
            Self::JsonPath { target, at, equals: None } => format!("{} has {at}", target.words()),
            Self::JsonSchema { target, .. } => format!("{} fits the schema", target.words()),
            Self::Script(path) => format!("{path} ends well"),
            Self::Size { target, at_least, at_most: Some(most) } => {
                format!("{} has {at_least} to {most} bytes", target.words())
            }
            Self::Size { target, at_least, at_most: None } => {
                format!("{} has at least {at_least} bytes", target.words())
            }
        }
    }
}

impl Assertion {
    /// Returns the check as in `evals.json`, with its text. `None` for checks that need a person, a judge or a script
    /// of the evals.
    pub fn document(&self) -> Option<Value> {
        let mut fields = match &self.check {
            Check::Judged | Check::Script(_) => return None,
            Check::ExitCode(code) => json!({"equals": code}),
            Check::File { path, .. } => json!({"path": path.as_str()}),
            Check::Regex { pattern, target, .. } => target.with(json!({"pattern": pattern})),
            Check::JsonPath { target, at, equals: Some(value) } => target.with(json!({"at": at, "equals": value})),
            Check::JsonPath { target, at, equals: None } => target.with(json!({"at": at})),
            Check::JsonSchema { target, schema } => target.with(json!({"schema": schema})),
            Check::Size { target, at_least, at_most: Some(most) } => {
                target.with(json!({"at_least": at_least, "at_most": most}))
            }
            Check::Size { target, at_least, at_most: None } => target.with(json!({"at_least": at_least})),
        };
        fields["type"] = json!(self.check.word());
        fields["text"] = json!(self.text);
        Some(fields)
    }
}
