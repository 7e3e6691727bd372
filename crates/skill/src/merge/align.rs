//! [`Alignment`]: the elements of a base that a side kept, and the certainty of each.

use std::{collections::HashMap, ops::Range};

/// Largest product of the lengths of two stretches without a landmark for which they are compared element by element.
pub const MAX_CELLS: usize = 1 << 22;
/// Largest sum of these products over all texts of a skill and one side, for lines and words.
pub const CELLS_PER_SKILL: usize = 1 << 24;

/// Remaining comparison budget out of [`CELLS_PER_SKILL`], for ours and for theirs.
pub(super) type Cells = [usize; 2];

/// Element-by-element alignment of a base and a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// For each element of the base, the matching index of the side in one shortest comparison. Among all shortest
    /// comparisons, it is the one with the earliest matches, so that equal changes of two sides look alike.
    pub kept: Vec<Option<usize>>,
    /// For each element of the base, true if every shortest comparison keeps it as the same element.
    pub is_certain: Vec<bool>,
    /// For each element of the base, true if it is a landmark: distinctive and unique in both sequences.
    pub is_landmark: Vec<bool>,
}

impl Alignment {
    /// Compares two sequences. `may_mark` flags the distinctive elements of the base. `budget` is the remaining
    /// comparison budget.
    pub fn new(base: &[u32], side: &[u32], may_mark: &[bool], budget: &mut usize) -> Self {
        let none = vec![false; base.len()];
        let mut found = Self { kept: vec![None; base.len()], is_certain: none.clone(), is_landmark: none };
        let (mut i, mut j) = (0, 0);
        for (next_i, next_j) in landmarks(base, side, may_mark).into_iter().chain([(base.len(), side.len())]) {
            found.align(base, i..next_i, side, j..next_j, budget);
            if next_i < base.len() {
                found.keep(next_i, next_j, true);
                found.is_landmark[next_i] = true;
            }
            (i, j) = (next_i + 1, next_j + 1);
        }
        found
    }

    fn keep(&mut self, base: usize, side: usize, is_certain: bool) {
        self.kept[base] = Some(side);
        self.is_certain[base] = is_certain;
    }

    /// Compares a stretch between two landmarks.
    fn align(&mut self, base: &[u32], old: Range<usize>, side: &[u32], new: Range<usize>, budget: &mut usize) {
        let (from, to) = (&base[old.clone()], &side[new.clone()]);
        if from == to {
            old.zip(new).for_each(|(i, j)| self.keep(i, j, true));
            return;
        }
        let cells = from.len().saturating_mul(to.len());
        if cells > MAX_CELLS || cells > *budget {
            let prefix = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            let rest = from.len().min(to.len()) - prefix;
            let suffix = from.iter().rev().zip(to.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
            (0..prefix).for_each(|at| self.keep(old.start + at, new.start + at, false));
            (1..=suffix).for_each(|at| self.keep(old.end - at, new.end - at, false));
            return;
        }
        *budget -= cells;
        let tables = Tables::new(from, to);
        let (mut i, mut j) = (0, 0);
        while i < from.len() && j < to.len() {
            if from[i] == to[j] {
                self.keep(old.start + i, new.start + j, tables.is_certain(i));
                (i, j) = (i + 1, j + 1);
            } else if tables.after(i + 1, j) == tables.after(i, j) {
                i += 1;
            } else {
                j += 1;
            }
        }
    }
}

/// Returns the longest ordered run of distinctive elements that occur exactly once in both sequences.
fn landmarks(base: &[u32], side: &[u32], may_mark: &[bool]) -> Vec<(usize, usize)> {
    let mut seen: HashMap<u32, (usize, usize, usize)> = HashMap::new();
    base.iter().for_each(|id| seen.entry(*id).or_default().0 += 1);
    for (at, id) in side.iter().enumerate() {
        let (_, count, place) = seen.entry(*id).or_default();
        (*count, *place) = (*count + 1, at);
    }
    let once = |(at, id): (usize, &u32)| match seen.get(id) {
        Some((1, 1, place)) if may_mark[at] => Some((at, *place)),
        _ => None,
    };
    let pairs: Vec<(usize, usize)> = base.iter().enumerate().filter_map(once).collect();
    // Longest increasing run: the last pair of the best run of each length, and the predecessor of each pair.
    let (mut lasts, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (number, (_, place)) in pairs.iter().enumerate() {
        let length = lasts.partition_point(|last| pairs[*last].1 < *place);
        before.push(length.checked_sub(1).map(|shorter| lasts[shorter]));
        if length == lasts.len() { lasts.push(number) } else { lasts[length] = number }
    }
    let mut run: Vec<_> = std::iter::successors(lasts.last().copied(), |at| before[*at]).map(|at| pairs[at]).collect();
    run.reverse();
    run
}

/// Lengths of the longest common subsequences of all prefixes and all suffixes of two sequences. Each is at most the
/// square root of [`MAX_CELLS`], so that sixteen bits suffice.
struct Tables<'a> {
    from: &'a [u32],
    to: &'a [u32],
    starts: Vec<u16>,
    ends: Vec<u16>,
    /// For each element of the first sequence, the number of elements of the second that it matches in an optimal
    /// alignment.
    ways: Vec<u32>,
    /// For each element, true if some optimal alignment omits it.
    is_dropped: Vec<bool>,
}

impl<'a> Tables<'a> {
    fn new(from: &'a [u32], to: &'a [u32]) -> Self {
        let (n, m) = (from.len(), to.len());
        let size = (n + 1) * (m + 1);
        let mut tables =
            Self { from, to, starts: vec![0; size], ends: vec![0; size], ways: vec![0; n], is_dropped: vec![false; n] };
        for (i, old) in from.iter().enumerate() {
            for (j, new) in to.iter().enumerate() {
                let longest = match old == new {
                    true => tables.before(i, j) + 1,
                    false => tables.before(i, j + 1).max(tables.before(i + 1, j)),
                };
                tables.starts[(i + 1) * (m + 1) + j + 1] = longest;
            }
        }
        for i in (0..n).rev() {
            for j in (0..m).rev() {
                let longest = match from[i] == to[j] {
                    true => tables.after(i + 1, j + 1) + 1,
                    false => tables.after(i + 1, j).max(tables.after(i, j + 1)),
                };
                tables.ends[i * (m + 1) + j] = longest;
            }
        }
        tables.count_ways();
        tables
    }

    fn count_ways(&mut self) {
        let best = self.after(0, 0);
        for i in 0..self.from.len() {
            for j in 0..=self.to.len() {
                self.is_dropped[i] |= self.before(i, j) + self.after(i + 1, j) == best;
                let is_way = j < self.to.len() && self.from[i] == self.to[j];
                self.ways[i] += u32::from(is_way && self.before(i, j) + 1 + self.after(i + 1, j + 1) == best);
            }
        }
    }

    fn before(&self, i: usize, j: usize) -> u16 {
        self.starts[i * (self.to.len() + 1) + j]
    }

    fn after(&self, i: usize, j: usize) -> u16 {
        self.ends[i * (self.to.len() + 1) + j]
    }

    fn is_certain(&self, i: usize) -> bool {
        self.ways[i] == 1 && !self.is_dropped[i]
    }
}
