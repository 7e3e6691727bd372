//! [`Run`]: a summary of the outcomes of one run with one revision.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use library::{Outcome, OutcomeKind, OutcomeSource, RevisionId};

/// Hours after which a run without a reported end counts as unknown.
pub const OPEN_HOURS: i64 = 24;

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Result {
    /// The run was completed, and nobody had to correct anything.
    Success,
    /// The run failed or was corrected.
    Failure,
    /// The run was aborted, or its end was never reported. It never counts as a success.
    Unknown,
    /// The run may still be in progress.
    Open,
}

/// Confirmation that a run happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Known {
    /// Only an agent's report.
    #[default]
    No,
    /// Serving of the skill by this program, or a transcript, at this time, before the end of the run was reported.
    Since(Timestamp),
    /// Report by a person, or by an earlier build that did not record the reporter.
    Taken,
}

impl Known {
    fn by(self, outcome: &Outcome, has_ended: bool, time: Timestamp) -> Self {
        match (self, outcome.basis) {
            (Self::Taken, _) | (_, None | Some(OutcomeSource::Person)) => Self::Taken,
            (Self::No, Some(OutcomeSource::Read | OutcomeSource::Transcript)) if !has_ended => Self::Since(time),
            _ => self,
        }
    }
}

/// One run with one revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Run<'a> {
    /// Revision of the run.
    pub revision: &'a RevisionId,
    /// Result of the run.
    pub result: Result,
    /// Start of the run or, if unknown, its end.
    pub time: Timestamp,
    /// Task of the run.
    pub task: Option<&'a str>,
    /// Duration in milliseconds.
    pub latency_ms: Option<u64>,
    /// Number of tokens read.
    pub tokens_in: Option<u64>,
    /// Number of tokens written.
    pub tokens_out: Option<u64>,
    /// Id of the run.
    pub id: &'a str,
    /// Conversation of the run.
    pub thread: Option<&'a str>,
    /// Actor that read the skill in the run.
    pub reader: Option<&'a str>,
    /// Confirmation that the run happened.
    pub known: Known,
    /// True if the reporting connection had changed the skill.
    pub by_author: bool,
    /// Line of the log that reported its end, or else its first line.
    place: usize,
}

/// Returns the runs in a log at a given time, in the order in which their ends were reported.
pub fn runs(outcomes: &[Outcome], now: Timestamp) -> Vec<Run<'_>> {
    let mut at: HashMap<(&str, &RevisionId), usize> = HashMap::new();
    let mut found: Vec<(Run<'_>, Seen)> = Vec::new();
    for (place, outcome) in outcomes.iter().enumerate() {
        let Some(time) = outcome.time() else { continue };
        let index = *at.entry((&outcome.run, &outcome.revision)).or_insert_with(|| {
            let (revision, result) = (&outcome.revision, Result::Open);
            let (latency_ms, tokens_in, tokens_out) = Default::default();
            found.push((
                Run {
                    revision,
                    result,
                    time,
                    task: None,
                    latency_ms,
                    tokens_in,
                    tokens_out,
                    id: &outcome.run,
                    thread: None,
                    reader: None,
                    known: Known::No,
                    by_author: false,
                    place,
                },
                Seen::default(),
            ));
            found.len() - 1
        });
        if let Some((run, seen)) = found.get_mut(index) {
            let known = run.known.by(outcome, seen.has_ended(), time);
            if known != run.known {
                (run.known, run.reader) = (known, outcome.actor.as_deref());
            }
            if seen.note(outcome.event) {
                run.place = place;
            }
            run.thread = run.thread.or(outcome.thread.as_deref());
            run.by_author |= outcome.by_author;
            run.time = run.time.min(time);
            run.task = run.task.or(outcome.task.as_deref());
            run.latency_ms = run.latency_ms.max(outcome.latency_ms);
            run.tokens_in = run.tokens_in.max(outcome.tokens_in);
            run.tokens_out = run.tokens_out.max(outcome.tokens_out);
        }
    }
    for (run, seen) in &mut found {
        run.result = seen.result(run.time, now);
    }
    let mut runs: Vec<Run<'_>> = found.into_iter().map(|(run, _)| run).collect();
    runs.sort_by_key(|run| run.place);
    runs
}

/// Events seen of a run.
#[derive(Default)]
struct Seen {
    completed: bool,
    failed: bool,
    aborted: bool,
}

impl Seen {
    fn has_ended(&self) -> bool {
        self.completed || self.failed || self.aborted
    }

    /// Adds an event. Returns whether it is the first to report an end.
    fn note(&mut self, event: OutcomeKind) -> bool {
        let is_first = !self.has_ended() && event != OutcomeKind::Activated;
        match event {
            OutcomeKind::Activated => {}
            OutcomeKind::Completed => self.completed = true,
            OutcomeKind::Failed | OutcomeKind::Corrected => self.failed = true,
            OutcomeKind::Aborted => self.aborted = true,
        }
        is_first
    }

    fn result(&self, began: Timestamp, now: Timestamp) -> Result {
        match self {
            Self { failed: true, .. } => Result::Failure,
            Self { aborted: true, .. } => Result::Unknown,
            Self { completed: true, .. } => Result::Success,
            _ if now.duration_since(began) >= SignedDuration::from_hours(OPEN_HOURS) => Result::Unknown,
            _ => Result::Open,
        }
    }
}

/// Keeps only the first run per day for each task and revision, since repeated attempts at one task add no information.
pub fn once_a_day<'a, K: std::hash::Hash + Eq>(runs: Vec<Run<'a>>, kind: impl Fn(&Run<'a>) -> K) -> Vec<Run<'a>> {
    let mut known = HashSet::new();
    let is_new = |run: &Run<'a>| {
        let Some(task) = run.task else { return true };
        let day = run.time.to_zoned(TimeZone::UTC).date();
        known.insert((kind(run), task, day))
    };
    let mut is_new = is_new;
    runs.into_iter().filter(|run| !matches!(run.result, Result::Success | Result::Failure) || is_new(run)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(run: &str, event: OutcomeKind, task: Option<&str>) -> Outcome {
        Outcome {
            v: 1,
            ts: "2026-01-02T03:00:00Z".to_owned(),
            skill: "s".to_owned(),
            revision: RevisionId::new("a".repeat(40)),
            event,
            run: run.to_owned(),
            latency_ms: None,
            tokens_in: None,
            tokens_out: None,
            task: task.map(str::to_owned),
            query: None,
            source: None,
            actor: None,
            basis: None,
            thread: None,
            by_author: false,
        }
    }

    fn results(outcomes: &[Outcome], now: &str) -> Vec<Result> {
        runs(outcomes, now.parse().unwrap()).iter().map(|run| run.result).collect()
    }

    #[test]
    fn unknown_result_is_not_success() {
        use OutcomeKind::{Aborted, Activated, Completed, Corrected, Failed};
        let soon = "2026-01-02T04:00:00Z";
        let result = |events: &[OutcomeKind], now: &str| {
            let lines: Vec<Outcome> = events.iter().map(|event| line("r", *event, None)).collect();
            results(&lines, now)[0]
        };
        assert_eq!(result(&[Activated], soon), Result::Open);
        assert_eq!(result(&[Activated], "2026-01-03T03:00:00Z"), Result::Unknown);
        assert_eq!(result(&[Activated, Completed], soon), Result::Success);
        assert_eq!(result(&[Completed, Corrected], soon), Result::Failure);
        assert_eq!(result(&[Completed, Aborted], soon), Result::Unknown);
        assert_eq!(result(&[Aborted, Failed], soon), Result::Failure);
    }

    #[test]
    fn first_run_of_task_counts_daily() {
        use OutcomeKind::{Completed, Failed};
        let lines = [
            line("1", Completed, Some("t")),
            line("2", Failed, Some("t")),
            line("3", Failed, None),
            Outcome { ts: "2026-01-03T00:00:00Z".to_owned(), ..line("4", Failed, Some("t")) },
        ];
        let all = runs(&lines, "2026-01-04T00:00:00Z".parse().unwrap());
        let kept: Vec<Result> = once_a_day(all, |_| ()).iter().map(|run| run.result).collect();
        assert_eq!(kept, [Result::Success, Result::Failure, Result::Failure]);
    }
}
