//! Tables of names, functions and files, for [`Analysis`].

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use super::{
    Analysis, FILES, NAMES,
    value::{Position, Value},
};

/// Returns the name of a file or module without its folders and extension.
pub(super) fn stem(path: &str) -> &str {
    const ENDINGS: &[&str] =
        &[".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".sh", ".bash", ".rb", ".php", ".lua"];
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file);
    name.rsplit('.').next().unwrap_or(name)
}

impl Analysis<'_> {
    /// Looks up a name that another file of the skill sets: `config.URL`, or a variable of a sourced shell script.
    pub(super) fn imported(&self, full: &str) -> Option<&Value> {
        let of_file = |at: &usize, name: &str| self.names.get(*at).and_then(|scopes| scopes.first()?.get(name));
        if full.starts_with('$') {
            return self.sourced.get(&self.program)?.iter().find_map(|at| of_file(at, full));
        }
        let (module, name) = full.rsplit_once('.')?;
        let others = self.modules.get(stem(module))?.iter().filter(|at| **at != self.program);
        let names = [name.to_owned(), format!("module.exports.{name}"), format!("exports.{name}")];
        names.iter().for_each(|name| self.clock.sees(name));
        others.flat_map(|at| names.iter().filter_map(move |name| of_file(at, name))).next()
    }

    /// Records that a shell sources another script of the skill, which makes its variables visible.
    pub(super) fn read_in(&mut self, path: &str) {
        let others = self.modules.get(stem(path)).into_iter().flatten().copied();
        self.sourced.entry(self.program).or_default().extend(others);
    }

    /// Returns the position of the current call or statement.
    fn position(&self) -> Position {
        Position { program: self.program, line: self.line }
    }

    fn note_news(&mut self, name: &str, is_news: bool) {
        if is_news {
            self.changed.insert(self.program);
            self.clock.changes(name);
        }
    }

    pub(super) fn give_back(&mut self, function: &str, value: &Value) {
        if !function.is_empty() {
            if !self.returns.contains_key(function) {
                self.clock.changes(function);
            }
            let value = value.placed(self.position());
            let results = self.returns.entry(function.to_owned()).or_default();
            let is_news = results.entry(self.program).or_default().add(&value);
            self.note_news(function, is_news);
        }
    }

    /// Replaces the partly unknown text of a name with the full text that the assigning statement now has.
    pub(super) fn renew(&mut self, scope: usize, name: &str, value: &Value) {
        let names = self.names.get_mut(self.program).and_then(|scopes| scopes.get_mut(scope));
        let known = names.and_then(|names| names.get_mut(name));
        let is_news = known.is_some_and(|known| known.renew(value));
        self.note_news(name, is_news);
    }

    pub(super) fn set(&mut self, program: usize, scope: usize, name: &str, value: &Value) {
        let value = value.placed(self.position());
        let Some(names) = self.names.get_mut(program).and_then(|scopes| scopes.get_mut(scope)) else { return };
        if let Some(known) = names.get_mut(name) {
            let is_news = known.add(&value);
            self.note_news(name, is_news);
        } else if self.count < NAMES {
            self.count += 1;
            names.insert(name.to_owned(), value.into_owned());
            self.note_news(name, true);
        } else {
            self.note_cut();
        }
    }

    pub(super) fn write_file(&mut self, path: &str, value: &Value) {
        let is_known = self.files.contains_key(path);
        if path.is_empty() {
        } else if self.files.len() < FILES || is_known {
            let value = value.placed(self.position());
            let is_news = self.files.entry(path.to_owned()).or_default().add(&value);
            if is_news {
                self.changed.insert(self.program);
            }
            if is_news || !is_known {
                self.clock.changes_files();
            }
        } else {
            self.note_cut();
        }
    }

    /// Returns the files that were written, by path.
    pub(super) fn files(&self) -> &BTreeMap<String, Value> {
        self.clock.sees_files();
        &self.files
    }

    /// Returns the result of a function. Of several programs with a function of this name, the current one comes first.
    pub(super) fn returned(&self, function: &str) -> Option<Cow<'_, Value>> {
        self.clock.sees(function);
        let results = self.returns.get(function)?;
        if results.len() < 2 {
            return results.values().next().map(Cow::Borrowed);
        }
        let mut all = results.get(&self.program).cloned().unwrap_or_default();
        results.values().for_each(|result| _ = all.add(result));
        Some(Cow::Owned(all))
    }

    fn names_in(&self, scope: usize) -> Option<&HashMap<String, Value>> {
        self.names.get(self.program)?.get(scope)
    }

    pub(super) fn look_up(&self, name: &str) -> Option<&Value> {
        self.clock.sees(name);
        let mut scope = Some(self.scope);
        while let Some(at) = scope {
            if let Some(value) = self.names_in(at).and_then(|names| names.get(name)) {
                return Some(value);
            }
            scope = self.programs.get(self.program)?.scopes.get(at)?.parent;
        }
        None
    }

    /// Returns the scope that defines a name, as seen from the current one.
    pub(super) fn scope_of(&self, name: &str) -> usize {
        self.clock.sees(name);
        let mut scope = Some(self.scope);
        while let Some(at) = scope {
            if self.names_in(at).is_some_and(|names| names.contains_key(name)) {
                return at;
            }
            scope = self.programs.get(self.program).and_then(|program| program.scopes.get(at)).and_then(|s| s.parent);
        }
        self.scope
    }
}
