//! [`merge`]: a merge by words for prose lines that both sides changed.

use std::{collections::HashMap, ops::Range};

use super::{
    align::Alignment,
    hunks::{self, Hunk},
    weave::{From, Nearness, weave},
};

/// Number of unchanged words required between changes of two sides, and between two changes of one side to keep them
/// separate.
///
/// Shorter runs ("of the", "a file") recur by chance in a rewritten sentence and do not fix a position. Changes closer
/// than three words also tend to affect the same phrase, whose grammar or meaning depends on both.
pub const WORDS_APART: usize = 3;

/// Size in bytes above which conflicting lines of any side are not merged by words. Such a text is not a single
/// passage, and comparing it would cost more than the merge by lines.
pub const PASSAGE_BYTES: usize = 1 << 16;

/// Yields the words of a text: runs of letters and digits, with each ideograph a word. Separators are omitted.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    tokens(text).filter(|token| is_word(token))
}

fn is_word(token: &str) -> bool {
    token.starts_with(char::is_alphanumeric)
}

/// Yields words, runs of blanks, and other single characters.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let kind = kind(rest.chars().next()?);
        let end = match kind {
            Kind::Single => rest.chars().next().map_or(0, char::len_utf8),
            _ => rest.find(|c| self::kind(c) != kind).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    Word,
    Blank,
    Single,
}

fn kind(c: char) -> Kind {
    match c {
        // Scripts without blanks between words.
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' => Kind::Single,
        '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => Kind::Single,
        '\n' => Kind::Single,
        c if c.is_alphanumeric() => Kind::Word,
        c if c.is_whitespace() => Kind::Blank,
        _ => Kind::Single,
    }
}

/// Returns the text with the changes of both sides, if all of them are far enough apart. `budgets` are the remaining
/// comparison budgets of the sides.
pub(super) fn merge(texts: [&str; 3], budgets: &mut [usize; 2]) -> Option<String> {
    if texts.iter().any(|text| text.len() > PASSAGE_BYTES) {
        return None;
    }
    let tokens = texts.map(|text| tokens(text).collect::<Vec<_>>());
    let mut numbers = HashMap::new();
    let [base, ours, theirs] = tokens.each_ref().map(|tokens| numbered(tokens, &mut numbers));
    let counted = Counted::new(&tokens[0]);
    let may_mark: Vec<bool> = tokens[0].iter().map(|token| is_word(token)).collect();
    let changes = |side: &[u32], budget: &mut usize| {
        let found = Alignment::new(&base, side, &may_mark, budget);
        let certain = |range: Range<usize>| range.filter(|at| found.is_certain[*at] && may_mark[*at]).count();
        hunks::reaching(&found, hunks::changes(&found, side.len(), |range| certain(range) >= WORDS_APART))
    };
    let lens = [base.len(), ours.len(), theirs.len()];
    let [own, other] = budgets;
    let mut text = String::new();
    for piece in weave(lens, &changes(&ours, own), &changes(&theirs, other), &counted) {
        let (here, there) = (&tokens[1][piece.ours], &tokens[2][piece.theirs]);
        match piece.from {
            From::Ours => text.extend(here.iter().copied()),
            From::Theirs => text.extend(there.iter().copied()),
            From::Clash if here == there => text.extend(here.iter().copied()),
            From::Clash => return None,
        }
    }
    Some(text)
}

/// Interns each element as a number.
pub(crate) fn numbered<'a>(elements: &[&'a str], numbers: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let mut number = |element: &'a str| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(element).or_insert(next)
    };
    elements.iter().map(|element| number(element)).collect()
}

/// Number of words before each token of the base.
struct Counted(Vec<usize>);

impl Counted {
    fn new(tokens: &[&str]) -> Self {
        let mut count = 0;
        let after = tokens.iter().map(|token| {
            count += usize::from(is_word(token));
            count
        });
        Self(std::iter::once(0).chain(after).collect())
    }

    fn words(&self, range: Range<usize>) -> usize {
        let before = |at: usize| self.0.get(at).copied().unwrap_or_default();
        before(range.end).saturating_sub(before(range.start))
    }
}

impl Nearness for Counted {
    fn too_near(&self, first: &Hunk, second: &Hunk) -> bool {
        !self.apart(first.reach.end, second.reach.start) && !self.apart(second.reach.end, first.reach.start)
    }

    fn apart(&self, end: usize, start: usize) -> bool {
        start >= end && self.words(end..start) >= WORDS_APART
    }
}
