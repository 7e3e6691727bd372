//! [`InstallError`]: reasons why a skill, or a whole batch, was not installed.

mod fetching;
mod fork;
mod merge;
mod names;

use std::{io, path::PathBuf};

use library::{
    CommitError, Denied, LibraryError, SnapshotError, StorageError, folder::FolderError, interrupt::Interrupted,
};
use registry_index::{FetchError, RequirementError, SignerError};
use scan::{Blocked, Report};
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use skill::{BundleError, NameError, Owner, Problem, SkillName, SkillPath, archive::ArchiveError, shell_word};
use thiserror::Error;

use fetching::fetch_failure;
pub use fork::ForkMergeError;
pub use merge::MergeConflict;

use crate::{
    agent_folders::AgentError,
    cache::CacheError,
    discovery::PickError,
    failure::details,
    git_source::GitError,
    http::HttpError,
    lock_file::LockFileError,
    requires::Unsolved,
    resolve::ResolveError,
    spec::{SpecError, unpack_hint},
};

/// Reasons why a skill, or a whole batch, was not installed.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum InstallError {
    /// A spec recorded in the lock file cannot be parsed.
    Spec(#[from] SpecError),
    /// Skills cannot be linked for an agent.
    Agent(#[from] AgentError),
    /// The registry, or a name in it, cannot be resolved.
    Resolve(#[from] ResolveError),
    /// The registry that was queried does not have a skill that the lock file lists from another registry.
    #[error("{error}; the lock file lists it from {locked_in}, a registry that you have not used yet")]
    NotInThisRegistry {
        /// Full name of the skill; `None` if the lock file has all skills from that registry.
        name: Option<String>,
        /// Location of the registry when the skill was locked.
        locked_in: String,
        /// Error from the registry that was queried.
        error: Box<ResolveError>,
    },
    /// The selection among the skills of the source is empty or ambiguous.
    Pick(#[from] PickError),
    /// The release was withdrawn, or its archive does not match the index.
    Fetch(#[from] FetchError),
    /// The signature of the release is not its owner's.
    Signer(#[from] SignerError),
    /// The release is not signed, and a signature is required.
    #[error("{release} in {registry} is not signed, and {}", signed_only(owner, required_by.as_deref()))]
    Unsigned {
        /// Name and version of the release.
        release: String,
        /// Owner whose signature is missing.
        owner: Owner,
        /// Registry as shown to people.
        registry: String,
        /// Skill that requires this one and whose owner must sign, if that is the reason.
        required_by: Option<String>,
    },
    /// The release is not signed, although its owner signs releases.
    #[error("{release} is not signed, but {owner} signs releases with {}", known.join(", "))]
    UnsignedUpdate {
        /// Name and version of the release.
        release: String,
        /// Name of its owner.
        owner: String,
        /// Fingerprints of the owner's keys.
        known: Vec<String>,
    },
    /// The owner signed with a different key before, and signatures are required.
    #[error("{release} is signed with the key {key}, but {owner} signed earlier releases with {}", before.join(", "))]
    KeyChanged {
        /// Name and version of the release.
        release: String,
        /// Name of its owner.
        owner: String,
        /// Fingerprint of the key that signed the release.
        key: String,
        /// Fingerprints of the keys seen before.
        before: Vec<String>,
    },
    /// The content does not have the expected digest.
    #[error("the content of {name} does not match {promised_by}: expected {expected}, found {found}")]
    Digest {
        /// Name of the skill.
        name: String,
        /// Source of the expected digest, as a noun phrase.
        promised_by: &'static str,
        /// Digest that was expected.
        expected: String,
        /// Digest of the content.
        found: String,
    },
    /// The result would differ from the lock file.
    #[error("{name} does not match the lock file: {what}")]
    LockDiffers {
        /// Name of the skill, or the spec.
        name: String,
        /// Description of the difference.
        what: String,
        /// Next step for the user.
        hint: Hint,
    },
    /// The archive is invalid.
    #[error("{origin} is not a valid skill archive: {source}")]
    Archive {
        /// Path or URL of the archive.
        origin: String,
        /// Problem with the archive.
        source: ArchiveError,
    },
    /// The source's folder cannot be read as a skill.
    #[error("cannot read {origin}: {source}")]
    Folder {
        /// Folder as shown to people.
        origin: String,
        /// Error found in its content.
        source: FolderError,
    },
    /// The source cannot be opened.
    #[error("cannot open {}: {}", path.display(), why_not_open(source))]
    Open {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The git source cannot be fetched or read.
    Git(#[from] GitError),
    /// The archive cannot be downloaded.
    Http(#[from] HttpError),
    /// The answer of a site cannot be used.
    Site(#[from] crate::site_index::SiteError),
    /// The source needs the network, and `--offline` is set.
    #[error("cannot fetch {origin}: --offline is set")]
    Offline {
        /// Source as shown to people.
        origin: String,
    },
    /// The skill has problems that prevent its use.
    #[error("{name} is not a valid skill: {}", problems.first().map_or("", |problem| problem.message.as_str()))]
    Invalid {
        /// Name of the skill, or its source.
        name: String,
        /// All problems, also those that alone would not prevent its use.
        problems: Vec<Problem>,
    },
    /// The skill's name is invalid.
    #[error("{name:?} is not a valid name for a skill's folder: {source}")]
    Name {
        /// Name as it was found.
        name: String,
        /// Rule that the name breaks.
        source: NameError,
    },
    /// The scan blocks the skill.
    Blocked(#[from] Box<Blocked>),
    /// The policy denies the change.
    Denied(#[from] Denied),
    /// The library has another skill with this bare name.
    #[error("the name {name} is taken by {present}; {wanted} would replace it")]
    Exists {
        /// Bare name of the skill.
        name: SkillName,
        /// Release that should be installed.
        wanted: Box<str>,
        /// Existing skill or folder, as a noun phrase.
        present: String,
        /// Path of the existing folder, if it has no history.
        unmanaged: Option<PathBuf>,
        /// True if that folder can be adopted as it is.
        is_adoptable: bool,
        /// True if the existing skill was installed from a source.
        is_installed: bool,
        /// Arguments of `skillhub install` that install the wanted skill beside it. Empty if that is impossible.
        beside: Box<str>,
    },
    /// The repository has the skill in another folder now, with other content.
    #[error("{name} moved from {from} to {to} in {place} and changed")]
    Moved {
        /// Name of the skill.
        name: SkillName,
        /// Location of the repository.
        place: String,
        /// Folder of the installed skill.
        from: SkillPath,
        /// Folder that has the skill now.
        to: SkillPath,
    },
    /// The skill is installed under another name than the one requested with `--as`.
    #[error("{name} is already installed, as {installed}")]
    InstalledAs {
        /// Full name of the skill.
        name: String,
        /// Name of its folder.
        installed: SkillName,
    },
    /// The name in the skill's frontmatter cannot be replaced.
    #[error("{name} cannot be renamed to {wanted}: the name in its frontmatter is not on a line of its own")]
    Rename {
        /// Full name of the skill.
        name: String,
        /// Requested name.
        wanted: SkillName,
    },
    /// The installed skill was changed here since, and another release is requested.
    #[error("{} has local changes, which {wanted} would overwrite", format!("{name} {installed}").trim_end())]
    Evolved {
        /// Bare name of the skill.
        name: SkillName,
        /// Version that is installed.
        installed: String,
        /// Release that was requested.
        wanted: String,
    },
    /// A release conflicts with the changes made here.
    Conflict(#[from] MergeConflict),
    /// A fork cannot be merged.
    Fork(#[from] ForkMergeError),
    /// The merged skill exceeds a limit.
    #[error("{name} is too large after merging the local changes: {source}")]
    TooLarge {
        /// Name of the skill.
        name: String,
        /// Limit that is exceeded.
        source: BundleError,
    },
    /// The skill to update has no source to update from.
    #[error("{name} was not installed{}", if *is_here { ": it was written in this library" } else { "" })]
    NotInstalled {
        /// Name as the user gave it.
        name: String,
        /// True if the library has a skill of that name.
        is_here: bool,
    },
    /// The skill's registry is not the one that serves its owner now.
    #[error("{name} was installed from {installed}, but its owner is now served by {asked}")]
    OtherRegistry {
        /// Full name of the skill.
        name: String,
        /// Location of the registry that it was installed from.
        installed: String,
        /// Location of the registry that serves its owner now.
        asked: String,
    },
    /// The source no longer has the skill.
    #[error("{place} no longer has {name}{}", if moved.is_some() { " in the same folder" } else { "" })]
    Vanished {
        /// Name of the skill.
        name: String,
        /// Source as shown to people.
        place: String,
        /// Address of a skill of the same name in another folder of the source.
        moved: Option<String>,
    },
    /// No combination of releases satisfies all requirements.
    Unsolved(#[from] Unsolved),
    /// The requirements of the skill cannot be parsed.
    Requirement(#[from] RequirementError),
    /// A skill that this one requires, or that requires this one, was not installed.
    #[error("{name} was not installed, because {other} was not")]
    Unmet {
        /// Name of the skill.
        name: String,
        /// Name of the skill that failed.
        other: String,
    },
    /// Two skills of the batch have the same bare name.
    #[error("{first} and {second} would both be named {name}")]
    TwiceInBatch {
        /// Bare name of both.
        name: SkillName,
        /// Skill that was accepted first.
        first: String,
        /// Skill that was rejected.
        second: String,
    },
    /// Nothing was requested, and the lock file lists no skills.
    #[error("nothing to install: {} lists no skills", path.display())]
    NothingLocked {
        /// Path of the lock file.
        path: PathBuf,
    },
    /// The lock file cannot be read or written.
    LockFile(#[from] LockFileError),
    /// The cache cannot be used.
    Cache(#[from] CacheError),
    /// The skill's folder was changed by hand into something unusable.
    Snapshot(#[from] SnapshotError),
    /// The library cannot be read or written.
    Library(#[from] LibraryError),
    /// Committing the batch failed.
    Commit(#[from] CommitError),
    /// A signal asked this process to stop.
    Interrupted(#[from] Interrupted),
}

/// Formats a registry's location for `--registry`, quoted for a shell.
fn quoted(place: &str) -> String {
    // In an origin, `file://` marks a git URL. As a flag, `file://` would mean the folder itself.
    shell_word(&if place.starts_with("file://") { format!("git+{place}") } else { place.to_owned() })
}

fn why_not_open(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotADirectory => "it is neither a folder nor a .skill file".to_owned(),
        _ => source.to_string(),
    }
}

impl From<StorageError> for InstallError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl Fails for InstallError {
    fn failure(&self) -> Failure {
        let of = Failure::new;
        match self {
            Self::Spec(error) => error.failure(),
            Self::Agent(error) => error.failure(),
            Self::Resolve(error) => error.failure_of_install(),
            Self::NotInThisRegistry { .. } | Self::OtherRegistry { .. } => self.registry_failure(),
            Self::Pick(error) => error.failure(),
            Self::Fetch(error) => fetch_failure(error),
            Self::Signer(_) | Self::Unsigned { .. } | Self::UnsignedUpdate { .. } | Self::KeyChanged { .. } => {
                self.signer_failure()
            }
            Self::Digest { .. } | Self::LockDiffers { .. } | Self::Archive { .. } => self.content_failure(),
            Self::Site(error) => error.failure(),
            Self::Folder { source, .. } => source.failure(),
            Self::Open { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                of(FailureKind::NotFound, "not_found").hint("check the path")
            }
            Self::Open { path, source } if source.kind() == io::ErrorKind::NotADirectory => Failure::io().hint(
                unpack_hint(&path.display().to_string())
                    .unwrap_or_else(|| "name the folder that has the SKILL.md, or a .skill file".into()),
            ),
            Self::Open { .. } => Failure::io(),
            Self::Git(error) => error.failure(),
            Self::Http(error) => error.failure(),
            Self::Offline { .. } => of(FailureKind::Unreachable, "offline").hint("run the command without --offline"),
            Self::Invalid { .. } => of(FailureKind::Invalid, "invalid_skill"),
            Self::Name { .. } => {
                of(FailureKind::Invalid, "invalid_name").hint("ask the author of the skill to rename it")
            }
            Self::Blocked(_) => {
                of(FailureKind::Blocked, "scan_blocked").hint("read the findings; nothing was installed")
            }
            Self::Denied(error) => error.failure(),
            Self::Exists { .. } | Self::Moved { .. } | Self::InstalledAs { .. } => self.name_taken_failure(),
            Self::Rename { .. } => of(FailureKind::Invalid, "cannot_rename").hint("install it without --as"),
            Self::Evolved { name, .. } => of(FailureKind::Conflict, "evolved").hint(
                Hint::from("merge the release with the local changes: ").last(NextStep::Update(name.to_string())),
            ),
            Self::Conflict(error) => error.failure(),
            Self::Fork(error) => error.failure(),
            Self::TooLarge { .. } => of(FailureKind::Invalid, "too_large"),
            Self::NotInstalled { is_here, .. } => of(FailureKind::NotFound, "not_found").hint(match is_here {
                true => Hint::from("only installed skills have a source to update from"),
                false => Hint::from("list the installed skills: ").step(NextStep::ListSkills),
            }),
            Self::Vanished { moved: Some(address), .. } => of(FailureKind::NotFound, "not_found")
                .hint(Hint::from("it moved; follow it with: ").last(NextStep::Install(shell_word(address)))),
            Self::Vanished { .. } => of(FailureKind::NotFound, "not_found")
                .hint("keep or uninstall it; it can be updated again only when its source has it"),
            Self::Unsolved(_) | Self::Requirement(_) | Self::Unmet { .. } => self.requirement_failure(),
            Self::TwiceInBatch { .. } => of(FailureKind::Conflict, "exists")
                .hint("install one of them, and then the other under another name, with --as"),
            Self::NothingLocked { .. } => of(FailureKind::NotFound, "not_found").hint(
                Hint::from("name a skill to install, ")
                    .step(NextStep::Install("OWNER/NAME".to_owned()))
                    .text("; find skills with ")
                    .step(NextStep::Search("WORD".to_owned())),
            ),
            Self::LockFile(error) => error.failure(),
            Self::Cache(error) => error.failure(),
            Self::Snapshot(error) => error.failure(),
            Self::Library(error) => error.failure(),
            Self::Commit(error) => error.failure(),
            Self::Interrupted(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        details(self.report(), self.problems())
    }
}

impl InstallError {
    fn registry_failure(&self) -> Failure {
        match self {
            Self::NotInThisRegistry { name, locked_in, error } => {
                let which = name.as_ref().map(|name| format!("{name} --frozen ")).unwrap_or_default();
                let install = NextStep::Install(format!("{which}--registry {}", quoted(locked_in)));
                error.failure().hint(Hint::from("install from that registry if you trust it: ").last(install))
            }
            Self::OtherRegistry { name, installed, .. } => {
                let update = NextStep::Update(format!("{name} --registry {}", quoted(installed)));
                Failure::new(FailureKind::Refused, "other_registry")
                    .hint(Hint::from("update from the registry that it came from: ").last(update))
            }
            _ => Failure::io(),
        }
    }

    fn requirement_failure(&self) -> Failure {
        match self {
            Self::Unsolved(error) => error.failure(),
            Self::Unmet { other, .. } => {
                Failure::new(FailureKind::Failed, "requirement_failed").hint(format!("read the error of {other}"))
            }
            _ => invalid_requirement(),
        }
    }

    fn signer_failure(&self) -> Failure {
        match self {
            Self::Signer(error) => error.failure(),
            Self::Unsigned { owner, .. } => Failure::new(FailureKind::Refused, "unsigned").hint(format!(
                "ask {owner} to publish a signed release, or remove the owner or the registry from require_signatures \
                 in config.toml or in the policy"
            )),
            Self::UnsignedUpdate { owner, .. } => Failure::new(FailureKind::Refused, "unsigned")
                .hint(format!("ask {owner} to publish a signed release; the installed release was kept")),
            Self::KeyChanged { owner, key, .. } => Failure::new(FailureKind::Integrity, "key_changed").hint(format!(
                "ask {owner} over another channel whether the new key is theirs; if so, add --accept-key {key}"
            )),
            _ => Failure::new(FailureKind::Integrity, "integrity"),
        }
    }

    /// Returns the scan report if the scan blocks the skill.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Blocked(blocked) => Some(blocked.report()),
            _ => None,
        }
    }

    /// Returns the problems of the skill if it is invalid, otherwise an empty slice.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }
}

fn signed_only(owner: &Owner, required_by: Option<&str>) -> String {
    match required_by {
        Some(requirer) => format!("the configuration requires signatures for everything that {requirer} requires"),
        None => format!("the configuration requires signatures from {owner}"),
    }
}

/// Returns the failure for a requirement that cannot be parsed, with a hint for the skill's author.
pub(crate) fn invalid_requirement() -> Failure {
    Failure::new(FailureKind::Invalid, "invalid_requirement")
        .hint("under metadata, write requires: \"owner/name\" or \"owner/name@^1.2\"; separate several with commas")
}
