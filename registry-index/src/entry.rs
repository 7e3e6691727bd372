//! [`Entry`]: one line of the index, which is one release.

use std::{fmt, ops::Deref};

use jiff::Timestamp;
use semver::Version;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use skill::{Digest, QualifiedName};
use thiserror::Error;

use crate::{as_text, status::STATUS};

/// Bytes of a line: all that a frontmatter can hold, escaped, and a signature, several times over.
const LINE_BYTES: usize = 1 << 20;

/// One release, as its line in the index has it.
///
/// Read its [`Fields`] through the entry (`entry.version`). The line as it was read is kept besides,
/// so that fields which this version does not know survive when a flag is set.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    fields: Fields,
    pub(crate) raw: Map<String, Value>,
}

/// The fields of a line of version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fields {
    /// The version of the line's own format: [`Entry::V`].
    pub v: u32,
    /// `owner/name`.
    #[serde(with = "as_text")]
    pub name: QualifiedName,
    /// The release's version.
    pub version: Version,
    /// The digest of the skill's files, whatever they are packed in.
    #[serde(with = "as_text")]
    pub digest: Digest,
    /// The sha256 of the `.skill` file.
    #[serde(with = "as_text")]
    pub archive: Digest,
    /// Bytes of the `.skill` file.
    pub size: u64,
    /// Number of files in the skill.
    pub files: u64,
    /// The frontmatter's description.
    pub description: String,
    /// The frontmatter's licence.
    #[serde(default)]
    pub license: Option<String>,
    /// Words to find the skill by.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Other skills that this one needs, each as `owner/name` or `owner/name@range`.
    #[serde(default)]
    pub requires: Vec<String>,
    /// What the scanner of the registry said when the release came in: `allow` or `warn`.
    pub verdict: String,
    /// The account that published the release.
    pub publisher: String,
    /// When the release came in.
    #[serde(with = "as_text")]
    pub published_at: Timestamp,
    /// The signature over name, version and digest, as `ssh-keygen -Y sign` writes it; `None` when it is not signed.
    #[serde(default)]
    pub signature: Option<String>,
    /// The release of another owner that this one was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// Whether the release is kept out of new installs. It can still be installed by its exact version.
    #[serde(default)]
    pub yanked: bool,
    /// Why the release has lost its archive; `None` as long as it has one.
    #[serde(default)]
    pub withdrawn: Option<Withdrawal>,
}

/// What a release of another owner was made from, as its publisher says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// `owner/name`, or the bare name of a skill from a source without owners.
    pub name: String,
    /// The version, where that source has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit of a git source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of what it was.
    pub digest: String,
    /// Where that is, unless it is a place of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How runs with the release went before it was published, as its publisher says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<OutcomeCounts>,
    /// How it did beside what it was made from, on the cases of that, as its publisher says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evals: Option<EvalCounts>,
}

/// Runs of an agent by how they went. No run is named; rates follow from the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCounts {
    /// All.
    pub runs: u32,
    /// Those that succeeded.
    pub successes: u32,
    /// Those that failed.
    pub failures: u32,
    /// Those of which nobody knows.
    pub unknown: u32,
}

/// Pairs of runs of cases by which side did better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalCounts {
    /// The cases.
    pub cases: u32,
    /// Pairs in which the release held more assertions.
    pub wins: u32,
    /// Pairs in which what it was made from held more.
    pub losses: u32,
    /// Pairs that do not differ.
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

/// Why and when a release lost its archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// The reason, for the people who had it installed.
    pub reason: String,
    /// When.
    #[serde(with = "as_text")]
    pub at: Timestamp,
}

/// Why a line is no [`Entry`].
#[derive(Debug, Error)]
pub enum LineError {
    /// No JSON, or a known field of the wrong kind.
    #[error("the line is not readable: {0}")]
    Json(#[from] serde_json::Error),
    /// A version of the line's format that a later skillhub wrote.
    #[error("the line has the unknown format v{0}")]
    UnknownFormat(u64),
    /// Longer than any release needs.
    #[error("the line has {0} bytes, the limit is {LINE_BYTES}")]
    TooLong(usize),
    /// The line stands in the file of another skill.
    #[error("the line is of {0}")]
    OtherSkill(QualifiedName),
}

impl Entry {
    /// The version of the line's format that this crate writes.
    pub const V: u32 = 1;

    /// Makes the line of a new release.
    ///
    /// # Errors
    /// [`LineError::Json`] if the fields cannot be written as JSON.
    pub fn new(fields: Fields) -> Result<Self, LineError> {
        let raw = match serde_json::to_value(&fields)? {
            Value::Object(raw) => raw,
            _ => Map::new(),
        };
        Ok(Self { fields, raw })
    }

    /// Reads one line.
    ///
    /// # Errors
    /// [`LineError`] when it is no line, or one of a later format.
    pub fn parse(line: &str) -> Result<Self, LineError> {
        if line.len() > LINE_BYTES {
            return Err(LineError::TooLong(line.len()));
        }
        Self::from_map(serde_json::from_str(line)?)
    }

    /// The line without its line end.
    #[must_use]
    pub fn to_line(&self) -> String {
        Value::Object(self.raw.clone()).to_string()
    }

    /// The JSON object of the line, unknown fields included, in the order of the line.
    #[must_use]
    pub fn raw(&self) -> &Map<String, Value> {
        &self.raw
    }

    /// This release with the flag `yanked` set as given.
    #[must_use]
    pub fn with_yanked(mut self, yanked: bool) -> Self {
        self.fields.yanked = yanked;
        self.raw.insert("yanked".to_owned(), Value::Bool(yanked));
        self
    }

    /// This release with the flag `withdrawn` set.
    ///
    /// # Errors
    /// [`LineError::Json`] if the reason cannot be written as JSON.
    pub fn with_withdrawn(mut self, withdrawal: Withdrawal) -> Result<Self, LineError> {
        self.raw.insert("withdrawn".to_owned(), serde_json::to_value(&withdrawal)?);
        self.fields.withdrawn = Some(withdrawal);
        Ok(self)
    }

    /// Whether both are the same line but for the flags.
    #[must_use]
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

    /// A line as the first released version wrote it, byte for byte, with a field of a later one.
    pub const OLD_LINE: &str = concat!(
        r#"{"v":1,"name":"acme/pdf","version":"1.2.0","#,
        r#""digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111","#,
        r#""archive":"sha256:2222222222222222222222222222222222222222222222222222222222222222","#,
        r#""size":5120,"files":3,"description":"Fills PDF forms.","license":"MIT","keywords":["pdf"],"requires":[],"#,
        r#""verdict":"allow","publisher":"acme","published_at":"2026-11-02T08:30:00Z","signature":null,"#,
        r#""stars":{"of":[5]},"yanked":false,"withdrawn":null}"#
    );

    #[test]
    fn a_line_of_an_older_version_reads_and_writes_back_byte_for_byte() {
        let entry = Entry::parse(OLD_LINE).unwrap();
        assert_eq!(entry.name.to_string(), "acme/pdf");
        assert_eq!((entry.size, entry.files, entry.yanked), (5120, 3, false));
        assert_eq!(entry.to_line(), OLD_LINE);
    }

    #[test]
    fn a_new_line_has_exactly_the_fields_of_the_contract_in_order() {
        let entry = Entry::new(Entry::parse(OLD_LINE).unwrap().fields).unwrap();
        let keys: Vec<_> = entry.raw().keys().map(String::as_str).collect();
        let contract = "v name version digest archive size files description license keywords requires verdict \
                        publisher published_at signature yanked withdrawn";
        assert_eq!(keys, contract.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_flag_changes_in_place_and_unknown_fields_stay() {
        let yanked = Entry::parse(OLD_LINE).unwrap().with_yanked(true);
        assert_eq!(yanked.to_line(), OLD_LINE.replace(r#""yanked":false"#, r#""yanked":true"#));
        let at = "2026-11-03T00:00:00Z".parse().unwrap();
        let gone = yanked.clone().with_withdrawn(Withdrawal { reason: "a secret".to_owned(), at }).unwrap();
        assert!(gone.to_line().contains(r#""withdrawn":{"reason":"a secret","at":"2026-11-03T00:00:00Z"}"#));
        assert_eq!(Entry::parse(&gone.to_line()).unwrap(), gone);
        assert!(gone.same_but_flags(&yanked) && gone != yanked);
    }

    #[test]
    fn later_formats_are_told_from_damage() {
        assert!(matches!(Entry::parse(r#"{"v":2,"name":7}"#), Err(LineError::UnknownFormat(2))));
        for bad in
            ["", "{", "[]", "{}", r#"{"v":1}"#, &OLD_LINE.replace("1.2.0", "1.2"), &OLD_LINE.replace("acme/", "A/")]
        {
            assert!(matches!(Entry::parse(bad), Err(LineError::Json(_))), "{bad}");
        }
    }
}
