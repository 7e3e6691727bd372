//! [`Glance`]: what a reader of a whole library needs of one skill, ten thousand of them in a moment.

use std::{collections::BTreeSet, thread};

use cap_std::fs::Dir;
use scan::Baseline;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Limits, SkillName, SkillPath, validate::load};

use super::{
    FolderState, HandEditFault, Library, LibraryError,
    remembered::{Known, Remembered},
};
use crate::{
    folder::{self, Content, Signature},
    home::open_dir,
    revision::{Origin, Revision, RevisionId},
    storage::StorageError,
};

/// Threads that look at folders; more of them wait for the same disk.
const THREADS: usize = 4;

/// What a list of skills says of a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The revision.
    pub id: RevisionId,
    /// Its number.
    pub number: u64,
    /// The digest of its files, `sha256:…`.
    pub digest: String,
    /// The release that it is or derives from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl From<&Revision> for Head {
    fn from(revision: &Revision) -> Self {
        let (id, origin) = (revision.id.clone(), revision.origin.clone());
        Self { id, number: revision.number, digest: revision.digest.to_string(), origin }
    }
}

/// What a skill's `SKILL.md` says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Front {
    /// What the skill does and when to use it; empty where that cannot be read.
    pub description: String,
    /// The author's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why an agent could not load it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl Front {
    /// That of a skill's files.
    #[must_use]
    pub fn of(files: &Bundle, name: &SkillName, limits: &Limits) -> Self {
        match load(files.skill_md().unwrap_or_default().as_bytes(), name.as_str(), limits) {
            Ok(loaded) => Self { version: loaded.frontmatter.version(), description: loaded.description, fault: None },
            Err(problems) => Self {
                fault: Some(problems.first().map(|problem| problem.message.clone()).unwrap_or_default()),
                ..Self::default()
            },
        }
    }
}

/// How a skill's folder stands to its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// As committed.
    Clean,
    /// Committed, but there is no folder.
    Missing,
    /// Edited by hand, or without a history, and the scanner lets it pass.
    Modified,
    /// Edited by hand, or without a history, in a way that is not shown to agents: why.
    Blocked(String),
}

/// A skill of a library as a list needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// The skill.
    pub name: SkillName,
    /// Its head; `None` for a folder without a history.
    pub head: Option<Head>,
    /// What the head's `SKILL.md` says, or the folder's where there is no head.
    pub front: Front,
    /// How the folder stands to the head.
    pub standing: Standing,
    /// The files of a folder without a history that is a valid skill, where they were read.
    pub paths: Vec<SkillPath>,
}

/// How closely folders are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closeness {
    /// What the system says of a file tells whether it was changed since it was read last, as in git's
    /// index.
    Signatures,
    /// Every file is read.
    Contents,
}

/// What was seen of one folder.
#[derive(Default)]
struct Seen {
    signature: Option<Signature>,
    content: Option<Content>,
}

/// What a folder without history was found to be.
struct Found {
    known: Known,
    standing: Standing,
    /// Whether that holds as long as content and rules are the same: not where a waiver let it pass,
    /// which ends.
    lasts: bool,
}

impl Library {
    /// The heads of the skills that exist, sorted by name.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn heads(&self) -> Result<Vec<(SkillName, Head)>, StorageError> {
        let own = open_dir(&self.own).ok().flatten();
        let mut remembered = Remembered::read(own.as_ref());
        let heads = self.heads_with(&mut remembered)?;
        Ok(heads.into_iter().filter_map(|(name, known)| Some((name, known.head?))).collect())
    }

    /// The skills of the history and the folders that may be skills without one, sorted by name. It
    /// remembers what it finds, and is quick the next time.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn glances(&self, closeness: Closeness) -> Result<Vec<Glance>, LibraryError> {
        let own = open_dir(&self.own)?;
        let mut remembered = Remembered::read(own.as_ref());
        let mut known = self.heads_with(&mut remembered)?;
        let folders: BTreeSet<SkillName> =
            self.folders()?.iter().filter_map(|folder| SkillName::parse(folder).ok()).collect();
        let managed: BTreeSet<&SkillName> = known.iter().map(|(name, _)| name).collect();
        let others: Vec<_> = folders.iter().filter(|name| !managed.contains(name)).cloned().collect();
        known.extend(others.into_iter().map(|name| {
            let known = remembered.without_history(&name);
            (name, known)
        }));
        known.sort_by(|(a, _), (b, _)| a.cmp(b));
        let seen = match self.root()? {
            Some(root) => self.see(&root, &known, closeness),
            None => known.iter().map(|_| Seen::default()).collect(),
        };
        let mut glances = Vec::with_capacity(known.len());
        for ((name, known), seen) in known.into_iter().zip(seen) {
            glances.extend(self.glance(name, known, seen, &mut remembered)?);
        }
        let names: BTreeSet<&str> = glances.iter().map(|glance| glance.name.as_str()).collect();
        remembered.write(&names, || self.ensure_own());
        Ok(glances)
    }

    /// What is known of each skill that exists in the history.
    fn heads_with(&self, remembered: &mut Remembered) -> Result<Vec<(SkillName, Known)>, StorageError> {
        let Some(storage) = self.storage()? else { return Ok(Vec::new()) };
        let mut heads = Vec::new();
        for (name, id) in storage.heads()? {
            let known = match remembered.of_head(&name, &id) {
                Some(known) => known,
                None => {
                    let head = storage.revision(&id)?;
                    let files = if head.tombstone { Bundle::default() } else { storage.bundle(&id)? };
                    remembered.learn_head(&name, &head, Front::of(&files, &name, self.limits()))
                }
            };
            if !known.tombstone {
                heads.push((name, known));
            }
        }
        Ok(heads)
    }

    /// Looks at the folders, each as closely as it takes: reads those of which nothing is known for
    /// their signature.
    fn see(&self, root: &Dir, skills: &[(SkillName, Known)], closeness: Closeness) -> Vec<Seen> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let chunk = skills.len().div_ceil(threads).max(1);
        let limits = self.limits();
        let look = move |(name, known): &(SkillName, Known)| {
            let signature = folder::signature(root, name.as_str(), limits);
            let is_known = signature.as_ref().is_some_and(|found| known.folder.as_ref() == Some(&found.sum));
            let is_read = closeness == Closeness::Contents || !is_known;
            let content = is_read.then(|| folder::content(root, name.as_str(), limits)).flatten();
            Seen { signature, content }
        };
        thread::scope(|scope| {
            let parts: Vec<_> = skills
                .chunks(chunk)
                .map(|part| (part, scope.spawn(move || part.iter().map(look).collect::<Vec<_>>())))
                .collect();
            parts
                .into_iter()
                .flat_map(|(part, seen)| seen.join().unwrap_or_else(|_| part.iter().map(look).collect()))
                .collect()
        })
    }

    /// `None` where nothing stands that could be a skill.
    fn glance(
        &self,
        name: SkillName,
        known: Known,
        seen: Seen,
        remembered: &mut Remembered,
    ) -> Result<Option<Glance>, LibraryError> {
        let is_same = match (&seen.content, &seen.signature) {
            (Some(content), _) => known.digest() == Some(content.digest.to_string().as_str()),
            (None, Some(signature)) => known.folder.as_ref() == Some(&signature.sum),
            (None, None) => false,
        };
        let Some(head) = known.head.clone() else {
            let found = match is_same {
                true => Some(Found { known, standing: Standing::Modified, lasts: true }),
                false => self.look_without_history(&name)?,
            };
            let Some(Found { known, standing, lasts }) = found else { return Ok(None) };
            if lasts {
                remembered.learn_folder(&name, known.clone(), seen.signature.as_ref());
            }
            let paths = seen.content.filter(|_| known.valid).map(|content| content.paths).unwrap_or_default();
            return Ok(Some(Glance { name, head: None, front: known.front, standing, paths }));
        };
        let standing = match is_same {
            true => Standing::Clean,
            false => match self.folder_state(&name)? {
                FolderState::Clean | FolderState::Absent => Standing::Clean,
                FolderState::Missing => Standing::Missing,
                FolderState::Modified(_) => Standing::Modified,
                FolderState::Blocked(fault) => Standing::Blocked(fault.to_string()),
            },
        };
        let front = known.front.clone();
        if standing == Standing::Clean {
            remembered.learn_folder(&name, known, seen.signature.as_ref());
        }
        Ok(Some(Glance { name, head: Some(head), front, standing, paths: Vec::new() }))
    }

    /// A folder that looks like a skill but has no history yet. It is read leniently, as other clients
    /// do, but what the scanner blocks is not shown to agents.
    fn look_without_history(&self, name: &SkillName) -> Result<Option<Found>, LibraryError> {
        let blocked = |files: &Bundle, why: String| {
            let known = Known::of_folder(files.digest(), false, Front::of(files, name, self.limits()));
            Found { known, standing: Standing::Blocked(why), lasts: false }
        };
        let (cleared, valid) = match self.folder_state(name)? {
            FolderState::Modified(cleared) => (*cleared, true),
            FolderState::Blocked(HandEditFault::Invalid { bundle, .. }) => {
                match self.clear(name, bundle, Baseline::None)? {
                    Ok(cleared) => (cleared, false),
                    Err(found) => return Ok(Some(blocked(&found.bundle, found.to_string()))),
                }
            }
            FolderState::Blocked(fault) => {
                let nothing = Bundle::default();
                return Ok(Some(blocked(fault.bundle().unwrap_or(&nothing), fault.to_string())));
            }
            FolderState::Absent | FolderState::Clean | FolderState::Missing => return Ok(None),
        };
        let front = Front::of(cleared.bundle(), name, self.limits());
        let known = Known::of_folder(cleared.digest(), valid, front);
        let lasts = cleared.report().findings.iter().all(|finding| !finding.waived);
        Ok(Some(Found { known, standing: Standing::Modified, lasts }))
    }
}
