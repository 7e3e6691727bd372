//! [`LockedWaiver`]: a finding that a person accepted, as the lock file lists it.

use std::fmt;

use library::{Library, LibraryError, StoredWaiver};
use skill::SkillName;
use toml::{Table, Value};

/// A waiver as the lock file lists it. It informs readers of a project and has no effect: cloning a project does not
/// apply anybody's waivers, and each person decides for themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedWaiver {
    /// Id of the rule.
    pub rule: String,
    /// Path of the file within the skill.
    pub path: String,
    /// Person who accepted it, as `person:id`.
    pub by: String,
    /// Expiry time, RFC 3339 in UTC.
    pub until: String,
    /// Reason given by the person.
    pub reason: String,
}

impl LockedWaiver {
    /// Returns the waivers in effect for the newest revision of a skill.
    ///
    /// # Errors
    /// The state or the history cannot be read.
    pub fn of(library: &Library, name: &SkillName) -> Result<Vec<Self>, LibraryError> {
        Ok(library.waivers_of_head(name)?.into_iter().map(Self::from).collect())
    }

    /// Describes a waiver of another home, as a sentence.
    pub fn not_ours(&self) -> String {
        format!("{self}; the lock file only reports this: each home has its own waivers")
    }

    /// Parses the list of an entry.
    pub(super) fn read(value: Option<Value>) -> Result<Vec<Self>, String> {
        let bad = || "`waivers` is not a list of tables".to_owned();
        let Some(value) = value else { return Ok(Vec::new()) };
        let Value::Array(tables) = value else { return Err(bad()) };
        let one = |value: Value| {
            let Value::Table(table) = value else { return Err(bad()) };
            let word = |key: &str| table.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (rule, path) = (word("rule"), word("path"));
            Ok(Self { rule, path, by: word("by"), until: word("until"), reason: word("reason") })
        };
        tables.into_iter().map(one).collect()
    }

    /// Formats the list as one line of an entry.
    pub(super) fn write(waivers: &[Self]) -> Value {
        let one = |waiver: &Self| {
            let Self { rule, path, by, until, reason } = waiver;
            let fields = [("rule", rule), ("path", path), ("by", by), ("until", until), ("reason", reason)];
            let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value.as_str())));
            Value::Table(fields.collect::<Table>())
        };
        Value::Array(waivers.iter().map(one).collect())
    }
}

impl fmt::Display for LockedWaiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, path, by, until, reason } = self;
        write!(f, "{rule} in {path} is accepted by {by} until {until}: {reason}")
    }
}

impl From<StoredWaiver> for LockedWaiver {
    fn from(stored: StoredWaiver) -> Self {
        let StoredWaiver { rule, path, by, until, reason, .. } = stored;
        Self { rule, path, by, until, reason }
    }
}
