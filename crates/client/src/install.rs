//! [`Installer`]: from specs, or a lock file, to skills in a library and in agents' folders.
//!
//! Every skill is fetched, checked, validated and cleared first ([`source`], [`plan`]); what passes is
//! then one commit of the library. Links, copies and the lock file follow from it ([`place`]).

mod error;
mod merging;
mod order;
mod place;
mod plan;
mod source;

use std::path::{Path, PathBuf};

use library::{Before, Checkout, Committed, Event, Home, Library, Origin, Permit, ProposalId, RevisionId, Stamp};
use scan::{Capabilities, Report};
use skill::{
    Digest, SkillName, SkillPath,
    diff::{self, BundleDiff},
    merge::Conflict,
};

pub use error::InstallError;
pub use merging::Choice;
pub(crate) use order::Order;
use order::orders;
use plan::{Planned, Step};
use skill::failure::{Fails, Failure, FailureKind};
pub(crate) use source::{Candidate, fetch, fetch_release};

use crate::{
    agent_folders::{AgentFolder, AgentFolders},
    found::Pick,
    lock_file::{LockFile, LockedSkill, LockedWaiver},
    registry::Registries,
    spec::Spec,
};

/// What is to be installed, and how.
#[derive(Debug, Clone, Default)]
pub struct InstallRequest {
    /// What; with nothing the lock file is restored.
    pub specs: Vec<Spec>,
    /// Ids of the agents to place skills for; with none those that are in use.
    pub agents: Vec<String>,
    /// Place copies in place of links.
    pub copy: bool,
    /// Change nothing unless it is exactly what the lock file says.
    pub frozen: bool,
    /// Use the cache and folders of this machine alone.
    pub offline: bool,
    /// Do everything but change something.
    pub dry_run: bool,
    /// Which skills of a source with several.
    pub pick: Pick,
    /// What becomes of a skill that was changed since.
    pub evolved: Evolved,
}

/// What becomes of an installed skill that was changed here, when another release is to take its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Evolved {
    /// It stays, and that is an error.
    #[default]
    Refuse,
    /// The release is merged in.
    Merge(Choice),
}

/// How installing one skill ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStatus {
    /// It is new.
    Installed,
    /// Another release is in place of the old one.
    Updated,
    /// Another release was merged with what was changed here.
    Merged,
    /// It was there already.
    Unchanged,
    /// Something else is in its way.
    Conflict,
    /// The scan blocks it.
    Blocked,
    /// It would be installed or updated.
    DryRun,
    /// Anything else went wrong.
    Failed,
}

impl InstallStatus {
    /// The status in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Updated => "updated",
            Self::Merged => "merged",
            Self::Unchanged => "unchanged",
            Self::Conflict => "conflict",
            Self::Blocked => "blocked",
            Self::DryRun => "dry_run",
            Self::Failed => "failed",
        }
    }
}

/// What became of one skill.
#[derive(Debug)]
pub struct Installed {
    /// `owner/name`, or the bare name from a source that has no owners; the spec when not even the
    /// name came to be known.
    pub name: String,
    /// The version, where the source has one.
    pub version: Option<String>,
    /// Its folder in the library.
    pub path: Option<PathBuf>,
    /// Where it stands in agents' folders; of a dry run, where it would.
    pub links: Vec<PathBuf>,
    /// The digest of the release, or of the source's files; the skill may have evolved since.
    pub digest: Option<Digest>,
    /// How it ended.
    pub status: InstallStatus,
    /// The skill's head now.
    pub revision: Option<RevisionId>,
    /// The head before; none for a skill that is new.
    pub previous: Option<RevisionId>,
    /// Where it came from.
    pub origin: Option<Origin>,
    /// What changes in the library, or would: the files as they were against those that come. For a conflict
    /// those of the proposal, with both sides between markers.
    pub change: Option<BundleDiff>,
    /// The files with changes made here that another release changes as well, sorted.
    pub touched: Vec<SkillPath>,
    /// Where the release and the changes made here disagree.
    pub conflicts: Vec<Conflict>,
    /// The proposal that holds both sides for a person.
    pub proposal: Option<ProposalId>,
    /// What the scanner found.
    pub report: Option<Report>,
    /// What it would touch, as agents will see it.
    pub capabilities: Option<Capabilities>,
    /// What went otherwise than asked for without being a failure, one sentence each.
    pub warnings: Vec<String>,
    /// Why the folder does not show the revision yet.
    pub checkout_pending: Option<String>,
    /// Why it was not installed.
    pub error: Option<InstallError>,
}

/// Installs into one library.
pub struct Installer<'a> {
    /// The library.
    pub library: &'a mut Library,
    /// The home, for the cache.
    pub home: &'a Home,
    /// The registries.
    pub registries: &'a Registries,
    /// Where agents look for skills.
    pub agent_folders: &'a AgentFolders,
    /// The lock file.
    pub lock_path: &'a Path,
    /// The user's own home, for a `~` in a spec.
    pub user_home: Option<&'a Path>,
    /// Who, when and why.
    pub stamp: &'a Stamp,
    /// What the policy says.
    pub permit: &'a Permit<'a>,
}

/// The skills of one request as they come, each with its turn, so that results keep the order.
#[derive(Default)]
pub(crate) struct Batch {
    planned: Vec<Planned>,
    turns: Vec<usize>,
    settled: Vec<(usize, Installed)>,
    next: usize,
}

impl Batch {
    fn turn(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn pass(&mut self, planned: Planned) {
        let turn = self.turn();
        self.turns.push(turn);
        self.planned.push(planned);
    }

    /// Takes a skill of which nothing more is to become.
    pub fn settle(&mut self, result: Installed) {
        let turn = self.turn();
        self.settled.push((turn, result));
    }

    fn take_first_error(&mut self) -> Option<InstallError> {
        self.settled.iter_mut().find_map(|(_, result)| result.error.take())
    }
}

impl Installer<'_> {
    /// Installs what passes, and says of everything what became of it.
    ///
    /// # Errors
    /// [`InstallError`] when the whole batch fails: an unreadable lock file, an unknown agent, a library
    /// that cannot be written, and of a frozen one anything that differs. Nothing has changed then.
    pub fn install(&mut self, request: &InstallRequest) -> Result<Vec<Installed>, InstallError> {
        let folders = self.agent_folders.chosen(&request.agents, self.library.path())?;
        let lock = LockFile::read(self.lock_path)?;
        let mut batch = Batch::default();
        let orders = orders(request, &lock)?;
        source::bring_ahead(self, &orders, request);
        for order in orders {
            match source::fetch(self, &order, request) {
                Ok(candidates) => {
                    for candidate in candidates {
                        self.plan_one(candidate, request, &mut batch);
                    }
                }
                Err(error) => batch.settle(Installed::failed(order.label(), None, error)),
            }
        }
        self.finish(batch, request, &folders)
    }

    /// Carries out what was planned, or says what it would come to.
    pub(crate) fn finish(
        &mut self,
        mut batch: Batch,
        request: &InstallRequest,
        folders: &[AgentFolder],
    ) -> Result<Vec<Installed>, InstallError> {
        if request.frozen
            && let Some(error) = batch.take_first_error()
        {
            return Err(error);
        }
        if !request.dry_run {
            self.record_refusals(&batch.settled);
        }
        let Batch { planned, turns, mut settled, .. } = batch;
        let done = match request.dry_run {
            true => planned.into_iter().map(|planned| self.pretend(planned, folders)).collect(),
            false => self.carry_out(planned, folders, request)?,
        };
        settled.extend(turns.into_iter().zip(done));
        settled.sort_by_key(|(turn, _)| *turn);
        Ok(settled.into_iter().map(|(_, result)| result).collect())
    }

    pub(crate) fn plan_one(&mut self, candidate: Candidate, request: &InstallRequest, batch: &mut Batch) {
        let label = candidate.origin.name.clone();
        let version = candidate.origin.version.clone();
        if let Some(same) = batch.planned.iter().find(|other| other.candidate.name == candidate.name) {
            if same.candidate.origin != candidate.origin {
                let error = InstallError::TwiceInBatch {
                    name: candidate.name.clone(),
                    first: same.candidate.origin.name.clone(),
                    second: label.clone(),
                };
                batch.settle(Installed::failed(label, version, error));
            }
            return;
        }
        match plan::plan(self.library, candidate, request, (self.stamp, self.permit)) {
            Ok(plan) => batch.pass(plan),
            Err(error) => batch.settle(Installed::failed(label, version, error)),
        }
    }

    /// What a dry run says.
    fn pretend(&self, planned: Planned, folders: &[AgentFolder]) -> Installed {
        let status = match planned.step {
            Step::Nothing(_) => InstallStatus::Unchanged,
            Step::Commit { .. } | Step::Propose { .. } => InstallStatus::DryRun,
        };
        let links = folders.iter().map(|folder| folder.path.join(planned.candidate.name.as_str())).collect();
        Installed { links, ..self.result(&planned, status) }
    }

    /// The one commit, and what follows from it.
    fn carry_out(
        &mut self,
        mut planned: Vec<Planned>,
        folders: &[AgentFolder],
        request: &InstallRequest,
    ) -> Result<Vec<Installed>, InstallError> {
        let lock = LockFile::read(self.lock_path)?;
        let (mut commits, mut proposals) = (Vec::new(), Vec::new());
        for planned in &mut planned {
            let (mut commit, changes) = planned.step.take();
            if let Some(first) = commit.as_mut().and_then(|commit| commit.revisions.first_mut()) {
                let lock = lock.entry_text(&planned.candidate.name);
                first.before = Some(Before { lock, in_place: planned.in_place });
            }
            commits.extend(commit);
            proposals.extend(changes);
        }
        let is_nothing = commits.is_empty() && proposals.is_empty();
        let committed = if is_nothing { Vec::new() } else { self.library.commit_with(commits, proposals)? };
        let mut results = Vec::new();
        let mut locked = Vec::new();
        for planned in planned {
            let committed = committed.iter().find(|committed| committed.skill == planned.candidate.name);
            let mut result = self.result(&planned, planned.step.status());
            if let Step::Propose { .. } = planned.step {
                results.push(result);
                continue;
            }
            result.follow(committed);
            place::place(self.library, &planned, folders, request.copy, self.stamp, &mut result);
            locked.push(self.lock_entry(&planned, folders, request));
            results.push(result);
        }
        if request.frozen {
            return Ok(results);
        }
        let written = LockFile::update(self.lock_path, self.library, |file| {
            for mut skill in locked {
                let before = file.get(&skill.name).map(|old| old.agents.clone()).unwrap_or_default();
                skill.agents.extend(before);
                skill.agents.sort();
                skill.agents.dedup();
                file.insert(skill);
            }
        });
        if let (Err(error), Some(last)) = (written, results.last_mut()) {
            last.warnings.push(format!("the lock file was not written: {error}"));
        }
        Ok(results)
    }

    fn result(&self, planned: &Planned, status: InstallStatus) -> Installed {
        let candidate = &planned.candidate;
        let head = planned.head.as_ref().map(|head| head.id.clone());
        let after = match &planned.step {
            Step::Propose { files, .. } => files,
            _ => planned.cleared.bundle(),
        };
        let conflict = || InstallError::Conflict {
            name: candidate.name.clone(),
            release: candidate.origin.release(),
            proposal: planned.step.proposal().cloned(),
            places: planned.conflicts.len(),
        };
        Installed {
            name: candidate.origin.name.clone(),
            version: candidate.origin.version.clone(),
            path: Some(self.library.path().join(candidate.name.as_str())),
            links: Vec::new(),
            digest: Some(candidate.bundle.digest()),
            status,
            revision: head.clone().filter(|_| status == InstallStatus::Unchanged),
            previous: head,
            origin: Some(candidate.origin.clone()),
            report: Some(planned.cleared.report().clone()),
            capabilities: Some(scan::capabilities(planned.cleared.bundle())),
            change: Some(diff::diff(&planned.before, after)),
            touched: planned.touched(),
            conflicts: planned.conflicts.clone(),
            proposal: planned.step.proposal().cloned().filter(|_| status == InstallStatus::Conflict),
            warnings: candidate.warnings.clone(),
            checkout_pending: None,
            error: (status == InstallStatus::Conflict).then(conflict),
        }
    }

    fn lock_entry(&self, planned: &Planned, folders: &[AgentFolder], request: &InstallRequest) -> LockedSkill {
        let candidate = &planned.candidate;
        let origin = &candidate.origin;
        let head = self.library.head(&candidate.name).ok().flatten();
        let is_named = |id: &&str| request.agents.is_empty() || request.agents.iter().any(|named| named == id);
        let agents = folders.iter().flat_map(|folder| folder.ids.iter().copied().find(|id| is_named(id)));
        LockedSkill {
            name: origin.name.clone(),
            requested: candidate.requested.clone(),
            version: origin.version.clone(),
            kind: origin.kind.clone(),
            source: origin.source.clone(),
            local: candidate.local,
            commit: origin.commit.clone(),
            archive: candidate.archive.to_string(),
            digest: origin.digest.clone(),
            content: head.map_or_else(|| origin.digest.clone(), |head| head.digest.to_string()),
            agents: agents.map(str::to_owned).chain(request.agents.clone()).collect(),
            ruleset: planned.cleared.report().ruleset.clone(),
            waivers: LockedWaiver::of(self.library, &candidate.name).unwrap_or_default(),
            ..LockedSkill::default()
        }
    }

    /// Refusals by the scan, a pin and the policy are events; that they cannot be noted hides no error.
    fn record_refusals(&self, failed: &[(usize, Installed)]) {
        for (_, result) in failed {
            let Some(error) = &result.error else { continue };
            let Failure { kind, code, .. } = error.failure();
            if matches!(kind, FailureKind::Blocked | FailureKind::Refused) {
                let skill = result.name.rsplit('/').next().unwrap_or(&result.name);
                let event = Event::refused(self.stamp, skill, "install", code, &error.to_string());
                let _best_effort = self.library.record(&event);
            }
        }
    }
}

impl Installed {
    /// A result of which nothing else is known.
    pub(crate) fn new(name: String, version: Option<String>, status: InstallStatus) -> Self {
        Self {
            name,
            version,
            path: None,
            links: Vec::new(),
            digest: None,
            status,
            revision: None,
            previous: None,
            origin: None,
            change: None,
            touched: Vec::new(),
            conflicts: Vec::new(),
            proposal: None,
            report: None,
            capabilities: None,
            warnings: Vec::new(),
            checkout_pending: None,
            error: None,
        }
    }

    pub(crate) fn failed(name: String, version: Option<String>, error: InstallError) -> Self {
        let status = match error.failure().kind {
            FailureKind::Conflict => InstallStatus::Conflict,
            FailureKind::Blocked => InstallStatus::Blocked,
            _ => InstallStatus::Failed,
        };
        Self { report: error.report().cloned(), error: Some(error), ..Self::new(name, version, status) }
    }

    /// Takes over what the commit came to.
    fn follow(&mut self, committed: Option<&Committed>) {
        let Some(committed) = committed else { return };
        self.revision = Some(committed.revision.id.clone());
        self.previous = committed.previous.clone();
        match &committed.checkout {
            Checkout::Done => {}
            Checkout::HandEditKept(id) => {
                self.warnings.push(format!("a hand edit of that very moment is kept as revision {}", id.short()));
            }
            Checkout::Pending(why) => self.checkout_pending = Some(why.clone()),
        }
    }

    /// The skill's own name.
    #[must_use]
    pub fn skill(&self) -> Option<SkillName> {
        SkillName::parse(self.name.rsplit('/').next().unwrap_or(&self.name)).ok()
    }
}
