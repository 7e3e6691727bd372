//! [`Transcripts`]: uses of skills in a host's own conversation records.
//!
//! Each host has a module that describes its format. A line of another form is skipped and counted.
//!
//! A transcript shows that a skill was read, with which content, that reading it or the conversation was interrupted,
//! and that the agent changed the skill after reading it, which is a correction. It never shows that the task was
//! completed. Without other evidence, such a run remains unknown. The start of the user's first message is read as well,
//! since evals are suggested from it.

mod attribution;
mod change;
mod claude_code;
mod codex;
mod conversation;
mod gemini_cli;
mod opencode;

use std::sync::Arc;

use jiff::Timestamp;
use library::{OutcomeKind, OutcomeSource, RevisionId};
use serde_json::Value;
use skill::objects_and_commas;

use crate::record::OutcomeRecord;

pub use attribution::{KnownRevisions, ReadRevision, is_distinguishable};

/// Host with a supported transcript format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Code, with JSON lines per conversation.
    ClaudeCode,
    /// Codex, with JSON lines per conversation.
    Codex,
    /// Gemini CLI, with JSON lines or one document per conversation.
    GeminiCli,
    /// OpenCode, with one JSON file per message part, or one document per conversation.
    OpenCode,
}

impl Host {
    /// All hosts.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::GeminiCli, Self::OpenCode];

    /// Returns its id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::OpenCode => "opencode",
        }
    }

    /// Returns the id of the run that a session of the host is.
    pub fn run(self, session: &str) -> String {
        format!("{}:{session}", self.as_str())
    }

    /// Returns the host with an id.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.as_str() == word)
    }
}

/// Largest size in bytes of a conversation id or skill name, since each is stored with every use.
const NAME_BYTES: usize = 500;

/// Largest number of JSON values in a line or document, more than a conversation of 64 MiB has.
const VALUES: usize = 500_000;

/// Uses of skills found in transcripts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcripts {
    /// Uses, in the order of reading.
    pub uses: Vec<SkillUse>,
    /// Number of lines and documents that are malformed or not of the host's format.
    pub skipped: usize,
    /// Number of lines and documents that were parsed.
    pub read: usize,
}

/// One reading of a skill in a conversation. Each conversation is one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillUse {
    /// Name of the skill.
    pub skill: String,
    /// Host of the conversation.
    pub host: Host,
    /// Id of the conversation.
    pub session: String,
    /// Time of the reading.
    pub time: Option<Timestamp>,
    /// Number of tokens that the model read.
    pub tokens_in: Option<u64>,
    /// Number of tokens that the model wrote.
    pub tokens_out: Option<u64>,
    /// Text that the host gave to the model, if the transcript has it.
    pub content: Option<Arc<str>>,
    /// Start of the user's first message in the conversation, if the transcript has it.
    pub query: Option<Arc<str>>,
    /// Later events, each kind at most once.
    pub events: Vec<(OutcomeKind, Option<Timestamp>)>,
}

impl SkillUse {
    fn new(host: Host, skill: &str, session: &str, time: Option<Timestamp>) -> Self {
        Self {
            // Skills of a plugin are called `plugin:skill`.
            skill: skill.rsplit(':').next().unwrap_or(skill).trim_start_matches('/').to_owned(),
            host,
            session: session.to_owned(),
            time,
            tokens_in: None,
            tokens_out: None,
            content: None,
            query: None,
            events: Vec::new(),
        }
    }

    fn add_event(&mut self, kind: OutcomeKind, time: Option<Timestamp>) {
        if self.events.iter().all(|(known, _)| *known != kind) {
            self.events.push((kind, time));
        }
    }

    /// Returns its outcomes for the revision that was read: the activation, then the later events. All have the user's
    /// words, of which recording keeps those of failures and corrections.
    pub fn records(&self, revision: &RevisionId) -> Vec<OutcomeRecord> {
        let record = |kind: OutcomeKind, time: Option<Timestamp>| OutcomeRecord {
            skill: self.skill.clone(),
            revision: Some(revision.to_string()),
            event: kind.as_str().to_owned(),
            run: Some(self.host.run(&self.session)),
            ts: time.or(self.time).map(|time| time.to_string()),
            source: Some(self.host.as_str().to_owned()),
            query: self.query.as_deref().map(str::to_owned),
            basis: OutcomeSource::Transcript,
            ..OutcomeRecord::default()
        };
        let (tokens_in, tokens_out) = (self.tokens_in, self.tokens_out);
        let activated = OutcomeRecord { tokens_in, tokens_out, ..record(OutcomeKind::Activated, self.time) };
        std::iter::once(activated).chain(self.events.iter().map(|(kind, time)| record(*kind, *time))).collect()
    }
}

impl Transcripts {
    /// Adds the uses in one file of a host.
    pub fn add(&mut self, host: Host, bytes: &[u8]) {
        match host {
            Host::ClaudeCode => claude_code::add(self, bytes),
            Host::Codex => codex::add(self, bytes),
            Host::GeminiCli => gemini_cli::add(self, bytes),
            Host::OpenCode => opencode::add(self, bytes),
        }
    }
}

/// Parses each line that is not blank. An item is `None` if the line is malformed.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Option<Value>> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).map(parse)
}

/// Parses a line or document, unless it has so many values that they would take many times its size in memory.
fn parse(json: &[u8]) -> Option<Value> {
    let (_, values) = objects_and_commas(json);
    (values <= VALUES).then(|| serde_json::from_slice(json).ok()).flatten()
}

/// Returns the texts of a message: the content itself, or the `text` of its parts.
fn texts(content: &Value) -> impl Iterator<Item = &str> {
    let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    content.as_str().into_iter().chain(parts)
}

/// Parses the time in a field.
fn time_at(value: &Value, field: &str) -> Option<Timestamp> {
    value[field].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests;
