//! [`MachineState`]: the decisions and counts of one machine, in a branch that only this machine writes.
//!
//! The branch `machines/ID` has `machine.json` with pins, review checkpoints and decisions about proposals,
//! `proposals/ID.json` for each open proposal, and `outcomes/NAME.json` with the runs of each revision. The state of a
//! library is a function of the files of all machines, so that no two machines ever write the same file. A pin has a
//! logical clock: the newest change counts, and of two at once the pin. Of review checkpoints the latest counts.

use std::{collections::BTreeMap, path::Path};

use git2::{ObjectType, Oid, Repository, Signature, Time, Tree};
use jiff::Timestamp;
use library::{
    Actor, ActorKind, Library, LibraryError, Proposal, ProposalChange, ProposalEntry, ProposalId, ProposalState,
    RevisionId, Stamp, StoredReview,
};
use scan::Baseline;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use skill::{Limits, SkillName, objects_and_commas};

use super::{SyncError, conflict::conflicting, remote, settings::SyncSettings, skills::oid};

const STATE: &str = "machine.json";
const PROPOSALS: &str = "proposals";
const OUTCOMES: &str = "outcomes";
const FORMAT: u32 = 1;
/// Limits of one file: its size in bytes and its number of values.
const FILE_BYTES: usize = 8 << 20;
const VALUES: usize = 1_000_000;
/// Number of decisions that a machine keeps, the newest.
const MOST_DECISIONS: usize = 1000;
/// Seconds by which the clocks of two machines may differ.
const SKEW_SECONDS: i64 = 24 * 3600;

/// Number of ended runs with a revision: all, successful, failed, unknown.
pub type RunCounts = [u32; 4];

/// Number of runs with each revision of a skill.
pub type RunsByRevision = BTreeMap<RevisionId, RunCounts>;

/// Function that counts the runs of a skill on this machine.
pub type CountRuns<'a> = &'a dyn Fn(&Library, &SkillName) -> Result<RunsByRevision, LibraryError>;

/// Content of `machine.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct MachineState {
    format: u32,
    #[serde(default)]
    pins: BTreeMap<String, PinState>,
    #[serde(default)]
    reviews: BTreeMap<String, StoredReview>,
    #[serde(default)]
    decided: BTreeMap<String, DecidedState>,
}

/// A pin, or its removal. The one with the highest clock counts, and of two equal ones the pin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct PinState {
    clock: u64,
    pinned: bool,
}

/// A decision about a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DecidedState {
    state: ProposalState,
    by: String,
    time: String,
}

/// Exchange of states with the other machines.
pub(super) struct Exchange<'a> {
    pub library: &'a mut Library,
    pub repo: &'a Repository,
    pub settings: &'a SyncSettings,
    pub stamp: &'a Stamp,
    pub count_runs: CountRuns<'a>,
}

impl Exchange<'_> {
    /// Applies the states of other machines, and stores this one's. Returns its commit, if it differs from the pushed
    /// one, and warnings.
    pub fn exchange(&mut self, machines: &BTreeMap<String, Oid>) -> Result<(Option<Oid>, Vec<String>), SyncError> {
        let (mut states, mut warnings) = (BTreeMap::new(), Vec::new());
        for (id, commit) in machines {
            match read(self.repo, *commit) {
                Some(state) => drop(states.insert(id.as_str(), state)),
                None => warnings.push(format!("the state of machine {id} cannot be read and was left out")),
            }
        }
        let own = states.remove(self.settings.machine.as_str()).unwrap_or_default();
        let others: Vec<&MachineState> = states.values().collect();
        let pins = self.exchange_pins(&own, &others)?;
        let reviews = self.exchange_reviews(&others)?;
        let decided = self.decided()?;
        self.close_decided(&others)?;
        for (id, commit) in machines.iter().filter(|(id, _)| **id != self.settings.machine) {
            let known = |id: &str| decided.contains_key(id) || others.iter().any(|one| one.decided.contains_key(id));
            warnings.extend(self.receive_proposals(id, *commit, known)?);
        }
        let state = MachineState { format: FORMAT, pins, reviews, decided };
        Ok((self.store(&state, machines.get(&self.settings.machine).copied())?, warnings))
    }

    fn exchange_pins(
        &self,
        own: &MachineState,
        others: &[&MachineState],
    ) -> Result<BTreeMap<String, PinState>, SyncError> {
        let (state, mut pins, mut changed) = (self.library.state()?, BTreeMap::new(), Vec::new());
        for skill in self.skills()? {
            let pinned = state.of(&skill).pinned;
            let all = || others.iter().filter_map(|other| other.pins.get(skill.as_str()).copied());
            let last = own.pins.get(skill.as_str()).copied().unwrap_or_default();
            let clock = all().map(|pin| pin.clock).fold(last.clock, u64::max).saturating_add(1);
            let mine = if pinned == last.pinned { last } else { PinState { clock, pinned } };
            let newest = all().fold(mine, PinState::max);
            if newest.pinned != pinned {
                changed.push(skill.clone());
            }
            if newest != PinState::default() {
                pins.insert(skill.to_string(), newest);
            }
        }
        self.library.set_states(&changed, self.stamp, "sync", |_, state| state.pinned = !state.pinned)?;
        Ok(pins)
    }

    fn exchange_reviews(&self, others: &[&MachineState]) -> Result<BTreeMap<String, StoredReview>, SyncError> {
        let (state, mut reviews) = (self.library.state()?, BTreeMap::new());
        for skill in self.skills()? {
            let mine = state.of(&skill).reviewed;
            let received = others.iter().filter_map(|other| other.reviews.get(skill.as_str()));
            let newest = received.filter(|review| self.is_credible(review)).max_by_key(|review| time_of(review));
            let newest = newest.filter(|review| mine.as_ref().is_none_or(|mine| time_of(review) > time_of(mine)));
            let placed = newest.map(|review| self.place(&skill, review)).transpose()?.flatten();
            if let Some(placed) = &placed {
                self.library.set_state(&skill, self.stamp, "sync", |state| state.reviewed = Some(placed.clone()))?;
            }
            reviews.extend(placed.or(mine).map(|review| (skill.to_string(), review)));
        }
        Ok(reviews)
    }

    /// Returns whether a person made the decision, and not in the future.
    fn is_credible(&self, review: &StoredReview) -> bool {
        let is_person = review.by.parse::<Actor>().is_ok_and(|by| by.kind == ActorKind::Person);
        let latest = self.stamp.time.as_second().saturating_add(SKEW_SECONDS);
        is_person && time_of(review).is_some_and(|time| time.as_second() <= latest)
    }

    /// Moves a review checkpoint to the newest revision of the skill's line that it covers.
    fn place(&self, skill: &SkillName, review: &StoredReview) -> Result<Option<StoredReview>, SyncError> {
        let Ok(kept) = oid(&review.revision) else { return Ok(None) };
        if self.repo.find_commit(kept).is_err() {
            return Ok(None);
        }
        for revision in self.library.walk(skill) {
            let revision = revision?;
            let id = oid(&revision.id)?;
            if id == kept || self.repo.graph_descendant_of(kept, id)? {
                return Ok(Some(StoredReview { revision: revision.id, number: revision.number, ..review.clone() }));
            }
        }
        Ok(None)
    }

    /// Returns this machine's decisions about proposals, the newest ones.
    fn decided(&self) -> Result<BTreeMap<String, DecidedState>, SyncError> {
        let proposals = self.library.proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
        let mut decided: Vec<_> = proposals
            .filter(|proposal| conflicting(proposal).is_none())
            .filter_map(|proposal| Some((proposal.decided?, proposal.state, proposal.id)))
            .collect();
        decided.sort_by_key(|(end, ..)| std::cmp::Reverse(end.time));
        decided.truncate(MOST_DECISIONS);
        let entry = |(end, state, id): (library::ProposalDecision, ProposalState, ProposalId)| {
            let (by, time) = (end.by.to_string(), end.time.to_string());
            (id.to_string(), DecidedState { state, by, time })
        };
        Ok(decided.into_iter().map(entry).collect())
    }

    /// Closes open proposals that another machine decided.
    fn close_decided(&mut self, others: &[&MachineState]) -> Result<(), SyncError> {
        let open = self.library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
        let mut changes = Vec::new();
        for proposal in open.filter(|proposal| conflicting(proposal).is_none()) {
            let found = others.iter().find_map(|other| other.decided.get(proposal.id.as_str()));
            let Some(found) = found.filter(|found| !found.state.is_open()) else { continue };
            let (Ok(by), Ok(time)) = (found.by.parse::<Actor>(), found.time.parse::<Timestamp>()) else { continue };
            let stamp = Stamp { reason: Some("decided on another machine".to_owned()), ..Stamp::new(by, time) };
            changes.push(ProposalChange::noted(proposal.closed(found.state, &stamp), self.stamp));
        }
        if !changes.is_empty() {
            self.library.commit(changes)?;
        }
        Ok(())
    }

    /// Takes the open proposals of another machine for skills of this one. Returns a warning for each that cannot be
    /// taken.
    fn receive_proposals(
        &mut self,
        machine: &str,
        commit: Oid,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, SyncError> {
        let Some(tree) = folder(self.repo, commit, PROPOSALS) else { return Ok(Vec::new()) };
        let mut warnings = Vec::new();
        for entry in tree.iter().take(Limits::default().open_proposals) {
            let id = entry.name().ok().and_then(|name| ProposalId::parse(name.strip_suffix(".json")?).ok());
            let Some(id) = id.filter(|id| !is_known(id.as_str())) else { continue };
            if self.library.proposal(&id)?.is_some() {
                continue;
            }
            let bytes = blob(self.repo, entry.id(), Limits::default().open_proposals_bytes);
            let proposal = bytes.and_then(|bytes| Proposal::received(&id, bytes));
            let refused = match proposal {
                Some(proposal) => self.receive_proposal(proposal)?,
                None => Some("it cannot be read".to_owned()),
            };
            warnings.extend(refused.map(|why| format!("proposal {id} of machine {machine} was left out: {why}")));
        }
        Ok(warnings)
    }

    /// Adds a proposal to the queue. Returns the reason if it is refused. One whose base is not here yet waits.
    fn receive_proposal(&mut self, proposal: Proposal) -> Result<Option<String>, SyncError> {
        let is_closed = !proposal.state.is_open() || proposal.is_expired(self.stamp.time);
        let base = proposal.base.as_ref().map(|base| self.library.bundle(base)).transpose();
        let Ok(base) = base else { return Ok(None) };
        if is_closed || proposal.release.is_some() || conflicting(&proposal).is_some() {
            return Ok(None);
        }
        let base = base.unwrap_or_default();
        let candidate = match proposal.candidate(&base, self.library.limits()) {
            Ok(candidate) => candidate,
            Err(why) => return Ok(Some(why)),
        };
        let baseline = if base.is_empty() { Baseline::None } else { Baseline::Cleared(&base) };
        let scan = match candidate.is_empty() {
            true => self.library.scanner().scan(&candidate),
            false => match self.library.clear(&proposal.skill, candidate, baseline)? {
                Ok(cleared) => cleared.report().clone(),
                Err(_) => return Ok(Some("the scanner blocks it".to_owned())),
            },
        };
        let change = ProposalChange::noted(Proposal { scan, ..proposal }, self.stamp);
        Ok(self.library.commit(change).err().map(|error| error.to_string()))
    }

    /// Stores this machine's state as a commit on top of the pushed one. `None` if nothing changed.
    fn store(&self, state: &MachineState, pushed: Option<Oid>) -> Result<Option<Oid>, SyncError> {
        let mut root = self.repo.treebuilder(None)?;
        root.insert(STATE, self.repo.blob(&json(state)?)?, 0o100_644)?;
        let (mut outcomes, mut proposals) = (self.repo.treebuilder(None)?, self.repo.treebuilder(None)?);
        for skill in self.skills()? {
            let counts = (self.count_runs)(self.library, &skill)?;
            if !counts.is_empty() {
                outcomes.insert(format!("{skill}.json"), self.repo.blob(&json(&counts)?)?, 0o100_644)?;
            }
        }
        for entry in self.library.open_proposals()? {
            if let (Some(bytes), Some(proposal)) = (entry.file().map(<[u8]>::to_vec), entry.into_whole())
                && conflicting(&proposal).is_none()
            {
                proposals.insert(format!("{}.json", proposal.id), self.repo.blob(&bytes)?, 0o100_644)?;
            }
        }
        for (name, folder) in [(OUTCOMES, outcomes), (PROPOSALS, proposals)] {
            if !folder.is_empty() {
                root.insert(name, folder.write()?, 0o040_000)?;
            }
        }
        let tree = self.repo.find_tree(root.write()?)?;
        let before = pushed.map(|pushed| self.repo.find_commit(pushed)).transpose()?;
        if before.as_ref().is_some_and(|before| before.tree_id() == tree.id()) {
            return Ok(None);
        }
        let author = Signature::new("skillhub", "skillhub@localhost", &Time::new(self.stamp.time.as_second(), 0))?;
        let parents: Vec<_> = before.iter().collect();
        Ok(Some(self.repo.commit(None, &author, &author, "sync", &tree, &parents)?))
    }

    fn skills(&self) -> Result<Vec<SkillName>, SyncError> {
        Ok(remote::local_heads(self.repo)?.into_keys().collect())
    }
}

/// Returns the runs with each revision of a skill on other machines, as fetched last.
///
/// # Errors
/// The settings of the sync or the history cannot be read.
pub fn runs_elsewhere(library: &Library, skill: &SkillName) -> Result<RunsByRevision, SyncError> {
    let mut sum = RunsByRevision::new();
    let own = SyncSettings::read(library)?;
    if own.remote.is_none() {
        return Ok(sum);
    }
    let Ok(repo) = Repository::open_bare(library.history_path()) else { return Ok(sum) };
    for (_, commit) in remote::machines(&repo)?.into_iter().filter(|(id, _)| *id != own.machine) {
        let counts: Option<RunsByRevision> = folder(&repo, commit, OUTCOMES)
            .and_then(|tree| tree.get_name(&format!("{skill}.json")).map(|entry| entry.id()))
            .and_then(|id| parse(&blob(&repo, id, FILE_BYTES as u64)?));
        for (revision, counts) in counts.unwrap_or_default() {
            let sum = sum.entry(revision).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        }
    }
    Ok(sum)
}

fn time_of(review: &StoredReview) -> Option<Timestamp> {
    review.at.parse().ok()
}

fn read(repo: &Repository, commit: Oid) -> Option<MachineState> {
    let tree = repo.find_commit(commit).ok()?.tree().ok()?;
    let state: MachineState = parse(&blob(repo, tree.get_name(STATE)?.id(), FILE_BYTES as u64)?)?;
    (state.format == FORMAT).then_some(state)
}

fn folder<'r>(repo: &'r Repository, commit: Oid, name: &str) -> Option<Tree<'r>> {
    let entry = repo.find_commit(commit).ok()?.tree().ok()?.get_path(Path::new(name)).ok()?;
    repo.find_tree(entry.id()).ok()
}

fn blob(repo: &Repository, id: Oid, limit: u64) -> Option<Vec<u8>> {
    let (size, kind) = repo.odb().ok()?.read_header(id).ok()?;
    if kind != ObjectType::Blob || size as u64 > limit {
        return None;
    }
    Some(repo.find_blob(id).ok()?.content().to_vec())
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (objects, commas) = objects_and_commas(bytes);
    if objects.saturating_add(commas) > VALUES { None } else { serde_json::from_slice(bytes).ok() }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, SyncError> {
    serde_json::to_vec(value).map_err(|error| SyncError::Io { path: STATE.into(), source: error.into() })
}
