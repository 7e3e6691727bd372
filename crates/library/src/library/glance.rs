//! [`Glance`]: what a reader of a whole library needs of one skill, ten thousand of them in a moment.

use std::thread;

use cap_std::fs::Dir;
use scan::Baseline;
use skill::{Bundle, SkillName, SkillPath};

use super::{
    FolderState, HandEditFault, Library, LibraryError,
    barred::Barred,
    folder_edit::{EditChecks, FolderEdit},
    foreseen::{AHEAD, Foreseen},
    judged_anew::Anew,
    remembered::{Known, MUCH_NEWS, Remembered},
    sight::{Found, Looked, Seen},
    summary::{Front, Head, Standing},
    threads::in_threads,
};
use crate::{
    disk::open_dir,
    folder::{self, Signature},
    revision::{Revision, RevisionId},
    storage::{GitStorage, StorageError},
};

/// A skill of a library as a list needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// The skill.
    pub name: SkillName,
    /// Its head; `None` for a folder without a history.
    pub head: Option<Head>,
    /// What the `SKILL.md` says that readers get: the head's, or the folder's where an edit counts or there is no
    /// head.
    pub front: Front,
    /// How the folder stands to the head.
    pub standing: Standing,
    /// The content of the folder where it is not the head's.
    pub edit: Option<FolderEdit>,
    /// The files of a folder without a history that is a valid skill, where they were read.
    pub paths: Vec<SkillPath>,
    /// Findings that would block it by the rules of today, where earlier ones let it pass; a person decides.
    pub undecided: usize,
}

impl Glance {
    /// A skill of which the history is damaged.
    fn damaged(name: SkillName, why: String) -> Self {
        let (front, paths) = (Front::default(), Vec::new());
        Self { name, head: None, front, standing: Standing::Damaged(why), edit: None, paths, undecided: 0 }
    }

    fn of(name: SkillName, found: Found) -> Self {
        let Found { known, standing, edit, paths, undecided, .. } = found;
        let Known { head, front, .. } = *known;
        let (edit, edited) = edit.unzip();
        Self { name, head, front: edited.flatten().unwrap_or(front), standing, edit, paths, undecided }
    }
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

/// Skills and their heads, as far as those can be read.
type HeadIds = Vec<(SkillName, Option<RevisionId>)>;

/// Skills, and those of which the history is damaged: how.
type Heads = (Vec<(SkillName, Box<Known>)>, Vec<(SkillName, String)>);

/// What is damaged of one skill; any other error ends the work on all.
fn damage(error: StorageError) -> Result<String, StorageError> {
    match error {
        StorageError::Damaged(why) => Ok(why),
        StorageError::UnknownRevision(id) => Ok(format!("its revision {id} is missing")),
        other => Err(other),
    }
}

impl Library {
    /// A revision by its whole id.
    ///
    /// # Errors
    /// The history cannot be read, or has no such revision.
    pub fn revision(&self, id: &RevisionId) -> Result<Revision, StorageError> {
        self.storage()?.ok_or_else(|| StorageError::UnknownRevision(id.to_string()))?.revision(id)
    }

    /// The heads of the skills that exist, sorted by name.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn heads(&self) -> Result<Vec<(SkillName, Head)>, StorageError> {
        let own = open_dir(&self.own).ok().flatten();
        let (heads, damaged) = self.heads_with(&mut Remembered::read(own.as_ref()), self.head_ids()?)?;
        if let Some((_, why)) = damaged.into_iter().next() {
            return Err(StorageError::Damaged(why));
        }
        let exists = heads.into_iter().filter(|(_, known)| !known.tombstone);
        Ok(exists.filter_map(|(name, known)| Some((name, known.head?))).collect())
    }

    /// The skills of the history and the folders that may be skills without one, sorted by name. It
    /// remembers what it finds, and is quick the next time.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn glances(&self, closeness: Closeness) -> Result<Vec<Glance>, LibraryError> {
        self.look_over(closeness, true)
    }

    /// As [`Library::glances`], for a reader that writes nothing: what it finds is not remembered.
    ///
    /// # Errors
    /// As [`Library::glances`].
    pub fn glances_unremembered(&self, closeness: Closeness) -> Result<Vec<Glance>, LibraryError> {
        self.look_over(closeness, false)
    }

    fn look_over(&self, closeness: Closeness, remembers: bool) -> Result<Vec<Glance>, LibraryError> {
        let own = open_dir(&self.own)?;
        let (mut remembered, ids, folders) = thread::scope(|scope| {
            let remembered = scope.spawn(|| Remembered::read(own.as_ref()));
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
            None => skills.iter().map(|_| Seen::default()).collect(),
        };
        let mut checks = None;
        let mut found = Vec::with_capacity(skills.len());
        let mut looked = skills.into_iter().zip(seen);
        loop {
            let part: Vec<_> = looked.by_ref().take(AHEAD).collect();
            if part.is_empty() {
                break;
            }
            let anew = self.judge_anew(&part)?;
            for ((((name, known), seen), foreseen), anew) in self.foresee(part)?.into_iter().zip(anew) {
                match self.judge_glance(&name, known, seen, foreseen, (&mut checks, &mut remembered.news)) {
                    Ok(Some(mut one)) => {
                        remembered.news += anew.as_ref().map_or(0, Anew::news);
                        let bar = match barred.bar(self, &name, (&one.standing, one.known.head.as_ref()))? {
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
        let mut glances: Vec<Glance> = found.into_iter().map(|(name, found)| Glance::of(name, found)).collect();
        if !damaged.is_empty() {
            glances.extend(damaged.into_iter().map(|(name, why)| Glance::damaged(name, why)));
            glances.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(glances)
    }

    /// The heads of all skills in the history, sorted by name; `None` for one that cannot be read.
    fn head_ids(&self) -> Result<HeadIds, StorageError> {
        self.storage()?.map_or(Ok(Vec::new()), GitStorage::heads_found)
    }

    /// What is known of these heads, deleted skills included, and what is damaged of others.
    fn heads_with(&self, remembered: &mut Remembered, ids: HeadIds) -> Result<Heads, StorageError> {
        let (mut heads, mut damaged) = (Vec::with_capacity(ids.len()), Vec::new());
        let Some(storage) = self.storage()? else { return Ok((heads, damaged)) };
        let know = |name: &SkillName, id: &RevisionId| -> Result<_, StorageError> {
            let head = storage.revision(id)?;
            let files = if head.tombstone { Bundle::default() } else { storage.bundle(id)? };
            Ok(Box::new(Known::of_head(&head, Front::of(&files, name, self.limits()))))
        };
        for (name, id) in ids {
            let Some(id) = id else {
                damaged.push((name.clone(), format!("the head of {name} cannot be read")));
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

    /// Looks at the folders, each as closely as it takes: reads those that do not have the signature
    /// that is known.
    fn see(&self, root: &Dir, skills: &[(SkillName, Box<Known>)], closeness: Closeness) -> Vec<Seen> {
        let limits = self.limits();
        in_threads(skills, |(name, known)| {
            let is_as_known = known.folder.as_ref().is_some_and(|folder| folder.is_of(root, name.as_str()));
            let is_read = closeness == Closeness::Contents || !is_as_known;
            let signature = (!is_as_known).then(|| Signature::of(root, name.as_str(), limits)).flatten();
            let content = is_read.then(|| folder::content(root, name.as_str(), limits)).flatten();
            Seen { is_as_known, signature, content }
        })
    }

    /// Judges those folders ahead about which nothing is known.
    fn foresee(&self, part: Vec<Looked>) -> Result<Vec<(Looked, Option<Foreseen>)>, LibraryError> {
        let is_new = |((_, known), seen): &&Looked| known.head.is_none() && !seen.is_same(known);
        let names: Vec<_> = part.iter().map(|looked| Some(looked).filter(is_new).map(|((name, _), _)| name)).collect();
        let foreseen = match self.root()? {
            Some(root) => Foreseen::all(&root, &names, (self.scanner.reading(), self.limits())),
            None => names.iter().map(|_| None).collect(),
        };
        Ok(part.into_iter().zip(foreseen).collect())
    }

    /// `None` where nothing stands that could be a skill. Counts what is new to be remembered.
    fn judge_glance(
        &self,
        name: &SkillName,
        known: Box<Known>,
        seen: Seen,
        foreseen: Option<Foreseen>,
        (checks, news): (&mut Option<EditChecks>, &mut usize),
    ) -> Result<Option<Found>, LibraryError> {
        let is_same = seen.is_same(&known);
        let mut found = match (is_same, known.head.is_some()) {
            (true, true) if known.edit.is_none() => Found::new(known, Standing::Clean),
            (true, false) => Found::new(known, Standing::Modified),
            (_, true) => self.judge_edited(name, known, (is_same, checks), news)?,
            (false, false) => match self.look_without_history(name, foreseen)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        if found.known.valid {
            found.paths = seen.content.map(|content| content.paths).unwrap_or_default();
        }
        if !(is_same && seen.is_as_known) {
            let is_edit = found.known.edit.is_some();
            let is_good = found.known.head.is_none() || is_edit || found.standing == Standing::Clean;
            found.known.folder = seen.signature.filter(|_| is_good && found.lasts);
            *news += usize::from(found.known.folder.is_some());
        }
        Ok(Some(found))
    }

    /// How the folder of a skill with a history stands to its head, where it does not hold the head's files. It is
    /// scanned unless that was done before with the same content.
    fn judge_edited(
        &self,
        name: &SkillName,
        mut known: Box<Known>,
        (is_same, checks): (bool, &mut Option<EditChecks>),
        news: &mut usize,
    ) -> Result<Found, LibraryError> {
        let checks = match checks {
            Some(checks) => checks,
            None => checks.insert(EditChecks::of(self)?),
        };
        let (mut standing, mut lasts) = (None, true);
        if !known.edit.as_ref().is_some_and(|edit| is_same && edit.holds(name, self, checks)) {
            let judged = self.judge_folder(name, checks)?;
            *news += judged.known.as_ref().map_or(0, |_| MUCH_NEWS);
            (standing, lasts) = (Some(judged.standing), judged.lasts);
            known.edit = judged.known.map(Box::new);
        }
        let summary = known.edit.as_ref().map(|edit| edit.summary(name, checks));
        let (standing, edit) = match summary {
            Some((standing, edit, front)) => (standing, Some((edit, front))),
            None => (standing.unwrap_or(Standing::Clean), None),
        };
        if !lasts {
            known.edit = None;
        }
        Ok(Found { edit, lasts, ..Found::new(known, standing) })
    }

    /// A folder that looks like a skill but has no history yet. It is read leniently, as other clients
    /// do, but what the scanner blocks is not shown to agents.
    fn look_without_history(
        &self,
        name: &SkillName,
        foreseen: Option<Foreseen>,
    ) -> Result<Option<Found>, LibraryError> {
        let (judged, front) = foreseen.map(Foreseen::parts).unzip();
        let blocked = |files: &Bundle, why: String| {
            let known = Known::of_folder(files.digest(), false, Front::of(files, name, self.limits()), self.scanner);
            Found { lasts: false, ..Found::new(Box::new(known), Standing::Blocked(why)) }
        };
        let (cleared, valid) = match self.folder_state_foreseen(name, judged)? {
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
        let front = front.unwrap_or_else(|| Front::of(cleared.bundle(), name, self.limits()));
        let known = Known::of_folder(cleared.digest(), valid, front, self.scanner);
        let lasts = cleared.report().findings.iter().all(|finding| !finding.waived);
        Ok(Some(Found { lasts, ..Found::new(Box::new(known), Standing::Modified) }))
    }
}
