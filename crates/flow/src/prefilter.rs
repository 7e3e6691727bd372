//! Prefilter for the data flow analysis: [`Ends`] records which ends of flows a text has literals for, so that only
//! files that may contain a whole flow are parsed.

use std::{ops::Range, sync::LazyLock};

use crate::literals::Literals;

use super::{
    language::Language,
    names::{CLIENTS, SECRET_WORDS},
    words::{
        BY_NAME, CHANNEL, DECODE, ENVIRONMENT, EVAL, FETCH, HOME, KIND, LAUNCH, LEXICAL, PIECES, REMOVE, SECRET, SEND,
        SHELL, STEERING, STORE, WHOLE, WRITE, words,
    },
};

/// Bit set of flow ends that a text has literals for, separately for each of three groups of languages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends(u64);

/// Extracts the bits of one group.
fn of_kind(ends: u64, shift: u32) -> u32 {
    (ends >> shift) as u32 & ((1 << KIND) - 1)
}

/// Returns the bit offset of a language's group.
fn shift_of(language: Language) -> u32 {
    match language {
        Language::Shell => SHELL,
        Language::Python | Language::JavaScript | Language::TypeScript => 0,
        _ => LEXICAL,
    }
}

/// Sets the same ends in all groups.
fn in_all(ends: u32) -> u64 {
    let ends = u64::from(ends);
    ends | ends << SHELL | ends << LEXICAL
}

/// Combinations of ends that make a flow.
const FLOWS: &[u32] = &[
    SECRET | SEND,
    ENVIRONMENT | SEND,
    WHOLE | SEND,
    FETCH | EVAL,
    FETCH | STORE | LAUNCH,
    DECODE | EVAL,
    CHANNEL | LAUNCH,
    CHANNEL | EVAL,
    DECODE | LAUNCH,
    STEERING | WRITE,
    REMOVE | HOME,
    BY_NAME | PIECES,
    BY_NAME | DECODE,
];

impl Ends {
    /// Scans a text for the literals of all flow ends.
    pub fn of(text: &str) -> Self {
        static FINDER: LazyLock<Finder> = LazyLock::new(Finder::new);
        let mut all = 0;
        FINDER.literals.find(text.as_bytes(), |place, range| {
            let word = FINDER.words.get(place).filter(|word| all & word.ends != word.ends);
            if let Some(word) = word.filter(|word| word.stands(text.as_bytes(), range)) {
                all |= word.ends;
            }
        });
        Self(all)
    }

    /// Returns the union of two sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether a flow may start, end or pass in this file, given the ends `far` of other files. A file that
    /// starts programs may contain a script in a language of another group.
    pub fn may_flow(self, far: Self, language: Language) -> bool {
        let launches = self.launches(language);
        let of_language = |ends: Self| ends.told(language, launches);
        let (here, there) = (of_language(self), far.told(language, true));
        let all = here | of_language(far) & FAR;
        FLOWS.iter().any(|flow| here & flow != 0 && all & flow == *flow)
            || here & KEPT == KEPT && there & LAUNCH != 0
            || launches && there & KEPT == KEPT
    }

    /// Returns the ends for the literals of a language. With `holds_others`, those of Python, JavaScript and shell
    /// count too, as the file may embed such scripts.
    fn told(self, language: Language, holds_others: bool) -> u32 {
        let own = of_kind(self.0, shift_of(language));
        if holds_others { own | of_kind(self.0, 0) | of_kind(self.0, SHELL) } else { own }
    }

    fn launches(self, language: Language) -> bool {
        of_kind(self.0, shift_of(language)) & LAUNCH != 0
    }

    /// Returns only the bits for paths of secrets.
    #[must_use]
    pub fn secrets(self) -> Self {
        Self(self.0 & in_all(SECRET))
    }

    /// Returns the ends of a file that can take part in a flow across files, in the bits of all groups.
    #[must_use]
    pub fn far(self, language: Language) -> Self {
        let own = self.told(language, self.launches(language));
        Self(in_all(own & (FAR | LAUNCH | if own & KEPT == KEPT { STORE } else { 0 })))
    }
}

/// Ends that can take part in a flow across files of any language.
const FAR: u32 = SECRET | WHOLE | SEND | FETCH | EVAL;

/// Ends of a download that is stored, so that another file may start it.
const KEPT: u32 = FETCH | STORE;

/// Matcher for the literals of all languages.
struct Finder {
    literals: Literals,
    words: Vec<Word>,
}

impl Finder {
    fn new() -> Self {
        let words: Vec<Word> = words().map(|(ends, text)| Word::new(ends, text)).collect();
        Self { literals: Literals::new(words.iter().map(|word| word.text)), words }
    }
}

/// Literal and the flow ends that it indicates.
struct Word {
    ends: u64,
    text: &'static str,
    /// True if case is ignored. This holds for literals that the analysis compares without regard to case (environment
    /// variables, clients, interpreters), and for options, whose letters may be combined in one word.
    in_any_case: bool,
    /// True if it has to be at the beginning of a name, not inside a path or another name.
    is_name: bool,
    /// True if it has to be a complete name, not a prefix.
    is_whole: bool,
    /// True for `.env`, which is a file of variables, but a member access behind an object such as `process`.
    is_env: bool,
    /// True if it is a prefix of variable names, of which only those with secrets count.
    is_variable: bool,
}

impl Word {
    fn new(ends: u64, text: &'static str) -> Self {
        let shell = of_kind(ends, SHELL);
        let is_lexical = of_kind(ends, LEXICAL) != 0;
        let all = shell | of_kind(ends, 0) | of_kind(ends, LEXICAL);
        let is_hint = HINTS.contains(&text) || is_lexical;
        let is_client = CLIENTS.contains(&text.trim_end_matches(['(', '.']));
        let is_compared_so = all & ENVIRONMENT != 0 || shell & (EVAL | LAUNCH) != 0 || text.starts_with('-');
        let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
        Self {
            ends,
            text,
            in_any_case: is_compared_so || is_client || is_hint,
            is_name: begins && all & PARTS == 0 && !is_hint && !PIECES_OF_NAMES.contains(&text),
            is_whole: WHOLE_NAMES.contains(&text),
            is_env: text.starts_with(".env"),
            is_variable: all == ENVIRONMENT && text.starts_with(|c: char| c.is_ascii_uppercase()),
        }
    }

    /// Returns whether the analysis could use this match, after context and case are checked.
    fn stands(&self, text: &[u8], range: Range<usize>) -> bool {
        let before = || text.get(..range.start).unwrap_or_default();
        let goes_on = || text.get(range.end).is_some_and(u8::is_ascii_alphanumeric);
        (self.in_any_case || text.get(range.clone()) == Some(self.text.as_bytes()))
            && !(self.is_name && is_inside(before()))
            && !(self.is_whole && goes_on())
            && !(self.is_env && (is_variable(before()) || self.text == ".env." && !may_end_file(text, range.end)))
            && (!self.is_variable || may_be_secret(text.get(range.start..).unwrap_or_default()))
            && !(self.text == ".cursor" && text.get(range.end) == Some(&b'('))
    }
}

/// Ends whose literals may occur inside other words.
const PARTS: u32 = SECRET | WHOLE | STORE | WRITE | STEERING | HOME | PIECES;

/// Literals that are broader than the strings that the analysis compares.
const HINTS: &[&str] = &["encrypt(", "isDirectory()", "github.event."];

/// Literals that the analysis searches for anywhere in a name.
const PIECES_OF_NAMES: &[&str] = &[
    "Function(", "PutObject", "TeleBot", "WebSocket", "Webhook", "XMLHttp", "child_process", "createConnection",
    "createSocket", "dgram", "dns.", "ftp", "gists", "http.client", "http.get", "http.request", "http2", "https.get",
    "https.request", "mqtt", "net.Socket", "net.connect", "open_connection", "paramiko", "redis", "rfile", "smtplib",
    "socket.", "socket.io", "socketio", "subprocess", "telegram", "telnetlib", "tls.connect", "upload", "webhook",
    "websocket", "websocket.", "websockets", "yagmail",
];

/// Literals that match only as complete names.
const WHOLE_NAMES: &[&str] = &["rev"];

/// Returns whether the character before a literal belongs to the same name. A letter behind a backslash does not, as it
/// may be an escape such as a line end.
fn is_inside(before: &[u8]) -> bool {
    matches!(before, [rest @ .., last] if last.is_ascii_alphanumeric() && !rest.ends_with(b"\\"))
}

/// Returns whether a following `.env` accesses environment variables, rather than a file of that name.
fn is_variable(before: &[u8]) -> bool {
    let is = |thing: &[u8]| before.strip_suffix(thing).is_some_and(|rest| !rest.ends_with(b"$"));
    is(b"process") || is(b"import.meta") || is(b"Bun")
}

/// Returns whether the text behind `.env.` may be a relevant extension, or is assembled at run time.
fn may_end_file(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| b"lpds*".contains(byte) || !byte.is_ascii_alphanumeric())
}

/// Returns whether a variable may hold a secret: its name contains a secret word, or may continue beyond the literal.
fn may_be_secret(text: &[u8]) -> bool {
    let length = text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let name = text.get(..length).unwrap_or_default();
    let has = |word: &&str| name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    let goes_on = || text.get(length).is_none_or(|next| b"\"'`{$%*\\".contains(next));
    goes_on() || SECRET_WORDS.iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources with the names that the analysis compares, for languages other than shell.
    const NAMES: &[&str] = &[
        include_str!("names.rs"),
        include_str!("parse/embedded.rs"),
        include_str!("taint.rs"),
        include_str!("taint/bind.rs"),
        include_str!("taint/fold.rs"),
        include_str!("taint/store.rs"),
    ];

    /// Sources with the programs, arguments and paths that the analysis compares.
    const PROGRAMS: &[&str] = &[
        include_str!("paths.rs"),
        include_str!("parse/shell.rs"),
        include_str!("taint/command.rs"),
        include_str!("taint/packages.rs"),
        include_str!("taint/tellers.rs"),
        include_str!("taint/transfer.rs"),
        include_str!("taint/value.rs"),
    ];

    /// Strings in these sources that contain another literal only by accident, in another case or name.
    const NO_WORDS: &[&str] =
        &["concatenation", "cookies", "DirSync", "dirSync", "env", "home", "startup", "TarFile", "elegram"];

    /// Bits that only variables with secrets set.
    const VARIABLES: u64 = ENVIRONMENT as u64 | (ENVIRONMENT as u64) << SHELL;

    /// Returns the ends of all literals in a text, regardless of case and context.
    fn loosely(text: &str) -> u64 {
        let finder = Finder::new();
        let mut all = 0;
        finder.literals.find(text.as_bytes(), |place, _| all |= finder.words[place].ends);
        all
    }

    #[test]
    fn known_names_are_found_anywhere() {
        let of = |sources: &[&'static str], ends: u64| -> Vec<(&str, u64)> {
            let texts = sources.iter().flat_map(|source| source.split('"').skip(1).step_by(2));
            texts.filter(|text| !text.contains('\n')).map(|text| (text, ends)).collect()
        };
        let of_all_languages = include_str!("../data/words.tsv").lines().filter_map(|line| line.strip_prefix("any\t"));
        let of_secrets = include_str!("../data/secret_paths.tsv").lines().filter(|line| !line.starts_with('#'));
        let paths = of_all_languages.chain(of_secrets).flat_map(|line| line.split('\t').skip(1));
        let paths = paths.map(|text| (text, u64::from(u32::MAX)));
        let mut wrong = Vec::new();
        for (text, ends) in [of(NAMES, (1 << SHELL) - 1), of(PROGRAMS, u64::from(u32::MAX)), paths.collect()].concat() {
            let is_known = NO_WORDS.iter().any(|known| text.contains(known));
            for (before, after) in [("", ""), ("'", "'"), ("\n", "\n"), ("${", "}")] {
                let text = format!("{before}{text}{after}");
                if !is_known && (Ends::of(&text).0 ^ loosely(&text)) & ends & !VARIABLES != 0 {
                    wrong.push(text);
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// The literal may also be only a prefix of the name.
    #[test]
    fn secret_variables_are_found_by_name() {
        for (_, key) in words().filter(|(ends, key)| *ends == u64::from(ENVIRONMENT) && key.ends_with('_')) {
            for text in
                [format!("{key}TOKEN,"), format!("'{key}' + x"), format!("`{key}${{x}}`"), format!("x_api={key}key ")]
            {
                assert_eq!(Ends::of(&text).0 & VARIABLES, VARIABLES, "{text}");
            }
            assert_eq!(Ends::of(&format!("{key}REGION = 1")).0 & VARIABLES, 0, "{key}");
        }
    }

    #[test]
    fn words_inside_words_are_ignored() {
        for text in
            ["retrieval(x)", "CHROME extension", "process.env.NAME", "review", ".env.example", "stripe_charge(x)"]
        {
            assert_ne!(loosely(text), 0, "{text}");
            assert_eq!(Ends::of(text).0 & u64::from(u32::MAX), 0, "{text}");
        }
    }
}
