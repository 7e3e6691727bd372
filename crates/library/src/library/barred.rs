//! Skills that a person's decision hides from agents, whatever their folders contain ([`Barred`]).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use skill::SkillName;

use super::{FolderStatus, Library, LibraryError, summary::Head};

/// Skills under such a decision.
pub(super) struct Barred {
    /// Skills with a waiver that expired or was revoked.
    lapsed: BTreeSet<String>,
    /// Folders of skills that a person removed, each with the decision.
    removed: BTreeMap<String, String>,
}

impl Barred {
    /// Collects the lapsed waivers of a library. An unreadable state counts as empty here; its readers report the
    /// error.
    pub fn of(library: &Library) -> Self {
        let (now, state) = (Timestamp::now(), library.state().unwrap_or_default());
        let lapsed = state.skills().filter(|(_, set)| set.has_lapsed_waiver(now));
        Self { lapsed: lapsed.map(|(name, _)| name.to_owned()).collect(), removed: BTreeMap::new() }
    }

    /// Records a folder if it has the name of a skill that a person removed.
    pub fn note_folder(&mut self, library: &Library, name: &SkillName) -> Result<(), LibraryError> {
        let removed = Library::removed_by_person(name, library.head(name)?.as_ref());
        self.removed.extend(removed.map(|removed| (name.to_string(), removed.to_string())));
        Ok(())
    }

    /// Returns the status that a decision gives to a skill, or `None` if no decision applies. Edited skills are not
    /// checked for lapsed waivers here, since an edit is judged by the waivers in force.
    pub fn bar(
        &self,
        library: &Library,
        name: &SkillName,
        standing: &FolderStatus,
        head: Option<&Head>,
    ) -> Result<Option<FolderStatus>, LibraryError> {
        if let Some(why) = self.removed.get(name.as_str()) {
            return Ok(Some(FolderStatus::Blocked(why.clone())));
        }
        let is_lapsed = *standing == FolderStatus::Clean && self.lapsed.contains(name.as_str());
        let Some(head) = head.filter(|_| is_lapsed) else { return Ok(None) };
        let blocked = library.lapsed(name, &library.bundle(&head.id)?)?;
        Ok(blocked
            .map(|blocked| FolderStatus::Lapsed(format!("a waiver for it has expired or was revoked: {blocked}"))))
    }
}
