//! [`Blame`]: who wrote each line of a file, in which revision and why.
//!
//! The file is followed from the oldest revision to the one that is asked for. A line that stays keeps where it
//! came from; a rollback gives lines back to those who wrote them; of a merge the lines that the release brought
//! are told from those of the skill's own side. Of a file that was renamed the older name is followed, where both
//! are alike enough.
//!
//! The time grows with the bytes of the history: the shortest difference between versions is searched up to a number
//! of lines, and the lines that stand once in two versions are followed beyond it.

mod lines;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use library::{Action, FindError, Library, Revision, RevisionId, RevisionSpecError, StorageError};
use skill::{
    Bundle, File, SkillName, SkillPath,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

use lines::{Follower, Source, Version, mark_of};

/// The most revisions that are looked at; what is older counts as written in the oldest of them.
pub const REVISIONS: usize = 10_000;

/// Of a hundred lines, how many a file has to have of another one of the parent to be that one renamed.
const ALIKE_PERCENT: usize = 50;

/// A file of a revision with where each line is from.
#[derive(Debug, Clone)]
pub struct Blame {
    /// The skill.
    pub skill: SkillName,
    /// The file.
    pub path: SkillPath,
    /// The revision that was looked at.
    pub of: Revision,
    /// The revisions that lines are from, by their number.
    pub revisions: BTreeMap<u64, Revision>,
    /// Where lines are from, each once.
    pub sources: Vec<LineSource>,
    /// Whether there are older revisions that were not looked at.
    pub is_cut: bool,
    text: String,
    /// Of each line the place of its source. A file may have a million lines.
    places: Vec<usize>,
}

/// Where lines are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineSource {
    /// The number of the revision that brought them.
    pub revision: u64,
    /// The release that they came with, where they came with one.
    pub release: Option<String>,
    /// What the file was called then, where that is another path.
    pub path: Option<SkillPath>,
}

impl Blame {
    /// The lines, first to last, without their ends, and the places of their sources.
    pub fn lines(&self) -> impl Iterator<Item = (&str, usize)> {
        self.text.lines().zip(self.places.iter().copied())
    }
}

/// Why nothing can be said of a file's lines.
#[derive(Debug, Error)]
pub enum BlameError {
    /// The text names no revision.
    #[error(transparent)]
    Spec(#[from] RevisionSpecError),
    /// There is no such skill or revision.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The revision has no such file.
    #[error("{skill} has no {path} in revision {number}")]
    NoFile {
        /// The skill.
        skill: SkillName,
        /// The file.
        path: SkillPath,
        /// The revision's number.
        number: u64,
    },
    /// It has no lines.
    #[error("{path} of {skill} is no text")]
    Binary {
        /// The skill.
        skill: SkillName,
        /// The file.
        path: SkillPath,
    },
    /// The history cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Fails for BlameError {
    fn failure(&self) -> Failure {
        match self {
            Self::Spec(_) => Failure::new(FailureKind::Usage, "invalid_request"),
            Self::Find(error) => error.failure(),
            Self::NoFile { skill, .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint(format!("`skillhub show {skill}` lists the files of a revision")),
            Self::Binary { skill, path } => Failure::new(FailureKind::Invalid, "not_text")
                .hint(format!("`skillhub history {skill}` has the revisions, `skillhub show {skill} {path}` the file")),
            Self::Storage(error) => error.failure(),
        }
    }
}

/// Says of each line of a file where it is from, in the revision that `spec` names.
///
/// # Errors
/// [`BlameError`]
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
                (_, Some(_)) => Some(release.as_ref().and_then(File::text)),
                (Action::Install | Action::Update, None) => Some(text),
                _ => None,
            },
        });
    }
    let told = |source: &Source| {
        // Oldest first again.
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

/// What a file was called in a revision, and what tells its content from others; `None` where there was none.
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

/// What the file was in each revision, newest first as these are. The files are read again one by one: together they
/// may be many times what fits into memory.
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

/// The file of the state before that went away when this one came, if one is alike enough.
fn older_name(before: &Bundle, after: &Bundle, path: &SkillPath) -> Option<SkillPath> {
    let new = after.get(path)?;
    let gone = before.files().filter(|(path, _)| after.get(path).is_none());
    let scored = gone.map(|(path, file)| (lines::alike_percent(file, new), path));
    let best = scored.max_by(|(a, a_path), (b, b_path)| a.cmp(b).then_with(|| b_path.cmp(a_path)));
    best.filter(|(percent, _)| *percent >= ALIKE_PERCENT).map(|(_, path)| path.clone())
}

/// The file as the release has it that a revision merged in.
fn release_file(library: &Library, revision: &Revision, state: &State) -> Result<Option<File>, StorageError> {
    let Some(upstream) = &revision.upstream else { return Ok(None) };
    read(library, upstream, &state.path)
}
