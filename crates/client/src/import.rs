//! [`Imported`]: skills that another tool installed, imported with their origin.
//!
//! An existing folder is imported with its files unchanged. A later update can merge into it only if the release that
//! it was installed from is known. The release is known if the folder has the hash that the other tool recorded, or if
//! the source still has the files. Otherwise a person decides about the differences to the next release.

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::{
    Origin, SourceDigest, SourceSkill,
    folder::{self, ToolFiles},
};
use serde::Serialize;
use skill::{Bundle, Limits, SkillName, SkillPath, archive};

use crate::{
    cache::Cache,
    discovery::{Pick, skill_md_of},
    foreign::{ForeignEntry, ForeignLock, ForeignSource, ForeignTool},
    install::{
        Batch, Candidate, FetchItem, ImportedFolder, InstallError, InstallRequest, InstallStatus, Installed, Installer,
        fetch, version_of,
    },
    lock_file::LastRead,
    spec::Spec,
};

/// Folder in which `npx skills` installs a project's skills.
const SKILLS_FOLDER: &str = ".agents/skills";

/// Outcome of importing one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportStatus {
    /// The existing folder was imported.
    Imported,
    /// The folder was missing, and the skill was installed from its source.
    Installed,
    /// The library already had the skill from this source.
    Unchanged,
    /// The skill would be imported or installed; nothing was written.
    DryRun,
    /// The entry was skipped, for the reason in [`Imported::why`].
    Left,
    /// Importing or installing the skill failed.
    Failed,
}

/// Result of importing one entry.
#[derive(Debug)]
pub struct Imported {
    /// Key of the entry in the other tool's lock file.
    pub key: String,
    /// Tool that installed the skill.
    pub tool: ForeignTool,
    /// Path of the other tool's lock file.
    pub file: PathBuf,
    /// Source of the skill, as shown to people.
    pub source: String,
    /// Existing folder of the skill, if one was found.
    pub folder: Option<PathBuf>,
    /// True if the files were changed since the other tool installed them, or if that is unknown.
    pub is_changed: bool,
    /// Outcome for this entry.
    pub status: ImportStatus,
    /// Reason why nothing was done.
    pub why: Option<String>,
    /// Result of the install, if one was attempted.
    pub installed: Option<Installed>,
}

/// Planned action for an entry.
enum Plan {
    /// Install this candidate.
    Take(Box<Candidate>),
    /// Skip the entry, for this reason.
    Leave(String),
    /// Skip the entry, because the library already has the skill from this source.
    Have,
}

impl Installer<'_> {
    /// Imports skills that other tools installed, and installs the ones whose folders are missing. The other tools'
    /// files are not changed.
    ///
    /// # Errors
    /// [`InstallError`] when the whole batch fails. Nothing has changed then.
    pub fn import(&mut self, locks: &[ForeignLock], request: &InstallRequest) -> Result<Vec<Imported>, InstallError> {
        let folders = self.agent_folders.chosen(&request.agents, self.library.path())?;
        let mut rows = Vec::new();
        let lock = LastRead::of(self.lock_path)?;
        let mut batch = Batch::of(self.home, &lock)?;
        let sources = locks.iter().flat_map(|lock| &lock.entries).filter_map(|entry| order_of(&entry.source));
        let sources: Vec<FetchItem> = sources.collect();
        self.prefetch.fetch(self.home, self.registries, &sources, request, &lock, self.progress);
        let mut taken: Vec<(SkillName, String)> = Vec::new();
        for (foreign, entry) in locks.iter().flat_map(|lock| lock.entries.iter().map(move |entry| (lock, entry))) {
            let mut row = Imported::of(foreign, entry);
            let planned = self.plan_entry(foreign, entry, request, &mut row);
            match planned.and_then(|plan| check_doubled(plan, entry, &mut taken)) {
                Ok(Plan::Take(candidate)) => self.plan_one(*candidate, request, &mut batch),
                Ok(Plan::Leave(why)) => row.why = Some(why),
                Ok(Plan::Have) => {
                    row.status = ImportStatus::Unchanged;
                    row.why = Some("already installed from the same source".to_owned());
                }
                Err(error) => {
                    batch.settle(Installed::failed(entry.key.clone(), None, error));
                }
            }
            rows.push(row);
        }
        self.accept_blocked(request, &lock, &mut batch)?;
        let mut results = self.finish(batch, lock, request, &folders)?.into_iter();
        for row in rows.iter_mut().filter(|row| row.why.is_none()) {
            row.installed = results.next();
            row.status = row.ended();
        }
        Ok(rows)
    }

    fn plan_entry(
        &self,
        lock: &ForeignLock,
        entry: &ForeignEntry,
        request: &InstallRequest,
        row: &mut Imported,
    ) -> Result<Plan, InstallError> {
        let bad_name = |source| InstallError::Name { name: entry.folder.clone(), source };
        let name = entry.name().map_err(bad_name)?;
        if let Some(head) = self.library.head(&name)?.filter(|head| !head.tombstone) {
            match &head.origin {
                Some(origin) if entry.source.is_of(origin) => return Ok(Plan::Have),
                None => {
                    return Ok(Plan::Leave("the library has its own skill of this name, which was kept".to_owned()));
                }
                Some(_) => {}
            }
        }
        let files = match self.folder_of(lock, &name) {
            Some(folder) => Some(read(row.folder.insert(folder), self.library.path())?),
            None => None,
        };
        let theirs = self.of_source(entry, &name, request);
        let Some(files) = files else { return self.without_folder(entry, theirs, request) };
        let mut notes = entry.notes.clone();
        let theirs = theirs.unwrap_or_else(|error| {
            if !matches!(error, InstallError::Offline { .. }) {
                notes.push(format!("its source could not be checked: {error}"));
            }
            None
        });
        let (release, is_known) = match theirs {
            Some(theirs) if folder::has_content(&files, &theirs.bundle) => (theirs, true),
            Some(theirs) if entry.recorded.is_of(&theirs.bundle) && !entry.recorded.is_of(&files) => (theirs, true),
            theirs => self.of_folder_alone(entry, &name, &files, theirs, request)?,
        };
        row.is_changed = !is_known || !folder::has_content(&files, &release.bundle);
        if !is_known {
            notes.push(
                "it was changed after it was installed, or its original release is unknown, so an update asks you \
                 about each difference"
                    .to_owned(),
            );
        } else if matches!(release.origin, Origin::Git { commit: None, .. }) {
            notes.push(format!(
                "its commit is unknown until you update it (`skillhub update {name}`); until then, the lock file \
                 cannot restore it in a clone"
            ));
        }
        notes.extend(release.warnings.iter().cloned());
        let taken = Some(ImportedFolder { named_in: lock.path.clone(), files });
        let origin = release.origin.clone().renamed(&name);
        Ok(Plan::Take(Box::new(Candidate { name, origin, warnings: notes, taken, ..release })))
    }

    /// Finds the folder in which the other tool installed a skill: in the library, in the tool's own folder, or in an
    /// agent's folder. Links do not count, because they may lead anywhere.
    fn folder_of(&self, lock: &ForeignLock, name: &SkillName) -> Option<PathBuf> {
        let of_tool = match lock.tool {
            ForeignTool::ClawHub => lock.root.join("skills"),
            ForeignTool::SkillsOfProject => lock.root.join(SKILLS_FOLDER),
            ForeignTool::SkillsOfUser => lock.root.join("skills"),
        };
        let root = library::resolve(&lock.root).ok()?;
        let of_tool = library::resolve(&of_tool).ok().filter(|folder| folder.starts_with(&root));
        let of_agents = self.agent_folders.all().iter().map(|folder| folder.path.clone());
        let places = std::iter::once(self.library.path().to_owned()).chain(of_tool).chain(of_agents);
        places
            .map(|place| (is_skill(&place, name), place))
            .find_map(|(is, place)| is.then(|| place.join(name.as_str())))
    }

    /// Fetches the skill that the source has now; `None` for kinds of source that cannot be fetched.
    fn of_source(
        &self,
        entry: &ForeignEntry,
        name: &SkillName,
        request: &InstallRequest,
    ) -> Result<Option<Candidate>, InstallError> {
        let picked = |skills: Vec<String>| InstallRequest { pick: Pick { skills, all: false }, ..request.clone() };
        let Some(order) = order_of(&entry.source) else { return Ok(None) };
        let found = match &entry.source {
            ForeignSource::Git(git) if git.path.is_some() => fetch(self.inputs(), &order, request),
            ForeignSource::Git(_) => match fetch(self.inputs(), &order, &picked(vec![entry.key.clone()])) {
                Err(InstallError::Pick(_)) => fetch(self.inputs(), &order, &picked(vec![name.to_string()])),
                by_key => by_key,
            },
            _ => fetch(self.inputs(), &order, &picked(vec![entry.key.clone()])),
        };
        Ok(found?.into_iter().next())
    }

    fn without_folder(
        &self,
        entry: &ForeignEntry,
        theirs: Result<Option<Candidate>, InstallError>,
        request: &InstallRequest,
    ) -> Result<Plan, InstallError> {
        match theirs {
            Ok(Some(mut theirs)) => {
                if !entry.recorded.is_of(&theirs.bundle) {
                    theirs
                        .warnings
                        .push("its source has changed since it was locked; this is the current content".to_owned());
                }
                theirs.warnings.extend(entry.notes.iter().cloned());
                Ok(Plan::Take(Box::new(theirs)))
            }
            Ok(None) => Ok(Plan::Leave(format!(
                "its folder is missing, and skillhub cannot fetch from {}",
                entry.source.describe()
            ))),
            Err(InstallError::Offline { .. }) if request.offline => {
                Ok(Plan::Leave("its folder is missing; run without --offline to install it from its source".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// Builds a candidate from the folder alone. The flag is true if the files are known to be those that the other
    /// tool installed, or if the source cannot be fetched.
    fn of_folder_alone(
        &self,
        entry: &ForeignEntry,
        name: &SkillName,
        files: &Bundle,
        theirs: Option<Candidate>,
        request: &InstallRequest,
    ) -> Result<(Candidate, bool), InstallError> {
        let is_known = entry.recorded.is_of(files) || matches!(entry.source, ForeignSource::Other { .. });
        let packed = archive::pack(files);
        let archive = if request.dry_run { packed.hash() } else { Cache::of(self.home).put(&packed)? };
        let origin = entry.source.origin(SourceSkill {
            name: name.clone(),
            version: entry.version.clone().or_else(|| version_of(files)),
            digest: match is_known {
                true => SourceDigest::Known(files.digest()),
                false => SourceDigest::Foreign(entry.recorded.digest_placeholder()),
            },
        });
        let (asked, local) = match &entry.source {
            ForeignSource::Git(git) => (git.to_string(), git.transport() == "file"),
            _ => (origin.location().to_owned(), matches!(origin, Origin::Folder { .. })),
        };
        let requested = theirs.map_or(asked, |theirs| theirs.requested);
        Ok((Candidate::new(name.clone(), files.clone(), origin, archive, requested, local), is_known))
    }
}

/// Rejects the second of two entries with the same folder.
fn check_doubled(plan: Plan, entry: &ForeignEntry, taken: &mut Vec<(SkillName, String)>) -> Result<Plan, InstallError> {
    let Plan::Take(candidate) = &plan else { return Ok(plan) };
    if let Some((name, first)) = taken.iter().find(|(name, _)| *name == candidate.name) {
        let (name, first, second) = (name.clone(), first.clone(), entry.key.clone());
        return Err(InstallError::TwiceInBatch { name, first, second });
    }
    taken.push((candidate.name.clone(), entry.key.clone()));
    Ok(plan)
}

/// Returns whether the folder exists, is not a link and contains a `SKILL.md`.
fn is_skill(place: &Path, name: &SkillName) -> bool {
    let Ok(dir) = Dir::open_ambient_dir(place, ambient_authority()) else { return false };
    let is_folder = dir.symlink_metadata(name.as_str()).is_ok_and(|metadata| metadata.is_dir());
    let opened = folder::open(&dir, name.as_str());
    is_folder && opened.is_ok_and(|dir| skill_md_of(&dir).is_ok_and(|found| found.is_some()))
}

/// Reads the files of a folder. Outside the library, files that ClawHub adds to its skills are left out.
fn read(path: &Path, library: &Path) -> Result<Bundle, InstallError> {
    let dir = folder::open_resolved(path).map_err(|source| InstallError::Open { path: path.to_owned(), source })?;
    let unreadable = |source| InstallError::Folder { origin: path.display().to_string(), source };
    let files = folder::read_dir(dir, ToolFiles::Skip, &Limits::default()).map_err(unreadable)?;
    let is_clawhub =
        |path: &SkillPath| path.as_str().starts_with(".clawhub/") || path.as_str().starts_with(".clawdhub/");
    if path.parent() == Some(library) || !files.paths().any(is_clawhub) {
        return Ok(files);
    }
    let own = files.files().filter(|(path, _)| !is_clawhub(path)).map(|(path, file)| (path.clone(), file.clone()));
    Bundle::from_files(own, &Limits::default()).map_err(|error| unreadable(error.into()))
}

impl Imported {
    fn of(lock: &ForeignLock, entry: &ForeignEntry) -> Self {
        Self {
            key: entry.key.clone(),
            tool: lock.tool,
            file: lock.path.clone(),
            source: entry.source.describe(),
            folder: None,
            is_changed: false,
            status: ImportStatus::Left,
            why: None,
            installed: None,
        }
    }

    fn ended(&self) -> ImportStatus {
        match self.installed.as_ref().map(|installed| installed.status) {
            Some(InstallStatus::Unchanged) => ImportStatus::Unchanged,
            Some(InstallStatus::DryRun) => ImportStatus::DryRun,
            Some(InstallStatus::Installed | InstallStatus::Updated | InstallStatus::Merged) => match self.folder {
                Some(_) => ImportStatus::Imported,
                None => ImportStatus::Installed,
            },
            _ => ImportStatus::Failed,
        }
    }

    /// Returns the error of a failed import.
    pub fn error(&self) -> Option<&InstallError> {
        self.installed.as_ref()?.error.as_ref()
    }
}

/// Returns the order that fetches from a source, if its kind can be fetched.
fn order_of(source: &ForeignSource) -> Option<FetchItem> {
    match source {
        ForeignSource::Git(git) => Some(FetchItem::Spec(Spec::Git((**git).clone()))),
        ForeignSource::Folder(path) => Some(FetchItem::Spec(Spec::Folder(path.display().to_string()))),
        ForeignSource::Other { .. } => None,
    }
}
