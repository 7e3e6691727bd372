//! [`State`]: what people decided about the skills of a library, kept apart from the files.

use std::{collections::BTreeMap, io, path::PathBuf};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use skill::SkillName;
use thiserror::Error;

use crate::home::{read_optional, write_atomically};

const FILE: &str = "state.toml";
const FORMAT: u32 = 1;

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

    pub(crate) fn write(&self, dir: &Dir) -> Result<(), StateError> {
        let text = toml::to_string(self).map_err(|error| StateError::Damaged(error.to_string()))?;
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
    fn a_file_of_the_first_format_is_read() {
        let state: State = toml::from_str("format = 1\n[skills.pdf]\nenabled = false\nlater = 1\n").unwrap();
        assert_eq!(state.of(&SkillName::parse("pdf").unwrap()), SkillState { enabled: false, ..SkillState::default() });
    }
}
