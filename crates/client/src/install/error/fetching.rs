//! [`fetch_failure`]: class, code and hint for archives that were not fetched.

use std::fmt::Display;

use library::{Origin, RegistryRelease};
use registry_index::FetchError;
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use skill::shell_word;

use super::InstallError;
use crate::lock_file::LockedSkill;

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
    /// Returns the error for a source whose content differs from a lock file entry.
    pub(crate) fn lock_differs(locked: &LockedSkill, what: String) -> Self {
        let hint = match &locked.origin {
            Origin::Registry(release) => {
                let RegistryRelease { name, registry, .. } = release;
                let info = format!("skillhub info {name} --registry {}", shell_word(registry));
                format!("restore the lock file, or choose another version: {info}").into()
            }
            Origin::Git { .. } | Origin::Folder { .. } | Origin::Archive { .. } => {
                let alias = locked.alias.as_ref().map(|alias| format!(" --as {alias}")).unwrap_or_default();
                let spec = shell_word(&locked.requested);
                Hint::from("restore the source, or install what it has now: ")
                    .last(NextStep::Install(format!("{spec}{alias}")))
            }
            Origin::Other { .. } => "install it with the program that wrote the entry, or remove the entry".into(),
        };
        Self::LockDiffers { name: locked.name(), what, hint }
    }

    /// Returns the error for a change of the lock file that `--frozen` prevents.
    pub(crate) fn lock_is_frozen(name: String, what: String) -> Self {
        Self::LockDiffers { name, what, hint: "to change the lock file, install without --frozen".into() }
    }

    /// Returns the failure for content that is not what was promised, or cannot be unpacked.
    pub(super) fn content_failure(&self) -> Failure {
        match self {
            Self::LockDiffers { hint, .. } => Failure::new(FailureKind::Integrity, "lock_differs").hint(hint.clone()),
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
