//! [`Value`]: what a name or call may hold, and where it comes from.

use std::{collections::BTreeSet, rc::Rc};

use super::super::paths::{is_likely_secret, is_secret};

/// Origins that one value is known to have; more of them say nothing more.
const TAINTS: usize = 24;
/// Bytes of text that are folded.
const TEXT: usize = 2 << 10;
/// Items of a list that are told apart.
const ITEMS: usize = 4096;
/// Bytes of a name that goes on getting longer.
const NAME: usize = 200;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// All of the environment.
    Environment,
    /// One variable of the environment.
    Variable,
    /// The name of a file with secrets, not yet read.
    Path,
    /// The content of such a file.
    Secret,
    /// All that a project holds.
    Project,
    /// From the network.
    Remote,
    /// Decoded from text that nobody can read.
    Decoded,
}

impl Kind {
    pub(crate) fn can_be_sent(self) -> bool {
        matches!(self, Self::Environment | Self::Variable | Self::Secret | Self::Project)
    }

    pub(crate) fn can_be_run(self) -> bool {
        matches!(self, Self::Remote | Self::Decoded)
    }
}

/// One origin of a value, and what exactly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// Of what kind it is.
    pub kind: Kind,
    /// The variable, file, address or call.
    pub what: String,
}

/// What something may hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Value {
    pub taints: BTreeSet<Taint>,
    /// What stands in it only as a key that logs in.
    pub keys: BTreeSet<Taint>,
    /// Its text, with NUL for what is not known.
    pub text: Option<String>,
    /// The full name of the module, function or thing that it is.
    pub name: Option<String>,
    /// The texts of a list, when all are known.
    pub items: Option<Rc<[String]>>,
    /// It has more origins than are kept.
    pub cut: bool,
}

/// Keys of records and names of arguments under which a key that logs in belongs.
const LOGIN: &[&str] = &[
    "headers",
    "auth",
    "authorization",
    "cookies",
    "x-api-key",
    "api-key",
    "apikey",
    "api_key",
    "x-auth-token",
    "x-goog-api-key",
];

/// Parts of the names of variables of a shell that hold what a user and an agent said.
const TALK: &[&str] = &["CONVERSATION", "TRANSCRIPT", "CHAT_LOG", "CHAT_HISTORY", "USER_MESSAGE", "USER_PROMPT"];

impl Value {
    pub fn of_text(text: &str) -> Self {
        let mut value = Self { text: Some(head(text, TEXT).to_owned()), ..Self::default() };
        value.notice_path();
        value
    }

    pub fn of(kind: Kind, what: &str) -> Self {
        let taint = Taint { kind, what: what.to_owned() };
        Self { taints: BTreeSet::from([taint]), ..Self::default() }
    }

    /// The thing with this name, which may be the environment or a variable of it.
    pub fn named(name: &str) -> Self {
        let name = ["globalThis.", "global.", "window."].iter().find_map(|all| name.strip_prefix(all)).unwrap_or(name);
        let mut value = Self::default();
        let variable =
            ["process.env.", "Bun.env.", "import.meta.env."].iter().find_map(|start| name.strip_prefix(start));
        if matches!(name, "os.environ" | "os.environb" | "process.env" | "ENV" | "Deno.env" | "Bun.env") {
            value = Self::of(Kind::Environment, name);
        } else if let Some(variable) =
            variable.filter(|variable| variable.chars().all(|c| c.is_alphanumeric() || c == '_'))
        {
            value = Self::of(Kind::Variable, variable);
        } else if name.starts_with('$') && TALK.iter().any(|part| name.contains(part)) {
            value = Self::of(Kind::Secret, name);
        } else if let Some(variable) = name.strip_prefix('$').filter(|rest| is_upper(rest)) {
            value = Self::of(Kind::Variable, variable);
        }
        value.text = match name {
            "$HOME" | "process.env.HOME" | "process.env.USERPROFILE" => Some("~".to_owned()),
            "os.sep" | "os.path.sep" | "path.sep" => Some("/".to_owned()),
            shell if shell.starts_with('$') && !shell.starts_with("$ ") => Some(shell.to_owned()),
            _ => None,
        };
        value.name = Some(name.to_owned());
        value
    }

    /// Takes over what another value may be; says whether that is news.
    pub fn add(&mut self, other: &Self) -> bool {
        let before = (self.taints.len(), self.keys.len(), self.cut);
        self.take(other);
        let mut news = before != (self.taints.len(), self.keys.len(), self.cut);
        if self.items.is_none() && other.items.is_some() {
            self.items.clone_from(&other.items);
            news = true;
        }
        let is_weak = |name: &Option<String>| name.as_ref().is_some_and(|name| name.contains("()"));
        if is_weak(&self.name) && other.name.is_some() && !is_weak(&other.name) {
            self.name.clone_from(&other.name);
            news = true;
        }
        for (mine, theirs) in [(&mut self.text, &other.text), (&mut self.name, &other.name)] {
            if mine.is_none() && theirs.is_some() {
                mine.clone_from(theirs);
                news = true;
            }
        }
        news
    }

    /// Takes over the text of the same value as it is known later, when a part of it was open before; says
    /// whether that is news.
    pub fn renew(&mut self, later: &Self) -> bool {
        let is_open = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('\0'));
        let is_news = is_open(&self.text) && later.text.is_some() && !is_open(&later.text);
        if is_news {
            self.text.clone_from(&later.text);
        }
        is_news
    }

    /// The same with the origins of another value.
    pub fn or(mut self, other: &Self) -> Self {
        self.take(other);
        self
    }

    /// Takes over the origins of another value.
    fn take(&mut self, other: &Self) {
        let is_all = extend(&mut self.taints, &other.taints) && extend(&mut self.keys, &other.keys);
        self.cut |= other.cut || !is_all;
    }

    pub fn without_name(self) -> Self {
        Self { name: None, ..self }
    }

    /// Puts a value under a key of a record.
    pub fn put(&mut self, key: &str, part: &Self) {
        if LOGIN.contains(&key.to_ascii_lowercase().as_str()) {
            let is_key = |taint: &&Taint| {
                let is_kept = taint.what.ends_with(".env") || taint.what.ends_with("keyring.get_password");
                taint.kind == Kind::Variable || taint.kind == Kind::Secret && is_kept
            };
            self.keys.extend(part.taints.iter().filter(is_key).chain(&part.keys).cloned());
            self.taints.extend(part.taints.iter().filter(|taint| !is_key(taint)).cloned());
        } else {
            *self = std::mem::take(self).or(part);
        }
        if self.text.is_none() && matches!(key, "url" | "uri" | "host" | "hostname" | "") {
            self.text.clone_from(&part.text);
        }
    }

    /// Whether it is the environment, and what has this name in it a variable.
    pub fn has_variable(&self, key: &str) -> bool {
        let environment = self.taints.iter().any(|taint| taint.kind == Kind::Environment);
        environment && (self.name.is_some() || is_upper(key))
    }

    /// One part of it.
    pub fn index(&self, index: &Self) -> Self {
        match &index.text {
            Some(key) if self.has_variable(key) => {
                let is_home = matches!(key.as_str(), "HOME" | "USERPROFILE");
                Self { text: is_home.then(|| "~".to_owned()), ..Self::of(Kind::Variable, key) }
            }
            Some(key) if self.name.is_some() && !key.is_empty() => {
                Self::named(&part_name(self.name.as_deref(), key)).or(self)
            }
            _ => self.clone().without_name(),
        }
    }

    pub fn joined(parts: &[Self], between: &str) -> Self {
        let mut value = Self::default();
        let texts: Vec<&str> = parts.iter().take(ITEMS).map(|part| part.text.as_deref().unwrap_or("\0")).collect();
        for part in parts {
            value = value.or(part);
        }
        if texts.iter().any(|text| *text != "\0") {
            value.text = Some(joined(&texts, between));
            value.notice_path();
        }
        value
    }

    /// A list of values.
    pub fn list_of(parts: &[Self]) -> Self {
        let mut value = Self::any_of(parts);
        if parts.len() > 1 {
            let texts: Option<Vec<String>> = parts.iter().take(ITEMS).map(|part| part.text.clone()).collect();
            value.items = texts.map(Rc::from);
        }
        value
    }

    /// Any of some values; the first known text and name stand for it.
    pub fn any_of(parts: &[Self]) -> Self {
        let mut value = Self::default();
        for part in parts {
            value.add(part);
        }
        value
    }

    pub fn with_text(self, change: impl FnOnce(&str) -> String) -> Self {
        let text = self.text.as_deref().map(change);
        let mut value = Self { text, ..self };
        value.notice_path();
        value
    }

    /// What it names was read.
    pub fn read(&mut self) {
        let paths: Vec<Taint> = self.taints.iter().filter(|taint| taint.kind == Kind::Path).cloned().collect();
        self.taints.extend(paths.into_iter().map(|path| Taint { kind: Kind::Secret, ..path }));
    }

    /// Marks it when its text is the path of a secret.
    pub fn notice_path(&mut self) {
        if let Some(text) = self.text.as_ref().filter(|text| is_secret(text) || is_likely_secret(text)) {
            let what = text.replace('\0', "…");
            self.taints.insert(Taint { kind: Kind::Path, what });
        }
    }
}

/// Texts with something between them, as far as texts are kept.
pub(super) fn joined(texts: &[impl AsRef<str>], between: &str) -> String {
    let mut whole = String::new();
    for (at, text) in texts.iter().enumerate().take_while(|(at, _)| *at < ITEMS) {
        if whole.len() >= TEXT {
            break;
        }
        whole.push_str(if at > 0 { between } else { "" });
        whole.push_str(text.as_ref());
    }
    short(whole)
}

/// A text as far as it is kept.
pub(super) fn short(text: String) -> String {
    if text.len() > TEXT { head(&text, TEXT).to_owned() } else { text }
}

/// The first characters of a text.
fn head(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The name of a part of a thing; of one whose name is long, only the part's own.
pub(super) fn part_name(thing: Option<&str>, part: &str) -> String {
    let part = head(part, NAME);
    match thing.filter(|thing| thing.len() < NAME) {
        Some(thing) => [thing, ".", part].concat(),
        None => ["?.", part].concat(),
    }
}

/// Adds origins; whether there is room for all of them.
fn extend(mine: &mut BTreeSet<Taint>, theirs: &BTreeSet<Taint>) -> bool {
    if theirs.is_empty() {
        return true;
    }
    let room = TAINTS.saturating_sub(mine.len());
    let news: Vec<Taint> = theirs.difference(mine).cloned().collect();
    let is_all = news.len() <= room;
    mine.extend(news.into_iter().take(room));
    is_all
}

fn is_upper(text: &str) -> bool {
    text.len() > 2 && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
