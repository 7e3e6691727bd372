//! Folders that a checkout displaced: their treatment by a commit, and recovery of those that a killed process left.
//!
//! The journal's pending records name the temporary folders that their operations exchange with those of skills.
//! After a kill such a folder contains staged files, a former state, or a concurrent hand edit. A hand edit is kept
//! as a revision, or under another name where it cannot be one.

use cap_std::fs::Dir;
use scan::Baseline;
use skill::{Bundle, File, SkillName, SkillPath};

use super::{
    Checkout, Commit, Library, LibraryError,
    commit::{Part, again},
    recover::{Traces, is_truncation},
};
use crate::{
    checkout::{self, DisplacedFolder},
    folder::{self, FolderError, ToolFiles},
    journal::{Journal, Temporary},
    lock::LockedDir,
    revision::{Content, NewRevision},
    storage::HeadChange,
};

impl Library {
    /// Removes the temporary folders of pending operations and keeps content that is in no revision. Returns the
    /// folders for which that failed. No other process uses the folders under the lock. The caller has applied the
    /// records.
    pub(super) fn settle_temporary(
        &mut self,
        own: &LockedDir,
        temporary: &[Temporary],
        heads: &[HeadChange],
        traces: Traces,
        unfinished: &[Temporary],
    ) -> Result<Vec<String>, LibraryError> {
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        let mut left = Vec::new();
        for name in self.temporary_names()? {
            if unfinished.iter().any(|folder| folder.name == name) {
                left.push(name);
                continue;
            }
            if checkout::is_gone(&name) {
                let _next_time = root.remove_dir_all(&name);
                continue;
            }
            let Some((head, is_again)) = head_of(&name, temporary, heads) else { continue };
            let traces = if is_again { Traces::Cut } else { traces };
            if !matches!(self.settle_folder(own, &root, &name, head, traces), Ok(true)) {
                left.push(name);
            }
        }
        Ok(left)
    }

    /// Completes moves of skills' folders that had to be done file by file. Files that cannot be moved are moved back
    /// or kept for a person. Returns the folders for which the system refused both: they contain files that are missing
    /// in a skill although nobody deleted them.
    pub(super) fn finish_moves(
        &self,
        temporary: &[Temporary],
        heads: &[HeadChange],
    ) -> Result<Vec<Temporary>, LibraryError> {
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        let mut unfinished = Vec::new();
        for name in self.temporary_names()?.into_iter().filter(|name| checkout::is_part(name)) {
            let head = head_of(&name, temporary, heads).map(|(head, _)| head);
            if let Some(skill) = head.and_then(|head| SkillName::parse(&head.skill).ok()) {
                let moved = checkout::finish(&root, skill.as_str(), &name);
                if moved.is_err() && root.symlink_metadata(&name).is_ok() {
                    unfinished.push(Temporary { name, skill: skill.to_string() });
                }
            }
        }
        Ok(unfinished)
    }

    /// Settles the temporary folder of a pending operation. Returns true if it is gone or was kept for a person.
    fn settle_folder(
        &mut self,
        own: &LockedDir,
        root: &Dir,
        name: &str,
        head: &HeadChange,
        traces: Traces,
    ) -> Result<bool, LibraryError> {
        let Ok(skill) = SkillName::parse(&head.skill) else { return Ok(checkout::keep_for_inspection(root, name)) };
        let found = match folder::read(root, name, ToolFiles::Skip, self.limits()) {
            Ok(found) => found,
            Err(FolderError::Missing(_)) => return Ok(true),
            Err(FolderError::Io { .. }) => return Ok(false),
            Err(_) => return Ok(checkout::keep_for_inspection(root, name)),
        };
        let new = self.head(&skill)?.map_or_else(|| head.new.clone(), |now| now.id);
        let (_, states) = self.states_since(&HeadChange { new, ..head.clone() })?;
        if !is_known(&found, &states, traces) {
            let Some(part) = self.part_again(&skill)? else { return Ok(checkout::keep_for_inspection(root, name)) };
            if !self.keep_found(own, found, part) {
                return Ok(false);
            }
        }
        let io = |source| LibraryError::Io { path: self.path().join(name), source };
        DisplacedFolder::found(root, name, &skill).and_then(|displaced| displaced.discard(&skill)).map_err(io)?;
        Ok(!root.exists(name))
    }

    /// Checks the folder that the checkout displaced. Content that is in no revision was written concurrently. It
    /// becomes a revision of its own, followed by the commit's content again. If that fails, the folder is put back.
    pub(super) fn keep_displaced(
        &mut self,
        own: &LockedDir,
        journal: &mut Journal,
        part: &Part,
        displaced: DisplacedFolder,
        settled: &mut bool,
    ) -> Checkout {
        let Some(found) = displaced.bundle(self.limits()) else {
            let why = "the folder was changed at the same time and is no longer a readable skill";
            return put_back(part, displaced, why, settled);
        };
        let is_known = |known: &Bundle| folder::has_content(&found, &folder::without_tool_files(known));
        if found.is_empty() || part.known.iter().any(is_known) {
            return discard(part, displaced, Checkout::Done, settled);
        }
        let commit = Commit {
            skill: part.skill.clone(),
            base: Some(part.revision.id.clone()),
            revisions: vec![self.external(found, part), again(&part.last)],
        };
        match self.commit_under_lock(own, journal, commit.into(), &[]) {
            Err(error) => put_back(part, displaced, &format!("cannot save a hand edit: {error}"), settled),
            Ok(kept) => {
                *settled &= kept.trouble.is_none();
                let id = kept.parts.into_iter().next().and_then(|part| part.revision.parent);
                discard(part, displaced, id.map_or(Checkout::Done, Checkout::HandEditKept), settled)
            }
        }
    }

    /// Commits a hand edit and the head's content again after it. Returns whether everything was written.
    fn keep_found(&mut self, own: &LockedDir, found: Bundle, part: Part) -> bool {
        let commit = Commit {
            skill: part.skill.clone(),
            base: Some(part.revision.id.clone()),
            revisions: vec![self.external(found, &part), again(&part.last)],
        };
        let Ok(mut journal) = self.journal(own) else { return false };
        let written = self.commit_under_lock(own, &mut journal, commit.into(), &[]);
        written.is_ok_and(|written| written.trouble.is_none())
    }

    /// Returns the head of a skill as the part of a commit that would create it. `None` if the current rules of the
    /// scanner block it.
    fn part_again(&self, skill: &SkillName) -> Result<Option<Part>, LibraryError> {
        let Some(head) = self.head(skill)? else { return Ok(None) };
        let files = self.bundle(&head.id)?;
        let content = match self.clear(skill, files.clone(), Baseline::Cleared(&files))? {
            _ if head.tombstone => Content::Tombstone,
            Ok(cleared) => Content::Cleared(cleared),
            Err(_) => return Ok(None),
        };
        let last = NewRevision {
            origin: head.origin.clone(),
            absorbed_into: head.absorbed_into.clone(),
            acceptance: head.acceptance.clone(),
            ..NewRevision::new(content, head.action, head.stamp.clone())
        };
        Ok(Some(Part {
            skill: skill.clone(),
            head: Some(head.clone()),
            known: vec![files],
            last,
            revision: head,
            accepted: None,
            links: Vec::new(),
        }))
    }
}

/// Finds the head change of the skill to which a temporary folder belongs. The flag is true if recovery created the
/// folder.
fn head_of<'a>(name: &str, temporary: &[Temporary], heads: &'a [HeadChange]) -> Option<(&'a HeadChange, bool)> {
    if let Some(again) = heads.iter().find(|head| checkout::is_name_again(name, &head.skill)) {
        return Some((again, true));
    }
    let folder = temporary.iter().find(|folder| folder.name == checkout::without_aside(name))?;
    heads.iter().find(|head| head.skill == folder.skill).map(|head| (head, false))
}

/// Returns whether a displaced folder contains no change by a user. After a kill it is a complete state, since
/// folders are renamed before their removal. After a crash of the machine, files may be truncated or missing.
fn is_known(found: &Bundle, states: &[Bundle], traces: Traces) -> bool {
    match traces {
        Traces::Whole => {
            let is_state = |state: &Bundle| folder::has_content(found, &folder::without_tool_files(state));
            found.is_empty() || states.iter().any(is_state)
        }
        Traces::Cut => found.files().all(|(path, file)| states.iter().any(|state| holds(state, path, file))),
    }
}

/// Returns whether a file is that of a revision, or a truncated form of it.
fn holds(state: &Bundle, path: &SkillPath, file: &File) -> bool {
    state.get(path).is_some_and(|whole| whole.same_but_line_ends(file) || is_truncation(file, whole))
}

/// Deletes a former folder. Files of tools that cannot be moved to the new folder stay in it.
fn discard(part: &Part, displaced: DisplacedFolder, done: Checkout, settled: &mut bool) -> Checkout {
    let name = displaced.name().to_owned();
    match displaced.discard(&part.skill) {
        Ok(()) => done,
        Err(error) => {
            *settled = false;
            Checkout::Pending(format!("files of another tool from this folder are still in {name}: {error}"))
        }
    }
}

/// Puts a hand edit back into the skill's place. The commit is valid and its checkout is pending.
fn put_back(part: &Part, displaced: DisplacedFolder, why: &str, settled: &mut bool) -> Checkout {
    *settled = false;
    let name = displaced.name().to_owned();
    match displaced.put_back(&part.skill) {
        Ok(()) => Checkout::Pending(why.to_owned()),
        Err(error) => Checkout::Pending(format!("{why}; it is now in {name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use testkit::bundle;

    use super::*;

    #[test]
    fn missing_file_is_edit_unless_rebooted() {
        let states = [bundle(&[("SKILL.md", "one"), ("b", "b")]), bundle(&[("SKILL.md", "two"), ("b", "b")])];
        for whole in &states {
            assert!(is_known(whole, &states, Traces::Whole) && is_known(whole, &states, Traces::Cut));
        }
        for left in [bundle(&[("SKILL.md", "one")]), bundle(&[("b", "b")])] {
            assert!(!is_known(&left, &states, Traces::Whole), "a killed process leaves whole folders: {left:?}");
            assert!(is_known(&left, &states, Traces::Cut), "{left:?}");
        }
        assert!(is_known(&Bundle::default(), &states, Traces::Whole));
        assert!(!is_known(&bundle(&[("SKILL.md", "mine")]), &states, Traces::Cut));
    }
}
