//! [`OutcomeRecord`]: a reported outcome, and its validation and storage in the log.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use library::{
    FindError, Library, LibraryError, Outcome, OutcomeFault, OutcomeKind, OutcomeSource, RevisionId, RevisionSpec,
    StorageError,
};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{
    SkillName,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
};
use thiserror::Error;

use crate::optimise::sanitise;

/// Largest number of outcomes in one call.
pub const REQUESTS: usize = 100_000;

/// Largest size of one call in bytes.
pub const BYTES: u64 = 64 << 20;

/// Number of characters of a user's words to keep.
pub const QUERY_CHARS: usize = 500;

/// Minutes that the reporter's clock may be ahead.
const AHEAD_MINUTES: i64 = 5;

/// Outcome as reported. Missing fields get defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutcomeRecord {
    /// Version of the format, 1.
    pub v: Option<u32>,
    /// Time of the event, by default the current time.
    pub ts: Option<String>,
    /// Name of the skill.
    #[serde(alias = "name")]
    pub skill: String,
    /// Revision of the run. Defaults to the one first recorded for the run, or else the one that it is served: that of
    /// a trial, or that of the folder.
    pub revision: Option<String>,
    /// One of `activated`, `completed`, `failed`, `aborted` and `corrected`.
    pub event: String,
    /// Id of the run. A new one by default.
    pub run: Option<String>,
    /// Duration in milliseconds.
    pub latency_ms: Option<u64>,
    /// Number of tokens read.
    pub tokens_in: Option<u64>,
    /// Number of tokens written.
    pub tokens_out: Option<u64>,
    /// Task of the run.
    pub task: Option<String>,
    /// Words of the user, of which the first [`QUERY_CHARS`] characters of a failure or correction are stored.
    pub query: Option<String>,
    /// Name of the reporting program.
    pub source: Option<String>,
    /// Conversation of the run.
    #[serde(alias = "thread_id")]
    pub thread: Option<String>,
    /// Basis of the program's knowledge. A request cannot set it.
    #[serde(skip)]
    pub basis: OutcomeSource,
    /// True if the reporting connection changed the skill before.
    #[serde(skip)]
    pub by_author: bool,
    /// Position among the outcomes of one call, from 1. 0 if it was built in code.
    #[serde(skip)]
    pub place: usize,
}

/// Reason why nothing was recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The request cannot be parsed.
    #[error("the request is invalid: {0}")]
    Malformed(String),
    /// The event of an outcome is unknown.
    #[error("the request is invalid: outcome {place}: unknown event {event:?}; use one of {}", events())]
    Event {
        /// Position of the outcome, from 1.
        place: usize,
        /// Event as given.
        event: String,
    },
    /// The call exceeds a limit on outcomes or bytes.
    #[error("the request exceeds {REQUESTS} outcomes or {BYTES} bytes")]
    TooMany,
    /// An outcome is invalid.
    #[error("outcome {place}: {fault}")]
    Fault {
        /// Position of the outcome, from 1.
        place: usize,
        /// Fault in the outcome.
        fault: OutcomeFault,
    },
    /// The time of an outcome is in the future.
    #[error("outcome {place}: `ts` is in the future")]
    Future {
        /// Position of the outcome, from 1.
        place: usize,
    },
    /// The skill or revision does not exist.
    #[error("outcome {place}: {source}")]
    Find {
        /// Position of the outcome, from 1.
        place: usize,
        /// Failed lookup of the skill or revision.
        source: FindError,
    },
    /// The log cannot be read or written.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

/// Lists the events that an outcome may have.
fn events() -> String {
    OutcomeKind::ALL.map(OutcomeKind::as_str).join(", ")
}

impl Fails for RecordError {
    fn failure(&self) -> Failure {
        match self {
            Self::Malformed(_) | Self::Future { .. } => Failure::new(FailureKind::Usage, "invalid_request")
                .hint(r#"write one outcome per line: {"skill":"NAME","event":"completed","run":"ID"}"#),
            Self::Event { .. } => Failure::new(FailureKind::Usage, "invalid_request")
                .hint(format!("set the event to one of {}", events())),
            Self::Fault { .. } => Failure::new(FailureKind::Usage, "invalid_request"),
            Self::TooMany => Failure::new(FailureKind::Invalid, "too_large").hint("split it into several calls"),
            Self::Find { source: FindError::Storage(_), .. } => Failure::new(FailureKind::Integrity, "damaged_history"),
            Self::Find { source: FindError::Ambiguous { .. }, .. } => Failure::new(FailureKind::Conflict, "ambiguous"),
            Self::Find { .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint(Hint::from("list the skills and their revisions with ").step(NextStep::ListSkills)),
            Self::Library(_) => Failure::io(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Fault { place, .. } | Self::Future { place } | Self::Find { place, .. } => json!({"place": place}),
            _ => json!({}),
        }
    }
}

/// Defaults for fields that a request omits.
#[derive(Debug, Clone, Copy)]
pub struct Defaults<'a> {
    /// Actor that reports, as `kind:id`.
    pub actor: &'a str,
    /// Id of the run.
    pub run: &'a str,
    /// Current time.
    pub now: Timestamp,
}

/// Result of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSummary {
    /// Number of outcomes added to the log.
    pub recorded: usize,
    /// Number of outcomes that the log already had.
    pub doubles: usize,
    /// Number of outcomes of runs with an unrecorded edit, which count for no revision.
    pub unrecorded: usize,
    /// Skills that the outcomes refer to.
    pub skills: Vec<SkillName>,
}

/// Parses requests: one or several consecutive JSON documents.
///
/// # Errors
/// A request cannot be parsed, there are too many, or there is none.
pub fn requests(bytes: &[u8]) -> Result<Vec<OutcomeRecord>, RecordError> {
    if bytes.len() as u64 > BYTES {
        return Err(RecordError::TooMany);
    }
    let mut requests = Vec::new();
    for request in serde_json::Deserializer::from_slice(bytes).into_iter::<OutcomeRecord>() {
        let request = request.map_err(|error| RecordError::Malformed(error.to_string()))?;
        requests.push(OutcomeRecord { place: requests.len() + 1, ..request });
        if requests.len() > REQUESTS {
            return Err(RecordError::TooMany);
        }
    }
    if requests.is_empty() { Err(RecordError::Malformed("it has no outcomes".to_owned())) } else { Ok(requests) }
}

/// Records outcomes after validating all of them.
///
/// # Errors
/// [`RecordError`]. Nothing was recorded then, except if the system failed midway.
pub fn record(
    library: &Library,
    requests: Vec<OutcomeRecord>,
    defaults: Defaults<'_>,
) -> Result<RecordSummary, RecordError> {
    let mut known: HashMap<SkillName, Known> = HashMap::new();
    let mut outcomes: BTreeMap<SkillName, Vec<Outcome>> = BTreeMap::new();
    let mut told = RecordSummary::default();
    for (index, request) in requests.into_iter().enumerate() {
        let place = if request.place == 0 { index + 1 } else { request.place };
        let malformed = |error: String| RecordError::Malformed(format!("outcome {place}: {error}"));
        let skill = SkillName::parse(&request.skill).map_err(|error| malformed(error.to_string()))?;
        if !known.contains_key(&skill) {
            let of_skill = Known::of(library, &skill).map_err(|source| RecordError::Find { place, source })?;
            known.insert(skill.clone(), of_skill);
        }
        let Some(of_skill) = known.get_mut(&skill) else { continue };
        let Some(outcome) = outcome(library, &skill, of_skill, request, place, defaults)? else {
            told.unrecorded += 1;
            continue;
        };
        of_skill.given.entry(outcome.run.clone()).or_insert_with(|| outcome.revision.clone());
        outcomes.entry(skill).or_default().push(outcome);
    }
    for (skill, outcomes) in outcomes {
        let recorded = library.record_outcomes(&skill, &outcomes)?;
        told.recorded += recorded.new;
        told.doubles += recorded.doubles;
        told.skills.push(skill);
    }
    Ok(told)
}

/// Cached facts about a skill while requests are validated.
struct Known {
    /// Revision in the folder. `None` for an unrecorded edit.
    shown: Option<RevisionId>,
    revisions: HashSet<RevisionId>,
    /// Revision first recorded for each run.
    given: HashMap<String, RevisionId>,
}

impl Known {
    fn of(library: &Library, skill: &SkillName) -> Result<Self, FindError> {
        library.head(skill)?.ok_or_else(|| FindError::NoSkill(skill.clone()))?;
        let shown = library.revision_in_folder(skill).map_err(storage)?.map(|revision| revision.id);
        let revisions = library.revisions(skill, usize::MAX)?.into_iter().map(|revision| revision.id).collect();
        // If the log cannot be read, recording reports the error.
        let outcomes = library.outcomes(skill).unwrap_or_default().outcomes;
        let mut given = HashMap::new();
        for outcome in outcomes {
            given.entry(outcome.run).or_insert(outcome.revision);
        }
        Ok(Self { shown, revisions, given })
    }
}

/// Converts an error of the library into one of the lookup.
fn storage(error: LibraryError) -> FindError {
    match error {
        LibraryError::Storage(error) => error.into(),
        other => StorageError::Damaged(other.to_string()).into(),
    }
}

/// Builds the outcome of a request. Returns `None` for a run with an unrecorded edit.
fn outcome(
    library: &Library,
    skill: &SkillName,
    known: &Known,
    request: OutcomeRecord,
    place: usize,
    defaults: Defaults<'_>,
) -> Result<Option<Outcome>, RecordError> {
    let malformed = |error: String| RecordError::Malformed(format!("outcome {place}: {error}"));
    let unknown = || RecordError::Event { place, event: request.event.clone() };
    let event = OutcomeKind::from_word(&request.event).ok_or_else(unknown)?;
    let run = request.run.unwrap_or_else(|| match place {
        1 => defaults.run.to_owned(),
        _ => format!("{}-{place}", defaults.run),
    });
    let revision = match &request.revision {
        Some(text) if known.revisions.contains(&RevisionId::new(text.clone())) => RevisionId::new(text.clone()),
        Some(text) => {
            let spec: RevisionSpec = text.parse().map_err(|error| malformed(format!("{error}")))?;
            library.find(skill, &spec, text).map_err(|source| RecordError::Find { place, source })?.id
        }
        None => match known.given.get(&run) {
            Some(given) => given.clone(),
            None => match library.served(skill, &run)?.map(|served| served.head.id).or_else(|| known.shown.clone()) {
                Some(revision) => revision,
                None => return Ok(None),
            },
        },
    };
    let is_failure = matches!(event, OutcomeKind::Failed | OutcomeKind::Corrected);
    let query = request.query.filter(|_| is_failure).map(|query| sanitise(&query, QUERY_CHARS));
    let outcome = Outcome {
        v: request.v.unwrap_or(1),
        ts: request.ts.unwrap_or_else(|| defaults.now.to_string()),
        skill: skill.to_string(),
        revision,
        event,
        run,
        latency_ms: request.latency_ms,
        tokens_in: request.tokens_in,
        tokens_out: request.tokens_out,
        task: request.task,
        query: query.filter(|query| !query.is_empty()),
        source: request.source.or_else(|| Some(defaults.actor.to_owned())),
        actor: Some(defaults.actor.to_owned()),
        basis: Some(request.basis),
        thread: request.thread,
        by_author: request.by_author,
    };
    outcome.check().map_err(|fault| RecordError::Fault { place, fault })?;
    let latest = defaults.now.checked_add(SignedDuration::from_mins(AHEAD_MINUTES)).unwrap_or(Timestamp::MAX);
    match outcome.time().is_some_and(|time| time <= latest) {
        true => Ok(Some(outcome)),
        false => Err(RecordError::Future { place }),
    }
}
