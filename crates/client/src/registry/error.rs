//! [`RegistryError`]: reasons why a registry cannot be used.

use std::{io, path::PathBuf};

use library::PathAccessError;
use registry_index::{InitError, MirrorError, OpenError, ReadError, SeedError};
use skill::failure::{Fails, Failure, FailureKind, Hint};
use thiserror::Error;

use crate::{git::ProgramError, http::HttpError, spec::SpecError};

/// Reasons why a registry cannot be used.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum RegistryError {
    /// The text is not a location for a registry.
    #[error("not the location of a registry: {0}")]
    Location(#[from] SpecError),
    /// The URL refers to a part of a repository.
    #[error("{0:?} names a part of a repository, but a registry is a whole repository")]
    Part(String),
    /// The `file://` URL does not have a path on this machine.
    #[error("{0:?} is not the URL of a folder on this machine")]
    NoPath(String),
    /// The folder is not a registry.
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
    Http(#[from] HttpError),
    /// The connection broke off after a release was sent.
    #[error("the connection to {url} broke off, so it is unknown whether {release} was published: {message}")]
    Unanswered {
        /// URL of the registry.
        url: String,
        /// Name and version of the release.
        release: String,
        /// Message of the HTTP client.
        message: String,
    },
    /// The server responded with an error.
    #[error("{url} returned an error: {message}")]
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
    Mirrored(#[from] MirrorError),
    /// The registry needs the network, and `--offline` is set.
    #[error("cannot reach the registry {0}: --offline is set")]
    Offline(String),
    /// The registry rejected the change.
    #[error("the registry {url} rejected the change: {message}")]
    NotTaken {
        /// URL of the registry.
        url: String,
        /// Message of git or of the server.
        message: String,
    },
    /// Concurrent changes by others made every attempt fail.
    #[error("the registry {url} was changed by others during each of {attempts} attempts")]
    Busy {
        /// URL of the registry.
        url: String,
        /// Number of attempts made.
        attempts: u32,
    },
    /// The registry is not on this machine. Only a folder can be checked or copied as a whole.
    #[error("{0} is not on this machine, but this needs a complete local clone")]
    NotHere(String),
    /// The registry could not be created.
    Init(#[from] InitError),
    /// The embedded registry could not be filled.
    #[error("cannot fill the embedded registry: {0}")]
    Seed(#[from] SeedError),
    /// The registry does not contain the commit that was seen last.
    #[error(
        "the registry {location} {}: it no longer has the commit {seen}, which it had before",
        if *is_older { "is at an older state than before" } else { "was reset or its history was rewritten" }
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
    Read(#[from] ReadError),
    /// The local mirror of the registry cannot be read.
    #[error("cannot read the local mirror of the registry, {}: {source}", path.display())]
    Mirror {
        /// Path of the mirror.
        path: PathBuf,
        /// Error of libgit2.
        source: git2::Error,
    },
    /// The folder of the home is unusable.
    Place(#[from] PathAccessError),
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
            Self::Location(_) | Self::Part(_) | Self::NoPath(_) => of(FailureKind::Usage, "invalid_registry").hint(
                "give a folder, a git URL (https, ssh, git@host:path, file) or the name of a registry in config.toml",
            ),
            Self::Open(error) => error.failure(),
            Self::NotARegistry { url, .. } => of(FailureKind::NotFound, "not_a_registry").hint(format!(
                "check the URL; to make an empty repository a registry, run: skillhub index init {}",
                skill::shell_word(url)
            )),
            Self::Unreached { source: ProgramError::Failed { message }, url } if !message.contains("certificate") => {
                of(FailureKind::Unreachable, "registry_unreachable").hint(format!(
                    "check the URL and the network; this must work without a password prompt: git ls-remote {url}"
                ))
            }
            Self::Unreached { source, .. } => source.failure(),
            Self::Http(error) => error.of_server(),
            Self::Unanswered { .. } => of(FailureKind::Unreachable, "network").hint(
                "run the command again once the server is up: publishing content that it already has changes nothing",
            ),
            Self::Answer { kind, code, hint, .. } => Failure { kind: *kind, code, hint: hint.clone().map(Hint::from) },
            Self::Mirrored(MirrorError::Read(error)) => error.failure(),
            Self::Mirrored(MirrorError::Store(error)) => error.failure(),
            Self::Mirrored(MirrorError::WentBack(_)) => of(FailureKind::Integrity, "registry_went_back").hint(
                "ask its operator why releases were removed or changed; if it was intended, add --accept-rewrite; \
                 nothing was changed",
            ),
            Self::Offline(_) => of(FailureKind::Unreachable, "offline").hint("run the command without --offline"),
            Self::NotTaken { .. } => of(FailureKind::Refused, "registry_refused").hint(
                "ask the operator of the registry for permission to push to its branch main; nothing was changed",
            ),
            Self::Busy { .. } => of(FailureKind::Conflict, "locked").hint("run the command again; nothing was changed"),
            Self::NotHere(url) => of(FailureKind::Usage, "usage").hint(format!(
                "clone it and name the clone instead: git clone --bare {} registry.git",
                url.strip_prefix("git+").unwrap_or(url)
            )),
            Self::Init(error) => error.failure(),
            Self::Seed(_) => of(FailureKind::Failed, "seed_failed"),
            Self::WentBack { is_older, .. } => of(FailureKind::Integrity, "registry_went_back").hint(match is_older {
                true => {
                    "if it is a mirror that lags behind, wait or use the registry that it mirrors; if it was reset on \
                     purpose, add --accept-rewrite; nothing was changed"
                }
                false => {
                    "ask its operator why its history was replaced: yanks may have been undone and releases \
                     exchanged; if it was intended, add --accept-rewrite; nothing was changed"
                }
            }),
            Self::Read(error) => error.failure(),
            Self::Mirror { .. } => {
                Failure::io().hint("run `skillhub doctor --fix` to delete the mirror; it is fetched again when needed")
            }
            Self::Place(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}
