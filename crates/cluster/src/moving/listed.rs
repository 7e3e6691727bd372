//! [`skill_files`], [`archive_files`]: the files of an index with their ids, from one pass over its tree.

use std::collections::HashMap;

use git2::Oid;
use registry_index::{Index, ReadError, shard};
use skill::{Digest, QualifiedName};

/// The file of a skill.
#[derive(Debug)]
pub struct SkillFile {
    /// Name of the skill.
    pub name: QualifiedName,
    /// Path of the file.
    pub path: String,
    /// Id of its content.
    pub id: Oid,
}

/// Lists the files of all skills, by owner and name.
///
/// # Errors
/// [`ReadError`]
pub fn skill_files(index: &Index) -> Result<Vec<SkillFile>, ReadError> {
    let files = index.files(shard::is_shard)?.into_iter();
    let file = |(path, id): (String, Oid)| shard::skill_at(&path).map(|name| SkillFile { name, path, id });
    let mut files: Vec<_> = files.filter_map(file).collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// Lists the archives in the tree of an index, by the digest in their names.
///
/// # Errors
/// [`ReadError`]
pub fn archive_files(index: &Index) -> Result<HashMap<Digest, Oid>, ReadError> {
    let digest = |path: &str| {
        let (_, name) = path.rsplit_once('/')?;
        format!("sha256:{}", name.strip_suffix(".skill")?).parse().ok()
    };
    let files = index.files(|folder| folder == shard::BUNDLES)?.into_iter();
    Ok(files.filter_map(|(path, id)| Some((digest(&path)?, id))).collect())
}
