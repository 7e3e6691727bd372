//! Verification of a git history: every object is read and compared with its id ([`check()`]).
//!
//! Loose objects are inflated here and not by libgit2, which loops forever on an object truncated by a crash.

use git2::{ObjectType, Oid};

use super::{
    GitStorage,
    loose::inflate,
    objects::{Entry, EntryKind},
    read_revision,
};
use crate::{
    revision::RevisionId,
    storage::{Checked, DamagedRevision, Fault, StorageError, message::Trailers},
};

/// Walks from a revision to the first one, or to verified ones, and returns the damage found.
pub(super) fn check(
    storage: &GitStorage,
    from: &RevisionId,
    checked: &mut Checked,
    progress: &mut dyn FnMut(),
) -> Result<Vec<DamagedRevision>, StorageError> {
    let mut check = Check { storage, checked };
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
    storage: &'a GitStorage,
    checked: &'a mut Checked,
}

impl Check<'_> {
    /// Verifies one revision. Returns its damage and the revisions before it: the parent, then a merged release.
    fn revision(&mut self, id: &RevisionId) -> (Option<DamagedRevision>, Vec<RevisionId>) {
        let damage = |number, what: String, objects| DamagedRevision { revision: id.clone(), number, what, objects };
        let Ok(oid) = Oid::from_str(id.as_str()) else {
            return (Some(damage(None, "its id is not a revision id".to_owned(), Vec::new())), Vec::new());
        };
        if let Some(what) = self.look(oid, ObjectType::Commit) {
            return (Some(damage(None, format!("it is {what}"), vec![id.to_string()])), Vec::new());
        }
        let commit = match self.storage.find_commit(oid) {
            Ok(Some(commit)) => commit,
            other => {
                let what = other.err().map_or_else(|| "missing".to_owned(), |error| error.to_string());
                return (Some(damage(None, what, vec![id.to_string()])), Vec::new());
            }
        };
        let parents = commit.parents.iter().map(|id| RevisionId::new(id.to_string())).collect();
        let mut faults = Vec::new();
        self.tree(commit.tree, "", &mut faults);
        let revision = faults.is_empty().then(|| read_revision(id, &commit));
        let number = revision.as_ref().and_then(|read| read.as_ref().ok()).map(|revision| revision.number);
        let damage = match (faults.first(), revision) {
            (Some(first), _) => {
                let number = Trailers::parse(&commit.message).ok();
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

    /// Verifies a tree and everything below it. Objects that were verified before are skipped.
    fn tree(&mut self, id: Oid, path: &str, faults: &mut Vec<Fault>) {
        if let Some(known) = self.checked.get(&id.to_string()) {
            faults.extend(known.clone());
            return;
        }
        let before = faults.len();
        let looked = self.look(id, ObjectType::Tree);
        match looked.map_or_else(|| self.storage.entries(id).map_err(|error| error.to_string()), Err) {
            Ok(entries) => self.entries(&entries, path, faults),
            Err(what) => {
                let name = if path.is_empty() { "its list of files" } else { path };
                faults.push(Fault { object: id.to_string(), what: format!("{name} is {what}") });
            }
        }
        self.checked.insert(id.to_string(), faults.get(before).cloned());
    }

    fn entries(&mut self, entries: &[Entry], path: &str, faults: &mut Vec<Fault>) {
        for entry in entries {
            let below = format!("{path}{}", String::from_utf8_lossy(&entry.name));
            if entry.kind == EntryKind::Folder {
                self.tree(entry.id, &format!("{below}/"), faults);
                continue;
            }
            let id = entry.id.to_string();
            if !self.checked.contains_key(&id) {
                let what = self.look(entry.id, ObjectType::Blob);
                let fault = what.map(|what| Fault { object: id.clone(), what: format!("{below} is {what}") });
                self.checked.insert(id.clone(), fault);
            }
            faults.extend(self.checked.get(&id).cloned().flatten());
        }
    }

    /// Verifies one object. Returns `None` if its bytes match its id, otherwise the fault.
    fn look(&self, id: Oid, kind: ObjectType) -> Option<String> {
        match self.storage.loose_file(id) {
            Ok(file) => loose_fault(file, id, kind),
            Err(_) => self.packed_fault(id, kind),
        }
    }

    fn packed_fault(&self, id: Oid, kind: ObjectType) -> Option<String> {
        let read = self.storage.with_odb(|odb| match odb.read(id) {
            Ok(object) => Ok(Some(Oid::hash_object(kind, object.data())? == id && object.kind() == kind)),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        });
        match read {
            Ok(Some(true)) => None,
            Ok(Some(false)) => Some("different from its id".to_owned()),
            Ok(None) => Some("missing".to_owned()),
            Err(StorageError::Git(error)) => Some(format!("unreadable ({})", error.message())),
            Err(StorageError::Damaged(why)) => Some(format!("unreadable ({why})")),
            Err(error) => Some(format!("unreadable ({error})")),
        }
    }
}

/// Verifies the file of a loose object: it must inflate to a header and content that match the id.
fn loose_fault(file: cap_std::fs::File, id: Oid, kind: ObjectType) -> Option<String> {
    let Some((head, content)) = inflate(file) else { return Some("empty or truncated".to_owned()) };
    if head != format!("{} {}", kind.str(), content.len()) {
        return Some("of another kind".to_owned());
    }
    match Oid::hash_object(kind, &content) {
        Ok(found) if found == id => None,
        _ => Some("different from its id".to_owned()),
    }
}
