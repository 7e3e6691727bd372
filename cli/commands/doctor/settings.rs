//! Checks of settings made by people: configuration, policy, reviewers, and the proposals waiting for review.

use library::{Library, Outcome, ProposalFault, ProposalFaultKind, Reviewers};

use super::Findings;
use skill::counted;

use crate::{context::Context, exit::CliError};

/// Checks `config.toml`, the policy together with the system's, and the reviewers.
pub fn check(context: &Context, findings: &mut Findings) {
    let path = context.home.config();
    if context.home_fault.is_some() {
        let what = "not read, because other users could have changed it; close the home to them, then run \
                    `skillhub doctor` again";
        findings.note("config", "not_looked_at", path.display(), what);
        return;
    }
    match &context.config_fault {
        Some(fault) => {
            let (code, message) = (fault.failure.code, &fault.message);
            let what = format!("{message}; other commands refuse to run until you correct it");
            findings.cannot("config", code, path.display(), what);
            findings.cannot("policy", "not_looked_at", path.display(), "skipped until config.toml is correct");
        }
        None => {
            findings.ok("config", &path, "valid");
            check_policy(context, findings);
        }
    }
    check_reviewers(context, findings);
}

fn check_policy(context: &Context, findings: &mut Findings) {
    match context.policy() {
        Ok(policy) => {
            let rules: usize = policy.layers().iter().map(|layer| layer.rules.len()).sum();
            let rules = counted(rules, "rule");
            let files: Vec<&str> = policy.layers().iter().map(|layer| layer.file.as_str()).collect();
            findings.ok("policy", &context.home.config(), format!("{rules} in {}", files.join(", ")));
        }
        Err(error) => {
            let what = format!("{}; all changes are refused until you correct it", error.message);
            findings.cannot("policy", error.failure.code, context.home.config().display(), what);
        }
    }
}

fn check_reviewers(context: &Context, findings: &mut Findings) {
    let path = Reviewers::path(&context.home);
    match Reviewers::read(&context.home) {
        Ok(reviewers) => {
            findings.ok("reviewers", &path, counted(reviewers.reviewers.len(), "token"));
        }
        Err(error) => {
            let error = CliError::from(skill_manage::ReviewerError::from(error));
            let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            findings.cannot("reviewers", error.code, path.display(), format!("{}{hint}", error.message));
        }
    }
}

/// Number of days without an outcome after which a note is added.
const SILENT_DAYS: i64 = 30;

/// Checks that outcomes were recorded recently and are readable. A lack of outcomes is noted but has no consequence.
pub fn check_outcomes(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    let path = library.own_path().join("outcomes");
    if !library.has_outcomes()? {
        findings.ok("outcomes", &path, "none recorded yet; see `skillhub record --help`");
        return Ok(());
    }
    let (mut unreadable, mut newest) = (0, None);
    for (name, _) in library.skills()? {
        let read = library.outcomes(&name)?;
        unreadable += read.unreadable;
        newest = newest.max(read.outcomes.iter().filter_map(Outcome::time).max());
    }
    if unreadable > 0 {
        let what =
            format!("{} cannot be read; they do not count, and no trial is promoted", counted(unreadable, "line"));
        findings.cannot("outcomes", "damaged_outcomes", path.display(), what);
        return Ok(());
    }
    let days = newest.map_or(0, |newest| context.now.duration_since(newest).as_hours() / 24);
    let what = if days >= SILENT_DAYS {
        format!(
            "readable; the newest is {days} days old, so trials do not advance, but no skill is archived because of it"
        )
    } else {
        "readable".to_owned()
    };
    findings.ok("outcomes", &path, what);
    Ok(())
}

/// Checks that every proposal is readable, exists exactly once, and still leads to the proposed content.
pub fn check_proposals(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    let path = library.own_path().join("proposals");
    let (count, faults) = library.check_proposals()?;
    for fault in &faults {
        let what = describe(fault);
        match fault.kind {
            ProposalFaultKind::Twice | ProposalFaultKind::Misplaced => {
                findings.mendable("proposals", "proposal_misplaced", &fault.id, what, || {
                    match library.repair_proposal(fault, context.now).map_err(|error| error.to_string())? {
                        Some(place) => Ok(format!("now {place}")),
                        None => Err("its file was not found".to_owned()),
                    }
                });
            }
            _ => findings.cannot("proposals", "damaged_proposal", &fault.id, what),
        }
    }
    findings.close("proposals", &path, format!("{} readable", counted(count, "proposal")));
    Ok(())
}

fn describe(fault: &ProposalFault) -> String {
    let id = &fault.id;
    match &fault.kind {
        ProposalFaultKind::Damaged(why) => {
            format!("is damaged: {why}; a person can reject it, which keeps its bytes: `skillhub review reject {id}`")
        }
        ProposalFaultKind::Twice => "is decided, but is also among the pending ones".to_owned(),
        ProposalFaultKind::Misplaced => "is among the pending ones although it is decided, or the reverse".to_owned(),
        ProposalFaultKind::InDoubt => format!(
            "is pending, but has a file among the decided ones without a decision; both are kept, and a person must \
             decide again with `skillhub review accept {id}` or `skillhub review reject {id}`"
        ),
        ProposalFaultKind::Unfounded(why) => {
            format!("cannot be accepted: {why}; a person can reject it: `skillhub review reject {id}`")
        }
        ProposalFaultKind::NoRevision(revision) => {
            format!("was accepted, but its revision {} cannot be read", revision.short())
        }
    }
}
