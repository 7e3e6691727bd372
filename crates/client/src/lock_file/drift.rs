//! [`Drift`]: differences between a lock file and the heads of its library.
//!
//! The lock file is written after a commit, so a process that dies in between leaves the file behind the library. A
//! lock file that comes with a clone may be ahead of the library. The history distinguishes the two cases, because it
//! has every release that was ever in this library.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use library::{Library, LibraryError, Origin, Revision, StorageError};
use skill::{Bundle, SkillName, archive};
use toml::Table;

use super::{
    LastRead, LockFile, LockFileError, LockedSkill, capabilities,
    past::{former_entry, is_of, was_here},
};
use crate::{agent_folders::AgentFolder, requires};

/// An entry that differs from the library, or is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Name of the entry.
    pub name: String,
    /// Name of the skill's folder.
    pub skill: SkillName,
    /// Kind of difference.
    pub kind: DriftKind,
}

/// Kinds of difference between an entry and the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftKind {
    /// The library is newer. The entry can be rebuilt from the history.
    Behind,
    /// The entry has another archive hash than its release.
    WrongArchive,
    /// The skill is installed and has no entry.
    Missing,
    /// The skill was uninstalled or deleted and still has an entry.
    Gone,
    /// The entry has a release that was never in this library.
    Ahead,
    /// The skill is not installed, and the library never had the entry's release.
    NotInstalled,
}

impl DriftKind {
    /// Returns whether [`repair_drifts`] can fix the difference.
    pub fn can_be_repaired(self) -> bool {
        matches!(self, Self::Behind | Self::WrongArchive | Self::Missing | Self::Gone)
    }

    /// Describes the difference as a clause about the skill.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Behind => "has changed since its entry was written",
            Self::WrongArchive => "has an entry with the hash of another archive",
            Self::Missing => "is installed but has no entry",
            Self::Gone => "no longer exists but still has an entry",
            Self::Ahead => "has an entry for a release that was never in this library; `skillhub install` installs it",
            Self::NotInstalled => "has an entry but is not installed; `skillhub install` installs it",
        }
    }
}

/// Compares a lock file with the heads of its library.
///
/// # Errors
/// [`LockFileError`]
pub fn drifts(path: &Path, library: &Library) -> Result<Vec<Drift>, LockFileError> {
    let file = LockFile::read(path)?;
    let mut found = Vec::new();
    for entry in file.skills() {
        let kind = of_entry(library, entry).map_err(LibraryError::from)?;
        found.extend(kind.map(|kind| Drift { name: entry.name(), skill: entry.bare_name().clone(), kind }));
    }
    let entries = file.by_bare_name();
    for (name, head) in library.skills().map_err(LibraryError::from)? {
        if let Some(origin) = head.origin
            && !entries.contains_key(name.as_str())
        {
            found.push(Drift { name: origin.name_in(&name), skill: name, kind: DriftKind::Missing });
        }
    }
    Ok(found)
}

fn of_entry(library: &Library, entry: &LockedSkill) -> Result<Option<DriftKind>, StorageError> {
    let Some(head) = library.head(entry.bare_name())? else { return Ok(Some(DriftKind::NotInstalled)) };
    let or_ahead = |behind| Ok(Some(if was_here(library, entry)? { behind } else { DriftKind::Ahead }));
    match &head.origin {
        _ if head.tombstone => match was_here(library, entry)? {
            true => Ok(Some(DriftKind::Gone)),
            false => Ok(Some(DriftKind::NotInstalled)),
        },
        Some(origin) if !is_of(entry, origin) => or_ahead(DriftKind::Behind),
        None => Ok(Some(DriftKind::Ahead)),
        Some(_) if entry.content != Some(head.digest) => Ok(Some(DriftKind::Behind)),
        Some(_) => Ok((!has_archive_of_release(library, entry)?).then_some(DriftKind::WrongArchive)),
    }
}

/// Returns whether an entry has the hash of its release's archive. Returns `true` if the library does not have the
/// files of the release.
pub(crate) fn has_archive_of_release(library: &Library, entry: &LockedSkill) -> Result<bool, StorageError> {
    let Some(digest) = entry.origin.digest().known() else { return Ok(true) };
    let release = library.release(entry.bare_name(), &digest)?;
    Ok(release.is_none_or(|(_, files)| Some(archive::pack(&files).hash()) == entry.archive))
}

/// Rebuilds entries that are behind the heads of the library, adds missing entries, and removes entries of deleted
/// skills. The missing entry of a skill that returned after a deletion is like its former one; otherwise its agents are
/// those in whose `folders` it is linked.
///
/// # Errors
/// [`LockFileError`]; the file is then unchanged.
pub fn repair_drifts(
    path: &Path,
    library: &Library,
    drifts: &[Drift],
    folders: &[AgentFolder],
) -> Result<(), LockFileError> {
    let state = library.state()?;
    let mut entries = Vec::new();
    let mut gone = Vec::new();
    let file = LastRead::of(path)?;
    let is_missing = |drift: &Drift| drift.kind == DriftKind::Missing;
    let events = if drifts.iter().any(is_missing) { library.events()?.0 } else { Vec::new() };
    for drift in drifts.iter().filter(|drift| drift.kind.can_be_repaired()) {
        let name = &drift.skill;
        gone.push(drift.name.clone());
        let head = library.head(name).map_err(LibraryError::from)?;
        if let Some((head, origin)) = head.filter(|head| !head.tombstone).and_then(|h| Some((h.clone(), h.origin?))) {
            let release = origin.digest().known().map(|digest| library.release(name, &digest)).transpose();
            let release = release.map_err(LibraryError::from)?.flatten();
            let former = former_entry(path, library, &events, name, &origin);
            let old = file.get(&drift.name).or(former.as_ref());
            let capabilities = match old.filter(|old| old.content == Some(head.digest)) {
                Some(old) => old.capabilities.clone(),
                None => capabilities::of_head(library, &head)?,
            };
            let entry = made_again(old, &head, origin, release.map(|(_, files)| files));
            let alias = LockedSkill::alias_of(&entry.origin, name);
            let agents = if old.is_some() { entry.agents } else { linked_agents(&state.of(name).placed, folders) };
            entries.push(LockedSkill { alias, capabilities, agents, ..entry });
        }
    }
    file.update_under(&library.lock()?, |file| {
        let kept: BTreeSet<String> = entries.iter().map(LockedSkill::name).collect();
        for name in gone.iter().filter(|name| !kept.contains(*name)) {
            file.remove(name);
        }
        entries.into_iter().for_each(|entry| file.insert(entry));
        Ok(())
    })
}

/// Returns the agents in whose folders a skill is linked, sorted. An install names the first agent of each folder too.
fn linked_agents(placed: &[PathBuf], folders: &[AgentFolder]) -> Vec<String> {
    let is_linked = |folder: &&AgentFolder| placed.iter().any(|path| path.parent() == Some(&folder.path));
    let agents: BTreeSet<&str> =
        folders.iter().filter(is_linked).filter_map(|folder| folder.ids.first().copied()).collect();
    agents.into_iter().map(str::to_owned).collect()
}

/// Returns the entries of skills whose heads come from later releases than the entries name, as after a person accepted
/// an update. An entry for a release that was never in this library came with git, and stays.
pub(super) fn behind_releases(
    library: &Library,
    file: &LockFile,
    heads: &[(&SkillName, Revision)],
) -> Result<Vec<Drift>, StorageError> {
    let mut drifts = Vec::new();
    for (skill, head) in heads {
        let Some(origin) = &head.origin else { continue };
        let entry = file.get(&origin.name_in(skill)).filter(|entry| !is_of(entry, origin));
        if let Some(entry) = entry
            && was_here(library, entry)?
        {
            drifts.push(Drift { name: entry.name(), skill: (*skill).clone(), kind: DriftKind::Behind });
        }
    }
    Ok(drifts)
}

/// Builds an entry as an install would have written it. Details that only the old entry has are copied from it.
fn made_again(old: Option<&LockedSkill>, head: &Revision, origin: Origin, release: Option<Bundle>) -> LockedSkill {
    let same = old.filter(|old| old.origin.digest() == origin.digest());
    // Packing is deterministic: the same files produce the same archive.
    let archive = release.as_ref().map(|files| archive::pack(files).hash());
    let requires = release.as_ref().map(requires::of_bundle).or_else(|| same.map(|old| old.requires.clone()));
    let is_local = !matches!(origin, Origin::Git { .. }) || origin.location().starts_with("file:");
    LockedSkill {
        requested: old.map(|old| old.requested.clone()).unwrap_or_default(),
        local: old.map_or(is_local, |old| old.local),
        archive: archive.or_else(|| same?.archive),
        agents: old.map(|old| old.agents.clone()).unwrap_or_default(),
        requires: requires.unwrap_or_default(),
        dependency: old.is_some_and(|old| old.dependency),
        capabilities: Vec::new(),
        waivers: old.map(|old| old.waivers.clone()).unwrap_or_default(),
        signer: same.and_then(|old| old.signer.clone()),
        ruleset: same.map_or_else(|| head.ruleset.clone(), |old| old.ruleset.clone()),
        content: Some(head.digest),
        origin: LockedSkill::origin_in_file(origin),
        alias: None,
        raw: Table::new(),
    }
}
