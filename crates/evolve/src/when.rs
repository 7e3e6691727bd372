//! [`Timestamp`]s in JSON: RFC 3339 in UTC, at full precision.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Serialises a timestamp as text.
pub(crate) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Parses a timestamp from text.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// Optional timestamps, as text or null.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Error, Serializer, Timestamp};

    /// Serialises a timestamp as text, or null.
    pub(crate) fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.collect_str(time),
            None => serializer.serialize_none(),
        }
    }

    /// Parses a timestamp from text, or null.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
