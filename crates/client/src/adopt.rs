//! [`adopt`]: manages skill folders that already exist, without changing their files.

mod accepting;
mod folders;
mod look;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use library::{
    Action, Commit, CommitBatch, CommitError, Committed, Content, Denied, Event, Library, LibraryError, LinkChanges,
    LinkPlan, NewRevision, Permit, Plans, RevisionId, SkillChange, Stamp, StateBefore, StorageError,
    folder::FolderError, interrupt::Section,
};
use scan::{Blocked, Cleared, Report, Verdict};
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Bundle, Digest, NameError, Problem, SkillName, shell_word};
use thiserror::Error;

use accepting::accept_blocked;
use folders::{Expanded, expand};
use look::look_at;

use crate::{
    accept::{Accept, BlockedSkill},
    agent_folders::{AgentFolder, AgentFolders},
    failure::details,
    install::{Linking, paths_of},
    lock_file::LockFile,
    placed::RELINK,
    tracked::TrackedFolders,
};

/// Outcome of adopting one folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdoptStatus {
    /// The folder became the first revision of a skill of the library.
    Adopted,
    /// The library already has the skill; nothing was committed.
    Unchanged,
    /// The folder would be adopted; nothing was written.
    DryRun,
    /// The scan blocks the skill.
    Blocked,
    /// The folder is a link, and links below the requested path are not followed.
    PassedOver,
    /// Adopting failed for another reason, given in [`Adopted::error`].
    Failed,
}

impl AdoptStatus {
    /// Returns the word for the status in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adopted => "adopted",
            Self::Unchanged => "unchanged",
            Self::DryRun => "dry_run",
            Self::Blocked => "blocked",
            Self::PassedOver => "passed_over",
            Self::Failed => "failed",
        }
    }
}

/// Result of adopting one folder.
#[derive(Debug)]
pub struct Adopted {
    /// Path of the folder as it was found, with links in its last component kept.
    pub source: PathBuf,
    /// Name of the skill; `None` if reading failed before the name was known.
    pub name: Option<SkillName>,
    /// Path of the skill's folder in the library.
    pub path: Option<PathBuf>,
    /// Outcome for this folder.
    pub status: AdoptStatus,
    /// Head of the skill after the commit.
    pub revision: Option<RevisionId>,
    /// Digest of the skill's files.
    pub digest: Option<Digest>,
    /// Ids of the agents in whose folder the original was found.
    pub agents: Vec<&'static str>,
    /// True if the files were copied into the library and the original was left unchanged.
    pub copied: bool,
    /// Links and copies in agents' folders through which agents see the skill. A dry run lists those that it would
    /// create.
    pub links: Vec<PathBuf>,
    /// Originals that were replaced with links. `undo` restores them.
    pub originals: Vec<PathBuf>,
    /// Warnings for the user, one sentence each.
    pub warnings: Vec<String>,
    /// Scan report, if the skill was scanned.
    pub report: Option<Report>,
    /// Deviations from the Agent Skills standard that do not prevent adopting.
    pub problems: Vec<Problem>,
    /// Reason why the folder does not have the files of the revision yet.
    pub checkout_pending: Option<String>,
    /// Reason why the folder was not adopted.
    pub error: Option<AdoptError>,
}

/// Reasons why a folder, or the whole batch, was not adopted.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum AdoptError {
    /// The folder cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// Path of the folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The folder has no `SKILL.md`.
    #[error("{} has no SKILL.md, so it is not a skill", path.display())]
    NoSkill {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The folder cannot be read as a skill.
    #[error("cannot read {}: {source}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// Error found in its content.
        source: FolderError,
    },
    /// The skill has problems that prevent its use.
    #[error("{} is not a valid skill: {}", path.display(), problems.first().map_or("", |p| p.message.as_str()))]
    Invalid {
        /// Path of the folder.
        path: PathBuf,
        /// All problems, also those that alone would not prevent its use.
        problems: Vec<Problem>,
    },
    /// Neither the folder's name nor the frontmatter's is valid for a skill.
    #[error("{name:?} is not a valid name for a skill's folder: {source}")]
    Name {
        /// Name of the folder.
        name: String,
        /// Rule that the name breaks.
        source: NameError,
    },
    /// The scan blocks the skill.
    Blocked(#[from] Box<Blocked>),
    /// The policy denies the change.
    Denied(#[from] Denied),
    /// The lock file has an entry with this name. Only an install checks the release that it names.
    #[error("{0} is a skill of the lock file")]
    Locked(SkillName),
    /// The library has another skill of this name.
    #[error("the library already has another skill named {0}")]
    Exists(SkillName),
    /// The library cannot be read or written.
    Library(#[from] LibraryError),
    /// Committing the batch failed.
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
            Self::NoSkill { .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint("name a folder that has a SKILL.md, or a folder of skills"),
            Self::Folder { source, .. } => source.failure(),
            Self::Invalid { path, .. } => Failure::new(FailureKind::Invalid, "invalid_skill")
                .hint(format!("list all problems: skillhub validate {}", shell_word(&path.display().to_string()))),
            Self::Name { .. } => Failure::new(FailureKind::Invalid, "invalid_name").hint("rename the folder"),
            Self::Blocked(_) => Failure::new(FailureKind::Blocked, "scan_blocked")
                .hint("apply the remedy of each finding and adopt the skill again, or accept the findings"),
            Self::Exists(_) => Failure::new(FailureKind::Conflict, "exists").hint("rename one of the two skills"),
            Self::Locked(_) => Failure::new(FailureKind::Conflict, "locked_release")
                .hint("install it, which keeps the changes in its folder: skillhub install"),
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
    /// Returns the scan report if the scan blocks the skill.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Blocked(blocked) => Some(blocked.report()),
            _ => None,
        }
    }

    /// Returns the problems of the skill if it is invalid, otherwise an empty slice.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }
}

/// Skill folders to manage, and options.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdoptRequest<'a> {
    /// Skill folders, links to skill folders, or folders that contain them.
    pub paths: &'a [PathBuf],
    /// Folders of the agents in use. Every adopted skill is linked in each.
    pub in_use: &'a [AgentFolder],
    /// Folders of all agents, of the project and of the user.
    pub known: &'a [AgentFolders],
    /// Paths below which links to skills outside the library are followed.
    pub follows_links: &'a [PathBuf],
    /// Lock file of the library, whose skills are left to an install.
    pub locked: Option<&'a LockFile>,
    /// True if folders that git tracks are replaced with links.
    pub replaces_tracked: bool,
    /// Check and report, but change nothing.
    pub dry_run: bool,
}

/// Manages skill folders, and the children of folders that hold skills. A folder inside the library gets a history; one
/// outside is copied into the library. Agents in use get links. These also replace the originals in agents' folders,
/// which are kept in the home.
///
/// # Errors
/// [`AdoptError`] when the commit fails; then nothing was adopted. Errors of one folder are in its own result.
pub fn adopt(
    library: &mut Library,
    request: &AdoptRequest<'_>,
    stamp: &Stamp,
    permit: &Permit<'_>,
    accept: &Accept<'_>,
) -> Result<Vec<Adopted>, AdoptError> {
    let (mut results, mut commits) = (Vec::new(), Vec::new());
    let (mut plans, mut tracked) = (BTreeMap::new(), TrackedFolders::default());
    let Expanded { skills, passed_over } = request.expand(library);
    for found in skills {
        let mut result = Adopted::of(&found.place);
        result.agents = request.folder_of(&found.place).map(|folder| folder.ids).unwrap_or_default();
        match look_at(library, &found, request.locked, stamp, permit, &mut result) {
            Ok(Some(commit)) if is_other(&commits, &commit) => result.fail(AdoptError::Exists(commit.0)),
            Ok(Some(commit)) => {
                result.status = if request.dry_run { AdoptStatus::DryRun } else { AdoptStatus::Adopted };
                request.plan_links(library, &mut result, &mut plans, &mut tracked);
                if !commits.iter().any(|known: &Passed| known.0 == commit.0) {
                    commits.push(commit);
                }
            }
            Ok(None) => {
                result.status = AdoptStatus::Unchanged;
                request.plan_links(library, &mut result, &mut plans, &mut tracked);
            }
            Err(error) => refuse(library, &mut result, error, stamp, request.dry_run),
        }
        results.push(result);
    }
    results.extend(passed_over.iter().map(|link| Adopted { status: AdoptStatus::PassedOver, ..Adopted::of(link) }));
    if !request.dry_run {
        let accepted = accept_blocked(library, &mut results, &mut commits, stamp, permit, accept)?;
        for result in results.iter_mut().filter(|result| result.name.as_ref().is_some_and(|n| accepted.contains(n))) {
            request.plan_links(library, result, &mut plans, &mut tracked);
        }
        // The links that follow the commit are part of the same uninterruptible section.
        let _whole = Section::enter().map_err(CommitError::from)?;
        let committed = commit_all(library, commits, &plans, stamp)?;
        follow_all(library, &mut results, committed, plans, stamp);
    }
    Ok(results)
}

/// Stores an error in the result, and logs a denial by the policy unless this is a dry run.
fn refuse(library: &Library, result: &mut Adopted, error: AdoptError, stamp: &Stamp, dry_run: bool) {
    if let (AdoptError::Denied(denied), false) = (&error, dry_run) {
        let (skill, code) = (denied.skill.as_str(), denied.failure().code);
        let event = Event::refused(stamp, skill, denied.action.as_str(), code, &denied.to_string());
        let _best_effort = library.record(&event);
    }
    result.fail(error);
}

fn commit_all(
    library: &mut Library,
    commits: Vec<Passed>,
    plans: &BTreeMap<SkillName, LinkPlan>,
    stamp: &Stamp,
) -> Result<Vec<Committed>, AdoptError> {
    if commits.is_empty() {
        return Ok(Vec::new());
    }
    let links = commits.iter().filter_map(|(skill, ..)| Some((skill.clone(), plans.get(skill)?.clone()))).collect();
    let commits = commits.into_iter().map(|(skill, base, cleared, in_place)| {
        let revision = NewRevision::new(Content::Cleared(cleared), Action::Adopt, stamp.clone());
        let before = Some(StateBefore { in_place, ..StateBefore::default() });
        Commit { skill, base, revisions: vec![NewRevision { before, ..revision }] }
    });
    let (commits, plans) = (commits.collect(), Plans { links, lock_lines: None });
    Ok(library.commit(CommitBatch { commits, plans, ..CommitBatch::default() })?)
}

/// Copies the outcome into the results. Skills that the library already had are linked without a commit.
fn follow_all(
    library: &Library,
    results: &mut [Adopted],
    committed: Vec<Committed>,
    plans: BTreeMap<SkillName, LinkPlan>,
    stamp: &Stamp,
) {
    for (skill, plan) in &plans {
        let of_skill = committed.iter().find(|committed| committed.skill == *skill);
        let changes = match of_skill {
            Some(committed) => committed.links.clone(),
            None => library.link(skill, plan, stamp, RELINK, |_| {}).unwrap_or_else(|error| LinkChanges {
                warnings: vec![format!("{skill} was not linked: {error}")],
                ..LinkChanges::default()
            }),
        };
        for result in results.iter_mut().filter(|result| result.name.as_ref() == Some(skill) && result.error.is_none())
        {
            result.follow(of_skill, &changes);
        }
    }
}

impl AdoptRequest<'_> {
    /// Finds the skill folders at and below the requested paths.
    fn expand(&self, library: &Library) -> Expanded {
        let mut all = Expanded::default();
        for path in self.paths {
            let Expanded { skills, passed_over } = expand(path, library.path(), self.follows_links.contains(path));
            all.skills.extend(skills);
            all.passed_over.extend(passed_over);
        }
        all
    }

    /// Returns the agents' folder that directly contains a path, including folders that a host reads but skillhub does
    /// not write.
    fn folder_of(&self, path: &Path) -> Option<AgentFolder> {
        self.known.iter().flat_map(|known| known.all_read()).find(|folder| path.parent() == Some(&folder.path))
    }

    /// Plans the links of a skill: for the agents in use, and in the folder where it was found.
    fn plan_links(
        &self,
        library: &Library,
        result: &mut Adopted,
        plans: &mut BTreeMap<SkillName, LinkPlan>,
        tracked: &mut TrackedFolders,
    ) {
        let Some(skill) = &result.name else { return };
        let mut folders = self.in_use.to_vec();
        let found_in = self.folder_of(&result.source).filter(|folder| folder.path != library.path());
        folders.extend(found_in.filter(|folder| folders.iter().all(|known| known.path != folder.path)));
        let command = format!("skillhub adopt {}", shell_word(&result.source.display().to_string()));
        let linking = Linking {
            folders: &folders,
            only_new: false,
            copy: false,
            of_lock: false,
            replaces_tracked: self.replaces_tracked,
            command: &command,
        };
        let linked = linking.of(library, skill, tracked);
        result.warnings.extend(linked.warnings);
        result.links = paths_of(&linked.plan, skill);
        result.copied = result.copied && !result.links.contains(&result.source);
        let plan = plans.entry(skill.clone()).or_default();
        for target in linked.plan.targets {
            if !plan.targets.iter().any(|known| known.folder == target.folder) {
                plan.targets.push(target);
            }
        }
    }
}

/// A cleared skill: name, tombstone that ends its history if any, files, and whether its folder is in the library.
type Passed = (SkillName, Option<RevisionId>, Cleared, bool);

fn permit_adopting(name: &SkillName, files: &Bundle, verdict: Verdict, permit: &Permit<'_>) -> Result<(), Denied> {
    permit(&SkillChange {
        skill: name,
        action: Action::Adopt,
        origin: None,
        before: &Bundle::default(),
        after: files,
        verdict,
    })
}

/// Returns whether the batch has another skill with the same name and different content.
fn is_other(commits: &[Passed], commit: &Passed) -> bool {
    let same_name = commits.iter().find(|(skill, ..)| *skill == commit.0);
    same_name.is_some_and(|known| !known.2.bundle().same_but_line_ends(commit.2.bundle()))
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
            links: Vec::new(),
            originals: Vec::new(),
            warnings: Vec::new(),
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

    /// Returns the skill in the form in which a person is asked about it, if the scan blocks it.
    fn as_blocked(&self) -> Option<BlockedSkill<'_>> {
        match (&self.error, &self.name) {
            (Some(AdoptError::Blocked(blocked)), Some(name)) => Some(BlockedSkill { name, blocked, told: &[] }),
            _ => None,
        }
    }

    fn follow(&mut self, committed: Option<&Committed>, changes: &LinkChanges) {
        self.links.clone_from(&changes.placed);
        self.originals = changes.originals.iter().map(|original| original.path.clone()).collect();
        self.copied = self.copied && !self.links.contains(&self.source);
        self.warnings.extend(changes.warnings.iter().cloned());
        let Some(of_this) = committed else { return };
        self.revision = Some(of_this.revision.id.clone());
        if let library::Checkout::Pending(why) = &of_this.checkout {
            self.checkout_pending = Some(why.clone());
        }
    }
}
