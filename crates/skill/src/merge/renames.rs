//! [`follow`]: a file that one side moved, brought under one path in all three.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Conflict, ConflictKind};
use crate::{Bundle, File, Limits, SkillPath};

/// How much two texts must share to be one file that was moved and changed, of a hundred; git's default.
const ALIKE_PERCENT: usize = 50;

/// How many pairs of files are compared by content, and how many bytes they may have together; beyond it only files
/// that are equal count as moved.
const COMPARED_PAIRS: usize = 4096;
const COMPARED_BYTES: usize = 64 << 20;

/// Three bundles in which a file that a side moved stands under its new path, and the files that the two
/// sides moved to different places.
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

/// The bundles with a file under its new path wherever it is not there yet; nothing where that path is
/// another file's.
fn moved_all(bundles: &[Bundle; 3], from: &SkillPath, to: &SkillPath, limits: &Limits) -> Option<[Bundle; 3]> {
    let move_in = |bundle: &Bundle| match (bundle.get(from), bundle.get(to)) {
        (None, _) => Some(bundle.clone()),
        (Some(_), Some(_)) => None,
        (Some(file), None) => bundle.clone().without_file(from).with_file(to.clone(), file.clone(), limits).ok(),
    };
    let [base, ours, theirs] = bundles;
    Some([move_in(base)?, move_in(ours)?, move_in(theirs)?])
}

/// The files of the base that a side has under another path: first those with equal content, then the
/// most alike.
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

/// How many bytes of the larger of two texts stand in lines that both have, of a hundred.
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
