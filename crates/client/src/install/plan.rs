//! [`plan`]: plans the installation of a fetched skill, given the state of the library.

use std::{collections::BTreeMap, path::Path};

use library::{
    Action, Commit, Content, FolderState, HandEditMode, Library, LibraryError, NewRevision, Origin, Permit, Revision,
    SkillChange, Snapshot, SnapshotError, SourceDigest, Stamp, Upstream,
};
use scan::{Baseline, Cleared, Reports};
use skill::{Bundle, SkillName, SkillPath};

use super::{
    Evolved, InstallError, InstallRequest, InstallStatus, Outcomes,
    candidate::Candidate,
    linking::path_exists,
    merging::{close_superseded, merge_release},
    planned::{PlannedChange, PlannedSkill, check_usable},
};
use crate::spec::{SiteSpec, Spec};

/// Inputs that are the same for all skills of an operation.
#[derive(Clone, Copy)]
pub(super) struct PlanInputs<'a> {
    pub reports: &'a dyn Reports,
    pub request: &'a InstallRequest,
    pub stamp: &'a Stamp,
    pub permit: &'a Permit<'a>,
    pub outcomes: &'a Outcomes<'a>,
    /// Folders of the installed skills of git repositories within them, by the name of the skill's folder.
    pub git_paths: &'a BTreeMap<SkillName, SkillPath>,
}

/// Plans an installation, or returns the reason why it is impossible. A hand edit is committed first, unless the skill
/// is pinned or this is a dry run or frozen.
pub(super) fn plan(
    library: &mut Library,
    candidate: Candidate,
    inputs: PlanInputs<'_>,
) -> Result<PlannedSkill, InstallError> {
    let PlanInputs { request, stamp, permit, .. } = inputs;
    check_usable(&candidate.origin.name(), &candidate.name, &candidate.bundle)?;
    let name = candidate.name.clone();
    let pinned = library.check_pinned(&name, &stamp.actor);
    let head = library.head(&name)?;
    let planned = match head {
        Some(head) if !head.tombstone => {
            let mode = if request.dry_run || request.frozen || pinned.is_err() {
                HandEditMode::DryRun
            } else {
                HandEditMode::Commit
            };
            over_installed(library, candidate, head, mode, inputs)
        }
        gone => fresh(library, candidate, gone, inputs),
    }?;
    if request.frozen {
        check_frozen(&planned)?;
    }
    if planned.step.changes() {
        pinned?;
    }
    if let PlannedChange::Commit { commit: Some(commit), .. } = &planned.step {
        permit(&whole_change(&planned, commit))?;
    }
    Ok(planned)
}

fn whole_change<'a>(planned: &'a PlannedSkill, commit: &Commit) -> SkillChange<'a> {
    SkillChange {
        skill: &planned.candidate.name,
        action: commit.revisions.first().map_or(Action::Install, |revision| revision.action),
        origin: Some(&planned.candidate.origin),
        before: &planned.before,
        after: planned.cleared.bundle(),
        verdict: planned.cleared.report().verdict(),
    }
}

/// Plans a skill that the library does not have, or no longer has. Its folder may exist nevertheless.
fn fresh(
    library: &Library,
    mut candidate: Candidate,
    tombstone: Option<Revision>,
    inputs: PlanInputs<'_>,
) -> Result<PlannedSkill, InstallError> {
    let PlanInputs { reports, stamp, .. } = inputs;
    let state = library.folder_state_to_write(&candidate.name)?;
    let in_place = !matches!(state, FolderState::Absent | FolderState::Missing);
    let name = candidate.name.clone();
    let cleared = library.clear_by(&name, candidate.release().clone(), Baseline::None, reports)??;
    let action = if candidate.taken.is_some() { Action::Adopt } else { Action::Install };
    let mut revisions = vec![revision(&cleared, action, stamp, &candidate.origin)];
    let mut shown = cleared;
    if candidate.release.is_some() {
        shown = library.clear_by(&name, candidate.bundle.clone(), Baseline::Cleared(shown.bundle()), reports)??;
        let stamp = Stamp { reason: Some(format!("renamed from {}", candidate.origin.bare_name())), ..stamp.clone() };
        revisions.push(revision(&shown, Action::Edit, &stamp, &candidate.origin));
    }
    if let Some(found) = changed_since(library, state, &candidate)? {
        let reason = match &candidate.taken {
            Some(taken) => format!("changed before it was imported from {}", taken.named_in.display()),
            None => "found in the library, listed in its lock file".to_owned(),
        };
        let content = Content::Cleared(found.clone());
        let external = NewRevision::new(content, Action::External, stamp.external(&reason));
        revisions.push(external.with_origin(Some(candidate.origin.clone())));
        shown = found;
    } else if let Some(locked) = &candidate.locked
        && locked.content.is_some_and(|content| content != candidate.bundle.digest())
    {
        let warning = "the lock file lists a version with local changes that are not available here, so the unchanged \
                       release was installed";
        candidate.warnings.push(warning.to_owned());
    }
    let base = tombstone.map(|tombstone| tombstone.id);
    let commit = Commit { skill: candidate.name.clone(), base, revisions };
    let step = PlannedChange::Commit { commit: Some(commit), status: InstallStatus::Installed, proposals: Vec::new() };
    let before = Bundle::default();
    Ok(PlannedSkill { in_place, ..PlannedSkill::new(candidate, shown, None, before, step) })
}

/// Returns whether the folder is free or already has the content to be installed.
fn is_free(state: &FolderState, wanted: &Bundle) -> bool {
    match state {
        FolderState::Absent | FolderState::Missing | FolderState::Clean => true,
        FolderState::Modified(found) | FolderState::Earlier { cleared: found, .. } => {
            found.bundle().same_but_line_ends(wanted)
        }
        FolderState::Blocked(fault) => fault.bundle().is_some_and(|found| found.same_but_line_ends(wanted)),
    }
}

/// Returns the content of the skill if it was changed since it was installed: in an imported folder, or in a folder
/// that came with the project.
fn changed_since(
    library: &Library,
    state: FolderState,
    candidate: &Candidate,
) -> Result<Option<Cleared>, InstallError> {
    match &candidate.taken {
        Some(taken) if taken.files.same_but_line_ends(&candidate.bundle) => Ok(None),
        Some(taken) => Ok(Some(library.clear(&candidate.name, taken.files.clone(), Baseline::None)??)),
        None if is_free(&state, &candidate.bundle) => Ok(None),
        None => {
            let folder = library.path().join(candidate.name.as_str());
            unmanaged(state, candidate, &folder).map(Some)
        }
    }
}

/// Checks a folder that came with the project, as in a fresh clone. If the lock file lists the skill, the folder is a
/// changed form of that release and becomes a revision after it. Any other folder is an error.
fn unmanaged(state: FolderState, candidate: &Candidate, folder: &Path) -> Result<Cleared, InstallError> {
    let name = &candidate.name;
    let is_adoptable = matches!(state, FolderState::Modified(_));
    match state {
        FolderState::Modified(found) if candidate.locked.is_some() => Ok(*found),
        FolderState::Blocked(fault) if candidate.locked.is_some() => {
            Err(SnapshotError::ExternalBlocked { skill: name.clone(), fault }.into())
        }
        _ => Err(InstallError::Exists {
            name: name.clone(),
            wanted: describe(&candidate.origin).into(),
            present: "a folder that skillhub does not manage".to_owned(),
            unmanaged: Some(folder.to_owned()),
            is_adoptable,
            is_installed: false,
            beside: candidate.beside().into(),
        }),
    }
}

/// Checks that agents will see the content that the lock file lists.
fn check_frozen(planned: &PlannedSkill) -> Result<(), InstallError> {
    let Some(locked) = &planned.candidate.locked else { return Ok(()) };
    let wanted = locked.content.map_or_else(|| locked.origin.digest(), SourceDigest::Known);
    let found = planned.cleared.digest();
    if wanted == SourceDigest::Known(found) {
        return Ok(());
    }
    let what = format!("its content would have the digest {found}, but the lock file has {wanted}");
    Err(InstallError::lock_is_frozen(locked.name(), what))
}

/// Returns whether the folder of a skill is missing.
pub(crate) fn is_folder_missing(library: &Library, name: &SkillName) -> Result<bool, LibraryError> {
    // Reads the folder state, which is expensive, only if the folder is missing.
    Ok(!path_exists(&library.path().join(name.as_str())) && matches!(library.folder_state(name)?, FolderState::Missing))
}

/// Plans a skill whose name the library already has.
fn over_installed(
    library: &mut Library,
    mut candidate: Candidate,
    head: Revision,
    mode: HandEditMode,
    inputs: PlanInputs<'_>,
) -> Result<PlannedSkill, InstallError> {
    let PlanInputs { reports, request, stamp, outcomes, git_paths, .. } = inputs;
    let path = git_paths.get(&candidate.name);
    let Some(origin) = head.origin.clone().filter(|origin| is_same_skill(origin, path, &candidate)) else {
        return Err(exists(&candidate, head.origin.as_ref(), path));
    };
    let name = candidate.name.clone();
    let snapshot = library.snapshot(&name, stamp, mode)?;
    let is_missing = is_folder_missing(library, &name)?;
    if is_missing {
        candidate.warnings.push("its folder was missing and was restored".to_owned());
    }
    // Equal files share what was parsed of them.
    let is_same = snapshot.bundle.digest() == candidate.bundle.digest();
    let before = if is_same { candidate.bundle.clone() } else { snapshot.bundle.clone() };
    if let (Some(_), Evolved::Merge(choice)) = (&candidate.follows, request.evolved) {
        return merge_release(library, candidate, snapshot, choice, stamp, outcomes);
    }
    let (base, found) = (snapshot.base.clone(), SourceDigest::Known(before.digest()));
    let (installed, wanted) = (origin.digest(), candidate.origin.digest());
    let commit = |revision: NewRevision, status| PlannedChange::Commit {
        commit: Some(Commit {
            skill: name.clone(),
            base: base.as_ref().map(|base| base.id.clone()),
            revisions: vec![revision],
        }),
        status,
        proposals: Vec::new(),
    };
    let (cleared, step) = if installed == wanted && origin.version() == candidate.origin.version() {
        let cleared = library.clear_by(&name, before.clone(), snapshot.baseline(), reports)??;
        let again = || revision(&cleared, Action::Install, stamp, &origin);
        let step = match is_missing {
            true => commit(again(), InstallStatus::Installed),
            false => PlannedChange::Nothing(InstallStatus::Unchanged),
        };
        (cleared, step)
    } else if [installed, wanted].contains(&found) || is_same || is_release(library, &name, &origin, &before)? {
        let cleared = library.clear_by(&name, candidate.bundle.clone(), snapshot.baseline(), reports)??;
        let update = NewRevision {
            upstream: upstream(library, &candidate, &snapshot)?,
            ..revision(&cleared, Action::Update, stamp, &candidate.origin)
        };
        let proposals = close_superseded(library, &candidate, "the release was installed", stamp)?;
        (cleared, commit(update, InstallStatus::Updated).with(proposals))
    } else if let Evolved::Merge(choice) = request.evolved {
        return merge_release(library, candidate, snapshot, choice, stamp, outcomes);
    } else {
        let installed = origin.version().unwrap_or_default();
        return Err(InstallError::Evolved { name, installed, wanted: describe(&candidate.origin) });
    };
    Ok(PlannedSkill::new(candidate, cleared, snapshot.base, before, step))
}

/// Returns whether the files are the installed release under another name, that of the folder.
fn is_release(library: &Library, name: &SkillName, origin: &Origin, files: &Bundle) -> Result<bool, InstallError> {
    if name == origin.bare_name() {
        return Ok(false);
    }
    let release = library.release_here(name, origin)?;
    Ok(release.is_some_and(|(_, release)| release.digest() == files.digest()))
}

/// Returns the release beside a revision that has it under another name.
fn upstream(
    library: &Library,
    candidate: &Candidate,
    snapshot: &Snapshot,
) -> Result<Option<Box<Upstream>>, InstallError> {
    let Some(release) = candidate.release.clone() else { return Ok(None) };
    let files = library.clear(&candidate.name, release, snapshot.baseline())??;
    Ok(Some(Box::new(Upstream { files, origin: candidate.origin.clone() })))
}

fn revision(cleared: &Cleared, action: Action, stamp: &Stamp, origin: &Origin) -> NewRevision {
    NewRevision::new(Content::Cleared(cleared.clone()), action, stamp.clone()).with_origin(Some(origin.clone()))
}

/// Returns whether a candidate is the installed skill. A registry at another location may use the same owner's name for
/// other content, and a git repository may have several skills of one name, so there only equal content counts. `path`
/// is the folder of the installed skill within its repository; `None` if it is unknown.
fn is_same_skill(installed: &Origin, path: Option<&SkillPath>, candidate: &Candidate) -> bool {
    let wanted = candidate.followed();
    let is_other_path = match (path, candidate.git_path()) {
        (Some(installed), Some(wanted)) => *installed != wanted,
        _ => false,
    };
    let is_same_source = is_same_place(installed.location(), wanted.location()) && !is_other_path;
    installed.kind() == wanted.kind()
        && installed.name() == wanted.name()
        && (is_same_source || installed.digest() == wanted.digest())
}

/// Returns whether both places lead to the same skill. The place of a skill of ClawHub ends with its version.
fn is_same_place(one: &str, other: &str) -> bool {
    let unversioned = |place: &str| match place.parse() {
        Ok(Spec::Site(site)) => Some(SiteSpec { version: None, ..site }),
        _ => None,
    };
    one == other || unversioned(one).is_some_and(|one| unversioned(other) == Some(one))
}

fn exists(candidate: &Candidate, present: Option<&Origin>, path: Option<&SkillPath>) -> InstallError {
    // The lock file has one skill of each registry's full name, so one from another registry cannot be beside it.
    let is_alone = present.and_then(Origin::qualified_name).is_some_and(|name| name == candidate.origin.name());
    InstallError::Exists {
        name: candidate.name.clone(),
        wanted: describe_in(&candidate.origin, candidate.git_path().as_ref()).into(),
        present: present.map_or_else(
            || "a skill that was written in this library".to_owned(),
            |present| describe_in(present, path),
        ),
        unmanaged: None,
        is_adoptable: false,
        is_installed: present.is_some(),
        beside: if is_alone { Box::default() } else { candidate.beside().into() },
    }
}

/// Describes a skill with its version, its source and its folder in a git repository.
fn describe_in(origin: &Origin, path: Option<&SkillPath>) -> String {
    let folder = path.map(|path| format!(", folder {path}")).unwrap_or_default();
    describe(origin) + &folder
}

/// Describes a skill with its version and source.
fn describe(origin: &Origin) -> String {
    let version = origin.version().map(|version| format!(" {version}")).unwrap_or_default();
    let kind = match origin.kind() {
        Origin::GIT => "git repository",
        kind => kind,
    };
    format!("{}{version} from the {kind} {}", origin.name(), origin.location())
}
