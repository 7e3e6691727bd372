//! [`changed_files`]: the paths that differ between two trees. libgit2's own diff walks through folders that are equal, all
//! of a large index for each release.

use std::cmp::Ordering;

use git2::{ObjectType, Oid, Repository, TreeEntry};

/// Adds the files that differ between two folders, `None` for one that is not there, by their paths.
pub(crate) fn changed_files(
    repo: &Repository,
    old: Option<Oid>,
    new: Option<Oid>,
    folder: &str,
    found: &mut Vec<String>,
) -> Result<(), git2::Error> {
    let tree = |id: Option<Oid>| id.map(|id| repo.find_tree(id)).transpose();
    let (old, new) = (tree(old)?, tree(new)?);
    let mut old_entries = old.iter().flat_map(|tree| tree.iter()).peekable();
    let mut new_entries = new.iter().flat_map(|tree| tree.iter()).peekable();
    loop {
        let order = match (old_entries.peek(), new_entries.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => order(old, new),
        };
        let one = if order.is_le() { old_entries.next() } else { None };
        let other = if order.is_ge() { new_entries.next() } else { None };
        let (old, new) = (one.as_ref().map(TreeEntry::id), other.as_ref().map(TreeEntry::id));
        let Some(entry) = one.or(other).filter(|_| old != new) else { continue };
        let path = format!("{folder}{}", String::from_utf8_lossy(entry.name_bytes()));
        match entry.kind() {
            Some(ObjectType::Tree) => changed_files(repo, old, new, &format!("{path}/"), found)?,
            _ => found.push(path),
        }
    }
}

/// The order in which git has the entries of a tree: a folder as if its name ended with a slash.
fn order(one: &TreeEntry<'_>, other: &TreeEntry<'_>) -> Ordering {
    fn key<'a>(entry: &'a TreeEntry<'_>) -> impl Iterator<Item = &'a u8> {
        let slash: &[u8] = if entry.kind() == Some(ObjectType::Tree) { b"/" } else { b"" };
        entry.name_bytes().iter().chain(slash)
    }
    key(one).cmp(key(other))
}

#[cfg(test)]
mod tests {
    use git2::FileMode;

    use super::*;

    #[test]
    fn paths_are_those_of_libgit2() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let tree = |files: &[(&str, &str)]| {
            let mut builder = git2::build::TreeUpdateBuilder::new();
            for (path, text) in files {
                builder.upsert(*path, repo.blob(text.as_bytes()).unwrap(), FileMode::Blob);
            }
            let empty = repo.find_tree(repo.treebuilder(None).unwrap().write().unwrap()).unwrap();
            builder.create_updated(&repo, &empty).unwrap()
        };
        let trees = [
            tree(&[("a", "1"), ("b/c", "1"), ("b/d", "1"), ("b-c", "1"), ("e/f/g", "1")]),
            tree(&[("a", "2"), ("b/c", "1"), ("b/d", "2"), ("e/f/h", "1"), ("b.c", "1")]),
            tree(&[("a/x", "1"), ("a.b", "1"), ("b", "1"), ("e/f/g", "1")]),
            tree(&[]),
        ];
        for old in trees {
            for new in trees {
                let mut found = Vec::new();
                changed_files(&repo, Some(old), Some(new), "", &mut found).unwrap();
                let of = |id| repo.find_tree(id).unwrap();
                let diff = repo.diff_tree_to_tree(Some(&of(old)), Some(&of(new)), None).unwrap();
                let path = |delta: git2::DiffDelta<'_>| {
                    let file = delta.new_file().path().or(delta.old_file().path());
                    file.unwrap().to_str().unwrap().to_owned()
                };
                let mut expected: Vec<String> = diff.deltas().map(path).collect();
                found.sort();
                expected.sort();
                assert_eq!(found, expected);
            }
        }
    }
}
