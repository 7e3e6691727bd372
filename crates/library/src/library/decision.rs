//! Content that a person rolled back, uninstalled or deleted, and that agents cannot bring back ([`TakenBack`]).

use skill::{Digest, SkillName};
use thiserror::Error;

use crate::revision::{Action, Actor, ActorKind, Revision};

/// A person's decision against content of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{by} {} in revision {number}, so only a person can restore it", self.deed())]
pub struct TakenBack {
    /// Skill whose content it concerns.
    pub skill: SkillName,
    /// Number of the revision that records the decision.
    pub number: u64,
    /// The person, or the reviewer who accepted the proposal.
    pub by: Actor,
    /// Kind of decision: rollback, uninstall or deletion.
    pub action: Action,
}

impl TakenBack {
    pub(super) fn of(skill: &SkillName, revision: &Revision) -> Self {
        let reviewer = revision.acceptance.as_ref().map(|acceptance| acceptance.reviewer.clone());
        let by = reviewer.unwrap_or_else(|| revision.stamp.actor.clone());
        Self { skill: skill.clone(), number: revision.number, by, action: revision.action }
    }

    fn deed(&self) -> String {
        match self.action {
            Action::Uninstall => format!("uninstalled {}", self.skill),
            Action::Rollback => format!("rolled {} back from these files", self.skill),
            _ => format!("deleted {}", self.skill),
        }
    }

    /// Returns the hint with the command that brings the content back.
    pub fn hint(&self) -> String {
        let skill = &self.skill;
        format!(
            "only a person can restore it, in a terminal: find the revision with `skillhub history {skill}`, then run \
             `skillhub rollback {skill} REV`"
        )
    }
}

pub(super) fn is_by_person(revision: &Revision) -> bool {
    revision.stamp.actor.kind == ActorKind::Person || revision.acceptance.is_some()
}

/// Finds the decision against content with this digest, in revisions from newest to oldest. Only decisions after the
/// newest revision with the content count, since that revision brought it back.
pub(super) fn decision(revisions: impl IntoIterator<Item = Revision>, digest: &Digest) -> Option<Revision> {
    let (mut removed, mut rolled_back): (Option<Revision>, Vec<Revision>) = (None, Vec::new());
    for revision in revisions {
        if revision.tombstone {
            removed = removed.or_else(|| Some(revision).filter(is_by_person));
            continue;
        }
        // A rollback rejects the revisions after the one that it restored.
        rolled_back.retain(|rollback| rollback.digest != revision.digest);
        if revision.digest == *digest {
            return removed.or_else(|| rolled_back.into_iter().next());
        }
        if revision.action == Action::Rollback && is_by_person(&revision) {
            rolled_back.push(revision);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use scan::Verdict;

    use super::*;
    use crate::revision::{RevisionId, Stamp};

    /// Builds revisions, oldest first, each written as `actor action content`; `-` is a tombstone.
    fn history(lines: &str) -> Vec<Revision> {
        let revision = |(place, line): (usize, &str)| {
            let words: Vec<&str> = line.split(' ').collect();
            Revision {
                id: RevisionId::new(format!("{place:040x}")),
                number: place as u64 + 1,
                parent: None,
                action: Action::from_word(words[1]).unwrap(),
                stamp: Stamp::new(words[0].parse().unwrap(), Timestamp::UNIX_EPOCH),
                origin: None,
                verdict: Verdict::Allow,
                ruleset: String::new(),
                digest: Digest::of_bytes(words[2].as_bytes()),
                files_changed: 1,
                tombstone: words[2] == "-",
                absorbed_into: None,
                acceptance: None,
                upstream: None,
            }
        };
        lines.split("; ").enumerate().map(revision).collect()
    }

    fn decided(lines: &str, content: &str) -> Option<u64> {
        let newest_first = history(lines).into_iter().rev();
        decision(newest_first, &Digest::of_bytes(content.as_bytes())).map(|revision| revision.number)
    }

    #[test]
    fn rollback_takes_back_later_revisions() {
        let lines = "agent:a create 1; agent:a edit 2; agent:a edit 3; person:p rollback 2";
        assert_eq!(decided(lines, "3"), Some(4));
        assert_eq!(decided(lines, "2"), None, "the head");
        assert_eq!(decided(lines, "1"), None, "older than what was restored");
        assert_eq!(decided(lines, "4"), None, "never there");
        let by_agent = "agent:a create 1; agent:a edit 2; agent:a rollback 1";
        assert_eq!(decided(by_agent, "2"), None);
    }

    #[test]
    fn removal_takes_back_all_revisions() {
        let lines = "agent:a create 1; agent:a edit 2; person:p delete -";
        assert_eq!((decided(lines, "1"), decided(lines, "2")), (Some(3), Some(3)));
        assert_eq!(decided("agent:a create 1; agent:a delete -", "1"), None);
        let again = format!("{lines}; person:p rollback 1");
        assert_eq!((decided(&again, "1"), decided(&again, "2")), (None, Some(3)));
    }

    #[test]
    fn rollback_takes_back_earlier_rollback() {
        let lines = "agent:a create 1; agent:a edit 2; agent:a edit 3; person:p rollback 1; agent:a edit 4; person:p \
                     rollback 2";
        assert_eq!((decided(lines, "3"), decided(lines, "4")), (Some(6), Some(6)), "the newest of the decisions");
        assert_eq!(decided(lines, "1"), Some(6), "restored in revision 4, which the second rollback left");
        assert_eq!(decided(lines, "2"), None);
    }
}
