//! Cache of revision details, so that listing a long history does not read thousands of revisions ([`Rows`]).
//!
//! `revisions/<skill>` in the library's folder of the home is a [`Projection`]. It starts with a table of texts: its
//! length (4 bytes, big endian) and a JSON array with each text once. Then follows a row of fixed length for each
//! revision, oldest first, which refers to texts by index. A row only counts if it has the id of the revision with
//! its number; the content of an id never changes. Number and parent follow from the ids and are not stored. Short
//! histories have no file.

use std::collections::HashMap;

use cap_std::fs::Dir;
use jiff::Timestamp;
use skill::{Digest, SkillName};

use super::revision_numbers::{Id, revision_id};
use crate::{
    projection::Projection,
    revision::{Acceptance, Action, Revision, RevisionId, Stamp},
    storage::StorageError,
};

/// Folder of the cache files.
pub(super) const FOLDER: &str = "revisions";

const FILE: Projection = Projection { kind: "revisions", format: 2 };

/// Number of missing revisions from which a file is written again.
const BEHIND: usize = 64;

/// Number of texts in a row: action, actor, reason, run, thread, origin, verdict, ruleset, absorbing skill, proposal,
/// reviewer, editor of the proposal, merged release.
const TEXTS: usize = 13;

const ID: usize = size_of::<Id>();
const DIGEST: usize = 32;

/// Bytes of a row: id, digest, time in seconds, number of changed files, tombstone flag, and the indexes of its
/// texts.
const ROW: usize = ID + DIGEST + 8 + 8 + 1 + 4 * TEXTS;

/// The cached rows of one skill.
#[derive(Debug, Default)]
struct Rows {
    texts: Vec<String>,
    rows: Vec<[u8; ROW]>,
}

/// Returns a skill's newest revisions, at most `limit`, newest first. `ids` are those of all revisions, oldest first.
/// Revisions without a row are read by `read`, which returns them in the order of their ids. `own` is the library's
/// folder in the home with the cache file, which is updated if it is far behind and writable.
///
/// # Errors
/// Returns the errors of `read`.
pub(super) fn newest(
    own: Option<&Dir>,
    skill: &SkillName,
    ids: &[Id],
    limit: usize,
    read: impl FnOnce(&[Id]) -> Result<Vec<Revision>, StorageError>,
) -> Result<Vec<Revision>, StorageError> {
    let name = format!("{FOLDER}/{skill}");
    let first = ids.len().saturating_sub(limit);
    let mut rows = own.and_then(|own| Rows::read(own, &name)).unwrap_or_default();
    rows.keep_those_of(ids);
    let known = rows.rows.len();
    let told = (first..known).map(|place| rows.revision(ids, place)).collect::<Option<Vec<_>>>();
    let (mut revisions, is_sound) = told.map_or((Vec::new(), false), |told| (told, true));
    let from = if is_sound { known.max(first) } else { first };
    let news = read(ids.get(from..).unwrap_or_default())?;
    if news.len() >= BEHIND
        && let Some(own) = own
        && rows.add(ids, from, &news)
    {
        let _without_it_all_are_read = own.create_dir_all(FOLDER);
        let _as_above = rows.write(own, &name);
    }
    revisions.extend(news);
    revisions.reverse();
    Ok(revisions)
}

impl Rows {
    fn read(own: &Dir, name: &str) -> Option<Self> {
        let content = FILE.read(own, name)?;
        let (length, rest) = content.bytes().split_first_chunk()?;
        let (texts, rows) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        let (rows, cut) = rows.as_chunks();
        cut.is_empty().then_some(())?;
        Some(Self { texts: serde_json::from_slice(texts).ok()?, rows: rows.to_vec() })
    }

    fn write(&self, own: &Dir, name: &str) -> std::io::Result<()> {
        let texts = serde_json::to_vec(&self.texts)?;
        let length = u32::try_from(texts.len()).map_err(std::io::Error::other)?;
        FILE.write(own, name, &[&length.to_be_bytes(), texts.as_slice(), self.rows.as_flattened()].concat())
    }

    /// Drops all rows from the first mismatch with the ids on.
    fn keep_those_of(&mut self, ids: &[Id]) {
        let same = self.rows.iter().zip(ids).take_while(|(row, id)| row.starts_with(*id)).count();
        self.rows.truncate(same);
    }

    /// Decodes the revision at an index, from 0; `None` if its row is invalid.
    fn revision(&self, ids: &[Id], place: usize) -> Option<Revision> {
        let (id, rest) = self.rows.get(place)?.split_first_chunk::<ID>()?;
        let (digest, rest) = rest.split_first_chunk::<DIGEST>()?;
        let (second, rest) = rest.split_first_chunk()?;
        let (files, rest) = rest.split_first_chunk()?;
        let (tombstone, rest) = rest.split_first()?;
        let mut texts = [None; TEXTS];
        for (text, place) in texts.iter_mut().zip(rest.as_chunks().0) {
            *text = match usize::try_from(u32::from_be_bytes(*place)).ok()?.checked_sub(1) {
                Some(place) => Some(self.texts.get(place)?.as_str()),
                None => None,
            };
        }
        let [
            action,
            actor,
            reason,
            run,
            thread,
            origin,
            verdict,
            ruleset,
            absorbed,
            proposal,
            reviewer,
            editor,
            upstream,
        ] = texts;
        let acceptance = match (proposal, reviewer) {
            (Some(proposal), Some(reviewer)) => {
                let edited_by = editor.map(str::parse).transpose().ok()?;
                Some(Acceptance { proposal: proposal.to_owned(), reviewer: reviewer.parse().ok()?, edited_by })
            }
            _ => None,
        };
        Some(Revision {
            id: revision_id(id),
            number: u64::try_from(place).ok()?.checked_add(1)?,
            parent: place.checked_sub(1).and_then(|before| ids.get(before)).map(revision_id),
            action: Action::from_word(action?)?,
            stamp: Stamp {
                actor: actor?.parse().ok()?,
                time: Timestamp::from_second(i64::from_be_bytes(*second)).ok()?,
                reason: reason.map(str::to_owned),
                run: run.map(str::to_owned),
                thread: thread.map(str::to_owned),
            },
            origin: origin.map(serde_json::from_str).transpose().ok()?,
            verdict: verdict?.parse().ok()?,
            ruleset: ruleset?.to_owned(),
            digest: Digest::from_bytes(*digest),
            files_changed: usize::try_from(u64::from_be_bytes(*files)).ok()?,
            tombstone: *tombstone != 0,
            absorbed_into: absorbed.map(str::to_owned),
            acceptance,
            upstream: upstream.map(|id| RevisionId::new(id.to_owned())),
        })
    }

    /// Adds the revisions from index `place` on. Returns false if rows before them are missing, or if their numbers
    /// and parents contradict the ids. The rows must not be written then.
    fn add(&mut self, ids: &[Id], place: usize, revisions: &[Revision]) -> bool {
        if place > self.rows.len() {
            return false;
        }
        self.rows.truncate(place);
        let mut places: HashMap<String, u32> = self.texts.iter().cloned().zip(1..).collect();
        revisions.iter().all(|revision| {
            let row = self.row_of(ids, revision, &mut places);
            let is_next = row.is_some() && usize::try_from(revision.number) == Ok(self.rows.len() + 1);
            self.rows.extend(row);
            is_next
        })
    }

    fn row_of(&mut self, ids: &[Id], revision: &Revision, places: &mut HashMap<String, u32>) -> Option<[u8; ROW]> {
        let id = ids.get(self.rows.len())?;
        let parent = self.rows.len().checked_sub(1).and_then(|before| ids.get(before)).map(revision_id);
        if revision_id(id) != revision.id || parent != revision.parent {
            return None;
        }
        let mut bytes = Vec::with_capacity(ROW);
        bytes.extend(id);
        bytes.extend(revision.digest.as_bytes());
        bytes.extend(revision.stamp.time.as_second().to_be_bytes());
        bytes.extend(u64::try_from(revision.files_changed).ok()?.to_be_bytes());
        bytes.push(revision.tombstone.into());
        for text in texts_of(revision)? {
            let place = match text {
                Some(text) => self.place_of(text, places)?,
                None => 0,
            };
            bytes.extend(place.to_be_bytes());
        }
        bytes.try_into().ok()
    }

    /// Returns the index of a text, from 1, adding the text if it is new.
    fn place_of(&mut self, text: String, places: &mut HashMap<String, u32>) -> Option<u32> {
        if let Some(place) = places.get(&text) {
            return Some(*place);
        }
        self.texts.push(text.clone());
        let place = u32::try_from(self.texts.len()).ok()?;
        places.insert(text, place);
        Some(place)
    }
}

/// Returns the texts of a revision in the order of a row; `None` if one cannot be serialised.
fn texts_of(revision: &Revision) -> Option<[Option<String>; TEXTS]> {
    let Revision { action, stamp, origin, verdict, ruleset, absorbed_into, acceptance, upstream, .. } = revision;
    Some([
        Some(action.as_str().to_owned()),
        Some(stamp.actor.to_string()),
        stamp.reason.clone(),
        stamp.run.clone(),
        stamp.thread.clone(),
        origin.as_ref().map(serde_json::to_string).transpose().ok()?,
        Some(verdict.to_string()),
        Some(ruleset.clone()),
        absorbed_into.clone(),
        acceptance.as_ref().map(|acceptance| acceptance.proposal.clone()),
        acceptance.as_ref().map(|acceptance| acceptance.reviewer.to_string()),
        acceptance.as_ref().and_then(|acceptance| Some(acceptance.edited_by.as_ref()?.to_string())),
        upstream.as_ref().map(ToString::to_string),
    ])
}
