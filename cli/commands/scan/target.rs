//! Targets of a scan: folders, packed skills, single files and standard input.

use std::{
    collections::BTreeSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use library::{
    Library,
    folder::{self, ToolFiles},
};
use scan::Waivers;
use skill::{Bundle, File, Limits, SkillName, SkillPath, archive};

use crate::{
    commands::discovery::{DEPTH, FoundSkill, find, read_archive},
    context::Context,
    exit::{CliError, Exit, io_at},
};

/// Magic bytes of a packed skill: a first zip member, or the end record of an empty archive.
const PACKED: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Maximum number of parent folders that are searched for the skill around a single file.
const UP: usize = 8;

/// Something to scan, and its location.
#[derive(Debug)]
pub(super) struct Target {
    /// Path of the target, `-` for standard input.
    pub path: PathBuf,
    /// Source of its files.
    pub kind: Kind,
}

/// Source of a target's files.
#[derive(Debug)]
pub(super) enum Kind {
    /// A skill folder or a packed skill.
    Skill(FoundSkill),
    /// A single file that is not a packed skill, by its path in the surrounding skill.
    File(SkillPath),
    /// Bytes read from standard input.
    Input(Vec<u8>),
}

/// Resolves the arguments to targets: paths, `-`, and names of library skills if no such path exists.
///
/// # Errors
/// A path does not exist or cannot be read.
pub(super) fn targets(context: &Context, arguments: &[PathBuf]) -> Result<Vec<Target>, CliError> {
    let mut targets = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            targets.push(Target { path: argument.clone(), kind: Kind::Input(read_input()?) });
            continue;
        }
        let path = context.absolute(argument);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() && !is_skill_md(&path) && !is_packed(&path)? => {
                let inside = place_in_skill(&path);
                targets.push(Target { path, kind: Kind::File(inside) });
                continue;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Some(folder) = folder_of_skill(context, argument) {
                    targets.push(Target::of(FoundSkill { path: folder, archive: false }));
                    continue;
                }
            }
            _ => {}
        }
        targets.extend(find(context, std::slice::from_ref(argument))?.into_iter().map(Target::of));
    }
    Ok(targets)
}

/// Finds the skills that contain the paths, each once, in the order of the paths. Paths outside of any skill are
/// skipped.
///
/// # Errors
/// A path does not exist or cannot be read.
pub(super) fn skills_around(context: &Context, arguments: &[PathBuf]) -> Result<Vec<Target>, CliError> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut packed = Vec::new();
    for argument in arguments {
        let given = context.absolute(argument);
        // A link is resolved by its own location, since the link itself is part of a skill.
        let metadata = fs::symlink_metadata(&given).map_err(io_at(&given))?;
        let path = match (given.parent(), given.file_name()) {
            (Some(parent), Some(name)) => library::real_path(parent).map_err(io_at(parent))?.join(name),
            _ => given,
        };
        let has_skill_md = |folder: &&Path| folder.join(SkillPath::SKILL_MD).symlink_metadata().is_ok();
        match path.ancestors().skip(usize::from(!metadata.is_dir())).find(has_skill_md) {
            Some(folder) => folders.push(folder.to_owned()),
            None if metadata.is_dir() => {
                folders.extend(folder::find_skills(&path, DEPTH, &folder::SKIPPED).map_err(io_at(&path))?)
            }
            None if metadata.is_file() && is_packed(&path)? => {
                packed.push(Target::of(FoundSkill { path, archive: true }))
            }
            None => {}
        }
    }
    let mut seen = BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    let folders = folders.into_iter().map(|path| Target::of(FoundSkill { path, archive: false }));
    Ok(folders.chain(packed).collect())
}

/// A library's data about a target that it contains.
#[derive(Default)]
pub(super) struct Known {
    /// Active waivers of the skill.
    pub waivers: Waivers,
    /// Files of the skill's head.
    pub head: Option<Bundle>,
}

/// Loads the library data of all targets. Heads are loaded only with `with_heads`.
///
/// If a library cannot be opened, nothing is waived, and a note is printed.
pub(super) fn known(context: &Context, targets: &[Target], with_heads: bool) -> Vec<Known> {
    let is_in =
        |library: &Path, target: &Target| target.folder().is_some_and(|folder| folder.parent() == Some(library));
    let places = [context.library_path().to_owned(), context.user_home.join(ops::SKILLS_FOLDER)];
    let places = places.map(|place| library::real_path(&place).unwrap_or(place));
    let libraries = match targets.iter().any(|target| places.iter().any(|place| is_in(place, target))) {
        true => context.visible_libraries().unwrap_or_else(|error| {
            context.out.note(&format!("waivers are ignored, because the library cannot be read: {}", error.message));
            Vec::new()
        }),
        false => Vec::new(),
    };
    let of = |target: &Target| {
        let library = libraries.iter().find(|library: &&Library| is_in(library.path(), target))?;
        let name = target.folder()?.file_name()?.to_str().and_then(|name| SkillName::parse(name).ok())?;
        let head = library.head(&name).ok().flatten().filter(|_| with_heads);
        let head = head.and_then(|head| library.bundle(&head.id).ok());
        Some(Known { waivers: library.waivers(&name).ok()?, head })
    };
    targets.iter().map(|target| of(target).unwrap_or_default()).collect()
}

impl Target {
    fn of(found: FoundSkill) -> Self {
        Self { path: found.path.clone(), kind: Kind::Skill(found) }
    }

    fn folder(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Skill(found) if !found.archive => Some(&found.path),
            _ => None,
        }
    }

    /// Returns the kind of target, as used in JSON.
    pub fn word(&self) -> &'static str {
        match &self.kind {
            Kind::Skill(found) if found.archive => "archive",
            Kind::Skill(_) => "folder",
            Kind::File(_) => "file",
            Kind::Input(_) => "stdin",
        }
    }

    /// Returns the path on disk of the file with a finding.
    pub fn place_of(&self, path: &str) -> PathBuf {
        match self.folder() {
            Some(folder) => folder.join(path),
            None => self.path.clone(),
        }
    }

    /// Returns a name for targets whose files do not specify one.
    pub fn name(&self) -> Option<String> {
        self.folder()?.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    /// Returns a note for the reader about the limits of the scan.
    pub fn note(&self, bundle: &Bundle) -> Option<&'static str> {
        match &self.kind {
            Kind::Skill(_) if bundle.skill_md().is_none() => Some(match bundle.get(&SkillPath::skill_md()) {
                Some(_) => "SKILL.md is binary; the files were scanned anyway",
                None => "no SKILL.md; the files were scanned anyway",
            }),
            Kind::File(_) => Some("a single file; other files of the skill were not scanned"),
            _ => None,
        }
    }

    /// Reads all files of the target.
    ///
    /// # Errors
    /// The files do not form a skill, or there are none.
    pub fn bundle(&self) -> Result<Bundle, CliError> {
        let bundle = match &self.kind {
            Kind::Skill(found) => found.bundle(ToolFiles::Read)?,
            Kind::File(inside) => {
                let bytes = read_archive(&self.path, &Limits::default())?;
                lone(inside.clone(), bytes, is_executable(&self.path))?
            }
            Kind::Input(bytes) => of_input(bytes)?,
        };
        match bundle.is_empty() {
            true => Err(CliError::new("invalid_skill", Exit::Invalid, "the folder has no files")
                .hint("name a folder with a SKILL.md, a .skill file, or a single file")),
            false => Ok(bundle),
        }
    }
}

fn lone(path: SkillPath, bytes: Vec<u8>, executable: bool) -> Result<Bundle, CliError> {
    let file = File { bytes: bytes.into(), executable };
    Bundle::from_files([(path, file)], &Limits::default()).map_err(|error| {
        CliError::new("too_large", Exit::Invalid, error.to_string()).hint("remove content that agents do not need")
    })
}

/// Converts standard input to a bundle: a packed skill, a `SKILL.md` if it has frontmatter, else a file that counts as
/// both text and script.
fn of_input(bytes: &[u8]) -> Result<Bundle, CliError> {
    if PACKED.iter().any(|mark| bytes.starts_with(mark)) {
        return Ok(archive::unpack(bytes, &Limits::default())?);
    }
    let path = if bytes.starts_with(b"---") { Ok(SkillPath::skill_md()) } else { SkillPath::parse("scripts/stdin") };
    let path = path.map_err(|fault| CliError::new("invalid_path", Exit::Invalid, fault.to_string()))?;
    lone(path, bytes.to_vec(), false)
}

fn read_input() -> Result<Vec<u8>, CliError> {
    let limit = Limits::default().archive_bytes;
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes).map_err(io_at(Path::new("-")))?;
    if bytes.len() as u64 > limit {
        return Err(CliError::new("too_large", Exit::Invalid, format!("standard input is larger than {limit} bytes"))
            .hint("remove content that agents do not need"));
    }
    if bytes.is_empty() {
        return Err(CliError::usage("standard input is empty").hint("pipe a file in: `skillhub scan - < FILE`"));
    }
    Ok(bytes)
}

fn is_skill_md(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == SkillPath::SKILL_MD)
}

/// Returns whether a file is a packed skill, by its extension or its first bytes.
fn is_packed(path: &Path) -> Result<bool, CliError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if extension.eq_ignore_ascii_case("skill") || extension.eq_ignore_ascii_case("zip") {
        return Ok(true);
    }
    let mut head = Vec::new();
    let file = fs::File::open(path).map_err(io_at(path))?;
    file.take(4).read_to_end(&mut head).map_err(io_at(path))?;
    Ok(PACKED.iter().any(|mark| head.starts_with(mark)))
}

/// Returns a file's path in the surrounding skill, else its name. A name that is not valid in a skill is replaced by
/// that of a script.
fn place_in_skill(path: &Path) -> SkillPath {
    let root = path.ancestors().skip(1).take(UP).find(|folder| folder.join(SkillPath::SKILL_MD).is_file());
    let inside =
        root.and_then(|root| path.strip_prefix(root).ok()).and_then(|inside| SkillPath::parse(inside.to_str()?).ok());
    let name = || path.file_name().and_then(|name| SkillPath::parse(name.to_str()?).ok());
    inside.or_else(name).or_else(|| SkillPath::parse("scripts/file").ok()).unwrap_or_else(SkillPath::skill_md)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    false
}

/// Returns the folder of a library's skill, if the argument is a valid skill name.
fn folder_of_skill(context: &Context, argument: &Path) -> Option<PathBuf> {
    let name = SkillName::parse(argument.to_str()?).ok()?;
    let libraries = context.visible_libraries().unwrap_or_default();
    libraries.iter().map(|library| library.path().join(name.as_str())).find(|folder| folder.is_dir())
}
