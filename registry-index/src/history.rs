//! [`check_history`]: verifies that an index is append-only.
//!
//! Only first parents are followed, because readers have seen exactly these commits.

use git2::{Commit, Delta, DiffDelta, DiffOptions, Oid, Repository, Sort};
use skill::Digest;

use crate::{
    ArchiveLocation, Config, Entry, Fault, FaultKind, OwnerFile, ReadError,
    lines::{Line, Lines},
    shard,
    store::Snapshot,
};

/// Finds every commit that changed or removed an entry or an archive.
pub(crate) fn check_history(repo: &Repository, head: Oid, config: &Config) -> Result<Vec<Fault>, ReadError> {
    let mut walk = repo.revwalk()?;
    walk.push(head)?;
    walk.simplify_first_parent()?;
    walk.set_sorting(Sort::TOPOLOGICAL)?;
    let mut faults = Vec::new();
    for id in walk {
        let commit = repo.find_commit(id?)?;
        if let Ok(parent) = commit.parent(0) {
            let step = Step { old: Snapshot::of(repo, parent)?, new: Snapshot::of(repo, commit)?, config };
            step.check(repo, &mut faults)?;
        }
    }
    Ok(faults)
}

/// One commit, compared with its first parent.
struct Step<'a> {
    old: Snapshot<'a>,
    new: Snapshot<'a>,
    config: &'a Config,
}

impl Step<'_> {
    fn check(&self, repo: &Repository, faults: &mut Vec<Fault>) -> Result<(), ReadError> {
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let diff = repo.diff_tree_to_tree(Some(self.old.tree()), Some(self.new.tree()), Some(&mut options))?;
        let changed: Vec<_> = diff.deltas().filter(|delta| delta.status() != Delta::Added).collect();
        let withdrawn = self.newly_withdrawn(&diff.deltas().collect::<Vec<_>>());
        for delta in changed {
            let Some(path) = path_of(&delta) else { continue };
            if let Some(what) = self.what_was_taken(&delta, path, &withdrawn) {
                faults.push(rewritten(&self.new.commit, path, what));
            }
        }
        Ok(())
    }

    /// Describes what a change of one path removed or altered; `None` if the change is allowed.
    fn what_was_taken(&self, delta: &DiffDelta<'_>, path: &str, withdrawn: &[String]) -> Option<&'static str> {
        let removed = delta.status() == Delta::Deleted;
        if shard::skill_at(path).is_some() {
            return match removed {
                true => Some("removed the file"),
                false => (!self.lines_only_grew(delta)).then_some("changed or removed a line"),
            };
        }
        if path.starts_with(&format!("{}/", shard::OWNERS)) {
            return match removed {
                true => Some("removed an owner"),
                false => (!self.keys_only_grew(delta)).then_some("removed or restored a key of an owner"),
            };
        }
        if !path.starts_with(&format!("{}/", shard::BUNDLES)) {
            return None;
        }
        match removed {
            true => (!withdrawn.iter().any(|p| p == path)).then_some("removed an archive without a withdrawal"),
            false => Some("changed an archive"),
        }
    }

    fn lines_only_grew(&self, delta: &DiffDelta<'_>) -> bool {
        let lines = |side: &Snapshot<'_>, id| Lines::parse(&side.read_blob(id).ok()?).ok();
        match (lines(&self.old, delta.old_file().id()), lines(&self.new, delta.new_file().id())) {
            (Some(old), Some(new)) => new.only_grew_from(&old),
            // Damage of the file is reported by the check of the current tree.
            (old, _) => old.is_none(),
        }
    }

    fn keys_only_grew(&self, delta: &DiffDelta<'_>) -> bool {
        let file = |side: &Snapshot<'_>, id| OwnerFile::parse(&side.read_blob(id).ok()?).ok();
        match (file(&self.old, delta.old_file().id()), file(&self.new, delta.new_file().id())) {
            (Some(old), Some(new)) => new.only_grew_from(&old),
            // Damage of the file is reported by the check of the current tree.
            (old, _) => old.is_none(),
        }
    }

    /// Returns the archives of the releases that this commit withdrew.
    fn newly_withdrawn(&self, deltas: &[DiffDelta<'_>]) -> Vec<String> {
        let skills = deltas.iter().filter(|delta| path_of(delta).is_some_and(|path| shard::skill_at(path).is_some()));
        let files = skills.filter_map(|delta| self.new.read_blob(delta.new_file().id()).ok());
        let places = |bytes: Vec<u8>| {
            let lines = Lines::parse_each(&bytes).filter_map(|(_, line)| line.ok()).collect::<Vec<_>>();
            let gone = lines.iter().filter_map(Line::entry).filter(|entry| entry.withdrawn.is_some());
            gone.filter_map(|entry: &Entry| self.place(&entry.digest)).collect::<Vec<_>>()
        };
        files.flat_map(places).collect()
    }

    fn place(&self, digest: &Digest) -> Option<String> {
        match self.config.archive_location(digest) {
            ArchiveLocation::Tree(path) => Some(path),
            ArchiveLocation::Url(_) => None,
        }
    }
}

fn path_of<'a>(delta: &DiffDelta<'a>) -> Option<&'a str> {
    delta.new_file().path().or_else(|| delta.old_file().path()).and_then(|path| path.to_str())
}

fn rewritten(commit: &Commit<'_>, path: &str, what: &'static str) -> Fault {
    Fault::new(path, None, FaultKind::Rewritten { commit: commit.id().to_string(), what })
}
