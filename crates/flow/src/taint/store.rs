//! What calls write into files, archives and lists, for [`Analysis`].

use super::{
    super::program::{Call, Expr},
    Analysis, Called, End, PACKED,
    value::{Kind, Value},
};

/// Parts of the names of things that take in the files whose names they are given.
const ARCHIVES: &[&str] =
    &["ZipFile", "zipfile", "tarfile", "TarFile", "AdmZip", "archiver", "JSZip", "tar.c", "py7zr", "pyzipper"];

/// Whether a function takes in the files whose names it is given.
pub(super) fn is_archive(name: &str) -> bool {
    ARCHIVES.iter().any(|archive| name.contains(archive))
}

/// Whether a function takes in the settings of the files whose names it is given.
fn is_config(name: &str, last: &str) -> bool {
    matches!(last, "read" | "read_file") && name.contains("ConfigParser()")
}

/// What a call is given, and the whole project where it packs the folder in which a script runs.
fn given(last: &str, args: &[Value]) -> Value {
    let packs = matches!(last, "add" | "make_archive" | "addLocalFolder" | "directory");
    let is_all = packs && args.iter().any(|arg| matches!(arg.text.as_deref(), Some("." | "./")));
    let given = Value::any_of(args);
    if is_all { given.or(&Value::of(Kind::Project, PACKED)) } else { given }
}

impl Analysis<'_> {
    /// What a call writes: into a file, or into what it is called on.
    pub(super) fn store(&mut self, called: &Called<'_>, call: &Call, is_archive: bool) {
        let Called { name, receiver, args, .. } = *called;
        let last = name.rsplit('.').next().unwrap_or(name);
        let mut given = given(last, args);
        if is_archive || is_config(name, last) {
            given.read();
            self.hand_to(call, &given);
        }
        match last {
            "write" | "write_text" | "write_bytes" | "writelines" => {
                self.note_picture(call.line, &given);
                if let Some(path) = receiver.text.clone() {
                    self.note_path(call.line, End::Steered, &path);
                    self.note_path(call.line, End::Removed, &path);
                    self.write_file(&path, &given);
                }
            }
            "extractall" | "unpack_archive" | "extract" => self.unpack(given, receiver, args),
            "pipe" => {
                if let Some(path) = args.first().and_then(|to| to.text.clone()) {
                    self.write_file(&path, receiver);
                }
            }
            "copy" | "copyfile" | "copyFile" | "copyFileSync" | "cp" | "cpSync" | "copy2" | "copytree" | "rename"
            | "renameSync" | "move" | "symlink" | "symlinkSync" | "replace" => {
                if let Some(path) = args.get(1).and_then(|to| to.text.clone()) {
                    given.read();
                    self.note_path(call.line, End::Steered, &path);
                    self.write_file(&path, &given);
                }
            }
            "writeFile" | "writeFileSync" | "appendFileSync" | "appendFile" | "outputFile" | "outputFileSync"
            | "outputJson" | "writeJson" | "writeJsonSync" | "writeTextFile" | "writeTextFileSync" | "dump" => {
                let at = usize::from(last == "dump");
                let content = Value::any_of(args);
                args.iter().for_each(|arg| self.note_picture(call.line, arg));
                if let Some(path) = args.get(at).and_then(|path| path.text.clone()) {
                    self.note_path(call.line, End::Steered, &path);
                    self.note_path(call.line, End::Removed, &path);
                    self.write_file(&path, &content);
                }
            }
            "print" | "log" | "info" => args.iter().for_each(|arg| self.note_picture(call.line, arg)),
            "make_archive" => {
                let [to, kind] = [0, 1].map(|at| args.get(at).and_then(|arg| arg.text.clone()).unwrap_or_default());
                let end = match kind.as_str() {
                    "gztar" => "tar.gz",
                    "bztar" => "tar.bz2",
                    "xztar" => "tar.xz",
                    other => other,
                };
                given.read();
                self.write_file(&format!("{to}.{end}"), &given);
            }
            "urlretrieve" | "download_file" => {
                if let Some(path) = args.get(1).and_then(|path| path.text.clone()) {
                    let from = args.first().and_then(|from| from.text.clone()).unwrap_or_default();
                    self.write_file(&path, &Value::of(Kind::Remote, &from));
                }
            }
            "append" | "extend" | "update" | "add" | "push" | "insert" | "set" | "writestr" | "setdefault"
            | "unshift" | "attach" | "addLocalFile" | "addLocalFolder" | "file" | "directory" | "add_header"
            | "appendleft" | "put" | "add_attachment" | "addAttachment" | "set_content" | "set_payload"
            | "add_related" | "attach_file" | "add_alternative" => {
                self.note_path_of_modules(name, args, call.line);
                self.hand_to(call, &given);
            }
            _ => {}
        }
    }

    /// What is unpacked lies in the folder that is named last.
    fn unpack(&mut self, given: Value, receiver: &Value, args: &[Value]) {
        if let Some(path) = args.iter().chain([receiver]).rev().find_map(|to| to.text.clone()) {
            self.write_file(&path, &given.or(receiver));
        }
    }

    /// Notes a download among the places from which modules are loaded.
    fn note_path_of_modules(&mut self, name: &str, args: &[Value], line: usize) {
        if name.starts_with("sys.path.") {
            let loaded = args.iter().filter_map(|arg| self.files().get(arg.text.as_deref()?)).cloned();
            let loaded: Vec<Value> = loaded.collect();
            self.note(line, End::Run, &Value::any_of(&loaded), String::new());
        }
    }

    /// Notes data in the address of a picture or link, which is asked for as soon as somebody looks at the text.
    fn note_picture(&mut self, line: usize, text: &Value) {
        const SHOWN: &[&str] = &["](http", "src=\"http", "src='http"];
        let known = text.text.as_deref().unwrap_or("");
        if let Some((at, mark)) = SHOWN.iter().find_map(|mark| known.find(mark).map(|at| (at, mark))) {
            let address: String = known.get(at + mark.len() - 4..).unwrap_or("").chars().take(80).collect();
            self.note(line, End::Sent, text, address);
        }
    }

    /// Gives a value to the variable on which something is called.
    fn hand_to(&mut self, call: &Call, given: &Value) {
        if let Expr::Attr(base, _) = &call.callee
            && let Expr::Name(variable) = base.as_ref()
        {
            let scope = self.scope_of(variable);
            self.set(self.program, scope, variable, &given.clone().without_name());
        }
    }
}
