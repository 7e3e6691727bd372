//! [`Piece`]: a stretch of the merged text, and which side it comes from.

use std::ops::Range;

use super::hunks::Hunk;

/// Which side a stretch of the result comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// Neither changed it, or both in the same way.
    Ours,
    /// Only theirs changed it.
    Theirs,
    /// Both changed it.
    Clash,
}

/// A stretch of the result, with its ranges in all three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub from: From,
    pub base: Range<usize>,
    pub ours: Range<usize>,
    pub theirs: Range<usize>,
}

/// A hunk and whether it is one of ours.
type Sided<'a> = (bool, &'a Hunk);

/// When two changes of different sides cannot both be taken as they are.
pub(super) trait Nearness {
    /// Whether two changes, the first of which begins no later, are too near.
    fn too_near(&self, first: &Hunk, second: &Hunk) -> bool;
    /// Whether all that begins at `start` is out of the way of what ends at `end`.
    fn apart(&self, end: usize, start: usize) -> bool;
}

/// Lays the changes of both sides into one sequence of pieces that covers all three texts.
pub(super) fn weave(lens: [usize; 3], ours: &[Hunk], theirs: &[Hunk], nearness: &impl Nearness) -> Vec<Piece> {
    let mut all: Vec<Sided> = ours.iter().map(|h| (true, h)).chain(theirs.iter().map(|h| (false, h))).collect();
    all.sort_by_key(|(is_ours, hunk)| (hunk.reach.start, hunk.base.end, !is_ours));
    let mut pieces = Pieces::default();
    let mut rest = all.as_slice();
    while !rest.is_empty() {
        let (group, later) = rest.split_at(group_len(rest, nearness));
        pieces.push_group(group);
        rest = later;
    }
    pieces.push_unchanged(lens);
    pieces.done
}

/// How many hunks from the first on hang together: by a pair that is too near or of one side and with
/// the same places, with all between.
fn group_len(hunks: &[Sided], nearness: &impl Nearness) -> usize {
    let (mut at, mut len) = (0, 1);
    while at < len {
        let (side, hunk) = hunks[at];
        for (other_at, (other_side, other)) in hunks.iter().enumerate().skip(at + 1) {
            if nearness.apart(hunk.reach.end, other.reach.start) {
                break;
            }
            let is_near = match *other_side == side {
                true => other.reach.start < hunk.reach.end,
                false => nearness.too_near(hunk, other),
            };
            if is_near {
                len = len.max(other_at + 1);
            }
        }
        at += 1;
    }
    len
}

#[derive(Default)]
struct Pieces {
    done: Vec<Piece>,
    /// Where the pieces so far end.
    ends: [usize; 3],
}

impl Pieces {
    /// Adds what no side changed up to the lengths given.
    fn push_unchanged(&mut self, [base, ours, theirs]: [usize; 3]) {
        self.push(From::Ours, [base, ours, theirs]);
    }

    fn push(&mut self, from: From, [base, ours, theirs]: [usize; 3]) {
        let [base_start, ours_start, theirs_start] = std::mem::replace(&mut self.ends, [base, ours, theirs]);
        let piece = Piece { from, base: base_start..base, ours: ours_start..ours, theirs: theirs_start..theirs };
        if !(piece.base.is_empty() && piece.ours.is_empty() && piece.theirs.is_empty()) {
            self.done.push(piece);
        }
    }

    fn push_group(&mut self, group: &[Sided]) {
        let of = |ours: bool| group.iter().filter(move |(side, _)| *side == ours).map(|(_, hunk)| *hunk);
        let from = match (of(true).next(), of(false).next()) {
            (_, None) => From::Ours,
            (None, _) => From::Theirs,
            _ => From::Clash,
        };
        let touched = |hunk: &Hunk| if from == From::Clash { hunk.reach.clone() } else { hunk.base.clone() };
        let start = group.iter().map(|(_, hunk)| touched(hunk).start).min().unwrap_or_default();
        let end = group.iter().map(|(_, hunk)| touched(hunk).end.max(hunk.base.end)).max().unwrap_or_default();
        let unchanged = start - self.ends[0];
        self.push_unchanged(self.ends.map(|at| at + unchanged));
        // The growth of a side over the group is that of its hunks.
        let side_end = |from: usize, ours: bool| {
            let (added, removed) = of(ours).fold((0, 0), |(a, r), h| (a + h.side.len(), r + h.base.len()));
            from + (end - start) + added - removed
        };
        let ends = [end, side_end(self.ends[1], true), side_end(self.ends[2], false)];
        self.push(from, ends);
    }
}
