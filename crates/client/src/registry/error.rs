//! [`RegistryError`]: reasons why a registry cannot be used.

use std::{io, path::PathBuf};

use library::PlaceError;
use registry_index::{InitError, MirrorError, OpenError, ReadError, SeedError};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{git::ProgramError, http::HttpError, spec::SpecError};

/// Reasons why a registry cannot be used.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The text is not a location for a registry.
    #[error("no place of a registry: {0}")]
    Location(#[from] SpecError),
    /// The URL refers to a part of a repository.
    #[error("{0:?} names a part of a repository; a registry is a whole one")]
    Part(String),
    /// The `file://` URL does not have a path on this machine.
    #[error("{0:?} names no folder of this machine")]
    NoPath(String),
    /// The folder is not a registry.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The remote repository or server is not a registry.
    #[error("{url} is not a registry: {reason}")]
    NotARegistry {
        /// URL of the repository or server.
        url: String,
        /// Missing or invalid part, as a lower-case fragment.
        reason: String,
    },
    /// git could not reach the registry.
    #[error("git cannot reach the registry {url}: {source}")]
    Unreached {
        /// URL of the registry.
        url: String,
        /// Error of the git command.
        source: ProgramError,
    },
    /// The HTTP request failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The server responded with an error.
    #[error("{url} answers: {message}")]
    Answer {
        /// URL of the registry.
        url: String,
        /// Class of the failure.
        kind: FailureKind,
        /// Stable name of the failure.
        code: &'static str,
        /// Message from the server.
        message: String,
        /// Hint about the next step.
        hint: Option<String>,
    },
    /// Files fetched from a server cannot be stored locally.
    #[error(transparent)]
    Mirrored(#[from] MirrorError),
    /// The registry needs the network, and `--offline` is set.
    #[error("the registry {0} needs the network, and --offline forbids it")]
    Offline(String),
    /// The registry rejected the change.
    #[error("the registry {url} did not take the change: {message}")]
    NotTaken {
        /// URL of the registry.
        url: String,
        /// Message of git or of the server.
        message: String,
    },
    /// Concurrent changes by others made every attempt fail.
    #[error("others changed the registry {url} at each of {attempts} tries")]
    Busy {
        /// URL of the registry.
        url: String,
        /// Number of attempts made.
        attempts: u32,
    },
    /// The registry is not on this machine. Only a folder can be checked or copied as a whole.
    #[error("{0} is not on this machine; only a whole clone can be looked at")]
    NotHere(String),
    /// The registry could not be created.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The embedded registry could not be filled.
    #[error("cannot fill the embedded registry: {0}")]
    Seed(#[from] SeedError),
    /// The registry does not contain the commit that was seen last.
    #[error(
        "the registry {location} {}: it does not hold the commit {seen}, which was seen of it before",
        if *is_older { "is older than it was" } else { "has gone back, or was written anew" }
    )]
    WentBack {
        /// Location of the registry.
        location: String,
        /// Id of the commit seen last.
        seen: String,
        /// True if the registry is at an earlier commit, like a mirror that is behind.
        is_older: bool,
    },
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The local mirror of the registry cannot be read.
    #[error("cannot read what is here of the registry, {}: {source}", path.display())]
    Mirror {
        /// Path of the mirror.
        path: PathBuf,
        /// Error of libgit2.
        source: git2::Error,
    },
    /// The folder of the home is unusable.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// An I/O operation failed.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// Path that was accessed.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Fails for RegistryError {
    fn failure(&self) -> Failure {
        let of = Failure::new;
        match self {
            Self::Location(_) | Self::Part(_) | Self::NoPath(_) => of(FailureKind::Usage, "invalid_registry")
                .hint("name a folder, a git URL (https, ssh, git@host:path, file) or a name of the configuration"),
            Self::Open(error) => error.failure(),
            Self::NotARegistry { url, .. } => of(FailureKind::NotFound, "not_a_registry").hint(format!(
                "check the URL; an empty repository becomes a registry with: skillhub index init {}",
                skill::shell_word(url)
            )),
            Self::Unreached { source: ProgramError::Failed { message }, url } if !message.contains("certificate") => {
                of(FailureKind::Unreachable, "registry_unreachable").hint(format!(
                    "check the URL and the network; this must work without a password being asked: git ls-remote {url}"
                ))
            }
            Self::Unreached { source, .. } => source.failure(),
            Self::Http(error) => error.failure(),
            Self::Answer { kind, code, hint, .. } => Failure { kind: *kind, code, hint: hint.clone() },
            Self::Mirrored(MirrorError::Read(error)) => error.failure(),
            Self::Mirrored(MirrorError::Store(error)) => error.failure(),
            Self::Mirrored(MirrorError::WentBack(_)) => of(FailureKind::Integrity, "registry_went_back").hint(
                "nothing was done; ask who runs it why releases are gone or others; if it was done on purpose: --accept-rewrite",
            ),
            Self::Offline(_) => of(FailureKind::Unreachable, "offline").hint("run it without --offline"),
            Self::NotTaken { .. } => of(FailureKind::Refused, "registry_refused")
                .hint("nothing was changed; who runs the registry says who may push to its branch main"),
            Self::Busy { .. } => of(FailureKind::Conflict, "locked").hint("nothing was changed; run it again"),
            Self::NotHere(url) => of(FailureKind::Usage, "usage")
                .hint(format!("clone it, and name the clone: git clone --bare {url} registry.git")),
            Self::Init(error) => error.failure(),
            Self::Seed(_) => of(FailureKind::Failed, "seed_failed"),
            Self::WentBack { is_older, .. } => of(FailureKind::Integrity, "registry_went_back").hint(match is_older {
                true => {
                    "nothing was done; a mirror that is behind catches up: ask who runs it, or use the registry that \
                     it mirrors; if it was put back on purpose: --accept-rewrite"
                }
                false => {
                    "nothing was done; ask who runs it why its history was replaced, since yanks may have been taken \
                     back and releases exchanged; if it was done on purpose: --accept-rewrite"
                }
            }),
            Self::Read(error) => error.failure(),
            Self::Mirror { .. } => {
                Failure::io().hint("`skillhub doctor --fix` drops it, and what is needed is fetched again")
            }
            Self::Place(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}
