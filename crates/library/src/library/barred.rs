//! [`Barred`]: skills of a list that decisions of people keep from agents, whatever their folders show.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use skill::SkillName;

use super::{Library, LibraryError, Standing, summary::Head};

/// The skills with such a decision.
pub(super) struct Barred {
    /// Those with a waiver that ended or was taken back.
    lapsed: BTreeSet<String>,
    /// Folders of skills that a person removed, each with the decision.
    removed: BTreeMap<String, String>,
}

impl Barred {
    /// Those of a library. A state that cannot be read is an error of whoever needs it.
    pub fn of(library: &Library) -> Self {
        let (now, state) = (Timestamp::now(), library.state().unwrap_or_default());
        let lapsed = state.skills().filter(|(_, set)| set.has_lapsed_waiver(now));
        Self { lapsed: lapsed.map(|(name, _)| name.to_owned()).collect(), removed: BTreeMap::new() }
    }

    /// Notes a folder under the name of a skill that was removed.
    pub fn note_folder(&mut self, library: &Library, name: &SkillName) -> Result<(), LibraryError> {
        let removed = Library::removed_by_person(name, library.head(name)?.as_ref());
        self.removed.extend(removed.map(|removed| (name.to_string(), removed.to_string())));
        Ok(())
    }

    /// How a skill stands by a decision; `None` where none bears on it. An edit was judged by the waivers in force.
    pub fn bar(
        &self,
        library: &Library,
        name: &SkillName,
        (standing, head): (&Standing, Option<&Head>),
    ) -> Result<Option<Standing>, LibraryError> {
        if let Some(why) = self.removed.get(name.as_str()) {
            return Ok(Some(Standing::Blocked(why.clone())));
        }
        let is_lapsed = *standing == Standing::Clean && self.lapsed.contains(name.as_str());
        let Some(head) = head.filter(|_| is_lapsed) else { return Ok(None) };
        let blocked = library.lapsed(name, &library.bundle(&head.id)?)?;
        Ok(blocked.map(|blocked| Standing::Lapsed(format!("a waiver for it has ended or was taken back: {blocked}"))))
    }
}
