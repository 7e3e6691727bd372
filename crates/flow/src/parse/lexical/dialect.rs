//! [`Dialect`]: how a language marks comments, texts, blocks, sums and variables.

use super::names::{self, Names};
use crate::language::Language;

/// What is told apart between languages that are read by their words alone.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Dialect {
    pub kind: Kind,
    /// What begins a comment that ends with its line.
    pub comments: &'static [&'static str],
    /// What begins and ends a comment of several lines.
    pub long: &'static [(&'static str, &'static str)],
    /// Texts of several lines without anything in them to be filled in.
    pub raw: &'static [(&'static str, &'static str)],
    pub quotes: &'static [(u8, Quote)],
    /// What may begin a name.
    pub sigils: &'static [u8],
    /// Between a thing and a part of it.
    pub access: &'static [&'static str],
    /// What adds texts.
    pub plus: &'static [&'static str],
    /// Words that begin a function.
    pub functions: &'static [&'static str],
    /// Functions that are called without brackets; an asterisk for all of them.
    pub bare: &'static [&'static str],
    /// Words that begin a block which a word ends; none where braces stand round blocks.
    pub openers: &'static [&'static str],
    /// A function sees no variables but its own.
    pub own: bool,
    pub names: Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Ruby,
    Go,
    Php,
    Perl,
    PowerShell,
    Lua,
}

/// What stands between two quotation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Quote {
    /// A text as it is written.
    Raw,
    /// A text with escapes.
    Plain,
    /// The same with code in it.
    Open,
    /// A command for a shell, with code in it.
    Command,
}

impl Dialect {
    pub const RUBY: Self = Self {
        kind: Kind::Ruby,
        comments: &["#"],
        long: &[("\n=begin", "\n=end")],
        raw: &[],
        quotes: &[(b'\'', Quote::Raw), (b'"', Quote::Open), (b'`', Quote::Command)],
        sigils: b"@$",
        access: &[".", "::", "&."],
        plus: &["+", "<<", "/"],
        functions: &["def"],
        bare: &["*"],
        openers: &["if", "unless", "while", "until", "case", "begin", "for", "class", "module", "do", "def"],
        own: true,
        names: names::RUBY,
    };
    pub const GO: Self = Self {
        kind: Kind::Go,
        comments: &["//"],
        long: &[("/*", "*/")],
        raw: &[("`", "`")],
        quotes: &[(b'"', Quote::Plain), (b'\'', Quote::Plain)],
        sigils: b"",
        access: &["."],
        plus: &["+"],
        functions: &["func"],
        bare: &[],
        openers: &[],
        own: false,
        names: names::GO,
    };
    pub const PHP: Self = Self {
        kind: Kind::Php,
        comments: &["//", "#"],
        long: &[("/*", "*/"), ("?>", "<?")],
        raw: &[],
        quotes: &[(b'\'', Quote::Raw), (b'"', Quote::Open), (b'`', Quote::Command)],
        sigils: b"$",
        access: &["->", "::", "?->", "\\"],
        plus: &["."],
        functions: &["function", "fn"],
        bare: &["echo", "print", "include", "include_once", "require", "require_once"],
        openers: &[],
        own: true,
        names: names::PHP,
    };
    pub const PERL: Self = Self {
        kind: Kind::Perl,
        comments: &["#"],
        long: &[("\n=pod", "\n=cut"), ("\n=head", "\n=cut"), ("\n=over", "\n=cut"), ("\n__END__", "\0")],
        raw: &[],
        quotes: &[(b'\'', Quote::Raw), (b'"', Quote::Open), (b'`', Quote::Command)],
        sigils: b"$@%",
        access: &["->", "::"],
        plus: &["."],
        functions: &["sub"],
        bare: &["*"],
        openers: &[],
        own: false,
        names: names::PERL,
    };
    pub const POWERSHELL: Self = Self {
        kind: Kind::PowerShell,
        comments: &["#"],
        long: &[("<#", "#>")],
        raw: &[("@'\n", "\n'@")],
        quotes: &[(b'\'', Quote::Raw), (b'"', Quote::Open)],
        sigils: b"$",
        access: &[".", "::"],
        plus: &["+"],
        functions: &["function", "filter"],
        bare: &[],
        openers: &[],
        own: false,
        names: names::POWERSHELL,
    };
    pub const LUA: Self = Self {
        kind: Kind::Lua,
        comments: &["--"],
        long: &[("--[[", "]]"), ("--[=[", "]=]")],
        raw: &[("[[", "]]"), ("[=[", "]=]")],
        quotes: &[(b'"', Quote::Plain), (b'\'', Quote::Plain)],
        sigils: b"",
        access: &[".", ":"],
        plus: &[".."],
        functions: &["function"],
        bare: &[],
        openers: &["if", "for", "while", "do", "repeat", "function"],
        own: false,
        names: names::LUA,
    };

    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    pub fn language(&self) -> Language {
        match self.kind {
            Kind::Ruby => Language::Ruby,
            Kind::Go => Language::Go,
            Kind::Php => Language::Php,
            Kind::Perl => Language::Perl,
            Kind::PowerShell => Language::PowerShell,
            Kind::Lua => Language::Lua,
        }
    }

    /// Whether a function is called without brackets.
    pub fn is_bare(&self, name: &str) -> bool {
        self.bare.iter().any(|bare| *bare == "*" || *bare == name)
    }

    /// What escapes a letter in a text.
    pub fn escape(&self) -> u8 {
        if self.is(Kind::PowerShell) { b'`' } else { b'\\' }
    }

    /// The name of a variable: no function has one like it where variables have a sign.
    pub fn variable(&self, name: &str) -> String {
        match (self.kind, name.strip_prefix(['$', '@', '%'])) {
            (Kind::Ruby, Some(rest)) if name.starts_with('@') => format!("{OWN}{rest}"),
            (Kind::Perl, Some("_")) if name.starts_with('@') => ALL_GIVEN.to_owned(),
            (_, Some(rest)) => self.plain(&format!("@{rest}")),
            (_, None) => self.plain(name),
        }
    }

    /// A name as it is compared with others.
    pub fn plain(&self, name: &str) -> String {
        if self.is(Kind::PowerShell) { name.to_ascii_lowercase() } else { name.to_owned() }
    }
}

/// What begins the name of a variable of an object.
pub(super) const OWN: &str = "@@self.";

/// All that a function of Perl is given.
pub(super) const ALL_GIVEN: &str = "@@_";
