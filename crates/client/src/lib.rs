//! Distribution of skills: sources, registries, install and publish.
//!
//! The principal types are [`Installer`], which installs the skills that a [`Spec`] names into a library, and
//! [`publish()`], which makes a release of a folder. Both work on [`Registries`].
//!
//! Nothing here renders output, prompts or reads the environment: time, identity, the user's home and the values of
//! variables are arguments. Every error implements [`skill::failure::Fails`], which gives its class and a hint.

mod accept;
mod adopt;
mod agent_folders;
mod cache;
mod config;
mod failure;
mod foreign;
mod found;
mod git;
mod git_source;
mod http;
mod import;
mod install;
mod keys;
mod lock_file;
mod login;
mod lookalike;
mod paths;
mod placed;
mod policy_file;
mod publish;
mod registry;
mod release_state;
mod releases;
mod requires;
mod resolve;
mod scan_settings;
pub mod search;
mod signing;
mod spec;
mod tracked;
mod transport;
mod undo;
mod unfinished;
mod uninstall;
mod unmanaged;
mod update;
mod verify;
mod vetted;

pub use accept::{Accept, BlockedSkill, accept_nothing, store_waivers};
pub use adopt::{AdoptError, AdoptRequest, AdoptStatus, Adopted, adopt};
pub use agent_folders::{AgentError, AgentFolder, AgentFolders};
pub use cache::{CACHE_BYTES, Cache, CacheCheck, CacheError, Trimmed};
pub use config::{
    AgentsConfig, Config, ConfigError, LibraryConfig, NotifyConfig, RegistryConfig, SigningConfig, SkillsConfig,
    public_and_custom,
};
pub use foreign::{ForeignError, ForeignLock, ForeignTool};
pub use found::{Pick, PickError};
pub use git::ProgramError;
pub use git_source::GitError;
pub use http::{HttpError, check_token_may_go};
pub use import::{ImportStatus, Imported};
pub use install::{
    Ahead, Choice, Evolved, InstallError, InstallRequest, InstallStatus, Installed, Installer, Outcomes, Progress,
    read_below, upload_name,
};
pub use keys::{KeyError, Keys, add_key, keys, retire_key};
pub use lock_file::{
    Drift, DriftKind, Healed, LOCK_FILE, LockFile, LockFileError, LockedSkill, LockedWaiver, Undecided, drifts, heal,
    mend_drifts, write_pending_lines,
};
pub use login::{Login, LoginError, Logins};
pub use placed::{
    MovedOutcome, MovedPlace, PlacedSkill, SightOutcome, Standing, follow_move, follow_sight, follow_sight_at, hide_in,
    mend_placed, placed_skills, show_in,
};
pub use policy_file::PolicyFile;
pub use publish::{
    Fork, ForkError, ForkKnown, ForkResults, PublishError, PublishOptions, PublishStatus, Published, Publisher,
    publish, publish_fork,
};
pub use registry::{
    EMBEDDED, MirrorCheck, MirrorsTidied, Registries, Registry, RegistryError, init_registry, installed_sources,
    is_elsewhere, token_variable,
};
pub use release_state::{InstalledRelease, ReleaseState, known_states};
pub use releases::{Info, Signed, YankError, Yanked, deprecate, info, yank};
pub use requires::{Requirers, Unsolved, requirers_of as requirers};
pub use resolve::{ResolveError, Resolved, resolve};
pub use scan_settings::{of_file as scan_settings, scanner};
pub use search::{DEFAULT_RESULTS, Found as SearchFound, SearchError, SearchResult, search};
pub use signing::{SigningError, SigningKey, read_public_key};
pub use spec::{GitSpec, Request, Spec, SpecError};
pub use transport::{GIT_CA_FILE, Transport, TrustError};
pub use undo::{
    Operation, START as UNDO_START, UndoError, UndoStatus, Undone, UndoneSkill, operations, undo, undo_reason, undo_to,
};
pub use unfinished::{remove_unfinished, unfinished};
pub use uninstall::{Outcome, UninstallError, Uninstalled, uninstall};
pub use unmanaged::{Unmanaged, unmanaged};
pub use update::{Outdated, SkillToUpdate, UpdateRequest, outdated};
pub use verify::{Verified, VerifyStatus, verify};
pub use vetted::{Vetted, vetted};
