//! [`Report`]: what `skill_manage` answers when it did not refuse.

use library::{Action, Checkout, Committed, RevisionId};
use scan::{CapabilityDelta, Finding, Verdict};
use serde::{Serialize, Serializer};
use skill::{Problem, diff::FileChange};

use crate::policy::Ruling;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is a new revision.
    Applied,
    /// The skill was like that already.
    Unchanged,
    /// It would be a new revision, or a proposal.
    DryRun,
    /// It waits for a person to decide.
    Proposed,
}

/// What the scanner said of the skill as it would be.
#[derive(Debug, Clone, Serialize)]
pub struct VerdictReport {
    /// allow or warn; what is blocked makes no report.
    pub level: Verdict,
    /// The version of the rules.
    pub ruleset: String,
    /// What they found, worst first.
    pub findings: Vec<Finding>,
}

/// A problem, and whether this change brought it.
#[derive(Debug, Clone, Serialize)]
pub struct ReportedProblem {
    /// A stable name of the rule.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: skill::Severity,
    /// What is wrong and what to do.
    pub message: String,
    /// The file.
    pub path: String,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// Whether it was not there before.
    pub new: bool,
}

impl ReportedProblem {
    /// Marks each problem as new or known from before.
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

/// The answer to a request that was not refused.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Always true.
    pub ok: bool,
    /// What became of it.
    pub status: Status,
    /// What was asked for.
    #[serde(serialize_with = "word")]
    pub action: Action,
    /// The skill.
    pub name: String,
    /// The revision that it became, or that the skill is at when nothing changed; null for a dry run.
    pub revision: Option<RevisionId>,
    /// That revision's number.
    pub number: Option<u64>,
    /// The revision that the change was made on, against which `files` and `diff` are: a hand edit
    /// that was recorded first comes before this one.
    pub previous_revision: Option<RevisionId>,
    /// The files that changed.
    pub files: Vec<FileChange>,
    /// The change as a unified diff.
    pub diff: String,
    /// What the skill would touch besides, and no more; none where it is created or deleted.
    #[serde(flatten)]
    pub delta: Option<CapabilityDelta>,
    /// What the scanner said.
    pub verdict: VerdictReport,
    /// How the skill departs from the standard.
    pub problems: Vec<ReportedProblem>,
    /// The proposal that a held change became or amended, or that was accepted.
    pub proposal: Option<String>,
    /// That proposal's own revision.
    pub proposal_revision: Option<u64>,
    /// What the policy says of it, of a dry run as well: `apply` or `hold`; null where nothing is changed,
    /// since the policy is not asked then. What it denies is an error.
    pub decision: Option<Ruling>,
    /// `done` or `pending`.
    #[serde(serialize_with = "checkout_word")]
    pub checkout: Checkout,
    /// Everything else worth a sentence.
    pub message: String,
}

impl Report {
    /// Takes in what a commit came to.
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
                    "the folder was edited by hand meanwhile; that edit is kept as revision {}",
                    id.short()
                ));
            }
            Checkout::Pending(why) => self.add(&format!("the folder does not show the revision yet: {why}")),
        }
        self.checkout = committed.checkout;
    }

    /// Adds a sentence to the message.
    pub(crate) fn add(&mut self, sentence: &str) {
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
