//! [`Fails`]: class, code and way on of each error of this crate that reading a registry can give.

use skill::failure::{Fails, Failure, FailureKind};

use crate::{InitError, OpenError, ReadError, StoreError};

impl Fails for StoreError {
    fn failure(&self) -> Failure {
        match self {
            Self::Git(_) => Failure::new(FailureKind::Unreachable, "registry_unreadable")
                .hint("check the registry: skillhub index verify"),
            Self::ReadOnly(_) => Failure::new(FailureKind::Refused, "read_only_registry")
                .hint("publish to the bare repository that it was cloned from"),
            Self::Busy { .. } => Failure::new(FailureKind::Conflict, "locked"),
        }
    }
}

impl Fails for ReadError {
    fn failure(&self) -> Failure {
        match self {
            Self::Store(error) => error.failure(),
            Self::Line { .. } => {
                Failure::new(FailureKind::Integrity, "damaged_index").hint("see all faults: skillhub index verify")
            }
        }
    }
}

impl Fails for OpenError {
    fn failure(&self) -> Failure {
        let Self::NotARegistry { path, .. } = self;
        Failure::new(FailureKind::NotFound, "not_a_registry")
            .hint(format!("make one: skillhub index init {}", path.display()))
    }
}

impl Fails for InitError {
    fn failure(&self) -> Failure {
        match self {
            Self::NotEmpty(_) => Failure::new(FailureKind::Conflict, "exists")
                .hint("name an empty or new folder, or an empty repository"),
            Self::Folder { .. } => Failure::io(),
            Self::Store(error) => error.failure(),
            Self::Open(error) => error.failure(),
        }
    }
}
