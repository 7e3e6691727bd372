//! [`Lines`]: substring search with line numbers.

use memchr::memmem;

use super::{Piece, Spot};

/// The text of a piece with an index of its line starts.
pub(super) struct Lines<'a> {
    piece: &'a Piece<'a>,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn new(piece: &'a Piece<'a>) -> Self {
        let starts = std::iter::once(0).chain(piece.text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { piece, starts }
    }

    /// Calls `act` for each occurrence of a needle that does not continue a longer word, with the text after it.
    pub fn each(&self, needle: &str, mut act: impl FnMut(&'a str, Spot<'_>)) {
        for at in memmem::find_iter(self.piece.text.as_bytes(), needle) {
            let before = self.piece.text.get(..at).and_then(|text| text.chars().next_back());
            let starts_a_word = needle.starts_with(|c: char| c.is_alphanumeric());
            if starts_a_word && before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let line = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
            let rest = self.piece.text.get(at + needle.len()..).unwrap_or_default();
            act(rest, self.piece.spot(line));
        }
    }
}
