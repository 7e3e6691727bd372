//! Members, calls with and without parentheses, and PowerShell commands.

use super::{
    super::embedded,
    Reader, SETS, STOPS,
    dialect::Kind,
    names::{How, known},
    tokens::Token,
    value::with_record,
};
use crate::program::{Call, Expr};

/// Parameter names of PowerShell commands that hold the first and the second argument.
const FIRST: &[&str] = &["path", "literalpath", "filepath", "source", "uri", "command"];
const SECOND: &[&str] = &["outfile", "destination", "childpath"];

impl<'t> Reader<'_, '_, 't> {
    /// Reads the members, indices and calls that follow a value.
    pub(super) fn with_parts(&mut self, first: Expr, end: usize) -> Expr {
        let (mut value, mut depth) = (first, 0);
        while self.at < end && self.to.sink() {
            depth += 1;
            let before = self.at;
            value = self.part(value, end);
            if self.at == before {
                break;
            }
        }
        (0..depth).for_each(|_| self.to.rise());
        self.known(value)
    }

    fn part(&mut self, value: Expr, end: usize) -> Expr {
        if let Some(name) = self.part_name(end) {
            return Expr::Attr(Box::new(self.known_thing(value)), name);
        }
        let (is_joined, line) = (self.is_joined(self.at), self.line());
        let is_thing = matches!(value, Expr::Name(_) | Expr::Attr(..));
        match self.mark(self.at) {
            "(" if is_joined || !self.dialect.is_bare("") && is_thing && !self.dialect.is(Kind::PowerShell) => {
                let (args, named) = self.listed();
                self.call_of(value, args, named, line)
            }
            "[" if is_joined => {
                let (mut keys, _) = self.listed();
                let key = if keys.len() == 1 { keys.remove(0) } else { Expr::List(keys) };
                Expr::Index(Box::new(self.known(value)), Box::new(key))
            }
            "{" => self.braced(value, is_joined, is_thing, line),
            "->" if matches!(self.mark(self.at + 1), "{" | "[" | "(" | "@") => {
                self.at += 1;
                value
            }
            _ if self.takes_bare(&value, end) => self.bare_call(value, end, line),
            _ => value,
        }
    }

    /// Reads the name of the following member, which may be on the next line.
    fn part_name(&mut self, end: usize) -> Option<String> {
        let at = (self.at..end.min(self.at + 3)).find(|at| !matches!(self.token(*at), Some(Token::Line)))?;
        let mark = self.mark(at);
        let is_next = at == self.at || mark != ":" && mark != "\\";
        let is_part = self.dialect.access.contains(&mark) && is_next && (mark != ":" || self.is_joined(at));
        let name = Some(self.word(at + 1)).filter(|name| is_part && !name.is_empty() && at + 1 < end)?;
        self.at = at + 2;
        Some(self.dialect.plain(name.trim_start_matches('$')))
    }

    /// Reads the braces behind a value: a key, a record or a block.
    fn braced(&mut self, value: Expr, is_joined: bool, is_thing: bool, line: usize) -> Expr {
        let close = self.pair(self.at);
        let is_whole = self.dialect.is(Kind::Go) && is_joined && self.is_record();
        match self.dialect.kind {
            Kind::Perl if is_joined && matches!(value, Expr::Name(_) | Expr::Attr(..) | Expr::Index(..)) => {
                let key = match (self.word(self.at + 1), close) {
                    (word, close) if !word.is_empty() && !word.starts_with(['$', '@']) && close == self.at + 2 => {
                        self.at = close + 1;
                        Expr::Text(word.to_owned())
                    }
                    _ => self.listed().0.into_iter().next().unwrap_or_default(),
                };
                Expr::Index(Box::new(self.known(value)), Box::new(key))
            }
            Kind::Go if is_thing && is_whole => {
                let (values, records) = self.listed();
                self.call_of(value, vec![with_record(values, records)], Vec::new(), line)
            }
            Kind::Lua if is_thing => {
                let (values, records) = self.listed();
                self.call_of(value, vec![with_record(values, records)], Vec::new(), line)
            }
            Kind::Ruby if matches!(value, Expr::Call(_) | Expr::Name(_) | Expr::Attr(..)) => {
                let value = self.known(value);
                let given = Expr::Name(format!("${}", self.to.variable_for(value)));
                self.at += 1;
                self.block_params(Some(&given));
                self.deeper(close, |reader| reader.statements(close));
                self.at = close + 1;
                given
            }
            _ => value,
        }
    }

    /// Returns whether braces contain the fields of a record rather than statements.
    fn is_record(&mut self) -> bool {
        let at = self.at;
        self.at += 1;
        self.skip_lines(self.pair(at));
        let is_empty = self.at == self.pair(at);
        let is_record = is_empty || self.entry_key().is_some() || matches!(self.token(self.at), Some(Token::Text(..)));
        self.at = at;
        is_record
    }

    /// Returns whether a name is followed by arguments without parentheses.
    fn takes_bare(&self, value: &Expr, end: usize) -> bool {
        let (Expr::Name(name) | Expr::Attr(_, name)) = value else { return false };
        if self.dialect.is(Kind::Lua) {
            return matches!(self.token(self.at), Some(Token::Text(..)));
        }
        if name.starts_with('@')
            || !self.dialect.is_bare(name)
            || self.is_joined(self.at) && self.mark(self.at) != "$"
            || self.at >= end
        {
            return false;
        }
        match self.token(self.at) {
            Some(Token::Text(..) | Token::Number(_)) => true,
            Some(Token::Name(word)) => !STOPS.contains(word) && !super::value::is_between(word),
            Some(Token::Mark(mark)) => {
                let is_sign = matches!(*mark, "\\" | "$" | "@" | "->" | "::")
                    || matches!(*mark, "[" | "*" | "&" | "-") && self.is_joined(self.at + 1);
                is_sign
                    || matches!(*mark, "(" | "{")
                        && self.dialect.is(Kind::Perl)
                        && matches!(name.as_str(), "eval" | "do" | "print" | "return" | "map" | "grep")
            }
            _ => false,
        }
    }

    fn bare_call(&mut self, value: Expr, end: usize, line: usize) -> Expr {
        let (mut args, mut named) = (Vec::new(), Vec::new());
        while !self.ends_here(end)
            && !STOPS.contains(&self.word(self.at))
            && !matches!(self.mark(self.at), ")" | "}" | "]")
        {
            let before = self.at;
            match self.entry_key() {
                Some(key) => {
                    let given = self.deeper(end, |reader| reader.value(end));
                    named.push((super::names::key(&key), given));
                }
                None => {
                    let given = self.deeper(end, |reader| reader.value(end));
                    args.push(given);
                }
            }
            if self.mark(self.at) == "," {
                self.at += 1;
                self.skip_lines(end);
            }
            if self.at == before {
                break;
            }
        }
        // Perl's `print $file $text`.
        let is_print = matches!(&value, Expr::Name(name) if matches!(name.as_str(), "print" | "printf" | "say"));
        if is_print && args.len() > 1 && self.dialect.is(Kind::Perl) && matches!(args.first(), Some(Expr::Name(_))) {
            let file = args.remove(0);
            return self.call_of(Expr::Attr(Box::new(file), "write".to_owned()), args, named, line);
        }
        self.call_of(value, args, named, line)
    }

    /// Builds a call under the equivalent name of its function, and lowers the scripts among its arguments.
    pub(super) fn call_of(
        &mut self,
        callee: Expr,
        mut args: Vec<Expr>,
        mut named: Vec<(String, Expr)>,
        line: usize,
    ) -> Expr {
        let (mut callee, how) = self.translated(callee);
        match how {
            How::Skip(count) => drop(args.drain(..count.min(args.len()))),
            How::On if !args.is_empty() => {
                let on = args.remove(0);
                let name = if let Expr::Name(name) = callee { name } else { String::new() };
                return Expr::Call(Box::new(Call { callee: Expr::Attr(Box::new(on), name), args, named, line }));
            }
            How::Opens if !args.is_empty() => {
                let file = args.remove(0);
                let path = args.pop().unwrap_or_default();
                let opened = Expr::Call(Box::new(Call { callee, args: vec![path], named, line }));
                if let Expr::Name(name) = file {
                    self.to.set(vec![name.clone()], opened);
                    return Expr::Name(name);
                }
                return opened;
            }
            How::Sets if args.len() > 1 => {
                let value = args.pop().unwrap_or_default();
                let key = args.pop().filter(|_| args.len() == 1);
                let key = if let Some(Expr::Name(key)) = key { key } else { String::new() };
                if let Some(Expr::Name(name)) = args.pop() {
                    self.to.change(name, Expr::Record(vec![(super::names::key(&key), value)]));
                }
                return Expr::nothing();
            }
            How::Text => return callee,
            _ => {}
        }
        if self.dialect.is(Kind::PowerShell) {
            callee = in_order(callee, &mut args, &mut named);
        }
        embedded::with_scripts(self.to, Call { callee, args, named, line }, self.dialect.language())
    }

    /// Translates the name of a function to its known equivalent.
    fn translated(&self, callee: Expr) -> (Expr, How) {
        let in_any_case = matches!(self.dialect.kind, Kind::Php | Kind::PowerShell);
        if let Some(name) = dotted(&callee) {
            let name = name.trim_start_matches(['\\', '.']);
            if let Some((to, how)) = known(self.dialect.names, name, in_any_case) {
                let to = if how == How::Text { Expr::Text(to) } else { Expr::Name(to) };
                return (to, how);
            }
        }
        match callee {
            Expr::Attr(base, part) => match *base {
                Expr::Name(own) if matches!(own.as_str(), "self" | "@this" | "@self") => (Expr::Name(part), How::Same),
                base => match known(self.dialect.names, &format!(".{part}"), in_any_case) {
                    Some((to, How::Text)) => (Expr::Text(to), How::Text),
                    Some((to, how)) => (Expr::Attr(Box::new(base), to), how),
                    None => (Expr::Attr(Box::new(base), part), How::Same),
                },
            },
            other => (other, How::Same),
        }
    }

    /// Translates a value that is not called.
    fn known(&self, value: Expr) -> Expr {
        match value {
            // In Ruby, a bare name calls a function.
            Expr::Name(name) if self.dialect.is(Kind::Ruby) && self.to.functions.contains(&name) => {
                Expr::Call(Box::new(Call {
                    callee: Expr::Name(name),
                    args: Vec::new(),
                    named: Vec::new(),
                    line: self.line(),
                }))
            }
            Expr::Attr(..) | Expr::Name(_) => match self.translated(value) {
                (Expr::Name(to), How::Same) => match to.rsplit_once('.') {
                    Some(("request", part)) => Expr::Attr(Box::new(Expr::Name("request".to_owned())), part.to_owned()),
                    _ => Expr::Name(to),
                },
                // A call that only converts to text has the same effect without parentheses.
                (Expr::Attr(base, to), How::Same) if to == "str" => *base,
                (known, _) => known,
            },
            other => other,
        }
    }

    /// Translates the object of a member access if its whole name is known.
    fn known_thing(&self, value: Expr) -> Expr {
        let name = dotted(&value);
        let is_known = name.is_some_and(|name| {
            let is = |from: &&str| *from == name || name.starts_with('$') && from.eq_ignore_ascii_case(&name);
            self.dialect.names.iter().any(|(_, _, all)| all.iter().any(is))
        });
        if is_known { self.known(value) } else { value }
    }

    /// Returns whether a name begins a PowerShell command.
    pub(super) fn is_command(&self, name: &str) -> bool {
        let is_called = self.is_joined(self.at) && matches!(self.mark(self.at), "." | "(" | "::" | ":" | "[" | "=");
        !name.starts_with(['$', '-']) && !is_called && !SETS.contains(&self.mark(self.at))
    }

    pub(super) fn command(&mut self, name: &str, end: usize) -> Expr {
        let line = self.line();
        let (mut args, named) = self.command_args(end);
        if name.eq_ignore_ascii_case("new-object") && !args.is_empty() {
            let class = match args.remove(0) {
                Expr::Text(class) => class,
                Expr::Name(class) => class,
                other => dotted(&other).unwrap_or_default(),
            };
            return self.call_of(Expr::Name(format!("{}.new", class.to_ascii_lowercase())), args, named, line);
        }
        self.call_of(Expr::Name(name.to_ascii_lowercase()), args, named, line)
    }

    /// Reads a command that receives the output of the previous one in a pipe.
    pub(super) fn piped(&mut self, passed: Expr, end: usize) -> Expr {
        self.to.set(vec!["@_".to_owned()], passed.clone());
        let line = self.line();
        let name = self.word(self.at);
        if name.is_empty() {
            let is_run = self.mark(self.at) == "&";
            self.at += usize::from(is_run || self.mark(self.at) == "%");
            let given = self.operand(end);
            return Expr::List(vec![given, passed]);
        }
        self.at += 1;
        let (mut args, named) = self.command_args(end);
        let name = name.to_ascii_lowercase();
        args.insert(usize::from(self.takes_path(&name)).min(args.len()), passed);
        self.call_of(Expr::Name(name), args, named, line)
    }

    /// Returns whether a command takes a path before its piped input.
    fn takes_path(&self, name: &str) -> bool {
        known(self.dialect.names, name, true)
            .is_some_and(|(to, _)| matches!(to.as_str(), "writeFile" | "requests.request"))
    }

    /// Reads the positional and the named arguments of a command.
    pub(super) fn command_args(&mut self, end: usize) -> (Vec<Expr>, Vec<(String, Expr)>) {
        let (mut args, mut named) = (Vec::new(), Vec::new());
        while !self.ends_here(end) && !matches!(self.mark(self.at), "|" | ")" | "}" | "]" | "&&" | "||") {
            let before = self.at;
            let word = self.word(self.at);
            if let Some(name) = word.strip_prefix('-') {
                self.at += 1;
                let takes = !self.ends_here(end)
                    && !matches!(self.mark(self.at), "|" | ")" | "}")
                    && !self.word(self.at).starts_with('-');
                if takes {
                    let given = self.argument(end);
                    named.push((name.to_ascii_lowercase(), given));
                }
            } else {
                let given = self.argument(end);
                args.push(given);
            }
            self.at += usize::from(self.mark(self.at) == ",");
            self.at = self.at.max(before + 1);
        }
        (args, named)
    }

    /// Reads one argument of a command, up to the next space.
    fn argument(&mut self, end: usize) -> Expr {
        let mut parts = Vec::new();
        loop {
            let word = self.word(self.at);
            let before = self.at;
            parts.push(match word.is_empty() || word.starts_with('$') || word.ends_with(':') {
                false => {
                    self.at += 1;
                    let text = (self.mark(self.at) == "." && self.is_joined(self.at)).then(|| self.dotted_word(word));
                    Expr::Text(text.unwrap_or_else(|| word.to_owned()))
                }
                true => self.operand(end),
            });
            self.at = self.at.max(before + 1);
            let goes_on = self.at < end
                && self.is_joined(self.at)
                && matches!(self.token(self.at), Some(Token::Text(..) | Token::Name(_)));
            if !goes_on {
                break;
            }
        }
        if parts.len() == 1 { parts.remove(0) } else { Expr::Join(parts, "") }
    }

    /// Reads the rest of a dotted name in a command argument.
    fn dotted_word(&mut self, first: &str) -> String {
        let mut whole = first.to_owned();
        while self.mark(self.at) == "." && self.is_joined(self.at) && !self.word(self.at + 1).is_empty() {
            whole = format!("{whole}.{}", self.word(self.at + 1));
            self.at += 2;
        }
        whole
    }
}

/// Moves named arguments to the positions that the equivalent function expects. A request that saves its response
/// becomes a download to a file.
fn in_order(callee: Expr, args: &mut Vec<Expr>, named: &mut Vec<(String, Expr)>) -> Expr {
    let is_request = matches!(&callee, Expr::Name(name) if name.starts_with("requests."));
    let is_saved = named.iter().any(|(name, _)| name == "outfile");
    for (place, names) in [FIRST, SECOND].into_iter().enumerate() {
        if let Some(at) = named.iter().position(|(name, _)| names.contains(&name.as_str())) {
            let (_, value) = named.remove(at);
            args.insert(place.min(args.len()), value);
        }
    }
    if !is_request {
        args.extend(named.drain(..).filter(|(name, _)| name != "erroraction").map(|(_, value)| value));
    }
    if is_request && is_saved { Expr::Name("urlretrieve".to_owned()) } else { callee }
}

/// Returns the dotted name of an expression.
fn dotted(value: &Expr) -> Option<String> {
    let (mut parts, mut at) = (Vec::new(), value);
    loop {
        match at {
            Expr::Name(name) => {
                parts.push(name.strip_prefix('@').map_or_else(|| name.clone(), |name| format!("${name}")));
                break;
            }
            Expr::Attr(base, name) => {
                parts.push(name.clone());
                at = base;
            }
            _ => return None,
        }
    }
    parts.reverse();
    Some(parts.join("."))
}
