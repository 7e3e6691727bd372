//! [`Report`]: the answer of `skill_manage` to a request that was not refused.

use library::{Action, Checkout, Committed, RevisionId};
use scan::{CapabilityDelta, Finding, Verdict};
use serde::{Serialize, Serializer};
use skill::{Problem, diff::FileChange};

use crate::policy::Ruling;

/// Outcome of a request that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The change is a new revision.
    Applied,
    /// The skill already had the requested content.
    Unchanged,
    /// The change would be a new revision or a proposal.
    DryRun,
    /// The change waits for a person's decision.
    Proposed,
}

/// Scan result for the resulting skill.
#[derive(Debug, Clone, Serialize)]
pub struct VerdictReport {
    /// Overall verdict, `allow` or `warn`. Blocked content yields an error in place of a report.
    pub level: Verdict,
    /// Version of the ruleset.
    pub ruleset: String,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
}

/// Problem with a flag for whether this change introduced it.
#[derive(Debug, Clone, Serialize)]
pub struct ReportedProblem {
    /// Stable name of the rule.
    pub code: &'static str,
    /// Severity, `error` or `warning` in JSON.
    pub severity: skill::Severity,
    /// Description of the fault and its correction.
    pub message: String,
    /// File with the problem.
    pub path: String,
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// True if this change introduced the problem.
    pub new: bool,
}

impl ReportedProblem {
    /// Marks each problem as new or known.
    pub(crate) fn list(problems: Vec<Problem>, known: &[Problem]) -> Vec<Self> {
        let mark = |problem: Problem| Self {
            new: !problem.is_among(known),
            code: problem.code,
            severity: problem.severity,
            message: problem.message,
            path: problem.path,
            line: problem.line,
        };
        problems.into_iter().map(mark).collect()
    }
}

/// Answer to a request that was not refused.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Always true, to distinguish it from errors in JSON.
    pub ok: bool,
    /// Outcome of the request.
    pub status: Status,
    /// Action that was requested.
    #[serde(serialize_with = "word")]
    pub action: Action,
    /// Name of the skill.
    pub name: String,
    /// New revision, or the current one if nothing changed. Null for a dry run.
    pub revision: Option<RevisionId>,
    /// Number of that revision.
    pub number: Option<u64>,
    /// Base of the change, to which `files` and `diff` are relative. A recorded hand edit comes before this revision.
    pub previous_revision: Option<RevisionId>,
    /// Files that changed.
    pub files: Vec<FileChange>,
    /// The change as a unified diff.
    pub diff: String,
    /// Capabilities that the skill gains and loses. `None` if it is created or deleted.
    #[serde(flatten)]
    pub delta: Option<CapabilityDelta>,
    /// Verdict of the scanner.
    pub verdict: VerdictReport,
    /// Deviations of the skill from the standard.
    pub problems: Vec<ReportedProblem>,
    /// Proposal that a held change created or amended, or that was accepted.
    pub proposal: Option<String>,
    /// Revision of that proposal.
    pub proposal_revision: Option<u64>,
    /// Policy decision, also for a dry run: `apply` or `hold`. Null if nothing changes, since the policy is not
    /// consulted then. A denial is an error.
    pub decision: Option<Ruling>,
    /// State of the checkout, `done` or `pending`.
    #[serde(serialize_with = "checkout_word")]
    pub checkout: Checkout,
    /// Further sentences for the user.
    pub message: String,
}

impl Report {
    /// Adds the result of a commit to the report.
    pub(crate) fn applied(&mut self, committed: Option<Committed>) {
        let Some(committed) = committed else { return };
        self.status = Status::Applied;
        self.number = Some(committed.revision.number);
        self.revision = Some(committed.revision.id);
        self.previous_revision = committed.revision.parent;
        match &committed.checkout {
            Checkout::Done => {}
            Checkout::HandEditKept(id) => {
                self.add(&format!(
                    "the folder was edited by hand at the same time; that edit was kept as revision {}",
                    id.short()
                ));
            }
            Checkout::Pending(why) => self.add(&format!("the folder does not have the revision yet: {why}")),
        }
        self.checkout = committed.checkout;
    }

    /// Appends a sentence to the message.
    pub fn add(&mut self, sentence: &str) {
        if !self.message.is_empty() {
            self.message.push_str("; ");
        }
        self.message.push_str(sentence);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn word<S: Serializer>(action: &Action, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(action.as_str())
}

fn checkout_word<S: Serializer>(checkout: &Checkout, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match checkout {
        Checkout::Done | Checkout::HandEditKept(_) => "done",
        Checkout::Pending(_) => "pending",
    })
}
