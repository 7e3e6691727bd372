//! Content of a skill's folder that differs from the head ([`FolderEdit`]), and the cache of its scans.
//!
//! The same content is scanned once. The result is cached with the summaries of the library, for the same head,
//! files, ruleset, waivers and policy. Blocked content is never cached. Content that passes because of a waiver is
//! cached until the first of the skill's waivers expires.

use std::{
    cell::OnceCell,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::Timestamp;
use scan::Cleared;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Limits, SkillName};

use super::{
    Library, LibraryError,
    hand_edit::{CheckedFolder, FolderState},
    summary::{FolderStatus, Head, SkillMdSummary},
};
use crate::{
    edit_policy::HandEdit,
    folder::{self, ToolFiles},
    revision::Action,
    state::{SkillState, State},
};

/// Content of a folder that passes the scanner and differs from the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderEdit {
    /// Digest of the files that readers get if the edit counts, `sha256:…`.
    pub digest: String,
    /// Earlier revision with the same content, if any.
    pub at: Option<Head>,
    /// Reason why the edit waits for a person. Readers get the head until then.
    pub held: Option<String>,
    /// Digest of the files exactly as they are in the folder. A checkout with other line ends changes it.
    found: String,
}

impl FolderEdit {
    /// Returns whether the edit consists of these files of the folder.
    pub fn is_of(&self, found: &Bundle) -> bool {
        found.digest().to_string() == self.found
    }
}

/// The files that readers get of a skill with a history.
#[derive(Debug)]
pub struct FolderFiles {
    /// Content of the folder, or of the head if an edit is held.
    pub files: Bundle,
    /// Revision with these files; `None` for an unrecorded edit.
    pub head: Option<Head>,
    /// Reason why an edit of the folder waits for a person.
    pub held: Option<String>,
}

/// Cached scan result of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedEdit {
    /// Digest of the files exactly as they are in the folder. A checkout with other line ends changes it.
    found: String,
    /// Hash of everything else that the result depends on besides head and files.
    key: u64,
    /// Expiry of the cached result, RFC 3339 in UTC. `None` if it does not depend on time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Head>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    /// Summary of its `SKILL.md`.
    front: SkillMdSummary,
}

/// Inputs on which the result for an edit depends, read once for many skills.
pub(super) struct EditChecks {
    state: State,
    now: Timestamp,
    policy: OnceCell<String>,
}

/// Result of scanning the folder of a skill with a history.
pub(super) struct ListedFolder {
    pub standing: FolderStatus,
    pub known: Option<CachedEdit>,
    /// True if the result for the same content under the same rules does not change with time.
    pub lasts: bool,
}

impl CachedEdit {
    /// Returns whether the result is for files with this digest.
    pub fn is_of(&self, found: &str) -> bool {
        self.found == found
    }

    /// Returns whether the cached result is still valid.
    pub fn holds(&self, skill: &SkillName, library: &Library, checks: &EditChecks) -> bool {
        let is_over = |until: &String| until.parse::<Timestamp>().map_or(true, |until| until <= checks.now);
        !self.until.as_ref().is_some_and(is_over) && self.key == checks.key(skill, library)
    }

    /// Returns the list entry of the folder, with the summary of its `SKILL.md` if readers get it.
    pub fn summary(
        &self,
        skill: &SkillName,
        checks: &EditChecks,
    ) -> (FolderStatus, FolderEdit, Option<SkillMdSummary>) {
        let standing = if self.at.is_some() { FolderStatus::Earlier } else { FolderStatus::Modified };
        let held = pinned(&checks.state.of(skill)).or_else(|| self.held.clone());
        let front = held.is_none().then(|| self.front.clone());
        let (digest, at, found) = (self.digest.clone(), self.at.clone(), self.found.clone());
        (standing, FolderEdit { digest, at, held, found }, front)
    }
}

fn pinned(set: &SkillState) -> Option<String> {
    set.pinned.then(|| "the skill is pinned, so only a person can change it".to_owned())
}

/// Returns the reason to reject content that the gate rolled back recently.
fn set_back(set: &SkillState, digest: &str, now: Timestamp) -> Option<String> {
    let found = set.set_back.iter().find(|found| found.digest == digest && found.holds(now))?;
    Some(format!("the same files were rolled back earlier ({})", found.why))
}

impl EditChecks {
    /// Reads the current inputs of a library.
    pub fn of(library: &Library) -> Result<Self, LibraryError> {
        Ok(Self { state: library.state()?, now: Timestamp::now(), policy: OnceCell::new() })
    }

    fn key(&self, skill: &SkillName, library: &Library) -> u64 {
        let policy = self.policy.get_or_init(|| library.edit_policy_fingerprint());
        let set = self.state.of(skill);
        let mut hasher = DefaultHasher::new();
        (library.scanner.ruleset(), policy).hash(&mut hasher);
        format!("{:?} {:?} {:?} {:?}", set.waivers, set.withdrawn_waivers, set.set_back, set.trial).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the earliest expiry of the skill's active waivers.
    fn first_end(&self, skill: &SkillName) -> Option<String> {
        let set = self.state.of(skill);
        let active = set.waivers.iter().filter(|waiver| waiver.at(self.now).is_some());
        let ends = active.filter_map(|waiver| waiver.until.parse::<Timestamp>().ok());
        ends.min().map(|end| end.to_string())
    }
}

impl Library {
    /// Returns the reason why an agent could not have made the edit in a folder. `None` if an agent could have, or if
    /// the folder is unedited. A folder without history is adopted and does not count as an edit.
    pub(super) fn objection(&self, skill: &SkillName, checked: &CheckedFolder) -> Result<Option<String>, LibraryError> {
        let is_edit = matches!(checked.state, FolderState::Modified(_) | FolderState::Earlier { .. });
        let has_head = checked.base.as_ref().is_some_and(|base| !base.tombstone);
        if !is_edit || !has_head {
            let removed = Self::removed_by_person(skill, checked.base.as_ref()).filter(|_| is_edit);
            return Ok(removed.map(|removed| removed.to_string()));
        }
        match pinned(&self.state()?.of(skill)) {
            Some(why) => Ok(Some(why)),
            None => self.objection_but_pins(skill, checked),
        }
    }

    fn objection_but_pins(&self, skill: &SkillName, checked: &CheckedFolder) -> Result<Option<String>, LibraryError> {
        let Some(base) = checked.base.as_ref().filter(|base| !base.tombstone) else { return Ok(None) };
        let (cleared, returned) = match &checked.state {
            FolderState::Modified(cleared) => (cleared, None),
            FolderState::Earlier { revision, cleared, .. } => (cleared, Some(revision)),
            _ => return Ok(None),
        };
        let set = self.state()?.of(skill);
        if let Some(why) = set_back(&set, &cleared.digest().to_string(), Timestamp::now()) {
            return Ok(Some(why));
        }
        if let Some(taken_back) = self.taken_back(skill, cleared.bundle())? {
            return Ok(Some(taken_back.to_string()));
        }
        Ok(self.edit_policy.as_ref().and_then(|policy| {
            policy.rules().objection(&HandEdit {
                skill,
                origin: base.origin.as_ref(),
                before: &checked.committed,
                after: cleared.bundle(),
                verdict: cleared.report().new_verdict(),
                // An edit that was kept beside the history was never the head.
                is_return: returned.is_some_and(|revision| revision.action != Action::External),
            })
        }))
    }

    /// Checks the folder of a skill with a history for a list.
    pub(super) fn check_for_list(&self, skill: &SkillName, checks: &EditChecks) -> Result<ListedFolder, LibraryError> {
        let checked = self.check_folder(skill, None)?;
        // Pins are checked each time and are not part of the cached result.
        let held = self.objection_but_pins(skill, &checked)?;
        let plain = |standing| Ok(ListedFolder { standing, known: None, lasts: true });
        let known = match checked.state {
            FolderState::Clean | FolderState::Absent => return plain(FolderStatus::Clean),
            FolderState::Missing => return plain(FolderStatus::Missing),
            FolderState::Blocked(fault) => return plain(FolderStatus::Blocked(fault.to_string())),
            FolderState::Modified(cleared) => self.known_edit(skill, &cleared, None, held, checks),
            FolderState::Earlier { revision, cleared, found } => {
                let at = Head::from(revision.as_ref());
                CachedEdit { found: found.to_string(), ..self.known_edit(skill, &cleared, Some(at), held, checks) }
            }
        };
        let set = checks.state.of(skill);
        let lasts = set_back(&set, &known.digest, checks.now).is_none();
        let standing = if known.at.is_some() { FolderStatus::Earlier } else { FolderStatus::Modified };
        Ok(ListedFolder { standing, known: Some(known), lasts })
    }

    fn known_edit(
        &self,
        skill: &SkillName,
        cleared: &Cleared,
        at: Option<Head>,
        held: Option<String>,
        checks: &EditChecks,
    ) -> CachedEdit {
        let is_waived = cleared.report().findings.iter().any(|finding| finding.waived);
        let digest = cleared.digest().to_string();
        CachedEdit {
            found: digest.clone(),
            key: checks.key(skill, self),
            until: checks.first_end(skill).filter(|_| is_waived),
            digest,
            at,
            held,
            front: SkillMdSummary::of(cleared.bundle(), skill, self.limits()),
        }
    }

    /// Returns a text that changes whenever the policy for edits of folders may change. Used as a cache key.
    pub fn edit_policy_fingerprint(&self) -> String {
        self.edit_policy.as_ref().map(|policy| policy.rules().fingerprint()).unwrap_or_default()
    }

    /// Compares like [`Library::folder_state`] and returns the reason for which an edit waits for a person.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn folder_state_held(&self, skill: &SkillName) -> Result<(FolderState, Option<String>), LibraryError> {
        let checked = self.check_folder(skill, None)?;
        let held = self.objection(skill, &checked)?;
        Ok((checked.state, held))
    }

    /// Returns the files that readers get of a skill with a history, given the current content of its folder.
    ///
    /// # Errors
    /// The outer error means that the library cannot be read. The inner error is the reason why agents do not get the
    /// skill.
    pub fn folder_files(&self, skill: &SkillName) -> Result<Result<FolderFiles, String>, LibraryError> {
        let checked = self.check_folder(skill, None)?;
        let held = self.objection(skill, &checked)?;
        let head = checked.base.as_ref().map(Head::from);
        Ok(match checked.state {
            FolderState::Clean => self.unless_lapsed(skill, FolderFiles { files: checked.committed, head, held })?,
            _ if held.is_some() => self.unless_lapsed(skill, FolderFiles { files: checked.committed, head, held })?,
            FolderState::Modified(cleared) => Ok(FolderFiles { files: cleared.bundle().clone(), head: None, held }),
            FolderState::Earlier { revision, cleared, .. } => {
                let head = Some(Head::from(revision.as_ref()));
                Ok(FolderFiles { files: cleared.bundle().clone(), head, held })
            }
            FolderState::Blocked(fault) => Err(format!("its folder was changed by hand: {fault}")),
            FolderState::Absent | FolderState::Missing => Err("its folder is missing".to_owned()),
        })
    }

    /// Returns the files of a head for readers, unless a finding blocks them because its waiver expired or was
    /// revoked.
    fn unless_lapsed(
        &self,
        skill: &SkillName,
        files: FolderFiles,
    ) -> Result<Result<FolderFiles, String>, LibraryError> {
        Ok(self.lapsed(skill, &files.files)?.map_or(Ok(files), |blocked| Err(blocked.to_string())))
    }

    /// Reads the files in a skill's folder as they are, without scanning them. `None` if they cannot be read as a
    /// skill. Show agents only content whose digest was cleared.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn files_in_folder(&self, skill: &SkillName) -> Result<Option<Bundle>, LibraryError> {
        let limits: &Limits = self.limits();
        let read = |root| folder::read(&root, skill.as_str(), ToolFiles::Skip, limits).ok();
        Ok(self.root()?.and_then(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Home, Scope, StoredSetBack};

    fn checks(state: State, seconds: i64) -> EditChecks {
        EditChecks { state, now: Timestamp::from_second(seconds).unwrap(), policy: OnceCell::new() }
    }

    #[test]
    fn known_edit_expires_with_its_waiver() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        let library = Library::open(&temp.path().join("skills"), Scope::Project, &home, "git").unwrap();
        let skill = SkillName::parse("pdf").unwrap();
        let lasting = CachedEdit {
            found: "sha256:aa".to_owned(),
            key: checks(State::default(), 0).key(&skill, &library),
            until: None,
            digest: "sha256:aa".to_owned(),
            at: None,
            held: None,
            front: SkillMdSummary::default(),
        };
        let waived = CachedEdit { until: Some("1970-01-01T00:01:40Z".to_owned()), ..lasting.clone() };
        let holds = |known: &CachedEdit, seconds| known.holds(&skill, &library, &checks(State::default(), seconds));
        assert!(holds(&lasting, 1_000));
        assert!(holds(&waived, 99) && !holds(&waived, 100), "no longer than the waiver");
        let damaged = CachedEdit { until: Some("soon".to_owned()), ..lasting.clone() };
        assert!(!holds(&damaged, 0));
        let mut state = State::default();
        let set_back = StoredSetBack { digest: "sha256:bb".to_owned(), until: String::new(), why: String::new() };
        state.set(&skill, SkillState { set_back: vec![set_back], ..SkillState::default() });
        assert!(!lasting.holds(&skill, &library, &checks(state, 0)), "people decided something since");
    }
}
