//! [`InstallError`]: why a skill, or a whole batch, was not installed.

use std::{io, path::PathBuf};

use library::{
    CommitError, Denied, LibraryError, ProposalId, SnapshotError, StorageError, folder::FolderError,
    interrupt::Interrupted,
};
use registry_index::{FetchError, RequirementError, SignerError};
use scan::{Blocked, Report};
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{BundleError, NameError, Owner, Problem, SkillName, archive::ArchiveError, shell_word};
use thiserror::Error;

use crate::{
    agent_folders::AgentError, cache::CacheError, failure::details, found::PickError, git_source::GitError,
    http::HttpError, lock_file::LockFileError, requires::Unsolved, resolve::ResolveError, spec::SpecError,
};

/// Why a skill, or a whole batch, was not installed.
#[derive(Debug, Error)]
pub enum InstallError {
    /// A spec that the lock file has cannot be read.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// An agent that cannot be served.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The registry, or the name in it.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// What the lock file names is not in the registry that is asked here.
    #[error("{error}; the lock file has it from {locked_in}, which this home has not used yet")]
    NotInThisRegistry {
        /// The skill; `None` where the lock file has all skills from there.
        name: Option<String>,
        /// Where it was when it was locked.
        locked_in: String,
        /// What the registry that was asked says.
        error: Box<ResolveError>,
    },
    /// It is not clear which skills of the source are meant.
    #[error(transparent)]
    Pick(#[from] PickError),
    /// The release was withdrawn, or its archive is not the one that the index names.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Its signature is not its owner's.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// It has no signature, and one is required.
    #[error("{release} in {registry} is not signed, and {}", signed_only(owner, required_by.as_deref()))]
    Unsigned {
        /// The release.
        release: String,
        /// The owner.
        owner: Owner,
        /// The registry.
        registry: String,
        /// The skill whose owner must sign and that requires this one, if that is why.
        required_by: Option<String>,
    },
    /// It has no signature, and its owner signs releases.
    #[error("{release} is not signed, and {owner} signs releases with {}", known.join(", "))]
    UnsignedUpdate {
        /// The release.
        release: String,
        /// The owner.
        owner: String,
        /// The fingerprints of the owner's keys.
        known: Vec<String>,
    },
    /// Its owner signed with another key before, and signatures are required.
    #[error("{release} is signed with the key {key}; {owner} signed with {} before", before.join(", "))]
    KeyChanged {
        /// The release.
        release: String,
        /// The owner.
        owner: String,
        /// The fingerprint of the key.
        key: String,
        /// Those seen before.
        before: Vec<String>,
    },
    /// The content is not the one that was promised.
    #[error("the content of {name} is not the one that {promised_by} names: expected {expected}, found {found}")]
    Digest {
        /// The skill.
        name: String,
        /// Who names it.
        promised_by: &'static str,
        /// The digest named.
        expected: String,
        /// The digest found.
        found: String,
    },
    /// What is there is not what the lock file says.
    #[error("{name} is not as the lock file has it: {what}")]
    LockDiffers {
        /// The skill, or the spec.
        name: String,
        /// What differs.
        what: String,
    },
    /// No archive.
    #[error("{origin} cannot be used: {source}")]
    Archive {
        /// The archive.
        origin: String,
        /// What is wrong with it.
        source: ArchiveError,
    },
    /// The source's folder cannot be read as a skill.
    #[error("{origin} cannot be read: {source}")]
    Folder {
        /// The folder.
        origin: String,
        /// What stands in it.
        source: FolderError,
    },
    /// The source cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The git source.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The archive at a URL.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The network is needed and was forbidden.
    #[error("{origin} needs the network, and --offline forbids it")]
    Offline {
        /// The source.
        origin: String,
    },
    /// The skill cannot be used.
    #[error("{name} is not a usable skill: {}", problems.first().map_or("", |problem| problem.message.as_str()))]
    Invalid {
        /// Its name, or where it is.
        name: String,
        /// All problems.
        problems: Vec<Problem>,
    },
    /// The skill's name is none.
    #[error("{name:?} cannot be the name of a skill's folder: {source}")]
    Name {
        /// The name.
        name: String,
        /// The rule that it breaks.
        source: NameError,
    },
    /// The scan blocks.
    #[error(transparent)]
    Blocked(#[from] Box<Blocked>),
    /// The policy refuses.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// Another skill of this bare name is in the library.
    #[error("the library has {present} under the name {name}; {wanted} would take its place")]
    Exists {
        /// The bare name.
        name: SkillName,
        /// What was to be installed.
        wanted: String,
        /// What is there, as a noun phrase.
        present: String,
        /// The folder, where it has no history.
        unmanaged: Option<PathBuf>,
        /// Whether that folder can be managed as it is.
        is_adoptable: bool,
        /// Whether it was installed from somewhere.
        is_installed: bool,
    },
    /// The installed skill was changed since, and another release is asked for.
    #[error("{name} {installed} was changed in this library since it was installed; {wanted} would undo that")]
    Evolved {
        /// The bare name.
        name: SkillName,
        /// The version installed.
        installed: String,
        /// What is wanted.
        wanted: String,
    },
    /// A release and the changes made here do not go together.
    #[error("{release} does not go together with what was changed in {name} here, in {}", places_of(*places))]
    Conflict {
        /// The bare name.
        name: SkillName,
        /// The release.
        release: String,
        /// The proposal that holds both sides.
        proposal: Option<ProposalId>,
        /// In how many places.
        places: usize,
    },
    /// The merged skill passes a limit.
    #[error("{name}, merged with what was changed here, is too large: {source}")]
    TooLarge {
        /// The skill.
        name: String,
        /// The limit.
        source: BundleError,
    },
    /// A skill that was to be updated was not installed from anywhere.
    #[error("{name} was not installed from anywhere{}", if *is_here { ": it was written here" } else { "" })]
    NotInstalled {
        /// As it was named.
        name: String,
        /// Whether the library has a skill of that name.
        is_here: bool,
    },
    /// Its registry is not the one that serves its owner now.
    #[error("{name} was installed from {installed}, and {asked} is what serves its owner now")]
    OtherRegistry {
        /// The skill.
        name: String,
        /// Where it was installed from.
        installed: String,
        /// What would be asked.
        asked: String,
    },
    /// Its source does not have it any more.
    #[error("{name} is not in {place} any more")]
    Vanished {
        /// The skill.
        name: String,
        /// Where it was.
        place: String,
    },
    /// No releases go together.
    #[error(transparent)]
    Unsolved(#[from] Unsolved),
    /// What it requires cannot be read.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    /// What it requires, or what requires it, was not installed.
    #[error("{name} is not installed without {other}")]
    Unmet {
        /// The skill.
        name: String,
        /// The other one.
        other: String,
    },
    /// Two skills of one bare name in one batch.
    #[error("{first} and {second} would both be called {name}")]
    TwiceInBatch {
        /// The bare name.
        name: SkillName,
        /// The one that was taken.
        first: String,
        /// The other.
        second: String,
    },
    /// Nothing was asked for, and there is no lock file to restore.
    #[error("there is nothing to install: {} has no skill", path.display())]
    NothingLocked {
        /// The lock file.
        path: PathBuf,
    },
    /// The lock file.
    #[error(transparent)]
    LockFile(#[from] LockFileError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The skill's folder was changed by hand into something unusable.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The commit.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The process was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// A registry's place as `--registry` takes it, as one word of a shell.
fn quoted(place: &str) -> String {
    // An origin's `file://` is what git was given; a flag means the folder itself by it.
    shell_word(&if place.starts_with("file://") { format!("git+{place}") } else { place.to_owned() })
}

fn places_of(places: usize) -> String {
    match places {
        1 => "one place".to_owned(),
        places => format!("{places} places"),
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
            Self::Resolve(error) => error.failure(),
            Self::NotInThisRegistry { .. } | Self::OtherRegistry { .. } => self.registry_failure(),
            Self::Pick(error) => error.failure(),
            Self::Fetch(error) => fetch_failure(error),
            Self::Signer(_) | Self::Unsigned { .. } | Self::UnsignedUpdate { .. } | Self::KeyChanged { .. } => {
                self.signer_failure()
            }
            Self::Digest { .. } => {
                of(FailureKind::Integrity, "integrity").hint("do not use it; tell whoever publishes it")
            }
            Self::LockDiffers { .. } => of(FailureKind::Integrity, "lock_differs")
                .hint("install without --frozen to change the lock file, if that is what you want"),
            Self::Archive { .. } => of(FailureKind::Invalid, "invalid_archive")
                .hint("get the archive again, or pack the skill anew with `skillhub pack DIR`"),
            Self::Folder { source, .. } => source.failure(),
            Self::Open { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                of(FailureKind::NotFound, "not_found").hint("check the path")
            }
            Self::Open { .. } => Failure::io(),
            Self::Git(error) => error.failure(),
            Self::Http(error) => error.failure(),
            Self::Offline { .. } => of(FailureKind::Unreachable, "offline").hint("run it without --offline"),
            Self::Invalid { .. } => of(FailureKind::Invalid, "invalid_skill"),
            Self::Name { .. } => of(FailureKind::Invalid, "invalid_name").hint("its author has to rename it"),
            Self::Blocked(_) => {
                of(FailureKind::Blocked, "scan_blocked").hint("read the findings; nothing was installed")
            }
            Self::Denied(error) => error.failure(),
            Self::Exists { .. } => self.name_taken_failure(),
            Self::Evolved { name, .. } => of(FailureKind::Conflict, "evolved")
                .hint(format!("merge the release with the changes: skillhub update {name}")),
            Self::Conflict { proposal: Some(id), .. } => of(FailureKind::Conflict, "merge_conflict").hint(format!(
                "the skill stays as it is; both sides are in the proposal {id}: bring them together at a \
                 terminal with `skillhub review edit {id}`, and a person accepts it"
            )),
            Self::Conflict { name, .. } => of(FailureKind::Conflict, "merge_conflict")
                .hint(format!("an update will keep {name} as it is and hold both sides for a person")),
            Self::TooLarge { .. } => of(FailureKind::Invalid, "too_large"),
            Self::NotInstalled { is_here: true, .. } => {
                of(FailureKind::NotFound, "not_found").hint("only what was installed has something to be updated from")
            }
            Self::NotInstalled { .. } => {
                of(FailureKind::NotFound, "not_found").hint("`skillhub list` shows what is installed")
            }
            Self::Vanished { .. } => {
                of(FailureKind::NotFound, "not_found").hint("it stays as it is; its source has to bring it back")
            }
            Self::Unsolved(_) | Self::Requirement(_) | Self::Unmet { .. } => self.requirement_failure(),
            Self::TwiceInBatch { .. } => of(FailureKind::Conflict, "exists").hint("install one of them"),
            Self::NothingLocked { .. } => of(FailureKind::NotFound, "not_found")
                .hint("name what to install: `skillhub install OWNER/NAME`; `skillhub search WORD` finds skills"),
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
                let which = name.as_ref().map(|name| format!(" {name} --frozen")).unwrap_or_default();
                let command = format!("skillhub install{which} --registry {}", quoted(locked_in));
                Failure { hint: Some(format!("if you trust that registry: {command}")), ..error.failure() }
            }
            Self::OtherRegistry { name, installed, .. } => Failure::new(FailureKind::Refused, "other_registry")
                .hint(format!("ask the former one: skillhub update {name} --registry {}", quoted(installed))),
            _ => Failure::io(),
        }
    }

    fn requirement_failure(&self) -> Failure {
        match self {
            Self::Unsolved(error) => error.failure(),
            Self::Unmet { other, .. } => {
                Failure::new(FailureKind::Failed, "requirement_failed").hint(format!("see what became of {other}"))
            }
            _ => invalid_requirement(),
        }
    }

    /// Another skill of the name is in the library.
    fn name_taken_failure(&self) -> Failure {
        let of = Failure::new;
        match self {
            Self::Exists { name, unmanaged: Some(path), is_adoptable: false, .. } => {
                of(FailureKind::Conflict, "exists")
                    .hint(format!("move {} away and install {name} again", path.display()))
            }
            Self::Exists { name, unmanaged: Some(path), .. } => of(FailureKind::Conflict, "exists").hint(format!(
                "manage the folder with `skillhub adopt {}`, or move it away and install {name} again",
                shell_word(&path.display().to_string())
            )),
            Self::Exists { name, is_installed: true, .. } => of(FailureKind::Conflict, "exists")
                .hint(format!("a library has one skill of a name; first: skillhub uninstall {name}")),
            Self::Exists { name, .. } => of(FailureKind::Conflict, "exists").hint(format!(
                "a library has one skill of a name; first (a person, where it is pinned): skillhub manage delete {name}"
            )),
            _ => Failure::io(),
        }
    }

    fn signer_failure(&self) -> Failure {
        match self {
            Self::Signer(error) => error.failure(),
            Self::Unsigned { owner, .. } => Failure::new(FailureKind::Refused, "unsigned").hint(format!(
                "ask {owner} to publish a signed release, or take the owner or the registry \
                 out of require_signatures, in config.toml or in the policy"
            )),
            Self::UnsignedUpdate { owner, .. } => Failure::new(FailureKind::Refused, "unsigned")
                .hint(format!("the installed release stays; ask {owner} to publish a signed release")),
            Self::KeyChanged { owner, key, .. } => Failure::new(FailureKind::Integrity, "key_changed").hint(format!(
                "ask {owner} by another way whether the new key is theirs; if it is: --accept-key {key}"
            )),
            _ => Failure::new(FailureKind::Integrity, "integrity"),
        }
    }

    /// What the scanner found, when that is the reason.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Blocked(blocked) => Some(blocked.report()),
            _ => None,
        }
    }

    /// What is wrong with the skill, when that is the reason.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }
}

fn signed_only(owner: &Owner, required_by: Option<&str>) -> String {
    match required_by {
        Some(requirer) => format!("the configuration takes nothing unsigned that {requirer} requires"),
        None => format!("the configuration takes nothing of {owner} unsigned"),
    }
}

/// What the author of a skill can do about a requirement that cannot be read.
pub(crate) fn invalid_requirement() -> Failure {
    Failure::new(FailureKind::Invalid, "invalid_requirement")
        .hint("write requires: \"owner/name\" or \"owner/name@^1.2\" under metadata, several with commas between them")
}

fn fetch_failure(error: &FetchError) -> Failure {
    match error {
        FetchError::Withdrawn { name, .. } => Failure::new(FailureKind::Integrity, "withdrawn")
            .hint(format!("choose another version: skillhub info {name}")),
        FetchError::Quarantined { name, .. } => Failure::new(FailureKind::Refused, "quarantined")
            .hint(format!("choose another version: skillhub info {name}")),
        FetchError::Held { name, .. } => {
            Failure::new(FailureKind::Refused, "held").hint(format!("choose another version: skillhub info {name}"))
        }
        FetchError::Differs(_) => Failure::new(FailureKind::Integrity, "line_differs")
            .hint("nothing was installed; tell the people who run the registry that its line was changed"),
        FetchError::Missing { .. } | FetchError::Integrity { .. } => Failure::new(FailureKind::Integrity, "integrity")
            .hint(
                "nothing was installed; tell the people who run the registry that its index or archives were changed",
            ),
        FetchError::Elsewhere(_) => Failure::new(FailureKind::Unreachable, "network"),
        FetchError::Read(error) => error.failure(),
    }
}
