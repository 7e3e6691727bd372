//! [`ConfigError`]: why the configuration, or a file with a policy, cannot be used.

use std::{io, path::PathBuf};

use library::PlaceError;
use skill::OwnerError;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

pub(super) const FORMAT: u32 = 1;

/// Why the configuration cannot be used. It is never passed over.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// No TOML, or a value of the wrong kind.
    #[error("{} is not readable: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the parser says, with the line.
        message: String,
    },
    /// Written for a later version.
    #[error("{} has format {found}, this version reads {FORMAT}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format found.
        found: u32,
    },
    /// An owner whom two registries claim.
    #[error("{} gives the owner {owner:?} to two registries; an owner is asked at one only", path.display())]
    OwnerTwice {
        /// The file.
        path: PathBuf,
        /// The owner, or `*`.
        owner: String,
    },
    /// An owner's name that is none.
    #[error("{}: {source}", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: OwnerError,
    },
    /// A rule that cannot be read.
    #[error("rule {number} of {} cannot be used: {message}", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// Which one, from 1.
        number: usize,
        /// What is wrong with it.
        message: String,
    },
    /// Rules or settings of the scanner.
    #[error(transparent)]
    Scan(#[from] scan::SettingsError),
    /// The home cannot be used.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Fails for ConfigError {
    fn failure(&self) -> Failure {
        match self {
            Self::Damaged { path, .. }
            | Self::OwnerTwice { path, .. }
            | Self::Owner { path, .. }
            | Self::Rule { path, .. } => {
                Failure::new(FailureKind::Usage, "invalid_config").hint(format!("mend {}", path.display()))
            }
            Self::Scan(error) => {
                let (code, hint) = match error {
                    scan::SettingsError::Value { .. } => ("invalid_config", "mend [scan] in the configuration"),
                    _ => ("invalid_rules", "mend the file; docs/guides/scan-rules.md shows the form"),
                };
                Failure::new(FailureKind::Usage, code).hint(hint)
            }
            Self::Format { .. } => Failure::new(FailureKind::Usage, "invalid_config").hint("use a newer skillhub"),
            Self::Place(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}
