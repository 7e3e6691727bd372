//! [`write_pending_lines`]: writes the lines that a commit left pending into `skillhub.lock`.

use library::{Library, LockLine, LockLines};

use super::{LastRead, LockFile, LockFileError, LockedSkill};

/// Formats the entry of a skill after a commit.
pub(crate) fn line_of(skill: &LockedSkill) -> LockLine {
    LockLine { name: skill.name(), text: Some(LockFile::text_of(skill)) }
}

impl LockFile {
    /// Checks before a commit that its lines fit into the file.
    ///
    /// # Errors
    /// [`LockFileError`]
    pub(crate) fn check_room(&self, lines: &LockLines) -> Result<(), LockFileError> {
        let mut after = self.clone();
        after.take_lines(&lines.entries, entries_of(lines)?);
        after.readable_text().map(drop)
    }

    fn take_lines(&mut self, lines: &[LockLine], skills: Vec<LockedSkill>) {
        for line in lines.iter().filter(|line| line.text.is_none()) {
            self.remove(&line.name);
        }
        skills.into_iter().for_each(|skill| self.insert(skill));
    }
}

/// Parses the entries in the lines of a commit.
fn entries_of(lines: &LockLines) -> Result<Vec<LockedSkill>, LockFileError> {
    let mut skills = Vec::new();
    for text in lines.entries.iter().filter_map(|line| line.text.as_deref()) {
        skills.extend(LockFile::parse(text, &lines.path)?.skills().cloned());
    }
    Ok(skills)
}

/// Returns whether `skillhub.lock` lacks lines that are pending. They may also be lines that it already has, if the system
/// has started anew since they were written.
///
/// # Errors
/// [`LockFileError`]
pub fn has_pending_lines(library: &Library) -> Result<bool, LockFileError> {
    let Some(lines) = library.pending_lock_lines()? else { return Ok(false) };
    let file = LockFile::read(&lines.path)?;
    let mut after = file.clone();
    after.take_lines(&lines.entries, entries_of(&lines)?);
    Ok(after != file)
}

/// Writes the pending lines into `skillhub.lock` and then deletes `lock-lines.json` from the library. They come from
/// the commit just made, or from a process that was killed. Damaged lines are only deleted.
///
/// # Errors
/// [`LockFileError`]; the lines then stay pending.
pub fn write_pending_lines(library: &Library) -> Result<(), LockFileError> {
    write_pending_lines_into(None, library)
}

/// Like [`write_pending_lines`], for a caller that has read the lock file.
///
/// # Errors
/// [`LockFileError`]; the lines then stay pending.
pub(crate) fn write_pending_lines_into(file: Option<LastRead>, library: &Library) -> Result<(), LockFileError> {
    if !library.has_pending_lock_lines()? {
        return Ok(());
    }
    // Held from reading to deleting them, so that no other commit adds lines that would be deleted unwritten.
    let lock = library.lock()?;
    if let Some(lines) = library.pending_lock_lines()? {
        let skills = entries_of(&lines)?;
        let file = file.filter(|file| file.path() == lines.path).unwrap_or_else(|| LastRead::not_yet(&lines.path));
        file.update_under(&lock, |file| {
            file.take_lines(&lines.entries, skills);
            Ok(())
        })?;
    }
    Ok(library.lock_lines_written(&lock)?)
}
