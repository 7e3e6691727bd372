//! [`Program`]: language-independent form of a script for data flow analysis.
//!
//! It has neither order nor branches. The analysis determines which values may reach a call, not when.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    num::NonZeroU16,
};

use tree_sitter::Language;

/// Statements of one file or code block.
#[derive(Debug, Default)]
pub struct Program {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) steps: Vec<Step>,
    /// True if code was omitted because it exceeds a limit, such as the nesting depth.
    pub cut: bool,
    /// Number of nodes, over all statements.
    pub size: usize,
    /// Path of the file, if the program is the whole of it. Other files use it to look up exported names.
    pub path: String,
}

/// Scope of a function or, for the first one, of the file itself.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub name: String,
    pub params: Vec<String>,
    /// Index of the enclosing scope, or `None` for the file.
    pub parent: Option<usize>,
}

/// Statement and its scope.
#[derive(Debug)]
pub(crate) struct Step {
    pub scope: usize,
    /// Line in the file, counted from 0.
    pub line: usize,
    pub act: Act,
}

#[derive(Debug)]
pub(crate) enum Act {
    /// Assigns a value to names in the current scope.
    Set(Vec<String>, Expr),
    /// Assigns a value to a name in the scope that already defines it, which may be an enclosing one.
    Change(String, Expr),
    Run(Expr),
    Return(Expr),
}

/// Expression of the lowered program. Only calls have a source position.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Text(String),
    Name(String),
    Attr(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    /// Concatenation of values, with a separator.
    Join(Vec<Expr>, &'static str),
    /// Several alternatives, each of which may be the value.
    List(Vec<Expr>),
    Record(Vec<(String, Expr)>),
    Reversed(Box<Expr>),
    /// Expression that is evaluated in another scope, such as the result of an anonymous function.
    Inside(usize, Box<Expr>),
    Call(Box<Call>),
}

/// Call of a function, or of a program by a shell. For a program, the callee's name begins with `$ `.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub callee: Expr,
    pub args: Vec<Expr>,
    pub named: Vec<(String, Expr)>,
    /// Line in the file, counted from 0.
    pub line: usize,
}

/// Maximum nesting depth of the syntax tree. Generated code reaches a few dozen.
const DEPTH: usize = 150;

/// Builder that lowers a syntax tree to a [`Program`].
pub(crate) struct Builder<'t> {
    pub text: &'t str,
    /// Line of the file on which the text begins.
    pub first_line: usize,
    pub program: Program,
    scope: usize,
    /// Line of the current statement.
    pub line: usize,
    depth: usize,
    /// Index of the step that last set each name.
    known: HashMap<String, usize>,
    /// Remaining bytes of embedded scripts that may be parsed.
    room: usize,
    /// Name of the object in the current method, such as `self`.
    pub own: Option<String>,
    /// Classes that were declared so far.
    pub classes: HashSet<String>,
    /// Functions that were declared so far, for languages in which a bare name is a call.
    pub functions: HashSet<String>,
}

/// Bytes of embedded scripts that are parsed per byte of the whole file. This also limits how deep scripts may be
/// nested.
const NESTED: usize = 4;

/// Maximum length of a list that may be a command line.
const LONG: usize = 256;

/// Maximum number of aliases that are followed to find a text.
const ALIASES: usize = 8;

/// Maximum number of parts of one assembled script.
const SCRIPT_PARTS: usize = 4096;

impl<'t> Builder<'t> {
    pub fn new(text: &'t str, first_line: usize) -> Self {
        let program = Program { scopes: vec![Scope::default()], ..Program::default() };
        Self {
            text,
            first_line,
            program,
            scope: 0,
            line: first_line,
            depth: 0,
            known: HashMap::new(),
            room: text.len() * NESTED,
            own: None,
            classes: HashSet::new(),
            functions: HashSet::new(),
        }
    }

    /// Lowers a script that is embedded as a string. Beyond the byte budget, the program is marked as cut.
    pub fn inside(&mut self, text: &str, line: usize, work: impl FnOnce(&mut Builder<'_>) -> Expr) -> Expr {
        let Some(room) = self.room.checked_sub(text.len()) else {
            self.program.cut = true;
            return Expr::nothing();
        };
        let mut inner = Builder {
            text,
            first_line: line,
            program: std::mem::take(&mut self.program),
            scope: self.scope,
            line,
            depth: self.depth,
            known: std::mem::take(&mut self.known),
            room,
            own: None,
            classes: HashSet::new(),
            functions: HashSet::new(),
        };
        let value = inner.deeper(work);
        (self.program, self.known, self.room) = (inner.program, inner.known, inner.room);
        value
    }

    /// Returns the last value that was assigned to a name in the text so far.
    pub fn known(&self, value: &Expr) -> Option<Expr> {
        let Expr::Name(name) = value else { return None };
        match &self.program.steps.get(*self.known.get(name)?)?.act {
            Act::Set(_, Expr::List(values)) if values.len() > LONG => None,
            Act::Set(_, known) | Act::Change(_, known) => Some(known.clone()),
            _ => None,
        }
    }

    /// Returns the text of a script that is the value of an expression. Each unknown part is a shell variable.
    pub fn script_of(&mut self, value: &Expr) -> Option<String> {
        let mut parts = SCRIPT_PARTS;
        let script = self.script_within(value, ALIASES, &mut parts);
        self.program.cut |= parts == 0;
        script
    }

    fn script_within(&mut self, value: &Expr, aliases: usize, parts: &mut usize) -> Option<String> {
        *parts = parts.saturating_sub(1);
        if *parts == 0 {
            return None;
        }
        match value {
            Expr::Text(text) => Some(text.clone()),
            Expr::Name(name) if name.starts_with('$') => Some(name.clone()),
            Expr::Name(_) => {
                let known = self.known(value)?;
                self.script_within(&known, aliases.checked_sub(1)?, parts)
            }
            Expr::Join(pieces, between) => {
                let pieces: Vec<String> = pieces.iter().map(|piece| self.script_part(piece, aliases, parts)).collect();
                Some(pieces.join(between))
            }
            Expr::List(values) => match values.as_slice() {
                [one] => self.script_within(one, aliases, parts),
                _ => None,
            },
            Expr::Call(call) => {
                let Expr::Attr(base, name) = &call.callee else { return None };
                let is_same = matches!(name.as_str(), "format" | "strip" | "split" | "encode" | "trim" | "dedent");
                let aliases = aliases.checked_sub(1).filter(|_| is_same)?;
                let first = call.args.first();
                self.script_within(base, aliases, parts)
                    .or_else(|| first.and_then(|first| self.script_within(first, aliases, parts)))
            }
            _ => None,
        }
    }

    /// Returns a part of a script. An unknown part is assigned to a new variable.
    fn script_part(&mut self, part: &Expr, aliases: usize, parts: &mut usize) -> String {
        let known = aliases.checked_sub(1).and_then(|aliases| self.script_within(part, aliases, parts));
        known.unwrap_or_else(|| format!("${{{}}}", self.variable_for(part.clone())))
    }

    /// Assigns a value to a new shell variable and returns the variable's name.
    pub fn variable_for(&mut self, value: Expr) -> String {
        let name = format!("__{}", self.program.steps.len());
        self.set(vec![format!("${name}")], value);
        name
    }

    pub fn set(&mut self, names: Vec<String>, value: Expr) {
        if !names.is_empty() {
            for name in &names {
                self.known.insert(name.clone(), self.program.steps.len());
            }
            self.step(Act::Set(names, value));
        }
    }

    /// Assigns a value to a name that an enclosing scope may define.
    pub fn change(&mut self, name: String, value: Expr) {
        self.known.insert(name.clone(), self.program.steps.len());
        self.step(Act::Change(name, value));
    }

    /// Assigns a value to members of an object, which are visible in all of its methods.
    pub fn set_shared(&mut self, names: Vec<String>, value: Expr) {
        if self.scope == 0 {
            return self.set(names, value);
        }
        for name in &names {
            self.known.insert(name.clone(), self.program.steps.len());
        }
        if !names.is_empty() {
            let value = Expr::Inside(self.scope, Box::new(value));
            self.program.steps.push(Step { scope: 0, line: self.line, act: Act::Set(names, value) });
        }
    }

    /// Assigns a value to names in another scope.
    pub fn set_in(&mut self, scope: usize, names: Vec<String>, value: Expr) {
        self.program.steps.push(Step { scope, line: self.line, act: Act::Set(names, value) });
    }

    pub fn step(&mut self, act: Act) {
        self.program.steps.push(Step { scope: self.scope, line: self.line, act });
    }

    /// Runs `work` inside a new function and returns the function's scope.
    pub fn within(&mut self, name: String, params: Vec<String>, work: impl FnOnce(&mut Self)) -> usize {
        let outer = self.enter(name, params);
        let inner = self.scope;
        work(self);
        self.leave(outer);
        inner
    }

    /// Enters a new function and returns the enclosing scope, for [`Builder::leave`].
    pub fn enter(&mut self, name: String, params: Vec<String>) -> usize {
        let outer = self.scope;
        self.program.scopes.push(Scope { name, params, parent: Some(outer) });
        self.scope = self.program.scopes.len() - 1;
        outer
    }

    /// Returns to the enclosing scope.
    pub fn leave(&mut self, outer: usize) {
        self.scope = outer;
    }

    pub fn scope(&self) -> usize {
        self.scope
    }

    /// Adds parameters to the current function.
    pub fn takes(&mut self, params: Vec<String>) {
        let function = self.program.scopes.get_mut(self.scope).filter(|scope| scope.parent.is_some());
        function.into_iter().for_each(|function| function.params.extend_from_slice(&params));
    }

    /// Makes the value of the last statement the result of the current function.
    pub fn give_last(&mut self) {
        if let Some(Step { scope, act, .. }) = self.program.steps.last_mut()
            && *scope == self.scope
            && let Act::Run(value) = act
        {
            *act = Act::Return(std::mem::take(value));
        }
    }

    /// Returns the value of the last statement, which is bound to a new name if it has none.
    pub fn last_value(&mut self) -> Option<Expr> {
        let value = match &mut self.program.steps.last_mut()?.act {
            Act::Run(value) => std::mem::take(value),
            Act::Set(names, _) => return names.first().cloned().map(Expr::Name),
            Act::Change(name, _) => return Some(Expr::Name(name.clone())),
            Act::Return(_) => return None,
        };
        Some(Expr::Name(format!("${}", self.variable_for(value))))
    }

    /// Lowers a statement one level deeper. Its steps get the line of the node.
    pub fn statement<T: Default>(&mut self, node: tree_sitter::Node<'_>, work: impl FnOnce(&mut Self) -> T) -> T {
        let line = self.line_of(node);
        let outer = std::mem::replace(&mut self.line, line);
        let done = self.deeper(work);
        self.line = outer;
        done
    }

    /// Runs `work` one level deeper, or returns the default value beyond the maximum depth.
    pub fn deeper<T: Default>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        if !self.sink() {
            return T::default();
        }
        let done = work(self);
        self.rise();
        done
    }

    /// Increases the nesting depth. At the maximum, returns false and marks the program as cut.
    pub fn sink(&mut self) -> bool {
        let fits = self.depth < DEPTH;
        self.program.cut |= !fits;
        self.depth += usize::from(fits);
        self.program.size = self.program.size.saturating_add(usize::from(fits));
        fits
    }

    /// Reverses a successful call of [`Builder::sink`].
    pub fn rise(&mut self) {
        self.depth -= 1;
    }

    /// Returns the source text of a node.
    pub fn text_of(&self, node: tree_sitter::Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    pub fn line_of(&self, node: tree_sitter::Node<'_>) -> usize {
        self.first_line + node.start_position().row
    }
}

impl Default for Expr {
    fn default() -> Self {
        Self::nothing()
    }
}

impl Expr {
    /// Returns the empty value, without any alternatives.
    pub fn nothing() -> Self {
        Self::List(Vec::new())
    }
}

/// Maximum number of children that are fetched by index. For more, a cursor is faster.
const FEW: u32 = 3;

/// Returns the named children of a node, without comments. Most nodes have few.
pub(crate) fn children<'t>(node: tree_sitter::Node<'t>) -> Vec<tree_sitter::Node<'t>> {
    let is_code = |child: &tree_sitter::Node<'t>| !child.is_extra() || child.kind() != "comment";
    match node.named_child_count() as u32 {
        0 => Vec::new(),
        count @ 1..=FEW => (0..count).filter_map(|at| node.named_child(at)).filter(is_code).collect(),
        _ => node.named_children(&mut node.walk()).filter(is_code).collect(),
    }
}

/// Cached field numbers of a grammar.
struct Fields {
    grammar: Language,
    numbers: Vec<(&'static str, Option<NonZeroU16>)>,
}

impl Fields {
    fn number(&mut self, name: &'static str) -> Option<NonZeroU16> {
        let known = self.numbers.iter().find(|(known, _)| std::ptr::eq(*known, name) || *known == name);
        known.map(|(_, number)| *number).unwrap_or_else(|| {
            let number = self.grammar.field_id_for_name(name);
            self.numbers.push((name, number));
            number
        })
    }
}

/// Returns the child of a node for a field of the grammar. Field numbers are cached per grammar.
pub(crate) fn field<'t>(node: tree_sitter::Node<'t>, name: &'static str) -> Option<tree_sitter::Node<'t>> {
    thread_local! {
        static GRAMMARS: RefCell<Vec<Fields>> = RefCell::default();
    }
    let language = node.language();
    let number = GRAMMARS.with_borrow_mut(|grammars| {
        if let Some(known) = grammars.iter_mut().find(|known| known.grammar == *language) {
            return known.number(name);
        }
        let mut fields = Fields { grammar: language.clone(), numbers: Vec::new() };
        let number = fields.number(name);
        grammars.push(fields);
        number
    });
    node.child_by_field_id(number?.get())
}

/// Returns the operator and the operands of a chain from left to right. It iterates instead of recursing.
pub(crate) fn operands<'t>(node: tree_sitter::Node<'t>) -> (&'t str, Vec<tree_sitter::Node<'t>>) {
    let operator = |node: tree_sitter::Node<'t>| field(node, "operator").map_or("", |operator| operator.kind());
    let (first, mut parts, mut at) = (operator(node), Vec::new(), node);
    while at.kind() == node.kind() && operator(at) == first {
        parts.extend(field(at, "right"));
        match field(at, "left") {
            Some(left) => at = left,
            None => break,
        }
    }
    parts.push(at);
    parts.reverse();
    (first, parts)
}

/// Decodes an octal escape. Returns its character and the number of digits.
fn octal(text: &str) -> (char, usize) {
    let digits: String = text.chars().take(3).take_while(|c| c.is_digit(8)).collect();
    let code = u32::from_str_radix(&digits, 8).ok().filter(|_| digits.len() > 1);
    code.and_then(char::from_u32).map_or_else(|| ('\0', 1), |c| (c, digits.len()))
}

/// Resolves the escape sequences of a quoted string.
pub(crate) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let digits = |from: usize, len: usize| {
            let code = after.get(from..from + len).and_then(|hex| u32::from_str_radix(hex, 16).ok());
            code.and_then(char::from_u32).map(|c| (c, from + len))
        };
        let (c, len) = match after.chars().next() {
            Some('x') => digits(1, 2).unwrap_or(('x', 1)),
            Some('u') if after.starts_with("u{") => {
                let end = after.find('}').unwrap_or(1);
                let code = after.get(2..end).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                (code.and_then(char::from_u32).unwrap_or('u'), end + 1)
            }
            Some('u') => digits(1, 4).unwrap_or(('u', 1)),
            Some('0'..='7') => octal(after),
            Some('n') => ('\n', 1),
            Some('t') => ('\t', 1),
            Some(other) => (other, other.len_utf8()),
            None => ('\\', 0),
        };
        plain.push(c);
        rest = after.get(len..).unwrap_or("");
    }
    plain.push_str(rest);
    plain
}
