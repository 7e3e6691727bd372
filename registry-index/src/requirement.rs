//! [`Requirement`]: a required skill, as in the `requires` of a frontmatter and of an entry.

use std::{fmt, str::FromStr};

use semver::{Version, VersionReq};
use skill::{QualifiedName, QualifiedNameError};
use thiserror::Error;

/// A required skill: `owner/name`, or `owner/name@range`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// Full name of the required skill.
    pub name: QualifiedName,
    range: VersionReq,
    /// Range as written; empty for any release.
    text: String,
}

/// Reasons why a text is not a [`Requirement`].
#[derive(Debug, Error)]
pub enum RequirementError {
    /// The part before the `@` is not a full name.
    #[error("{text:?} does not name a skill: {source}")]
    Name {
        /// Text of the requirement.
        text: String,
        /// Problem with the name.
        source: QualifiedNameError,
    },
    /// The part after the `@` is not a version range.
    #[error("{text:?} has an invalid version range after the @: {source}")]
    Range {
        /// Text of the requirement.
        text: String,
        /// Problem with the range.
        source: semver::Error,
    },
}

impl Requirement {
    /// Returns whether a version satisfies the requirement. A pre-release satisfies it only if the range has a
    /// pre-release tag on the same version.
    pub fn takes(&self, version: &Version) -> bool {
        self.range.matches(version)
    }

    /// Returns the range as written; empty for any release.
    pub fn range(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => write!(f, "{}", self.name),
            range => write!(f, "{}@{range}", self.name),
        }
    }
}

impl FromStr for Requirement {
    type Err = RequirementError;

    /// Parses a requirement. A plain version (`1.2.0`) means exactly that version, as on the command line, whereas
    /// cargo would read it as `^1.2.0`.
    fn from_str(written: &str) -> Result<Self, RequirementError> {
        let (name, range) = written.split_once('@').unwrap_or((written, ""));
        let (name, text) = (name.trim(), range.trim().to_owned());
        let name = name.parse().map_err(|source| RequirementError::Name { text: written.to_owned(), source })?;
        let exact = Version::parse(&text).map(|version| format!("={version}"));
        let range = match text.as_str() {
            "" => Ok(VersionReq::STAR),
            range => VersionReq::parse(exact.as_deref().unwrap_or(range)),
        };
        let range = range.map_err(|source| RequirementError::Range { text: written.to_owned(), source })?;
        Ok(Self { name, range, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirement_range_is_optional() {
        for (text, takes, not) in [
            ("acme/pdf", "1.0.0", "1.0.0-rc.1"),
            ("acme/pdf@^1.2", "1.9.0", "2.0.0"),
            ("acme/pdf@1.2.0", "1.2.0", "1.2.1"),
            ("acme/pdf@>=1, <2", "1.5.0", "2.0.0"),
            ("acme/pdf@~1.2", "1.2.9", "1.3.0"),
        ] {
            let read: Requirement = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
            assert!(read.takes(&takes.parse().unwrap()) && !read.takes(&not.parse().unwrap()), "{text}");
        }
        for bad in ["", "pdf", "acme/pdf/x", "acme/pdf@newest", "acme/pdf@1.2.3.4", "Acme/pdf", "acme/../x"] {
            assert!(bad.parse::<Requirement>().is_err(), "{bad:?}");
        }
    }
}
