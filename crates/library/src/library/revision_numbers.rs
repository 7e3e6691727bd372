//! Index of a skill's revision ids by number, to find one without walking the history ([`RevisionNumbers`]).
//!
//! `numbers/<skill>` in the library's folder of the home holds the concatenated ids, 20 bytes each, as a
//! [`Projection`]. A revision's id covers its parent's, so that the ids before a valid one are valid as well. The
//! file may therefore be behind the head or ahead of it: it is used from the point where it meets the head's
//! ancestors. Short histories have no file.

use std::{path::Path, thread};

use cap_std::fs::Dir;
use skill::SkillName;

use crate::{
    projection::Projection,
    revision::{Revision, RevisionId},
    storage::{self, GitStorage, StorageError},
};

/// Folder of the index files.
pub(super) const FOLDER: &str = "numbers";

const FILE: Projection = Projection { kind: "numbers", format: 1 };

/// Number of missing revisions from which a file is written again.
const BEHIND: usize = 64;

/// Number of revisions per thread. Reading fewer is faster than starting a thread and opening the history again.
const WORTH_A_THREAD: usize = 500;

/// A revision's id as bytes.
pub(super) type Id = [u8; 20];

/// The ids of all revisions of a skill, oldest first.
#[derive(Debug)]
pub(super) struct RevisionNumbers {
    ids: Vec<Id>,
}

impl RevisionNumbers {
    /// Collects the ids up to a head. `own` is the library's folder in the home with the index file, which is updated
    /// if it is far behind and writable.
    ///
    /// # Errors
    /// The history cannot be read, or its numbers have gaps.
    pub fn of(
        own: Option<&Dir>,
        storage: &GitStorage,
        skill: &SkillName,
        head: &Revision,
    ) -> Result<Self, StorageError> {
        let name = format!("{FOLDER}/{skill}");
        let mut ids = own.map(|own| read(own, &name)).unwrap_or_default();
        let missing = walk(storage, &ids, head)?;
        let known = place(head.number)? + 1 - missing.len();
        ids.truncate(known);
        ids.extend(missing.iter().rev());
        let numbers = Self { ids };
        if missing.len() >= BEHIND
            && let Some(own) = own
        {
            let _without_it_the_next_one_walks = own.create_dir_all(FOLDER);
            let _as_above = FILE.write(own, &name, numbers.ids.as_flattened());
        }
        Ok(numbers)
    }

    /// Returns the revision with this number, counted from 1.
    pub fn at(&self, number: u64) -> Option<RevisionId> {
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        self.ids.get(place).map(revision_id)
    }

    /// Returns all ids, oldest first.
    pub fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// Returns the revisions whose ids begin with these digits.
    pub fn starting_with(&self, digits: &str) -> impl Iterator<Item = RevisionId> {
        self.ids.iter().map(revision_id).filter(move |id| id.as_str().starts_with(digits))
    }
}

/// Reads many revisions with one thread per processor, each of which opens the history itself. Few revisions are read
/// without threads.
pub(super) fn read_many(kind: &str, history: &Path, ids: &[Id]) -> Result<Vec<Revision>, StorageError> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(ids.len().div_ceil(WORTH_A_THREAD));
    let read = |ids: &[Id]| -> Result<Vec<Revision>, StorageError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let gone = || StorageError::Damaged("it no longer exists".to_owned());
        let storage = storage::open(kind, history, false)?.ok_or_else(gone)?;
        ids.iter().map(|id| storage.revision(&revision_id(id))).collect()
    };
    if threads < 2 {
        return read(ids);
    }
    let parts = thread::scope(|scope| {
        let parts = ids.chunks(ids.len().div_ceil(threads).max(1));
        let parts: Vec<_> = parts.map(|part| (part, scope.spawn(|| read(part)))).collect();
        let join = |(part, thread): (_, thread::ScopedJoinHandle<'_, _>)| thread.join().unwrap_or_else(|_| read(part));
        parts.into_iter().map(join).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(parts.concat())
}

fn read(own: &Dir, name: &str) -> Vec<Id> {
    let content = FILE.read(own, name).unwrap_or_default();
    let (ids, rest) = content.bytes().as_chunks();
    if rest.is_empty() { ids.to_vec() } else { Vec::new() }
}

/// The ids from the head back to the first that is known, which is left out, newest first.
fn walk(storage: &GitStorage, known: &[Id], head: &Revision) -> Result<Vec<Id>, StorageError> {
    let mut missing = Vec::new();
    let (mut id, mut number) = (head.id.clone(), head.number);
    loop {
        let bytes = id_bytes(&id)?;
        if known.get(place(number)?) == Some(&bytes) {
            return Ok(missing);
        }
        missing.push(bytes);
        let revision = storage.revision(&id)?;
        let gap = || StorageError::Damaged(format!("revision {id} is not number {number} of its history"));
        if revision.number != number {
            return Err(gap());
        }
        match revision.parent {
            Some(parent) => (id, number) = (parent, number.checked_sub(1).filter(|n| *n > 0).ok_or_else(gap)?),
            None if number == 1 => return Ok(missing),
            None => return Err(gap()),
        }
    }
}

/// Converts a revision's number to an index in the list.
fn place(number: u64) -> Result<usize, StorageError> {
    let place = number.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    place.ok_or_else(|| StorageError::Damaged(format!("a revision has the number {number}")))
}

fn id_bytes(id: &RevisionId) -> Result<Id, StorageError> {
    let damaged = || StorageError::Damaged(format!("{id} is not a revision id"));
    let digits = id.as_str().as_bytes();
    let mut bytes = Id::default();
    if digits.len() != 2 * bytes.len() {
        return Err(damaged());
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let value = digit(pair[0]).zip(digit(pair[1])).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        *byte = value.ok_or_else(damaged)?;
    }
    Ok(bytes)
}

pub(super) fn revision_id(id: &Id) -> RevisionId {
    RevisionId::new(skill::hex(id))
}
