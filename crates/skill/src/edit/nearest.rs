//! Suggestions for failed edits: similar excerpts and similar paths, found in bounded time.

use std::cmp::Reverse;

use super::{Match, Nearest};
use crate::{Bundle, SkillPath};

/// Largest number of suggestions in an error.
const MAX_PLACES: usize = 3;
/// Non-blank lines of a file to examine.
const MAX_LINES: usize = 20_000;
/// Lines of a file to compare in detail, preselected by their [`Sketch`].
const MAX_CANDIDATES: usize = 100;
/// Lines of the searched text to compare at each candidate.
const MAX_WINDOW_LINES: usize = 12;
/// Bytes of a line to compare.
const MAX_LINE_BYTES: usize = 400;
/// Lowest similarity, in percent, of a suggestion.
const MIN_SIMILARITY: u8 = 40;

/// Returns the positions in a text that are most similar to `find`, best first.
pub(super) fn places(find: &str, text: &str) -> Vec<Nearest> {
    let wanted: Vec<&str> = find.trim_matches(['\n', '\r']).lines().take(MAX_WINDOW_LINES).collect();
    let Some((anchor, line)) = wanted.iter().enumerate().max_by_key(|(at, line)| (line.trim().len(), Reverse(*at)))
    else {
        return Vec::new();
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut scored: Vec<(Reverse<u8>, usize)> = candidates(line, &lines)
        .into_iter()
        .filter_map(|at| at.checked_sub(anchor))
        .map(|start| (Reverse(window_similarity(&wanted, &lines, start)), start))
        .filter(|(Reverse(similarity), _)| *similarity >= MIN_SIMILARITY)
        .collect();
    scored.sort_unstable();
    let height = find.trim_matches(['\n', '\r']).lines().count();
    scored
        .into_iter()
        .take(MAX_PLACES)
        .map(|(Reverse(similarity), start)| Nearest { line: start + 1, text: show(&lines, start, height), similarity })
        .collect()
}

fn show(lines: &[&str], start: usize, height: usize) -> String {
    let shown = lines.iter().skip(start).take(height.min(2 * MAX_WINDOW_LINES));
    let cut: Vec<String> = shown.map(|line| line.chars().take(Match::MAX_CHARS).collect()).collect();
    cut.join("\n")
}

/// Preselects the lines that share most with the anchor, by comparing sketches.
fn candidates(anchor: &str, lines: &[&str]) -> Vec<usize> {
    let wanted = Sketch::of(anchor);
    let mut scored: Vec<(Reverse<u32>, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .take(MAX_LINES)
        .map(|(at, line)| (Reverse(wanted.shared_with(&Sketch::of(line))), at))
        .filter(|(Reverse(shared), _)| *shared > 0)
        .collect();
    if scored.len() > MAX_CANDIDATES {
        scored.select_nth_unstable(MAX_CANDIDATES);
        scored.truncate(MAX_CANDIDATES);
    }
    scored.into_iter().map(|(_, at)| at).collect()
}

/// Set of hashed pairs of neighbouring bytes, as a 256-bit Bloom filter.
struct Sketch([u64; 4]);

impl Sketch {
    fn of(line: &str) -> Self {
        let mut bits = [0; 4];
        let mut previous = 0_u8;
        for byte in line.trim_start().as_bytes().iter().take(MAX_LINE_BYTES) {
            let hash = previous.wrapping_mul(31).wrapping_add(*byte).wrapping_mul(167);
            let [a, b, c, d] = &mut bits;
            let word = match hash >> 6 {
                0 => a,
                1 => b,
                2 => c,
                _ => d,
            };
            *word |= 1 << (hash & 63);
            previous = *byte;
        }
        Self(bits)
    }

    /// Scores the overlap with another sketch. Bits that only the other sketch has reduce the score slightly.
    fn shared_with(&self, other: &Self) -> u32 {
        let pairs = || self.0.iter().zip(&other.0);
        let shared: u32 = pairs().map(|(a, b)| (a & b).count_ones()).sum();
        let surplus: u32 = pairs().map(|(a, b)| (b & !a).count_ones()).sum();
        (4 * shared).saturating_sub(surplus)
    }
}

/// Returns the mean similarity, in percent, of the searched lines to those from `start` on, weighted by line length.
fn window_similarity(wanted: &[&str], lines: &[&str], start: usize) -> u8 {
    let (mut sum, mut weights) = (0_usize, 0_usize);
    for (offset, line) in wanted.iter().enumerate() {
        let weight = line.trim().len().min(MAX_LINE_BYTES);
        let other = lines.get(start + offset).copied().unwrap_or_default();
        sum += weight * similarity(line, other, wanted.len() == 1);
        weights += weight;
    }
    u8::try_from(sum.checked_div(weights).unwrap_or(0)).unwrap_or(100)
}

/// Returns the similarity of two lines in percent, from their pairs of neighbouring bytes.
///
/// If `part` is set, the wanted text may match a part of the line, and the rest of the line does not reduce the score.
fn similarity(wanted: &str, line: &str, part: bool) -> usize {
    let (wanted, line) = (pairs(wanted), pairs(line));
    let (mut shared, mut at) = (0_usize, 0);
    for pair in &wanted {
        while line.get(at).is_some_and(|other| other < pair) {
            at += 1;
        }
        if line.get(at) == Some(pair) {
            shared += 1;
            at += 1;
        }
    }
    let of = if part { 2 * wanted.len() } else { wanted.len() + line.len() };
    (200 * shared).checked_div(of).unwrap_or(0)
}

fn pairs(line: &str) -> Vec<u16> {
    let bytes = line.trim().as_bytes();
    let bytes = bytes.get(..MAX_LINE_BYTES).unwrap_or(bytes);
    let mut pairs: Vec<u16> =
        bytes.iter().zip(bytes.iter().skip(1)).map(|(a, b)| u16::from_be_bytes([*a, *b])).collect();
    pairs.sort_unstable();
    pairs
}

/// Returns the files whose paths are most similar to a path that does not exist, best first.
pub(super) fn paths(path: &SkillPath, bundle: &Bundle) -> Vec<SkillPath> {
    let wanted = path.as_str().to_lowercase();
    let name = path.file_name().to_lowercase();
    let mut scored: Vec<(Reverse<usize>, &SkillPath)> = bundle
        .paths()
        .map(|other| {
            let whole = similarity(&wanted, &other.as_str().to_lowercase(), false);
            let last = similarity(&name, &other.file_name().to_lowercase(), false);
            (Reverse(whole.max(last)), other)
        })
        .filter(|(Reverse(similarity), _)| *similarity >= usize::from(MIN_SIMILARITY))
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(MAX_PLACES).map(|(_, path)| path.clone()).collect()
}
