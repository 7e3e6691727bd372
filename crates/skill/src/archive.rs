//! Conversion of a [`Bundle`] to a `.skill` file (a zip [`Archive`]) and back: [`pack`] and [`unpack`].
//!
//! `pack` writes one canonical form: members sorted by path, stored uncompressed, dated 1980-01-01, without optional
//! fields. The same files therefore give the same bytes in every version, and git stores successive releases as small
//! deltas.
//!
//! `unpack` reads archives from untrusted sources. Members may be deflated, but every zip reader has to see the same
//! files: the whole archive is refused for one ambiguous member.

mod error;
mod layout;
mod native;
mod record;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{Cursor, Read},
    ops::Deref,
    sync::OnceLock,
};

pub use error::ArchiveError;
use layout::{Member, Method};
use record::{CentralRecord, EndRecord, LocalRecord, crc32};
use zip::read::{ZipReadOptions, read_zipfile_from_stream_with_options};

use crate::{Bundle, BundleError, Digest, File, Limits, SkillPath};

/// Bytes per member that are exempt from the compression ratio limit. Short runs of one character compress extremely
/// well without being a bomb, and this size is harmless for every member at once.
const RATIO_FREE_BYTES: u64 = 4096;

/// Folder in which macOS archives store resource forks and extended attributes.
const MAC_FOLDER: &str = "__MACOSX/";

/// Bytes of an archive, with their hash once it is needed.
#[derive(Debug, Clone)]
pub struct Archive {
    bytes: Vec<u8>,
    hash: OnceLock<Digest>,
    /// Digest of the skill that was packed. `None` for an archive from elsewhere.
    packed: Option<Digest>,
}

impl Archive {
    /// Wraps an archive from elsewhere, without checking it.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes, hash: OnceLock::new(), packed: None }
    }

    /// Returns the hash of the bytes, which identifies the archive.
    pub fn hash(&self) -> Digest {
        *self.hash.get_or_init(|| Digest::of_bytes(&self.bytes))
    }

    /// Returns the digest of the skill from which [`pack`] made the archive. `None` for an archive from elsewhere.
    pub fn packed(&self) -> Option<Digest> {
        self.packed
    }

    /// Returns the bytes alone.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Deref for Archive {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Packs a skill, with its files at the top level of the archive, sorted by the bytes of their paths.
///
/// The bundle must be within the limits of zip without the 64-bit extension (65,535 files, 4 GiB). These are far above
/// [`Limits`].
pub fn pack(bundle: &Bundle) -> Archive {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (path, file) in bundle.files() {
        let offset = record::fit(archive.len());
        let local = LocalRecord::stored(path.as_str(), &file.bytes);
        archive.extend(local.to_bytes());
        archive.extend_from_slice(&file.bytes);
        let mode = if file.executable { 0o100_755 } else { 0o100_644 };
        directory.extend(CentralRecord { local, mode, offset }.to_bytes());
    }
    let end = EndRecord::new(bundle.len(), directory.len(), archive.len());
    archive.extend(directory);
    archive.extend(end.to_bytes());
    #[cfg(debug_assertions)]
    crate::work::note("pack", &archive);
    Archive { packed: Some(bundle.digest()), ..Archive::of_bytes(archive) }
}

/// Unpacks a skill. The whole archive is refused if one member is invalid.
///
/// If all files are in one folder with a `SKILL.md`, as in a zipped folder, the folder's name is stripped from the
/// paths. Files added by macOS (`__MACOSX/`, `.DS_Store`) are ignored. Of each mode, only the executable bit is kept.
///
/// # Errors
/// [`ArchiveError`] if the bytes are not a zip, readers could disagree about the contents, a member is not a regular
/// file with a path inside the skill, a limit is exceeded, or [`check_content`] refuses a file.
pub fn unpack(bytes: &[u8], limits: &Limits) -> Result<Bundle, ArchiveError> {
    let members = layout::read(bytes, limits)?;
    let named = files_of(&members, limits)?;
    let top = common_folder(&named);
    let mut files = Vec::with_capacity(named.len());
    for (path, member) in named {
        files.push((without_folder(&path, top.as_deref())?, read_member(member)?));
    }
    let bundle = Bundle::from_files(files, limits).map_err(ArchiveError::from)?;
    check_content(&bundle)?;
    Ok(bundle)
}

/// Reads the files of any zip, such as an office document, under their own paths.
///
/// # Errors
/// As for [`unpack`], except that the content of the files is not checked.
pub fn members(bytes: &[u8], limits: &Limits) -> Result<Vec<(SkillPath, File)>, ArchiveError> {
    let members = layout::read(bytes, limits)?;
    files_of(&members, limits)?.into_iter().map(|(path, member)| Ok((path, read_member(member)?))).collect()
}

/// Selects the members that are files and checks their declared sizes against the limits.
fn files_of<'a>(members: &'a [Member<'a>], limits: &Limits) -> Result<Vec<(SkillPath, &'a Member<'a>)>, ArchiveError> {
    let mut folders = Vec::new();
    let mut named = Vec::new();
    for member in members {
        match kind(member)? {
            Kind::Ignored => {}
            Kind::Folder(path) => folders.push(path),
            Kind::File(path) => named.push((path, member)),
        }
    }
    check_number(named.len(), limits)?;
    check_declared_sizes(&named, limits)?;
    check_folders(&folders, &named)?;
    Ok(named)
}

/// Refuses files that a bundle may hold but a distributed skill may not: native binaries, and a second `SKILL.md` (in
/// any case) outside `evals/`, which some hosts would load as another skill.
///
/// # Errors
/// [`ArchiveError::NativeBinary`] or [`ArchiveError::SecondSkillMd`] for the first such file.
pub fn check_content(bundle: &Bundle) -> Result<(), ArchiveError> {
    for (path, file) in bundle.files() {
        let second = path.file_name().eq_ignore_ascii_case(SkillPath::SKILL_MD) && path.top_folder().is_some();
        if second && path.top_folder() != Some("evals") {
            return Err(ArchiveError::SecondSkillMd { path: path.clone() });
        }
        if let Some(format) = native::format_of(file) {
            return Err(ArchiveError::NativeBinary { path: path.clone(), format });
        }
    }
    Ok(())
}

/// Classification of a member by its name.
enum Kind {
    Ignored,
    Folder(SkillPath),
    File(SkillPath),
}

fn kind(member: &Member<'_>) -> Result<Kind, ArchiveError> {
    let name = member.name;
    let (trimmed, is_folder) = name.strip_suffix('/').map_or((name, false), |trimmed| (trimmed, true));
    if leaves_the_skill(name) {
        return Err(ArchiveError::Escapes { member: name.to_owned() });
    }
    check_type(member, is_folder)?;
    if name.starts_with(MAC_FOLDER) {
        return Ok(Kind::Ignored);
    }
    let path = SkillPath::parse(trimmed).map_err(|error| ArchiveError::from_path(name, error))?;
    Ok(match is_folder {
        true => Kind::Folder(path),
        false if path.file_name() == ".DS_Store" => Kind::Ignored,
        false => Kind::File(path),
    })
}

/// Returns whether a name leaves the skill's folder on any system, in any spelling.
fn leaves_the_skill(name: &str) -> bool {
    let slashed = name.replace('\\', "/");
    let drive = slashed.as_bytes().get(1) == Some(&b':') && name.starts_with(|c: char| c.is_ascii_alphabetic());
    drive || slashed.starts_with(['/', '~']) || slashed.split('/').any(|segment| segment.trim() == "..")
}

/// Checks by mode and attributes that a member is a regular file, or a folder without content.
fn check_type(member: &Member<'_>, is_folder: bool) -> Result<(), ArchiveError> {
    let regular = match member.file_type() {
        0 => true,
        0o100_000 => !is_folder,
        0o040_000 => is_folder,
        _ => false,
    };
    let folder_by_attribute = member.has_folder_attribute();
    if !regular || (folder_by_attribute && !is_folder) || (is_folder && member.size > 0) {
        return Err(ArchiveError::NotRegular { member: member.name.to_owned() });
    }
    Ok(())
}

fn check_number(files: usize, limits: &Limits) -> Result<(), ArchiveError> {
    let limit = limits.files_per_skill;
    if files == 0 {
        return Err(ArchiveError::Empty);
    }
    if files > limit { Err(BundleError::TooManyFiles { files, limit }.into()) } else { Ok(()) }
}

/// Checks the declared sizes before anything is inflated. [`read_member`] later checks each member against its
/// declaration.
fn check_declared_sizes(named: &[(SkillPath, &Member<'_>)], limits: &Limits) -> Result<(), ArchiveError> {
    let bytes: u64 = named.iter().map(|(_, member)| u64::from(member.size)).sum();
    if bytes > limits.skill_bytes {
        return Err(BundleError::TooManyBytes { bytes, limit: limits.skill_bytes }.into());
    }
    for (_, member) in named {
        let size = u64::from(member.size);
        let packed = member.packed.len() as u64;
        if size > RATIO_FREE_BYTES && size > packed.saturating_mul(limits.archive_ratio) {
            let (member, limit) = (member.name.to_owned(), limits.archive_ratio);
            return Err(ArchiveError::Bomb { member, size, packed, limit });
        }
    }
    Ok(())
}

/// Returns the folder that holds every file and, at its top level, a `SKILL.md`.
fn common_folder(named: &[(SkillPath, &Member<'_>)]) -> Option<String> {
    let folder = named.first()?.0.top_folder()?;
    let all_inside = named.iter().all(|(path, _)| path.top_folder() == Some(folder));
    let has_skill_md = named.iter().any(|(path, _)| {
        let inside = path.as_str().split_once('/').map(|(_, rest)| rest);
        inside.is_some_and(|rest| rest.eq_ignore_ascii_case(SkillPath::SKILL_MD))
    });
    (all_inside && has_skill_md).then(|| folder.to_owned())
}

fn without_folder(path: &SkillPath, folder: Option<&str>) -> Result<SkillPath, ArchiveError> {
    let rest = folder.and_then(|folder| path.as_str().strip_prefix(folder)).and_then(|rest| rest.strip_prefix('/'));
    let Some(rest) = rest else { return Ok(path.clone()) };
    SkillPath::parse(rest).map_err(|error| ArchiveError::from_path(path.as_str(), error))
}

/// Refuses a folder with the same name as a file, since readers would disagree about which of the two exists.
fn check_folders(folders: &[SkillPath], named: &[(SkillPath, &Member<'_>)]) -> Result<(), ArchiveError> {
    let files: BTreeMap<String, &SkillPath> = named.iter().map(|(path, _)| (path.folded(), path)).collect();
    for folder in folders {
        if let Some(path) = files.get(&folder.folded()) {
            return Err(ArchiveError::Duplicate { first: path.to_string(), second: format!("{folder}/") });
        }
    }
    Ok(())
}

/// Reads the content of a member and checks it against the declared size and checksum.
fn read_member(member: &Member<'_>) -> Result<File, ArchiveError> {
    let name = || member.name.to_owned();
    let bytes = match member.method {
        Method::Stored => member.packed.to_vec(),
        Method::Deflated => inflate(member).ok_or_else(|| ArchiveError::Damaged { member: name() })?,
    };
    if bytes.len() as u64 != u64::from(member.size) {
        return Err(ArchiveError::WrongSize { member: name(), declared: member.size });
    }
    if crc32(&bytes) != member.crc {
        return Err(ArchiveError::WrongChecksum { member: name() });
    }
    Ok(File { bytes: bytes.into(), executable: member.is_executable() })
}

/// Inflates a member, up to one byte more than its declared size.
///
/// The `zip` crate receives a record written here and never the archive's own, so that there is a single interpretation
/// of member positions and names.
fn inflate(member: &Member<'_>) -> Option<Vec<u8>> {
    let size = u64::from(member.size);
    let header = LocalRecord::deflated(member.packed.len(), member.size, member.crc).to_bytes();
    let mut stream = Cursor::new(header).chain(member.packed);
    let options = ZipReadOptions::new().ignore_crc32(true).override_uncompressed_size(size + 1);
    let reader = read_zipfile_from_stream_with_options(&mut stream, options).ok()??;
    let mut bytes = Vec::new();
    reader.take(size + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
