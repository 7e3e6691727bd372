//! [`SkillContent`]: the files that a reader gets of one skill, from the current state of its folder.

use std::path::PathBuf;

use library::{FolderEdit, FolderFiles, Head, Library, Served};
use skill::Bundle;

use crate::{catalogue::Catalogue, error::AgentError, listed_skill::ListedSkill};

/// Content of a skill for one run.
#[derive(Debug)]
pub struct SkillContent {
    /// All files of the skill.
    pub files: Bundle,
    /// Revision of the files. `None` for an unrecorded edit and for a skill without history.
    pub head: Option<Head>,
    /// True if the files are an unrecorded edit of the folder.
    pub edited: bool,
    /// Reason why an edit of the folder is held for a person.
    pub held: Option<String>,
    /// Folder with the files, if there is one.
    pub path: Option<PathBuf>,
}

impl Catalogue {
    /// Returns the content of a skill for a run: a revision on trial if the run takes part in it, or else the regular
    /// content.
    ///
    /// # Errors
    /// As for [`Catalogue::files`].
    pub fn given(&self, listed: &ListedSkill, run: Option<&str>) -> Result<SkillContent, AgentError> {
        let given = self.chosen(listed, run)?;
        // A waiver may have expired since the catalogue was collected.
        let lapsed = self.library_of(listed).map(|library| library.lapsed(&listed.name, &given.files)).transpose()?;
        match lapsed.flatten() {
            Some(blocked) => Err(AgentError::Unusable { name: listed.name.clone(), fault: blocked.to_string() }),
            None => Ok(given),
        }
    }

    fn chosen(&self, listed: &ListedSkill, run: Option<&str>) -> Result<SkillContent, AgentError> {
        if let (Some(run), Some(library)) = (run, self.library_of(listed))
            && let Some(Served { head, path }) = library.served(&listed.name, run)?
        {
            return Ok(SkillContent {
                files: library.bundle(&head.id)?,
                head: Some(head),
                edited: false,
                held: None,
                path,
            });
        }
        let path = listed.path.clone();
        let (Some(library), Some(head)) = (self.library_of(listed), &listed.head) else {
            return Ok(SkillContent { files: self.files(listed)?, head: None, edited: false, held: None, path });
        };
        let FolderFiles { files, head, held } = Self::now(library, listed, head)?;
        Ok(SkillContent { edited: head.is_none(), files, head, held, path })
    }

    /// Returns the content of a skill with a history from the current folder, which may have changed since the
    /// catalogue was collected. Only content that was never judged is scanned.
    fn now(library: &Library, listed: &ListedSkill, head: &Head) -> Result<FolderFiles, AgentError> {
        let found = library.files_in_folder(&listed.name)?;
        let is_head = found.as_ref().is_some_and(|found| found.digest().to_string() == head.digest);
        match &listed.edit {
            _ if is_head => Ok(FolderFiles { files: library.bundle(&head.id)?, head: Some(head.clone()), held: None }),
            Some(edit) if found.is_some_and(|found| edit.is_of(&found)) => Self::edited(library, listed, edit),
            _ => Self::judged(library, listed),
        }
    }

    /// Returns the files for an edit that was judged, if the folder still contains it.
    pub(crate) fn edited(
        library: &Library,
        listed: &ListedSkill,
        edit: &FolderEdit,
    ) -> Result<FolderFiles, AgentError> {
        let head = edit.at.as_ref().filter(|_| edit.held.is_none());
        let head = if edit.held.is_some() { listed.head.as_ref() } else { head };
        if let Some(head) = head {
            let held = edit.held.clone();
            return Ok(FolderFiles { files: library.bundle(&head.id)?, head: Some(head.clone()), held });
        }
        match library.files_in_folder(&listed.name)?.filter(|found| found.digest().to_string() == edit.digest) {
            Some(files) => Ok(FolderFiles { files, head: None, held: None }),
            None => Self::judged(library, listed),
        }
    }

    fn judged(library: &Library, listed: &ListedSkill) -> Result<FolderFiles, AgentError> {
        let unusable = |fault| AgentError::Unusable { name: listed.name.clone(), fault };
        library.folder_files(&listed.name)?.map_err(unusable)
    }
}
