//! [`Analysis`]: flow-insensitive taint analysis of scripts.
//!
//! Each name holds the union of all values that are ever assigned to it. The statements are evaluated repeatedly until
//! a fixed point is reached, up to a bound. A tainted value that reaches a sink is reported as a [`Flow`].

mod bind;
mod clock;
mod command;
mod fold;
mod known;
mod note;
mod output;
mod packages;
mod store;
mod tellers;
mod transfer;
mod value;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use super::{
    names::{self, Sink},
    parse::PROGRAM,
    paths::is_secret,
    program::{Act, Call, Expr, Program},
};

use clock::Clock;
use value::Value;
pub use value::{Kind, Position, Taint};

/// Maximum number of passes over all statements. This limits the length of a chain of names, functions and files that
/// is followed against the source order.
const ROUNDS: usize = 12;

/// Methods of an environment object. Any other member of it is a variable.
const IS_METHOD: &[&str] = &[
    "items", "copy", "keys", "values", "get", "pop", "toObject", "setdefault", "__getitem__", "map", "filter", "each",
    "to_h", "to_a", "to_s", "to_json", "inspect", "sort",
];

/// Maximum number of functions with the same name that are distinguished.
const SAME_NAME: usize = 32;

/// Maximum number of files that the scripts of one skill write.
const FILES: usize = 256;

/// Bytes of a function's name that are kept in the name of its result.
const CALLED: usize = 200;

/// Maximum number of names that the scripts of one skill set.
const NAMES: usize = 20_000;

/// Sink of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Data is sent to a host.
    Sent,
    /// Data is run as code.
    Run,
    /// A file that steers agents or runs at startup is written.
    Steered,
    /// All of the user's data is removed.
    Removed,
}

/// Flow of data into a sink.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Index of its program in the list passed to [`Analysis::new`].
    pub program: usize,
    /// Line of the call, counted from 0.
    pub line: usize,
    /// Kind of the sink.
    pub end: End,
    /// Origins of the body, the address or the code.
    pub taints: Vec<Taint>,
    /// Origins that occur only as a login credential in a header.
    pub keys: Vec<Taint>,
    /// Address or path, as far as it is known. Unknown parts are NUL.
    pub to: String,
    /// Function, without its module or object, or program that is called there.
    pub call: String,
}

/// Properties of a function, derived from its qualified name.
#[derive(Debug, Clone, Copy)]
struct Meaning {
    sink: Option<Sink>,
    /// True if it reads the files whose names it is given.
    is_archive: bool,
    /// True if it captures user data, such as the screen or the clipboard.
    is_seen: bool,
    is_channel: bool,
}

/// Call with its evaluated arguments.
#[derive(Clone, Copy)]
struct Called<'v> {
    name: &'v str,
    receiver: &'v Value,
    args: &'v [Value],
    named: &'v [(String, Value)],
    line: usize,
}

/// Returns whether a data file contains the path of a secret.
pub fn names_secret(text: &str) -> bool {
    secrets_named(text).next().is_some()
}

/// Returns the quoted strings that are paths of secrets.
fn secrets_named(text: &str) -> impl Iterator<Item = &str> {
    text.split(['"', '\'']).filter(|text| is_secret(text))
}

/// Host checks that the caller provides.
#[derive(Debug, Clone, Copy)]
pub struct Hosts {
    /// True if a URL is not at a well-known package registry.
    pub is_no_registry: fn(&str) -> bool,
    /// True if a URL is at a forge, under an owner that is not known.
    pub is_unknown_forge: fn(&str) -> bool,
    /// True if a command does not verify the server's identity.
    pub is_unchecked: fn(&str) -> bool,
}

/// Prefix of an origin for code that comes from, or is built from, a repository at a forge.
pub const CLONED: &str = "the repository ";

/// Origin of an archive of the whole working directory.
pub const PACKED: &str = "an archive of all files";

/// Analysis state over a set of programs, which share functions and files.
pub struct Analysis<'p> {
    programs: &'p [&'p Program],
    hosts: Hosts,
    /// Functions by name, as pairs of program and scope.
    functions: HashMap<&'p str, Rc<[(usize, usize)]>>,
    /// Programs by the name of their file, without folders and extension.
    modules: HashMap<&'p str, Vec<usize>>,
    /// Programs that each shell script sources.
    sourced: BTreeMap<usize, BTreeSet<usize>>,
    /// Repository in whose folder the current program works.
    inside: Option<Value>,
    /// Values by program, scope and name.
    names: Vec<Vec<HashMap<String, Value>>>,
    /// Cache of function properties, by name.
    meanings: HashMap<String, Meaning>,
    /// Number of names in `names`, limited by [`NAMES`].
    count: usize,
    /// Values that were written to files, by path.
    files: BTreeMap<String, Value>,
    /// Values in the skill's data files, by file name.
    data: BTreeMap<String, Value>,
    /// Results of functions, by name and by the program that defines the function.
    returns: BTreeMap<String, BTreeMap<usize, Value>>,
    /// Flows by program, line and sink, with the statement that produced each. The flow of the last statement wins.
    flows: BTreeMap<(usize, usize, End), (usize, Flow)>,
    /// Programs for which the current pass found something new.
    changed: BTreeSet<usize>,
    /// Programs that were analysed only in part, because of a limit.
    cut: BTreeSet<usize>,
    clock: Clock,
    program: usize,
    step: usize,
    scope: usize,
    /// Line of the current call or statement.
    line: usize,
    /// Function or program of the current call, as in [`Flow::call`].
    callee: String,
}

impl<'p> Analysis<'p> {
    /// Prepares the analysis of a set of programs.
    pub fn new(programs: &'p [&'p Program], hosts: Hosts) -> Self {
        let mut functions: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        for (at, program) in programs.iter().enumerate() {
            for (scope, function) in program.scopes.iter().enumerate().filter(|(_, scope)| !scope.name.is_empty()) {
                functions.entry(&function.name).or_default().push((at, scope));
            }
        }
        let cut = functions.values().flat_map(|places| places.iter().skip(SAME_NAME)).map(|(at, _)| *at).collect();
        functions.values_mut().for_each(|places| places.truncate(SAME_NAME));
        let mut modules: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, program) in programs.iter().enumerate().filter(|(_, program)| !program.path.is_empty()) {
            modules.entry(known::stem(&program.path)).or_default().push(at);
        }
        Self {
            programs,
            hosts,
            modules,
            sourced: BTreeMap::new(),
            inside: None,
            functions: functions.into_iter().map(|(name, places)| (name, places.into())).collect(),
            names: programs.iter().map(|program| vec![HashMap::new(); program.scopes.len()]).collect(),
            meanings: HashMap::new(),
            count: 0,
            files: BTreeMap::new(),
            data: BTreeMap::new(),
            returns: BTreeMap::new(),
            flows: BTreeMap::new(),
            changed: BTreeSet::new(),
            cut,
            clock: Clock::new(programs),
            program: 0,
            step: 0,
            scope: 0,
            line: 0,
            callee: String::new(),
        }
    }

    /// Adds the secret paths in a data file of the skill.
    #[must_use]
    pub fn with_data(mut self, path: &str, text: &str) -> Self {
        let paths: Vec<Value> = secrets_named(text).map(Value::of_text).collect();
        let held = Value { text: None, ..Value::any_of(&paths) };
        if !held.taints.is_empty() {
            let name = path.rsplit('/').next().unwrap_or(path);
            self.data.insert(name.to_owned(), held);
        }
        self
    }

    /// Runs the analysis until it reaches a fixed point or the limit of passes. Returns the flows, sorted by position,
    /// and the programs that were analysed only in part.
    pub fn run(mut self) -> (Vec<Flow>, BTreeSet<usize>) {
        for _ in 0..ROUNDS {
            self.changed.clear();
            self.round();
            if self.changed.is_empty() {
                break;
            }
        }
        self.cut.append(&mut self.changed);
        (self.flows.into_values().map(|(_, flow)| flow).collect(), self.cut)
    }

    fn round(&mut self) {
        let programs = self.programs;
        for (at, program) in programs.iter().enumerate() {
            self.program = at;
            self.inside = None;
            for (place, step) in program.steps.iter().enumerate() {
                if !self.clock.begins(at, place) {
                    continue;
                }
                (self.step, self.scope) = (place, step.scope);
                match &step.act {
                    Act::Run(value) => drop(self.eval(value)),
                    Act::Set(names, value) => {
                        let value = self.eval_at(step.line, value);
                        for name in names {
                            self.renew(self.scope, name, &value);
                            self.set(self.program, self.scope, name, &value);
                        }
                    }
                    Act::Change(name, value) => {
                        let value = self.eval_at(step.line, value);
                        let scope = self.scope_of(name);
                        self.renew(scope, name, &value);
                        self.set(self.program, scope, name, &value);
                    }
                    Act::Return(value) => {
                        let value = self.eval_at(step.line, value);
                        if let Some(scope) = program.scopes.get(step.scope) {
                            self.give_back(&scope.name, &value);
                        }
                    }
                }
                self.clock.ends(at, place);
            }
        }
    }

    /// Evaluates the value of a statement. Origins that it introduces get the statement's line.
    fn eval_at(&mut self, line: usize, expr: &Expr) -> Value {
        let value = self.eval(expr);
        self.line = line;
        value
    }

    fn eval(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Text(text) => Value::of_text(text),
            Expr::Name(name) => self.name(name),
            Expr::Attr(base, name) => {
                let base = self.eval(base);
                self.attribute(&base, name)
            }
            Expr::Index(base, index) => {
                let (base, index) = (self.eval(base), self.eval(index));
                base.index(&index)
            }
            Expr::Join(parts, between) => {
                let parts: Vec<Value> = parts.iter().map(|part| self.eval(part)).collect();
                Value::joined(&parts, between)
            }
            Expr::List(parts) => {
                let parts: Vec<Value> = parts.iter().map(|part| self.eval(part)).collect();
                Value::list_of(&parts)
            }
            Expr::Inside(scope, inner) => {
                let outer = std::mem::replace(&mut self.scope, *scope);
                let value = self.eval(inner);
                self.scope = outer;
                value
            }
            Expr::Record(pairs) => {
                let mut value = Value::default();
                for (key, part) in pairs {
                    let part = self.eval(part);
                    value.put(key, &part);
                }
                value
            }
            Expr::Reversed(base) => {
                let base = self.eval(base);
                let is_long = base.text.as_ref().is_some_and(|text| text.len() >= fold::HIDDEN);
                let value = base.with_text(|text| text.chars().rev().collect());
                if is_long { value.or(&Value::of(Kind::Decoded, "reversed text")) } else { value }
            }
            Expr::Call(call) => self.call(call),
        }
    }

    fn attribute(&self, base: &Value, name: &str) -> Value {
        let full = value::part_name(base.name.as_deref(), name);
        match self.look_up(&full).or_else(|| self.imported(&full)) {
            Some(value) => value.clone(),
            None if base.has_variable(name) && !IS_METHOD.contains(&name) => Value::of(Kind::Variable, name),
            None => {
                let mut value = Value::named(&full).or(base);
                if names::is_request(&full) {
                    value = value.or(&Value::of(Kind::Remote, "a request"));
                }
                if name == "name" && base.text.as_ref().is_some_and(|text| text.ends_with("/*")) {
                    value.text = Some("*".to_owned());
                }
                value
            }
        }
    }

    fn name(&mut self, name: &str) -> Value {
        match self.look_up(name).or_else(|| self.imported(name)) {
            Some(value) => value.clone(),
            None => Value::named(name),
        }
    }

    fn call(&mut self, call: &Call) -> Value {
        let (receiver, callee) = match &call.callee {
            Expr::Attr(base, name) => {
                let base = self.eval(base);
                let callee = self.attribute(&base, name);
                (base, callee)
            }
            other => (Value::default(), self.eval(other)),
        };
        let args: Vec<Value> = call.args.iter().map(|arg| self.argument(arg)).collect();
        let named: Vec<(String, Value)> = call.named.iter().map(|(name, arg)| (name.clone(), self.eval(arg))).collect();
        self.line = call.line;
        let own = match &call.callee {
            Expr::Name(name) if self.functions.contains_key(name.as_str()) => Some(name.clone()),
            _ => None,
        };
        let is_own = own.is_some();
        let mut name = own.or_else(|| callee.name.clone()).or_else(|| callee.text.clone()).unwrap_or_default();
        if name == names::OPEN_ANY {
            let is_address =
                args.iter().take(1).any(|arg| arg.text.as_deref().is_some_and(|text| text.contains("://")));
            name = if is_address { "urlopen" } else { "open" }.to_owned();
        }
        if let Some(program) = name.strip_prefix(PROGRAM) {
            let program = program.to_owned();
            return self.shell_call(&program, &args, &named, call.line);
        }
        self.bind_params(&name, &args);
        self.bind_each(&name, call, &receiver);
        let told = self.told_by_wrapper(&name, &args);
        let mut meaning = self.meaning(&name);
        let key = args.first().and_then(|arg| arg.text.as_deref());
        // What a function of the skill sends is found in its body.
        let sends = |sink: &Sink| *sink != Sink::Send || !is_own && !names::is_by_key(&name, key);
        meaning.sink = meaning.sink.filter(sends);
        let called = Called { name: &name, receiver: &receiver, args: &args, named: &named, line: call.line };
        if let Some(sink) = meaning.sink {
            if sink == Sink::Command && call.args.iter().any(|arg| matches!(arg, Expr::Inside(..) | Expr::Record(..))) {
                let plain = self.given_to_program(&call.args, &args);
                self.note_sink(sink, &Called { args: &plain, ..called });
            } else {
                self.note_sink(sink, &called);
            }
        }
        self.store(&called, call, meaning.is_archive);
        let mut value = self.result(meaning, &called);
        if matches!(call.callee, Expr::Name(_)) {
            value = value.or(&callee);
        }
        value.or(&told.unwrap_or_default())
    }

    /// Returns the properties of a function, from the cache if possible.
    fn meaning(&mut self, name: &str) -> Meaning {
        if let Some(known) = self.meanings.get(name) {
            return *known;
        }
        let meaning = Meaning {
            sink: names::sink(name),
            is_archive: store::is_archive(name),
            is_seen: fold::is_seen(name),
            is_channel: names::is_channel(name),
        };
        self.meanings.insert(name.to_owned(), meaning);
        meaning
    }

    fn result(&mut self, meaning: Meaning, called: &Called<'_>) -> Value {
        let Called { name, receiver, args, .. } = *called;
        let last = name.rsplit('.').next().unwrap_or(name);
        if let Some(module) = fold::module(name, args) {
            let file = module.rsplit('/').next().and_then(|file| self.data.get(file));
            return Value::named(&module).or(file.unwrap_or(&Value::default()));
        }
        if let Some(variable) = fold::variable(name, receiver, args) {
            return variable;
        }
        if let Some(decoded) = fold::decoded(name, receiver, args) {
            return decoded;
        }
        if meaning.sink == Some(Sink::Command)
            && let Some(told) = tellers::told(args)
        {
            return told;
        }
        if meaning.is_seen {
            return Value::of(Kind::Secret, name);
        }
        let mut value = self.given_back(last, called).without_name();
        value.text = fold::text(last, receiver, args).map(value::short);
        value.items = fold::items(last, receiver, args);
        value.notice_path();
        let mut own = None;
        if let Some(known) = self.returned(last) {
            value = value.or(&known);
            value.text = value.text.or_else(|| known.text.clone());
            value.items = known.items.clone();
            own.clone_from(&known.name);
        }
        if names::reads(last) {
            let path = receiver.text.as_ref().or_else(|| args.first().and_then(|arg| arg.text.as_ref()));
            self.leave_public_key(&mut value, path.map_or("", String::as_str));
            value.read();
            let data = path.and_then(|path| self.data.get(path.rsplit('/').next().unwrap_or(path)));
            value = value.or(data.unwrap_or(&Value::default()));
            if let Some(file) = path.and_then(|path| self.files().get(path)) {
                value = value.or(file);
            }
        }
        if meaning.sink == Some(Sink::Send) {
            let from = args.iter().find_map(|arg| arg.text.clone()).unwrap_or_default();
            value = Value::of(Kind::Remote, &from);
        }
        if meaning.is_channel {
            value = value.or(&Value::of(Kind::Remote, ""));
        }
        value.name = own.or_else(|| Some([name.get(..CALLED).unwrap_or(name), "()"].concat()));
        value
    }
}
