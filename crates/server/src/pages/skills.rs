//! Lists of skills from an index ([`skills`]), and the badges of a release.

use maud::html;
use registry_index::Entry;
use scan::Verdict;
use web::pages::{Piece, Texts, time, verdict, visible};

use super::visitor::Visitor;
use crate::store::catalogue::SearchHit;

/// Returns the verdict of an index entry. An unknown word counts as `block`.
pub fn verdict_of(entry: &Entry) -> Verdict {
    entry.verdict.parse().unwrap_or(Verdict::Block)
}

/// Renders the badges of a release, beside its verdict.
pub fn flags(texts: &Texts, entry: &Entry) -> Piece {
    html! {
        @if entry.signature.is_some() { span.badge { (texts.signed) } }
        @if entry.withdrawn.is_some() { span.badge.bad { (texts.withdrawn) } }
        @else if entry.quarantined().is_some() { span.badge.bad { (texts.quarantined) } }
        @else if entry.held().is_some() { span.badge.bad { (texts.on_hold) } }
        @else if entry.yanked { span.badge.fair { (texts.yanked) } }
    }
}

/// Renders a list of skills, with the searched words marked.
pub fn skills(visitor: &Visitor, found: &[SearchHit], words: &str) -> Piece {
    let texts = visitor.texts;
    html! {
        ol.skills {
            @for SearchHit { entry, downloads, .. } in found {
                li {
                    h3 {
                        a href={ "/" (entry.name) } {
                            span.owner { (marked(entry.name.owner.as_str(), words)) "/" }
                            (marked(entry.name.name.as_str(), words))
                        }
                    }
                    @if let Some(title) = &entry.title { p.line { strong { (marked(title, words)) } } }
                    p.line { (marked(&entry.description, words)) }
                    p.facts {
                        (verdict(texts, verdict_of(entry)))
                        (flags(texts, entry))
                        span { (entry.version) }
                        span { (time(visitor, entry.published_at)) }
                        span { ((texts.downloads)(*downloads)) }
                    }
                }
            }
        }
    }
}

/// Renders a text with the searched words marked.
fn marked(text: &str, words: &str) -> Piece {
    let is_worth = |term: &&str| term.chars().count() > 1 || !term.is_ascii();
    let terms: Vec<String> = words.split_whitespace().filter(is_worth).map(str::to_lowercase).collect();
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((at, len)) = first_of(rest, &terms) {
        let (before, after) = rest.split_at(at);
        let (term, after) = after.split_at(len);
        parts.push((before, term));
        rest = after;
    }
    html! {
        @for (before, term) in parts { (visible(before)) mark { (visible(term)) } }
        (visible(rest))
    }
}

/// Returns the position and length of the first occurrence of any of the words.
fn first_of(text: &str, terms: &[String]) -> Option<(usize, usize)> {
    // If lower case changes the length of the text, the positions would be wrong, so nothing is marked.
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return None;
    }
    let found = terms.iter().filter_map(|term| Some((lower.find(term.as_str())?, term.len())));
    let first = found.min_by_key(|(at, len)| (*at, usize::MAX - *len));
    first.filter(|(at, len)| text.get(*at..at + len).is_some())
}

/// Renders the hidden fields that identify a release.
pub fn release_fields(skill: &str, version: &str) -> Piece {
    html! {
        input type="hidden" name="skill" value=(skill);
        input type="hidden" name="version" value=(version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_words_are_escaped() {
        assert_eq!(marked("Fills PDF forms", "pdf form").0, "Fills <mark>PDF</mark> <mark>form</mark>s");
        assert_eq!(marked("<b>a pdf", "<b> pdf").0, "<mark>&lt;b&gt;</mark>a <mark>pdf</mark>");
        assert_eq!(marked("画成图表", "图表").0, "画成<mark>图表</mark>");
        assert_eq!(marked("İstanbul", "istanbul").0, "İstanbul");
    }
}
