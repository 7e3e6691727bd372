//! [`merge`]: prose of which both sides changed the same lines, merged by words.

use std::{collections::HashMap, ops::Range};

use super::{
    align::Alignment,
    hunks::{self, Hunk},
    weave::{From, Nearness, weave},
};

/// Unchanged words that must stand between changes of two sides, and between two changes of one side
/// for these to be two.
///
/// Three, because one or two words in a row ("of the", "a file") come up again by chance where a
/// sentence was rewritten, so that they mark no place; and because changes nearer than that are mostly
/// about the same phrase, whose grammar or sense hangs on both.
pub const WORDS_APART: usize = 3;

/// Bytes over which lines in conflict, in any of the three, are no longer tried by words: nobody wrote
/// them as one passage, and comparing them would cost more than the lines did.
pub const PASSAGE_BYTES: usize = 1 << 16;

/// The words of a text: runs of letters and digits, each ideograph one, without what is between.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    tokens(text).filter(|token| is_word(token))
}

fn is_word(token: &str) -> bool {
    token.starts_with(char::is_alphanumeric)
}

/// Words, blanks and single other characters.
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
        // Scripts that put no blanks between words.
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' => Kind::Single,
        '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => Kind::Single,
        '\n' => Kind::Single,
        c if c.is_alphanumeric() => Kind::Word,
        c if c.is_whitespace() => Kind::Blank,
        _ => Kind::Single,
    }
}

/// The text with the changes of both sides, where all of them are far enough from each other.
/// The budgets are what comparing either side may still cost.
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

/// Each element as a number that stands for its content.
pub(crate) fn numbered<'a>(elements: &[&'a str], numbers: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let mut number = |element: &'a str| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(element).or_insert(next)
    };
    elements.iter().map(|element| number(element)).collect()
}

/// How many words stand before each token of the base.
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
