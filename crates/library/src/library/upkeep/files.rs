//! [`LibraryNote`], and mending the small files of a library: event log, state and note.

use jiff::Timestamp;
use serde::Deserialize;
use skill::Limits;
use toml::{Table, Value};

use super::super::{LOCK_WAIT, Library, LibraryError};
use crate::{
    events,
    home::{Durability, open_dir, read_bounded, write_atomically},
    lock::LibraryLock,
    state::{State, StateError},
};

const NOTE: &str = "library.toml";
const EVENTS: &str = "events.jsonl";
const STATE: &str = "state.toml";

/// What `library.toml` says whose history this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryNote {
    /// There is none, and nothing else of a library either.
    Absent,
    /// This library's.
    Ours,
    /// That of a library at another path.
    Other(String),
    /// It is missing or cannot be read: why.
    Damaged(String),
}

/// What became of a damaged event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsMend {
    /// The names of copies of the log as it was, and of older parts of it that cannot be unpacked.
    pub kept_as: String,
    /// Lines that could not be read and are only in the copy now.
    pub dropped: usize,
}

/// What became of a damaged state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMend {
    /// The name of the copy of the state as it was, beside it.
    pub kept_as: String,
    /// Lines that could not be read and are only in the copy now.
    pub dropped: Vec<String>,
    /// Skills of which it is not known what was set: they are disabled and pinned now.
    pub closed: Vec<String>,
}

#[derive(Deserialize)]
struct Note {
    format: u32,
    path: String,
}

impl Library {
    /// Whose history this is, as its note says.
    ///
    /// # Errors
    /// The system refused.
    pub fn note(&self) -> Result<LibraryNote, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(LibraryNote::Absent) };
        let Some(bytes) = read_bounded(&own, NOTE, Limits::default().state_bytes).map_err(self.own_io())? else {
            let is_empty = own.entries().map_err(self.own_io())?.next().is_none();
            return Ok(if is_empty { LibraryNote::Absent } else { LibraryNote::Damaged("it is missing".to_owned()) });
        };
        let read = String::from_utf8(bytes).map_err(|error| error.to_string());
        let note = read.and_then(|text| toml::from_str::<Note>(&text).map_err(|error| error.message().to_owned()));
        Ok(match note {
            Ok(note) if note.format != 1 => LibraryNote::Damaged(format!("its format {} is not known", note.format)),
            Ok(note) if note.path == self.path().display().to_string() => LibraryNote::Ours,
            Ok(note) => LibraryNote::Other(note.path),
            Err(why) => LibraryNote::Damaged(why),
        })
    }

    /// Writes a damaged note again; says under which name the old one is kept, if there was one.
    ///
    /// # Errors
    /// The lock was not to be had, or the system refused.
    pub fn mend_note(&self, time: Timestamp) -> Result<Option<String>, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(None) };
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        let kept = match own.symlink_metadata(NOTE) {
            Ok(_) => Some(super::aside_name(&own, NOTE, time)),
            Err(_) => None,
        };
        if let Some(kept) = &kept {
            own.rename(NOTE, &own, kept).map_err(self.own_io())?;
        }
        self.ensure_own()?;
        Ok(kept)
    }

    /// Keeps a copy of the event log and leaves the lines in it that can be read. Older parts that cannot be
    /// unpacked are put aside.
    ///
    /// # Errors
    /// The lock was not to be had, or the system refused.
    pub fn mend_events(&self, time: Timestamp) -> Result<EventsMend, LibraryError> {
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        let mend = || -> std::io::Result<EventsMend> {
            let busy = || std::io::Error::new(std::io::ErrorKind::ResourceBusy, "others read or write the event log");
            let _nobody_writes = events::alone(&own)?.ok_or_else(busy)?;
            let mut kept_as = Vec::new();
            for part in events::damaged(&own)? {
                let aside = super::aside_name(&own, &part, time);
                own.rename(&part, &own, &aside)?;
                kept_as.push(aside);
            }
            let mut dropped = kept_as.len();
            if own.exists(EVENTS) {
                kept_as.push(super::keep_copy(&own, EVENTS, time)?);
                dropped += events::drop_bad_lines(&own)?;
            }
            Ok(EventsMend { kept_as: kept_as.join(", "), dropped })
        };
        mend().map_err(self.own_io())
    }

    /// Keeps a copy of a damaged state and writes what can be read of it. A skill of which it is not known
    /// what was set is disabled and pinned: damage opens nothing.
    ///
    /// # Errors
    /// The lock was not to be had, the system refused, or a later version wrote the state.
    pub fn mend_state(&self, time: Timestamp) -> Result<StateMend, LibraryError> {
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        if let Err(StateError::Format(format)) = State::read(&own) {
            return Err(StateError::Format(format).into());
        }
        let bytes =
            read_bounded(&own, STATE, Limits::default().state_bytes).map_err(self.own_io())?.unwrap_or_default();
        let mut saved = Saved::of(&String::from_utf8_lossy(&bytes));
        let known = self.skills()?.into_iter().map(|(name, _)| name.to_string());
        let closed = saved.close(known.collect());
        let text = toml::to_string(&saved.table).map_err(|error| StateError::Damaged(error.to_string()))?;
        let kept_as = super::keep_copy(&own, STATE, time).map_err(self.own_io())?;
        write_atomically(&own, STATE, text.as_bytes(), Durability::Durable).map_err(self.own_io())?;
        State::read(&own)?;
        Ok(StateMend { kept_as, dropped: saved.dropped, closed })
    }
}

/// What can be read of a damaged state.
#[derive(Debug, Default)]
struct Saved {
    table: Table,
    dropped: Vec<String>,
    /// Skills that lost a line.
    hurt: Vec<String>,
    /// Whether a line was lost of which it is not known whose it was.
    lost_any: bool,
}

impl Saved {
    /// Reads a text section by section, and one that is damaged line by line.
    fn of(text: &str) -> Self {
        let mut saved = Self { lost_any: text.trim().is_empty(), ..Self::default() };
        let mut section = (String::new(), Vec::new());
        for line in text.lines() {
            if line.trim_start().starts_with('[') {
                saved.section(&section.0, &section.1);
                section = (format!("{line}\n"), Vec::new());
            } else {
                section.1.push(line);
            }
        }
        saved.section(&section.0, &section.1);
        saved
    }

    fn section(&mut self, head: &str, lines: &[&str]) {
        if let Ok(table) = format!("{head}{}", lines.join("\n")).parse::<Table>()
            && is_state(&table)
        {
            merge(&mut self.table, table);
            return;
        }
        let Ok(named) = head.parse::<Table>() else {
            self.lost_any = true;
            self.dropped.extend(std::iter::once(head.trim_end()).chain(lines.iter().copied()).map(str::to_owned));
            return;
        };
        let skill = named.get("skills").and_then(Value::as_table).and_then(|skills| skills.keys().next().cloned());
        for line in lines.iter().filter(|line| !line.trim().is_empty()) {
            match format!("{head}{line}\n").parse::<Table>() {
                Ok(table) if is_state(&table) => merge(&mut self.table, table),
                _ => {
                    self.dropped.push((*line).to_owned());
                    self.lost_any |= skill.is_none();
                    self.hurt.extend(skill.clone());
                }
            }
        }
    }

    /// Disables and pins what lost a line, or all that has no entry of its own when nobody knows whose
    /// the lost ones were; says which.
    fn close(&mut self, known: Vec<String>) -> Vec<String> {
        self.table.insert("format".to_owned(), Value::Integer(1));
        let skills = self.table.entry("skills").or_insert_with(|| Value::Table(Table::new()));
        let Some(skills) = skills.as_table_mut() else { return Vec::new() };
        let without_entry = known.into_iter().filter(|name| self.lost_any && !skills.contains_key(name));
        let mut closed: Vec<String> = without_entry.chain(self.hurt.iter().cloned()).collect();
        closed.sort();
        closed.dedup();
        for name in &closed {
            if let Some(entry) = skills.entry(name.clone()).or_insert_with(|| Value::Table(Table::new())).as_table_mut()
            {
                entry.insert("enabled".to_owned(), Value::Boolean(false));
                entry.insert("pinned".to_owned(), Value::Boolean(true));
            }
        }
        closed
    }
}

/// Whether a part of a state has values of the right kinds.
fn is_state(part: &Table) -> bool {
    let mut whole = part.clone();
    whole.insert("format".to_owned(), Value::Integer(1));
    toml::to_string(&whole).is_ok_and(|text| toml::from_str::<State>(&text).is_ok())
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (Some(Value::Array(old)), Value::Array(new)) => old.extend(new),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(text: &str, known: &[&str]) -> (Saved, Vec<String>) {
        let mut saved = Saved::of(text);
        let closed = saved.close(known.iter().map(|name| (*name).to_owned()).collect());
        (saved, closed)
    }

    #[test]
    fn what_can_be_read_stays_and_damage_opens_nothing() {
        let text = "format = 1\nlater = 2\n[skills.a]\nenabled = false\n[skills.b]\npinned = tr\0ue\nlater = 1\n";
        let (found, closed) = saved(text, &["a", "b", "c"]);
        assert_eq!((closed, found.dropped), (vec!["b".to_owned()], vec!["pinned = tr\0ue".to_owned()]));
        assert_eq!(found.table["later"].as_integer(), Some(2));
        assert_eq!(found.table["skills"]["b"]["later"].as_integer(), Some(1));
        assert_eq!(found.table["skills"]["a"].as_table().unwrap().len(), 1, "a sound entry is as it was");
    }

    #[test]
    fn where_nobody_knows_what_was_lost_every_skill_without_an_entry_is_closed() {
        for text in ["", "\0\0\0", "[skills.a]\npinned = true\n[ski", "format = 1\n[skills]\na = 1\n"] {
            let (found, closed) = saved(text, &["a", "b"]);
            assert!(closed.contains(&"b".to_owned()), "{text:?}: {closed:?}");
            assert_eq!(found.table["skills"]["b"]["enabled"].as_bool(), Some(false));
            assert_eq!(found.table["skills"]["a"]["pinned"].as_bool(), Some(true), "{text:?}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_damage_like_any_other() {
        let (found, closed) = saved("format = 1\n[skills.a]\nenabled = \"no\"\nplaced = [\"/x\"]\n", &["a"]);
        assert_eq!((closed, found.dropped.len()), (vec!["a".to_owned()], 1));
        assert_eq!(found.table["skills"]["a"]["placed"].as_array().unwrap().len(), 1);
    }
}
