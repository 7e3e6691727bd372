//! [`Fails`]: class, code and way on of each error of this crate that reading a registry can give.

use skill::failure::{Fails, Failure, FailureKind};

use crate::{InitError, KeyChangeError, OpenError, ReadError, SignerError, StoreError};

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

impl Fails for SignerError {
    fn failure(&self) -> Failure {
        let integrity = |code| Failure::new(FailureKind::Integrity, code);
        match self {
            Self::Bad { .. } => integrity("bad_signature").hint(
                "nothing was installed; tell who publishes it and who runs the registry: the line was changed, or \
                 another's signature was put there",
            ),
            Self::NotTheOwners { owner, .. } => integrity("not_the_owners_key").hint(format!(
                "nothing was installed; ask {owner} by another way which keys are theirs: either the release or the \
                 owner's file in the registry was exchanged"
            )),
            Self::Retired { .. } => integrity("retired_key")
                .hint("nothing was installed; whoever has the retired key may have published it"),
            Self::OwnerFile { .. } => integrity("damaged_index").hint("see all faults: skillhub index verify"),
            Self::Read(error) => error.failure(),
        }
    }
}

impl Fails for KeyChangeError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unknown { owner, .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint(format!("see the owner's keys: skillhub key list {owner}")),
            Self::WasRetired { .. } => {
                Failure::new(FailureKind::Integrity, "retired_key").hint("make another: ssh-keygen -t ed25519")
            }
            Self::OwnerFile { .. } => {
                Failure::new(FailureKind::Integrity, "damaged_index").hint("see all faults: skillhub index verify")
            }
            Self::Store(error) => error.failure(),
        }
    }
}
