//! Parsing of source text to a [`Program`], within a work limit.

mod embedded;
mod javascript;
mod lexical;
mod python;
mod shell;

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Tree};

use super::{
    language::Language,
    program::{Builder, Expr, Program},
};

use lexical::Dialect;
pub(super) use shell::{PARAMS, PROGRAM, STDIN, STDOUT};

/// Bytes per progress report of the parser, and number of reports allowed in addition. Valid source needs fewer
/// reports. Ambiguous source, for which the parser tries many alternatives, needs more.
const BYTES_PER_REPORT: usize = 25;
const FIRST_REPORTS: usize = 2000;

impl Language {
    /// Parses a text that begins on line `first_line` of its file. Returns `None` if the parser exceeds its work limit.
    pub fn parse(self, text: &str, first_line: usize) -> Option<Program> {
        let mut builder = Builder::new(text, first_line);
        if let Some(dialect) = self.dialect() {
            lexical::lower(&mut builder, dialect);
            return Some(builder.program);
        }
        let tree = self.tree(text)?;
        match self {
            Self::Python => python::lower(&mut builder, tree.root_node()),
            Self::Shell => shell::lower(&mut builder, tree.root_node()),
            _ => javascript::lower(&mut builder, tree.root_node()),
        }
        Some(builder.program)
    }

    /// Returns the lexical rules of a language that is read without a grammar.
    fn dialect(self) -> Option<&'static Dialect> {
        match self {
            Self::Ruby => Some(&Dialect::RUBY),
            Self::Go => Some(&Dialect::GO),
            Self::Php => Some(&Dialect::PHP),
            Self::Perl => Some(&Dialect::PERL),
            Self::PowerShell => Some(&Dialect::POWERSHELL),
            Self::Lua => Some(&Dialect::LUA),
            Self::Python | Self::JavaScript | Self::TypeScript | Self::Shell => None,
        }
    }

    /// Lowers a script that is embedded as a string in another one. Returns its output.
    fn embed(self, to: &mut Builder<'_>, text: &str, line: usize) -> Expr {
        if let Some(dialect) = self.dialect() {
            return to.inside(text, line, |inner| {
                lexical::lower(inner, dialect);
                Expr::nothing()
            });
        }
        let Some(tree) = self.tree(text) else {
            to.program.cut = true;
            return Expr::nothing();
        };
        to.inside(text, line, |inner| match self {
            Self::Python => {
                python::lower(inner, tree.root_node());
                Expr::nothing()
            }
            Self::Shell => shell::output(inner, tree.root_node()),
            _ => {
                javascript::lower(inner, tree.root_node());
                Expr::nothing()
            }
        })
    }

    fn tree(self, text: &str) -> Option<Tree> {
        let mut parser = Parser::new();
        let language = match self {
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Shell => tree_sitter_bash::LANGUAGE,
            _ => return None,
        };
        parser.set_language(&language.into()).ok()?;
        let mut left = FIRST_REPORTS + text.len() / BYTES_PER_REPORT;
        let mut progress = |_: &_| {
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options))
    }
}
