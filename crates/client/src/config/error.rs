//! [`ConfigError`]: reasons why the configuration, or a policy file, cannot be used.

use std::{io, path::PathBuf};

use library::PathAccessError;
use skill::OwnerError;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

pub(super) const FORMAT: u32 = 1;

/// Reasons why the configuration cannot be used. An unusable configuration is never ignored.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file is not TOML, or a value has the wrong type.
    #[error("cannot read {}: {message}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Message of the parser, with the line.
        message: String,
    },
    /// The file has the format of a later version.
    #[error("{} has format {found}, but this version of skillhub reads only format {FORMAT}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Format number in the file.
        found: u32,
    },
    /// Two registries list the same owner.
    #[error("{} assigns the owner {owner:?} to two registries, but an owner can have only one", path.display())]
    OwnerTwice {
        /// Path of the file.
        path: PathBuf,
        /// Name of the owner, or `*`.
        owner: String,
    },
    /// The name of an owner is invalid.
    #[error("{}: {source}", path.display())]
    Owner {
        /// Path of the file.
        path: PathBuf,
        /// Rule that the name breaks.
        source: OwnerError,
    },
    /// A policy rule cannot be parsed.
    #[error("rule {number} in {} is invalid: {message}", path.display())]
    Rule {
        /// Path of the file.
        path: PathBuf,
        /// Number of the rule in the file, from 1.
        number: usize,
        /// Description of the problem.
        message: String,
    },
    /// The scanner's rules or settings are invalid.
    #[error(transparent)]
    Scan(#[from] scan::SettingsError),
    /// The folder of the home is unusable.
    #[error(transparent)]
    Place(#[from] PathAccessError),
    /// Reading the file failed.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Fails for ConfigError {
    fn failure(&self) -> Failure {
        match self {
            Self::Damaged { .. }
            | Self::OwnerTwice { .. }
            | Self::Owner { .. }
            | Self::Rule { .. }
            | Self::Scan(scan::SettingsError::Value { .. }) => Failure::invalid_config(),
            Self::Scan(_) => Failure::new(FailureKind::Usage, "invalid_rules")
                .hint("correct the file as described in docs/guides/scan-rules.md"),
            Self::Format { .. } => Failure::new(FailureKind::Usage, "invalid_config").hint("update skillhub"),
            Self::Place(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}
