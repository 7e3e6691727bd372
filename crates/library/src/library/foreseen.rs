//! [`Foreseen`]: folders without a history, judged by several threads before they are asked about one by one.

use cap_std::fs::Dir;
use scan::{Baseline, Cleared, Scanner};
use skill::{Digest, Limits, SkillName, Strictness, validate::validate_bundle};

use super::{
    hand_edit::{Judged, is_hindrance},
    summary::Front,
    threads::in_threads,
};
use crate::folder::{self, Leftovers};

/// Folders that are judged ahead. All of their files are in memory then.
pub(super) const AHEAD: usize = 256;

/// A folder as it was read by a thread. It may have changed since, so that it counts only for the same files.
pub(super) struct Foreseen {
    pub judged: Judged,
    front: Front,
}

impl Foreseen {
    fn of(root: &Dir, name: &SkillName, (scanner, limits): (Scanner, &Limits)) -> Option<Self> {
        let files =
            folder::read(root, name.as_str(), Leftovers::Skip, limits).ok().filter(|files| !files.is_empty())?;
        let problems = validate_bundle(&files, Some(name.as_str()), Strictness::Standard, limits);
        let problems = problems.into_iter().filter(is_hindrance).collect();
        let front = Front::of(&files, name, limits);
        Some(Self { judged: Judged { problems, cleared: scan::clear_by(files, Baseline::None, &scanner) }, front })
    }

    /// What to ask for the judgement, and what the `SKILL.md` says in files of that digest.
    pub fn parts(self) -> (Judged, Option<(Digest, Front)>) {
        let digest = self.judged.cleared.as_ref().ok().map(Cleared::digest);
        (self.judged, digest.map(|digest| (digest, self.front)))
    }

    /// Those of the folders that are named, in order.
    pub fn all(root: &Dir, names: &[Option<&SkillName>], by: (Scanner, &Limits)) -> Vec<Option<Self>> {
        in_threads(names, |name| name.and_then(|name| Self::of(root, name, by)))
    }
}
