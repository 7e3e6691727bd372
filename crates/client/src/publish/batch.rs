//! [`publish_all`]: publishes several skills after all of them passed their checks.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use registry_index::ReleaseSelector;
use semver::Version;
use skill::{Owner, QualifiedName, SkillName};

use super::{
    PublishError, PublishOptions, PublishStatus, Published, Publisher, draft::Draft, session::Session,
    skill_folder::SkillFolder,
};
use crate::{accept::Accept, registry::PrefetchItem};

/// Result of publishing one skill of a batch.
#[derive(Debug)]
pub struct PublishItem {
    /// Folder of the skill.
    pub folder: PathBuf,
    /// Result; an error if the skill failed its checks or was not accepted by the registry.
    pub result: Result<Published, PublishError>,
}

/// A skill of a batch after its checks.
enum Checked<'a> {
    Failed(PublishError),
    Ready(Box<Draft<'a>>, PublishStatus, Version),
}

/// Publishes the skills in several folders, all in one registry. Nothing is published unless all of them pass their
/// checks. The first failure while publishing ends the batch; repeating it continues, because unchanged skills are
/// skipped.
///
/// # Errors
/// [`PublishError`] if the options are invalid; the registry is then unchanged. Failures of single skills are in the
/// items.
pub fn publish_all(
    folders: &[PathBuf],
    options: &PublishOptions,
    by: Publisher<'_>,
    accept: &Accept<'_>,
) -> Result<Vec<PublishItem>, PublishError> {
    let mut session = Session::new(options, by)?;
    prefetch(folders, &session.open()?, by);
    let mut names = BTreeMap::new();
    let mut checked: Vec<(&PathBuf, Checked<'_>)> = Vec::new();
    for folder in folders {
        let result = check(&mut session, folder, &mut names, accept);
        checked.push((folder, result.unwrap_or_else(Checked::Failed)));
    }
    meet_requirements(&mut checked);
    let is_stopped = |item: &(&PathBuf, Checked<'_>)| matches!(item.1, Checked::Failed(_));
    let mut stops = options.dry_run || checked.iter().any(is_stopped);
    let mut items = Vec::new();
    for (folder, checked) in checked {
        let result = match checked {
            Checked::Failed(error) => Err(error),
            Checked::Ready(draft, PublishStatus::DryRun, version) if stops => {
                let status = if options.dry_run { PublishStatus::DryRun } else { PublishStatus::NotPublished };
                session.leave(*draft, status, version)
            }
            Checked::Ready(draft, PublishStatus::DryRun, _) => session.publish(*draft),
            Checked::Ready(draft, status, version) => session.leave(*draft, status, version),
        };
        stops |= result.is_err();
        items.push(PublishItem { folder: folder.clone(), result });
    }
    Ok(items)
}

/// Fetches the entries of all skills at once. Errors are left to the check of each skill.
fn prefetch(folders: &[PathBuf], owner: &Owner, by: Publisher<'_>) {
    let name_of = |folder: &PathBuf| SkillName::parse_standard(&folder.file_name()?.to_string_lossy()).ok();
    let item = |name| PrefetchItem {
        name: QualifiedName { owner: owner.clone(), name },
        wanted: ReleaseSelector::Newest,
        source: None,
    };
    let items: Vec<PrefetchItem> = folders.iter().filter_map(name_of).map(item).collect();
    by.registries.prefetch(&items, |_| true);
}

fn check<'a>(
    session: &mut Session<'a>,
    folder: &Path,
    names: &mut BTreeMap<SkillName, PathBuf>,
    accept: &Accept<'_>,
) -> Result<Checked<'a>, PublishError> {
    let skill = SkillFolder::read(folder)?;
    if let Some(first) = names.insert(skill.name.clone(), folder.to_owned()) {
        return Err(PublishError::Twice { name: skill.name, first, second: folder.to_owned() });
    }
    let draft = session.check(skill, None, accept)?;
    let (status, version) = session.preview(&draft)?;
    Ok(Checked::Ready(Box::new(draft), status, version))
}

/// Removes requirements that other skills of the batch will satisfy.
fn meet_requirements(checked: &mut [(&PathBuf, Checked<'_>)]) {
    let version = |item: &(&PathBuf, Checked<'_>)| match &item.1 {
        Checked::Ready(draft, _, version) => Some((draft.name.clone(), version.clone())),
        Checked::Failed(_) => None,
    };
    let batch: BTreeMap<String, Version> =
        checked.iter().filter_map(version).map(|(name, version)| (name.to_string(), version)).collect();
    for (_, checked) in checked {
        if let Checked::Ready(draft, ..) = checked {
            draft.unmet.retain(|required| {
                batch.get(&required.name.to_string()).is_none_or(|version| !required.takes(version))
            });
        }
    }
}
