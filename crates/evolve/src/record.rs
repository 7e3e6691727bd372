//! [`Request`]: an outcome as somebody tells it, and the way into the log.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use library::{
    Basis, FindError, Library, LibraryError, Outcome, OutcomeFault, OutcomeKind, RevisionId, RevisionSpec, StorageError,
};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{
    SkillName,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

/// Requests of one call.
pub const REQUESTS: usize = 100_000;

/// Bytes of one call.
pub const BYTES: u64 = 64 << 20;

/// Minutes that a clock may be ahead of ours.
const AHEAD_MINUTES: i64 = 5;

/// An outcome as it is told; what is left out is filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The format's version, 1.
    pub v: Option<u32>,
    /// When; now without it.
    pub ts: Option<String>,
    /// The skill.
    #[serde(alias = "name")]
    pub skill: String,
    /// The revision that the run had; without it the one that the run was given, else the head.
    pub revision: Option<String>,
    /// `activated`, `completed`, `failed`, `aborted` or `corrected`.
    pub event: String,
    /// The run; without it one of its own.
    pub run: Option<String>,
    /// Milliseconds.
    pub latency_ms: Option<u64>,
    /// Tokens read.
    pub tokens_in: Option<u64>,
    /// Tokens written.
    pub tokens_out: Option<u64>,
    /// What was to be done.
    pub task: Option<String>,
    /// Who tells it.
    pub source: Option<String>,
    /// The conversation of the run.
    #[serde(alias = "thread_id")]
    pub thread: Option<String>,
    /// How the program knows of it; no request can say.
    #[serde(skip)]
    pub basis: Basis,
    /// The connection over which it is reported changed the skill before.
    #[serde(skip)]
    pub by_author: bool,
    /// Its place among those that were told together, from 1; 0 where they were made otherwise.
    #[serde(skip)]
    pub place: usize,
}

/// Why nothing was recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("the request cannot be read: {0}")]
    Malformed(String),
    /// Too many at once.
    #[error("a call may have {REQUESTS} outcomes and {BYTES} bytes")]
    TooMany,
    /// One of them is none.
    #[error("outcome {place}: {fault}")]
    Fault {
        /// Which, from 1.
        place: usize,
        /// What is wrong.
        fault: OutcomeFault,
    },
    /// One happens later than now.
    #[error("outcome {place}: its ts is in the future")]
    Future {
        /// Which, from 1.
        place: usize,
    },
    /// The skill or revision is not there.
    #[error("outcome {place}: {source}")]
    Find {
        /// Which, from 1.
        place: usize,
        /// What is not there.
        source: FindError,
    },
    /// The log.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl Fails for RecordError {
    fn failure(&self) -> Failure {
        match self {
            Self::Malformed(_) | Self::Future { .. } => Failure::new(FailureKind::Usage, "invalid_request")
                .hint(r#"write {"skill":"NAME","event":"completed","run":"ID"}, one a line"#),
            Self::Fault { .. } => Failure::new(FailureKind::Usage, "invalid_request"),
            Self::TooMany => Failure::new(FailureKind::Invalid, "too_large").hint("record it in several calls"),
            Self::Find { source: FindError::Storage(_), .. } => Failure::new(FailureKind::Integrity, "damaged_history"),
            Self::Find { source: FindError::Ambiguous { .. }, .. } => Failure::new(FailureKind::Conflict, "ambiguous"),
            Self::Find { .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint("`skillhub list` shows the skills with their revisions"),
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

/// What is filled in where a request does not say it.
#[derive(Debug, Clone, Copy)]
pub struct Defaults<'a> {
    /// The actor that reports, as `kind:id`.
    pub actor: &'a str,
    /// The run.
    pub run: &'a str,
    /// When.
    pub now: Timestamp,
}

/// What a call recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Outcomes that the log has since.
    pub recorded: usize,
    /// Outcomes that it had already.
    pub doubles: usize,
    /// Outcomes of runs with an edit that no revision holds: they count for none.
    pub unrecorded: usize,
    /// The skills that they are about.
    pub skills: Vec<SkillName>,
}

/// Reads requests: one JSON document, or one after the other.
///
/// # Errors
/// One cannot be read, or there are too many.
pub fn requests(bytes: &[u8]) -> Result<Vec<Request>, RecordError> {
    if bytes.len() as u64 > BYTES {
        return Err(RecordError::TooMany);
    }
    let mut requests = Vec::new();
    for request in serde_json::Deserializer::from_slice(bytes).into_iter::<Request>() {
        let request = request.map_err(|error| RecordError::Malformed(error.to_string()))?;
        requests.push(Request { place: requests.len() + 1, ..request });
        if requests.len() > REQUESTS {
            return Err(RecordError::TooMany);
        }
    }
    match requests.is_empty() {
        true => Err(RecordError::Malformed("there is none".to_owned())),
        false => Ok(requests),
    }
}

/// Records outcomes: all of them are looked at before the first is written.
///
/// # Errors
/// [`RecordError`]; nothing was recorded then, but where the system refused in the middle.
pub fn record(library: &Library, requests: Vec<Request>, defaults: Defaults<'_>) -> Result<Told, RecordError> {
    let mut known: HashMap<SkillName, Known> = HashMap::new();
    let mut outcomes: BTreeMap<SkillName, Vec<Outcome>> = BTreeMap::new();
    let mut told = Told::default();
    for (index, request) in requests.into_iter().enumerate() {
        let place = if request.place == 0 { index + 1 } else { request.place };
        let malformed = |error: String| RecordError::Malformed(format!("outcome {place}: {error}"));
        let skill = SkillName::parse(&request.skill).map_err(|error| malformed(error.to_string()))?;
        if !known.contains_key(&skill) {
            let of_skill = Known::of(library, &skill).map_err(|source| RecordError::Find { place, source })?;
            known.insert(skill.clone(), of_skill);
        }
        let Some(of_skill) = known.get_mut(&skill) else { continue };
        let Some(outcome) = outcome(library, &skill, of_skill, request, (place, defaults))? else {
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

/// What is known of a skill while requests about it are looked at.
struct Known {
    /// The revision that the folder holds; `None` for an edit that is not recorded.
    shown: Option<RevisionId>,
    revisions: HashSet<RevisionId>,
    /// The revision of each run that was told of.
    given: HashMap<String, RevisionId>,
}

impl Known {
    fn of(library: &Library, skill: &SkillName) -> Result<Self, FindError> {
        library.head(skill)?.ok_or_else(|| FindError::NoSkill(skill.clone()))?;
        let shown = library.revision_in_folder(skill).map_err(storage)?.map(|revision| revision.id);
        let revisions = library.revisions(skill, usize::MAX)?.into_iter().map(|revision| revision.id).collect();
        // Of a log that cannot be read, the recording itself tells.
        let outcomes = library.outcomes(skill).unwrap_or_default().outcomes;
        let mut given = HashMap::new();
        for outcome in outcomes {
            given.entry(outcome.run).or_insert(outcome.revision);
        }
        Ok(Self { shown, revisions, given })
    }
}

/// An error of the library as one of the search for a skill.
fn storage(error: LibraryError) -> FindError {
    match error {
        LibraryError::Storage(error) => error.into(),
        other => StorageError::Damaged(other.to_string()).into(),
    }
}

/// `None` for a run with an edit that no revision holds.
fn outcome(
    library: &Library,
    skill: &SkillName,
    known: &Known,
    request: Request,
    (place, defaults): (usize, Defaults<'_>),
) -> Result<Option<Outcome>, RecordError> {
    let malformed = |error: String| RecordError::Malformed(format!("outcome {place}: {error}"));
    let event = OutcomeKind::from_word(&request.event).ok_or_else(|| {
        let words = OutcomeKind::ALL.map(OutcomeKind::as_str).join(", ");
        malformed(format!("{:?} is no event; write one of {words}", request.event))
    })?;
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
