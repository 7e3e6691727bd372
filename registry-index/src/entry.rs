//! [`Entry`]: one line of the index, which describes one release.

use std::{fmt, ops::Deref};

use jiff::Timestamp;
use semver::Version;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use skill::{Digest, QualifiedName};
use thiserror::Error;

use crate::as_text;

/// Maximum length of a line in bytes: several times the size of the largest frontmatter, escaped, and a signature.
const LINE_BYTES: usize = 1 << 20;

/// Key of the mutable object in an entry.
pub(crate) const STATUS: &str = "status";

/// One release in the index.
///
/// Its [`Fields`] are accessible through the entry (`entry.version`). The original JSON object is kept too, so that
/// fields of later versions are preserved when a flag is set.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    fields: Fields,
    pub(crate) raw: Map<String, Value>,
}

/// Fields of an entry in version 1 of the format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fields {
    /// Format version of the entry: [`Entry::V`].
    pub v: u32,
    /// Full name of the skill, `owner/name`.
    #[serde(with = "as_text")]
    pub name: QualifiedName,
    /// Version of the release.
    pub version: Version,
    /// Digest of the skill's files, independent of the archive.
    #[serde(with = "as_text")]
    pub digest: Digest,
    /// SHA-256 hash of the `.skill` file.
    #[serde(with = "as_text")]
    pub archive: Digest,
    /// Size of the `.skill` file in bytes.
    pub size: u64,
    /// Number of files in the skill.
    pub files: u64,
    /// Title from the frontmatter's metadata, in any script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description from the frontmatter; a release must have one.
    pub description: String,
    /// License from the frontmatter.
    pub license: Option<String>,
    /// Keywords from the frontmatter, for searching.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Skills that this one requires, each as `owner/name` or `owner/name@range`.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Verdict of the registry's scanner when the release was published: `allow` or `warn`.
    pub verdict: String,
    /// Account that published the release.
    pub publisher: String,
    /// Time at which the release was published.
    #[serde(with = "as_text")]
    pub published_at: Timestamp,
    /// Signature over name, version and digest, in the format of `ssh-keygen -Y sign`; `None` if it is not signed.
    pub signature: Option<String>,
    /// Release of another owner from which this one was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// Changes in this release, for people: plain text within [`CHANGELOG_CHARS`](crate::CHANGELOG_CHARS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog: Option<String>,
    /// True if new installs do not choose the release. It can still be installed by its exact version.
    #[serde(default)]
    pub yanked: bool,
    /// Reason and time of withdrawal; `None` unless the release was withdrawn and lost its archive.
    pub withdrawn: Option<Withdrawal>,
}

/// The original of a forked release, as declared by its publisher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// Full name `owner/name`, or the bare name of a skill from a source without owners.
    pub name: String,
    /// Version, if that source has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Commit id, for a git source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the original release.
    pub digest: String,
    /// Location of the source, unless it exists on one machine only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Outcomes of runs with the fork before it was published, as declared by its publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<OutcomeCounts>,
    /// Results compared with the original on the original's evaluation cases, as declared by its publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evals: Option<EvalCounts>,
}

/// Number of agent runs by outcome. Individual runs are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCounts {
    /// Total number of runs.
    pub runs: u32,
    /// Number of runs that succeeded.
    pub successes: u32,
    /// Number of runs that failed.
    pub failures: u32,
    /// Number of runs with an unknown outcome.
    pub unknown: u32,
}

/// Number of paired evaluation runs by the better side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalCounts {
    /// Number of evaluation cases.
    pub cases: u32,
    /// Pairs in which the fork satisfied more assertions.
    pub wins: u32,
    /// Pairs in which the original satisfied more assertions.
    pub losses: u32,
    /// Pairs with equal results.
    pub ties: u32,
}

impl fmt::Display for ForkedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |commit: &String| commit.get(..12).unwrap_or(commit).to_owned();
        let release = self.version.clone().or_else(|| self.commit.as_ref().map(short));
        match release {
            Some(release) => write!(f, "{} {release}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Reason and time of a withdrawal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// Public reason, for users who have the release installed.
    pub reason: String,
    /// Time of the withdrawal.
    #[serde(with = "as_text")]
    pub at: Timestamp,
}

/// Reasons why a line is not a valid [`Entry`].
#[derive(Debug, Error)]
pub enum LineError {
    /// The line is not JSON, or a known field has the wrong type.
    #[error("cannot read the entry: {0}")]
    Json(#[from] serde_json::Error),
    /// The entry has a format version of a later skillhub.
    #[error("the entry has the unknown format v{0}")]
    UnknownFormat(u64),
    /// The line is longer than any release needs.
    #[error("the entry has {0} bytes, but the limit is {LINE_BYTES}")]
    TooLong(usize),
    /// The line is in the file of another skill.
    #[error("the entry belongs to {0}")]
    OtherSkill(QualifiedName),
}

impl Entry {
    /// Format version of the entries that this crate writes.
    pub const V: u32 = 1;

    /// Creates the entry of a new release.
    ///
    /// # Errors
    /// [`LineError::Json`] if the fields cannot be serialized.
    pub fn new(fields: Fields) -> Result<Self, LineError> {
        let raw = match serde_json::to_value(&fields)? {
            Value::Object(raw) => raw,
            _ => Map::new(),
        };
        Ok(Self { fields, raw })
    }

    /// Parses one line of the index.
    ///
    /// # Errors
    /// [`LineError`] if it is not an entry, or has a later format.
    pub fn parse(line: &str) -> Result<Self, LineError> {
        if line.len() > LINE_BYTES {
            return Err(LineError::TooLong(line.len()));
        }
        Self::from_map(serde_json::from_str(line)?)
    }

    /// Formats the entry as a line, without the line feed.
    pub fn to_line(&self) -> String {
        Value::Object(self.raw.clone()).to_string()
    }

    /// Returns the JSON object of the entry, including unknown fields, in the original order.
    pub fn raw(&self) -> &Map<String, Value> {
        &self.raw
    }

    /// Returns the entry with the `yanked` flag set to this value.
    #[must_use]
    pub fn with_yanked(mut self, yanked: bool) -> Self {
        self.fields.yanked = yanked;
        self.raw.insert("yanked".to_owned(), Value::Bool(yanked));
        self
    }

    /// Returns the entry with the `withdrawn` flag set.
    ///
    /// # Errors
    /// [`LineError::Json`] if the reason cannot be serialized.
    pub fn with_withdrawn(mut self, withdrawal: Withdrawal) -> Result<Self, LineError> {
        self.raw.insert("withdrawn".to_owned(), serde_json::to_value(&withdrawal)?);
        self.fields.withdrawn = Some(withdrawal);
        Ok(self)
    }

    /// Returns the names of the skills that the release requires and that it was forked from.
    pub fn relations(&self) -> impl Iterator<Item = &str> {
        let required = self.fields.requires.iter().filter_map(|text| text.split('@').next());
        required.chain(self.fields.forked_from.as_ref().map(|from| from.name.as_str()))
    }

    /// Returns whether both entries are equal except for their flags.
    pub fn same_but_flags(&self, other: &Self) -> bool {
        without_flags(&self.raw) == without_flags(&other.raw)
    }

    fn from_map(raw: Map<String, Value>) -> Result<Self, LineError> {
        if let Some(v) = raw.get("v").and_then(Value::as_u64).filter(|v| *v != u64::from(Self::V)) {
            return Err(LineError::UnknownFormat(v));
        }
        let fields = Fields::deserialize(&Value::Object(raw.clone()))?;
        Ok(Self { fields, raw })
    }
}

fn without_flags(raw: &Map<String, Value>) -> Map<String, Value> {
    let kept = raw.iter().filter(|(key, _)| !matches!(key.as_str(), "yanked" | "withdrawn" | STATUS));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl Deref for Entry {
    type Target = Fields;
    fn deref(&self) -> &Fields {
        &self.fields
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_map(Map::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A line exactly as the first released version wrote it, with a field of a later version.
    pub const OLD_LINE: &str = concat!(
        r#"{"v":1,"name":"acme/pdf","version":"1.2.0","#,
        r#""digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111","#,
        r#""archive":"sha256:2222222222222222222222222222222222222222222222222222222222222222","#,
        r#""size":5120,"files":3,"description":"Fills PDF forms.","license":"MIT","keywords":["pdf"],"requires":[],"#,
        r#""verdict":"allow","publisher":"acme","published_at":"2026-11-02T08:30:00Z","signature":null,"#,
        r#""stars":{"of":[5]},"yanked":false,"withdrawn":null}"#
    );

    #[test]
    fn older_line_is_preserved_exactly() {
        let entry = Entry::parse(OLD_LINE).unwrap();
        assert_eq!(entry.name.to_string(), "acme/pdf");
        assert_eq!((entry.size, entry.files, entry.yanked), (5120, 3, false));
        assert_eq!(entry.to_line(), OLD_LINE);
    }

    #[test]
    fn new_line_has_the_contract_fields() {
        let entry = Entry::new(Entry::parse(OLD_LINE).unwrap().fields).unwrap();
        let keys: Vec<_> = entry.raw().keys().map(String::as_str).collect();
        let contract = "v name version digest archive size files description license keywords requires verdict \
                        publisher published_at signature yanked withdrawn";
        assert_eq!(keys, contract.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn flag_change_preserves_unknown_fields() {
        let yanked = Entry::parse(OLD_LINE).unwrap().with_yanked(true);
        assert_eq!(yanked.to_line(), OLD_LINE.replace(r#""yanked":false"#, r#""yanked":true"#));
        let at = "2026-11-03T00:00:00Z".parse().unwrap();
        let gone = yanked.clone().with_withdrawn(Withdrawal { reason: "a secret".to_owned(), at }).unwrap();
        assert!(gone.to_line().contains(r#""withdrawn":{"reason":"a secret","at":"2026-11-03T00:00:00Z"}"#));
        assert_eq!(Entry::parse(&gone.to_line()).unwrap(), gone);
        assert!(gone.same_but_flags(&yanked) && gone != yanked);
    }

    #[test]
    fn newer_format_is_not_damage() {
        assert!(matches!(Entry::parse(r#"{"v":2,"name":7}"#), Err(LineError::UnknownFormat(2))));
        for bad in
            ["", "{", "[]", "{}", r#"{"v":1}"#, &OLD_LINE.replace("1.2.0", "1.2"), &OLD_LINE.replace("acme/", "A/")]
        {
            assert!(matches!(Entry::parse(bad), Err(LineError::Json(_))), "{bad}");
        }
    }
}
