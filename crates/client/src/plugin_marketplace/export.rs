//! [`export_marketplace`]: a registry's skills as plugins in a folder, which can be a git repository.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::Dir;
use library::{
    Durability, PathAccessError, ensure_dir,
    folder::{self, FolderError, ToolFiles},
    read_bounded, write_atomically,
};
use registry_index::{Entry, ReadError};
use scan::Scanner;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use skill::{
    Bundle, Limits, Owner, QualifiedName,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

use super::{Marketplace, Plugin, PluginSource};
use crate::{
    install::InstallError,
    plugin_manifest::{self, MANIFEST},
    registry::{Registries, RegistryError},
    spec::{Spec, SpecError},
    verified_release::fetch_verified,
};

/// File beside the manifest that lists what earlier exports wrote.
const RECORD: &str = ".claude-plugin/skillhub.json";

/// Format version of that file.
const FORMAT: u32 = 1;

/// Maximum size of that file in bytes: a line of 200 bytes for each plugin that a manifest may have.
const RECORD_BYTES: u64 = 1 << 20;

/// Number of owners that an error about an unknown owner names.
const OWNERS_IN_HINT: usize = 10;

/// Name for a skill's folder while it is written.
const UNFINISHED: &str = ".skillhub-export";

/// Content and place of an export.
#[derive(Debug)]
pub struct MarketplaceRequest<'a> {
    /// Name of the marketplace: lowercase letters, digits and hyphens. Default: the only owner, or `skillhub`.
    pub name: Option<&'a str>,
    /// Owners whose skills are exported; all if empty.
    pub owners: &'a BTreeSet<Owner>,
    /// Folder to write, which must be new, empty but for `.git`, or an earlier export.
    pub target: &'a Path,
}

/// Result of an export.
#[derive(Debug)]
pub struct ExportedMarketplace {
    /// Name of the marketplace.
    pub name: String,
    /// Exported skills, sorted.
    pub skills: Vec<QualifiedName>,
    /// Skills that the scanner blocks.
    pub skipped: Vec<SkippedSkill>,
}

/// Skill that was left out.
#[derive(Debug, Serialize)]
pub struct SkippedSkill {
    /// Full name of the skill.
    pub name: String,
    /// Reason, as a sentence fragment.
    pub reason: String,
}

/// Reasons why a marketplace cannot be exported.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum MarketplaceError {
    /// The registry cannot be used.
    Registry(#[from] RegistryError),
    /// The index cannot be read.
    Read(#[from] ReadError),
    /// A release does not pass the checks of an install.
    Release(#[from] Box<InstallError>),
    /// A name in the index is not a spec.
    Spec(#[from] SpecError),
    /// The registry is a server, which lists its skills one page at a time.
    #[error("{0} is a server, which is a marketplace itself")]
    Server(String),
    /// The index has no skill of a requested owner.
    #[error("{owner} has no skills in this index")]
    NoSkills {
        /// The requested owner.
        owner: Owner,
        /// Some owners of the index, sorted.
        known: Vec<Owner>,
    },
    /// The name of the marketplace is invalid.
    #[error("{0:?} cannot be the name of a marketplace")]
    Name(String),
    /// The folder has other content.
    #[error("{} is neither empty nor an earlier export", .0.display())]
    NotEmpty(PathBuf),
    /// A skill's folder was changed, or written by others.
    #[error("{} was changed since the last export, or is not part of one", .0.display())]
    Changed(PathBuf),
    /// The list of exported files cannot be read.
    #[error("{} is damaged: {message}", path.display())]
    Record {
        /// Path of the list.
        path: PathBuf,
        /// Reason.
        message: String,
    },
    /// Readers would ignore a part of the manifest.
    #[error("the manifest would have {plugins} plugins and {bytes} bytes, more than its readers accept")]
    TooLarge {
        /// Number of plugins.
        plugins: usize,
        /// Size of the manifest in bytes.
        bytes: usize,
    },
    /// The folder cannot be accessed.
    Access(#[from] PathAccessError),
    /// A skill's folder cannot be read.
    Folder(#[from] FolderError),
    /// A file cannot be written.
    #[error("cannot write the marketplace: {0}")]
    Io(#[from] io::Error),
}

impl Fails for MarketplaceError {
    fn failure(&self) -> Failure {
        match self {
            Self::Registry(error) => error.failure(),
            Self::Read(error) => error.failure(),
            Self::Release(error) => error.failure(),
            Self::Spec(error) => error.failure(),
            Self::Server(url) => Failure::new(FailureKind::Usage, "usage")
                .hint(format!("in Claude Code: /plugin marketplace add {}/{MANIFEST}", url.trim_end_matches('/'))),
            Self::NoSkills { known, .. } if known.is_empty() => {
                Failure::new(FailureKind::NotFound, "not_found").hint("publish a skill to the index first")
            }
            Self::NoSkills { known, .. } => {
                let known = known.iter().map(Owner::as_str).collect::<Vec<_>>().join(", ");
                Failure::new(FailureKind::NotFound, "not_found").hint(format!("owners with skills: {known}"))
            }
            Self::Name(_) => {
                Failure::new(FailureKind::Invalid, "invalid_name").hint("use lowercase letters, digits and hyphens")
            }
            Self::NotEmpty(_) => Failure::new(FailureKind::Conflict, "exists").hint("name a new folder"),
            Self::Changed(_) => {
                Failure::new(FailureKind::Conflict, "exists").hint("move that folder away, then export again")
            }
            Self::Record { .. } => Failure::new(FailureKind::Integrity, "damaged").hint("export into a new folder"),
            Self::TooLarge { .. } => {
                Failure::new(FailureKind::Invalid, "too_large").hint("export the skills of some owners: --owner OWNER")
            }
            Self::Access(error) => error.failure(),
            Self::Folder(error) => error.failure(),
            Self::Io(_) => Failure::io(),
        }
    }
}

/// Exports the newest offered release of each skill as a plugin.
///
/// Each release passes the checks of an install. One that the scanner blocks is skipped; any other failure ends the
/// export. The same index and rules give the same bytes. Earlier exports to the folder are replaced, and files that no
/// export wrote are never changed.
///
/// # Errors
/// [`MarketplaceError`]. The manifest is written last, so it names complete plugins only.
pub fn export_marketplace(
    registries: &Registries,
    request: &MarketplaceRequest<'_>,
    scanner: Scanner,
) -> Result<ExportedMarketplace, MarketplaceError> {
    let only = request.owners.first().filter(|_| request.owners.len() == 1);
    let name = request.name.or(only.map(Owner::as_str)).unwrap_or("skillhub").to_owned();
    Owner::parse(&name).map_err(|_| MarketplaceError::Name(name.clone()))?;
    let is_wanted = |entry: &Entry| request.owners.is_empty() || request.owners.contains(&entry.name.owner);
    let registry = registries.default_one()?;
    let index = registry.with_all_lines().map_err(|error| match error {
        RegistryError::NotHere(url) => MarketplaceError::Server(url),
        other => other.into(),
    })?;
    check_owners(request.owners, &index.names()?)?;
    let mut entries = index.all()?;
    entries.retain(is_wanted);
    let text = |entries: &[Entry]| text_of(&name, only, entries);
    check_size(entries.len(), text(&entries).len())?;

    let mut target = Target::open(request.target)?;
    target.prepare(&entries)?;
    let mut skipped = Vec::new();
    for entry in &entries {
        let spec = format!("{}@{}", entry.name, entry.version).parse::<Spec>()?;
        match fetch_verified(registries, &spec, scanner) {
            Ok(release) => target.write(&entry.name, release.cleared.bundle())?,
            Err(error @ InstallError::Blocked(_)) => {
                skipped.push(SkippedSkill { name: entry.name.to_string(), reason: error.to_string() });
            }
            Err(error) => return Err(Box::new(error).into()),
        }
    }
    entries.retain(|entry| !skipped.iter().any(|skipped| skipped.name == entry.name.to_string()));
    target.finish(&entries, text(&entries).as_bytes())?;
    Ok(ExportedMarketplace { name, skills: entries.into_iter().map(|entry| entry.name.clone()).collect(), skipped })
}

/// Formats the manifest of a folder with the plugins of these releases.
fn text_of(name: &str, only: Option<&Owner>, entries: &[Entry]) -> String {
    let source = |entry: &Entry| PluginSource::Folder(format!("./plugins/{}", entry.name));
    let plugins = entries.iter().map(|entry| Plugin::of(entry, only, source(entry))).collect();
    pretty(&json!(Marketplace::new(name, only.map_or(name, Owner::as_str), plugins)))
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

/// Refuses an owner without skills. An owner whose releases are all yanked has some.
fn check_owners(owners: &BTreeSet<Owner>, names: &[QualifiedName]) -> Result<(), MarketplaceError> {
    let known: BTreeSet<&Owner> = names.iter().map(|name| &name.owner).collect();
    let Some(owner) = owners.iter().find(|owner| !known.contains(owner)) else { return Ok(()) };
    let known = known.into_iter().take(OWNERS_IN_HINT).cloned().collect();
    Err(MarketplaceError::NoSkills { owner: owner.clone(), known })
}

fn check_size(plugins: usize, bytes: usize) -> Result<(), MarketplaceError> {
    match plugins > plugin_manifest::MOST_PLUGINS || bytes as u64 > plugin_manifest::MOST_BYTES {
        true => Err(MarketplaceError::TooLarge { plugins, bytes }),
        false => Ok(()),
    }
}

/// Names and digests of the skills that exports wrote.
#[derive(Debug, Deserialize)]
struct Record {
    format: u32,
    skills: BTreeMap<String, String>,
}

/// Folder of a marketplace.
struct Target {
    path: PathBuf,
    dir: Dir,
    written: BTreeMap<QualifiedName, String>,
}

impl Target {
    fn open(path: &Path) -> Result<Self, MarketplaceError> {
        let dir = ensure_dir(path)?;
        let written = match read_bounded(&dir, RECORD, RECORD_BYTES)? {
            Some(bytes) => {
                read_record(&bytes).map_err(|message| MarketplaceError::Record { path: path.join(RECORD), message })?
            }
            None => {
                let mut names = dir.entries()?.map(|entry| Ok(entry?.file_name()));
                if names.any(|name: io::Result<_>| name.map_or(true, |name| name != ".git")) {
                    return Err(MarketplaceError::NotEmpty(path.to_owned()));
                }
                BTreeMap::new()
            }
        };
        Ok(Self { path: path.to_owned(), dir, written })
    }

    /// Refuses folders of skills that no export wrote, then records the new ones, so that an interrupted export can be
    /// repeated.
    fn prepare(&mut self, entries: &[Entry]) -> Result<(), MarketplaceError> {
        let new: BTreeMap<_, _> = entries.iter().map(|entry| (&entry.name, entry.digest.to_string())).collect();
        let mut absent = Vec::new();
        for name in new.keys().copied().chain(self.written.keys()) {
            let digest = new.get(name);
            if !self.check_skill(name, digest.map(String::as_str))? {
                absent.extend(digest.map(|digest| (name.clone(), digest.clone())));
            }
        }
        self.written.extend(absent);
        self.record()
    }

    /// Returns whether the folder of a skill exists. It must have the content of the last export, or the `new` one.
    fn check_skill(&self, name: &QualifiedName, new: Option<&str>) -> Result<bool, MarketplaceError> {
        let Some(found) = self.digest_at(name)? else { return Ok(false) };
        match self.written.get(name) == Some(&found) || new == Some(&found) {
            true => Ok(true),
            false => Err(MarketplaceError::Changed(self.path.join(folder_of(name)).join(name.name.as_str()))),
        }
    }

    fn digest_at(&self, name: &QualifiedName) -> Result<Option<String>, MarketplaceError> {
        let read = |dir| folder::read_dir(dir, ToolFiles::Read, &Limits::default());
        match below(&self.dir, &format!("{}/{}", folder_of(name), name.name)).and_then(read) {
            Err(FolderError::Missing(_)) => Ok(None),
            bundle => Ok(Some(bundle?.digest().to_string())),
        }
    }

    /// Writes the folder of a skill, or replaces that of the last export.
    fn write(&mut self, name: &QualifiedName, bundle: &Bundle) -> Result<(), MarketplaceError> {
        let digest = bundle.digest().to_string();
        let exists = self.check_skill(name, Some(&digest))?;
        if exists && self.digest_at(name)?.as_ref() == Some(&digest) {
            self.written.insert(name.clone(), digest);
            return Ok(());
        }
        if exists {
            self.remove(name)?;
            self.written.insert(name.clone(), digest);
            self.record()?;
        }
        self.dir.create_dir_all(folder_of(name))?;
        let parent = below(&self.dir, &folder_of(name))?;
        if folder::open(&parent, UNFINISHED).is_ok() {
            parent.remove_dir_all(UNFINISHED)?;
        }
        folder::write(&parent, UNFINISHED, bundle)?;
        parent.rename(UNFINISHED, &parent, name.name.as_str())?;
        Ok(())
    }

    /// Removes an exported skill, and its parent folders if they are empty then.
    fn remove(&mut self, name: &QualifiedName) -> Result<(), MarketplaceError> {
        if self.check_skill(name, None)? {
            let parent = below(&self.dir, &folder_of(name))?;
            parent.remove_dir_all(name.name.as_str())?;
            let plugin = format!("plugins/{name}");
            for folder in [folder_of(name), plugin, format!("plugins/{}", name.owner)] {
                // A folder with files of others stays.
                let _kept = self.dir.remove_dir(folder);
            }
        }
        self.written.remove(name);
        Ok(())
    }

    /// Removes the skills that are no longer offered, and writes record and manifest.
    fn finish(&mut self, entries: &[Entry], manifest: &[u8]) -> Result<(), MarketplaceError> {
        let offered: BTreeSet<&QualifiedName> = entries.iter().map(|entry| &entry.name).collect();
        let outdated: Vec<_> = self.written.keys().filter(|name| !offered.contains(name)).cloned().collect();
        self.record()?;
        self.put(MANIFEST, manifest)?;
        outdated.iter().try_for_each(|name| self.remove(name))?;
        self.record()
    }

    fn record(&self) -> Result<(), MarketplaceError> {
        let skills: BTreeMap<_, _> = self.written.iter().map(|(name, digest)| (name.to_string(), digest)).collect();
        self.put(RECORD, pretty(&json!({"format": FORMAT, "skills": skills})).as_bytes())
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<(), MarketplaceError> {
        let (parent, name) = path.split_once('/').unwrap_or((".", path));
        self.dir.create_dir_all(parent)?;
        Ok(write_atomically(&folder::open(&self.dir, parent)?, name, bytes, Durability::Whole)?)
    }
}

/// Opens a folder below another, without following links.
fn below(dir: &Dir, path: &str) -> Result<Dir, FolderError> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let child = folder::open(dir, first)?;
    if rest.is_empty() { Ok(child) } else { below(&child, rest) }
}

/// Returns the folder that contains the folder of a skill.
fn folder_of(name: &QualifiedName) -> String {
    format!("plugins/{name}/skills")
}

fn read_record(bytes: &[u8]) -> Result<BTreeMap<QualifiedName, String>, String> {
    let record: Record = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if record.format != FORMAT {
        return Err(format!("its format {} is unknown", record.format));
    }
    let name = |name: String| name.parse::<QualifiedName>().map_err(|error| format!("{name:?}: {error}"));
    record.skills.into_iter().map(|(text, digest)| Ok((name(text)?, digest))).collect()
}
