//! [`look_at`]: reads a skill folder, finds the name of the skill, and checks whether it can be adopted.

use std::path::Path;

use library::{
    FolderState, Library, Permit, Stamp,
    folder::{self, ToolFiles},
};
use scan::{Baseline, Verdict};
use skill::{Bundle, Limits, SkillName, validate};

use super::{AdoptError, Adopted, Passed, folders::FoundFolder, permit_adopting};
use crate::{discovery::skill_md_of, lock_file::LockFile};

/// Builds the commit for a folder; `None` if the library already has the skill.
pub(super) fn look_at(
    library: &Library,
    found: &FoundFolder,
    locked: Option<&LockFile>,
    stamp: &Stamp,
    permit: &Permit<'_>,
    result: &mut Adopted,
) -> Result<Option<Passed>, AdoptError> {
    let bundle = read(&found.real)?;
    let in_library = found.real.parent() == Some(library.path());
    let name = name_of(library, found, in_library, &bundle, permit, result)?;
    result.name = Some(name.clone());
    result.path = Some(library.path().join(name.as_str()));
    result.digest = Some(bundle.digest());
    result.copied = !in_library;
    let head = library.head(&name)?;
    if let Some(head) = head.as_ref().filter(|head| !head.tombstone) {
        // The policy decides first, so that a skill hidden from an agent gets the same answer as an unused name.
        permit_adopting(&name, &bundle, Verdict::Allow, permit)?;
        result.revision = Some(head.id.clone());
        return if in_library || has_files(library, &name, &bundle) { Ok(None) } else { Err(AdoptError::Exists(name)) };
    }
    if locked.is_some_and(|locked| locked.find(&name).is_some()) {
        return Err(AdoptError::Locked(name));
    }
    if !in_library && !matches!(library.folder_state(&name)?, FolderState::Absent) {
        return Err(AdoptError::Exists(name));
    }
    library.check_pinned(&name, &stamp.actor)?;
    let cleared = library.clear(&name, bundle, Baseline::None)??;
    result.report = Some(cleared.report().clone());
    permit_adopting(&name, cleared.bundle(), cleared.report().verdict(), permit)?;
    Ok(Some((name, head.map(|head| head.id), cleared, in_library)))
}

fn read(path: &Path) -> Result<Bundle, AdoptError> {
    let dir = folder::open_resolved(path).map_err(|source| AdoptError::Open { path: path.to_owned(), source })?;
    if !skill_md_of(&dir).is_ok_and(|found| found.is_some()) {
        return Err(AdoptError::NoSkill { path: path.to_owned() });
    }
    folder::read_dir(dir, ToolFiles::Skip, &Limits::default())
        .map_err(|source| AdoptError::Folder { path: path.to_owned(), source })
}

/// Returns the name of the folder, or of the link to a folder outside the library, which identifies the skill. If it is
/// not a valid skill name, returns the frontmatter's. Files that the library already has under another name of theirs
/// keep that name.
fn name_of(
    library: &Library,
    found: &FoundFolder,
    in_library: bool,
    bundle: &Bundle,
    permit: &Permit<'_>,
    result: &mut Adopted,
) -> Result<SkillName, AdoptError> {
    let called = file_name(if in_library { &found.real } else { &found.place });
    let loaded = validate::load_bundle(bundle, &called, &Limits::default())
        .map_err(|problems| AdoptError::Invalid { path: found.real.clone(), problems })?;
    result.problems = loaded.problems;
    let stated = SkillName::parse(&loaded.name);
    let name = SkillName::parse(&called)
        .or_else(|fault| stated.clone().map_err(|_| fault))
        .map_err(|source| AdoptError::Name { name: called, source })?;
    if in_library || exists(library, &name)? {
        return Ok(name);
    }
    for other in SkillName::parse(&file_name(&found.real)).into_iter().chain(stated) {
        let is_known = exists(library, &other)? && has_files(library, &other, bundle);
        if is_known && permit_adopting(&other, bundle, Verdict::Allow, permit).is_ok() {
            return Ok(other);
        }
    }
    Ok(name)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn exists(library: &Library, name: &SkillName) -> Result<bool, AdoptError> {
    Ok(library.head(name)?.is_some_and(|head| !head.tombstone))
}

/// Returns whether the skill had these files since it was last added.
fn has_files(library: &Library, name: &SkillName, files: &Bundle) -> bool {
    library.contents_since_added(name).any(|former| folder::has_content(files, &former))
}
