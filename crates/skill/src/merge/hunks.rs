//! [`Hunk`]: one change of a side against the base, with the range of its possible positions.

use std::ops::Range;

use super::align::Alignment;

/// Change of one side: a range of the base replaced by a range of the side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub base: Range<usize>,
    pub side: Range<usize>,
    /// `base`, extended over the adjacent elements that may also belong to the change.
    pub reach: Range<usize>,
    /// True if this is a single element that was modified in place.
    pub in_place: bool,
}

impl Hunk {
    pub fn new(base: Range<usize>, side: Range<usize>) -> Self {
        Self { reach: base.clone(), base, side, in_place: false }
    }

    pub fn is_insertion(&self) -> bool {
        self.base.is_empty()
    }

    pub fn is_deletion(&self) -> bool {
        self.side.is_empty()
    }
}

/// Returns the changes in an alignment with a side of the given length, in order.
///
/// `holds_apart` decides, for the unchanged elements between two changes, whether they fix a position. Otherwise both
/// are joined into one change.
pub(super) fn changes(found: &Alignment, side_len: usize, holds_apart: impl Fn(Range<usize>) -> bool) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut base, mut side) = (0, 0);
    let kept = found.kept.iter().enumerate().filter_map(|(i, kept)| kept.map(|j| (i, j)));
    for (i, j) in kept.chain([(found.kept.len(), side_len)]) {
        if i > base || j > side {
            match hunks.last_mut() {
                Some(last) if !holds_apart(last.base.end..base) => {
                    *last = Hunk::new(last.base.start..i, last.side.start..j);
                }
                _ => hunks.push(Hunk::new(base..i, side..j)),
            }
        }
        (base, side) = (i + 1, j + 1);
    }
    hunks
}

/// Extends the reach of each hunk over the uncertain elements beside it, up to the next hunk.
pub(super) fn reaching(found: &Alignment, mut hunks: Vec<Hunk>) -> Vec<Hunk> {
    let mut floor = 0;
    for at in 0..hunks.len() {
        let ceiling = hunks.get(at + 1).map_or(found.kept.len(), |next| next.base.start);
        let hunk = &mut hunks[at];
        let up = (floor..hunk.base.start).rev().take_while(|at| !found.is_certain[*at]).count();
        let down = (hunk.base.end..ceiling).take_while(|at| !found.is_certain[*at]).count();
        hunk.reach = hunk.base.start - up..hunk.base.end + down;
        floor = hunk.base.end;
    }
    hunks
}
