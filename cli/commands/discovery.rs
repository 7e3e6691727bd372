//! Discovery of skills at the paths of a command line: folders, `.skill` files, and folders of skills.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use library::folder::{self, ToolFiles};
use skill::{Bundle, Limits, archive};

use crate::{
    context::Context,
    exit::{CliError, Exit, io_at},
};

/// Maximum depth of the search below a given folder.
pub const DEPTH: usize = 8;

/// A skill found at a path.
#[derive(Debug, Clone)]
pub struct FoundSkill {
    /// Path of the folder, with links resolved, or of the file.
    pub path: PathBuf,
    /// True if it is a packed skill.
    pub archive: bool,
}

impl FoundSkill {
    /// Returns the name of the folder, which should equal the skill's. `None` for an archive.
    pub fn folder_name(&self) -> Option<String> {
        if self.archive { None } else { self.path.file_name().map(|name| name.to_string_lossy().into_owned()) }
    }

    /// Reads all files of the skill.
    ///
    /// # Errors
    /// The folder or archive is not a readable skill.
    pub fn bundle(&self, tool_files: ToolFiles) -> Result<Bundle, CliError> {
        let limits = Limits::default();
        if self.archive {
            return Ok(archive::unpack(&read_archive(&self.path, &limits)?, &limits)?);
        }
        let dir = folder::open_resolved(&self.path).map_err(io_at(&self.path))?;
        Ok(folder::read_dir(dir, tool_files, &limits)?)
    }
}

/// Reads a packed skill, up to the size limit.
pub fn read_archive(path: &Path, limits: &Limits) -> Result<Vec<u8>, CliError> {
    if !fs::metadata(path).map_err(io_at(path))?.is_file() {
        let message = format!("{} is neither a folder nor a regular file", path.display());
        return Err(CliError::new("invalid_path", Exit::Invalid, message).hint("name a folder or a .skill file"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(io_at(path))?;
    file.take(limits.archive_bytes + 1).read_to_end(&mut bytes).map_err(io_at(path))?;
    if bytes.len() as u64 > limits.archive_bytes {
        let message = format!("{} is larger than {} bytes", path.display(), limits.archive_bytes);
        return Err(CliError::new("too_large", Exit::Invalid, message).hint("remove files that agents do not need"));
    }
    Ok(bytes)
}

/// Finds the skills at the given paths. A `SKILL.md` represents its folder. A folder without `SKILL.md` is searched for
/// skills below it. If there are none, it counts as a skill itself, so that its fault is reported.
///
/// # Errors
/// A path does not exist or cannot be read.
pub fn find(context: &Context, paths: &[PathBuf]) -> Result<Vec<FoundSkill>, CliError> {
    let mut skills = Vec::new();
    for path in paths {
        let mut path = context.absolute(path);
        if path.file_name().is_some_and(|name| name == "SKILL.md") && path.is_file() {
            path.pop();
        }
        let metadata = fs::metadata(&path).map_err(io_at(&path))?;
        if !metadata.is_dir() {
            skills.push(FoundSkill { path, archive: true });
            continue;
        }
        let path = library::real_path(&path).map_err(io_at(&path))?;
        let found = folder::find_skills(&path, DEPTH, &folder::SKIPPED).map_err(io_at(&path))?;
        if found.is_empty() {
            skills.push(FoundSkill { path, archive: false });
        } else {
            skills.extend(found.into_iter().map(|path| FoundSkill { path, archive: false }));
        }
    }
    Ok(skills)
}

/// Maps skills in parallel and preserves their order. Threads take one skill at a time, because skills differ greatly
/// in size.
pub fn map_parallel<S: Send, T: Send>(skills: Vec<S>, work: impl Fn(S) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(skills.len().div_ceil(8)).max(1);
    let next = Mutex::new(skills.into_iter().enumerate());
    let worker = || {
        let mut done = Vec::new();
        loop {
            let taken = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            match taken {
                Some((index, skill)) => done.push((index, work(skill))),
                None => return done,
            }
        }
    };
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut results = worker();
        for other in others {
            match other.join() {
                Ok(done) => results.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
