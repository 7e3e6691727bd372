//! [`Dialect`]: syntax of a language that is read without a grammar.

use super::names::{self, Names};
use crate::language::Language;

/// Lexical properties of a language, and its known function names.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Dialect {
    pub kind: Kind,
    /// Markers of line comments.
    pub comments: &'static [&'static str],
    /// Delimiters of block comments.
    pub long: &'static [(&'static str, &'static str)],
    /// Delimiters of multi-line strings without interpolation.
    pub raw: &'static [(&'static str, &'static str)],
    pub quotes: &'static [(u8, Quote)],
    /// Characters that may precede the name of a variable.
    pub sigils: &'static [u8],
    /// Operators between an object and its member.
    pub access: &'static [&'static str],
    /// Operators that concatenate strings.
    pub plus: &'static [&'static str],
    /// Keywords that begin a function.
    pub functions: &'static [&'static str],
    /// Functions that are called without parentheses; `*` means all.
    pub bare: &'static [&'static str],
    /// Keywords that open a block closed by another keyword. Empty for languages with braces.
    pub openers: &'static [&'static str],
    /// True if functions do not see the variables of enclosing scopes.
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

/// Interpretation of a quoted string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Quote {
    /// Verbatim text, except for an escaped single quote.
    Raw,
    /// Text with escape sequences.
    Plain,
    /// Text with escape sequences and interpolated code.
    Open,
    /// Shell command with interpolated code.
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

    /// Returns whether a function is called without parentheses.
    pub fn is_bare(&self, name: &str) -> bool {
        self.bare.iter().any(|bare| *bare == "*" || *bare == name)
    }

    /// Returns the escape character of strings.
    pub fn escape(&self) -> u8 {
        if self.is(Kind::PowerShell) { b'`' } else { b'\\' }
    }

    /// Normalises the name of a variable. Where variables have sigils, the result differs from all function names.
    pub fn variable(&self, name: &str) -> String {
        match (self.kind, name.strip_prefix(['$', '@', '%'])) {
            (Kind::Ruby, Some(rest)) if name.starts_with('@') => format!("{OWN}{rest}"),
            (Kind::Perl, Some("_")) if name.starts_with('@') => ALL_GIVEN.to_owned(),
            (_, Some(rest)) => self.plain(&format!("@{rest}")),
            (_, None) => self.plain(name),
        }
    }

    /// Normalises a name for comparison.
    pub fn plain(&self, name: &str) -> String {
        if self.is(Kind::PowerShell) { name.to_ascii_lowercase() } else { name.to_owned() }
    }
}

/// Prefix of the names of instance variables.
pub(super) const OWN: &str = "@@self.";

/// Name of the array of all arguments of a Perl function.
pub(super) const ALL_GIVEN: &str = "@@_";
