//! Repair of a damaged or missing state, without opening anything that was closed ([`StateRepair`]).

use std::collections::BTreeSet;

use cap_std::fs::Dir;
use jiff::Timestamp;
use skill::{Limits, SkillName};
use toml::{Table, Value};

use super::{
    super::{Library, LibraryError},
    DAMAGED,
};
use crate::{
    disk::{Durability, open_dir, read_bounded, write_atomically},
    events::{self, Event, EventStatus},
    state::{SkillState, State, StateError},
    toml_text::is_flood,
};

const STATE: &str = "state.toml";

/// Result of repairing the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateRepair {
    /// Name of the copy of the damaged state, beside it; `None` if the state was missing.
    pub kept_as: Option<String>,
    /// Unreadable lines, which are now only in the copy.
    pub dropped: Vec<String>,
    /// Skills whose settings are unknown. They are now disabled and pinned.
    pub closed: Vec<String>,
    /// Skills for which the event log records a setting without its value, so that their waivers and links in agents'
    /// folders are unknown.
    pub unknown: Vec<String>,
}

impl Library {
    /// Repairs the state. A damaged one is copied and its readable part is kept. A missing one is rebuilt from the
    /// event log. A skill whose settings are unknown is disabled and pinned, so that damage opens nothing.
    ///
    /// # Errors
    /// The lock cannot be taken, an I/O error, or a later version wrote the state.
    pub fn repair_state(&self, time: Timestamp) -> Result<StateRepair, LibraryError> {
        let own = self.locked()?;
        if let Err(StateError::Format(format)) = State::read(&own) {
            return Err(StateError::Format(format).into());
        }
        let skills: Vec<SkillName> = self.skills()?.into_iter().map(|(name, _)| name).collect();
        let known: Vec<String> = skills.iter().map(ToString::to_string).collect();
        let mend = match read_bounded(&own, STATE, Limits::default().state_bytes).map_err(self.own_io())? {
            None => {
                let (events, unreadable) = events::read(&own).map_err(self.own_io())?;
                let is_whole = unreadable == 0 && self.is_log_whole(&own, &events, &skills)?;
                let logged =
                    Logged::of(&events, if is_whole && events.iter().any(is_set) { Vec::new() } else { known });
                logged.state.write(&own)?;
                StateRepair { kept_as: None, dropped: Vec::new(), closed: logged.closed, unknown: logged.unknown }
            }
            Some(bytes) => {
                let mut saved = Saved::of(&String::from_utf8_lossy(&bytes));
                let closed = saved.close(known);
                let text = toml::to_string(&saved.table).map_err(|error| StateError::Damaged(error.to_string()))?;
                let kept_as = super::keep_copy(&own, STATE, time).map_err(self.own_io())?;
                write_atomically(&own, STATE, text.as_bytes(), Durability::Durable).map_err(self.own_io())?;
                StateRepair { kept_as: Some(kept_as), dropped: saved.dropped, closed, unknown: Vec::new() }
            }
        };
        State::note_written(&own).map_err(self.own_io())?;
        State::read(&own)?;
        Ok(mend)
    }

    /// Writes the marker that a state exists, if a process was stopped before it did.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn note_state(&self) -> Result<(), LibraryError> {
        open_dir(&self.own)?.map_or(Ok(()), |own| State::note_written(&own).map_err(self.own_io()))
    }

    /// Returns whether the event log is complete as far as known: no lines were dropped, no rotated file is missing,
    /// and every revision is recorded. If a revision is not recorded, settings of any skill from that time may be
    /// lost as well.
    fn is_log_whole(&self, own: &Dir, events: &[Event], skills: &[SkillName]) -> Result<bool, LibraryError> {
        if was_log_mended(own).map_err(self.own_io())? || events::has_gap(own).map_err(self.own_io())? {
            return Ok(false);
        }
        let applied = events.iter().filter(|event| event.status == EventStatus::Applied);
        let told: BTreeSet<_> = applied.filter_map(|event| event.revision.as_ref()).collect();
        let is_told = |skill| match self.revisions(skill, usize::MAX) {
            Ok(revisions) => revisions.iter().all(|revision| told.contains(&revision.id)),
            Err(_) => false,
        };
        Ok(skills.iter().all(is_told))
    }
}

/// Returns whether unreadable lines of the event log were dropped in the past.
fn was_log_mended(own: &Dir) -> std::io::Result<bool> {
    for entry in own.entries()? {
        let file = entry?.file_name();
        if file.to_str().is_some_and(|file| file.starts_with("events.") && file.contains(DAMAGED)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_set(event: &Event) -> bool {
    event.status == EventStatus::Set
}

/// A missing state as rebuilt from the event log.
#[derive(Debug, Default)]
struct Logged {
    state: State,
    closed: Vec<String>,
    unknown: Vec<String>,
}

impl Logged {
    /// Rebuilds the state from events. The skills in `hurt` may have lost an event: they are closed and their waivers
    /// are dropped.
    fn of(events: &[Event], hurt: Vec<String>) -> Self {
        let (mut state, mut unknown) = (State::default(), BTreeSet::new());
        for event in events.iter().filter(|event| is_set(event)) {
            let Ok(skill) = SkillName::parse(&event.skill) else { continue };
            let set = event.set.clone().and_then(|set| serde_json::from_value::<SkillState>(set).ok());
            let mut of_skill = state.of(&skill);
            match (set, event.action.as_str()) {
                (Some(set), _) => {
                    of_skill = set;
                    unknown.remove(&event.skill);
                }
                (None, "pin") => of_skill.pinned = true,
                (None, "unpin") => of_skill.pinned = false,
                (None, "disable") => of_skill.enabled = false,
                (None, "enable") => of_skill.enabled = true,
                (None, _) => drop(unknown.insert(event.skill.clone())),
            }
            state.set(&skill, of_skill);
        }
        for skill in hurt.iter().filter_map(|name| SkillName::parse(name).ok()) {
            let placed = state.of(&skill).placed;
            state.set(&skill, SkillState { enabled: false, pinned: true, placed, ..SkillState::default() });
        }
        Self { state, closed: hurt, unknown: unknown.into_iter().collect() }
    }
}

/// The readable part of a damaged state.
#[derive(Debug, Default)]
struct Saved {
    table: Table,
    dropped: Vec<String>,
    /// Skills that lost a line.
    hurt: Vec<String>,
    /// True if a line was lost that cannot be assigned to a skill.
    lost_any: bool,
}

impl Saved {
    /// Parses a text section by section, and a damaged section line by line.
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
        if let Some(table) = table(&format!("{head}{}", lines.join("\n")))
            && is_state(&table)
        {
            merge(&mut self.table, table);
            return;
        }
        let Some(named) = table(head) else {
            self.lost_any = true;
            self.dropped.extend(std::iter::once(head.trim_end()).chain(lines.iter().copied()).map(str::to_owned));
            return;
        };
        let skill = named.get("skills").and_then(Value::as_table).and_then(|skills| skills.keys().next().cloned());
        for line in lines.iter().filter(|line| !line.trim().is_empty()) {
            match table(&format!("{head}{line}\n")) {
                Some(table) if is_state(&table) => merge(&mut self.table, table),
                _ => {
                    self.dropped.push((*line).to_owned());
                    self.lost_any |= skill.is_none();
                    self.hurt.extend(skill.clone());
                }
            }
        }
    }

    /// Disables and pins the skills that lost a line. If a lost line cannot be assigned, skills without an entry are
    /// closed as well. Returns the closed skills.
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

/// Parses a part, unless it has so many values that they would take many times its size in memory.
fn table(text: &str) -> Option<Table> {
    if is_flood(text) { None } else { text.parse().ok() }
}

/// Returns whether the values in a part of a state have the right types.
fn is_state(part: &Table) -> bool {
    let mut whole = part.clone();
    whole.insert("format".to_owned(), Value::Integer(1));
    toml::to_string(&whole).is_ok_and(|text| State::parse(&text).is_ok())
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
    fn only_damaged_entries_are_closed() {
        let text = "format = 1\nlater = 2\n[skills.a]\nenabled = false\n[skills.b]\npinned = tr\0ue\nlater = 1\n";
        let (found, closed) = saved(text, &["a", "b", "c"]);
        assert_eq!((closed, found.dropped), (vec!["b".to_owned()], vec!["pinned = tr\0ue".to_owned()]));
        assert_eq!(found.table["later"].as_integer(), Some(2));
        assert_eq!(found.table["skills"]["b"]["later"].as_integer(), Some(1));
        assert_eq!(found.table["skills"]["a"].as_table().unwrap().len(), 1, "a sound entry is as it was");
    }

    #[test]
    fn skills_without_entry_are_closed() {
        for text in ["", "\0\0\0", "[skills.a]\npinned = true\n[ski", "format = 1\n[skills]\na = 1\n"] {
            let (found, closed) = saved(text, &["a", "b"]);
            assert!(closed.contains(&"b".to_owned()), "{text:?}: {closed:?}");
            assert_eq!(found.table["skills"]["b"]["enabled"].as_bool(), Some(false));
            assert_eq!(found.table["skills"]["a"]["pinned"].as_bool(), Some(true), "{text:?}");
        }
    }

    #[test]
    fn flood_of_values_is_damage() {
        let flood = format!("x = [{}0]", "0,".repeat(100_000));
        let (found, closed) = saved(&format!("format = 1\n[skills.a]\npinned = true\n{flood}\n"), &["a", "b"]);
        assert_eq!((closed, found.dropped), (vec!["a".to_owned()], vec![flood]));
    }

    #[test]
    fn wrongly_typed_value_is_damage() {
        let (found, closed) = saved("format = 1\n[skills.a]\nenabled = \"no\"\nplaced = [\"/x\"]\n", &["a"]);
        assert_eq!((closed, found.dropped.len()), (vec!["a".to_owned()], 1));
        assert_eq!(found.table["skills"]["a"]["placed"].as_array().unwrap().len(), 1);
    }
}
