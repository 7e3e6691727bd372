//! [`Hunk`]: one change of a side against the base, with the places where it could as well stand.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// How large the product of the lengths of two texts may be, without what they share at start and end,
/// before everything between counts as one change.
pub const MAX_CELLS: u64 = 1_000_000_000;

/// A change of one side: a range of the base replaced by a range of the side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub base: Range<usize>,
    pub side: Range<usize>,
    /// All of the base that the change touches in one of the places where it could stand with the same
    /// result; more than `base` only where an insertion or deletion repeats its surroundings.
    pub reach: Range<usize>,
    /// Whether this is one element that lives on, changed.
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

    pub fn slides(&self) -> bool {
        self.reach != self.base
    }
}

/// The changes from `base` to `side`, in order, without regard to where they could as well stand.
/// `holds_apart` says of unchanged elements between two changes, by their range in the base, whether
/// they are a landmark.
pub(super) fn changes(base: &[u32], side: &[u32], holds_apart: impl Fn(Range<usize>) -> bool) -> Vec<Hunk> {
    let mut joined: Vec<Hunk> = Vec::new();
    for hunk in compare(base, side) {
        match joined.last_mut() {
            Some(last) if last.base.end == hunk.base.start || !holds_apart(last.base.end..hunk.base.start) => {
                *last = Hunk::new(last.base.start..hunk.base.end, last.side.start..hunk.side.end);
            }
            _ => joined.push(hunk),
        }
    }
    joined
}

fn compare(base: &[u32], side: &[u32]) -> Vec<Hunk> {
    let prefix = base.iter().zip(side).take_while(|(a, b)| a == b).count();
    let (old, new) = (base.get(prefix..).unwrap_or_default(), side.get(prefix..).unwrap_or_default());
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - suffix], &new[..new.len() - suffix]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let at = |range: Range<usize>| range.start + prefix..range.end + prefix;
    if old.is_empty() || new.is_empty() || (old.len() as u64).saturating_mul(new.len() as u64) > MAX_CELLS {
        return vec![Hunk::new(at(0..old.len()), at(0..new.len()))];
    }
    let ops = capture_diff_slices(Algorithm::Patience, old, new);
    let changes = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    changes.map(|op| Hunk::new(at(op.old_range()), at(op.new_range()))).collect()
}

/// Moves insertions and deletions as far down as they can stand, so that equal changes of two sides
/// stand at one place, and notes how far up they could.
pub(super) fn slide(base: &[u32], side: &[u32], mut hunks: Vec<Hunk>) -> Vec<Hunk> {
    let mut floor = 0;
    for at in 0..hunks.len() {
        let ceiling = hunks.get(at + 1).map_or(base.len(), |next| next.base.start);
        let hunk = &mut hunks[at];
        let (up, down) = if hunk.is_insertion() {
            let (block, place) = (hunk.side.clone(), hunk.base.start);
            (
                (1..=place - floor).take_while(|up| base[place - up] == side[block.end - up]).count(),
                (0..ceiling - place).take_while(|down| base[place + down] == side[block.start + down]).count(),
            )
        } else if hunk.is_deletion() {
            let block = hunk.base.clone();
            (
                (1..=block.start - floor).take_while(|up| base[block.start - up] == base[block.end - up]).count(),
                (0..ceiling - block.end).take_while(|down| base[block.start + down] == base[block.end + down]).count(),
            )
        } else {
            (0, 0)
        };
        hunk.reach = hunk.base.start - up..hunk.base.end + down;
        hunk.base = hunk.base.start + down..hunk.base.end + down;
        hunk.side = hunk.side.start + down..hunk.side.end + down;
        floor = hunk.base.end;
    }
    hunks
}
