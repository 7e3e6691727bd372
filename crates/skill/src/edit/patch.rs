//! [`plan`]: the positions at which a patch applies, the required [`Relaxation`], and the resulting text.

use std::{borrow::Cow, ops::Range};

use super::{
    EditError, Match, Patch, Relaxation,
    indent::Shift,
    nearest,
    normal::{self, Normal},
};
use crate::{BundleError, Limits};

/// Result of applying a patch to a text.
pub(super) struct Plan {
    /// Complete text after the patch.
    pub text: String,
    /// Replacement as inserted at the first match.
    pub inserted: String,
    /// Number of matches replaced.
    pub places: usize,
    /// Relaxation that was needed to find a match.
    pub relaxation: Option<Relaxation>,
    /// Sentence for the user about the relaxation.
    pub note: Option<String>,
}

/// Match with the indentation to apply to its replacement.
struct Place {
    range: Range<usize>,
    shift: Option<Shift>,
}

/// Finds the matches of a patch in a text and builds the new text.
///
/// # Errors
/// [`EditError`] if the patch is empty, the number of matches is not the expected one, or the result exceeds the limit
/// for text.
pub(super) fn plan(patch: &Patch, text: &str, limits: &Limits) -> Result<Plan, EditError> {
    if patch.find.is_empty() {
        return Err(EditError::EmptyFind);
    }
    if patch.expected_count == Some(0) {
        return Err(EditError::ZeroCount);
    }
    find_plan(patch, text, limits)?
        .ok_or_else(|| EditError::NoMatch { path: patch.path.clone(), nearest: nearest::places(&patch.find, text) })
}

/// Like [`plan`] for a non-empty patch, but returns `None` if nothing matches. This skips the search for similar
/// excerpts.
pub(super) fn find_plan(patch: &Patch, text: &str, limits: &Limits) -> Result<Option<Plan>, EditError> {
    attempts(patch, text).find_map(|attempt| attempt.run(limits).transpose()).transpose()
}

/// Returns whether the searched text is absent, or occurs only inside the replacement, as it would after the patch.
pub(super) fn stands_replaced(patch: &Patch, text: &str) -> bool {
    attempts(patch, text).find_map(|attempt| attempt.is_inside_replacement()).unwrap_or(true)
}

/// Yields the attempts that find a match, strictest first. If the exact text matches, it is the only attempt.
fn attempts<'a>(patch: &'a Patch, text: &'a str) -> impl Iterator<Item = Attempt<'a>> {
    let exact = Attempt { patch, text, relaxation: None, places: exact_places(patch, text) };
    let may_relax = exact.places.is_empty() && !patch.find.trim().is_empty();
    let relaxed = normal::useful(text, &patch.find).filter(move |_| may_relax).map(move |relaxation| Attempt {
        patch,
        text,
        relaxation: Some(relaxation),
        places: relaxed_places(patch, text, relaxation),
    });
    std::iter::once(exact).chain(relaxed).filter(|attempt| !attempt.places.is_empty())
}

/// Returns all verbatim matches. Overlapping matches count once, unless the patch requires a unique match.
fn exact_places(patch: &Patch, text: &str) -> Vec<Place> {
    let find = patch.find.as_str();
    let mut starts: Vec<usize> = text.match_indices(find).map(|(at, _)| at).collect();
    let one_wanted = patch.expected_count.is_none() && !patch.replace_all;
    if let ([only], true) = (starts.as_slice(), one_wanted) {
        let next = only + find.chars().next().map_or(1, char::len_utf8);
        let overlapping = text.get(next..).and_then(|rest| rest.find(find));
        starts.extend(overlapping.map(|at| next + at));
    }
    starts.into_iter().map(|at| Place { range: at..at + find.len(), shift: None }).collect()
}

fn relaxed_places(patch: &Patch, text: &str, relaxation: Relaxation) -> Vec<Place> {
    let find = Normal::new(&patch.find, relaxation);
    let normal = Normal::new(text, relaxation);
    let whole_lines = relaxation == Relaxation::Indentation;
    let fits = |range: &Range<usize>| {
        (!whole_lines || normal.starts_line(range.start))
            && (!(whole_lines || find.lost_its_end()) || normal.ends_line(range.end))
    };
    let ranges = normal.text.match_indices(&find.text).map(|(at, _)| at..at + find.text.len());
    let originals = ranges.filter(fits).filter_map(|range| normal.original(range));
    if whole_lines {
        return originals.filter_map(|range| indented_place(patch, text, range)).collect();
    }
    originals.map(|range| Place { range, shift: None }).collect()
}

/// Returns a match of whole lines that starts at the indentation of the first line.
fn indented_place(patch: &Patch, text: &str, range: Range<usize>) -> Option<Place> {
    let start = text.get(..range.start)?.trim_end_matches([' ', '\t']).len();
    let shift = Shift::between(&patch.find, text.get(start..range.end)?)?;
    Some(Place { range: start..range.end, shift: Some(shift) })
}

/// Matches of a patch under one relaxation.
struct Attempt<'a> {
    patch: &'a Patch,
    text: &'a str,
    relaxation: Option<Relaxation>,
    places: Vec<Place>,
}

impl Attempt<'_> {
    /// Builds the plan of this attempt. Returns `None` if the replacement cannot be indented.
    fn run(self, limits: &Limits) -> Result<Option<Plan>, EditError> {
        self.check_count()?;
        let Some((text, inserted)) = self.rewrite(limits)? else { return Ok(None) };
        let note = self
            .relaxation
            .map(|relaxation| format!("the text of find differs from the file in {relaxation}, which was ignored"));
        Ok(Some(Plan { text, inserted, places: self.places.len(), relaxation: self.relaxation, note }))
    }

    /// Returns whether every match is inside the replacement, or `None` if the replacement cannot be indented.
    fn is_inside_replacement(&self) -> Option<bool> {
        let replacement = self.render(self.places.first()?, normal::first_line_end(self.text))?;
        let ranges = self.places.iter().map(|place| &place.range);
        Some(holds(&self.patch.find, self.text, &replacement, ranges))
    }

    fn check_count(&self) -> Result<(), EditError> {
        let found = self.places.len();
        let path = self.patch.path.clone();
        match self.patch.expected_count {
            Some(expected) if expected == found => Ok(()),
            Some(expected) => Err(EditError::CountMismatch { path, expected, found, matches: self.matches() }),
            None if found == 1 || self.patch.replace_all => Ok(()),
            None => Err(EditError::AmbiguousMatch { path, found, matches: self.matches() }),
        }
    }

    fn matches(&self) -> Vec<Match> {
        let (mut line, mut at) = (1, 0);
        let mut matches = Vec::new();
        for place in self.places.iter().take(Match::MAX_LISTED) {
            let start = place.range.start;
            line += self.text.get(at..start).map_or(0, |skipped| skipped.matches('\n').count());
            at = start;
            matches.push(Match { line, text: line_at(self.text, start) });
        }
        matches
    }

    /// Returns the new text and the replacement at the first match. `None` if a replacement cannot be indented like its
    /// match.
    fn rewrite(&self, limits: &Limits) -> Result<Option<(String, String)>, EditError> {
        let file_end = normal::first_line_end(self.text);
        let (mut result, mut at) = (String::with_capacity(self.text.len()), 0);
        let mut first = None;
        for place in &self.places {
            let Some(replacement) = self.render(place, file_end) else { return Ok(None) };
            result.push_str(self.text.get(at..place.range.start).unwrap_or_default());
            result.push_str(&replacement);
            at = place.range.end;
            self.check_size(result.len(), limits)?;
            first.get_or_insert_with(|| replacement.into_owned());
        }
        result.push_str(self.text.get(at..).unwrap_or_default());
        Ok(Some((result, first.unwrap_or_default())))
    }

    /// Stops a replacement of many matches before it exhausts memory.
    fn check_size(&self, bytes: usize, limits: &Limits) -> Result<(), EditError> {
        let (bytes, limit) = (bytes as u64, limits.text_file_bytes);
        if bytes > limit {
            return Err(BundleError::TextTooLarge { path: self.patch.path.clone(), bytes, limit }.into());
        }
        Ok(())
    }

    /// Returns the replacement with the line endings and indentation of its match.
    ///
    /// A verbatim match of a patch that contains carriage returns is inserted unchanged.
    fn render(&self, place: &Place, file_end: Option<&str>) -> Option<Cow<'_, str>> {
        let replace = self.patch.replace.as_str();
        let explicit = self.patch.find.contains('\r') || replace.contains('\r');
        if !replace.contains('\n') && place.shift.is_none() || self.relaxation.is_none() && explicit {
            return Some(replace.into());
        }
        let end = normal::first_line_end(self.text.get(place.range.clone())?).or(file_end).unwrap_or("\n");
        let replacement = normal::with_line_ends(replace, end);
        match &place.shift {
            Some(shift) => shift.apply(&replacement).map(Cow::Owned),
            None => Some(replacement),
        }
    }
}

/// Returns the line at an offset, cut to the length shown in errors.
fn line_at(text: &str, at: usize) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = at + after.find('\n').unwrap_or(after.len());
    text.get(start..end).unwrap_or_default().trim_end_matches('\r').chars().take(Match::MAX_CHARS).collect()
}

/// Returns whether every match is inside an occurrence of the replacement, as after a patch that extends its own text.
fn holds<'a>(find: &str, text: &str, replacement: &str, matches: impl Iterator<Item = &'a Range<usize>>) -> bool {
    if replacement.len() <= find.len() {
        return false;
    }
    let mut rest = text.match_indices(replacement).map(|(at, _)| at).peekable();
    for range in matches {
        while rest.next_if(|at| at + replacement.len() < range.end).is_some() {}
        if rest.peek().is_none_or(|at| *at > range.start) {
            return false;
        }
    }
    true
}
