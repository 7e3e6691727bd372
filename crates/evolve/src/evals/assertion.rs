//! [`Assertion`]: what has to hold after a case was tried.

use serde_json::{Value, json};
use skill::SkillPath;

/// One thing that has to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// In words.
    pub text: String,
    /// How it is decided.
    pub check: Check,
}

/// How an assertion is decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// By a person or a judge, who read the text.
    Judged,
    /// The runner's exit code is this one.
    ExitCode(i32),
    /// The file is there, or is not.
    File {
        /// Which, in the folder in which the case was tried.
        path: SkillPath,
        /// Whether it has to be there.
        there: bool,
    },
    /// A regular expression matches somewhere, or nowhere.
    Regex {
        /// The expression.
        pattern: String,
        /// In what.
        target: Target,
        /// Whether it has to match.
        matches: bool,
    },
    /// A value inside a JSON document is this one, or is there at all.
    JsonPath {
        /// In what.
        target: Target,
        /// Where: `$.items[0].name`, or `/items/0/name`.
        at: String,
        /// The value; `None` when it only has to be there.
        equals: Option<Value>,
    },
    /// A JSON document fits a JSON Schema.
    JsonSchema {
        /// What.
        target: Target,
        /// The schema.
        schema: Value,
    },
    /// A script of the evals ends well.
    Script(SkillPath),
    /// There are that many bytes.
    Size {
        /// Of what.
        target: Target,
        /// At least.
        at_least: u64,
        /// At most.
        at_most: Option<u64>,
    },
}

/// What a check looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// What the runner printed.
    Stdout,
    /// What it printed as errors.
    Stderr,
    /// A file in the folder in which the case was tried.
    File(SkillPath),
}

impl Target {
    /// In words.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Stdout => "the answer",
            Self::Stderr => "the error output",
            Self::File(path) => path.as_str(),
        }
    }

    /// The fields of a check, and where it looks.
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
    /// Its name in `evals.json`.
    #[must_use]
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

    /// What it says, for an assertion that has no words of its own.
    #[must_use]
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
    /// The check as `evals.json` spells it, with its words; `None` for what no machine decides by itself: sentences, and
    /// scripts, which are files of the evals.
    #[must_use]
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
