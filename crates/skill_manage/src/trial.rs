//! [`start_trial`]: a trial of a revision with a share of the runs.
//!
//! The revision on trial is an ordinary revision of the history. It is followed by a revision that restores the
//! previous files, so that the head and the skill's folder do not change. Both are made in one commit.

use library::{
    Action, Actor, ActorKind, Committed, Content, GATE, Library, NewRevision, Origin, ProposalId, Revision, RevisionId,
    RevisionSpec, Stamp, StoredTrial, TrialTerms, operation_id,
};
use scan::{Baseline, Cleared};
use skill::SkillName;
use skill::failure::{Hint, NextStep};

use crate::{change::Change, error::ManageError, report::Report, request::RequestError, reviewer::Reviewer};

/// Returns the actor of the gate. The command line does not let anybody else use this name.
#[must_use]
pub fn gate_actor() -> Actor {
    Actor::new(ActorKind::Optimizer, GATE)
}

/// Refuses content that the gate rolled back recently, unless a person writes it.
pub(crate) fn check_set_back(library: &Library, change: &Change<'_>, stamp: &Stamp) -> Result<(), ManageError> {
    if stamp.actor.kind == ActorKind::Person && change.accepted.is_none() || change.candidate.is_empty() {
        return Ok(());
    }
    let digest = change.candidate.digest().to_string();
    let set_back = library.state()?.of(change.skill).set_back;
    let Some(found) = set_back.into_iter().find(|found| found.digest == digest && found.holds(stamp.time)) else {
        return Ok(());
    };
    Err(ManageError::PolicyDenied {
        message: format!(
            "{} was rolled back from exactly these files ({}); they are refused until {}",
            change.skill, found.why, found.until
        ),
        hint: Hint::from("change the files; a person can restore the revision from ")
            .step(NextStep::ShowHistory(change.skill.to_string())),
    })
}

/// Trial that starts with the commit of its candidate.
pub(crate) struct PlannedTrial {
    skill: SkillName,
    terms: TrialTerms,
    base: RevisionId,
    base_files: Cleared,
    base_origin: Option<Origin>,
    candidate: Cleared,
    proposal: ProposalId,
    reviewer: Stamp,
}

impl PlannedTrial {
    /// Prepares the trial of an accepted change, if it has trial terms.
    pub fn of(library: &Library, change: &Change<'_>, cleared: Option<&Cleared>) -> Result<Option<Self>, ManageError> {
        let Some((accepted, terms)) = change.accepted.as_ref().and_then(|it| Some((it, it.trial?))) else {
            return Ok(None);
        };
        let base = change.snapshot.base.as_ref().filter(|_| change.snapshot.exists());
        let (Some(base), Some(candidate)) = (base, cleared) else {
            return Err(RequestError::Malformed(format!(
                "this change creates or deletes {}, but only a change of an existing skill can have a trial; accept \
                 it without one",
                change.skill
            ))
            .into());
        };
        check_none_is_on(library, change.skill)?;
        let files = change.snapshot.bundle.clone();
        let base_files = match library.clear(change.skill, files, Baseline::Cleared(&change.snapshot.bundle))? {
            Ok(cleared) => cleared,
            Err(blocked) => return Err(not_restorable(change.skill, &blocked)),
        };
        Ok(Some(Self {
            skill: change.skill.clone(),
            terms: terms.clone(),
            base: base.id.clone(),
            base_files,
            base_origin: base.origin.clone(),
            candidate: candidate.clone(),
            proposal: accepted.proposal.id.clone(),
            reviewer: accepted.stamp.clone(),
        }))
    }

    /// Returns the revision that restores the previous files.
    pub fn restoring(&self, stamp: &Stamp) -> NewRevision {
        let reason =
            format!("the revision before this one is on trial ({}); all other runs keep these files", self.proposal);
        let stamp = Stamp { reason: Some(reason), run: None, thread: None, actor: gate_actor(), ..stamp.clone() };
        NewRevision::new(Content::Cleared(self.base_files.clone()), Action::Rollback, stamp)
            .with_origin(self.base_origin.clone())
    }

    /// Starts the trial after both revisions are committed.
    pub fn begin(self, library: &Library, report: &mut Report, committed: Option<Committed>) {
        let restored = committed.as_ref().map(|committed| committed.revision.clone());
        report.applied(committed);
        let Some(restored) = restored else { return };
        let Some(candidate) = restored.parent.clone() else { return };
        report.number = Some(restored.number.saturating_sub(1));
        report.revision = Some(candidate.clone());
        report.previous_revision = Some(self.base.clone());
        let (skill, stamp) = (self.skill.clone(), self.reviewer.clone());
        let share = percent(self.terms.share);
        let trial = StoredTrial {
            id: ProposalId::of_operation(&operation_id(&stamp)).to_string(),
            base_digest: self.base_files.digest().to_string(),
            base: self.base,
            candidate_digest: self.candidate.digest().to_string(),
            candidate,
            proposal: Some(self.proposal.to_string()),
            by: stamp.actor.to_string(),
            started: stamp.time.to_string(),
            paused: false,
            terms: self.terms,
        };
        match library.begin_trial(&skill, &stamp, trial, &self.candidate) {
            Ok(()) => report.add(&format!(
                "it is on trial with {share} of the runs; follow the trial with `skillhub evolve status {skill}`"
            )),
            Err(error) => report.add(&format!(
                "its trial could not start: {error}; start it with `skillhub evolve try {skill} {}`",
                report.number.unwrap_or_default()
            )),
        }
    }
}

/// Formats a share for people, in percent.
fn percent(share: u32) -> String {
    match share % 100 {
        0 => format!("{} %", share / 100),
        rest => format!("{}.{rest:02} %", share / 100),
    }
}

fn check_none_is_on(library: &Library, skill: &SkillName) -> Result<(), ManageError> {
    match library.state()?.of(skill).trial {
        None => Ok(()),
        Some(trial) => Err(ManageError::PolicyDenied {
            message: format!("revision {} of {skill} is already on trial", trial.candidate.short()),
            hint: format!("wait until the trial ends, or end it: skillhub evolve force {skill} rollback").into(),
        }),
    }
}

fn not_restorable(skill: &SkillName, blocked: &scan::Blocked) -> ManageError {
    ManageError::PolicyDenied {
        message: format!("the scanner now blocks the current files of {skill}, which a trial must keep: {blocked}"),
        hint: "accept the change without a trial".into(),
    }
}

/// Starts a trial of a recorded revision against the head.
///
/// # Errors
/// The revision does not exist, equals the head or was blocked, a trial is already running, or the library cannot be
/// written.
pub fn start_trial(
    library: &Library,
    skill: &SkillName,
    revision: &str,
    terms: TrialTerms,
    reviewer: &Reviewer,
    time: jiff::Timestamp,
) -> Result<(Revision, StoredTrial), ManageError> {
    let malformed = |error| RequestError::Revision { skill: skill.clone(), error };
    let spec: RevisionSpec = revision.parse().map_err(malformed)?;
    let candidate = library.find(skill, &spec, revision)?;
    let head = library.head(skill)?.filter(|head| !head.tombstone);
    let head = head.ok_or_else(|| library::FindError::NoSkill(skill.clone()))?;
    if candidate.digest == head.digest || candidate.tombstone || !candidate.was_cleared() {
        let message = format!(
            "revision {} of {skill} cannot have a trial: it is the same as the head, a deletion, or was blocked",
            candidate.number
        );
        return Err(RequestError::Malformed(message).into());
    }
    check_none_is_on(library, skill)?;
    let head_files = library.bundle(&head.id)?;
    let files = match library.clear(skill, library.bundle(&candidate.id)?, Baseline::Cleared(&head_files))? {
        Ok(cleared) => cleared,
        Err(blocked) => {
            let message = format!("the current rules block revision {} of {skill}: {blocked}", candidate.number);
            let hint = "choose another revision for the trial".into();
            return Err(ManageError::ScanBlocked { message, findings: blocked.into_report().findings, hint });
        }
    };
    let stamp = Stamp::new(reviewer.actor().clone(), time);
    let trial = StoredTrial {
        id: ProposalId::of_operation(&operation_id(&stamp)).to_string(),
        base: head.id.clone(),
        base_digest: head.digest.to_string(),
        candidate: candidate.id.clone(),
        candidate_digest: candidate.digest.to_string(),
        proposal: candidate.acceptance.as_ref().map(|acceptance| acceptance.proposal.clone()),
        by: stamp.actor.to_string(),
        started: time.to_string(),
        paused: false,
        terms,
    };
    library.begin_trial(skill, &stamp, trial.clone(), &files)?;
    Ok((candidate, trial))
}
