//! [`Views::effective`]: the view that one agent has of one skill.
//!
//! A view has two halves. [`Visibility`] is the decision of our own readers (`read`, `prompt`, MCP), from the skill's state
//! and the configuration. [`Reads`] is the content that the agent's host finds in its folders, compared with the
//! content served by `read`. No other module decides either of them.

mod folders;

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use library::{
    Scope,
    folder::{self, FolderError},
};
use skill::SkillName;

use self::folders::Folders;
use crate::{
    catalogue::{Catalogue, read_folder},
    host::Host,
    listed_skill::ListedSkill,
    settings::Settings,
    visibility::Visibility,
};

/// Newest revisions to compare with the content of a folder.
const REVISIONS: usize = 1000;

/// Content that a host finds under a skill's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reads {
    /// Same content as served by `read`.
    Served,
    /// The revision on trial, to which the start of a session led the host's link.
    Trial {
        /// Number of that revision.
        number: u64,
    },
    /// Content of an earlier revision.
    Older {
        /// Number of that revision.
        number: u64,
    },
    /// Content that no revision of the skill has.
    Other,
    /// Content of the skill's own folder that our own readers refuse.
    Blocked,
    /// The host does not find the skill.
    Nothing,
}

/// View that an agent has of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentView {
    /// Decision of our own readers.
    pub sight: Visibility,
    /// Content found by the host.
    pub reads: Reads,
    /// Path of that content in one of the host's folders, which may be a link.
    pub path: Option<PathBuf>,
    /// Scope of that folder.
    pub scope: Option<Scope>,
}

impl AgentView {
    /// Returns whether the host's content differs from that shown by our own readers. A skill that they refuse, for its
    /// content or a missing folder, counts if the host finds it in another folder.
    pub fn differs(&self) -> bool {
        let is_meant = matches!(self.sight, Visibility::Seen | Visibility::Asked | Visibility::Unusable(_));
        is_meant && matches!(self.reads, Reads::Older { .. } | Reads::Other | Reads::Blocked)
    }

    /// Returns whether the host reads a skill that our own readers hide.
    pub fn is_hidden_but_read(&self) -> bool {
        let is_hidden = matches!(self.sight, Visibility::Disabled | Visibility::Denied | Visibility::NotOnList);
        is_hidden && self.reads != Reads::Nothing
    }

    /// Returns whether the host does not find a skill that the agent may see.
    pub fn lacks(&self) -> bool {
        self.sight == Visibility::Seen && self.reads == Reads::Nothing
    }
}

impl Reads {
    /// Returns a stable word for documents.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Trial { .. } => "trial",
            Self::Older { .. } => "older",
            Self::Other => "other",
            Self::Blocked => "blocked",
            Self::Nothing => "nothing",
        }
    }
}

/// Views of agents on the skills of a catalogue. Folder listings are cached for its lifetime.
pub struct Views<'a> {
    catalogue: &'a Catalogue,
    settings: &'a Settings,
    folders: Folders,
    compared: RefCell<HashMap<(PathBuf, SkillName), Reads>>,
}

impl<'a> Views<'a> {
    /// Creates the views of a catalogue under some settings.
    pub fn new(catalogue: &'a Catalogue, settings: &'a Settings) -> Self {
        Self { catalogue, settings, folders: Folders::default(), compared: RefCell::default() }
    }

    /// Determines the view of a host's agent on a skill.
    ///
    /// Links and the skill's own folder cost one metadata access. Any other folder in their place is read. A folder
    /// that cannot be read as a skill counts as other content.
    pub fn effective(&self, host: &Host, listed: &ListedSkill) -> AgentView {
        let sight = listed.visibility(self.settings, host.id);
        let found = listed.path.as_deref().and_then(|own| self.found(host, listed, own));
        match found {
            Some((reads, path, scope)) => AgentView { sight, reads, path: Some(path), scope: Some(scope) },
            None => AgentView { sight, reads: Reads::Nothing, path: None, scope: None },
        }
    }

    /// Finds the content at the nearest of the host's levels that has the name. Within one level, differing content
    /// takes precedence, since the host may read either.
    fn found(&self, host: &Host, listed: &ListedSkill, own: &Path) -> Option<(Reads, PathBuf, Scope)> {
        for level in &host.levels {
            let mut served = None;
            for folder in &level.folders {
                let Some(real) = self.real(host, listed, own, folder) else { continue };
                match self.compare(listed, own, &real) {
                    Reads::Nothing => {}
                    Reads::Served => served = served.or(Some(folder)),
                    other => return Some((other, folder.join(listed.name.as_str()), level.scope)),
                }
            }
            if let Some(folder) = served {
                return Some((Reads::Served, folder.join(listed.name.as_str()), level.scope));
            }
        }
        None
    }

    /// Returns the resolved path of the skill that a host finds in one of its folders. Skills in subfolders count, as
    /// in `skills/group/name`.
    fn real(&self, host: &Host, listed: &ListedSkill, own: &Path, folder: &Path) -> Option<PathBuf> {
        let found = self.folders.find(folder, listed.name.as_str(), own, host.follows_links);
        found.or_else(|| own.starts_with(folder).then(|| own.to_owned()))
    }

    fn compare(&self, listed: &ListedSkill, own: &Path, real: &Path) -> Reads {
        if real == own {
            return match (listed.missing, listed.held()) {
                (true, _) => Reads::Nothing,
                _ if listed.blocked => refused(own),
                (false, Some(_)) => Reads::Other,
                (false, None) => Reads::Served,
            };
        }
        let key = (real.to_owned(), listed.name.clone());
        if let Some(known) = self.compared.borrow().get(&key) {
            return known.clone();
        }
        let reads = self.read_and_compare(listed, real);
        self.compared.borrow_mut().insert(key, reads.clone());
        reads
    }

    fn read_and_compare(&self, listed: &ListedSkill, real: &Path) -> Reads {
        let found = match read_folder(real) {
            Ok(found) if found.skill_md().is_none() => return Reads::Nothing,
            Ok(found) => found,
            Err(FolderError::Missing(_)) => return Reads::Nothing,
            Err(_) => return Reads::Other,
        };
        if !listed.missing && self.catalogue.files(listed).is_ok_and(|served| folder::has_content(&found, &served)) {
            return Reads::Served;
        }
        let digest = found.digest();
        let Some(library) = self.catalogue.library_of(listed) else { return Reads::Other };
        let mut held = library.walk(&listed.name).take(REVISIONS).map_while(Result::ok);
        match held.find(|revision| !revision.tombstone && revision.digest == digest) {
            Some(revision) if library.is_trial_folder(&listed.name, real) => Reads::Trial { number: revision.number },
            Some(revision) => Reads::Older { number: revision.number },
            None => Reads::Other,
        }
    }
}

/// Classifies a skill's own folder that our own readers refuse. Hosts read it if it has a `SKILL.md`.
fn refused(own: &Path) -> Reads {
    let opened = Dir::open_ambient_dir(own, ambient_authority());
    if opened.is_ok_and(|dir| dir.is_file("SKILL.md")) { Reads::Blocked } else { Reads::Nothing }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
