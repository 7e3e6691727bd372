//! Prescan of folders without a history by several threads, before they are processed one by one ([`Prescan`]).

use cap_std::fs::Dir;
use scan::{Baseline, Cleared, Scanner};
use skill::{Digest, Limits, SkillName, Strictness, validate::validate_bundle};

use super::{
    hand_edit::{CheckResult, prevents_use},
    summary::SkillMdSummary,
    threads::in_threads,
};
use crate::folder::{self, ToolFiles};

/// Batch size of the prescan, in folders. All files of a batch are in memory.
pub(super) const AHEAD: usize = 256;

/// Prescan result of a folder. The folder may have changed since, so it only counts for the same files.
pub(super) struct Prescan {
    pub judged: CheckResult,
    front: SkillMdSummary,
}

impl Prescan {
    fn of(root: &Dir, name: &SkillName, scanner: Scanner, limits: &Limits) -> Option<Self> {
        let files =
            folder::read(root, name.as_str(), ToolFiles::Skip, limits).ok().filter(|files| !files.is_empty())?;
        let problems = validate_bundle(&files, Some(name.as_str()), Strictness::Standard, limits);
        let problems = problems.into_iter().filter(prevents_use).collect();
        let front = SkillMdSummary::of(&files, name, limits);
        Some(Self { judged: CheckResult { problems, cleared: scan::clear_by(files, Baseline::None, &scanner) }, front })
    }

    /// Returns the scan result, and the front of the `SKILL.md` with the digest of the files that it belongs to.
    pub fn parts(self) -> (CheckResult, Option<(Digest, SkillMdSummary)>) {
        let digest = self.judged.cleared.as_ref().ok().map(Cleared::digest);
        (self.judged, digest.map(|digest| (digest, self.front)))
    }

    /// Scans the named folders; the results are in the same order.
    pub fn all(root: &Dir, names: &[Option<&SkillName>], scanner: Scanner, limits: &Limits) -> Vec<Option<Self>> {
        in_threads(names, |name| name.and_then(|name| Self::of(root, name, scanner, limits)))
    }
}
