//! [`merge_release`]: merges another release into a skill that was changed since it was installed.

use git2::MergeFileInput;
use library::{
    Action, Commit, Content, Evidence, HeldChange, Library, NewRevision, Proposal, ProposalChange, ProposalEntry,
    ProposalId, ProposalState, ProposedRelease, Snapshot, Stamp, Upstream, changed_files,
};
use scan::Cleared;
use skill::{
    Bundle, SkillPath,
    merge::{Clashes, Conflict, Merge, Rules, merge_by},
    shell_word,
};

use super::{
    Choice, ForkMergeError, InstallError, InstallStatus, Outcomes,
    candidate::Candidate,
    evidence::{Sides, evidence},
    planned::{PlannedChange, PlannedSkill, Proposing, check_usable},
};

/// The release in a merge, with its conflicts with the local changes.
struct MergedRelease {
    theirs: Cleared,
    conflicts: Vec<Conflict>,
}

/// Merges three ways: the installed release is the base, the current skill is ours, and the new release is theirs.
pub(super) fn merge_release(
    library: &Library,
    mut candidate: Candidate,
    snapshot: Snapshot,
    choice: Choice,
    stamp: &Stamp,
    outcomes: &Outcomes<'_>,
) -> Result<PlannedSkill, InstallError> {
    let ours = snapshot.bundle.clone();
    if candidate.base.is_none() {
        let warning = "the installed release is no longer available as a merge base, so each difference from the new \
                       release needs a decision";
        candidate.warnings.push(warning.to_owned());
    }
    let base = candidate.base.clone().unwrap_or_default();
    let release = candidate.origin.release();
    let clashes = match choice {
        Choice::Ask => Clashes::Marked { ours: ProposedRelease::OURS, theirs: &release },
        Choice::Ours => Clashes::Ours,
        Choice::Theirs => Clashes::Theirs,
    };
    let rules = Rules { plain: Some(&as_git_does), words: false, follows_renames: true, clashes };
    let merged = merge_by(&rules, [&base, &ours, &candidate.bundle], library.limits())
        .map_err(|source| InstallError::TooLarge { name: candidate.origin.name(), source })?;
    let Merge { bundle: files, conflicts } = merged;
    let theirs = library.clear(&candidate.name, candidate.release().clone(), snapshot.baseline())??;
    let is_decided = choice != Choice::Ask || conflicts.is_empty();
    match is_decided.then(|| check_usable(&candidate.origin.name(), &candidate.name, &files)) {
        Some(Ok(())) => {
            let cleared = library.clear(&candidate.name, files, snapshot.baseline())??;
            take(library, candidate, snapshot, cleared, MergedRelease { theirs, conflicts }, stamp)
        }
        Some(Err(error)) if choice != Choice::Ask || candidate.follows.is_some() => Err(error),
        _ if candidate.follows.is_some() => Err(fork_conflict(&candidate, &conflicts).into()),
        _ => propose(library, candidate, snapshot, files, MergedRelease { theirs, conflicts }, stamp, outcomes),
    }
}

/// Returns the error for a fork that cannot be merged without a choice.
fn fork_conflict(candidate: &Candidate, conflicts: &[Conflict]) -> ForkMergeError {
    ForkMergeError::Conflict {
        name: candidate.name.clone(),
        fork: candidate.origin.name(),
        release: candidate.origin.release(),
        conflicts: conflicts.iter().map(ToString::to_string).collect(),
    }
}

/// Plans a commit of the merged skill that has the release as its second parent.
fn take(
    library: &Library,
    mut candidate: Candidate,
    snapshot: Snapshot,
    cleared: Cleared,
    merged: MergedRelease,
    stamp: &Stamp,
) -> Result<PlannedSkill, InstallError> {
    let MergedRelease { theirs, conflicts } = merged;
    if candidate.follows.is_some() && cleared.digest() == snapshot.bundle.digest() {
        let step = PlannedChange::Nothing(InstallStatus::Unchanged);
        return Ok(PlannedSkill::new(candidate, cleared, snapshot.base, snapshot.bundle, step));
    }
    if let Some(follows) = &candidate.follows {
        let (release, name, source) = (candidate.origin.release(), &candidate.name, follows.name());
        candidate.warnings.push(format!("{release} was merged in; {name} keeps its source, {source}"));
    }
    let upstream = Upstream { files: theirs, origin: candidate.origin.clone() };
    let content = Content::Cleared(cleared.clone());
    let revision =
        NewRevision { upstream: Some(Box::new(upstream)), ..NewRevision::new(content, Action::Update, stamp.clone()) };
    let commit = Commit {
        skill: candidate.name.clone(),
        base: snapshot.base.as_ref().map(|base| base.id.clone()),
        revisions: vec![revision.with_origin(Some(candidate.followed().clone()))],
    };
    let proposals = match candidate.follows {
        Some(_) => Vec::new(),
        None => close_superseded(library, &candidate, "the release was merged in", stamp)?,
    };
    let step = PlannedChange::Commit { commit: Some(commit), status: InstallStatus::Merged, proposals };
    Ok(PlannedSkill { conflicts, ..PlannedSkill::new(candidate, cleared, snapshot.base, snapshot.bundle, step) })
}

/// Plans a proposal with both sides of the merge. The skill itself does not change.
fn propose(
    library: &Library,
    mut candidate: Candidate,
    snapshot: Snapshot,
    files: Bundle,
    merged: MergedRelease,
    stamp: &Stamp,
    outcomes: &Outcomes<'_>,
) -> Result<PlannedSkill, InstallError> {
    let cleared = library.clear(&candidate.name, snapshot.bundle.clone(), snapshot.baseline())??;
    let proposal = proposal(library, &candidate, &snapshot, &files, &merged, stamp);
    let proposing = match waiting(library, &candidate)? {
        Some(waiting) if is_of_same_merge(&waiting, &proposal) => {
            Proposing { resolved: resolved(&waiting), id: waiting.id, changes: Vec::new() }
        }
        waiting => {
            let id = proposal.id.clone();
            candidate.warnings.extend(waiting.as_ref().and_then(kept_edit));
            let ended = waiting.map(|waiting| replaced(waiting, &id, stamp));
            let evidence = made_from(library, &candidate, &snapshot, &merged.conflicts, outcomes);
            let new = ProposalChange::noted(Proposal { evidence, ..proposal }, stamp);
            Proposing { id, resolved: None, changes: ended.into_iter().chain([new]).collect() }
        }
    };
    let step = PlannedChange::Propose { proposing: Some(proposing), files };
    let conflicts = merged.conflicts;
    Ok(PlannedSkill { conflicts, ..PlannedSkill::new(candidate, cleared, snapshot.base, snapshot.bundle, step) })
}

fn proposal(
    library: &Library,
    candidate: &Candidate,
    snapshot: &Snapshot,
    files: &Bundle,
    merged: &MergedRelease,
    stamp: &Stamp,
) -> Proposal {
    let MergedRelease { theirs, conflicts } = merged;
    let before = &snapshot.bundle;
    let mut unresolved: Vec<SkillPath> = conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    if unresolved.is_empty() {
        unresolved.push(SkillPath::skill_md());
    }
    unresolved.sort();
    unresolved.dedup();
    let release = ProposedRelease {
        origin: candidate.origin.clone(),
        files: changed_files(before, theirs.bundle()),
        digest: theirs.digest(),
        unresolved,
    };
    let change = HeldChange {
        skill: &candidate.name,
        action: Action::Update,
        base: snapshot.base.as_ref().map(|base| base.id.clone()),
        before,
        candidate: files,
        why: why(candidate, conflicts),
        scan: theirs.report().clone(),
    };
    Proposal { release: Some(release), ..Proposal::new(change, stamp, library.proposal_expiry(stamp.time)) }
}

/// Collects the evidence for the proposal.
fn made_from(
    library: &Library,
    candidate: &Candidate,
    snapshot: &Snapshot,
    conflicts: &[Conflict],
    outcomes: &Outcomes<'_>,
) -> Vec<Evidence> {
    let (head, ours, theirs) = (snapshot.base.as_ref(), snapshot.bundle.digest(), &candidate.origin);
    let sides = Sides { head, ours, has_base: candidate.base.is_some(), theirs };
    let known = head.and_then(|head| outcomes(library, &candidate.name, &head.id));
    evidence(&sides, known, conflicts)
}

/// Returns the reason why a person has to decide.
fn why(candidate: &Candidate, conflicts: &[Conflict]) -> String {
    let release = candidate.origin.release();
    match conflicts {
        [] => format!("{release} merged with the local changes is not a valid skill"),
        [one] => format!("{release} conflicts with the local changes: {one}"),
        [first, more @ ..] => {
            format!("{release} conflicts with the local changes: {first} (and {} more)", more.len())
        }
    }
}

/// Returns the open proposal that holds a release of this skill.
fn waiting(library: &Library, candidate: &Candidate) -> Result<Option<Proposal>, InstallError> {
    let open = library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    let mut of_skill = open.filter(|proposal| proposal.skill == candidate.name);
    Ok(of_skill.find(|proposal| proposal.release.is_some()))
}

fn is_of_same_merge(waiting: &Proposal, new: &Proposal) -> bool {
    let release = |proposal: &Proposal| proposal.release.as_ref().map(|release| release.origin.clone());
    waiting.base == new.base && release(waiting) == release(new) && !waiting.is_expired(new.created)
}

/// Returns the revision of a proposal in which a person has resolved all conflicts.
fn resolved(waiting: &Proposal) -> Option<u64> {
    let is_open = waiting.release.as_ref().is_some_and(|release| !release.unresolved.is_empty());
    (waiting.state == ProposalState::Pending && waiting.edited_by.is_some() && !is_open).then_some(waiting.revision)
}

/// Returns a warning about a person's edit of a proposal that another one replaces.
fn kept_edit(waiting: &Proposal) -> Option<String> {
    let (editor, id) = (waiting.edited_by.as_ref()?, &waiting.id);
    let file = waiting.files.iter().find(|file| file.file.is_some());
    let file = file.map(|file| format!(" {}", shell_word(file.path.as_str()))).unwrap_or_default();
    Some(format!(
        "the skill or the release has changed since {editor} edited the proposal {id}; the new merge has both sides \
         again, without that edit, which is kept: skillhub review show {id}{file}"
    ))
}

/// Closes the open proposal of a release that no longer needs a decision.
pub(super) fn close_superseded(
    library: &Library,
    candidate: &Candidate,
    note: &str,
    stamp: &Stamp,
) -> Result<Vec<ProposalChange>, InstallError> {
    Ok(waiting(library, candidate)?.map(|waiting| ended(waiting, note, stamp)).into_iter().collect())
}

/// Closes a proposal that a newer merge of the skill replaced.
fn replaced(waiting: Proposal, by: &ProposalId, stamp: &Stamp) -> ProposalChange {
    let note = "the skill or the release has changed, so they were merged again";
    ProposalChange::noted(waiting.superseded(by, note, stamp), stamp)
}

fn ended(waiting: Proposal, note: &str, stamp: &Stamp) -> ProposalChange {
    let of_release = Stamp { reason: None, ..stamp.clone() };
    let ended = waiting.closed(ProposalState::Superseded, &of_release);
    ProposalChange::noted(Proposal { note: Some(note.to_owned()), ..ended }, stamp)
}

/// Merges as `git merge-file` does, so that files without a conflict in git have the same result here.
fn as_git_does(texts: [&str; 3]) -> Option<String> {
    let mut inputs = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
    for (input, text) in inputs.iter_mut().zip(texts) {
        input.content(text.as_bytes());
    }
    let [base, ours, theirs] = &inputs;
    let merged = git2::merge_file(base, ours, theirs, None).ok()?;
    let text = || String::from_utf8(merged.content().to_vec()).ok();
    merged.is_automergeable().then(text).flatten()
}
