//! [`DiscoveredSkill`]: discovery and selection of the skills in a source that may contain several.

use cap_std::fs::Dir;
use library::folder::{self, FolderError, SKIPPED};
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Limits, SkillPath, validate};
use thiserror::Error;

/// Maximum depth below the source's root at which skills are searched for.
pub(crate) const DEEPEST: usize = 5;

/// Maximum number of folders searched, so that a whole disk is not searched by mistake.
const MOST_FOLDERS: usize = 10_000;

/// Folders in which sources usually keep their skills, by preference.
const PLACES: [&str; 3] = ["skills/", ".claude/skills/", ".agents/skills/"];

/// A folder that contains a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiscoveredSkill {
    /// Path below the source's root; empty for the root itself.
    pub folder: String,
    /// Name from the frontmatter, otherwise the folder's name; empty for a root without a name in its frontmatter.
    pub name: String,
}

/// The user's selection among the skills of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pick {
    /// Names of the selected skills; empty if none was named.
    pub skills: Vec<String>,
    /// True to select every skill of the source.
    pub all: bool,
}

/// Reasons why the selection of skills is empty or ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PickError {
    /// The source does not contain a `SKILL.md`.
    #[error("no skill was found in {origin}")]
    None {
        /// Source as shown to people.
        origin: String,
    },
    /// The source has several skills and none was selected.
    #[error("{origin} has {} skills: {}", names.len(), names.join(", "))]
    Several {
        /// Source as shown to people.
        origin: String,
        /// Names of the skills found.
        names: Vec<String>,
    },
    /// The source does not have the selected skill.
    #[error("{origin} has no skill named {wanted}; it has {}", names.join(", "))]
    Missing {
        /// Source as shown to people.
        origin: String,
        /// Name that was selected.
        wanted: String,
        /// Names of the skills found.
        names: Vec<String>,
    },
}

impl Fails for PickError {
    fn failure(&self) -> Failure {
        match self {
            Self::None { .. } => {
                Failure::new(FailureKind::NotFound, "not_found").hint("name a folder that has a SKILL.md")
            }
            Self::Several { .. } => Failure::new(FailureKind::Conflict, "ambiguous_name")
                .hint("choose one with --skill NAME, or install all of them with --all"),
            Self::Missing { .. } => Failure::new(FailureKind::NotFound, "not_found"),
        }
    }
}

impl DiscoveredSkill {
    /// Creates an entry for a folder whose `SKILL.md` has this content.
    pub fn new(folder: String, skill_md: &[u8]) -> Self {
        let last = folder.rsplit('/').next().unwrap_or_default().to_owned();
        let loaded = validate::load(skill_md, &last, &Limits::default()).ok();
        Self { name: loaded.map_or(last, |loaded| loaded.name), folder }
    }

    fn is_in(&self, place: &str) -> bool {
        self.folder.strip_prefix(place).is_some_and(|rest| !rest.contains('/'))
    }
}

/// Selects skills of a source.
///
/// A `SKILL.md` at the root is the skill, unless others are selected by name. Otherwise, if the usual folders contain
/// skills, only those count. Skills nested in another skill are dropped. Of two with the same name, the first in the
/// order of preference is kept.
pub(crate) fn choose(
    mut found: Vec<DiscoveredSkill>,
    top: &str,
    pick: &Pick,
    origin: &str,
) -> Result<Vec<DiscoveredSkill>, PickError> {
    let rank = |skill: &DiscoveredSkill| {
        let below = relative(top, &skill.folder);
        let place =
            PLACES.iter().position(|place| DiscoveredSkill { folder: below.to_owned(), ..skill.clone() }.is_in(place));
        (!below.is_empty(), place.unwrap_or(PLACES.len()), below.matches('/').count(), below.to_owned())
    };
    found.sort_by_cached_key(rank);
    let mut kept: Vec<DiscoveredSkill> = Vec::new();
    for skill in found {
        let inside = |other: &&DiscoveredSkill| is_inside(&skill.folder, &other.folder) && other.folder != top;
        if !kept.iter().any(|other| other.name == skill.name) && kept.iter().find(inside).is_none() {
            kept.push(skill);
        }
    }
    let names = |skills: &[DiscoveredSkill]| skills.iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
    if kept.is_empty() {
        return Err(PickError::None { origin: origin.to_owned() });
    }
    if !pick.skills.is_empty() {
        return pick.skills.iter().map(|wanted| pick_one(&kept, wanted, origin)).collect();
    }
    if kept.first().is_some_and(|first| first.folder == top) {
        kept.truncate(1);
        return Ok(kept);
    }
    let usual = |skill: &DiscoveredSkill| PLACES.iter().any(|place| relative(top, &skill.folder).starts_with(place));
    if kept.iter().any(usual) {
        kept.retain(usual);
    }
    if kept.len() > 1 && !pick.all {
        return Err(PickError::Several { origin: origin.to_owned(), names: names(&kept) });
    }
    Ok(kept)
}

fn pick_one(kept: &[DiscoveredSkill], wanted: &str, origin: &str) -> Result<DiscoveredSkill, PickError> {
    let is_wanted = |skill: &&DiscoveredSkill| skill.name == wanted || skill.folder.rsplit('/').next() == Some(wanted);
    kept.iter().find(is_wanted).cloned().ok_or_else(|| PickError::Missing {
        origin: origin.to_owned(),
        wanted: wanted.to_owned(),
        names: kept.iter().map(|skill| skill.name.clone()).collect(),
    })
}

fn relative<'a>(top: &str, folder: &'a str) -> &'a str {
    folder.strip_prefix(top).map_or(folder, |rest| rest.trim_start_matches('/'))
}

fn is_inside(folder: &str, other: &str) -> bool {
    folder.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}

/// Finds the skills in and below an open folder, with their paths. A skill's own subfolders are not searched, and links
/// are not followed.
pub(crate) fn in_folder(top: &Dir) -> Result<Vec<DiscoveredSkill>, FolderError> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), top.try_clone().map_err(|source| io(".", source))?)];
    let mut looked_into = 0;
    while let Some((place, dir)) = open.pop() {
        looked_into += 1;
        if looked_into > MOST_FOLDERS {
            return Err(skill::BundleError::TooManyFiles { files: looked_into, limit: MOST_FOLDERS }.into());
        }
        if let Some(skill_md) = skill_md_of(&dir)? {
            found.push(DiscoveredSkill::new(place.clone(), &skill_md));
            continue;
        }
        if place.split('/').count() > DEEPEST {
            continue;
        }
        for entry in dir.entries().map_err(|source| io(&place, source))? {
            let entry = entry.map_err(|source| io(&place, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !SKIPPED.contains(name)) else { continue };
            if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Ok(child) = folder::open(&dir, name)
            {
                let below = if place.is_empty() { name.to_owned() } else { format!("{place}/{name}") };
                open.push((below, child));
            }
        }
    }
    Ok(found)
}

/// Reads the `SKILL.md` in a folder; `None` if there is no regular file of this name.
pub(crate) fn skill_md_of(dir: &Dir) -> Result<Option<Vec<u8>>, FolderError> {
    let limit = Limits::default().text_file_bytes;
    folder::read_file(dir, SkillPath::SKILL_MD, limit).map_err(|source| io(SkillPath::SKILL_MD, source))
}

fn io(path: &str, source: std::io::Error) -> FolderError {
    FolderError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(folders: &[&str], pick: &Pick) -> Result<Vec<String>, PickError> {
        let found = folders.iter().map(|folder| {
            let name = folder.rsplit('/').next().unwrap_or_default();
            DiscoveredSkill { folder: (*folder).to_owned(), name: name.to_owned() }
        });
        Ok(choose(found.collect(), "", pick, "src")?.into_iter().map(|found| found.folder).collect())
    }

    #[test]
    fn root_skill_precedes_nested_ones() {
        assert_eq!(chosen(&["skills/a", "", "skills/b"], &Pick::default()), Ok(vec![String::new()]));
        let pick = Pick { skills: vec!["b".into()], all: false };
        assert_eq!(chosen(&["skills/a", "", "skills/b"], &pick), Ok(vec!["skills/b".into()]));
    }

    #[test]
    fn usual_folders_precede_others() {
        assert_eq!(chosen(&["docs/x/y", "skills/a"], &Pick::default()), Ok(vec!["skills/a".into()]));
        assert_eq!(chosen(&["docs/x/y"], &Pick::default()), Ok(vec!["docs/x/y".into()]));
        let all = Pick { all: true, ..Pick::default() };
        assert_eq!(
            chosen(&[".agents/skills/a", "skills/b", "x/c"], &all),
            Ok(vec!["skills/b".into(), ".agents/skills/a".into()])
        );
    }

    #[test]
    fn several_skills_require_a_choice() {
        let several = chosen(&["skills/b", "skills/a"], &Pick::default()).unwrap_err();
        assert_eq!(several, PickError::Several { origin: "src".into(), names: vec!["a".into(), "b".into()] });
        let pick = Pick { skills: vec!["c".into()], all: false };
        assert!(matches!(chosen(&["skills/b", "skills/a"], &pick), Err(PickError::Missing { .. })));
        assert!(matches!(chosen(&[], &Pick::default()), Err(PickError::None { .. })));
    }

    #[test]
    fn repeated_name_counts_once() {
        let found = chosen(&[".claude/skills/a", "skills/a"], &Pick::default());
        assert_eq!(found, Ok(vec!["skills/a".into()]));
    }

    #[test]
    fn nested_skill_belongs_to_its_parent() {
        let found = chosen(&["skills/a", "skills/a/examples/b"], &Pick::default());
        assert_eq!(found, Ok(vec!["skills/a".into()]));
    }
}
