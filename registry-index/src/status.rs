//! [`Notice`], [`Deprecation`]: the mutable object `status` of an entry, which older readers ignore.
//!
//! Unknown fields of the object are preserved by every change.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{Entry, LineError, as_text, entry::STATUS};

const QUARANTINED: &str = "quarantined";
const HELD: &str = "held";
const YANKED_REASON: &str = "yanked_reason";
const DEPRECATED: &str = "deprecated";

/// Reason and start of a quarantine or hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Public reason, for users who have the release installed.
    #[serde(default)]
    pub reason: String,
    /// Time of the start.
    #[serde(with = "as_text")]
    pub at: Timestamp,
}

/// Advice about a deprecated release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deprecation {
    /// Full name `owner/name` of the replacement, if there is one.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// Reason for the deprecation; may be empty.
    #[serde(default)]
    pub reason: String,
}

impl fmt::Display for Deprecation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deprecated")?;
        if let Some(replacement) = &self.replacement {
            write!(f, ", use {replacement} instead")?;
        }
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}

impl Entry {
    /// Returns the quarantine of the release. An unreadable value counts as a quarantine, because a later format may
    /// differ.
    pub fn quarantined(&self) -> Option<Notice> {
        self.notice(QUARANTINED)
    }

    /// Returns the hold on the release. A release is on hold if its content is that of a release under quarantine and a
    /// moderator has not decided about it yet.
    pub fn held(&self) -> Option<Notice> {
        self.notice(HELD)
    }

    /// Returns the publisher's reason for yanking the release.
    pub fn yanked_reason(&self) -> Option<&str> {
        self.word(YANKED_REASON)?.as_str().filter(|reason| self.yanked && !reason.is_empty())
    }

    /// Returns the advice about a deprecated release.
    pub fn deprecated(&self) -> Option<Deprecation> {
        self.read(DEPRECATED)
    }

    /// Returns whether new installs may choose the release without naming its version.
    pub fn is_offered(&self) -> bool {
        self.withdrawn.is_none() && !self.yanked && self.quarantined().is_none() && self.held().is_none()
    }

    /// Describes a yanked release as a sentence without its name.
    pub fn yank_advice(&self) -> String {
        match self.yanked_reason() {
            Some(reason) => format!("was yanked: {reason}"),
            None => "was yanked by its publisher".to_owned(),
        }
    }

    /// Returns the entry with or without a quarantine.
    ///
    /// # Errors
    /// [`LineError::Json`] if the reason cannot be serialized.
    pub fn with_quarantined(self, quarantine: Option<&Notice>) -> Result<Self, LineError> {
        self.with(QUARANTINED, quarantine)
    }

    /// Returns the entry with or without a hold.
    ///
    /// # Errors
    /// [`LineError::Json`] if the reason cannot be serialized.
    pub fn with_held(self, hold: Option<&Notice>) -> Result<Self, LineError> {
        self.with(HELD, hold)
    }

    /// Returns the entry with or without a reason for yanking it.
    ///
    /// # Errors
    /// [`LineError::Json`] if the reason cannot be serialized.
    pub fn with_yanked_reason(self, reason: Option<&str>) -> Result<Self, LineError> {
        self.with(YANKED_REASON, reason)
    }

    /// Returns the entry with or without a deprecation.
    ///
    /// # Errors
    /// [`LineError::Json`] if the advice cannot be serialized.
    pub fn with_deprecated(self, deprecation: Option<&Deprecation>) -> Result<Self, LineError> {
        self.with(DEPRECATED, deprecation)
    }

    fn word(&self, key: &str) -> Option<&Value> {
        self.raw.get(STATUS)?.get(key).filter(|value| !value.is_null())
    }

    fn read<T: DeserializeOwned + Default>(&self, key: &str) -> Option<T> {
        self.word(key).map(|value| T::deserialize(value).unwrap_or_default())
    }

    fn notice(&self, key: &str) -> Option<Notice> {
        self.read(key)
    }

    fn with<T: Serialize>(mut self, key: &str, value: Option<T>) -> Result<Self, LineError> {
        let mut status: Map<String, Value> =
            self.raw.get(STATUS).and_then(Value::as_object).cloned().unwrap_or_default();
        match value {
            Some(value) => drop(status.insert(key.to_owned(), serde_json::to_value(value)?)),
            None => drop(status.shift_remove(key)),
        }
        if status.is_empty() {
            self.raw.shift_remove(STATUS);
        } else {
            self.raw.insert(STATUS.to_owned(), Value::Object(status));
        }
        Ok(self)
    }
}

impl Default for Notice {
    fn default() -> Self {
        Self { reason: "the registry gave no reason".to_owned(), at: Timestamp::UNIX_EPOCH }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::OLD_LINE;

    fn line(status: &str) -> Entry {
        Entry::parse(&OLD_LINE.replace(r#""yanked":false"#, &format!(r#""yanked":true,"status":{status}"#))).unwrap()
    }

    #[test]
    fn quarantine_and_hold_are_flags() {
        let plain = Entry::parse(OLD_LINE).unwrap();
        assert!(plain.quarantined().is_none() && plain.held().is_none() && plain.is_offered());
        let notice = Notice { reason: "it may be bad".to_owned(), at: Timestamp::UNIX_EPOCH };
        let with = plain.clone().with_quarantined(Some(&notice)).unwrap();
        assert_eq!(with.quarantined(), Some(notice.clone()));
        assert!(with.same_but_flags(&plain) && with != plain && !with.is_offered());
        assert_eq!(with.with_quarantined(None).unwrap().to_line(), plain.to_line());
        let held = plain.clone().with_held(Some(&notice)).unwrap();
        assert!(held.held() == Some(notice) && held.quarantined().is_none() && !held.is_offered() && !held.yanked);
        assert_eq!(held.with_held(None).unwrap().to_line(), plain.to_line());
    }

    #[test]
    fn status_fields_are_preserved() {
        let text = r#"{"yanked_reason":"it deletes","deprecated":{"use":"b/c","reason":"old"},"later":[1]}"#;
        let entry = line(text);
        assert_eq!(entry.yanked_reason(), Some("it deletes"));
        assert_eq!(entry.deprecated().unwrap().replacement.as_deref(), Some("b/c"));
        let notice = Notice { reason: "bad".to_owned(), at: Timestamp::UNIX_EPOCH };
        let changed = entry.clone().with_quarantined(Some(&notice)).unwrap().with_quarantined(None).unwrap();
        assert_eq!(changed.to_line(), entry.to_line());
        let kept = entry.clone().with_deprecated(None).unwrap();
        assert!(kept.deprecated().is_none() && kept.yanked_reason() == Some("it deletes"));
        assert_eq!(kept.with_deprecated(entry.deprecated().as_ref()).unwrap().deprecated(), entry.deprecated());
        let back = entry.with_yanked(false).with_yanked_reason(None).unwrap();
        assert!(back.yanked_reason().is_none() && back.to_line().contains(r#""later":[1]"#));
    }

    #[test]
    fn unreadable_quarantine_still_counts() {
        for status in [r#"{"quarantined":true}"#, r#"{"quarantined":{"reason":"x","at":7}}"#] {
            assert!(line(status).quarantined().is_some(), "{status}");
        }
        assert!(line(r#"{"quarantined":null}"#).quarantined().is_none());
    }
}
