//! [`Past`]: what the history says about the patches of a request, so that one which is sent again
//! changes nothing, and one which fails is not taken for such a one.

use std::collections::BTreeMap;

use library::{Library, Snapshot, StorageError};
use skill::{
    Bundle, Edit, SkillPath,
    edit::{self, Patch, Step},
};

/// How many revisions are looked at, from the newest on.
const REVISIONS: usize = 50;

/// Bytes of former texts after which no more are looked at, so that no file makes this slow.
const BYTES: usize = 4 << 20;

/// The skill that a request was made for, and its history.
pub(crate) struct Past<'a> {
    pub library: &'a Library,
    pub snapshot: &'a Snapshot,
}

impl Past<'_> {
    /// The files of which a request has several patches and nothing else, and in whose history a step
    /// did just what they do together: all of these were applied before.
    pub fn patched_before(&self, edits: &[Edit]) -> Result<Vec<SkillPath>, StorageError> {
        let mut found = Vec::new();
        for (path, patches) in patches_by_file(edits) {
            if patches.len() > 1 && self.made(path, &patches)? {
                found.push(path.clone());
            }
        }
        Ok(found)
    }

    /// Later patches may have changed what the first of them made, so that these need not look applied
    /// right after the step; once the file has changed again they must.
    fn made(&self, path: &SkillPath, patches: &[&Patch]) -> Result<bool, StorageError> {
        let Some(now) = text_of(&self.snapshot.bundle, path) else { return Ok(false) };
        let look_applied = patches.iter().all(|patch| edit::looks_applied(patch, &self.snapshot.bundle));
        self.find_step(path, now, |step| match step.after == now || look_applied {
            true => edit::lead_to(patches, step, self.library.limits()).then_some(true),
            false => Some(false),
        })
    }

    /// Whether a patch was applied before, as the skill stands after the request's edits up to it. The
    /// history is read only where the text makes that possible.
    pub fn shows(&self, patch: &Patch, candidate: &Bundle) -> Result<bool, StorageError> {
        let Some(now) = text_of(candidate, &patch.path) else { return Ok(false) };
        if !edit::looks_applied(patch, candidate) {
            return Ok(false);
        }
        let limits = self.library.limits();
        self.find_step(&patch.path, now, |step| edit::shows_applied(patch, step, now, limits).then_some(true))
    }

    /// Goes back over the changes of a file, newest first, until one gives an answer.
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

    /// The texts of a file, newest first, the one that the request was made on among them.
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

/// The patches of each file with which a request does nothing else.
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

/// Whether an edit does something else with a file than to patch it.
fn replaces(edit: &Edit, file: &SkillPath) -> bool {
    match edit {
        Edit::Patch(_) => false,
        Edit::Create { .. } | Edit::Edit { .. } => file.is_skill_md(),
        Edit::WriteFile { path, .. } | Edit::RemoveFile { path } => path == file,
        Edit::Delete => true,
    }
}
