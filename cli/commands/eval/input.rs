//! Documents that the user's commands read on standard input: [`RunnerInput`], [`JudgeInput`] and [`ChooserInput`].

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Document that the command of `eval run --runner` reads: one case, without its assertions and the side under test.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunnerInput<'a> {
    /// Version of this form, currently 1.
    pub v: u32,
    /// Name of the skill.
    pub name: &'a str,
    /// Id of the case, as `evals.json` has it.
    #[schemars(extend("type" = ["string", "number"]))]
    pub case: &'a Value,
    /// Prompt of the user.
    pub prompt: &'a str,
    /// Paths of the case's files, all in the folder `work`.
    pub files: Vec<PathBuf>,
    /// Folder of the skill without its evals; null in a run without the skill.
    pub skill: Option<&'a Path>,
    /// Folder to work in, which is the current one.
    pub work: &'a Path,
    /// File into which the runner may write its metrics.
    pub metrics: PathBuf,
}

/// Document that the command of `eval run --judge` reads: the sentences to decide about one run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JudgeInput<'a> {
    /// Version of this form, currently 1.
    pub v: u32,
    /// Prompt of the user.
    pub prompt: &'a str,
    /// Expected output in words.
    pub expected_output: Option<&'a str>,
    /// Standard output of the runner.
    pub output: &'a str,
    /// Exit code of the runner; null if a signal or a limit ended it.
    pub exit_code: Option<i32>,
    /// Folder that the runner worked in.
    pub work: &'a Path,
    /// Sentences to decide. The answer has a verdict on each, in this order.
    pub assertions: &'a [&'a str],
}

/// Document that the runner of `eval run --trigger` reads: a query, without the tested skill and the expected choice.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ChooserInput<'a> {
    /// Version of this form, currently 1.
    pub v: u32,
    /// Query of the user.
    pub prompt: &'a str,
    /// List of the skills, as `skillhub prompt` prints it.
    pub skills: &'a str,
    /// Names of the skills to choose from.
    pub names: &'a [&'a str],
    /// Folder to work in, which is the current one.
    pub work: &'a Path,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_published_schemas() {
        testkit::assert_published::<RunnerInput<'_>>("eval-runner");
        testkit::assert_published::<JudgeInput<'_>>("eval-judge");
        testkit::assert_published::<ChooserInput<'_>>("eval-chooser");
    }
}
