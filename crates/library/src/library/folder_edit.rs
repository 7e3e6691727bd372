//! [`FolderEdit`]: content of a skill's folder that is not the head's, and what is remembered of it.
//!
//! One content is scanned once. What a scan came to is kept with the summaries of the library and counts for the
//! same head, files, ruleset, waivers and policy. Blocked content is never remembered, and content that a waiver let
//! pass only until the first of the skill's waivers ends.

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
    hand_edit::{FolderState, Look},
    summary::{Front, Head, Standing},
};
use crate::{
    edit_policy::HandEdit,
    folder::{self, Leftovers},
    revision::Action,
    state::{SkillState, State},
};

/// Content of a folder that passes the scanner and is not the head's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderEdit {
    /// The digest of what readers get when the edit counts, `sha256:…`.
    pub digest: String,
    /// The earlier revision that holds it.
    pub at: Option<Head>,
    /// Why it waits for a person; readers get the head until then.
    pub held: Option<String>,
    /// The digest of the folder's files as they are, which a checkout with other line ends changes.
    found: String,
}

impl FolderEdit {
    /// Whether it is about these files of the folder.
    #[must_use]
    pub fn is_of(&self, found: &Bundle) -> bool {
        found.digest().to_string() == self.found
    }
}

/// The files that readers get of a skill with a history.
#[derive(Debug)]
pub struct FolderFiles {
    /// The files.
    pub files: Bundle,
    /// The revision that holds them; `None` for an edit that is not recorded.
    pub head: Option<Head>,
    /// Why an edit of the folder waits for a person.
    pub held: Option<String>,
}

/// What a scan of an edit came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownEdit {
    /// The digest of the folder's files as they are, which a checkout with other line ends changes.
    found: String,
    /// The sum of all that the answer depends on, besides head and files.
    key: u64,
    /// When it has to be found out again, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Head>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    /// What its `SKILL.md` says.
    front: Front,
}

/// What an edit depends on, read once for many skills.
pub(super) struct EditChecks {
    state: State,
    now: Timestamp,
    policy: OnceCell<String>,
}

/// The folder of a skill with a history, judged.
pub(super) struct JudgedFolder {
    pub standing: Standing,
    pub known: Option<KnownEdit>,
    /// Whether the same content is the same by the same rules.
    pub lasts: bool,
}

impl KnownEdit {
    /// Whether it is about files of this digest.
    pub fn is_of(&self, found: &str) -> bool {
        self.found == found
    }

    /// Whether it still counts.
    pub fn holds(&self, skill: &SkillName, library: &Library, checks: &EditChecks) -> bool {
        let is_over = |until: &String| until.parse::<Timestamp>().map_or(true, |until| until <= checks.now);
        !self.until.as_ref().is_some_and(is_over) && self.key == checks.key(skill, library)
    }

    /// The state of the folder for a list, and the summary of its `SKILL.md` where readers get that.
    pub fn summary(&self, skill: &SkillName, checks: &EditChecks) -> (Standing, FolderEdit, Option<Front>) {
        let standing = if self.at.is_some() { Standing::Earlier } else { Standing::Modified };
        let held = pinned(&checks.state.of(skill)).or_else(|| self.held.clone());
        let front = held.is_none().then(|| self.front.clone());
        let (digest, at, found) = (self.digest.clone(), self.at.clone(), self.found.clone());
        (standing, FolderEdit { digest, at, held, found }, front)
    }
}

fn pinned(set: &SkillState) -> Option<String> {
    set.pinned.then(|| "the skill is pinned, so that only people change it".to_owned())
}

/// Why content that the gate took back a short while ago is not taken again.
fn set_back(set: &SkillState, digest: &str, now: Timestamp) -> Option<String> {
    let found = set.set_back.iter().find(|found| found.digest == digest && found.holds(now))?;
    Some(format!("these files were rolled back before ({})", found.why))
}

impl EditChecks {
    /// Those of a library at this moment.
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

    /// The end of the skill's first waiver to end.
    fn first_end(&self, skill: &SkillName) -> Option<String> {
        let set = self.state.of(skill);
        let active = set.waivers.iter().filter(|waiver| waiver.at(self.now).is_some());
        let ends = active.filter_map(|waiver| waiver.until.parse::<Timestamp>().ok());
        ends.min().map(|end| end.to_string())
    }
}

impl Library {
    /// Why an agent could not have made the edit that a folder shows; `None` where it could, or there is none. A
    /// folder without history is adopted and not an edit.
    pub(super) fn objection(&self, skill: &SkillName, look: &Look) -> Result<Option<String>, LibraryError> {
        let is_edit = matches!(look.state, FolderState::Modified(_) | FolderState::Earlier { .. });
        let has_head = look.base.as_ref().is_some_and(|base| !base.tombstone);
        if !is_edit || !has_head {
            let removed = Self::removed_by_person(skill, look.base.as_ref()).filter(|_| is_edit);
            return Ok(removed.map(|removed| removed.to_string()));
        }
        match pinned(&self.state()?.of(skill)) {
            Some(why) => Ok(Some(why)),
            None => self.objection_but_pins(skill, look),
        }
    }

    fn objection_but_pins(&self, skill: &SkillName, look: &Look) -> Result<Option<String>, LibraryError> {
        let Some(base) = look.base.as_ref().filter(|base| !base.tombstone) else { return Ok(None) };
        let (cleared, returned) = match &look.state {
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
                before: &look.committed,
                after: cleared.bundle(),
                verdict: cleared.report().new_verdict(),
                // An edit that was kept beside the history was never the head's.
                is_return: returned.is_some_and(|revision| revision.action != Action::External),
            })
        }))
    }

    /// Judges the folder of a skill with a history as a list needs it.
    pub(super) fn judge_folder(&self, skill: &SkillName, checks: &EditChecks) -> Result<JudgedFolder, LibraryError> {
        let look = self.look(skill, None)?;
        // A pin is looked at each time, and so no part of what is remembered.
        let held = self.objection_but_pins(skill, &look)?;
        let plain = |standing| Ok(JudgedFolder { standing, known: None, lasts: true });
        let known = match look.state {
            FolderState::Clean | FolderState::Absent => return plain(Standing::Clean),
            FolderState::Missing => return plain(Standing::Missing),
            FolderState::Blocked(fault) => return plain(Standing::Blocked(fault.to_string())),
            FolderState::Modified(cleared) => self.known_edit(skill, (&cleared, None), held, checks),
            FolderState::Earlier { revision, cleared, found } => {
                let at = Head::from(revision.as_ref());
                KnownEdit { found: found.to_string(), ..self.known_edit(skill, (&cleared, Some(at)), held, checks) }
            }
        };
        let set = checks.state.of(skill);
        let lasts = set_back(&set, &known.digest, checks.now).is_none();
        let standing = if known.at.is_some() { Standing::Earlier } else { Standing::Modified };
        Ok(JudgedFolder { standing, known: Some(known), lasts })
    }

    fn known_edit(
        &self,
        skill: &SkillName,
        (cleared, at): (&Cleared, Option<Head>),
        held: Option<String>,
        checks: &EditChecks,
    ) -> KnownEdit {
        let is_waived = cleared.report().findings.iter().any(|finding| finding.waived);
        let digest = cleared.digest().to_string();
        KnownEdit {
            found: digest.clone(),
            key: checks.key(skill, self),
            until: checks.first_end(skill).filter(|_| is_waived),
            digest,
            at,
            held,
            front: Front::of(cleared.bundle(), skill, self.limits()),
        }
    }

    /// A text that differs whenever the policy may judge edits of folders otherwise.
    #[must_use]
    pub fn edit_policy_fingerprint(&self) -> String {
        self.edit_policy.as_ref().map(|policy| policy.rules().fingerprint()).unwrap_or_default()
    }

    /// As [`Library::folder_state`], with the reason for which an edit waits for a person.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn folder_state_held(&self, skill: &SkillName) -> Result<(FolderState, Option<String>), LibraryError> {
        let look = self.look(skill, None)?;
        let held = self.objection(skill, &look)?;
        Ok((look.state, held))
    }

    /// The files that readers get of a skill with a history as its folder is now.
    ///
    /// # Errors
    /// The library cannot be read. The inner error is why agents do not get the skill.
    pub fn folder_files(&self, skill: &SkillName) -> Result<Result<FolderFiles, String>, LibraryError> {
        let look = self.look(skill, None)?;
        let held = self.objection(skill, &look)?;
        let head = look.base.as_ref().map(Head::from);
        Ok(match look.state {
            FolderState::Clean => self.unless_lapsed(skill, FolderFiles { files: look.committed, head, held })?,
            _ if held.is_some() => self.unless_lapsed(skill, FolderFiles { files: look.committed, head, held })?,
            FolderState::Modified(cleared) => Ok(FolderFiles { files: cleared.bundle().clone(), head: None, held }),
            FolderState::Earlier { revision, cleared, .. } => {
                let head = Some(Head::from(revision.as_ref()));
                Ok(FolderFiles { files: cleared.bundle().clone(), head, held })
            }
            FolderState::Blocked(fault) => Err(format!("its folder was changed by hand: {fault}")),
            FolderState::Absent | FolderState::Missing => Err("its folder is missing".to_owned()),
        })
    }

    /// The files of a head as readers get them: not where a finding blocks them whose waiver ended or was taken back.
    fn unless_lapsed(
        &self,
        skill: &SkillName,
        files: FolderFiles,
    ) -> Result<Result<FolderFiles, String>, LibraryError> {
        Ok(self.lapsed(skill, &files.files)?.map_or(Ok(files), |blocked| Err(blocked.to_string())))
    }

    /// The files in a skill's folder, as they are and before anybody judges them; `None` where they cannot be read as
    /// a skill. Only content of a digest that was cleared may be shown to agents.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn files_in_folder(&self, skill: &SkillName) -> Result<Option<Bundle>, LibraryError> {
        let limits: &Limits = self.limits();
        let read = |root| folder::read(&root, skill.as_str(), Leftovers::Skip, limits).ok();
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
    fn known_edit_ends_with_its_waiver_and_its_state() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        let library = Library::open(&temp.path().join("skills"), Scope::Project, &home, "git").unwrap();
        let skill = SkillName::parse("pdf").unwrap();
        let lasting = KnownEdit {
            found: "sha256:aa".to_owned(),
            key: checks(State::default(), 0).key(&skill, &library),
            until: None,
            digest: "sha256:aa".to_owned(),
            at: None,
            held: None,
            front: Front::default(),
        };
        let waived = KnownEdit { until: Some("1970-01-01T00:01:40Z".to_owned()), ..lasting.clone() };
        let holds = |known: &KnownEdit, seconds| known.holds(&skill, &library, &checks(State::default(), seconds));
        assert!(holds(&lasting, 1_000));
        assert!(holds(&waived, 99) && !holds(&waived, 100), "no longer than the waiver");
        let damaged = KnownEdit { until: Some("soon".to_owned()), ..lasting.clone() };
        assert!(!holds(&damaged, 0));
        let mut state = State::default();
        let set_back = StoredSetBack { digest: "sha256:bb".to_owned(), until: String::new(), why: String::new() };
        state.set(&skill, SkillState { set_back: vec![set_back], ..SkillState::default() });
        assert!(!lasting.holds(&skill, &library, &checks(state, 0)), "people decided something since");
    }
}
