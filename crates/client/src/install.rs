//! [`Installer`]: installs skills from specs, or from the lock file, into a library and agents' folders.
//!
//! Every skill is first fetched, verified, validated and cleared ([`source`], [`plan`]). All skills that pass are
//! committed to the library in one commit. The commit also updates links, copies and the lock file ([`linking`]).

mod accepting;
mod candidate;
mod error;
mod evidence;
mod fetch_item;
mod installed;
mod linking;
mod merging;
mod moved;
mod plan;
mod planned;
mod prefetch;
mod prepare;
mod request;
mod requirements;
mod signer;
mod skill_name;
mod source;
mod uploads;

use std::{collections::BTreeMap, path::Path};

use library::{
    Event, Home, Library, LinkChanges, LinkPlan, Origin, Permit, Stamp, Verdicts,
    interrupt::{self, Section},
};
use skill::{SkillName, SkillPath, diff};

pub(crate) use candidate::{Candidate, ImportedFolder};
pub(crate) use error::invalid_requirement;
pub use error::{ForkMergeError, InstallError, MergeConflict};
pub use evidence::Outcomes;
pub(crate) use fetch_item::FetchItem;
use fetch_item::orders;
pub use installed::{InstallStatus, Installed};
pub use linking::Hides;
pub(crate) use linking::{Linked, Linking, paths_of};
pub(crate) use plan::is_folder_missing;
use plan::{PlanInputs, plan};
pub(crate) use planned::check_usable;
use planned::{PlannedChange, PlannedSkill};
pub(crate) use prefetch::side_by_side;
pub use prefetch::{Prefetch, Progress};
pub use request::{Choice, Evolved, InstallRequest};
use requirements::{Item, items};
pub(crate) use requirements::{Needs, bare};
use signer::check_signer;
pub(crate) use signer::of_release as signer_of;
use skill::failure::{Fails, Failure, FailureKind};
pub use source::SourceListing;
pub(crate) use source::{
    Inputs, check_digest, fetch, fetch_each, fetch_release, is_folder, listing, listing_of_site, version_of,
};
pub use uploads::{read_below, upload_name};

use crate::{
    accept::Accept,
    agent_folders::{AgentFolder, AgentFolders},
    lock_file::{LastRead, LockFile, LockedSkill, write_pending_lines},
    lookalike,
    registry::{Registries, Signers},
    spec::Spec,
};

/// Installs skills into one library.
pub struct Installer<'a> {
    /// Library to install into.
    pub library: &'a mut Library,
    /// Home of skillhub, with the cache and the known keys.
    pub home: &'a Home,
    /// Configured registries that may be used.
    pub registries: &'a Registries,
    /// Folders in which agents look for skills.
    pub agent_folders: &'a AgentFolders,
    /// Path of the lock file.
    pub lock_path: &'a Path,
    /// Home directory of the user, to expand `~` in specs.
    pub user_home: Option<&'a Path>,
    /// Actor, time and reason of the operation.
    pub stamp: &'a Stamp,
    /// Policy check for each change.
    pub permit: &'a Permit<'a>,
    /// Visibility of an installed skill in an agents' folder.
    pub hides: &'a Hides<'a>,
    /// Lookup of the recorded outcomes of a revision.
    pub outcomes: &'a Outcomes<'a>,
    /// Asks a person about findings that block a skill.
    pub accept: &'a Accept<'a>,
    /// Callback that receives the progress.
    pub progress: &'a dyn Fn(Progress),
    /// Identifier of this build of the program. The verdict cache is keyed by it; without one, the cache is not used.
    pub program: Option<&'a str>,
    /// Prefetched downloads and repositories; empty at first.
    pub prefetch: Prefetch,
}

/// Minimum number of skills for which loading the verdict cache is worthwhile.
const REMEMBERED: usize = 8;

/// Skills of one request, each with a sequence number, so that results keep the order of the request.
#[derive(Default)]
pub(crate) struct Batch {
    planned: Vec<PlannedSkill>,
    /// Origin of each planned skill, by name.
    origins: BTreeMap<SkillName, (Origin, String)>,
    turns: Vec<usize>,
    settled: Vec<(usize, Installed)>,
    /// Skills that the scan blocks, with their sequence numbers. Each also has an entry in `settled`.
    blocked: Vec<(usize, Candidate)>,
    next: usize,
    signers: Signers,
    /// Names of the folders of installed registry skills, by full name.
    folders: BTreeMap<String, SkillName>,
    /// Folders of the installed skills of git repositories within them, by the name of the skill's folder.
    git_paths: BTreeMap<SkillName, SkillPath>,
    /// Scan reports computed in parallel before planning.
    reports: Verdicts,
}

impl Batch {
    /// Creates an empty batch with the known keys of owners. Keys in the lock file are used for owners of whom this
    /// machine has not seen a key.
    pub fn of(home: &Home, lock: &LockFile) -> Result<Self, InstallError> {
        let signers = signer::known(home, lock)?;
        let folder = |entry: &LockedSkill| Some((entry.origin.qualified_name()?, entry.bare_name().clone()));
        let folders = lock.skills().filter_map(folder).collect();
        let of_git = lock.skills().filter(|entry| matches!(entry.origin, Origin::Git { .. }));
        let path =
            |entry: &LockedSkill| Some((entry.bare_name().clone(), candidate::path_in_repository(&entry.requested)?));
        let git_paths = of_git.filter_map(path).collect();
        Ok(Self { signers, folders, git_paths, ..Self::default() })
    }

    fn turn(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn pass(&mut self, planned: PlannedSkill) {
        let turn = self.turn();
        self.turns.push(turn);
        let Candidate { name, origin, .. } = &planned.candidate;
        self.origins.insert(name.clone(), (origin.clone(), planned.candidate.address()));
        self.planned.push(planned);
    }

    /// Adds the final result of a skill and returns its sequence number.
    pub fn settle(&mut self, result: Installed) -> usize {
        let turn = self.turn();
        self.settled.push((turn, result));
        turn
    }

    /// Notes the new request of each skill that is installed already in the release that it selects.
    fn note_new_requests(&mut self, lock: &LockFile) {
        for planned in self.planned.iter_mut().filter(|planned| !planned.step.changes()) {
            let candidate = &mut planned.candidate;
            let is_meant = candidate.origin.as_registry().is_some() && !candidate.is_dependency;
            let Some(old) = lock.get(&candidate.full_name()).filter(|_| is_meant) else { continue };
            let [before, now] = [&old.requested, &candidate.requested].map(|request| match request.as_str() {
                "" | "latest" => "the newest release".to_owned(),
                range => range.to_owned(),
            });
            if before != now {
                let warning = format!("the lock file requested {before} and now requests {now}; updates follow that");
                candidate.warnings.push(warning);
            }
        }
    }

    fn take_first_error(&mut self) -> Option<InstallError> {
        self.settled.iter_mut().find_map(|(_, result)| result.error.take())
    }
}

impl Installer<'_> {
    /// Lists what a folder or a repository offers, and installs nothing. The fetched repository is kept for an install
    /// with the same installer.
    ///
    /// # Errors
    /// The source cannot be fetched or read, or the spec names a single skill.
    pub fn offered(&self, spec: &Spec, request: &InstallRequest) -> Result<SourceListing, InstallError> {
        listing(self.inputs(), spec, request)
    }

    /// Installs the skills that pass all checks and returns a result for every skill.
    ///
    /// # Errors
    /// [`InstallError`] when the whole batch fails: the lock file is unreadable, an agent is unknown, the library
    /// cannot be written, or, in frozen mode, anything differs. Nothing has changed then.
    pub fn install(&mut self, request: &InstallRequest) -> Result<Vec<Installed>, InstallError> {
        let folders = self.agent_folders.chosen(&request.agents, self.library.path())?;
        let lock = LastRead::of(self.lock_path)?;
        let mut batch = Batch::of(self.home, &lock)?;
        let orders = orders(request, &lock, self.user_home)?;
        self.prefetch.fetch(self.home, self.registries, &orders, request, &lock, self.progress);
        let (items, needs) = items(self.inputs(), orders, request, &lock)?;
        let mut fetched = Vec::new();
        for item in items {
            interrupt::check()?;
            fetched.extend(self.fetch_item(item, request));
        }
        let candidates = || fetched.iter().filter_map(|(_, found)| found.as_ref().ok()).flatten();
        batch.reports = self.reports(candidates().count());
        prefetch::scan(&batch.reports, candidates(), self.progress);
        let here = lookalike::InstalledNames::of(&lock);
        let (mut done, mut of) = (0, fetched.len());
        for (label, found) in fetched {
            match found {
                Ok(candidates) => {
                    of = of + candidates.len() - 1.min(candidates.len());
                    for mut candidate in candidates {
                        interrupt::check()?;
                        if candidate.locked.is_none() && lock.get(&candidate.origin.name()).is_none() {
                            candidate.warnings.extend(here.warnings_for(&candidate.origin.name()));
                        }
                        self.plan_one(candidate, request, &mut batch);
                        done += 1;
                        (self.progress)(Progress { stage: "checking", done, of });
                    }
                }
                Err(error) => {
                    batch.settle(Installed::failed(label, None, error));
                    done += 1;
                }
            }
        }
        self.accept_blocked(request, &lock, &mut batch)?;
        batch.note_new_requests(&lock);
        batch.refuse_unsigned_requirements(self.registries, &lock);
        batch.drop_unmet(&needs);
        self.finish(batch, lock, request, &folders)
    }

    /// Loads the verdict cache. For a few skills loading it would take longer than scanning, so the cache starts empty.
    fn reports(&self, skills: usize) -> Verdicts {
        match self.program.filter(|_| skills >= REMEMBERED) {
            Some(program) => Verdicts::of(self.home, program),
            None => Verdicts::for_now(self.home.scanner()),
        }
    }

    /// Fetches an item. Each result has a label for error messages.
    fn fetch_item(&self, item: Item, request: &InstallRequest) -> Vec<(String, Result<Vec<Candidate>, InstallError>)> {
        match item {
            Item::Order(order) => fetch_each(self.inputs(), &order, request),
            Item::Found(found, wanted) => {
                let fetched = fetch_release(self.inputs(), request, &found, &wanted).map(|mut candidate| {
                    candidate.warnings.extend(lookalike::in_registry(&found.registry, &found.name));
                    vec![candidate]
                });
                vec![(found.name.to_string(), fetched)]
            }
            Item::Fetched(label, found) => vec![(label, found)],
        }
    }

    /// Commits the planned skills. In a dry run, returns the results that a commit would have. `lock` is the lock file
    /// from which they were planned.
    pub(crate) fn finish(
        &mut self,
        mut batch: Batch,
        lock: LastRead,
        request: &InstallRequest,
        folders: &[AgentFolder],
    ) -> Result<Vec<Installed>, InstallError> {
        if request.frozen
            && let Some(error) = batch.take_first_error()
        {
            return Err(error);
        }
        interrupt::check()?;
        if !request.dry_run {
            self.record_refusals(&batch.settled);
        }
        let Batch { mut planned, turns, mut settled, reports, .. } = batch;
        prefetch::add_capabilities(&mut planned);
        let linking = Linking {
            folders,
            only_new: matches!(request.evolved, Evolved::Merge(_)),
            copy: request.copy,
            of_lock: request.agents.is_empty(),
            replaces_tracked: request.replaces_tracked,
            command: "skillhub install",
        };
        let done = match request.dry_run {
            true => planned.into_iter().map(|planned| self.pretend(planned, &linking)).collect(),
            false => self.carry_out(planned, lock, &linking, request)?,
        };
        if !request.dry_run {
            Signers::remember(self.home, done.iter().filter_map(Installed::signed));
            self.registries.remember(done.iter().filter_map(Installed::registry));
            reports.keep(self.home);
        }
        settled.extend(turns.into_iter().zip(done));
        settled.sort_by_key(|(turn, _)| *turn);
        Ok(settled.into_iter().map(|(_, result)| result).collect())
    }

    /// Returns what fetching needs.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        let Self { home, registries, lock_path, user_home, prefetch, .. } = self;
        Inputs { home, registries, lock_path, user_home: *user_home, prefetch }
    }

    pub(crate) fn plan_one(&mut self, mut candidate: Candidate, request: &InstallRequest, batch: &mut Batch) {
        let (label, version) = (candidate.origin.name(), candidate.origin.version());
        if let Err(error) = candidate.choose_name(request, &batch.folders) {
            batch.settle(Installed::failed(label, version, error));
            return;
        }
        if let Some((first, address)) = batch.origins.get(&candidate.name) {
            if *first != candidate.origin {
                let (name, first, second) = (candidate.name.clone(), address.clone(), candidate.address());
                let error = InstallError::TwiceInBatch { name, first, second };
                batch.settle(Installed::failed(label, version, error));
            }
            return;
        }
        let checked = check_signer(self.registries, &mut candidate, request, &batch.signers);
        let (again, paths) = (candidate.clone(), &batch.git_paths);
        let Self { stamp, permit, outcomes, .. } = *self;
        let inputs = PlanInputs { reports: &batch.reports, request, stamp, permit, outcomes, git_paths: paths };
        match checked.and_then(|()| plan(self.library, candidate, inputs)) {
            Ok(plan) => batch.pass(plan),
            Err(error) => {
                let is_blocked = matches!(error, InstallError::Blocked(_));
                let error = self.or_moved(error, &again, paths.get(&again.name));
                let turn = batch.settle(Installed::failed(label, version, error));
                batch.blocked.extend(is_blocked.then_some((turn, again)));
            }
        }
    }

    /// Returns the result of a planned skill in a dry run.
    fn pretend(&self, mut planned: PlannedSkill, linking: &Linking<'_>) -> Installed {
        let status = match &mut planned.step {
            PlannedChange::Nothing(_) => InstallStatus::Unchanged,
            PlannedChange::Commit { .. } => InstallStatus::DryRun,
            PlannedChange::Propose { proposing, .. } => {
                // A proposal that is still to be made has no id yet.
                *proposing = proposing.take().filter(|waiting| waiting.changes.is_empty());
                InstallStatus::Conflict
            }
        };
        let Candidate { name, origin, .. } = &planned.candidate;
        let mut folders = linking.folders_for(self.library, &planned, self.agent_folders);
        folders.retain(|folder| !(self.hides)(self.library, name, origin, &folder.path));
        let links = folders.iter().map(|folder| folder.path.join(name.as_str())).collect();
        Installed { links, ..self.result(&planned, status) }
    }

    /// Commits all planned skills at once, with their links and lock file lines.
    fn carry_out(
        &mut self,
        mut planned: Vec<PlannedSkill>,
        lock: LastRead,
        linking: &Linking<'_>,
        request: &InstallRequest,
    ) -> Result<Vec<Installed>, InstallError> {
        // The links and the lock file that follow the commit are part of the same uninterruptible section.
        let _whole = Section::enter()?;
        if !request.frozen {
            let _written_with_those_of_this_commit = write_pending_lines(self.library);
        }
        let lock = lock.again()?;
        let (batch, mut linked) = self.prepare(&mut planned, &lock, linking, request);
        batch.plans.lock_lines.iter().try_for_each(|lines| lock.check_room(lines))?;
        let is_nothing = batch.commits.is_empty() && batch.proposals.is_empty();
        let lock_lines = batch.plans.lock_lines.clone();
        let committed = if is_nothing { Vec::new() } else { self.library.commit(batch)? };
        let committed: BTreeMap<_, _> = committed.iter().map(|committed| (&committed.skill, committed)).collect();
        let others = linked.iter().filter(|(skill, _)| !committed.contains_key(skill));
        let mut relinked = self.link_uncommitted(others.map(|(skill, linked)| (skill, &linked.plan)).collect());
        let skills: Vec<SkillName> = planned.iter().map(|planned| planned.candidate.name.clone()).collect();
        let mut results = Vec::new();
        for planned in planned {
            let skill = &planned.candidate.name;
            let mut result = self.result(&planned, planned.step.status());
            if !matches!(planned.step, PlannedChange::Propose { .. }) {
                let committed = committed.get(skill).copied();
                result.follow(committed);
                result.warnings.extend(linked.remove(skill).unwrap_or_default().warnings);
                let links = committed.map(|committed| Ok(committed.links.clone())).or_else(|| relinked.remove(skill));
                match links {
                    Some(Ok(changes)) => linking::follow(&mut result, changes),
                    Some(Err(why)) => result.warnings.push(format!("{skill} was not linked: {why}")),
                    None => {}
                }
            }
            results.push(result);
        }
        if let (Err(error), Some(last)) = (self.write_lock(lock, lock_lines, &skills, is_nothing), results.last_mut()) {
            last.warnings.push(format!("the lock file was not written: {error}"));
        }
        Ok(results)
    }

    /// Links skills that need no commit, all in one step.
    fn link_uncommitted(
        &self,
        links: Vec<(&SkillName, &LinkPlan)>,
    ) -> BTreeMap<SkillName, Result<LinkChanges, String>> {
        if links.is_empty() {
            return BTreeMap::new();
        }
        let changes = self.library.link_all(&links, self.stamp, "link", |_, _| {});
        let change = |at: usize| match &changes {
            Ok(changes) => Ok(changes.get(at).cloned().unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        };
        links.iter().enumerate().map(|(at, (skill, _))| ((*skill).clone(), change(at))).collect()
    }

    fn result(&self, planned: &PlannedSkill, status: InstallStatus) -> Installed {
        let candidate = &planned.candidate;
        let head = planned.head.as_ref().map(|head| head.id.clone());
        let conflict = || {
            let (name, release) = (candidate.name.clone(), candidate.origin.release());
            let (proposal, resolved) = (planned.step.proposal().cloned(), planned.step.resolved());
            let places = planned.conflicts.len();
            InstallError::from(MergeConflict { name, release, proposal, resolved, places })
        };
        Installed {
            name: candidate.full_name(),
            version: candidate.followed().version(),
            path: Some(self.library.path().join(candidate.name.as_str())),
            links: Vec::new(),
            originals: Vec::new(),
            digest: Some(candidate.release().digest()),
            status,
            revision: head.clone().filter(|_| status == InstallStatus::Unchanged),
            previous: head,
            origin: Some(candidate.origin.clone()),
            signer: candidate.signer.clone(),
            is_dependency: candidate.is_dependency,
            report: Some(planned.cleared.report().clone()),
            capabilities: Some(planned.capabilities.clone()),
            delta: planned.delta.clone(),
            change: Some(diff::diff(&planned.before, planned.after())),
            touched: planned.touched(),
            conflicts: planned.conflicts.clone(),
            proposal: planned.step.proposal().cloned().filter(|_| status == InstallStatus::Conflict),
            notes: candidate.notes.clone(),
            warnings: candidate.warnings.clone(),
            checkout_pending: None,
            error: (status == InstallStatus::Conflict).then(conflict),
        }
    }

    /// Logs refusals by the scan, a pin or the policy as events. A failure to log does not replace the error.
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
