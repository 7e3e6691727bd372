//! [`check()`]: every object of a git history read and compared with its id.
//!
//! Loose objects are inflated here and not by libgit2, which does not come to an end on one that a crash
//! cut off.

use cap_std::fs::Dir;
use git2::{ObjectType, Oid, Repository, Tree};

use super::{
    Checked, Damage, Fault, StorageError,
    git::{inflate, read_revision},
};
use crate::revision::RevisionId;

/// Walks from a revision to the first, or to one that was checked, and says which are damaged.
pub(super) fn check(
    repository: &Repository,
    dir: &Dir,
    from: &RevisionId,
    checked: &mut Checked,
    progress: &mut dyn FnMut(),
) -> Result<Vec<Damage>, StorageError> {
    let mut check = Check { repository, dir, checked };
    let mut found = Vec::new();
    let mut next = vec![from.clone()];
    while let Some(id) = next.pop() {
        if check.checked.contains_key(id.as_str()) {
            continue;
        }
        progress();
        let (damage, parents) = check.revision(&id);
        check.checked.insert(id.to_string(), None);
        found.extend(damage);
        next.extend(parents);
    }
    Ok(found)
}

struct Check<'a> {
    repository: &'a Repository,
    dir: &'a Dir,
    checked: &'a mut Checked,
}

impl Check<'_> {
    /// What is wrong with one revision, and those before it: its parent, then a release merged in.
    fn revision(&mut self, id: &RevisionId) -> (Option<Damage>, Vec<RevisionId>) {
        let damage = |number, what: String, objects| Damage { revision: id.clone(), number, what, objects };
        let Ok(oid) = Oid::from_str(id.as_str()) else {
            return (Some(damage(None, "that is no id of a revision".to_owned(), Vec::new())), Vec::new());
        };
        if let Some(what) = self.look(oid, ObjectType::Commit) {
            return (Some(damage(None, format!("it is {what}"), vec![id.to_string()])), Vec::new());
        }
        let commit = match self.repository.find_commit(oid) {
            Ok(commit) => commit,
            Err(error) => return (Some(damage(None, error.message().to_owned(), vec![id.to_string()])), Vec::new()),
        };
        let parents = commit.parent_ids().map(|id| RevisionId::new(id.to_string())).collect();
        let mut faults = Vec::new();
        self.tree(commit.tree_id(), "", &mut faults);
        let revision = faults.is_empty().then(|| read_revision(&commit));
        let number = revision.as_ref().and_then(|read| read.as_ref().ok()).map(|revision| revision.number);
        let damage = match (faults.first(), revision) {
            (Some(first), _) => {
                let number = super::message::Trailers::parse(commit.message().unwrap_or_default()).ok();
                let mut objects: Vec<String> = faults.iter().map(|fault| fault.object.clone()).collect();
                objects.sort();
                objects.dedup();
                Some(damage(number.map(|trailers| trailers.number), first.what.clone(), objects))
            }
            (None, Some(Err(error))) => Some(damage(number, error.to_string(), vec![id.to_string()])),
            (None, _) => None,
        };
        (damage, parents)
    }

    /// Looks at a tree and what is below it; what is shared with a tree seen before is not looked at again.
    fn tree(&mut self, id: Oid, path: &str, faults: &mut Vec<Fault>) {
        if let Some(known) = self.checked.get(&id.to_string()) {
            faults.extend(known.clone());
            return;
        }
        let before = faults.len();
        match self
            .look(id, ObjectType::Tree)
            .map_or_else(|| self.repository.find_tree(id).map_err(|e| e.to_string()), Err)
        {
            Ok(tree) => self.entries(&tree, path, faults),
            Err(what) => {
                let name = if path.is_empty() { "its list of files" } else { path };
                faults.push(Fault { object: id.to_string(), what: format!("{name} is {what}") });
            }
        }
        self.checked.insert(id.to_string(), faults.get(before).cloned());
    }

    fn entries(&mut self, tree: &Tree<'_>, path: &str, faults: &mut Vec<Fault>) {
        for entry in tree {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let below = format!("{path}{name}");
            if entry.kind() == Some(ObjectType::Tree) {
                self.tree(entry.id(), &format!("{below}/"), faults);
                continue;
            }
            let id = entry.id().to_string();
            if !self.checked.contains_key(&id) {
                let what = self.look(entry.id(), ObjectType::Blob);
                let fault = what.map(|what| Fault { object: id.clone(), what: format!("{below} is {what}") });
                self.checked.insert(id.clone(), fault);
            }
            faults.extend(self.checked.get(&id).cloned().flatten());
        }
    }

    /// What is wrong with one object; nothing when its bytes have its id.
    fn look(&self, id: Oid, kind: ObjectType) -> Option<String> {
        let hex = id.to_string();
        let (folder, rest) = hex.split_at(2);
        match self.dir.open(format!("objects/{folder}/{rest}")) {
            Ok(file) => loose_fault(file, id, kind),
            Err(_) => self.packed_fault(id, kind),
        }
    }

    fn packed_fault(&self, id: Oid, kind: ObjectType) -> Option<String> {
        let read = self.repository.odb().and_then(|odb| {
            let object = odb.read(id)?;
            Ok(Oid::hash_object(kind, object.data())? == id && object.kind() == kind)
        });
        match read {
            Ok(true) => None,
            Ok(false) => Some("not what its id says".to_owned()),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Some("missing".to_owned()),
            Err(error) => Some(format!("unreadable ({})", error.message())),
        }
    }
}

/// What is wrong with the file of a loose object: it must inflate to a header and bytes that have the id.
fn loose_fault(file: cap_std::fs::File, id: Oid, kind: ObjectType) -> Option<String> {
    let Some((head, content)) = inflate(file) else { return Some("empty or cut off".to_owned()) };
    if head != format!("{} {}", kind.str(), content.len()) {
        return Some("of another kind".to_owned());
    }
    match Oid::hash_object(kind, &content) {
        Ok(found) if found == id => None,
        _ => Some("not what its id says".to_owned()),
    }
}
