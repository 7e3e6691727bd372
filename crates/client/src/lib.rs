//! Distribution of skills: sources, registries, install and publish.
//!
//! The principal types are [`Installer`], which installs the skills that a [`Spec`] names into a library, and
//! [`publish()`], which makes a release of a folder. Both work on [`Registries`].
//!
//! Nothing here renders output, prompts or reads the environment: time, identity, the user's home and the values of
//! variables are arguments. Every error implements [`skill::failure::Fails`], which gives its class and a hint.
//!
//! # Publish
//!
//! `skillhub publish release-notes --owner acme`
//!
//! 1. [`publish()`] reads the folder into a bundle (`read`) and validates it against the folder's name.
//!    `archive::check_content` refuses content that no archive may have, such as native programs.
//! 2. `scan::clear_by` scans without a baseline: every finding counts as new.
//! 3. `Registries::serving` opens the one registry for the owner: the configured one, or else the embedded one, which
//!    is created on first use.
//! 4. The version is that of the flag, of the frontmatter, or the next patch version. Content that the newest release
//!    already has ends here as unchanged.
//! 5. `archive::pack` makes the same bytes from the same files. `Index::append` packs again to compare
//!    (`check_archive`), takes the fields of the entry from the bundle (`fields_of`) and writes the archive as a blob.
//! 6. `Store::update` plans on a snapshot: the owner's file, the archive, the entry. `try_commit` moves
//!    `refs/heads/main` if it is still where it was read: the commit point. Objects and references are synced. A writer
//!    that lost the race plans again.
//!
//! In a git registry (`registry/remote.rs`), `Mirror::refresh` fetches the branch without trees into a bare repository
//! of the home, and `LastSeen::check` refuses a history that does not contain the commit seen last. `Index::open_at` pins
//! the commit, so that other processes may move the mirror. `Mirror::fetch_missing` prefetches: it walks the tree along the
//! needed paths, level by level, and fetches the missing objects of each level at once. `Index::append` makes a commit
//! that no branch has (`take_draft`); pushing it is the commit point, because the server moves its branch only from the
//! parent of that commit. If the branch moved, all of it runs again on the new commit.
//!
//! In a server registry (`registry/web.rs`), files of the index are fetched one by one, with the git blob id as ETag,
//! into an index below the home (`Index::take_over`). Publishing sends the archive to the server.
//!
//! # Install
//!
//! `skillhub install acme/release-notes`
//!
//! 1. [`Spec`] parses `owner/name@range`, a folder, a `.skill` file, its URL, a git URL or a browser's link
//!    (`spec/address.rs`). A link's branch and path are separated by the references of the repository
//!    (`git_source.rs`). Without a spec, the orders are the entries of the lock file.
//! 2. `install/prefetch.rs` prefetches what several skills need from the network, in parallel. A failed fetch is reported
//!    when its skill is planned. `requires::choose` resolves requirements with pubgrub.
//! 3. `source::fetch` chooses the release and verifies it: `Index::bundle` checks size and hash of the archive,
//!    unpacking is bounded, and `check_digest` compares the files with the entry. A git source is fetched bare by the
//!    `git` program, with fixed arguments and limits (`git.rs`), and its trees are read without a checkout.
//!    `discovery.rs` finds its skills, with what a manifest lists (`plugin_manifest.rs`), and selects some of them.
//!    `check_lock` compares everything with the lock file, and `signer::check_signer` the key of a signed release.
//! 4. `plan::plan` checks that agents can load the skill, compares it with the library, records a hand edit and clears
//!    it. Another owner's skill, an unmanaged folder or a changed skill under that name is a conflict, and nothing is
//!    touched. With `--as`, `Candidate::choose_name` writes the other name into the files first; the release itself is
//!    the revision before them, or beside them after an update.
//! 5. `Installer::carry_out` makes one `Library::commit` of all skills that passed, with the
//!    [`Origin`](library::Origin) in each revision. The links in agents' folders and the lines of `skillhub.lock` are
//!    part of the same journal record. The rest follows in this order:
//!
//!    1. the journal record is synced: the commit point;
//!    2. objects and references of `history.git`, then events, then the lines as `lock-lines.json`;
//!    3. the folder of each skill, and then its links in agents' folders;
//!    4. the library's lock is released;
//!    5. `write_pending_lines` writes `skillhub.lock`, for which it takes the lock once more;
//!    6. `lock-lines.json` is deleted.
//!
//!    If a step fails, the result has a warning, and the next command completes it. An install that changes nothing but
//!    lines has no record and begins with `lock-lines.json`. With `--frozen`, the lock file is not written.
//!
//! The lock file is read for the plan, when `carry_out` begins, and under the library's lock before it is written,
//! because git or an editor may change it in between. It is parsed again only if its bytes have changed
//! (`lock_file/last_read.rs`).
//!
//! `Registries::route` chooses the registry of a skill: the flag, the source of an installed skill if this home trusts
//! it, or the configuration. A requirement is looked up in the registry of the release that requires it, unless the
//! configuration names another one.
//!
//! Ctrl-C and SIGTERM set an interrupt (`library::interrupt`). Fetches, scans and runners check it and stop; a
//! `Section`, such as a commit with its links and lock file, is completed first.
//!
//! # Update, uninstall, adopt, import
//!
//! - `update` goes the same way. `newer` (`update/candidate.rs`) finds the release, and the files of the installed one in
//!   the history, the cache or the registry. `merge_release` (`install/merging.rs`) merges base, local changes and
//!   release with libgit2's merge of files, so that the result is git's. A clean merge is committed with the release as
//!   second parent (`Upstream`). A conflict becomes a `Proposal` with a `ProposedRelease`; `review::edit` resolves
//!   files, and `review::accept` commits the same two parents.
//! - `uninstall` commits a tombstone and removes its own links. `adopt` commits a folder as it is.
//! - `import` makes a `Candidate` of each entry of another tool's lock file ([`ForeignLock`]) and continues at step 4.
//!   If the folder exists, the release that it was made from becomes the first revision and its content the next. If
//!   that release is unknown, the origin has a digest that no files have, so that a merge has no base and leaves every
//!   difference to a person.
//! - A lock file with conflict markers is resolved by [`resolve_conflicts`] alone, when `doctor --fix` asks for it.

mod accept;
mod adopt;
mod agent_folders;
mod cache;
mod config;
mod discovery;
mod failure;
mod foreign;
mod git;
mod git_source;
mod http;
mod import;
mod install;
mod keys;
mod leftovers;
mod lock_file;
mod login;
mod lookalike;
mod paths;
mod placed;
mod plugin_manifest;
pub mod plugin_marketplace;
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
mod site_index;
mod sources;
mod spec;
mod sync;
mod tracked;
mod transport;
mod undo;
mod uninstall;
mod unmanaged;
mod update;
mod verified_release;
mod verify;

pub use accept::{Accept, BlockedSkill, accept_nothing, store_waivers};
pub use adopt::{AdoptError, AdoptRequest, AdoptStatus, Adopted, adopt};
pub use agent_folders::{AgentError, AgentFolder, AgentFolders};
pub use cache::{CACHE_BYTES, Cache, CacheCheck, CacheError, Trimmed};
pub use config::{
    AgentsConfig, Config, ConfigError, LibraryConfig, NotifyConfig, RegistryConfig, SearchConfig, SigningConfig,
    SkillsConfig, SourceConfig, SourceKind, add_source, public_and_custom, remove_source, set_public_search,
};
pub use discovery::{OfferedSkill, Pick, PickError, shared_names};
pub use foreign::{ForeignError, ForeignLock, ForeignTool};
pub use git::ProgramError;
pub use git_source::GitError;
pub use http::{HttpError, agent_within, check_token_may_go};
pub use import::{ImportStatus, Imported};
pub use install::{
    Choice, Evolved, Hides, InstallError, InstallRequest, InstallStatus, Installed, Installer, Outcomes, Prefetch,
    Progress, SourceListing, read_below, upload_name,
};
pub use keys::{KeyError, Keys, add_key, keys, retire_key};
pub use leftovers::{leftover_files, remove_leftover_files};
pub use lock_file::{
    Drift, DriftKind, LOCK_FILE, LockFile, LockFileError, LockedSkill, LockedWaiver, ResolvedConflicts, Undecided,
    deleted_entry, drifts, has_pending_lines, repair_drifts, resolve_conflicts, returned_entry, write_pending_lines,
};
pub use login::{Login, LoginError, Logins};
pub use placed::{
    LinkState, LinkedSkill, MovedLink, MovedOutcome, RELINK, VisibilityOutcome, follow_move, hide_from, linked_skills,
    repair_link, show_in, sync_link, sync_links,
};
pub use policy_file::{PolicyDocument, PolicyFile, settings_text};
pub use publish::{
    Fork, ForkError, ForkKnown, ForkResults, PublishError, PublishItem, PublishOptions, PublishStatus, Published,
    Publisher, publish, publish_all, publish_fork, skill_folders,
};
pub use registry::{
    EMBEDDED, EnvironmentToken, IndexRemote, InitializedRegistry, MirrorCheck, MirrorsTidied, Registries, Registry,
    RegistryError, init_registry, installed_sources, is_git_location, registry_folder, token_variable,
};
pub use release_state::{InstalledRelease, ReleaseState, known_states};
pub use releases::{Info, ReleaseNotes, Signed, YankError, Yanked, deprecate, info, yank};
pub use requires::{Requirers, Unsolved, requirers_of as requirers};
pub use resolve::{ResolveError, Resolved, resolve};
pub use scan_settings::{of_file as scan_settings, scanner};
pub use search::{DEFAULT_RESULTS, SearchError, SearchResult, SearchResults, SearchedSource, SourceState};
pub use signing::{SigningError, SigningKey, read_public_key};
pub use site_index::SiteError;
pub use sources::{DetectedSource, ListedSource, PUBLIC_SOURCES, PublicSource, SearchRequest, SourceError, Sources};
pub use spec::{BrowserLink, GitSpec, SiteApi, SiteSpec, Spec, SpecError, VersionRequest};
pub use sync::{
    CountRuns, RunCounts, RunsByRevision, SyncChange, SyncError, SyncRequest, Synced, SyncedSkill, runs_elsewhere, sync,
};
pub use transport::{GIT_CA_FILE, Transport, TrustError};
pub use undo::{
    Operation, START as UNDO_START, UndoError, UndoStatus, Undone, UndoneSkill, operations, undo, undo_reason, undo_to,
};
pub use uninstall::{Outcome, UninstallError, Uninstalled, uninstall};
pub use unmanaged::{Unmanaged, unmanaged};
pub use update::{Outdated, SkillToUpdate, UpdateRequest, outdated};
pub use verified_release::{VerifiedRelease, fetch_verified};
pub use verify::{Verified, VerifyStatus, verify};
