//! [`Question`] and [`Answer`]: a second opinion from outside of the scanner on a skill that is about to be written.
//!
//! The opinion can make a verdict more severe. It can settle warnings only if [`JudgeSettings`] allow that, and never a
//! block. The creator of a [`crate::Scanner`] provides the function that asks the judge. Nothing here starts a program.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest};

use crate::{
    Acceptance, Capabilities, Finding, Report, SettingsError, Severity, Verdict, capabilities,
    characters::is_invisible, rules::JUDGE,
};

/// Maximum length of a reason in characters. The rest is cut off.
const REASON_CHARS: usize = 500;

/// Maximum number of bytes of text included in a question.
const TEXT_BYTES: usize = 4 << 20;

/// Maximum timeout of a judge in seconds.
const MOST_SECONDS: u64 = 300;

/// Table `[scan.judge]` of a user's or the system's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeSettings {
    /// Program followed by its arguments.
    pub command: Vec<String>,
    /// Timeout in seconds, from 1 to 300. The default is 20.
    #[serde(default = "seconds")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout_seconds: u64,
    /// True if the judge may settle warnings.
    #[serde(default)]
    pub may_settle_warnings: bool,
    /// True if a missing opinion blocks the skill.
    #[serde(default)]
    pub required: bool,
    /// Working directory of the command: the folder of the configuration. Set by the code that reads the settings.
    #[serde(skip)]
    pub folder: String,
}

/// Question to a judge about a skill, as one JSON document.
#[derive(Debug, Serialize)]
pub struct Question<'a> {
    /// Version of this format.
    pub v: u32,
    /// Name in the skill's frontmatter.
    pub skill: Option<String>,
    /// Version of the scanner's rules.
    pub ruleset: &'a str,
    /// Verdict of the scanner, before a person's waivers.
    pub verdict: Verdict,
    /// Findings of the scanner, old ones included.
    pub findings: &'a [Finding],
    /// Hosts, files, commands and variables that the skill touches.
    pub capabilities: Capabilities,
    /// True if the contents of all text files are included. Otherwise some have none because of the size limit.
    pub complete: bool,
    /// Files of the skill, `SKILL.md` first.
    pub files: Vec<QuestionFile<'a>>,
}

/// File in a question to a judge.
#[derive(Debug, Serialize)]
pub struct QuestionFile<'a> {
    /// Path inside the skill.
    pub path: &'a str,
    /// Size in bytes.
    pub bytes: usize,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// True if the file's executable bit is set.
    pub executable: bool,
    /// Content of a text file, if it fits the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
}

/// Answer of a judge: one JSON document and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Verdict of the judge. `Allow` adds no finding.
    pub verdict: Verdict,
    /// Reason shown with the finding.
    pub reason: String,
}

type Ask = dyn Fn(&Question<'_>) -> Result<Answer, String> + Send + Sync;

/// Judge with its settings and the function that asks it.
pub(crate) struct Judge {
    settings: JudgeSettings,
    ask: Box<Ask>,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl JudgeSettings {
    /// Checks that a program is named and the timeout is in range.
    ///
    /// # Errors
    /// [`SettingsError`] with the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        let (key, message) = match self.command.first() {
            None => ("judge.command", "no program is given".to_owned()),
            Some(program) if program.is_empty() => ("judge.command", "no program is given".to_owned()),
            Some(_) if !(1..=MOST_SECONDS).contains(&self.timeout_seconds) => {
                ("judge.timeout_seconds", format!("it must be from 1 to {MOST_SECONDS}"))
            }
            Some(_) => return Ok(()),
        };
        Err(SettingsError::Value { key: key.to_owned(), message })
    }
}

impl<'a> Question<'a> {
    fn of(bundle: &'a Bundle, report: &'a Report) -> Self {
        let (mut left, mut complete) = (TEXT_BYTES, true);
        let mut all: Vec<_> = bundle.files().collect();
        all.sort_by_key(|(path, _)| path.as_str() != "SKILL.md");
        let mut files = Vec::with_capacity(all.len());
        for (path, file) in all {
            let whole = file.text();
            let text = whole.filter(|text| text.len() <= left);
            left -= text.map_or(0, str::len);
            complete &= whole.is_some() == text.is_some();
            let (bytes, sha256) = (file.bytes.len(), Digest::of_bytes(&file.bytes).hex());
            files.push(QuestionFile { path: path.as_str(), bytes, sha256, executable: file.executable, text });
        }
        let Report { ruleset, findings } = report;
        let (verdict, capabilities) = (report.verdict(), capabilities(bundle));
        let skill = bundle.frontmatter().and_then(|front| front.name.clone());
        Self { v: 1, skill, ruleset, verdict, findings, capabilities, complete, files }
    }
}

impl Answer {
    /// Parses the whole output of a judge.
    ///
    /// # Errors
    /// Description of the parse error.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let answer: Self = serde_json::from_slice(bytes).map_err(|error| format!("invalid answer: {error}"))?;
        Ok(Self { reason: tame(&answer.reason), ..answer })
    }
}

/// Returns a text on one line, without invisible characters and cut to [`REASON_CHARS`].
fn tame(text: &str) -> String {
    let shown = |c: char| if c.is_control() || is_invisible(c) { ' ' } else { c };
    text.chars().take(REASON_CHARS).map(shown).collect::<String>().trim().to_owned()
}

impl Judge {
    pub fn new(settings: JudgeSettings, ask: Box<Ask>) -> Self {
        Self { settings, ask }
    }

    /// Asks the judge about a skill and applies its answer to the report.
    ///
    /// A failure to answer adds a finding, which blocks only if an opinion is required.
    pub fn opine(&self, report: &mut Report, bundle: &Bundle) {
        let question = Question::of(bundle, report);
        let complete = question.complete;
        let (severity, message) = match (self.ask)(&question) {
            Ok(Answer { verdict: Verdict::Allow, reason }) => {
                if self.settings.may_settle_warnings && complete {
                    settle(report, &reason);
                }
                return;
            }
            Ok(Answer { verdict: Verdict::Warn, reason }) => (Severity::Medium, reason),
            Ok(Answer { verdict: Verdict::Block, reason }) => (Severity::High, reason),
            Err(why) => {
                let severity = if self.settings.required { Severity::High } else { Severity::Low };
                (severity, format!("no verdict: {}", tame(&why)))
            }
        };
        report.add(Finding {
            rule: JUDGE.id.into(),
            severity,
            category: JUDGE.category.into(),
            path: "SKILL.md".to_owned(),
            line: 1,
            column: 0,
            excerpt: String::new(),
            matched: None,
            related: Vec::new(),
            message: format!("{}: {message}", JUDGE.message).into(),
            risk: None,
            remedy: JUDGE.remedy.into(),
            why: None,
            new: true,
            waived: false,
            waiver: None,
        });
    }
}

/// Waives findings of medium severity if nothing blocks. An old finding of higher severity keeps its warning.
fn settle(report: &mut Report, reason: &str) {
    if report.verdict() != Verdict::Warn {
        return;
    }
    let warns = |finding: &&mut Finding| !finding.waived && finding.severity.verdict() == Verdict::Warn;
    for finding in report.findings.iter_mut().filter(warns) {
        finding.waived = true;
        finding.waiver = Some(Acceptance::of_judge(reason));
    }
}

fn seconds() -> u64 {
    20
}
