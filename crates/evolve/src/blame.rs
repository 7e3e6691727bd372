//! [`Blame`]: the author, revision and reason of each line of a file.
//!
//! The file is followed from the oldest revision to the requested one. An unchanged line keeps its source. A rollback
//! returns lines to their earlier sources. In a merge, the lines of the release are distinguished from those of the
//! skill's own side. A renamed file is followed under its older name if both are similar enough.
//!
//! The running time is linear in the bytes of the history. Versions are compared by shortest differences up to a budget
//! of lines, and beyond it by the lines that occur exactly once in two versions.

mod lines;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use library::{Action, FindError, Library, Revision, RevisionId, RevisionSpecError, StorageError};
use skill::{
    Bundle, File, SkillName, SkillPath,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
};
use thiserror::Error;

use lines::{Follower, Source, Version, mark_of};

/// Largest number of revisions to examine. Older lines are attributed to the oldest of them.
pub const REVISIONS: usize = 10_000;

/// Lowest percentage of common lines for which a file counts as renamed from a file of the parent.
const ALIKE_PERCENT: usize = 50;

/// File of a revision with the source of each line.
#[derive(Debug, Clone)]
pub struct Blame {
    /// Name of the skill.
    pub skill: SkillName,
    /// Path of the file.
    pub path: SkillPath,
    /// Revision that was examined.
    pub of: Revision,
    /// Source revisions of the lines, by number.
    pub revisions: BTreeMap<u64, Revision>,
    /// Distinct sources of the lines.
    pub sources: Vec<LineSource>,
    /// True if older revisions were not examined.
    pub is_cut: bool,
    text: String,
    /// For each line, the index of its source. This stays small for files with a million lines.
    places: Vec<usize>,
}

/// Source of one or more lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineSource {
    /// Number of the revision that introduced the lines.
    pub revision: u64,
    /// Release that introduced the lines, if any.
    pub release: Option<String>,
    /// Path of the file at that time, if it was different.
    pub path: Option<SkillPath>,
}

impl Blame {
    /// Yields the lines in order, without line endings, with the indices of their sources.
    pub fn lines(&self) -> impl Iterator<Item = (&str, usize)> {
        self.text.lines().zip(self.places.iter().copied())
    }
}

/// Reason why the lines of a file cannot be attributed.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum BlameError {
    /// The specification of the revision is invalid.
    Spec(#[from] RevisionSpecError),
    /// The skill or revision does not exist.
    Find(#[from] FindError),
    /// The file does not exist in the revision.
    #[error("{skill} has no {path} in revision {number}")]
    NoFile {
        /// Name of the skill.
        skill: SkillName,
        /// Path of the file.
        path: SkillPath,
        /// Number of the revision.
        number: u64,
    },
    /// The file is binary, so it has no lines.
    #[error("{path} of {skill} is not a text file")]
    Binary {
        /// Name of the skill.
        skill: SkillName,
        /// Path of the file.
        path: SkillPath,
    },
    /// The history cannot be read.
    Storage(#[from] StorageError),
}

impl Fails for BlameError {
    fn failure(&self) -> Failure {
        match self {
            Self::Spec(_) => Failure::new(FailureKind::Usage, "invalid_request"),
            Self::Find(error) => error.failure(),
            Self::NoFile { skill, .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint(Hint::from("list the files of a revision with ").step(NextStep::ShowSkill(skill.to_string()))),
            Self::Binary { skill, path } => Failure::new(FailureKind::Invalid, "not_text").hint(
                Hint::from("see its revisions with ")
                    .step(NextStep::ShowHistory(skill.to_string()))
                    .text(", and the file with ")
                    .step(NextStep::ShowFile(skill.to_string(), path.to_string())),
            ),
            Self::Storage(error) => error.failure(),
        }
    }
}

/// Attributes each line of a file in the revision `spec` to its source.
///
/// # Errors
/// [`BlameError`] if the revision or a text file of this path does not exist, or the history cannot be read.
pub fn blame(library: &Library, skill: &SkillName, path: &SkillPath, spec: &str) -> Result<Blame, BlameError> {
    let of = library.find(skill, &spec.parse()?, spec)?;
    let mut revisions = library.revisions(skill, usize::MAX)?;
    let newer = revisions.iter().position(|revision| revision.id == of.id).unwrap_or_default();
    revisions.drain(..newer);
    let is_cut = revisions.len() > REVISIONS;
    revisions.truncate(REVISIONS);
    let states = states(library, &revisions, path)?;
    match states.first().map(|state| state.read(library, &of)).transpose()?.flatten() {
        Some(file) if file.text().is_some() => {}
        Some(_) => return Err(BlameError::Binary { skill: skill.clone(), path: path.clone() }),
        None => return Err(BlameError::NoFile { skill: skill.clone(), path: path.clone(), number: of.number }),
    }
    let all = || revisions.iter().zip(&states);
    let returning = all().filter(|(revision, _)| revision.action == Action::Rollback);
    let mut follower = Follower::with_returning(returning.filter_map(|(_, state)| state.mark));
    for (revision, state) in all().rev() {
        let (file, release) = (state.read(library, revision)?, release_file(library, revision, state)?);
        let text = file.as_ref().and_then(File::text);
        follower.follow(&Version {
            text,
            is_rollback: revision.action == Action::Rollback,
            release: match (revision.action, &revision.upstream) {
                (Action::Merge, _) => None,
                (_, Some(_)) => Some(release.as_ref().and_then(File::text)),
                (Action::Install | Action::Update, None) => Some(text),
                _ => None,
            },
        });
    }
    let told = |source: &Source| {
        // Convert to an index in newest-first order.
        let place = revisions.len() - 1 - source.version;
        let (revision, state) = (revisions.get(place)?, states.get(place)?);
        let release = revision.origin.as_ref().filter(|_| source.is_released).map(library::Origin::release);
        let older = Some(&state.path).filter(|older| *older != path).cloned();
        Some(LineSource { revision: revision.number, release, path: older })
    };
    let (text, found) = follower.into_lines();
    let distinct: BTreeSet<Source> = found.iter().copied().collect();
    let sources: Vec<LineSource> = distinct.iter().map(told).collect::<Option<_>>().unwrap_or_default();
    let distinct: Vec<Source> = distinct.into_iter().collect();
    let places = found.iter().filter_map(|source| distinct.binary_search(source).ok()).collect();
    let numbers: BTreeSet<u64> = sources.iter().map(|source| source.revision).collect();
    let named = revisions.iter().filter(|revision| numbers.contains(&revision.number));
    let named = named.map(|revision| (revision.number, revision.clone())).collect();
    Ok(Blame { skill: skill.clone(), path: path.clone(), of, revisions: named, sources, is_cut, text, places })
}

/// Path of a file in a revision, with a hash that identifies its content. The hash is `None` if the file did not exist.
struct State {
    path: SkillPath,
    mark: Option<u64>,
}

impl State {
    fn read(&self, library: &Library, revision: &Revision) -> Result<Option<File>, StorageError> {
        read(library, &revision.id, &self.path)
    }
}

fn read(library: &Library, revision: &RevisionId, path: &SkillPath) -> Result<Option<File>, StorageError> {
    library.file_history(revision, path).next().transpose().map(Option::flatten)
}

/// Returns the state of the file in each revision, newest first. Contents are not kept but read again one by one, since
/// together they can exceed memory.
fn states(library: &Library, revisions: &[Revision], path: &SkillPath) -> Result<Vec<State>, StorageError> {
    let mut states: Vec<State> = Vec::with_capacity(revisions.len());
    let mut path = path.clone();
    let mut after: Option<&Revision> = None;
    for revision in revisions {
        let mut file = read(library, &revision.id, &path)?;
        let came_new = file.is_none() && !revision.tombstone && states.last().is_some_and(|last| last.mark.is_some());
        if let (true, Some(after)) = (came_new, after)
            && let Some(older) = older_name(&library.bundle(&revision.id)?, &library.bundle(&after.id)?, &path)
        {
            file = read(library, &revision.id, &older)?;
            path = older;
        }
        states.push(State { path: path.clone(), mark: file.map(|file| mark_of(&file.bytes)) });
        after = Some(revision);
    }
    Ok(states)
}

/// Returns the removed file of the previous state that is similar enough to count as the older name.
fn older_name(before: &Bundle, after: &Bundle, path: &SkillPath) -> Option<SkillPath> {
    let new = after.get(path)?;
    let gone = before.files().filter(|(path, _)| after.get(path).is_none());
    let scored = gone.map(|(path, file)| (lines::alike_percent(file, new), path));
    let best = scored.max_by(|(a, a_path), (b, b_path)| a.cmp(b).then_with(|| b_path.cmp(a_path)));
    best.filter(|(percent, _)| *percent >= ALIKE_PERCENT).map(|(_, path)| path.clone())
}

/// Returns the file in the release that a revision merged in.
fn release_file(library: &Library, revision: &Revision, state: &State) -> Result<Option<File>, StorageError> {
    let Some(upstream) = &revision.upstream else { return Ok(None) };
    read(library, upstream, &state.path)
}
