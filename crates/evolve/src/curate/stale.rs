//! [`judge`]: the decision that a skill is stale, from the facts about it alone.

use jiff::{SignedDuration, Timestamp};
use skill_manage::documents;

use super::{Fault, Record, SkillFacts, Step, Terms};

/// Decision about one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The skill has not been used or changed for a long time.
    Stale(Box<Step>),
    /// The skill stays, for this reason.
    Kept(KeepReason),
}

/// Reason why a skill stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepReason {
    /// It was used or changed recently.
    InUse,
    /// It is already hidden from agents.
    OutOfSight,
    /// The record of uses is insufficient.
    Silence,
    /// It is unused, but exempt for the given reason.
    Exempt(String),
}

fn before(now: Timestamp, days: u32) -> Timestamp {
    now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN)
}

fn day(time: Timestamp) -> String {
    documents::time(time).get(..10).unwrap_or_default().to_owned()
}

/// Returns the reason why no skill can be called stale, if the record of uses is insufficient.
pub(super) fn insufficient_record(record: &Record, terms: Terms, now: Timestamp) -> Option<String> {
    let (Some(since), Some(until)) = (record.since, record.until) else {
        return Some("no uses are recorded, so unused skills cannot be found".to_owned());
    };
    if since > before(now, terms.stale_days) {
        let days = terms.stale_days;
        return Some(format!("uses are recorded only since {}; {days} days are needed", day(since)));
    }
    if until < before(now, terms.silent_days) {
        return Some(format!(
            "the last recorded use was on {}; the log may have stopped since, so unused skills cannot be found",
            day(until)
        ));
    }
    None
}

/// Decides if one skill is stale.
pub fn judge(skill: &SkillFacts, record: &Record, terms: Terms, now: Timestamp) -> Judgement {
    if !skill.enabled {
        return Judgement::Kept(KeepReason::OutOfSight);
    }
    if insufficient_record(record, terms, now).is_some() {
        return Judgement::Kept(KeepReason::Silence);
    }
    let limit = before(now, terms.stale_days);
    if skill.changed > limit || skill.used.is_some_and(|used| used > limit) {
        return Judgement::Kept(KeepReason::InUse);
    }
    if let Some(why) = exempt(skill) {
        return Judgement::Kept(KeepReason::Exempt(why));
    }
    let reason = match skill.used {
        Some(used) => format!("not used since {}", day(used)),
        None => format!("never used since recording began on {}", day(record.since.unwrap_or(now))),
    };
    Judgement::Stale(Box::new(Step {
        skill: skill.name.to_string(),
        revision: skill.revision.clone(),
        number: skill.number,
        last_used: skill.used,
        last_changed: skill.changed,
        reason,
    }))
}

/// Returns the reason why an unused skill is exempt.
fn exempt(skill: &SkillFacts) -> Option<String> {
    if skill.pinned {
        return Some("it is pinned".to_owned());
    }
    if let Some((first, more)) = skill.needed_by.split_first() {
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        return Some(format!("needed or mentioned by {first}{more}"));
    }
    if skill.fault.is_some() && skill.fault != Some(Fault::Missing) {
        return Some("its folder was edited by hand".to_owned());
    }
    if skill.placed > 0 && skill.used.is_none() {
        return Some("agents read it from their own folders, where uses are not recorded".to_owned());
    }
    None
}
