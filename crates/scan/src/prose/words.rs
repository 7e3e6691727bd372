//! [`Word`]: the tokens of a passage, without markup, inflection or invisible characters.

use std::ops::Range;

use super::{
    address::{bare_host, mail_domain, public_address, scheme_rest},
    stem::{Letters, Stem},
};
use crate::characters::{self, is_wide};

/// Maximum number of words in a sentence. A longer one is split.
const SENTENCE: usize = 90;

/// A token with its stem and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub stem: Stem,
    /// True for a Chinese, Japanese or Korean character.
    pub wide: bool,
    /// True inside quotation marks.
    pub quoted: bool,
    /// Index of its sentence in the passage.
    pub sentence: u32,
    /// Index of its clause in the passage. Clauses are separated by punctuation and by words such as `but`, `then` and
    /// `which`.
    pub clause: u32,
    pub form: Form,
    /// Byte offset in the source.
    pub at: usize,
}

/// Bit set of grammatical properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Form(pub u8);

impl Form {
    /// Preceded by a comma or a Chinese enumeration comma.
    pub const COMMA: Self = Self(1);
    pub const AND: Self = Self(1 << 1);
    pub const OR: Self = Self(1 << 2);
    /// A modal verb, as in `attackers may send`.
    pub const MAY: Self = Self(1 << 3);
    /// A word that ends like `sending`.
    pub const ING: Self = Self(1 << 4);
    /// A word that ends like `sends`.
    pub const THIRD: Self = Self(1 << 5);
    /// A word that ends like `copied`.
    pub const PAST: Self = Self(1 << 6);
    /// Makes a following verb an order, as in `then send` and `you must send`.
    pub const LEAD: Self = Self(1 << 7);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Derives the form from the last letters of a word.
    fn of(word: &Letters) -> Self {
        match word.as_slice() {
            [.., b'i', b'n', b'g'] => Self::ING,
            [.., b's' | b'u' | b'i', b's'] => Self::default(),
            [_, _, .., b's'] => Self::THIRD,
            [_, _, .., b'e', b'd'] => Self::PAST,
            _ => Self::default(),
        }
    }
}

/// Conjunctions, modal verbs and adverbs that determine how clauses are joined.
const JOINTS: [(u64, Joint); 45] = [
    (eight(b"and"), Joint::Is(Form::AND.and(Form::LEAD))),
    (eight(b"or"), Joint::Is(Form::OR.and(Form::LEAD))),
    (eight(b"nor"), Joint::Is(Form::OR)),
    (eight(b"may"), Joint::Is(Form::MAY)),
    (eight(b"can"), Joint::Is(Form::MAY)),
    (eight(b"might"), Joint::Is(Form::MAY)),
    (eight(b"could"), Joint::Is(Form::MAY)),
    (eight(b"would"), Joint::Is(Form::MAY)),
    (eight(b"will"), Joint::Is(Form::MAY)),
    (eight(b"but"), Joint::Begins(Form::LEAD)),
    (eight(b"then"), Joint::Begins(Form::LEAD)),
    (eight(b"so"), Joint::Begins(Form::LEAD)),
    (eight(b"because"), Joint::Begins(Form(0))),
    (eight(b"since"), Joint::Begins(Form(0))),
    (eight(b"while"), Joint::Begins(Form(0))),
    (eight(b"whereas"), Joint::Begins(Form(0))),
    (eight(b"although"), Joint::Begins(Form(0))),
    (eight(b"though"), Joint::Begins(Form(0))),
    (eight(b"which"), Joint::Begins(Form(0))),
    (eight(b"who"), Joint::Begins(Form(0))),
    (eight(b"whose"), Joint::Begins(Form(0))),
    (eight(b"where"), Joint::Begins(Form(0))),
    (eight(b"if"), Joint::Begins(Form(0))),
    (eight(b"when"), Joint::Begins(Form(0))),
    (eight(b"unless"), Joint::Begins(Form(0))),
    (eight(b"once"), Joint::Begins(Form(0))),
    (eight(b"always"), Joint::Is(Form::LEAD)),
    (eight(b"also"), Joint::Is(Form::LEAD)),
    (eight(b"first"), Joint::Is(Form::LEAD)),
    (eight(b"now"), Joint::Is(Form::LEAD)),
    (eight(b"next"), Joint::Is(Form::LEAD)),
    (eight(b"must"), Joint::Is(Form::LEAD)),
    (eight(b"should"), Joint::Is(Form::LEAD)),
    (eight(b"shall"), Joint::Is(Form::LEAD)),
    (eight(b"silently"), Joint::Is(Form::LEAD)),
    (eight(b"quietly"), Joint::Is(Form::LEAD)),
    (eight(b"immediat"), Joint::Is(Form::LEAD)),
    (eight(b"automati"), Joint::Is(Form::LEAD)),
    (eight(b"finally"), Joint::Is(Form::LEAD)),
    (eight(b"afterwar"), Joint::Is(Form::LEAD)),
    (eight(b"instead"), Joint::Is(Form::LEAD)),
    (eight(b"directly"), Joint::Is(Form::LEAD)),
    (eight(b"secretly"), Joint::Is(Form::LEAD)),
    (eight(b"later"), Joint::Is(Form::LEAD)),
    (eight(b"again"), Joint::Is(Form::LEAD)),
];

#[derive(Clone, Copy)]
enum Joint {
    Is(Form),
    /// Begins a new clause.
    Begins(Form),
}

/// Stop words, which are dropped.
const STOP: [u64; 15] = [
    eight(b"a"),
    eight(b"an"),
    eight(b"the"),
    eight(b"your"),
    eight(b"its"),
    eight(b"their"),
    eight(b"my"),
    eight(b"his"),
    eight(b"her"),
    eight(b"of"),
    eight(b"please"),
    eight(b"just"),
    eight(b"simply"),
    eight(b"kindly"),
    eight(b"very"),
];

/// Chinese stop words, one character each.
const STOP_WIDE: &[char] = &['的', '了', '也'];

/// Tokenizer that appends to a list of words.
pub(super) struct Reader<'w> {
    words: &'w mut Vec<Word>,
    sentence: u32,
    clause: u32,
    /// Number of words in the current sentence.
    length: usize,
    quoted: bool,
    /// True if a comma follows the last word.
    comma: bool,
    /// True once a word contained an invisible character.
    pub disguised: bool,
}

/// Longest part of a command, in bytes, that is read before a login.
const COMMAND: usize = 200;

/// Returns true if a text ends in a command that logs in to another machine, before the name of the user.
fn logs_in(text: &str) -> bool {
    const PROGRAMS: [&str; 5] = ["ssh", "scp", "sftp", "rsync", "mosh"];
    let near = text.get(text.floor_char_boundary(text.len().saturating_sub(COMMAND))..).unwrap_or("");
    let span = near.rsplit(['`', '\n']).next().unwrap_or("");
    let words: Vec<&str> = span.split(' ').filter(|word| !matches!(*word, "" | "$" | "sudo")).collect();
    let is_program = |word: Option<&&str>| word.is_some_and(|word| PROGRAMS.contains(word));
    is_program(words.last()) || is_program(words.first()) && words.len() < 7 && !span.contains(": ")
}

impl<'w> Reader<'w> {
    pub fn new(words: &'w mut Vec<Word>) -> Self {
        words.clear();
        Self { words, sentence: 0, clause: 0, length: 0, quoted: false, comma: false, disguised: false }
    }

    /// Ends the current sentence and clause.
    pub fn end(&mut self) {
        self.sentence += 1;
        self.clause += 1;
        self.length = 0;
        self.comma = false;
    }

    /// Tokenizes a range of a text.
    pub fn read(&mut self, text: &str, range: Range<usize>) {
        let text = text.get(..range.end).unwrap_or("");
        let mut at = range.start;
        while let Some(byte) = text.as_bytes().get(at) {
            at = match byte {
                b' ' => at + 1,
                b if b.is_ascii_alphanumeric() => self.word(text, at, at),
                b'.' if begins_name(text.as_bytes(), at) => {
                    public_file(text.as_bytes(), at).unwrap_or_else(|| self.word(text, at, at + 1))
                }
                b'\\' if is_share(text, at) => {
                    self.push(Stem::HOST, Form::default(), false, at);
                    at + 2
                }
                b if b.is_ascii() => {
                    self.mark(*b, text.as_bytes().get(at + 1));
                    at + 1
                }
                _ => self.beyond_ascii(text, at),
            };
        }
    }

    /// Handles an ASCII punctuation mark. `next` is the byte after it.
    fn mark(&mut self, mark: u8, next: Option<&u8>) {
        let ends = || next.is_none_or(|next| matches!(next, b' ' | b'\n' | b'"' | b')' | b'*'));
        match mark {
            b'.' | b'!' | b'?' if ends() => self.end(),
            b';' | b':' | b'(' | b')' | b'|' => self.clause += 1,
            b',' => self.comma = true,
            b'"' => self.quoted = !self.quoted,
            _ => {}
        }
    }

    /// Handles a token that begins with a non-ASCII character. Returns its end.
    fn beyond_ascii(&mut self, text: &str, at: usize) -> usize {
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { return text.len() };
        match c {
            '。' | '！' | '？' | '；' => self.end(),
            '，' | '：' | '（' | '）' | '—' | '–' => self.clause += 1,
            '、' => self.comma = true,
            '“' | '「' | '『' => self.quoted = true,
            '”' | '」' | '』' => self.quoted = false,
            c if STOP_WIDE.contains(&c) => {}
            c if is_wide(c) => self.push(Stem::of_wide(c), Form::default(), true, at),
            c if is_letter(c) => return self.word(text, at, at),
            _ => {}
        }
        at + c.len_utf8()
    }

    /// Handles the word that begins at `at` and has its first letter at `from`. Returns its end.
    fn word(&mut self, text: &str, at: usize, from: usize) -> usize {
        let (word, end) = ascii_word(text, from).unwrap_or_else(|| self.folded_word(text, from));
        match text.as_bytes().get(end) {
            Some(b':') => {
                if let Some((length, foreign)) = scheme_rest(text.get(end..).unwrap_or("")) {
                    if foreign && !word.as_slice().is_empty() {
                        self.push(Stem::HOST, Form::default(), false, at);
                    }
                    return end + length;
                }
            }
            Some(b'@') => {
                if let Some(length) = mail_domain(text.get(end..).unwrap_or("")) {
                    let is_login = logs_in(text.get(..at).unwrap_or(""));
                    self.push(if is_login { Stem::HOST } else { Stem::MAIL }, Form::default(), false, at);
                    return end + length;
                }
            }
            Some(b'.') if word.as_slice().first().is_some_and(u8::is_ascii_digit) => {
                if let Some(length) = public_address(text.get(at..).unwrap_or("")) {
                    self.push(Stem::HOST, Form::default(), false, at);
                    return at + length;
                }
            }
            Some(b'.') if from == at => {
                if let Some(length) = bare_host(text.get(at..).unwrap_or("")) {
                    self.push(Stem::HOST, Form::default(), false, at);
                    return at + length;
                }
            }
            _ => {}
        }
        if !is_stop(word.first_eight()) && !is_left_out(text.as_bytes(), at, &word) {
            let stem = if from > at { Stem::of_name(&word) } else { Stem::of(&word) };
            let form = match joint(word.first_eight()) {
                Some(Joint::Is(form)) => form,
                Some(Joint::Begins(form)) => {
                    self.clause += 1;
                    form
                }
                None => Form::of(&word),
            };
            self.push(stem, form, false, at);
        }
        end.max(at + 1)
    }

    /// Reads a word that contains non-ASCII letters or an apostrophe. Returns the word and its end.
    fn folded_word(&mut self, text: &str, from: usize) -> (Letters, usize) {
        let rest = text.get(from..).unwrap_or("");
        let (mut word, mut end) = (Letters::default(), from);
        let (mut total, mut disguised) = (0, false);
        for (offset, c) in rest.char_indices() {
            if !c.is_ascii() && characters::is_invisible(c) {
                disguised = true;
                continue;
            }
            let Some(letter) = letter(c).or(matches!(c, '\'' | '’').then_some(b'\'')) else { break };
            let next = offset + c.len_utf8();
            if letter == b'\'' && !rest.get(next..).is_some_and(|next| next.starts_with(is_letter)) {
                break;
            }
            word.push(letter);
            (end, total) = (from + next, total + 1);
        }
        self.disguised |= disguised && total > 3;
        (word, end)
    }

    fn push(&mut self, stem: Stem, form: Form, wide: bool, at: usize) {
        self.length += 1;
        if self.length > SENTENCE {
            self.end();
        }
        let (quoted, sentence, clause) = (self.quoted, self.sentence, self.clause);
        let form = if std::mem::take(&mut self.comma) { form.and(Form::COMMA) } else { form };
        self.words.push(Word { stem, wide, quoted, sentence, clause, form, at });
    }
}

/// Returns true for an adjective such as `git-ignored`, which describes a file and orders nothing.
fn is_left_out(text: &[u8], at: usize, word: &Letters) -> bool {
    const IGNORED: u64 = eight(b"ignored");
    let is_compound = || matches!(text.get(..at), Some([.., letter, b'-']) if letter.is_ascii_alphabetic());
    word.first_eight() == IGNORED && is_compound()
}

/// Returns true for a stop word. A one-bit filter rejects most words.
fn is_stop(word: u64) -> bool {
    const BITS: u64 = {
        let (mut bits, mut rest) = (0, STOP.as_slice());
        while let [others @ .., word] = rest {
            (bits, rest) = (bits | bit(*word), others);
        }
        bits
    };
    BITS & bit(word) != 0 && STOP.contains(&word)
}

/// Returns the role of a word in joining clauses. A one-bit filter rejects most words.
fn joint(word: u64) -> Option<Joint> {
    const BITS: u64 = {
        let (mut bits, mut rest) = (0, JOINTS.as_slice());
        while let [others @ .., (word, _)] = rest {
            (bits, rest) = (bits | bit(*word), others);
        }
        bits
    };
    let known = || JOINTS.iter().find(|(known, _)| *known == word).map(|(_, joint)| *joint);
    if BITS & bit(word) == 0 { None } else { known() }
}

const fn bit(word: u64) -> u64 {
    1 << (word.wrapping_mul(0x9fb2_1c65_1e98_df25) >> 58)
}

/// Reads an ASCII word and returns its end. Returns `None` if another character or an apostrophe follows.
fn ascii_word(text: &str, from: usize) -> Option<(Letters, usize)> {
    let rest = text.as_bytes().get(from..)?;
    let (word, length) = Letters::at_head(rest);
    let goes_on = rest.get(length).is_some_and(|byte| !byte.is_ascii() || *byte == b'\'');
    (!goes_on).then_some((word, from + length))
}

/// Returns true if a dot begins a name, as in `.env`.
fn begins_name(text: &[u8], at: usize) -> bool {
    let inside = at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(u8::is_ascii_alphanumeric);
    !inside && text.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
}

/// Returns the end of a path below `.ssh` if it leads to a public file, such as `known_hosts`.
fn public_file(text: &[u8], at: usize) -> Option<usize> {
    const LONGEST: usize = 48;
    let rest = text.get(at..)?.strip_prefix(b".ssh/")?;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = rest.get(..rest.iter().take(LONGEST).take_while(is_name).count())?;
    let is_public = name.ends_with(b".pub") || matches!(name, b"known_hosts" | b"authorized_keys");
    is_public.then_some(at + b".ssh/".len() + name.len())
}

/// Returns true if two backslashes begin a UNC path.
fn is_share(text: &str, at: usize) -> bool {
    text.get(at..).and_then(|rest| rest.strip_prefix("\\\\")).is_some_and(|rest| rest.starts_with(is_letter))
}

/// Maps a character to the ASCII letter or digit that it is or resembles.
fn letter(c: char) -> Option<u8> {
    let c = if c.is_ascii() { c } else { characters::latin_look_alike(c)? };
    c.is_ascii_alphanumeric().then_some(c as u8)
}

fn is_letter(c: char) -> bool {
    letter(c).is_some()
}

/// Packs a word of at most eight letters in the format of [`Letters::first_eight`].
const fn eight(word: &[u8]) -> u64 {
    let (mut number, mut rest) = (0, word);
    while let [others @ .., byte] = rest {
        (number, rest) = (number << 8 | *byte as u64, others);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_of_a_command_is_no_mail_address() {
        for text in ["Connect with `ssh ", "`scp -r a.tar ", "Use ssh ", "x\n$ rsync -a ./site/ "] {
            assert!(logs_in(text), "{text}");
        }
        for text in
            ["Mail it to ", "ssh keys: mail them to ", "`ssh a` and mail ", "ssh is down, so please write a mail to "]
        {
            assert!(!logs_in(text), "{text}");
        }
    }
}
