//! [`Merged`]: the union of the files of three bundles.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Conflict, ConflictKind,
    align::{CELLS_PER_SKILL, Cells},
    keys,
    lines::{self, Kind},
    rules::{Clashes, Rules},
};
use crate::{Bundle, BundleError, File, SkillPath, check_collisions};

/// Merged files before the limits are checked.
pub(super) struct Merged {
    pub files: BTreeMap<SkillPath, File>,
    pub conflicts: Vec<Conflict>,
}

/// Merges three bundles file by file.
pub(super) fn merge(base: &Bundle, ours: &Bundle, theirs: &Bundle, rules: &Rules<'_>) -> Merged {
    let paths: BTreeSet<&SkillPath> = base.paths().chain(ours.paths()).chain(theirs.paths()).collect();
    let mut merged = Merged { files: BTreeMap::new(), conflicts: Vec::new() };
    let mut cells = [CELLS_PER_SKILL; 2];
    for path in paths {
        let files = [base, ours, theirs].map(|bundle| bundle.get(path));
        if let Some(file) = merge_file(path, files, rules, &mut cells, &mut merged.conflicts) {
            merged.files.insert(path.clone(), file);
        }
    }
    merged.leave_out_collisions(ours);
    merged
}

impl Merged {
    /// Removes paths of theirs that collide with ours. Each side alone has no collisions, so one path of each pair
    /// comes from theirs only.
    fn leave_out_collisions(&mut self, ours: &Bundle) {
        while let Err(BundleError::Collision { first, second }) = check_collisions(self.files.keys()) {
            let (path, with) = if ours.get(&first).is_none() { (first, second) } else { (second, first) };
            if self.files.remove(&path).is_none() {
                return;
            }
            let replaced = ours.files().filter(|(own, _)| own.folded() == path.folded());
            self.files.extend(replaced.map(|(own, file)| (own.clone(), file.clone())));
            self.conflicts.push(Conflict::of_file(&path, ConflictKind::Collision { with }));
        }
    }
}

fn merge_file(
    path: &SkillPath,
    files: [Option<&File>; 3],
    rules: &Rules<'_>,
    cells: &mut Cells,
    conflicts: &mut Vec<Conflict>,
) -> Option<File> {
    let mut conflict = |kind| {
        let texts = files.map(|file| file.and_then(File::text));
        conflicts.push(Conflict::of_file(path, kind).with_texts(texts[0], texts[1], texts[2]));
    };
    match files {
        [_, None, None] => None,
        [None, Some(one), None] | [None, None, Some(one)] => Some(one.clone()),
        [None, Some(ours), Some(theirs)] => {
            if !same_content(ours, theirs) {
                conflict(ConflictKind::AddedByBoth);
                return Some(both_added(path, [ours, theirs], rules, cells));
            }
            if ours.executable != theirs.executable {
                conflict(ConflictKind::Executable);
            }
            Some(File { executable: chosen(rules, ours, theirs).executable, ..ours.clone() })
        }
        [Some(base), None, Some(theirs)] => {
            let is_changed = !base.same_but_line_ends(theirs);
            if is_changed {
                conflict(ConflictKind::RemovedInOurs);
            }
            (is_changed && rules.clashes != Clashes::Ours).then(|| theirs.clone())
        }
        [Some(base), Some(ours), None] => {
            if base.same_but_line_ends(ours) {
                return None;
            }
            conflict(ConflictKind::RemovedInTheirs);
            (rules.clashes != Clashes::Theirs).then(|| ours.clone())
        }
        [Some(base), Some(ours), Some(theirs)] => {
            let executable = if ours.executable == base.executable { theirs.executable } else { ours.executable };
            Some(File { executable, ..merge_content(path, [base, ours, theirs], rules, cells, conflicts) })
        }
    }
}

/// Returns the side to use for content that cannot be merged.
fn chosen<'a>(rules: &Rules<'_>, ours: &'a File, theirs: &'a File) -> &'a File {
    if rules.clashes == Clashes::Theirs { theirs } else { ours }
}

/// Resolves a file that both sides added with different contents.
fn both_added(path: &SkillPath, [ours, theirs]: [&File; 2], rules: &Rules<'_>, cells: &mut Cells) -> File {
    match (rules.clashes, ours.text(), theirs.text()) {
        (Clashes::Marked { .. }, Some(here), Some(there)) => {
            let texts = ["", here, there];
            let woven = lines::merge(texts, lines::line_end(here, there), kind_of(path), rules, cells);
            File { bytes: woven.text.into_bytes().into(), executable: ours.executable }
        }
        _ => chosen(rules, ours, theirs).clone(),
    }
}

fn same_content(a: &File, b: &File) -> bool {
    a.same_but_line_ends(&File { bytes: b.bytes.clone(), executable: a.executable })
}

/// Merges the contents of a file that exists in all three. The executable bit is that of ours or theirs.
fn merge_content(
    path: &SkillPath,
    [base, ours, theirs]: [&File; 3],
    rules: &Rules<'_>,
    cells: &mut Cells,
    conflicts: &mut Vec<Conflict>,
) -> File {
    if same_content(base, theirs) || same_content(ours, theirs) {
        return ours.clone();
    }
    let (Some(old), Some(here), Some(there)) = (base.text(), ours.text(), theirs.text()) else {
        if same_content(base, ours) {
            return theirs.clone();
        }
        let conflict = Conflict::of_file(path, ConflictKind::Binary);
        conflicts.push(conflict.with_texts(base.text(), ours.text(), theirs.text()));
        return chosen(rules, ours, theirs).clone();
    };
    let line_end = lines::line_end(here, there);
    let texts = [old, here, there];
    let text = if path.is_skill_md() && !same_content(base, ours) {
        keys::merge(texts, line_end, rules, cells, conflicts)
    } else {
        let woven = rules.merge_lines(texts, line_end, kind_of(path), cells);
        conflicts.extend(woven.clashes.into_iter().map(|clash| clash.conflict(path, 1)));
        woven.text
    };
    File { bytes: text.into_bytes().into(), executable: ours.executable }
}

fn kind_of(path: &SkillPath) -> Kind {
    match path.extension().as_str() {
        "md" | "markdown" | "txt" => Kind::Markdown,
        _ => Kind::Code,
    }
}
