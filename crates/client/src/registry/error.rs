//! [`RegistryError`]: why a registry cannot be used.

use std::{io, path::PathBuf};

use library::PlaceError;
use registry_index::{InitError, MirrorError, OpenError, ReadError, SeedError};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{git::ProgramError, http::HttpError, spec::SpecError};

/// Why a registry cannot be used.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// A place that is none.
    #[error("no place of a registry: {0}")]
    Location(#[from] SpecError),
    /// A part of a repository.
    #[error("{0:?} names a part of a repository; a registry is a whole one")]
    Part(String),
    /// A `file://` URL that names no path.
    #[error("{0:?} names no folder of this machine")]
    NoPath(String),
    /// A folder, but no registry.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A repository elsewhere, but no registry.
    #[error("{url} is not a registry: {reason}")]
    NotARegistry {
        /// The URL.
        url: String,
        /// What is missing or wrong, as a lower-case fragment.
        reason: String,
    },
    /// git could not reach it.
    #[error("git cannot reach the registry {url}: {source}")]
    Unreached {
        /// The URL.
        url: String,
        /// What git said.
        source: ProgramError,
    },
    /// The network failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A server answers that it does not.
    #[error("{url} answers: {message}")]
    Answer {
        /// The registry.
        url: String,
        /// What kind of failure that is.
        kind: FailureKind,
        /// Its stable name.
        code: &'static str,
        /// What the server says.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
    /// What came from elsewhere cannot be kept here.
    #[error(transparent)]
    Mirrored(#[from] MirrorError),
    /// The network is needed and was forbidden.
    #[error("the registry {0} needs the network, and --offline forbids it")]
    Offline(String),
    /// It takes no change from here.
    #[error("the registry {url} did not take the change: {message}")]
    NotTaken {
        /// The URL.
        url: String,
        /// What git said.
        message: String,
    },
    /// Others changed it at every try.
    #[error("others changed the registry {url} at each of {attempts} tries")]
    Busy {
        /// The URL.
        url: String,
        /// Tries made.
        attempts: u32,
    },
    /// Only a folder can be checked, or copied, as a whole.
    #[error("{0} is not on this machine; only a whole clone can be looked at")]
    NotHere(String),
    /// It could not be made.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The embedded registry could not be filled.
    #[error("cannot fill the embedded registry: {0}")]
    Seed(#[from] SeedError),
    /// It does not hold what was seen of it before.
    #[error(
        "the registry {location} {}: it does not hold the commit {seen}, which was seen of it before",
        if *is_older { "is older than it was" } else { "has gone back, or was written anew" }
    )]
    WentBack {
        /// The registry.
        location: String,
        /// The commit seen last.
        seen: String,
        /// Whether it is what it was at some time before that, as a mirror that is behind.
        is_older: bool,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What this machine has of it cannot be read.
    #[error("cannot read what is here of the registry, {}: {source}", path.display())]
    Mirror {
        /// The folder.
        path: PathBuf,
        /// What libgit2 said.
        source: git2::Error,
    },
    /// The home cannot be used.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The system refused.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
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
