//! [`RequestDocument`]: the JSON document that an optimiser reads.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{KnownFailure, OptimiserLimits};

/// Request to an optimiser, as one JSON document. Ignore unknown fields; later versions may add some.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RequestDocument<'a> {
    /// Version of this form.
    #[schemars(extend("const" = 1))]
    pub v: u32,
    /// Name of the protocol.
    #[schemars(extend("const" = "skillhub-optimiser"))]
    pub protocol: &'static str,
    /// Name of the skill.
    pub skill: &'a str,
    /// Revision to which the patches apply.
    pub revision: &'a str,
    /// Files of the skill, except those below `evals/`.
    pub files: Vec<RequestFile<'a>>,
    /// Training cases. Held-out cases are never included.
    pub cases: Vec<RequestCase<'a>>,
    /// Assertions that failed in the last run of this revision, in training cases.
    pub failures: Vec<&'a KnownFailure>,
    /// Counts of the recorded runs with this revision; null without any.
    #[schemars(extend(
        "type" = ["object", "null"],
        "required" = ["runs", "successes", "failures", "unknown", "rate", "interval"],
        "properties" = {
            "runs": {"type": "integer", "description": "Runs that ended, or whose end was not reported within a day."},
            "successes": {"type": "integer"},
            "failures": {"type": "integer"},
            "unknown": {"type": "integer", "description": "Runs with an unknown result."},
            "rate": {"type": ["number", "null"], "description": "Successes as a share of successes and failures."},
            "interval": {
                "type": "object",
                "required": ["level", "low", "high"],
                "properties": {"level": {"type": "number"}, "low": {"type": "number"}, "high": {"type": "number"}},
            },
            "latency_ms": {"type": ["integer", "null"], "description": "Median duration, in milliseconds."},
            "tokens_in": {"type": ["integer", "null"], "description": "Median number of input tokens."},
            "tokens_out": {"type": ["integer", "null"], "description": "Median number of output tokens."},
            "last": {"type": ["string", "null"], "description": "Time of the last recorded outcome."},
        },
    ))]
    pub outcomes: Option<&'a Value>,
    /// Limits on the optimiser.
    pub limits: OptimiserLimits,
}

/// One file of the skill.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(extend("oneOf" = [{"required": ["text"]}, {"required": ["base64"]}]))]
pub(super) struct RequestFile<'a> {
    /// Path of the file.
    pub path: &'a str,
    /// Content of a text file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub text: Option<&'a str>,
    /// Content of any other file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub base64: Option<String>,
    /// True if the file's executable bit is set.
    pub executable: bool,
}

/// One case.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RequestCase<'a> {
    /// Id of the case, as `evals.json` has it.
    #[schemars(extend("type" = ["string", "number"]))]
    pub id: &'a Value,
    /// Prompt of the user.
    pub prompt: &'a str,
    /// Expected output in words.
    pub expected_output: Option<&'a str>,
    /// Files that the case starts with.
    pub files: Vec<RequestInput<'a>>,
    /// Assertions for a person or a judge.
    pub assertions: Vec<&'a str>,
    /// Automatic checks, in the format of `evals.json`. `text` describes the check.
    #[schemars(extend("items" = {"type": "object", "required": ["type", "text"]}))]
    pub checks: Vec<Value>,
}

/// File that a case starts with.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RequestInput<'a> {
    /// Path in the working folder of the case.
    pub path: &'a str,
    /// Content of a text file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub text: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_has_the_published_schema() {
        testkit::assert_published::<RequestDocument<'_>>("optimiser-request");
    }
}
