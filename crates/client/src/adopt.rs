//! [`adopt`]: skill folders that are there already are taken over as they are.

mod accepting;

use std::{
    io,
    path::{Path, PathBuf},
};

use library::{
    Action, Before, Commit, CommitError, Committed, Content, Denied, Event, FolderState, Library, LibraryError,
    NewRevision, Permit, RevisionId, Stamp, StorageError, WholeChange,
    folder::{self, FolderError, Leftovers},
};
use scan::{Baseline, Blocked, Cleared, Report};
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Bundle, Digest, Limits, NameError, Problem, SkillName, SkillPath, validate};
use thiserror::Error;

use accepting::accept_blocked;

use crate::{
    accept::{Accept, BlockedSkill},
    agent_folders::AgentFolders,
    failure::details,
    found::skill_md_of,
    unmanaged::children,
};

/// How taking over one folder ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdoptStatus {
    /// It is revision 1 of a skill of the library.
    Adopted,
    /// The library has it already.
    Unchanged,
    /// It would be taken over.
    DryRun,
    /// The scan blocks it.
    Blocked,
    /// It was not taken over for another reason.
    Failed,
}

impl AdoptStatus {
    /// The status in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adopted => "adopted",
            Self::Unchanged => "unchanged",
            Self::DryRun => "dry_run",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

/// What became of one folder.
#[derive(Debug)]
pub struct Adopted {
    /// The folder as it was found.
    pub source: PathBuf,
    /// The skill's name, where it came to be known.
    pub name: Option<SkillName>,
    /// The skill's folder in the library.
    pub path: Option<PathBuf>,
    /// How it ended.
    pub status: AdoptStatus,
    /// The skill's head.
    pub revision: Option<RevisionId>,
    /// The digest of its files.
    pub digest: Option<Digest>,
    /// The agents in whose folder the original stands and stays.
    pub agents: Vec<&'static str>,
    /// Whether the files were copied, so that the original stays where it is and no longer counts.
    pub copied: bool,
    /// What the scanner found.
    pub report: Option<Report>,
    /// What departs from the standard and was passed over.
    pub problems: Vec<Problem>,
    /// Why the folder does not show the revision yet.
    pub checkout_pending: Option<String>,
    /// Why it was not taken over.
    pub error: Option<AdoptError>,
}

/// Why a folder, or everything, was not taken over.
#[derive(Debug, Error)]
pub enum AdoptError {
    /// The folder cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No skill in it.
    #[error("there is no skill in {}", path.display())]
    NoSkill {
        /// The folder.
        path: PathBuf,
    },
    /// The folder cannot be read as a skill.
    #[error("{} cannot be read: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What stands in it.
        source: FolderError,
    },
    /// The skill cannot be used.
    #[error("{} is not a usable skill: {}", path.display(), problems.first().map_or("", |p| p.message.as_str()))]
    Invalid {
        /// The folder.
        path: PathBuf,
        /// All problems.
        problems: Vec<Problem>,
    },
    /// Neither the frontmatter nor the folder has a name that a skill can have.
    #[error("{name:?} cannot be the name of a skill's folder: {source}")]
    Name {
        /// The name.
        name: String,
        /// The rule that it breaks.
        source: NameError,
    },
    /// The scan blocks.
    #[error(transparent)]
    Blocked(#[from] Box<Blocked>),
    /// The policy refuses.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The library has another skill of this name.
    #[error("the library has another skill called {0}")]
    Exists(SkillName),
    /// The library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The commit.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl From<StorageError> for AdoptError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl Fails for AdoptError {
    fn failure(&self) -> Failure {
        match self {
            Self::Open { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Failure::new(FailureKind::NotFound, "not_found").hint("check the path")
            }
            Self::Open { .. } => Failure::io(),
            Self::NoSkill { .. } => {
                Failure::new(FailureKind::NotFound, "not_found").hint("name a folder with a SKILL.md, or one of such")
            }
            Self::Folder { source, .. } => source.failure(),
            Self::Invalid { path, .. } => Failure::new(FailureKind::Invalid, "invalid_skill")
                .hint(format!("see all problems: skillhub validate {}", path.display())),
            Self::Name { .. } => Failure::new(FailureKind::Invalid, "invalid_name").hint("rename the folder"),
            Self::Blocked(_) => Failure::new(FailureKind::Blocked, "scan_blocked")
                .hint("follow the remedy of each finding and adopt it again, or accept the findings"),
            Self::Exists(_) => Failure::new(FailureKind::Conflict, "exists").hint("rename one of the two"),
            Self::Denied(error) => error.failure(),
            Self::Library(error) => error.failure(),
            Self::Commit(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        details(self.report(), self.problems())
    }
}

impl AdoptError {
    /// What the scanner found, when that is the reason.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Blocked(blocked) => Some(blocked.report()),
            _ => None,
        }
    }

    /// What is wrong with the skill, when that is the reason.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }
}

/// Takes over skill folders, and the children of folders that hold skills. A folder inside the library
/// gets a history; one elsewhere is copied into the library. Nothing that stands outside the library is
/// changed or removed.
///
/// # Errors
/// [`AdoptError`] when the commit fails; then nothing was taken over. What is wrong with one folder is
/// in its own result.
pub fn adopt(
    library: &mut Library,
    paths: &[PathBuf],
    folders: &AgentFolders,
    dry_run: bool,
    (stamp, permit, accept): (&Stamp, &Permit<'_>, &Accept<'_>),
) -> Result<Vec<Adopted>, AdoptError> {
    let mut results = Vec::new();
    let mut commits = Vec::new();
    for path in paths.iter().flat_map(|path| expand(path)) {
        let mut result = Adopted::of(&path);
        result.agents = agents_of(&path, folders);
        match look_at(library, &path, (stamp, permit), &mut result) {
            Ok(Some(commit)) if is_doubled(&commits, &commit) => {
                result.fail(AdoptError::Exists(commit.0));
            }
            Ok(Some(commit)) => {
                result.status = if dry_run { AdoptStatus::DryRun } else { AdoptStatus::Adopted };
                commits.push(commit);
            }
            Ok(None) => result.status = AdoptStatus::Unchanged,
            Err(error) => {
                if let (AdoptError::Denied(denied), false) = (&error, dry_run) {
                    let (skill, code) = (denied.skill.as_str(), denied.failure().code);
                    let event = Event::refused(stamp, skill, denied.action.as_str(), code, &denied.to_string());
                    let _best_effort = library.record(&event);
                }
                result.fail(error);
            }
        }
        results.push(result);
    }
    if !dry_run {
        accept_blocked(library, &mut results, &mut commits, (stamp, permit, accept))?;
    }
    if !dry_run && !commits.is_empty() {
        let commits = commits.into_iter().map(|(skill, base, cleared, in_place)| {
            let revision = NewRevision::new(Content::Cleared(cleared), Action::Adopt, stamp.clone());
            let before = Some(Before { lock: None, in_place });
            Commit { skill, base, revisions: vec![NewRevision { before, ..revision }] }
        });
        let committed = library.commit(commits.collect())?;
        for result in results.iter_mut().filter(|result| result.status == AdoptStatus::Adopted) {
            result.follow(&committed);
        }
    }
    Ok(results)
}

/// A skill that passed, with the tombstone that its history may end in.
type Passed = (SkillName, Option<RevisionId>, Cleared, bool);

fn permit_adopting(name: &SkillName, cleared: &Cleared, permit: &Permit<'_>) -> Result<(), Denied> {
    permit(&WholeChange {
        skill: name,
        action: Action::Adopt,
        origin: None,
        before: &Bundle::default(),
        after: cleared.bundle(),
        verdict: cleared.report().verdict(),
    })
}

fn is_doubled(commits: &[Passed], commit: &Passed) -> bool {
    commits.iter().any(|(skill, ..)| *skill == commit.0)
}

/// The folder itself when it is a skill, else its children that are.
fn expand(path: &Path) -> Vec<PathBuf> {
    let resolved = library::resolve(path).unwrap_or_else(|_| path.to_owned());
    let has_skill_md =
        |path: &Path| folder::open_resolved(path).is_ok_and(|dir| skill_md_of(&dir).is_ok_and(|found| found.is_some()));
    if has_skill_md(&resolved) {
        return vec![resolved];
    }
    let below: Vec<PathBuf> = children(&resolved).into_iter().map(|name| resolved.join(name)).collect();
    let skills: Vec<PathBuf> = below.into_iter().filter(|path| has_skill_md(path)).collect();
    if skills.is_empty() { vec![resolved] } else { skills }
}

fn agents_of(path: &Path, folders: &AgentFolders) -> Vec<&'static str> {
    let holds = folders.all().iter().find(|folder| path.parent() == Some(&folder.path));
    holds.map(|folder| folder.ids.clone()).unwrap_or_default()
}

/// What to commit for a folder; `None` when the library has it already.
fn look_at(
    library: &Library,
    path: &Path,
    (stamp, permit): (&Stamp, &Permit<'_>),
    result: &mut Adopted,
) -> Result<Option<Passed>, AdoptError> {
    let bundle = read(path)?;
    let in_library = path.parent() == Some(library.path());
    let name = name_of(path, &bundle, in_library, result)?;
    result.name = Some(name.clone());
    result.path = Some(library.path().join(name.as_str()));
    result.digest = Some(bundle.digest());
    result.copied = !in_library;
    let head = library.head(&name)?;
    if let Some(head) = head.as_ref().filter(|head| !head.tombstone) {
        result.revision = Some(head.id.clone());
        let same = library.bundle(&head.id)?.same_but_line_ends(&bundle);
        return if in_library || same { Ok(None) } else { Err(AdoptError::Exists(name)) };
    }
    if !in_library && !matches!(library.folder_state(&name)?, FolderState::Absent) {
        return Err(AdoptError::Exists(name));
    }
    library.check_pinned(&name, &stamp.actor)?;
    let cleared = library.clear(&name, bundle, Baseline::None)??;
    result.report = Some(cleared.report().clone());
    permit_adopting(&name, &cleared, permit)?;
    Ok(Some((name, head.map(|head| head.id), cleared, in_library)))
}

fn read(path: &Path) -> Result<Bundle, AdoptError> {
    let dir = folder::open_resolved(path).map_err(|source| AdoptError::Open { path: path.to_owned(), source })?;
    if !skill_md_of(&dir).is_ok_and(|found| found.is_some()) {
        return Err(AdoptError::NoSkill { path: path.to_owned() });
    }
    folder::read_dir(dir, Leftovers::Skip, &Limits::default())
        .map_err(|source| AdoptError::Folder { path: path.to_owned(), source })
}

/// The frontmatter's name where a skill can have it, else the folder's; inside the library the folder's,
/// which is the skill's identity there.
fn name_of(path: &Path, bundle: &Bundle, in_library: bool, result: &mut Adopted) -> Result<SkillName, AdoptError> {
    let folder = path.file_name().unwrap_or_default().to_string_lossy();
    let skill_md = bundle.get(&SkillPath::skill_md()).map(|file| file.bytes.to_vec()).unwrap_or_default();
    let loaded = validate::load(&skill_md, &folder, &Limits::default())
        .map_err(|problems| AdoptError::Invalid { path: path.to_owned(), problems })?;
    result.problems = loaded.problems;
    let own = SkillName::parse(&folder);
    match SkillName::parse(&loaded.name) {
        Ok(name) if !in_library => Ok(name),
        _ => own.map_err(|source| AdoptError::Name { name: folder.into_owned(), source }),
    }
}

impl Adopted {
    fn of(path: &Path) -> Self {
        Self {
            source: path.to_owned(),
            name: None,
            path: None,
            status: AdoptStatus::Failed,
            revision: None,
            digest: None,
            agents: Vec::new(),
            copied: false,
            report: None,
            problems: Vec::new(),
            checkout_pending: None,
            error: None,
        }
    }

    fn fail(&mut self, error: AdoptError) {
        self.status = if error.report().is_some() { AdoptStatus::Blocked } else { AdoptStatus::Failed };
        self.report = error.report().cloned();
        self.error = Some(error);
    }

    /// The skill as a person is asked about it, where the scan blocks it.
    fn as_blocked(&self) -> Option<BlockedSkill<'_>> {
        match (&self.error, &self.name) {
            (Some(AdoptError::Blocked(blocked)), Some(name)) => Some(BlockedSkill { name, blocked }),
            _ => None,
        }
    }

    fn follow(&mut self, committed: &[Committed]) {
        let Some(of_this) = committed.iter().find(|committed| Some(&committed.skill) == self.name.as_ref()) else {
            return;
        };
        self.revision = Some(of_this.revision.id.clone());
        if let library::Checkout::Pending(why) = &of_this.checkout {
            self.checkout_pending = Some(why.clone());
        }
    }
}
