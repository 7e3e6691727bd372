//! [`skill_file`]: the paths of files in the tree of an index.
//!
//! The folders are those of cargo's index, which limits the number of entries in a folder. Below them is one folder for
//! each name, with one file for each owner. All owners of a bare name can be listed from one folder.
//!
//! ```text
//! 1/a/acme   2/ab/acme   3/a/abc/acme   pd/f-/pdf-forms/acme
//! ```

use skill::{Owner, QualifiedName, SkillName};

/// Folder of the owners' files.
pub const OWNERS: &str = "owners";
/// Folder of the archives, unless `config.json` specifies another location.
pub const BUNDLES: &str = "bundles";
/// Name of the file that makes a repository an index.
pub const CONFIG: &str = "config.json";

/// Returns the folder that has the files of all owners of a name, without a trailing slash.
///
/// `None` if the name cannot be published (not ASCII, or a device name of Windows).
pub fn name_folder(name: &SkillName) -> Option<String> {
    if !name.is_publishable() {
        return None;
    }
    let text = name.as_str();
    Some(match text.len() {
        0 => return None,
        1 => format!("1/{text}"),
        2 => format!("2/{text}"),
        3 => format!("3/{}/{text}", text.get(..1)?),
        _ => format!("{}/{}/{text}", text.get(..2)?, text.get(2..4)?),
    })
}

/// Returns the path of a skill's file, which has one JSON line for each release.
///
/// `None` if the name cannot be published.
pub fn skill_file(name: &QualifiedName) -> Option<String> {
    Some(format!("{}/{}", name_folder(&name.name)?, name.owner))
}

/// Returns the path of an owner's file.
pub fn owner_file(owner: &Owner) -> String {
    format!("{OWNERS}/{owner}.json")
}

/// Returns the skill whose file is at a path; `None` for every other path.
pub fn skill_at(path: &str) -> Option<QualifiedName> {
    let (folder, owner) = path.rsplit_once('/')?;
    let (_, name) = folder.rsplit_once('/')?;
    let name = QualifiedName { owner: Owner::parse(owner).ok()?, name: SkillName::parse_standard(name).ok()? };
    (skill_file(&name).as_deref() == Some(path)).then_some(name)
}

/// Returns whether a top-level folder can contain skills' files.
pub fn is_shard(folder: &str) -> bool {
    matches!(folder, "1" | "2" | "3") || folder.len() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Option<String> {
        skill_file(&name.parse().unwrap())
    }

    #[test]
    fn folders_match_cargos_index() {
        assert_eq!(path("acme/a").as_deref(), Some("1/a/acme"));
        assert_eq!(path("acme/ab").as_deref(), Some("2/ab/acme"));
        assert_eq!(path("acme/abc").as_deref(), Some("3/a/abc/acme"));
        assert_eq!(path("acme/abcd").as_deref(), Some("ab/cd/abcd/acme"));
        assert_eq!(path("acme/pdf-forms").as_deref(), Some("pd/f-/pdf-forms/acme"));
    }

    #[test]
    fn unpublishable_names_have_no_path() {
        assert_eq!(path("acme/技能"), None);
        assert_eq!(path("acme/con"), None);
        assert_eq!(path("acme/com1"), None);
    }

    #[test]
    fn path_identifies_its_skill() {
        for name in ["acme/a", "acme/ab", "acme/abc", "acme/abcd", "o/one-two"] {
            let name: QualifiedName = name.parse().unwrap();
            assert_eq!(skill_at(&skill_file(&name).unwrap()), Some(name));
        }
        for other in ["config.json", "owners/acme.json", "ab/ce/abcd/acme", "1/ab/acme", "abcd/acme", "ab/cd/abcd/A"] {
            assert_eq!(skill_at(other), None, "{other}");
        }
    }

    #[test]
    fn shards_differ_from_other_folders() {
        assert!(is_shard("1") && is_shard("ab") && is_shard("a-"));
        assert!(!is_shard(OWNERS) && !is_shard(BUNDLES) && !is_shard("4"));
    }
}
