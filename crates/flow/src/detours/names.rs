//! [`Names`]: symbol table of a script, with string values and with aliases of functions and modules.

use std::collections::HashMap;

use super::{
    TooMuch,
    dialect::is_word,
    functions::{LONGEST, Value},
};

/// Maximum number of names. Generated scripts of a megabyte have a tenth of this.
const NAMES: usize = 20_000;

/// Modules and functions that rules and flows refer to. Aliases of others are not tracked.
const TOLD: &[&str] = &[
    "os", "sys", "subprocess", "requests", "urllib", "http", "httpx", "aiohttp", "socket", "ssl", "base64", "codecs",
    "zlib", "shutil", "ctypes", "pickle", "marshal", "importlib", "builtins", "platform", "getpass", "smtplib",
    "ftplib", "telnetlib", "paramiko", "boto3", "keyring", "sqlite3", "winreg", "pty", "pynput", "pyperclip",
    "browser_cookie3", "child_process", "node:child_process", "fs", "fs/promises", "node:fs", "https", "net", "dns",
    "vm", "axios", "exec", "eval", "compile", "getattr", "__import__", "Function", "process",
];

/// Members of modules in [`TOLD`] that are common in benign scripts.
const PLAIN: &[&str] = &["path", "Path", "sep", "argv", "exit", "__version__", "PathLike", "linesep"];

#[derive(Default)]
pub(super) struct Names<'t> {
    values: HashMap<&'t str, Value>,
    others: HashMap<&'t str, String>,
    /// First bytes of all names, a quick filter since most words of a script are not in the table.
    first: FirstBytes,
}

struct FirstBytes([bool; 256]);

impl Default for FirstBytes {
    fn default() -> Self {
        Self([false; 256])
    }
}

impl<'t> Names<'t> {
    /// Returns whether a word is certainly not in the table, by its first byte.
    pub fn is_out(&self, name: &str) -> bool {
        let first = name.bytes().next().unwrap_or(0);
        !self.first.0.get(usize::from(first)).copied().unwrap_or(false)
    }

    pub fn value_of(&self, name: &str) -> Option<&Value> {
        if self.is_out(name) { None } else { self.values.get(name) }
    }

    /// Resolves the first part of a dotted name if it is an alias. The other parts stay.
    pub fn resolved(&self, dotted: &str) -> Option<String> {
        let (name, rest) = dotted.split_at(dotted.find('.').unwrap_or(dotted.len()));
        self.other(name).map(|other| format!("{other}{rest}"))
    }

    /// Returns the target of an alias.
    pub fn other(&self, name: &str) -> Option<&str> {
        if self.is_out(name) { None } else { self.others.get(name).map(String::as_str) }
    }

    /// Sets the value of a name from here on. `None` means unknown. Fails beyond the limit of names.
    pub fn set(&mut self, name: &'t str, value: Option<Value>) -> Result<(), TooMuch> {
        self.forget(name);
        let Some(value) = value else { return Ok(()) };
        self.note(name);
        self.values.insert(name, value);
        if self.values.len() > NAMES { Err(TooMuch) } else { Ok(()) }
    }

    /// Makes a name an alias of another one from here on. Fails beyond the limit of names.
    pub fn alias(&mut self, name: &'t str, other: String) -> Result<(), TooMuch> {
        self.forget(name);
        if name == other || other.len() > LONGEST {
            return Ok(());
        }
        self.note(name);
        self.others.insert(name, other);
        if self.others.len() > NAMES { Err(TooMuch) } else { Ok(()) }
    }

    fn note(&mut self, name: &str) {
        let first = name.bytes().next().unwrap_or(0);
        if let Some(slot) = self.first.0.get_mut(usize::from(first)) {
            *slot = true;
        }
    }

    fn forget(&mut self, name: &str) {
        if !self.is_out(name) {
            self.values.remove(name);
            self.others.remove(name);
        }
    }

    /// Fills in the known names in the braces of a Python or JavaScript template string. The flag is true if there was
    /// any.
    pub fn filled(&self, form: &str) -> (String, bool) {
        let (mut text, mut rest, mut any) = (String::new(), form, false);
        while let Some((before, behind)) = rest.split_once('{') {
            let length = behind.bytes().take_while(|byte| is_word(*byte)).count();
            let name = behind.get(..length).unwrap_or("");
            let known = self.value_of(name).filter(|_| behind.get(length..).is_some_and(|rest| rest.starts_with('}')));
            if let Some(Value::Text(value)) = known {
                text.push_str(before.strip_suffix('$').unwrap_or(before));
                text.push_str(value);
                (rest, any) = (behind.get(length + 1..).unwrap_or(""), true);
            } else {
                text.extend([before, "{"]);
                rest = behind;
            }
            if text.len() > LONGEST {
                break;
            }
        }
        text.push_str(rest);
        (text, any)
    }

    /// Records the aliases of a Python `import x as y` or `from x import a as b`.
    pub fn import(&mut self, statement: &'t str) -> Result<(), TooMuch> {
        if let Some((module, names)) = statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            let module = module.trim();
            if !is_told(module) {
                return Ok(());
            }
            for part in names.trim_matches(['(', ')', ' ']).split(',').map(str::trim) {
                let (name, own) = part.split_once(" as ").unwrap_or((part, part));
                if !PLAIN.contains(&name) && !own.trim().is_empty() {
                    self.alias(own.trim(), format!("{module}.{}", name.trim()))?;
                }
            }
            return Ok(());
        }
        let modules = statement.strip_prefix("import ").unwrap_or("").split(',');
        for (module, own) in modules.filter_map(|part| part.trim().split_once(" as ")) {
            if is_told(module.trim()) {
                self.alias(own.trim(), module.trim().to_owned())?;
            }
        }
        Ok(())
    }

    /// Records the aliases of a JavaScript `{a, b: c}` or `{a as c}`.
    pub fn unpacked(&mut self, names: &'t str) -> Result<(), TooMuch> {
        for part in names.split(',').map(str::trim) {
            if let Some((name, own)) = part.split_once(':').or_else(|| part.split_once(" as ")) {
                self.alias(own.trim(), name.trim().to_owned())?;
            }
        }
        Ok(())
    }
}

/// Returns whether rules refer to a module, or to a member of it.
pub(super) fn is_told(name: &str) -> bool {
    TOLD.contains(&name) || name.split_once('.').is_some_and(|(first, _)| TOLD.contains(&first))
}
