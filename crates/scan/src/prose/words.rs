//! [`Word`]: what a passage says word by word, without markup, inflection or invisible characters.

use std::ops::Range;

use crate::hidden;

/// Words of the longest sentence; what is longer goes on as the next.
const SENTENCE: usize = 90;

/// Bytes of an address that are looked at.
const ADDRESS: usize = 1024;

/// Addresses that documentation is full of, by their last labels.
const KNOWN_HOSTS: &[&str] = &[
    "github.com",
    "githubusercontent.com",
    "github.io",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "google.com",
    "googleapis.com",
    "microsoft.com",
    "azure.com",
    "apple.com",
    "amazonaws.com",
    "amazon.com",
    "openai.com",
    "anthropic.com",
    "claude.com",
    "claude.ai",
    "npmjs.com",
    "npmjs.org",
    "pypi.org",
    "pythonhosted.org",
    "crates.io",
    "docs.rs",
    "rust-lang.org",
    "rustup.rs",
    "astral.sh",
    "brew.sh",
    "python.org",
    "nodejs.org",
    "mozilla.org",
    "w3.org",
    "wikipedia.org",
    "huggingface.co",
    "cloudflare.com",
    "docker.com",
    "docker.io",
    "kubernetes.io",
    "stackoverflow.com",
    "readthedocs.io",
    "slack.com",
    "discord.com",
    "notion.com",
    "notion.so",
    "atlassian.net",
    "atlassian.com",
    "linear.app",
    "stripe.com",
    "vercel.com",
    "netlify.com",
    "supabase.co",
    "supabase.com",
    "example.com",
    "example.org",
    "example.net",
    "company.com",
    "yourcompany.com",
    "acme.com",
    "domain.com",
    "test.com",
    "youtube.com",
    "tsinghua.edu.cn",
    "aliyun.com",
    "aliyuncs.com",
    "tencent.com",
    "qq.com",
    "dingtalk.com",
    "feishu.cn",
    "ustc.edu.cn",
    "npmmirror.com",
    "gitee.com",
    "schema.org",
    "json-schema.org",
    "agentskills.io",
    "localhost",
    "local",
];

/// What an address of a foreign place is read as.
pub(super) const HOST: u64 = 1;

/// What an e-mail address is read as.
pub(super) const MAIL: u64 = 2;

/// A word by its stem, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    /// The hash of the stem.
    pub stem: u64,
    /// It is a character of Chinese, Japanese or Korean.
    pub wide: bool,
    /// It stands between quotation marks.
    pub quoted: bool,
    /// Counts the sentences of the passage.
    pub sentence: u32,
    /// Counts the parts of its sentences between marks.
    pub clause: u32,
    /// The byte at which it begins.
    pub at: usize,
}

/// The same in Chinese.
const STOP_WIDE: &[char] = &['的', '了', '也'];

/// Reads a text into words, appending to those before it.
pub(super) struct Reader<'w> {
    words: &'w mut Vec<Word>,
    sentence: u32,
    clause: u32,
    /// Words of the sentence so far.
    length: usize,
    quoted: bool,
    /// An invisible character stood inside a word.
    pub disguised: bool,
}

impl<'w> Reader<'w> {
    pub fn new(words: &'w mut Vec<Word>) -> Self {
        words.clear();
        Self { words, sentence: 0, clause: 0, length: 0, quoted: false, disguised: false }
    }

    /// Ends the sentence.
    pub fn end(&mut self) {
        self.sentence += 1;
        self.clause += 1;
        self.length = 0;
    }

    /// Takes a word of the lexicon that stands for a kind of words.
    pub fn take(&mut self, stem: u64) {
        self.push(stem, false, 0);
    }

    /// Reads a range of a text.
    pub fn read(&mut self, text: &str, range: Range<usize>) {
        let mut at = range.start;
        let text = text.get(..range.end).unwrap_or("");
        while let Some(rest) = text.get(at..)
            && let Some(c) = rest.chars().next()
        {
            at += match c {
                c if is_letter(c) => self.word(rest, at, false),
                '.' if !text.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_ascii_alphanumeric()))
                    && rest.get(1..).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_alphabetic())) =>
                {
                    self.word(rest, at, true)
                }
                '\\' if rest.starts_with("\\\\") && rest.get(2..).is_some_and(|r| r.starts_with(is_letter)) => {
                    self.push(HOST, false, at);
                    2
                }
                c if is_wide(c) => {
                    if !STOP_WIDE.contains(&c) {
                        self.push(hash([c]), true, at);
                    }
                    c.len_utf8()
                }
                c => self.mark(c, rest),
            };
        }
    }

    /// Takes a mark; the bytes that it has.
    fn mark(&mut self, c: char, rest: &str) -> usize {
        let ends = || rest.get(1..).is_none_or(|next| next.is_empty() || next.starts_with([' ', '\n', '"', ')', '*']));
        match c {
            '.' | '!' | '?' if ends() => self.end(),
            '。' | '！' | '？' | '；' => self.end(),
            ';' | ':' | ',' | '，' | '、' | '：' | '(' | ')' | '（' | '）' | '—' | '–' | '|' => {
                self.clause += 1
            }
            '"' => self.quoted = !self.quoted,
            '“' | '「' | '『' => self.quoted = true,
            '”' | '」' | '』' => self.quoted = false,
            _ => {}
        }
        c.len_utf8()
    }

    /// Takes the word at the head of a text; the bytes that it has.
    fn word(&mut self, rest: &str, at: usize, dotted: bool) -> usize {
        let mut stem = [0u8; 32];
        let (mut len, mut end, mut total) = (0, usize::from(dotted), 0);
        let mut disguised = false;
        for (offset, c) in rest.char_indices().skip(usize::from(dotted)) {
            if !c.is_ascii() && hidden::is_invisible(c) {
                disguised = true;
                continue;
            }
            let Some(letter) = letter(c).or_else(|| (c == '’').then_some(b'\'')).or((c == '\'').then_some(b'\''))
            else {
                break;
            };
            if letter == b'\'' && !rest.get(offset + c.len_utf8()..).is_some_and(|next| next.starts_with(is_letter)) {
                break;
            }
            if let Some(slot) = stem.get_mut(len) {
                *slot = letter.to_ascii_lowercase();
                len += 1;
            }
            (end, total) = (offset + c.len_utf8(), total + 1);
        }
        self.disguised |= disguised && total > 3;
        let word = stem.get(..len).unwrap_or_default();
        let after = rest.get(end..).unwrap_or("");
        if let Some(address) = after.strip_prefix("://") {
            let address = head(address, ADDRESS);
            let address = address.get(..address.find(is_address_end).unwrap_or(address.len())).unwrap_or("");
            if !word.is_empty() && is_foreign(address) {
                self.push(HOST, false, at);
            }
            return end + 3 + address.len();
        }
        if let Some(length) = mail_domain(after) {
            self.push(MAIL, false, at);
            return end + length;
        }
        if let Some(length) = public_address(rest) {
            self.push(HOST, false, at);
            return length;
        }
        if !is_stop(word) {
            let stem = stem_of(word);
            self.push(hash(dotted.then_some('.').into_iter().chain(stem.iter().map(|b| char::from(*b)))), false, at);
        }
        end.max(1)
    }

    fn push(&mut self, stem: u64, wide: bool, at: usize) {
        self.length += 1;
        if self.length > SENTENCE {
            self.end();
        }
        let (quoted, sentence, clause) = (self.quoted, self.sentence, self.clause);
        self.words.push(Word { stem, wide, quoted, sentence, clause, at });
    }
}

/// The ASCII letter or digit that a character is or passes for.
fn letter(c: char) -> Option<u8> {
    if c.is_ascii_alphanumeric() {
        return Some(c as u8);
    }
    if c.is_ascii() || is_wide(c) {
        return None;
    }
    let c = if c.is_ascii() { c } else { hidden::latin_look_alike(c)? };
    c.is_ascii_alphanumeric().then_some(c as u8)
}

fn is_letter(c: char) -> bool {
    letter(c).is_some()
}

/// Chinese characters, kana and Hangul.
pub(super) fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}')
}

fn is_address_end(c: char) -> bool {
    c.is_whitespace()
        || is_wide(c)
        || matches!(c, '`' | ')' | '>' | '"' | '\'' | ']' | '，' | '。' | '）' | '、' | '；')
}

/// The first bytes of a text, a whole number of characters.
fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or("")
}

/// Whether a word carries too little to matter.
fn is_stop(word: &[u8]) -> bool {
    matches!(
        word,
        b"a" | b"an"
            | b"the"
            | b"your"
            | b"its"
            | b"their"
            | b"my"
            | b"his"
            | b"her"
            | b"of"
            | b"please"
            | b"just"
            | b"simply"
            | b"kindly"
            | b"very"
    )
}

/// Whether an address, after its scheme, leads to a place that is not well known.
fn is_foreign(address: &str) -> bool {
    let host = address.split(['/', '?', '#']).next().unwrap_or("");
    let host = host.rsplit('@').next().unwrap_or("").split(':').next().unwrap_or("").to_ascii_lowercase();
    let known = KNOWN_HOSTS
        .iter()
        .any(|known| host.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('.')));
    let variable = host.contains(['{', '$', '[', '<', '%']) && !host.starts_with('<');
    host.contains('.') && !known && !variable && !is_private(&host)
}

fn is_private(host: &str) -> bool {
    ["127.", "10.", "192.168.", "169.254.", "0.0.0.0", "172.16."].iter().any(|start| host.starts_with(start))
}

/// The length of `@domain` at the head of a text.
fn mail_domain(after: &str) -> Option<usize> {
    let domain = head(after.strip_prefix('@')?, ADDRESS);
    let length = domain.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-')).unwrap_or(domain.len());
    let domain = domain.get(..length)?.trim_end_matches('.');
    let (name, top) = domain.rsplit_once('.')?;
    let named = !name.is_empty() && top.len() >= 2 && top.bytes().all(|b| b.is_ascii_alphabetic());
    (named && is_foreign(domain) && !matches!(top, "md" | "json" | "ts" | "js" | "py")).then_some(1 + domain.len())
}

/// The length of a public IPv4 address at the head of a text.
fn public_address(rest: &str) -> Option<usize> {
    let rest = head(rest, 16);
    let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let address = rest.get(..length)?.trim_end_matches('.');
    let parts = address.split('.').filter(|part| part.parse::<u8>().is_ok()).count();
    let plain = parts == 4 && address.split('.').count() == 4 && !is_private(address);
    (plain && address.split('.').next().is_some_and(|first| first.len() > 1)).then_some(address.len())
}

/// A word without its inflection. Words that are told apart by more than that may fall together;
/// the lexicon is read by the same function.
pub(super) fn stem_of(word: &[u8]) -> &[u8] {
    let cut = |suffix: &[u8], least: usize| word.strip_suffix(suffix).filter(|stem| stem.len() >= least);
    let word = cut(b"'s", 1).unwrap_or(word);
    let cut = |suffix: &[u8], least: usize| word.strip_suffix(suffix).filter(|stem| stem.len() >= least);
    let stem = cut(b"ies", 2)
        .or_else(|| cut(b"ied", 2))
        .or_else(|| cut(b"ing", 3))
        .or_else(|| cut(b"ed", 3))
        .or_else(|| cut(b"es", 3))
        .or_else(|| cut(b"s", 3).filter(|stem| !stem.ends_with(b"s")))
        .unwrap_or(word);
    let stem = if stem.len() > 3 { stem.strip_suffix(b"e").or(stem.strip_suffix(b"y")).unwrap_or(stem) } else { stem };
    match stem {
        [.., a, b] if a == b && stem.len() > 3 && !matches!(a, b'l' | b's') => {
            stem.get(..stem.len() - 1).unwrap_or(stem)
        }
        [.., b'l', b'l'] if stem.len() > 4 => stem.get(..stem.len() - 1).unwrap_or(stem),
        _ => stem,
    }
}

/// FNV-1a over characters.
pub(super) fn hash(chars: impl IntoIterator<Item = char>) -> u64 {
    chars.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, c| (hash ^ u64::from(c)).wrapping_mul(0x100_0000_01b3))
}
