//! Lowering of Ruby, Go, PHP, Perl, PowerShell and Lua to a [`Program`](super::program::Program) without a grammar.
//! Strings, calls, functions and assignments are recognised by tokens alone.

mod call;
mod dialect;
mod names;
mod pieces;
mod tokens;
mod value;

use crate::program::{Act, Builder, Expr};

pub(super) use dialect::Dialect;
use dialect::{ALL_GIVEN, Kind, OWN};
use tokens::{Lexeme, Token, read};

/// Maximum number of tokens between the name of a function and its body.
const HEAD: usize = 64;

/// Adds the statements of a script.
pub(super) fn lower(to: &mut Builder<'_>, dialect: &'static Dialect) {
    let (tokens, is_cut) = read(dialect, to.text, to.first_line);
    to.program.cut |= is_cut;
    let end = tokens.len();
    Reader { to, dialect, tokens: &tokens, at: 0 }.statements(end);
}

/// Recursive-descent reader over the tokens of a script.
struct Reader<'r, 'b, 't> {
    to: &'r mut Builder<'b>,
    dialect: &'static Dialect,
    tokens: &'r [Lexeme<'t>],
    at: usize,
}

/// Keywords at the beginning of a statement that have no effect on values.
const NOISE: &[&str] = &[
    "if", "elsif", "elseif", "else", "unless", "while", "until", "then", "begin", "rescue", "ensure", "try", "catch",
    "finally", "do", "for", "foreach", "when", "case", "switch", "default", "my", "our", "local", "var", "const",
    "let", "public", "private", "protected", "static", "export", "defer", "go", "global", "namespace", "package",
    "class", "module", "repeat", "process", "end", "elif", "not", "and", "or", "throw", "await", "new", "import",
    "use", "final", "async", "select", "loop",
];

/// Keywords that end the value before them.
const STOPS: &[&str] = &[
    "if", "unless", "while", "until", "do", "then", "and", "or", "end", "in", "as", "rescue", "for", "foreach", "else",
    "extends", "implements", "xor", "when",
];

/// Assignment operators, including compound ones.
const SETS: &[&str] = &["=", ":=", "+=", ".=", "||=", "//=", "&&=", "??=", "<<="];

/// Names that usually receive an error or are discarded.
const UNUSED: &[&str] = &["_", "err", "ok", "@err"];

impl<'r, 't> Reader<'r, '_, 't> {
    fn token(&self, at: usize) -> Option<&'r Token<'t>> {
        self.tokens.get(at).map(|lexeme| &lexeme.token)
    }

    fn mark(&self, at: usize) -> &'t str {
        if let Some(Token::Mark(mark)) = self.token(at) { mark } else { "" }
    }

    fn word(&self, at: usize) -> &'t str {
        if let Some(Token::Name(name)) = self.token(at) { name } else { "" }
    }

    fn pair(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(at, |lexeme| lexeme.pair)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(self.to.first_line, |lexeme| lexeme.line)
    }

    /// Returns whether a token follows the one before it without a space.
    fn is_joined(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        before.zip(self.tokens.get(at)).is_some_and(|(before, here)| before.end == here.start)
    }

    fn ends_here(&self, end: usize) -> bool {
        self.at >= end || matches!(self.token(self.at), Some(Token::Line) | None) || self.mark(self.at) == ";"
    }

    fn skip_lines(&mut self, end: usize) {
        while self.at < end && matches!(self.token(self.at), Some(Token::Line)) {
            self.at += 1;
        }
    }

    /// Runs `work` one level deeper. At the maximum depth, the tokens up to `end` are skipped.
    fn deeper<T: Default>(&mut self, end: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        if !self.to.sink() {
            self.at = self.at.max(end);
            return T::default();
        }
        let done = work(self);
        self.to.rise();
        done
    }

    fn statements(&mut self, end: usize) {
        let (mut blocks, outer) = (Vec::new(), self.to.line);
        while self.at < end {
            let before = self.at;
            self.to.line = self.line();
            self.statement(end, &mut blocks);
            self.at = self.at.max(before + 1);
        }
        self.to.line = outer;
        blocks.into_iter().rev().flatten().for_each(|around| self.to.leave(around));
    }

    /// Reads the statements in the bracket that opens at the current token.
    fn inside(&mut self) {
        let close = self.pair(self.at);
        self.at += 1;
        self.deeper(close, |reader| reader.statements(close));
        self.at = close + 1;
    }

    fn statement(&mut self, end: usize, blocks: &mut Vec<Option<usize>>) {
        let (word, is_part) =
            (self.word(self.at), self.is_joined(self.at) && !matches!(self.mark(self.at - 1), "{" | "(" | ";" | "}"));
        match self.mark(self.at) {
            "{" => return self.inside(),
            "&" | "." if self.dialect.is(Kind::PowerShell) => return self.started(end),
            "(" if matches!(self.word(self.at.wrapping_sub(1)), "const" | "var" | "import") => return self.inside(),
            "(" if self.word(self.at.wrapping_sub(1)) == "param" => return self.params(),
            _ => {}
        }
        if !is_part && self.dialect.functions.contains(&word) && self.function(end, blocks) {
            return;
        }
        if !is_part && self.ends_by_word(word, blocks) {
            self.at += 1;
            return;
        }
        match word {
            "return" => {
                self.at += 1;
                let given = Expr::List(self.values(end));
                self.to.step(Act::Return(given));
            }
            "end" if self.dialect.openers.is_empty() => self.at += 1,
            "foreach" | "for" if self.dialect.is(Kind::Perl) => self.each(end),
            "param" if self.mark(self.at + 1) == "(" => self.at += 1,
            noise if NOISE.contains(&noise) && !(noise == "do" && self.dialect.is(Kind::Perl)) => self.at += 1,
            _ => self.assignment(end),
        }
    }

    /// Tracks blocks that are delimited by keywords. Returns whether the word begins or ends one.
    fn ends_by_word(&mut self, word: &str, blocks: &mut Vec<Option<usize>>) -> bool {
        if self.dialect.openers.is_empty() {
            return false;
        }
        let is_end = word == "end" || word == "until" && self.dialect.is(Kind::Lua);
        if is_end {
            if let Some(around) = blocks.pop().flatten() {
                self.to.give_last();
                self.to.leave(around);
            }
            return true;
        }
        let is_loop =
            || (0..8).any(|back| self.at >= back && matches!(self.word(self.at - back), "while" | "until" | "for"));
        let opens = self.dialect.openers.contains(&word) && !(word == "do" && is_loop());
        if opens {
            blocks.push(None);
        }
        if word == "do" && opens && self.dialect.is(Kind::Ruby) {
            self.at += 1;
            self.block_params(None);
            self.at -= 1;
        }
        opens
    }

    /// Assigns `given`, or else the value of the last statement, to the names between the bars of a block.
    fn block_params(&mut self, given: Option<&Expr>) {
        if self.mark(self.at) != "|" {
            return;
        }
        let mut names = Vec::new();
        self.at += 1;
        while !matches!(self.mark(self.at), "|" | "{") && !matches!(self.token(self.at), Some(Token::Line) | None) {
            names.extend(Some(self.word(self.at)).filter(|name| !name.is_empty()).map(str::to_owned));
            self.at += 1;
        }
        self.at += usize::from(self.mark(self.at) == "|");
        let given = given.cloned().or_else(|| self.to.last_value());
        self.to.set(names, given.unwrap_or_default());
    }

    /// Reads a function into its own scope. Returns false if the keyword does not begin one.
    fn function(&mut self, end: usize, blocks: &mut Vec<Option<usize>>) -> bool {
        let mut at = self.at + 1;
        if self.mark(at) == "(" && !self.word(self.pair(at) + 1).is_empty() {
            at = self.pair(at) + 1;
        }
        let mut name = "";
        while !self.word(at).is_empty()
            || matches!(self.mark(at), "." | ":" | "::" | "&") && !name.is_empty()
            || self.mark(at) == "&"
        {
            name = Some(self.word(at)).filter(|word| !word.is_empty()).unwrap_or(name);
            at += 1;
            if name == self.word(at - 1) && !matches!(self.mark(at), "." | ":" | "::") {
                break;
            }
        }
        if name.is_empty() {
            return false;
        }
        let has_brackets = self.mark(at) == "(";
        let close = if has_brackets {
            self.pair(at)
        } else {
            (at..end)
                .find(|at| matches!(self.token(*at), Some(Token::Line)) || !self.mark(*at).is_empty())
                .unwrap_or(end)
        };
        let params = self.params_between(at + usize::from(has_brackets), close);
        let name = self.dialect.plain(name);
        if self.dialect.is(Kind::Ruby) {
            self.to.functions.insert(name.clone());
        }
        if !self.dialect.openers.is_empty() {
            blocks.push(Some(self.to.enter(name, params)));
            self.at = close + usize::from(has_brackets);
            return true;
        }
        let body = (close..end.min(close + HEAD)).find(|at| self.mark(*at) == "{" && !self.is_type(*at));
        let Some(body) = body.filter(|body| !(close..*body).any(|at| self.mark(at) == ";")) else { return false };
        self.at = body;
        let around = self.to.enter(name, params);
        self.inside();
        self.to.give_last();
        self.to.leave(around);
        true
    }

    /// Returns whether a brace belongs to `interface{}` or `struct{}`.
    fn is_type(&self, at: usize) -> bool {
        matches!(self.word(at.wrapping_sub(1)), "interface" | "struct") && self.pair(at) == at + 1
    }

    /// Returns the names of a function's parameters, one for each part between commas.
    fn params_between(&self, from: usize, to: usize) -> Vec<String> {
        let (mut params, mut own) = (Vec::new(), None::<&str>);
        for at in from..to.min(from + HEAD * 8) {
            let word = self.word(at);
            if self.mark(at) == "," {
                params.extend(own.take().map(|name| self.dialect.variable(name)));
            } else if !word.is_empty()
                && (own.is_none() || word.starts_with('$') && own.is_some_and(|own| !own.starts_with('$')))
            {
                own = Some(word);
            }
        }
        params.extend(own.map(|name| self.dialect.variable(name)));
        params
    }

    /// Reads a PowerShell `param(...)` block.
    fn params(&mut self) {
        let close = self.pair(self.at);
        let names: Vec<String> = (self.at..close)
            .map(|at| self.word(at))
            .filter(|word| word.starts_with('$'))
            .map(|name| self.dialect.variable(name))
            .collect();
        self.to.takes(names);
        self.at = close + 1;
    }

    /// Reads a Perl `foreach my $x (...)`.
    fn each(&mut self, end: usize) {
        self.at += 1;
        self.at += usize::from(matches!(self.word(self.at), "my" | "our"));
        let name = self.word(self.at);
        if name.starts_with('$') && self.mark(self.at + 1) == "(" {
            self.at += 1;
            let given = self.operand(end);
            self.to.set(vec![self.dialect.variable(name)], given);
        }
    }

    /// Reads `& $program` and `. $file` of PowerShell.
    fn started(&mut self, end: usize) {
        let function = if self.mark(self.at) == "&" { "os.system" } else { "run_path" };
        self.at += 1;
        if !self.ends_here(end) {
            let line = self.line();
            let mut args = vec![self.operand(end)];
            args.extend(self.command_args(end).0);
            let given = self.call_of(Expr::Name(function.to_owned()), args, Vec::new(), line);
            self.to.step(Act::Run(given));
        }
    }

    /// Reads an assignment, or a value alone.
    fn assignment(&mut self, end: usize) {
        let is_own =
            self.dialect.own || matches!(self.word(self.at.wrapping_sub(1)), "my" | "local" | "var" | "const" | "our");
        let mut left = vec![self.chain(end)];
        while self.mark(self.at) == "," && self.at < end {
            self.at += 1;
            left.push(self.chain(end));
        }
        // The type may precede or follow the name.
        while left.len() == 1
            && self.dialect.bare.first() != Some(&"*")
            && !self.word(self.at).is_empty()
            && !STOPS.contains(&self.word(self.at))
            && self.at < end
        {
            let next = self.chain(end);
            if self.dialect.is(Kind::Php) {
                left = vec![next];
            }
        }
        let (mark, word) = (self.mark(self.at), self.word(self.at));
        if self.at < end && (SETS.contains(&mark) || word == "in" && !self.dialect.is(Kind::Php)) {
            self.at += 1;
            self.at += usize::from(self.word(self.at) == "range");
            self.skip_lines(end);
            let right = self.values(end);
            return self.set_all(left, right, is_own || mark == ":=");
        }
        if self.at < end && word == "as" && self.dialect.is(Kind::Php) {
            self.at += 1;
            let names = self.values(end);
            return self.set_all(names, left, true);
        }
        let first = left.pop().filter(|_| left.is_empty());
        let given = match first {
            Some(first) => self.rest_of(first, end),
            None => Expr::nothing(),
        };
        self.to.step(Act::Run(given));
    }

    /// Assigns values to names: pairwise if their numbers are equal, else all values to each name.
    fn set_all(&mut self, left: Vec<Expr>, right: Vec<Expr>, is_own: bool) {
        let left: Vec<Expr> = left
            .into_iter()
            .flat_map(|target| match target {
                Expr::List(targets) => targets,
                one => vec![one],
            })
            .collect();
        if right.iter().any(|value| matches!(value, Expr::Name(name) if name == ALL_GIVEN || name == "shift")) {
            let names =
                left.iter().filter_map(|target| if let Expr::Name(name) = target { Some(name.clone()) } else { None });
            return self.to.takes(names.collect());
        }
        if left.len() == right.len() {
            left.into_iter().zip(right).for_each(|(target, value)| self.set(target, value, is_own));
            return;
        }
        let is_used = |target: &Expr| !matches!(target, Expr::Name(name) if UNUSED.contains(&name.as_str()));
        let mut used = left.into_iter().filter(is_used);
        let value = Expr::List(right);
        match used.next() {
            // Further results of a Go call report its success.
            Some(first) if self.dialect.is(Kind::Go) => self.set(first, value, is_own),
            Some(first) => {
                let value = Expr::Name(format!("${}", self.to.variable_for(value)));
                [first].into_iter().chain(used).for_each(|target| self.set(target, value.clone(), is_own));
            }
            None => self.to.step(Act::Run(value)),
        }
    }

    fn set(&mut self, target: Expr, value: Expr, is_own: bool) {
        match target {
            Expr::Call(call) if call.args.is_empty() && matches!(call.callee, Expr::Name(_)) => {
                self.set(call.callee, value, is_own)
            }
            Expr::Name(name) if name.starts_with(OWN) => self.to.set_shared(vec![name], value),
            Expr::Name(name) if is_own => self.to.set(vec![name], value),
            Expr::Name(name) => self.to.change(name, value),
            Expr::Attr(base, part) => match *base {
                Expr::Name(own) if matches!(own.as_str(), "self" | "@this") => self.to.set_shared(vec![part], value),
                base => self.set_part(base, part, value),
            },
            Expr::Index(base, key) => {
                let key = if let Expr::Text(key) = *key { key } else { String::new() };
                self.set_part(*base, key, value);
            }
            _ => self.to.step(Act::Run(value)),
        }
    }

    /// Assigns to a member of an object. The value is added to the whole object.
    fn set_part(&mut self, base: Expr, part: String, value: Expr) {
        let mut root = base;
        while let Expr::Attr(inner, _) | Expr::Index(inner, _) = root {
            root = *inner;
        }
        if let Expr::Name(name) = root {
            self.to.change(name, Expr::Record(vec![(names::key(&part), value)]));
        }
    }
}
