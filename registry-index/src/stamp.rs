//! [`Stamp`]: author and time of a change.

use jiff::Timestamp;

/// Author and time of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Account, recorded as the author of the commit and as the entry's `publisher`.
    pub by: String,
    /// Time of the change, stored with a precision of seconds.
    pub at: Timestamp,
}

impl Stamp {
    /// Returns the stamp with the time truncated to seconds.
    #[must_use]
    pub fn to_the_second(&self) -> Self {
        Self { by: self.by.clone(), at: Timestamp::from_second(self.at.as_second()).unwrap_or(self.at) }
    }
}
