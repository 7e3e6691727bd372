//! What the API answers with, as JSON.

use registry_index::Entry;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{access::Scope, accounts::Member, catalogue::Found, quarantines::Barrier};

/// Skills that were found.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchDocument {
    /// Always `true`.
    pub ok: bool,
    /// The skills, in order.
    pub results: Vec<SkillSummary>,
    /// What to give as `offset` for those that follow; `null` when there are none.
    pub next: Option<usize>,
}

/// A skill by its newest release.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkillSummary {
    /// `owner/name`.
    pub name: String,
    /// The newest version.
    pub version: String,
    /// Its description.
    pub description: String,
    /// How well it fits what was looked for; 0 in a list.
    pub score: u32,
    /// `allow` or `warn`.
    pub verdict: String,
    /// Whether the newest release is signed.
    pub signed: bool,
    /// When it was published.
    pub published_at: String,
    /// Downloads of all releases.
    pub downloads: u64,
    /// Accounts that starred it.
    pub stars: u64,
    /// Its licence.
    pub license: Option<String>,
    /// Its keywords.
    pub keywords: Vec<String>,
}

/// A skill with all releases.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkillDocument {
    /// Always `true`.
    pub ok: bool,
    /// `owner/name`.
    pub name: String,
    /// The releases, newest version first.
    pub releases: Vec<ReleaseDocument>,
    /// Downloads of all releases.
    pub downloads: u64,
    /// Accounts that starred it.
    pub stars: u64,
}

/// A release, as its line in the index has it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReleaseDocument {
    /// The format of the line.
    pub v: u32,
    /// `owner/name`.
    pub name: String,
    /// The version.
    pub version: String,
    /// The digest of the files.
    pub digest: String,
    /// The sha256 of the archive.
    pub archive: String,
    /// Bytes of the archive.
    pub size: u64,
    /// Number of files.
    pub files: u64,
    /// The description.
    pub description: String,
    /// The licence.
    pub license: Option<String>,
    /// The keywords.
    pub keywords: Vec<String>,
    /// Skills that it needs.
    pub requires: Vec<String>,
    /// `allow` or `warn`.
    pub verdict: String,
    /// The account that published it.
    pub publisher: String,
    /// When.
    pub published_at: String,
    /// Its signature.
    pub signature: Option<String>,
    /// What it was made from.
    #[schema(value_type = Option<Object>)]
    pub forked_from: Option<Value>,
    /// Whether it is kept out of new installs.
    pub yanked: bool,
    /// Why and when it lost its archive.
    #[schema(value_type = Option<Object>)]
    pub withdrawn: Option<Value>,
    /// Quarantine, hold, reason of a yank, deprecation, as the line has them.
    #[schema(value_type = Option<Object>)]
    pub status: Option<Value>,
}

/// One release.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneRelease {
    /// Always `true`.
    pub ok: bool,
    /// The release.
    pub release: ReleaseDocument,
    /// Why it is under quarantine; `null` when it is not.
    pub quarantined: Option<String>,
    /// Why it is on hold: its content is that of a release under quarantine. `null` when it is not.
    pub held: Option<String>,
}

/// What became of an archive that was sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct PublishedDocument {
    /// Always `true`.
    pub ok: bool,
    /// `published` or `unchanged`.
    pub status: &'static str,
    /// `owner/name`.
    pub name: String,
    /// The version.
    pub version: String,
    /// The digest of the files.
    pub digest: String,
    /// Bytes of the archive.
    pub size: u64,
    /// `allow` or `warn`.
    pub verdict: String,
    /// Why the release is not handed out yet; `null` when it is.
    pub held: Option<String>,
    /// What the scanner found, as `skillhub scan --json` tells it.
    #[schema(value_type = Vec<Object>)]
    pub findings: Value,
}

/// The files of a release.
#[derive(Debug, Serialize, ToSchema)]
pub struct FilesDocument {
    /// Always `true`.
    pub ok: bool,
    /// `owner/name`.
    pub name: String,
    /// The version.
    pub version: String,
    /// The files, by path.
    pub files: Vec<FileDocument>,
}

/// One file.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileDocument {
    /// Its path in the skill.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Whether it is executable.
    pub executable: bool,
}

/// What the scanner says of a release today.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScanDocument {
    /// Always `true`.
    pub ok: bool,
    /// The rules that were asked.
    pub ruleset: String,
    /// `allow`, `warn` or `block`.
    pub verdict: String,
    /// What was found.
    #[schema(value_type = Vec<Object>)]
    pub findings: Value,
    /// What the skill would touch.
    #[schema(value_type = Object)]
    pub capabilities: Value,
}

/// What differs between two releases.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffDocument {
    /// Always `true`.
    pub ok: bool,
    /// The older one.
    pub from: String,
    /// The newer one.
    pub to: String,
    /// Each file that differs.
    #[schema(value_type = Vec<Object>)]
    pub files: Value,
    /// A unified diff.
    pub diff: String,
}

/// Where a release comes from and what was made of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct LineageDocument {
    /// Always `true`.
    pub ok: bool,
    /// `owner/name`.
    pub name: String,
    /// What its releases were made from, by version.
    pub made_from: Vec<Made>,
    /// Releases here that were made from it.
    pub made_into: Vec<Made>,
    /// Skills here whose newest release needs it.
    pub dependents: Vec<String>,
}

/// One step of a lineage.
#[derive(Debug, Serialize, ToSchema)]
pub struct Made {
    /// The release that was made: `owner/name version`.
    pub release: String,
    /// What it was made from.
    pub from: String,
}

/// A namespace.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnerDocument {
    /// Always `true`.
    pub ok: bool,
    /// The owner in `owner/name`.
    pub owner: String,
    /// Who publishes there.
    pub members: Vec<Member>,
    /// The keys that its releases are signed with, by fingerprint.
    pub keys: Vec<String>,
    /// Its skills, newest first, at most 100.
    pub skills: Vec<SkillSummary>,
}

/// The owners of one bare name.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnersDocument {
    /// Always `true`.
    pub ok: bool,
    /// The owners who have a skill of this name.
    pub owners: Vec<String>,
    /// Names that differ from it in a letter or two, each with its owner.
    pub similar: Vec<String>,
}

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
pub struct WhoDocument {
    /// Always `true`.
    pub ok: bool,
    /// The account; `null` when nobody has signed in.
    pub account: Option<String>,
    /// What the token is good for.
    pub scope: Option<Scope>,
    /// Whether the account runs the server.
    pub admin: bool,
}

/// That something was done.
#[derive(Debug, Serialize, ToSchema)]
pub struct Done {
    /// Always `true`.
    pub ok: bool,
}

/// How many stars a skill has.
#[derive(Debug, Serialize, ToSchema)]
pub struct StarsDocument {
    /// Always `true`.
    pub ok: bool,
    /// Accounts that starred it.
    pub stars: u64,
}

impl Done {
    /// It was.
    pub const DONE: Self = Self { ok: true };
}

impl OneRelease {
    /// A release with what is decided about it.
    #[must_use]
    pub fn of(entry: &Entry, barrier: Option<Barrier>) -> Self {
        let (mut quarantined, mut held) = (None, None);
        match barrier {
            Some(Barrier::Quarantined(reason)) => quarantined = Some(reason),
            Some(Barrier::Held(reason)) => held = Some(reason),
            None => {}
        }
        Self { ok: true, release: ReleaseDocument::from(entry), quarantined, held }
    }
}

impl From<&Entry> for ReleaseDocument {
    fn from(entry: &Entry) -> Self {
        let of = |key: &str| entry.raw().get(key).filter(|value| !value.is_null()).cloned();
        Self {
            v: entry.v,
            name: entry.name.to_string(),
            version: entry.version.to_string(),
            digest: entry.digest.to_string(),
            archive: entry.archive.to_string(),
            size: entry.size,
            files: entry.files,
            description: entry.description.clone(),
            license: entry.license.clone(),
            keywords: entry.keywords.clone(),
            requires: entry.requires.clone(),
            verdict: entry.verdict.clone(),
            publisher: entry.publisher.clone(),
            published_at: entry.published_at.to_string(),
            signature: entry.signature.clone(),
            forked_from: of("forked_from"),
            yanked: entry.yanked,
            withdrawn: of("withdrawn"),
            status: of("status"),
        }
    }
}

impl From<&Found> for SkillSummary {
    fn from(found: &Found) -> Self {
        let Found { entry, score, downloads, stars } = found;
        Self {
            name: entry.name.to_string(),
            version: entry.version.to_string(),
            description: entry.description.clone(),
            score: *score,
            verdict: entry.verdict.clone(),
            signed: entry.signature.is_some(),
            published_at: entry.published_at.to_string(),
            downloads: *downloads,
            stars: *stars,
            license: entry.license.clone(),
            keywords: entry.keywords.clone(),
        }
    }
}
