//! [`fetch_failure`]: class, code and hint for archives that were not fetched.

use std::fmt::Display;

use registry_index::FetchError;
use skill::failure::{Fails, Failure, FailureKind};

use super::InstallError;

fn other_version(kind: FailureKind, code: &'static str, name: &impl Display) -> Failure {
    Failure::new(kind, code).hint(format!("choose another version: skillhub info {name}"))
}

/// Returns the failure for an archive that was not fetched.
pub(super) fn fetch_failure(error: &FetchError) -> Failure {
    match error {
        FetchError::Withdrawn { name, .. } => other_version(FailureKind::Integrity, "withdrawn", name),
        FetchError::Quarantined { name, .. } => other_version(FailureKind::Refused, "quarantined", name),
        FetchError::Held { name, .. } => other_version(FailureKind::Refused, "held", name),
        FetchError::Differs(_) => Failure::new(FailureKind::Integrity, "line_differs")
            .hint("report to the operator of the registry that the entry was changed; nothing was installed"),
        FetchError::Missing { .. } | FetchError::Integrity { .. } => Failure::new(FailureKind::Integrity, "integrity")
            .hint(
                "report to the operator of the registry that the index or an archive was changed; nothing was \
                 installed",
            ),
        FetchError::Elsewhere(_) => Failure::new(FailureKind::Unreachable, "network"),
        FetchError::Read(error) => error.failure(),
    }
}

impl InstallError {
    /// Returns the failure for content that is not what was promised, or cannot be unpacked.
    pub(super) fn content_failure(&self) -> Failure {
        match self {
            Self::LockDiffers { is_frozen: true, .. } => Failure::new(FailureKind::Integrity, "lock_differs")
                .hint("to change the lock file, install without --frozen"),
            Self::LockDiffers { .. } => Failure::new(FailureKind::Integrity, "lock_differs")
                .hint("restore the source, or update the skill to what the source has now: skillhub update"),
            Self::Archive { source, .. } if source.is_suspicious() => {
                Failure::new(FailureKind::Invalid, "invalid_archive")
                    .hint("do not use it; report it to its publisher. Nothing was installed")
            }
            Self::Archive { .. } => Failure::new(FailureKind::Invalid, "invalid_archive")
                .hint("download the archive again, or pack the skill again with `skillhub pack DIR`"),
            _ => Failure::new(FailureKind::Integrity, "integrity").hint("do not use it; report it to its publisher"),
        }
    }
}
