//! Summaries of skills, cheap enough for lists of ten thousand ([`SkillSummary`]).

use std::thread;

use cap_std::fs::Dir;
use scan::Baseline;
use skill::{Bundle, SkillName, SkillPath};

use super::{
    FolderState, HandEditFault, Library, LibraryError,
    barred::Barred,
    folder_edit::{EditChecks, FolderEdit},
    observed_folder::{ObservedFolder, ObservedSkill, SummaryDraft},
    prescan::{AHEAD, Prescan},
    rescan::RescannedHead,
    summary::{FolderStatus, Head, SkillMdSummary},
    summary_cache::{CacheEntry, MUCH_NEWS, SummaryCache},
    threads::in_threads,
};
use crate::{
    disk::open_dir,
    folder::{self, Signature},
    origin::Origin,
    revision::{Action, Revision, RevisionId},
    storage::{GitStorage, StorageError},
};

/// Summary of a skill for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary {
    /// Name of its folder.
    pub name: SkillName,
    /// Its head; `None` for a folder without a history.
    pub head: Option<Head>,
    /// Front of the `SKILL.md` that readers get. It is that of the folder if an edit counts or the history is
    /// missing, and that of the head otherwise.
    pub front: SkillMdSummary,
    /// State of the folder compared with the head.
    pub standing: FolderStatus,
    /// Content of the folder if it differs from the head.
    pub edit: Option<FolderEdit>,
    /// Files of a folder without a history that is a valid skill, if they were read.
    pub paths: Vec<SkillPath>,
    /// Number of findings for which the current rules would block it although earlier rules let it pass. A person
    /// decides about them.
    pub undecided: usize,
}

impl SkillSummary {
    /// Creates the summary of a skill whose history is damaged.
    fn damaged(name: SkillName, why: String) -> Self {
        let (front, paths) = (SkillMdSummary::default(), Vec::new());
        Self { name, head: None, front, standing: FolderStatus::Damaged(why), edit: None, paths, undecided: 0 }
    }

    fn of(name: SkillName, found: SummaryDraft) -> Self {
        let SummaryDraft { known, standing, edit, paths, undecided, .. } = found;
        let CacheEntry { head, front, .. } = *known;
        let (edit, edited) = edit.unzip();
        Self { name, head, front: edited.flatten().unwrap_or(front), standing, edit, paths, undecided }
    }
}

/// Method of detecting changes in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeDetection {
    /// File metadata shows whether a file was changed since the last read, as in git's index.
    Signatures,
    /// Every file is read.
    Contents,
}

/// Skills with their head ids. `None` if the head cannot be read.
pub(super) type HeadIds = Vec<(SkillName, Option<RevisionId>)>;

/// Skills with their summaries, and skills whose history is damaged, with the reason.
type Heads = (Vec<(SkillName, Box<CacheEntry>)>, Vec<(SkillName, String)>);

/// Describes damage of a single skill. Any other error is returned and ends the work on all skills.
pub(super) fn damage(error: StorageError) -> Result<String, StorageError> {
    match error {
        StorageError::Damaged(why) => Ok(why),
        StorageError::UnknownRevision(id) => Ok(format!("its revision {id} is missing")),
        other => Err(other),
    }
}

impl Library {
    /// Reads a revision by its full id.
    ///
    /// # Errors
    /// The history cannot be read, or has no such revision.
    pub fn revision(&self, id: &RevisionId) -> Result<Revision, StorageError> {
        self.storage()?.ok_or_else(|| StorageError::UnknownRevision(id.to_string()))?.revision(id)
    }

    /// Returns the origin of the fork that a revision merged in. `None` for a release of the skill's own source, and if
    /// the fork's revision cannot be read.
    pub fn merged_fork(&self, revision: &Revision) -> Option<Origin> {
        let upstream = revision.upstream.as_ref().filter(|_| revision.action == Action::Update)?;
        let fork = self.revision(upstream).ok()?.origin?;
        (Some(fork.name()) != revision.origin.as_ref().map(Origin::name)).then_some(fork)
    }

    /// Returns the heads of the existing skills, sorted by name.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn heads(&self) -> Result<Vec<(SkillName, Head)>, StorageError> {
        let own = open_dir(&self.own).ok().flatten();
        let (heads, damaged) = self.heads_with(&mut SummaryCache::read(own.as_ref()), self.head_ids()?)?;
        if let Some((_, why)) = damaged.into_iter().next() {
            return Err(StorageError::Damaged(why));
        }
        let exists = heads.into_iter().filter(|(_, known)| !known.tombstone);
        Ok(exists.filter_map(|(name, known)| Some((name, known.head?))).collect())
    }

    /// Returns the skills of the history and the folders that may be skills without one, sorted by name. The results
    /// are cached, so that the next call is fast.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn summaries(&self, closeness: ChangeDetection) -> Result<Vec<SkillSummary>, LibraryError> {
        self.look_over(closeness, true)
    }

    /// Returns the same as [`Library::summaries`] without writing the cache, for read-only callers.
    ///
    /// # Errors
    /// Fails like [`Library::summaries`].
    pub fn summaries_uncached(&self, closeness: ChangeDetection) -> Result<Vec<SkillSummary>, LibraryError> {
        self.look_over(closeness, false)
    }

    fn look_over(&self, closeness: ChangeDetection, remembers: bool) -> Result<Vec<SkillSummary>, LibraryError> {
        let own = open_dir(&self.own)?;
        let (mut remembered, ids, folders) = thread::scope(|scope| {
            let remembered = scope.spawn(|| SummaryCache::read(own.as_ref()));
            let (ids, folders) = (self.head_ids(), self.folders());
            (remembered.join().unwrap_or_default(), ids, folders)
        });
        let (heads, mut damaged) = self.heads_with(&mut remembered, ids?)?;
        let (gone, mut skills): (Vec<_>, Vec<_>) = heads.into_iter().partition(|(_, known)| known.tombstone);
        let managed = skills.len();
        let mut barred = Barred::of(self);
        for folder in folders? {
            let is_managed = skills.get(..managed).unwrap_or_default();
            let is_managed = is_managed.binary_search_by(|(name, _)| name.as_str().cmp(&folder)).is_ok()
                || damaged.iter().any(|(name, _)| name.as_str() == folder);
            if let (false, Ok(name)) = (is_managed, SkillName::parse(&folder)) {
                if gone.iter().any(|(gone, _)| *gone == name) {
                    barred.note_folder(self, &name)?;
                }
                let known = remembered.take_folder(&name, self.scanner);
                skills.push((name, known));
            }
        }
        skills.sort_by(|(a, _), (b, _)| a.cmp(b));
        let seen = match self.root()? {
            Some(root) => self.see(&root, &skills, closeness),
            None => skills.iter().map(|_| ObservedFolder::default()).collect(),
        };
        let mut checks = None;
        let mut found = Vec::with_capacity(skills.len());
        let mut looked = skills.into_iter().zip(seen);
        loop {
            let part: Vec<_> = looked.by_ref().take(AHEAD).collect();
            if part.is_empty() {
                break;
            }
            let anew = self.rescan_heads(&part)?;
            for ((((name, known), seen), prescan), anew) in self.prescan_folders(part)?.into_iter().zip(anew) {
                match self.judge_glance(&name, known, seen, prescan, &mut checks, &mut remembered.news) {
                    Ok(Some(mut one)) => {
                        remembered.news += anew.as_ref().map_or(0, RescannedHead::news);
                        let bar = match barred.bar(self, &name, &one.standing, one.known.head.as_ref())? {
                            None => anew.and_then(|anew| anew.settle(&mut one)),
                            bar => bar,
                        };
                        found.push((name, one.barred(bar)));
                    }
                    Ok(None) => {}
                    Err(LibraryError::Storage(error)) => damaged.push((name, damage(error)?)),
                    Err(error) => return Err(error),
                }
            }
        }
        let lasting = found.iter().filter(|(_, found)| found.lasts).map(|(name, found)| (name, found.known.as_ref()));
        let lasting: Vec<_> = gone.iter().map(|(name, known)| (name, known.as_ref())).chain(lasting).collect();
        if remembers {
            remembered.write(lasting, || self.ensure_own());
        }
        let mut glances: Vec<SkillSummary> =
            found.into_iter().map(|(name, found)| SkillSummary::of(name, found)).collect();
        if !damaged.is_empty() {
            glances.extend(damaged.into_iter().map(|(name, why)| SkillSummary::damaged(name, why)));
            glances.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(glances)
    }

    /// Returns the heads of all skills in the history, sorted by name; `None` for one that cannot be read.
    pub(super) fn head_ids(&self) -> Result<HeadIds, StorageError> {
        self.storage()?.map_or(Ok(Vec::new()), GitStorage::heads_found)
    }

    /// Returns the summaries of these heads, including deleted skills, and the damage of the others.
    fn heads_with(&self, remembered: &mut SummaryCache, ids: HeadIds) -> Result<Heads, StorageError> {
        let (mut heads, mut damaged) = (Vec::with_capacity(ids.len()), Vec::new());
        let Some(storage) = self.storage()? else { return Ok((heads, damaged)) };
        let know = |name: &SkillName, id: &RevisionId| -> Result<_, StorageError> {
            let head = storage.revision(id)?;
            let files = if head.tombstone { Bundle::default() } else { storage.bundle(id)? };
            Ok(Box::new(CacheEntry::of_head(&head, SkillMdSummary::of(&files, name, self.limits()))))
        };
        for (name, id) in ids {
            let Some(id) = id else {
                damaged.push((name.clone(), format!("cannot read the head of {name}")));
                continue;
            };
            if let Some(known) = remembered.take_head(&name, &id) {
                heads.push((name, known));
                continue;
            }
            remembered.news += 1;
            match know(&name, &id) {
                Ok(known) => heads.push((name, known)),
                Err(error) => damaged.push((name, damage(error)?)),
            }
        }
        Ok((heads, damaged))
    }

    /// Checks the folders in parallel and reads those whose signature is not the cached one. With
    /// `ChangeDetection::Contents` all of them are read.
    fn see(
        &self,
        root: &Dir,
        skills: &[(SkillName, Box<CacheEntry>)],
        closeness: ChangeDetection,
    ) -> Vec<ObservedFolder> {
        let limits = self.limits();
        in_threads(skills, |(name, known)| {
            let is_as_known = known.folder.as_ref().is_some_and(|folder| folder.is_of(root, name.as_str()));
            let is_read = closeness == ChangeDetection::Contents || !is_as_known;
            let signature = (!is_as_known).then(|| Signature::of(root, name.as_str(), limits)).flatten();
            let content = is_read.then(|| folder::content(root, name.as_str(), limits)).flatten();
            ObservedFolder { is_as_known, signature, content }
        })
    }

    /// Prescans folders for which nothing is cached.
    fn prescan_folders(&self, part: Vec<ObservedSkill>) -> Result<Vec<(ObservedSkill, Option<Prescan>)>, LibraryError> {
        let is_new = |((_, known), seen): &&ObservedSkill| known.head.is_none() && !seen.is_same(known);
        let names: Vec<_> = part.iter().map(|looked| Some(looked).filter(is_new).map(|((name, _), _)| name)).collect();
        let prescan = match self.root()? {
            Some(root) => Prescan::all(&root, &names, self.scanner.reading(), self.limits()),
            None => names.iter().map(|_| None).collect(),
        };
        Ok(part.into_iter().zip(prescan).collect())
    }

    /// Judges one skill of a list. Returns `None` if the folder cannot be a skill. Adds the number of new cache
    /// entries to `news`.
    fn judge_glance(
        &self,
        name: &SkillName,
        known: Box<CacheEntry>,
        seen: ObservedFolder,
        prescan: Option<Prescan>,
        checks: &mut Option<EditChecks>,
        news: &mut usize,
    ) -> Result<Option<SummaryDraft>, LibraryError> {
        let is_same = seen.is_same(&known);
        let mut found = match (is_same, known.head.is_some()) {
            (true, true) if known.edit.is_none() => SummaryDraft::new(known, FolderStatus::Clean),
            (true, false) => SummaryDraft::new(known, FolderStatus::Modified),
            (_, true) => self.judge_edited(name, known, is_same, checks, news)?,
            (false, false) => match self.look_without_history(name, prescan)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        if found.known.valid {
            found.paths = seen.content.map(|content| content.paths).unwrap_or_default();
        }
        if !(is_same && seen.is_as_known) {
            let is_edit = found.known.edit.is_some();
            let is_good = found.known.head.is_none() || is_edit || found.standing == FolderStatus::Clean;
            found.known.folder = seen.signature.filter(|_| is_good && found.lasts);
            *news += usize::from(found.known.folder.is_some());
        }
        Ok(Some(found))
    }

    /// Judges the folder of a skill with a history that may not have the head's files. It is scanned unless the
    /// result for the same content is cached.
    fn judge_edited(
        &self,
        name: &SkillName,
        mut known: Box<CacheEntry>,
        is_same: bool,
        checks: &mut Option<EditChecks>,
        news: &mut usize,
    ) -> Result<SummaryDraft, LibraryError> {
        let checks = match checks {
            Some(checks) => checks,
            None => checks.insert(EditChecks::of(self)?),
        };
        let (mut standing, mut lasts) = (None, true);
        if !known.edit.as_ref().is_some_and(|edit| is_same && edit.holds(name, self, checks)) {
            let judged = self.check_for_list(name, checks)?;
            *news += judged.known.as_ref().map_or(0, |_| MUCH_NEWS);
            (standing, lasts) = (Some(judged.standing), judged.lasts);
            known.edit = judged.known.map(Box::new);
        }
        let summary = known.edit.as_ref().map(|edit| edit.summary(name, checks));
        let (standing, edit) = match summary {
            Some((standing, edit, front)) => (standing, Some((edit, front))),
            None => (standing.unwrap_or(FolderStatus::Clean), None),
        };
        if !lasts {
            known.edit = None;
        }
        Ok(SummaryDraft { edit, lasts, ..SummaryDraft::new(known, standing) })
    }

    /// Judges a folder that looks like a skill but has no history yet. It is read leniently, like by other clients,
    /// but agents are not shown content that the scanner blocks.
    fn look_without_history(
        &self,
        name: &SkillName,
        prescan: Option<Prescan>,
    ) -> Result<Option<SummaryDraft>, LibraryError> {
        let (judged, front) = prescan.map(Prescan::parts).unzip();
        let blocked = |files: &Bundle, why: String| {
            let known = CacheEntry::of_folder(
                files.digest(),
                false,
                SkillMdSummary::of(files, name, self.limits()),
                self.scanner,
            );
            SummaryDraft { lasts: false, ..SummaryDraft::new(Box::new(known), FolderStatus::Blocked(why)) }
        };
        let (cleared, valid) = match self.folder_state_prescanned(name, judged)? {
            FolderState::Modified(cleared) => (*cleared, true),
            FolderState::Blocked(HandEditFault::Invalid { bundle, .. }) => {
                match self.clear_by(name, bundle, Baseline::None, &self.scanner.reading())? {
                    Ok(cleared) => (cleared, false),
                    Err(found) => return Ok(Some(blocked(found.bundle(), found.to_string()))),
                }
            }
            FolderState::Blocked(fault) => {
                let nothing = Bundle::default();
                return Ok(Some(blocked(fault.bundle().unwrap_or(&nothing), fault.to_string())));
            }
            FolderState::Absent | FolderState::Clean | FolderState::Missing | FolderState::Earlier { .. } => {
                return Ok(None);
            }
        };
        let front = front.flatten().filter(|(digest, _)| *digest == cleared.digest()).map(|(_, front)| front);
        let front = front.unwrap_or_else(|| SkillMdSummary::of(cleared.bundle(), name, self.limits()));
        let known = CacheEntry::of_folder(cleared.digest(), valid, front, self.scanner);
        let lasts = cleared.report().findings.iter().all(|finding| !finding.waived);
        Ok(Some(SummaryDraft { lasts, ..SummaryDraft::new(Box::new(known), FolderStatus::Modified) }))
    }
}
