//! Approximate syntax highlighting in one pass ([`highlighted`]).

use maud::{Markup, PreEscaped};

use super::visible::push;

/// Size limit for highlighting, in bytes; longer texts are plain.
const LOOKED_AT: usize = 300_000;

/// The syntax family of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Comments begin with `#`.
    Hash,
    /// Comments begin with `//` or are enclosed in `/*` and `*/`.
    Slash,
    /// JSON, which has no comments.
    Json,
    /// Plain text, which is not highlighted.
    Plain,
}

/// Keywords of the languages that skills are commonly written in.
const KEYWORDS: &[&str] = &[
    "and", "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "def", "del", "do", "done",
    "elif", "else", "enum", "esac", "except", "export", "extends", "false", "False", "fi", "finally", "fn", "for",
    "from", "func", "function", "if", "impl", "import", "in", "interface", "is", "lambda", "let", "local", "match",
    "mod", "mut", "new", "nil", "None", "not", "null", "or", "pass", "pub", "raise", "return", "self", "static",
    "struct", "switch", "then", "this", "throw", "true", "True", "try", "type", "typeof", "undefined", "use", "var",
    "void", "while", "with", "yield",
];

impl Language {
    /// Returns the language for a file name, or for the info string of a fenced code block.
    pub fn named(name: &str) -> Self {
        let ending = name.rsplit(['.', '/']).next().unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "py" | "python" | "sh" | "bash" | "zsh" | "shell" | "yaml" | "yml" | "toml" | "rb" | "ruby" | "pl"
            | "r" | "ps1" | "dockerfile" | "makefile" => Self::Hash,
            "js" | "mjs" | "cjs" | "javascript" | "ts" | "tsx" | "jsx" | "typescript" | "rs" | "rust" | "go" | "c"
            | "h" | "cpp" | "java" | "kt" | "swift" | "css" | "php" | "cs" => Self::Slash,
            "json" | "jsonc" | "jsonl" => Self::Json,
            _ => Self::Plain,
        }
    }
}

/// The kind of a token, which selects its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
}

impl Kind {
    fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Comment => Some("c"),
            Self::Text => Some("s"),
            Self::Number => Some("n"),
            Self::Keyword => Some("k"),
        }
    }
}

/// Renders highlighted code as one piece of markup.
pub fn highlighted(code: &str, language: Language) -> Markup {
    PreEscaped(lines(code, language).join("\n"))
}

/// Renders highlighted code line by line.
pub fn lines(code: &str, language: Language) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (kind, text) in pieces(code, language) {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                lines.push(String::new());
            }
            let Some(line) = lines.last_mut() else { continue };
            match kind.class().filter(|_| !part.is_empty()) {
                Some(class) => {
                    line.push_str("<i class=\"");
                    line.push_str(class);
                    line.push_str("\">");
                    push(line, part.strip_suffix('\r').unwrap_or(part));
                    line.push_str("</i>");
                }
                None => push(line, part.strip_suffix('\r').unwrap_or(part)),
            }
        }
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn pieces(code: &str, language: Language) -> Vec<(Kind, &str)> {
    if language == Language::Plain || code.len() > LOOKED_AT {
        return vec![(Kind::Plain, code)];
    }
    let (mut pieces, mut rest, mut plain) = (Vec::new(), code, 0);
    let (mut before, mut unclosed) = (' ', Unclosed::default());
    while let Some(c) = rest.get(plain..).and_then(|text| text.chars().next()) {
        let here = rest.get(plain..).unwrap_or_default();
        match piece(here, language, before, &mut unclosed) {
            Some((kind, len)) => {
                let (text, after) = rest.split_at(plain);
                let (one, after) = after.split_at(len);
                pieces.extend([(Kind::Plain, text), (kind, one)]);
                before = one.chars().next_back().unwrap_or(' ');
                (rest, plain) = (after, 0);
            }
            None => {
                plain += c.len_utf8();
                before = c;
            }
        }
    }
    pieces.push((Kind::Plain, rest));
    pieces
}

/// For each kind of quotation mark, the length of the remaining code at the end of the last failed search.
///
/// A search skips a mark of its kind only if it is escaped, and continues behind it as a search from that mark would.
/// So no later mark before the recorded position is closed either, and no text is searched twice.
#[derive(Default)]
struct Unclosed([Option<usize>; 3]);

impl Unclosed {
    fn slot(&mut self, quote: char) -> &mut Option<usize> {
        let [double, single, back] = &mut self.0;
        match quote {
            '"' => double,
            '\'' => single,
            _ => back,
        }
    }
}

/// Returns the kind and the length of the token that begins here.
fn piece(here: &str, language: Language, before: char, unclosed: &mut Unclosed) -> Option<(Kind, usize)> {
    let to_line_end = || here.find('\n').unwrap_or(here.len());
    let first = here.chars().next()?;
    match (language, first) {
        (Language::Hash, '#') if before.is_whitespace() => Some((Kind::Comment, to_line_end())),
        (Language::Slash, '/') if here.starts_with("//") && before != ':' => Some((Kind::Comment, to_line_end())),
        (Language::Slash, '/') if here.starts_with("/*") => {
            Some((Kind::Comment, here.find("*/").map_or(here.len(), |at| at + 2)))
        }
        _ if before.is_alphanumeric() || before == '_' => None,
        (_, '"' | '\'' | '`') => text(here, first, language, unclosed.slot(first)).map(|len| (Kind::Text, len)),
        (_, '0'..='9') => {
            let len = here.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(here.len());
            Some((Kind::Number, len))
        }
        _ if first.is_ascii_alphabetic() => {
            let len = here.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(here.len());
            let word = here.get(..len)?;
            KEYWORDS.contains(&word).then_some((Kind::Keyword, len))
        }
        _ => None,
    }
}

/// Returns the length of a quoted string. `None` if it is not closed in its line, unless its kind may span lines.
fn text(here: &str, quote: char, language: Language, unclosed: &mut Option<usize>) -> Option<usize> {
    let triple = [quote; 3].iter().collect::<String>();
    if language == Language::Hash && here.starts_with(&triple) {
        return Some(here.get(3..)?.find(&triple).map_or(here.len(), |at| at + 6));
    }
    if unclosed.is_some_and(|left| here.len() > left) {
        return None;
    }
    let mut is_escaped = false;
    for (at, c) in here.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' if quote != '`' => {
                *unclosed = Some(here.len() - at);
                return None;
            }
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    *unclosed = Some(0);
    None
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn told(code: &str, language: Language) -> String {
        highlighted(code, language).0
    }

    #[test]
    fn highlighting_keeps_all_text() {
        assert_eq!(
            told("x = 1 # a\nif y: 'z'", Language::Hash),
            "x = <i class=\"n\">1</i> <i class=\"c\"># a</i>\n<i class=\"k\">if</i> y: <i class=\"s\">'z'</i>"
        );
        assert_eq!(told("a//b</script>", Language::Slash), "a<i class=\"c\">//b&lt;/script&gt;</i>");
        for code in ["\"\"\"a\nb\"\"\" c", "it's", "\"a\\\"b\" '", "/* a", "# ü\r\n'é", "`a\nb`", "a#b", "", "\n\n"] {
            for language in [Language::Hash, Language::Slash, Language::Json, Language::Plain] {
                let kept: String = pieces(code, language).iter().map(|(_, text)| *text).collect();
                assert_eq!(kept, code);
            }
        }
        assert_eq!(lines("a\n\"\"\"b\nc\"\"\"\n", Language::Hash).len(), 3);
    }

    #[test]
    fn unclosed_quotes_are_searched_once() {
        assert_eq!(
            told("'a\\'b \"c\" \\'d\n'e'", Language::Json),
            "'a\\'b <i class=\"s\">&quot;c&quot;</i> \\'d\n<i class=\"s\">'e'</i>"
        );
        let begun = Instant::now();
        for flood in ["\\\"", "\\'", "\\`", "\\\"\\'\\`", "a ", ":/", "\"\n"] {
            let code = flood.repeat(LOOKED_AT / flood.len());
            for language in [Language::Hash, Language::Slash, Language::Json] {
                assert_eq!(pieces(&code, language).iter().map(|(_, text)| text.len()).sum::<usize>(), code.len());
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "looked at again and again: {:?}", begun.elapsed());
    }
}
