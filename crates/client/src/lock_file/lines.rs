//! [`write_pending_lines`]: lines of a lock file that a commit left, written into it.

use library::{Library, LockLine, LockLines};

use super::{LockFile, LockFileError, LockedSkill};

/// The entry of a skill after a commit.
pub(crate) fn line_of(skill: &LockedSkill) -> LockLine {
    LockLine { name: skill.name.clone(), text: Some(LockFile::text_of(skill)) }
}

/// Writes the lines that are pending, those of a commit a moment ago or of a process that was killed, and forgets
/// them.
///
/// # Errors
/// [`LockFileError`]; the lines then stay pending.
pub fn write_pending_lines(library: &Library) -> Result<(), LockFileError> {
    let Some(LockLines { path, entries }) = library.pending_lock_lines()? else { return Ok(()) };
    let mut skills = Vec::new();
    for line in &entries {
        let file = line.text.as_deref().map(|text| LockFile::parse(text, &path)).transpose()?;
        skills.extend(file.iter().flat_map(LockFile::skills).cloned());
    }
    LockFile::update(&path, library, |file| {
        for line in entries.iter().filter(|line| line.text.is_none()) {
            file.remove(&line.name);
        }
        skills.into_iter().for_each(|skill| file.insert(skill));
    })?;
    Ok(library.lock_lines_written()?)
}
