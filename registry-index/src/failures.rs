//! [`Fails`]: class, code and hint for each error of this crate.

use std::path::Path;

use skill::failure::{Fails, Failure, FailureKind};
use skill::shell_word;

use crate::folder::{self, Contents};
use crate::store::Store;
use crate::{AppendError, FlagError, InitError, KeyChangeError, OpenError, ReadError, SignerError, StoreError};

impl Fails for StoreError {
    fn failure(&self) -> Failure {
        match self {
            Self::Git(_) => Failure::new(FailureKind::Unreachable, "registry_unreadable")
                .hint("check the registry: skillhub index verify"),
            Self::Io(_) => Failure::io(),
            Self::ReadOnly(_) => Failure::new(FailureKind::Refused, "read_only_registry")
                .hint("publish to the bare repository from which it was cloned"),
            Self::Busy { .. } => Failure::new(FailureKind::Conflict, "locked"),
        }
    }
}

impl Fails for ReadError {
    fn failure(&self) -> Failure {
        match self {
            Self::Store(error) => error.failure(),
            Self::Line { .. } => {
                Failure::new(FailureKind::Integrity, "damaged_index").hint("list all problems: skillhub index verify")
            }
        }
    }
}

impl Fails for OpenError {
    fn failure(&self) -> Failure {
        let Self::NotARegistry { path, .. } = self;
        let failure = Failure::new(FailureKind::NotFound, "not_a_registry");
        let init = |path: &Path| format!("skillhub index init {}", shell_word(&path.display().to_string()));
        let is_empty_repository = || Store::open(path).is_ok_and(|store| store.is_writable() && store.is_empty());
        match folder::contents(path) {
            Ok(Contents::Absent | Contents::Empty) => failure.hint(format!("create one: {}", init(path))),
            Ok(Contents::Something) if is_empty_repository() => {
                failure.hint(format!("the repository is empty; make it a registry: {}", init(path)))
            }
            _ => failure.hint(format!(
                "name the folder of a registry, or create one in a new folder: {}",
                init(&path.join("registry"))
            )),
        }
    }
}

impl Fails for InitError {
    fn failure(&self) -> Failure {
        match self {
            Self::NotEmpty(_) => {
                Failure::new(FailureKind::Conflict, "exists").hint("name a new or empty folder, or an empty repository")
            }
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
                "report to the publisher and the operator of the registry that the entry or its signature was \
                 changed; nothing was installed",
            ),
            Self::NotTheOwners { owner, .. } => integrity("not_the_owners_key").hint(format!(
                "ask {owner} over another channel which keys are theirs: the release or the owner's file in the \
                 registry was replaced; nothing was installed"
            )),
            Self::Retired { .. } => integrity("retired_key").hint(
                "ask the owner about this release: somebody else may have published it with the retired key; nothing \
                 was installed",
            ),
            Self::OwnerFile { .. } => integrity("damaged_index").hint("list all problems: skillhub index verify"),
            Self::Read(error) => error.failure(),
        }
    }
}

impl Fails for KeyChangeError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unknown { owner, .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint(format!("list the owner's keys: skillhub key list {owner}")),
            Self::NotVouched { .. } => Failure::new(FailureKind::Integrity, "bad_signature")
                .hint("sign with a key of the owner that is registered and not retired: --sign=PATH"),
            Self::WasRetired { .. } => {
                Failure::new(FailureKind::Integrity, "retired_key").hint("create another key: ssh-keygen -t ed25519")
            }
            Self::OwnerFile { .. } => {
                Failure::new(FailureKind::Integrity, "damaged_index").hint("list all problems: skillhub index verify")
            }
            Self::Store(error) => error.failure(),
        }
    }
}

impl Fails for AppendError {
    fn failure(&self) -> Failure {
        match self {
            Self::Name(_) | Self::NotThisSkill { .. } => Failure::new(FailureKind::Invalid, "invalid_skill"),
            Self::Changelog(_) => Failure::new(FailureKind::Invalid, "invalid_changelog")
                .hint("give plain text, or name a text file: --changelog @CHANGES.md"),
            Self::Blocked { .. } | Self::Unjudged => Failure::new(FailureKind::Blocked, "scan_blocked"),
            Self::Archive { .. } | Self::Damaged { .. } => {
                Failure::new(FailureKind::Integrity, "damaged_index").hint("list all problems: skillhub index verify")
            }
            Self::VersionExists { .. } | Self::SameVersion { .. } | Self::Withdrawn { .. } => {
                Failure::new(FailureKind::Conflict, "version_exists").hint("publish another version: --version V")
            }
            Self::OtherKey { owner, known, .. } => {
                let other = format!("sign with a registered key of {owner}: --sign=PATH; or ");
                let other = if known.is_empty() { String::new() } else { other };
                Failure::new(FailureKind::Integrity, "other_key")
                    .hint(format!("{other}add this one: skillhub key add {owner} KEY.pub"))
            }
            Self::RetiredKey { owner, known, .. } => {
                Failure::new(FailureKind::Integrity, "retired_key").hint(match &known[..] {
                    [] => format!("add a new key and sign with it: skillhub key add {owner} KEY.pub"),
                    _ => "sign with a key that is not retired: --sign=PATH".to_owned(),
                })
            }
            Self::Unsigned { owner, known, .. } => Failure::new(FailureKind::Refused, "unsigned").hint(format!(
                "sign it with a registered key of {owner}: --sign=PATH; or stop signing: skillhub key retire {owner} \
                 {}",
                known.first().map_or("", String::as_str)
            )),
            Self::Signature { .. } => Failure::new(FailureKind::Integrity, "bad_signature"),
            Self::OwnerFile { .. } => {
                Failure::new(FailureKind::Integrity, "damaged_index").hint("list all problems: skillhub index verify")
            }
            Self::Elsewhere(_) => Failure::new(FailureKind::Unreachable, "registry_unreachable")
                .hint("publish to another registry with --registry: only the operator can add archives to this one"),
            Self::Read(error) => error.failure(),
            Self::Store(error) => error.failure(),
            Self::Line(_) => Failure::new(FailureKind::Failed, "io"),
        }
    }
}

impl Fails for FlagError {
    fn failure(&self) -> Failure {
        match self {
            Self::NotFound { .. } => Failure::new(FailureKind::NotFound, "not_found"),
            Self::Read(error) => error.failure(),
            Self::Store(error) => error.failure(),
            Self::Line(_) => Failure::io(),
        }
    }
}
