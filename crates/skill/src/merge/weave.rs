//! [`Piece`]: a stretch of the merged text with its source.

use std::ops::Range;

use super::hunks::Hunk;

/// Source of a stretch of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// Neither side changed it, or both changed it equally.
    Ours,
    /// Only theirs changed it.
    Theirs,
    /// Both changed it differently.
    Clash,
}

/// Stretch of the result, with its ranges in all three texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub from: From,
    pub base: Range<usize>,
    pub ours: Range<usize>,
    pub theirs: Range<usize>,
}

/// Hunk with a flag that is true for ours.
type Sided<'a> = (bool, &'a Hunk);

/// Rule that decides whether changes of different sides conflict.
pub(super) trait Nearness {
    /// Returns whether two changes conflict. The first begins no later than the second.
    fn too_near(&self, first: &Hunk, second: &Hunk) -> bool;
    /// Returns whether every change that starts at `start` is independent of a change that ends at `end`.
    fn apart(&self, end: usize, start: usize) -> bool;
}

/// Combines the changes of both sides into one sequence of pieces that covers all three texts.
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

/// Returns the number of leading hunks that form one group. Two hunks are connected if they conflict, or if they are of
/// one side and overlap. Everything between them belongs to the group.
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
    /// End offsets of the pieces so far in each text.
    ends: [usize; 3],
}

impl Pieces {
    /// Appends the unchanged stretch up to the given offsets.
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
        // A side grows over the group by the sum of its hunks.
        let side_end = |from: usize, ours: bool| {
            let (added, removed) = of(ours).fold((0, 0), |(a, r), h| (a + h.side.len(), r + h.base.len()));
            from + (end - start) + added - removed
        };
        let ends = [end, side_end(self.ends[1], true), side_end(self.ends[2], false)];
        self.push(from, ends);
    }
}
