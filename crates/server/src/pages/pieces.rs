//! [`Piece`]s that many pages show: times, counts, verdicts, skills in a list.

use jiff::{Timestamp, Unit};
use maud::{Markup, html};
use registry_index::Entry;
use scan::Verdict;

use super::{texts::Texts, visible::visible, visitor::Visitor};
use crate::catalogue::Found;

/// Something small that stands in pages.
pub type Piece = Markup;

/// A time as people say it, with the exact one behind it.
pub fn time(visitor: &Visitor, at: Timestamp) -> Piece {
    let text = ago(visitor.texts, at, visitor.now);
    html! { time datetime=(at) title=(at) { (text) } }
}

/// A time as it is stored.
pub fn time_of(visitor: &Visitor, text: &str) -> Piece {
    match text.parse() {
        Ok(at) => time(visitor, at),
        Err(_) => html! { (text) },
    }
}

fn ago(texts: &Texts, at: Timestamp, now: Timestamp) -> String {
    let seconds = now.since((Unit::Second, at)).map_or(0, |span| span.get_seconds()).max(0);
    match seconds {
        0..60 => texts.just_now.to_owned(),
        60..3600 => (texts.minutes_ago)(seconds / 60),
        3600..86_400 => (texts.hours_ago)(seconds / 3600),
        86_400..2_592_000 => (texts.days_ago)(seconds / 86_400),
        2_592_000..31_536_000 => (texts.months_ago)(seconds / 2_592_000),
        _ => (texts.years_ago)(seconds / 31_536_000),
    }
}

/// A number with its thousands apart.
pub fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size with its unit.
pub fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", tenths(1024)),
        _ => format!("{} MiB", tenths(1_048_576)),
    }
}

/// A verdict with its word.
pub fn verdict(texts: &Texts, verdict: Verdict) -> Piece {
    let (class, word) = match verdict {
        Verdict::Allow => ("good", texts.verdict_allow),
        Verdict::Warn => ("fair", texts.verdict_warn),
        Verdict::Block => ("bad", texts.verdict_block),
    };
    html! { span class={ "badge " (class) } { (word) } }
}

/// The verdict of a line of the index; what it does not know is no good word.
pub fn verdict_of(entry: &Entry) -> Verdict {
    match entry.verdict.as_str() {
        "allow" => Verdict::Allow,
        "warn" => Verdict::Warn,
        _ => Verdict::Block,
    }
}

/// Badges of a release beside its verdict.
pub fn flags(texts: &Texts, entry: &Entry) -> Piece {
    html! {
        @if entry.signature.is_some() { span.badge { (texts.signed) } }
        @if entry.withdrawn.is_some() { span.badge.bad { (texts.withdrawn) } }
        @else if entry.yanked { span.badge.fair { (texts.yanked) } }
    }
}

/// Skills in a list, with the words that were looked for marked.
pub fn skills(visitor: &Visitor, found: &[Found], words: &str) -> Piece {
    let texts = visitor.texts;
    html! {
        ol.skills {
            @for Found { entry, downloads, .. } in found {
                li {
                    h3 {
                        a href={ "/" (entry.name) } {
                            span.owner { (marked(entry.name.owner.as_str(), words)) "/" }
                            (marked(entry.name.name.as_str(), words))
                        }
                    }
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

/// A text with the words that were looked for marked.
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

/// Where the first of some words begins in a text, and how long it is there.
fn first_of(text: &str, terms: &[String]) -> Option<(usize, usize)> {
    // A text whose lower case has other lengths is not marked: the places would be wrong.
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return None;
    }
    let found = terms.iter().filter_map(|term| Some((lower.find(term.as_str())?, term.len())));
    let first = found.min_by_key(|(at, len)| (*at, usize::MAX - *len));
    first.filter(|(at, len)| text.get(*at..at + len).is_some())
}

/// A field that proves that a form is ours.
pub fn proof(visitor: &Visitor) -> Piece {
    html! { input type="hidden" name="proof" value=(visitor.cookies.proof().unwrap_or_default()); }
}

/// The fields that name a release.
pub fn release_fields(skill: &str, version: &str) -> Piece {
    html! {
        input type="hidden" name="skill" value=(skill);
        input type="hidden" name="version" value=(version);
    }
}

/// The field for a reason.
pub fn reason_field(visitor: &Visitor) -> Piece {
    html! { label { (visitor.texts.reason) textarea name="reason" required maxlength="4000" rows="2" {} } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::texts::ENGLISH;

    #[test]
    fn numbers_sizes_and_times_have_their_units() {
        assert_eq!([number(0), number(999), number(1000), number(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([size(5), size(1536), size(3 << 20)], ["5 B", "1.5 KiB", "3.0 MiB"]);
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let told = |at: &str| ago(&ENGLISH, at.parse().unwrap(), now);
        assert_eq!(told("2026-03-01T11:59:30Z"), "just now");
        assert_eq!(told("2026-03-01T11:59:00Z"), "1 minute ago");
        assert_eq!(told("2026-02-27T12:00:00Z"), "2 days ago");
        assert_eq!(told("2024-02-27T12:00:00Z"), "2 years ago");
        assert_eq!(told("2027-01-01T00:00:00Z"), "just now");
    }

    #[test]
    fn words_are_marked_and_stay_text() {
        assert_eq!(marked("Fills PDF forms", "pdf form").0, "Fills <mark>PDF</mark> <mark>form</mark>s");
        assert_eq!(marked("<b>a pdf", "<b> pdf").0, "<mark>&lt;b&gt;</mark>a <mark>pdf</mark>");
        assert_eq!(marked("画成图表", "图表").0, "画成<mark>图表</mark>");
        assert_eq!(marked("İstanbul", "istanbul").0, "İstanbul");
    }
}
