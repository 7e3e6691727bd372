//! Settings and decisions of people about the skills of a library, stored apart from the files ([`State`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    sync::Arc,
};

use cap_std::fs::Dir;
use jiff::Timestamp;
use scan::{Acceptance, Severity, Waiver, Waivers};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use skill::{Bundle, Limits, SkillName, SkillPath};
use thiserror::Error;
use toml::{Table, Value};

use crate::{
    disk::{Durability, read_bounded, write_atomically},
    lock::LockedDir,
    revision::{Actor, ActorKind, RevisionId},
    toml_text::parts,
    trials::{StoredSetBack, StoredTrial},
};

/// Name of the file with the settings.
pub(crate) const FILE: &str = "state.toml";
const FORMAT: u32 = 1;

/// Marker file beside the state. With it, a missing state is detected as a loss and not treated as empty.
const WRITTEN: &str = "state.written";

/// Fields of [`SkillState`]. Any other field of an entry is preserved.
const KNOWN: [&str; 10] = [
    "enabled", "pinned", "placed", "hidden_in", "disabled_by", "waivers", "withdrawn_waivers", "trial", "set_back",
    "reviewed",
];

/// `state.toml` of a library's folder in the home. A skill without an entry is enabled and not pinned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Settings by skill name. Shared, since batches clone the state repeatedly.
    skills: Arc<BTreeMap<String, SkillState>>,
    /// Names of pinned skills, by their lower-case spelling.
    pinned: Arc<BTreeMap<String, String>>,
}

/// One part of the file, as parsed.
#[derive(Deserialize)]
struct Part {
    format: Option<u32>,
    #[serde(default)]
    skills: BTreeMap<String, SkillState>,
}

/// Settings of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillState {
    /// True if agents see it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// True if only people may change it.
    #[serde(default)]
    pub pinned: bool,
    /// Absolute paths of links to it, or copies of it, in agents' folders.
    #[serde(default)]
    pub placed: Vec<PathBuf>,
    /// Absolute paths of agents' folders that do not show it although it is enabled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden_in: Vec<PathBuf>,
    /// Actor (`kind:id`) who disabled it or hid it from an agent. Files of earlier versions have `None`, which counts
    /// as a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_by: Option<String>,
    /// Waivers of findings by a person, oldest first. Some may have expired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<StoredWaiver>,
    /// Waivers that a person revoked. Their findings count again in files that were cleared with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn_waivers: Vec<StoredWaiver>,
    /// Contents that the gate rolled back, with the time until which they are rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_back: Vec<StoredSetBack>,
    /// Trial of a revision, if one is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<StoredTrial>,
    /// Revision that a person kept last in a review, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<StoredReview>,
}

/// A revision that a person kept in a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredReview {
    /// Id of the revision.
    pub revision: RevisionId,
    /// Its number, from 1.
    pub number: u64,
    /// Person who kept it, `person:id`.
    pub by: String,
    /// Time of the decision, RFC 3339 in UTC.
    pub at: String,
}

/// A waiver: one finding that a person accepted in one file of the skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredWaiver {
    /// Identifier, unique within the library.
    pub id: String,
    /// Id of the rule.
    pub rule: String,
    /// Path of the file inside the skill.
    pub path: String,
    /// Digest of the file's bytes, `sha256:…`.
    pub content: String,
    /// True if the file was executable.
    #[serde(default)]
    pub executable: bool,
    /// Severity of the finding at that time.
    pub severity: Severity,
    /// Reason why the finding is acceptable.
    pub reason: String,
    /// Person who accepted it, `person:id`.
    pub by: String,
    /// Time of acceptance, RFC 3339 in UTC.
    pub created: String,
    /// Time from which the finding counts again, RFC 3339 in UTC.
    pub until: String,
}

impl StoredWaiver {
    /// Returns the waiver for the scanner; `None` if it has expired or a part of it cannot be parsed.
    pub fn at(&self, now: Timestamp) -> Option<Waiver> {
        let until: Timestamp = self.until.parse().ok()?;
        (now < until).then_some(())?;
        self.waiver()
    }

    /// Returns the waiver regardless of its expiry; `None` if a part of it cannot be parsed.
    fn waiver(&self) -> Option<Waiver> {
        Some(Waiver {
            rule: self.rule.clone(),
            path: SkillPath::parse(&self.path).ok()?,
            content: self.content.parse().ok()?,
            executable: self.executable,
            severity: self.severity,
            acceptance: Acceptance {
                id: self.id.clone(),
                by: self.by.clone(),
                reason: self.reason.clone(),
                until: self.until.clone(),
            },
        })
    }
}

impl SkillState {
    /// Returns the waivers that are active at a moment.
    pub fn waivers_at(&self, now: Timestamp) -> Waivers {
        Waivers::new(self.waivers.iter().filter_map(|stored| stored.at(now)))
    }

    /// Returns the files of a bundle with an expired or revoked waiver. Findings in them count as new.
    pub(crate) fn lapsed_files(&self, files: &Bundle, now: Timestamp) -> BTreeSet<SkillPath> {
        let ended = self.waivers.iter().filter(|stored| stored.at(now).is_none());
        let lapsed = ended.chain(&self.withdrawn_waivers).filter_map(StoredWaiver::waiver);
        lapsed.filter(|waiver| waiver.is_for(files)).map(|waiver| waiver.path).collect()
    }

    /// Returns whether any waiver has expired or was revoked.
    pub(crate) fn has_lapsed_waiver(&self, now: Timestamp) -> bool {
        !self.withdrawn_waivers.is_empty() || self.waivers.iter().any(|stored| stored.at(now).is_none())
    }

    /// Revokes a waiver by its id.
    pub fn withdraw_waiver(&mut self, id: &str) {
        let withdrawn = self.waivers.extract_if(.., |waiver| waiver.id == id);
        self.withdrawn_waivers.extend(withdrawn);
    }

    /// Adds waivers, replacing earlier ones for the same findings. Only the newest `kept` of the expired and of the
    /// revoked waivers remain.
    pub fn add_waivers(&mut self, new: &[StoredWaiver], now: Timestamp, kept: usize) {
        let is_replaced = |other: &StoredWaiver| new.iter().any(|new| new.id == other.id);
        self.waivers.retain(|other| !is_replaced(other));
        self.withdrawn_waivers.retain(|other| !is_replaced(other));
        let ended = self.waivers.iter().filter(|waiver| waiver.at(now).is_none()).count();
        let mut surplus = ended.saturating_sub(kept);
        self.waivers.retain(|waiver| {
            let is_surplus = surplus > 0 && waiver.at(now).is_none();
            surplus -= usize::from(is_surplus);
            !is_surplus
        });
        let surplus = self.withdrawn_waivers.len().saturating_sub(kept);
        self.withdrawn_waivers.drain(..surplus);
        self.waivers.extend(new.iter().cloned());
    }

    /// Enables or disables the skill for an actor. A disabled state keeps the last person who disabled it.
    pub fn set_enabled(&mut self, enabled: bool, actor: &Actor) {
        if !enabled {
            self.note_hidden(actor);
        }
        self.enabled = enabled;
        self.note_shown();
    }

    /// Records the actor who hides it. An agent never replaces a person.
    pub fn note_hidden(&mut self, actor: &Actor) {
        if !self.is_hidden_by_person() {
            self.disabled_by = Some(actor.to_string());
        }
    }

    /// Clears the record of that actor once nothing hides the skill.
    pub(crate) fn note_shown(&mut self) {
        if self.enabled && self.hidden_in.is_empty() {
            self.disabled_by = None;
        }
    }

    /// Returns whether a person disabled the skill or hid it from an agent. A missing record counts as a person.
    pub fn is_hidden_by_person(&self) -> bool {
        let by = self.disabled_by.as_deref().map(str::parse::<Actor>);
        let is_person = !matches!(by, Some(Ok(Actor { kind: ActorKind::Agent | ActorKind::Optimizer, .. })));
        is_person && (!self.enabled || !self.hidden_in.is_empty())
    }

    /// Returns whether this state shows agents something that was hidden before.
    pub(crate) fn shows_more_than(&self, before: &Self) -> bool {
        self.enabled && !before.enabled || before.hidden_in.iter().any(|folder| !self.hidden_in.contains(folder))
    }
}

impl Default for SkillState {
    fn default() -> Self {
        Self {
            enabled: true,
            pinned: false,
            placed: Vec::new(),
            hidden_in: Vec::new(),
            disabled_by: None,
            waivers: Vec::new(),
            withdrawn_waivers: Vec::new(),
            set_back: Vec::new(),
            trial: None,
            reviewed: None,
        }
    }
}

fn yes() -> bool {
    true
}

/// Reason why the state cannot be used. A damaged or missing state is never treated as empty.
#[derive(Debug, Error)]
pub enum StateError {
    /// A state existed, and its file is missing.
    #[error("state.toml is missing, and with it the settings of all skills: pins, waivers, disabled skills")]
    Gone,
    /// The content is not in the format of this version.
    #[error("state.toml is damaged: {0}")]
    Damaged(String),
    /// A later version wrote it.
    #[error(
        "state.toml has format {0}, but this version of skillhub reads only {FORMAT}; use the version that wrote it"
    )]
    Format(u32),
    /// The new content would exceed the limits and could not be read again.
    #[error("cannot write state.toml: {0}")]
    TooLarge(String),
    /// Any other I/O error.
    #[error("cannot use state.toml: {0}")]
    Io(#[from] io::Error),
}

impl State {
    fn of_skills(skills: BTreeMap<String, SkillState>) -> Self {
        let pinned = skills.iter().filter(|(_, state)| state.pinned);
        let pinned = pinned.map(|(name, _)| (name.to_lowercase(), name.clone())).collect();
        Self { skills: Arc::new(skills), pinned: Arc::new(pinned) }
    }

    /// Returns the pinned skill with a name in any capitalisation, since such names are the same folder on a
    /// case-insensitive file system.
    pub fn pinned_as(&self, skill: &SkillName) -> Option<&str> {
        self.pinned.get(&skill.as_str().to_lowercase()).map(String::as_str)
    }

    /// Returns the settings of a skill; the defaults if it has no entry.
    pub fn of(&self, skill: &SkillName) -> SkillState {
        self.skills.get(skill.as_str()).cloned().unwrap_or_default()
    }

    /// Returns the skills with an entry, and their settings.
    pub fn skills(&self) -> impl Iterator<Item = (&str, &SkillState)> {
        self.skills.iter().map(|(skill, state)| (skill.as_str(), state))
    }

    /// Sets the settings of a skill. Default settings remove its entry.
    pub fn set(&mut self, skill: &SkillName, state: SkillState) {
        let pinned = Arc::make_mut(&mut self.pinned);
        pinned.retain(|_, name| name != skill.as_str());
        if state.pinned {
            pinned.insert(skill.as_str().to_lowercase(), skill.to_string());
        }
        let skills = Arc::make_mut(&mut self.skills);
        if state == SkillState::default() {
            skills.remove(skill.as_str());
        } else {
            skills.insert(skill.as_str().to_owned(), state);
        }
    }

    pub(crate) fn read(dir: &Dir) -> Result<Self, StateError> {
        Self::text(dir)?.map_or_else(|| Ok(Self::default()), |text| Self::parse(&text))
    }

    /// Reads the file; `None` if nothing was ever set.
    pub(crate) fn text(dir: &Dir) -> Result<Option<String>, StateError> {
        match read_bounded(dir, FILE, Limits::default().state_bytes)? {
            Some(bytes) => Ok(Some(String::from_utf8(bytes).map_err(|error| StateError::Damaged(error.to_string()))?)),
            None if dir.symlink_metadata(WRITTEN).is_ok() => Err(StateError::Gone),
            None => Ok(None),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, StateError> {
        let (mut format, mut skills) = (None, BTreeMap::new());
        for part in parts(text).map_err(StateError::Damaged)? {
            let part: Part = read_part(part)?;
            format = format.or(part.format);
            let twice =
                part.skills.into_iter().find_map(|(name, state)| skills.insert(name.clone(), state).map(|_| name));
            if let Some(name) = twice {
                return Err(StateError::Damaged(format!("{name} is listed twice")));
            }
            check_number(skills.len()).map_err(StateError::Damaged)?;
        }
        match format {
            Some(FORMAT) => Ok(Self::of_skills(skills)),
            Some(other) => Err(StateError::Format(other)),
            None => Err(StateError::Damaged("it has no `format`".to_owned())),
        }
    }

    /// Writes the marker if a state exists, so that its loss is detected.
    pub(crate) fn note_written(dir: &Dir) -> io::Result<()> {
        if dir.symlink_metadata(WRITTEN).is_ok() || dir.symlink_metadata(FILE).is_err() {
            return Ok(());
        }
        write_atomically(dir, WRITTEN, b"1\n", Durability::Durable)
    }

    /// Writes the state over the file, preserving fields unknown to this version.
    pub(crate) fn write(&self, dir: &LockedDir) -> Result<(), StateError> {
        let old = String::from_utf8(read_bounded(dir, FILE, Limits::default().state_bytes)?.unwrap_or_default())
            .map_err(|error| StateError::Damaged(error.to_string()))?;
        let (mut others, mut unknown) = unknown_of(&old)?;
        others.insert("format".to_owned(), Value::Integer(FORMAT.into()));
        let mut text = text_of(&others)?;
        let names: BTreeSet<String> = self.skills.keys().chain(unknown.keys()).cloned().collect();
        for name in names {
            let known = self.skills.get(&name).map(Table::try_from).transpose();
            let mut entry = known.map_err(|error| StateError::Damaged(error.to_string()))?.unwrap_or_default();
            entry.extend(unknown.remove(&name).unwrap_or_default());
            let skills = Table::from_iter([(name, Value::Table(entry))]);
            text.push('\n');
            text.push_str(&text_of(&Table::from_iter([("skills".to_owned(), Value::Table(skills))]))?);
        }
        self.check_readable(&text).map_err(StateError::TooLarge)?;
        Ok(write_atomically(dir, FILE, text.as_bytes(), Durability::Durable)?)
    }

    fn check_readable(&self, text: &str) -> Result<(), String> {
        let limit = Limits::default().state_bytes;
        if text.len() as u64 > limit {
            return Err(format!("it would have {} bytes, but the limit is {limit}", text.len()));
        }
        check_number(self.skills.len())?;
        parts(text).map(drop)
    }
}

fn check_number(skills: usize) -> Result<(), String> {
    let limit = Limits::default().state_skills;
    if skills > limit { Err(format!("it has {skills} skills, but the limit is {limit}")) } else { Ok(()) }
}

fn read_part<T: DeserializeOwned>(part: &str) -> Result<T, StateError> {
    toml::from_str(part).map_err(|error| StateError::Damaged(error.message().to_owned()))
}

fn text_of(table: &Table) -> Result<String, StateError> {
    toml::to_string(table).map_err(|error| StateError::Damaged(error.to_string()))
}

/// Returns the unknown fields of a text: those outside of skills, and those of skills' entries.
fn unknown_of(text: &str) -> Result<(Table, BTreeMap<String, Table>), StateError> {
    let (mut others, mut of_skills) = (Table::new(), BTreeMap::new());
    for part in parts(text).map_err(StateError::Damaged)? {
        let mut table: Table = read_part(part)?;
        let skills = table.remove("skills").and_then(|skills| skills.try_into::<Table>().ok()).unwrap_or_default();
        for (name, entry) in skills {
            let Value::Table(mut entry) = entry else { continue };
            entry.retain(|key, _| !KNOWN.contains(&key));
            if !entry.is_empty() {
                of_skills.insert(name, entry);
            }
        }
        others.extend(table);
    }
    Ok((others, of_skills))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(temp: &tempfile::TempDir) -> LockedDir {
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        LockedDir::acquire(dir, std::time::Duration::ZERO).unwrap()
    }

    #[test]
    fn damaged_state_never_reads_as_empty() {
        let temp = tempfile::tempdir().unwrap();
        let dir = locked(&temp);
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
    fn unknown_fields_survive_a_write() {
        let temp = tempfile::tempdir().unwrap();
        let dir = locked(&temp);
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
    fn large_state_is_read_in_parts() {
        let temp = tempfile::tempdir().unwrap();
        let dir = locked(&temp);
        let name = |at: usize| SkillName::parse(&format!("s-{at}")).unwrap();
        let mut state = State::default();
        for at in 0..2_000 {
            let placed = vec![PathBuf::from(format!("/home/ann/projects/some/.claude/skills/s-{at}"))];
            state.set(&name(at), SkillState { placed, ..SkillState::default() });
        }
        state.write(&dir).unwrap();
        let text = dir.read_to_string(FILE).unwrap();
        assert!(parts(&text).unwrap().len() > 2);
        assert_eq!(State::read(&dir).unwrap(), state);
        dir.write(FILE, format!("{text}later = 1\n")).unwrap();
        state.set(&name(7), SkillState::default());
        state.write(&dir).unwrap();
        assert_eq!(State::read(&dir).unwrap(), state);
        assert!(dir.read_to_string(FILE).unwrap().contains("\nlater = 1\n"), "what is not known stays");
        dir.write(FILE, format!("{text}{}", text.trim_start_matches("format = 1"))).unwrap();
        assert!(State::read(&dir).unwrap_err().to_string().contains("s-0 is listed twice"));
    }

    #[test]
    fn oversized_state_is_not_written() {
        let temp = tempfile::tempdir().unwrap();
        let dir = locked(&temp);
        let limits = Limits::default();
        let pdf = SkillName::parse("pdf").unwrap();
        let mut state = State::default();
        state.set(&pdf, SkillState { placed: vec![PathBuf::from("/x".repeat(5 << 20))], ..SkillState::default() });
        let refused = state.write(&dir).unwrap_err().to_string();
        assert!(refused.contains(&format!("the limit is {}", limits.state_bytes)), "{refused}");
        state.set(&pdf, SkillState { placed: vec![PathBuf::new(); 40_000], ..SkillState::default() });
        assert!(state.write(&dir).unwrap_err().to_string().contains("too many values"));
        let pinned = SkillState { pinned: true, ..SkillState::default() };
        let many = (0..=limits.state_skills).map(|at| (format!("s-{at}"), pinned.clone())).collect();
        let refused = State::of_skills(many).write(&dir).unwrap_err().to_string();
        assert!(refused.contains(&format!("the limit is {}", limits.state_skills)), "{refused}");
        assert!(dir.symlink_metadata(FILE).is_err(), "nothing was written");
    }

    #[test]
    fn first_state_format_is_read() {
        let state = State::parse("format = 1\n[skills.pdf]\nenabled = false\nlater = 1\n").unwrap();
        assert_eq!(state.of(&SkillName::parse("pdf").unwrap()), SkillState { enabled: false, ..SkillState::default() });
    }

    #[test]
    fn waiver_holds_until_its_end() {
        let stored = StoredWaiver {
            id: "w1".to_owned(),
            rule: "remote-pipe-to-shell".to_owned(),
            path: "scripts/a.sh".to_owned(),
            content: skill::Digest::of_bytes(b"x").to_string(),
            executable: false,
            severity: Severity::High,
            reason: "ours".to_owned(),
            by: "person:ann".to_owned(),
            created: "2026-01-01T00:00:00Z".to_owned(),
            until: "2026-02-01T00:00:00Z".to_owned(),
        };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert!(stored.at(at("2026-01-31T23:59:59Z")).is_some());
        assert!(stored.at(at("2026-02-01T00:00:00Z")).is_none());
        for damaged in [
            StoredWaiver { until: "never".to_owned(), ..stored.clone() },
            StoredWaiver { path: "../a.sh".to_owned(), ..stored.clone() },
            StoredWaiver { content: "sha256:".to_owned(), ..stored.clone() },
        ] {
            assert!(damaged.at(at("2026-01-15T00:00:00Z")).is_none(), "{damaged:?}");
        }
        let temp = tempfile::tempdir().unwrap();
        let dir = locked(&temp);
        let name = SkillName::parse("pdf").unwrap();
        let mut state = State::default();
        state.set(&name, SkillState { waivers: vec![stored.clone()], ..SkillState::default() });
        state.write(&dir).unwrap();
        assert_eq!(State::read(&dir).unwrap().of(&name).waivers, [stored]);
        state.set(&name, SkillState::default());
        state.write(&dir).unwrap();
        assert!(State::read(&dir).unwrap().of(&name).waivers.is_empty());
    }
}
