//! [`SkillHistory`]: evidence in the history that a patch was applied before. A repeated patch then changes nothing, and a
//! failing patch is not mistaken for a repeated one.

use std::collections::BTreeMap;

use library::{Library, Snapshot, StorageError};
use skill::{
    Bundle, Edit, SkillPath,
    edit::{self, Patch, Step},
};

/// Number of revisions to examine, from the newest on.
const REVISIONS: usize = 50;

/// Total size in bytes of former texts to examine, which bounds the time for any file.
const BYTES: usize = 4 << 20;

/// Skill that a request applies to, with its history.
pub(crate) struct SkillHistory<'a> {
    pub library: &'a Library,
    pub snapshot: &'a Snapshot,
}

impl SkillHistory<'_> {
    /// Returns the files for which a request has several patches and nothing else, and whose history contains a step
    /// with exactly their combined effect. All of these patches were applied before.
    pub fn patched_before(&self, edits: &[Edit]) -> Result<Vec<SkillPath>, StorageError> {
        let mut found = Vec::new();
        for (path, patches) in patches_by_file(edits) {
            if patches.len() > 1 && self.made(path, &patches)? {
                found.push(path.clone());
            }
        }
        Ok(found)
    }

    /// Returns whether one step made all patches of a file. In the newest step, a later patch may have changed the
    /// result of an earlier one, so the patches need not all look applied. After further changes of the file they must.
    fn made(&self, path: &SkillPath, patches: &[&Patch]) -> Result<bool, StorageError> {
        let Some(now) = text_of(&self.snapshot.bundle, path) else { return Ok(false) };
        let look_applied = patches.iter().all(|patch| edit::looks_applied(patch, &self.snapshot.bundle));
        self.find_step(path, now, |step| match step.after == now || look_applied {
            true => edit::lead_to(patches, step, self.library.limits()).then_some(true),
            false => Some(false),
        })
    }

    /// Returns whether a patch was applied before, relative to the candidate so far. The history is read only if the
    /// text allows this.
    pub fn shows(&self, patch: &Patch, candidate: &Bundle) -> Result<bool, StorageError> {
        let Some(now) = text_of(candidate, &patch.path) else { return Ok(false) };
        if !edit::looks_applied(patch, candidate) {
            return Ok(false);
        }
        let limits = self.library.limits();
        self.find_step(&patch.path, now, |step| edit::shows_applied(patch, step, now, limits).then_some(true))
    }

    /// Walks the changes of a file, newest first, until the callback returns an answer.
    fn find_step(
        &self,
        path: &SkillPath,
        now: &str,
        mut answer: impl FnMut(Step<'_>) -> Option<bool>,
    ) -> Result<bool, StorageError> {
        let mut after = now.to_owned();
        for before in self.texts(path) {
            let before = before?;
            if before == after {
                continue;
            }
            if let Some(answer) = answer(Step { before: &before, after: &after }) {
                return Ok(answer);
            }
            after = before;
        }
        Ok(false)
    }

    /// Yields the texts of a file, newest first, starting with the current one.
    fn texts(&self, path: &SkillPath) -> impl Iterator<Item = Result<String, StorageError>> {
        let head = self.snapshot.base.as_ref().map(|base| &base.id);
        let former = head.map(|head| self.library.file_history(head, path).take(REVISIONS));
        let former = former.into_iter().flatten().filter_map(|file| match file {
            Ok(file) => file?.text().map(|text| Ok(text.to_owned())),
            Err(error) => Some(Err(error)),
        });
        let found = text_of(&self.snapshot.bundle, path).map(|text| Ok(text.to_owned()));
        let mut bytes = 0;
        found.into_iter().chain(former).take_while(move |text| {
            let is_within = bytes <= BYTES;
            bytes += text.as_ref().map_or(0, String::len);
            is_within
        })
    }
}

fn text_of<'a>(bundle: &'a Bundle, path: &SkillPath) -> Option<&'a str> {
    bundle.get(path)?.text()
}

/// Groups patches by file, for files that the request changes by patches only.
fn patches_by_file(edits: &[Edit]) -> BTreeMap<&SkillPath, Vec<&Patch>> {
    let mut patches: BTreeMap<&SkillPath, Vec<&Patch>> = BTreeMap::new();
    for edit in edits {
        if let Edit::Patch(patch) = edit {
            patches.entry(&patch.path).or_default().push(patch);
        }
    }
    patches.retain(|path, _| !edits.iter().any(|edit| replaces(edit, path)));
    patches
}

/// Returns whether an edit changes a file other than by a patch.
fn replaces(edit: &Edit, file: &SkillPath) -> bool {
    match edit {
        Edit::Patch(_) => false,
        Edit::Create { .. } | Edit::Edit { .. } => file.is_skill_md(),
        Edit::WriteFile { path, .. } | Edit::RemoveFile { path } => path == file,
        Edit::Delete => true,
    }
}
