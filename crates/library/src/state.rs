//! [`State`]: what people decided about the skills of a library, kept apart from the files.

use std::{collections::BTreeMap, io, path::PathBuf};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use skill::SkillName;
use thiserror::Error;
use toml::{Table, Value};

use crate::home::{read_optional, write_atomically};

const FILE: &str = "state.toml";
const FORMAT: u32 = 1;

/// The fields of [`SkillState`]; all others of an entry are kept as they are.
const KNOWN: [&str; 3] = ["enabled", "pinned", "placed"];

/// `state.toml` of a library's folder in the home. A skill without an entry is enabled and not
/// pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    format: u32,
    #[serde(default)]
    skills: BTreeMap<String, SkillState>,
}

/// What is set for one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillState {
    /// Whether agents see it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether agents are kept from changing it.
    #[serde(default)]
    pub pinned: bool,
    /// Where links to it, or copies of it, were placed in agents' folders: absolute paths.
    #[serde(default)]
    pub placed: Vec<PathBuf>,
}

impl Default for SkillState {
    fn default() -> Self {
        Self { enabled: true, pinned: false, placed: Vec::new() }
    }
}

fn yes() -> bool {
    true
}

/// Why the state cannot be used. It is never taken for empty because it is damaged.
#[derive(Debug, Error)]
pub enum StateError {
    /// Not the format that this version reads.
    #[error("state.toml is damaged and was left as it is: {0}")]
    Damaged(String),
    /// Written by a later version.
    #[error("state.toml has format {0}, this version reads {FORMAT}; use the skillhub that wrote it")]
    Format(u32),
    /// The system refused.
    #[error("state.toml cannot be used: {0}")]
    Io(#[from] io::Error),
}

impl Default for State {
    fn default() -> Self {
        Self { format: FORMAT, skills: BTreeMap::new() }
    }
}

impl State {
    /// What is set for a skill.
    #[must_use]
    pub fn of(&self, skill: &SkillName) -> SkillState {
        self.skills.get(skill.as_str()).cloned().unwrap_or_default()
    }

    /// Sets it.
    pub fn set(&mut self, skill: &SkillName, state: SkillState) {
        if state == SkillState::default() {
            self.skills.remove(skill.as_str());
        } else {
            self.skills.insert(skill.as_str().to_owned(), state);
        }
    }

    pub(crate) fn read(dir: &Dir) -> Result<Self, StateError> {
        let Some(bytes) = read_optional(dir, FILE)? else { return Ok(Self::default()) };
        let text = String::from_utf8(bytes).map_err(|error| StateError::Damaged(error.to_string()))?;
        let state: Self = toml::from_str(&text).map_err(|error| StateError::Damaged(error.message().to_owned()))?;
        match state.format {
            FORMAT => Ok(state),
            other => Err(StateError::Format(other)),
        }
    }

    /// Writes it over the file, whose fields that this version does not know stay.
    pub(crate) fn write(&self, dir: &Dir) -> Result<(), StateError> {
        let damaged = |error: String| StateError::Damaged(error);
        let old =
            String::from_utf8(read_optional(dir, FILE)?.unwrap_or_default()).map_err(|e| damaged(e.to_string()))?;
        let mut table: Table = toml::from_str(&old).map_err(|error| damaged(error.message().to_owned()))?;
        let mut skills = match table.remove("skills") {
            Some(Value::Table(skills)) => skills,
            _ => Table::new(),
        };
        for entry in skills.iter_mut().filter_map(|(_, entry)| entry.as_table_mut()) {
            KNOWN.iter().for_each(|key| drop(entry.remove(*key)));
        }
        for (skill, state) in &self.skills {
            let known = Table::try_from(state).map_err(|error| damaged(error.to_string()))?;
            match skills.get_mut(skill).and_then(Value::as_table_mut) {
                Some(entry) => entry.extend(known),
                None => drop(skills.insert(skill.clone(), Value::Table(known))),
            }
        }
        skills.retain(|_, entry| entry.as_table().is_none_or(|entry| !entry.is_empty()));
        table.insert("format".to_owned(), Value::Integer(FORMAT.into()));
        table.insert("skills".to_owned(), Value::Table(skills));
        let text = toml::to_string(&table).map_err(|error| damaged(error.to_string()))?;
        Ok(write_atomically(dir, FILE, text.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_kept_and_damage_never_reads_as_empty() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        let name = SkillName::parse("pdf").unwrap();
        let mut state = State::read(&dir).unwrap();
        assert!(state.of(&name).enabled);
        state.set(&name, SkillState { enabled: false, ..SkillState::default() });
        state.write(&dir).unwrap();
        assert!(!State::read(&dir).unwrap().of(&name).enabled);
        for damaged in ["", "format = 1\n[skills", "\u{0}"] {
            dir.write(FILE, damaged).unwrap();
            assert!(matches!(State::read(&dir), Err(StateError::Damaged(_))), "{damaged:?}");
        }
        dir.write(FILE, "format = 9\n").unwrap();
        assert!(matches!(State::read(&dir), Err(StateError::Format(9))));
    }

    #[test]
    fn fields_of_a_later_version_stay_when_the_file_is_written() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        dir.write(
            FILE,
            "format = 1\npolicy = \"strict\"\n[skills.pdf]\npinned = true\nlater = 1\n[skills.x]\npinned = true\n",
        )
        .unwrap();
        let mut state = State::read(&dir).unwrap();
        for name in ["pdf", "x"] {
            state.set(&SkillName::parse(name).unwrap(), SkillState::default());
        }
        state.write(&dir).unwrap();
        let written: Table = toml::from_str(&dir.read_to_string(FILE).unwrap()).unwrap();
        assert_eq!(written["policy"].as_str(), Some("strict"));
        assert_eq!(written["skills"]["pdf"].as_table().unwrap().len(), 1);
        assert_eq!(written["skills"].as_table().unwrap().len(), 1);
        assert_eq!(State::read(&dir).unwrap().of(&SkillName::parse("pdf").unwrap()), SkillState::default());
    }

    #[test]
    fn a_file_of_the_first_format_is_read() {
        let state: State = toml::from_str("format = 1\n[skills.pdf]\nenabled = false\nlater = 1\n").unwrap();
        assert_eq!(state.of(&SkillName::parse("pdf").unwrap()), SkillState { enabled: false, ..SkillState::default() });
    }
}
