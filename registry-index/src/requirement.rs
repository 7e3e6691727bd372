//! [`Requirement`]: a skill that another one needs, as `requires` of a frontmatter and of a line has it.

use std::{fmt, str::FromStr};

use semver::{Version, VersionReq};
use skill::{QualifiedName, QualifiedNameError};
use thiserror::Error;

/// `owner/name`, or `owner/name@range`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The skill.
    pub name: QualifiedName,
    range: VersionReq,
    /// The range as written; empty for any release.
    text: String,
}

/// The text is no [`Requirement`].
#[derive(Debug, Error)]
pub enum RequirementError {
    /// What stands before the `@` is no name.
    #[error("{text:?} requires no skill: {source}")]
    Name {
        /// The text.
        text: String,
        /// What is wrong with it.
        source: QualifiedNameError,
    },
    /// What stands behind it is no range.
    #[error("{text:?} has no range of versions behind the @: {source}")]
    Range {
        /// The text.
        text: String,
        /// What is wrong with it.
        source: semver::Error,
    },
}

impl Requirement {
    /// Whether a version will do. One with a pre-release tag only does where the range names one of the same version.
    #[must_use]
    pub fn takes(&self, version: &Version) -> bool {
        self.range.matches(version)
    }

    /// The range as it was written; empty for any release.
    #[must_use]
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

    /// A version alone (`1.2.0`) is that version, as on the command line, where cargo would read `^1.2.0`.
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
    fn a_requirement_is_a_name_with_or_without_a_range() {
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
