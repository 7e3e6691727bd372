//! [`split`]: a division of a changed block into modified, added and removed lines.

use std::{cmp::Ordering, collections::HashMap, ops::Range};

use super::{align::Alignment, hunks::Hunk, words::words};

/// Largest number of lines of a change, on either side, that is divided.
pub const PAIRED_LINES: usize = 16;

/// Score of a pair of equal lines. A modified line scores its share of this.
const EQUAL: u32 = 1000;
/// Score of a pair of equal lines without a word. It decides only if nothing else does.
const EQUAL_BLANK: u32 = 1;
/// Lowest score at which two lines count as one modified line.
const ALIKE: u32 = EQUAL / 2;

/// Lowest score if a single line replaces a single line, so that the pairing is unambiguous.
const ALIKE_ALONE: u32 = EQUAL / 4;

/// Splits each change into lines modified in place and the additions and removals between them.
pub(super) fn split(hunks: Vec<Hunk>, found: &Alignment, base: &[&str], side: &[&str]) -> Vec<Hunk> {
    let mut cut = Vec::new();
    for hunk in hunks {
        let lines = [&base[hunk.base.clone()], &side[hunk.side.clone()]];
        if lines.iter().any(|lines| lines.is_empty() || lines.len() > PAIRED_LINES) {
            cut.push(hunk);
        } else {
            let is_kept = |i: usize, j: usize| {
                let (i, j) = (hunk.base.start + i, hunk.side.start + j);
                found.is_certain[i] && found.kept[i] == Some(j)
            };
            push_parts(&mut cut, &hunk, &pairs(lines, is_kept));
        }
    }
    cut
}

/// Pair of a line of the base and one of the side. The score shows whether they are equal.
#[derive(Clone, Copy)]
struct Pair {
    base: usize,
    side: usize,
    score: u32,
}

fn push_parts(cut: &mut Vec<Hunk>, hunk: &Hunk, pairs: &[Pair]) {
    let (mut base, mut side) = (hunk.base.start, hunk.side.start);
    let mut push = |base: Range<usize>, side: Range<usize>, in_place: bool| {
        if !(base.is_empty() && side.is_empty()) {
            cut.push(Hunk { in_place, ..Hunk::new(base, side) });
        }
    };
    for pair in pairs {
        let at = (hunk.base.start + pair.base, hunk.side.start + pair.side);
        push(base..at.0, side..at.1, false);
        if !matches!(pair.score, EQUAL | EQUAL_BLANK) {
            push(at.0..at.0 + 1, at.1..at.1 + 1, true);
        }
        (base, side) = (at.0 + 1, at.1 + 1);
    }
    push(base..hunk.base.end, side..hunk.side.end, false);
}

/// Returns the ordered pairs with the highest total score. Pairs without a word count only next to others.
fn pairs([base, side]: [&[&str]; 2], is_kept: impl Fn(usize, usize) -> bool) -> Vec<Pair> {
    let scores = scores([base, side], is_kept);
    let width = side.len() + 1;
    let mut best = vec![0_u32; (base.len() + 1) * width];
    for i in (0..base.len()).rev() {
        for j in (0..side.len()).rev() {
            let score = scores[i * side.len() + j];
            let paired = if score > 0 { best[(i + 1) * width + j + 1] + score } else { 0 };
            best[i * width + j] = paired.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < base.len() && j < side.len() {
        let (here, score) = (best[i * width + j], scores[i * side.len() + j]);
        if score > 0 && here == best[(i + 1) * width + j + 1] + score {
            found.push(Pair { base: i, side: j, score });
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    let is_beside =
        |a: &Pair, b: &Pair| a.score > EQUAL_BLANK && a.base.abs_diff(b.base) == 1 && a.side.abs_diff(b.side) == 1;
    let counts = |pair: &Pair| pair.score > EQUAL_BLANK || found.iter().any(|other| is_beside(other, pair));
    found.iter().filter(|pair| counts(pair)).copied().collect()
}

/// Scores each pair of lines. The score is 0 unless the two lines are similar, and more similar to each other than to
/// any other line. Equal lines score only where their match is certain.
fn scores([base, side]: [&[&str]; 2], is_kept: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    let mut numbers = HashMap::new();
    let base_bags: Vec<_> = base.iter().map(|line| bag(line, &mut numbers)).collect();
    let side_bags: Vec<_> = side.iter().map(|line| bag(line, &mut numbers)).collect();
    let alike = if base.len() == 1 && side.len() == 1 { ALIKE_ALONE } else { ALIKE };
    let cells = || (0..base.len()).flat_map(|i| (0..side.len()).map(move |j| (i, j)));
    let shares: Vec<u32> =
        cells().map(|(i, j)| if base[i] == side[j] { EQUAL } else { share(&base_bags[i], &side_bags[j]) }).collect();
    let at = |i: usize, j: usize| shares[i * side.len() + j];
    let rows: Vec<_> = (0..base.len()).map(|i| alone_best((0..side.len()).map(|j| at(i, j)))).collect();
    let columns: Vec<_> = (0..side.len()).map(|j| alone_best((0..base.len()).map(|i| at(i, j)))).collect();
    let is_best = |i: usize, j: usize| rows[i] == Some(j) && columns[j] == Some(i);
    let score = |(i, j)| match base[i] == side[j] {
        true if !is_kept(i, j) => 0,
        true if base_bags[i].is_empty() => EQUAL_BLANK,
        true => EQUAL,
        false if at(i, j) >= alike && is_best(i, j) => at(i, j),
        false => 0,
    };
    cells().map(score).collect()
}

/// Returns the index of the maximum, or `None` if it is not unique.
fn alone_best(shares: impl Iterator<Item = u32>) -> Option<usize> {
    let mut best = (0, None);
    for (at, share) in shares.enumerate() {
        match share.cmp(&best.0) {
            Ordering::Greater => best = (share, Some(at)),
            Ordering::Equal => best.1 = None,
            Ordering::Less => {}
        }
    }
    best.1
}

/// Returns the words of a line as sorted numbers.
fn bag<'a>(line: &'a str, numbers: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let mut bag: Vec<u32> = words(line)
        .map(|word| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(word).or_insert(next)
        })
        .collect();
    bag.sort_unstable();
    bag
}

/// Returns the overlap of two sorted bags of words, scaled to less than [`EQUAL`], since the lines differ.
fn share(a: &[u32], b: &[u32]) -> u32 {
    let (mut i, mut j, mut common) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        common += usize::from(x == y);
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    let all = (a.len() + b.len()).max(1);
    u32::try_from(common * 2 * (EQUAL as usize - 1) / all).unwrap_or(0)
}
