//! [`judge`]: whether a skill is stale, from what is known of it alone.

use jiff::{SignedDuration, Timestamp};
use skill_manage::documents;

use super::{Fault, Record, SkillFacts, Step, Terms};

/// What is decided about one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Nobody used or changed it for long.
    Stale(Box<Step>),
    /// It stays.
    Kept(Kept),
}

/// Why a skill stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It was used or changed lately.
    InUse,
    /// Agents do not see it anyway.
    OutOfSight,
    /// Too little is recorded to say anything.
    Silence,
    /// It would be stale: why it stays all the same.
    Exempt(String),
}

fn before(now: Timestamp, days: u32) -> Timestamp {
    now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN)
}

fn day(time: Timestamp) -> String {
    documents::time(time).get(..10).unwrap_or_default().to_owned()
}

/// Why nothing can be called stale, where too little is recorded.
pub(super) fn silence(record: &Record, terms: Terms, now: Timestamp) -> Option<String> {
    let (Some(since), Some(until)) = (record.since, record.until) else {
        return Some("no use of any skill is recorded here, so that none can be told to be unused".to_owned());
    };
    if since > before(now, terms.stale_days) {
        let days = terms.stale_days;
        return Some(format!("uses are recorded since {} only, and {days} days have to be known", day(since)));
    }
    if until < before(now, terms.silent_days) {
        return Some(format!(
            "the last use is recorded on {}: that nothing is recorded since does not say that nothing is used",
            day(until)
        ));
    }
    None
}

/// Decides about one skill.
#[must_use]
pub fn judge(skill: &SkillFacts, record: &Record, terms: Terms, now: Timestamp) -> Judgement {
    if !skill.enabled {
        return Judgement::Kept(Kept::OutOfSight);
    }
    if silence(record, terms, now).is_some() {
        return Judgement::Kept(Kept::Silence);
    }
    let limit = before(now, terms.stale_days);
    if skill.changed > limit || skill.used.is_some_and(|used| used > limit) {
        return Judgement::Kept(Kept::InUse);
    }
    if let Some(why) = exempt(skill) {
        return Judgement::Kept(Kept::Exempt(why));
    }
    let reason = match skill.used {
        Some(used) => format!("not used since {}", day(used)),
        None => format!("never used since uses are recorded, {}", day(record.since.unwrap_or(now))),
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

/// Why a skill stays that nobody used.
fn exempt(skill: &SkillFacts) -> Option<String> {
    if skill.pinned {
        return Some("it is pinned".to_owned());
    }
    if let Some((first, more)) = skill.needed_by.split_first() {
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        return Some(format!("{first}{more} needs it or names it"));
    }
    if skill.fault.is_some() && skill.fault != Some(Fault::Missing) {
        return Some("its folder was changed by hand".to_owned());
    }
    if skill.placed > 0 && skill.used.is_none() {
        return Some("agents read it in their own folders, where uses are not recorded".to_owned());
    }
    None
}
