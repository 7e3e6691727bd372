//! [`Value`]: abstract value of an expression, with its text and its origins.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeSet, rc::Rc};

use super::super::paths::{is_likely_secret, is_public_key, is_secret};

/// Maximum number of origins of a value. More would add no information.
const TAINTS: usize = 24;
/// Maximum length of a known text, in characters.
const TEXT: usize = 2 << 10;
/// Maximum number of items of a list.
const ITEMS: usize = 4096;
/// Maximum length in bytes of a name that can still be extended.
const NAME: usize = 200;

/// Origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Whole environment of the process.
    Environment,
    /// Single environment variable, by its name.
    Variable,
    /// Path of a file with secrets that has not been read yet.
    Path,
    /// Content of a file with secrets, or other private data.
    Secret,
    /// Content of the whole project.
    Project,
    /// Content of a database, by the program that dumps it.
    Database,
    /// Data from the network.
    Remote,
    /// Text decoded from an unreadable form.
    Decoded,
}

impl Kind {
    pub(crate) fn can_be_sent(self) -> bool {
        matches!(self, Self::Environment | Self::Variable | Self::Secret | Self::Project | Self::Database)
    }

    pub(crate) fn can_be_run(self) -> bool {
        matches!(self, Self::Remote | Self::Decoded)
    }
}

/// Taint of a value: its origin and a description. Two taints are equal if kind and description are.
#[derive(Debug, Clone)]
pub struct Taint {
    /// Category of the origin.
    pub kind: Kind,
    /// Variable, file, URL or call.
    pub what: String,
    /// Statement that introduced it, once the value was stored or returned.
    pub from: Option<Position>,
}

/// Position of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Index of its program in the list passed to [`Analysis::new`](super::Analysis::new).
    pub program: usize,
    /// Line in the file, counted from 0.
    pub line: usize,
}

impl Ord for Taint {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.kind, &self.what).cmp(&(other.kind, &other.what))
    }
}

impl PartialOrd for Taint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Taint {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Taint {}

/// Abstract value of an expression.
#[derive(Debug, Clone, Default)]
pub(super) struct Value {
    pub taints: BTreeSet<Taint>,
    /// Origins that occur only as a login credential.
    pub keys: BTreeSet<Taint>,
    /// Known text, with NUL in place of unknown parts.
    pub text: Option<String>,
    /// Qualified name of the module, function or object.
    pub name: Option<String>,
    /// Strings of a list, if all are known.
    pub items: Option<Rc<[String]>>,
    /// True if it has more origins than [`TAINTS`].
    pub cut: bool,
}

/// Record keys and argument names that hold a login credential.
const LOGIN: &[&str] = &[
    "headers", "auth", "authorization", "cookies", "x-api-key", "api-key", "apikey", "api_key", "x-auth-token",
    "x-goog-api-key",
];

/// Parts of names of shell variables that hold a conversation.
const TALK: &[&str] = &["CONVERSATION", "TRANSCRIPT", "CHAT_LOG", "CHAT_HISTORY", "USER_MESSAGE", "USER_PROMPT"];

impl Value {
    pub fn of_text(text: &str) -> Self {
        let mut value = Self { text: Some(head(text, TEXT).to_owned()), ..Self::default() };
        value.notice_path();
        value
    }

    pub fn of(kind: Kind, what: &str) -> Self {
        let taint = Taint { kind, what: what.to_owned(), from: None };
        Self { taints: BTreeSet::from([taint]), ..Self::default() }
    }

    /// Returns the value of a qualified name, such as the environment or one of its variables.
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

    /// Merges another possible value into this one. Returns whether anything was added.
    pub fn add(&mut self, other: &Self) -> bool {
        let before = (self.taints.len(), self.keys.len(), self.cut);
        self.doubt_public_key(other);
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

    /// Forgets that a path is one of secrets, if it is that of a public key.
    pub fn forget_public_key(&mut self, path: &str) {
        if is_public_key(path) {
            self.taints.retain(|taint| taint.kind != Kind::Path || !is_public_key(&taint.what));
        }
    }

    /// Notes the path of the private key, if one of two alternatives is the path of a public key and the other one is
    /// computed from it.
    fn doubt_public_key(&mut self, other: &Self) {
        let is_public = |value: &Self| value.text.as_deref().is_some_and(is_public_key);
        let of_public = |value: &Self| {
            let mut paths = value.taints.iter().filter(|taint| taint.kind == Kind::Path);
            paths.find_map(|taint| is_public_key(&taint.what).then(|| taint.clone()))
        };
        let own: &Self = self;
        if is_public(own) != is_public(other)
            && let (Some(path), Some(_)) = (of_public(own), of_public(other))
        {
            let what = path.what.trim_end_matches(".pub").to_owned();
            self.taints.insert(Taint { what, ..path });
        }
    }

    /// Replaces a partly unknown text with the text of the same value once that is fully known. Returns whether it
    /// changed.
    pub fn renew(&mut self, later: &Self) -> bool {
        let is_open = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('\0'));
        let is_news = is_open(&self.text) && later.text.is_some() && !is_open(&later.text);
        if is_news {
            self.text.clone_from(&later.text);
        }
        is_news
    }

    /// Returns the value with the origins of another one added.
    pub fn or(mut self, other: &Self) -> Self {
        self.take(other);
        self
    }

    /// Adds the origins of another value.
    fn take(&mut self, other: &Self) {
        let is_all = extend(&mut self.taints, &other.taints) && extend(&mut self.keys, &other.keys);
        self.cut |= other.cut || !is_all;
    }

    pub fn without_name(self) -> Self {
        Self { name: None, ..self }
    }

    /// Puts a value under a key of a record. Under a key in [`LOGIN`], secrets count as credentials.
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

    /// Returns whether the value is the environment, and the key the name of a variable in it.
    pub fn has_variable(&self, key: &str) -> bool {
        let environment = self.taints.iter().any(|taint| taint.kind == Kind::Environment);
        environment && (self.name.is_some() || is_upper(key))
    }

    /// Returns an element or member of the value.
    pub fn index(&self, index: &Self) -> Self {
        match &index.text {
            Some(key) if self.has_variable(key) => {
                let is_home = matches!(key.as_str(), "HOME" | "USERPROFILE");
                Self { text: is_home.then(|| "~".to_owned()), ..Self::of(Kind::Variable, key) }
            }
            Some(key) if self.name.is_some() && !key.is_empty() => {
                Self::named(&part_name(self.name.as_deref(), key)).or(self)
            }
            _ => {
                // A part of the path of a public key may be that of the private one.
                let text = self.text.clone().filter(|text| !is_public_key(text));
                Self { text, ..self.clone().without_name() }
            }
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

    /// Returns the value of a list with these elements.
    pub fn list_of(parts: &[Self]) -> Self {
        let mut value = Self::any_of(parts);
        if parts.len() > 1 {
            let texts: Option<Vec<String>> = parts.iter().take(ITEMS).map(|part| part.text.clone()).collect();
            value.items = texts.map(Rc::from);
        }
        value
    }

    /// Merges several alternatives into one value. The first known text and name are kept.
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

    /// Adds the content of the secret files that the value names.
    pub fn read(&mut self) {
        let paths: Vec<Taint> = self.taints.iter().filter(|taint| taint.kind == Kind::Path).cloned().collect();
        self.taints.extend(paths.into_iter().map(|path| Taint { kind: Kind::Secret, from: None, ..path }));
    }

    /// Marks the value if its text is the path of a secret file.
    pub fn notice_path(&mut self) {
        if let Some(text) = self.text.as_ref().filter(|text| is_secret(text) || is_likely_secret(text)) {
            let what = text.replace('\0', "…");
            self.taints.insert(Taint { kind: Kind::Path, what, from: None });
        }
    }

    /// Returns the value with a position for each origin that has none.
    pub fn placed(&self, at: Position) -> Cow<'_, Self> {
        let is_placed = |taint: &Taint| taint.from.is_some();
        if self.taints.iter().chain(&self.keys).all(is_placed) {
            return Cow::Borrowed(self);
        }
        let place = |taint: &Taint| Taint { from: taint.from.or(Some(at)), ..taint.clone() };
        let [taints, keys] = [&self.taints, &self.keys].map(|all| all.iter().map(place).collect());
        Cow::Owned(Self { taints, keys, ..self.clone() })
    }
}

/// Joins texts with a separator, up to the limits [`TEXT`] and [`ITEMS`].
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

/// Truncates a text to [`TEXT`] characters.
pub(super) fn short(text: String) -> String {
    if text.len() > TEXT { head(&text, TEXT).to_owned() } else { text }
}

/// Returns the first `most` characters of a text.
fn head(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Returns the qualified name of a member. The prefix of a long name is replaced by `?`.
pub(super) fn part_name(thing: Option<&str>, part: &str) -> String {
    let part = head(part, NAME);
    match thing.filter(|thing| thing.len() < NAME) {
        Some(thing) => [thing, ".", part].concat(),
        None => ["?.", part].concat(),
    }
}

/// Adds origins up to the limit. Returns whether all of them fitted.
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
