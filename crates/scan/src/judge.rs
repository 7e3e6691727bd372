//! [`Question`] and [`Answer`]: a second opinion on a skill that is about to be written, from outside of the scanner.
//!
//! The opinion can make a verdict graver. It settles warnings only where [`JudgeSettings`] allow that, and never a
//! block. Whoever makes a [`crate::Scanner`] says how the judge is asked; nothing here starts a program.

use std::fmt;

use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, Limits, frontmatter};

use crate::{
    Acceptance, Capabilities, Finding, Report, SettingsError, Severity, Verdict, capabilities,
    characters::is_invisible, rules::JUDGE,
};

/// Characters of a reason that are kept.
const REASON_CHARS: usize = 500;

/// Bytes of text that are shown to the judge.
const TEXT_BYTES: usize = 4 << 20;

/// The most seconds that a judge may be given.
const MOST_SECONDS: u64 = 300;

/// The table `[scan.judge]` of a user's configuration or the system's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeSettings {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    #[serde(default = "seconds")]
    pub timeout_seconds: u64,
    /// Whether it can settle warnings.
    #[serde(default)]
    pub may_settle_warnings: bool,
    /// Whether nothing is written without its opinion.
    #[serde(default)]
    pub required: bool,
    /// Where it is run: the folder of the configuration. Whoever reads the settings says so.
    #[serde(skip)]
    pub folder: String,
}

/// What a judge is asked about a skill, as one JSON document.
#[derive(Debug, Serialize)]
pub struct Question<'a> {
    /// The version of this form.
    pub v: u32,
    /// The name in its frontmatter.
    pub skill: Option<String>,
    /// The version of the scanner's rules.
    pub ruleset: &'a str,
    /// The scanner's verdict, before a person's waivers.
    pub verdict: Verdict,
    /// What the scanner found.
    pub findings: &'a [Finding],
    /// What the skill reads, runs and reaches.
    pub capabilities: Capabilities,
    /// Whether all texts are there; else some files have none though they are texts.
    pub complete: bool,
    /// The files, `SKILL.md` first.
    pub files: Vec<QuestionFile<'a>>,
}

/// A file that a judge is asked about.
#[derive(Debug, Serialize)]
pub struct QuestionFile<'a> {
    /// Its path inside the skill.
    pub path: &'a str,
    /// Its size.
    pub bytes: usize,
    /// The digest of its bytes.
    pub sha256: String,
    /// Whether it is executable.
    pub executable: bool,
    /// What it says, if it is a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
}

/// What a judge says: one JSON document with nothing beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, for those who see the finding.
    pub reason: String,
}

type Ask = dyn Fn(&Question<'_>) -> Result<Answer, String> + Send + Sync;

/// A judge with its settings.
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
    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// [`SettingsError`] with the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        let (key, message) = match self.command.first() {
            None => ("judge.command", "it names no program".to_owned()),
            Some(program) if program.is_empty() => ("judge.command", "it names no program".to_owned()),
            Some(_) if !(1..=MOST_SECONDS).contains(&self.timeout_seconds) => {
                ("judge.timeout_seconds", format!("from 1 to {MOST_SECONDS}"))
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
        Self { v: 1, skill: name_of(bundle), ruleset, verdict, findings, capabilities, complete, files }
    }
}

fn name_of(bundle: &Bundle) -> Option<String> {
    frontmatter::read(bundle.skill_md()?, &Limits::default()).ok()?.frontmatter.name
}

impl Answer {
    /// Reads all that a judge printed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let answer: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("its answer cannot be read: {error}"))?;
        Ok(Self { reason: tame(&answer.reason), ..answer })
    }
}

/// A text on one line, without what is drawn as nothing, and not too long.
fn tame(text: &str) -> String {
    let shown = |c: char| if c.is_control() || is_invisible(c) { ' ' } else { c };
    text.chars().take(REASON_CHARS).map(shown).collect::<String>().trim().to_owned()
}

impl Judge {
    pub fn new(settings: JudgeSettings, ask: Box<Ask>) -> Self {
        Self { settings, ask }
    }

    /// Asks about a skill, and adds to the report what follows.
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
                (severity, format!("it gave no opinion: {}", tame(&why)))
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
            message: format!("{}: {message}", JUDGE.message).into(),
            remedy: JUDGE.remedy.into(),
            why: None,
            new: true,
            waived: false,
            waiver: None,
        });
    }
}

/// Settles what warns, where nothing blocks. A grave finding that was there before keeps its warning.
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
