//! [`decide`]: flags of releases, each in one transaction with everything that follows from it.
//!
//! The content of the release is locked first, then its skill and those of its copies, in the order of their names.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use registry_index::{Entry, FlagChange, FlagError, LineError, hold_message};
use semver::Version;
use server::store::{Flag, WithheldReason, hold_reason, no_restoring, not_withheld};
use skill::QualifiedName;
use web::ApiError;

use super::{
    lines::{SkillLines, Step},
    log::By,
    withheld,
};
use crate::{
    archives::{lock_content, release_content},
    database::{Abort, rows},
    events::Edit,
    objects::tree_path,
};

/// Sets a flag and returns the updated line.
pub async fn decide(write: &Transaction<'_>, entry: &Entry, flag: Flag<'_>, by: &By<'_>) -> Step<Entry> {
    lock_content(write, &entry.digest).await?;
    match flag {
        Flag::Yanked(reason) => {
            let change = FlagChange::Yanked { yanked: true, reason };
            flagged(write, entry, &change, "yank", reason.unwrap_or_default(), by).await
        }
        Flag::Unyanked => unyank(write, entry, by).await,
        Flag::Deprecated(advice) => {
            flagged(write, entry, &FlagChange::Deprecated(Some(advice)), "deprecate", &advice.reason, by).await
        }
        Flag::Undeprecated => flagged(write, entry, &FlagChange::Deprecated(None), "undeprecate", "", by).await,
        Flag::Quarantined(reason) => quarantine(write, entry, reason, by).await,
        Flag::Restored(reason) => restore(write, entry, reason, by).await,
        Flag::Withdrawn(reason) => withdraw(write, entry, reason, by).await,
    }
}

/// Puts a new release, whose skill is locked, on hold if its content is that of a release under quarantine or
/// withdrawn.
pub async fn hold_copy(write: &Transaction<'_>, skill: &mut SkillLines, entry: &Entry, by: &By<'_>) -> Step<()> {
    let Some(WithheldReason::Held(reason)) = withheld::barrier(write, entry).await? else { return Ok(()) };
    let of = withheld::original(write, &entry.digest).await?.unwrap_or_default();
    withheld::add_copy(write, entry, &of, by).await?;
    let Some(held) = entry.hold_change(Some(&reason), &by.stamp).map_err(unserializable)? else { return Ok(()) };
    let edits = skill.replace(write, &held).await?.into_iter().collect();
    let message = hold_message(true, &[(&entry.name, &entry.version)]);
    by.log(write, &subject(entry), message, edits).await
}

/// Sets a flag of one line and records it in the audit log.
async fn flagged(
    write: &Transaction<'_>,
    entry: &Entry,
    change: &FlagChange<'_>,
    action: &str,
    reason: &str,
    by: &By<'_>,
) -> Step<Entry> {
    let mut skills = LinesBySkill::lock(write, [entry.name.clone()].into()).await?;
    let changed = skills.flag(entry, change, by).await?;
    by.note(write, action, &subject(entry), reason).await?;
    Ok(changed)
}

async fn unyank(write: &Transaction<'_>, entry: &Entry, by: &By<'_>) -> Step<Entry> {
    let held = withheld::quarantine_of(write, &entry.name.to_string(), &entry.version.to_string()).await?;
    if let Some(held) = held.filter(|_| entry.withdrawn.is_none()) {
        return Err(Abort::Refused(held.unyank_refusal()));
    }
    flagged(write, entry, &FlagChange::Yanked { yanked: false, reason: None }, "unyank", "", by).await
}

async fn quarantine(write: &Transaction<'_>, entry: &Entry, reason: &str, by: &By<'_>) -> Step<Entry> {
    let others = others_of_content(write, entry).await?;
    let mut skills = LinesBySkill::lock(write, names_of(entry, &others)).await?;
    let current = skills.find(&entry.name, &entry.version)?.clone();
    withheld::add_quarantine(write, &current, reason, by).await?;
    let decided = skills.flag(entry, &FlagChange::Quarantined { reason: Some(reason), yanked: true }, by).await?;
    skills.hold_copies(entry, &others, by).await?;
    Ok(decided)
}

async fn withdraw(write: &Transaction<'_>, entry: &Entry, reason: &str, by: &By<'_>) -> Step<Entry> {
    let others = others_of_content(write, entry).await?;
    let mut skills = LinesBySkill::lock(write, names_of(entry, &others)).await?;
    let current = skills.find(&entry.name, &entry.version)?.clone();
    // The row withholds the content from releases that are published later.
    withheld::withhold(write, &current, reason, by).await?;
    let gone = skills.flag(entry, &FlagChange::Withdrawn(reason), by).await?;
    by.note(write, "withdraw", &subject(entry), reason).await?;
    skills.hold_copies(entry, &others, by).await?;
    Ok(gone)
}

fn names_of(entry: &Entry, others: &[Entry]) -> BTreeSet<QualifiedName> {
    others.iter().chain([entry]).map(|one| one.name.clone()).collect()
}

async fn restore(write: &Transaction<'_>, entry: &Entry, reason: &str, by: &By<'_>) -> Step<Entry> {
    no_restoring(entry)?;
    let held = withheld::quarantine_of(write, &entry.name.to_string(), &entry.version.to_string()).await?;
    let was_yanked = match held {
        Some(was) => was.was_yanked,
        // In a database that was restored without these tables, the line alone records the quarantine.
        None if entry.quarantined().is_some() => entry.yanked_reason().is_some(),
        None => return release_hold(write, entry, reason, by).await,
    };
    let copies = match withheld::is_last(write, &entry.digest).await? {
        true => withheld::held_copies(write, Some(&entry.digest)).await?,
        false => Vec::new(),
    };
    let named = copies.iter().filter_map(|copy| Some((copy.skill.parse().ok()?, copy.version.parse().ok()?)));
    let copies: Vec<(QualifiedName, Version)> = named.collect();
    let names = copies.iter().map(|(name, _)| name.clone()).chain([entry.name.clone()]);
    let mut skills = LinesBySkill::lock(write, names.collect()).await?;
    let restored = skills.flag(entry, &FlagChange::Quarantined { reason: None, yanked: was_yanked }, by).await?;
    skills.hold(&copies, None, by).await?;
    withheld::end_quarantine(write, entry).await?;
    by.note(write, "restore", &subject(entry), reason).await?;
    Ok(restored)
}

/// Ends the hold of a copy.
async fn release_hold(write: &Transaction<'_>, entry: &Entry, reason: &str, by: &By<'_>) -> Step<Entry> {
    let Some(WithheldReason::Held(_)) = withheld::barrier(write, entry).await? else {
        return Err(Abort::Refused(not_withheld(entry)));
    };
    let of = withheld::original(write, &entry.digest).await?.unwrap_or_default();
    withheld::add_copy(write, entry, &of, by).await?;
    let mut skills = LinesBySkill::lock(write, [entry.name.clone()].into()).await?;
    skills.hold(&[(entry.name.clone(), entry.version.clone())], None, by).await?;
    withheld::let_through(write, entry, by).await?;
    by.note(write, "release", &subject(entry), reason).await?;
    Ok(skills.find(&entry.name, &entry.version)?.clone())
}

/// Returns the other releases with the content of one that are not withdrawn.
async fn others_of_content(write: &Transaction<'_>, entry: &Entry) -> Step<Vec<Entry>> {
    let sql = "select line from releases where digest = $1 and not is_withdrawn order by skill, position";
    let found = rows(write, sql, &[&entry.digest.to_string()]).await?;
    let lines = found.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    // A damaged line does not offer its release, and must not prevent the others from being found.
    let entries = lines.iter().filter_map(|line| Entry::parse(line).ok());
    Ok(entries.filter(|other| (&other.name, &other.version) != (&entry.name, &entry.version)).collect())
}

fn subject(entry: &Entry) -> String {
    format!("{} {}", entry.name, entry.version)
}

fn unserializable(error: LineError) -> ApiError {
    ApiError::of(&FlagError::Line(error))
}

/// Skills whose lines change together.
struct LinesBySkill<'a> {
    write: &'a Transaction<'a>,
    skills: BTreeMap<QualifiedName, SkillLines>,
}

impl<'a> LinesBySkill<'a> {
    async fn lock(write: &'a Transaction<'a>, names: BTreeSet<QualifiedName>) -> Step<Self> {
        let mut skills = BTreeMap::new();
        for name in names {
            if let Some(skill) = SkillLines::lock(write, &name).await? {
                skills.insert(name, skill);
            }
        }
        Ok(Self { write, skills })
    }

    fn find(&self, name: &QualifiedName, version: &Version) -> Result<&Entry, ApiError> {
        let missing = || ApiError::of(&FlagError::NotFound { name: name.clone(), version: version.clone() });
        self.skills.get(name).and_then(|skill| skill.find(version)).ok_or_else(missing)
    }

    /// Sets a flag of one line and returns the line.
    async fn flag(&mut self, entry: &Entry, change: &FlagChange<'_>, by: &By<'_>) -> Step<Entry> {
        let current = self.find(&entry.name, &entry.version)?;
        let Some(changed) = change.apply(current, &by.stamp).map_err(unserializable)? else {
            return Ok(current.clone());
        };
        let mut edits = self.put([&changed]).await?;
        if changed.withdrawn.is_some() && release_content(self.write, &changed.digest).await? {
            edits.push(Edit::Remove { path: tree_path(&changed.digest) });
        }
        by.log(self.write, &subject(entry), change.message(&entry.name, &entry.version), edits).await?;
        Ok(changed)
    }

    /// Puts the other releases with the content of one on hold, except those that an admin let through.
    async fn hold_copies(&mut self, entry: &Entry, others: &[Entry], by: &By<'_>) -> Step<()> {
        let (of, mut copies) = (subject(entry), Vec::new());
        for other in others {
            if matches!(withheld::barrier(self.write, other).await?, Some(WithheldReason::Held(_))) {
                withheld::add_copy(self.write, other, &of, by).await?;
                copies.push((other.name.clone(), other.version.clone()));
            }
        }
        self.hold(&copies, Some(&hold_reason(&of)), by).await
    }

    /// Puts copies on hold for a reason, or ends their holds, in one change of the index.
    async fn hold(&mut self, copies: &[(QualifiedName, Version)], reason: Option<&str>, by: &By<'_>) -> Step<()> {
        let mut changed = Vec::new();
        for (name, version) in copies {
            let Ok(current) = self.find(name, version) else { continue };
            changed.extend(current.hold_change(reason, &by.stamp).map_err(unserializable)?);
        }
        let edits = self.put(&changed).await?;
        let releases: Vec<_> = changed.iter().map(|entry| (&entry.name, &entry.version)).collect();
        let first = changed.first().map(subject).unwrap_or_default();
        by.log(self.write, &first, hold_message(reason.is_some(), &releases), edits).await
    }

    /// Replaces lines, and updates what is derived from them.
    async fn put<'e>(&mut self, changed: impl IntoIterator<Item = &'e Entry>) -> Step<Vec<Edit>> {
        let (mut edits, mut names) = (Vec::new(), BTreeSet::new());
        for entry in changed {
            if let Some(skill) = self.skills.get_mut(&entry.name) {
                edits.extend(skill.replace(self.write, entry).await?);
                names.insert(&entry.name);
            }
        }
        for skill in names.iter().filter_map(|name| self.skills.get(*name)) {
            skill.show(self.write).await?;
        }
        Ok(edits)
    }
}
