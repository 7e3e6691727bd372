//! [`Piece`]s of many pages: times, counts, verdicts, form fields.

use jiff::{Timestamp, Unit};
use maud::{Markup, html};
use scan::Verdict;

use super::{reader::Reader, texts::Texts};

/// A small fragment of a page.
pub type Piece = Markup;

/// Renders a relative time, with the exact one as its tooltip.
pub fn time(reader: &Reader, at: Timestamp) -> Piece {
    let text = ago(reader.texts, at, reader.now);
    html! { time datetime=(at) title=(at) { (text) } }
}

/// Renders a stored time. A text that is not a timestamp is shown unchanged.
pub fn time_of(reader: &Reader, text: &str) -> Piece {
    match text.parse() {
        Ok(at) => time(reader, at),
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

/// Formats a number with thousands separators.
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

/// Formats a size in B, KiB or MiB.
pub fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", tenths(1024)),
        _ => format!("{} MiB", tenths(1_048_576)),
    }
}

/// Renders a verdict as a badge.
pub fn verdict(texts: &Texts, verdict: Verdict) -> Piece {
    let (class, word) = match verdict {
        Verdict::Allow => ("good", texts.verdict_allow),
        Verdict::Warn => ("fair", texts.verdict_warn),
        Verdict::Block => ("bad", texts.verdict_block),
    };
    html! { span class={ "badge " (class) } { (word) } }
}

/// Percent-encodes a text for use in an address. Slashes are kept, for paths.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Renders the hidden field with the proof that this server made the form.
pub fn proof(reader: &Reader) -> Piece {
    html! { input type="hidden" name="proof" value=(reader.cookies.proof().unwrap_or_default()); }
}

/// Renders the required field for a reason.
pub fn reason_field(reader: &Reader) -> Piece {
    html! { label { (reader.texts.reason) textarea name="reason" required maxlength="4000" rows="2" {} } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::texts::ENGLISH;

    #[test]
    fn numbers_sizes_and_times_are_formatted() {
        assert_eq!([number(0), number(999), number(1000), number(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(encoded("a b/图&#?%.md"), "a%20b/%E5%9B%BE%26%23%3F%25.md");
        assert_eq!([size(5), size(1536), size(3 << 20)], ["5 B", "1.5 KiB", "3.0 MiB"]);
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let told = |at: &str| ago(&ENGLISH, at.parse().unwrap(), now);
        assert_eq!(told("2026-03-01T11:59:30Z"), "just now");
        assert_eq!(told("2026-03-01T11:59:00Z"), "1 minute ago");
        assert_eq!(told("2026-02-27T12:00:00Z"), "2 days ago");
        assert_eq!(told("2024-02-27T12:00:00Z"), "2 years ago");
        assert_eq!(told("2027-01-01T00:00:00Z"), "just now");
    }
}
