//! [`follow`]: rename detection, which brings a moved file under one path in all three bundles.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Conflict, ConflictKind};
use crate::{Bundle, File, Limits, SkillPath};

/// Lowest similarity, in percent, of two texts for a rename with changes. This is git's default.
const ALIKE_PERCENT: usize = 50;

/// Largest number of file pairs to compare by content, and their largest total size in bytes. Beyond it, only identical
/// files count as moved.
const COMPARED_PAIRS: usize = 4096;
const COMPARED_BYTES: usize = 64 << 20;

/// Moves renamed files to their new path in all three bundles. Also returns the conflicts for files that the sides
/// moved to different paths.
pub(super) fn follow(bundles: [&Bundle; 3], limits: &Limits) -> ([Bundle; 3], Vec<Conflict>) {
    let [base, ours, theirs] = bundles;
    let (here, there) = (renames(base, ours), renames(base, theirs));
    let mut moved = [base.clone(), ours.clone(), theirs.clone()];
    let mut conflicts = Vec::new();
    let paths: BTreeSet<&SkillPath> = here.keys().chain(there.keys()).collect();
    for from in paths {
        match (here.get(from), there.get(from)) {
            (Some(own), Some(other)) if own != other => {
                let kind = ConflictKind::MovedByBoth { from: from.clone(), theirs: other.clone() };
                conflicts.push(Conflict::of_file(own, kind));
            }
            (Some(to), _) | (None, Some(to)) => {
                if let Some(next) = moved_all(&moved, from, to, limits) {
                    moved = next;
                }
            }
            (None, None) => {}
        }
    }
    (moved, conflicts)
}

/// Returns the bundles with a file moved to its new path where necessary. `None` if another file has that path.
fn moved_all(bundles: &[Bundle; 3], from: &SkillPath, to: &SkillPath, limits: &Limits) -> Option<[Bundle; 3]> {
    let move_in = |bundle: &Bundle| match (bundle.get(from), bundle.get(to)) {
        (None, _) => Some(bundle.clone()),
        (Some(_), Some(_)) => None,
        (Some(file), None) => bundle.clone().without_file(from).with_file(to.clone(), file.clone(), limits).ok(),
    };
    let [base, ours, theirs] = bundles;
    Some([move_in(base)?, move_in(ours)?, move_in(theirs)?])
}

/// Maps files of the base to their new paths in a side: first identical files, then the most similar ones.
fn renames(base: &Bundle, side: &Bundle) -> BTreeMap<SkillPath, SkillPath> {
    let is_gone = |(path, _): &(&SkillPath, &File)| side.get(path).is_none() && !path.is_skill_md();
    let is_new = |(path, _): &(&SkillPath, &File)| base.get(path).is_none() && !path.is_skill_md();
    let gone: Vec<_> = base.files().filter(is_gone).collect();
    let new: Vec<_> = side.files().filter(is_new).collect();
    let mut pairs: Vec<(usize, bool, &SkillPath, &SkillPath)> = Vec::new();
    let bytes = |files: &[(&SkillPath, &File)]| files.iter().map(|(_, file)| file.bytes.len()).sum::<usize>();
    let compared = bytes(&gone) * new.len() + bytes(&new) * gone.len();
    let by_content = gone.len() * new.len() <= COMPARED_PAIRS && compared <= COMPARED_BYTES;
    let mut equal: HashMap<&[u8], Vec<&SkillPath>> = HashMap::new();
    new.iter().for_each(|(to, file)| equal.entry(&file.bytes).or_default().push(to));
    for (from, old) in gone.iter().filter(|(_, old)| !old.bytes.is_empty()) {
        let same = equal.get(&*old.bytes).map_or(&[][..], Vec::as_slice);
        pairs.extend(same.iter().map(|to| (100, from.file_name() == to.file_name(), *from, *to)));
        for (to, file) in new.iter().filter(|(_, file)| by_content && old.bytes != file.bytes) {
            let percent = alike_percent(old, file);
            if percent >= ALIKE_PERCENT {
                pairs.push((percent, from.file_name() == to.file_name(), from, to));
            }
        }
    }
    pairs.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    let mut found = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (_, _, from, to) in pairs {
        if !found.contains_key(from) && taken.insert(to) {
            found.insert(from.clone(), to.clone());
        }
    }
    found
}

/// Returns the percentage of bytes of the larger text that is in lines common to both.
fn alike_percent(old: &File, new: &File) -> usize {
    let (Some(a), Some(b)) = (old.text(), new.text()) else { return 0 };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    a.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    let mut bytes = 0;
    for line in b.lines() {
        if let Some(left) = counts.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            bytes += line.len() + 1;
        }
    }
    bytes.min(a.len().max(b.len())) * 100 / a.len().max(b.len()).max(1)
}
