//! The differences between two states of a skill ([`Compared`]).

use std::{cell::Cell, collections::HashSet};

use maud::{Markup, html};
use scan::causes;
use serde::Deserialize;
use skill::{
    Bundle,
    diff::{Change, FileChange, diff_files},
};

use super::{
    capabilities::added,
    diff_rows::{Hunk, Numbered, PAIRS, Row, hunks, marked, plain},
    findings::cause,
    judgements::Judgement,
    pieces::{self, encoded},
    texts::Texts,
    visible::visible,
};

/// Row limits of a whole page, and of a page with a single file. A long row counts as several.
const ROWS: usize = 3000;
const ROWS_OF_ONE: usize = 12_000;
/// Number of unchanged lines between two hunks that can be expanded.
const OPENED: usize = 400;

/// View options from the query string.
#[derive(Debug, Default, Deserialize)]
pub struct CompareOptions {
    #[serde(default)]
    pub(super) view: String,
    #[serde(default)]
    pub(super) file: String,
}

/// A changed file with its unified diff.
struct Changed {
    file: FileChange,
    text: String,
}

/// Renders two states of a skill as a comparison.
pub struct Compared<'a> {
    texts: &'static Texts,
    page: &'a str,
    files: Option<&'a str>,
    is_split: bool,
    only: &'a str,
    /// Remaining budget of word pairs to compare.
    pairs: Cell<usize>,
}

impl<'a> Compared<'a> {
    /// Creates a comparison for the page at an address with view options.
    /// `files` is the base address of the later state's files, if they can be viewed.
    pub fn new(texts: &'static Texts, page: &'a str, files: Option<&'a str>, wanted: &'a CompareOptions) -> Self {
        let is_split = wanted.view != "unified";
        Self { texts, page, files, is_split, only: &wanted.file, pairs: Cell::new(PAIRS) }
    }

    fn at(&self, view: &str, file: &str) -> String {
        let joint = if self.page.contains('?') { '&' } else { '?' };
        let base = format!("{}{joint}view={view}", self.page);
        if file.is_empty() { base } else { format!("{base}&file={}", encoded(file)) }
    }

    /// Renders the links to the two views, then `more`.
    pub fn views(&self, more: &Markup) -> Markup {
        let texts = self.texts;
        html! {
            nav.views aria-label=(texts.view) {
                (self.choice("split", texts.side_by_side, self.is_split))
                (self.choice("unified", texts.unified, !self.is_split))
                (more)
            }
        }
    }

    /// Renders new findings and capabilities, then every changed file.
    pub fn shown(&self, old: &Bundle, new: &Bundle, before: &Judgement, after: &Judgement) -> Markup {
        html! { (self.graver(before, after)) (self.files(old, new)) }
    }

    /// Renders every changed file.
    pub fn files(&self, old: &Bundle, new: &Bundle) -> Markup {
        let texts = self.texts;
        let all = changes(old, new);
        let shown: Vec<(usize, &Changed)> = all
            .iter()
            .enumerate()
            .filter(|(_, one)| self.only.is_empty() || one.file.path.as_str() == self.only)
            .collect();
        let mut left = if self.only.is_empty() { ROWS } else { ROWS_OF_ONE };
        html! {
            @if all.is_empty() { p.empty { (texts.nothing_changed) } }
            @else { (self.counts(&all)) }
            @if !self.only.is_empty() { p { a href=(self.at(self.view(), "")) { (texts.all_files) } } }
            @for (at, one) in shown { (self.file(at, one, new, &mut left)) }
        }
    }

    fn view(&self) -> &'static str {
        if self.is_split { "split" } else { "unified" }
    }

    fn choice(&self, view: &str, word: &str, is_chosen: bool) -> Markup {
        html! { a href=(self.at(view, self.only)) aria-current=[is_chosen.then_some("true")] { (word) } }
    }

    /// Renders the changes that matter more than lines: new findings and added capabilities.
    fn graver(&self, before: &Judgement, after: &Judgement) -> Markup {
        let texts = self.texts;
        let known: HashSet<_> = before.report.findings.iter().map(|one| (&one.rule, &one.path, &one.excerpt)).collect();
        let new = after.report.findings.iter().filter(|one| !known.contains(&(&one.rule, &one.path, &one.excerpt)));
        let new = causes(new);
        html! {
            (added(&after.capabilities.since(&before.capabilities), &html! {}, texts))
            @if !new.is_empty() {
                section.weighs {
                    h2 { (texts.new_findings) }
                    ul.findings { @for one in new.iter().take(20) { (cause(one, self.files, texts)) } }
                    @if new.len() > 20 { p.quiet { ((texts.and_more)(new.len() - 20)) } }
                }
            }
        }
    }

    fn counts(&self, all: &[Changed]) -> Markup {
        let texts = self.texts;
        let (added, removed) = all.iter().fold((0, 0), |(a, r), one| (a + one.file.added, r + one.file.removed));
        html! {
            section {
                h2 { ((texts.files_changed)(all.len())) " " (plus_minus(added, removed)) }
                div.wide {
                    table.list {
                        @for (at, one) in all.iter().enumerate() {
                            tr {
                                td {
                                    a href=(if self.only.is_empty() { format!("#f{at}") } else { self.at(self.view(), one.file.path.as_str()) }) {
                                        (visible(one.file.path.as_str()))
                                    }
                                }
                                td { (word_of(one.file.change, texts)) }
                                td.right { (plus_minus(one.file.added, one.file.removed)) }
                            }
                        }
                    }
                }
            }
        }
    }

    fn file(&self, at: usize, one: &Changed, new: &Bundle, left: &mut usize) -> Markup {
        let texts = self.texts;
        let hunks = hunks(&one.text);
        let rows: usize = hunks.iter().map(|hunk| weight(&hunk.rows)).sum();
        let most = *left;
        *left = left.saturating_sub(rows);
        let file = new.get(&one.file.path);
        let is_new_program = one.file.change == Change::Added && file.is_some_and(|file| file.executable);
        let text = file.and_then(skill::File::text).unwrap_or_default();
        let lines: Vec<&str> = text.split('\n').collect();
        let gaps = gaps(&hunks, &lines);
        let mut sum = 0;
        let fitting = gaps.iter().zip(&hunks).take_while(|(_, hunk)| {
            let fits = sum < most;
            sum += weight(&hunk.rows);
            fits
        });
        html! {
            section.changed id={ "f" (at) } {
                h3 { (visible(one.file.path.as_str())) " " span.badge { (word_of(one.file.change, texts)) } " " (plus_minus(one.file.added, one.file.removed))
                    @if is_new_program { " " span.badge.fair { (texts.executable) } }
                }
                @if let Some(mode) = mode_of(&one.text) { p.note { (texts.mode_changed) " " code { (mode) } } }
                @if hunks.is_empty() && one.text.contains("\nBinary files ") { p.note { (texts.is_binary) } }
                @if rows > most && self.only.is_empty() {
                    p { a href=(self.at(self.view(), one.file.path.as_str())) { ((texts.large_diff)(rows)) } }
                } @else {
                    div.wide.diff {
                        @for (gap, hunk) in fitting {
                            (self.gap(at, gap, left))
                            (self.table(at, within(&hunk.rows, most)))
                        }
                    }
                    @if rows > most { p.note { (texts.text_is_cut) } }
                }
            }
        }
    }

    /// Renders the unchanged lines between two hunks, collapsed.
    fn gap(&self, at: usize, rows: &[Row<'_>], left: &mut usize) -> Markup {
        let texts = self.texts;
        let weight = weight(rows);
        let is_shown = weight <= OPENED && weight <= *left;
        if is_shown {
            *left -= weight;
        }
        html! {
            @if rows.is_empty() {}
            @else if is_shown {
                details.gap { summary { ((texts.unchanged_lines)(rows.len())) } (self.table(at, rows)) }
            } @else { p.gap { ((texts.unchanged_lines)(rows.len())) } }
        }
    }

    fn table(&self, at: usize, rows: &[Row<'_>]) -> Markup {
        if self.is_split { self.split(at, rows) } else { self.unified(at, rows) }
    }

    fn split(&self, at: usize, rows: &[Row<'_>]) -> Markup {
        html! {
            table.split {
                @for row in rows {
                    @match row {
                        Row::Same(old, (new, text)) => tr {
                            td.no { (old) } td.text { (plain(text)) }
                            (number(at, 'n', *new)) td.text { (plain(text)) }
                        },
                        Row::Changed(Some((old, before)), Some((new, after))) => {
                            @let (before, after) = marked(before, after, &self.pairs);
                            tr {
                                (number(at, 'o', *old)) td.text.old { (sign('-')) (before) }
                                (number(at, 'n', *new)) td.text.new { (sign('+')) (after) }
                            }
                        }
                        Row::Changed(old, new) => tr { (side(at, 'o', *old)) (side(at, 'n', *new)) },
                    }
                }
            }
        }
    }

    fn unified(&self, at: usize, rows: &[Row<'_>]) -> Markup {
        html! {
            table.unified {
                @for block in rows.chunk_by(|a, b| matches!((a, b), (Row::Changed(..), Row::Changed(..)))) {
                    @for row in block {
                        @match row {
                            Row::Same(old, (new, text)) => tr { td.no { (old) } (number(at, 'n', *new)) td.text { (plain(text)) } },
                            Row::Changed(Some((old, before)), after) => tr {
                                (number(at, 'o', *old)) td.no {}
                                td.text.old { (sign('-')) (after.map_or_else(|| plain(before), |(_, after)| marked(before, after, &self.pairs).0)) }
                            },
                            Row::Changed(None, _) => {}
                        }
                    }
                    @for row in block {
                        @if let Row::Changed(before, Some((new, after))) = row {
                            tr {
                                td.no {} (number(at, 'n', *new))
                                td.text.new { (sign('+')) (before.map_or_else(|| plain(after), |(_, before)| marked(before, after, &self.pairs).1)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn changes(old: &Bundle, new: &Bundle) -> Vec<Changed> {
    diff_files(old, new).map(|(file, text)| Changed { file, text }).collect()
}

fn weight(rows: &[Row<'_>]) -> usize {
    rows.iter().map(Row::weight).sum()
}

/// Returns the leading rows that fit into `room`.
fn within<'r, 't>(rows: &'r [Row<'t>], mut room: usize) -> &'r [Row<'t>] {
    let fits = |row: &&Row<'_>| {
        let left = room.checked_sub(row.weight());
        room = left.unwrap_or(0);
        left.is_some()
    };
    rows.get(..rows.iter().take_while(fits).count()).unwrap_or_default()
}

/// Returns the unchanged lines before each hunk.
fn gaps<'a>(hunks: &[Hunk<'a>], lines: &[&'a str]) -> Vec<Vec<Row<'a>>> {
    let (mut old, mut new) = (1, 1);
    let mut gaps = Vec::new();
    for hunk in hunks {
        let first = hunk.rows.first().and_then(|row| match row {
            Row::Same(_, (number, _)) | Row::Changed(_, Some((number, _))) => Some(*number),
            // If the first row has no new line, the distance follows from the old line numbers.
            Row::Changed(Some((number, _)), None) => Some(number + new - old),
            Row::Changed(None, None) => None,
        });
        let until = first.unwrap_or(new).max(new);
        let row = |number: usize| Row::Same(number + old - new, (number, lines.get(number - 1).copied().unwrap_or("")));
        gaps.push((new..until).map(row).collect());
        (old, new) = (old + (until - new), until);
        for row in &hunk.rows {
            let (is_old, is_new) = match row {
                Row::Same(..) => (true, true),
                Row::Changed(before, after) => (before.is_some(), after.is_some()),
            };
            (old, new) = (old + usize::from(is_old), new + usize::from(is_new));
        }
    }
    gaps
}

fn side(at: usize, which: char, line: Option<Numbered<'_>>) -> Markup {
    let (class, mark) = if which == 'o' { ("text old", '-') } else { ("text new", '+') };
    html! {
        @match line {
            Some((no, text)) => { (number(at, which, no)) td class=(class) { (sign(mark)) (plain(text)) } }
            None => { td.no.none {} td.text.none {} }
        }
    }
}

fn number(at: usize, which: char, no: usize) -> Markup {
    let id = format!("f{at}{which}{no}");
    html! { td.no id=(id) { a href={ "#" (id) } { (no) } } }
}

fn sign(sign: char) -> Markup {
    html! { span.sign { (sign) } }
}

fn plus_minus(added: usize, removed: usize) -> Markup {
    html! {
        @if added > 0 { span.added { "+" (pieces::number(added as u64)) } " " }
        @if removed > 0 { span.removed { "−" (pieces::number(removed as u64)) } }
    }
}

fn word_of(change: Change, texts: &Texts) -> &'static str {
    match change {
        Change::Added => texts.added,
        Change::Modified => texts.modified,
        Change::Removed => texts.removed,
    }
}

/// Describes a change of the executable bit.
fn mode_of(text: &str) -> Option<String> {
    let of = |name: &str| text.lines().take(4).find_map(|line| line.strip_prefix(name));
    Some(format!("{} → {}", of("old mode ")?, of("new mode ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_count_as_several() {
        let (short, long) = (Row::Same(1, (1, "a")), "x".repeat(1000));
        let rows = [short, Row::Changed(Some((2, &long)), Some((2, &long))), short];
        assert_eq!((weight(&rows), within(&rows, 11).len(), within(&rows, 12).len()), (13, 1, 2));
    }

    #[test]
    fn gaps_between_hunks_are_numbered() {
        let text = "@@ -3,2 +3,1 @@\n c\n-d\n@@ -8 +7,2 @@\n+x\n h\n";
        let lines = ["a", "b", "c", "e", "f", "g", "x", "h"];
        let found = hunks(text);
        let gaps = gaps(&found, &lines);
        let told = |gap: &[Row<'_>]| gap.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>().join(" ");
        assert_eq!(told(&gaps[0]), "Same(1, (1, \"a\")) Same(2, (2, \"b\"))");
        assert_eq!(told(&gaps[1]), "Same(5, (4, \"e\")) Same(6, (5, \"f\")) Same(7, (6, \"g\"))");
    }
}
